"""Certificates of small problems: accepted; changed, they are refused or claim the same.

The judgement is that of ``tests/certificates/test_forgeries.py``, which changes every leaf of four
certificates; here the problems are random and the changes some of many.
"""

from __future__ import annotations

import copy
import gzip
import json
import random
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from netbenefit.cards.scorecard import Provenance
from netbenefit.certificates.certificate import Certificate, make_certificate
from netbenefit.certificates.judge import verify
from netbenefit.certificates.recount import RecountedProblem
from netbenefit.common.checks import InputError
from netbenefit.estimators.training import assemble_card
from netbenefit.problem.problem import NoCardFound
from tests.certificates.test_forgeries import CLAIMED, claims, leaves, mutations, signed
from tests.certificates.test_verify import Case
from tests.helpers.small_proofs import prove
from tests.helpers.strategies import all_points, brute_force
from tests.properties.test_beyond_doubt import SOLVER
from tests.soak import Unusable, problems

SHARE = 0.12
BATCH = 20
#: Changes of one certificate: of what it says, signed anew, and of the bytes of its file.
CHANGES, BYTES = 25, 10


def draw(seed: int) -> Iterator[dict[str, Any]]:
    """Problems with the seeds of the changes."""
    for number, problem in enumerate(problems.draw(10**6 + seed)):
        if number == BATCH:
            return
        seeds = [seed * 1000 + number * 40 + k for k in range(CHANGES)]
        slow = number % 2 == 0  # the proof of a slow, simple prover, or of the solver
        yield {"problem": problem, "slow": slow, "changes": seeds, "bytes": seeds[:BYTES]}


def check(case: dict[str, Any]) -> Counter[str]:
    """One certificate and changes of it."""
    problem, taught = problems._build(case["problem"])
    best = brute_force(problem)
    if best is None:
        raise_unless_none(problem)
        return Counter({"problems without a card": 1})
    slow = case["slow"] and problem.limits.rates is None and len(problem.lower) <= 3
    try:
        result = prove(problem) if slow else SOLVER.solve(problem)
    except ValueError:
        raise Unusable from None
    card = replace(assemble_card(problem, result, Provenance(version="0")), provenance=None)
    certificate = make_certificate(problem, result, card, taught=taught)
    honest = verify(card, certificate, problem.patterns)
    assert honest.accepted, honest.failures
    assert certificate.proof is not None
    assert certificate.proof.bound >= best[0]
    made = Case(card, certificate, {}, None, problem, taught)
    counts = Counter({"certificates accepted": 1})
    for seed in case["changes"]:
        counts[f"changed: {_changed(made, best[0], random.Random(seed))}"] += 1
    for seed in case["bytes"]:
        counts[f"bytes: {_broken(made, best[0], random.Random(seed))}"] += 1
    return counts


def raise_unless_none(problem: Any) -> None:
    """The solver finds no card where there is none."""
    try:
        SOLVER.solve(problem)
    except NoCardFound:
        return
    raise AssertionError("a card was found where there is none")


def _changed(case: Case, best: Fraction, rng: random.Random) -> str:
    """Change one leaf and sign the certificate anew, as a forger does."""
    data = json.loads(case.certificate.to_json())
    places = [
        (path, value)
        for path, value in leaves(data)
        if path and not (path[-1] == "digest" and len(path) < 3)
    ]
    path, value = rng.choice(places)
    others = [other for other in mutations(path, value) if other != value]
    if not others:
        return "nothing"
    data = copy.deepcopy(data)
    parent = data
    for key in path[:-1]:
        parent = parent[key]
    parent[path[-1]] = rng.choice(others)
    try:
        changed = Certificate.from_json(signed(data))
    except InputError:
        return "refused"
    return _judged(case, changed, best, path)


def _broken(case: Case, best: Fraction, rng: random.Random) -> str:
    """Change bytes of the file, plain or packed."""
    text = case.certificate.to_json().encode()
    content = gzip.compress(text, mtime=0) if rng.random() < 0.5 else text
    k = rng.randrange(len(content))
    start, rest = content[:k], content[k + 1 :]
    flipped = bytes([content[k] ^ 1 << rng.randrange(8)])
    content = rng.choice([start, start + rest, content + b"x", start + b'"' + content[k:],
                          start + flipped + rest])  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "proof.json"
        path.write_bytes(content)
        try:
            changed = Certificate.load(path)
        except InputError:
            return "refused"
    return _judged(case, changed, best, ("bytes", k))


def _judged(case: Case, changed: Certificate, best: Fraction, path: Any) -> str:
    verdict = verify(case.card, changed, case.problem.patterns)
    if not verdict.consistent:
        return "refused"
    said, claimed = claims(case, changed), claims(case, case.certificate)
    # The limits say what the constraints and max_points mean: where these limit nothing, they may
    # say anything.
    for place in (1 + len(CLAIMED), 1 + CLAIMED.index("max_points")):
        del said[place], claimed[place]
    if path[:2] == ("problem", "teacher"):  # stated, not recounted: it holds for another teacher
        del said[-1], claimed[-1]
        recount = RecountedProblem(changed.problem, case.problem.patterns)
        allowed = [v for v in all_points(case.problem) if case.problem.feasible(v)]
        values = [recount.evaluate(v.tolist()) for v in allowed]
        best = max(value.objective for value in values if value is not None)
    assert all(_same(a, b) for a, b in zip(said, claimed, strict=True)), path
    claim = changed.proof
    if claim is not None:
        assert claim.bound >= best, path
    honest = case.certificate.proof
    if claim is None or claim.bound > honest.bound:  # type: ignore[union-attr]
        assert "no allowed card is better;" not in verdict.summary
    return "claims the same"


def _same(a: Any, b: Any) -> bool:
    found = a == b
    return bool(found if isinstance(found, bool) else np.all(found))


def smaller(case: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The same with one change, or of a smaller problem."""
    if len(case["changes"]) + len(case["bytes"]) > 1:
        for kind in ("changes", "bytes"):
            for seed in case[kind]:
                yield {**case, "changes": [], "bytes": [], kind: [seed]}
    for problem in problems.smaller(case["problem"]):
        yield {**case, "problem": problem}
