"""``netbenefit update``: a stored card, made to fit new rows."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from netbenefit.cli import options, terminal
from netbenefit.cli.options import SEEDS, option

#: What can be updated.
What = StrEnum("What", "risks cutoffs refit")


@terminal.report_user_errors
def update(
    card: options.Card,
    data: options.Data,
    what: Annotated[
        What,
        typer.Option(
            help="risks: points and groups of scores stay; cutoffs: points stay; refit: learn "
            "anew, starting from the old card."
        ),
    ] = What.risks,
    out: Annotated[Path | None, option("FILE", "Where to save the new card, as JSON.")] = None,
    *,
    named: options.OutcomeOptions,
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
    seed: Annotated[int, option("N", "Seed of search and folds.", **SEEDS)] = 0,
    jobs: options.Jobs = -1,
    files: options.FileOptions,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Update a card on new rows, and print what changed: points, cut-offs, risks, decisions.

    The new card says what was updated and on how many rows.
    """
    from netbenefit.cards import check_present
    from netbenefit.cli.rows import format_of, read_file, read_for_card

    terminal.check_writable([card, data], out)
    belief, refit_params = _read_belief(what, prior_strength, teacher, bool(compare))
    scorecard = terminal.load_card(card)
    file = read_file(data, scorecard.text_features, format_of(files), quiet)
    rows = read_for_card(scorecard, file, named, quiet)
    event = rows.outcome.event
    from netbenefit.updating import choose_update, default_estimator, needed_columns, update_card

    settings: dict[str, Any] = {"sample_weight": rows.weight, "prior_strength": belief}
    with (
        terminal.progress(quiet or what is not What.refit) as callback,
        terminal.warnings_as_notes(quiet, rows.place),
    ):
        estimator = default_estimator(scorecard).set_params(
            time_limit=time_limit, random_state=seed, n_jobs=jobs, callback=callback, **refit_params
        )
        if compare:
            choice = choose_update(
                scorecard,
                rows.columns(),
                event,
                folds=compare,
                estimator=estimator,
                random_state=seed,
                **settings,
            )
            terminal.make_console().print(f"{choice}\n")
        needed = list(scorecard.features)
        if what is What.refit:
            settings["estimator"] = estimator
            needed = list(needed_columns(scorecard, estimator))
        check_present(needed, list(file.columns))
        X = file.rows(needed, rows.kept)
        changed = update_card(scorecard, X, event, what.value, **settings)
    if out is not None:
        changed.new.save(out)
    terminal.print_card(changed.new)
    terminal.make_console().print(f"\n{changed}")
    if changed.result is not None:
        terminal.print_teacher(changed.new.provenance, changed.result)
    if not quiet:
        terminal.print_note(
            "bold", "saved" if out else "not saved", out or "add --out new.json to keep the card."
        )


def _read_belief(
    what: What, prior_strength: str | None, teacher: str | None, compared: bool
) -> tuple[float, dict[str, Any]]:
    """Rows of belief in the old card's risks, and what a refit is to know of its teacher."""
    from netbenefit.common import InputError

    params: dict[str, Any] = {}
    if teacher is not None:
        if what is not What.refit and not compared:
            raise InputError(
                f"--teacher is about a refit, not about {what.value}. Add --what refit, or leave "
                "it out."
            )
        params["teacher"] = None if teacher == "none" else teacher
    if prior_strength is None:
        return 0.0, params
    if what is What.refit:
        params["prior_strength"] = terminal.read_setting(prior_strength, "--prior-strength", "auto")
        return 0.0, params
    return float(terminal.read_setting(prior_strength, "--prior-strength")), params
