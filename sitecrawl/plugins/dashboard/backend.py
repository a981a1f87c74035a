"""What the page asks for, and gets: files, the first event, tables, actions, metrics."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from importlib.resources import files
from typing import Any, Final, NamedTuple

from sitecrawl.base.errors import SitecrawlError, StorageError
from sitecrawl.plugins.dashboard.actions import Actions
from sitecrawl.plugins.dashboard.metrics import CONTENT_TYPE, exposition
from sitecrawl.plugins.dashboard.monitor import Monitor
from sitecrawl.plugins.dashboard.streams import Reader, Streams, encode, to_json
from sitecrawl.plugins.dashboard.tables import Fields, Row, Table

_KEPT: Final = 64
_SECONDS: Final = 2.0
_SHARE: Final = 250
"""Rows stand for so many times what they cost: at most 1 / 250 of a core goes into one table."""
MAX_QUERIES: Final = 4
"""Tables that are looked over at the same time."""
_TYPES: Final = {"css": "text/css", "html": "text/html", "js": "text/javascript", "txt": "text/plain"}
"""Of the files in `static`, by the ends of their names."""


class Answer(NamedTuple):
    """What goes back."""

    body: bytes
    content_type: str
    status: int = 200


class Cache:
    """Tables that several readers share: what was dear to look over is not looked over for each of them. `clock` is
    monotonic.
    """

    def __init__(self, *, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._known: dict[object, asyncio.Task[tuple[Row, float]]] = {}
        """The rows, and until when they stand; or who looks for them."""
        self.under_way = 0
        """Questions that are being answered."""

    def knows(self, question: object) -> bool:
        """Whether the rows are there, or on their way."""
        task = self._known.get(question)
        if task is None or not task.done():
            return task is not None
        return task.exception() is None and self._clock() < task.result()[1]

    async def get(self, question: object, find: Callable[[], Coroutine[Any, Any, Row]]) -> Row:
        """The rows, from `find` if nobody has asked of late; whoever asks meanwhile waits for the same."""
        if not self.knows(question):
            if len(self._known) >= _KEPT:
                self.forget()
            self.under_way += 1
            self._known[question] = asyncio.ensure_future(self._found(find))
        rows, _ = await self._known[question]
        return rows

    async def _found(self, find: Callable[[], Coroutine[Any, Any, Row]]) -> tuple[Row, float]:
        try:
            rows = await find()
        finally:
            self.under_way -= 1
        return rows, self._clock() + max(_SECONDS, rows.get("cost", 0.0) * _SHARE)

    def forget(self) -> None:
        """Something was done: what is known may be wrong, and so may what is being found."""
        self._known.clear()


class Backend:
    """Answers those who may ask about one running crawl. A path has neither token nor first slash."""

    def __init__(self, monitor: Monitor, tables: dict[str, Table], actions: Actions, streams: Streams) -> None:
        self._monitor = monitor
        self._tables = tables
        self._actions = actions
        self._streams = streams
        self._cache = Cache(clock=time.monotonic)
        self._files = _static_files()

    async def get(self, path: str, fields: Fields) -> Answer:
        if path in self._files:
            return self._files[path]
        if path == "metrics":
            return await self._metrics()
        if path == "overview":
            return _json(self._monitor.overview())
        table = self._tables.get(path)
        return _error("There is nothing here", 404) if table is None else await self._rows(path, table, fields)

    async def _metrics(self) -> Answer:
        monitor = self._monitor
        await monitor.refresh()
        text = exposition(
            monitor.figures,
            monitor.meter,
            paused=self._actions.paused,
            wants=monitor.wants,
            spider=monitor.spider,
            workers=monitor.workers(),
        )
        return Answer(text.encode(), CONTENT_TYPE)

    async def _rows(self, path: str, table: Table, fields: Fields) -> Answer:
        question = path, tuple(sorted(fields.items()))
        if self._cache.under_way >= MAX_QUERIES and not self._cache.knows(question):
            return _error("Others are being answered: try again", 503)
        try:
            return _json(await self._cache.get(question, lambda: table(fields)))
        except StorageError as error:  # once the crawl is being stopped, its files may be closed
            return _error("The crawl has ended" if self._actions.stopping else str(error), 503)
        except SitecrawlError as error:
            return _error(str(error), 400)

    def post(self, path: str, fields: dict[str, Any]) -> Answer:
        directory, _, name = path.partition("/")
        try:
            done = self._actions.act(name if directory == "act" else "", fields)
        except KeyError:
            return _error("There is no such action", 404)
        except SitecrawlError as error:
            return _error(str(error), 400)
        self._cache.forget()
        self._monitor.look()
        self._streams.send("sample", self._monitor.sample())
        return _json({"done": done})

    def join(self, reader: Reader) -> bytes | None:
        """A reader of the events; returns the first of them, None where there is no room."""
        if not self._streams.has_room:
            return None
        first = encode("overview", self._monitor.overview())
        self._streams.add(reader)
        return first

    def leave(self, reader: Reader) -> None:
        self._streams.remove(reader)


def _static_files() -> dict[str, Answer]:
    """What is served as it is, by path."""
    found = {}
    for file in files("sitecrawl.plugins.dashboard").joinpath("static").iterdir():
        kind = _TYPES[file.name.rpartition(".")[2]]
        found["" if file.name == "index.html" else file.name] = Answer(file.read_bytes(), f"{kind}; charset=utf-8")
    return found


def _json(value: Any, status: int = 200) -> Answer:
    return Answer(to_json(value).encode(), "application/json", status)


def _error(message: str, status: int) -> Answer:
    return _json({"error": message}, status)
