"""What the page asks for, and gets: files, all that it shows, actions, metrics."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from importlib.resources import files
from typing import Any, Final, NamedTuple

from sitecrawl.base.errors import SitecrawlError
from sitecrawl.plugins.dashboard.actions import Actions
from sitecrawl.plugins.dashboard.metrics import CONTENT_TYPE, exposition
from sitecrawl.plugins.dashboard.monitor import Monitor

_FILES: Final = {
    "": ("index.html", "text/html"),
    "app.js": ("app.js", "text/javascript"),
    "style.css": ("style.css", "text/css"),
}
"""Of the folder `static`, by path."""
_LAST: Final = 2.5
"""Seconds for which the end waits until who looks at the page has the last figures: it asks every second."""


class HttpAnswer(NamedTuple):
    """What goes back."""

    body: bytes
    content_type: str
    status: int = 200


class Backend:
    """Answers those who may ask about one running crawl. A path has neither token nor first slash."""

    def __init__(self, monitor: Monitor, actions: Actions) -> None:
        self._monitor = monitor
        self._actions = actions
        self._is_over = asyncio.Event()
        """All last figures are there, those of other workers, too."""
        self._was_told = asyncio.Event()
        """How the crawl ended."""

    async def get(self, path: str, fields: dict[str, str]) -> HttpAnswer:
        if path in _FILES:
            name, kind = _FILES[path]
            content = files("sitecrawl.plugins.dashboard").joinpath("static", name).read_bytes()
            return HttpAnswer(content, f"{kind}; charset=utf-8")
        monitor = self._monitor
        if path not in {"overview", "metrics"}:
            return _error("There is nothing here", 404)
        monitor.asked_at = time.monotonic()
        if not monitor.ending:
            await monitor.refresh()
        if monitor.ending:  # meanwhile, too
            await self._is_over.wait()
        if path == "metrics":
            return HttpAnswer(self._metrics().encode(), CONTENT_TYPE)
        answer = _json(monitor.overview())
        if monitor.ending:
            self._was_told.set()
        return answer

    def _metrics(self) -> str:
        monitor = self._monitor
        return exposition(
            monitor.figures,
            monitor.meter,
            paused=self._actions.paused,
            wants=monitor.wants,
            spider=monitor.spider,
            workers=monitor.workers(),
        )

    def post(self, path: str, fields: dict[str, Any]) -> HttpAnswer:
        directory, _, name = path.partition("/")
        try:
            done = self._actions.act(name if directory == "act" else "", fields)
        except KeyError:
            return _error("There is no such action", 404)
        except SitecrawlError as error:
            return _error(str(error), 400)
        self._monitor.tables.forget()
        self._monitor.look()
        return _json({"done": done})

    async def last_look(self) -> None:
        """The crawl has ended: let whoever looks at the page know."""
        self._is_over.set()
        if self._monitor.is_watched():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._was_told.wait(), _LAST)


def _json(value: Any, status: int = 200) -> HttpAnswer:
    """JSON that is strict (no NaN) and ASCII."""
    return HttpAnswer(json.dumps(value, allow_nan=False).encode(), "application/json", status)


def _error(message: str, status: int) -> HttpAnswer:
    return _json({"error": message}, status)
