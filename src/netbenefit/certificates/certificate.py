"""Certificates: what was solved, what was found, and why nothing is better, to be rechecked.

The format is described in ``docs/certificate_format.md``, for those who would rather write their
own verifier than use :func:`netbenefit.certificates.verify`.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from netbenefit._version import __version__
from netbenefit.binning import FittedBins
from netbenefit.cards import PerUnit, Scorecard, Term, starting_points
from netbenefit.certificates import statement as read
from netbenefit.certificates.statement import (
    Answer,
    Claim,
    DataDigest,
    Lesson,
    Statement,
    ValueScale,
)
from netbenefit.common import (
    InputError,
    IntArray,
    check_object,
    parse,
    read_text,
    shorten,
    write_bytes,
)
from netbenefit.data import PatternTable
from netbenefit.problem import Boxes, IntegerProblem, Problem, Proof, SolverResult

if TYPE_CHECKING:  # the judge reads this module, and needs no teacher
    from netbenefit.teachers import Taught

# -- fingerprints: of a pattern table, and of what a certificate says ------------------------------
# They are checksums, not signatures: anyone who changes a file can recompute them.  What still
# fails then is the arithmetic, which :mod:`netbenefit.certificates.judge` does again.


def canonical(data: Any) -> Iterator[bytes]:
    """JSON with sorted keys, no spaces, in UTF-8, in pieces: one text for one meaning."""
    encoder = json.JSONEncoder(
        sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    return (piece.encode() for piece in encoder.iterencode(data))


def json_digest(data: Any) -> str:
    """SHA-256 of :func:`canonical`, in hexadecimal."""
    digest = hashlib.sha256()
    for piece in canonical(data):
        digest.update(piece)
    return digest.hexdigest()


def pattern_order(table: PatternTable) -> IntArray:
    """Patterns in lexicographic order of their codes."""
    order: IntArray = np.lexsort(table.codes.T[::-1])
    return order


def table_digest(table: PatternTable) -> str:
    """SHA-256 of the distinct rows and their outcomes, whatever the order and format of the file.

    Hashed are, one after the other,

    1. the canonical JSON of ``{"columns": P, "decimals": […], "masses": "int64" or "float64",
       "names": […], "patterns": n}`` and a line feed,
    2. the codes, n rows of P little-endian int64, rows in lexicographic order,
    3. the n numbers of rows with the event in that order, then of those without, little-endian, as
       int64 or (where some weight is not whole) float64.

    Real weights of equal rows are added in the order of the file, so that with them another order
    can give another last digit, and so another digest.
    """
    kind = "int64" if table.is_whole else "float64"
    header = {
        "columns": table.n_features,
        "decimals": list(table.decimals),
        "masses": kind,
        "names": list(table.names),
        "patterns": len(table),
    }
    order = pattern_order(table)
    small = np.dtype(kind).newbyteorder("<")
    digest = hashlib.sha256(b"".join(canonical(header)) + b"\n")
    digest.update(np.ascontiguousarray(table.codes[order], dtype="<i8").tobytes())
    for rows in (table.events, table.others):
        digest.update(rows[order].astype(small).tobytes())
    return digest.hexdigest()


SCHEMA = "netbenefit.certificate"
VERSIONS = (6,)
#: Bytes that the text of any file may take, and as many more for each byte of a gzip file.
_FREE, _SHARE = 2**22, 30
#: Bytes that JSON may take when it is parsed, where each of these takes so many at most: text that
#: hardly costs anything when packed could become millions of objects.
_PARSED = 2**27
_TAKES = {"{": 300, "[": 72, ",": 40, '"': 32}


@dataclass(frozen=True, eq=False)
class Certificate:
    """What was solved, what was found, and why nothing is better.

    Examples
    --------
    >>> from netbenefit import PatternTable, Problem, Thresholds
    >>> from netbenefit.solvers.local_search import LocalSearch
    >>> table = PatternTable.from_arrays([[0], [1], [1]], [0, 1, 1], names=["fever"])
    >>> problem = Problem.build(table, Thresholds.of([0.5]), penalty=0.01)
    >>> certificate = make_certificate(problem, LocalSearch().solve(problem))
    >>> certificate.answer.objective
    Fraction(197, 300)
    """

    problem: Statement
    answer: Answer
    proof: Claim | None  #: None where nothing is proven
    package: str = __version__  #: version of the package that made it

    @property
    def problem_digest(self) -> str:
        """SHA-256 of the problem: data, thresholds, prices, limits."""
        return json_digest(read.write_problem(self.problem))

    def to_json(self) -> str:
        """Return the certificate as JSON."""
        problem = read.write_problem(self.problem)
        data = {
            "schema": SCHEMA,
            "version": VERSIONS[-1],
            "package": self.package,
            "problem": {"digest": json_digest(problem), **problem},
            "answer": read.write_record(self.answer),
            "proof": read.write_claim(self.proof),
        }
        signed = {**data, "digest": json_digest(data)}
        return json.dumps(signed, indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Certificate:
        """Read what :meth:`to_json` wrote; refuse a text that is damaged or was changed."""
        return cls._read(text, len(text))

    @classmethod
    def _read(cls, text: str, size: int) -> Certificate:
        """Read the text of a file of ``size`` bytes."""
        if sum(bytes_ * text.count(sign) for sign, bytes_ in _TAKES.items()) > _PARSED:
            raise InputError("not a certificate: it holds more values than any does.")
        data = parse(text, "a certificate", "The file is damaged or incomplete.")
        if not isinstance(data, dict) or data.get("schema") != SCHEMA:
            raise InputError(
                f'not a certificate: expected a JSON object with "schema": "{SCHEMA}".'
            )
        read.check_version(data.get("version"), VERSIONS)
        parts = ("schema", "version", "package", "problem", "answer", "proof", "digest")
        check_object(data, "", parts)
        _check_digest(data, "the certificate")
        problem = read.read_problem(data["problem"], "problem")
        _check_digest(data["problem"], "the certificate's problem")
        return cls(
            problem=problem,
            answer=read.read_answer(data["answer"], "answer"),
            proof=read.read_claim(data["proof"], "proof", size),
            package=read_text(data["package"], "package"),
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write JSON (gzip where the name ends in .gz), at once or not at all."""
        content = self.to_json().encode()
        if str(path).lower().endswith(".gz"):
            content = gzip.compress(content, mtime=0)  # equal certificates make equal files
        write_bytes(path, content)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Certificate:
        """Read a certificate that :meth:`save` wrote."""
        content = Path(path).read_bytes()
        size = len(content)
        try:
            if content.startswith(b"\x1f\x8b"):
                content = _unzip(content)
            return cls._read(content.decode("utf-8-sig"), size)
        except (OSError, EOFError, zlib.error):
            raise InputError(f"{path}: not a whole gzip file. Fetch it again.") from None
        except UnicodeDecodeError:
            raise InputError(f"{path}: not a certificate, since it is not UTF-8 text.") from None
        except InputError as error:
            raise InputError(f"{path}: ", *error.args) from None


def _unzip(content: bytes) -> bytes:
    """Decompress a gzip file, unless it grows out of proportion."""
    unzip, most = zlib.decompressobj(wbits=31), _FREE + _SHARE * len(content)
    text = unzip.decompress(content, most)
    if unzip.unconsumed_tail:
        raise InputError(f"it would take more than {most:,} bytes, which no certificate does.")
    if not unzip.eof or unzip.unused_data:
        raise EOFError
    return text


def _check_digest(data: dict[str, Any], what: str) -> None:
    rest = {key: value for key, value in data.items() if key != "digest"}
    try:
        digest = json_digest(rest)
    except (ValueError, RecursionError):  # an infinite number, half a character, endless brackets
        raise InputError(f"{what} holds what JSON cannot. The file is damaged.") from None
    if digest != data["digest"]:
        raise InputError(
            f"{what} was changed after it was written: its digest is another. Get the file as it "
            "was, or make a new one."
        )


def make_certificate(
    problem: Problem,
    result: SolverResult,
    card: Scorecard | None = None,
    *,
    terms: Sequence[Term] | None = None,
    bins: FittedBins | None = None,
    taught: Taught | None = None,
) -> Certificate:
    """Put on record what a solver found and proved; a bound without boxes is not claimed.

    Parameters
    ----------
    problem : Problem
    result : SolverResult
    card : Scorecard, optional
        The card that was made of the result; refused where it is another card.
    terms : sequence of Condition or PerUnit, optional
        How each column arises from a raw column; by default each column is its own, per unit.
    bins : FittedBins, optional
        What a binner has learnt, where it made the columns.
    taught : Taught, optional
        What a teacher added, where the problem's masses are blended.
    """
    if (taught is None) != (problem.patterns.outcomes is None):
        raise InputError("a problem with blended masses needs what they were blended from: taught.")
    table, grid = problem.patterns, problem.thresholds
    if bins is not None:
        terms = bins.terms
    exact = [terms is None and name not in table.rounded for name in table.names]
    if terms is None:
        yes_no = (
            np.isin(table.codes, (0, 1)).all(axis=0) & (np.array(table.decimals) == 0)
        ).tolist()
        terms = [
            PerUnit(name, decimals=d, binary=binary)
            for name, d, binary in zip(table.names, table.decimals, yes_no, strict=True)
        ]
    value = problem.evaluate(result.points)
    statement = Statement(
        data=DataDigest(
            table_digest(table), len(table), Fraction(table.n_total), Fraction(table.n_events)
        ),
        names=table.names,
        terms=tuple(terms),
        exact=tuple(exact),
        thresholds=grid.fractions,
        weights=grid.weight_fractions,
        penalty=problem.penalty,
        rule_penalty=problem.rule_penalty,
        questions=problem.questions,
        lower=problem.lower,
        upper=problem.upper,
        max_points=problem.max_points,
        max_features=problem.max_features,
        limits=problem.limits,
        constraints=[item.to_json() for item in problem.constraints],
        teacher=None if taught is None else _lesson(table, taught),
        readings=() if bins is None else bins.readings,
        features=tuple(dict.fromkeys(t.feature for t in terms)) if bins is None else bins.columns,
    )
    answer = Answer(
        points=tuple(int(v) for v in result.points),
        cutoffs=value.cutoffs,
        objective=value.objective,
        net_benefit=value.net_benefit,
    )
    proof = result.proof
    claim = None if proof is None or proof.boxes is None else _claim(problem, proof, proof.boxes)
    wrong = None if card is None else next(differences(card, statement, answer), None)
    if wrong is not None:
        raise InputError(f"the card is not the one that was found: {wrong}.")
    return Certificate(statement, answer, claim)


def _lesson(table: PatternTable, taught: Taught) -> Lesson:
    how = taught.blend
    return Lesson(
        name=taught.teaching.name,
        strength=how.strength,
        denominator=how.denominator,
        expected=how.expected[pattern_order(table)],
        net_benefit=taught.net_benefit,
        blended_benefit=taught.blended_benefit,
    )


def _claim(problem: Problem, proof: Proof, boxes: Boxes) -> Claim:
    integers = IntegerProblem.of(problem)
    return Claim(
        method=proof.method,
        bound=proof.bound,
        rounding=integers.rounding,
        details=proof.details,
        scale=ValueScale(
            integers.total,
            integers.constant,
            integers.price,
            integers.question_price,
            integers.exact,
        ),
        boxes=_ordered(boxes, problem.patterns),
    )


def _ordered(boxes: Boxes, table: PatternTable) -> Boxes:
    """The same boxes, with the patterns of conflicts in the order of the digest."""
    if boxes.packing is None:
        return boxes
    return with_patterns(boxes, np.argsort(pattern_order(table)))


def with_patterns(boxes: Boxes, place: IntArray) -> Boxes:
    """The same boxes, where pattern u of a conflict is now called ``place[u]``."""
    packing = boxes.packing
    assert packing is not None
    conflicts = replace(packing.conflicts, pattern=place[packing.conflicts.pattern])
    return replace(boxes, packing=replace(packing, conflicts=conflicts))


def differences(card: Scorecard, problem: Statement, answer: Answer) -> Iterator[str]:
    """Say where rules, cut-offs and thresholds differ; nothing where they agree.

    A certificate is about rules alone.  Where the card's questions start at 0, what is compared is
    the same card without that shift, and the shift has to be the one that its rules need.
    """
    needed = starting_points(card.rules, card.readings)
    if card.base and card.base != needed:
        yield f"its columns start from {dict(card.base)}, not from {dict(needed)}"
    card = card.raw()
    grid = card.thresholds
    if grid.fractions != problem.thresholds:
        yield f"its thresholds are {_show(grid.fractions)}, not {_show(problem.thresholds)}"
    if grid.weight_fractions != problem.weights:
        yield f"its weights are {_show(grid.weight_fractions)}, not {_show(problem.weights)}"
    if len(answer.points) == len(problem.terms):
        found = {
            term: points
            for term, points in zip(problem.terms, answer.points, strict=True)
            if points
        }
        ours = {rule.term: rule.points for rule in card.rules if rule.points}
        for term in [*found, *(term for term in ours if term not in found)]:
            here, there = ours.get(term, 0), found.get(term, 0)
            if here != there:
                kind = " yes or no" * (isinstance(term, PerUnit) and term.binary)
                yield f'it gives "{term.text()}"{kind} {here} points, the certificate {there}'
    if card.feature_names != problem.features:
        yield (
            f"the columns of an array are {shorten(card.feature_names)} to it, "
            f"{shorten(problem.features)} to the certificate"
        )
    stated = {reading.feature: reading for reading in problem.readings}
    own = {reading.feature: reading for reading in card.readings}
    used = {rule.term.feature for rule in card.rules}
    used |= {source for name in used & set(stated) for source in stated[name].sources}
    for name in [*own, *(name for name in stated if name in used and name not in own)]:
        if stated.get(name) != own.get(name):
            yield f"it reads column {name!r} in another way than the certificate"
    if card.cutoffs != answer.cutoffs:
        yield f"its cut-offs are {list(card.cutoffs)}, those of the certificate " + str(
            list(answer.cutoffs)
        )


def _show(numbers: tuple[Fraction, ...]) -> str:
    return "[" + ", ".join(str(number) for number in numbers) + "]"
