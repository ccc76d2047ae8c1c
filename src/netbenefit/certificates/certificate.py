"""Certificates: what was solved, what was found, and why nothing is better, to be rechecked.

:func:`verify` checks one, with nothing but the data and arithmetic.  This is the
format, for those who would rather write their own verifier.  A certificate is a JSON object (in a
gzip file where the name ends in .gz); fractions are texts such as ``"3/10"``.

``schema, version``
    ``"netbenefit.certificate"`` and 4.  (Earlier versions knew no teacher.)
``package``
    Version of the package that wrote it.
``problem``
    ``data``: digest of the merged rows (:func:`table_digest`), and
    how many there are.  ``columns``: name of each of the P columns and the raw column that it comes
    from, ``per_unit`` (the number, or ln(1 + number) with ``log``, in steps of 10^-decimals;
    ``exact`` where it is a whole number of them before rounding) or ``condition`` (1 or 0).
    ``readings``: how raw columns are read before that (:mod:`readings`); empty where
    columns are taken as they are.
    ``thresholds`` p_0 … p_M, ``weights`` ω_0 … ω_M, ``penalty`` C0.  ``objective``: what is
    maximised, in words.  ``teacher``: null where the outcomes are all that counts, or what they are
    blended with: ``name``, ``strength`` n0 in rows (or "inf"), ``denominator`` D, and ``expected``
    t_u, the teacher's expected events of each of the ``patterns`` in units of 1 / D, in the order
    of the digest (base64 of a zlib stream of little-endian int64).  The masses of pattern u, with
    O_u events among its W_u rows, are then m_u = ⌊D (N O_u + n0 t_u / D) / (N + n0) + 1/2⌋ and
    D W_u − m_u, in units of 1 / D (with real weights: (N O_u + n0 t_u / D) / (N + n0), rounded to a
    float, and W_u less that).  ``net_benefit`` and ``blended_benefit`` are what the teacher's own
    decisions are worth, by outcomes and by masses: stated, as they need its risk of every row.
    ``lower``, ``upper``: the box of points that is searched.  ``max_features``.  ``limits``: see
    :class:`Limits`; ``values`` lists the allowed points of a column (null: all
    from lower to upper), and ``rates`` refer to outcomes.  ``constraints``: where they come from.
    ``digest``: SHA-256 of the rest of the object as canonical JSON (sorted keys, no spaces, UTF-8).
``answer``
    ``points`` λ, ``cutoffs`` T_1 … T_M of the card, ``objective`` G(λ) and ``net_benefit``, the
    same without penalties, exactly.  The cut-offs are the best ones.
``proof``
    null, or: ``bound``, which no allowed λ exceeds, ``method``, ``details`` of it, ``rounded``
    (whether a floating-point solver took part and was rounded outward), and ``rounding`` (how much
    of the bound may come from holding real weights in whole numbers).  ``scale``: with
    N = mass of all rows and gains g_iu = ⌈total · ω_i (a_u − p_i / (1 − p_i) b_u) / N⌉ of a pattern
    u with masses a_u, b_u of events and others, for thresholds with p_i ω_i > 0, and
    price = ⌊total · C0⌋,

        value(λ) = Σ_i max_T Σ_{u: ⌊x_u·λ⌋ ≥ T} g_iu − price · ‖λ‖₀,
        G(λ) ≤ (value(λ) + constant) / total, with equality where ``exact``.

    ``boxes``: null, or ``count`` B, ``columns`` P and four arrays, each as base64 of a zlib stream
    of little-endian integers: ``lower`` and ``upper`` (B × P, int32, row by row), ``values`` (B,
    int64), ``reasons`` (B, uint8).  Box b holds the λ with lower[b] ≤ λ ≤ upper[b], and no allowed
    λ in it has a value above values[b].  Reasons:

    * 0, flow: per threshold, Σ_u max(g_iu, 0) less a maximal flow from patterns u with g_iu > 0 to
      patterns w with g_iw < 0, where (x_w − x_u)·λ ≥ 0 for all λ of the box (u cannot be called
      without w); less the price of every column whose interval excludes 0.
    * 1, counted: the best of the box's allowed vectors.
    * 2, doubled: 2λ is allowed wherever λ is, and is worth no less (every set {⌊s⌋ ≥ T} is
      {⌊2s⌋ ≥ 2T}).  Doubling again and again ends in a box with another reason, except for λ = 0,
      whose own value the bound has to cover.  The box's value means nothing.
    * 3, forbidden: the limits allow no vector of the box.  The value means nothing.
    * 4, shifted: only where C0 = 0 and the limits say no more than lower and upper.  Some one-hot
      group (adjacent columns, exactly one of them 1 in every row, found from the left, all with
      lower ≤ 0 ≤ upper) can be moved by −1 (or +1) within the search space, its first column being
      above (below) 0 in all of the box.  That changes no value.  Moves and doublings end in a box
      with another reason, unless all rows score alike: the bound has to cover λ = 0.  The value
      means nothing.

    The boxes cover all of ``lower … upper``; the bound is at least the objective of every value.
``digest``
    SHA-256 of all the rest as canonical JSON: it finds damage; it is no signature.
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
from netbenefit.cards import PerUnit, Scorecard, Term
from netbenefit.certificates import statement as read
from netbenefit.certificates.statement import (
    Answer,
    Claim,
    DataDigest,
    Lesson,
    Statement,
    ValueScale,
)
from netbenefit.common import InputError, IntArray, check_object, parse, read_text, write_bytes
from netbenefit.data import PatternTable
from netbenefit.problem import IntegerProblem, Problem, Proof, SolverResult

if TYPE_CHECKING:  # the judge reads this module, and needs no teacher
    from netbenefit.teachers import Taught

# -- fingerprints: of a pattern table, and of what a certificate says ------------------------------
# They are checksums, not signatures: who changes a file can compute them anew.  What then still
# fails is the arithmetic, which :mod:`netbenefit.certificates.judge` does again.


def canonical(data: Any) -> bytes:
    """JSON with sorted keys, no spaces, in UTF-8: one text for one meaning."""
    text = json.dumps(
        data, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    return text.encode()


def json_digest(data: Any) -> str:
    """SHA-256 of :func:`canonical`, in hexadecimal."""
    return hashlib.sha256(canonical(data)).hexdigest()


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
    digest = hashlib.sha256(canonical(header) + b"\n")
    digest.update(np.ascontiguousarray(table.codes[order], dtype="<i8").tobytes())
    for rows in (table.events, table.others):
        digest.update(rows[order].astype(small).tobytes())
    return digest.hexdigest()


SCHEMA = "netbenefit.certificate"
VERSIONS = (4,)


@dataclass(frozen=True, eq=False)
class Certificate:
    """What was solved, what was found, and why nothing is better.

    Attributes
    ----------
    problem : Statement
    answer : Answer
    proof : Claim or None
        None where nothing is proven.
    package : str
        Version of the package that made it.

    Examples
    --------
    >>> from netbenefit.data.patterns import PatternTable
    >>> from netbenefit.problem.problem import Problem
    >>> from netbenefit.solvers.local_search import LocalSearch
    >>> from netbenefit.metrics.thresholds import Thresholds
    >>> table = PatternTable.from_arrays([[0], [1], [1]], [0, 1, 1], names=["fever"])
    >>> problem = Problem.build(table, Thresholds.of([0.5]), penalty=0.01)
    >>> certificate = make_certificate(problem, LocalSearch().solve(problem))
    >>> certificate.answer.objective
    Fraction(197, 300)
    >>> Certificate.from_json(certificate.to_json()).to_json() == certificate.to_json()
    True
    """

    problem: Statement
    answer: Answer
    proof: Claim | None
    package: str = __version__

    @property
    def problem_digest(self) -> str:
        """SHA-256 of the problem: data, thresholds, penalty, limits."""
        return json_digest(read.write_problem(self.problem))

    def to_json(self) -> str:
        """Return the certificate as JSON."""
        problem = read.write_problem(self.problem)
        data = {
            "schema": SCHEMA,
            "version": VERSIONS[-1],
            "package": self.package,
            "problem": {"digest": json_digest(problem), **problem},
            "answer": read.write_answer(self.answer),
            "proof": read.write_claim(self.proof),
        }
        signed = {**data, "digest": json_digest(data)}
        return json.dumps(signed, indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Certificate:
        """Read what :meth:`to_json` wrote.

        Raises
        ------
        InputError
            Where the text is no certificate, is damaged, or was changed: what is wrong, and where.
        """
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
            proof=read.read_claim(data["proof"], "proof"),
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
        try:
            if content.startswith(b"\x1f\x8b"):
                content = gzip.decompress(content)
            return cls.from_json(content.decode("utf-8-sig"))
        except (OSError, EOFError, zlib.error):
            raise InputError(f"{path}: not a whole gzip file. Fetch it again.") from None
        except UnicodeDecodeError:
            raise InputError(f"{path}: not a certificate, since it is not UTF-8 text.") from None
        except InputError as error:
            raise InputError(f"{path}: {error}") from None


def _check_digest(data: dict[str, Any], what: str) -> None:
    rest = {key: value for key, value in data.items() if key != "digest"}
    if json_digest(rest) != data["digest"]:
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
    """Put on record what a solver found and proved.

    Parameters
    ----------
    problem : Problem
    result : SolverResult
    card : Scorecard, optional
        The card that was made of the result; refused where it is another card.
    terms : sequence of Condition or PerUnit, optional
        How each column arises from a raw column, where they were passed to
        :func:`assemble_card`; by default each column is its own, per unit.
    bins : Fitted, optional
        What a binner has learnt, where it made the columns.
    taught : Taught, optional
        What a teacher added, where the problem's masses are blended.

    Examples
    --------
    See :class:`Certificate`.
    """
    if (taught is None) != (problem.patterns.outcomes is None):
        raise InputError("a problem with blended masses needs what they were blended from: taught.")
    table, grid = problem.patterns, problem.thresholds
    if bins is not None:
        terms = bins.terms
    exact = [terms is None and name not in table.rounded for name in table.names]
    if terms is None:
        terms = [PerUnit(n, decimals=d) for n, d in zip(table.names, table.decimals, strict=True)]
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
        lower=problem.lower,
        upper=problem.upper,
        max_features=problem.max_features,
        limits=problem.limits,
        constraints=[item.to_json() for item in problem.constraints],
        teacher=None if taught is None else _lesson(table, taught),
        readings=() if bins is None else bins.readings,
    )
    answer = Answer(
        points=tuple(int(v) for v in result.points),
        cutoffs=value.cutoffs,
        objective=value.objective,
        net_benefit=value.net_benefit,
    )
    proof = None if result.proof is None else _claim(problem, result.proof)
    wrong = None if card is None else next(differences(card, statement, answer), None)
    if wrong is not None:
        raise InputError(f"the card is not the one that was found: {wrong}.")
    return Certificate(statement, answer, proof)


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


def _claim(problem: Problem, proof: Proof) -> Claim:
    integers = IntegerProblem.of(problem)
    return Claim(
        method=proof.method,
        bound=proof.bound,
        rounded=proof.rounded,
        rounding=proof.rounding,
        details=proof.details,
        scale=ValueScale(integers.total, integers.constant, integers.price, integers.exact),
        boxes=proof.boxes,
    )


def differences(card: Scorecard, problem: Statement, answer: Answer) -> Iterator[str]:
    """Say where rules, cut-offs and thresholds differ; nothing where they agree."""
    grid = card.thresholds
    if grid.fractions != problem.thresholds:
        yield f"its thresholds are {_show(grid.fractions)}, not {_show(problem.thresholds)}"
    if grid.weight_fractions != problem.weights:
        yield f"its weights are {_show(grid.weight_fractions)}, not {_show(problem.weights)}"
    if len(answer.points) == len(problem.terms):
        found = {
            _bare(term): points
            for term, points in zip(problem.terms, answer.points, strict=True)
            if points
        }
        ours = {_bare(rule.term): rule.points for rule in card.rules if rule.points}
        for term in [*found, *(term for term in ours if term not in found)]:
            here, there = ours.get(term, 0), found.get(term, 0)
            if here != there:
                yield f'it gives "{term.text()}" {here} points, the certificate {there}'
    stated = {reading.feature: reading for reading in problem.readings}
    for reading in card.readings:
        if stated.get(reading.feature) != reading:
            yield f"it reads column {reading.feature!r} in another way than the certificate"
    if card.cutoffs != answer.cutoffs:
        yield f"its cut-offs are {list(card.cutoffs)}, those of the certificate " + str(
            list(answer.cutoffs)
        )


def _bare(term: Term) -> Term:
    """A term without what only matters in print."""
    return replace(term, binary=False) if isinstance(term, PerUnit) else term


def _show(numbers: tuple[Fraction, ...]) -> str:
    return "[" + ", ".join(str(number) for number in numbers) + "]"
