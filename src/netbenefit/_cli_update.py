"""``netbenefit update``: a stored card, made to fit new rows."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from netbenefit._cli_options import (
    Card,
    CardTarget,
    Data,
    Debug,
    Jobs,
    Positive,
    RowWeights,
    option,
)
from netbenefit._terminal import (
    check_writable,
    friendly,
    load_card,
    make_console,
    print_card,
    progress,
    tell,
    warnings_as_notes,
)

__all__ = ["update"]


class What(StrEnum):
    """What can be updated."""

    risks = "risks"
    cutoffs = "cutoffs"
    refit = "refit"


@friendly
def update(
    card: Card,
    data: Data,
    what: Annotated[
        What,
        typer.Option(
            help="risks: points and groups of scores stay; cutoffs: points stay; refit: learn "
            "anew, from the old card on."
        ),
    ] = What.risks,
    out: Annotated[Path | None, option("FILE", "Where to save the new card, as JSON.")] = None,
    target: CardTarget = None,
    sample_weight: RowWeights = None,
    positive: Positive = None,
    prior_strength: Annotated[
        float,
        option("ROWS", "risks, cutoffs: rows of belief in the old card's risks.", min=0.0),
    ] = 0.0,
    compare: Annotated[
        int,
        option("FOLDS", "First compare all ways to update on held-out folds; 0: do not.", min=0),
    ] = 0,
    time_limit: Annotated[float, option("SECONDS", "refit: time to search.")] = 10.0,
    seed: Annotated[int, option("N", "Seed of search and folds.", min=0)] = 0,
    jobs: Jobs = -1,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no notes.")] = False,
    debug: Debug = False,
) -> None:
    """Update a card on new rows, and print what changed: points, cut-offs, risks, decisions.

    The new card says what was updated and on how many rows.
    """
    from netbenefit._fit_notes import read_for_card
    from netbenefit._io import read_raw
    from netbenefit.updating import choose_update, update_card

    check_writable(out, card, data)
    scorecard = load_card(card)
    file = read_raw(data, text=scorecard.text_features)
    outcome, weight = read_for_card(scorecard, file.columns, target, positive, sample_weight)
    settings: dict[str, Any] = {"sample_weight": weight}
    with progress(quiet or what is not What.refit) as callback, warnings_as_notes(quiet):
        estimator = _estimator(scorecard, time_limit, seed, jobs, callback)
        if compare:
            choice = choose_update(
                scorecard,
                file.columns,
                outcome.event,
                cv=compare,
                prior_strength=prior_strength,
                estimator=estimator,
                random_state=seed,
                **settings,
            )
            make_console().print(f"{choice}\n")
        if what is What.refit:
            settings["estimator"] = estimator
        rows = file.rows(_needed(scorecard, file.columns, what))
        changed = update_card(
            scorecard, rows, outcome.event, what.value, prior_strength=prior_strength, **settings
        )
    if out is not None:
        changed.new.save(out)
    print_card(changed.new)
    make_console().print(f"\n{changed}")
    if not quiet:
        tell("bold", "saved" if out else "not saved", out or "add --out new.json to keep the card.")


def _estimator(card: Any, time_limit: float, seed: int, jobs: int, callback: Any) -> Any:
    from netbenefit._updating_cards import default_estimator

    return default_estimator(card).set_params(
        time_limit=time_limit, random_state=seed, n_jobs=jobs, callback=callback
    )


def _needed(card: Any, columns: Any, what: What) -> list[str]:
    """Columns to read: all that the card was learnt from, where it is to be learnt anew."""
    from netbenefit._columns import check_present

    names = card.feature_names if what is What.refit else card.features
    check_present(names, list(columns))
    return list(names)
