"""Reasons to doubt a card: tables too small for it, and columns that give away the outcome."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from netbenefit.binning import Binner
from netbenefit.common import (
    FloatArray,
    InputWarning,
    LeakWarning,
    Remedy,
    SmallTableWarning,
    by_name,
    check_weights,
    drop_it,
    shorten,
)
from netbenefit.data import LazyColumns, PatternTable, RawTable

if TYPE_CHECKING:
    from netbenefit.estimators.training import Rows, TrainingData
    from netbenefit.teachers import Taught

#: Rows of the rarer outcome that a rule of a card needs (Peduzzi et al. 1996).
PER_RULE = 10.0
#: The overall risk should be known to within this much, with 95% confidence (Riley et al. 2019).
_OFF_BY = 0.05
#: How much of the strength of a model should remain on new rows (Riley et al. 2019) …
_SHRINKAGE = 0.9
#: … where it explains as much as the teacher on rows that it had not seen, and at least this share
#: of what can be explained (what Riley et al. 2020, BMJ 368:m441, advise where nothing is known).
_NAGELKERKE = 0.15
#: A column is a likely leak where it alone ranks rows as well as this, …
LEAK_AUROC = 0.995
#: … or where one side of a cut, or one level, holds this share of the events, and events are this
#: share of it.
LEAK_SHARE = 0.98
#: Rows, and rows of each class, from which that is no accident.
_MANY_ROWS, _SOME_ROWS = 20, 5


#: Said once for all folds of a search, and for which this was said.
_SMALL_FOLDS = (
    "cards of some folds were learnt from small tables (Riley et al. 2019, 2020; Peduzzi et al. "
    "1996): on new rows their risks may be too extreme. Each card says what it lacked."
)
_TOLD: WeakSet[Any] = WeakSet()


class Caution(NamedTuple):
    """A reason to doubt a card: for the user who learns it, and in few words for its reader."""

    warning: InputWarning
    on_card: str


def find_cautions(
    training: TrainingData, n_rules: int, taught: Taught | None = None
) -> list[Caution]:
    """Reasons to doubt a card of so many rules."""
    return [*_small_table(training, n_rules, taught), *_leaks(training)]


def warn_of_cautions(cautions: Sequence[Caution], *, stacklevel: int) -> None:
    """Warn of reasons to doubt a card."""
    for caution in cautions:
        warning = caution.warning
        if isinstance(warning, SmallTableWarning) and (search := _search_of_fold()) is not None:
            if search in _TOLD:
                continue
            _TOLD.add(search)
            warning = SmallTableWarning(_SMALL_FOLDS)
        warnings.warn(warning, stacklevel=stacklevel + 1)


def _search_of_fold() -> Any:
    """What scikit-learn searches or validates, where it fits this card to a fold of it; or None."""
    frame: FrameType | None = sys._getframe(1)
    found, is_fold = None, False
    while frame is not None:
        if str(frame.f_globals.get("__name__")).startswith("sklearn.model_selection."):
            is_fold = is_fold or frame.f_code.co_name == "_fit_and_score"
            found = frame.f_locals.get("self", frame.f_locals.get("estimator", found))
        frame = frame.f_back
    return found if is_fold else None


# -- tables that are too small ---------------------------------------------------------------------


def needed_for_overall_risk(prevalence: float) -> int:
    """Rows from which the overall risk is known to within 5 percentage points (95% confidence).

    Criterion (iii) of Riley et al. (2019, Statistics in Medicine 38:1276).
    """
    return math.ceil((1.96 / _OFF_BY) ** 2 * prevalence * (1.0 - prevalence))


def needed_for_candidates(candidates: int, explained: float) -> int:
    """Rows from which a model of so many candidates is expected to keep 90% of its strength.

    Criterion (i) of Riley et al. (2019): p / ((S − 1) ln(1 − R² / S)), with S = 0.9; R² is that of
    Cox and Snell.
    """
    return math.ceil(candidates / ((_SHRINKAGE - 1.0) * math.log(1.0 - explained / _SHRINKAGE)))


def most_explained(prevalence: float) -> float:
    """The largest R² of Cox and Snell that a model can have."""
    return 1.0 - math.pow(prevalence, 2 * prevalence) * math.pow(
        1.0 - prevalence, 2 * (1.0 - prevalence)
    )


def explained_by(risk: FloatArray, event: NDArray[np.bool_], weight: FloatArray) -> float:
    """R² of Cox and Snell: 1 − (likelihood by the overall risk / by ``risk``)^(2/n)."""
    near = np.clip(risk, 1e-6, 1.0 - 1e-6)
    overall = float(weight @ event) / float(weight.sum())
    gain = np.where(event, np.log(near / overall), np.log((1.0 - near) / (1.0 - overall)))
    return 1.0 - math.exp(-2.0 * float(weight @ gain) / float(weight.sum()))


def _small_table(training: TrainingData, n_rules: int, taught: Taught | None) -> Iterator[Caution]:
    rows, events = _counts(training.table, training.rows)
    rarer, rate = min(events, rows - events), events / rows
    if not rarer:
        return
    candidates, explained = len(_questions(training)), _NAGELKERKE * most_explained(rate)
    if taught is not None:  # whose risks come from rows that it had not seen
        given = training.rows
        weight = check_weights(given.sample_weight, given.event.size)
        explained = max(explained, explained_by(taught.teaching.risks, given.event, weight))
    parts, short = [], []
    if n_rules and rarer < PER_RULE * n_rules:
        short.append(f"{rarer / n_rules:.2g} rows of the rarer outcome per rule")
        parts.append(f"{short[-1]}, where {PER_RULE:.0f} are the usual minimum")
    if rows < (needed := needed_for_candidates(candidates, explained)):
        short.append(f"{rows:,.10g} rows for {candidates:,} candidate column{_s(candidates)}")
        parts.append(f"{short[-1]}, where {needed:,} are advised")
    if rows < (needed := needed_for_overall_risk(rate)):
        parts.append(f"{needed:,} rows are needed to know even the overall risk to within 5 points")
        short = short or [f"{rows:,.10g} rows"]
    if parts:
        yield Caution(
            SmallTableWarning(
                f"a small table for this card: {'; '.join(parts)} (Riley et al. 2019, 2020; "
                "Peduzzi et al. 1996). On new rows its risks may be too extreme. Use more rows, "
                "fewer columns, or fewer rules (",
                Remedy("max_features", "--max-features"),
                "), and validate the card.",
            ),
            "small table: " + ", ".join(short),
        )


def _s(count: int) -> str:
    return "s" * (count != 1)


def _counts(table: PatternTable, rows: Rows) -> tuple[float, float]:
    """Rows and events: whole weights count rows, of others each row is one."""
    total, events = float(table.n_total), float(table.n_events)
    if not (total.is_integer() and events.is_integer()):
        there = check_weights(rows.sample_weight, rows.event.size) > 0
        total, events = float(there.sum()), float(rows.event[there].sum())
    return total, events


# -- columns that give away the outcome ------------------------------------------------------------


def _leaks(training: TrainingData) -> Iterator[Caution]:
    table = training.table
    events, others = table.positives.astype(np.float64), table.negatives.astype(np.float64)
    if events.sum() + others.sum() < _MANY_ROWS or min(events.sum(), others.sum()) < _SOME_ROWS:
        return
    known = _meant(training.rows.binner)
    given_away = {
        name
        for name, columns in _questions(training).items()
        if _tells(table.codes[:, list(columns)], events, others)
    }
    given_away.update(name for name, *column in _numbers(training) if _tells(*column))
    found = [name for name in _questions(training) if name in given_away - known]
    if found:
        name, verb = found[0], "give" if len(found) > 1 else "gives"
        yield Caution(
            LeakWarning(
                f"column{_s(len(found))} {shorten(found)} almost {verb} away the "
                "outcome. If known only after the decision, ",
                drop_it(name),
                "; if known before, say so by ",
                by_name("numeric", name),
                " or ",
                by_name("categorical", name),
                ".",
            ),
            f"likely leak: {shorten(found)}",
        )


def _numbers(
    training: TrainingData,
) -> Iterator[tuple[str, NDArray[Any], FloatArray, FloatArray]]:
    """Columns of numbers where they are known: the cuts of a card may hide the one that tells."""
    if training.bins is None:
        return
    rows = training.rows
    table = rows.X if isinstance(rows.X, RawTable) else RawTable(rows.X)
    if not set(training.bins.sources) <= set(table.names):
        return  # patterns that were merged where the rows are
    weight = check_weights(rows.sample_weight, rows.event.size)
    for logic, column in training.bins.logic.read(LazyColumns(table), len(table)):
        if logic.kind == "number":
            there = weight > 0 if column.missing is None else (weight > 0) & ~column.missing
            mass, event = weight[there], rows.event[there]
            if min(event.sum(), (~event).sum()) >= _SOME_ROWS:
                yield logic.name, column.values[there, None], mass * event, mass * ~event


def _questions(training: TrainingData) -> Mapping[str, tuple[int, ...]]:
    """The columns of the patterns that each raw column became."""
    if training.bins is not None:
        return training.bins.groups
    constant = set(training.table.constant)
    return {n: (k,) for k, n in enumerate(training.table.names) if n not in constant}


def _meant(binner: Binner | None) -> set[str]:
    """Columns of which the user has said what they are."""
    if binner is None:
        return set()
    given = (binner.numeric, binner.categorical, binner.ordered, binner.cuts, binner.per_unit)
    return {name for names in given for name in names or ()}


def _tells(codes: NDArray[Any], events: FloatArray, others: FloatArray) -> bool:
    """Whether the conditions on one column, or its numbers, almost determine the outcome."""
    several = codes.shape[1] > 1
    # Conditions are true or false: together they number the bins of the column.
    place = codes @ (2.0 ** np.arange(codes.shape[1])) if several else codes[:, 0]
    _, group = np.unique(place, return_inverse=True)
    with_event, without = np.bincount(group, events), np.bincount(group, others)
    there = with_event + without > 0
    with_event, without = with_event[there], without[there]
    if several:  # ordered by their risks; numbers keep their order
        if with_event.size * _SOME_ROWS > events.sum() + others.sum():
            return False
        order = np.argsort(with_event / (with_event + without), kind="stable")
        with_event, without = with_event[order], without[order]
    above = np.cumsum(with_event[::-1])[::-1]
    beyond = np.cumsum(without[::-1])[::-1]
    area = with_event @ (without.sum() - beyond + without / 2) / (events.sum() * others.sum())
    if max(area, 1.0 - area) >= LEAK_AUROC:
        return True
    total = float(events.sum())
    low = total - above[1:], others.sum() - beyond[1:]
    return _isolates(above[1:], beyond[1:], total) or _isolates(*low, total)


def _isolates(hits: NDArray[Any], alarms: NDArray[Any], events: float) -> bool:
    """Whether some side of a cut holds almost all events, and almost nothing else."""
    return bool(((hits >= LEAK_SHARE * events) & (hits >= LEAK_SHARE * (hits + alarms))).any())
