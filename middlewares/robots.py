"""robots.txt by RFC 9309, with Crawl-delay.

Scrapy's middleware takes any failure to fetch robots.txt for a permission. By the RFC (§2.3.1) a client error allows
everything, but a server that fails or cannot be reached forbids everything for now. A page of such a host goes back
into the frontier, and the host rests longer each time.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from dataclasses import dataclass
from functools import partial

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest, NotConfigured
from scrapy.http import Response
from scrapy.http.request import NO_CALLBACK
from scrapy.robotstxt import RobotParser
from scrapy.utils.datatypes import LocalCache
from scrapy.utils.misc import build_from_crawler, load_object

from middlewares.capture import retry_after
from middlewares.outages import Challenge
from sitecrawl.base import limits
from sitecrawl.base.errors import SitecrawlError
from sitecrawl.base.limits import AnyLimit
from sitecrawl.base.pauses import DoublingPause
from sitecrawl.crawl import configuration
from sitecrawl.crawl.build import Crawl
from sitecrawl.crawl.download_errors import InWant, LimitExceeded, PrivateAddress
from sitecrawl.crawl.fetch import Fetch
from sitecrawl.crawl.requests import FIRST_PART
from sitecrawl.crawl.traffic import of_exception, of_status
from sitecrawl.frontier.urls.causes import OF_ERRORS, OF_HOSTS, WORDS
from sitecrawl.http import Want
from sitecrawl.http.robots_txt import as_utf8
from sitecrawl.urls.url import Url, parse, parse_or_none, target_of

logger = logging.getLogger(__name__)

_LIFETIME = 24 * 3600.0
"""Seconds until a robots.txt is fetched again (RFC 9309 §2.4)."""
MAX_HOSTS = 10_000
_MAX_BYTES = 128 << 20
"""Most hosts, and bytes of rules, kept in memory; the least recently used are forgotten and fetched again."""
_READ_AT_ONCE = 32 << 10
"""Bytes of a robots.txt that are parsed on the event loop; longer ones in a thread."""

_FIRST_SILENCE = 120.0
_LONGEST_SILENCE = 3600.0
"""Seconds for which a silent host is not asked."""
_MAX_RESTING = 100_000
"""Most pages that are remembered to have gone back; older ones may go back once more."""

_EXCEPTED = "robotstxt/excepted"
"""Statistic: requests that a sheet exempts from robots.txt."""
_OPEN = b""
_WORDS_OF_HOSTS = frozenset(WORDS[cause] for cause in OF_HOSTS)
_PROXY = ("proxy", "_auth_proxy")
_PROXY_HEADER = "Proxy-Authorization"
"""Header and `meta` key that Scrapy's `HttpProxyMiddleware` uses for a request's proxy."""


class Unreachable(IgnoreRequest):
    """A host whose robots.txt cannot be fetched, so that nothing may be fetched from it now."""


@dataclass(slots=True)
class _Rules:
    parser: RobotParser | None
    """None if robots.txt could not be fetched."""
    until: float
    """When they expire, in monotonic seconds."""
    wait: float = 0.0
    """Seconds of the Retry-After of a failed answer."""
    want: Want | None = None
    """What this machine lacked to fetch it."""
    refused: PrivateAddress | None = None
    """Why the host must not be asked at all."""
    error: str = ""
    """Name of the matching error."""
    why: str = ""
    """Why it could not be fetched, in words."""

    @property
    def size(self) -> int:
        """Bytes of memory by the parser's own count."""
        return getattr(self.parser, "size", 0)


class RobotsMiddleware:
    """Downloader middleware that replaces Scrapy's `RobotsTxtMiddleware`; switched by `ROBOTSTXT_OBEY`."""

    def __init__(
        self,
        crawler: Crawler,
        crawl: Crawl,
        *,
        agent: str,
        max_size: int,
        max_crawl_delay: float,
        max_retry_after: float,
    ) -> None:
        self._crawler = crawler
        self._crawl = crawl
        self._agent = agent
        self._max_size = max_size
        self._max_crawl_delay = max_crawl_delay
        self._max_retry_after = max_retry_after
        self._stats = crawl.stats
        self._parser_class: type[RobotParser] = load_object(crawler.settings["ROBOTSTXT_PARSER"])
        self._rules: OrderedDict[str, _Rules] = OrderedDict()
        self._bytes = 0
        """Bytes of all rules."""
        self._excepted: set[str] = set()
        """Hosts already logged as exempt."""
        self._asking: dict[str, asyncio.Future[_Rules | None]] = {}
        """Requests under way, by root; the result is None if broken off."""
        self._silent: LocalCache[str, DoublingPause] = LocalCache(MAX_HOSTS)
        """Roots without an answer that rendered pages want parts of: they are not asked for a while, twice as long
        each time, because each of these pages would ask again."""
        self._resting: LocalCache[bytes, None] = LocalCache(_MAX_RESTING)
        """Pages put back into the frontier by `_rested`."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> RobotsMiddleware:
        settings = crawler.settings
        if not settings.getbool("ROBOTSTXT_OBEY"):
            raise NotConfigured  # with a reason it would be a warning
        return cls(
            crawler,
            Crawl.of(crawler),
            agent=configuration.robots_agent(settings),
            max_size=limits.ROBOTS_SIZE.value,
            max_crawl_delay=limits.CRAWL_DELAY.read(settings),
            max_retry_after=limits.RETRY_AFTER.read(settings),
        )

    async def process_request(self, request: Request) -> Request | None:
        if request.meta.get("dont_obey_robotstxt"):
            return None
        url = parse_or_none(request.url)
        if url is None:  # data:, file: and the like have no robots.txt
            return None
        root = url.origin
        was_known = self._known(root) is not None
        rules = await self._rules_of(root, url.host, request)
        fetch = self._crawl.fetches.of(request)
        if rules.want is None and rules.refused is None and self._is_excepted(url):
            return None
        if rules.refused is not None:
            raise rules.refused
        if rules.want is not None and fetch is not None:
            return fetch.give_back(self._crawl.pause.put_back(rules.want, request.url))
        if rules.parser is None:
            return self._later(request, fetch, rules)
        if not rules.parser.allowed(request.url, self._agent):
            self._stats.inc_value("robotstxt/forbidden")
            if fetch is not None:
                fetch.exclude("robots.txt")
            raise IgnoreRequest("Forbidden by robots.txt")
        is_new = not was_known and self._has_pause(url.host, rules.parser)
        return self._rested(fetch, is_new=is_new) if fetch is not None else None

    def _rested(self, fetch: Fetch, *, is_new: bool) -> Request | None:
        """Put back a page that waited for robots.txt, if its host has to rest after that.

        In flight it would take a seat that another host could use: with 64 seats and a delay of a minute, a crawl
        could start no more than 64 hosts a minute. It goes back once. If its rules are forgotten by the time it comes
        again, because many hosts take turns, it waits in its seat; else it might never be fetched.
        """
        if is_new and fetch.visit.key not in self._resting:
            self._resting[fetch.visit.key] = None
            return fetch.give_back()
        self._resting.pop(fetch.visit.key, None)
        return None

    def _has_pause(self, host: str, parser: RobotParser) -> bool:
        """Whether the host is to rest between its robots.txt and a page."""
        return self._crawl.terms.of(host).politeness.delay > 0 or bool(parser.crawl_delay(self._agent))

    async def allows(self, url: str, page: Request) -> bool:
        """Whether `url` may be fetched for the `page` that needs it; not if nobody can tell. To stop waiting, cancel
        it.
        """
        if page.meta.get("dont_obey_robotstxt"):
            return True
        parsed = parse(url)
        if self._is_excepted(parsed):
            return True
        root = parsed.origin
        if self._is_silent(root):
            return False
        try:
            rules = await self._rules_of(root, parsed.host, page)
        except asyncio.CancelledError:  # the page's time is over, and nothing has come
            self._note_silence(root)
            raise
        if rules.parser is None and rules.want is None:
            self._note_silence(root)
        return rules.parser is not None and rules.parser.allowed(url, self._agent)

    def _is_silent(self, root: str) -> bool:
        return root in self._silent and time.monotonic() < self._silent[root].until

    def _note_silence(self, root: str) -> None:
        if not self._is_silent(root):
            before = self._silent.pop(root, None)
            self._silent[root] = DoublingPause.after(
                before, time.monotonic(), first=_FIRST_SILENCE, longest=_LONGEST_SILENCE
            )

    def _is_excepted(self, url: Url) -> bool:
        """Whether a sheet exempts `url`."""
        leave = self._crawl.access.sheets.of(url.host).robots
        if leave is None or not leave.covers(target_of(url.href)):
            return False
        self._stats.inc_value(_EXCEPTED)
        if url.host not in self._excepted and len(self._excepted) < MAX_HOSTS:
            self._excepted.add(url.host)
            logger.warning(
                "The robots.txt of %s is not obeyed below %s: %s", url.host, ", ".join(leave.paths), leave.reason
            )
        return True

    def _later(self, request: Request, fetch: Fetch | None, rules: _Rules) -> Request:
        """Put a page back into the frontier, which gives up hosts that stay silent."""
        self._stats.inc_value("robotstxt/unreachable")
        if fetch is None:
            raise Unreachable(f"The robots.txt for {request.url} cannot be reached")
        fetch.failed(rules.error)
        self._crawl.outcomes.hindered(fetch.visit, _of_robots(rules.why))
        self._crawl.frontier.downloaded(fetch.visit, 0.0, failed=True, retry_after=rules.wait)
        return request.replace(dont_filter=True)

    async def _rules_of(self, root: str, host: str, page: Request) -> _Rules:
        """Rules for scheme and host `root`, fetched by one request at a time, as part of the `page`."""
        while (rules := self._known(root)) is None:
            if root not in self._asking:
                return await self._ask(root, host, page)
            if (heard := await asyncio.shield(self._asking[root])) is not None:
                return heard
        self._rules.move_to_end(root)
        return rules

    def _known(self, root: str) -> _Rules | None:
        """Rules that need no request; None without."""
        rules = self._rules.get(root)
        return rules if rules is not None and rules.until > time.monotonic() else None

    async def _ask(self, root: str, host: str, page: Request) -> _Rules:
        answer = self._asking[root] = asyncio.get_running_loop().create_future()
        rules: _Rules | None = None
        self._crawl.robots.under_way += 1
        try:
            rules = await self._fetch(f"{root}/robots.txt", page)
            self._accept(root, host, rules)
            return rules
        finally:
            self._crawl.robots.under_way -= 1
            del self._asking[root]
            answer.set_result(rules)

    async def process_response(self, request: Request, response: Response) -> Response:
        """Also take rules from a robots.txt that the crawl fetches as a URL, for its sitemaps."""
        if request.meta.get("dont_obey_robotstxt") and self._crawl.fetches.of(request) is not None:
            root = request.url.removesuffix("/robots.txt")
            if root in self._rules and response.url == request.url and _is_answer(response.status):
                body = response.body if response.status < 300 else _OPEN
                self._accept(root, parse(request.url).host, await self._parse(body, request))
        return response

    def _accept(self, root: str, host: str, rules: _Rules) -> None:
        if rules.parser is None:
            return
        self._keep(root, rules)
        self._silent.pop(root, None)
        asked = rules.parser.crawl_delay(self._agent) or 0.0
        delay = self._limited(asked, self._max_crawl_delay, limits.CRAWL_DELAY)
        self._crawl.frontier.manners.slow_down(host, delay)

    def _keep(self, root: str, rules: _Rules) -> None:
        if root in self._rules:
            self._bytes -= self._rules.pop(root).size
        self._rules[root] = rules
        self._bytes += rules.size
        while len(self._rules) > 1 and (len(self._rules) > MAX_HOSTS or self._bytes > _MAX_BYTES):
            self._bytes -= self._rules.popitem(last=False)[1].size

    def _limited(self, seconds: float, most: float, limit: AnyLimit) -> float:
        if seconds > most:
            self._stats.inc_value(limit.stat)
        return min(seconds, most)

    async def _fetch(self, url: str, page: Request) -> _Rules:
        self._stats.inc_value("robotstxt/request_count")
        # A retry would come at once; the next page of the host comes after a pause, and asks again. What has come of
        # a robots.txt that is too large is used (RFC 9309 §2.5).
        meta = {"dont_obey_robotstxt": True, "dont_retry": True, FIRST_PART: self._max_size}
        request = Request(url, meta=meta, callback=NO_CALLBACK)
        _send_along(request, page)
        response, rules = await self._ask_for(request)
        if rules.want is not None:
            return rules  # the host said nothing, for it was not asked
        for listener in self._crawl.robots.on_answer:
            listener(url, response)
        return rules

    async def _ask_for(self, request: Request) -> tuple[Response | None, _Rules]:
        try:
            response = await self._crawler.engine.download_async(request)
        except PrivateAddress as error:
            return None, _Rules(None, 0.0, refused=error if error.url == request.url else None)
        except InWant as error:
            return None, _Rules(None, 0.0, want=error.want)
        except (LimitExceeded, Challenge) as error:  # of a challenge, too: nobody has said what is allowed
            return None, _unreachable(_why(error), error.wait if isinstance(error, Challenge) else 0.0)
        except IgnoreRequest:
            return None, await self._parse(_OPEN, request)
        except Exception as error:  # noqa: BLE001 - whatever went wrong, the host could not be asked
            logger.debug("No robots.txt from %s: %s", request.url, error)
            self._stats.inc_value(f"robotstxt/exception_count/{type(error).__name__}")
            return None, _unreachable(_why(error), error=type(error).__name__)
        return response, await self._read(response, request)

    async def _read(self, response: Response, request: Request) -> _Rules:
        self._stats.inc_value("robotstxt/response_count")
        self._stats.inc_value(f"robotstxt/response_status_count/{response.status}")
        if not _is_answer(response.status):
            asked = response.headers.get("Retry-After") or b""
            wait = retry_after([(b"Retry-After", asked)], time.time())
            return _unreachable(
                of_status(response.status), self._limited(wait, self._max_retry_after, limits.RETRY_AFTER)
            )
        return await self._parse(response.body if response.status < 300 else _OPEN, request)

    async def _parse(self, body: bytes, request: Request) -> _Rules:
        if len(body) > self._max_size:
            self._stats.inc_value(limits.ROBOTS_SIZE.stat)
        read = partial(build_from_crawler, self._parser_class, self._crawler, as_utf8(body[: self._max_size]))
        parser: RobotParser = read() if len(body) <= _READ_AT_ONCE else await asyncio.to_thread(read)
        self._crawler.signals.send_catch_log(signals.robots_parsed, robotparser=parser, request=request)
        return _Rules(parser, time.monotonic() + _LIFETIME)


def _send_along(request: Request, page: Request) -> None:
    """Let `request` use the proxy of `page`, if that has one of its own."""
    request.meta.update({key: page.meta[key] for key in _PROXY if key in page.meta})
    if (header := page.headers.get(_PROXY_HEADER)) is not None:
        request.headers[_PROXY_HEADER] = header


def _is_answer(status: int) -> bool:
    """Whether a host that answers with `status` has said what it allows."""
    return status < 500 and status != 429


def _unreachable(why: str, wait: float = 0.0, error: str = "") -> _Rules:
    """Rules for a host that did not answer, not remembered. Wants of this machine are no fault of it."""
    is_of_host = OF_ERRORS.get(error) in OF_HOSTS
    return _Rules(None, 0.0, wait, error=error if is_of_host else Unreachable.__name__, why=why)


def _why(error: Exception) -> str:
    """The failure in words; empty for local failures."""
    return "" if isinstance(error, SitecrawlError) else of_exception(type(error).__name__)


def _of_robots(why: str) -> str:
    """Why a host must not be crawled whose robots.txt could not be fetched; `why`: the cause, if known."""
    if not why or why in _WORDS_OF_HOSTS:
        return why
    return f"robots.txt {why if why.startswith('answers') else f'does not come ({why})'}, so nothing may be asked for"
