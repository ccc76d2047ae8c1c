"""The credit case study as Markdown and CSV, next to the published numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression

from netbenefit.cards.rules import Rule
from netbenefit.cards.scorecard import Scorecard
from netbenefit.cards.terms import PerUnit
from netbenefit.common.checks import FloatArray, InputError, check_binary, shorten
from netbenefit.common.files import write_text
from netbenefit.metrics.benefit import aunbc, auroc, expected_calibration_error
from netbenefit.metrics.measures import Measures, measure
from netbenefit.metrics.thresholds import Thresholds
from reproduction.credit import CreditSplit, credit_all, credit_splits
from reproduction.datasets import Dataset
from reproduction.names import title_of
from reproduction.published import load_published
from reproduction.summary import MISSING, csv_text, number, pipe_table

# -- the published illustrative card for Give Me Some Credit, and cards on prepared rows -----------


def published_card() -> Scorecard:
    """Return the authors' illustrative card; it reads prepared rows."""
    return Scorecard.from_levels(
        rules=(
            Rule(PerUnit("utilisation", decimals=1), 10),
            Rule(PerUnit("ever past due", binary=True), 9),
            Rule(PerUnit("age ≥ 52", binary=True), -2),
            Rule(PerUnit("open lines ≥ 8", binary=True), 1),
            Rule(PerUnit("real-estate loans ≥ 1", binary=True), -1),
        ),
        cutoffs=(10, 15, 18, 20, 21, 25, 25, 25, 25),
        risks=(0.028, 0.14, 0.268, 0.371, 0.489, 0.534, None, None, None, 0.9),
        thresholds=Thresholds.tenths(),
        score_range=(-3, 25),
    )


class ScoreRow(NamedTuple):
    """One row of a card's SCORE → RISK table, on rows."""

    low: int | None
    high: int | None
    risk: float  #: what the card says
    rows: int
    events: int

    @property
    def observed(self) -> float:
        """Share of events; NaN without rows."""
        return self.events / self.rows if self.rows else float("nan")


def score_table(card: Scorecard, data: Dataset) -> list[ScoreRow]:
    """Count rows and events in each score range of a card."""
    event, score = check_binary(data.y), _scores(card, data)
    found = []
    for low, high, risk in card.risk_table():
        inside = np.ones(score.size, dtype=np.bool_)
        if low is not None:
            inside &= score >= low
        if high is not None:
            inside &= score <= high
        found.append(ScoreRow(low, high, risk, int(inside.sum()), int(event[inside].sum())))
    return found


def _scores(card: Scorecard, data: Dataset) -> Any:
    return np.asarray(card.score(dict(zip(data.names, data.X.T, strict=True))), dtype=np.int64)


def with_names(card: Scorecard, names: Sequence[str]) -> Scorecard:
    """Return a card with names of columns, where it was learnt from a plain array."""
    if set(card.features) <= set(names):
        return card
    if len(card.feature_names) != len(names):
        raise InputError(
            f"the card reads {shorten(card.features)}, which are none of the prepared columns "
            f"{shorten(names, 8)}. Pass a card that was learnt from these."
        )
    called = dict(zip(card.feature_names, names, strict=True))
    rules = [
        replace(rule, term=replace(rule.term, feature=called[rule.term.feature]))
        for rule in card.rules
    ]
    return replace(card, rules=tuple(rules), feature_names=tuple(names))


class CardOnRows(NamedTuple):
    """A card evaluated on rows."""

    card: Scorecard
    table: list[ScoreRow]
    measures: Measures
    best: float  #: weighted net benefit of its points with the best cut-offs for these rows


def card_on_rows(card: Scorecard, data: Dataset) -> CardOnRows:
    """Measure a card on rows: its table, its measures, and what its points could reach."""
    known = with_names(card, data.names)
    score = _scores(known, data)
    measures = measure(data.y, known.risk_of_score(score), known.thresholds, score=score)
    return CardOnRows(known, score_table(known, data), measures, best_net_benefit(known, data))


def best_net_benefit(card: Scorecard, data: Dataset) -> float:
    """Weighted net benefit that a card's points reach with the best cut-offs for these rows.

    This is the published objective with C0 = 0: Σ_i ω_i max_T (TP_i(T) − r_i FP_i(T)) / N.
    """
    event = check_binary(data.y)
    _, rank = np.unique(_scores(card, data), return_inverse=True)
    counts = [np.bincount(rank, kind) for kind in (event, ~event)]
    # Rows that reach each score that occurs; the last cut-off, beyond all of them, finds no rows.
    found, alarms = (np.append(np.cumsum(count[::-1])[::-1], 0.0) for count in counts)
    odds = np.asarray(card.thresholds.odds)[:, None]
    best = (found - odds * alarms).max(axis=1) / event.size
    return float(best @ np.asarray(card.thresholds.weights))


def risk_misfit(table: Sequence[ScoreRow], share: float = 0.75) -> FloatArray:
    """How far a card's risks are from those of a random part of the rows, in standard errors.

    One number per level; that risks are printed to a tenth of a percent is allowed for.
    """
    rate = np.array([row.observed for row in table])
    rows = np.array([row.rows for row in table], dtype=np.float64)
    risk = np.array([row.risk for row in table])
    # Drawn without replacement: the variance shrinks by the part that is left out.
    variance = rate * (1.0 - rate) / (share * rows) * (1.0 - share) + 0.001**2 / 12
    result: FloatArray = (risk - rate) / np.sqrt(variance)
    return result


_FIGURES = ("auroc", "ece", "aunbc", "size")
_TITLES = {"auroc": "AUROC", "ece": "ECE", "aunbc": "AUNBC", "size": "size"}
Row = Mapping[str, Any]
Figures = dict[str, float | None]


def published_figures() -> dict[str, Figures]:
    """Return the published test figures of the case study, by method; None where there is none."""
    cells = load_published().credit
    return {
        method: {
            figure: None if (method, figure) not in cells else cells[method, figure].mean
            for figure in _FIGURES
        }
        for method in dict.fromkeys(method for method, _ in cells)
    }


def write_credit(
    rows: Sequence[Row],
    folder: str | Path,
    *,
    data: Dataset | None = None,
    splits: Sequence[CreditSplit] | None = None,
) -> list[Path]:
    """Write the case study: ``credit.md``, ``credit_performance.csv``, ``credit_cards.csv``.

    Of the rows of a run those of "credit" are used (fold 0: the 75/25 split; −1: the illustrative
    card, on all rows). ``data`` and ``splits`` are read from the data folder by default; without
    them cards are printed, but not evaluated.
    """
    mine = [row for row in rows if row.get("dataset") == "credit"]
    lines = _performance(mine)
    known = _prepared() if data is None else data
    ours, cards = _illustrative(mine), []
    if known is not None:
        cards = [("published", card_on_rows(published_card(), known))]
        if ours is not None:
            cards.insert(0, ("ours", card_on_rows(ours, known)))
    spread = logistic_over_splits(_splits() if splits is None else splits)
    text = [
        "# Case study: Give Me Some Credit\n",
        _performance_text(lines),
        _preparation_text(spread, dict(cards).get("published")),
        _cards_text(ours, cards),
    ]
    where = Path(folder)
    where.mkdir(parents=True, exist_ok=True)
    contents = {
        "credit.md": "\n".join(text),
        "credit_performance.csv": csv_text(lines),
        **({"credit_cards.csv": csv_text(_card_lines(cards))} if cards else {}),
    }
    for name, content in contents.items():
        write_text(where / name, content)
    return [where / name for name in contents]


def _prepared() -> Dataset | None:
    try:
        return credit_all()
    except InputError:  # the file is not at hand, and cannot be fetched
        return None


def _splits() -> Iterable[CreditSplit]:
    try:
        yield from credit_splits(range(10))
    except InputError:
        return


# -- performance ----------------------------------------------------------------------------------


def _performance(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """One line per method and setting: ours, published, difference of each figure."""
    known = published_figures()
    found = {
        (str(row["method"]), str(row.get("setting") or "original")): row
        for row in rows
        if row.get("fold") == 0
    }
    first = [(method, "original") for method in known]
    lines = []
    for method, setting in [*first, *sorted(key for key in found if key not in first)]:
        row = found.get((method, setting), {})
        theirs = known.get(method, {}) if setting == "original" else {}
        line: dict[str, Any] = {"method": method, "setting": setting}
        for name in _FIGURES:
            value = _number(row.get(_key(name, row)))
            other = theirs.get(name)
            both = value is not None and other is not None
            line[name] = value
            line[f"published_{name}"] = other
            line[f"difference_{name}"] = round(value - other, 10) if both else None  # type: ignore[operator]
        lines.append(line)
    return lines


def _key(figure: str, row: Row) -> str:
    """Where a row has a figure.  The published AUROCs of cards are those of scores, but SLIM's."""
    by_score = row.get("test_auroc_of_score") is not None and row.get("method") != "slim"
    if figure == "auroc" and by_score:
        return "test_auroc_of_score"
    return "size" if figure == "size" else f"test_{figure}"


def _performance_text(lines: Sequence[Mapping[str, Any]]) -> str:
    head = ["method", *(t for n in _FIGURES for t in (_TITLES[n], "published", "difference"))]
    body = []
    for line in lines:
        name = title_of(line["method"])
        setting = "" if line["setting"] == "original" else f" ({line['setting']})"
        cells = [f"{name}{setting}"]
        for figure in _FIGURES:
            digits = 0 if figure == "size" else 4
            cells += [
                number(line[figure], digits),
                number(line[f"published_{figure}"], digits),
                _signed(line[f"difference_{figure}"], digits),
            ]
        body.append(cells)
    return (
        "## On the quarter that was held out\n\n"
        f"{pipe_table(head, body)}\n\n"
        'Ours next to the published numbers; "difference" is ours minus the published one. One '
        "split was published, without a spread and without its seed, so a difference cannot be "
        "tested; the next section says how far figures move from split to split. AUROCs of cards "
        "are those of their scores (SLIM's that of its classes), as the published ones seem to be: "
        "a card has fewer risks than scores, and by risks the published card has far less (see the "
        "last table).\n"
    )


# -- the preparation ------------------------------------------------------------------------------


class Spread(NamedTuple):
    """Mean and standard deviation of test figures over splits."""

    n: int
    mean: dict[str, float]
    sd: dict[str, float]


def logistic_over_splits(splits: Iterable[CreditSplit]) -> Spread | None:
    """Measure logistic regression on several splits; None for fewer than two."""
    found = []
    for split in splits:
        model = LogisticRegression(max_iter=5000).fit(split.X_train, split.y_train)
        risk = model.predict_proba(split.X_test)[:, 1]
        y = split.y_test
        found.append([auroc(y, risk), expected_calibration_error(y, risk), aunbc(y, risk)])
    if len(found) < 2:
        return None
    values, names = np.array(found), _FIGURES[:3]
    mean, sd = values.mean(axis=0), values.std(axis=0, ddof=1)
    return Spread(
        len(found),
        dict(zip(names, mean.tolist(), strict=True)),
        dict(zip(names, sd.tolist(), strict=True)),
    )


def _preparation_text(spread: Spread | None, published: CardOnRows | None) -> str:
    parts = ["## How close the preparation comes\n"]
    if spread is None:
        parts.append("Not measured: it takes the raw data and more than one split.\n")
    else:
        theirs = published_figures()["logistic"]
        body = [
            [
                _TITLES[name],
                f"{spread.mean[name]:.4f} ± {spread.sd[name]:.4f}",
                number(theirs[name], 4),
                _signed(_standardised(theirs[name], spread.mean[name], spread.sd[name]), 1),
            ]
            for name in _FIGURES[:3]
        ]
        head = ["", f"ours, {spread.n} splits", "published", "standard deviations from ours"]
        parts.append(
            "Logistic regression has nothing to tune, so it shows whether the columns are the "
            "authors' own: mean ± standard deviation of its test figures over seeds of the split.\n"
            f"\n{pipe_table(head, body)}\n"
        )
    if published is not None:
        *lower, last = published.table
        misfit = risk_misfit(lower)
        same = sum(f"{row.risk:.1%}" == f"{row.observed:.1%}" for row in published.table)
        parts.append(
            f"The published risks are more informative. {same} of {len(published.table)} agree to "
            "the printed digit with the rates of all rows. If they are rates of a random 75% of "
            f"these, those of the {misfit.size} levels below the last should differ from the rates "
            f"of all rows by a sum of squared standard errors of about {misfit.size}; it is "
            f"{float(misfit @ misfit):.1f}. (On the original file, reading the codes 96 and 98 as "
            "late payments makes it 16.8: they were probably invalid.) The last risk, 90.0%, is "
            f"9 of 10, where {last.events} of the {last.rows} rows on that level have the event: "
            "this can be a rate of the training part, but not of all rows, so the card was "
            "probably learnt from the former.\n"
        )
    return "\n".join(parts)


def _standardised(value: float | None, mean: float, sd: float) -> float | None:
    return None if value is None or not sd else (value - mean) / sd


# -- the cards ------------------------------------------------------------------------------------


def _illustrative(rows: Sequence[Row]) -> Scorecard | None:
    """Our card on all rows; the exact engine's without a penalty, where there are several."""
    found = [row for row in rows if row.get("fold") == -1 and row.get("card")]
    preferred = ("rss-dnb-exact", "c0=0")
    found.sort(key=lambda row: (row.get("method"), row.get("setting")) != preferred)
    return Scorecard.from_json(found[0]["card"]) if found else None


def _cards_text(ours: Scorecard | None, cards: Sequence[tuple[str, CardOnRows]]) -> str:
    known = dict(cards)
    parts = ["## The illustrative card, without a penalty (C0 = 0)\n"]
    shown = {"ours": ours, "published": published_card()}
    for name, title in (("ours", "Ours"), ("published", "The published one")):
        card = known[name].card if name in known else shown[name]
        parts.append(f"### {title}\n")
        parts.append(f"```\n{card}\n```\n" if card is not None else "Not run.\n")
        if name in known:
            parts.append(pipe_table(_LEVEL_HEAD, map(_level_cells, known[name].table)) + "\n")
    if known:
        parts.append(f"### Side by side, on all rows\n\n{_measures_text(cards)}")
    else:
        parts.append("The raw data are not available, so the cards are not evaluated on rows.\n")
    return "\n".join(parts)


_LEVEL_HEAD = ("score", "predicted risk", "observed rate", "rows", "events")


def _level_cells(row: ScoreRow) -> list[str]:
    return [
        _range_text(row),
        f"{row.risk:.1%}",
        f"{row.observed:.1%}" if row.rows else MISSING,
        f"{row.rows:,}",
        f"{row.events:,}",
    ]


def _range_text(row: ScoreRow) -> str:
    if row.low is None or row.high is None:
        low, high = row.low, row.high
        return "all" if low is high else f"≤ {high}" if low is None else f"≥ {low}"
    return f"{row.low}" if row.low == row.high else f"{row.low}–{row.high}"


def _measures_text(cards: Sequence[tuple[str, CardOnRows]]) -> str:
    lines = {
        "AUNBC, own cut-offs": [number(c.measures.aunbc, 6) for _, c in cards],
        "objective of its points, best cut-offs": [number(c.best, 6) for _, c in cards],
        "AUROC of scores": [number(c.measures.auroc_of_score, 4) for _, c in cards],
        "AUROC of risks": [number(c.measures.auroc, 4) for _, c in cards],
        "ECE": [number(c.measures.expected_calibration_error, 4) for _, c in cards],
        "size": [str(c.card.size) for _, c in cards],
    }
    table = pipe_table(["", *(n for n, _ in cards)], [[k, *v] for k, v in lines.items()])
    return f"{table}\n\n{_verdict(dict(cards))}\n"


def _verdict(cards: Mapping[str, CardOnRows]) -> str:
    if "ours" not in cards:
        return "There is no card of ours to compare with."
    ours, theirs = cards["ours"].best, cards["published"].best
    if math.isclose(ours, theirs, abs_tol=1e-12):
        return "Ours is as good as the published one by the objective, each with best cut-offs."
    word = "better" if ours > theirs else "worse"
    return (
        f"By the objective, each with the best cut-offs for these rows, ours is {word} than the "
        f"published one by {abs(ours - theirs):.6f}. Ours was learnt from these rows; the "
        "published one, by the look of it, from three quarters of them, with another preparation "
        "in what is not reported."
    )


def _card_lines(cards: Sequence[tuple[str, CardOnRows]]) -> list[dict[str, Any]]:
    return [
        {"card": name, **row._asdict(), "observed": row.observed}
        for name, found in cards
        for row in found.table
    ]


# -- numbers and tables ---------------------------------------------------------------------------


def _number(value: Any) -> float | None:
    return None if value is None or math.isnan(value) else float(value)


def _signed(value: float | None, digits: int) -> str:
    text = number(value, digits)
    return f"+{text}" if value is not None and value > 0 else text
