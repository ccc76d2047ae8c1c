"""``netbenefit score``: a card's score and risk for every row, from where rows are to a file."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from netbenefit.cli import options, terminal
from netbenefit.cli.options import Names, option

if TYPE_CHECKING:
    from netbenefit.data import OpenTable

SCORE, RISK = "card_score", "card_risk"
_FORMATS = (".parquet", ".pq", ".csv", ".csv.gz")


@terminal.report_user_errors
def score(
    card: options.Card,
    data: options.Sources,
    out: Annotated[Path, option("FILE", "Where to write: .parquet, .csv or .csv.gz.")],
    keep: Annotated[Names, option("NAME", "A column to keep; may be repeated.", "all")] = None,
    jobs: options.Jobs = -1,
    *,
    files: options.FileOptions,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Write a card's score and risk for every row of a table, however large.

    DuckDB reads, scores and writes; rows never pass through Python, and are never all in memory.
    Adds the columns card_score and card_risk, empty where the card refuses a row.  A first column
    without a name is called row_name.
    """
    from netbenefit.cards import check_present
    from netbenefit.cli.rows import format_of, open_table
    from netbenefit.common import InputError, replacing
    from netbenefit.data import QueryBar, duckdb_errors, find_source

    source = find_source(data, format_of(files))
    terminal.check_writable([card, *source.files], out)
    if not out.name.lower().endswith(_FORMATS):
        raise InputError(f"{out}: cannot tell the format. End it in one of {', '.join(_FORMATS)}.")
    scorecard = terminal.load_card(card)
    began = time.monotonic()
    features = scorecard.features
    with (
        replacing(out) as draft,
        open_table(source, scorecard.text_features, jobs, quiet, features, draft) as table,
    ):
        check_present(features, table.columns)
        kept = _kept(table, keep)
        table.check_columns([*features, *kept])
        from netbenefit.updating import score_table  # late: it takes seconds

        with (
            duckdb_errors(source),
            QueryBar(table.connection, "scoring", shown=not quiet) as bar,
        ):
            scored = score_table(
                scorecard, table.relation(), keep=kept, score_as=SCORE, risk_as=RISK
            )
            written = _write(scored, draft, out)
            bar.say("counting")
            query = f"SELECT count(*) - count({SCORE}) FROM {written}"
            refused = table.connection.sql(query).fetchall()[0][0]
    if not quiet:
        seconds = time.monotonic() - began
        terminal.print_note(
            "bold", "scored", f"{table.n_rows:,} rows of {source.shown} in {seconds:.1f} s"
        )
        if refused:
            terminal.note(
                f"{refused:,} of {table.n_rows:,} rows have no score: the card refuses a value "
                "in them (infinite, too large to be counted, or missing without a rule for that).",
            )
        terminal.print_saved(out)


def _kept(table: OpenTable, keep: Sequence[str] | None) -> list[str]:
    from netbenefit.common import InputError

    for one in keep or ():
        terminal.check_column(table.columns, one, "--keep")
    kept = list(dict.fromkeys(keep or table.columns))
    clash = [one for one in kept if one.casefold() in (SCORE, RISK)]
    if clash:
        raise InputError(
            f"{table.source.shown} has a column {clash[0]!r} already. Name the others that you "
            "want: --keep NAME."
        )
    return kept


def _write(relation: Any, draft: Path, out: Path) -> str:
    """Write a draft in the format of the file that it will be; return SQL that reads it."""
    from netbenefit.data import escaped, text

    file, name = text(escaped(draft)), out.name.lower()
    if name.endswith((".parquet", ".pq")):
        relation.write_parquet(str(draft), compression="zstd")
        return f"read_parquet({file})"
    packed = "gzip" if name.endswith(".gz") else "none"
    relation.write_csv(str(draft), header=True, compression=packed)
    # Not parallel: several threads begin inside cells of several lines, and take them for rows.
    options = f"delim = ',', quote = '\"', escape = '\"', parallel = false, compression = {packed}"
    return f"read_csv({file}, header = true, all_varchar = true, {options})"
