"""A crawl by many workers on this machine: its directories, its Redis, its outcome.

Each worker runs the given command line, with a directory of its own and the shared Redis added, so it takes all
arguments and settings. The end of this process ends the workers, and then Redis.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from scrapy.settings import SETTINGS_PRIORITIES, BaseSettings

from sitecrawl.base import declared, plugins
from sitecrawl.base.errors import OptionError, StorageError
from sitecrawl.base.secret_settings import HIDDEN_WORDS, parted
from sitecrawl.cluster.address import ClusterOptions
from sitecrawl.cluster.outside import CrawlOnRedis, opened
from sitecrawl.cluster.own_redis import OwnRedis, Running, redis_server
from sitecrawl.console.entry_points import commands_are_here
from sitecrawl.console.fleet import POLL, Fleet, Team, alone_in
from sitecrawl.console.greeting import first_lines, how_to_stop
from sitecrawl.console.progress import how_to_resume, say_summary
from sitecrawl.console.status_line import StatusLine, is_aloud, wants_line
from sitecrawl.console.summary import Share, summary_of
from sitecrawl.crawl import sharing
from sitecrawl.crawl.directories import is_job
from sitecrawl.crawl.ending import BY_ITSELF, HELD_BACK
from sitecrawl.crawldir.directory import WORKER_PREFIX, workers_below
from sitecrawl.frontier.contract import Figures
from sitecrawl.pagestore.workers import stores_of

logger = logging.getLogger(__name__)

_PATIENCE: Final = 60.0
"""Seconds to wait for the workers of an earlier run whose parent process was killed."""
_FEWEST: Final = ClusterOptions({}, "").shards
_LEASE_SECONDS: Final = 120.0
"""Lease of workers on the crawl's own Redis. Long, because nobody waits for it: a killed worker starts again with its
partitions. A short one would expire on a busy machine, and pages would be fetched twice."""
_FOR_EACH: Final = 4
"""Partitions for each worker, if that makes more than the default: sites are unequal."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the run ended. Without `shares` it did not begin: because of `errors`, or stopped before."""

    codes: Sequence[int]
    """The workers' exit codes."""
    shares: Sequence[Share]
    errors: Sequence[str]
    has_pages: bool
    """Whether any page was fetched, in any run."""
    holds_back: bool
    """Whether it ended by itself with URLs held back."""
    is_stopped: bool
    """Whether it was stopped by a signal."""


@dataclass(frozen=True, slots=True)
class ManyWorkers:
    """A crawl of `spider` in `directory`. `settings` include those of the spider's arguments."""

    settings: BaseSettings
    spider: str
    directory: Path
    workers: int
    job: str = ""
    """scrapyd's name for this run; empty without scrapyd."""
    besides: Sequence[str] = ()
    """Further words for the workers' command line."""
    subject: str = ""
    """What is crawled, in words; empty for no greeting."""

    def run(self) -> Outcome:
        """Run the crawl. Raises `StorageError` or `OptionError` if it cannot begin."""
        settings, is_resumed = self.settings, bool(workers_below(self.directory))
        interval = settings.getfloat("LOGSTATS_INTERVAL")
        line = StatusLine(live=wants_line(settings), interval=interval, aloud=is_aloud(settings))
        team = Team(self.directory, line, self._greeting())
        with alone_in(self.directory), self._redis() as redis:
            besides = [*self.besides, *self._on(redis)]
            places = [self.directory / f"{WORKER_PREFIX}{number}" for number in range(1, self.workers + 1)]
            logger.info("%d workers crawl; what they print is in %s", self.workers, self.directory / "worker-*.log")
            alive = () if redis.alive is None else (redis.alive,)
            hidden = {HIDDEN_WORDS: json.dumps(parted(sys.orig_argv[1:])[1])}
            fleet = Fleet(
                lambda place: _command(place, besides, is_first=place == places[0]), places, team, alive, hidden
            )
            line.start()
            try:
                codes = fleet.run()
            finally:
                line.stop()
            has_pages, holds_back = self._sum_up(team.shares, redis.url, resumed=is_resumed)
        if fleet.is_stopping and not team.shares and not team.errors:
            print("The crawl was interrupted before it had begun.", file=sys.stderr)
        return Outcome(codes, [*team.shares.values()], team.errors, has_pages, holds_back, fleet.is_stopping)

    def _greeting(self) -> Sequence[str]:
        if not self.subject or is_job():
            return ()
        return *first_lines(self.subject, self.directory), how_to_stop(how_to_resume(self.job, self.directory))

    @contextmanager
    def _redis(self) -> Iterator[OwnRedis]:
        """Context: the Redis of SITECRAWL_CLUSTER, or the crawl's own. Raises `StorageError`."""
        is_named = sharing.redis_of(self.settings) is not None
        with nullcontext(OwnRedis("")) if is_named else _redis_in(self.directory) as redis:
            yield redis

    def _on(self, redis: OwnRedis) -> list[str]:
        """Options for the workers to share `redis`. Raises `OptionError` for too many workers."""
        name = "SITECRAWL_CLUSTER_SHARDS"
        shards = self.settings.getint(name, _FEWEST)
        told = {}
        if redis.url:
            found = self._begun(redis.url)
            told["SITECRAWL_CLUSTER"] = redis.url
            if self._is_ours_to_say(name):
                shards = found or min(max(_FEWEST, _FOR_EACH * self.workers), ClusterOptions.MOST_SHARDS)
                told[name] = str(shards)
            if self._is_ours_to_say("SITECRAWL_LEASE_SECONDS"):
                told["SITECRAWL_LEASE_SECONDS"] = str(_LEASE_SECONDS)
        if self.workers > shards:
            raise OptionError(
                f"The crawl in {self.directory} has {shards} partitions ({name}), and so work for at most {shards} "
                f"workers: SITECRAWL_WORKERS={shards}"
            )
        return [word for setting, value in told.items() for word in ("-s", f"{setting}={value}")]

    def _is_ours_to_say(self, setting: str) -> bool:
        """Whether nobody has set it."""
        return (self.settings.getpriority(setting) or 0) <= SETTINGS_PRIORITIES["addon"]

    def _begun(self, url: str) -> int:
        """Number of the crawl's partitions on Redis; 0 for a new crawl. Its workers are dead, as the Redis at `url`
        had ended, so they lose their leases.
        """
        with self._crawl(url) as crawl:
            if crawl is None:
                return 0
            crawl.let_go_of_workers()
            return crawl.keys.shards

    @contextmanager
    def _crawl(self, url: str) -> Iterator[CrawlOnRedis | None]:
        """Context: the crawl on the Redis at `url`, or on that of SITECRAWL_CLUSTER; None if it is not there."""
        params = {"url": url} if url else sharing.redis_of(self.settings)
        assert params is not None
        with ExitStack() as stack:
            try:
                crawl = stack.enter_context(opened(params, sharing.shared_name(self.settings, self.spider)))
            except StorageError:
                crawl = None
            yield crawl

    def _sum_up(self, shares: Mapping[str, Share], url: str, *, resumed: bool) -> tuple[bool, bool]:
        """Print the summary; return `has_pages` and `holds_back`."""
        if not shares:
            return False, False
        with self._crawl(url) as crawl:
            totals = crawl.figures() if crawl is not None else Figures()
        finished = all(share.reason in BY_ITSELF for share in shares.values())
        told = replace(
            summary_of(shares, totals),
            totals=totals,
            resumed=resumed,
            directory=self.directory,
            has_pages=bool(stores_of(self.directory)),
            has_commands=commands_are_here(),
            resume=how_to_resume(self.job, self.directory) if totals.queued or not finished else None,
        )
        say_summary(told, wanted=declared.SUMMARY.read(self.settings))
        return told.has_pages_fetched, told.reason == HELD_BACK


def _command(place: Path, besides: Sequence[str], *, is_first: bool) -> list[str]:
    """Command line of the worker in `place`. Without options that concern the parent, and without secrets, which go
    through the environment: everybody on the machine can read a command line.
    """
    own = ["-s", f"JOBDIR={place}", "-s", "LOG_FILE=", "--logfile=", "--pidfile=", *besides]
    if not is_first and "SITECRAWL_DASHBOARD" in plugins.settings():  # the first one's page shows all
        own += ["-s", "SITECRAWL_DASHBOARD=False"]
    return [sys.executable, *parted(sys.orig_argv[1:])[0], *own]


@contextmanager
def _redis_in(directory: Path) -> Iterator[OwnRedis]:
    """Context: the crawl's own Redis. One that runs there still belongs to a command that reads the crawl, or to a
    run whose parent was killed; it ends soon. Raises `StorageError` if it does not.
    """
    until, is_told = time.monotonic() + _PATIENCE, False
    with ExitStack() as stack:
        while True:
            try:
                redis = stack.enter_context(redis_server(directory))
                break
            except Running as running:
                if time.monotonic() > until:
                    raise
                running.end_if_forsaken()
            if not is_told:
                print("The Redis of this crawl runs still: waiting until nobody needs it", file=sys.stderr)
                is_told = True
            time.sleep(POLL)
        yield redis
