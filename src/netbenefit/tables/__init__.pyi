from .expressions import (
    risk_of as risk_of,
    score_of as score_of,
)
from .patterns import (
    Counted as Counted,
    count_patterns as count_patterns,
    number_of_patterns as number_of_patterns,
)
from .rows import (
    MergedRows as MergedRows,
    Sample as Sample,
    canonical as canonical,
    count_levels as count_levels,
    distinct_rows as distinct_rows,
    draw_sample as draw_sample,
    merged as merged,
    nothing as nothing,
    own_weights as own_weights,
    sample_test as sample_test,
)
from .survey import (
    Survey as Survey,
    survey_table as survey_table,
)
