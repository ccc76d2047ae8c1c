"""Cross-fitting: every training row gets a risk from a model that has not seen its outcome."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netbenefit.common import (
    FloatArray,
    InputError,
    IntArray,
    Remedy,
    RowNumber,
    check_binary,
    check_risks,
    check_seed,
    check_weights,
    exact_number,
    minimise_by_newton,
    setting,
    tasks_at_once,
    threads_here,
)
from netbenefit.data import PatternTable, RawTable
from netbenefit.teachers.members import (
    CanonicalRows,
    Fold,
    Member,
    boosting,
    deal,
    expit,
    foreign,
    log_odds,
    logistic_columns,
    logistic_conditions,
    merge_rows,
    rank,
    read_numbers,
)

# -- several members in one teacher: the choice of penalties, and weights on the log-odds scale ----


#: Teachers that are known by name.
TEACHERS = ("auto", "logistic", "boosting")
#: Mean log loss that a member must save, or it gets no weight.
LEAST_HELP = 1e-4
#: Rows that the prior belief "weights add up to 1" counts as: where members predict every outcome,
#: log loss alone would let weights, and so risks, grow without end.
_BELIEF = 1.0
#: Breaks ties between equal members.
_RIDGE = 1e-6
#: Gain in mean log loss below which weights are good enough.
_LEAST_GAIN = 1e-12


class Cells(NamedTuple):
    """Rows of all folds, one after another: each with an out-of-fold prediction of its own."""

    event: NDArray[np.bool_]
    mass: FloatArray
    base: FloatArray  #: log-odds of an event among the rows that the fold learnt from


def log_loss(cells: Cells, odds: FloatArray) -> FloatArray:
    """Return the mean log loss of log-odds, along their last axis."""
    signed = np.where(cells.event, -odds, odds)
    loss: FloatArray = np.logaddexp(0.0, signed) @ cells.mass / cells.mass.sum()
    return loss


def best_candidate(cells: Cells, odds: FloatArray) -> FloatArray:
    """Return the candidate (row) with the least loss; the first, most penalised, of equal ones."""
    best: FloatArray = odds[int(np.argmin(np.round(log_loss(cells, odds), 12)))]
    return best


def stack(cells: Cells, odds: Mapping[str, FloatArray]) -> tuple[dict[str, float], FloatArray]:
    """Combine members: log-odds = base + Σ weight · (member − base), no weight negative.

    Of all subsets of the members, each with its weights of least out-of-fold log loss, take the one
    with the least loss when a member costs ``LEAST_HELP``; members left out have weight 0. (Weights
    that minimise the loss without being negative are those of some subset without a limit, so that
    no other solver is needed.)
    """
    names = list(odds)
    extra = np.array([odds[name] - cells.base for name in names]).reshape(-1, cells.base.size)
    best, least = np.zeros(len(names)), float(log_loss(cells, cells.base))
    for size in range(1, len(names) + 1):
        for chosen in map(list, combinations(range(len(names)), size)):
            weights = np.zeros(len(names))
            weights[chosen] = _weigh(cells, extra[chosen])
            loss = float(log_loss(cells, cells.base + weights @ extra)) + LEAST_HELP * size
            if (weights >= 0).all() and loss < least - 1e-12:
                best, least = weights, loss
    return dict(zip(names, best.tolist(), strict=True)), cells.base + best @ extra


def _weigh(cells: Cells, extra: FloatArray) -> FloatArray:
    """Return the weights of least penalised loss."""
    share = cells.mass / cells.mass.sum()
    pull = _BELIEF / float(cells.mass.sum())

    def value(w: FloatArray) -> float:
        loss = log_loss(cells, cells.base + w @ extra)
        return float(loss + 0.5 * _RIDGE * w @ w + 0.5 * pull * (w.sum() - 1.0) ** 2)

    def derivatives(w: FloatArray) -> tuple[FloatArray, FloatArray]:
        risk = expit(cells.base + w @ extra)
        gradient = extra @ (share * (risk - cells.event)) + _RIDGE * w
        gradient += pull * (w.sum() - 1.0)
        curvature = (extra * (share * risk * (1.0 - risk))) @ extra.T + _RIDGE * np.eye(len(extra))
        return gradient, curvature + pull

    start = np.full(len(extra), 1.0 / len(extra))
    return minimise_by_newton(value, derivatives, start, least_gain=_LEAST_GAIN, slack=0.0)


# --------------------------------------------------------------------------------------------------


#: Folds, and folds of tables with fewer rows than this, where every row to learn from counts.
N_FOLDS, MORE_FOLDS, VERY_FEW_ROWS = 5, 10, 500
#: How often folds are dealt anew in tables of fewer rows than this.
N_REPEATS, FEW_ROWS = 2, 5_000
#: Rows of the rarer class that a fold holds at least, so that its loss is not one row's.
_FEWEST_PER_FOLD = 2
#: With fewer rows of the rarer class, no model can be learnt and checked: the prevalence is used.
_FEWEST_FOR_MODELS = 5
#: With fewer, trees with ten rows per leaf find nothing that logistic regression would not.
_FEWEST_FOR_BOOSTING = 20
#: Tables of fewer values are fitted in one thread: most of their time is spent in Python, where
#: threads only wait for each other.
_FEW_NUMBERS = 100_000

#: What risks from elsewhere are called.
GIVEN = "the given risks"
_PREVALENCE = "the prevalence"
_CONDITIONS, _COLUMNS, _TREES = "logistic on conditions", "logistic on columns", "boosting"
_LOGISTIC = (_CONDITIONS, _COLUMNS)
_MEMBERS = {"auto": (*_LOGISTIC, _TREES), "logistic": _LOGISTIC, "boosting": (_TREES,)}
_POSSIBLE = Remedy(
    'Use "auto", "logistic", "boosting", a scikit-learn classifier (an instance with fit and '
    "predict_proba), or an array with one risk per row.",
    "Use auto, logistic, boosting, none, or a column of risks.",
)


@dataclass(frozen=True)
class Teaching:
    """A teacher's risks, (n_rows,), each from a model fitted without that row."""

    risks: FloatArray
    name: str
    weights: Mapping[str, float] = field(default_factory=dict)  #: of a stack's members
    notes: tuple[str, ...] = ()  #: fallbacks, and what was left out


def teach(
    teacher: Any,
    X: Any,
    event: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    binner: Any = None,
    seed: int = 0,
    n_jobs: int | None = -1,
) -> Teaching:
    """Give every training row a risk from a model that was fitted without it.

    Rows are dealt to five folds (ten in tables of fewer than 500 rows), twice in tables of fewer
    than 5,000 rows. Whatever uses the outcome, the cut points of the binner included, is learnt
    from the other folds' rows alone. The result depends neither on the order of the rows, nor on
    ``n_jobs``, nor on whether equal rows are merged into one with a whole weight.

    ``"auto"`` stacks logistic regression on the binner's conditions, logistic regression on the
    columns, and boosted trees; ``"logistic"`` the first two; ``"boosting"`` is the trees. A
    classifier is cloned per fold and gets ``X`` as it is passed. An array holds given risks. Rows
    of weight 0 get the share of events; rows of one group are never in different folds.
    """
    happened = check_binary(event, name="event")
    weight = check_weights(sample_weight, happened.size)
    seed = check_seed(seed)
    tasks_at_once(n_jobs)  # refuses 0
    _check_teacher(teacher)
    if not isinstance(teacher, str) and not hasattr(teacher, "fit"):
        return _given(teacher, happened.size)
    table = X if isinstance(X, RawTable) else RawTable(X)
    if len(table) != happened.size or not table.names:
        raise InputError(
            f"event has {happened.size} rows, but X has {len(table)} rows and {len(table.names)} "
            "columns. Pass one outcome per row, and at least one column."
        )
    labels = None if groups is None else _check_groups(groups, happened.size)
    used = np.flatnonzero(weight > 0)
    table, happened, weight = table.take(used), happened[used], weight[used]
    labels = None if labels is None else labels[used]
    if happened.all() or not happened.any():
        raise InputError(
            f"every row with a weight has {'an' if happened.all() else 'no'} event. A teacher "
            "needs both: pass more rows, or check which label is the event."
        )
    if isinstance(teacher, str):
        numbers, readable = read_numbers(table, binner, weight)
        rows = merge_rows(list(numbers.columns.T), happened, weight, labels)
        folds, why_none = _make_folds(rows, seed)
        if folds:
            chosen, notes = _choose_members(teacher, rows)
            members: dict[str, Member] = {}
            if _CONDITIONS in chosen and binner is not None:
                members[_CONDITIONS] = logistic_conditions(rows, readable, binner)
            if _COLUMNS in chosen:
                members[_COLUMNS] = logistic_columns(rows, numbers)
            if _TREES in chosen:
                members[_TREES] = boosting(rows, numbers, seed)
            few = numbers.columns.size < _FEW_NUMBERS
            found = _by_members(members, rows, folds, 1 if few else n_jobs)
            found = replace(found, notes=(*notes, *found.notes))
    else:
        rows = merge_rows([table.column(n).values for n in table.names], happened, weight, labels)
        folds, why_none = _make_folds(rows, seed)
        if folds:
            original = X
            if isinstance(X, RawTable):  # merged rows, in the order of a query
                original = np.full((len(X), len(X.names)), np.nan)
                original[used] = _numbers_of(table)
            elif isinstance(X, Mapping):
                original = _as_array(X)
            member = foreign(rows, original, used[rows.first], teacher, seed)
            found = _by_classifier(member, type(teacher).__name__, rows, folds)
    share = rows.share(rows.units)
    if not folds:
        found = Teaching(np.full(rows.units.size, share), _PREVALENCE, notes=(why_none,))
    risks = np.full(np.size(event), share)
    risks[used] = found.risks[rows.place]
    return replace(found, risks=risks)


# -- what was passed -------------------------------------------------------------------------------


def _check_teacher(teacher: Any) -> None:
    """Refuse what cannot teach."""
    if isinstance(teacher, str):
        if teacher not in _MEMBERS:
            raise InputError(setting("teacher", teacher), " is not known. ", _POSSIBLE)
    elif isinstance(teacher, type):
        raise InputError(
            f"the teacher {teacher.__name__} is a class. Pass an instance: {teacher.__name__}()."
        )
    elif hasattr(teacher, "fit") or hasattr(teacher, "predict_proba"):
        lacking = [n for n in ("fit", "predict_proba", "get_params") if not hasattr(teacher, n)]
        if lacking:
            raise InputError(
                f"the teacher {type(teacher).__name__} has no {lacking[0]}. Pass a classifier of "
                "scikit-learn's kind that predicts probabilities; one without them can be wrapped "
                "in CalibratedClassifierCV."
            )
    elif isinstance(teacher, Mapping | set) or not hasattr(teacher, "__len__"):
        raise InputError(setting("teacher", teacher), " cannot teach. ", _POSSIBLE)


def _given(teacher: Any, n_rows: int) -> Teaching:
    """Take risks from elsewhere."""
    if np.ndim(teacher) == 1 and len(teacher) != n_rows:
        raise InputError(
            f"the teacher has {len(teacher):,} risks, but there are {n_rows:,} rows. Pass one risk "
            "per row. Where rows are split or drawn, as in cross-validation, put the risks into a "
            "column of X, and name it: teacher='its name'."
        )
    risks = check_risks(teacher, n_rows, name="teacher")
    if risks.min() == risks.max():
        raise InputError(
            f"the teacher gives every row the same risk, {risks[0].item()!r}, and has nothing to "
            "teach. Pass risks that differ between rows, or another teacher."
        )
    return Teaching(risks.copy(), GIVEN)


def _check_groups(groups: ArrayLike, n_rows: int) -> IntArray:
    """Return the groups of the rows as numbers."""
    labels = np.asarray(groups)
    if labels.shape != (n_rows,):
        raise InputError(
            f"groups has shape {labels.shape}, but there are {n_rows} rows. Pass one label per row."
        )
    unknown = {"None", "nan", "NaT", "<NA>"}  # pandas' own are equal to nothing, not even unequal
    items = enumerate(labels.tolist())
    missing = [i for i, v in items if not isinstance(v, str) and str(v) in unknown]
    if missing:
        raise InputError(
            "groups is missing in ",
            RowNumber(int(missing[0])),
            f" ({len(missing)} such rows). Give every row a "
            "label; a row on its own gets one of its own.",
        )
    return rank(labels)


def _numbers_of(table: RawTable) -> FloatArray:
    """Return raw columns as numbers: text by its place among the sorted texts; NaN is missing."""
    return np.column_stack([_one_as_numbers(table.column(name).values) for name in table.names])


def _one_as_numbers(values: NDArray[Any]) -> FloatArray:
    if values.dtype.kind in "biuf":
        return values.astype(np.float64)
    items = values.tolist()
    missing = np.array([v is None or v != v for v in items], dtype=bool)
    numbers = np.full(len(items), np.nan)
    there = values[~missing]
    plain = all(isinstance(v, bool | int | float) for v in there.tolist())
    numbers[~missing] = there.astype(np.float64) if plain else rank(there)
    return numbers


def _as_array(X: Any) -> NDArray[Any]:
    """Columns by name as the array that a classifier takes."""
    table = RawTable(X)
    columns = [table.column(name).values for name in table.names]
    kind = np.float64 if all(column.dtype.kind in "biuf" for column in columns) else object
    return np.column_stack([column.astype(kind) for column in columns])


def _make_folds(rows: CanonicalRows, seed: int) -> tuple[list[Fold], str]:
    """Deal the rows; without folds, return the reason."""
    rarer = min(rows.class_sizes())
    if rarer < _FEWEST_FOR_MODELS:
        what = "events" if rarer == rows.class_sizes()[0] else "rows without an event"
        return [], (
            f"Only {rarer} {what}, fewer than {_FEWEST_FOR_MODELS}: every row is given the share "
            "of events as its risk. More rows would allow a better teacher."
        )
    most = rarer // _FEWEST_PER_FOLD
    if rows.group is not None:
        both = [np.unique(rows.group[rows.event == e]).size for e in (True, False)]
        most = min(most, *both)
        if most < 2:
            what = "events" if both[0] < 2 else "rows without an event"
            return [], (
                f"All {what} belong to one group: every row is given the share of events as its "
                "risk. Rows of more groups would allow a better teacher."
            )
    n_rows = rows.units.sum()
    n_folds = min(MORE_FOLDS if n_rows < VERY_FEW_ROWS else N_FOLDS, most)
    n_repeats = N_REPEATS if n_rows < FEW_ROWS else 1
    folds = deal(rows, n_folds, n_repeats, seed)
    if not all(fold.train[rows.event == e].any() for fold in folds for e in (True, False)):
        return [], (
            "Some groups hold so many of the rows that the others lack one of the outcomes: every "
            "row is given the share of events as its risk. Smaller groups would allow a better "
            "teacher."
        )
    return folds, ""


def _choose_members(teacher: str, rows: CanonicalRows) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Leave out boosting where there is too little for it, and say so."""
    chosen = _MEMBERS[teacher]
    rarer = min(rows.class_sizes())
    if _TREES not in chosen or rarer >= _FEWEST_FOR_BOOSTING:
        return chosen, ()
    return _LOGISTIC, (
        f"The rarer outcome has {rarer} rows, fewer than {_FEWEST_FOR_BOOSTING}: logistic "
        "regression teaches alone, without boosting.",
    )


# -- fitting ---------------------------------------------------------------------------------------


def _by_members(
    members: Mapping[str, Member], rows: CanonicalRows, folds: list[Fold], n_jobs: int | None
) -> Teaching:
    """Fit members in all folds, choose their penalties, and stack them."""
    results = _run(members, folds, n_jobs)
    place, units, cells = _cells(rows, folds)
    odds, notes = {}, []
    for name, parts in results.items():
        failed = [(fold, p) for fold, p in zip(folds, parts, strict=True) if isinstance(p, str)]
        if failed:
            notes.append(f"{name.capitalize()} was left out: on {failed[0][0]}, {failed[0][1]}")
        else:
            odds[name] = best_candidate(cells, np.concatenate(parts, axis=1))
    if list(members) == [_TREES]:
        return Teaching(_mean_risks(place, units, expit(odds[_TREES])), _TREES)
    weights, combined = stack(cells, odds)
    kept = [name for name, weight in weights.items() if weight > 0]
    trees, logistic = _TREES in kept, any(name != _TREES for name in kept)
    name = "a stack of logistic regression and boosting"
    if not (trees and logistic):
        name = _TREES if trees else "logistic regression" if logistic else _PREVALENCE
    risks = _mean_risks(place, units, expit(combined))
    if not kept:
        risks = np.full(risks.size, rows.share(rows.units))
        notes.append(
            "No model of the columns predicts held-out rows better than the share of events, which "
            "every row is given as its risk."
        )
    return Teaching(risks, name, weights, tuple(notes))


def _by_classifier(member: Member, name: str, rows: CanonicalRows, folds: list[Fold]) -> Teaching:
    """Fit the user's classifier in one fold after another: it may not take several threads."""
    from threadpoolctl import threadpool_limits  # comes with scikit-learn

    place, units, _ = _cells(rows, folds)
    with threadpool_limits(1):  # the last bits of sums would depend on how many threads there are
        risks = np.concatenate([member(fold)[0] for fold in folds])
    notes: tuple[str, ...] = ()
    if all(
        np.ptp(part) == 0 for part in np.split(risks, np.cumsum([f.rows.size for f in folds])[:-1])
    ):
        notes = (f"The teacher {name} gives every row of a fold the same risk: nothing to teach.",)
    return Teaching(_mean_risks(place, units, risks), name, notes=notes)


def _cells(rows: CanonicalRows, folds: list[Fold]) -> tuple[NDArray[np.intp], IntArray, Cells]:
    """Rows of all folds one after another: which, how many units, and what is known of them."""
    place = np.concatenate([fold.rows for fold in folds])
    units = np.concatenate([fold.units for fold in folds])
    base = [np.full(fold.rows.size, log_odds(rows.share(fold.train))) for fold in folds]
    return place, units, Cells(rows.event[place], units * rows.mass[place], np.concatenate(base))


def _mean_risks(place: NDArray[np.intp], units: IntArray, risks: FloatArray) -> FloatArray:
    """Return the mean risk of each canonical row over folds and repeats."""
    mean: FloatArray = np.bincount(place, units * risks) / np.bincount(place, units)
    return np.clip(mean, 0.0, 1.0)


def _run(
    members: Mapping[str, Member], folds: list[Fold], n_jobs: int | None
) -> dict[str, list[Any]]:
    """Fit every member in every fold, in threads: log-odds, or the member's error message.

    Libraries get one thread per task, or the last bits of sums would depend on their number.
    Boosting is one task, because scikit-learn's changes the filters of warnings, which all threads
    share.
    """
    import sklearn.ensemble  # so that its libraries are there to be limited
    from joblib import Parallel, delayed  # comes with scikit-learn
    from threadpoolctl import ThreadpoolController  # comes with scikit-learn

    control = ThreadpoolController()

    def fit(name: str, some: list[Fold]) -> list[Any]:
        found: list[Any] = []
        with (  # settings of each thread's own
            control.limit(limits=1, user_api="openmp"),
            np.errstate(all="ignore"),
            sklearn.config_context(skip_parameter_validation=True),  # of many small problems
        ):
            for fold in some:
                try:
                    found.append(members[name](fold))
                except InputError as error:
                    found.append(str(error))
        return found

    tasks = [(_TREES, folds)] if _TREES in members else []  # the longest first
    tasks += [(name, [fold]) for name in members if name != _TREES for fold in folds]
    with control.limit(limits=1, user_api="blas"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        parallel = Parallel(n_jobs=threads_here(n_jobs), backend="threading")
        results = parallel(delayed(fit)(*task) for task in tasks)
    fitted: dict[str, list[Any]] = {name: [] for name in members}
    for (name, _), found in zip(tasks, results, strict=True):
        fitted[name] += found
    return fitted


# -- outcomes and a teacher's risks, blended into the masses that a card is trained on -------------
# With N rows, a belief worth n0 rows and risks p̂, row j brings the event mass
# e_j = (y_j + κ p̂_j) / (1 + κ),    κ = n0 / N ,
# and the non-event mass 1 − e_j, times its weight.  Patterns add these masses up:
# 1. t_u = the teacher's expected events among the rows of pattern u, in thousandths, rounded.
# 2. m_u = (1000 · N · O_u + n0 · t_u) / (N + n0), rounded, with O_u events among W_u rows.
# 3. The masses are m_u and 1000 · W_u − m_u.
# All of it in whole numbers, so that the masses of a certificate can be counted again from the
# outcomes, t and n0 alone.  (With real weights, step 2 is a float, rounded once, in units of rows.)


#: Rows that the teacher counts as, for each row of data, with ``prior_strength="auto"``.
STRENGTH = 10
#: Units of mass in a row: the first that leaves room for all rows of a table.
_DENOMINATORS = (1000, 100, 10, 1)
#: Total mass that kernels count in whole numbers.
_ROOM = 2**31
#: Risks are added up as whole numbers of this part, so that their order does not matter.
_FINE = 10**9


@dataclass(frozen=True, eq=False)
class Blend:
    """What, beside the outcomes, the masses were made from."""

    strength: Fraction | None  #: n0, in rows; None if infinite: only the teacher counts
    denominator: int  #: parts of a row that ``expected`` is counted in
    expected: IntArray  #: (n,), the teacher's expected events of each pattern


def read_strength(prior_strength: Any, n_rows: float) -> Fraction | None:
    """Return n0, in rows; None where it is infinite."""
    if isinstance(prior_strength, str) and prior_strength == "auto":
        return STRENGTH * Fraction(n_rows)
    if isinstance(prior_strength, float | np.floating) and prior_strength == math.inf:
        return None
    try:
        return exact_number(prior_strength, "prior_strength", '"auto"')
    except InputError:
        raise InputError(
            setting("prior_strength", prior_strength),
            ' is not a number of rows. Use "auto" (ten for every row), 0 (outcomes alone, the '
            "published method), a number of rows, or inf (the teacher alone).",
        ) from None


def blend(
    table: PatternTable, risks: FloatArray, weights: FloatArray, strength: Fraction | None
) -> tuple[PatternTable, Blend]:
    """Blend the outcomes of a table with n0 rows of a risk per row; risks and weights (n_rows,)."""
    n_rows = Fraction(table.n_total)
    denominator = next(d for d in _DENOMINATORS if d * n_rows < _ROOM or d == 1)
    expected = _expected(table, risks, weights, denominator)
    made = Blend(strength, denominator, expected)
    if not table.is_whole:
        return table.with_masses(*_real_masses(table, made, n_rows)), made
    # (2 · numerator + denominator) // (2 · denominator) rounds to the nearest whole number.
    share = Fraction(1) if strength is None else strength / (n_rows + strength)
    own, taught, parts = (share.denominator - share.numerator), share.numerator, share.denominator
    numerator = own * denominator * table.events.astype(object) + taught * expected.astype(object)
    positives = ((2 * numerator + parts) // (2 * parts)).astype(np.int64)
    rows = denominator * (table.events + table.others)
    return table.with_masses(positives, rows - positives, denominator), made


def _real_masses(
    table: PatternTable, made: Blend, n_rows: Fraction
) -> tuple[FloatArray, FloatArray]:
    """Step 2 with real weights: exact, then rounded once."""
    pairs = []
    for events, others, t in zip(
        table.events.tolist(), table.others.tolist(), made.expected.tolist(), strict=True
    ):
        rows = Fraction(events) + Fraction(others)
        mass = min(Fraction(t, made.denominator), rows)
        if made.strength is not None:
            mass = (n_rows * Fraction(events) + made.strength * mass) / (n_rows + made.strength)
        pairs.append((float(mass), max(0.0, float(rows - Fraction(float(mass))))))
    positives, negatives = np.array(pairs).T
    return positives, negatives


def _expected(
    table: PatternTable, risks: FloatArray, weights: FloatArray, denominator: int
) -> NDArray[np.int64]:
    """Step 1: the risks of each pattern's rows, added up as whole numbers where weights are."""
    used = table.pattern_of_row >= 0
    place = table.pattern_of_row[used]
    if table.is_whole:
        # Python's own integers where 64 bits might not do.
        kind = np.int64 if table.n_total < 2**62 // _FINE else object
        fine, times = (np.rint(v).astype(np.int64) for v in (risks[used] * _FINE, weights[used]))
        total = np.zeros(len(table), dtype=kind)
        np.add.at(total, place, fine.astype(kind) * times.astype(kind))
        step = _FINE // denominator
        return ((total + step // 2) // step).astype(np.int64)
    sums = np.bincount(place, weights=risks[used] * weights[used], minlength=len(table))
    return np.rint(sums * denominator).astype(np.int64)


class Taught(NamedTuple):
    """A teacher's risks, how they were blended with the outcomes, and what they are worth."""

    teaching: Teaching
    blend: Blend
    net_benefit: float  #: of its out-of-fold risks, by the outcomes
    blended_benefit: float  #: of the same, by the masses that the card is trained on
