"""What the page asks for, and gets: files, the first event, tables, actions, metrics."""

from __future__ import annotations

import time
from importlib.resources import files
from typing import Any, Final, NamedTuple

from sitecrawl.base.errors import SitecrawlError, StorageError
from sitecrawl.plugins.dashboard.actions import Actions
from sitecrawl.plugins.dashboard.cache import Cache
from sitecrawl.plugins.dashboard.metrics import CONTENT_TYPE, exposition
from sitecrawl.plugins.dashboard.monitor import Monitor
from sitecrawl.plugins.dashboard.streams import Reader, Streams, encode, to_json
from sitecrawl.plugins.dashboard.tables import Fields, Table

MAX_QUERIES: Final = 4
"""Tables that are looked over at the same time."""
_TYPES: Final = {"css": "text/css", "html": "text/html", "js": "text/javascript", "txt": "text/plain"}
"""Of the files in `static`, by the ends of their names."""


class Answer(NamedTuple):
    """What goes back."""

    body: bytes
    content_type: str
    status: int = 200


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
