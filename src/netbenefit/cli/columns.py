"""What the options of ``fit`` say about columns, and the binner that comes of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from numpy.typing import NDArray

from netbenefit.binning.binner import Binner
from netbenefit.binning.cuts import METHODS
from netbenefit.cards.readings import plain_number
from netbenefit.cards.terms import PerUnit
from netbenefit.cli.terminal import pick_column, read_signs
from netbenefit.common.checks import InputError, shorten
from netbenefit.common.strict_json import Value, parse
from netbenefit.data.raw_table import RawColumn, storage_of

__all__ = ["Asked", "check_known", "check_monotone", "read_asked", "read_binner", "read_monotone"]

POLICIES = ("auto", "condition", "impute", "refuse")
_UNIT_KEYS = ("decimals", "lower", "upper", "log")
Columns = Mapping[str, NDArray[Any]]


class Asked(NamedTuple):
    """What the options say about columns, read but not yet held against a table."""

    params: dict[str, Any] | None  #: of the binner, by its file; None for no binner
    categorical: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    missing: Mapping[str, str] = {}
    special: Mapping[str, tuple[str, ...]] = {}
    cuts: Mapping[str, tuple[float, ...]] = {}
    drop: tuple[str, ...] = ()
    source: str = "--binner"  #: where the parameters come from

    @property
    def levels(self) -> tuple[str, ...]:
        """Columns that were called categorical: their cells are levels, not numbers."""
        listed = (self.params or {}).get("categorical") or ()
        named = [name for name in listed if isinstance(name, str)] if listed else []
        return (*self.categorical, *named)

    def dropped(self, columns: Columns) -> tuple[str, ...]:
        """Return the columns to leave out, by option and by file."""
        for name in self.drop:
            pick_column(columns, name, "--drop")
        listed = (self.params or {}).get("drop") or ()
        if isinstance(listed, str) or not all(isinstance(name, str) for name in listed):
            raise InputError(f"{self.source}: drop={listed!r} must be a list of column names.")
        for name in listed:
            pick_column(columns, name, f"{self.source}: drop")
        return (*self.drop, *listed)

    def binner(self, columns: Columns) -> Binner | None:
        """Return the binner for a table of these columns."""
        if self.params is None:
            return None
        gone = {*self.drop, *(self.params.get("drop") or ())}
        params = {name: _without(gone, v) for name, v in self.params.items() if name != "drop"}
        combined = params.get("combine")
        self._check_names([*columns, *(combined if isinstance(combined, dict) else ())])
        for option in ("categorical", "numeric"):
            _add_names(params, option, getattr(self, option))
        levels = {*(params.get("categorical") or ()), *(params.get("ordered") or ())}
        special = {
            name: _codes(codes, columns.get(name), name in levels)
            for name, codes in self.special.items()
        }
        _add_by_name(params, "cuts", self.cuts)
        _add_by_name(params, "special", special)
        if self.missing:
            before = params.get("missing", "auto")
            params["missing"] = before if isinstance(before, dict) else {"*": before}
            params["missing"] = {**params["missing"], **self.missing}
        return Binner(**params)

    def _check_names(self, known: Sequence[str]) -> None:
        for option, names in (
            ("--categorical", self.categorical),
            ("--numeric", self.numeric),
            ("--missing", [name for name in self.missing if name != "*"]),
            ("--special", self.special),
            ("--cuts", self.cuts),
        ):
            check_known(names, known, option)


def check_known(names: Iterable[str], known: Sequence[str], option: str) -> None:
    """Refuse names of columns that are not learnt from."""
    for name in names:
        if name not in known:
            raise InputError(
                f"{option} names column {name!r}, which is not among the columns to learn from; "
                f"they are {shorten(list(known), 10)}. Correct the name."
            )


def _without(gone: Collection[str], value: Any) -> Any:
    """Return a parameter by column without the columns that are left out."""
    if isinstance(value, dict):
        return {name: one for name, one in value.items() if name not in gone}
    return [one for one in value if one not in gone] if isinstance(value, list) else value


def _add_names(params: dict[str, Any], name: str, more: Sequence[str]) -> None:
    listed = params.get(name)
    if more and (listed is None or isinstance(listed, list)):
        params[name] = list(dict.fromkeys([*(listed or ()), *more]))


def _add_by_name(params: dict[str, Any], name: str, more: Mapping[str, Any]) -> None:
    listed = params.get(name)
    if more and (listed is None or isinstance(listed, dict)):
        params[name] = {**(listed or {}), **more}


def _codes(texts: tuple[str, ...], column: NDArray[Any] | None, levels: bool) -> list[Value]:
    """Return special codes as the column holds them: numbers, unless they stand among words."""
    words = False
    if column is not None and column.dtype.kind == "O":
        words = levels or storage_of(RawColumn("", column), texts) in ("text", "mixed")
    numbers = [None if words else plain_number(text.replace("−", "-")) for text in texts]
    return [t if number is None else number for t, number in zip(texts, numbers, strict=True)]


# -- options ---------------------------------------------------------------------------------------


def read_asked(
    binner: str,
    *,
    categorical: Sequence[str] | None = None,
    numeric: Sequence[str] | None = None,
    missing: Sequence[str] | None = None,
    special: Sequence[str] | None = None,
    cuts: Sequence[str] | None = None,
    drop: Sequence[str] | None = None,
) -> Asked:
    """Read the options about columns.

    Examples
    --------
    >>> asked = read_asked("tree", missing=["impute", "a=b=refuse"], cuts=["age=40,60"])
    >>> asked.params, asked.missing, asked.cuts
    ({'method': 'tree'}, {'*': 'impute', 'a=b': 'refuse'}, {'age': (40.0, 60.0)})
    """
    params = read_binner(binner)
    said = {
        "--categorical": categorical,
        "--numeric": numeric,
        "--missing": missing,
        "--special": special,
        "--cuts": cuts,
    }
    given = [name for name, values in said.items() if values]
    if params is None and given:
        raise InputError(
            f"{', '.join(given)}: --binner none takes columns as they are, with points per unit. "
            "Leave out --binner none, or these options."
        )
    return Asked(
        params,
        categorical=tuple(categorical or ()),
        numeric=tuple(numeric or ()),
        missing=dict(_policy(text) for text in missing or ()),
        special={name: _list(text, "--special") for name, text in _pairs(special, "--special")},
        cuts={name: _numbers(name, text) for name, text in _pairs(cuts, "--cuts")},
        drop=tuple(drop or ()),
        source=binner,
    )


def read_monotone(texts: Sequence[str], signs: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """Read NAME+ and NAME- besides NAME=+ of --sign; return all signs, and which are monotone.

    >>> read_monotone(["age+", "a+b-"], ["bmi=+"])
    ({'bmi': '+', 'age': '+', 'a+b': '-'}, ['age', 'a+b'])
    """
    found = read_signs(list(signs))
    names = []
    for text in texts:
        name, direction = text[:-1], text[-1:].replace("−", "-")
        if not name or direction not in ("+", "-"):
            raise InputError(
                f"--monotone {text!r}: write NAME+ (the risk never falls along the column) or "
                "NAME-, as in --monotone age+"
            )
        if found.setdefault(name, direction) != direction:
            raise InputError(f"column {name!r} is asked to be both + and −. Choose one.")
        names.append(name)
    return found, names


def check_monotone(names: Sequence[str], binner: Binner) -> None:
    """Refuse columns of levels without an order, along which nothing rises."""
    for name in names:
        terms = [binner.terms_[k] for k in binner.groups_.get(name, ())]
        plain = sum(getattr(term, "op", "") in ("==", "not in") for term in terms)
        if plain > 1:
            raise InputError(
                f"--monotone names column {name!r}, whose levels have no order. Give one in a "
                f'--binner FILE.json, as {{"ordered": {{"{name}": ["low", …, "high"]}}}}, or write '
                f"--sign '{name}=+' for no points below 0."
            )


def _policy(text: str) -> tuple[str, str]:
    name, equals, policy = text.rpartition("=")
    if policy not in POLICIES or (equals and not name):
        raise InputError(
            f"--missing {text!r}: write one of {', '.join(POLICIES)}, for all columns, or "
            "NAME=POLICY for one, as in --missing age=impute"
        )
    return name or "*", policy


def _pairs(texts: Sequence[str] | None, option: str) -> list[tuple[str, str]]:
    """Split NAME=VALUES at the last equals sign; an option given twice for a column adds up."""
    found: dict[str, str] = {}
    for text in texts or ():
        name, _, values = text.rpartition("=")
        if not name or not values.strip():
            raise InputError(
                f"{option} {text!r}: write NAME=VALUES, as in {option} {_LIKE[option]}"
            )
        found[name] = f"{found[name]},{values}" if name in found else values
    return list(found.items())


_LIKE = {"--special": "visits=96,98", "--cuts": "age=40,60"}


def _list(text: str, option: str) -> tuple[str, ...]:
    items = tuple(dict.fromkeys(item.strip() for item in text.split(",")))
    if "" in items:
        raise InputError(f"{option}: {text!r} has an empty value. Write {option} {_LIKE[option]}")
    return items


def _numbers(name: str, text: str) -> tuple[float, ...]:
    numbers = {item: plain_number(item.replace("−", "-")) for item in _list(text, "--cuts")}
    wrong = [item for item, number in numbers.items() if number is None]
    if wrong:
        raise InputError(
            f"--cuts {name}={text}: {wrong[0]!r} is no number. Write --cuts {name}=40,60"
        )
    return tuple(number for number in numbers.values() if number is not None)


# -- a file ----------------------------------------------------------------------------------------


def read_binner(text: str) -> dict[str, Any] | None:
    """Read the value of --binner: parameters of the binner, or None for no binner.

    >>> read_binner("auto"), read_binner("quantile"), read_binner("none")
    ({}, {'method': 'quantile'}, None)
    """
    if text == "none":
        return None
    if text == "auto":
        return {}
    if text in METHODS:
        return {"method": text}
    path = Path(text)
    if not (path.is_file() or text.lower().endswith(".json")):
        raise InputError(
            f"--binner {text!r} is not known. Use auto, none, {', '.join(METHODS)}, or a FILE.json "
            "with the binner's parameters."
        )
    return _read_file(path)


def _read_file(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise InputError(f"--binner {path}: no such file. Check the name and the folder.")
    remedy = 'Write one JSON object, as {"cuts": {"age": [52]}}.'
    try:
        data = parse(path.read_text(encoding="utf-8"), "a binner", remedy)
    except InputError as error:
        raise InputError(f"--binner {path}: {error}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"--binner {path}: {error}. {remedy}") from None
    known = list(Binner._get_param_names())
    if not isinstance(data, dict):
        raise InputError(f"--binner {path}: holds no object. Write {{…}} with {', '.join(known)}.")
    unknown = [name for name in data if name not in known]
    if unknown:
        raise InputError(
            f"--binner {path}: {', '.join(map(repr, unknown))} not known. The binner's parameters "
            f"are {', '.join(sorted(known))}."
        )
    if isinstance(data.get("per_unit"), dict):
        data["per_unit"] = {n: _unit(n, unit, path) for n, unit in data["per_unit"].items()}
    return {name: value for name, value in data.items() if value is not None}


def _unit(name: str, data: Any, path: Path) -> PerUnit | None:
    if data is None:
        return None
    if not isinstance(data, dict) or not set(data) <= set(_UNIT_KEYS):
        raise InputError(
            f"--binner {path}: per_unit of column {name!r} must be null or an object with some of "
            f"{', '.join(_UNIT_KEYS)}, not {data!r}."
        )
    return PerUnit(name, **data)
