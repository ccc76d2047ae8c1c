from .html import (
    card_page as card_page,
    thresholds_text as thresholds_text,
)
from .text import (
    comparison_table as comparison_table,
    curve_table as curve_table,
    evaluation_json as evaluation_json,
    measure_table as measure_table,
    records as records,
)
from .validation import (
    training_note as training_note,
    validation_page as validation_page,
)
