"""The studio's server: a thin layer over one session, for a page on the same machine only.

1. It listens on the loopback address, and every path begins with a random token.
2. A request has to name this host, and to come from this page, if it says where it comes from;
   one that changes anything has to say so.
3. No path of a request is ever a path of a file, and nothing is fetched from anywhere.
4. A change names the revision that it is about: a page that shows an older one is told so.
"""

from __future__ import annotations

import json
import logging
import os
import secrets
import socket
import threading
import webbrowser
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Self

from numpy.typing import ArrayLike

from netbenefit.cards import strip_control
from netbenefit.common import (
    InputError,
    asset,
    check_object,
    install_command,
    parse,
    read_integer,
    read_number,
)
from netbenefit.estimators import RiskScoreClassifier
from netbenefit.export import to_calculator
from netbenefit.problem import NoCardFound
from netbenefit.studio.draft import Edit
from netbenefit.studio.saving import finished_card, python_code, report_page
from netbenefit.studio.session import Search, Session
from netbenefit.studio.views import alternatives_view, search_view, state

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

logger = logging.getLogger(__name__)

HOST = "127.0.0.1"
#: Largest request, in bytes.
_MOST_BYTES = 1_000_000
#: Longest time for a solver that a page may ask for, in seconds.
_LONGEST = 3600.0
#: Seconds between two looks for news, and after which a silent stream shows that it is alive.
_LOOK, _ALIVE = 0.1, 15.0
#: The parts of the page, which are built from ``frontend``.
_PAGE = {"index.html": "text/html", "app.js": "text/javascript", "app.css": "text/css"}
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Refused(Exception):
    """A request that is not answered as asked; the status says why."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class Studio:
    """A session and the solver that works on it, as a page asks for them."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._lock = threading.Lock()
        self.search: Search | None = None
        self.closed = False  #: streams of news end when it is
        self._begun = 0  # the revision that the solver began with
        self._ended = ""  # why its answer was not taken over, if it was not

    # -- what is asked ---------------------------------------------------------------------------

    def state(self, query: Mapping[str, str]) -> dict[str, Any]:
        """Everything that is always on the page."""
        return state(self.session, _threshold(query))

    def ranking(self, query: Mapping[str, str]) -> Any:
        """All conditions without points, by what they would add."""
        return self.session.ranking()

    def groups(self, query: Mapping[str, str]) -> Any:
        """Figures of groups of people."""
        found = self.session.groups(_needed(query, "column"), _threshold(query))
        return {side: [group._asdict() for group in groups] for side, groups in found.items()}

    def distribution(self, query: Mapping[str, str]) -> Any:
        """How a column's rows are distributed."""
        return [one._asdict() for one in self.session.distribution(_needed(query, "column"))]

    def columns(self, query: Mapping[str, str]) -> Any:
        """Raw columns, any of which can make groups."""
        return list(self.session.bench.training.table.names)

    # -- what is changed -------------------------------------------------------------------------

    def edit(self, data: Any) -> Any:
        """Change the card."""
        parts = _object(data, "edit")
        edit = Edit.from_json(parts["edit"])
        if edit.by != "person":
            raise InputError(f"a page cannot make an edit of kind {edit.kind!r}.")
        return self._change(parts, lambda: self.session.edit(edit))

    def undo(self, data: Any) -> Any:
        """Take back the last edit."""
        return self._change(_object(data), self.session.undo)

    def redo(self, data: Any) -> Any:
        """Do again what was taken back."""
        return self._change(_object(data), self.session.redo)

    def _change(self, parts: Mapping[str, Any], change: Callable[[], object]) -> Any:
        with self.session.lock:
            if parts["revision"] != self.session.revision:
                raise Refused(409, "The card was changed in another window: this one was behind.")
            change()
            return {"revision": self.session.revision}

    def solve(self, data: Any) -> Any:
        """Let the solver begin."""
        parts = _object(data, "time_limit")
        seconds = read_number(parts["time_limit"], "time_limit")
        if not 0 < seconds <= _LONGEST:
            raise InputError(f"time_limit={seconds!r} must be seconds, up to {_LONGEST:g}.")
        with self._lock:
            if self.search is not None and not self.search.done:
                raise Refused(409, "The solver is at work already. Stop it first.")
            return self._change(parts, lambda: self._begin(seconds))

    def _begin(self, seconds: float) -> None:
        self._ended, self._begun = "", self.session.revision
        self.search = self.session.solve(seconds)

    def stop(self, data: Any) -> Any:
        """Ask the solver to end with what it has found."""
        _object(data, revision=False)
        with self._lock:
            if self.search is not None:
                self.search.stop()
        return {}

    def alternatives(self, data: Any) -> Any:
        """List cards that are almost as good as the best."""
        parts = _object(data, "tolerance", "limit", "time_limit", revision=False)
        tolerance = read_number(parts["tolerance"], "tolerance")
        limit = read_integer(parts["limit"], "limit")
        seconds = read_number(parts["time_limit"], "time_limit")
        if not 0 < seconds <= _LONGEST:
            raise InputError(f"time_limit={seconds!r} must be seconds, up to {_LONGEST:g}.")
        found = self.session.alternatives(tolerance, limit, seconds)
        return alternatives_view(self.session, found)

    def settle(self) -> None:
        """Take over what the solver has found, unless the card was changed in the meantime."""
        with self._lock:
            search = self.search
            if search is None or not search.done:
                return
            self.search = None
            try:
                with self.session.lock:
                    if self.session.revision != self._begun:
                        self._ended = (
                            "The card was changed while the solver was at work, so that its "
                            "answer was not taken over."
                        )
                        return
                    self.session.adopt(search)
            except (InputError, NoCardFound) as error:
                self._ended = str(error)

    def news(self) -> dict[str, Any]:
        """What a page is told without asking."""
        self.settle()
        return {
            "revision": self.session.revision,
            "search": search_view(self.search),
            "ended": self._ended,
        }

    # -- what leaves -----------------------------------------------------------------------------

    def files(self) -> dict[str, Callable[[], tuple[str, str]]]:
        """Files by name: what makes their text, and their type."""
        session = self.session
        return {
            "card.json": lambda: (finished_card(session).to_json(), "application/json"),
            "report.html": lambda: (report_page(session), "text/html"),
            "calculator.html": lambda: (to_calculator(finished_card(session)), "text/html"),
            "edits.py": lambda: (python_code(session), "text/x-python"),
        }


def _threshold(query: Mapping[str, str]) -> float | None:
    if "threshold" not in query:
        return None
    try:
        return float(query["threshold"])
    except ValueError:
        raise InputError(f"threshold={query['threshold']!r} is not a number.") from None


def _needed(query: Mapping[str, str], name: str) -> str:
    if name not in query:
        raise InputError(f"the request lacks {name}=….")
    return query[name]


def _object(data: Any, *keys: str, revision: bool = True) -> dict[str, Any]:
    """A request with these keys, and the revision that it is about."""
    check_object(data, "the request", (*keys, *(["revision"] if revision else [])))
    if revision:
        read_integer(data["revision"], "revision")
    return dict(data)


async def news_of(studio: Studio, gone: Callable[[], Any]) -> AsyncIterator[str]:
    """Server-sent events: the news whenever they change, until the page or the server is gone."""
    import anyio

    last, silent = "", 0.0
    while not (studio.closed or await gone()):
        text = json.dumps(await anyio.to_thread.run_sync(studio.news), allow_nan=False)
        if text != last:
            last, silent = text, 0.0
            yield f"data: {text}\n\n"
        elif silent >= _ALIVE:
            silent = 0.0
            yield ": alive\n\n"
        await anyio.sleep(_LOOK)
        silent += _LOOK


# -- requests --------------------------------------------------------------------------------------


def check_installed() -> None:
    """Refuse to begin without the packages that serve the page."""
    absent = [name for name in ("starlette", "uvicorn") if find_spec(name) is None]
    if absent:
        raise InputError(f"the studio needs {' and '.join(absent)}: {install_command('studio')}")


def make_app(studio: Studio, token: str, hosts: set[str]) -> Starlette:
    """Return the application: answers requests for these hosts, under this token."""
    check_installed()
    from anyio.to_thread import run_sync
    from starlette.applications import Starlette
    from starlette.responses import JSONResponse, Response, StreamingResponse
    from starlette.routing import Route

    files = studio.files()

    def answered(act: Callable[[Request], Awaitable[Response]]) -> Callable[..., Any]:
        """Check a request, and turn what goes wrong into an answer."""

        async def respond(request: Request) -> Response:
            try:
                check_request(request, token, hosts)
                response = await act(request)
            except Refused as error:
                response = JSONResponse({"error": str(error)}, error.status)
            except InputError as error:
                response = JSONResponse({"error": strip_control(str(error))}, 400)
            except Exception:
                logger.exception("a request failed")
                text = "Something went wrong here; the terminal says what."
                response = JSONResponse({"error": text}, 500)
            response.headers.update(_HEADERS)
            return response

        return respond

    def asks(of: Callable[[Mapping[str, str]], Any]) -> Callable[..., Any]:
        async def act(request: Request) -> Response:
            return JSONResponse(await run_sync(of, request.query_params))

        return answered(act)

    def changes(by: Callable[[Any], Any]) -> Callable[..., Any]:
        async def act(request: Request) -> Response:
            return JSONResponse(await run_sync(by, await body_of(request)))

        return answered(act)

    async def file(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in files:
            raise Refused(404, "Not found.")
        text, kind = await run_sync(files[name])
        attached = {"Content-Disposition": f'attachment; filename="{name}"'}
        return Response(text, media_type=kind, headers=attached)

    async def page(request: Request) -> Response:
        name = request.path_params.get("asset", "index.html")
        if name not in _PAGE:
            raise Refused(404, "Not found.")
        return Response(asset("studio", name), media_type=_PAGE[name])

    async def events(request: Request) -> Response:
        return StreamingResponse(
            news_of(studio, request.is_disconnected), media_type="text/event-stream"
        )

    def route(path: str, endpoint: Callable[..., Any], method: str = "GET") -> Route:
        return Route(f"/{{token}}/{path}", endpoint, methods=[method])

    return Starlette(
        routes=[
            route("", answered(page)),
            *(
                route(f"api/{of.__name__}", asks(of))
                for of in (studio.state, studio.ranking, studio.groups)
            ),
            *(
                route(f"api/{of.__name__}", asks(of))
                for of in (studio.distribution, studio.columns)
            ),
            *(
                route(f"api/{by.__name__}", changes(by), "POST")
                for by in (studio.edit, studio.undo, studio.redo, studio.solve, studio.stop)
            ),
            route("api/alternatives", changes(studio.alternatives), "POST"),
            route("api/events", answered(events)),
            route("files/{name}", answered(file)),
            route("{asset}", answered(page)),
        ]
    )


def check_request(request: Request, token: str, hosts: set[str]) -> None:
    """Steps 1 and 2 of the module's recipe."""
    headers = request.headers
    if not secrets.compare_digest(request.path_params["token"].encode(), token.encode()):
        raise Refused(404, "Not found.")
    if headers.get("host") not in hosts:
        raise Refused(403, "This host is not served.")
    origin = headers.get("origin")
    asks = request.method in ("GET", "HEAD")
    if origin not in {f"http://{host}" for host in hosts} and not (origin is None and asks):
        raise Refused(403, "Only the studio's own page may ask.")
    # A link elsewhere may open the page: whoever made it knew the token.
    opened = asks and headers.get("sec-fetch-mode") == "navigate"
    if headers.get("sec-fetch-site", "none") not in ("same-origin", "none") and not opened:
        raise Refused(403, "Only the studio's own page may ask.")


async def body_of(request: Request) -> Any:
    """The JSON of a request."""
    if request.headers.get("content-type", "").split(";")[0].strip() != "application/json":
        raise Refused(415, "Send application/json.")
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > _MOST_BYTES:
            raise Refused(413, f"A request may have {_MOST_BYTES:,} bytes at most.")
    try:
        text = body.decode()
    except UnicodeDecodeError:
        raise InputError("the request is not UTF-8 text.") from None
    return parse(text, "a request", "Send a JSON object.")


class Server:
    """A studio that is served on this machine; a context manager that closes it.

    Attributes
    ----------
    url : str
        Where its page is, token included.
    session : Session
    """

    def __init__(self, session: Session, port: int = 0) -> None:
        token, self.session = secrets.token_urlsafe(32), session
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._socket.bind((HOST, port))
            self._socket.listen()
            own = self._socket.getsockname()[1]
            self._studio = Studio(session)
            app = make_app(self._studio, token, {f"{HOST}:{own}", f"localhost:{own}"})
            import uvicorn
        except OSError as error:
            self._socket.close()
            raise InputError(f"port {port} of {HOST} cannot be used: {error.strerror}.") from None
        except BaseException:
            self._socket.close()
            raise
        self.url = f"http://{HOST}:{own}/{token}/"
        options = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            server_header=False,
            lifespan="off",
            timeout_graceful_shutdown=5,
        )
        self._server = uvicorn.Server(options)
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        self._server.run(sockets=[self._socket])

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the server, and give the session's journal free."""
        self._studio.closed = self._server.should_exit = True
        self._thread.join()
        self._socket.close()
        self.session.close()

    def _repr_html_(self) -> str:
        return f'<a href="{self.url}" target="_blank" rel="noopener">Open the studio</a>'

    def wait(self) -> None:
        """Serve until the process is interrupted."""
        while self._thread.is_alive():
            self._thread.join(0.2)


def open_studio(
    model: RiskScoreClassifier,
    X: Any,
    y: Any,
    sample_weight: ArrayLike | None = None,
    *,
    held_out: Sequence[Any] | None = None,
    journal: str | os.PathLike[str] | None = None,
    browser: bool = True,
) -> Server:
    """Open the page of a fitted model, and go on: for notebooks and prompts.

    Parameters
    ----------
    model, X, y, sample_weight, held_out, journal
        As for a :class:`Session`.
    browser : bool, default=True
        Whether to open a browser, too.

    Returns
    -------
    Server
        Its ``url`` is the page, its ``session`` has the card; ``close()`` ends it.
    """
    server = Server(
        Session(model, X, y, sample_weight, held_out=held_out, journal=journal)
    ).__enter__()
    if browser:
        webbrowser.open(server.url)
    return server
