"""What the page asks for, and gets: files, the first event, tables, actions, metrics."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from importlib.resources import files
from typing import Any, Final, Protocol

from sitecrawl.base.errors import SitecrawlError, StorageError
from sitecrawl.dashboard.answers import Answers
from sitecrawl.dashboard.figures import Figures
from sitecrawl.dashboard.meter import Meter
from sitecrawl.dashboard.metrics import CONTENT_TYPE, exposition
from sitecrawl.dashboard.operator import Operator
from sitecrawl.dashboard.streams import Reader, Streams, encode, to_json
from sitecrawl.dashboard.tables import Query, Row
from sitecrawl.dashboard.web import Answer, pause

FILES: Final = {
    "": ("index.html", "text/html; charset=utf-8"),
    **{
        name: (name, f"{kind}; charset=utf-8")
        for name, kind in (
            ("style.css", "text/css"),
            ("uplot.css", "text/css"),
            ("uplot.js", "text/javascript"),
            ("app.js", "text/javascript"),
            ("charts.js", "text/javascript"),
            ("dom.js", "text/javascript"),
            ("format.js", "text/javascript"),
            ("tables.js", "text/javascript"),
            ("actions.js", "text/javascript"),
            ("uplot.LICENSE.txt", "text/plain"),
        )
    },
}
"""What is served as it is, by path: its name in `static`, and its type."""

Table = Callable[[dict[str, str]], Awaitable[dict[str, Any]]]
"""Gives the rows that the fields of a URL ask for."""

MAX_QUERIES: Final = 4
"""Tables that are looked over at the same time."""


class Watching(Protocol):
    """What is seen of a crawl: `sitecrawl.dashboard.watch` for one process, `together` for a cluster."""

    spider: str
    meter: Meter

    @property
    def figures(self) -> Figures: ...

    def look(self) -> None: ...

    def sample(self) -> dict[str, Any]: ...

    def overview(self) -> dict[str, Any]: ...


class Rows(Protocol):
    """The tables; each raises `OptionError` for what it does not have."""

    async def hosts(self, query: Query) -> Row: ...

    async def sections(self, query: Query) -> Row: ...

    async def sitemaps(self, query: Query) -> Row: ...

    def host(self, name: str) -> Row: ...

    def pages(self) -> Row: ...

    def errors(self) -> Row: ...


class LiveDesk:
    """Answers from one running crawl. Contract: `sitecrawl.dashboard.web.Desk`."""

    def __init__(self, watch: Watching, tables: Rows, operator: Operator, streams: Streams) -> None:
        self._watch = watch
        self._tables = tables
        self._operator = operator
        self._streams = streams
        self._answers = Answers(clock=time.monotonic, pause=pause)
        self._files: dict[str, Answer] = {}

    async def get(self, path: str, fields: dict[str, str]) -> Answer:
        if path in FILES:
            return self._file(path)
        if path == "metrics":
            watch = self._watch
            text = exposition(watch.figures, watch.meter, paused=self._operator.paused, spider=watch.spider)
            return Answer(text.encode(), CONTENT_TYPE)
        if path == "overview":
            return _json(self._watch.overview())
        table = self._table(path)
        return _error("There is nothing here", 404) if table is None else await self._rows(path, table, fields)

    async def _rows(self, path: str, table: Table, fields: dict[str, str]) -> Answer:
        question = path, tuple(sorted(fields.items()))
        if self._answers.under_way >= MAX_QUERIES and not self._answers.knows(question):
            return _error("Others are being answered: try again", 503)
        try:
            return _json(await self._answers.get(question, lambda: table(fields)))
        except StorageError as error:  # once the crawl is being stopped, its files may be closed
            return _error("The crawl has ended" if self._operator.stopping else str(error), 503)
        except SitecrawlError as error:
            return _error(str(error), 400)

    def _table(self, path: str) -> Table | None:
        tables = self._tables

        async def at_once(rows: dict[str, Any]) -> dict[str, Any]:
            return rows

        found: dict[str, Table] = {
            "hosts": lambda fields: tables.hosts(Query.read(fields)),
            "sections": lambda fields: tables.sections(Query.read(fields)),
            "sitemaps": lambda fields: tables.sitemaps(Query.read({"sort": "new", **fields})),
            "host": lambda fields: at_once(tables.host(fields.get("name", ""))),
            "pages": lambda _: at_once(tables.pages()),
            "errors": lambda _: at_once(tables.errors()),
        }
        return found.get(path)

    def _file(self, path: str) -> Answer:
        if path not in self._files:
            name, kind = FILES[path]
            body = files("sitecrawl.dashboard").joinpath("static", name).read_bytes()
            self._files[path] = Answer(body, kind)
        return self._files[path]

    def post(self, path: str, fields: dict[str, Any]) -> Answer:
        directory, _, name = path.partition("/")
        try:
            done = self._operator.act(name if directory == "act" else "", fields)
        except KeyError:
            return _error("There is no such action", 404)
        except SitecrawlError as error:
            return _error(str(error), 400)
        self._answers.forget()
        self._watch.look()
        self._streams.send("sample", self._watch.sample())
        return _json({"done": done})

    def join(self, reader: Reader) -> bytes | None:
        if not self._streams.has_room:
            return None
        first = encode("overview", self._watch.overview())
        self._streams.add(reader)
        return first

    def leave(self, reader: Reader) -> None:
        self._streams.remove(reader)


def _json(value: Any, status: int = 200) -> Answer:
    return Answer(to_json(value).encode(), "application/json", status)


def _error(message: str, status: int) -> Answer:
    return _json({"error": message}, status)
