"""What all estimators share: rows become patterns, patterns a problem, and its solution a card."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from numbers import Integral
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from netbenefit._version import __version__
from netbenefit.binning import METHODS, Binner, FittedBins, check_width
from netbenefit.cards import (
    Condition,
    Frame,
    PerUnit,
    Provenance,
    Reading,
    Rule,
    Scorecard,
    Term,
    is_finite,
    is_one_row,
    numeric_column,
    read_columns,
)
from netbenefit.common import (
    FloatArray,
    InputError,
    IntArray,
    check_names,
    check_risks,
    check_threads,
    check_weights,
    setting,
    shorten,
    threads_here,
)
from netbenefit.data import (
    Outcome,
    PatternTable,
    RawTable,
    check_both_classes,
    raw_rows,
    read_outcome,
    sorted_labels,
    warn_of_constants,
)
from netbenefit.estimators.cautions import Caution
from netbenefit.metrics import Thresholds
from netbenefit.problem import (
    Constraint,
    Problem,
    Questions,
    RawNames,
    Sign,
    SolverResult,
    by_condition,
    check_two_classes,
    fit_levels,
)
from netbenefit.solvers import (
    Annealing,
    LocalSearch,
    MixedInteger,
    SearchThenProve,
    Solver,
    check_time_limit,
)
from netbenefit.teachers import TEACHERS, Taught, blend, read_strength, teach

# -- what the estimator is given: raw rows in, patterns with their conditions out ------------------


class Rows(NamedTuple):
    """Rows as a teacher takes them, in the order of a pattern table's rows."""

    X: Any  #: as they were passed
    columns: Any  #: numbers by name, or a raw table where there is a binner
    event: NDArray[np.bool_]
    sample_weight: ArrayLike | None = None
    groups: ArrayLike | None = None  #: rows with the same label belong together
    binner: Binner | None = None  #: with the settings of the one that made the patterns
    risks: NDArray[Any] | None = None  #: given by a column that is no feature
    learnt_from: str = ""  #: what a teacher learns from, where these are not all rows one by one


class TrainingData(NamedTuple):
    """Patterns to learn from, and how they came about."""

    table: PatternTable
    settings: dict[str, Any]  #: of :meth:`Problem.build`
    rows: Rows
    bins: FittedBins | None = None


# -- raw tables ------------------------------------------------------------------------------------


def make_binner(
    binner: Any,
    names: Sequence[str],
    thresholds: Thresholds,
    sign: Mapping[Any, Any] | None = None,
    constraints: Sequence[Constraint] = (),
) -> Binner:
    """Return a fresh binner with the estimator's thresholds.

    Columns with a required sign get conditions that add up: only then a sign of each means that
    points never fall, or never rise, along the column.
    """
    if isinstance(binner, str) and binner in ("auto", *METHODS):
        made = Binner() if binner == "auto" else Binner(method=binner)
    elif isinstance(binner, Binner):
        made = clone(binner)
    else:
        methods = ", ".join(f'"{method}"' for method in METHODS)
        raise InputError(
            f'binner={binner!r} is not known. Use "auto", {methods}, a Binner(), or None.'
        )
    if made.thresholds is None:
        made.set_params(thresholds=thresholds)
    names = [*names, *(made.combine or ())]
    signed = [*(sign or {}), *(one.feature for one in constraints if isinstance(one, Sign))]
    steady = [name for name in signed if name in names]
    if steady and made.bins != "cumulative":
        bins = dict(made.bins) if isinstance(made.bins, Mapping) else {"*": made.bins}
        made.set_params(bins={**bins, **dict.fromkeys(steady, "cumulative")})
    return made


def training_of_raw(
    binner: Binner,
    X: Any,
    event: NDArray[np.bool_],
    sample_weight: ArrayLike | None,
    settings: Mapping[str, Any],
    groups: ArrayLike | None = None,
    risks: NDArray[Any] | None = None,
    learnt_from: str = "",
) -> TrainingData:
    """Bin raw rows, and express settings of columns by their conditions."""
    codes = binner.fit_codes(X, event, sample_weight)
    rows = Rows(X, X, event, sample_weight, groups, binner, risks, learnt_from)
    table = PatternTable.from_codes(
        codes.matrix, event, names=codes.names, decimals=codes.decimals, sample_weight=sample_weight
    )
    return TrainingData(
        table, settings_by_condition(binner.fitted_, settings), rows, binner.fitted_
    )


def settings_by_condition(bins: FittedBins, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Express signs, bounds and constraints of raw columns by conditions on them."""
    constraints = by_condition(
        RawNames(bins.names, bins.terms, bins.columns),
        settings.get("sign"),
        settings.get("bounds"),
        settings.get("constraints", ()),
    )
    made = {**settings, "sign": None, "bounds": None, "constraints": constraints}
    if "max_questions" in settings:
        made["questions"] = Questions.of_terms(bins.terms)
    return made


def pop_column(X: Any, name: str, purpose: str) -> tuple[NDArray[Any] | None, Any]:
    """Take a column out of a table: return its values as they are, and the table without it.

    None where the table has no such column; an array has no names at all, which is an error.
    ``purpose`` is the parameter that names the column.
    """
    if isinstance(X, Mapping) and not hasattr(X, "shape"):
        rest: Any = {key: values for key, values in X.items() if key != name}
    elif nw.dependencies.is_into_dataframe(X):
        rest = nw.from_native(X, eager_only=True).drop(name, strict=False).to_native()
    elif isinstance(X, RawTable):
        rest = X.without(name)
    elif isinstance(X, list | tuple) and X and all(isinstance(row, Mapping) for row in X):
        rest = [{key: value for key, value in row.items() if key != name} for row in X]
    else:
        raise InputError(
            f"{purpose}={name!r} is the name of a column, but X has no column names. Pass a data "
            "frame, or the numbers themselves as an array."
        )
    table = X if isinstance(X, RawTable) else RawTable(X)
    return (table.column(name).values, rest) if name in table else (None, X)


def given_risks(name: str, values: Any) -> NDArray[Any]:
    """Return a column of risks from another source, checked."""
    try:
        numbers = numeric_column(name, values)
    except InputError as error:
        raise type(error)(
            setting("teacher", name), " names a column of risks, but ", *error.args
        ) from None
    risks = check_risks(numbers, len(numbers), name=f"the column of risks {name!r}")
    if risks.size and risks.min() == risks.max():
        raise InputError(
            f"the column of risks {name!r} is {risks[0].item()!r} in every row, and has nothing to "
            "teach. Name one that differs between rows, or choose another teacher."
        )
    return risks


def read_numeric(
    estimator: Any, X: Any, *, feature_names: Sequence[str] | None = None
) -> dict[str, NDArray[Any]]:
    """Named numeric columns of a data frame, a mapping of columns or an array.

    ``feature_names`` are those of the fit; None where this is the fit.
    """
    reset = feature_names is None
    # (Some sparse matrices are dicts, too.)
    by_name = isinstance(X, Mapping) and not hasattr(X, "shape")
    one_row = by_name and bool(X) and is_one_row(X, feature_names or list(X))
    if one_row or nw.dependencies.is_polars_lazyframe(X):
        raise InputError(
            f"X is a {type(X).__name__}{' of single values' if one_row else ''}. Pass a data frame "
            "in memory, a dict of columns, or an array of rows and columns. A fitted card scores "
            "dicts of single values: scorecard_.risk(X)."
        )
    if by_name:
        if feature_names is not None:
            columns, _ = read_columns(X, tuple(feature_names), tuple(feature_names))
        else:
            columns = dict(zip(check_names(list(X)), X.values(), strict=True))
            estimator.n_features_in_ = len(columns)
            estimator.feature_names_in_ = np.array(list(columns), dtype=object)
    elif nw.dependencies.is_into_dataframe(X):
        # scikit-learn would make one matrix of it; this way types and errors stay exact
        frame = Frame(X)
        columns = {name: frame.column(name) for name in frame.names}
        _check_names(estimator, X, reset)
    else:
        matrix = validate_data(
            estimator, X, reset=reset, dtype=None, ensure_all_finite=False, accept_sparse=False
        )
        columns = {f"x{k}": matrix[:, k] for k in range(matrix.shape[1])}
    if reset and not columns:
        raise InputError("the table has 0 feature(s): no columns. Pass at least one.")
    if feature_names is not None and set(columns) != set(feature_names):
        # Names on one side only, of which scikit-learn has warned: go by position.
        columns = dict(zip(feature_names, columns.values(), strict=True))
    try:
        return {name: numeric_column(name, values) for name, values in columns.items()}
    except InputError as error:
        remedy = 'Or set binner="auto": it takes text and missing values.'
        raise type(error)(*error.args, f" {remedy}") from None


def _check_names(estimator: Any, X: Any, reset: bool) -> None:
    """scikit-learn's own check of column names, with a remedy."""
    try:
        validate_data(estimator, X, reset=reset, skip_check_array=True)
    except ValueError as error:
        raise InputError(
            f"{error}\nPass the columns of the fit, named and ordered as they were there."
        ) from None


class CardClassifier(
    ClassifierMixin,  # type: ignore[misc]  # scikit-learn has no types
    BaseEstimator,  # type: ignore[misc]
):
    """A classifier of two classes whose model is a :class:`Scorecard`.

    Its ``fit`` sets ``classes_``, ``event_`` and ``scorecard_``; :meth:`_training` reads its rows.
    """

    pos_label: Any
    event_: Any

    binner: str | Binner | None
    decimals: Mapping[str, int] | None
    random_state: Any
    classes_: NDArray[Any]
    scorecard_: Scorecard

    def predict(self, X: Any, *, threshold: float = 0.5) -> NDArray[Any]:
        """Decide for each row: the event's label where its risk is at least ``threshold``.

        To carry another threshold through scikit-learn's tools, wrap the estimator in
        :class:`sklearn.model_selection.FixedThresholdClassifier`, or request ``threshold`` by
        ``set_predict_request``.
        """
        if not (is_finite(threshold) and 0.0 <= threshold <= 1.0):
            raise InputError(
                f"threshold={threshold!r} is not a risk between 0 and 1. Write 0.2 for 20%."
            )
        risk = self.predict_proba(X)[:, self._place]
        acts = (risk >= threshold).astype(np.intp)
        labels: NDArray[Any] = self.classes_[acts if self._place else 1 - acts]
        return labels

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probabilities of both classes, in the order of ``classes_``: (n_rows, 2)."""
        risk = self._risk(X)
        both = [1.0 - risk, risk] if self._place else [risk, 1.0 - risk]
        return np.column_stack(both)

    @property
    def _place(self) -> int:
        """Which of ``classes_`` is the event."""
        return int(self.classes_[1] == self.event_)

    def _risk(self, X: Any) -> FloatArray:
        """Risk of each row, by the card."""
        rows = self._rows(X)
        return np.asarray(self.scorecard_.risk(rows), dtype=np.float64)

    @property
    def _repr_html_(self) -> Any:
        """The card in a notebook, once there is one."""
        diagram = super()._repr_html_  # an AttributeError where only text is wanted
        return self.scorecard_._repr_html_ if hasattr(self, "scorecard_") else diagram

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        bundle: dict[str, Any] = super()._repr_mimebundle_(**options)
        if "text/html" in bundle:
            bundle["text/html"] = self._repr_html_()
        return bundle

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        raw = self.binner is not None
        tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = raw
        return tags

    # -- steps of fit ----------------------------------------------------------------------------

    def _outcome(self, y: Any) -> Outcome:
        """Read the outcomes of rows, and keep what they are called."""
        outcome = read_outcome(y, positive=self.pos_label)
        self._keep_labels(outcome.labels)
        return outcome

    def _keep_labels(self, labels: NDArray[Any]) -> None:
        self.classes_, self.event_ = sorted_labels(labels), labels[1]

    def _settings(self) -> dict[str, Any]:
        """Arguments of :meth:`Problem.build`; columns are raw ones where there is a binner."""
        return {}

    def _grid(self) -> Thresholds:
        """Thresholds that a binner cuts for."""
        return Thresholds.tenths()

    def _training(
        self,
        X: Any,
        event: NDArray[np.bool_],
        sample_weight: ArrayLike | None,
        groups: ArrayLike | None = None,
    ) -> TrainingData:
        """Patterns of rows to learn from; keeps what later rows are read by."""
        settings = self._settings()
        self.__dict__.pop("binner_", None)  # of an earlier fit
        risks, X = self._given_risks(X)
        if self.binner is None:
            columns = read_numeric(self, X)
            table = PatternTable.from_columns(
                columns, event, sample_weight=sample_weight, decimals=self.decimals
            )
            warn_of_constants(table)
            rows = Rows(X, columns, event, sample_weight, groups, risks=risks)
            return TrainingData(table, settings, rows)
        self._check_decimals()
        check_both_classes(event, check_weights(sample_weight, event.size))
        names = X.names if isinstance(X, RawTable) else RawTable(X).names
        self.binner_ = make_binner(
            self.binner, names, self._grid(), settings.get("sign"), settings.get("constraints", ())
        )
        training = training_of_raw(self.binner_, X, event, sample_weight, settings, groups, risks)
        self.n_features_in_ = len(names)
        self.feature_names_in_ = np.array(names, dtype=object)
        return training

    def _given_risks(self, X: Any) -> tuple[NDArray[Any] | None, Any]:
        """Risks of a column that the teacher names, and the table without it."""
        name = self._teacher_column()
        if name is None:
            return None, X
        risks, rest = pop_column(X, name, "teacher")
        if risks is None:
            raise InputError(
                setting("teacher", name),
                " is neither known nor a column of the table. Use one of ",
                ", ".join(map(repr, TEACHERS)),
                ", a classifier, risks (a column's name or an array), or None.",
            )
        return given_risks(name, risks), rest

    def _teacher_column(self) -> str | None:
        teacher = getattr(self, "teacher", None)
        return teacher if isinstance(teacher, str) and teacher not in TEACHERS else None

    def _check_decimals(self) -> None:
        if self.decimals is not None:
            raise InputError(
                "decimals need binner=None. With a binner, use Binner(per_unit={name: "
                "PerUnit(name, decimals=1)})."
            )

    def _rows(self, X: Any) -> Any:
        """Rows as the card takes them."""
        check_is_fitted(self)
        name = self._teacher_column()
        if name is not None and not isinstance(X, np.ndarray):
            _, X = pop_column(X, name, "teacher")
        card = self.scorecard_
        if not hasattr(self, "binner_"):
            return read_numeric(self, X, feature_names=card.feature_names)
        rows = raw_rows(X, card.features)
        check_width(self, rows)
        return rows

    def _seed(self) -> int:
        if isinstance(self.random_state, Integral):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))


# -- from patterns to a card -----------------------------------------------------------------------


class Learned(NamedTuple):
    """A card and how it was found."""

    card: Scorecard
    result: SolverResult
    problem: Problem
    taught: Taught | None = None
    cautions: Sequence[Caution] = ()

    def __repr__(self) -> str:
        return f"<Learned: a card of {self.card.size} rules; {self.result!r}>"


def teach_masses(
    training: TrainingData,
    thresholds: Thresholds,
    teacher: Any,
    prior_strength: Any,
    *,
    seed: int,
    n_jobs: int | None,
) -> tuple[PatternTable, Taught | None]:
    """Blend outcomes with a teacher's risks; without a teacher, outcomes are all that counts."""
    table, rows = training.table, training.rows
    strength = read_strength(prior_strength, table.n_total)
    if teacher is None or strength == 0:
        return table, None
    check_not_constant(table)
    check_two_classes(table)
    if strength is not None and prior_strength != "auto":
        check_small_weights(
            table, "A prior counts weights as rows", 'set prior_strength="auto", 0 or inf'
        )
    teaching = teach(
        teacher if rows.risks is None else rows.risks,
        rows.columns if isinstance(teacher, str) else rows.X,
        rows.event,
        sample_weight=rows.sample_weight,
        groups=rows.groups,
        binner=rows.binner,
        seed=seed,
        n_jobs=n_jobs,
    )
    if rows.learnt_from:
        teaching = replace(teaching, name=f"{teaching.name}, {rows.learnt_from}")
    weight = check_weights(rows.sample_weight, rows.event.size)
    blended, how = blend(table, teaching.risks, weight, strength)
    # What the teacher's own decisions are worth, row by row: by outcomes, and by blended masses.
    share = 1.0 if strength is None else float(strength / (strength + Fraction(table.n_total)))
    masses = (1.0 - share) * rows.event + share * teaching.risks
    worth = [_worth(of, teaching.risks, thresholds, weight) for of in (rows.event, masses)]
    return blended, Taught(teaching, how, *worth)


def warn_of_teaching(taught: Taught | None, *, stacklevel: int) -> None:
    """Warn of what a user should know about the teacher: fallbacks, and what was left out."""
    for note in () if taught is None else taught.teaching.notes:
        warnings.warn(note, stacklevel=stacklevel + 1)


def _worth(
    events: NDArray[Any], risks: FloatArray, thresholds: Thresholds, weight: FloatArray
) -> float:
    """Σ_i ω_i NB_i of decisions by ``risks``; events are shares of rows."""
    called = risks[None, :] >= thresholds.array[:, None]
    net = called @ (weight * events) - thresholds.odds * (called @ (weight * (1.0 - events)))
    # Rounded, so that the order of the rows does not show in the last digits.
    return round(float(thresholds.weight_array @ net / weight.sum()), 12)


def make_problem(table: PatternTable, thresholds: Thresholds, **settings: Any) -> Problem:
    """Build a problem by settings of :meth:`Problem.build`; refuse rows that teach nothing."""
    check_not_constant(table)
    problem = Problem.build(table, thresholds, **settings)
    given = settings.get("penalty")
    if "auto" in ([given] if isinstance(given, str) or not np.iterable(given) else list(given)):
        check_small_weights(
            table, "The price of a rule counts weights as rows", 'set penalty="paper"'
        )
    return problem


def check_not_constant(table: PatternTable) -> None:
    """Raise an error where no column varies."""
    if len(table.constant) == table.n_features:
        raise InputError(
            f"every column is constant ({shorten(table.constant)}): nothing tells rows apart. Add "
            "a column that varies."
        )


def check_small_weights(table: PatternTable, why: str, otherwise: str) -> None:
    """Raise an error where weights are no numbers of rows, but something counts them as such."""
    rows, total = int((table.pattern_of_row >= 0).sum()), float(table.n_total)
    if total < _LEAST_WEIGHT * rows:
        raise InputError(
            f"the weights of {rows:,} rows add up to {total:g} only. {why}: multiply the weights "
            f"so that they add up to the number of rows, or {otherwise}."
        )


def make_provenance(
    table: PatternTable,
    result: SolverResult,
    penalty: Fraction | float,
    outcome: str,
    seed: int | None,
    taught: Taught | None = None,
    *,
    rule_penalty: Fraction | float | None = None,
    price: Fraction | float = 0,
    cautions: Sequence[Caution] = (),
) -> Provenance:
    """Write down where a card comes from.

    A question costs ``penalty``, each further rule ``rule_penalty`` (None: each rule costs the
    penalty), and all of the card's questions and rules ``price``.  Of the teacher's net benefit on
    the masses, the card keeps its own share; a card with as few questions and rules keeps at most
    that of the bound, to which their price is added again.
    """
    origin = Provenance(
        version=__version__,
        n_rows=table.n_total,
        n_events=table.n_events,
        n_patterns=len(table),
        prevalence=table.prevalence,
        objective=result.objective,
        bound=result.bound,
        penalty=float(penalty),
        rule_penalty=None if rule_penalty is None else float(rule_penalty),
        prior_strength=0.0,
        solver=result.solver,
        status=result.status,
        seconds=round(result.seconds, 3),
        random_state=seed,
        outcome=outcome,
        caution="; ".join(one.on_card for one in cautions) or None,
    )
    if taught is None:
        return origin
    whole, strength = taught.blended_benefit, taught.blend.strength
    bound = None if result.bound is None else result.bound + float(price)
    return replace(
        origin,
        prior_strength=math.inf if strength is None else float(strength),
        teacher=taught.teaching.name,
        teacher_net_benefit=taught.net_benefit,
        share_kept=result.net_benefit / whole if whole > 0 else None,
        share_bound=bound / whole if whole > 0 and bound is not None else None,
    )


def too_small_text(problem: Problem) -> str:
    """Say which columns vary too little to count, and what to do."""
    most = int(max(np.abs(problem.lower).max(), np.abs(problem.upper).max()))
    return (
        f"columns that vary too little to move a score, even with {most} points: "
        f"{shorten(problem.too_small)}. Multiply them by 10, 100, …, or bin them."
    )


def choose_solver(
    solver: str | Solver, *, time_limit: float | None, seed: int, n_jobs: int | None
) -> Solver:
    """Turn a solver's name into a solver; a solver object is used as it is."""
    check_time_limit(time_limit)
    if not 0 <= seed < 2**53:  # what a card file can hold exactly
        raise InputError(f"the seed must be a whole number from 0 to 2^53, not {seed}.")
    if not isinstance(solver, str | type) and hasattr(solver, "solve"):
        return solver
    if solver == "anneal":
        return Annealing(time_limit=time_limit, seed=seed)
    if solver not in ("auto", "exact", "local", "milp"):
        raise InputError(
            f'solver={solver!r} is not known. Use "auto", "exact", "milp", "local", "anneal", or a '
            "solver object such as Annealing()."
        )
    threads = count_threads(n_jobs)
    if solver == "local":
        return LocalSearch(time_limit=time_limit, n_jobs=threads, seed=seed)
    if solver == "milp":
        return MixedInteger(time_limit=time_limit, n_jobs=threads, seed=seed)
    return SearchThenProve(
        time_limit,
        n_jobs=threads,
        seed=seed,
        search_share=_SEARCH_SHARE[solver],
        patience=_PATIENCE[solver],
        name=solver,
    )


def count_threads(n_jobs: int | None) -> int:
    """Return how many threads scikit-learn's ``n_jobs`` stands for."""
    check_threads(n_jobs)
    return threads_here(n_jobs)


#: Mean weight below which weights are no numbers of rows.
_LEAST_WEIGHT = 0.1

#: How much of the time the local search may take: what matters most comes first in "auto".
_SEARCH_SHARE = {"auto": 0.7, "exact": 0.2}
#: Seconds that a proof goes on without lowering the gap by a tenth.
_PATIENCE = {"auto": 0.5, "exact": None}


def assemble_card(
    problem: Problem,
    result: SolverResult,
    provenance: Provenance,
    *,
    bins: FittedBins | None = None,
    calibrate: bool = True,
    start_at_zero: bool = False,
) -> Scorecard:
    """Put rules, cut-offs and risks together, and fill in the net benefit.

    Columns come from a binner (``bins``), or are used as they are, per unit.  Unless ``calibrate``,
    a level has the middle of its interval as its risk.  With ``start_at_zero`` every question
    counts from its least answer; otherwise scores are those of the solver.
    """
    rules, names, readings = rules_of(problem.patterns, result.points, bins)
    levels = fit_levels(problem, result.points, calibrate=calibrate)
    card = Scorecard(
        rules=rules,
        risks=levels.risks,
        thresholds=problem.thresholds,
        score_range=result.score_range,
        feature_names=names,
        provenance=replace(provenance, net_benefit=levels.net_benefit),
        readings=readings,
    )
    return card.start_at_zero() if start_at_zero else card


def rules_of(
    table: PatternTable, points: IntArray, bins: FittedBins | None = None
) -> tuple[tuple[Rule, ...], tuple[str, ...], tuple[Reading, ...]]:
    """Write points down as rules; return these, raw columns and readings.

    With a binner, the rules say what a missing value is worth wherever that was learnt, even if it
    is nothing.
    """
    terms = terms_of(table) if bins is None else bins.terms
    rules = [Rule(terms[k], int(points[k])) for k in np.flatnonzero(points).tolist()]
    if bins is None:
        return tuple(rules), table.names, ()
    used = dict.fromkeys(rule.term.feature for rule in rules)
    missing = [Condition(name, "missing") for name in used if name in bins.own_missing]
    known = {rule.term for rule in rules}
    rules += [Rule(term, 0) for term in missing if term not in known]
    return tuple(rules), bins.columns, bins.readings_of(list(used))


def terms_of(table: PatternTable) -> tuple[Term, ...]:
    """Each column as itself: points per unit, in the step in which it is held."""
    return tuple(
        PerUnit(name, decimals=d, binary=d == 0 and bool(np.isin(table.codes[:, k], (0, 1)).all()))
        for k, (name, d) in enumerate(zip(table.names, table.decimals, strict=True))
    )
