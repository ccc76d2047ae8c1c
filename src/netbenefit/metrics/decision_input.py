"""From a user's arguments to a study: checks that all decision-curve functions share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from netbenefit.common.checks import (
    FloatArray,
    InputError,
    IntArray,
    check_binary,
    check_risks,
    check_weights,
    shorten,
)
from netbenefit.metrics.net_benefit import check_harm, check_prevalence, require_both
from netbenefit.metrics.study import (
    BinaryOutcome,
    Outcome,
    Rates,
    Study,
    SurvivalOutcome,
    missing_levels,
)
from netbenefit.metrics.survival import TimeToEvent, check_groups
from netbenefit.metrics.thresholds import Thresholds

__all__ = [
    "TREAT_ALL",
    "TREAT_NONE",
    "Measure",
    "check_measure",
    "check_per",
    "make_study",
    "measured",
]

TREAT_ALL = "Treat All"
TREAT_NONE = "Treat None"

Measure = Literal["net_benefit", "standardised_net_benefit", "net_intervention_avoided"]


def make_study(
    y_true: ArrayLike | TimeToEvent,
    risks: ArrayLike | Mapping[str, ArrayLike],
    grid: Thresholds,
    *,
    sample_weight: ArrayLike | None = None,
    harm: float | Mapping[str, float] | None = None,
    prevalence: float | None = None,
    strata: ArrayLike | None = None,
) -> Study:
    """Check the arguments of a decision curve and put rows on levels; one unit a row."""
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
        everybody = rates.share - odds * (1.0 - rates.share)
        return (benefit - everybody) / exchange * per
    return benefit


def check_measure(measure: Any) -> Measure:
    """Refuse a measure that is not known."""
    if measure not in get_args(Measure):
        known = ", ".join(map(repr, get_args(Measure)))
        raise InputError(f"measure={measure!r} is not known. Use one of {known}.")
    found: Measure = measure
    return found


def check_per(per: Any) -> float:
    """Return the number of people that interventions are counted among."""
    if isinstance(per, int | float | np.number) and 0 < float(per) < np.inf:
        return float(per)
    raise InputError(
        f"per={per!r} must be a positive number: interventions are counted among so many people."
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
