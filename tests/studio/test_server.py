"""The studio's server: what it answers, and whom it refuses."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import anyio
import numpy as np
import pytest
from starlette.testclient import TestClient

from netbenefit.cards import Scorecard
from netbenefit.common import InputError
from netbenefit.estimators import RiskScoreClassifier
from netbenefit.problem import Bounds, MaxQuestions
from netbenefit.studio import (
    Server,
    Session,
    SetAnswer,
    SetPoints,
    Solved,
    TakeOver,
    open_studio,
)
from netbenefit.studio.server import Studio, make_app, news_of
from tests.studio.conftest import Table

HOST, TOKEN = "127.0.0.1:8123", "right-token"
ORIGIN = {"Origin": f"http://{HOST}"}


class Page:
    """A page that asks as a browser does."""

    def __init__(self, session: Session) -> None:
        app = make_app(Studio(session), TOKEN, {HOST, "localhost:8123"})
        self.client = TestClient(app, base_url=f"http://{HOST}", raise_server_exceptions=False)

    def get(self, path: str, token: str = TOKEN, **headers: str) -> Any:
        return self.client.get(f"/{token}/{path}", headers=headers)

    def post(self, path: str, body: Any, headers: dict[str, str] | None = None) -> Any:
        sent = ORIGIN if headers is None else headers
        if isinstance(body, bytes):
            return self.client.post(f"/{TOKEN}/api/{path}", content=body, headers=sent)
        return self.client.post(f"/{TOKEN}/api/{path}", json=body, headers=sent)

    def state(self, **query: Any) -> Any:
        found = self.client.get(f"/{TOKEN}/api/state", params=query)
        assert found.status_code == 200, found.text
        return found.json()

    def change(self, path: str, **body: Any) -> Any:
        return self.post(path, {**body, "revision": self.state()["revision"]})


@pytest.fixture
def page(session: Session) -> Page:
    return Page(session)


# -- what it answers -------------------------------------------------------------------------------


def test_the_state_is_that_of_the_session(page: Page, session: Session, table: Table) -> None:
    session.edit(SetPoints("sex is male", 1))
    found = page.state(threshold=0.3)
    figures = session.figures(0.3)
    assert found["card"]["questions"][0]["column"] == session.card.questions[0].feature
    assert [one["scores"] for one in found["card"]["risks"]]
    for name in ("training", "held-out"):
        side = found["figures"][name]
        assert side["net_benefit"] == figures[name].net_benefit
        assert side["at"] == figures[name].at
        assert side["moved"]["now_called"] == figures[name].moved.now_called
        assert side["curve"]["net_benefit"] == figures[name].curve["net_benefit"].tolist()
    assert found["standing"]["sentences"] == session.standing().sentences
    assert [step["what"] for step in found["history"]] == [one.what for one in session.history]
    assert found["history"][1]["effect"] == session.history[1].effect(session.history[0])
    assert (found["can_undo"], found["can_redo"]) == (True, False)
    assert found["threshold"] == 0.3
    text = json.dumps(found)
    assert len(text) < 100_000  # counts, no rows
    rows = {one["rule"]: one["points"] for one in found["conditions"] if one["points"]}
    assert rows == session.draft.rules


def test_every_answer_can_be_changed_by_its_value(page: Page, session: Session) -> None:
    for question in page.state()["card"]["questions"]:
        for answer in question["answers"]:
            if not answer["editable"]:
                continue
            edit = SetAnswer(question["column"], answer["value"], answer["points"] + 3)
            assert page.change("edit", edit=edit.to_json()).status_code == 200
            what = session.history[-1].what
            assert what.startswith(f"{question['column']}, {answer['text']}: {answer['points']} →")
            assert page.change("undo").status_code == 200


def test_edits_undo_and_redo(page: Page, session: Session) -> None:
    before = session.draft
    done = page.change("edit", edit=SetPoints("falls", 2).to_json())
    assert done.json() == {"revision": session.revision}
    after = session.draft
    assert after.rules["falls"] == 2
    assert page.change("undo").status_code == 200
    assert session.draft == before
    assert page.change("redo").status_code == 200
    assert session.draft == after
    assert page.change("redo").json() == {"error": "there is nothing to redo."}


def test_a_window_that_is_behind_is_told_so(page: Page, session: Session) -> None:
    old = page.state()["revision"]
    assert page.change("edit", edit=SetPoints("falls", 2).to_json()).status_code == 200
    late = page.post("undo", {"revision": old})
    assert late.status_code == 409
    assert "changed in another window" in late.json()["error"]
    assert session.draft.rules["falls"] == 2


def test_rankings_groups_and_distributions(page: Page, session: Session) -> None:
    assert page.get("api/ranking").json() == session.ranking()
    groups = page.get("api/groups?column=ward&threshold=0.2").json()
    assert [one["name"] for one in groups["training"]] == ["A", "B", "C"]
    assert groups["held-out"][0]["at"] == session.groups("ward", 0.2)["held-out"][0].at
    bins = page.get("api/distribution?column=age").json()
    assert sum(one["events"] for one in bins) == sum(
        one.events for one in session.distribution("age")
    )
    assert page.get("api/columns").json() == ["age", "bmi", "sex", "falls", "ward"]


def test_alternatives(page: Page, session: Session) -> None:
    body = {"tolerance": 0.002, "limit": 20, "time_limit": 60.0}
    found = page.post("alternatives", body).json()
    assert found["complete"]
    assert [one["present"] for one in found["cards"]][:2] == [True, False]
    other = TakeOver(found["cards"][1]["points"], "alternative 2")
    assert page.change("edit", edit=other.to_json()).status_code == 200
    assert session.draft.rules == found["cards"][1]["points"]


def test_files_are_what_the_session_leaves(page: Page, session: Session) -> None:
    session.edit(SetPoints("falls", 2))
    card = page.get("files/card.json")
    assert card.headers["content-disposition"] == 'attachment; filename="card.json"'
    assert Scorecard.from_json(card.text).rules == session.card.rules
    assert "Who decided what" in page.get("files/report.html").text
    assert "<!doctype html>" in page.get("files/calculator.html").text.lower()
    assert "SetPoints(rule='falls', points=2)" in page.get("files/edits.py").text


# -- the solver ------------------------------------------------------------------------------------


def until(true: Callable[[], bool]) -> None:
    for _ in range(6000):
        if true():
            return
        time.sleep(0.01)
    raise AssertionError("this took a minute")


def test_the_solver_s_answer_is_taken_over(session: Session) -> None:
    session.edit(SetPoints("falls", 0))
    studio = Studio(session)
    studio.solve({"time_limit": 60.0, "revision": session.revision})
    until(lambda: studio.news()["search"] is None)
    assert session.history[-1].by == "solver"
    assert session.history[-1].value == session.history[0].value
    assert studio.news()["ended"] == ""


class Waiting:
    """A solver that waits to be stopped, or to be let go."""

    def __init__(self) -> None:
        self.go = threading.Event()

    def solve(self, problem: Any, *, start: Any = None, callback: Any = None) -> Any:
        from netbenefit.solvers import Run

        run = Run(problem, "waiting", float("inf"), callback)
        while not (run.must_stop or self.go.is_set()):
            run.report(1, 0, np.array(start))
        return run.result(np.array(start), "interrupted")


def test_a_solver_is_followed_and_stopped(page: Page, session: Session, monkeypatch: Any) -> None:
    monkeypatch.setattr(session.bench.model, "solver", Waiting())
    studio = Studio(session)
    studio.solve({"time_limit": 60.0, "revision": session.revision})
    until(lambda: studio.news()["search"]["cards"] is not None)
    with pytest.raises(Exception, match="at work already"):
        studio.solve({"time_limit": 60.0, "revision": session.revision})
    studio.stop({})
    until(lambda: studio.news()["search"] is None)
    assert "stopped by hand" in session.history[-1].what


def test_an_answer_that_comes_too_late_is_not_taken_over(
    session: Session, monkeypatch: Any
) -> None:
    solver = Waiting()
    monkeypatch.setattr(session.bench.model, "solver", solver)
    studio = Studio(session)
    studio.solve({"time_limit": 60.0, "revision": session.revision})
    session.edit(SetPoints("falls", 2))
    solver.go.set()
    until(lambda: studio.news()["search"] is None)
    assert "was not taken over" in studio.news()["ended"]
    assert session.history[-1].what == "“falls”: 1 → 2 points"


def test_news_are_streamed_when_they_change(session: Session) -> None:
    studio, seen = Studio(session), []

    async def read() -> None:
        async def gone() -> bool:
            return len(seen) == 3

        async for text in news_of(studio, gone):
            seen.append(json.loads(text.removeprefix("data: ")))
            if len(seen) < 3:
                session.edit(SetPoints("falls", len(seen) + 1))

    anyio.run(read)
    assert [one["revision"] for one in seen] == [1, 2, 3]
    assert seen[0] == {"revision": 1, "search": None, "ended": ""}


# -- whom it refuses -------------------------------------------------------------------------------


@pytest.mark.parametrize("token", ["wrong-token", "right-toke", "right-token2", "%20", "ü", ".."])
@pytest.mark.parametrize("path", ["api/state", "files/card.json", "api/events"])
def test_a_wrong_token_finds_nothing(page: Page, token: str, path: str) -> None:
    found = page.get(path, token)
    assert found.status_code == 404
    assert "points" not in found.text


@pytest.mark.parametrize(
    "host", ["example.org", "127.0.0.1", "127.0.0.1:80", "localhost", "127.0.0.1:8123.example.org"]
)
def test_a_wrong_host_is_refused(page: Page, host: str) -> None:
    assert page.get("api/state", Host=host).status_code == 403
    assert page.get("api/state", Host="localhost:8123").status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Origin": "null"},
        {"Origin": "http://example.org"},
        {"Origin": "https://127.0.0.1:8123"},
        {"Origin": "http://127.0.0.1:8124"},
        {**ORIGIN, "Sec-Fetch-Site": "cross-site"},
        {**ORIGIN, "Sec-Fetch-Site": "same-site"},
    ],
)
def test_another_page_changes_nothing(
    page: Page, session: Session, headers: dict[str, str]
) -> None:
    body = {"edit": SetPoints("falls", 2).to_json(), "revision": session.revision}
    assert page.post("edit", body, headers).status_code == 403
    assert len(session.history) == 1


def test_another_page_reads_nothing(page: Page) -> None:
    assert page.get("api/state", Origin="http://example.org").status_code == 403
    found = page.get("api/state", **{"Sec-Fetch-Site": "cross-site"})
    assert found.status_code == 403
    assert "points" not in found.text


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"[]", 400),
        (b"null", 400),
        (b"NaN", 400),
        (b'{"edit": {}, "revision": 1}', 400),
        (b'{"edit": {"kind": "points"}, "revision": 1, "revision": 1}', 400),
        (b'{"edit": {"kind": "points", "rule": "falls", "points": 1e99}, "revision": 1}', 400),
        (b'{"revision": "1", "edit": null}', 400),
        (b'{"revision": 1}', 400),
        (b"[" * 100_000, 400),
        (b"\xff\xfe", 400),
        (b" " * 1_000_001, 413),
    ],
    ids=lambda value: str(value)[:20],
)
def test_bad_json_is_refused_with_a_reason(
    page: Page, session: Session, body: bytes, status: int
) -> None:
    kind = {**ORIGIN, "Content-Type": "application/json"}
    found = page.post("edit", body, kind)
    assert found.status_code == status
    assert found.json()["error"]
    assert len(session.history) == 1
    assert page.post("edit", body, {**ORIGIN, "Content-Type": "text/plain"}).status_code == 415


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("edit", {"edit": Solved({}, "0", "optimal", 0.0).to_json()}),
        ("solve", {"time_limit": 0}),
        ("solve", {"time_limit": 1e9}),
        ("solve", {"time_limit": None}),
        ("solve", {}),
    ],
)
def test_what_a_page_may_not_ask_for(page: Page, session: Session, path: str, body: Any) -> None:
    found = page.change(path, **body)
    assert found.status_code == 400
    assert len(session.history) == 1


@pytest.mark.parametrize(
    "path",
    [
        "files/../../etc/passwd",
        "files/%2e%2e%2fcard.json",
        "files/secret.txt",
        "files/",
        "files//etc/passwd",
        "files/card.json%00",
    ],
)
def test_no_path_is_a_file(page: Page, path: str) -> None:
    assert page.get(path).status_code == 404


@pytest.mark.parametrize(
    "path",
    [
        "api/groups",
        "api/groups?column=nothing",
        "api/groups?column=<script>",
        "api/distribution?column=%1b",
        "api/state?threshold=x",
        "api/state?threshold=nan",
        "api/state?threshold=2",
    ],
)
def test_bad_questions_have_a_reason(page: Page, path: str) -> None:
    found = page.get(path)
    assert found.status_code == 400
    assert found.json()["error"]
    assert "\x1b" not in found.text


def test_answers_say_that_nothing_else_may_be_loaded(page: Page) -> None:
    for path in ("api/state", "files/report.html", "files/nothing"):
        headers = page.get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert "access-control-allow-origin" not in headers


def test_an_error_of_ours_says_nothing_of_the_machine(
    page: Page, session: Session, monkeypatch: Any
) -> None:
    def broken() -> None:
        raise RuntimeError("/home/somebody/table.csv")

    monkeypatch.setattr(session, "standing", broken)
    found = page.get("api/state")
    assert found.status_code == 500
    assert "somebody" not in found.text


def test_hostile_names_come_through_as_text(model: RiskScoreClassifier, table: Table) -> None:
    name = "</script><img src=x onerror=alert(1)>\u202e\x1b[31m"
    X = {name if key == "falls" else key: values for key, values in table.X.items()}
    from tests.studio.conftest import make_model

    other = make_model(solver="local", time_limit=60.0, teacher=model.teaching_.risks).fit(
        X, table.y
    )
    session = Session(other, X, table.y)
    page = Page(session)
    found = page.change("edit", edit=SetPoints(name, 2).to_json())
    assert found.status_code == 200
    assert session.draft.rules[name] == 2
    assert name in [one["rule"] for one in page.state()["conditions"]]
    assert page.get("api/groups").status_code == 400
    limits = {"kind": "limits", "limits": [Bounds(name, 1, 1).to_json(), MaxQuestions(3).to_json()]}
    assert page.change("edit", edit=limits).status_code == 200
    report = page.get("files/report.html").text
    assert "<img src=x" not in report
    assert "\u202e" not in report


# -- a real server ---------------------------------------------------------------------------------


def test_a_real_server_listens_here_only_and_ends(session: Session) -> None:
    with Server(session) as server:
        place = urlsplit(server.url)
        assert place.hostname == "127.0.0.1"
        assert len(place.path) > 40  # a token that nobody guesses
        assert place.port is not None
        line = http.client.HTTPConnection("127.0.0.1", place.port, timeout=60)
        line.request("GET", f"{place.path}api/state")
        answer = line.getresponse()
        assert answer.status == 200
        assert json.loads(answer.read())["revision"] == 1
        line.request("GET", "/api/state")
        assert line.getresponse().status == 404
        line.close()
        stream = http.client.HTTPConnection("127.0.0.1", place.port, timeout=60)
        stream.request("GET", f"{place.path}api/events")
        news = stream.getresponse()
        assert news.headers["content-type"].startswith("text/event-stream")
        assert json.loads(news.readline().removeprefix(b"data: "))["revision"] == 1
        session.edit(SetPoints("falls", 2))
        assert news.readline() == b"\n"
        assert json.loads(news.readline().removeprefix(b"data: "))["revision"] == 2
        with pytest.raises(InputError, match=f"port {place.port} of 127.0.0.1 cannot be used"):
            Server(session, place.port)
        stream.close()
    with pytest.raises(OSError, match="refused"):
        http.client.HTTPConnection("127.0.0.1", place.port, timeout=5).request("GET", "/")


def test_a_notebook_opens_a_studio_and_goes_on(
    model: RiskScoreClassifier, table: Table, tmp_path: Any, monkeypatch: Any
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("netbenefit.studio.server.webbrowser.open", opened.append)
    path = tmp_path / "session.jsonl"
    for edits in range(2):  # the journal is free again when the first is closed
        server = open_studio(model, table.X, table.y, journal=path)
        try:
            assert opened[-1] == server.url
            assert f'href="{server.url}"' in server._repr_html_()
            place = urlsplit(server.url)
            line = http.client.HTTPConnection("127.0.0.1", place.port or 0, timeout=60)
            line.request("GET", f"{place.path}api/state")
            assert len(json.loads(line.getresponse().read())["history"]) == 1 + edits
            line.close()
            server.session.edit(SetPoints("falls", 2 + edits))
        finally:
            server.close()
