"""Tables of 10^5 to 10^8 rows on disk: merging, search, memory, scoring.

``python -m benchmarks.scale`` writes the table of ``docs/scale.md`` into that page;
``python -m benchmarks.scale 5 6`` prints it for 10^5 and 10^6 rows only.  Rows are made by DuckDB
from hashes of their numbers, so they are the same every time, and are removed afterwards: 10^8 rows
take 3 GB on disk.  Each size runs in a process of its own, whose peak memory is what is reported.
"""

from __future__ import annotations

import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

_PAGE = Path(__file__).resolve().parents[1] / "docs" / "scale.md"
_BEGIN, _END = "<!-- begin: python -m benchmarks.scale -->", "<!-- end -->"
_THREADS = 2
_MEMORY = "2GB"

#: A number from 0 to 1 for a row and a column, from a hash.
_U = "(hash(i * 31 + {}) / 18446744073709551616.0)"


def _rows(first: int, last: int) -> str:
    """Return the query that makes rows; columns hang together, as those of real tables do."""
    u = [_U.format(k) for k in range(14)]
    late = "CASE WHEN {0} < 0.88 THEN 0 WHEN {0} < 0.96 THEN 1 WHEN {0} < 0.99 THEN 2 ELSE 3 END"
    return f"""
    SELECT * EXCLUDE (i), ({u[12]} < 1 / (1 + exp(
        3.5 - 2 * least(utilisation, 1.5) - 0.8 * late_30 - 1.1 * late_90 + 0.03 * (age - 50)
        + coalesce(0.7 * ln(income / 4000), -0.5) - 0.3 * debt_ratio - 0.3 * dependents
        + 0.05 * tenure + 0.08 * lines - 0.4 * (region = 'south')::INT
        - 0.3 * (region = 'west')::INT - 0.4 * (housing = 'rent')::INT + 0.4 * employed::INT))
    ) AS defaulted
    FROM (
        SELECT
            i,
            (21 + 60 * ({u[0]} + {u[1]}) / 2)::SMALLINT AS age,
            CASE WHEN {u[2]} < 0.15 THEN NULL
                ELSE round(exp(7.4 + 0.9 * ({u[3]} + {u[0]})))::INTEGER END AS income,
            round(-ln(1 - 0.999 * {u[4]}) * 0.4, 3)::FLOAT AS utilisation,
            round(exp(3 * {u[5]} - 2), 2)::DECIMAL(9, 2) AS debt_ratio,
            (12 * {u[6]} * {u[0]})::SMALLINT AS lines,
            ({late.format(u[4])})::TINYINT AS late_30,
            ({late.format(u[7])})::TINYINT AS late_90,
            (4 * {u[8]} * {u[8]} * {u[8]})::TINYINT AS dependents,
            (30 * {u[9]} * {u[0]})::SMALLINT AS tenure,
            ['north', 'south', 'east', 'west', 'isles'][1 + (5 * {u[10]} * {u[10]})::INT % 5]
                AS region,
            ['own', 'rent', 'other'][1 + (3 * {u[11]} * {u[11]})::INT % 3] AS housing,
            {u[13]} < 0.7 + 0.2 * {u[0]} AS employed
        FROM (SELECT range AS i FROM range({first}, {last}))
    )
    """


def _connect(folder: Path) -> Any:
    import duckdb

    connection = duckdb.connect()
    connection.execute(f"SET threads = {_THREADS}")
    connection.execute(f"SET memory_limit = '{_MEMORY}'")
    connection.execute(f"SET temp_directory = '{folder / 'spill'}'")
    return connection


def _generate(folder: Path, rows: int) -> float:
    began = time.perf_counter()
    connection = _connect(folder)
    files = max(1, rows // 10_000_000)
    for k in range(files):
        query = _rows(k * rows // files, (k + 1) * rows // files)
        path = folder / f"part-{k:02}.parquet"
        connection.execute(f"COPY ({query}) TO '{path}' (FORMAT parquet, COMPRESSION zstd)")
    return time.perf_counter() - began


def _timed(run: Any, times: int = 1) -> float:
    best = float("inf")
    for _ in range(times):
        began = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - began)
    return best


def _one(folder: Path, rows: int) -> dict[str, Any]:
    """Run one size; this is a process of its own."""
    from netbenefit import Binner, RiskScoreClassifier, evaluate_table, score_table

    warnings.simplefilter("ignore")
    connection = _connect(folder)
    table = connection.read_parquet(str(folder / "part-*.parquet"))
    model = RiskScoreClassifier(binner=Binner(max_bins=4), random_state=0)
    began = time.perf_counter()
    model.fit_table(table, "defaulted")
    seconds = time.perf_counter() - began
    card, merging = model.scorecard_, model.merging_
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    measured = evaluate_table(card, table, "defaulted").measures
    scored = score_table(card, table)
    numbers = [
        c if table.types[table.columns.index(c)] != "VARCHAR" else f"length({c})"
        for c in card.features
    ]
    plain = " + ".join(f"{c}::DOUBLE" for c in numbers)
    times = 5 if rows <= 10_000_000 else 2
    scan = _timed(lambda: table.aggregate(f"sum({plain})").fetchall(), times)
    score = _timed(lambda: scored.aggregate("sum(card_score)").fetchall(), times)
    both = _timed(lambda: scored.aggregate("sum(card_score), sum(card_risk)").fetchall(), times)
    out = folder / "scored"
    out.mkdir()
    write = _timed(lambda: scored.write_parquet(str(out / "scored.parquet")))
    return {
        "rows": rows,
        "columns": len(table.columns) - 1,
        "conditions": len(model.binner_.fitted_.terms),
        "patterns": merging.n_patterns,
        "sampled": merging.bins_sampled,
        "searched on a sample": merging.search_sampled,
        "engine": merging.seconds,
        "search": model.result_.seconds,
        "total": seconds,
        "peak": peak,
        "auroc": measured.auroc_of_score,
        "scan": scan,
        "score": score,
        "both": both,
        "write": write,
    }


def _measure(rows: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="netbenefit-scale-") as name:
        folder = Path(name)
        generated = _generate(folder, rows)
        size = sum(path.stat().st_size for path in folder.glob("*.parquet")) / 2**20
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.scale", "--one", name, str(rows)],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise SystemExit(done.stderr)
        found = json.loads(done.stdout.strip().split("\n")[-1])
        return {**found, "generated": generated, "size": size}


def _lines(results: list[dict[str, Any]]) -> list[str]:
    head = [
        "rows",
        "on disk",
        "bins from",
        "conditions",
        "patterns",
        "engine",
        "search",
        "fit in all",
        "peak memory",
        "plain scan",
        "score",
        "scan / score",
        "score and risk",
        "scored to Parquet",
    ]
    lines = ["| " + " | ".join(head) + " |", "|" + "---:|" * len(head)]
    for r in results:
        cells = [
            f"{r['rows']:,}",
            f"{r['size']:,.0f} MB",
            "a sample" if r["sampled"] else "all rows",
            str(r["conditions"]),
            f"{r['patterns']:,}" + (" (sample)" if r["searched on a sample"] else ""),
            f"{r['engine']:.1f} s",
            f"{r['search']:.1f} s",
            f"{r['total']:.1f} s",
            f"{r['peak']:.2f} GB",
            f"{r['scan']:.2f} s",
            f"{r['score']:.2f} s",
            f"{r['scan'] / r['score']:.2f}",
            f"{r['both']:.2f} s",
            f"{r['write']:.1f} s",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def main(powers: list[int] | None = None) -> None:
    """Measure all sizes; without a choice of sizes, write the table into the page."""
    chosen = powers or [5, 6, 7, 8]
    results = []
    for power in chosen:
        results.append(_measure(10**power))
        print(json.dumps(results[-1]), flush=True)
    import duckdb

    text = "\n".join(
        [
            *_lines(results),
            "",
            f"DuckDB {duckdb.__version__}, {_THREADS} threads of {os.cpu_count()} cores, at most "
            f"{_MEMORY} for DuckDB itself; Python {platform.python_version()}.",
        ]
    )
    print(text)
    if powers is None:
        page = _PAGE.read_text(encoding="utf-8")
        before, rest = page.split(_BEGIN)
        after = rest.split(_END, 1)[1]
        _PAGE.write_text(f"{before}{_BEGIN}\n\n{text}\n\n{_END}{after}", encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(_one(Path(sys.argv[2]), int(sys.argv[3]))))
    else:
        main([int(power) for power in sys.argv[1:]] or None)
