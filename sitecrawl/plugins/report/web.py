"""What a crawl tells of the web, by SQL over its page index: links a page, sizes, statuses, types, languages;
for the report's tables (docs/the-web.md).

A page counts once a download, whichever run or worker it came by; what is not in the index is not counted. Nothing is
estimated: SQLite sorts and counts, on disk where memory does not suffice, so a quantile is that of all pages. Of what
servers can invent, types and statuses, the most frequent are named.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Self

from sitecrawl.pagestore.capture import is_number, is_text, or_null
from sitecrawl.pagestore.reader import PageReader

_NAMED: Final = 25
"""Statuses, types and languages that have a row of their own."""
QUANTILES: Final = (0.1, 0.25, 0.5, 0.75, 0.9, 0.99)

_RESPONSES: Final = "kind NOT IN ('robots', 'requisite', 'rendered', 'view') AND url_key <> ''"
"""Without what a merged index has for its body alone."""
_PAGES: Final = "kind = 'page' AND status BETWEEN 200 AND 299"
_HTML: Final = f"{_PAGES} AND hrefs IS NOT NULL"
_GROUPS = """
SELECT {column}, count(*), sum(count(*)) OVER () FROM pages WHERE {which}
GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT {most}
"""
_SPREAD = """
WITH found AS MATERIALIZED (SELECT {column} AS value, count(*) AS n FROM pages WHERE {which} GROUP BY 1),
ranked AS (SELECT value, n, sum(n) OVER (ORDER BY value) AS upto FROM found),
whole AS (SELECT sum(n) AS n, sum(n * value) AS total FROM found)
SELECT coalesce(whole.n, 0), coalesce(whole.total, 0), coalesce(max(value), 0), {quantiles} FROM whole, ranked
"""
_QUANTILE = "coalesce(min(value) FILTER (WHERE upto >= {share} * whole.n), 0)"
_NEAR = f"""
SELECT coalesce(sum(hrefs), 0), coalesce(sum(links), 0), coalesce(sum(host_links), 0), coalesce(sum(site_links), 0),
coalesce(sum(worker_links), 0), coalesce(sum(links) FILTER (WHERE worker_links IS NOT NULL), 0)
FROM pages WHERE {_HTML}
"""  # noqa: S608 - only names


class _Group(NamedTuple):
    """Pages with the same status, type or language."""

    name: str | int | None
    """None for a page that says nothing."""
    number: int


@dataclass(frozen=True, slots=True)
class Groups:
    """All that has any; `named` are the most frequent."""

    total: int = 0
    named: tuple[_Group, ...] = ()

    @property
    def other(self) -> int:
        """How many are not in `named`."""
        return self.total - sum(group.number for group in self.named)

    def share(self, number: int) -> float:
        return number / self.total if self.total else 0.0


@dataclass(frozen=True, slots=True)
class _Spread:
    """How a number is spread over pages."""

    pages: int = 0
    total: int = 0
    greatest: int = 0
    quantiles: Mapping[float, int] = field(default_factory=dict)
    """By the share of pages: the least number that so many do not exceed."""

    @property
    def mean(self) -> float | None:
        return self.total / self.pages if self.pages else None

    @property
    def median(self) -> int | None:
        return self.quantiles.get(0.5)


@dataclass(frozen=True, slots=True)
class Web:
    """See the module. A robots.txt or a requisite is no response here; a page has a status 2xx."""

    statuses: Groups = Groups()
    """Of responses."""
    types: Groups = Groups()
    """Of pages."""
    languages: Groups = Groups()
    """That pages of HTML declare."""
    sizes: _Spread = _Spread()
    """Bytes of pages, without content coding."""
    hrefs: _Spread = _Spread()
    """Links on a page of HTML, as they stand there."""
    links: _Spread = _Spread()
    """URLs that a page of HTML links to."""
    near: Mapping[str, float | None] = field(default_factory=dict)
    """Shares, over all pages of HTML: `twice`, of links, those to what the same page links to already; `same_host`,
    `same_site` and `same_worker`, of the URLs that pages link to, once a page, those on the page's host, its site,
    and the sites of the worker that had it (None where one process had all).
    """

    @classmethod
    def read(cls, reader: PageReader) -> Self:
        """Raises `CorruptFile` and its kin."""
        return cls(
            statuses=_groups(reader, "status", _RESPONSES),
            types=_groups(reader, "content_type", _PAGES),
            languages=_groups(reader, "language", _HTML),
            sizes=_spread(reader, "size", f"{_PAGES} AND size IS NOT NULL"),
            hrefs=_spread(reader, "hrefs", _HTML),
            links=_spread(reader, "links", _HTML),
            near=_near(reader),
        )


def _groups(reader: PageReader, column: str, which: str) -> Groups:
    is_name = or_null(is_text if column in {"content_type", "language"} else is_number)
    query = _GROUPS.format(column=column, which=which, most=_NAMED)
    rows = reader.rows(query, checks=[is_name, is_number, is_number])
    return Groups(rows[0][-1], tuple(_Group(*row[:-1]) for row in rows)) if rows else Groups()


def _spread(reader: PageReader, column: str, which: str) -> _Spread:
    quantiles = ", ".join(_QUANTILE.format(share=share) for share in QUANTILES)
    query = _SPREAD.format(column=column, which=which, quantiles=quantiles)
    ((pages, total, greatest, *values),) = reader.rows(query, checks=[is_number] * (3 + len(QUANTILES)))
    return _Spread(pages, total, greatest, dict(zip(QUANTILES, values, strict=True))) if pages else _Spread()


def _near(reader: PageReader) -> dict[str, float | None]:
    ((hrefs, links, host, site, worker, of_workers),) = reader.rows(_NEAR, checks=[is_number] * 6)
    if not hrefs or not links:
        return {}
    return {
        "twice": 1 - links / hrefs,
        "same_host": host / links,
        "same_site": site / links,
        "same_worker": worker / of_workers if of_workers else None,
    }
