"""Learning from a table that stays where it is: binned and merged by the engine that holds it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netbenefit._version import __version__
from netbenefit.binning import Binner
from netbenefit.cards import Frame, Provenance, numeric_column
from netbenefit.common import (
    FloatArray,
    InputError,
    InputWarning,
    IntArray,
    Remedy,
    check_count,
    check_names,
    check_weights,
    did_you_mean,
    format_count,
    shorten,
)
from netbenefit.data import (
    EngineTable,
    Groups,
    PatternTable,
    RawColumn,
    RawTable,
    Tell,
    flag,
    group_numbers,
    is_lazy,
    read_outcome,
)
from netbenefit.estimators.training import (
    Learned,
    Rows,
    TrainingData,
    given_risks,
    settings_by_condition,
    training_of_raw,
)
from netbenefit.problem import MaxFPR, MinTPR, Problem, fit_levels, floor_scores
from netbenefit.tables import (
    Counted,
    MergedRows,
    Sample,
    Survey,
    canonical,
    count_levels,
    count_patterns,
    distinct_rows,
    draw_sample,
    merged,
    nothing,
    own_weights,
    sample_test,
    score_of,
    survey_table,
)
from netbenefit.teachers import Blend, blend

#: A column is an identifier if at least this share of its values are different.
_OWN_VALUES = 0.95
#: Most raw rows for a binner, and most patterns for a search.
SAMPLE_ROWS, MAX_PATTERNS = 250_000, 250_000
#: What a teacher learns from if equal rows are merged.
_DISTINCT = "learnt from distinct rows by their weight"
#: Fewest rows of a sample.
_LEAST = 10


class MergeReport(NamedTuple):
    """How a table became patterns."""

    engine: str  #: what merged the rows, such as "DuckDB"
    n_rows: int  #: rows with weight
    n_patterns: int  #: distinct rows of conditions among those that were searched
    binned_on: int = 0  #: distinct raw rows that the binner has learnt from; 0 without a binner
    #: whether these are a sample; how frequent values are comes from all rows
    bins_sampled: bool = False
    search_sampled: bool = False  #: whether points come from a sample; cut-offs and risks never do
    seconds: float = 0.0  #: time that the engine has taken

    def __str__(self) -> str:
        cut = f"; columns cut on {self.binned_on:,} distinct rows" if self.binned_on else ""
        sample = " of a sample" * self.bins_sampled
        return (
            f"{self.n_rows:,} rows into {self.n_patterns:,} patterns by {self.engine} in "
            f"{self.seconds:.1f} s{cut}{sample}"
        )


class TableRequest(NamedTuple):
    """What is to be read from a table, and how."""

    target: str
    features: Sequence[str] | None
    sample_weight: str | None
    sample_rows: int
    max_patterns: int
    tell: Tell | None = None
    risks: str | None = None  #: column of risks from another source
    pos_label: Any = None  #: of the event


class TableTraining(NamedTuple):
    """Patterns to learn from, and all that is needed to come back to the table."""

    training: TrainingData
    labels: NDArray[Any]
    outcome: str  #: what the risk is the risk of
    names: tuple[str, ...]
    binner: Binner | None
    merging: MergeReport
    engine: EngineTable | None = None  #: None for a table in memory
    survey: Survey | None = None


def read_training(
    table: Any,
    request: TableRequest,
    settings: Mapping[str, Any],
    decimals: Mapping[str, int] | None,
    make_binner: Callable[[Sequence[str]], Binner] | None,
) -> TableTraining:
    """Turn a table into patterns."""
    for name in ("sample_rows", "max_patterns"):
        check_count(getattr(request, name), name, _LEAST)
    if not is_lazy(table):
        return _in_memory(table, request, settings, decimals, make_binner)
    engine = EngineTable(table, request.tell)
    names = features_of(engine.names, request)
    if make_binner is None:
        return _numbers(engine, names, request, settings, decimals)
    binner = make_binner(names)
    every = names if request.risks is None else (*names, request.risks)
    read = [name for name in every if name not in (binner.drop or ())]
    survey = survey_table(engine, request.target, read, request.sample_weight, request.pos_label)
    rows, idle = raw_rows_of(engine, survey, every, request, list(binner.drop or ()))
    if idle:
        binner.set_params(drop=idle)
    _check_risk_column(survey, request)
    risks, rows = _pop_risks(rows, request)
    training = _of_merged(rows, binner, settings, risks)  # right where all rows are here
    fitted, search_sampled = binner.fitted_, False
    if idle is not None or len(training.table) > request.max_patterns:
        counted = count_patterns(
            engine, survey, fitted, most=request.max_patterns, risks=request.risks
        )
        if counted is None:
            search_sampled = True
            used = [name for name in names if name not in (binner.drop or ())]
            counted = _some_patterns(engine, survey, used, binner, request)
        patterns = PatternTable.from_codes(
            counted.codes,
            counted.event,
            names=fitted.names,
            decimals=[term.decimals for term in fitted.terms],
            sample_weight=counted.weight,
        )
        # A teacher on the conditions will do: its risk is a function of the pattern.
        columns = {name: counted.codes[:, k] for k, name in enumerate(fitted.names)}
        learnt_from = "learnt from the conditions of all rows"
        if search_sampled:
            n_sampled = format_count(float(counted.weight.sum()))
            learnt_from = f"learnt from the conditions of a sample of {n_sampled} rows"
        if request.risks is not None:
            learnt_from = "their means over equal conditions"
        conditions = Rows(
            counted.codes,
            columns,
            counted.event,
            counted.weight,
            risks=counted.risk,
            learnt_from=learnt_from,
        )
        training = TrainingData(
            patterns, settings_by_condition(fitted, settings), conditions, fitted
        )
    merging = MergeReport(
        engine=engine.engine,
        n_rows=survey.n_rows,
        n_patterns=len(training.table),
        binned_on=rows.size,
        bins_sampled=idle is not None,
        search_sampled=search_sampled,
        seconds=engine.seconds,
    )
    return TableTraining(
        training, survey.labels, survey.outcome, names, binner, merging, engine, survey
    )


def _check_risk_column(survey: Survey, request: TableRequest) -> None:
    """Refuse a column of given risks with missing values, text, or numbers that are no risks."""
    if request.risks is None:
        return
    ends = survey.ends[request.risks]
    missing = survey.n_rows - ends.present
    if missing:
        raise InputError(
            f"the column of risks {request.risks!r} is missing in {missing:,} of {survey.n_rows:,} "
            "rows. Leave those rows out, or fill in what the model needs to predict them."
        )
    if not (ends.low >= 0.0 and ends.high <= 1.0):
        raise InputError(
            f"the column of risks {request.risks!r} ranges from {ends.low:g} to {ends.high:g}, not "
            "from 0 to 1. Turn scores into probabilities first."
        )


def _pop_risks(rows: MergedRows, request: TableRequest) -> tuple[NDArray[Any] | None, MergedRows]:
    """Take a column of given risks out of raw rows."""
    if request.risks is None:
        return None, rows
    values = given_risks(request.risks, rows.table.column(request.risks).values)
    return values, rows._replace(table=rows.table.without(request.risks))


def _of_merged(
    rows: MergedRows, binner: Binner, settings: Mapping[str, Any], risks: NDArray[Any] | None
) -> TrainingData:
    """Patterns of distinct raw rows, all of which are in memory."""
    learnt_from = _DISTINCT if risks is None else ""
    return training_of_raw(
        binner, rows.table, rows.event, rows.weight, settings, risks=risks, learnt_from=learnt_from
    )


def _of_numbers(
    columns: dict[str, NDArray[Any]],
    event: NDArray[np.bool_],
    weight: FloatArray,
    risks: NDArray[Any] | None,
    settings: Mapping[str, Any],
    decimals: Mapping[str, int] | None,
) -> TrainingData:
    """Patterns of columns of numbers."""
    patterns = PatternTable.from_columns(columns, event, sample_weight=weight, decimals=decimals)
    learnt_from = _DISTINCT if risks is None else ""
    rows = Rows(columns, columns, event, weight, risks=risks, learnt_from=learnt_from)
    return TrainingData(patterns, dict(settings), rows)


def _in_memory(
    table: Any,
    request: TableRequest,
    settings: Mapping[str, Any],
    decimals: Mapping[str, int] | None,
    make_binner: Callable[[Sequence[str]], Binner] | None,
) -> TableTraining:
    """Merge the rows of a data frame as an engine would, so that the same card comes out."""
    frame = Frame(table)
    names = features_of(frame.names, request)
    outcome = read_outcome(frame.column(request.target), request.target, request.pos_label)
    event, labels = outcome.event, outcome.labels
    weight = check_weights(None, event.size)
    if request.sample_weight is not None:
        given = numeric_column(request.sample_weight, frame.column(request.sample_weight))
        weight = check_weights(given, event.size)
    binner, binned_on, risks = None, 0, None
    if make_binner is None:
        columns = {name: numeric_column(name, frame.column(name)) for name in names}
        if request.risks is not None:
            risks = given_risks(request.risks, frame.column(request.risks))
        training = _of_numbers(columns, event, weight, risks, settings, decimals)
    else:
        raw = RawTable(table)
        binner = make_binner(names)
        raw_columns = [
            RawColumn(name, nothing(event.size))
            if name in (binner.drop or ())
            else canonical(raw.column(name))
            for name in (names if request.risks is None else (*names, request.risks))
        ]
        risks, rows = _pop_risks(merged(raw_columns, event, weight), request)
        training = _of_merged(rows, binner, settings, risks)
        binned_on = rows.size
    n_rows = int((weight > 0).sum())
    merging = MergeReport("memory", n_rows, len(training.table), binned_on)
    return TableTraining(training, labels, outcome.text, names, binner, merging)


def features_of(available: Sequence[str], request: TableRequest) -> tuple[str, ...]:
    """Columns to learn from; refuses names that the table does not have."""
    special = [n for n in (request.target, request.sample_weight, request.risks) if n is not None]
    if isinstance(request.features, str):
        raise InputError(f"features={request.features!r} must be a list of column names.")
    if request.sample_weight == request.target:
        raise InputError(f"column {request.target!r} cannot be both outcome and weight.")
    if request.risks is not None and request.risks in (request.target, request.sample_weight):
        role = "outcome" if request.risks == request.target else "weight"
        raise InputError(
            f"column {request.risks!r} cannot be both {role} and risk. Name another teacher."
        )
    others = [name for name in available if name not in special]
    chosen = others if request.features is None else check_names(request.features)
    absent = [name for name in [*special, *chosen] if name not in available]
    if absent:
        raise InputError(
            f"the table has no column {shorten(absent)}.{did_you_mean(absent[0], available)} Its "
            "columns are "
            f"{shorten(list(available), 10)}. Correct the name, or add the column."
        )
    if request.target in chosen:
        raise InputError(f"column {request.target!r} is the outcome, and no feature. Leave it out.")
    chosen = [name for name in chosen if name != request.risks]  # no feature, even if it is named
    if not chosen:
        raise InputError("the table has no feature columns. Pass at least one.")
    return tuple(chosen)


# -- in an engine ----------------------------------------------------------------------------------


def _numbers(
    engine: EngineTable,
    names: tuple[str, ...],
    request: TableRequest,
    settings: Mapping[str, Any],
    decimals: Mapping[str, int] | None,
) -> TableTraining:
    """Columns of numbers as they are."""
    every = names if request.risks is None else (*names, request.risks)
    groups = group_numbers(
        engine, request.target, every, request.sample_weight, request.max_patterns
    )
    if groups is None:
        raise InputError(
            f"the table has more than {request.max_patterns:,} distinct rows. Let a binner make "
            "conditions of its columns (",
            Remedy('binner="auto"), or raise max_patterns.', "--binner auto)."),
        )
    outcome = read_outcome(groups.target, request.target, request.pos_label)
    columns = {name: numeric_column(name, values) for name, values in groups.columns.items()}
    risks = (
        None if request.risks is None else given_risks(request.risks, columns.pop(request.risks))
    )
    training = _of_numbers(columns, outcome.event, groups.weight, risks, settings, decimals)
    n_patterns = len(training.table)
    merging = MergeReport(engine.engine, groups.n_rows, n_patterns, seconds=engine.seconds)
    return TableTraining(training, outcome.labels, outcome.text, names, None, merging)


def raw_rows_of(
    engine: EngineTable,
    survey: Survey,
    names: Sequence[str],
    request: TableRequest,
    idle: list[str],
) -> tuple[MergedRows, list[str] | None]:
    """Raw rows for the binner: all distinct ones, or a sample where there are too many.

    Returns them with the columns to leave out of a sample, identifiers among them; None if all.
    """
    most = request.sample_rows
    if survey.n_rows <= most:
        found = distinct_rows(engine, survey, names, most, idle)
        assert found is not None  # as many as rows at most
        return found, None
    read = [name for name in names if name not in idle]
    levels = count_levels(engine, survey, read)
    sample = draw_sample(engine, survey, names, levels, most, idle)
    if sample.distinct <= most:
        found = distinct_rows(engine, survey, names, most, idle)
        if found is not None:
            return found, None
    idle = [*idle, *_identifiers(engine, survey, read, levels, sample)]
    return own_weights(engine, survey, names, levels, sample.rows, idle), idle


def _all_differ(
    engine: EngineTable, survey: Survey, name: str, levels: Mapping[str, Groups]
) -> bool:
    """Whether almost every row has a text of its own."""
    if name in levels:
        found = len(set(levels[name].keys["nb_level"].tolist()))
    else:
        keys = {"nb_level": engine.text(name)}
        found = engine.count_groups(keys, f"counting the texts of {name}", where=survey.used)
    return found >= _OWN_VALUES * max(1, survey.ends[name].present)


def _identifiers(
    engine: EngineTable,
    survey: Survey,
    names: Sequence[str],
    levels: Mapping[str, Groups],
    sample: Sample,
) -> list[str]:
    """Return columns with a different value in every row: a sample alone would not show it."""
    found = []
    for name in names:
        if engine.types[name] == "text" and _all_differ(engine, survey, name, levels):
            found.append(name)
        if engine.types[name] != "number":
            continue
        values = sample.rows.table.column(name).values
        ends = survey.ends[name]
        own = np.unique(values).size >= _OWN_VALUES * values.size
        whole = bool((values == np.floor(values)).all())
        if own and whole and ends.high - ends.low < 1.5 * survey.n_rows:
            found.append(name)
    if found:
        warnings.warn(
            InputWarning(
                f"columns {shorten(found)} left out: their values name the rows. ",
                Remedy("Name the columns to use (features)", "Leave them out (--drop NAME)"),
                " to silence this.",
            ),
            stacklevel=6,
        )
    return found


def _some_patterns(
    engine: EngineTable,
    survey: Survey,
    names: Sequence[str],
    binner: Binner,
    request: TableRequest,
) -> Counted:
    """Patterns of a sample of rows, each of which counts as it does in the table."""
    share = min(1.0, request.max_patterns / survey.n_rows)
    test = sample_test(engine, survey, names, count_levels(engine, survey, names), (share, share))
    counted = count_patterns(engine, survey, binner.fitted_, where=test, risks=request.risks)
    assert counted is not None  # without a limit
    if counted.event.all() or not counted.event.any():
        raise InputError(
            f"the sample of {int(counted.weight.sum()):,} rows holds one outcome only. ",
            Remedy("Raise max_patterns, or bin", "Bin"),
            " the columns more coarsely.",
        )
    warnings.warn(
        InputWarning(
            f"more than {request.max_patterns:,} distinct rows of conditions: the points were "
            f"searched on {int(counted.weight.sum()):,} of {survey.n_rows:,} rows; cut-offs and "
            "risks come from all of them. Coarser bins would do without a sample: ",
            Remedy(
                "binning_choices() shows what they cost.",
                '"max_bins" in a --binner FILE.json makes them.',
            ),
        ),
        stacklevel=5,
    )
    return counted


# -- after a search on a sample --------------------------------------------------------------------


def recount_on_all_rows(learned: Learned, found: TableTraining, *, calibrate: bool) -> Learned:
    """Give a card that was searched on a sample the cut-offs and risks of all rows.

    One query counts all rows by score and outcome; cut-offs and risks follow from those counts by
    the usual recipe.  The card says what was searched on how many rows.
    """
    engine, survey = found.engine, found.survey
    assert engine is not None  # tables in memory are searched whole
    assert survey is not None
    card, problem = learned.card.raw(), learned.problem  # in the solver's own scores
    keys = {"nb_score": score_of(card, engine), "nb_event": flag(survey.event)}
    groups = engine.group(
        keys, "counting all rows by score", weight=survey.weight, where=survey.used
    )
    missing = np.array([s is None or s != s for s in groups.keys["nb_score"].tolist()])
    if missing.any():
        raise InputError(
            f"the card refuses {int(groups.rows[missing].sum()):,} of {survey.n_rows:,} rows, none "
            "of which was in the sample: a value is of another kind, or missing where that is "
            "refused. Correct them, or leave those rows out."
        )
    score = groups.keys["nb_score"].astype(np.int64)
    event = groups.keys["nb_event"].astype(np.int64) == 1
    counted = PatternTable.from_codes(
        score[:, None], event, names=["score"], sample_weight=groups.weight
    )
    if learned.taught is not None:
        risks = _risks_by_score(problem, learned.result.points, learned.taught.blend, score)
        strength = _strength(learned.taught.blend, problem, counted)
        counted, _ = blend(counted, risks, np.asarray(groups.weight, dtype=np.float64), strength)
    rates = [one for one in problem.constraints if isinstance(one, MinTPR | MaxFPR)]
    by_score = Problem.build(
        counted,
        problem.thresholds,
        penalty=0.0,
        max_points=1,
        constraints=rates,
    )
    levels = fit_levels(by_score, [1], calibrate=calibrate)
    sample = float(problem.patterns.n_total)
    provenance = replace(
        card.provenance or Provenance(version=__version__),
        n_rows=counted.n_total,
        n_events=counted.n_events,
        n_patterns=None,
        prevalence=counted.prevalence,
        net_benefit=levels.net_benefit,
        # Both are those of the sample.
        objective=None,
        bound=None,
        share_kept=None,
        share_bound=None,
        updated=f"points from a sample of {format_count(sample)} rows; "
        "cut-offs and risks from all rows",
    )
    new = replace(
        card,
        risks=levels.risks,
        score_range=(int(score.min()), int(score.max())),
        provenance=provenance,
    )
    return learned._replace(card=new.start_at_zero() if learned.card.base else new)


def _risks_by_score(problem: Problem, points: IntArray, how: Blend, scores: IntArray) -> FloatArray:
    """Mean risk that the teacher gave rows of each score, in the sample; between them, linear."""
    table = problem.patterns
    own = floor_scores(table.codes, table.decimals, points)
    known, place = np.unique(own, return_inverse=True)
    rows = np.bincount(place.ravel(), weights=table.events + table.others)
    expected = np.bincount(place.ravel(), weights=how.expected / how.denominator)
    found: FloatArray = np.interp(scores, known, expected / rows)
    return found


def _strength(how: Blend, problem: Problem, counted: PatternTable) -> Fraction | None:
    """n0 for all rows: the same belief per row as in the sample."""
    if how.strength is None:
        return None
    return how.strength * Fraction(counted.n_total) / Fraction(problem.patterns.n_total)
