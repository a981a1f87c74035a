"""What has come of rendering a page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sitecrawl.base.errors import SitecrawlError
from sitecrawl.page.items import Exchange

CONTENT_TYPE: Final = b"text/html; charset=utf-8"
"""Of a DOM."""


class NoBrowser(SitecrawlError):
    """The browser cannot be started."""


class NotRendered(SitecrawlError):
    """A page could not be rendered."""


class Crashed(NotRendered):
    """It crashed, or closed itself: another time it may not."""


class Lost(Crashed):
    """The browser has ended under it, or other pages have failed with it: that may be no fault of the page."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A page that was rendered."""

    body: bytes
    """The DOM, as HTML in UTF-8."""
    parts: tuple[Exchange, ...]
    """What is to be stored with the page: the DOM, the picture, and all that was asked for."""
    urls: frozenset[str]
    """All that the page was given."""
    leads_to: str | None
    """Where a script wanted to go instead."""
