"""The workers of a cluster on one page: each has a heartbeat that the others hear, and any of them shows all.

They hear it by a *board* on Redis. That has a connection of its own, so it works until a worker is gone, and the
crawl waits for nothing that is done there.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

import redis

from sitecrawl.base.batches import batches
from sitecrawl.cluster.connection import connect_async
from sitecrawl.cluster.run import PLACE
from sitecrawl.cluster.shared_frontier import SharedFrontier
from sitecrawl.cluster.steps import Keys, Steps
from sitecrawl.crawl.build import Crawl
from sitecrawl.crawl.sharing import process_name
from sitecrawl.crawldir.history import History
from sitecrawl.frontier.left import last_fetches
from sitecrawl.plugins.dashboard.actions import ClusterActions
from sitecrawl.plugins.dashboard.figures import GONE, NOTHING, Figures, Worker, read, worker_of
from sitecrawl.plugins.dashboard.monitor import CHARTED, Monitor, charted
from sitecrawl.plugins.dashboard.rows import joined

_MAX_WORKERS: Final = 500
"""Workers that are listed, those heard last."""
_FORGET: Final = 600_000
"""Milliseconds after which a silent worker is no longer listed."""
_PATIENCE: Final = 8_000
"""Milliseconds for which a wish outlives the last worker: a pause does not outlive the run."""
_SECONDS: Final = 5.0
"""For which Redis' answer is waited for."""


class _Heard(NamedTuple):
    """Last report of a worker."""

    session: str
    age: float
    """Seconds since then, by Redis' clock."""
    text: bytes
    """The report as written; it may be malformed."""


class _News(NamedTuple):
    """An answer of the board."""

    workers: list[_Heard]
    """None, unless they were asked for."""
    wish: str
    """Operator request to all workers; empty for none."""
    wished: int
    """When, in Unix milliseconds of Redis, as the next."""
    now: int


class Board:
    """What the workers tell each other, for who looks at it. `session` is this worker's name."""

    def __init__(self, steps: Steps, session: str) -> None:
        self._steps = steps
        self.session = session

    async def tell(self, text: str, *, read: bool, wish: str = "") -> _News | None:
        """Write what is to be known of this worker, and hear the others; None if Redis does not answer."""
        args = [self.session, text, int(read), _MAX_WORKERS, _FORGET, wish, _PATIENCE]
        try:
            async with asyncio.timeout(_SECONDS):
                now, what, at, *told = await self._steps.run("watch", PLACE, *args)
        except (redis.RedisError, OSError):  # TimeoutError is one
            return None
        workers = [
            _Heard(session.decode(errors="replace"), max(0.0, int(age) / 1000), text)
            for session, age, text in batches(told, 3)
        ]
        return _News(workers, what.decode(errors="replace"), int(at), int(now))

    async def close(self) -> None:
        with contextlib.suppress(redis.RedisError, OSError):
            await self._steps.client.aclose()


_BEAT_SECONDS: Final = 2.0
"""Between two words of a worker; a second where somebody looks at its page."""
_LOST_SECONDS: Final = 6.0
"""A worker that was silent for so long is shown as lost."""
_LAST: Final = 3.0
"""Seconds for which the end of the page waits for the others' last figures."""

_NOTE: Final = "All workers of a cluster: what is done here is for all of them"


class _ClusterMonitor(Monitor):
    """Of one worker and all others, each of which tells how it fares on the board."""

    _actions: ClusterActions

    def __init__(
        self,
        crawl: Crawl,
        frontier: SharedFrontier,
        board: Board,
        actions: ClusterActions,
        *,
        spider: str,
    ) -> None:
        self._frontier = frontier
        self._board = board
        self._history = History(CHARTED[1:])
        """Of the whole crawl, since this worker's start: Redis tells each worker its counts once a second."""
        self._beaten = 0.0
        self._beat: asyncio.Task[None] | None = None
        self._since = 0
        """When this worker first heard of the board, in Redis' milliseconds."""
        self._obeyed = 0
        self._read_at = -_BEAT_SECONDS
        """When `_others` were heard; long ago where they were not asked for."""
        self._others: list[_Heard] = []
        self._heard = 0.0
        """When, in monotonic seconds."""
        super().__init__(crawl, actions, spider=spider)

    @property
    def figures(self) -> Figures:
        """This worker's; the counts of URLs are the whole crawl's, as Redis told this worker."""
        return replace(self._own, **self._whole())

    def _whole(self) -> dict[str, Any]:
        counts = self._frontier.figures
        return {
            "fetched": counts.fetched,
            "failed": counts.failed,
            "excluded": counts.excluded,
            "requisites": counts.requisites,
            "waiting": counts.waiting,
            "known": counts.known,
            "demoted": counts.held.sets.total(),
            "silent": counts.silent,
        }

    # Telling

    def look(self) -> None:
        """Take a sample, and tell at once what is wished for."""
        super().look()
        if self._actions.wish:
            self._begin()

    def tick(self) -> None:
        self.look()
        self._history.add(self._own.at, self._whole())
        rest = 0.5 if self.is_watched() else _BEAT_SECONDS - 0.5  # ticks are a second apart, more or less
        if time.monotonic() >= self._beaten + rest:
            self._begin()

    def _begin(self) -> None:
        if self._beat is None or self._beat.done():
            self._beat = asyncio.get_running_loop().create_task(self.beat())

    async def beat(self) -> None:
        """Tell how this worker fares, hear how the others do, and do what is wished for."""
        self._beaten = time.monotonic()
        wish, self._actions.wish = self._actions.wish, ""
        reads = self.is_watched()
        news = await self._board.tell(json.dumps(self._worker()), read=reads, wish=wish)
        if news is None:
            self._crawl.stats.inc_value("dashboard/beats_lost")
            self._actions.wish = self._actions.wish or wish
            return
        self._others, self._heard = news.workers, time.monotonic()
        self._read_at = self._heard if reads else -_BEAT_SECONDS
        if wish:
            self._obeyed = news.wished
        self._obey(news)

    def _obey(self, news: _News) -> None:
        """A pause is for those that join later, too; a stop is for those that were there."""
        self._since = self._since or news.now
        if news.wished > self._obeyed and (news.wish != "stop" or news.wished >= self._since):
            self._obeyed = news.wished
            self._actions.obey(news.wish)
            self._beaten = 0.0  # that it is done is told at the next tick

    def _worker(self) -> Worker:
        """This one, by its own figures of now."""
        names = {"name": process_name(), "place": self._crawl.directory.path.name, "spider": self.spider}
        last = None if self.ending else last_fetches(self._frontier.frontier)
        held, said = len(self._frontier.holdings.held), "" if last is None else str(last)
        return worker_of(names, self.state, self._own, held, last=said, rows=self.tables.now())

    async def close(self) -> None:
        """The worker has ended: the last word to the others, and from them if anybody looks."""
        if self._beat is not None:
            await asyncio.wait([self._beat])
        self._own = self._sampler.take()
        until = time.monotonic() + _LAST
        await self.beat()
        while self.is_watched() and time.monotonic() < until and self._are_any_left():
            await asyncio.sleep(0.3)
            await self.beat()
        await self._board.close()

    def _are_any_left(self) -> bool:
        return any(one["state"] not in GONE for one in self.workers())

    # What the page shows

    def overview(self) -> dict[str, Any]:
        workers = self.workers()
        workers[0] |= self._about()
        rows = joined([one.pop("rows") for one in workers])
        return {"workers": workers, "crawl": self._whole(), "history": charted(self._history), "note": _NOTE, **rows}

    async def refresh(self) -> None:
        if time.monotonic() > self._read_at + _BEAT_SECONDS:
            await self.beat()

    def workers(self) -> list[Worker]:
        """All that are known of, this one first."""
        passed = time.monotonic() - self._heard
        others = [
            _shown(heard.session, heard.age + passed, worker)
            for heard in sorted(self._others)
            if heard.session != self._board.session and (worker := read(heard.text)) is not None
        ]
        own = _shown(self._board.session, 0.0, self._worker())
        return [{**own, "lacking": self._lacking(), "last": self._last([own, *others])}, *others]

    def _last(self, workers: Sequence[Worker]) -> str:
        """What is fetched on all workers while nothing is left on any but what is held back."""
        counts = self._frontier.figures
        if counts.queued > counts.held_back + counts.joined + counts.silent:
            return ""
        return "; ".join(one["last"] for one in workers if one["last"] and one["state"] not in GONE)


def begin(crawl: Crawl, actions: ClusterActions, spider: str) -> _ClusterMonitor:
    """Watch the crawl with the others."""
    assert crawl.ours.team is not None
    assert crawl.joined is not None
    options = crawl.joined.options
    line = connect_async(options.redis, cluster=crawl.joined.is_cluster)  # of the board alone: the crawl never waits
    board = Board(Steps(line, Keys(options.crawl, options.shards)), crawl.peers.session)
    return _ClusterMonitor(crawl, crawl.ours.team, board, actions, spider=spider)


def _shown(session: str, age: float, worker: Worker) -> Worker:
    """One that is gone has counted what it has counted, and does nothing now."""
    state = "lost" if age >= _LOST_SECONDS and worker["state"] != "ended" else worker["state"]
    if state in GONE:
        worker["figures"] |= NOTHING
    return {**worker, "id": session, "age": round(age, 1), "state": state}
