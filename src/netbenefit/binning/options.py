"""The binner's parameters, checked: options for columns, and how columns are cut."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from netbenefit.binning.cuts import METHODS, CutSettings
from netbenefit.binning.missing import POLICIES
from netbenefit.binning.roles import ColumnOptions
from netbenefit.binning.weights import weight_of_one_row
from netbenefit.cards import COMBINE, PerUnit, check_value
from netbenefit.common import (
    FloatArray,
    InputError,
    Remedy,
    Value,
    check_count,
    check_names,
    shorten,
)
from netbenefit.metrics import Thresholds

#: What conditions can be like; the first by default.
_BINS = ("cumulative", "interval")
#: Rows that a bin has to hold, however small its share.
_FEWEST_ROWS = 10


def check_column_options(binner: Any, columns: Sequence[str]) -> ColumnOptions:
    """Check a binner's options for columns."""
    combine = _read_combine(binner.combine, columns)
    names = [*columns, *combine]
    cuts = _by_column("cuts", binner.cuts, names)
    special = _by_column("special", binner.special, names)
    ordered = _by_column("ordered", binner.ordered, names)
    missing = _words_by_column("missing", binner.missing, POLICIES, names)
    bins = _words_by_column("bins", binner.bins, _BINS, names)
    options = ColumnOptions(
        cuts={name: _read_cuts(name, values) for name, values in cuts.items()},
        per_unit=_read_units(binner.per_unit, names),
        categorical=frozenset(_names("categorical", binner.categorical, names)),
        ordered={name: _values("ordered", name, levels) for name, levels in ordered.items()},
        numeric=frozenset(_names("numeric", binner.numeric, names)),
        special={name: _values("special", name, codes) for name, codes in special.items()},
        combine=combine,
        drop=frozenset(_names("drop", binner.drop, columns)),
        missing=missing,
        cumulative=frozenset(name for name, choice in bins.items() if choice == "cumulative"),
    )
    _check_conflicts(options)
    return options


def read_settings(binner: Any, thresholds: Thresholds, weight: FloatArray) -> CutSettings:
    """Check how a binner cuts rows of these weights."""
    if binner.method not in METHODS:
        raise InputError(f"method={binner.method!r} is not known. Use one of {', '.join(METHODS)}.")
    for name, least in (("max_bins", 2), ("max_levels", 1), ("max_columns", 1)):
        check_count(getattr(binner, name), name, least)
    share = binner.min_share
    if isinstance(share, bool) or not isinstance(share, int | float | np.number):
        raise InputError(f"min_share={share!r} must be a number from 0 to 0.5.")
    if not 0 <= share <= 0.5:
        raise InputError(f"min_share={share!r} must be a share of the rows, from 0 to 0.5.")
    total = float(weight.sum())
    fewest = min(_FEWEST_ROWS * weight_of_one_row(weight), total / 5)
    return CutSettings(
        method=binner.method,
        max_bins=int(binner.max_bins),
        max_levels=int(binner.max_levels),
        min_mass=max(float(share) * total, fewest),
        round_cuts=bool(binner.round_cuts),
        thresholds=thresholds,
        max_columns=int(binner.max_columns),
    )


# -- one parameter each ----------------------------------------------------------------------------


def _check_known(parameter: str, given: Sequence[str], names: Sequence[str]) -> None:
    known = set(names)
    unknown = [name for name in given if name not in known]
    if unknown:
        raise InputError(
            f"{parameter} names unknown columns: {shorten(unknown)}; the columns are "
            f"{shorten(list(names), 10)}. Correct the names."
        )


def _names(parameter: str, given: Any, names: Sequence[str]) -> tuple[str, ...]:
    if given is None:
        return ()
    if isinstance(given, str) or not np.iterable(given):
        raise InputError(f"{parameter}={given!r} must be a list of column names.")
    listed = check_names(list(given))
    _check_known(parameter, listed, names)
    return listed


def _by_column(parameter: str, given: Any, names: Sequence[str]) -> dict[str, Any]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InputError(f"{parameter}={given!r} must be a mapping by column name.")
    found = {str(name): value for name, value in given.items()}
    _check_known(parameter, list(found), names)
    return found


def _words_by_column(
    parameter: str, given: Any, known: Sequence[str], names: Sequence[str]
) -> dict[str, str]:
    """One of the known words for every column; "*", or the first word, where none is given."""
    words: Mapping[str, Any] = given if isinstance(given, Mapping) else {"*": given}
    _check_known(parameter, [name for name in words if name != "*"], names)
    for name, word in words.items():
        if word not in known:
            where = "" if name == "*" else f" of column {name!r}"
            raise InputError(
                f"{parameter}={word!r}{where} is not known. Use one of {', '.join(known)}."
            )
    return {name: words.get(name, words.get("*", known[0])) for name in names}


def _values(parameter: str, name: str, given: Any) -> tuple[Value, ...]:
    if isinstance(given, str) or not np.iterable(given):
        given = [given]
    values = tuple(check_value(v, f"{parameter} of column {name!r}") for v in given)
    if not values or len(set(values)) < len(values):
        raise InputError(
            f"{parameter} of column {name!r} must list different values, at least one."
        )
    return values


def _read_cuts(name: str, given: Any) -> tuple[float, ...]:
    cuts = _values("cuts", name, given)
    numbers = [cut for cut in cuts if not isinstance(cut, str)]
    if len(numbers) < len(cuts) or not all(map(math.isfinite, numbers)):
        raise InputError(f"cuts of column {name!r} must be numbers, not {given!r}.")
    return tuple(sorted(numbers))


def _read_units(given: Any, names: Sequence[str]) -> dict[str, PerUnit | None]:
    if not isinstance(given, Mapping):
        return dict.fromkeys(_names("per_unit", given, names))
    units = _by_column("per_unit", given, names)
    for name, unit in units.items():
        if unit is not None and not isinstance(unit, PerUnit):
            raise InputError(
                f"per_unit of column {name!r} must be PerUnit({name!r}, …) or None, not {unit!r}."
            )
        if unit is not None and unit.feature != name:
            raise InputError(
                f"per_unit of column {name!r} is for column {unit.feature!r}. Name the same column."
            )
    return units


def _read_combine(given: Any, columns: Sequence[str]) -> dict[str, tuple[str, tuple[str, ...]]]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InputError(f"combine={given!r} must be a mapping: new name to (how, columns).")
    found = {}
    for name, recipe in given.items():
        if not isinstance(name, str) or not name or name in columns:
            raise InputError(f"combine makes column {name!r}: choose a name that is not taken.")
        if not (isinstance(recipe, tuple | list) and len(recipe) == 2 and recipe[0] in COMBINE):
            raise InputError(
                f"combine of column {name!r} must be (how, columns) with how one of "
                f"{', '.join(COMBINE)}, not {recipe!r}."
            )
        sources = _names(f"combine of column {name!r}", recipe[1], columns)
        if not sources:
            raise InputError(f"combine of column {name!r} names no columns.")
        found[name] = (str(recipe[0]), sources)
    return found


def _check_conflicts(options: ColumnOptions) -> None:
    kinds = {
        "cuts": set(options.cuts),
        "per_unit": set(options.per_unit),
        "categorical": set(options.categorical),
        "ordered": set(options.ordered),
    }
    kinds["numeric"] = set(options.numeric) - kinds["cuts"] - kinds["per_unit"]
    used = {name: "combine" for _, sources in options.combine.values() for name in sources}
    seen: dict[str, str] = dict(used)
    for parameter, names in kinds.items():
        for name in sorted(names):
            if name in seen:
                raise InputError(
                    f"column {name!r} is named by ",
                    _flag(seen[name]),
                    " and by ",
                    _flag(parameter),
                    ". Choose one.",
                )
            seen[name] = parameter


def _flag(parameter: str) -> Remedy:
    """Name a parameter by its option, where it has one; others stand in a file."""
    known = parameter in ("categorical", "numeric", "cuts", "missing", "special", "drop")
    return Remedy(parameter, f"--{parameter}" if known else f'"{parameter}"')
