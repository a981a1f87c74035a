"""What a person sees of a running crawl: one live line on a terminal, a log line elsewhere, a summary at the end.

The figures are those that others keep anyway, so a page costs nothing here but a look at its status.
"""

from __future__ import annotations

import logging
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import Response
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.asyncio import AsyncioLoopingCall, create_looping_call
from twisted.internet.task import LoopingCall

from sitecrawl.base import declared
from sitecrawl.base.display import printable
from sitecrawl.cluster.line import Line, say, to_parent
from sitecrawl.console.entry_points import commands_are_here
from sitecrawl.console.greeting import how_to_stop
from sitecrawl.console.status_line import Status, StatusLine, TimeLeft, is_aloud, wants_line
from sitecrawl.console.summary import Share, Summary, resume_command
from sitecrawl.crawl.build import Crawl
from sitecrawl.crawl.components import has_our_scheduler
from sitecrawl.crawl.directories import is_job
from sitecrawl.crawl.ending import BY_ITSELF, FINISHED, ending, ending_of
from sitecrawl.crawl.outcomes import SiteFacts, of_traffic
from sitecrawl.crawl.requests import is_miss
from sitecrawl.crawl.traffic import PUT_OFF, RATE_SECONDS, Rate, Traffic
from sitecrawl.crawldir.outcomes import Outcomes
from sitecrawl.frontier.left import full_hosts, last_fetches
from sitecrawl.frontier.urls.host import Host
from sitecrawl.pagestore.warc_store import INDEX_FILE

logger = logging.getLogger(__name__)

_STATUS_SECONDS: Final = 0.5
"""How often one of many workers says how it fares."""
_LONG_REST: Final = 60.0
"""Seconds; a shorter rest of a host needs no word."""
_MAX_HOSTS: Final = 10_000
"""Hosts with errors that are remembered; of more, those with the most errors."""


class _HostErrors:
    """Counts errors by host: statuses from 400 on, and downloads that brought nothing."""

    def __init__(self, limit: int = _MAX_HOSTS) -> None:
        self.hosts: Counter[str] = Counter()
        self._limit = limit
        self._arrived: Request | None = None

    def connect(self, crawler: Crawler) -> None:
        crawler.signals.connect(self.response_downloaded, signal=signals.response_downloaded)
        crawler.signals.connect(self.request_left_downloader, signal=signals.request_left_downloader)
        crawler.signals.connect(self.response_received, signal=signals.response_received)

    def response_downloaded(self, request: Request) -> None:
        self._arrived = request

    def request_left_downloader(self, request: Request) -> None:
        """Scrapy says this right after `response_downloaded`, and alone where nothing was downloaded."""
        is_put_off = request.meta.get(PUT_OFF) and not request.meta.get("retry_times")
        if request is not self._arrived and not is_put_off:
            self._count(request.url)
        self._arrived = None

    def response_received(self, response: Response, request: Request) -> None:
        if response.status < 400 or request.callback is NO_CALLBACK:  # a site without robots.txt is no error
            return
        if not is_miss(request, response.status):
            self._count(response.url)

    def _count(self, url: str) -> None:
        self.hosts[urlsplit(url).netloc.rpartition("@")[2]] += 1
        if len(self.hosts) > self._limit:
            self.hosts = Counter(dict(self.hosts.most_common(self._limit // 2)))


class Progress:
    """Scrapy extension. `SITECRAWL_PROGRESS`: the live line, `auto` for where stderr is a terminal;
    `SITECRAWL_SUMMARY`: the summary; `LOGSTATS_INTERVAL`: seconds
    between lines where no live line is, in the log at level INFO, and on stderr where the log does not show them.

    Under another scheduler than ours it shows what Scrapy's statistics know. One of many workers shows nothing: it
    tells all of it the process that has started it (`console.fleet`).
    """

    def __init__(
        self,
        crawler: Crawler,
        *,
        live: bool,
        summary: bool,
        interval: float,
        ours: bool,
        aloud: bool = False,
        parent: Line | None = None,
    ) -> None:
        assert crawler.stats
        self._crawler = crawler
        self._stats = crawler.stats
        self._ours = ours
        self._summary = summary
        self._parent = parent
        self._line = StatusLine(live=live, interval=interval, aloud=aloud)
        self._interval = _STATUS_SECONDS if parent is not None else self._line.interval
        self._errors = _HostErrors()
        self._facts = SiteFacts()
        self._rate = Rate(max(RATE_SECONDS, self._interval))
        self._left = TimeLeft()
        self._crawl: Crawl | None = None
        self._task: AsyncioLoopingCall | LoopingCall | None = None
        self._started = 0.0
        self._with_work = 0
        """Hosts of which something waits."""
        self._rests = ""
        self._last = ""
        self._look_again = 0.0

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Progress:
        settings = crawler.settings
        parent = to_parent()
        live = wants_line(settings) and parent is None
        summary = declared.SUMMARY.read(settings)
        interval = settings.getfloat("LOGSTATS_INTERVAL")
        if not (live or summary or interval or parent is not None):
            raise NotConfigured  # as the user has it: Scrapy would warn of a reason
        ours = has_our_scheduler(settings)
        kinds = {"live": live, "summary": summary, "ours": ours, "aloud": is_aloud(settings)}
        progress = cls(crawler, interval=interval, parent=parent, **kinds)
        crawler.signals.connect(progress.spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(progress.spider_closed, signal=signals.spider_closed)
        return progress

    def spider_opened(self) -> None:
        self._started = time.monotonic()
        self._crawl = Crawl.of(self._crawler) if self._ours else None
        if self._summary:
            self._errors.connect(self._crawler)
            if self._crawl is not None:
                self._crawl.fetches.on_finish.append(self._facts.finished)
                self._say_how_to_stop(self._crawl)
        self._line.start()
        if self._interval:
            self.status()  # the first line that is shown has the speed since here
            self._task = create_looping_call(self._tell)
            self._task.start(self._interval, now=self._line.is_live)

    def _say_how_to_stop(self, crawl: Crawl) -> None:
        """The last line before those that change."""
        if self._parent is None and not is_job():
            say(how_to_stop(how_to_resume(crawl.job, crawl.directory.path)))

    def spider_closed(self, reason: str) -> None:
        """The scheduler has closed all files: from here on only what is in memory may be asked."""
        if self._task is not None and self._task.running:
            self._task.stop()
        self._line.stop()
        if self._started and self._parent is not None:
            self._parent.tell(share=asdict(self._share(reason)))
        elif self._started:
            say_summary(self.summary(reason), wanted=self._summary)

    def _tell(self) -> None:
        status = self.status()
        if self._parent is not None:
            self._parent.tell(status=asdict(status))
        else:
            self._line.show(status.line())

    def status(self) -> Status:
        """How things stand now."""
        now = time.monotonic()
        traffic = Traffic.read(self._stats.get_stats())
        frontier = self._crawl.frontier if self._crawl is not None else None
        figures = frontier.figures if frontier is not None else None
        pages = figures.fetched if figures is not None else traffic.responses
        active = self._active_hosts()
        self._look(now)
        waiting = figures.waiting if figures is not None else None
        return Status(
            pages=pages,
            rate=self._rate.update(now, pages),
            received=traffic.received,
            duplicates=traffic.duplicates,
            errors=traffic.errors,
            seconds=now - self._started,
            waiting=waiting,
            left=self._time_left(now, pages, waiting or 0),
            resting=max(0, self._with_work - len(active)),
            active=active,
            paused=str(self._crawl.pause) if self._crawl is not None else "",
            rests=self._rests,
            last=self._last,
        )

    def _time_left(self, now: float, pages: int, waiting: int) -> str:
        self._left.update(now, pages, waiting)
        most = self._crawl.ours.max_pages if self._crawl is not None else 0
        return self._left.words(now, pages, waiting, most)

    def _active_hosts(self) -> list[str]:
        if self._crawl is None:
            return []
        visits = (fetch.visit for fetch in self._crawl.fetches.values())
        return sorted({visit.host.name for visit in visits if visit.host is not None})

    def _look(self, now: float) -> None:
        """Once a second, and less often where there are so many hosts that it would show."""
        if self._crawl is None or now < self._look_again:
            return
        hosts = list(self._crawl.frontier.hosts.live())
        self._with_work = sum(1 for host in hosts if host.queued)
        self._rests = _rests_in_words(_long_rests(hosts, now), time.time())
        last = last_fetches(self._crawl.ours.whole) if self._crawl.ours.whole is not None else None
        self._last = "" if last is None else str(last)
        self._look_again = now + max(1.0, 100 * (time.monotonic() - now))

    def _share(self, reason: str) -> Share:
        """What is to be said of this run, of one of many workers."""
        settings, crawl = self._crawler.settings, self._crawl
        outcomes = crawl.outcomes.whole if crawl is not None else Outcomes()
        return Share.of(
            self.summary(reason),
            self._stats.get_stats(),
            reason=reason,
            pages=outcomes.pages,
            others=outcomes.others,
            max_pages=crawl.ours.max_pages if crawl is not None else 0,
            max_depth=crawl.terms.crawl.max_depth if crawl is not None else 0,
            exit_codes=declared.EXIT_CODES.read(settings),
        )

    def _round(self) -> Iterator[tuple[str, str]]:
        """What the round has found, if this was one."""
        found = getattr(getattr(self._crawler.spider, "recrawling", None), "round", None)
        if found is not None:
            yield f"round {found.number}"[:9], str(found)

    def _of_plugins(self) -> Iterator[tuple[str, str]]:
        """What is in the statistics for the summary (docs/plugins.md)."""
        for name, text in self._stats.get_stats().items():
            if name.startswith("summary/"):
                yield name.removeprefix("summary/"), str(text)

    def _full_hosts(self) -> list[str]:
        has_ours = self._crawl is not None and not self._crawl.ours.is_replaced
        return full_hosts(self._crawl.ours.local) if self._crawl is not None and has_ours else []

    def summary(self, reason: str) -> Summary:
        """The run as it ended with `reason`."""
        traffic = Traffic.read(self._stats.get_stats())
        told = Summary(
            ending=ending(reason) if self._crawl is None else ending_of(self._crawl, reason),
            reason=reason,
            seconds=time.monotonic() - self._started,
            traffic=traffic,
            hosts=self._errors.hosts,
            facts=[*self._full_hosts(), *self._facts.facts()],
            report=[*self._round(), *self._of_plugins(), *getattr(self._crawler.spider, "report", tuple)()],
        )
        if self._crawl is None:
            has_pages = any(200 <= status < 300 for status in traffic.statuses)
            return replace(told, has_pages_fetched=has_pages, causes=() if has_pages else of_traffic(traffic))
        told = replace(
            told,
            refusals=self._crawl.refusals.run.rows(),
            causes=self._crawl.outcomes.causes,
            certificates=self._crawl.outcomes.whole.distrusted(),
            has_pages_fetched=not self._crawl.outcomes.are_none(self._crawl.frontier.figures.fetched),
        )
        told = _with_crawl(told, self._crawl, finished=reason in BY_ITSELF)
        has_done_nothing = reason == FINISHED and not traffic.responses and self._crawl.directory.resumed
        if has_done_nothing and not list(self._round()) and getattr(self._crawler.spider, "can_begin_again", False):
            return replace(told, again=how_to_resume(self._crawl.job, self._crawl.directory.path, ("again", "1")))
        return told


def _with_crawl(told: Summary, crawl: Crawl, *, finished: bool) -> Summary:
    """Add what the frontier knows. What was in flight and is not done waits again."""
    counts = crawl.frontier.figures
    again = how_to_resume(crawl.job, crawl.directory.path) if counts.queued or not finished else None
    rests = _long_rests(crawl.frontier.hosts.live(), time.monotonic())
    return replace(
        told,
        rests=_rests_in_words(rests, time.time()),
        resting=len(rests),
        totals=counts,
        resumed=crawl.directory.resumed,
        directory=crawl.directory.path,
        remote=str(crawl.stats.get_value("remote/place", "")),
        has_pages=(crawl.directory.path / INDEX_FILE).is_file(),
        has_commands=commands_are_here(),
        resume=again,
    )


def how_to_resume(job: str, path: Path, besides: tuple[str, str] | None = None) -> str | None:
    """The command that goes on with the crawl in `path`; `job` is scrapyd's name for this run, if it is one.
    `besides`: one more argument, and its value.
    """
    more = "=".join(besides or ())
    if not job:
        command = resume_command(sys.orig_argv, path)
        return f"{command} -a {more}" if command and more else command
    name = "jobid" if path.name == job else "job"
    given = f"{name}={path.name}, and {more}" if more else f"{name}={path.name}"
    return f"schedule the spider again, with the same arguments and {given}"


def say_summary(told: Summary, *, wanted: bool) -> None:
    """To whoever reads it; of a crawl without a page at least that, if it is not `wanted`."""
    if not told.has_pages_fetched and (is_job() or not wanted):
        logger.error("%s", told.first_line())
    if not wanted:
        return
    lines = [*told.lines()]
    if is_job():  # nobody sees its stderr
        logger.info("%s", "\n".join(lines))
    else:
        print("", *lines, "", sep="\n", file=sys.stderr, flush=True)


def _long_rests(hosts: Iterable[Host], monotonic: float) -> list[tuple[str, float]]:
    """Of hosts with work those that rest for long because they have asked to (`Retry-After`), with the seconds that
    are left, the shortest first. `monotonic` is the frontier's clock.
    """
    found = [(host.name, host.asked_until - monotonic) for host in hosts if host.queued]
    return sorted((rest for rest in found if rest[1] > _LONG_REST), key=lambda rest: rest[1])


def _rests_in_words(rests: list[tuple[str, float]], now: float) -> str:
    """When the first may be asked again, at the Unix time `now`; empty without any."""
    if not rests:
        return ""
    name, seconds = rests[0]
    more = f", and {len(rests) - 1:,} more for longer" if len(rests) > 1 else ""
    return f"{printable(name)} asked for no request before {_time_of_day(now + seconds, now)}{more}"


def _time_of_day(at: float, now: float) -> str:
    """The local time of `at`, with its date if that is not the one of `now`. Both are Unix times."""
    then, today = time.localtime(at), time.localtime(now)
    return time.strftime("%H:%M" if then[:3] == today[:3] else "%Y-%m-%d %H:%M", then)
