"""Scrapy's settings as the engine's options: Scrapy's own name where it has one, `SITECRAWL_*` otherwise."""

from __future__ import annotations

import json
import logging
import os
import ssl
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from scrapy.settings import SETTINGS_PRIORITIES, BaseSettings

from sitecrawl import __version__
from sitecrawl.base import declared, limits
from sitecrawl.base.errors import OptionError
from sitecrawl.base.secret_settings import secret_in
from sitecrawl.crawldir.terms import RobotsLeave, Terms
from sitecrawl.frontier.scope import Scope
from sitecrawl.frontier.seen.store import SeenOptions
from sitecrawl.frontier.urls.host import PolitenessOptions
from sitecrawl.frontier.urls.host_terms import TermsByHost
from sitecrawl.frontier.urls.options import FrontierOptions, TrapOptions
from sitecrawl.frontier.urls.order import Order, order_named
from sitecrawl.http import Verify
from sitecrawl.http.sheets import Sheets
from sitecrawl.page.budget import Budget
from sitecrawl.page.links import PageOptions
from sitecrawl.pagestore.record import WarcOptions
from sitecrawl.urls.url import CRAWLED, WEB, Schemes

logger = logging.getLogger(__name__)

REVIVAL: Final = 3600.0
"""Seconds after which a host that used to answer and was given up is asked again."""


def politeness(settings: BaseSettings) -> PolitenessOptions:
    """Politeness options. Like those below, it has defaults for a project without the add-on."""
    return PolitenessOptions(
        delay=settings.getfloat("DOWNLOAD_DELAY"),
        delay_factor=declared.DELAY_FACTOR.read(settings),
        max_delay=declared.MAX_DELAY.read(settings),
        per_host=settings.getint("CONCURRENT_REQUESTS_PER_DOMAIN"),
        per_ip=declared.CONCURRENT_REQUESTS_PER_IP.read(settings),
        in_all=settings.getint("CONCURRENT_REQUESTS"),
        failure_delay=declared.FAILURE_DELAY.read(settings),
        max_failures=declared.MAX_HOST_FAILURES.read(settings),
        revival=REVIVAL,
        max_rest=limits.RETRY_AFTER.read(settings),
    )


def sheets(settings: BaseSettings) -> Sheets:
    """Sheets, from SITECRAWL_SHEETS: a list of mappings, or its JSON. Raises `OptionError`."""
    name = "SITECRAWL_SHEETS"
    given = settings.get(name) or ()
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError) as error:
            raise OptionError(f"{name} is no JSON: {getattr(error, 'msg', 'it nests too deeply')}") from None
    if given == ():
        return Sheets()
    from sitecrawl.http.written_sheets import read_sheets  # noqa: PLC0415 - for those who have some

    return read_sheets(given, name)


def order(settings: BaseSettings) -> Order:
    """The crawl's order; level by level where a depth limit is to be exact."""
    return order_named(declared.ORDER.read(settings), by_level=settings.getint("DEPTH_LIMIT") > 0)


def frontier(settings: BaseSettings) -> FrontierOptions:
    return FrontierOptions(
        max_depth=settings.getint("DEPTH_LIMIT"),
        max_pages=declared.MAX_PAGES.read(settings),
        one_by_one=settings.getint("CONCURRENT_REQUESTS") == 1,
        repeats=order(settings).is_exact,
        requisites=declared.REQUISITES.read(settings),
        learn_rules=declared.HOLD_TRAPS.read(settings),
        traps=TrapOptions(hold=declared.HOLD_TRAPS.read(settings), last_budget=declared.TRAP_BUDGET.read(settings)),
    )


def live_terms(settings: BaseSettings, found: Sheets) -> TermsByHost:
    """Initial terms of the crawl and its hosts. Raises `OptionError` for options that exclude each other."""
    options, chosen = frontier(settings), order(settings)
    if options.max_depth > 0 and chosen.by_level and any(sheet.max_pages for sheet in found.all):
        raise OptionError(
            "A sheet of SITECRAWL_SHEETS has max_pages, and the crawl has a depth limit (max_depth, DEPTH_LIMIT): no "
            "level may be left before all of it is done. Leave one of them out"
        )
    if not chosen.takes_turns and any(sheet.priority is not None for sheet in found.all):
        logger.warning(
            "A sheet's priority says how many turns a host gets, and there are none in the order %s: it counts for "
            "nothing. Take the order aopic",
            chosen.name,
        )
    return TermsByHost(
        politeness(settings),
        max_pages=options.max_pages,
        max_depth=options.max_depth,
        sheets=found,
    )


_OF_SHEETS: Final = ("hosts", "max_pages", "max_depth", "allow", "deny")
"""Fields of a sheet that `scrapy why` asks for."""


def terms(settings: BaseSettings, found: Sheets, scope: Scope | None) -> Terms:
    """Arguments and settings that explain what the crawl does."""
    allow, deny = scope.patterns if scope is not None else ([], [])
    return Terms(
        begun=time.time(),
        scope=scope.kind if scope is not None else "",
        allow=tuple(allow),
        deny=tuple(deny),
        max_pages=declared.MAX_PAGES.read(settings),
        max_depth=settings.getint("DEPTH_LIMIT"),
        order=declared.ORDER.read(settings),
        agent=robots_agent(settings),
        robots=settings.getbool("ROBOTSTXT_OBEY"),
        ftp=declared.FTP.read(settings),
        frontier=declared.FRONTIER.read(settings),
        sheets=tuple(
            {name: value for name in _OF_SHEETS if (value := getattr(sheet, name)) not in (None, ())}
            for sheet in found.all
        ),
        exceptions=tuple(_robots_leaves(settings, found)),
    )


def _robots_leaves(settings: BaseSettings, found: Sheets) -> Iterator[RobotsLeave]:
    """Hosts and paths whose robots.txt rules the sheets ignore."""
    if settings.getbool("ROBOTSTXT_OBEY"):
        for sheet in found.all:
            if sheet.robots is not None:
                yield RobotsLeave(sheet.hosts, sheet.robots.paths, sheet.robots.reason)


def robots_agent(settings: BaseSettings) -> str:
    """User agent by which robots.txt is read."""
    agent: str = settings.get("ROBOTSTXT_USER_AGENT") or settings["USER_AGENT"]
    return agent


def page(settings: BaseSettings) -> PageOptions:
    """Page reading options."""
    return PageOptions(
        max_requisites=limits.REQUISITES.value if declared.REQUISITES.read(settings) else 0,
        max_links=limits.LINKS.value,
        max_url_length=limits.URL_LENGTH.read_most(settings),
        ftp=declared.FTP.read(settings),
        budget=Budget(limits.READ_SIZE.value, limits.READ_ELEMENTS.value),
    )


def verify_tls(settings: BaseSettings) -> Verify:
    """How invalid certificates are treated. Scrapy's DOWNLOAD_VERIFY_CERTIFICATES requires valid ones.

    Raises `OptionError` if the two settings contradict each other, or nothing could be checked.
    """
    name = declared.VERIFY_TLS.name
    verify = Verify(declared.VERIFY_TLS.read(settings))
    if settings.getbool("DOWNLOAD_VERIFY_CERTIFICATES"):
        if verify is not Verify.REQUIRE and (settings.getpriority(name) or 0) > SETTINGS_PRIORITIES["addon"]:
            raise OptionError(f"DOWNLOAD_VERIFY_CERTIFICATES is True and {name} is {verify}: leave one of them out")
        verify = Verify.REQUIRE
    file = os.environ.get(ssl.get_default_verify_paths().openssl_cafile_env)
    if verify is not Verify.OFF and file and not os.access(file, os.R_OK):
        raise OptionError(f"SSL_CERT_FILE is {file!r}, which cannot be read: no certificate can be checked")
    return verify


def schemes(settings: BaseSettings) -> Schemes:
    """URL schemes that are crawled."""
    return CRAWLED if declared.FTP.read(settings) else WEB


def warc(settings: BaseSettings, found: Sheets, name: str, key: bytes = b"") -> WarcOptions:
    return WarcOptions(
        name=name,
        key=key,
        software=f"sitecrawl/{__version__}",
        user_agent=settings.get("USER_AGENT", ""),
        operator=declared.CONTACT.read(settings),
        robots="obey" if settings.getbool("ROBOTSTXT_OBEY") else "ignore",
        robots_exceptions=tuple(str(leave) for leave in _robots_leaves(settings, found)),
        masked=frozenset(name.lower() for name in declared.WARC_MASKED.read(settings)),
        max_file_size=declared.WARC_SIZE.read(settings),
        once=declared.DUPLICATE_CONTENT.read(settings) != "keep",
    )


def earlier_crawls(settings: BaseSettings) -> list[Path]:
    """Directories of earlier crawls whose bodies are not stored again. Raises `OptionError`."""
    named = [Path(name.strip()) for name in declared.DEDUPE_FROM.read(settings) if name.strip()]
    if named and declared.DUPLICATE_CONTENT.read(settings) == "keep":
        raise OptionError(
            "SITECRAWL_DEDUPE_FROM stores a body once, and SITECRAWL_DUPLICATE_CONTENT=keep each time: choose"
        )
    return named


def secret(settings: BaseSettings, name: str) -> str:
    """Value of the setting `name`, or content of the file that it names as `@FILE`. Raises `OptionError`."""
    return revealed(str(settings.get(name) or ""), name=name)


def revealed(text: str, *, name: str) -> str:
    """`text` of the setting `name`, or content of the file that it names as `@FILE`. Raises `OptionError`."""
    return secret_in(text[1:], name) if text.startswith("@") else text


def seen(settings: BaseSettings) -> SeenOptions:
    """Options from `SITECRAWL_SEEN_CACHE`."""
    return SeenOptions(cache=declared.SEEN_CACHE.read(settings))
