"""Many tasks, some at a time, whose finished results outlive a kill.

A journal is a text file: a first line with the fingerprint of data and settings, then one line of
JSON per finished task, on disk before the next one is taken.  A run that finds its own journal goes
on where the last one stopped.  Lines end with a digest of themselves and of the fingerprint: one
that was changed, or that comes from another journal, never enters a result.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import io
import json
import os
import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np

from netbenefit.common.checks import InputError, shorten
from netbenefit.common.parallel import WorkerDied, finished_tasks

# -- one short text for data and settings: the same for the same, in every process -----------------

#: Parameters on which no result depends.
_QUIET = frozenset({"n_jobs", "verbose", "callback"})


def fingerprint_of(**parts: Any) -> str:
    """Return 16 hexadecimal digits that identify data and settings.

    Values count, not identities. Of an estimator or a solver only its parameters count, without
    those that change no result (``n_jobs``, ``verbose``, ``callback``); of a function only its
    name.
    """
    digest = hashlib.sha256()
    _add(digest, parts)
    return digest.hexdigest()[:16]


def _add(digest: Any, value: Any) -> None:
    """Add a value, with its kind and its length, so that no two values read alike."""
    if value is None or isinstance(value, bool | int | float | complex | str | bytes | np.generic):
        _feed(digest, type(value).__name__, repr(value))
    elif isinstance(value, np.ma.MaskedArray):
        _add_all(digest, "masked", [np.ma.getmaskarray(value), value.filled()])
    elif isinstance(value, np.ndarray):
        _add_array(digest, value)
    elif type(value).__name__ == "FrozenEstimator":  # what it has learnt is all that counts
        _feed(digest, "frozen", _hash_of(value.estimator))
    elif hasattr(value, "get_params") and not isinstance(value, type):
        shown = value.get_params(deep=False).items()
        _add_all(digest, _title(type(value)), sorted(p for p in shown if p[0] not in _QUIET))
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [f.name for f in dataclasses.fields(value) if f.name not in _QUIET]
        _add_all(digest, _title(type(value)), [(name, getattr(value, name)) for name in names])
    elif isinstance(value, Mapping):
        _add_all(digest, "mapping", sorted(value.items(), key=lambda pair: repr(pair[0])))
    elif isinstance(value, list | tuple):
        _add_all(digest, "list", value)
    elif isinstance(value, set | frozenset):
        _add_all(digest, "set", sorted(value, key=repr))
    elif isinstance(value, functools.partial):
        _add_all(digest, "partial", [value.func, value.args, value.keywords])
    elif isinstance(value, type | types.FunctionType | types.BuiltinFunctionType):
        _feed(digest, "name", _title(value))
    else:
        _add_frame(digest, value)


def _add_array(digest: Any, array: np.ndarray[Any, Any]) -> None:
    if array.dtype.kind in "OT":
        _add_all(digest, f"objects {array.shape}", array.ravel().tolist())
        return
    _feed(digest, f"array {array.dtype.str} {array.shape}", "")
    digest.update(np.ascontiguousarray(array).tobytes())


def _add_frame(digest: Any, value: Any) -> None:
    """A data frame or a column of one; anything else as scikit-learn's tools would store it."""
    import narwhals as nw  # late: most data are arrays

    frame = nw.from_native(value, eager_only=True, allow_series=True, pass_through=True)
    if isinstance(frame, nw.Series):
        _add_all(digest, f"column {frame.dtype}", [frame.name, frame.to_numpy()])
        return
    if isinstance(frame, nw.DataFrame):
        columns = [(name, f"{frame[name].dtype}", frame[name].to_numpy()) for name in frame.columns]
        _add_all(digest, "frame", columns)
        return
    _feed(digest, _title(type(value)), _hash_of(value))


def _hash_of(value: Any) -> str:
    from joblib import hash as hash_of  # comes with scikit-learn

    try:
        return str(hash_of(value))
    except Exception:
        raise InputError(
            f"a {type(value).__name__} cannot be distinguished from another one after a restart, "
            "as a journal requires. Pass a named object, or leave out the journal."
        ) from None


def _add_all(digest: Any, kind: str, items: Any) -> None:
    items = list(items)
    _feed(digest, kind, str(len(items)))
    for item in items:
        _add(digest, item)


def _feed(digest: Any, kind: str, text: str) -> None:
    for word in (kind, text):
        digest.update(f"{len(word)}:{word};".encode("utf-8", "surrogatepass"))


def _title(thing: Any) -> str:
    name = f"{thing.__module__}.{thing.__qualname__}"
    if "<lambda>" in name or "<locals>" in name:
        raise InputError(
            f"{name} has no name of its own, so that a journal could mix it up with another one. "
            "Define it at the top of a module, or leave out the journal."
        )
    return name


#: Called with the number of finished tasks and of all tasks: once at the start, then after each.
Progress = Callable[[int, int], None]

#: Every journal begins with this, so that no other file is ever taken for one.
_START = '{"netbenefit journal": 2, "fingerprint": '


def run_tasks(
    function: Callable[[Any], Any],
    tasks: Mapping[str, Any],
    *,
    journal: str | os.PathLike[str] | None = None,
    fingerprint: str = "",
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Call a function for each task, ``n_jobs`` at a time, and return its results by task key.

    Results, which must fit into JSON, are written to the journal as they arrive, and those in it
    are not computed again; a journal with another fingerprint is refused. They are what JSON makes
    of them, so that a result from a journal and a fresh one are the same.
    """
    names = [key for key in tasks if not isinstance(key, str)]
    if names:
        raise InputError(f"tasks need text as keys, not {shorten(names)}. Pass str(key).")
    report = progress or (lambda done, total: None)
    with open_journal(journal, fingerprint) as book:
        results = {key: book.results[key] for key in tasks if key in book.results}
        report(len(results), len(tasks))
        waiting = {key: task for key, task in tasks.items() if key not in results}
        work = finished_tasks(partial(_line_of, function), waiting.items(), n_jobs)
        with closing(work) as finished:
            for (key, _), line in finished:
                if isinstance(line, Exception):
                    raise _named(key, line, kept=journal is not None)
                book.write(line)
                results[key] = json.loads(line)["result"]
                report(len(results), len(tasks))
    return {key: results[key] for key in tasks}


def _line_of(function: Callable[[Any], Any], item: tuple[str, Any]) -> str:
    """One task's result, as a line of a journal."""
    key, task = item
    result = function(task)
    try:
        return json.dumps({"task": key, "result": result}, default=_plain)
    except (TypeError, ValueError) as error:
        raise InputError(f"the result does not fit into JSON: {error}") from None


def _named(key: str, error: Exception, *, kept: bool) -> Exception:
    """The error of a task, which names the task."""
    if isinstance(error, WorkerDied):
        rest = " The journal keeps what is done: the same call goes on from there." if kept else ""
        return WorkerDied(f"{key}: {error}{rest}")
    if isinstance(error, InputError):
        return InputError(f"{key}: ", *error.args)
    error.add_note(f"in task {key!r}")
    return error


def _plain(value: Any) -> Any:
    """What JSON can hold of numpy's numbers and arrays."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"it holds a {type(value).__name__}")


class Journal:
    """An open journal: its results, and how to add more. Without a file it keeps nothing."""

    def __init__(self, file: IO[bytes] | None, fingerprint: str, name: str = "the journal") -> None:
        self._file = file
        self._fingerprint = fingerprint
        self._name = name
        self.results: dict[str, Any] = {}
        if file is not None:
            self._begin(file, fingerprint)

    def write(self, line: str) -> None:
        """Add the JSON object of a task; when this returns it is on disk."""
        if self._file is not None:
            self._append(self._signed(line))

    def _signed(self, line: str) -> str:
        digest = hashlib.sha256(f"{self._fingerprint}\n{line}".encode()).hexdigest()[:16]
        return f'{line[:-1]}, "digest": "{digest}"}}'

    def _append(self, line: str) -> None:
        assert self._file is not None
        self._file.write(line.encode() + b"\n")
        self._file.flush()
        with suppress(io.UnsupportedOperation):  # a file in memory has no disk
            os.fsync(self._file.fileno())

    def _begin(self, file: IO[bytes], fingerprint: str) -> None:
        """Read what is there, cut off an incomplete end, and prepare to append.

        1. Complete lines end with a line break; the rest of the file is cut off.
        2. A file that does not start like a journal is another program's.
        3. A last line that ends but cannot be read (as after a power cut) is cut off, too.
        """
        file.seek(0)
        content = file.read()
        whole = content.rfind(b"\n") + 1
        lines = content[:whole].split(b"\n")[:-1]
        start = _START.encode()
        if not (content[: len(start)] == start or (not lines and start.startswith(content))):
            raise InputError(
                f"{self._name} is not a journal of this version, and stays as it is. Name a file "
                "that does not exist yet."
            )
        if lines:
            self._check(lines[0], fingerprint)
            whole -= self._read(lines[1:])
        file.seek(whole)
        file.truncate()
        if not lines:
            self._append(f"{_START}{json.dumps(fingerprint)}}}")

    def _check(self, header: bytes, fingerprint: str) -> None:
        try:
            found = json.loads(header)["fingerprint"]
        except ValueError:
            raise InputError(
                f"{self._name} is damaged in its first line. Start a new one."
            ) from None
        if found != fingerprint:
            raise InputError(
                f"{self._name} belongs to other data or other settings (its fingerprint is "
                f"{found!r}, that of this run {fingerprint!r}). Name another file, or delete this "
                "one to start anew."
            )

    def _read(self, lines: list[bytes]) -> int:
        """Keep the results of lines; returns the length of a last line that cannot be read."""
        for number, line in enumerate(lines, start=1):
            try:
                entry = json.loads(line)
                self.results[entry["task"]] = entry["result"]
            except (ValueError, KeyError, TypeError):
                if number == len(lines):
                    return len(line) + 1
                text = ""
            else:
                text = line.decode().strip()
            if not text or text != self._signed(text.rpartition(', "digest": ')[0] + "}"):
                raise InputError(
                    f"{self._name} is damaged in line {number + 1}, or was changed there. Delete "
                    "that line: its task is run again."
                )
        return 0


@contextmanager
def open_journal(path: str | os.PathLike[str] | None, fingerprint: str) -> Iterator[Journal]:
    """Open a journal for one writer, a new one or one of this fingerprint; None keeps nothing."""
    if path is None:
        yield Journal(None, fingerprint)
        return
    place = Path(path)
    if place.is_dir() or not place.parent.is_dir():
        what = "is a folder" if place.is_dir() else "is in a folder that does not exist"
        raise InputError(f"the journal {place} {what}. Name a file in a folder that exists.")
    if place.exists() and not place.is_file():
        raise InputError(f"the journal {place} is no file that can be read again. Name another.")
    # Neither "r+" nor "a+" will do: one requires the file to exist, the other cannot truncate.
    binary = getattr(os, "O_BINARY", 0)  # Windows would change line breaks
    with open(os.open(place, os.O_RDWR | os.O_CREAT | binary, 0o666), "r+b") as file:
        lock_file(file, f"the journal {place}")
        yield Journal(file, fingerprint, f"the journal {place}")


def lock_file(file: IO[bytes], what: str) -> None:
    """Refuse what another run writes to; the lock ends with the process, or with the file."""
    try:
        import fcntl
    except ImportError:  # Windows: the user has to take care
        return
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise InputError(
            f"{what} is in use by another run. Wait for it, or name another one."
        ) from None
    except OSError:  # a file system without locks
        return
