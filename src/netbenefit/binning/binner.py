"""From raw columns to conditions: the first step from a table to a card.

A :class:`Binner` decides for each raw column what it is (numbers, yes or no, levels), and turns it
into a few conditions, such as "age ≥ 52", "sex is male" or "creatinine missing".
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import ClassifierTags
from sklearn.utils.validation import check_is_fitted

from netbenefit.binning import fitted as _bin_json
from netbenefit.binning.fitted import FittedBins
from netbenefit.binning.learn import learn_bins
from netbenefit.binning.options import check_column_options, read_settings
from netbenefit.cards import PerUnit, Reading, Term, read_columns
from netbenefit.common import InputError, Table, check_weights, shorten
from netbenefit.data import RawTable, raw_rows, read_outcome
from netbenefit.metrics import ThresholdsLike, as_thresholds


class Codes(NamedTuple):
    """A binned table: one integer column per term."""

    matrix: NDArray[Any]  #: (n_rows, n_terms), in steps; int8 unless a per-unit column needs more
    names: tuple[str, ...]
    decimals: tuple[int, ...]


class Binner(
    TransformerMixin,  # type: ignore[misc]  # scikit-learn has no types
    BaseEstimator,  # type: ignore[misc]
):
    """Turn raw columns into conditions that a card can use.

    Parameters
    ----------
    method : {"net_benefit", "tree", "quantile", "optbinning"}, default="net_benefit"
        How numeric columns are cut.  ``"net_benefit"``: where it serves net benefit most, jointly
        over all thresholds and given the other columns; ``"tree"``: at the splits of a decision
        tree on the column alone; ``"quantile"``: into bins of equal size, whatever the outcome;
        ``"optbinning"``: by the optbinning package, an optional engine.
    bins : {"cumulative", "interval"} or mapping, default="cumulative"
        Conditions of a numeric column: "≥ 40" and "≥ 60", whose points add up, or one condition
        per bin.  A mapping sets it by column.
    max_bins : int, default=5
        Most bins of a numeric or ordered column, missing values aside.
    max_levels : int, default=20
        Most levels of a categorical column that get a condition of their own.
    min_share : float, default=0.02
        Share of the rows that a bin or level must hold (and at least 10 rows, in tables of 50 rows
        or more).  Rarer levels are merged.
    round_cuts : bool, default=True
        Move cut points to round numbers, where that costs nothing measurable.
    cuts : mapping, optional
        ``{"age": [40, 60]}``: your own cut points.
    per_unit : mapping or sequence of str, optional
        Columns that stay numbers, with points per unit: names, or ``{"utilisation":
        PerUnit("utilisation", decimals=1, upper=1.5)}`` to say how they are clipped and rounded.
    categorical, numeric : sequence of str, optional
        Columns to read as levels, or as numbers, whatever they look like.
    ordered : mapping, optional
        ``{"stage": ["I", "II", "III"]}``: levels from low to high.
    missing : {"auto", "condition", "impute", "refuse"} or mapping, default="auto"
        ``"condition"``: missing values get a condition of their own; ``"impute"``: they count as
        the median, or as the most frequent level, and so do those of later rows wherever training
        has none; ``"refuse"``: an error, in training and later; ``"auto"``: a condition where there
        are enough of them for a bin, else imputed.  A mapping sets it by column, its ``"*"`` for
        all others.
    special : mapping, optional
        ``{"visits": [-9, 96]}``: codes that mean "missing".
    combine : mapping, optional
        ``{"times past due": ("sum", ["late_30", "late_60", "late_90"])}``: new columns that take
        the place of others; ``"sum"``, ``"max"`` or ``"min"``.
    drop : sequence of str, optional
        Columns to leave out.
    thresholds : Thresholds, str or sequence of float, optional
        Decision thresholds, for ``"net_benefit"``; None is the estimator's grid, or 0, 0.1, …, 0.9.
    max_columns : int, default=1000
        Of more raw columns, only the most informative ones are kept.

    Attributes
    ----------
    terms_ : tuple of Condition or PerUnit
        What each output column stands for.
    readings_ : tuple of Reading
        How the raw columns are read.
    groups_ : dict of str to tuple of int
        Output columns of each raw column (or new column).
    fitted_ : FittedBins
        All of it.
    feature_names_in_ : (n_features,) array of str
        The raw columns.

    Examples
    --------
    >>> table = {"age": [31, 47, 58, 64, 72, 80] * 10, "sex": ["f", "m", "m"] * 20}
    >>> dies = [0, 0, 0, 1, 1, 1] * 10
    >>> binner = Binner().fit(table, dies)
    >>> [str(name) for name in binner.get_feature_names_out()]
    ['age ≥ 40', 'age ≥ 60', 'age ≥ 70', 'sex is m']
    >>> binner.transform({"age": 65, "sex": "f"})
    array([[1, 1, 0, 0]], dtype=int8)
    """

    def __init__(
        self,
        *,
        method: str = "net_benefit",
        bins: str | Mapping[str, str] = "cumulative",
        max_bins: int = 5,
        max_levels: int = 20,
        min_share: float = 0.02,
        round_cuts: bool = True,
        cuts: Mapping[str, Sequence[float]] | None = None,
        per_unit: Mapping[str, PerUnit | None] | Sequence[str] | None = None,
        categorical: Sequence[str] | None = None,
        numeric: Sequence[str] | None = None,
        ordered: Mapping[str, Sequence[Any]] | None = None,
        missing: str | Mapping[str, str] = "auto",
        special: Mapping[str, Sequence[Any]] | None = None,
        combine: Mapping[str, tuple[str, Sequence[str]]] | None = None,
        drop: Sequence[str] | None = None,
        thresholds: ThresholdsLike = None,
        max_columns: int = 1000,
    ) -> None:
        self.method = method
        self.bins = bins
        self.max_bins = max_bins
        self.max_levels = max_levels
        self.min_share = min_share
        self.round_cuts = round_cuts
        self.cuts = cuts
        self.per_unit = per_unit
        self.categorical = categorical
        self.numeric = numeric
        self.ordered = ordered
        self.missing = missing
        self.special = special
        self.combine = combine
        self.drop = drop
        self.thresholds = thresholds
        self.max_columns = max_columns

    # -- learning --------------------------------------------------------------------------------

    def fit(
        self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn the conditions.

        Parameters
        ----------
        X : data frame, mapping of columns, list of dicts, or 2-D array
            Raw columns.
        y : (n_rows,) array, optional
            Two labels of any kind; the event is 1, True or "yes", else the one that sorts
            last.  Only ``method="quantile"`` does without.
        sample_weight : (n_rows,) array, optional
            Whole weights count rows: 1,000 stands for a thousand such rows.  Of other weights, on
            any scale, each row is one observation.  Rows of weight 0 are not read.
        """
        self.fit_codes(X, y, sample_weight)
        return self

    def fit_codes(
        self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Codes:
        """Return ``fit(X, y).codes(X)``, in one go; rows of weight 0 stand for nothing."""
        table = X if isinstance(X, RawTable) else RawTable(X)
        if not table.names:
            raise InputError(
                f"the table has no columns: 0 feature(s) (shape=({len(table)}, 0)) while a minimum "
                "of 1 is required. Pass at least one."
            )
        if not len(table):
            raise InputError("the table has 0 sample(s): no rows. Pass at least one.")
        options = check_column_options(self, table.names)
        event = self._events(y, len(table))
        weight = check_weights(sample_weight, len(table))
        settings = read_settings(self, as_thresholds(self.thresholds, None), weight)
        fitted, matrix = learn_bins(table, options, settings, event, weight)
        self._keep(fitted)
        for notice in fitted.notices:
            warnings.warn(notice, stacklevel=3)
        return Codes(matrix, fitted.names, tuple(term.decimals for term in fitted.terms))

    def _events(self, y: ArrayLike | None, n_rows: int) -> NDArray[np.bool_] | None:
        if y is None:
            if self.method != "quantile":
                raise InputError(
                    f'method={self.method!r} needs the outcome: pass y, or use method="quantile".'
                )
            return None
        event = read_outcome(y).event
        if event.shape != (n_rows,):
            raise InputError(
                f"y has {event.size} rows, but the table has {n_rows}. Pass one outcome per row."
            )
        return event

    def _keep(self, fitted: FittedBins) -> None:
        self.fitted_ = fitted
        self.terms_: tuple[Term, ...] = fitted.terms
        self.readings_: tuple[Reading, ...] = fitted.readings
        self.groups_: dict[str, tuple[int, ...]] = fitted.groups
        self.feature_names_in_ = np.array(fitted.columns, dtype=object)
        self.n_features_in_ = len(fitted.columns)

    # -- using -----------------------------------------------------------------------------------

    def transform(self, X: Any) -> NDArray[Any]:
        """Evaluate the conditions on raw rows, which may also be one dict.

        Returns
        -------
        (n_rows, n_terms) array of int8
            1 where a condition holds, else 0; per-unit columns count steps (and take more bits
            where they need them).
        """
        return self.codes(X).matrix

    def codes(self, X: Any) -> Codes:
        """Return :meth:`transform`'s matrix with names and decimals of its columns."""
        check_is_fitted(self)
        fitted = self.fitted_
        rows = raw_rows(X, fitted.sources)
        check_width(self, rows)
        data, n_rows = read_columns(rows, fitted.sources, fitted.columns)
        matrix = fitted.codes(data, n_rows)
        return Codes(matrix, fitted.names, tuple(term.decimals for term in fitted.terms))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the output columns: the conditions in words."""
        check_is_fitted(self)
        return np.array(self.fitted_.names, dtype=object)

    def summary(self) -> Table:
        """Return one row per raw column: what it was taken for, its bins, what was missing.

        Examples
        --------
        >>> Binner(method="quantile").fit({"age": [20 + 7 * k % 60 for k in range(60)]}).summary()
        column  taken for      conditions              missing
        age     whole numbers  ≥ 32, ≥ 44, ≥ 56, ≥ 68        0
        """
        check_is_fitted(self)
        rows = self.fitted_.rows
        return Table({key: [row[key] for row in rows] for key in _bin_json.ROW_KEYS})

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.transformer_tags.preserves_dtype = []
        tags.classifier_tags = ClassifierTags(multi_class=False)  # of the outcome, which has two
        return tags

    # -- in and out ------------------------------------------------------------------------------

    def to_json(self) -> str:
        """Return the fitted binner as JSON, with the version of its format."""
        check_is_fitted(self)
        return _bin_json.dumps(self.get_params(deep=False), self.fitted_)

    @classmethod
    def from_json(cls, text: str) -> Binner:
        """Read what :meth:`to_json` wrote."""
        params, fitted = _bin_json.loads(text)
        unknown = [name for name in params if name not in cls._get_param_names()]
        if unknown:
            raise InputError(f"params: {shorten(unknown)} not known. Update the package.")
        binner = cls(**params)
        binner._keep(fitted)
        return binner


def check_width(estimator: Any, rows: Any) -> None:
    """Refuse an array with another number of columns than the one of the fit had."""
    if not (isinstance(rows, np.ndarray) and rows.dtype.names is None and rows.ndim == 2):
        return
    if rows.shape[1] != estimator.n_features_in_:
        raise InputError(
            f"X has {rows.shape[1]} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input: "
            f"{shorten(list(estimator.feature_names_in_))}. Pass the columns of the fit."
        )
