"""Scrapy's settings as the engine's options: Scrapy's own name where it has one, `SITECRAWL_*` otherwise."""

from __future__ import annotations

from pathlib import Path
from time import localtime, strftime

from scrapy.settings import BaseSettings

from sitecrawl.frontier.frontier import FrontierOptions
from sitecrawl.frontier.hosts import PolitenessOptions
from sitecrawl.frontier.tables import UrlTable
from sitecrawl.pagestore.options import WarcOptions
from sitecrawl.seen.bloom import ScalableBloom
from sitecrawl.seen.bloom_kinds import kind_named
from sitecrawl.seen.clock import Clock
from sitecrawl.seen.tiered import SeenSet

CRAWLS = Path("crawls")
"""Where crawls without a JOBDIR go, below the working directory."""


def directory(settings: BaseSettings, spider: str) -> Path:
    """The crawl's directory: JOBDIR, or a new one named after spider and time."""
    if jobdir := settings.get("JOBDIR"):
        return Path(jobdir)
    name = f"{spider}-{strftime('%Y%m%d-%H%M%S', localtime())}"
    path, serial = CRAWLS / name, 1
    while path.exists():
        serial += 1
        path = CRAWLS / f"{name}-{serial}"
    return path


def politeness(settings: BaseSettings) -> PolitenessOptions:
    return PolitenessOptions(
        delay=settings.getfloat("DOWNLOAD_DELAY"),
        delay_factor=settings.getfloat("SITECRAWL_DELAY_FACTOR"),
        max_delay=settings.getfloat("SITECRAWL_MAX_DELAY"),
        per_host=settings.getint("CONCURRENT_REQUESTS_PER_DOMAIN"),
        per_ip=settings.getint("SITECRAWL_CONCURRENT_REQUESTS_PER_IP"),
        failure_delay=settings.getfloat("SITECRAWL_FAILURE_DELAY"),
        max_failures=settings.getint("SITECRAWL_MAX_HOST_FAILURES"),
    )


def frontier(settings: BaseSettings) -> FrontierOptions:
    return FrontierOptions(
        max_depth=settings.getint("DEPTH_LIMIT"),
        max_pages=settings.getint("SITECRAWL_MAX_PAGES"),
    )


def warc(settings: BaseSettings, name: str) -> WarcOptions:
    return WarcOptions(
        name=name,
        user_agent=settings.get("USER_AGENT", ""),
        operator=settings.get("SITECRAWL_CONTACT", ""),
        robots="obey" if settings.getbool("ROBOTSTXT_OBEY") else "ignore",
        max_file_size=settings.getint("SITECRAWL_WARC_SIZE"),
    )


def seen(settings: BaseSettings, urls: UrlTable) -> SeenSet:
    bloom = ScalableBloom(
        kind_named(settings.get("SITECRAWL_SEEN_BLOOM")),
        capacity=settings.getint("SITECRAWL_SEEN_CAPACITY"),
        error_rate=settings.getfloat("SITECRAWL_SEEN_ERROR_RATE"),
    )
    tiers = SeenSet(Clock(settings.getint("SITECRAWL_SEEN_CACHE")), bloom, urls)
    tiers.rebuild(urls.keys(), len(urls))
    return tiers
