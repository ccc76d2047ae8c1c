"""The command line proves: sentence, certificate, verify, constraints, Ctrl-C during a proof."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path

import numpy as np
import pytest

from netbenefit.cards.scorecard import Scorecard
from netbenefit.certificates.certificate import Certificate
from tests.cli.test_main import (
    FIT as DEFAULTS,
    NUMBERS,
    PATIENCE,
    Terminal,
    error,
    people,
    run,
    save,
)

#: The published objective, whose optimum can be proven.
PUBLISHED = ["--prior-strength", 0, "--penalty", "paper"]
FIT = [*DEFAULTS, *PUBLISHED]
PROVEN = "Proven optimal: no card within these limits has a higher objective."


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(people(), tmp_path_factory.mktemp("data") / "people.csv")


@pytest.fixture(scope="module")
def fitted(table: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path, Path]:
    folder = tmp_path_factory.mktemp("fit")
    card, proof = folder / "card.json", folder / "proof.json"
    printed = run("fit", table, *FIT, "--out", card, "--certificate", proof)
    return printed, card, proof


def test_fit_ends_with_one_sentence(fitted: tuple[str, Path, Path]) -> None:
    printed, card, proof = fitted
    assert printed.count(PROVEN) == 1
    assert "optimal ·" in printed
    assert f"saved: {proof}" in printed
    provenance = Scorecard.load(card).provenance
    assert provenance is not None
    assert provenance.bound == provenance.objective
    assert provenance.status == "optimal"


def test_verify_refuses_an_empty_sample(fitted: tuple[str, Path, Path], table: Path) -> None:
    assert "--sample 0 must be at least 1" in error("verify", *fitted[1:], table, "--sample", 0)


def test_verify_accepts_a_true_proof(fitted: tuple[str, Path, Path], table: Path) -> None:
    _, card, proof = fitted
    printed = run("verify", card, proof, table)
    assert "accepted: no allowed card is better" in printed
    look = ["--sample", 3, "--seed", 1]
    for options, code in ((look, 3), ([*look, "--allow-unchecked"], 0)):
        printed = run("verify", card, proof, table, *options, code=code)
        assert "✗" not in printed
        assert "? values" in printed
        assert "consistent, bound not fully recounted: with 95% certainty fewer than 63.16% of" in (
            printed
        )
        assert "allowed card" not in printed


def test_verify_refuses_what_does_not_hold(
    fitted: tuple[str, Path, Path], table: Path, tmp_path: Path
) -> None:
    _, card, proof = fitted
    changed = json.loads(card.read_text())
    changed["rules"][0]["points"] += 1
    other = tmp_path / "card.json"
    other.write_text(json.dumps(changed))
    printed = run("verify", other, proof, table, code=1)
    assert "✗" in printed
    assert "refused" in printed
    rows = people()
    rows["fever"][:40] = 1 - rows["fever"][:40]
    printed = run("verify", card, proof, save(rows, tmp_path / "other.csv"), code=1)
    assert "✗ data" in printed


@pytest.mark.parametrize("solver", ["local", "auto", "exact"])
def test_verify_accepts_a_taught_card(table: Path, tmp_path: Path, solver: str) -> None:
    card, proof = tmp_path / "card.json", tmp_path / "proof.json"
    options = ["--solver", solver, "--time-limit", 600, "--out", card, "--certificate", proof]
    printed = run("fit", table, *DEFAULTS, "--prior-strength", "auto", *options)
    assert "This card of 2 rules keeps " in printed
    assert ("can keep more: this is proven." in printed) == (solver != "local")
    printed = " ".join(run("verify", card, proof, table).split())
    assert "✗" not in printed
    objective = "on outcomes blended with a teacher's risks (n0 = 4,000 rows)"
    assert objective in printed
    origin = Scorecard.load(card).provenance
    assert origin is not None
    assert origin.prior_strength == 4000
    assert (origin.status == "optimal") == (solver != "local")  # eight patterns are soon proven
    if solver == "local":
        assert "nothing is claimed, or proven, about better ones" in printed
    changed = json.loads(card.read_text())
    changed["provenance"]["prior_strength"] = 100.0
    card.write_text(json.dumps(changed))
    assert "it says prior_strength = 100.0" in run("verify", card, proof, table, code=1)


def test_verify_needs_its_files(fitted: tuple[str, Path, Path], table: Path) -> None:
    _, card, _ = fitted
    assert "no such file" in error("verify", card, "nothing.json", table)


def test_the_exact_solver_proves(table: Path) -> None:
    printed = run("fit", table, *FIT, "--solver", "exact", "--time-limit", 600)
    assert "Proven optimal: no card within these limits has a higher" in printed


def test_what_the_integer_program_reports_is_no_proof(table: Path, tmp_path: Path) -> None:
    card, proof = tmp_path / "card.json", tmp_path / "proof.json"
    files = ("--out", card, "--certificate", proof)
    printed = run("fit", table, *FIT, "--solver", "milp", "--time-limit", 60, *files)
    assert "Proven optimal" not in printed
    said = r"HiGHS\s+reports\s+a\s+bound\s+of\s+0\.\d+ .*it\s+is\s+not\s+a\s+proof"
    assert re.search(said, printed, re.DOTALL)
    assert "accepted: no allowed card is better by more than" in run("verify", card, proof, table)
    assert Certificate.load(proof).proof.method == "ceiling"


@pytest.mark.parametrize("solver", ["local", "anneal"])
def test_a_search_alone_proves_nothing_and_says_so(table: Path, solver: str) -> None:
    printed = run("fit", table, *FIT, "--solver", solver)
    assert "Nothing is proven: better cards may exist" in printed


def test_constraints_from_a_file(table: Path, tmp_path: Path) -> None:
    constraints = [{"kind": "exclusive", "features": ["fever", "old"]}]
    path = tmp_path / "constraints.json"
    path.write_text(json.dumps(constraints))
    card, proof = tmp_path / "card.json", tmp_path / "proof.json.gz"
    run("fit", table, *FIT, "--constraints", path, "--out", card, "--certificate", proof)
    used = {rule.term.feature for rule in Scorecard.load(card).rules}
    assert not {"fever", "old"} <= used
    assert Certificate.load(proof).problem.constraints
    assert "accepted" in run("verify", card, proof, table)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not JSON"),
        ('{"kind": "include"}', "does not hold a list"),
        ('[{"kind": "wish"}]', "wish"),
        ('[{"kind": "include", "features": ["nobody"]}]', "nobody"),
    ],
)
def test_bad_constraints(table: Path, tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "constraints.json"
    path.write_text(text)
    assert message in error("fit", table, *FIT, "--constraints", path)


def test_clashing_constraints_are_named(table: Path, tmp_path: Path) -> None:
    path = tmp_path / "constraints.json"
    items = [
        {"kind": "include", "features": ["fever"]},
        {"kind": "exclude", "features": ["fever"]},
        {"kind": "max_total_points", "limit": 9},
    ]
    path.write_text(json.dumps(items))
    message = error("fit", table, *FIT, "--constraints", path)
    assert "fever" in message
    assert "9" not in message


@pytest.fixture(scope="module")
def hard(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table whose proof takes longer than anybody waits."""
    rng = np.random.default_rng(5)
    X = rng.integers(0, 10, (400, 12))
    y = rng.random(400) < 1 / (1 + np.exp(6 - X[:, :6].sum(axis=1) / 5))
    columns = {"y": y.astype(int), **{f"x{k}": X[:, k] for k in range(12)}}
    return save(columns, tmp_path_factory.mktemp("hard") / "hard.csv")


def says_how_far(printed: str) -> tuple[float, float]:
    """Percent and bound of the sentence."""
    found = re.search(
        r"Within ([\d.]+)% of the best possible card: no card within these limits has an objective "
        r"above (0\.\d+)\.",
        " ".join(printed.split()),
    )
    assert found is not None, printed
    return float(found[1]), float(found[2])


def test_a_time_out_says_how_far(hard: Path, tmp_path: Path) -> None:
    card, proof = tmp_path / "card.json", tmp_path / "proof.json"
    printed = run(
        "fit", hard, "--target", "y", *NUMBERS, *PUBLISHED, "--time-limit", 4, "--out", card,
        "--certificate", proof,
    )  # fmt: skip
    percent, bound = says_how_far(printed)
    provenance = Scorecard.load(card).provenance
    assert provenance is not None
    assert provenance.objective is not None
    assert provenance.bound is not None
    assert provenance.bound - 1e-15 <= bound < provenance.bound + 2e-6
    assert percent >= 100 * (provenance.bound / provenance.objective - 1) - 1e-9
    assert "a longer --time-limit may find a better card, or prove more" in printed
    assert "accepted" in run("verify", card, proof, hard)


def test_ctrl_c_during_a_proof_leaves_card_bound_and_sentence(hard: Path, tmp_path: Path) -> None:
    card, proof = tmp_path / "card.json", tmp_path / "proof.json"
    options = ["--time-limit", 60, "--solver", "exact", "--out", card, "--certificate", proof]
    terminal = Terminal("fit", hard, "--target", "y", *NUMBERS, *PUBLISHED, *options)
    try:
        terminal.read(until="gap ")
        terminal.read(until="gap 1")  # the bound has come closer than the trivial one
        terminal.process.send_signal(signal.SIGINT)
        shown = terminal.read()
        assert terminal.process.wait(PATIENCE) == 0, shown
    finally:
        terminal.close()
    assert "Traceback" not in shown
    assert "the search was interrupted; the card is the best so far" in shown
    _, bound = says_how_far(shown)
    provenance = Scorecard.load(card).provenance
    assert provenance is not None
    assert provenance.status == "interrupted"
    assert provenance.objective is not None
    assert provenance.objective < bound
    assert "accepted" in run("verify", card, proof, hard)
