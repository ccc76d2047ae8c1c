"""What leaves a session: a card that tells its own story, a report, and code that repeats it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from netbenefit.cards import Scorecard
from netbenefit.estimators import RiskScoreClassifier
from netbenefit.export import to_calculator
from netbenefit.metrics import weighted_net_benefit
from netbenefit.problem import AtMost, Bounds, Values
from netbenefit.report import card_page
from netbenefit.studio import (
    MoveCut,
    Rename,
    Session,
    SetAnswer,
    SetLimits,
    SetPoints,
    SwitchOff,
    SwitchOn,
    TakeOver,
    finished_card,
    python_code,
    report_page,
)
from tests.studio.conftest import Table

NASTY = "</td><script>alert('x')</script>\n“”\u202e"


def test_a_card_that_was_not_edited_is_the_model_s_own(
    session: Session, model: RiskScoreClassifier, held_out: Table
) -> None:
    card, own = finished_card(session), model.scorecard_
    assert (card.rules, card.risks, card.base) == (own.rules, own.risks, own.base)
    assert card.provenance == own.provenance
    assert [one.what for one in card.decisions] == ["the card that the model learnt"]
    assert card.held_out is not None
    assert card.held_out.n_rows == 300
    assert card.held_out.net_benefit == pytest.approx(
        weighted_net_benefit(held_out.y == "died", card.risk(held_out.X), card.thresholds)
    )


def test_an_edited_card_says_who_decided_what(
    session: Session, table: Table, held_out: Table, tmp_path: Path
) -> None:
    session.edit(SetPoints("sex is male", 1))
    session.undo()
    session.edit(SwitchOff("age ≥ 60"))
    session.edit(Rename("title", None, NASTY))
    session.adopt(session.solve(60.0))
    session.edit(SetPoints("falls", 2))
    card = finished_card(session)
    assert [one.by for one in card.decisions] == ["solver", "person", "person", "solver", "person"]
    assert [one.what for one in card.decisions] == [step.what for step in session.history]
    last = card.decisions[-1]
    for rows, found in ((table, last.net_benefit), (held_out, last.held_out)):
        risk = card.risk(rows.X)
        assert found == pytest.approx(weighted_net_benefit(rows.y == "died", risk, card.thresholds))
    assert card.provenance is not None
    assert card.provenance.net_benefit == pytest.approx(last.net_benefit)
    assert card.provenance.solver == "exact, then by hand"
    assert "edited with the held-out rows in view" in str(card.provenance.caution)
    assert "4 changes after it was learnt" in str(card)
    card.save(tmp_path / "card.json")
    assert Scorecard.load(tmp_path / "card.json") == card
    for page in (card_page(card), report_page(session), to_calculator(card)):
        assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in report_page(session)
    assert "Who decided what" in card_page(card)
    assert "switched off “age ≥ 60” (1 point)" in card_page(card)
    assert "held-out rows" in report_page(session)


def test_cautions_are_about_the_rules_that_there_are(session: Session) -> None:
    session.edit(TakeOver({"age ≥ 40": 1}, "a card of one rule"))
    few = finished_card(session).provenance
    for name in session.draft.names:
        if name != "age ≥ 40":
            session.edit(SetPoints(name, 1))
    many = finished_card(session).provenance
    assert few is not None
    assert many is not None
    assert "per rule" not in str(few.caution)
    events = session.bench.base.patterns.n_events
    assert events / 7 > 10  # enough for seven rules, too
    assert "per rule" not in str(many.caution)


def test_a_bound_is_kept_only_where_it_is_about_every_card(session: Session) -> None:
    start = finished_card(session).provenance
    session.edit(SwitchOff("age ≥ 60"))
    worse = finished_card(session).provenance
    assert start is not None
    assert worse is not None
    assert start.status == "optimal"
    assert worse.status == "finished"
    assert worse.bound == pytest.approx(start.bound)
    assert worse.bound > worse.objective
    session.edit(SetLimits((Bounds("falls", 1, 1),)))
    limited = finished_card(session).provenance
    assert limited is not None
    assert limited.bound is None
    session.edit(SetLimits(()))
    session.edit(SetPoints("falls", 5))  # more than an answer may have
    broken = finished_card(session).provenance
    assert broken is not None
    assert broken.bound is None


def test_python_code_repeats_the_edits(
    session: Session, model: RiskScoreClassifier, table: Table
) -> None:
    session.edit(SetAnswer("bmi", None, 2))
    session.edit(SetLimits((Values("falls", (0, 2)), AtMost(1, ["age"]))))
    session.edit(SetLimits(()))
    session.edit(MoveCut("age", 60, 63))
    session.edit(SwitchOff("age ≥ 63"))
    session.edit(SwitchOn("age ≥ 63"))
    session.adopt(session.solve(60.0))
    session.edit(Rename("label", "age", NASTY))
    code = python_code(session)
    compile(code, "edits.py", "exec")
    names: dict[str, Any] = {"model": model, "X": table.X, "y": table.y}
    exec(code, names)
    again = names["session"]
    assert again.draft == session.draft
    assert [one.what for one in again.history] == [one.what for one in session.history]
    assert names["card"].rules == session.card.rules
    assert names["card"].risks == session.card.risks


def test_python_code_begins_with_the_card_of_the_start(
    session: Session, model: RiskScoreClassifier, table: Table
) -> None:
    session.edit(SetPoints("falls", 2))
    code = python_code(session)
    assert "Fraction" not in code
    names: dict[str, Any] = {"model": model, "X": table.X, "y": table.y}
    exec(
        code.replace("session = Session(model, X, y)", "session = Other(model, X, y)").replace(
            "from netbenefit.studio import",
            "from tests.studio.test_saving import Other\nfrom netbenefit.studio import",
        ),
        names,
    )
    assert names["session"].draft.points == session.draft.points


class Other(Session):
    """A session whose model has found another card."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.edit(TakeOver({"falls": 1}, "another search"))
