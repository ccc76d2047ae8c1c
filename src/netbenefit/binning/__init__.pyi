from .binner import (
    Binner as Binner,
    Codes as Codes,
    check_width as check_width,
)
from .cuts import (
    METHODS as METHODS,
    Rows as Rows,
)
from .fitted import (
    FittedBins as FittedBins,
)
from .learn import (
    classify_columns as classify_columns,
    learn_bins as learn_bins,
)
from .missing import (
    POLICIES as POLICIES,
)
from .options import (
    check_column_options as check_column_options,
    read_settings as read_settings,
)
from .roles import (
    ClassifiedColumn as ClassifiedColumn,
)
from .search import (
    count_cells as count_cells,
)
