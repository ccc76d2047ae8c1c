from .annealing import (
    Annealing as Annealing,
)
from .base import (
    Callback as Callback,
    LiveLine as LiveLine,
    Run as Run,
    Solver as Solver,
    allowed_start as allowed_start,
    check_time_limit as check_time_limit,
    conclude as conclude,
    round_up as round_up,
)
from .bounds.packed import (
    ceiling as ceiling,
)
from .clock import (
    now as now,
)
from .kernels.jit import (
    internal as internal,
    jit as jit,
)
from .local_search import (
    LocalSearch as LocalSearch,
)
from .milp.solve import (
    MixedInteger as MixedInteger,
)
from .multi_start import (
    MultiStart as MultiStart,
)
from .near_optimal import (
    NearOptimal as NearOptimal,
    enumerate_near_optimal as enumerate_near_optimal,
)
from .search_then_prove import (
    SearchThenProve as SearchThenProve,
)
from .sizes import (
    best_of_every_size as best_of_every_size,
    check_sizes as check_sizes,
    limit_size as limit_size,
)
