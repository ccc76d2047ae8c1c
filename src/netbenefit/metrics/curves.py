"""Decision curves: net benefit of several models over thresholds, as one tidy table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from netbenefit.common import (
    FloatArray,
    InputError,
    IntArray,
    Table,
    check_binary,
    check_risks,
    check_weights,
    shorten,
)
from netbenefit.metrics.benefit import check_harm, check_prevalence, given_part, require_both
from netbenefit.metrics.study import (
    BinaryOutcome,
    Outcome,
    Rates,
    Study,
    SurvivalOutcome,
    missing_levels,
)
from netbenefit.metrics.survival import TimeToEvent, check_groups
from netbenefit.metrics.thresholds import (
    RATIONAL_TOLERANCE,
    Thresholds,
    ThresholdsLike,
    Weights,
    as_thresholds,
    tidy,
)

# -- from a user's arguments to a study: checks that all decision-curve functions share ------------


TREAT_ALL = "Treat All"
TREAT_NONE = "Treat None"

Measure = Literal["net_benefit", "standardised_net_benefit", "net_intervention_avoided"]


def make_study(
    y_true: ArrayLike | TimeToEvent,
    risks: ArrayLike | Mapping[str, ArrayLike],
    grid: Thresholds,
    sample_weight: ArrayLike | None = None,
    harm: float | Mapping[str, float] | None = None,
    prevalence: float | None = None,
    strata: ArrayLike | None = None,
) -> Study:
    """Check the arguments of a decision curve and put rows on levels; one unit per row."""
    models = _check_models(risks)
    harms = np.array(_check_harms(harm, list(models)))
    outcome = y_true if isinstance(y_true, TimeToEvent) else check_binary(y_true)
    n_rows = len(outcome)
    weight = check_weights(sample_weight, n_rows)
    levels = []
    for name, risk in models.items():
        label = f"risks[{name!r}]" if isinstance(risks, Mapping) else "risks"
        levels.append(grid.level_of(check_risks(risk, n_rows, name=label)))
    level_array = np.array(levels, dtype=np.int64)
    missing = np.zeros((len(models) + 2, len(grid)), dtype=np.bool_)
    coded: Outcome
    if isinstance(outcome, TimeToEvent):
        if prevalence is not None:
            raise InputError(
                "prevalence goes with case-control samples of a binary outcome, but the outcome is "
                "a TimeToEvent. Leave prevalence out: the risk by the horizon is estimated."
            )
        missing[:-2] = missing_levels(outcome, level_array, len(grid), weight)
        coded = SurvivalOutcome.of(outcome)
    else:
        share = None if prevalence is None else check_prevalence(prevalence)
        if share is not None:
            events = float(weight[outcome].sum())
            require_both(events, float(weight[~outcome].sum()), "rates for another prevalence are")
        coded = BinaryOutcome(outcome.astype(np.int64), share)
    return Study(
        grid=grid,
        names=(*models, TREAT_ALL, TREAT_NONE),
        harms=np.append(harms, [0.0, 0.0]),
        levels=level_array,
        outcome=coded,
        weight=weight,
        count=np.ones(n_rows, dtype=np.int64),
        stratum=_check_strata(strata, n_rows, coded),
        missing=missing,
    )


def measured(study: Study, rates: Rates, measure: Measure, per: float = 1.0) -> FloatArray:
    """Net benefit, or what is made of it: (strategies, levels, draws)."""
    odds = study.grid.odds[:, None]
    benefit = rates.tp - odds * rates.fp - study.harms[:, None, None]
    if measure == "standardised_net_benefit":
        return benefit / np.where(rates.share > 0, rates.share, np.nan)
    if measure == "net_intervention_avoided":
        exchange = np.where(odds > 0, odds, np.nan)  # there is no rate at 0
        all_treated = rates.share - odds * (1.0 - rates.share)
        return (benefit - all_treated) / exchange * per
    return benefit


def check_per(per: Any) -> float:
    """Return the number of people that interventions are counted among."""
    if isinstance(per, int | float | np.number) and 0 < float(per) < np.inf:
        return float(per)
    raise InputError(
        f"per={per!r} must be a positive number: that of the people among whom interventions are "
        "counted."
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


def _check_strata(strata: ArrayLike | None, n_rows: int, outcome: Outcome) -> IntArray:
    """Number the groups to resample in; cases and controls are apart in a case-control sample."""
    group = np.zeros(n_rows, dtype=np.int64)
    if strata is not None:
        group = check_groups(strata, n_rows, "strata")
    if isinstance(outcome, BinaryOutcome) and outcome.prevalence is not None:
        group = 2 * group + outcome.code
    return np.unique(group, return_inverse=True)[1].astype(np.int64)


#: More than thresholds are ever moved to the nearby decimal.
_STEP_DOWN = 3 * RATIONAL_TOLERANCE


def decision_curve(
    y_true: ArrayLike | TimeToEvent,
    risks: ArrayLike | Mapping[str, ArrayLike],
    thresholds: ThresholdsLike = None,
    *,
    sample_weight: ArrayLike | None = None,
    harm: float | Mapping[str, float] | None = None,
    prevalence: float | None = None,
    standardised: bool = False,
    per: float = 1,
) -> Table:
    """Decision curves of one or several models, with "Treat All" and "Treat None".

    Parameters
    ----------
    y_true : array-like of shape (n_rows,) or TimeToEvent
        Outcomes, 1 or True for an event; or times and events with a horizon.
    risks : array-like of shape (n_rows,), or mapping of str to array-like
        Risks of one model (called "model"), or of several by name.  For a time-to-event outcome
        these are risks of the event by the horizon, 1 − S(horizon), not survival.
    thresholds, sample_weight, prevalence
        As in :func:`net_benefit`.  ``prevalence`` is for binary outcomes only.
    harm : float or mapping of str to float, optional
        As in :func:`net_benefit`: one number for all models, or one per model (0 where left out).
        The two reference strategies need no prediction and bear no harm.
    standardised : bool, default=False
        Add the column ``standardised_net_benefit``, the share of the greatest possible one.
    per : float, default=1
        Number of people among whom ``net_intervention_avoided`` is counted.

    Returns
    -------
    Table
        One row per model and threshold: the models in their order, then "Treat All", "Treat None".

        - ``n``: number of rows, or the sum of their weights;
        - ``prevalence``, ``harm``: as used; the former is the risk by the horizon where outcomes
          take time;
        - ``tp_rate``, ``fp_rate``: TP/N and FP/N, shares of *all* rows (so not sensitivity and
          1 - specificity), for the population with that prevalence;
        - ``test_pos_rate``: their sum, the share called positive;
        - ``net_benefit``: tp_rate - fp_rate · p/(1 - p) - harm;
        - ``net_intervention_avoided``: (net benefit - that of "Treat All") / (p/(1 - p)), missing
          (NaN) at threshold 0;
        - ``standardised_net_benefit``, on request: net benefit / prevalence.

    Notes
    -----
    With a :class:`TimeToEvent`, TP/N is the share called positive times their risk by the horizon
    (Kaplan–Meier, or Aalen–Johansen where events compete), FP/N the rest of that share.  Among the
    positives, censoring must be independent of the event; rates are NaN where the last of them is
    censored before the horizon.

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
    per = check_per(per)
    study = make_study(y_true, risks, as_thresholds(thresholds), sample_weight, harm, prevalence)
    return curve_table(
        study, weighted=sample_weight is not None, standardised=standardised, per=per
    )


def curve_table(study: Study, *, weighted: bool, standardised: bool, per: float) -> Table:
    """Lay out the rates of a study as the table of a decision curve."""
    part = given_part(study.grid)
    p = study.grid.given
    rates = study.rates()
    share = float(rates.share[0])

    def column(values: FloatArray) -> FloatArray:
        known = np.where(study.missing, np.nan, values[:, :, 0])
        return known[:, part].ravel()

    tp, fp = column(rates.tp), column(rates.fp)
    n: Any = float((study.weight * study.count).sum()) if weighted else int(study.count.sum())
    columns: dict[str, Any] = {
        "model": np.repeat(study.names, p.size),
        "threshold": np.tile(p, len(study.names)),
        "n": np.full(tp.size, n),
        "prevalence": np.full(tp.size, share),
        "harm": np.repeat(study.harms, p.size),
        # known even where the risk among the positives is not
        "test_pos_rate": (rates.tp + rates.fp)[:, part, 0].ravel(),
        "tp_rate": tp,
        "fp_rate": fp,
        "net_benefit": column(measured(study, rates, "net_benefit")),
        "net_intervention_avoided": column(measured(study, rates, "net_intervention_avoided", per)),
    }
    if standardised:
        columns["standardised_net_benefit"] = column(
            measured(study, rates, "standardised_net_benefit")
        )
    return Table(columns)


def risk_breakpoints(
    risks: Any,
    low: float = 0.0,
    high: float = 1.0,
    weights: Weights = "equal",
) -> Thresholds:
    """Return the distinct risks of cards or models, as thresholds: where their curves break.

    Between two neighbouring risks that a card can give, the set of people called positive does not
    change, so a curve that is computed at these risks has missed no decision; a grid may.

    Parameters
    ----------
    risks : Scorecard, array-like of float, or mapping of str to these
        One model, or several by name (their risks are pooled).
    low, high : float, default=0.0 and 1.0
        Only risks from ``low`` to ``high``; both ends are added where they lie inside (0, 1).
    weights : default="equal"
        As in :meth:`Thresholds.of`.

    Examples
    --------
    >>> risk_breakpoints([0.04, 0.3, 0.04, 0.75], low=0.1, high=0.5).given
    array([0.1, 0.3, 0.5])
    """
    if not 0.0 <= low < high <= 1.0:
        raise InputError(f"low={low!r} and high={high!r} must satisfy 0 <= low < high <= 1.")
    models = list(risks.values()) if isinstance(risks, Mapping) else [risks]
    pooled = np.concatenate([_possible(model) for model in models] or [np.empty(0)])
    inside = np.unique(pooled[(pooled >= low) & (pooled <= high) & (pooled < 1.0)])
    points = {_at_or_below(float(q)) for q in inside}
    points |= {_at_or_below(end) for end in (low, high) if 0.0 < end < 1.0}
    if not points - {0.0}:
        raise InputError(
            f"no risk lies between {low:g} and {high:g}, so the curve has no break there. Widen "
            "the range, or pass a grid of thresholds."
        )
    return Thresholds.of(sorted(points), weights, end=max(high, max(points)))


def _possible(model: Any) -> FloatArray:
    # A card knows all risks that it can give, each with the score from which it holds.
    values = [risk for _, risk in model.risks] if hasattr(model, "risks") else model
    try:
        flat = np.asarray([q for q in np.ravel(values) if q is not None], dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("risks must be numbers in [0, 1], or a Scorecard.") from None
    if not ((flat >= 0) & (flat <= 1)).all():
        raise InputError("risks must lie in [0, 1] and must not be missing.")
    return flat


def _at_or_below(risk: float) -> float:
    """The threshold at a risk; never above it by rounding, or the risk would be called negative."""
    if risk < _STEP_DOWN:
        return 0.0
    risk = min(risk, 1.0 - _STEP_DOWN)  # 1 is not a threshold
    point = tidy(risk)
    return point if point <= risk else tidy(risk - _STEP_DOWN)
