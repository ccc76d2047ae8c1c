"""``netbenefit demo``: a first card, on data that scikit-learn ships."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from netbenefit.cli import options, terminal

#: Risks from which people might act: 19 false alarms accepted for a tumour found, down to one.
_THRESHOLDS = "0.05:0.5:0.05"
#: Short enough to add up in one's head.
_MAX_RULES, _MAX_POINTS = 5, 5
_TEST_SHARE, _SPLIT_SEED = 0.3, 0
#: The threshold that the calculator starts with.
_ACT_FROM = 0.1


@terminal.report_user_errors
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the card and the report.")] = Path(
        "netbenefit-demo"
    ),
    time_limit: options.Seconds = 5.0,
    debug: options.Debug = False,
) -> None:
    """Learn a card that tells malignant breast tumours from benign ones.

    Uses the measurements that scikit-learn ships.  Prints the card and how it does on tumours that
    were held out, and writes a report.
    """
    from netbenefit.common import InputError

    if out.exists() and not out.is_dir():
        raise InputError(f"{out} is a file. Name a folder: --out FOLDER.")
    console = terminal.make_console()
    console.print("Which breast tumours are malignant? Learning a card that tells them apart.\n")
    with terminal.status(False, "getting ready"):
        import numpy as np
        from sklearn.datasets import load_breast_cancer
        from sklearn.linear_model import LogisticRegression
        from sklearn.model_selection import train_test_split
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        from netbenefit.cli.classifier import CommandClassifier, notes_on
        from netbenefit.common import Table, write_text
        from netbenefit.data import Outcome, write_csv
        from netbenefit.export import to_calculator
        from netbenefit.metrics import Thresholds, compare
        from netbenefit.report import comparison_table, thresholds_text, validation_page
        from netbenefit.updating import evaluate_card, with_held_out

        raw = load_breast_cancer()
        names = [str(name) for name in raw.feature_names]
        columns = {n: raw.data[:, k] for k, n in enumerate(names) if n.startswith("worst ")}
        event = raw.target == 0  # malignant
        first, second = train_test_split(
            np.arange(event.size), test_size=_TEST_SHARE, random_state=_SPLIT_SEED, stratify=event
        )
        train = {name: values[first] for name, values in columns.items()}
        test = {name: values[second] for name, values in columns.items()}
        learnt, held_out = event[first], event[second]
    thresholds = Thresholds.parse(_THRESHOLDS)
    with terminal.warnings_as_notes():
        model = CommandClassifier(
            binner="auto",
            thresholds=thresholds,
            max_points=_MAX_POINTS,
            max_features=_MAX_RULES,
            sign=dict.fromkeys(train, "+"),  # larger measurements may only add points
            time_limit=time_limit,
            random_state=0,
            n_jobs=-1,
        ).follow(quiet=False, columns=False)
        model.fit(train, Outcome(learnt, np.array([False, True]), "malignancy"))
        found = evaluate_card(model.scorecard_, test, held_out)
        benefit = found.measures.weighted_net_benefit
        card = with_held_out(model.scorecard_, found.levels, benefit)
        logistic = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
        logistic.fit(np.column_stack(list(train.values())), learnt)
        other = {
            f"Logistic regression, {len(columns)} columns": logistic.predict_proba(
                np.column_stack(list(test.values()))
            )[:, 1]
        }
        asked = len(card.questions)
        risks = {f"Card, {asked} questions": card.risk(test), **other}
        rows = compare(held_out, risks, thresholds)
    out.mkdir(parents=True, exist_ok=True)
    card_file, report_file = out / "card.json", out / "report.html"
    calculator, held_out_file, all_file = (
        out / name for name in ("calculator.html", "held_out.csv", "tumours.csv")
    )
    card.save(card_file)
    page = validation_page(
        card,
        test,
        held_out,
        data="tumours that were held out",
        others=other,
        lead=(
            f"Learnt from {learnt.size} breast tumours, {learnt.sum()} of them malignant. Each "
            "question is about a measurement of the cell nuclei (“worst” is the mean of the three "
            "largest values). Add up the points, then look up the risk of the score."
        ),
        note="One split of a small table: other splits give other numbers.",
    )
    write_text(report_file, page)
    write_text(calculator, to_calculator(card, threshold=_ACT_FROM))
    write_csv(Table({**test, "malignant": held_out.astype(np.int64)}), held_out_file)
    write_csv(Table({**columns, "malignant": event.astype(np.int64)}), all_file)
    terminal.print_card(card)
    for note in notes_on(model):
        terminal.note(note)
    console.print(f"\nOn {held_out.size} other tumours, at {thresholds_text(thresholds)}:")
    console.print(comparison_table(rows))
    console.print(
        "AUNBC is the mean net benefit: more is better. ECE is the calibration error.\n"
        "One split of a small table: other splits give other numbers.\n"
    )
    files = (card_file, report_file, calculator, held_out_file, all_file)
    console.print("Wrote " + "\n      ".join(str(file) for file in files))
    program = terminal.program_name()
    console.print(
        "\nNext: open the report and the calculator in a browser, then try\n"
        f"  {program} evaluate {card_file} {held_out_file} --target malignant\n"
        f"  {program} compare {all_file} --target malignant --models scorecard,logistic,tree\n"
        f"  {program} fit YOUR.csv --target OUTCOME --out card.json"
    )
