"""Help that reads well: options in groups, and no types that say nothing."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand, TyperGroup

#: Groups of options, in their order, by the names of parameters; the others say their own.
PANELS = {
    "Rows and outcome": (
        *("target", "positive", "sample_weight", "holdout", "labels", "reference", "stream"),
        *("keep", "demo"),
    ),
    "Decisions": ("thresholds", "weights", "at"),
    "Validation": (
        *("folds", "repeats", "nested", "inner_folds", "bootstrap", "models", "compare"),
        *("sample", "allow_unchecked"),
    ),
    "How columns are read": ("drop",),
    "Limits on the card": ("max_size", "raw_points", "max_features", "max_questions"),
    "Search": (
        *("teacher", "prior_strength", "penalty", "solver", "time_limit", "seed", "jobs"),
        "what",
    ),
    "Output": (
        *("out", "certificate", "csv", "plot", "html", "journal", "as_json", "quiet", "debug"),
        *("port", "browser", "help"),
    ),
}
_PANEL_OF = {name: panel for panel, names in PANELS.items() for name in names}
_ORDER = [
    *("Rows and outcome", "How files are read", "Decisions", "Validation", "How columns are read"),
    *("Limits on the card", "Search", "Output"),
]


def _arranged(params: list[Any], *, grouped: bool) -> list[Any]:
    """Put options into their groups, and hide the types of flags and arguments."""
    for one in params:
        is_argument = one.param_type_name == "argument"
        if is_argument or getattr(one, "is_flag", False):
            one.display_type_rich = _nothing
        if grouped and not is_argument and getattr(one, "rich_help_panel", None) is None:
            one.rich_help_panel = _PANEL_OF.get(one.name)
    places = {panel: place for place, panel in enumerate(_ORDER)}

    def place(one: Any) -> int:
        return places.get(getattr(one, "rich_help_panel", None) or "", -1)

    return sorted(params, key=place)


def _nothing(ctx: Any) -> str:
    return ""


#: What is said of a value that cannot be read, and what a user is told instead.
_PLAINLY = {
    "Value error, ": "",
    "Input should be a valid integer, unable to parse string as an integer": (
        "write a whole number."
    ),
    "Input should be a valid number, unable to parse string as a number": "write a number.",
}


class Command(TyperCommand):
    """A command whose options are shown in groups, and whose errors are in plain words."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the command line."""
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            for said, plainly in _PLAINLY.items():
                if isinstance(text := getattr(error, "message", None), str):
                    error.message = text.replace(said, plainly)  # type: ignore[attr-defined]
            raise

    def get_params(self, ctx: Any) -> list[Any]:
        """Return arguments and options, as they are shown."""
        return _arranged(super().get_params(ctx), grouped=True)


class Group(TyperGroup):
    """The program, whose own options are shown alike."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return options, as they are shown."""
        return _arranged(super().get_params(ctx), grouped=False)
