"""Kills at random moments: what stands at the target is whole, and the same command goes on.

``fit`` writes a card over an old one; ``validate`` keeps a journal; ``reproduce`` keeps rows.  Each
is started as a program, ended by SIGKILL or SIGINT at a random moment, once or several times, and
then run to its end.
"""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from netbenefit import Scorecard
from netbenefit.certificates.certificate import Certificate

SHARE = 0.12
BATCH = 4
ROOT = Path(__file__).resolve().parents[2]
PROGRAM = [
    sys.executable,
    "-c",
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from netbenefit.__main__ import main; main()",
]
#: Seconds within which a command has to be through, on a busy machine.
PATIENCE = 600
DATA = Path(os.environ.get("NETBENEFIT_DATA") or ROOT.parent / "shared" / "data")


def draw(seed: int) -> Iterator[dict[str, Any]]:
    """Commands with their signals and moments, which are shares of the time of a whole run."""
    rng = random.Random(seed)
    for _ in range(BATCH):
        commands = ["fit", "fit", "validate", "validate"]
        commands += ["reproduce"] if DATA.is_dir() and rng.random() < 0.1 else []
        kills = [
            [rng.choice(["SIGKILL", "SIGINT"]), round(rng.uniform(0, 1.1), 3)]
            for _ in range(rng.choice([1, 1, 2]))
        ]
        yield {"command": rng.choice(commands), "kills": kills, "rows": rng.randrange(10**6)}


def check(case: dict[str, Any]) -> Counter[str]:
    """Kill, look, go on, compare with a run that nobody disturbed."""
    with tempfile.TemporaryDirectory() as folder:
        return _COMMANDS[case["command"]](Path(folder), case)


def _rows(folder: Path, seed: int) -> Path:
    """A small table."""
    rng = np.random.default_rng(seed)
    age, dose, sick = (
        rng.integers(20, 90, 120),
        rng.integers(0, 40, 120) / 10,
        rng.integers(0, 2, 120),
    )
    ill = rng.random(120) < 0.05 + 0.4 * (age > 60) + 0.3 * sick
    path = folder / "rows.csv"
    lines = [f"{a},{d},{s},{int(i)}" for a, d, s, i in zip(age, dose, sick, ill, strict=True)]
    path.write_text("\n".join(["age,dose,sick,ill", *lines]) + "\n")
    return path


def _start(words: list[str], folder: Path) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    return subprocess.Popen(
        [*PROGRAM, *words], env=environment, cwd=folder, text=True, start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip


def _finish(words: list[str], folder: Path) -> str:
    process = _start(words, folder)
    out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, out
    return out


_seconds: dict[str, float] = {}


def _kill(words: list[str], folder: Path, how: str, share: float) -> str:
    """End a run at a moment; what it said, and how it ended."""
    process = _start(words, folder)
    try:
        process.wait(timeout=share * _seconds[words[0]])
    except subprocess.TimeoutExpired:
        if how == "SIGKILL":  # with its workers
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=PATIENCE)
    ended = process.returncode
    if how == "SIGINT":
        assert ended in (0, 130, -signal.SIGINT), (ended, out)
        assert ended < 0 or "Traceback" not in out, out
    else:
        assert ended in (0, -signal.SIGKILL), (ended, out)
    return "killed" if ended == -signal.SIGKILL else "interrupted" if ended else "was through"


def _timed(words: list[str], folder: Path) -> str:
    """A whole run, which also says how long one takes."""
    start = time.monotonic()
    out = _finish(words, folder)
    _seconds[words[0]] = time.monotonic() - start
    return out


def _fit(folder: Path, case: dict[str, Any]) -> Counter[str]:
    """A card and its certificate over older ones."""
    rows = _rows(folder, case["rows"])
    card, proof = folder / "card.json", folder / "proof.json"
    words = [
        *("fit", str(rows), "--target", "ill", "--thresholds", "0.2,0.4", "--teacher", "none"),
        *("--max-questions", "2", "--quiet", "--out", str(card), "--certificate", str(proof)),
    ]
    _timed(words, folder)
    whole = _worth(card)
    older = Scorecard([], [(0, 0.5)], Scorecard.load(card).thresholds)
    older.save(card)
    old = card.read_bytes()
    counts: Counter[str] = Counter()
    for how, share in case["kills"]:
        ended = _kill(words, folder, how, share)
        counts[f"fit {ended}"] += 1
        # An interrupted search keeps the best card so far.
        kept = card.read_bytes() == old or _agree(_worth(card), whole) or how == "SIGINT"
        assert kept, "neither the old nor the new card"
        Certificate.load(proof)
    _finish(words, folder)
    assert _agree(_worth(card), whole), "another card after all"
    _finish(["verify", str(card), str(proof), str(rows), "--target", "ill"], folder)
    _no_more_than(folder, {"card.json", "proof.json", "rows.csv"}, case)
    return counts


def _worth(path: Path) -> tuple[str | None, float | None]:
    """Status and objective of a card that is whole: which of equally good ones may differ."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # as of a digest that does not match
        origin = Scorecard.load(path).provenance
    return (None, None) if origin is None else (origin.status, origin.objective)


def _agree(first: Any, second: Any) -> bool:
    """Whether two cards are worth the same; on a busy machine a search may end by its clock."""
    return first == second or not first[0] == second[0] == "optimal"


def _no_more_than(folder: Path, names: set[str], case: dict[str, Any]) -> None:
    """Nothing is left but drafts of runs that had no time to remove them."""
    left = {path.name for path in folder.iterdir()} - names
    killed = sum(how == "SIGKILL" for how, _ in case["kills"])
    drafts = [name for name in left if re.fullmatch(r"\..*\.tmp", name)]
    assert len(left) == len(drafts) <= killed, left


def _validate(folder: Path, case: dict[str, Any]) -> Counter[str]:
    """The journal of a validation: the same command goes on, to the same figures."""
    rows = _rows(folder, case["rows"])
    words = ["validate", str(rows), "--target", "ill", "--thresholds", "0.2,0.4", "--teacher",
             "none", "--max-questions", "1", "--folds", "3", "--quiet"]  # fmt: skip
    whole = _timed([*words, "--journal", "whole.jsonl", "--csv", "whole.csv"], folder)
    journal, table = folder / "journal.jsonl", folder / "found.csv"
    again = [*words, "--journal", "journal.jsonl", "--csv", "found.csv"]
    counts: Counter[str] = Counter()
    before: list[bytes] = []
    for how, share in case["kills"]:
        counts[f"validate {_kill(again, folder, how, share)}"] += 1
        now = journal.read_bytes().splitlines(keepends=True) if journal.exists() else []
        kept = [line for line in before if line.endswith(b"\n")]
        assert now[: len(kept)] == kept, "lines of the journal were lost"
        before = now
        assert not table.exists() or table.read_bytes() == (folder / "whole.csv").read_bytes()
    out = _finish(again, folder)
    assert table.read_bytes() == (folder / "whole.csv").read_bytes()
    assert out.replace("journal.jsonl", "whole.jsonl").replace("found.csv", "whole.csv") == whole
    names = {"rows.csv", "journal.jsonl", "found.csv", "whole.jsonl", "whole.csv"}
    _no_more_than(folder, names, case)
    return counts


def _reproduce(folder: Path, case: dict[str, Any]) -> Counter[str]:
    """Experiments with quick methods: no finished fit is lost, and the end is written."""
    from tests.reproduction.test_reproduce import stored

    words = ["reproduce", "--budget", "quick", "--methods", "logistic,tree", "--out", "run"]
    _seconds.setdefault("reproduce", 60.0)
    counts: Counter[str] = Counter()
    before: dict[Any, Any] = {}
    for how, share in case["kills"]:
        counts[f"reproduce {_kill(words, folder, how, share)}"] += 1
        now = stored(folder / "run") if (folder / "run").exists() else {}
        assert before.items() <= now.items(), "finished fits were lost"
        before = now
    _finish(words, folder)
    after = stored(folder / "run")
    assert before.items() <= after.items()
    assert (folder / "run" / "index.md").is_file()
    return counts


_COMMANDS = {"fit": _fit, "validate": _validate, "reproduce": _reproduce}
