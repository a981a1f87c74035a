"""The base of spiders that crawl whole sites."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from math import inf
from types import MappingProxyType
from typing import Any, Final, Protocol, Self

from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.extensions.feedexport import ItemFilter
from scrapy.http import Response
from scrapy.settings import BaseSettings
from scrapy.utils.misc import load_object

from sitecrawl.base import declared, plugins
from sitecrawl.base.display import printable
from sitecrawl.base.errors import OptionError
from sitecrawl.base.limits import REGEX_TIME
from sitecrawl.cluster.line import say
from sitecrawl.crawl.build import Crawl
from sitecrawl.crawl.components import has_our_scheduler
from sitecrawl.crawl.directories import job_directory, only_looks
from sitecrawl.crawl.fetch import Fetch
from sitecrawl.crawl.frontiers import NEEDS_OURS
from sitecrawl.crawl.live_sitemaps import Sitemaps
from sitecrawl.crawl.page_item import page_item
from sitecrawl.crawl.privates import is_closing
from sitecrawl.crawl.requests import ALLOWANCE
from sitecrawl.crawl.sharing import redis_of, waiting_seeds
from sitecrawl.crawldir.meta import ROUNDS
from sitecrawl.crawldir.terms import Given
from sitecrawl.page.items import Link, PageItem
from sitecrawl.spiders.arguments import SiteArguments
from sitecrawl.spiders.job_file import is_file, with_job_file
from sitecrawl.urls.url import parse_or_none, shortened

_PAGE_FIELDS: Final = [
    "url", "status", "fetched", "depth", "referrer", "content_type", "charset", "title", "canonical", "noindex",
    "size",
]  # fmt: skip
"""Fields of a page in feeds; body, links and exchange are in the page store."""


ONE_PROCESS = (
    "again=1 is for crawls of one process: workers that share one fetch pages again with recrawl=1, which goes on "
    "until it is stopped"
)


class _Recrawling(Protocol):
    """A plug-in's part that fetches pages again."""

    def receive(self, response: Response) -> bool:
        """Whether the response says that its page has not changed."""


class SiteSpider(Spider):
    """Follows every link in scope, from seeds on; every response becomes a `PageItem`, which is stored.

    Subclass it, give it a `name`, and override `extract` to take items from the pages. Its arguments are those of
    `sitecrawl.spiders.arguments.SiteArguments`; `start_urls` stands in for `seeds`.
    """

    custom_settings = {  # noqa: RUF012 - Scrapy's interface
        "HTTPERROR_ALLOW_ALL": True,  # a page of errors is a page: it is stored, and its links are not followed
        "METAREFRESH_ENABLED": False,  # a refresh is a link of its page
    }

    seed_priority = 0
    """Priority of seeds, for spiders whose links have priorities."""

    own_arguments: tuple[str, ...] = ()
    """Names of arguments that the spider reads itself, before all others."""

    path_arguments: tuple[str, ...] = ()
    """Those of `own_arguments` that are paths: in a job file they are relative to it."""

    arguments: SiteArguments
    given: Mapping[str, Any] = MappingProxyType({})
    """Arguments as typed, without `again`."""
    can_begin_again = True
    """Whether it has the argument `again`."""
    stopped_patterns: frozenset[str] = frozenset()
    """Patterns of `allow` and `deny` that took too long."""
    sitemaps: Sitemaps | None = None
    """None without sitemaps, and before `start`."""
    recrawling: _Recrawling | None = None
    """None if pages are not fetched again."""

    @classmethod
    def update_settings(cls, settings: BaseSettings) -> None:
        """Enable the add-on in a project that does not name it."""
        super().update_settings(settings)
        settings.setdefault_in_component_priority_dict("ADDONS", load_object("sitecrawl.addon.Addon"), 500)
        settings.set("ADDONS", settings.getdict("ADDONS"), "spider")  # the process still adds the project's settings

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        given = {name: text for name, text in kwargs.items() if name != "again" and not name.startswith("_")}
        if not is_file(given.get("job", "")):  # it says where the crawl is, which has been found
            given.pop("job", None)
        kwargs = with_job_file(crawler, kwargs)
        is_shared = redis_of(crawler.settings) is not None and not only_looks()
        if declared.FTP.read(crawler.settings):
            kwargs.setdefault("ftp", "1")
        _check_scheduler(crawler.settings)
        try:
            arguments = cls.read_arguments(kwargs, has_queue=is_shared or only_looks())
        except OptionError as error:
            has_none = not kwargs.get("seeds") and not is_shared
            if has_none and (remedy := waiting_seeds(crawler.settings, cls.name)):
                raise OptionError(remedy) from error
            raise
        _check_plugins(arguments, crawler.settings)
        _check_again(crawler.settings, arguments, is_shared=is_shared)
        for name, value in arguments.settings():
            crawler.settings.set(name, value, priority="spider")
        if arguments.dry:
            _only_look(crawler.settings, is_shared=is_shared)
        elif arguments.job:
            path = job_directory(crawler.settings, arguments.job, kwargs.get("_job", ""))
            crawler.settings.set("JOBDIR", str(path), priority="cmdline")  # it stands there, too
        if only_looks() or arguments.dry:
            pass  # there is no feed, and the settings of a shell are frozen by now
        elif cls.extract is SiteSpider.extract:
            name_fields(crawler.settings, _PAGE_FIELDS)
        else:
            _leave_pages_out(crawler.settings)
        spider = super().from_crawler(crawler, *args, **{n: v for n, v in kwargs.items() if n.startswith("_")})
        spider.arguments, spider.given = arguments, given
        for seed in arguments.seeds:
            arguments.scope.add_seed(seed)
        arguments.scope.limit_matches(REGEX_TIME.value, spider.pattern_stopped)
        return spider

    @classmethod
    def read_arguments(cls, given: Mapping[str, Any], *, has_queue: bool = False) -> SiteArguments:
        """Read the spider's arguments. Raises `OptionError`."""
        start_urls = list(getattr(cls, "start_urls", []))
        return SiteArguments.read(given, start_urls, cls.own_arguments, has_queue=has_queue)

    async def start(self) -> AsyncIterator[Any]:
        if is_closing(self.crawler):  # stopped before it began: the next run has the same seeds
            return
        if self.arguments.dry:
            await self._look()
            return
        self.crawl.checkpoints.add(Given(self.given))
        began = self._begin_again()
        self.crawl.seeding.seed(self.arguments.seeds, priority=self.seed_priority)
        if self.arguments.gathers or began:
            self.sitemaps = Sitemaps(self.crawler, self.arguments.scope.admits, watch=self.arguments.watch)
            self.sitemaps.start(self.arguments.seeds if self.arguments.sitemaps else (), self.arguments.named)
            self.sitemaps.revisit(before=began)
        nothing: tuple[Any, ...] = ()
        for item in nothing:  # an asynchronous generator, though the seeds went to the frontier in one batch
            yield item

    def _begin_again(self) -> float:
        """Begin to fetch pages again, by the arguments or to complete an interrupted round. Returns the Unix time at
        which the round began; 0 without one.
        """
        if self.arguments.recrawl:
            recrawling = _of_plugin("recrawl", self.settings)(self.crawler, self.is_sitemap)
            self.recrawling = recrawling
            recrawling.begin()
            return 0.0
        older = self.arguments.again
        if older is None and self.crawl.database.get("meta", ROUNDS) is None:
            return 0.0
        kind = _of_plugin("again", self.settings)
        if kind is None:
            return 0.0
        again = kind(self.crawler, self.is_sitemap, older=inf if older is None else older)
        began: float = again.begin(resume=older is None)
        if began:
            self.recrawling = again
        return began

    def admits_listed(self, link: Link) -> bool:
        """Whether what a sitemap lists is to be fetched."""
        return self.arguments.scope.admits(link)

    async def _look(self) -> None:
        """Print the URLs that would be fetched, and on stderr how many there are."""
        most = declared.MAX_PAGES.read(self.crawler.settings)
        told = self.arguments
        dry = _of_plugin("dry", self.settings)(self.crawler, self, told.seeds, told.named, most, gathers=told.gathers)
        lines = await dry.run()
        for url in dry.look.found:
            print(printable(url, len(url)), flush=True)
        for line in lines:
            say(line)

    def is_sitemap(self, key: bytes) -> bool:
        """Whether the URL with this fingerprint is a sitemap, which has its own visits."""
        return self.sitemaps is not None and key in self.sitemaps.store

    @property
    def crawl(self) -> Crawl:
        return Crawl.of(self.crawler)

    def pattern_stopped(self, pattern: str, url: str) -> None:
        """Count, and log once, that a `pattern` of `allow` or `deny` took too long for `url`."""
        assert self.crawler.stats
        self.crawler.stats.inc_value(REGEX_TIME.stat)
        if pattern not in self.stopped_patterns:
            self.stopped_patterns |= {pattern}
            self.logger.warning(
                "The regular expression %s takes longer than it may, for %s and perhaps others: they are not "
                "followed. Write it so that it needs no backtracking",
                pattern, shortened(url),
            )  # fmt: skip

    def admits(self, link: Link) -> bool:
        """Whether `link` is to be followed."""
        return self.arguments.scope.admits(link)

    def admitted(self, links: list[Link]) -> list[Link]:
        """Those of `links` that `admits` accepts."""
        if getattr(self.admits, "__func__", None) is SiteSpider.admits:
            return self.arguments.scope.admitted(links)
        return [link for link in links if self.admits(link)]

    def admits_redirect(self, url: str, *, of_seed: bool) -> bool:
        """Whether to follow a redirect to `url`. The target of a seed is a seed, too."""
        target = self.redirect_target(url, of_seed=of_seed)
        return target is not None and self.admits(target)

    def redirect_target(self, url: str, *, of_seed: bool) -> Link | None:
        """Link to the target `url` of a redirect, added to the scope if it is a seed's; None if not http(s)."""
        target = parse_or_none(url)
        if target is None:
            return None
        if of_seed:
            self.crawl.seeding.widen(target, named=False)
        return Link(target.href, target.host)

    def parse(self, response: Response, **kwargs: Any) -> Any:
        fetch = self.crawl.fetches.of(response.request)
        if fetch is not None and fetch.visit.is_requisite:
            self._read_requisite(fetch, response)
            return ()
        if self.sitemaps is None:
            return self._parse_page(response)
        return self.sitemaps.parse(response, self._parse_page)

    def _read_requisite(self, fetch: Fetch, response: Response) -> None:
        """Queue the requisites of a fetched requisite. Its links are not followed."""
        allowance = response.meta.get(ALLOWANCE, 0)
        if allowance and 200 <= response.status < 300:
            found = page_item(response, self.crawl).requisites
            self.crawl.found.require(fetch.visit.key, found, depth=fetch.visit.depth, allowance=allowance)

    def _parse_page(self, response: Response) -> Iterable[Any]:
        if self.recrawling is not None and self.recrawling.receive(response):
            return
        page = self.page(response)
        yield page
        if 200 <= page.status < 300 and not page.quarantined:
            yield from self.extract(response, page) or ()

    def extract(self, response: Response, page: PageItem) -> Iterable[Any] | None:
        """Items, and further requests, from a page. None by default."""
        return None

    def page(self, response: Response) -> PageItem:
        """The page that `response` brought, with the facts that are read off it."""
        return page_item(response, self.crawl)


def _of_plugin(argument: str, settings: BaseSettings) -> Any:
    """The class for `argument`; None without its plug-in."""
    path = plugins.of_argument(argument, settings)
    return load_object(path) if path else None


def _check_plugins(arguments: SiteArguments, settings: BaseSettings) -> None:
    for name in ("again", "recrawl", "dry", "render", "screenshots", "ftp"):
        if getattr(arguments, name) not in {None, False, "0"} and not plugins.of_argument(name, settings):
            raise OptionError(f"{name} is an argument of a plug-in that is not here: docs/plugins.md")


def _only_look(settings: BaseSettings, *, is_shared: bool) -> None:
    """Settings of a crawl that writes nothing. Raises `OptionError` on a cluster."""
    if is_shared:
        raise OptionError("dry=1 looks by one process: leave SITECRAWL_CLUSTER out")
    for name, value in _of_plugin("dry", settings).settings().items():
        settings.set(name, value, priority="cmdline")


def _check_again(settings: BaseSettings, arguments: SiteArguments, *, is_shared: bool) -> None:
    """Raise `OptionError` if pages cannot be fetched again."""
    if arguments.again is not None and is_shared:
        raise OptionError(ONE_PROCESS)
    if declared.FRONTIER.read(settings) and (arguments.recrawl or arguments.again is not None):
        raise OptionError(NEEDS_OURS.format("recrawl=1" if arguments.recrawl else "again=1"))


def _check_scheduler(settings: BaseSettings) -> None:
    """Raise `OptionError` for another scheduler, which would find no request: the links are in our frontier."""
    if settings.getpriority("SCHEDULER") and not has_our_scheduler(settings):
        if str(settings["SCHEDULER"]).startswith("scrapy_redis."):
            raise OptionError(
                f"SCHEDULER is {settings['SCHEDULER']}: leave it out with DUPEFILTER_CLASS and SCHEDULER_*, and set "
                "SITECRAWL_CLUSTER=True, to share this crawl with other workers on the Redis of REDIS_URL"
            )
        raise OptionError(
            f"SCHEDULER is {settings['SCHEDULER']}, and this spider's URLs are in sitecrawl's frontier: leave "
            "SCHEDULER out, or give the spider custom_settings = {'SCHEDULER': 'sitecrawl.scheduler.Scheduler'}"
        )


class _ItemsAlone(ItemFilter):
    def accepts(self, item: Any) -> bool:
        return not isinstance(item, PageItem) and super().accepts(item)


def _leave_pages_out(settings: BaseSettings) -> None:
    """Keep pages out of all feeds that do not say themselves which items they take."""
    feeds = {uri: dict(options) for uri, options in settings.getdict("FEEDS").items()}
    for options in feeds.values():
        if not {"item_classes", "item_filter"} & options.keys():
            options["item_filter"] = _ItemsAlone
    settings.set("FEEDS", feeds, settings.getpriority("FEEDS") or 0)


def name_fields(settings: BaseSettings, fields: Sequence[str]) -> None:
    """Default of the feeds' fields."""
    settings.set("FEED_EXPORT_FIELDS", list(fields), "addon")
