from .calculator import (
    to_calculator as to_calculator,
)
from .javascript import (
    to_javascript as to_javascript,
)
from .pmml import (
    to_pmml as to_pmml,
)
from .python import (
    to_python as to_python,
)
from .scaling import (
    Scaling as Scaling,
    scale as scale,
)
from .sql import (
    to_sql as to_sql,
)
from .tables import (
    to_latex as to_latex,
    to_markdown as to_markdown,
)
from .xlsx import (
    to_xlsx as to_xlsx,
)
