"""Certificates: what is written comes back as it was, and what is not right is refused."""

from __future__ import annotations

import base64
import gzip
import json
import zlib
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from netbenefit.cards.terms import Condition, PerUnit
from netbenefit.certificates.boxes import FlowBound, Undecided, find_uncovered, send
from netbenefit.certificates.certificate import (
    Certificate,
    canonical,
    json_digest,
    make_certificate,
    table_digest,
)
from netbenefit.certificates.statement import check_version
from netbenefit.common.checks import InputError
from netbenefit.data.patterns import PatternTable
from netbenefit.metrics.thresholds import Thresholds
from netbenefit.problem.constraints import AtMost, MinTPR, Values
from netbenefit.problem.problem import Problem
from tests.helpers.full import examples
from tests.helpers.small_proofs import all_vectors, prove, teach_problem
from tests.helpers.strategies import problems, tables

X = [[0, 0], [1, 0], [0, 1], [1, 1], [2, 0], [2, 1], [0, 0], [1, 1]]
Y = [0, 0, 1, 1, 0, 1, 1, 0]


def small_problem(**settings: object) -> Problem:
    table = PatternTable.from_arrays(X, Y, names=["age", "bmi"])
    return Problem.build(table, Thresholds.tenths(), max_points=3, **settings)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def certificate() -> Certificate:
    problem = small_problem()
    return make_certificate(problem, prove(problem))


@pytest.fixture(scope="module")
def taught_certificate() -> Certificate:
    problem, how = teach_problem(small_problem(), Fraction(5, 2))
    return make_certificate(problem, prove(problem), taught=how)


# -- writing and reading -------------------------------------------------------------------------


@settings(max_examples=30)
@given(
    problems(max_points=2, max_columns=3, taught=False)
    | problems(max_points=2, real=True, taught=False)
)
def test_what_is_written_is_read(problem: Problem) -> None:
    result = _some_result(problem)
    first = make_certificate(problem, result)
    second = Certificate.from_json(first.to_json())
    assert second.to_json() == first.to_json()
    assert second.answer == first.answer
    assert second.answer.objective == problem.evaluate(result.points).objective
    assert second.problem.thresholds == problem.thresholds.fractions
    assert second.problem_digest == first.problem_digest
    assert second.problem.teacher is None
    read, asked = second.problem, problem.questions
    assert (read.penalty, read.rule_penalty) == (problem.penalty, problem.rule_penalty)
    assert read.max_points == problem.max_points
    assert read.questions.names == asked.names
    for name in ("of_column", "answers", "of_answer"):
        assert np.array_equal(getattr(read.questions, name), getattr(asked, name))
    for mine, yours in zip(read.limits.asked, problem.limits.asked, strict=True):
        assert np.array_equal(mine, yours)
    dear = read.penalty != read.rule_penalty
    assert ("the prices of every question and of every further rule" in read.objective) == dear


@settings(max_examples=30)
@given(st.data(), st.sampled_from([None, Fraction(1, 3), Fraction(20)]), st.booleans())
def test_what_is_written_of_a_teacher_is_read(
    data: st.DataObject, strength: Fraction | None, real: bool
) -> None:
    problem = data.draw(problems(max_points=2, max_columns=3, real=real, taught=False))
    taught, how = teach_problem(problem, strength)
    first = make_certificate(taught, _some_result(taught), taught=how)
    second = Certificate.from_json(first.to_json())
    assert second.to_json() == first.to_json()
    assert second.answer == first.answer
    lesson, stated = second.problem.teacher, first.problem.teacher
    assert lesson is not None
    assert stated is not None
    assert lesson.strength == strength
    assert lesson.denominator == how.blend.denominator
    assert lesson.expected.tolist() == stated.expected.tolist()
    assert sorted(lesson.expected.tolist()) == sorted(how.blend.expected.tolist())
    assert lesson[-2:] == (how.net_benefit, how.blended_benefit)
    assert "on outcomes blended with a teacher's risks" in first.to_json()
    plain = make_certificate(problem, _some_result(problem))
    assert plain.problem_digest != first.problem_digest
    with pytest.raises(InputError, match="needs what they were blended from: taught"):
        make_certificate(taught, _some_result(taught))
    with pytest.raises(InputError, match="needs what they were blended from: taught"):
        make_certificate(problem, _some_result(problem), taught=how)


def _some_result(problem: Problem):  # type: ignore[no-untyped-def]
    from netbenefit.solvers.base import Run

    return Run(problem, "test", float("inf")).result(problem.nearest_to_zero(), "finished")


def test_all_kinds_of_limits_come_back() -> None:
    constraints = [
        Values("age", (-2, 0, 3)),
        AtMost(1, ["age", "bmi"]),
        MinTPR(0.5, Fraction(1, 3)),
    ]
    problem = small_problem(constraints=constraints)
    text = make_certificate(problem, _some_result(problem)).to_json()
    stated = Certificate.from_json(text).problem
    assert np.array_equal(stated.limits.values, problem.limits.values)
    assert np.array_equal(stated.limits.support, problem.limits.support)
    assert np.array_equal(stated.limits.support_limit, problem.limits.support_limit)
    assert stated.limits.total == problem.limits.total
    assert stated.limits.rates is not None
    assert tuple(stated.limits.rates) == tuple(problem.limits.rates)
    assert [item["kind"] for item in stated.constraints] == ["values", "at_most", "min_tpr"]


def test_terms_come_back() -> None:
    problem = small_problem()
    terms = [Condition("years", "between", (40, 60)), PerUnit("bmi", 0, lower=0, upper=1)]
    made = make_certificate(problem, _some_result(problem), terms=terms)
    assert Certificate.from_json(made.to_json()).problem.terms == tuple(terms)


@pytest.mark.parametrize("name", ["proof.json", "proof.json.gz"])
def test_files(tmp_path: Path, certificate: Certificate, name: str) -> None:
    path = tmp_path / name
    certificate.save(path)
    assert Certificate.load(path).to_json() == certificate.to_json()
    assert (path.read_bytes()[:2] == b"\x1f\x8b") == name.endswith(".gz")
    certificate.save(path)  # replaced, and no draft stays behind
    assert [file.name for file in tmp_path.iterdir()] == [name]


def test_boxes_are_what_the_docstring_says(certificate: Certificate) -> None:
    data = json.loads(certificate.to_json())["proof"]["boxes"]
    assert certificate.proof is not None
    boxes = certificate.proof.boxes
    assert boxes is not None
    raw = zlib.decompress(base64.b64decode(data["lower"]))
    lower = np.frombuffer(raw, dtype="<i4").reshape(data["count"], data["columns"])
    assert np.array_equal(lower, boxes.lower)
    assert np.array_equal(
        np.frombuffer(zlib.decompress(base64.b64decode(data["values"])), "<i8"), boxes.values
    )


def test_a_card_that_is_another_is_refused(certificate: Certificate) -> None:
    from netbenefit.cards.scorecard import Provenance, Rule
    from netbenefit.estimators.training import assemble_card

    problem = small_problem()
    result = prove(problem)
    card = assemble_card(problem, result, Provenance(version="0"))
    make_certificate(problem, result, card)
    first = card.rules[0]
    other = replace(card, rules=(Rule(first.term, first.points + 1), *card.rules[1:]))
    with pytest.raises(InputError, match="is not the one that was found: it gives"):
        make_certificate(problem, result, other)


# -- what is refused -----------------------------------------------------------------------------


def _resigned(certificate: Certificate, change) -> str:  # type: ignore[no-untyped-def]
    data = json.loads(certificate.to_json())
    change(data)
    problem = {key: value for key, value in data["problem"].items() if key != "digest"}
    data["problem"]["digest"] = json_digest(problem)
    data["digest"] = json_digest({key: value for key, value in data.items() if key != "digest"})
    return json.dumps(data)


def _put(path: str, value: object):  # type: ignore[no-untyped-def]
    def change(data: dict) -> None:  # type: ignore[type-arg]
        *parents, last = path.split(".")
        for key in parents:
            data = data[int(key)] if isinstance(data, list) else data[key]
        if isinstance(data, list):
            data[int(last)] = value
        else:
            data[last] = value

    return change


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("schema", "other", "not a certificate: expected"),
        ("version", 1, "version 1 of the certificate format is not .* reads version 6"),
        ("version", 5, "version 5 .* reads version 6. It is too old"),
        ("version", 7, "version 7 .* reads version 6. Update the package"),
        ("version", True, "version True"),
        ("problem.lower.0", 1.5, r"problem\.lower\[0\] must be an integer"),
        ("problem.lower.0", 4, r"problem\.upper must be at least the lower points"),
        ("problem.lower", [0], r"problem\.lower must hold 2 entries"),
        ("problem.penalty", "-1/2", r"problem\.penalty must be a number from 0"),
        ("problem.penalty", "1/0", r"problem\.penalty must be a fraction"),
        ("problem.penalty", "1e9999999999", r"problem\.penalty must be a fraction"),
        ("problem.penalty", 0.1, r"problem\.penalty must be text"),
        ("problem.rule_penalty", "1", r"problem\.rule_penalty must be a number from 0 to the pen"),
        ("problem.rule_penalty", "-1/9", r"problem\.rule_penalty must be a number from 0 to the"),
        ("problem.rule_penalty", "0", r"rule_penalty must be the penalty, as each column is a qu"),
        ("problem.max_points", 0, r"problem\.max_points must be a whole number from 1"),
        ("problem.max_questions", "2", r"problem\.max_questions must be an integer"),
        ("problem.questions", [], r"problem\.questions must be questions to which each of 2 col"),
        ("problem.questions.0.columns", [], r"questions\[0\]\.columns must be a rising list"),
        ("problem.questions.0.columns", [1], r"problem\.questions must be questions to which ea"),
        ("problem.questions.0.columns", [1, 0], r"questions\[0\]\.columns must be a rising list"),
        ("problem.questions.0.columns", [0, 0], r"problem\.questions must be questions to which"),
        ("problem.questions.0.columns", [-1], r"problem\.questions must be questions to which ea"),
        ("problem.questions.0.answers", [[0, 1]], r"answers\[0\] must hold 1 entries"),
        ("problem.questions.0.answers", [["0"]], r"answers\[0\]\[0\] must be an integer"),
        ("problem.questions.0.spread", -1, r"questions\[0\]\.spread must be a whole number from"),
        ("problem.questions.0.spread", 2**70, r"questions\[0\]\.spread must be an integer of at "),
        ("problem.questions.0.points", 1, r"problem\.questions\[0\]\.points is not a known key"),
        ("problem.teacher", {}, r"problem\.teacher\.name is missing"),
        ("problem.teacher", "auto", r"problem\.teacher must be an object"),
        ("problem.objective", "accuracy", r"problem\.objective must be "),
        ("problem.data.rows", "0", r"problem\.data\.rows must be a positive number"),
        ("problem.thresholds.1", "1/1", r"rising numbers below 1"),
        ("problem.weights.1", "-1/10", r"problem\.weights must be numbers from 0"),
        ("problem.extra", 1, r"problem\.extra is not a known key"),
        ("problem.columns.0.kind", "magic", r"problem\.columns\[0\]\.kind must be"),
        ("problem.columns.0.decimals", "x", "decimals must be an integer"),
        ("problem.limits.values.0", [9], r"values\[0\] must be points from -3 to 3"),
        ("problem.limits.support", [[1]], r"support\[0\] must hold 2 entries"),
        ("problem.limits.rates", {"found": [], "alarms": []}, "must hold 10 entries"),
        ("answer.points.0", "1", r"answer\.points\[0\] must be an integer"),
        ("answer.objective", "x", r"answer\.objective must be a fraction"),
        ("answer.smooth", "0", r"answer\.smooth is not a known key"),
        ("proof.details", [], r"proof\.details must be an object"),
        ("proof.boxes.count", 3, "does not hold 6 entries"),
        ("proof.boxes.count", -1, "at least one box of at least one column"),
        ("proof.boxes", None, r"proof\.boxes must be an object"),
        ("proof.boxes.lower", "%%", "cannot be unpacked"),
        ("proof.boxes.values", base64.b64encode(b"xx").decode(), "cannot be unpacked"),
    ],
)
def test_wrong_values_are_named(
    certificate: Certificate, path: str, value: object, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        Certificate.from_json(_resigned(certificate, _put(path, value)))


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("name", 3, r"problem\.teacher\.name must be text"),
        ("strength", "0", r'teacher\.strength must be a positive number of rows or "inf"'),
        ("strength", "-1/2", r"problem\.teacher\.strength must be a positive number"),
        ("strength", "nan", r"problem\.teacher\.strength must be a fraction"),
        ("strength", 2.5, r"problem\.teacher\.strength must be text"),
        ("strength", None, r"problem\.teacher\.strength must be text"),
        ("denominator", 0, r"problem\.teacher\.denominator must be a whole number from 1"),
        ("denominator", 10.0, r"problem\.teacher\.denominator must be an integer"),
        ("patterns", 2, r"problem\.teacher\.expected does not hold 2 entries"),
        ("patterns", -1, r"problem\.teacher\.expected cannot hold -1 entries"),
        ("patterns", 10**12, r"problem\.teacher\.expected cannot hold 1,000,000,000,000 ent"),
        ("expected", "%%", r"problem\.teacher\.expected cannot be unpacked"),
        ("expected", [1, 2], r"problem\.teacher\.expected must be text"),
        ("net_benefit", "0.1", r"problem\.teacher\.net_benefit must be a finite number"),
        ("net_benefit", True, r"problem\.teacher\.net_benefit must be a finite number"),
        ("blended_benefit", None, r"problem\.teacher\.blended_benefit must be a finite number"),
        ("extra", 1, r"problem\.teacher\.extra is not a known key"),
    ],
)
def test_wrong_values_of_a_teacher_are_named(
    taught_certificate: Certificate, key: str, value: object, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        Certificate.from_json(_resigned(taught_certificate, _put(f"problem.teacher.{key}", value)))


def test_a_teacher_of_other_patterns_is_refused(taught_certificate: Certificate) -> None:
    def shorter(data: dict) -> None:  # type: ignore[type-arg]
        packed = base64.b64encode(zlib.compress(np.zeros(2, "<i8").tobytes())).decode()
        data["problem"]["teacher"].update(patterns=2, expected=packed)

    with pytest.raises(InputError, match=r"problem\.teacher\.patterns must be 6, but is 2"):
        Certificate.from_json(_resigned(taught_certificate, shorter))


@pytest.mark.parametrize(
    ("version", "advice"), [(1, "make a new certificate"), (3, "Update"), ("2", "Update")]
)
def test_other_versions_are_refused_with_advice(version: object, advice: str) -> None:
    check_version(2, (2,))
    with pytest.raises(InputError, match=f"reads version 2.*{advice}"):
        check_version(version, (2,))


def test_a_missing_key_is_named(certificate: Certificate) -> None:
    with pytest.raises(InputError, match=r"answer\.cutoffs is missing"):
        Certificate.from_json(_resigned(certificate, lambda data: data["answer"].pop("cutoffs")))


def test_any_change_breaks_the_digest(certificate: Certificate) -> None:
    data = json.loads(certificate.to_json())
    data["package"] = "other"
    with pytest.raises(InputError, match="was changed after it was written"):
        Certificate.from_json(json.dumps(data))


def test_too_much_in_a_packed_array_is_not_unpacked(certificate: Certificate) -> None:
    bomb = base64.b64encode(zlib.compress(bytes(10**7))).decode()
    with pytest.raises(InputError, match="does not hold"):
        Certificate.from_json(_resigned(certificate, _put("proof.boxes.lower", bomb)))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not JSON"),
        (b"[1]", "not a certificate"),
        (b'{"a": 1, "a": 2}', "appears twice"),
        (b'{"a": NaN}', "NaN is not a number"),
        (b"\xff\xfe", "not UTF-8"),
        (gzip.compress(b"{}", mtime=0)[:-4], "not a whole gzip file"),
        (b"[" * 100_000, "too large"),
    ],
)
def test_files_that_are_no_certificate(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "certificate.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        Certificate.load(path)


def test_a_cut_file_is_refused(tmp_path: Path, certificate: Certificate) -> None:
    path = tmp_path / "certificate.json"
    text = certificate.to_json()
    for length in range(0, len(text) - 2, 97):
        path.write_text(text[:length])
        with pytest.raises(InputError, match="not JSON"):
            Certificate.load(path)


# -- digests -------------------------------------------------------------------------------------


@settings(max_examples=50)
@given(tables(taught=False), st.randoms(use_true_random=False))
def test_the_data_digest_knows_no_order(table: PatternTable, random) -> None:  # type: ignore[no-untyped-def]
    values, rows = table.values(), []
    for u in range(len(table)):
        rows += [(*values[u], 1)] * int(table.positives[u])
        rows += [(*values[u], 0)] * int(table.negatives[u])
    random.shuffle(rows)
    matrix = np.array(rows)
    decimals = dict(zip(table.names, table.decimals, strict=True))
    other = PatternTable.from_arrays(matrix[:, :-1], matrix[:, -1], decimals=decimals)
    assert table_digest(other) == table_digest(table)
    flipped = PatternTable.from_arrays(matrix[:, :-1], 1 - matrix[:, -1], decimals=decimals)
    same = np.array_equal(flipped.positives, other.positives)
    assert (table_digest(flipped) == table_digest(table)) == same


def test_the_data_digest_knows_names_and_decimals() -> None:
    base = PatternTable.from_arrays([[0], [1]], [0, 1])
    assert table_digest(base) != table_digest(
        PatternTable.from_arrays([[0], [1]], [0, 1], names="a")
    )
    finer = PatternTable.from_arrays([[0], [0.1]], [0, 1])
    assert table_digest(base) != table_digest(finer)


# -- covering ------------------------------------------------------------------------------------


@st.composite
def box_lists(draw: st.DrawFn):  # type: ignore[no-untyped-def]
    """Boxes around a root; leaves of random trees, some of them lost, moved or added."""
    n_columns = draw(st.integers(1, 3))
    root = [
        sorted(draw(st.tuples(st.integers(-3, 3), st.integers(-3, 3)))) for _ in range(n_columns)
    ]
    low, high = [pair[0] for pair in root], [pair[1] for pair in root]
    leaves, waiting = [], [(low, high)]
    for _ in range(draw(st.integers(0, 12))):
        if not waiting:
            break
        a, b = waiting.pop(draw(st.integers(0, len(waiting) - 1)))
        wide = [k for k in range(n_columns) if a[k] < b[k]]
        if not wide:
            leaves.append((a, b))
            continue
        k = draw(st.sampled_from(wide))
        cut = draw(st.integers(a[k], b[k] - 1))
        waiting += [(a, [*b[:k], cut, *b[k + 1 :]]), ([*a[:k], cut + 1, *a[k + 1 :]], b)]
    leaves += waiting
    for _ in range(draw(st.integers(0, 3))):
        change = draw(st.sampled_from(["lose", "move", "add", "grow"]))
        place = draw(st.integers(0, len(leaves) - 1))
        a, b = leaves[place]
        if change == "lose" and len(leaves) > 1:
            leaves.pop(place)
        elif change == "move":
            leaves[place] = ([v + 1 for v in a], [v + 1 for v in b])
        elif change == "grow":
            leaves[place] = ([v - 1 for v in a], b)
        elif change == "add":
            leaves.append(([v - 1 for v in a], [v + 1 for v in b]))
    return low, high, leaves


@settings(max_examples=examples(400))
@given(box_lists())
def test_covering_agrees_with_brute_force(case) -> None:  # type: ignore[no-untyped-def]
    low, high, leaves = case
    arrays = [np.array([leaf[side] for leaf in leaves], dtype=np.int64) for side in (0, 1)]
    found = find_uncovered(*arrays, np.array(low), np.array(high))
    lost = {
        v
        for v in all_vectors(low, high)
        if not any(all(x <= y <= z for x, y, z in zip(a, v, b, strict=True)) for a, b in leaves)
    }
    if found is None:
        assert not lost
    else:
        assert tuple(found) in lost


@pytest.mark.parametrize("drop", [False, True])
def test_covering_of_many_boxes(drop: bool) -> None:
    """Leaves of a random tree, in random order; the biggest proofs have some ten times as many."""
    rng = np.random.default_rng(3)
    lower, upper = _random_leaves(rng, n_columns=12, count=20_000)
    order = rng.permutation(len(lower))
    if drop:
        gone, order = order[0], order[1:]
    root = np.full(12, -10), np.full(12, 10)
    found = find_uncovered(lower[order], upper[order], *root)
    if drop:
        assert found is not None
        assert ((lower[gone] <= found) & (upper[gone] >= found)).all()
    else:
        assert found is None


def _random_leaves(rng, n_columns: int, count: int):  # type: ignore[no-untyped-def]
    lower, upper = [np.full(n_columns, -10)], [np.full(n_columns, 10)]
    while len(lower) < count:
        place = int(rng.integers(len(lower)))
        a, b = lower[place], upper[place]
        k = int(rng.integers(n_columns))
        if a[k] == b[k]:
            continue
        cut = int(rng.integers(a[k], b[k]))
        left, right = b.copy(), a.copy()
        left[k], right[k] = cut, cut + 1
        upper[place] = left
        lower.append(right)
        upper.append(b)
    return np.array(lower), np.array(upper)


def test_covering_gives_up_on_a_tangle() -> None:
    rng = np.random.default_rng(0)
    middle = rng.integers(-10, 11, (400, 12))
    lower, upper = middle - 9, middle + 9
    try:
        found = find_uncovered(lower, upper, np.full(12, -10), np.full(12, 10))
    except Undecided:
        return
    assert found is not None
    assert not ((lower <= found) & (upper >= found)).all(axis=1).any()


# -- flows ---------------------------------------------------------------------------------------


@settings(max_examples=examples(100))
@given(st.data())
def test_flow_bound_agrees_with_all_sets(data: st.DataObject) -> None:
    from netbenefit.problem.problem import IntegerProblem
    from tests.helpers.small_proofs import closure_bound

    problem = data.draw(problems(max_points=3, max_rows=8, real=data.draw(st.booleans())))
    integers = IntegerProblem.of(problem)
    pairs = list(zip(problem.lower.tolist(), problem.upper.tolist(), strict=True))
    boxes = [
        [sorted(data.draw(st.tuples(st.integers(a, b), st.integers(a, b)))) for a, b in pairs]
        for _ in range(3)
    ]
    low, high = np.array(boxes).transpose(2, 0, 1)
    ours = FlowBound.of(integers.units, integers.gains).highest(low, high)
    for value, lower, upper in zip(ours, low, high, strict=True):
        paid = integers.paid((lower > 0) | (upper < 0))
        assert value - paid == closure_bound(integers, lower, upper)


@settings(max_examples=examples(100))
@given(st.data())
def test_large_flows_are_those_of_small_numbers(data: st.DataObject) -> None:
    n, m = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 5))
    pair = st.tuples(st.integers(0, n - 1), st.integers(0, m - 1))
    source, sink = np.array(sorted(data.draw(st.sets(pair, min_size=1)))).T
    number = st.integers(0, 30)
    supply = np.array(data.draw(st.lists(number, min_size=n, max_size=n)))
    room = np.array(data.draw(st.lists(number, min_size=m, max_size=m)))
    small = int(send(source, sink, supply, room).sum())
    assert small == _most_flow(source, sink, supply, room)
    factor = 2**50 + 1
    large = supply * factor
    large[0] += 1  # no common divisor any more; it can bring at most 1
    sent = int(send(source, sink, large, room * factor).sum())
    assert factor * small <= sent <= factor * small + 1
    huge = st.integers(0, 2**55)
    supply = np.array(data.draw(st.lists(huge | number, min_size=n, max_size=n)))
    room = np.array(data.draw(st.lists(huge | number, min_size=m, max_size=m)))
    parts = send(source, sink, supply, room)
    assert ((parts >= 0) & (parts <= supply)).all()
    assert int(parts.sum()) == _most_flow(source, sink, supply, room)


def _most_flow(source, sink, supply, room) -> int:  # type: ignore[no-untyped-def]
    """The least cut, over all sets of sources: what is not sent, and where the others can go."""
    cuts = []
    for mask in range(2**supply.size):
        kept = [u for u in range(supply.size) if mask >> u & 1]
        reach = {w for u, w in zip(source, sink, strict=True) if u in kept}
        cuts.append(supply.sum() - supply[kept].sum() + sum(room[w] for w in reach))
    return int(min(cuts))


def test_canonical_json() -> None:
    assert b"".join(canonical({"b": [1, "½"], "a": None})).decode() == '{"a":null,"b":[1,"½"]}'
