"""The rows of a file that ``fit`` learns from, and those that it holds out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netbenefit.cli.fit_notes import check_weight
from netbenefit.cli.terminal import pick_column
from netbenefit.common.checks import InputError
from netbenefit.data.files import RawFile, read_raw
from netbenefit.data.labels import Outcome, read_outcome

if TYPE_CHECKING:
    from netbenefit.cli.columns import Asked
    from netbenefit.estimators.risk_score import RiskScoreClassifier

__all__ = ["Rows", "check_share", "model_of", "read_rows", "rows_of", "split_rows"]


class Rows(NamedTuple):
    """Rows to learn from, or rows held out."""

    file: RawFile
    names: tuple[str, ...]  #: columns to learn from
    outcome: Outcome
    weight: NDArray[Any] | None
    kept: NDArray[np.intp] | None = None  #: which rows of the file; None for all

    def only(self, kept: NDArray[np.intp]) -> Rows:
        """Return some of the rows."""
        outcome = self.outcome._replace(event=self.outcome.event[kept])
        weight = None if self.weight is None else self.weight[kept]
        return self._replace(outcome=outcome, weight=weight, kept=kept)

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the columns to learn from, as plain arrays."""
        columns = {name: self.file.columns[name] for name in self.names}
        if self.kept is None:
            return columns
        return {name: column[self.kept] for name, column in columns.items()}

    def raw(self) -> Any:
        """Return the columns to learn from with all that the file says about their types."""
        return self.file.rows(self.names, self.kept)

    def counts(self, held_out: Rows | None) -> str:
        """Say how many rows and columns there are."""
        event = self.outcome.event
        plural = "s" * (len(self.names) != 1)
        text = f"{event.size:,} rows, {event.sum():,} with {self.outcome.text}"
        aside = "" if held_out is None else f"; {held_out.outcome.event.size:,} rows held out"
        return f"{text}; {len(self.names)} column{plural} to learn from{aside}"


def read_rows(
    data: Path, target: str, positive: str | None, sample_weight: str | None, asked: Asked
) -> Rows:
    """Read a file, its outcome and its weights."""
    file = read_raw(data, text=asked.levels)
    return rows_of(file, str(data), target, positive, sample_weight, asked)


def rows_of(
    file: RawFile,
    place: str,
    target: str,
    positive: str | None,
    sample_weight: str | None,
    asked: Asked,
) -> Rows:
    """Find outcome and weights in a table that was read from ``place``."""
    columns = file.columns
    outcome = read_outcome(target, pick_column(columns, target, "--target"), positive)
    weight = None
    if sample_weight is not None:
        weight = pick_column(columns, sample_weight, "--sample-weight")
        check_weight(sample_weight, weight)
    unused = {target, sample_weight, *asked.dropped(columns)}
    names = tuple(name for name in columns if name not in unused)
    if not names:
        raise InputError(
            f"{place}: no feature columns are left beside {target!r}. Add some, or drop fewer."
        )
    return Rows(file, names, outcome, weight)


def check_share(share: float | None, certificate: Path | None) -> None:
    """Refuse a share of rows to hold out that is none, or that a proof could not speak of."""
    if share is None:
        return
    if not 0 < share < 1:
        raise InputError(f"--holdout {share:g} is no share of the rows. Write 0.25 for a quarter.")
    if certificate is not None:
        raise InputError(
            "--holdout and --certificate do not go together: `verify` counts all rows of a file, "
            "but the proof would be about some of them. Split the file first, or leave out one."
        )


def split_rows(rows: Rows, share: float | None, seed: int) -> tuple[Rows, Rows | None]:
    """Return rows to learn from and rows held out: of each class the same share."""
    if share is None:
        return rows, None
    event = rows.outcome.event
    random = np.random.default_rng(seed)
    held = np.zeros(event.size, dtype=np.bool_)
    for label in (False, True):
        places = np.flatnonzero(event == label)
        number = round(share * places.size)
        if not 0 < number < places.size:
            which = "with" if label else "without"
            raise InputError(
                f"--holdout {share:g} of {places.size} rows {which} {rows.outcome.text} leaves one "
                "side without any. Choose another share, or a larger table."
            )
        held[random.permutation(places)[:number]] = True
    return rows.only(np.flatnonzero(~held)), rows.only(np.flatnonzero(held))


def model_of(rows: Rows, asked: Asked, params: dict[str, Any]) -> tuple[RiskScoreClassifier, Any]:
    """An estimator that does all that ``fit`` does, and the rows as it takes them."""
    from netbenefit.cli.fit_notes import check_features
    from netbenefit.estimators.risk_score import RiskScoreClassifier

    columns = rows.columns()
    wanted = asked.binner(columns)
    if wanted is None:
        what = "With --binner none columns are numbers; --binner auto takes both. Or"
        check_features(columns, what)
    return RiskScoreClassifier(binner=wanted, **params), columns if wanted is None else rows.raw()
