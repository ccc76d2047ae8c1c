"""One model on one fold: learnt from the training rows, measured on both sides."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from netbenefit._version import __version__
from netbenefit.cards.scorecard import Scorecard
from netbenefit.common.checks import FloatArray, InputError, check_risks
from netbenefit.common.journal import fingerprint_of
from netbenefit.estimators.training import pop_column
from netbenefit.metrics import net_benefit as metrics
from netbenefit.metrics.thresholds import Thresholds
from netbenefit.validation.folds import forgive_rounding, prepared, take_rows
from netbenefit.validation.models import Contestant, fit_weights, size_of
from netbenefit.validation.prepare import Columns, Preparation
from netbenefit.validation.runner import warnings_kept
from netbenefit.validation.sizes import TwoParts

__all__ = ["METRICS", "Runner", "fingerprint"]

#: What is measured on training and on held-out rows.
METRICS: tuple[Literal["auroc", "ece", "aunbc"], ...] = ("auroc", "ece", "aunbc")


@dataclass(frozen=True)
class Runner:
    """Everything that a task needs; called with (number of the fold, name of the model)."""

    X: Any
    columns: Columns
    event: NDArray[np.bool_]
    weight: FloatArray | None
    folds: Sequence[TwoParts]
    models: Mapping[str, Contestant]
    thresholds: Thresholds
    seed: int = 0
    single: bool = False  #: whether tasks run side by side

    def __call__(self, task: tuple[int, str]) -> dict[str, Any]:
        """Learn from the training rows of a fold; measure there and on the held-out rows.

        1. Risks of both sides, by a model that has seen the training rows only.
        2. The same measures on each.
        """
        number, name = task
        train, test = self.folds[number]
        start = time.perf_counter()
        with warnings_kept(about_code=False) as told:
            risks, size = self._risks(name, train, test)
        notes = dict.fromkeys(text for _, text in told)
        return {
            "train": self._measures(risks[0], train),
            "test": self._measures(risks[1], test),
            "size": size,
            "seconds": time.perf_counter() - start,
            "risk": risks[1],
            "notes": list(notes),
        }

    def _risks(
        self, name: str, train: NDArray[Any], test: NDArray[Any]
    ) -> tuple[list[FloatArray], float]:
        model, rows, refitted = self.models[name]
        hidden = self._hidden(name)
        if rows == "raw":
            X = self.X
            for column in hidden:
                X = pop_column(X, column, "teacher")[1]
            sides = [take_rows(X, train), take_rows(X, test)]
        else:
            seen = {n: c for n, c in self.columns.items() if n not in hidden}
            parts = [{n: c[side] for n, c in seen.items()} for side in (train, test)]
            ones = np.ones(train.size)
            made = Preparation.learn(parts[0], ones if self.weight is None else self.weight[train])
            sides = [made.apply(part) for part in parts]
        if refitted:
            weight = None if self.weight is None else self.weight[train]
            options = fit_weights(name, model, weight)
            model = prepared(model, {}, self.seed, single=self.single).fit(
                sides[0], self.event[train].astype(np.int64), **options
            )
        found = [_predicted(model, side) for side in sides]
        checked = [
            check_risks(risk, chosen.size, name=f"the risk by {name!r}")
            for risk, chosen in zip(found, (train, test), strict=True)
        ]
        return checked, size_of(model)

    def _hidden(self, name: str) -> list[str]:
        """Columns of risks that teach other models, and are no features; cards read by name."""
        if isinstance(self.X, np.ndarray) or not self.models[name].refitted:
            return []
        taught = dict.fromkeys(model.given_risks for model in self.models.values())
        own = self.models[name].given_risks
        return [column for column in taught if column is not None and column != own]

    def _measures(self, risk: FloatArray, chosen: NDArray[Any]) -> dict[str, float]:
        event = self.event[chosen]
        weight = None if self.weight is None else self.weight[chosen]
        grid = self.thresholds
        ece = metrics.expected_calibration_error(event, risk, grid, sample_weight=weight)
        return {
            "auroc": metrics.auroc(event, risk, sample_weight=weight),
            "ece": ece,
            "aunbc": metrics.aunbc(event, risk, grid, sample_weight=weight),
        }


def _predicted(model: Any, rows: Any) -> FloatArray:
    if isinstance(model, Scorecard):
        return np.asarray(model.risk(rows), dtype=np.float64)
    classes = getattr(model, "classes_", None)
    if classes is not None and len(classes) != 2:
        raise InputError("the training rows of the fold hold one class only. Use fewer folds.")
    return forgive_rounding(np.asarray(model.predict_proba(rows), dtype=np.float64)[:, 1])


def fingerprint(runner: Runner) -> str:
    """Stand for data, folds, models and thresholds: the same give the same text."""
    return fingerprint_of(
        version=__version__,
        thresholds=repr(runner.thresholds),
        models=[
            (name, rows, model.to_json() if isinstance(model, Scorecard) else model)
            for name, (model, rows, _) in runner.models.items()
        ],
        seed=runner.seed,
        folds=list(runner.folds),
        event=runner.event,
        weight=runner.weight,
        columns=runner.columns,
    )
