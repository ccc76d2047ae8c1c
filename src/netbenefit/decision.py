"""Decision curves: net benefit of several models over thresholds, as one tidy table."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from netbenefit._table import Table
from netbenefit._validation import InputError, check_binary, check_risks, check_weights, shorten
from netbenefit.metrics import asked_part, check_harm, count_levels, population_rates
from netbenefit.thresholds import ThresholdsLike, as_thresholds

__all__ = ["TREAT_ALL", "TREAT_NONE", "decision_curve"]

TREAT_ALL = "Treat All"
TREAT_NONE = "Treat None"


def decision_curve(
    y_true: ArrayLike,
    risks: ArrayLike | Mapping[str, ArrayLike],
    thresholds: ThresholdsLike = None,
    *,
    sample_weight: ArrayLike | None = None,
    harm: float | Mapping[str, float] | None = None,
    prevalence: float | None = None,
) -> Table:
    """Decision curves of one or several models, with "Treat All" and "Treat None".

    Parameters
    ----------
    y_true, thresholds, sample_weight, prevalence
        As in :func:`net_benefit`.
    risks : array-like of shape (n_rows,), or mapping of str to array-like
        Risks of one model (called "model"), or of several by name.
    harm : float or mapping of str to float, optional
        As in :func:`net_benefit`: one number for all models, or one a model (0 where left out).
        The two reference strategies need no prediction and bear no harm.

    Returns
    -------
    Table
        One row a model and threshold: the models in their order, then "Treat All", "Treat None".

        - ``n``: number of rows, or the sum of their weights;
        - ``prevalence``, ``harm``: as used;
        - ``tp_rate``, ``fp_rate``: TP/N and FP/N, shares of *all* rows (so not sensitivity and
          1 - specificity), for the population with that prevalence;
        - ``test_pos_rate``: their sum, the share called positive;
        - ``net_benefit``: tp_rate - fp_rate · p/(1 - p) - harm;
        - ``net_intervention_avoided``: (net benefit - that of "Treat All") / (p/(1 - p)), missing
          (NaN) at threshold 0.

    Examples
    --------
    >>> table = decision_curve([0, 0, 1, 1], {"card": [0.1, 0.5, 0.5, 0.9]}, [0.2, 0.5])
    >>> columns = ("model", "threshold", "tp_rate", "fp_rate", "net_benefit")
    >>> Table({name: table[name] for name in columns})
    model       threshold  tp_rate  fp_rate  net_benefit
    card              0.2      0.5     0.25       0.4375
    card              0.5      0.5     0.25       0.2500
    Treat All         0.2      0.5     0.50       0.3750
    Treat All         0.5      0.5     0.50       0.0000
    Treat None        0.2      0.0     0.00       0.0000
    Treat None        0.5      0.0     0.00       0.0000
    """
    models = _check_models(risks)
    harms = _check_harms(harm, list(models))
    outcome = check_binary(y_true)
    weight = check_weights(sample_weight, outcome.size)
    grid = as_thresholds(thresholds)
    part = asked_part(grid)
    p, odds = grid.asked, grid.odds[part]

    tp_rates, fp_rates = [], []
    for name, risk in models.items():
        label = f"risks[{name!r}]" if isinstance(risks, Mapping) else "risks"
        counts = count_levels(outcome, check_risks(risk, outcome.size, name=label), weight, grid)
        tp, fp, share = population_rates(counts, prevalence)
        tp_rates.append(tp[part])
        fp_rates.append(fp[part])
    tp_rate = np.concatenate([*tp_rates, np.full(p.size, share), np.zeros(p.size)])
    fp_rate = np.concatenate([*fp_rates, np.full(p.size, 1.0 - share), np.zeros(p.size)])

    names = [*models, TREAT_ALL, TREAT_NONE]
    harm_column = np.repeat([*harms, 0.0, 0.0], p.size)
    benefit = tp_rate - np.tile(odds, len(names)) * fp_rate - harm_column
    everybody = np.tile(share - (1.0 - share) * odds, len(names))
    exchange = np.tile(np.where(odds > 0, odds, np.nan), len(names))  # there is no rate at 0
    n = outcome.size if sample_weight is None else counts.n
    return Table(
        {
            "model": np.repeat(names, p.size),
            "threshold": np.tile(p, len(names)),
            "n": np.full(benefit.size, n),
            "prevalence": np.full(benefit.size, share),
            "harm": harm_column,
            "test_pos_rate": tp_rate + fp_rate,
            "tp_rate": tp_rate,
            "fp_rate": fp_rate,
            "net_benefit": benefit,
            "net_intervention_avoided": (benefit - everybody) / exchange,
        }
    )


def _check_models(risks: ArrayLike | Mapping[str, ArrayLike]) -> dict[str, ArrayLike]:
    if not isinstance(risks, Mapping):
        return {"model": risks}
    if not risks:
        raise InputError("risks holds no model. Pass at least one, as in {'card': risk}.")
    for name in risks:
        if not isinstance(name, str):
            raise InputError(f"model name {name!r} is not text. Name models by strings.")
        if name in (TREAT_ALL, TREAT_NONE):
            raise InputError(
                f"a model is called {name!r}, which names a reference strategy that the table "
                "holds anyway. Rename the model."
            )
    return dict(risks)


def _check_harms(harm: float | Mapping[str, float] | None, names: list[str]) -> list[float]:
    if harm is None:
        return [0.0] * len(names)
    if not isinstance(harm, Mapping):
        return [check_harm(harm)] * len(names)
    unknown = [name for name in harm if name not in names]
    if unknown:
        raise InputError(
            f"harm names {shorten(unknown)}, but the models are {shorten(names)}. Use the names in "
            "risks; the reference strategies bear no harm."
        )
    return [check_harm(harm.get(name, 0.0), f"harm[{name!r}]") for name in names]
