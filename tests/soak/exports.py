"""Random cards and tables: every export gives every row the score and risk that Python gives it."""

from __future__ import annotations

import json
import math
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from netbenefit import (
    Binner,
    Condition,
    InputError,
    PerUnit,
    Reading,
    RiskScoreClassifier,
    Rule,
    Scorecard,
    Thresholds,
)
from netbenefit.export import xlsx
from netbenefit.export.calculator import to_calculator
from netbenefit.export.javascript import to_javascript
from netbenefit.export.pmml import to_pmml
from netbenefit.export.python import to_python
from netbenefit.export.sql import to_sql
from netbenefit.solvers.local_search import LocalSearch
from tests.export._xlsx_near import undecidable
from tests.export.test_xlsx import answer, recalculated
from tests.helpers.browser import started
from tests.helpers.raw_rows import STAGES, outcome, raw_table
from tests.soak import Unusable

SHARE = 0.25
#: Cards of a batch, rows of each, and rows of each in the slow engine, a workbook.
BATCH, ROWS, SHEET = 2, 10_000, 10_000
#: Every so many batches a card that was learnt.
FITTED = 4
#: Rows in which everything occurs, refused values as well.
WILD = 150

NUMBERS = ("x", "y", "number of visits", "größe")
TEXTS = ("t", 'it\'s "text"')
_CUTS = (-2.5, -1, 0, 0.1, 0.5, 1, 2, 3.25, 7, 18.5, 60, 1e4)
_LEVELS = ("a", "b", " b", "7", "0.5", "NA", "é<&>", "it's", 'a "b"', "II", "true")

Pairs = list[tuple[float | None, float | None]]


# -- cards and rows --------------------------------------------------------------------------------


def draw(seed: int) -> Iterator[dict[str, Any]]:
    """Cards with their rows."""
    rng = np.random.default_rng(seed)
    for number in range(BATCH):
        if seed % FITTED == 0 and number == 0:
            card, columns = _fitted(seed)
        else:
            card = _card(rng)
            columns = _columns(rng, card)
        data = json.loads(card.to_json())  # reduced, its digest does not match: that is a warning
        yield {"card": data, "columns": columns, "engines": list(ENGINES)}


def _pick(rng: np.random.Generator, values: Any) -> Any:
    return values[int(rng.integers(len(values)))]


def _card(rng: np.random.Generator) -> Scorecard:
    while True:
        try:
            return _random_card(rng)
        except InputError:  # terms or readings that do not go together
            continue


def _random_card(rng: np.random.Generator) -> Scorecard:
    rules: dict[Any, Rule] = {}
    readings: list[Reading] = []
    most = int(_pick(rng, (3, 9, 9, 60, 1000)))

    def add(term: Any) -> None:
        rules.setdefault(term, Rule(term, int(rng.integers(-most, most + 1)) or 1))

    for name in NUMBERS[: rng.integers(1, 5)]:
        for _ in range(rng.integers(1, 4)):
            kind = _pick(rng, (">=", ">", "<=", "<", "==", "!=", "in", "not in", "between"))
            some = sorted(_pick(rng, _CUTS) for _ in range(2))
            if kind == "between" and some[0] == some[1]:
                continue
            several = kind in ("in", "not in", "between")
            add(Condition(name, kind, tuple(dict.fromkeys(some)) if several else some[0]))
        if rng.random() < 0.4:
            low, high = _pick(rng, ((None, None), (0, 9), (-1, 2.5), (None, 40)))
            add(PerUnit(name, decimals=int(rng.integers(0, 4)), lower=low, upper=high))
        elif rng.random() < 0.3:
            add(
                PerUnit(
                    name, decimals=int(rng.integers(0, 2)), log=True, upper=_pick(rng, (None, 9))
                )
            )
        if rng.random() < 0.5:
            add(Condition(name, "missing"))
        if rng.random() < 0.6:
            special = _pick(rng, ((), (-9,), (7, 99.5)))
            fill, refuse = _pick(rng, (None, 0, 0.5)), bool(rng.random() < 0.15)
            readings.append(Reading(feature=name, fill=fill, special=special, refuse=refuse))
    for name in TEXTS[: rng.integers(0, 3)]:
        levels = tuple(rng.permutation(_LEVELS)[: rng.integers(1, 4)].tolist())
        add(Condition(name, _pick(rng, ("in", "not in")), levels))
        add(Condition(name, _pick(rng, ("==", "!=")), _pick(rng, _LEVELS)))
        if rng.random() < 0.5:
            add(Condition(name, "missing"))
        if rng.random() < 0.6:
            fill, special = _pick(rng, (None, "b")), _pick(rng, ((), ("NA",)))
            readings.append(Reading(feature=name, fill=fill, special=special))
    if rng.random() < 0.3:
        how, fill = _pick(rng, ("sum", "max", "min")), _pick(rng, (None, 1))
        readings.append(Reading(feature="both", sources=("x", "extra"), combine=how, fill=fill))
        add(Condition("both", ">=", _pick(rng, _CUTS)))
    limits = sorted({int(v) for v in rng.integers(-2 * most, 3 * most + 2, 3)})
    risks = np.sort(rng.uniform(0, 1, len(limits) + 1)).round(6).tolist()
    grid = Thresholds.of(np.linspace(0.1, 0.9, len(limits)).round(3).tolist())
    card = Scorecard.from_levels(list(rules.values()), limits, risks, grid, readings=readings)
    counted = {t.feature for t, r in rules.items() if isinstance(t, PerUnit) and r.points}
    free = sorted({term.feature for term in rules} - counted)
    base = tuple((name, int(rng.integers(-9, 10))) for name in free if rng.random() < 0.5)
    return replace(card, base=base)


def _fitted(seed: int) -> tuple[Scorecard, dict[str, list[Any]]]:
    """A card learnt from a raw table, and other rows, some with what was never seen."""
    table = raw_table(seed, 300)
    binner = Binner(special={"visits (−9: unknown)": [-9]}, ordered={"stage": STAGES})
    search = LocalSearch(time_limit=None, max_rounds=1, seed=seed)
    model = RiskScoreClassifier(
        binner=binner, solver=search, teacher=None, time_limit=None, max_questions=5, n_jobs=1
    )
    card = model.fit(table, outcome(table, seed)).scorecard_
    text, rows = set(card.text_features), raw_table(seed + 1, ROWS, strange=True)
    columns = {
        name: [v if v is None or name in text else float(v) for v in rows[name]]
        for name in card.features
    }
    return card, columns


def _columns(rng: np.random.Generator, card: Scorecard) -> dict[str, list[Any]]:
    """Plain columns: first rows with everything, then rows of values that have a score alone."""
    near = [math.nextafter(v, end) for v in _CUTS for end in (-math.inf, math.inf)]
    numbers: list[Any] = [*map(float, _CUTS), -9.0, 99.5, None, None, *near]
    texts: list[Any] = [*_LEVELS, "", " ", "other", "A", None, None]
    names = card.features
    text = set(card.text_features)
    wild = {
        name: [_pick(rng, texts if name in text else numbers) for _ in range(WILD)]
        for name in names
    }
    base = {name: "b" if name in text else 0.5 for name in names}
    columns: dict[str, list[Any]] = {}
    for name in names:
        drawn = rng.uniform(-5, 30, 400)
        many = [
            *numbers,
            *drawn.tolist(),
            *drawn.round(2).tolist(),
            *rng.integers(0, 99, 50).tolist(),
        ]
        pool = [v for v in (texts if name in text else many) if _is_scored(card, {**base, name: v})]
        picked = [_pick(rng, pool or [base[name]]) for _ in range(ROWS - WILD)]
        columns[name] = [*wild[name], *(float(v) if isinstance(v, int) else v for v in picked)]
    return columns


def _is_scored(card: Scorecard, row: dict[str, Any]) -> bool:
    try:
        card.score(row)
    except InputError:
        return False
    return True


def _truth(card: Scorecard, columns: dict[str, list[Any]]) -> Pairs:
    """Score and risk of every row; nothing where the card refuses it."""
    text, n = set(card.text_features), len(next(iter(columns.values())))
    arrays = {
        name: np.array(v, dtype=object if name in text else np.float64)
        for name, v in columns.items()
    }
    found: Pairs = []
    waiting = [(0, n)]
    while waiting:
        first, end = waiting.pop()
        try:
            scores = card.score({name: v[first:end] for name, v in arrays.items()})
        except InputError:
            if end - first == 1:
                found.append((None, None))
            else:
                middle = (first + end) // 2
                waiting += [(middle, end), (first, middle)]
            continue
        found += zip(scores.tolist(), card.risk_of_score(scores).tolist(), strict=True)
    return found


# -- engines ---------------------------------------------------------------------------------------

_open = ExitStack()
_kept: dict[str, Any] = {}


def close() -> None:
    """End the browser and the Java machine."""
    _kept.clear()
    _open.close()


def _saved(card: Scorecard, columns: Any, rows: list[Any], folder: Path) -> Pairs:
    card.save(folder / "card.json")
    return _truth(Scorecard.load(folder / "card.json"), columns)


def _python(card: Scorecard, columns: Any, rows: list[Any], folder: Path) -> Pairs:
    module: dict[str, Any] = {}
    exec(to_python(card), module)
    return [module["risk_score"](row) for row in rows]


def _sql(dialect: str) -> Callable[..., Pairs]:
    def run(card: Scorecard, columns: Any, rows: list[Any], folder: Path) -> Pairs:
        import duckdb
        import pyarrow as pa

        text = set(card.text_features)
        table = pa.table(
            {
                "row id": pa.array(range(len(rows))),
                **{n: pa.array(v, pa.string() if n in text else pa.float64())
                   for n, v in columns.items()},
            }
        )  # fmt: skip
        with duckdb.connect() as base:
            base.register("t", table)
            query = to_sql(card, dialect=dialect, table="t", score_as="s", risk_as="r")
            return base.execute(f'SELECT s, r FROM ({query}) ORDER BY "row id"').fetchall()

    return run


#: One module for all rows: read from a file, written to one.
_NODE = """
import { readFileSync, writeFileSync } from "node:fs";
import { score, risk } from "./card.mjs";
const { names, rows } = JSON.parse(readFileSync("rows.json", "utf8"));
const found = rows.map((row) => {
  const one = Object.fromEntries(row.map((value, k) => [names[k], value]));
  return [score(one), risk(one)];
});
writeFileSync("found.json", JSON.stringify(found));
"""


def _javascript(card: Scorecard, columns: Any, rows: list[Any], folder: Path) -> Pairs:
    import subprocess

    (folder / "card.mjs").write_text(to_javascript(card), encoding="utf-8")
    (folder / "main.mjs").write_text(_NODE, encoding="utf-8")
    data = {"names": list(columns), "rows": [list(row.values()) for row in rows]}
    (folder / "rows.json").write_text(json.dumps(data), encoding="utf-8")
    subprocess.run(["node", "main.mjs"], cwd=folder, check=True, capture_output=True, timeout=300)
    return _pairs(json.loads((folder / "found.json").read_text()))


def _calculator(card: Scorecard, columns: Any, rows: list[Any], folder: Path) -> Pairs:
    """The page in a browser, by the functions that it scores its fields with."""
    if "browser" not in _kept:
        _kept["browser"] = _open.enter_context(started())
    (folder / "page.html").write_text(to_calculator(card), encoding="utf-8")
    page = _kept["browser"].new_page()
    try:
        page.goto((folder / "page.html").as_uri())
        call = "(rows) => rows.map((row) => [netbenefit.score(row), netbenefit.risk(row)])"
        return _pairs([pair for k in range(0, len(rows), 1000)
                       for pair in page.evaluate(call, rows[k : k + 1000])])  # fmt: skip
    finally:
        page.close()


def _pmml(card: Scorecard, columns: Any, rows: list[Any], folder: Path) -> Pairs:
    if "pypmml" not in _kept:
        import pypmml

        _kept["pypmml"] = pypmml
        _open.callback(pypmml.PMMLContext.shutdown)
    model = _kept["pypmml"].Model.fromString(to_pmml(card))
    data = {"columns": list(columns), "data": [list(row.values()) for row in rows]}
    found = json.loads(model.predict(json.dumps(data)))
    names = found["columns"]
    place = names.index("score"), names.index("risk")
    return _pairs([[row[k] for k in place] for row in found["data"]])


def _workbook(card: Scorecard, columns: Any, rows: list[Any], folder: Path) -> Pairs:
    rows = rows[:SHEET]
    book = xlsx.workbook_bytes(card, len(rows), rows)
    return [answer(line) for line in recalculated(folder, {"book": book})["book"]["Rows"][1:]]


def _pairs(found: list[Any]) -> Pairs:
    def plain(value: Any) -> Any:
        assert value is None or isinstance(value, int | float), value
        return None if value is None or math.isnan(value) else value

    return [(plain(score), plain(risk)) for score, risk in found]


ENGINES: dict[str, Callable[[Scorecard, Any, list[Any], Path], Pairs]] = {
    "json (Python)": _saved,
    "python (CPython)": _python,
    "sql duckdb (DuckDB)": _sql("duckdb"),
    "sql ansi (DuckDB)": _sql("ansi"),
    "js (Node)": _javascript,
    "html (Chromium)": _calculator,
    "pmml (pmml4s)": _pmml,
    "xlsx (LibreOffice)": _workbook,
}


# -- agreement -------------------------------------------------------------------------------------


def check(case: dict[str, Any]) -> Counter[str]:
    """All engines on all rows."""
    columns = case["columns"]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            card = Scorecard.from_json(json.dumps(case["card"]))
        if not columns or set(card.features) != set(columns):
            raise Unusable
        if len({len(v) for v in columns.values()}) != 1 or not next(iter(columns.values())):
            raise Unusable
        expected = _truth(card, columns)
    except (InputError, TypeError, ValueError, AttributeError) as error:
        raise Unusable from error
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    counts = Counter({"cards": 1, "rows without a score": expected.count((None, None))})
    for name in case["engines"]:
        with tempfile.TemporaryDirectory() as folder:
            found = ENGINES[name](card, columns, rows, Path(folder))
        decided = [not name.startswith("xlsx") or _is_decidable(card, row) for row in rows]
        kept = zip(rows, found, expected, decided, strict=name[:4] != "xlsx")
        wrong = [
            (row, got, want)
            for row, got, want, sure in kept
            if sure and not _agree(tuple(got), want, name.startswith("xlsx"))
        ]
        if wrong:
            raise AssertionError(f"{name}: {len(wrong)} rows differ, the first: {wrong[0]}")
        counts[f"rows, {name}"] += sum(decided[: len(found)])
    return counts


def _agree(got: Any, want: Any, rounded: bool) -> bool:
    """Whether two pairs are the same; the risks of a workbook are read as it shows them."""
    if rounded and None not in (*got, *want):
        return bool(got[0] == want[0] and abs(got[1] - want[1]) < 1e-11)
    return bool(got == want)


def _is_decidable(card: Scorecard, row: dict[str, Any]) -> bool:
    """Whether a workbook can tell a row from one on a cut, and from an empty line."""
    return any(v is not None for v in row.values()) and not undecidable(card._logic, row)


def smaller(case: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The same with one engine, with part of the rows, and without a column."""
    if len(case["engines"]) > 1:
        for name in case["engines"]:
            yield {**case, "engines": [name]}
        return
    size = len(next(iter(case["columns"].values())))
    step = size // 2
    while step:
        for first in range(0, size, step):
            part = {name: v[first : first + step] for name, v in case["columns"].items()}
            if 0 < len(next(iter(part.values()))) < size:
                yield {**case, "columns": part}
        step //= 2
    rules = case["card"]["rules"]
    for k in range(len(rules)):
        card = _without_rule(case["card"], k)
        try:
            used = Scorecard.from_json(json.dumps(card)).features
        except InputError:
            continue
        columns = {name: v for name, v in case["columns"].items() if name in used}
        yield {**case, "card": card, "columns": columns}


def _without_rule(card: dict[str, Any], k: int) -> dict[str, Any]:
    """A card without a rule, and without what it says of columns that only this rule needs."""
    rules = [*card["rules"][:k], *card["rules"][k + 1 :]]
    used = {rule["feature"] for rule in rules}
    readings = [one for one in card["readings"] if one["feature"] in used]
    used |= {name for one in readings for name in one.get("sources") or ()}
    readings = [one for one in card["readings"] if one["feature"] in used]
    base = [one for one in card["base"] if one["feature"] in used]
    names = [name for name in card["feature_names"] if name in used]
    return {**card, "rules": rules, "readings": readings, "base": base, "feature_names": names}
