"""What others have published of the web that they crawled, to stand beside what a crawl tells of it.

Their webs were others, and so was what they counted: each source says what. A figure that nobody has published, or
of which we are not sure, has none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple


class Source(NamedTuple):
    name: str
    """For a table."""
    title: str
    about: str
    """What was counted, and how the figures here come of it."""


class Published(NamedTuple):
    value: float
    source: str
    """A key of `SOURCES`."""


SOURCES: Final[Mapping[str, Source]] = {
    "mercator": Source(
        "Mercator 1999",
        "Heydon, Najork: Mercator: A scalable, extensible Web crawler, World Wide Web 2(4), 1999",
        "statuses of 75,593,531 responses, types of 59,947,946 documents, images among them",
    ),
    "cyveillance": Source(
        "Cyveillance 2000",
        "Cyveillance: Sizing the Internet, 2000, as quoted by I. Davis: Growth of the Web, July 2000",
        "23 links within the site and 5.6 to others on the average page, which has 10,060 bytes",
    ),
    "url-caching": Source(
        "Broder 2003",
        "Broder, Najork, Wiener: Efficient URL caching for World Wide Web crawling, WWW 2003",
        "links of HTML pages, duplicates among them",
    ),
    "irlbot": Source(
        "IRLbot 2008",
        "Lee, Leonard, Wang, Loguinov: IRLbot: Scaling to 6 billion pages and beyond, WWW 2008",
        "394 billion links on 6.3 billion HTML pages; the size is 319 Mb/s at 1,789 pages/s, as transferred",
    ),
    "mama": Source(
        "MAMA 2008",
        "Wilson: MAMA: Hyperlinks, Opera 2008",
        "links in a and area elements, as often as they stand there, at some 3.5 million URLs",
    ),
    "common-crawl": Source(
        "Common Crawl 2024",
        "Common Crawl: Statistics of CC-MAIN-2024-42, October 2024",
        "2.5 billion pages; types as declared, languages as detected in the text",
    ),
}

FIGURES: Final[Mapping[str, tuple[Published, ...]]] = {
    "hrefs_mean": (
        Published(28.6, "cyveillance"), Published(62.55, "url-caching"), Published(62.5, "irlbot"),
        Published(38.41, "mama"),
    ),
    "same_site": (Published(0.804, "cyveillance"),),
    "size_mean": (Published(10_060, "cyveillance"), Published(22_300, "irlbot")),
}  # fmt: skip
"""By the names of `sitecrawl.plugins.report.web.LABELS`."""


def _of(source: str, percents: Mapping[str, float]) -> dict[str, tuple[Published, ...]]:
    return {name: (Published(round(percent / 100, 6), source),) for name, percent in percents.items()}


_STATUSES: Final = _of(
    "mercator",
    {"200": 87.03, "404": 7.43, "302": 3.33, "301": 1.12, "403": 0.43, "401": 0.30, "500": 0.11},
)
_LANGUAGES: Final = _of(
    "common-crawl",
    {
        "en": 43.42, "ru": 6.04, "de": 5.30, "ja": 5.04, "zh": 4.81, "es": 4.54, "fr": 4.40, "it": 2.53, "pt": 2.31,
        "nl": 1.81, "pl": 1.81, "tr": 1.24, "id": 1.12, "cs": 1.06, "vi": 1.05,
    },
)  # fmt: skip
_TYPES_1999: Final = _of(
    "mercator",
    {
        "text/html": 69.2, "image/gif": 17.9, "image/jpeg": 8.1, "text/plain": 1.5, "application/pdf": 0.9,
        "application/zip": 0.4, "application/postscript": 0.3,
    },
)  # fmt: skip
_TYPES_2024: Final = _of(
    "common-crawl",
    {
        "text/html": 98.28, "application/pdf": 1.02, "application/atom+xml": 0.11, "text/plain": 0.07,
        "text/xml": 0.07, "application/rss+xml": 0.06, "application/json": 0.03, "application/xml": 0.03,
        "text/calendar": 0.03, "application/xhtml+xml": 0.01,
    },
)  # fmt: skip
_TYPES: Final = {name: _TYPES_1999.get(name, ()) + _TYPES_2024.get(name, ()) for name in (*_TYPES_1999, *_TYPES_2024)}
GROUPS: Final[Mapping[str, Mapping[str, tuple[Published, ...]]]] = {
    "statuses": _STATUSES,
    "types": _TYPES,
    "languages": _LANGUAGES,
}
"""Shares, by the name of what is counted, and what it is."""


def of_group(name: str, what: str | int | None) -> tuple[Published, ...]:
    """What there is beside `what` of the groups of that name."""
    return GROUPS.get(name, {}).get(str(what), ())
