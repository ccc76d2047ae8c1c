from .base import (
    check_picture as check_picture,
)
from .calibration import (
    CalibrationDisplay as CalibrationDisplay,
)
from .card import (
    PointsDisplay as PointsDisplay,
    ScorecardDisplay as ScorecardDisplay,
)
from .comparison import (
    ComparisonDisplay as ComparisonDisplay,
    CriticalDifferenceDisplay as CriticalDifferenceDisplay,
    SensitivityDisplay as SensitivityDisplay,
)
from .decision_curve import (
    DecisionCurveDisplay as DecisionCurveDisplay,
)
from .region import (
    RegionDisplay as RegionDisplay,
)
from .roc import (
    RocDisplay as RocDisplay,
)
from .search import (
    SizePathDisplay as SizePathDisplay,
    TraceDisplay as TraceDisplay,
    save_picture as save_picture,
)
from .teacher import (
    TeacherDisplay as TeacherDisplay,
)
