"""How databases write names, values and types, quoted so that none can be taken for SQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from netbenefit.cards.terms import Value
from netbenefit.common.checks import InputError

__all__ = ["DIALECTS", "Words"]

#: What ``str.strip`` takes away, and hence what blank text may consist of.
_BLANKS = "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006"
_BLANKS += "\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
_ESCAPED = "".join(f"\\u{ord(char):04x}" for char in _BLANKS)
_CLASS = r"[\t-\r\x1c-\x1f\x85\pZ]"  # the same, as a regular expression
#: Text that is plainly a number.
_NUMBER = "^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?$"


class _Dialect(NamedTuple):
    """How a database says it; {} stands for a value."""

    double: str = "DOUBLE PRECISION"
    text: str = "VARCHAR"
    wide: str = "DECIMAL(38, 0)"  #: whole numbers beyond 64 bits
    quote: str = '"'
    divide: str = "/"  #: of whole numbers, without a remainder
    nan: str = "{0} <> {0}"
    trim: str = "TRIM({0})"
    is_number: str | None = None  #: whether text is plainly a number; None: it has to be
    is_text: str | None = None  #: whether a column holds text; None: nobody knows
    is_flag: str = "1 = 0"  #: whether a column holds booleans
    no_level: str | None = None  #: whether a column's type has no levels: a flag, a real number
    parse: str = "{0}"  #: text that is plainly a number, made ready for the cast
    overflows: bool = False  #: whether a sum that is too large ends the query
    #: counts how many of a rising list of numbers {1} a value reaches; None: no function does
    reached: str | None = None
    fence: str = ""  #: ends a layer that must not be merged with the next


DIALECTS = {
    "ansi": _Dialect(),
    "duckdb": _Dialect(
        double="DOUBLE",
        wide="HUGEINT",
        divide="//",
        nan="ISNAN({0})",
        trim=f"REGEXP_REPLACE({{0}}, '^{_CLASS}+|{_CLASS}+$', '', 'g')",
        is_number=f"REGEXP_MATCHES({{0}}, '{_NUMBER}')",
        is_text="TYPEOF({0}) = 'VARCHAR'",
        is_flag="TYPEOF({0}) = 'BOOLEAN'",
        no_level="TYPEOF({0}) IN ('BOOLEAN', 'FLOAT', 'DOUBLE') OR TYPEOF({0}) LIKE 'DECIMAL%'",
    ),
    "postgresql": _Dialect(
        text="TEXT",
        wide="NUMERIC",
        nan="{0} = 'NaN'",
        trim=f"BTRIM({{0}}, E'{_ESCAPED}')",
        # Exponents beyond four digits are no number to NUMERIC.
        is_number=f"{{0}} ~ '{_NUMBER}' AND NOT {{0}} ~ '[eE][+-]?0*[1-9][0-9]{{{{4}}}}'",
        is_text="PG_TYPEOF({0}) IN ('text', 'character varying', 'character')",
        is_flag="PG_TYPEOF({0}) = 'boolean'::REGTYPE",
        no_level=("PG_TYPEOF({0}) IN ('boolean', 'real', 'double precision', 'numeric')"),
        parse=(
            "CASE WHEN ABS(CAST({0} AS NUMERIC)) > 1.7976931348623157e308 THEN 'NaN' "
            "WHEN ABS(CAST({0} AS NUMERIC)) < 2.5e-324 THEN '0' ELSE {0} END"
        ),
        overflows=True,
        reached="WIDTH_BUCKET({0}, ARRAY[{1}])",
        # Else the planner writes each expression out wherever it is used, layer by layer.
        fence="\nOFFSET 0",
    ),
    "spark": _Dialect(
        double="DOUBLE",
        text="STRING",
        quote="`",
        divide="DIV",
        nan="ISNAN({0})",
        trim=f"TRIM(BOTH '{_ESCAPED}' FROM {{0}})",
        is_number=f"{{0}} RLIKE '{_NUMBER}'",
        is_text="TYPEOF({0}) = 'string'",
        is_flag="TYPEOF({0}) = 'boolean'",
        no_level=("TYPEOF({0}) IN ('boolean', 'float', 'double') OR TYPEOF({0}) LIKE 'decimal%'"),
        reached="SIZE(FILTER(ARRAY({1}), nb_end -> nb_end <= {0}))",
    ),
}


class Words:
    """Names and values, quoted so that none of them can be taken for SQL.

    Their line breaks are written as NUL, which they cannot hold, so that lines can be indented.

    >>> Words("ansi").name('a"b'), Words("spark").name("a`b"), Words("duckdb").number(0.1)
    ('"a""b"', '`a``b`', '0.1e0')
    """

    def __init__(self, dialect: str) -> None:
        self.dialect = dialect
        self.say = DIALECTS[dialect]

    @staticmethod
    def finished(text: str) -> str:
        return text.replace("\0", "\n")

    def name(self, name: str) -> str:
        if not isinstance(name, str) or not name or "\0" in name:
            raise InputError(f"the name {name!r} cannot stand in SQL. Use a text without NUL.")
        if self.dialect == "postgresql" and len(name.encode()) > 63:  # it would cut it, silently
            raise InputError(
                f"the name {name!r} is longer than the 63 bytes that PostgreSQL keeps of a name. "
                "Rename the column."
            )
        if self.dialect == "spark" and "${" in name:  # replaced before Spark reads the query
            raise InputError(f"the name {name!r} cannot stand in Spark SQL. Rename the column.")
        quote = self.say.quote
        return quote + name.replace(quote, 2 * quote).replace("\n", "\0") + quote

    def literal(self, text: str) -> str:
        if "\0" in text:
            raise InputError(f"the level {text!r} holds a NUL, which SQL cannot. Rename it.")
        start = "'"
        if self.dialect == "spark":  # 'it''s' is "its" there, and ${x} a variable
            text = text.replace("\\", "\\\\").replace("'", "\\'").replace("$", "\\u0024")
        else:
            text = text.replace("'", "''")
            if self.dialect == "postgresql" and "\\" in text:
                # E'…' means the same whatever standard_conforming_strings is.
                start, text = "E'", text.replace("\\", "\\\\")
        return start + text.replace("\n", "\0") + "'"

    def number(self, value: float) -> str:
        """Write a number that is read back as the same double (0.1 alone would be a decimal)."""
        if isinstance(value, int):
            return str(value)
        text = repr(float(value))
        text = text if "e" in text else f"{text}e0"
        return f"{text}D" if self.dialect == "spark" else text

    def value(self, value: Value) -> str:
        return self.literal(value) if isinstance(value, str) else self.number(value)

    def listed(self, values: Sequence[Value]) -> str:
        return f"({', '.join(map(self.value, values))})"

    def cast(self, what: str, kind: str) -> str:
        return f"CAST({what} AS {getattr(self.say, kind, kind)})"
