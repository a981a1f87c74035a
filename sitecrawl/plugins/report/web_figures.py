"""What a crawl tells of the web as figures with a name, beside those that others have published: for the report's
tables, and as one JSON object.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, NamedTuple

from sitecrawl.plugins.report import published
from sitecrawl.plugins.report.published import Published
from sitecrawl.plugins.report.web import Groups, Spread, Web

FORMAT: Final = "sitecrawl-web-1"

Form = Literal["number", "share", "size"]


class Figure(NamedTuple):
    label: str
    form: Form
    read: Callable[[Web], float | None]
    """None where the crawl has nothing of the kind."""


class SpreadFigure(NamedTuple):
    label: str
    form: Form
    read: Callable[[Web], Spread]


FIGURES: Final[Mapping[str, Figure]] = {
    "hrefs_mean": Figure("Links a page, as they stand: mean", "number", lambda web: web.hrefs.mean),
    "hrefs_median": Figure("Links a page, as they stand: median", "number", lambda web: web.hrefs.median),
    "links_mean": Figure("URLs that a page links to: mean", "number", lambda web: web.links.mean),
    "links_median": Figure("URLs that a page links to: median", "number", lambda web: web.links.median),
    "twice": Figure("Links to what the page links to already", "share", lambda web: web.near.twice),
    "same_host": Figure("Links within the host", "share", lambda web: web.near.host),
    "same_site": Figure("Links within the site", "share", lambda web: web.near.site),
    "same_worker": Figure("Links within the worker", "share", lambda web: web.near.worker),
    "size_mean": Figure("Size of a page: mean", "size", lambda web: web.sizes.mean),
    "size_median": Figure("Size of a page: median", "size", lambda web: web.sizes.median),
}
"""By name. What each of them means is said in docs/the-web.md."""

SPREADS: Final[Mapping[str, SpreadFigure]] = {
    "hrefs": SpreadFigure("Links a page, as they stand", "number", lambda web: web.hrefs),
    "links": SpreadFigure("URLs that a page links to", "number", lambda web: web.links),
    "size": SpreadFigure("Size of a page", "size", lambda web: web.sizes),
}
GROUPS: Final[Mapping[str, Callable[[Web], Groups]]] = {
    "statuses": lambda web: web.statuses,
    "types": lambda web: web.types,
    "languages": lambda web: web.languages,
    "depths": lambda web: web.depths,
}


def published_of(name: str, group: str | float | None = None) -> tuple[Published, ...]:
    """What there is beside a figure, or beside a `group` of those that are called `name`."""
    if group is None:
        return published.FIGURES.get(name, ())
    return published.GROUPS.get(name, {}).get(str(group), ())


def as_json(web: Web, about: Mapping[str, Any]) -> dict[str, Any]:
    """One object, documented in docs/the-web.md; `about` says of which crawl."""
    return {
        "format": FORMAT,
        "crawl": dict(about),
        "responses": web.statuses.total,
        "pages": web.types.total,
        "html_pages": web.hrefs.pages,
        "figures": {name: _figure(name, figure, web) for name, figure in FIGURES.items()},
        "quantiles": {name: _spread(one.read(web)) for name, one in SPREADS.items()},
        **{name: _groups(name, read(web)) for name, read in GROUPS.items()},
        "sources": {name: source._asdict() for name, source in published.SOURCES.items()},
    }


def _figure(name: str, figure: Figure, web: Web) -> dict[str, Any]:
    return {"label": figure.label, "value": figure.read(web), "published": _published(published_of(name))}


def _spread(spread: Spread) -> dict[str, Any]:
    return {**{str(share): value for share, value in spread.quantiles.items()}, "greatest": spread.greatest}


def _groups(name: str, groups: Groups) -> list[dict[str, Any]]:
    rows = [
        {
            "name": group.name,
            "count": group.number,
            "share": groups.share(group.number),
            "bytes": group.size,
            "published": _published(published_of(name, group.name)),
        }
        for group in groups.named
    ]
    rest = {"name": "other", "count": groups.other, "share": groups.share(groups.other), "published": []}
    return [*rows, rest] if groups.other else rows


def _published(found: tuple[Published, ...]) -> list[dict[str, Any]]:
    return [{"value": one.value, "source": one.source} for one in found]
