"""What the experiments are about: data sets, methods, settings and measures, and their titles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

#: The paper's data sets, in its order.
DATASETS: dict[str, str] = {
    "adult": "Adult",
    "bankruptcy": "Bankruptcy",
    "breastcancer": "Breast cancer",
    "haberman": "Haberman",
    "heart": "Heart disease",
    "mammo": "Mammographic masses",
    "mushroom": "Mushroom",
    "spambase": "Spambase",
}

#: The paper's methods, in its order.
METHODS: dict[str, str] = {
    "rss-dnb": "RSS-DNB",
    "rss-dnb-sa": "RSS-DNB-SA",
    "logistic": "Logistic regression",
    "lasso": "LASSO",
    "tree": "Decision tree",
    "slim": "SLIM",
    "riskslim": "RISKSLIM",
    "xgboost": "XGBoost",
}

#: Methods that the paper does not have.
OWN_METHODS: dict[str, str] = {
    "rss-dnb-exact": "RSS-DNB, our engine",
    "scorecard": "Our default card",
    "fasterrisk": "FasterRisk",
}

SETTINGS: dict[str, str] = {
    "original": "as published",
    "c0=0": "without penalty (C0 = 0)",
    "no-calibration": "without calibration",
    "fine": "fine grid, i/20",
    "coarse": "coarse grid, i/5",
    "random-ew": "random grid, equal weights",
    "random-lw": "random grid, length weights",
}


@dataclass(frozen=True)
class Measure:
    """One of the numbers that a fold gives."""

    key: str  #: its name in the rows of a run
    split: str
    metric: str  #: with ``split``, its name in the printed tables
    title: str  #: its name in our tables
    higher_is_better: bool
    decimals: int = 3


def _measure(split: str, metric: str) -> Measure:
    return Measure(f"{split}_{metric}", split, metric, metric.upper(), metric != "ece")


#: Held-out rows first: they are what a reader looks for.
MEASURES: dict[str, Measure] = {
    found.key: found
    for found in (
        *(_measure("test", metric) for metric in ("auroc", "ece", "aunbc")),
        Measure("size", "all", "size", "Size", False, 1),
        *(_measure("train", metric) for metric in ("auroc", "ece", "aunbc")),
    )
}


def title_of(name: str) -> str:
    """Return the title of a data set, a method or a setting; the name itself where it has none."""
    for titles in (DATASETS, METHODS, OWN_METHODS, SETTINGS):
        if name in titles:
            return titles[name]
    return name


def method_order(methods: Iterable[str]) -> list[str]:
    """Sort methods as keys show them: known ones in their order, then others by name."""
    places = {method: place for place, method in enumerate(METHOD_NAMES)}
    return sorted(set(methods), key=lambda method: (places.get(method, len(places)), method))


#: The methods, in the order of the keys, and how figures call them.
METHOD_NAMES: Mapping[str, str] = MappingProxyType({**METHODS, **OWN_METHODS})
