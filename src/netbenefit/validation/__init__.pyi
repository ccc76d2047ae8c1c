from .bootstrap import (
    BootstrapValidation as BootstrapValidation,
    bootstrap_validate as bootstrap_validate,
)
from .choice import (
    CARD_SETTINGS as CARD_SETTINGS,
    BenefitSearch as BenefitSearch,
    SettingChoice as SettingChoice,
    choose_setting as choose_setting,
    tune as tune,
)
from .comparison import (
    Comparison as Comparison,
    RankTest as RankTest,
    compare as compare,
    rank_models as rank_models,
)
from .cross_validation import (
    CrossValidation as CrossValidation,
    cross_validate as cross_validate,
    nested_cross_validate as nested_cross_validate,
)
from .errors import (
    FoldMeans as FoldMeans,
    fold_means as fold_means,
    fold_ratio as fold_ratio,
    with_error as with_error,
)
from .folds import (
    Fold as Fold,
    Sample as Sample,
    copy_with as copy_with,
    make_folds as make_folds,
    take_rows as take_rows,
)
from .names import (
    NAMES as NAMES,
)
from .runner import (
    Runner as Runner,
)
from .sensitivity import (
    Sensitivity as Sensitivity,
    paper_grids as paper_grids,
    suggest_thresholds as suggest_thresholds,
    threshold_sensitivity as threshold_sensitivity,
)
from .sizes import (
    SizePath as SizePath,
    size_path as size_path,
)
from .stability import (
    CardStability as CardStability,
)
