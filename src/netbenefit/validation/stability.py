"""How stable a card is: which rules and columns come back when the rows are drawn again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from netbenefit.common import (
    InputError,
    Table,
    Tabular,
    format_number,
    format_table,
    shown_on_stdout,
)
from netbenefit.metrics import Rules

_LABELS = {"aunbc": "AUNBC", "net_benefit": "net benefit", "auroc": "AUROC", "ece": "ECE"}


def label(measure: str) -> str:
    """What a measure is called in print."""
    start = "net_benefit_at_"
    if measure.startswith(start):
        return f"net benefit at {100 * float(measure.removeprefix(start)):g}%"
    return _LABELS.get(measure, measure)


@dataclass(frozen=True, eq=False, repr=False)
class CardStability(Tabular):
    """Rules and raw columns of many cards that were learnt from different draws of the same rows.

    Attributes
    ----------
    cards : tuple of Rules
        What each card consists of.
    reference : Rules or None
        The card from all rows, where there is one.
    """

    cards: tuple[Rules, ...]
    reference: Rules | None = None

    @cached_property
    def rules(self) -> Table:
        """One row per rule that any card has, the most frequent first.

        ``share`` is the share of cards with the rule; mean, sd and range of its points are over
        those cards only; ``same_sign`` is the larger of the shares of positive and negative points
        among them.  ``card_points`` are its points in the card from all rows, 0 where that card
        lacks it.
        """
        points: dict[tuple[str, str], list[float]] = defaultdict(list)
        for card in self.cards:
            for column, rule, value in card.rules:
                points[column, rule].append(value)
        own = {(c, r): p for c, r, p in self.reference.rules} if self.reference else {}
        keys = sorted({*points, *own}, key=lambda key: (-len(points.get(key, ())), key))
        found = [np.array(points.get(key, [np.nan])) for key in keys]
        columns: dict[str, Any] = {
            "rule": np.array([rule for _, rule in keys], dtype=object),
            "column": np.array([column for column, _ in keys], dtype=object),
            "share": [len(points.get(key, ())) / len(self.cards) for key in keys],
            "points": [values.mean() for values in found],
            "points_sd": [values.std(ddof=1) if values.size > 1 else np.nan for values in found],
            "points_min": [values.min() for values in found],
            "points_max": [values.max() for values in found],
            "same_sign": [max((values > 0).mean(), (values < 0).mean()) for values in found],
        }
        if self.reference is not None:
            columns["card_points"] = [own.get(key, 0.0) for key in keys]
        return Table(columns)

    @cached_property
    def columns(self) -> Table:
        """One row per raw column that any card uses, the most frequent first.

        ``rules`` is the mean number of rules on the column, over the cards that use it.
        """
        counts: dict[str, list[int]] = defaultdict(list)
        for card in self.cards:
            for column in dict.fromkeys(card.columns):
                counts[column].append(sum(c == column for c, _, _ in card.rules))
        own = set(self.reference.columns) if self.reference else set()
        names = sorted({*counts, *own}, key=lambda name: (-len(counts.get(name, ())), name))
        columns: dict[str, Any] = {
            "column": np.array(names, dtype=object),
            "share": [len(counts.get(name, ())) / len(self.cards) for name in names],
            "rules": [float(np.mean(counts.get(name, [0]))) for name in names],
        }
        if self.reference is not None:
            columns["in_card"] = np.array([name in own for name in names], dtype=np.bool_)
        return Table(columns)

    @cached_property
    def index(self) -> float:
        """Stability of the choice of raw columns: 1 where all cards use the same ones.

        With h_f the share of cards with column f, k̄ the mean number of columns per card, and d the
        number of columns to choose from:

            1 - (1/d) Σ_f M/(M-1) h_f (1 - h_f)  /  ((k̄/d) (1 - k̄/d)) .

        It is 0 on average where cards of one size choose at random, and not defined (NaN) where
        every card uses all columns, or none (Nogueira, Sechidis and Brown 2018, J. Mach. Learn.
        Res.).
        """
        many, d = len(self.cards), max(card.n_columns for card in self.cards)
        used = [set(card.columns) for card in self.cards]
        share = np.array([np.mean([f in one for one in used]) for f in set().union(*used)])
        mean = float(np.mean([len(one) for one in used])) / d
        if many < 2 or not 0.0 < mean < 1.0:
            return float("nan")
        spread = many / (many - 1) * float((share * (1.0 - share)).sum()) / d
        return 1.0 - spread / (mean * (1.0 - mean))

    def to_table(self) -> Table:
        """The rules that came back, and how often."""
        return self.rules

    @shown_on_stdout
    def __str__(self) -> str:
        rules, columns = self.rules, self.columns
        shown = min(15, rules.n_rows)
        body = []
        for i in range(shown):
            low, high = rules["points_min"][i], rules["points_max"][i]
            body.append(
                (
                    str(rules["rule"][i]),
                    f"{rules['share'][i]:.0%}",
                    format_number(rules["points"][i], 1),
                    format_number(rules["points_sd"][i], 1),
                    "–" if np.isnan(low) else f"{low:.4g} to {high:.4g}".replace("-", "−"),
                )
            )
        head = ("column", "share", "rules")
        by_column = [
            (str(name), f"{share:.0%}", f"{count:.1f}")
            for name, share, count in zip(*(columns[c] for c in head), strict=True)
        ]
        more = rules.n_rows - shown
        rest = [f"… {more} more rule{'s' * (more != 1)}"] if more else []
        index = "not defined" if np.isnan(self.index) else f"{self.index:.2f}"
        return "\n".join(
            [
                f"Stability over {len(self.cards)} cards",
                "",
                *format_table(("rule", "share", "points", "sd", "range"), body),
                *rest,
                "",
                *format_table(head, by_column[:15]),
                "",
                f"Stability index of the choice of columns: {index.replace('-', '−')} (1: always "
                "the same; 0: as by chance).",
            ]
        )


def stability_of(found: Sequence[Any], reference: Any = None) -> CardStability:
    """Stability of the rules in the results of tasks."""
    if any(rules is None for rules in found):
        raise InputError(
            "stability is about rules and their points: it is known for cards and linear models, "
            "not for this classifier."
        )
    return CardStability(
        tuple(_read(rules) for rules in found), None if reference is None else _read(reference)
    )


def _read(found: Sequence[Any]) -> Rules:
    """What JSON has made lists of."""
    n_columns, columns, rules = found
    return Rules(n_columns, list(columns), [(c, r, p) for c, r, p in rules])
