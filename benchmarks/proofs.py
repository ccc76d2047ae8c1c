"""Proofs: ``python -m benchmarks.proofs [seconds] [name …] [--c0 paper|0|default] [--write]``.

Each line is one run of the default ``SearchThenProve``: best value, bound, gap, seconds of
search and proof, boxes or nodes, and what gave the bound.  Beside it stand the published figures of
the commercial solver: ten minutes per model, on nine tenths of the rows, averaged over ten folds.

``--c0 default`` takes the problems of default fits instead: masses blended with a teacher's risks,
the automatic penalty, and at most eight questions (the default) or any number of them; the eight
data sets as they are, and ten raw tables by their conditions.  Each is run for 10 and, unless it
ends before, for 60 seconds, if none are given; ``overrun`` is what is beyond them, without the
compilation of kernels.
``--write`` puts their gaps into ``docs/proofs.md``.
With ``--recount`` it proves the published problems, writes each certificate to a file, and times
what ``netbenefit verify`` does with it.
"""

from __future__ import annotations

import argparse
from functools import cache
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

from benchmarks import raw_tables
from benchmarks.common import TARGETS, available, console, cores, load_problem, show
from benchmarks.generalisation import raw
from netbenefit.cards import Provenance
from netbenefit.certificates import Certificate, make_certificate, verify
from netbenefit.data.patterns import PatternTable
from netbenefit.estimators.risk_score import RiskScoreClassifier
from netbenefit.estimators.training import assemble_card
from netbenefit.metrics.thresholds import Thresholds
from netbenefit.problem.problem import Problem, SolverResult
from netbenefit.solvers.clock import now
from netbenefit.solvers.local_search import LocalSearch
from netbenefit.solvers.search_then_prove import SearchThenProve
from reproduction.datasets import data_folder, load_dataset

#: Published: seconds and gap in percent of the commercial solver, with C0.
PUBLISHED = {
    "bankruptcy": ("0.2", "0.0"),
    "haberman": ("600.1", "22.7"),
    "mammo": ("600.1", "1.1"),
    "breastcancer": ("600.1", "8.3"),
    "mushroom": ("83.2", "0.0"),
    "heart": ("600.1", "30.7"),
    "adult": ("600.1", "85.0"),
    "spambase": ("4.0", "0.0"),
}
#: What is to be reached: seconds of a proof, or a gap in percent after five minutes.
REACH = {
    ("bankruptcy", "paper"): "1 s",
    ("haberman", "paper"): "1 s",
    ("mammo", "paper"): "20 s",
    ("breastcancer", "paper"): "45 s",
    ("mushroom", "paper"): "300 s",
    ("heart", "paper"): "18%",
    ("adult", "paper"): "10.5%",
    ("spambase", "paper"): "24%",
    ("bankruptcy", "0"): "1 s",
    ("haberman", "0"): "1 s",
    ("mammo", "0"): "90 s",
    ("breastcancer", "0"): "240 s",
}


def reached(name: str, c0: str, optimal: bool, seconds: float, gap: float) -> str:
    """Whether a run meets what was to be reached; empty where nothing was."""
    goal = REACH.get((name, c0))
    if goal is None:
        return ""
    if goal.endswith("%"):
        return "yes" if 100 * gap <= float(goal[:-1]) else "no"
    return "yes" if optimal and seconds <= float(goal[:-2]) else "no"


def measure(name: str, c0: str, time_limit: float) -> list[str]:
    """One search and proof."""
    problem = load_problem(name)
    if c0 != "paper":
        problem = Problem.build(problem.patterns, problem.thresholds, penalty=float(c0))
    result = SearchThenProve(time_limit=time_limit, n_jobs=cores()).solve(problem)
    assert result.proof is not None
    assert result.bound is not None
    assert result.gap is not None
    details = result.proof.details
    work = details.get("boxes", details.get("nodes", ""))
    return [
        name,
        c0,
        f"{result.objective:.6f}",
        f"{result.bound:.6f}",
        f"{result.gap:.2%}",
        f"{result.seconds:.1f}",
        f"{work:,}" if work else "",
        result.proof.method,
        REACH.get((name, c0), ""),
        reached(name, c0, result.status == "optimal", result.seconds, result.gap),
        *(PUBLISHED[name] if c0 == "paper" else ("", "")),
    ]


def recount(name: str, time_limit: float) -> None:
    """Time the full recount of a proof, read from a file."""
    problem = load_problem(name)
    result = SearchThenProve(time_limit=time_limit, n_jobs=cores()).solve(problem)
    card = assemble_card(problem, result, Provenance(version="0"))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "proof.json.gz"
        make_certificate(problem, result, card).save(path)
        size, begin, busy = path.stat().st_size, now(), process_time()
        certificate = Certificate.load(path)
        verdict = verify(card, certificate, problem.patterns)
    assert verdict.accepted, verdict.failures
    assert certificate.proof is not None
    boxes = len(certificate.proof.boxes)
    seconds = f"{process_time() - busy:.0f} s of processor time in {now() - begin:.0f} s"
    console.print(f"{name}: {boxes:,} boxes, {size:,} bytes, {seconds}; {verdict.summary}")


# -- problems of default fits ----------------------------------------------------------------------

#: Raw tables that come with other packages, and four of those that binning was tried on.
RAW = (*raw.TABLES, "wine", "credit-0", "spambase-0", "smooth-2000")
#: Seconds of the runs.
LIMITS = (10.0, 60.0)
#: Limits of questions: the default, and none.
QUESTIONS: dict[str, Any] = {"at most 8": "auto", "any number": None}


class Posed:
    """Keeps the problem that an estimator poses, and answers with whatever is found at once."""

    problem: Problem

    def solve(self, problem: Problem, **_: Any) -> SolverResult:
        """Search for a moment."""
        self.problem = problem
        return LocalSearch(max_rounds=1, time_limit=0.1).solve(problem)


@cache
def default_problem(name: str, questions: str) -> Problem | None:
    """What ``RiskScoreClassifier`` maximises on a data set; None where it is not at hand."""
    posed, X, y = Posed(), None, None
    if name not in RAW:
        X, y, _ = load_dataset(name)
    elif name in raw.TABLES:
        X, y = raw.load(name)
    else:
        X, y = raw_tables.load(name)
    if X is None:
        return None
    binner = "auto" if name in RAW else None
    limit = QUESTIONS[questions]
    RiskScoreClassifier(binner=binner, max_questions=limit, solver=posed).fit(X, y)
    return posed.problem


def default_names() -> list[str]:
    """Data sets and raw tables that are at hand."""
    missing = {"credit-0": "givemesomecredit.csv.gz", "spambase-0": "spambase.csv"}
    return [
        *available(),
        *(n for n in RAW if n not in missing or (data_folder() / missing[n]).is_file()),
    ]


def measure_default(name: str, questions: str, time_limit: float) -> list[str] | None:
    """One search and proof of a default problem."""
    problem = default_problem(name, questions)
    if problem is None:
        return None
    begin = now()
    result = SearchThenProve(time_limit=time_limit, n_jobs=cores()).solve(problem)
    seconds = now() - begin
    assert result.proof is not None
    assert result.bound is not None
    assert result.gap is not None
    boxes = result.proof.boxes
    return [
        name,
        questions,
        f"{time_limit:g}",
        f"{result.objective:.6f}",
        f"{result.bound:.6f}",
        f"{result.gap:.2%}",
        result.proof.method,
        f"{seconds:.1f}",
        f"{max(0.0, seconds - time_limit):.1f}",
        "no" if boxes is None else f"{len(boxes):,}",
    ]


DEFAULT_HEADER = [
    "data", "questions", "limit", "value", "bound", "gap", "by", "s", "overrun", "boxes",
]  # fmt: skip
_DOCS = Path(__file__).parent.parent / "docs" / "proofs.md"
_BEGIN, _END = "<!-- benchmarks.proofs: default problems -->", "<!-- end -->"
#: Columns of the page's table: what was asked, and for how long.
_RUNS = [(questions, f"{limit:g}") for questions, limit in product(QUESTIONS, LIMITS)]


def write_default(row: list[str], path: Path = _DOCS) -> None:
    """Put a run into the table between the markers of a page; the other cells stay."""
    before, _, rest = path.read_text(encoding="utf-8").partition(_BEGIN)
    old, _, after = rest.partition(_END)
    cells = {name: runs for name, *runs in map(_cells, old.strip().splitlines()[2:])}
    run = dict(zip(DEFAULT_HEADER, row, strict=True))
    ended = "" if float(run["s"]) >= float(run["limit"]) else f" in {run['s']} s"
    runs = cells.setdefault(run["data"], [""] * len(_RUNS))
    runs[_RUNS.index((run["questions"], run["limit"]))] = f"{run['gap']}{ended}, {run['by']}"
    header = ["data", *(f"{questions}, {limit} s" for questions, limit in _RUNS)]
    known = [[name, *cells.pop(name)] for name in (*TARGETS, *RAW) if name in cells]
    table = [
        header,
        ["---"] * len(header),
        *known,
        *([name, *runs] for name, runs in cells.items()),
    ]
    lines = "\n".join(f"| {' | '.join(row)} |" for row in table)
    path.write_text(f"{before}{_BEGIN}\n\n{lines}\n\n{_END}{after}", encoding="utf-8")


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def run_defaults(names: list[str], limits: tuple[float, ...], *, write: bool) -> None:
    """Print one line per data set, limit of questions and of time, and write them down."""
    rows = []
    for name, questions in product(names, QUESTIONS):
        for limit in limits:
            row = measure_default(name, questions, limit)
            if row is None:
                continue
            rows.append(row)
            console.print(" ".join(row))
            if write:
                write_default(row)
            if float(row[DEFAULT_HEADER.index("s")]) < limit:
                break  # more time would give the same
    show(f"Default problems, {cores()} threads", DEFAULT_HEADER, rows)


def warm_up() -> None:
    """Compile before the clock starts."""
    table = PatternTable.from_arrays([[0, 1], [1, 0], [1, 1], [0, 0]], [0, 1, 1, 0])
    SearchThenProve().solve(Problem.build(table, Thresholds.tenths()))


def main(time_limit: float = 300.0, names: list[str] | None = None, c0: str | None = None) -> None:
    """Print one line per data set and penalty."""
    warm_up()
    chosen = names or available()
    rows = []
    for penalty in ("paper", "0") if c0 is None else (c0,):
        for name in chosen:
            rows.append(measure(name, penalty, time_limit))
            console.print(" ".join(rows[-1]))
    header = [
        "data", "C0", "best", "bound", "gap", "s", "boxes", "by", "reach", "met", "publ. s",
        "publ. gap %",
    ]  # fmt: skip
    show(f"Proofs, at most {time_limit:g} s, {cores()} threads", header, rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("seconds", nargs="?", type=float)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--c0", choices=["paper", "0", "default"])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--recount", action="store_true")
    arguments = parser.parse_intermixed_args()
    seconds, chosen = arguments.seconds, arguments.names or None
    if arguments.recount:
        for name in chosen or available():
            recount(name, 300.0 if seconds is None else seconds)
    elif arguments.c0 == "default":
        limits = LIMITS if seconds is None else (seconds,)
        run_defaults(chosen or default_names(), limits, write=arguments.write)
    else:
        main(300.0 if seconds is None else seconds, chosen, arguments.c0)
