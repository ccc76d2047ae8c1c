"""``netbenefit score``: a card's score and risk for every row, from where rows are to a file."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from netbenefit.cli.options import Card, Debug, Jobs, Quiet, Sources, option
from netbenefit.cli.terminal import check_writable, friendly, load_card, tell

if TYPE_CHECKING:
    from netbenefit.data import OpenTable

SCORE, RISK = "card_score", "card_risk"
_FORMATS = (".parquet", ".pq", ".csv", ".csv.gz")


@friendly
def score(
    card: Card,
    data: Sources,
    out: Annotated[Path, option("FILE", "Where to write: .parquet, .csv or .csv.gz.")],
    keep: Annotated[
        list[str] | None, option("NAME", "A column to keep; may be repeated.", "all")
    ] = None,
    jobs: Jobs = -1,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Write a card's score and risk for every row of a table, however large.

    DuckDB reads, scores and writes; rows never pass through Python, and are never all in memory.
    Adds the columns card_score and card_risk, empty where the card refuses a row.
    """
    from netbenefit.cards import check_present
    from netbenefit.cli.rows import open_table
    from netbenefit.common import replacing
    from netbenefit.data import QueryBar, duckdb_errors, find_source
    from netbenefit.updating import score_table

    source = find_source(data)
    check_writable(out, card, *source.files)
    _check_format(out)
    scorecard = load_card(card)
    began = time.monotonic()
    with open_table(source, scorecard.text_features, jobs, quiet) as table:
        check_present(scorecard.features, table.columns)
        kept = _kept(table, keep)
        table.check_columns([*scorecard.features, *kept])
        with (
            duckdb_errors(source),
            replacing(out) as draft,
            QueryBar(table.connection, "scoring", shown=not quiet) as bar,
        ):
            scored = score_table(
                scorecard, table.relation(), keep=kept, score_as=SCORE, risk_as=RISK
            )
            _write(scored, draft, out)
            bar.say("counting")
            refused = _refused(table, draft, out)
        if not quiet:
            seconds = time.monotonic() - began
            tell("bold", "scored", f"{table.n_rows:,} rows of {source.shown} in {seconds:.1f} s")
            if refused:
                tell("yellow", "note", _refusal(refused, table.n_rows))
            tell("bold", "saved", out)


def _check_format(out: Path) -> None:
    from netbenefit.common import InputError

    if not out.name.lower().endswith(_FORMATS):
        raise InputError(f"{out}: cannot tell the format. End it in one of {', '.join(_FORMATS)}.")


def _kept(table: OpenTable, keep: Sequence[str] | None) -> list[str]:
    from netbenefit.cli.rows import check_column
    from netbenefit.common import InputError

    for one in keep or ():
        check_column(table, one, "--keep")
    kept = list(dict.fromkeys(keep or table.columns))
    clash = [one for one in kept if one.casefold() in (SCORE, RISK)]
    if clash:
        raise InputError(
            f"{table.source.shown} has a column {clash[0]!r} already. Name the others that you "
            "want: --keep NAME."
        )
    return kept


def _write(relation: Any, draft: Path, out: Path) -> None:
    """Write a relation to a draft, in the format of the file that it will be."""
    name = out.name.lower()
    if name.endswith((".parquet", ".pq")):
        relation.write_parquet(str(draft), compression="zstd")
    else:
        packed = {"compression": "gzip"} if name.endswith(".gz") else {}
        relation.write_csv(str(draft), header=True, **packed)


def _refused(table: OpenTable, draft: Path, out: Path) -> int:
    """Count the rows that were written without a score."""
    from netbenefit.data import escaped, text

    file, name = text(escaped(draft)), out.name.lower()
    packed = "gzip" if name.endswith(".gz") else "none"
    # Not parallel: several threads begin inside cells of several lines, and take them for rows.
    options = f"delim = ',', quote = '\"', escape = '\"', parallel = false, compression = {packed}"
    read = (
        f"read_parquet({file})"
        if name.endswith((".parquet", ".pq"))
        else f"read_csv({file}, header = true, all_varchar = true, {options})"
    )
    query = f"SELECT count(*) - count({SCORE}) FROM {read}"
    return int(table.connection.sql(query).fetchall()[0][0])


def _refusal(refused: int, rows: int) -> str:
    return (
        f"{refused:,} of {rows:,} rows have no score: the card refuses a value in them (infinite, "
        "or missing without a rule for that)."
    )
