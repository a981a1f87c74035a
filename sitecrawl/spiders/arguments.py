"""What a user may pass to a site spider with `-a`, checked before anything else happens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from math import inf
from typing import Any, Final

from sitecrawl.base.errors import OptionError, meant
from sitecrawl.crawl.seeds import check_ftp, read_seeds, seeds_of
from sitecrawl.frontier.scope import Scope
from sitecrawl.frontier.urls.order import order_named
from sitecrawl.pagestore.console import parse_since
from sitecrawl.urls.url import CRAWLED, Url

RENDER: Final = ("0", "1", "auto")
"""What the argument `render` may be."""
ENDLESS: Final = ("recrawl", "watch")
"""Arguments of crawls that go on until they are stopped."""


@dataclass(frozen=True, slots=True)
class SiteArguments:
    """The arguments of `SiteSpider`."""

    seeds: list[Url] = field(default_factory=list)
    """Where the crawl begins: see `sitecrawl.crawl.seeds`."""
    scope: Scope = field(default_factory=Scope)
    """Which links it follows: made of `scope`, `allow` and `deny`."""
    max_pages: int | None = None
    """Stop after so many URLs; None leaves it to SITECRAWL_MAX_PAGES."""
    max_depth: int | None = None
    """Follow links so far from the seeds (a seed has depth 0); None leaves it to DEPTH_LIMIT."""
    order: str | None = None
    """None leaves it to SITECRAWL_ORDER."""
    sitemaps: bool = False
    """Look for the sitemaps of the seeds' hosts, and take links from them; False if only some are named."""
    named: list[Url] = field(default_factory=list)
    """Sitemaps, feeds and hub pages named by `sitemaps` and `hubs`."""
    watch: bool = False
    """Stay when nothing is left to fetch, and go on visiting sitemaps."""
    recrawl: bool = False
    """Go on when all is fetched: fetch pages again as they change."""
    again: float | None = None
    """One more round over pages fetched before this Unix time; None for none."""
    requisites: bool = False
    """Fetch what pages are made of, too: images, style sheets, scripts, media, fonts and frames."""
    render: str | None = None
    """Whether a browser renders pages, one of `RENDER`; None leaves it to SITECRAWL_RENDER."""
    screenshots: bool = False
    """Keep a picture of each page that is rendered."""
    ftp: bool = False
    """Follow links to FTP servers, too, and take them for seeds."""
    dry: bool = False
    """Look at a few pages only, and say what the crawl would fetch."""
    job: str = ""
    """The crawl's name, by which it is resumed. Empty leaves it to JOBDIR."""

    @classmethod
    def read(
        cls, given: Mapping[str, Any], seeds: list[str], others: Sequence[str] = (), *, has_queue: bool = False
    ) -> SiteArguments:
        """Read `given`, from a command line or a job file. `seeds`: default seeds. `others`: names of arguments that
        the spider reads itself. `has_queue`: seeds may come later, so there need be none.

        Raises `OptionError` for an unknown name or a value that makes no sense.
        """
        _check_names(given, (*others, *NAMES))
        order = given.get("order")
        if order is not None:
            order_named(order)
        scope = Scope(
            given.get("scope", "site"),
            allow=_patterns(given.get("allow", "")),
            deny=_patterns(given.get("deny", "")),
        )
        ftp = _switch(given, "ftp")
        urls = _seeds(given.get("seeds"), seeds, has_queue=has_queue)
        check_ftp(urls, ftp=ftp)
        discover, named = _sitemaps(given)
        return cls(
            urls,
            scope,
            max_pages=_count(given, "max_pages"),
            max_depth=_count(given, "max_depth"),
            order=order,
            sitemaps=discover,
            named=named,
            again=_again(given),
            render=_choice(given, "render", RENDER),
            ftp=ftp,
            job=given.get("job", ""),
            **{name: _switch(given, name) for name in _SWITCHES},
        )

    @staticmethod
    def named_in(given: Mapping[str, Any]) -> list[Url]:
        """The sitemaps and hubs that `given` names. Raises `OptionError`."""
        return _sitemaps(given)[1]

    def settings(self) -> Iterator[tuple[str, Any]]:
        """Yield name and value of each setting that an argument stands for."""
        for name, value in (
            ("SITECRAWL_MAX_PAGES", self.max_pages),
            ("DEPTH_LIMIT", self.max_depth),
            ("SITECRAWL_ORDER", self.order),
            ("SITECRAWL_RENDER", self.render),
        ):
            if value is not None:
                yield name, value
        for name, is_on in (
            ("SITECRAWL_REQUISITES", self.requisites),
            ("SITECRAWL_FTP", self.ftp),
            ("SITECRAWL_SCREENSHOTS", self.screenshots),
            ("SITECRAWL_CLUSTER_WATCH", self.watch or self.recrawl),  # other workers may have something for this one
        ):
            if is_on:
                yield name, True

    @property
    def gathers(self) -> bool:
        """Whether the crawl reads sitemaps."""
        return self.sitemaps or bool(self.named) or self.watch


NAMES = (*(f.name for f in fields(SiteArguments) if f.name != "named"), "allow", "deny", "hubs")
_SWITCH = {"0": False, "1": True}
_SWITCHES = ("watch", "recrawl", "requisites", "screenshots", "dry")


def _check_names(given: Mapping[str, Any], names: Sequence[str]) -> None:
    for name in given:
        if name not in NAMES and not name.startswith("_"):  # scrapyd passes `_job`
            hint = meant(name, names) or f": there are {', '.join(names)}"
            raise OptionError(f"There is no argument {name!r}{hint}")


def _seeds(text: str | list[str] | None, others: Sequence[str], *, has_queue: bool) -> list[Url]:
    if isinstance(text, list):  # of a job file
        return seeds_of(text, schemes=CRAWLED)
    if text:
        return read_seeds(text, schemes=CRAWLED)
    return [] if has_queue and not others else seeds_of(others, schemes=CRAWLED)


def _count(given: Mapping[str, Any], name: str) -> int | None:
    value = given.get(name)
    if value is None:
        return None
    try:
        number = int(value)
    except (TypeError, ValueError):
        number = -1
    if number < 0:
        raise OptionError(f"{name} must be a whole number, 0 for no limit, and not {value!r}")
    return number


def _again(given: Mapping[str, Any]) -> float | None:
    value = str(given.get("again", "0"))
    if value == "0":
        return None
    for other in ENDLESS:
        if _switch(given, other):
            raise OptionError(f"again is one round and its end, and {other}=1 goes on: give one of them")
    if value == "1":
        return inf
    try:
        return parse_since(value, datetime.now(UTC))
    except OptionError as error:
        raise OptionError(f"again is 1, 0, or for what is older than that a time such as 1d: {error}") from error


def _choice(given: Mapping[str, Any], name: str, choices: Sequence[str]) -> str | None:
    value = given.get(name)
    if value is not None and str(value) not in choices:
        raise OptionError(f"{name} is one of {', '.join(choices)}, and not {value!r}{meant(str(value), choices)}")
    return None if value is None else str(value)


def _switch(given: Mapping[str, Any], name: str) -> bool:
    value = str(given.get(name, "0"))
    if value not in _SWITCH:
        raise OptionError(f"{name} is 1 or 0, and not {value!r}")
    return _SWITCH[value]


def _sitemaps(given: Mapping[str, Any]) -> tuple[bool, list[Url]]:
    """Whether to look for sitemaps, and the named ones and hubs. `sitemaps`: `1`, `0`, URLs, or `1,` and URLs."""
    sitemaps, is_on = given.get("sitemaps", "0"), False
    if not isinstance(sitemaps, list):
        first, _, rest = str(sitemaps).partition(",")
        if first in _SWITCH:
            is_on, sitemaps = _SWITCH[first], rest
    return is_on, [url for some in (sitemaps, given.get("hubs")) if some for url in _urls(some)]


def _urls(given: str | list[str]) -> list[Url]:
    return seeds_of(given) if isinstance(given, list) else read_seeds(given)


def _patterns(given: str | list[str]) -> list[str]:
    """The list of a job file, or one regular expression, which may contain commas."""
    return given if isinstance(given, list) else [given] if given else []
