"""What an operator does in the middle of a crawl: pause, resume, stop, add seeds, block or set free."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from typing import Any, Final

from scrapy.crawler import Crawler

from sitecrawl.base.display import counted
from sitecrawl.base.errors import CorruptFile, InvalidUrl, OptionError
from sitecrawl.crawl.build import Crawl
from sitecrawl.crawl.privates import is_closing, stop, wake
from sitecrawl.crawl.seeds import check_ftp, seeds_of
from sitecrawl.crawldir.database import Batch
from sitecrawl.crawldir.meta import OPERATOR_SEEDS
from sitecrawl.crawldir.participant import Participant
from sitecrawl.frontier.by_hand import BLOCK, RELEASE, Act
from sitecrawl.urls.url import CRAWLED, Url, parse

logger = logging.getLogger(__name__)

_STOPPED: Final = "dashboard"
"""Scrapy's finish reason of a crawl that was stopped by hand."""
_MAX_SEEDS: Final = 1000
"""Of one action."""
_MAX_UNIT: Final = 4_096
"""Characters of a host's name and a section's shape."""

_WISHES: Final = {"pause": "pause", "resume": "run", "stop": "stop"}
"""What all workers of a cluster are told to do, by action."""
_COMING: Final = {BLOCK: "To be blocked", RELEASE: "To be set free"}

_Fields = dict[str, Any]


class Actions(Participant):
    """Does what is asked for by name; each act is told in words, counted, and logged.

    Seeds widen the spider's scope, where it has one, for this run and those that resume it.
    """

    def __init__(self, crawler: Crawler, crawl: Crawl) -> None:
        self._crawler = crawler
        self._crawl = crawl
        self._new_seeds: list[str] = []
        self._actions: dict[str, Callable[[_Fields], str]] = {
            "pause": self._pause,
            "resume": self._resume,
            "stop": self._stop,
            "seed": self._seed,
            "block": self._block,
            "release": self._release,
        }
        for href in self._stored_seeds():
            crawl.seeding.widen(parse(href, schemes=CRAWLED), named=True)

    @property
    def paused(self) -> bool:
        return self._crawler.engine is not None and self._crawler.engine.paused

    @property
    def stopping(self) -> bool:
        return is_closing(self._crawler)

    @property
    def state(self) -> str:
        """What the crawl does, as long as it has not ended."""
        if self.stopping:
            return "stopping"
        return "paused" if self.paused else "running"

    def act(self, name: str, fields: _Fields) -> str:
        """Do it; returns what was done. Raises `OptionError` for what cannot be, `KeyError` for no such action."""
        action = self._actions[name]
        if self.stopping:
            raise OptionError("The crawl is being stopped")
        done = action(fields)
        logger.info("By hand: %s", done)
        self._crawl.stats.inc_value(f"dashboard/{name}")
        return done

    def _pause(self, _: _Fields) -> str:
        assert self._crawler.engine is not None
        self._crawler.engine.pause()
        return "Paused: what is under way comes in, nothing new is asked for"

    def _resume(self, _: _Fields) -> str:
        assert self._crawler.engine is not None
        self._crawler.engine.unpause()
        wake(self._crawler)
        return "Resumed"

    def _stop(self, _: _Fields) -> str:
        stop(self._crawler, _STOPPED)
        return "Stopping: what is under way comes in, what waits stays for the next run"

    # Seeds

    def _seed(self, fields: _Fields) -> str:
        words = _text(fields, "urls").replace(",", " ").split()
        if len(words) > _MAX_SEEDS:
            raise OptionError(f"{len(words):,} seeds at once are too many: at most {_MAX_SEEDS:,}")
        if not words:
            raise OptionError("Name a URL or a domain")
        urls = seeds_of(words, schemes=CRAWLED)
        check_ftp(urls, ftp="ftp" in self._crawl.schemes)
        for url in urls:
            self._crawl.seeding.widen(url, named=True)
        self._new_seeds += [url.href for url in urls]
        new = self._crawl.seeding.seed(urls)
        wake(self._crawler)
        return self._added(urls, new)

    def _added(self, urls: Sequence[Url], new: int) -> str:
        known = len(urls) - new
        return f"{counted(new, 'seed')} added" + (f", {known:,} known before" if known else "")

    def _stored_seeds(self) -> list[str]:
        stored = self._crawl.database.get("meta", OPERATOR_SEEDS)
        if stored is None:
            return []
        try:
            return [parse(href, schemes=CRAWLED).href for href in json.loads(stored)]
        except (ValueError, TypeError, InvalidUrl) as error:
            raise CorruptFile(f"The seeds that were added by hand cannot be read: {error}") from error

    def prepare(self, batch: Batch) -> None:
        if self._new_seeds:
            seeds = list(dict.fromkeys([*self._stored_seeds(), *self._new_seeds]))
            batch.put("meta", OPERATOR_SEEDS, json.dumps(seeds).encode())

    def committed(self) -> None:
        self._new_seeds.clear()

    # What is held back

    def _block(self, fields: _Fields) -> str:
        return self._do(_act(BLOCK, fields))

    def _release(self, fields: _Fields) -> str:
        return self._do(_act(RELEASE, fields))

    def _do(self, act: Act) -> str:
        assert self._crawl.ours.whole is not None
        done = act.do(self._crawl.ours.whole.by_hand)
        wake(self._crawler)
        return done


class ClusterActions(Actions):
    """On a cluster: what is for the whole crawl goes to all workers, as a wish in the next word to Redis; what is for
    a host to whoever has it, with the next checkpoint.
    """

    wish = ""
    """Of `_WISHES`, and not yet told."""

    def act(self, name: str, fields: _Fields) -> str:
        done = super().act(name, fields)
        if name not in _WISHES:
            return done
        self.wish = _WISHES[name]
        return f"{done}. All workers do so within seconds"

    def obey(self, wish: str) -> None:
        """Do what was asked for on another worker's page. Unknown actions are ignored."""
        if self.stopping:
            return
        if wish == "pause" and not self.paused:
            self._pause({})
        elif wish == "run" and self.paused:
            self._resume({})
        elif wish == "stop":
            self._stop({})

    def _do(self, act: Act) -> str:
        assert self._crawl.ours.team is not None
        self._crawl.ours.team.act(act)
        return f"{_COMING[act.name]}: {act.unit}. Whoever has the host hears of it within seconds"

    def _added(self, urls: Sequence[Url], new: int) -> str:
        here = [url for url in urls if self._crawl.peers.has(url.host)]
        elsewhere = len(urls) - len(here)
        told = [super()._added(here, new - elsewhere)] if here else []
        if elsewhere:
            told.append(f"{elsewhere:,} sent to other workers, which add what is new")
        return ", ".join(told)


def _act(name: str, fields: _Fields) -> Act:
    host, shape = _text(fields, "host"), _text(fields, "shape")
    if not host or len(host) + len(shape) > _MAX_UNIT:
        raise OptionError("Name a host")
    return Act(name, host, shape)


def _text(fields: _Fields, name: str) -> str:
    value = fields.get(name, "")
    if not isinstance(value, str):
        raise OptionError(f"{name} must be text")
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise OptionError(f"{name} has half a character in it: {value!r}")
    return value.strip()
