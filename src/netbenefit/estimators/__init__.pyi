from .calibrator import (
    NetBenefitCalibrator as NetBenefitCalibrator,
)
from .cautions import (
    Caution as Caution,
    find_cautions as find_cautions,
)
from .directions import (
    read_automatic as read_automatic,
)
from .from_table import (
    MAX_PATTERNS as MAX_PATTERNS,
    TableRequest as TableRequest,
    features_of as features_of,
    raw_rows_of as raw_rows_of,
)
from .other_sizes import (
    OtherSizes as OtherSizes,
    is_possible as is_possible,
)
from .risk_score import (
    RiskScoreClassifier as RiskScoreClassifier,
)
from .riskslim.estimator import (
    RiskSLIMClassifier as RiskSLIMClassifier,
)
from .rss_dnb import (
    RSSDNBClassifier as RSSDNBClassifier,
)
from .slim.estimator import (
    SLIMClassifier as SLIMClassifier,
)
from .training import (
    Learned as Learned,
    Rows as Rows,
    TrainingData as TrainingData,
    choose_solver as choose_solver,
    count_threads as count_threads,
    make_binner as make_binner,
    pop_column as pop_column,
    settings_by_condition as settings_by_condition,
    terms_of as terms_of,
    warn_of_teaching as warn_of_teaching,
)
