"""What people read about a card: its measures beside those of others, and pages that hold both."""

from netbenefit.metrics.measures import Measures, ModelRow, compare, measure
from netbenefit.report.html import card_page
from netbenefit.report.validation import validation_page

__all__ = ["Measures", "ModelRow", "card_page", "compare", "measure", "validation_page"]
