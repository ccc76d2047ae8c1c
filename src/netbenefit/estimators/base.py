"""What all estimators that learn a card share: how rows are read, and what a card decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from netbenefit.binning import Binner
from netbenefit.cards import Scorecard, is_finite
from netbenefit.common import InputError
from netbenefit.data import PatternTable, RawTable, raw_rows, warn_of_constants
from netbenefit.estimators.from_table import Asked, TableTraining, read_training
from netbenefit.estimators.training import (
    Rows,
    Training,
    given_risks,
    make_binner,
    pop_column,
    read_numeric,
    training_of_raw,
)
from netbenefit.metrics import Thresholds
from netbenefit.teachers import TEACHERS


class CardClassifier(
    ClassifierMixin,  # type: ignore[misc]  # scikit-learn has no types
    BaseEstimator,  # type: ignore[misc]
):
    """A classifier of two classes whose model is a :class:`Scorecard`.

    Its ``fit`` sets ``classes_`` and ``scorecard_``; :meth:`_training` reads its rows.
    """

    binner: str | Binner | None
    decimals: Mapping[str, int] | None
    random_state: Any
    classes_: NDArray[Any]
    scorecard_: Scorecard

    def predict(self, X: Any, *, threshold: float = 0.5) -> NDArray[Any]:
        """Decide for each row: the event's label where its risk is at least ``threshold``.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
        threshold : float, default=0.5
            The risk from which one would act.  To carry another threshold through scikit-learn's
            tools, wrap the estimator in :class:`sklearn.model_selection.FixedThresholdClassifier`,
            or request ``threshold`` by ``set_predict_request``.

        Returns
        -------
        (n_rows,) array of labels
        """
        if not (is_finite(threshold) and 0.0 <= threshold <= 1.0):
            raise InputError(
                f"threshold={threshold!r} is not a risk between 0 and 1. Write 0.2 for 20%."
            )
        risk = self.predict_proba(X)[:, 1]
        labels: NDArray[Any] = self.classes_[(risk >= threshold).astype(np.intp)]
        return labels

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        raw = self.binner is not None
        tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = raw
        return tags

    # -- steps of fit ----------------------------------------------------------------------------

    def _settings(self) -> dict[str, Any]:
        """What :meth:`Problem.build` is told, with signs and constraints by condition."""
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
    ) -> Training:
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
            return Training(table, settings, rows)
        self._refuse_decimals()
        names = X.names if isinstance(X, RawTable) else RawTable(X).names
        self.binner_ = make_binner(
            self.binner, names, self._grid(), settings.get("sign"), settings.get("constraints", ())
        )
        training = training_of_raw(self.binner_, X, event, sample_weight, settings, groups)
        if risks is not None:
            training = training._replace(rows=training.rows._replace(risks=risks))
        self.n_features_in_ = len(names)
        self.feature_names_in_ = np.array(names, dtype=object)
        return training

    def _table_training(self, table: Any, asked: Asked, binner: Any) -> TableTraining:
        """Patterns of a table that stays where it is; keeps what later rows are read by."""
        settings = self._settings()
        self.__dict__.pop("binner_", None)  # of an earlier fit

        def make(names: Sequence[str]) -> Binner:
            self._refuse_decimals()
            constraints = settings.get("constraints", ())
            return make_binner(binner, names, self._grid(), settings.get("sign"), constraints)

        found = read_training(
            table, asked, settings, self.decimals, None if binner is None else make
        )
        if found.binner is not None:
            self.binner_ = found.binner
        else:
            warn_of_constants(found.training.table)
        self.n_features_in_ = len(found.names)
        self.feature_names_in_ = np.array(found.names, dtype=object)
        return found

    def _given_risks(self, X: Any) -> tuple[NDArray[Any] | None, Any]:
        """Risks of a column that the teacher names, and the table without it."""
        name = self._teacher_column()
        if name is None:
            return None, X
        risks, rest = pop_column(X, name, "teacher")
        if risks is None:
            raise InputError(
                f"teacher={name!r} is neither known nor a column of the table. Use one of "
                f"{', '.join(map(repr, TEACHERS))}, a classifier, risks (a column's name or an "
                "array), or None."
            )
        return given_risks(name, risks), rest

    def _teacher_column(self) -> str | None:
        teacher = getattr(self, "teacher", None)
        return teacher if isinstance(teacher, str) and teacher not in TEACHERS else None

    def _refuse_decimals(self) -> None:
        if self.decimals is not None:
            raise InputError(
                "decimals go with binner=None. With a binner, say Binner(per_unit={name: "
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
        return raw_rows(X, card.features)

    def _seed(self) -> int:
        if isinstance(self.random_state, Integral):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
