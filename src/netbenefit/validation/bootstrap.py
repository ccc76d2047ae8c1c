"""Bootstrap validation: optimism correction, and the .632+ estimator."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from netbenefit.common import (
    FloatArray,
    InputError,
    Table,
    Tabular,
    check_count,
    check_level,
    check_seed,
    format_number,
    format_table,
    shown_on_stdout,
)
from netbenefit.metrics import LOWER_IS_BETTER, ThresholdsLike
from netbenefit.validation.folds import random_of, resample, seed_of
from netbenefit.validation.runner import Runner, Task, make_work, measures_by_name
from netbenefit.validation.stability import CardStability, label, stability_of

#: Of this measure no correction is given.
_NOT_CORRECTED = "ece"


def point632plus(
    apparent: float, left_out: float, chance: float, *, lower_is_better: bool = False
) -> tuple[float, float]:
    """The .632+ estimate and the relative overfitting rate R.

    In terms of an error e (the measure itself, or its negative where more is better), with e₀ the
    apparent one, e₁ that on left-out rows, γ that of chance:

    1. e₁' = min(e₁, γ).
    2. R = (e₁' - e₀) / (γ - e₀) where e₁' > e₀ and γ > e₀, else 0.
    3. .368 e₀ + .632 e₁ + (e₁' - e₀) · .368 · .632 R / (1 - .368 R).

    So the weight of the left-out rows grows from .632 without overfitting (R = 0) to 1 where the
    model is no better than chance on them (Efron and Tibshirani 1997, J. Am. Stat. Assoc.).
    """
    sign = 1.0 if lower_is_better else -1.0
    e0, e1, none = sign * apparent, sign * left_out, sign * chance
    capped = min(e1, none)
    rate = (capped - e0) / (none - e0) if capped > e0 and none > e0 else 0.0
    plain = 0.368 * e0 + 0.632 * e1
    estimate = plain + (capped - e0) * (0.368 * 0.632 * rate) / (1.0 - 0.368 * rate)
    return sign * estimate, rate


@dataclass(frozen=True, eq=False, repr=False)
class BootstrapValidation(Tabular):
    """How good a model is that is learnt from all rows, by models from resampled rows.

    Attributes
    ----------
    apparent : dict of str to float
        Measures of the model of all rows on these rows.
    chance : dict of str to float
        What these measures would be if outcomes had nothing to do with its risks.
    resampled, original, left_out : dict of str to (B,) float
        Measures of the model of each resample on its own rows, on all rows, and on the rows that
        it did not draw.
    sizes : (B,) float
        Sizes of these models.
    size : float
        Size of the model of all rows.
    rules : tuple
        What these models consist of.
    card : list or None
        What the model of all rows consists of.
    """

    apparent: dict[str, float]
    chance: dict[str, float]
    resampled: dict[str, FloatArray]
    original: dict[str, FloatArray]
    left_out: dict[str, FloatArray]
    sizes: FloatArray
    size: float
    rules: tuple[Any, ...]
    card: Any

    @property
    def n_resamples(self) -> int:
        """Number of resamples."""
        return int(self.sizes.size)

    @cached_property
    def optimism(self) -> dict[str, float]:
        """Mean of (measure on a resample's own rows - measure on all rows)."""
        return {m: float((self.resampled[m] - self.original[m]).mean()) for m in self.apparent}

    @cached_property
    def optimism_se(self) -> dict[str, float]:
        """Its Monte Carlo error, which more resamples make smaller."""
        gaps = {m: self.resampled[m] - self.original[m] for m in self.apparent}
        return {m: float(gap.std(ddof=1) / np.sqrt(gap.size)) for m, gap in gaps.items()}

    @cached_property
    def corrected(self) -> dict[str, float]:
        """Apparent measure - optimism (Harrell, Lee and Mark 1996, Statistics in Medicine).

        NaN for the ECE: resampled rows repeat, so that its optimism has the wrong sign.
        """
        return {
            m: float("nan") if m == _NOT_CORRECTED else value - self.optimism[m]
            for m, value in self.apparent.items()
        }

    @cached_property
    def point632plus(self) -> dict[str, float]:
        """The .632+ estimate; see :func:`point632plus`."""
        return {m: self._plus(m)[0] for m in self.apparent}

    @cached_property
    def overfitting(self) -> dict[str, float]:
        """Relative overfitting rate R, from 0 (none) to 1 (nothing but)."""
        return {m: self._plus(m)[1] for m in self.apparent}

    def _plus(self, measure: str) -> tuple[float, float]:
        if measure == _NOT_CORRECTED:  # of the few left-out rows it is high by chance alone
            return float("nan"), float("nan")
        return point632plus(
            self.apparent[measure],
            float(self.left_out[measure].mean()),
            self.chance[measure],
            lower_is_better=measure in LOWER_IS_BETTER,
        )

    def interval(self, measure: str, level: float = 0.95) -> tuple[float, float]:
        """Interval of a corrected measure, as wide as the resamples spread.

        The corrected measure, plus percentiles over the resamples of (measure of a resample's
        model on its own rows - mean of these).  This is the location-shifted interval of Noma et
        al. (2021, Statistics in Medicine), centred: resampled models are more optimistic than the
        model of all rows, so that without centring it lies too high.  It is still too narrow in
        small samples: see docs/evaluation.md.  There is none (NaN) for the ECE, which is higher
        in resamples by chance alone.  ``measure`` is one of the names in ``apparent``.
        """
        if measure not in self.apparent:
            raise InputError(f"no measure {measure!r}. There are {', '.join(self.apparent)}.")
        check_level(level)
        if measure == _NOT_CORRECTED:
            return float("nan"), float("nan")
        tail = (1.0 - level) / 2.0
        values = self.resampled[measure]
        low, high = np.quantile(values, [tail, 1.0 - tail])
        shift = self.corrected[measure] - float(values.mean())
        return float(low + shift), float(high + shift)

    def to_table(self, level: float = 0.95) -> Table:
        """One row per measure."""
        names = list(self.apparent)
        ends = np.array([self.interval(name, level) for name in names])
        columns: dict[str, Any] = {"measure": np.array(names, dtype=object)}
        for key in ("apparent", "optimism", "optimism_se", "corrected"):
            columns[key] = [getattr(self, key)[m] for m in names]
        columns |= {"low": ends[:, 0], "high": ends[:, 1]}
        columns["left_out"] = [float(self.left_out[m].mean()) for m in names]
        for key in ("chance", "overfitting", "point632plus"):
            columns[key] = [getattr(self, key)[m] for m in names]
        return Table(columns)

    def stability(self) -> CardStability:
        """Which rules and columns come back in the cards of the resamples."""
        return stability_of(self.rules, self.card)

    @shown_on_stdout
    def __str__(self) -> str:
        head = ("", "apparent", "optimism", "corrected", "95% interval", ".632+", "R")
        rows = []
        for m in self.apparent:
            low, high = self.interval(m)
            rows.append(
                (
                    label(m),
                    format_number(self.apparent[m]),
                    format_number(self.optimism[m]),
                    format_number(self.corrected[m]),
                    "–" if np.isnan(low) else f"{format_number(low)} to {format_number(high)}",
                    format_number(self.point632plus[m]),
                    format_number(self.overfitting[m], 2),
                )
            )
        size = ""
        if not np.isnan(self.size):
            mean = f"size {self.size:g}; over the resamples {self.sizes.mean():.1f}"
            size = f"{mean} ({self.sizes.min():g} to {self.sizes.max():g})\n"
        return (
            f"Bootstrap validation, {self.n_resamples} resamples\n\n"
            + "\n".join(format_table(head, rows))
            + f"\n\n{size}corrected: apparent less optimism (Harrell); R: relative overfitting, "
            "from 0 to 1 (Efron and Tibshirani)."
        )


def bootstrap_validate(
    estimator: Any,
    X: Any,
    y: ArrayLike,
    *,
    resamples: int = 200,
    stratified: bool = False,
    thresholds: ThresholdsLike = None,
    net_benefit_at: Sequence[float] | float | None = None,
    sample_weight: ArrayLike | None = None,
    n_jobs: int | None = None,
    random_state: int = 0,
    journal: str | os.PathLike[str] | None = None,
    verbose: int = 0,
) -> BootstrapValidation:
    """Correct the measures of a model on its own training rows for their optimism.

    1. The model is learnt from all rows and measured on them: the apparent measures.
    2. For each resample (as many rows, drawn with replacement) all that makes the model is done
       again, and the new model is measured on its resample, on all rows, and on the rows left out.
    3. Optimism is the mean of the first less the second; it is subtracted from the apparent
       measures.  The .632+ estimate weighs apparent measures and means on left-out rows.

    Parameters
    ----------
    estimator, X, y, thresholds, net_benefit_at, sample_weight, n_jobs, random_state, journal, \
verbose
        As in :func:`cross_validate`.
    resamples : int, default=200
        More of them can be added later with the same journal.
    stratified : bool, default=False
        Draw events and other rows apart, so that every resample has as many of each.  Intervals of
        net benefit are then much too narrow, unless the share of events is known beforehand, as in
        case-control data.

    Returns
    -------
    BootstrapValidation

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(200, 5)), rng.random(200) < 0.3
    >>> noise = bootstrap_validate(DecisionTreeClassifier(), X, y, resamples=50)
    >>> noise.apparent["auroc"], round(noise.point632plus["auroc"], 2)
    (1.0, 0.5)
    """
    work = make_work(estimator, X, y, sample_weight, thresholds, net_benefit_at, n_jobs)
    seed, many = check_seed(random_state), check_count(resamples, "resamples", 2)
    strata = work.sample.strata
    everyone = np.arange(strata.size)
    tasks = {
        "all rows": Task(everyone, {"all": everyone}, seed_of(seed, 8), chance="all"),
    }
    for b in range(many):
        drawn = resample(strata, random_of(seed, 6, b), bool(stratified))
        left = np.setdiff1d(everyone, drawn)
        parts = {"resampled": drawn, "all": everyone, "left_out": left}
        tasks[f"resample {b + 1}"] = Task(drawn, parts, seed_of(seed, 7, b))
    with Runner(
        work,
        "bootstrap",
        work.identity(seed=seed, stratified=bool(stratified)),
        total=len(tasks),
        journal=journal,
        n_jobs=n_jobs,
        verbose=verbose,
    ) as runner:
        found = list(runner.run(tasks).values())
    whole, drawn_ones = found[0], found[1:]
    return BootstrapValidation(
        apparent=whole["measures"]["all"],
        chance=whole["chance"],
        resampled=measures_by_name(drawn_ones, "resampled"),
        original=measures_by_name(drawn_ones, "all"),
        left_out=measures_by_name(drawn_ones, "left_out"),
        sizes=np.array([one["size"] for one in drawn_ones], dtype=np.float64),
        size=float(whole["size"]),
        rules=tuple(one["rules"] for one in drawn_ones),
        card=whole["rules"],
    )
