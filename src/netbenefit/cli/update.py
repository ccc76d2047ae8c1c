"""``netbenefit update``: a stored card, made to fit new rows."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from netbenefit.cli.options import (
    Card,
    CardTarget,
    Data,
    Debug,
    Jobs,
    Positive,
    RowWeights,
    option,
)
from netbenefit.cli.terminal import (
    check_writable,
    friendly,
    load_card,
    make_console,
    print_card,
    print_teacher,
    progress,
    read_setting,
    tell,
    warnings_as_notes,
)


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
        str | None,
        option(
            "ROWS",
            "risks, cutoffs: rows of belief in the old card's risks. refit: rows of belief in the "
            "teacher, as in `fit`.",
            "0; refit: auto",
        ),
    ] = None,
    teacher: Annotated[
        str | None,
        option(
            "WHO",
            "refit: as in `fit`: auto, logistic, boosting, none, or a COLUMN of risks.",
            "auto if the card had one",
        ),
    ] = None,
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
    from netbenefit.cli.rows import read_for_card
    from netbenefit.data import read_raw
    from netbenefit.updating import choose_update, update_card

    check_writable(out, card, data)
    belief, lessons = _read_belief(what, prior_strength, teacher, bool(compare))
    scorecard = load_card(card)
    file = read_raw(data, text=scorecard.text_features)
    outcome, weight = read_for_card(scorecard, file.columns, target, positive, sample_weight)
    settings: dict[str, Any] = {"sample_weight": weight}
    with progress(quiet or what is not What.refit) as callback, warnings_as_notes(quiet):
        estimator = _estimator(scorecard, time_limit, seed, jobs, callback).set_params(**lessons)
        if compare:
            choice = choose_update(
                scorecard,
                file.columns,
                outcome.event,
                cv=compare,
                prior_strength=belief,
                estimator=estimator,
                random_state=seed,
                **settings,
            )
            make_console().print(f"{choice}\n")
        if what is What.refit:
            settings["estimator"] = estimator
        rows = file.rows(_needed(scorecard, file.columns, what, estimator))
        changed = update_card(
            scorecard, rows, outcome.event, what.value, prior_strength=belief, **settings
        )
    if out is not None:
        changed.new.save(out)
    print_card(changed.new)
    make_console().print(f"\n{changed}")
    if changed.result is not None:
        print_teacher(changed.new.provenance, changed.result)
    if not quiet:
        tell("bold", "saved" if out else "not saved", out or "add --out new.json to keep the card.")


def _estimator(card: Any, time_limit: float, seed: int, jobs: int, callback: Any) -> Any:
    from netbenefit.updating import default_estimator

    return default_estimator(card).set_params(
        time_limit=time_limit, random_state=seed, n_jobs=jobs, callback=callback
    )


def _read_belief(
    what: What, prior_strength: str | None, teacher: str | None, compared: bool
) -> tuple[float, dict[str, Any]]:
    """Rows of belief in the old card's risks, and what a refit is told of its teacher."""
    from netbenefit.common import InputError

    again = what is What.refit
    if teacher is not None and not (again or compared):
        raise InputError(
            f"--teacher is about a refit, not about {what.value}. Add --what refit, or leave it "
            "out."
        )
    lessons: dict[str, Any] = (
        {} if teacher is None else {"teacher": None if teacher == "none" else teacher}
    )
    if prior_strength is None:
        return 0.0, lessons
    if again:
        lessons["prior_strength"] = read_setting(prior_strength, "--prior-strength", "auto")
        return 0.0, lessons
    belief = read_setting(prior_strength, "--prior-strength")
    assert isinstance(belief, float)
    return belief, lessons


def _needed(card: Any, columns: Any, what: What, estimator: Any) -> list[str]:
    """Columns to read: all that the card was learnt from, where it is to be learnt anew."""
    from netbenefit.cards import check_present
    from netbenefit.updating import needed_columns

    names = needed_columns(card, estimator) if what is What.refit else card.features
    check_present(names, list(columns))
    return list(names)
