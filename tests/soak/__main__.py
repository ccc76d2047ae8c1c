"""``python -m tests.soak --minutes N``: random cases of every kind, for N minutes.

Two processes by default.  Batch k of a kind has the seed ``--first`` + k, so that a batch runs
again with ``--only KIND --first SEED --batches 1``.  What fails is reduced and stored, and the run
goes on with other seeds.  Ctrl-C ends the run and prints what there is.  The exit code is 1 if
anything has failed.
"""

from __future__ import annotations

import argparse
import re
import signal
import sys
from pathlib import Path

from tests.soak.kinds import NAMES
from tests.soak.reduce import FOUND
from tests.soak.run import Soak, table

DOCS = Path(__file__).resolve().parents[2] / "docs" / "reliability.md"
BEGIN, END = "<!-- begin: python -m tests.soak -->", "<!-- end -->"


def write(text: str, path: Path) -> None:
    """Put the figures between the markers of a page."""
    page = path.read_text(encoding="utf-8")
    marks = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.S)
    if not marks.search(page):
        raise SystemExit(f"{path} has no line {BEGIN}")
    path.write_text(marks.sub(lambda _: f"{BEGIN}\n\n{text}\n\n{END}", page), encoding="utf-8")


def main(given: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=120.0)
    parser.add_argument("--only", choices=NAMES, action="append", metavar="KIND")
    parser.add_argument("--first", type=int, default=1, metavar="SEED")
    parser.add_argument("--batches", type=int, metavar="N", help="at most so many of each kind")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--found", type=Path, default=FOUND, help="where failures are stored")
    parser.add_argument("--write", type=Path, nargs="?", const=DOCS, metavar="FILE")
    options = parser.parse_args(given)
    soak = Soak(
        kinds=tuple(options.only or NAMES),
        minutes=options.minutes,
        first=options.first,
        jobs=options.jobs,
        batches=options.batches,
        found=options.found,
    )
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        soak.run()
    except KeyboardInterrupt:
        print("stopped: what was finished until now")
    text = table(soak)
    print(f"\n{text}")
    if options.write:
        write(text, options.write)
    return 1 if soak.failures else 0


if __name__ == "__main__":
    sys.exit(main())
