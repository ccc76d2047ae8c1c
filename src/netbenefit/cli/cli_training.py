"""What ``fit`` learns from and measures on: rows in memory, or rows that stay where they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from netbenefit.cli.terminal import make_console, tell, warnings_as_notes, working

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from netbenefit.binning.binner import Binner
    from netbenefit.cards.scorecard import Scorecard
    from netbenefit.cli.columns import Asked
    from netbenefit.cli.rows import Rows
    from netbenefit.estimators.learn import Learned
    from netbenefit.estimators.risk_score import RiskScoreClassifier
    from netbenefit.estimators.training import Training
    from netbenefit.metrics.measures import Measures

__all__ = ["HeldOut", "InMemory", "Material", "Prepared", "Wanted", "tell_guesses", "wanted_binner"]


class Wanted(NamedTuple):
    """What the options of ``fit`` say about columns and cards."""

    asked: Asked
    params: dict[str, Any]  #: of the estimator, but for its binner
    steady: list[str]  #: columns along which points never turn
    quiet: bool


class HeldOut(NamedTuple):
    """A card on rows that it was not learnt from."""

    measures: Measures
    words: str  #: which rows these are


def _as_it_is(learned: Learned) -> Learned:
    return learned


class Prepared(NamedTuple):
    """An estimator, and patterns for it to learn from."""

    model: RiskScoreClassifier
    training: Training
    finish: Callable[[Learned], Learned] = _as_it_is  #: what is left to do after the search
    sampled: bool = False  #: whether the search sees a sample only, so that nothing is proven


class Material(Protocol):
    """Rows to learn from and to measure on, wherever they are."""

    @property
    def outcome_text(self) -> str:
        """What the risk is the risk of."""

    def counts(self) -> str:
        """Say how many rows and columns there are."""

    def training(self, wanted: Wanted) -> Prepared:
        """Merge the rows into patterns, and say how columns were read."""

    def measure(self, card: Scorecard, quiet: bool) -> HeldOut | None:
        """Measure a card on the rows held out; None where there are none."""


@dataclass(frozen=True)
class InMemory:
    """Rows of a table in memory."""

    rows: Rows
    train: Rows
    test: Rows | None
    seed: int

    @property
    def outcome_text(self) -> str:
        """What the risk is the risk of."""
        return self.rows.outcome.text

    def counts(self) -> str:
        """Say how many rows and columns there are."""
        return self.rows.counts(self.test)

    def training(self, wanted: Wanted) -> Prepared:
        """Bin the rows, and say how; or take their numbers as they are."""
        from netbenefit.cli.cli_words import option_words
        from netbenefit.cli.columns import check_monotone
        from netbenefit.cli.rows import model_of

        rows = self.train
        wanted_binner(wanted, rows.names, rows.columns())
        model, X = model_of(rows, wanted.asked, wanted.params)
        model.thresholds_ = wanted.params["thresholds"]
        with option_words(wanted.quiet):
            with working(wanted.quiet, "looking at the columns"):
                training = model._training(X, rows.outcome.event, rows.weight)
            if training.bins is not None:
                check_monotone(wanted.steady, model.binner_)
                if not wanted.quiet:
                    tell_guesses(model.binner_.summary())
        return Prepared(model, training)

    def measure(self, card: Scorecard, quiet: bool) -> HeldOut | None:
        """Measure a card on the rows held out."""
        from netbenefit.report import measure

        if self.test is None:
            return None
        with warnings_as_notes(quiet):
            score = card.score(self.test.columns())
        event, risk = self.test.outcome.event, card.risk_of_score(score)
        measures = measure(
            event, risk, card.thresholds, score=score, sample_weight=self.test.weight
        )
        return HeldOut(
            measures,
            f"On {event.size:,} rows of {self.rows.outcome.event.size:,} that were held out (drawn "
            f"with seed {self.seed}, each class alike; the card is learnt from the rest):",
        )


def wanted_binner(
    wanted: Wanted, names: Sequence[str], columns: Mapping[str, NDArray[Any]]
) -> tuple[Binner | None, list[str]]:
    """Return the binner that the options ask for, and the columns that it will know."""
    from netbenefit.cli.columns import check_known
    from netbenefit.common.checks import InputError
    from netbenefit.problem.constraints import MaxPerColumn

    binner = wanted.asked.binner(columns)
    known = [*names, *(getattr(binner, "combine", None) or ())]
    check_known(wanted.steady, known, "--monotone")
    limits = wanted.params["constraints"]
    if binner is None and any(isinstance(one, MaxPerColumn) for one in limits):
        raise InputError("--max-per-column limits conditions, which --binner none has none of.")
    return binner, known


def tell_guesses(summary: Any) -> None:
    """Show what each column was taken for."""
    from netbenefit.cli.cli_guess import HOW_TO_CHANGE, guess_table

    console = make_console(stderr=True)
    console.print(guess_table(summary, min(console.width, 120)))
    tell("bold", "to change", HOW_TO_CHANGE)
