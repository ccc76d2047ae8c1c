"""Models that give every training row a risk, by which a card is taught."""

from netbenefit.teachers.crossfit import Teaching, teach

__all__ = ["Teaching", "teach"]
