"""``netbenefit compare``: cards and other models side by side, on the same held-out rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from netbenefit.cli import options, terminal
from netbenefit.cli.options import GRID, SEEDS, Names, option

if TYPE_CHECKING:
    from netbenefit.cards import Scorecard
    from netbenefit.cli.rows import Rows

#: Notes of models to show; the rest are counted.
_MOST_NOTES = 5


@terminal.report_user_errors
def compare(
    data: options.Data,
    target: options.Target,
    models: Annotated[
        str,
        option(
            "LIST",
            "Separated by commas: scorecard, rss-dnb, rss-dnb-sa, logistic, lasso, tree, forest, "
            "xgboost, or a card's file, such as card.json. Others are compared with the first.",
        ),
    ] = "scorecard,logistic,lasso,tree",
    folds: Annotated[int, option("N", "Folds, each held out once.", min=2)] = 5,
    repeats: Annotated[int, option("N", "How often to draw folds anew.", min=1)] = 1,
    thresholds: Annotated[
        str | None, option("GRID", GRID, "those of the first card, else 0,0.1,…,0.9")
    ] = None,
    weights: options.Weights = options.WeightNames.equal,
    positive: options.Positive = None,
    sample_weight: options.RowWeights = None,
    drop: Annotated[Names, option("COLUMN", "A column to leave out.")] = None,
    max_features: Annotated[
        int | None, option("K", "Largest number of rules of a scorecard.", min=1)
    ] = None,
    max_questions: Annotated[
        int | None, option("K", "Largest number of questions of `scorecard`.", min=1)
    ] = None,
    *,
    teacher: options.TeacherOptions,
    time_limit: Annotated[float, option("SECONDS", "Time for each search, once per fold.")] = 10.0,
    seed: Annotated[int, option("N", "Seed of folds and models.", **SEEDS)] = 0,
    jobs: Annotated[
        int, option("N", "Fits at a time. With 1, each search uses all cores.", min=-1)
    ] = 1,
    plot: Annotated[
        Path | None, option("FILE", "Save the decision curves: .svg, .png or .pdf.")
    ] = None,
    csv: Annotated[Path | None, option("FILE", "Save the table.")] = None,
    journal: Annotated[
        Path | None, option("FILE", "Keep finished fits, to go on after an interruption.")
    ] = None,
    files: options.FileOptions,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Compare cards and other models by cross-validation, all on the same folds.

    Reads raw tables, as `fit` does.  Everything is learnt anew in each fold, binning, teacher and
    search included; only a card that is named by its file is scored as it stands.
    """
    from netbenefit.cli.model import (
        check_teacher,
        read_teacher,
        read_thresholds,
        tell_thresholds,
    )
    from netbenefit.common import InputError, rows_named
    from netbenefit.data import write_csv
    from netbenefit.plots import check_picture

    terminal.check_writable([data], plot, csv)
    if plot is not None:
        check_picture(plot)
    named = _read_models(models)
    taught = read_teacher(teacher)
    if "scorecard" not in named.values() and teacher != options.TeacherOptions():
        raise InputError(
            "--teacher and --prior-strength are about the model scorecard, which --models does not "
            "name. Add it, or leave them out."
        )
    asked = options.ThresholdOptions(thresholds, weights)
    given = asked != options.ThresholdOptions()
    grid = read_thresholds(asked) if given else None
    cards = {name: model for name, model in named.items() if not isinstance(model, str)}
    known = list(cards.values())
    rows = _read(data, target, positive, sample_weight, drop or [], known, files, quiet)
    check_teacher(taught["teacher"], rows.names)
    from netbenefit.validation import compare as run  # late: it takes seconds

    if not quiet:
        _tell_rows(data, rows, cards)
        if not cards:
            tell_thresholds(asked, rows.outcome.event.mean())
    with rows_named(rows.place):
        found = run(
            named,
            rows.X(binned=True),
            rows.outcome.event,
            thresholds=grid,
            folds=folds,
            repeats=repeats,
            sample_weight=rows.weight,
            time_limit=time_limit,
            max_features=max_features,
            max_questions=max_questions,
            **taught,
            random_state=seed,
            n_jobs=jobs,
            journal=journal,
            verbose=not quiet,
        )
    if csv is not None:
        write_csv(found.to_table(), csv)
    if plot is not None:
        found.display().save(plot)
    terminal.make_console().print(str(found))
    if quiet:
        return
    for note in found.notes[:_MOST_NOTES]:
        terminal.note(note)
    more = len(found.notes) - _MOST_NOTES
    if more > 0:
        terminal.note(f"{more} more note{'s' * (more > 1)} of the models.")
    terminal.print_saved(plot, csv)


def _read_models(text: str) -> dict[str, Any]:
    """Split a list of names and files; cards are read at once."""
    from netbenefit.common import InputError, did_you_mean
    from netbenefit.validation import NAMES

    found: dict[str, Any] = {}
    for word in (word.strip() for word in text.split(",")):
        if not word:
            continue
        file = word.endswith(".json") or Path(word).is_file()
        if not file and word not in NAMES:
            raise InputError(
                f"--models: no model is called {word!r}.{did_you_mean(word, NAMES)} Known are "
                f"{', '.join(NAMES)}; a card is named by its file, such as card.json."
            )
        name = Path(word).name if file and Path(word).name not in found else word
        if name in found:
            raise InputError(f"--models names {word!r} twice. Name it once.")
        found[name] = terminal.load_card(Path(word)) if file else word
    if not found:
        raise InputError("--models names no model. Write, for example, --models scorecard,lasso.")
    return found


def _read(
    data: Path,
    target: str,
    positive: str | None,
    sample_weight: str | None,
    drop: list[str],
    cards: list[Scorecard],
    files: options.FileOptions,
    quiet: bool,
) -> Rows:
    """Rows of a file; the event is the one that the first card predicts, if it says so."""
    from netbenefit.cli.model import ColumnFlags
    from netbenefit.cli.rows import format_of, read_file, rows_of
    from netbenefit.data import label_in

    texts = [name for card in cards for name in card.text_features]
    file = read_file(data, texts, format_of(files), quiet)
    outcomes = [card.provenance.outcome for card in cards if card.provenance]
    if positive is None:
        labels = [label_in(outcome, target) for outcome in outcomes]
        positive = next(filter(None, labels), None)
    flags = ColumnFlags(None, drop=drop)
    return rows_of(file, str(data), target, positive, sample_weight, flags, quiet)


def _tell_rows(data: Path, rows: Rows, cards: dict[str, Scorecard]) -> None:
    from netbenefit.cli.rows import count_columns

    event = rows.outcome.event
    counts = f"{event.size:,} rows, {event.sum():,} with {rows.outcome.text}"
    terminal.print_note("bold", data.name, f"{counts}; {count_columns(rows.names)}")
    for name, card in cards.items():
        origin = card.provenance
        if origin is None:
            continue
        if origin.outcome not in (None, rows.outcome.text):
            terminal.note(f"{name} predicts {origin.outcome!r}, not {rows.outcome.text!r}.")
        if (origin.n_rows, origin.n_events) == (event.size, int(event.sum())):
            terminal.note(
                f"{name} was learnt from {event.size:,} rows with as many events as these have. If "
                "they are the same rows, its numbers here are not those of new rows. Add the model "
                "scorecard, which is learnt anew in each fold.",
            )
