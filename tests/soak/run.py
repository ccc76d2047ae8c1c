"""Batches of all kinds in several processes, and the table of what came out."""

from __future__ import annotations

import os
import re
import signal
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from tests.soak.kinds import load
from tests.soak.reduce import error_of, reduced, signature, store

#: A case that takes so many seconds hangs; compiling on a busy machine takes its time, too.
PATIENCE = 1800.0
#: So many failures that look alike are stored; all are counted.
KEPT = 3


@dataclass
class Batch:
    """What one batch came to."""

    kind: str
    seed: int
    cases: int = 0
    cpu: float = 0.0
    wall: float = 0.0
    counts: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)


@dataclass
class Soak:
    """A run: what it is to do, and what it has done."""

    kinds: tuple[str, ...]
    minutes: float
    first: int = 1
    jobs: int = 2
    batches: int | None = None
    found: Path | None = None
    done: list[Batch] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def failures(self) -> list[str]:
        return [text for batch in self.done for text in batch.failures]

    def run(self) -> None:
        """Start the processes, collect what they say, replace those that die or hang."""
        start = time.monotonic()
        end = start + 60 * self.minutes
        said = start
        workers = [_Worker(self, job, end) for job in range(self.jobs)]
        print(f"soak: {', '.join(self.kinds)}; {self.minutes:g} minutes, {self.jobs} jobs, "
              f"seeds from {self.first}", flush=True)  # fmt: skip
        try:
            while any(worker.open for worker in workers):
                for worker in workers:
                    worker.listen(self)
                self.seconds = time.monotonic() - start
                if time.monotonic() - said >= 60:
                    said = time.monotonic()
                    print(f"{self.seconds / 60:5.0f} min: {self._short()}", flush=True)
        finally:
            self.seconds = time.monotonic() - start
            for worker in workers:
                worker.kill()

    def _short(self) -> str:
        cases = Counter[str]()
        for batch in self.done:
            cases[batch.kind] += batch.cases
        words = [f"{cases[kind]:,} {kind}" for kind in self.kinds]
        return f"{', '.join(words)}; {len(self.failures)} failures"

    def add(self, batch: Batch) -> None:
        self.done.append(batch)
        for text in batch.failures:
            print(f"FAILED {batch.kind}, seed {batch.seed}: {text}", flush=True)


class _Worker:
    """A process that works through batches, seen from outside."""

    def __init__(self, soak: Soak, job: int, end: float) -> None:
        self.job, self.end, self.soak = job, end, soak
        self.done: Counter[str] = Counter()
        self.open = True
        self._start()

    def _start(self) -> None:
        context = get_context("spawn")
        ours, theirs = context.Pipe(duplex=False)
        self.pipe: Connection = ours
        self.doing: tuple[str, int] | None = None
        self.heard = time.monotonic()
        self.process = context.Process(
            target=_work, args=(theirs, self.soak, self.job, self.end, self.done)
        )
        self.process.start()
        theirs.close()

    def listen(self, soak: Soak) -> None:
        """Take what has come; start anew after a death."""
        if not self.open:
            return
        try:
            if not wait([self.pipe], timeout=0.5):
                if time.monotonic() - self.heard > PATIENCE:
                    self._lost(soak, f"hung for {PATIENCE:.0f} seconds")
                return
            message = self.pipe.recv()
        except (EOFError, OSError):
            self.process.join(10)
            self._lost(soak, f"its process ended with {self.process.exitcode}")
            return
        self.heard = time.monotonic()
        if message is None:
            self.open = False
        elif isinstance(message, Batch):
            self.done[message.kind] += 1
            self.doing = None
            soak.add(message)
        else:
            self.doing = message

    def _lost(self, soak: Soak, what: str) -> None:
        self.kill()
        kind, seed = self.doing or ("?", 0)
        soak.add(Batch(kind, seed, failures=[what]))
        if self.doing is None:  # not a case's fault: it would happen again
            self.open = False
            return
        self.done[kind] += 1
        self._start()

    def kill(self) -> None:
        """End the process and all that it has started."""
        if self.process.is_alive():
            try:
                os.killpg(self.process.pid or 0, signal.SIGKILL)
            except ProcessLookupError:
                self.process.kill()
        self.process.join(10)


# -- inside a process ------------------------------------------------------------------------------


def _work(pipe: Connection, soak: Soak, job: int, end: float, done: Counter[str]) -> None:
    """Work through batches until the time is over, each time of the kind that lags most."""
    os.setsid()  # Ctrl-C is for the process outside
    os.environ["PYTEST_XDIST_WORKER"] = f"soak{job}"
    import tests.conftest  # noqa: F401  # compiled code is kept apart, by process

    spent = dict.fromkeys(soak.kinds, 0.0)
    while time.monotonic() < end:
        open_ = [k for k in soak.kinds if _seed(soak, job, done[k]) is not None]
        if not open_:
            break
        kind = min(open_, key=lambda k: spent[k] / load(k).SHARE)
        seed = _seed(soak, job, done[kind])
        assert seed is not None
        alive = partial(pipe.send, (kind, seed))
        batch = run_batch(kind, seed, end, soak.found, alive)
        spent[kind] += batch.wall
        done[kind] += 1
        pipe.send(batch)
    pipe.send(None)


def _seed(soak: Soak, job: int, done: int) -> int | None:
    k = job + soak.jobs * done
    return None if soak.batches is not None and k >= soak.batches else soak.first + k


_seen: Counter[str] = Counter()


def run_batch(
    kind: str,
    seed: int,
    end: float,
    found: Path | None,
    alive: Callable[[], Any] = lambda: None,
) -> Batch:
    """Check the cases of one batch, until the time is over; ``alive`` is called before each."""
    alive()
    module, batch = load(kind), Batch(kind, seed)
    wall, cpu = time.monotonic(), _cpu()
    warnings.simplefilter("ignore")  # of rows that a card reads with a note
    try:
        for number, case in enumerate(module.draw(seed)):
            if number and time.monotonic() > end:
                break
            alive()
            batch.cases += 1
            try:
                batch.counts.update(module.check(case) or {})
            except Exception as error:
                batch.failures.append(_keep(module, kind, f"{seed}-{number}", case, error, found))
    except Exception:  # a failure of the soak itself
        batch.failures.append(f"the batch ended: {traceback.format_exc(limit=-3)}")
    finally:
        getattr(module, "close", lambda: None)()
    batch.wall, batch.cpu = time.monotonic() - wall, _cpu() - cpu
    return batch


def _keep(
    module: Any, kind: str, name: str, case: Any, error: Exception, found: Path | None
) -> str:
    """Reduce and store a failure, unless there are enough of its like."""
    text = f"{signature(error)}: {' '.join(str(error).split())[:200]}"
    like = f"{kind} {re.sub(r'[0-9]+', '', text)[:100]}"
    _seen[like] += 1
    if found is None or _seen[like] > KEPT:
        return text
    small = reduced(case, module.check, getattr(module, "smaller", None))
    path = store(found, kind, name, small, error_of(module.check, small) or error)
    return f"{text}; stored as {path.name}"


def _cpu() -> float:
    """Seconds of computing, of this process and of all that it has started and seen ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


# -- the table -------------------------------------------------------------------------------------


def table(soak: Soak) -> str:
    """What a run came to, in Markdown."""
    lines = [
        "| kind | cases | failures | CPU, minutes | minutes of a process | seeds |",
        "|---|---:|---:|---:|---:|---|",
    ]
    counts: dict[str, Counter[str]] = {}
    for kind in soak.kinds:
        batches = [batch for batch in soak.done if batch.kind == kind]
        seeds = [batch.seed for batch in batches]
        counts[kind] = sum((batch.counts for batch in batches), Counter())
        lines.append(
            f"| {kind} | {sum(b.cases for b in batches):,} | "
            f"{sum(len(b.failures) for b in batches):,} | "
            f"{sum(b.cpu for b in batches) / 60:.1f} | {sum(b.wall for b in batches) / 60:.1f} | "
            f"{f'{min(seeds)}–{max(seeds)}' if seeds else '–'} |"
        )
    lines += ["", "| kind | counted | number |", "|---|---|---:|"]
    for kind in soak.kinds:
        lines += [f"| {kind} | {what} | {n:,} |" for what, n in sorted(counts[kind].items())]
    head = (
        f"`python -m tests.soak --minutes {soak.minutes:g}` ran for {soak.seconds / 60:.0f} "
        f"minutes in {soak.jobs} processes, with seeds from {soak.first}: "
        f"{len(soak.failures)} failures."
    )
    return "\n".join([head, "", *lines])
