"""The scikit-learn estimator, which puts patterns, problem, solver and card together."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import _fit_context, clone
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from netbenefit.binning import Binner, FittedBins
from netbenefit.cards import Scorecard
from netbenefit.certificates import make_certificate
from netbenefit.common import FloatArray, InputError, IntArray, Remedy
from netbenefit.data import read_outcome, warn_of_constants
from netbenefit.estimators.cautions import Caution, find_cautions, warn_of_cautions
from netbenefit.estimators.directions import (
    AUTOMATIC,
    directions_of,
    never_negative,
    read_automatic,
)
from netbenefit.estimators.from_table import (
    MAX_PATTERNS,
    SAMPLE_ROWS,
    TableRequest,
    read_training,
    recount_on_all_rows,
)
from netbenefit.estimators.other_sizes import ADDABLE, OtherSizes, other_sizes
from netbenefit.estimators.training import (
    CardClassifier,
    Learned,
    TrainingData,
    assemble_card,
    choose_solver,
    count_threads,
    make_binner,
    make_problem,
    make_provenance,
    teach_masses,
    too_small_text,
    warn_of_teaching,
)
from netbenefit.metrics import Thresholds, ThresholdsLike, Weights, as_thresholds
from netbenefit.problem import (
    Constraint,
    MaxFeatures,
    MaxQuestions,
    Monotone,
    Penalty,
    Problem,
    SolverResult,
)
from netbenefit.solvers import (
    Callback,
    LiveLine,
    NearOptimal,
    Solver,
    allowed_start,
    enumerate_near_optimal,
)
from netbenefit.teachers import Taught


class RiskScoreClassifier(CardClassifier):
    """Learn a scorecard with small integer points that maximises decision net benefit.

    With thresholds p_i, weights ω_i and odds r_i = p_i / (1 − p_i), the points λ maximise

        Σ_i ω_i max_T (TP_i(T) − r_i FP_i(T)) / N − C0 · questions − C1 · further rules ,

    where a row is positive at p_i when its score x·λ reaches the cut-off T_i.  What counts as an
    event is a blend: a *teacher*, a model that sees all columns, gives every row a risk p̂ by
    cross-fitting, and row j brings the event mass e_j = (y_j + κ p̂_j) / (1 + κ), κ = n0 / N, and
    the non-event mass 1 − e_j.  Every score gets a risk: the share of event mass among its rows,
    pooled so that it never falls.  The published method, without a teacher, is
    :class:`RSSDNBClassifier`.

    Parameters
    ----------
    thresholds : Thresholds, str, float or sequence of float, default=None
        Risks from which one would act: one or several, a text such as ``"0.05:0.5:0.05"``, or
        :class:`~netbenefit.Thresholds`.  None is the published grid 0, 0.1, …, 0.9.
    weights : {"equal", "length"}, sequence of float or callable, default=None
        How much each threshold matters; see :meth:`Thresholds.of`.  None is ``"equal"``, or
        whatever a ``Thresholds`` brings along.
    binner : "auto", method of binning, Binner or None, default="auto"
        How raw columns become conditions; columns of 0 and 1 stay as they are.  X may hold text,
        categories and missing values, and the card scores raw rows.  ``"auto"`` is ``Binner()``;
        the name of a method, such as ``"quantile"``, is ``Binner(method="quantile")``.  None takes
        columns as they are: numbers, none of them missing, with points per unit.
    max_points : int, default=10
        Largest points of an answer as printed, and largest absolute value of a rule's points.
        Points of conditions on one column add up: their sums are limited, too.
    penalty : "auto", "paper", float or pair of floats, default="auto"
        Price C0 of a question, in net benefit; ``"auto"`` is prevalence / rows, times
        √(rows / 4000) in tables of fewer than 4,000 rows; ``"paper"`` the published
        0.1 · prevalence / columns.  A further rule on the same question costs C1, a quarter of it;
        a pair (C0, C1) gives both.  Without a binner each column is a question of its own.
    teacher : "auto", "logistic", "boosting", classifier, str, array or None, default="auto"
        What gives every training row a risk.  ``"auto"``: a stack of logistic regression on the
        conditions, logistic regression on the raw columns, and boosted trees; ``"logistic"``: the
        first two; ``"boosting"``: trees alone.  A scikit-learn classifier is cloned and
        cross-fitted.  Any other text names a column of X that holds risks from another source (it
        is no feature then); an array holds one such risk per row.  None: outcomes alone.
    prior_strength : "auto" or float, default="auto"
        n0: how many rows the teacher's risks count for.  ``"auto"`` is ten for every row of the
        table, 0 the published objective; ``inf`` leaves only the teacher's decisions.
    max_features : int, default=None
        Largest number of rules: conditions with points, or columns where there is no binner.
    max_questions : int, "auto" or None, default="auto"
        Largest number of questions: raw (or combined) columns that rules are about.  ``"auto"`` is
        8, so that a person can add the points up in their head, or no limit where ``max_features``
        or a constraint limits rules or questions; None is no limit.  :meth:`other_sizes` says what
        fewer and more would keep.
    sign : mapping, default=None
        ``{"age": "+", "haemoglobin": "-"}``: columns whose points may not be negative, or not
        positive.  With a binner: along which points never fall, or never rise.
    monotone : mapping, "auto" or "all", default=None
        ``{"age": "+", "haemoglobin": "-"}``: columns along which points never fall, or never rise.
        ``"auto"`` takes the direction of every column from the teacher, where the evidence is
        clear, and a mapping does so for columns that have ``"auto"`` (``"*"`` stands for all that
        it does not name); see ``monotone_``.  ``"all"``, in both places, does it in any case.
    nonnegative : bool, default=False
        Whether every rule may only add points.  With a binner: no points fall along any column.
    bounds : mapping, default=None
        ``{"age": (0, 5)}``: lowest and highest points of a column, or of each condition on it.
    constraints : sequence of Constraint, default=None
        Other requirements, such as ``[AtMost(1, ["age", "frailty"])]``.  With a binner they name
        raw columns, or single conditions.
    solver : {"auto", "exact", "milp", "local", "anneal"} or solver object, default="auto"
        ``"auto"`` searches, then proves how good the card is in the time that is left.
        ``"exact"`` gives the proof more of the time.  ``"milp"`` hands the published integer
        program to HiGHS, whose own bound is passed on but proves nothing; ``"local"`` only
        searches; ``"anneal"`` is the published annealing.
    time_limit : float, default=10.0
        Seconds for search and proof, or None.  (The first fit on a machine compiles first.)
    random_state : int, RandomState or None, default=0
        Seed of the teacher's folds and of the search.
    pos_label : label, default=None
        The event's label; all others are no event.  None: the event is 1, True or "yes" (in any
        spelling); of two other labels the one that sorts last, as scikit-learn has it.
    n_jobs : int, default=-1
        Threads; −1 for all cores.
    verbose : int, default=0
        1 shows a progress line on a terminal.
    calibrate : bool, default=True
        Give each score the risk of its training rows; otherwise each level, the scores between two
        cut-offs, the middle of its interval.
    start_at_zero : bool, default=True
        Whether every question of the card counts from the answer that is worth least, so that
        nobody subtracts; an exact shift of the score.  Otherwise points are those of
        :attr:`coef_`.
    decimals : mapping, default=None
        ``{"lactate": 1}``: decimals to keep of single columns, instead of those found in the data.
    callback : callable, default=None
        Called during the search with a :class:`~netbenefit.problem.problem.Progress`; if it
        returns True, the search ends with the best card so far.

    Attributes
    ----------
    scorecard_ : Scorecard
        The card: prints, scores, saves.
    result_ : SolverResult
        Objective, bound, status, time and trace, all by the blended masses.  Its cut-offs and
        range of scores are those of :attr:`coef_`, before questions are made to start at 0.
    teaching_ : Teaching or None
        The teacher's out-of-fold risks, its name, and notes; None without a teacher.
    learned_ : Learned
        The card with the problem that it solves; not kept where a model is saved.
    monotone_ : dict
        Columns along which points never fall ("+") or never rise ("-") because the teacher and the
        outcomes say so; only with ``"auto"`` or ``"all"``.
    certificate_ : Certificate
        What was solved, found and proven, for ``netbenefit verify``.
    merging_ : MergeReport
        After :meth:`fit_table`: how the table became patterns.
    coef_ : (n_features,) int64
        Points of each column; with a binner, of each of its conditions.
    binner_ : Binner
        The fitted binner, if any.
    cutoffs_ : (M,) int64
        T_1 … T_M, of the card's scores.
    thresholds_ : Thresholds
    classes_ : (2,) array
        Both labels, sorted.
    event_ : label
        The one of them that is the event.
    n_features_in_ : int
    feature_names_in_ : (n_features,) array of str
        Only when the table had column names.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.integers(0, 2, (500, 3))
    >>> y = rng.random(500) < 0.1 + 0.3 * X[:, 0] + 0.4 * X[:, 2]
    >>> model = RiskScoreClassifier(thresholds="0.1:0.6:0.1", max_points=2, max_features=2)
    >>> model.fit(X, y).coef_
    array([1, 0, 2])
    >>> model.predict(X[:3], threshold=0.25)
    array([ True, False, False])
    """

    #: Whether conditions on one column are one question; published methods count conditions.
    _asks_questions: ClassVar[bool] = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "thresholds": [Thresholds, str, Real, "array-like", None],
        "weights": [str, "array-like", callable, None],
        "binner": [object, None],
        "max_points": [Interval(Integral, 1, None, closed="left")],
        "penalty": [str, Real, "array-like"],  # Problem has the better errors
        "teacher": [object, None],  # teach has the better errors
        "prior_strength": [str, Real],
        "max_features": [Interval(Integral, 0, None, closed="left"), None],
        "max_questions": [Interval(Integral, 0, None, closed="left"), StrOptions({"auto"}), None],
        "sign": [Mapping, None],
        "monotone": [Mapping, StrOptions({"auto", "all"}), None],
        "nonnegative": ["boolean"],
        "bounds": [Mapping, None],
        "constraints": [object, None],  # Problem has the better errors
        "solver": [str, object],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "random_state": ["random_state"],
        "pos_label": [object, None],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
        "calibrate": ["boolean"],
        "start_at_zero": ["boolean"],
        "decimals": [Mapping, None],
        "callback": [callable, None],
    }

    def __init__(
        self,
        *,
        thresholds: ThresholdsLike = None,
        weights: Weights | None = None,
        binner: str | Binner | None = "auto",
        max_points: int = 10,
        penalty: Penalty = "auto",
        teacher: Any = "auto",
        prior_strength: str | float = "auto",
        max_features: int | None = None,
        max_questions: int | Literal["auto"] | None = "auto",
        sign: Mapping[Any, Any] | None = None,
        monotone: Mapping[Any, Any] | Literal["auto", "all"] | None = None,
        nonnegative: bool = False,
        bounds: Mapping[Any, Any] | None = None,
        constraints: Sequence[Constraint] | None = None,
        solver: str | Solver = "auto",
        time_limit: float | None = 10.0,
        random_state: Any = 0,
        pos_label: Any = None,
        n_jobs: int | None = -1,
        verbose: int = 0,
        calibrate: bool = True,
        start_at_zero: bool = True,
        decimals: Mapping[str, int] | None = None,
        callback: Callback | None = None,
    ) -> None:
        self.thresholds = thresholds
        self.weights = weights
        self.binner = binner
        self.max_points = max_points
        self.penalty = penalty
        self.teacher = teacher
        self.prior_strength = prior_strength
        self.max_features = max_features
        self.max_questions = max_questions
        self.sign = sign
        self.monotone = monotone
        self.nonnegative = nonnegative
        self.bounds = bounds
        self.constraints = constraints
        self.solver = solver
        self.time_limit = time_limit
        self.random_state = random_state
        self.pos_label = pos_label
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.calibrate = calibrate
        self.start_at_zero = start_at_zero
        self.decimals = decimals
        self.callback = callback

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Learn a card; return the estimator.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
            Also a mapping of columns; with a binner, a list of dicts, too.
        y : (n_rows,) array
            Two labels of any kind; which one is the event, says ``pos_label``.
        sample_weight : (n_rows,) array, optional
        groups : (n_rows,) array, optional
            Labels of rows that belong together, such as visits of one patient: the teacher never
            gives a row a risk that it has learnt from another row of the same group.
        """
        outcome = self._outcome(y)
        self.thresholds_ = as_thresholds(self.thresholds, self.weights)
        self.__dict__.pop("merging_", None)  # of an earlier fit_table
        training = self._training(X, outcome.event, sample_weight, groups)
        self._keep(self._learn(training, outcome.text), training)
        return self

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit_table(
        self,
        table: Any,
        target: str,
        *,
        features: Sequence[str] | None = None,
        sample_weight: str | None = None,
        binner: str | Binner | None = "own",
        sample_rows: int = SAMPLE_ROWS,
        max_patterns: int = MAX_PATTERNS,
        tell: Callable[[str], None] | None = None,
    ) -> Self:
        """Learn a card from a table that stays where it is.

        The engine that holds the table bins, merges and counts its rows; only distinct rows of
        conditions come into memory.  The card is the one that :meth:`fit` finds on the same rows in
        memory, as long as these have at most ``sample_rows`` distinct raw rows.

        The teacher learns from the distinct raw rows, by their weight; where there are more than
        ``sample_rows``, from the conditions of all rows, or of the sample on which points are
        searched.  A classifier of your own gets an array of numbers (text by its place among the
        sorted texts, NaN where missing).  Of a column of given risks, large tables use the mean
        over rows of equal conditions.

        Parameters
        ----------
        table : data frame, lazy frame or relation
            Lazy, of Polars, DuckDB, Dask, Spark or Ibis; or any data frame in memory.
        target : str
            Column of two labels.
        features : sequence of str, optional
            Columns to learn from; all others by default.
        sample_weight : str, optional
            Column of weights.
        binner : "auto", method of binning, Binner or None, optional
            In place of the estimator's own.
        sample_rows : int, default=250_000
            Most raw rows that a binner learns from; of more distinct ones it takes a sample, each
            column weighted to be distributed as in the whole table.
        max_patterns : int, default=250_000
            Most distinct rows of conditions; of more, points are searched on a sample, but
            cut-offs and risks come from all rows.
        tell : callable, optional
            Called with a few words before every query.

        Returns
        -------
        RiskScoreClassifier
            The fitted estimator; ``merging_`` says how the rows were merged.

        Examples
        --------
        >>> import duckdb
        >>> rows = duckdb.sql("SELECT x % 70 AS age, x % 70 + x % 9 > 50 AS y FROM range(990) t(x)")
        >>> model = RiskScoreClassifier(binner="auto", time_limit=1).fit_table(rows, "y")
        >>> model.merging_.engine, model.merging_.n_rows, model.scorecard_.features
        ('DuckDB', 990, ('age',))
        """
        self.thresholds_ = as_thresholds(self.thresholds, self.weights)
        teacher = self._teacher_column()
        label = self.pos_label
        request = TableRequest(
            target, features, sample_weight, sample_rows, max_patterns, tell, teacher, label
        )
        own, settings = self.binner if binner == "own" else binner, self._settings()
        self.__dict__.pop("binner_", None)  # of an earlier fit

        def make(names: Sequence[str]) -> Binner:
            self._check_decimals()
            return make_binner(own, names, self._grid(), self.sign, settings["constraints"])

        found = read_training(
            table, request, settings, self.decimals, None if own is None else make
        )
        if found.binner is not None:
            self.binner_ = found.binner
        else:
            warn_of_constants(found.training.table, stacklevel=4)
        self.n_features_in_ = len(found.names)
        self.feature_names_in_ = np.array(found.names, dtype=object)
        self._keep_labels(found.labels)
        self.merging_ = found.merging
        learned = self._learn(found.training, found.outcome)
        if found.merging.search_sampled:
            learned = recount_on_all_rows(learned, found, calibrate=self.calibrate)
        self._keep(learned, found.training, proven=not found.merging.search_sampled)
        return self

    def _keep(self, learned: Learned, training: TrainingData, *, proven: bool = True) -> None:
        """Keep what was learnt; what was proven of a sample is no certificate."""
        self.learned_ = learned
        self.scorecard_, self.result_ = learned.card, learned.result
        self.teaching_ = None if learned.taught is None else learned.taught.teaching
        warn_of_teaching(learned.taught, stacklevel=4)
        warn_of_cautions(learned.cautions, stacklevel=4)
        self.__dict__.pop("certificate_", None)  # of an earlier fit
        if proven:
            self.certificate_ = make_certificate(
                learned.problem,
                learned.result,
                learned.card,
                bins=training.bins,
                taught=learned.taught,
            )
        if learned.problem.too_small:
            warnings.warn(too_small_text(learned.problem), stacklevel=4)
        if self.result_.status == "interrupted":
            warnings.warn("the search was interrupted; the card is the best so far", stacklevel=4)
        self.coef_ = self.result_.points
        self.cutoffs_ = np.array(self.scorecard_.cutoffs, dtype=np.int64)

    def other_sizes(self) -> OtherSizes:
        """Say what cards with fewer and more questions keep of the net benefit, in training.

        They are searched when this is called, from the fitted card on, for two seconds at most.

        Returns
        -------
        OtherSizes
            Prints as lines; ``kept`` has the shares by the number of questions.

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> X = rng.integers(0, 2, (500, 4))
        >>> y = rng.random(500) < 0.1 + 0.2 * X[:, 0] + 0.2 * X[:, 1] + 0.4 * X[:, 2]
        >>> model = RiskScoreClassifier(teacher=None, max_questions=2, time_limit=5).fit(X, y)
        >>> list(model.other_sizes().kept)
        [1, 3]
        """
        check_is_fitted(self)
        learned: Learned | None = getattr(self, "learned_", None)
        if learned is None:
            raise InputError("a model that was saved no longer has its rows. Fit it again.")
        limit = Remedy("max_questions=K", "--max-questions K")
        if not self._asks_questions:
            limit = Remedy("max_features=K", "--max-features K")
        return other_sizes(learned, limit, n_jobs=count_threads(self.n_jobs))

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "learned_"}

    def near_optimal(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        *,
        tolerance: float = 0.005,
        limit: int = 100,
    ) -> NearOptimal:
        """List the cards that are almost as good as the best one on these rows.

        The estimator's own settings apply, teacher included; it need not be fitted.

        Parameters
        ----------
        X, y, sample_weight, groups
            As for :meth:`fit`.
        tolerance : float, default=0.005
            How much lower than the best an objective may be, in net benefit.
        limit : int, default=100
            Most cards to list.

        Returns
        -------
        NearOptimal
            Its ``to_table()`` has one row per card; ``complete`` says whether these are all.
        """
        reader = clone(self)  # reading the columns must not change what was fitted
        reader.thresholds_ = as_thresholds(self.thresholds, self.weights)
        event = read_outcome(y, positive=self.pos_label).event
        training = reader._training(X, event, sample_weight, groups)
        problem, taught = reader._pose(training, reader._seed())
        warn_of_teaching(taught, stacklevel=2)
        return enumerate_near_optimal(
            problem,
            tolerance,
            limit,
            time_limit=self.time_limit,
            n_jobs=count_threads(self.n_jobs),
            seed=self._seed(),
        )

    def decision_function(self, X: Any) -> FloatArray:
        """Score of each row, counted from the default decision: (n_rows,) whole numbers, as floats.

        scikit-learn expects the sign of this function to agree with ``predict``: the score is
        shifted so that it is positive from the cut-off of a 50% risk upwards, whether the card's
        questions start at 0 or not; and turned round where the event is ``classes_[0]``.  The
        card's own score is ``scorecard_.score(X)``.
        """
        rows = self._rows(X)
        card = self.scorecard_
        low, high = (end + card.shift for end in self.result_.score_range)
        score = np.clip(np.asarray(card.score(rows), dtype=np.int64), low, high)
        # Calibrators of scikit-learn take floats only.
        above: FloatArray = (score - card.cutoff(0.5) + 1).astype(np.float64)
        return above if self._place else 1.0 - above

    # -- steps of fit ----------------------------------------------------------------------------

    def _settings(self) -> dict[str, Any]:
        """Arguments of :meth:`Problem.build`."""
        given = self.monotone if isinstance(self.monotone, Mapping) else {}
        along = [Monotone(name, way) for name, way in given.items() if way not in AUTOMATIC]
        own = () if self.constraints is None else self.constraints
        return {
            "penalty": self.penalty,
            "max_points": self.max_points,
            "sign": self.sign,
            "bounds": self.bounds,
            "constraints": [*own, *along] if along else own,
            "max_features": self.max_features,
            **({"max_questions": self._most_questions()} if self._asks_questions else {}),
        }

    def _most_questions(self) -> int | None:
        if self.max_questions != "auto":
            return self.max_questions
        given = self.constraints if isinstance(self.constraints, Sequence) else ()
        limited = any(isinstance(one, MaxFeatures | MaxQuestions) for one in given)
        return None if limited or self.max_features is not None else ADDABLE

    def _grid(self) -> Thresholds:
        return self.thresholds_

    def _learn(
        self, training: TrainingData, outcome: str, start: IntArray | None = None
    ) -> Learned:
        """Learn a card from patterns: all cards come about this way.

        1. The teacher gives every row a risk, which is blended with the outcomes into masses.
        2. The solver searches the points of the highest net benefit on these masses.  It begins at
           ``start``, (P,) points, if that is given, moved into what is allowed.
        3. Points, cut-offs and risks become a card.
        """
        seed = self._seed()
        solver = choose_solver(
            self.solver, time_limit=self.time_limit, seed=seed, n_jobs=self.n_jobs
        )
        with self._progress() as callback:
            problem, taught = self._pose(training, seed)  # 1.
            # 2.  Not every solver takes a start.
            first = {} if start is None else {"start": allowed_start(problem, start)}
            result = solver.solve(problem, callback=callback, **first)
        # 3.
        cautions = find_cautions(training, result.size, taught)
        card = self._assemble(problem, result, outcome, seed, taught, training.bins, cautions)
        return Learned(card, result, problem, taught, cautions)

    def _assemble(
        self,
        problem: Problem,
        result: SolverResult,
        outcome: str,
        seed: int,
        taught: Taught | None,
        bins: FittedBins | None,
        cautions: Sequence[Caution] = (),
    ) -> Scorecard:
        """The card of a solver's answer, and where it comes from."""
        origin = make_provenance(
            problem.patterns,
            result,
            problem.penalty,
            outcome,
            seed,
            taught,
            rule_penalty=problem.rule_penalty if problem.questions.grouped else None,
            price=problem.price(result.size, result.questions),
            cautions=cautions,
        )
        return assemble_card(
            problem,
            result,
            origin,
            bins=bins,
            calibrate=self.calibrate,
            start_at_zero=self.start_at_zero,
        )

    def _pose(self, training: TrainingData, seed: int) -> tuple[Problem, Taught | None]:
        """The problem of some rows, by the masses that the teacher makes of their outcomes."""
        table, taught = teach_masses(
            training,
            self.thresholds_,
            self.teacher,
            self.prior_strength,
            seed=seed,
            n_jobs=self.n_jobs,
        )
        settings, ways = training.settings, dict[str, str]()
        if self.nonnegative:
            more = never_negative(table.names, settings)
            settings = settings | {"constraints": [*settings["constraints"], *more]}
        if automatic := read_automatic(self.monotone):
            ways, signs = directions_of(training, table, taught, automatic)
            settings = settings | {"constraints": [*settings["constraints"], *signs]}
        self.monotone_ = ways
        return make_problem(table, self.thresholds_, **settings), taught

    def _progress(self) -> AbstractContextManager[Callback | None]:
        """The estimator's own callback, or a line on a terminal where it is verbose."""
        if self.verbose and self.callback is None:
            return LiveLine()
        return nullcontext(self.callback)
