"""What has to be fitted: data sets, methods, settings and folds, within a budget."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from netbenefit.common.checks import InputError, shorten
from reproduction import names

#: The data sets of the paper's tables, as it orders them.
DATASETS = tuple(names.DATASETS)
#: The case study; it has one split of its own instead of folds.
CREDIT = "credit"
#: The fold that stands for all rows, to learn from and to measure on.
ALL_ROWS = -1

#: The paper's methods, as it orders them, and those that it has not.
PAPER_METHODS = tuple(names.METHODS)
METHODS = (*PAPER_METHODS, *names.OWN_METHODS)

#: Variants, of the two published training routes only.
SETTINGS = tuple(names.SETTINGS)
_VARIED = ("rss-dnb", "rss-dnb-sa")

#: What ``--only`` can ask for, and which settings it needs.
OUTPUTS: dict[str, tuple[str, ...]] = {
    "performance": ("original",),
    "ablation": ("original", "no-calibration", "c0=0"),
    "sensitivity": ("original", "fine", "coarse", "random-ew", "random-lw"),
    "ranks": ("original",),
    "computational": ("original",),
    "objective": ("original",),
    "curves": ("original",),
    "region": (),
    "credit": (),
}


class Budget(NamedTuple):
    """How much time is spent: folds and data sets, and seconds per fit."""

    folds: int
    datasets: tuple[str, ...]  #: used unless others are chosen
    milp: float  #: each integer program of the published method
    variants: float  #: the same, for ablations and sensitivities
    exact: float  #: our exact engine
    others: float  #: SLIM and RISKSLIM
    default: float  #: our default method
    credit: float  #: each solver of the case study


BUDGETS: dict[str, Budget] = {
    "quick": Budget(2, ("bankruptcy", "haberman", "mammo"), 1, 0.5, 1, 1, 0.5, 2),
    "standard": Budget(10, (*DATASETS, CREDIT), 12, 6, 45, 12, 10, 60),
    "paper": Budget(10, (*DATASETS, CREDIT), 600, 600, 600, 600, 10, 600),
}


class Job(NamedTuple):
    """One fit: it gives the row of its setting, and those that need no fit of their own."""

    dataset: str
    method: str
    setting: str
    fold: int
    budget: str

    @property
    def settings(self) -> tuple[str, ...]:
        """Settings of the rows that the fit gives: risks without Algorithm 2 need no other card."""
        if self.setting == "original" and self.method in _VARIED and self.dataset != CREDIT:
            return ("original", "no-calibration")
        return (self.setting,)

    @property
    def seconds(self) -> float:
        """Time that its solver gets."""
        budget = BUDGETS[self.budget]
        if self.dataset == CREDIT:
            return budget.credit
        if self.method == "rss-dnb":
            return budget.milp if self.setting == "original" else budget.variants
        named = {"rss-dnb-exact": budget.exact, "scorecard": budget.default}
        return named.get(self.method, budget.others)


def make_plan(
    budget: str = "standard",
    *,
    only: Iterable[str] = (),
    datasets: Sequence[str] = (),
    methods: Sequence[str] = (),
) -> list[Job]:
    """List all fits, those that most outputs need first."""
    _check("--budget", [budget], BUDGETS)
    _check("--only", only, OUTPUTS)
    _check("--datasets", datasets, (*DATASETS, CREDIT))
    _check("--methods", methods, METHODS)
    outputs = tuple(only) or tuple(OUTPUTS)
    needed = {setting for name in outputs for setting in OUTPUTS[name]}
    spent = BUDGETS[budget]
    chosen = [name for name in (*DATASETS, CREDIT) if name in (tuple(datasets) or spent.datasets)]
    folded = [name for name in chosen if name != CREDIT]
    use = tuple(methods) or METHODS
    jobs = [
        Job(dataset, method, setting, fold, budget)
        for setting in SETTINGS
        if setting in needed and setting != "no-calibration"
        for method in use
        if setting == "original" or method in _VARIED
        for fold in range(spent.folds)
        for dataset in folded
    ]
    if CREDIT in chosen and {"credit", "region"} & set(outputs):
        jobs = _credit_jobs(use, budget, "credit" in outputs) + jobs
    if not jobs and set(outputs) != {"region"}:  # figures of the theory need no fit
        raise InputError(
            f"there is nothing to fit for {', '.join(outputs)} with the budget {budget!r}, the "
            f"data sets {', '.join(chosen)} and the methods {shorten(list(use), 4)}. Add what is "
            "missing, such as --datasets credit or --methods rss-dnb."
        )
    return jobs


def _credit_jobs(methods: Sequence[str], budget: str, study: bool) -> list[Job]:
    """The illustrative card of all rows, and the case study's single split."""
    jobs = [
        Job(CREDIT, "rss-dnb-exact", "c0=0", ALL_ROWS, budget)
        for method in methods
        if method == "rss-dnb-exact"
    ]
    return jobs + [Job(CREDIT, method, "original", 0, budget) for method in methods if study]


def _check(option: str, given: Iterable[str], known: Iterable[str]) -> None:
    unknown = [name for name in given if name not in known]
    if unknown:
        raise InputError(
            f"{option}: {unknown[0]!r} is unknown. Known are {shorten(list(known), 12)}."
        )
