"""A card as SQL: a query, or two expressions to paste into one.

The query has layers: raw columns with a type, their values after codes and missing values, combined
columns, units, score, risk.  So nothing is written twice, and the names in between never clash with
those of the table.  Numbers are compared and rounded in double precision, and added up as whole
numbers.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from netbenefit.cards import (
    INT64,
    ColumnLogic,
    Condition,
    InputColumn,
    PerUnit,
    Scorecard,
    check_card,
    plain_number,
)
from netbenefit.common import LARGEST_EXACT, InputError, Value, check_option, to_step
from netbenefit.export.scaling import Scaling

# -- how databases write names, values and types, quoted so that none can be taken for SQL ---------


#: What ``str.strip`` takes away, and hence what blank text may consist of.
_BLANKS = "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006"
_BLANKS += "\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
_ESCAPED = "".join(f"\\u{ord(char):04x}" for char in _BLANKS)
_CLASS = r"[\t-\r\x1c-\x1f\x85\pZ]"  # the same, as a regular expression
#: Text that is plainly a number.
_NUMBER = "^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?$"


class _Syntax(NamedTuple):
    """How a database writes it; {} stands for a value."""

    engines: str  #: which databases understand it
    double: str = "DOUBLE PRECISION"
    text: str = "VARCHAR"
    wide: str = "DECIMAL(38, 0)"  #: whole numbers beyond 64 bits
    quote: str = '"'
    divide: str = "/"  #: of whole numbers, without a remainder
    nan: str = "{0} <> {0}"
    trim: str = "TRIM({0})"
    is_number: str | None = None  #: whether text is plainly a number; None: it has to be
    is_text: str | None = None  #: whether a column holds text; None: not known
    is_flag: str = "1 = 0"  #: whether a column holds booleans
    no_level: str | None = None  #: whether a column's type has no levels: a flag, a real number
    parse: str = "{0}"  #: text that is plainly a number, made ready for the cast
    overflows: bool = False  #: whether a sum that is too large ends the query
    #: counts how many of a rising list of numbers {1} a value reaches; None: no function does
    reached: str | None = None
    fence: str = ""  #: ends a layer that must not be merged with the next


DIALECTS = {
    "ansi": _Syntax(
        'databases that have LATERAL, MOD and DOUBLE PRECISION, quote names as "this", and text '
        "without escapes. Tested in DuckDB and PostgreSQL. Not for MySQL, SQL Server, BigQuery, "
        "Spark"
    ),
    "duckdb": _Syntax(
        "DuckDB",
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
    "postgresql": _Syntax(
        "PostgreSQL",
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
    "spark": _Syntax(
        "Spark SQL, 3.4 or later",
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


class SqlDialect:
    """Names and values, quoted so that none of them can be taken for SQL.

    Their line breaks are written as NUL, which they cannot hold, so that lines can be indented.
    """

    def __init__(self, dialect: str) -> None:
        self.dialect = dialect
        self.syntax = DIALECTS[dialect]

    def name(self, name: str) -> str:
        """Quote a name."""
        if not isinstance(name, str) or not name or "\0" in name:
            raise InputError(f"the name {name!r} cannot stand in SQL. Use a text without NUL.")
        if self.dialect == "postgresql" and len(name.encode()) > 63:  # it would cut it, silently
            raise InputError(
                f"the name {name!r} is longer than the 63 bytes that PostgreSQL keeps of a name. "
                "Rename the column."
            )
        if self.dialect == "spark" and "${" in name:  # replaced before Spark reads the query
            raise InputError(f"the name {name!r} cannot stand in Spark SQL. Rename the column.")
        quote = self.syntax.quote
        return quote + name.replace(quote, 2 * quote).replace("\n", "\0") + quote

    def literal(self, text: str) -> str:
        """Quote a text."""
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
        """Write a number or a text."""
        return self.literal(value) if isinstance(value, str) else self.number(value)

    def listed(self, values: Sequence[Value]) -> str:
        """Write values for IN."""
        return f"({', '.join(map(self.value, values))})"

    def cast(self, what: str, kind: str) -> str:
        """Cast to a type by the dialect's name for it."""
        return f"CAST({what} AS {getattr(self.syntax, kind, kind)})"


# -- what a value has to be for its row to get a score, and how far codes can go -------------------


@dataclass
class Requirement:
    """What has to hold of a value for its row to get a score."""

    present: bool = False
    low: float | None = None
    high: float | None = None

    def within(self, low: float | None, high: float | None) -> None:
        """Narrow the range."""
        self.low = max((x for x in (self.low, low) if x is not None), default=None)
        self.high = min((x for x in (self.high, high) if x is not None), default=None)

    def text(self, value: str, sql: SqlDialect) -> str | None:
        """Write it in SQL; None where nothing is required."""
        ends = [(f"{value} >=", self.low), (f"{value} <=", self.high)]
        if self.low is not None and self.high == -self.low:
            ends = [(f"ABS({value}) <=", self.high)]
        tests = [f"{test} {sql.number(end)}" for test, end in ends if end is not None]
        if not tests:
            return f"{value} IS NOT NULL" if self.present else None
        within = " AND ".join(tests)
        return within if self.present else f"({value} IS NULL OR {within})"


def largest_exact(decimals: int) -> float:
    """Return the largest number whose steps a double counts exactly."""
    steps = float(10**decimals)
    number = math.nextafter(LARGEST_EXACT / steps, math.inf)
    while number * steps > LARGEST_EXACT:
        number = math.nextafter(number, 0)
    return number


_LARGEST = sys.float_info.max


def to_sql(
    card: Scorecard,
    *,
    dialect: str = "ansi",
    table: str | Sequence[str] | None = None,
    score_as: str = "card_score",
    risk_as: str = "card_risk",
    scaling: Scaling | None = None,
    scaled_as: str = "card_scaled_score",
) -> str:
    """Write a card as SQL.

    Every row gets the score and the risk that the card gives it, NULL where the card refuses the
    row.  A column of numbers may have any type that casts to double precision (PostgreSQL: cast
    booleans to integers before); a column of levels may be text or whole numbers; with other types
    no row has a score.  Text is compared by the database's rules: a collation that ignores case
    takes "iii" for "III".

    Parameters
    ----------
    card : Scorecard
    dialect : {"ansi", "duckdb", "postgresql", "spark"}
        "ansi" is for databases with LATERAL, MOD, FLOOR and, in literals, no escapes but doubled
        quotes (not MySQL); there, blank text is text of spaces only, and text in a column of
        numbers is an error; PostgreSQL should get its own dialect, which it plans much faster.
        "spark" needs Spark 3.4.
    table : str or sequence of str, optional
        A table, or a path to it such as ``("clinic", "patients")``: the result is a query that adds
        two columns to the table's.  Without one, it is a list of two expressions for the SELECT of
        your own query; a query with a table is faster.
    score_as, risk_as : str
        Names of the two columns; the table must have no column of these names.
    scaling : Scaling, optional
        Adds a third column, the scaled score, called ``scaled_as``.

    Returns
    -------
    str
        Without a semicolon at the end; a comment at the start says which databases it is for.

    Examples
    --------
    >>> from netbenefit import Rule, Thresholds
    >>> card = Scorecard([Rule(Condition("age", ">=", 52), 2)], [(0, 0.1), (1, 0.6)],
    ...     Thresholds.of([0.5]))
    >>> print(to_sql(card, table="patients").splitlines()[1])
    SELECT netbenefit_row.*, nb6.nb_score AS "card_score", nb7.nb_risk AS "card_risk"
    """
    sql = SqlDialect(check_option("dialect", dialect, DIALECTS))
    names = [score_as, risk_as] + ([] if scaling is None else [scaled_as])
    quoted = [sql.name(name) for name in names]
    folded = {name.casefold() for name in names}
    if len(folded) < len(names):
        raise InputError(f"the new columns {', '.join(quoted)} need different names.")
    writer = _Writer(card, sql, "" if table is None else "netbenefit_row.", scaling)
    clash = folded & {name.casefold() for name in card.features}
    if clash:
        raise InputError(f"{min(clash)!r} is a column that the card reads. Use another name.")
    if table is None:
        parts = [
            f"(\n  SELECT {column}\n  FROM (\n{_indented(query, 4)}\n  ) AS nb\n) AS {name}"
            for column, query, name in zip(writer.found, writer.nested(), quoted, strict=True)
        ]
        query = ",\n".join(parts)
    else:
        path = [table] if isinstance(table, str) else list(table)
        if not path:
            raise InputError("the path to the table is empty. Name the table.")
        place = ".".join(map(sql.name, path))
        added = ", ".join(f"{a} AS {b}" for a, b in zip(writer.found, quoted, strict=True))
        query = f"SELECT netbenefit_row.*, {added}\nFROM {place} AS netbenefit_row\n"
        query += writer.chained()
    return f"/* For {sql.syntax.engines}. */\n" + query.replace("\0", "\n")


def _columns(layer: Sequence[tuple[str, str]]) -> str:
    return ",\n".join(_indented(f"{what} AS {name}", 2) for name, what in layer)


def _indented(text: str, by: int) -> str:
    # Not textwrap.indent, which also breaks lines at characters that levels may hold.
    return "\n".join(" " * by + line for line in text.split("\n"))


class _Writer:
    """All layers of a card's query."""

    def __init__(self, card: Scorecard, sql: SqlDialect, row: str, scaling: Scaling | None) -> None:
        self.logic, self.risks = check_card(card)._logic, card._risk_rows
        self.sql, self.syntax, self.row = sql, sql.syntax, row
        names = [one.name.casefold() for one in self.logic.inputs]
        self.prefix = "nb"
        while any(name.startswith(self.prefix) for name in names):
            self.prefix += "_"  # DuckDB would take our name in place of the table's column
        most = self.logic.unit + self.logic.bounded_units
        most += sum(self.logic.open_factors) * (LARGEST_EXACT + 1)
        self.kind = "BIGINT" if most < INT64 else "wide"
        self.layers: list[list[tuple[str, str]]] = [[] for _ in range(8)]
        self.requirements: dict[str, Requirement] = {}
        self.refused: list[str] = []  #: what must not hold of a row
        reads = enumerate(self.logic.reads, start=1)
        self.values = {one: self._input(one, k) for k, one in reads}
        columns = enumerate(self.logic.columns, start=1)
        units = self._sum([part for k, column in columns for part in self._units(column, k)])
        score = self._score(units)
        #: The names of the score, the risk and the scaled score.
        self.found = [score, self._risk(score)]
        if scaling is not None:
            self.found.append(self._scaled(score, scaling))

    # -- layers ------------------------------------------------------------------------------------

    def _put(self, layer: int, name: str, what: str) -> str:
        """Add a column to a layer, and return its name in later layers."""
        self.layers[layer].append((f"{self.prefix}_{name}", what))
        place = f"{self.prefix}{layer}." if self.row else ""
        return f"{place}{self.prefix}_{name}"

    def nested(self) -> list[str]:
        """Return the queries of a row's score, of its risk, and of its scaled score."""
        queries = [""]
        for layer in self.layers:
            if layer:
                columns, inner = _columns(layer), _indented(queries[-1], 2)
                around = f"SELECT *,\n{columns}\nFROM (\n{inner}\n) AS nb"
                query = around if queries[-1] else f"SELECT\n{columns}"
                queries.append(query + self.syntax.fence)
        scored = len(queries) - 2
        return [queries[scored], *[queries[-1]] * (len(self.found) - 1)]

    def chained(self) -> str:
        """Return the layers as joins, each of which knows those before (planned fastest)."""
        layers = [(f"{self.prefix}{k}", layer) for k, layer in enumerate(self.layers) if layer]
        return "\n".join(
            "CROSS JOIN LATERAL (\n  SELECT\n"
            f"{_indented(_columns(layer) + self.syntax.fence, 2)}\n) AS {name}"
            for name, layer in layers
        )

    def _sum(self, units: Sequence[str]) -> str:
        """Add up units; NULL where a value is missing or unusable that has to be there."""
        total = "\n+ ".join([self.sql.cast(str(self.logic.base), self.kind), *units])
        tests = [required.text(value, self.sql) for value, required in self.requirements.items()]
        tests += [f"NOT ({test})" for test in self.refused]
        test = "\n  AND ".join(filter(None, tests))
        return self._put(5, "units", f"CASE WHEN {test}\nTHEN {total} END" if test else total)

    def _score(self, units: str) -> str:
        unit, score = self.logic.unit, units
        if unit > 1:  # exact: take the remainder away, also that of a negative number
            rest = f"MOD(MOD({units}, {unit}) + {unit}, {unit})"
            score = f"({units} - {rest}) {self.syntax.divide} {unit}"
        score = self.sql.cast(score, "BIGINT")
        if self.kind == "wide":
            score = f"CASE WHEN {units} BETWEEN {-INT64} AND {INT64 - 1} THEN {score} END"
        return self._put(6, "score", score)

    def _risk(self, score: str) -> str:
        lines = [f"CASE WHEN {score} IS NULL THEN NULL"]
        for row in reversed(self.risks):
            when = "ELSE" if row.low is None else f"WHEN {score} >= {row.low} THEN"
            lines.append(f"  {when} {self.sql.number(float(row.risk))}")
        return self._put(7, "risk", self.sql.cast("\n".join([*lines, "END"]), "double"))

    def _scaled(self, score: str, scaling: Scaling) -> str:
        # In wide numbers: the product may pass 64 bits where the score does not.
        times, more, own = (
            self.sql.cast(str(part), "wide") for part in (scaling.multiplier, scaling.offset, score)
        )
        scaled = f"{own} * {times} + {more}"
        fits = f"{scaled} BETWEEN {-INT64} AND {INT64 - 1}"
        whole = self.sql.cast(scaled, "BIGINT")
        return self._put(7, "scaled", f"CASE WHEN {fits} THEN {whole} END")

    # -- reading -----------------------------------------------------------------------------------

    def _input(self, one: InputColumn, k: int) -> str:
        """Write the layers that read a raw column, and return the name of its value."""
        texts, numbers = one.text_codes, one.number_codes
        column = self.row + self.sql.name(one.name)
        required = Requirement(one.refuse)
        present, fill = "", one.fill
        tests: list[str] = []
        if one.kind == "number":
            required.within(-_LARGEST, _LARGEST)
            # The code "-9" beside −9 only means that some tables hold text.
            spelt = any(plain_number(code) is None for code in texts)
            if one.has_reading and (one.text or spelt):
                raw = self._spelt_number(column, texts, k)
            else:
                raw = self._put(0, f"raw{k}", self.sql.cast(column, "double"))
                tests.append(self.syntax.nan.format(raw))
            if numbers:
                tests.append(f"{raw} IN {self.sql.listed(numbers)}")
        elif one.kind == "any":
            raw = self._put(0, f"raw{k}", column)
            tests = self._any_missing(raw, one)
            present, fill = "1", None if fill is None else 1
        else:
            raw = self._put(0, f"raw{k}", self.sql.cast(column, "text"))
            tests = self._blank(raw, texts)
            if self.syntax.no_level is not None:
                self.refused.append(self.syntax.no_level.format(column))
        value = self._put(2, str(k), self._filled(raw, present or raw, tests, fill))
        self.requirements[value] = required
        return value

    def _filled(self, raw: str, present: str, tests: list[str], fill: Value | None) -> str:
        """Write a value: what is missing, also by some tests, becomes NULL or what fills it."""
        if raw == present and fill is None and not tests:
            return raw
        missing = " OR ".join([f"{raw} IS NULL", *tests])
        then = "NULL" if fill is None else self.sql.value(fill)
        return f"CASE WHEN {missing} THEN {then} ELSE {present} END"

    def _blank(self, raw: str, codes: Sequence[str]) -> list[str]:
        """Test when text is blank or a code; spaces around a code do not matter."""
        tests = [f"{self.syntax.trim.format(raw)} IN {self.sql.listed(['', *codes])}"]
        padded = [code for code in codes if code != code.strip()]
        return tests + ([f"{raw} IN {self.sql.listed(padded)}"] if padded else [])

    def _spelt_number(self, column: str, codes: Sequence[str], k: int) -> str:
        """Read numbers that come as text; other text is no number, and refused as such."""
        text = self.syntax.trim.format(self.sql.cast(column, "text"))
        if self.syntax.is_text is not None:  # a column that is none after all
            is_text, is_flag = (
                self.syntax.is_text.format(column),
                self.syntax.is_flag.format(column),
            )
            flag = f"CASE {text} WHEN 'true' THEN '1' WHEN 'false' THEN '0' END"
            nan = f"NOT ({is_text}) AND LOWER({text}) = 'nan'"
            text = f"CASE WHEN {is_flag} THEN {flag} WHEN {nan} THEN NULL ELSE {text} END"
        bare = self._put(0, f"text{k}", text)
        missing = f"{bare} IS NULL OR {bare} IN {self.sql.listed(['', *codes])}"
        number = self._parsed(bare, self.sql.cast("'NaN'", "double"))
        return self._put(1, f"raw{k}", f"CASE WHEN {missing} THEN NULL ELSE {number} END")

    def _parsed(self, text: str, otherwise: str) -> str:
        number = self.sql.cast(self.syntax.parse.format(text), "double")
        if self.syntax.is_number is None:
            return number
        return f"CASE WHEN {self.syntax.is_number.format(text)} THEN {number} ELSE {otherwise} END"

    def _any_missing(self, raw: str, one: InputColumn) -> list[str]:
        """Test when a column of any type is missing: a number is NaN, text is blank, or a code."""
        as_text = self.sql.cast(raw, "text")
        blank, listed = self._blank(as_text, one.text_codes), self.sql.listed(one.number_codes)
        if self.syntax.is_text is None:
            coded = [f"{raw} IN {listed}"] if one.number_codes else []
            return [self.syntax.nan.format(raw), *blank, *coded]
        is_text = self.syntax.is_text.format(raw)
        tests = [f"CASE WHEN {is_text} THEN {' OR '.join(blank)} ELSE LOWER({as_text}) = 'nan' END"]
        if one.number_codes:
            number = self._parsed(self.syntax.trim.format(as_text), "NULL")
            test = f"{number} IN {listed}"
            tests.append(test if one.text else f"NOT {is_text} AND {test}")
        return tests

    def _combined(self, column: ColumnLogic, k: int) -> str:
        """Write the layers that combine columns, and return the name of the result."""
        parts = [self.values[one] for one in column.inputs]
        whole = " + ".join(parts)
        bounded = column.combine == "sum" and self.syntax.overflows
        if bounded:  # an overflow would end the query: numbers near it have no score
            large = " OR ".join(f"ABS({part}) > 1e307" for part in parts)
            nan = self.sql.cast("'NaN'", "double")
            whole = f"CASE WHEN {large} THEN {nan} ELSE {whole} END"
        if column.combine != "sum":  # GREATEST and LEAST would ignore missing values
            sign = ">=" if column.combine == "max" else "<="
            ways = [f"CASE WHEN {' OR '.join(f'{part} IS NULL' for part in parts)} THEN NULL"]
            for i, part in enumerate(parts[:-1], start=1):
                tests = " AND ".join(f"{part} {sign} {other}" for other in parts[i:])
                ways.append(f"WHEN {tests} THEN {part}")
            whole = " ".join([*ways, f"ELSE {parts[-1]} END"])
        codes = column.number_codes
        raw = self._put(3, f"of{k}", whole)
        coded = [f"{raw} IN {self.sql.listed(codes)}"] if codes else []
        value = self._put(4, f"all{k}", self._filled(raw, raw, coded, column.fill))
        ends = (-_LARGEST, _LARGEST) if bounded else (None, None)
        self.requirements[value] = Requirement(False, *ends)
        return value

    # -- rules -------------------------------------------------------------------------------------

    def _units(self, column: ColumnLogic, k: int) -> list[str]:
        """Return the units that each rule of a column brings."""
        value = self._combined(column, k) if column.combine else self.values[column.inputs[0]]
        required = self.requirements[value]
        required.present |= not column.may_miss
        units = []
        for term, factor in column.terms:
            if isinstance(term, Condition):
                what = f"CASE WHEN {self._condition(term, value)} THEN {factor} ELSE 0 END"
            else:
                if not term.log:
                    most = largest_exact(term.decimals)
                    low, high = term.lower is None, term.upper is None
                    required.within(-most if low else None, most if high else None)
                count = self._log_steps if term.log else self._steps
                what = count(term, factor, value)
                if column.may_miss:
                    what = f"CASE WHEN {value} IS NULL THEN 0 ELSE {what} END"
            units.append(what)
        return units

    def _condition(self, term: Condition, value: str) -> str:
        if term.op == "missing":
            return f"{value} IS NULL"
        if term.op in ("in", "not in"):
            return f"{value} {term.op.upper()} {self.sql.listed(term.values)}"
        written = [self.sql.value(each) for each in term.values]
        if term.op == "between":
            return f"{value} >= {written[0]} AND {value} < {written[1]}"
        sign = {"==": "=", "!=": "<>"}.get(term.op, term.op)
        return f"{value} {sign} {written[0]}"

    def _steps(self, term: PerUnit, factor: int, value: str) -> str:
        """Count decimal steps; at the ends their number is known."""
        number = self.sql.number
        ends = [
            f"WHEN {value} {sign} {number(end)} THEN {factor * to_step(end, term.decimals)}"
            for sign, end in (("<=", term.lower), (">=", term.upper))
            if end is not None
        ]
        scaled = f"{value} * {10**term.decimals}" if term.decimals else value
        whole = self.sql.cast(f"FLOOR({scaled} + {number(0.5)})", "BIGINT")
        times = str(factor) if self.kind == "BIGINT" else self.sql.cast(str(factor), self.kind)
        between = f"{whole} * {times}"
        return f"CASE {' '.join(ends)} ELSE {between} END" if ends else between

    def _log_steps(self, term: PerUnit, factor: int, value: str) -> str:
        """Find the last end that a value reaches, by halves where no function counts them."""
        first, ends = term.log_steps()
        if self.syntax.reached is not None and ends:
            listed = ", ".join(map(self.sql.number, ends))
            return f"({first} + {self.syntax.reached.format(value, listed)}) * {factor}"

        def found(low: int, high: int) -> str:
            if low == high:
                return str(factor * (first + low))
            middle = (low + high) // 2
            reaches = f"{value} >= {self.sql.number(ends[middle])}"
            return (
                f"CASE WHEN {reaches} THEN {found(middle + 1, high)} ELSE {found(low, middle)} END"
            )

        return found(0, len(ends))
