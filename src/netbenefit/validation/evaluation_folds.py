"""The result of cross-validation: measures by fold, and how sure one can be of their means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from netbenefit.common.checks import FloatArray, InputError, check_level
from netbenefit.common.table import Table
from netbenefit.common.text_table import lines_of, number
from netbenefit.validation.choice import SettingChoice, corrected_error
from netbenefit.validation.evaluation_text import label
from netbenefit.validation.stability import CardStability, stability_of

__all__ = ["CrossValidation"]


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """Measures of models on the folds that they have not seen.

    Arrays are over all folds, repeat by repeat.

    Attributes
    ----------
    held_out, training : dict of str to (K,) float
        Measures of each fold's model on its held-out rows and on its training rows; ``size`` is
        among the first.
    n_training, n_held_out : (K,) int
        Numbers of rows.
    predictions : (repeats, n_rows) float
        Predicted risk of each row by the model that had not seen it; NaN for a row that no fold
        holds out.  (Where a fold holds out a row twice, the later prediction.)
    rules : tuple
        What each fold's model consists of; see :meth:`stability`.
    choices : tuple of SettingChoice
        How each fold's setting was chosen, in a nested cross-validation.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> from netbenefit import cross_validate
    >>> X, y = np.zeros((40, 1)), np.arange(40) < 10
    >>> found = cross_validate(DummyClassifier(), X, y, folds=5, net_benefit_at=[0.1, 0.3])
    >>> [round(found.mean[m], 4) for m in ("auroc", "net_benefit_at_0.1", "net_benefit_at_0.3")]
    [0.5, 0.1667, 0.0]
    """

    held_out: dict[str, FloatArray]
    training: dict[str, FloatArray]
    n_training: FloatArray
    n_held_out: FloatArray
    predictions: FloatArray
    rules: tuple[Any, ...]
    choices: tuple[SettingChoice, ...] = ()

    @property
    def n_models(self) -> int:
        """Number of models: folds times repeats."""
        return int(self.n_training.size)

    @cached_property
    def mean(self) -> dict[str, float]:
        """Mean of each measure over the folds."""
        return {m: float(values.mean()) for m, values in self.held_out.items()}

    @cached_property
    def sd(self) -> dict[str, float]:
        """Standard deviation over the folds."""
        return {m: float(values.std(ddof=1)) for m, values in self.held_out.items()}

    @cached_property
    def se(self) -> dict[str, float]:
        """Sd / √folds, which is too small: folds share training rows (and repeats all rows)."""
        return {m: float(sd / np.sqrt(self.n_models)) for m, sd in self.sd.items()}

    @cached_property
    def se_corrected(self) -> dict[str, float]:
        """Sd · √(1/folds + held-out rows / training rows), after Nadeau and Bengio.

        A rule of thumb, and larger: no estimate of this error from the folds alone is unbiased.
        """
        ratio = float((self.n_held_out / self.n_training).mean())
        return {
            m: float(corrected_error(values[:, None], ratio)[0])
            for m, values in self.held_out.items()
        }

    def interval(self, measure: str, level: float = 0.95) -> tuple[float, float]:
        """Mean ± t · corrected standard error, t with folds - 1 degrees of freedom.

        Parameters
        ----------
        measure : str
            One of the names in ``held_out``.
        level : float, default=0.95

        Returns
        -------
        low, high : float
        """
        from scipy.stats import t  # late: takes its time to import

        if measure not in self.held_out:
            raise InputError(f"no measure {measure!r}. There are {', '.join(self.held_out)}.")
        check_level(level)
        half = float(t.ppf((1.0 + level) / 2.0, self.n_models - 1)) * self.se_corrected[measure]
        return self.mean[measure] - half, self.mean[measure] + half

    def to_table(self, level: float = 0.95) -> Table:
        """One row a measure: mean, sd, both standard errors, interval, and mean in training."""
        names = list(self.held_out)
        ends = np.array([self.interval(name, level) for name in names])
        shown = [float(self.training[m].mean()) if m in self.training else np.nan for m in names]
        return Table(
            {
                "measure": np.array(names, dtype=object),
                "mean": [self.mean[m] for m in names],
                "sd": [self.sd[m] for m in names],
                "se": [self.se[m] for m in names],
                "se_corrected": [self.se_corrected[m] for m in names],
                "low": ends[:, 0],
                "high": ends[:, 1],
                "training": shown,
            }
        )

    def stability(self) -> CardStability:
        """Which rules and columns come back in the cards of all folds."""
        return stability_of(self.rules)

    @property
    def settings(self) -> tuple[dict[str, Any], ...]:
        """The setting that each fold chose, in a nested cross-validation."""
        return tuple(choice.setting for choice in self.choices)

    def __str__(self) -> str:
        head = ("", "held-out rows", "sd", "se", "corrected se", "training rows")
        rows: list[Sequence[str]] = [head]
        for m in self.held_out:
            trained = float(self.training[m].mean()) if m in self.training else float("nan")
            values = (self.mean[m], self.sd[m], self.se[m], self.se_corrected[m], trained)
            rows.append((label(m), *(number(value) for value in values)))
        kind = "Nested cross-validation" if self.choices else "Cross-validation"
        repeats = len(self.predictions)
        times = f" in {repeats} repeats" if repeats > 1 else ""
        chosen = [f"\nchosen: {text}" for text in _counted(self.settings)]
        return (
            f"{kind}, {self.n_models} folds{times}\n\n"
            + "\n".join(lines_of(rows[0], rows[1:]))
            + "\n\nse is sd / √folds and too small, as folds share training rows; the corrected "
            "one (Nadeau and Bengio) is a rule of thumb." + "".join(chosen)
        )


def _counted(settings: Sequence[Mapping[str, Any]]) -> list[str]:
    texts = [", ".join(f"{name}={value!r}" for name, value in one.items()) for one in settings]
    counts = {text: texts.count(text) for text in texts}
    order = sorted(counts, key=lambda text: -counts[text])
    return [f"{text} ({counts[text]} of {len(texts)} folds)" for text in order]
