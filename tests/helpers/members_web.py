"""A site for members on loopback: a form with a token against forged requests, sessions that end, ways to log out."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from urllib.parse import parse_qs

from threaded import Threaded

USER, PASSWORD, TOKEN = "mariana", "pa55-of-mariana", "bearer-71c0ffee"


class MembersWeb(Threaded):
    """Serves `pages` pages that link to one another, to those alone who have logged in.

    `ends_after`: pages that a session lasts. `way`: how one logs in, `form`, `basic` or `bearer`. `shows`: what one
    gets who is logged out: `redirect` to the login page, the `form` itself, 401 (`status`), or a `text`.
    """

    def __init__(
        self,
        pages: int = 8,
        *,
        ends_after: int = 0,
        way: str = "form",
        shows: str = "redirect",
        extra: Mapping[str, str] | None = None,
        address: str = "127.0.0.1",
    ) -> None:
        self.pages = pages
        self.ends_after = ends_after
        self.way = way
        self.shows = shows
        self.extra = dict(extra or {})
        """More pages, by path, that everybody may see."""
        self.sessions: dict[str, int] = {}
        """Pages that each has had."""
        self.all_sessions: list[str] = []
        self.logins = 0
        self.refused_logins = 0
        self.logouts = 0
        self.opens = threading.Event()
        """Until it is set, pages but for the first do not come."""
        self.opens.set()
        self.seen: list[tuple[str, str, dict[str, str]]] = []
        """Method, path and headers of each request."""
        self._tokens: set[str] = set()
        self._numbers = count(1)
        self._lock = threading.Lock()
        server = ThreadingHTTPServer((address, 0), type("Handler", (_Handler,), {"web": self}))
        server.daemon_threads = True
        self.port = server.server_address[1]
        self.host = f"{address}:{self.port}"
        self.root = f"http://{self.host}"
        self.serve(server)

    def token(self) -> str:
        with self._lock:
            token = f"csrf-{next(self._numbers)}"
            self._tokens.add(token)
            return token

    def log_in(self, form: Mapping[str, list[str]]) -> str | None:
        """A session's name; None for a wrong password or token."""
        with self._lock:
            token = form.get("csrf", [""])[0]
            right = form.get("user") == [USER] and form.get("password") == [PASSWORD] and token in self._tokens
            self._tokens.discard(token)
            if not right:
                self.refused_logins += 1
                return None
            self.logins += 1
            name = f"session-cafe-{next(self._numbers)}-{self.port}"
            self.sessions[name] = 0
            self.all_sessions.append(name)
            return name

    def lets_in(self, session: str) -> bool:
        """One more page of a session."""
        with self._lock:
            if session not in self.sessions:
                return False
            self.sessions[session] += 1
            if self.ends_after and self.sessions[session] > self.ends_after:
                del self.sessions[session]
                return False
            return True

    def log_out(self, session: str) -> None:
        with self._lock:
            self.logouts += 1
            self.sessions.pop(session, None)

    def paths(self) -> list[str]:
        return [path for _, path, _ in self.seen if path != "/robots.txt"]


class _Handler(BaseHTTPRequestHandler):
    web: MembersWeb
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def _form(self) -> bytes:
        return (
            "<!doctype html><title>Log in</title><form action=/search><input name=q></form>"
            f'<form method=post action="/login"><input type=hidden name=csrf value="{self.web.token()}">'
            "<input name=user><input type=password name=password><button>Log in</button></form>"
        ).encode()

    @property
    def _session(self) -> str:
        pairs = (pair.strip().partition("=") for pair in self.headers.get("Cookie", "").split(";"))
        return next((value for name, _, value in pairs if name == "sid"), "")

    def _is_let_in(self) -> bool:
        given = self.headers.get("Authorization", "")
        if self.web.way == "bearer":
            return given == f"Bearer {TOKEN}"
        if self.web.way == "basic":
            return given == "Basic bWFyaWFuYTpwYTU1LW9mLW1hcmlhbmE="
        return self.web.lets_in(self._session)

    def do_GET(self) -> None:
        self.web.seen.append(("GET", self.path, dict(self.headers)))
        path = self.path.partition("?")[0]
        if path.startswith("/page/"):
            self.web.opens.wait()
        if path == "/robots.txt":
            self._answer(404, b"")
        elif path in self.web.extra:
            self._answer(200, self.web.extra[path].encode())
        elif path == "/login":
            if self._session in self.web.sessions:
                self._answer(302, b"", Location="/")
            else:
                self._answer(200, self._form())
        elif path == "/logout":
            self.web.log_out(self._session)
            self._answer(302, b"", Location="/login")
        elif not self._is_let_in():
            self._refuse()
        elif path == "/" or (path.removeprefix("/page/").isdigit() and int(path[6:]) < self.web.pages):
            links = "".join(f'<a href="/page/{n}">{n}</a>' for n in range(self.web.pages))
            text = f"<!doctype html><title>Members {path}</title><p>For members: {path}{links}"
            self._answer(200, f'{text}<a href="/logout">Log out</a><a href="/login">Log in</a>'.encode())
        else:
            self._answer(404, b"no such page")

    def _refuse(self) -> None:
        if self.web.shows == "redirect":
            self._answer(302, b"", Location=f"/login?next={self.path}")
        elif self.web.shows == "form":
            self._answer(200, self._form())
        elif self.web.shows == "status":
            self._answer(401, b"<title>401</title>who are you")
        else:
            self._answer(200, b"<title>Sorry</title><p>Your session has expired.")

    def do_POST(self) -> None:
        self.web.seen.append(("POST", self.path, dict(self.headers)))
        form = parse_qs(self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode())
        session = self.web.log_in(form) if self.path == "/login" else None
        if session is None:
            self._answer(200, self._form())
        else:
            self._answer(303, b"", **{"Location": "/", "Set-Cookie": f"sid={session}; Path=/; HttpOnly"})

    def _answer(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "text/html", **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass
