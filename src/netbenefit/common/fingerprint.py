"""One short text for data and settings: the same for the same, in every process."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import types
from collections.abc import Mapping
from typing import Any

import numpy as np

from netbenefit.common.checks import InputError

__all__ = ["fingerprint_of"]

#: Parameters on which no result depends.
_QUIET = frozenset({"n_jobs", "verbose", "callback"})


def fingerprint_of(**parts: Any) -> str:
    """Stand for data and settings by 16 hexadecimal digits.

    Values count, not identities: two equal tables, or an estimator and its clone, have the same
    fingerprint.  Of an estimator or a solver only its parameters count, without those that change
    no result (``n_jobs``, ``verbose``, ``callback``); of a function only its name.

    Parameters
    ----------
    **parts
        Numbers, text, arrays, data frames, estimators, and lists, dicts and data classes of them.

    Examples
    --------
    >>> fingerprint_of(data=np.arange(3), folds=5) == fingerprint_of(folds=5, data=np.arange(3))
    True
    >>> fingerprint_of(data=np.arange(3)) == fingerprint_of(data=np.arange(3.0))
    False
    """
    digest = hashlib.sha256()
    _add(digest, parts)
    return digest.hexdigest()[:16]


def _add(digest: Any, value: Any) -> None:
    """Feed a value, with its kind and its length, so that no two values read alike."""
    if value is None or isinstance(value, bool | int | float | complex | str | bytes | np.generic):
        _say(digest, type(value).__name__, repr(value))
    elif isinstance(value, np.ma.MaskedArray):
        _add_all(digest, "masked", [np.ma.getmaskarray(value), value.filled()])
    elif isinstance(value, np.ndarray):
        _add_array(digest, value)
    elif type(value).__name__ == "FrozenEstimator":  # what it has learnt is all that counts
        _say(digest, "frozen", _hash_of(value.estimator))
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
        _say(digest, "name", _title(value))
    else:
        _add_frame(digest, value)


def _add_array(digest: Any, array: np.ndarray[Any, Any]) -> None:
    if array.dtype.kind in "OT":
        _add_all(digest, f"objects {array.shape}", array.ravel().tolist())
        return
    _say(digest, f"array {array.dtype.str} {array.shape}", "")
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
    _say(digest, _title(type(value)), _hash_of(value))


def _hash_of(value: Any) -> str:
    from joblib import hash as hash_of  # comes with scikit-learn

    try:
        return str(hash_of(value))
    except Exception:
        raise InputError(
            f"a {type(value).__name__} cannot be told from another one after a restart, which a "
            "journal needs. Pass a named object, or leave out the journal."
        ) from None


def _add_all(digest: Any, kind: str, items: Any) -> None:
    items = list(items)
    _say(digest, kind, str(len(items)))
    for item in items:
        _add(digest, item)


def _say(digest: Any, kind: str, text: str) -> None:
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
