"""From options to parameters of the estimator: how columns are read, what the card must be like.

Nothing here imports the estimator, so that an error comes at once.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from numpy.typing import NDArray

from netbenefit.binning import METHODS, POLICIES
from netbenefit.cards import PerUnit, plain_number
from netbenefit.cli.options import LimitOptions, ReadingOptions, TeacherOptions, ThresholdOptions
from netbenefit.cli.terminal import check_column, print_note, read_setting
from netbenefit.common import InputError, Value, check_threads, did_you_mean, parse, shorten
from netbenefit.data import RawColumn, storage_of
from netbenefit.metrics import Thresholds, as_thresholds
from netbenefit.problem import Constraint, MaxPerColumn, from_json
from netbenefit.solvers import check_time_limit
from netbenefit.teachers import TEACHERS

if TYPE_CHECKING:
    from netbenefit.binning import Binner

_UNIT_KEYS = ("decimals", "lower", "upper", "log")
Columns = Mapping[str, NDArray[Any]]


class ColumnFlags(NamedTuple):
    """The options about columns, read but not yet compared with a table."""

    params: dict[str, Any] | None  #: of the binner, by its file; None for no binner
    categorical: Sequence[str] = ()
    numeric: Sequence[str] = ()
    missing: Mapping[str, str] = {}
    special: Mapping[str, tuple[str, ...]] = {}
    cuts: Mapping[str, tuple[float, ...]] = {}
    drop: Sequence[str] = ()
    source: str = "--binner"  #: where the parameters come from

    @classmethod
    def of(cls, options: ReadingOptions) -> Self:
        """Read the options."""
        params = read_binner(options.binner)
        names = ("categorical", "numeric", "missing", "special", "cuts")
        used = [f"--{name}" for name in names if getattr(options, name)]
        if params is None and used:
            raise InputError(
                f"{', '.join(used)}: --binner none takes columns as they are, with points per "
                "unit. Leave out --binner none, or these options."
            )
        special, cuts = _pairs(options.special, "--special"), _pairs(options.cuts, "--cuts")
        return cls(
            params,
            categorical=options.categorical or (),
            numeric=options.numeric or (),
            missing=dict(_policy(text) for text in options.missing or ()),
            special={name: _list(text, "--special") for name, text in special.items()},
            cuts={name: _numbers(name, text) for name, text in cuts.items()},
            drop=options.drop or (),
            source=options.binner,
        )

    @property
    def levels(self) -> tuple[str, ...]:
        """Columns that were called categorical: their cells are levels, not numbers."""
        listed = (self.params or {}).get("categorical") or ()
        return (*self.categorical, *(name for name in listed if isinstance(name, str)))

    def dropped(self, columns: Collection[str]) -> tuple[str, ...]:
        """Return the columns to leave out, by option and by file."""
        for name in self.drop:
            check_column(columns, name, "--drop")
        listed = (self.params or {}).get("drop") or ()
        if isinstance(listed, str) or not all(isinstance(name, str) for name in listed):
            raise InputError(f"{self.source}: drop={listed!r} must be a list of column names.")
        for name in listed:
            check_column(columns, name, f"{self.source}: drop")
        return (*self.drop, *listed)

    def binner_params(self, columns: Columns) -> dict[str, Any]:
        """Return the parameters of the binner for a table of these columns."""
        if self.params is None:
            return {}
        gone = {*self.drop, *(self.params.get("drop") or ())}
        params = {name: _without(gone, v) for name, v in self.params.items() if name != "drop"}
        combined = params.get("combine")
        known = [*columns, *(combined if isinstance(combined, dict) else ())]
        for option in ("categorical", "numeric", "missing", "special", "cuts"):
            check_known(getattr(self, option), known, f"--{option}")
        for option in ("categorical", "numeric"):
            listed, more = params.get(option), getattr(self, option)
            if more and (listed is None or isinstance(listed, list)):
                params[option] = list(dict.fromkeys([*(listed or ()), *more]))
        levels = {*(params.get("categorical") or ()), *(params.get("ordered") or ())}
        special = {
            name: _codes(codes, columns.get(name), name in levels)
            for name, codes in self.special.items()
        }
        for option, by_name in (("cuts", self.cuts), ("special", special)):
            listed = params.get(option)
            if by_name and (listed is None or isinstance(listed, dict)):
                params[option] = {**(listed or {}), **by_name}
        if self.missing:
            before = params.get("missing", "auto")
            before = before if isinstance(before, dict) else {"*": before}
            params["missing"] = {**before, **self.missing}
        return params


def check_known(names: Iterable[str], known: Sequence[str], option: str) -> None:
    """Refuse names of columns that are not learnt from."""
    for name in names:
        if name not in known and (option, name) != ("--missing", "*"):
            raise InputError(
                f"{option} names column {name!r}, which is not among the columns to learn from."
                f"{did_you_mean(name, known)} They are {shorten(list(known), 10)}. Correct the "
                "name."
            )


def _without(gone: Collection[str], value: Any) -> Any:
    """Return a parameter by column without the columns that are left out."""
    if isinstance(value, dict):
        return {name: one for name, one in value.items() if name not in gone}
    return [one for one in value if one not in gone] if isinstance(value, list) else value


def _codes(texts: tuple[str, ...], column: NDArray[Any] | None, levels: bool) -> list[Value]:
    """Return special codes as the column holds them: numbers, unless they stand among words."""
    words = False
    if column is not None and column.dtype.kind == "O":
        words = levels or storage_of(RawColumn("", column), texts) in ("text", "mixed")
    numbers = [None if words else plain_number(text.replace("−", "-")) for text in texts]
    return [t if number is None else number for t, number in zip(texts, numbers, strict=True)]


# -- options ---------------------------------------------------------------------------------------


def read_teacher(options: TeacherOptions) -> dict[str, Any]:
    """Read the options about the teacher: parameters of the estimator."""
    return {
        "teacher": None if options.teacher == "none" else options.teacher,
        "prior_strength": read_setting(options.prior_strength, "--prior-strength", "auto"),
    }


def read_card_flags(
    grid: ThresholdOptions,
    teacher: TeacherOptions,
    limits: LimitOptions,
    max_per_column: int | None,
    **others: Any,
) -> dict[str, Any]:
    """Read the options about the card: parameters of the estimator, ``others`` as they are."""
    thresholds = read_thresholds(grid)
    for name in ("max_points", "max_features", "max_questions"):
        value = others.get(name)
        if value is not None and value < 1:
            flag = f"--{name.replace('_', '-')}"
            raise InputError(f"{flag} must be a whole number of at least 1, not {value}.")
    check_time_limit(others["time_limit"])
    check_threads(others.get("n_jobs"))
    signs, along = read_signs(limits.sign or ()), read_monotone(limits.monotone or ())
    for name, way in along.items():
        if name in signs and way not in (signs[name], "auto", "all"):
            raise InputError(f"column {name!r} cannot be both + and −. Choose one.")
    if others.get("max_questions", 0) is None:
        del others["max_questions"]  # the estimator's default
    per_column = [] if max_per_column is None else [MaxPerColumn(max_per_column)]
    return {
        "thresholds": thresholds,
        **read_teacher(teacher),
        "sign": signs,
        "monotone": along,
        "nonnegative": limits.nonnegative,
        "constraints": [*read_constraints(limits.constraints), *per_column],
        **others,
    }


#: Stands for thresholds that are chosen from the rows.
SUGGEST = "suggest"


def read_thresholds(grid: ThresholdOptions) -> Thresholds:
    """Read the thresholds and their weights."""
    refuse_suggest(grid.thresholds)
    return as_thresholds(grid.thresholds, grid.weights.value)


def refuse_suggest(thresholds: str | None) -> None:
    """Refuse to let rows choose the thresholds that a card is judged by on these rows."""
    if thresholds == SUGGEST:
        raise InputError(
            "--thresholds suggest is for `fit`: thresholds that rows have chosen cannot be judged "
            "on the same rows. Run `fit --thresholds suggest`, look at what it proposes, and name "
            "that here."
        )


def tell_thresholds(grid: ThresholdOptions, share: float) -> None:
    """Say which thresholds are taken where none were named, and how to name some."""
    if grid.thresholds is not None:
        return
    print_note(
        "bold",
        "thresholds",
        f"none given, so 0%, 10%, …, 90% are taken; {100 * share:.3g}% of the rows have the "
        "event. Name the risks from which you would act, such as --thresholds 0.05:0.5:0.05 "
        "(from, to, step) or 0.1,0.2; `fit --thresholds suggest` proposes some.",
    )


def read_signs(texts: Sequence[str]) -> dict[str, str]:
    """Read NAME=+ and NAME=-."""
    signs = {}
    for text in texts:
        name, _, direction = text.rpartition("=")
        if not name or direction not in ("+", "-", "−"):
            raise InputError(f"--sign {text!r}: write NAME=+ or NAME=-, as in --sign age=+")
        signs[name] = direction.replace("−", "-")
    return signs


def read_monotone(texts: Sequence[str]) -> dict[str, str]:
    """Read NAME+, NAME-, and auto or all, which stand for all columns that are not named."""
    found: dict[str, str] = {}
    for text in texts:
        name, direction = text[:-1], text[-1:].replace("−", "-")
        if text in ("auto", "all"):
            name, direction = "*", text
        elif not name or direction not in ("+", "-"):
            raise InputError(
                f"--monotone {text!r}: write NAME+ (the risk never falls along the column) or "
                "NAME-, as in --monotone age+; or auto, for the teacher's directions where they "
                "are clear; or all, for every column"
            )
        if found.setdefault(name, direction) != direction:
            if name == "*":
                raise InputError("--monotone cannot be both auto and all. Choose one.")
            raise InputError(f"column {name!r} cannot be both + and −. Choose one.")
    return found


def read_constraints(path: Path | None) -> list[Constraint]:
    """Read a file with a JSON list of constraints, as ``Constraint.to_json`` writes them."""
    if path is None:
        return []
    try:
        items = json.loads(path.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise InputError(f"{path} is not JSON ({error}). Write a list of constraints.") from None
    if not isinstance(items, list):
        raise InputError(f"{path} does not hold a list. Write [{{...}}, {{...}}], one object each.")
    return [from_json(item) for item in items]


def binner_of(flags: ColumnFlags, columns: Columns, params: Mapping[str, Any]) -> Binner | None:
    """Return the binner for a table of these columns; refuse names that it does not have."""
    own = flags.binner_params(columns)
    combined = own.get("combine")
    known = [*columns, *(combined if isinstance(combined, dict) else ())]
    check_known([name for name in params["monotone"] if name != "*"], known, "--monotone")
    # A sign may also be that of a condition, such as "age ≥ 40": its name holds that of a column.
    signed = [name for name in params["sign"] if not any(column in name for column in known)]
    check_known(signed, known, "--sign")
    check_teacher(params["teacher"], columns)
    if flags.params is None:
        if any(isinstance(one, MaxPerColumn) for one in params["constraints"]):
            raise InputError(
                "--max-per-column limits conditions, but with --binner none there are none."
            )
        return None
    from netbenefit.binning import Binner  # late: it takes seconds

    return Binner(**own)


def check_teacher(teacher: str | None, columns: Collection[str]) -> None:
    """Refuse a teacher that is neither known nor a column."""
    if teacher is not None and teacher not in (*TEACHERS, *columns):
        raise InputError(
            f"--teacher {teacher} is neither known nor a column of the table."
            f"{did_you_mean(teacher, [*TEACHERS, 'none', *columns])} Use one of "
            f"{', '.join(TEACHERS)}, a column of risks, or none."
        )


def _policy(text: str) -> tuple[str, str]:
    name, equals, policy = text.rpartition("=")
    if policy not in POLICIES or (equals and not name):
        raise InputError(
            f"--missing {text!r}: write one of {', '.join(POLICIES)}, for all columns, or "
            "NAME=POLICY for one, as in --missing age=impute"
        )
    return name or "*", policy


def _pairs(texts: Sequence[str] | None, option: str) -> dict[str, str]:
    """Split NAME=VALUES at the last equals sign; an option given twice for a column adds up."""
    found: dict[str, str] = {}
    for text in texts or ():
        name, _, values = text.rpartition("=")
        if not name or not values.strip():
            raise InputError(
                f"{option} {text!r}: write NAME=VALUES, as in {option} {_LIKE[option]}"
            )
        found[name] = f"{found[name]},{values}" if name in found else values
    return found


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
            f"--cuts {name}={text}: {wrong[0]!r} is not a number. Write --cuts {name}=40,60"
        )
    return tuple(number for number in numbers.values() if number is not None)


def read_binner(text: str) -> dict[str, Any] | None:
    """Read the value of --binner: parameters of the binner, or None for no binner."""
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
    from netbenefit.binning import Binner  # late: it takes seconds

    known = Binner._get_param_names()
    if not isinstance(data, dict):
        raise InputError(
            f"--binner {path}: does not hold an object. Write {{…}} with {', '.join(known)}."
        )
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
