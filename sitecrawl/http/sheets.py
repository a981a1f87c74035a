"""Sheets: what is otherwise for some hosts than for the crawl, laid over it and over one another.

They are Heritrix' (Mohr et al. 2004, "Introduction to Heritrix", "settings overrides"; its "sheet overlays" today).
A sheet names hosts and says what holds for them; what it leaves out it leaves as it is. Where several name a host,
the later counts, option by option; headers and cookies are joined by their names.

Names of hosts are as URLs have them after canonicalisation: in small letters, in Punycode, with a port where the URL
has one that is not its scheme's. A dot at the end of a name means nothing: whoever links to `example.com.` gets no
other sheet.

- `example.com`, `example.com:8080`: this host, on this port
- `*.example.com`: all names below `example.com`, on any port, and not itself
- `*`: every host
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from typing import Any, Final

KEPT: Final = 4_096
"""Hosts of which the answer is kept."""


@dataclass(frozen=True, slots=True)
class RobotsException:
    """Where a host's robots.txt is not obeyed, by whose leave."""

    reason: str
    """Never empty: who allowed it. It stands in the log, the report and the archive."""
    paths: tuple[str, ...] = ("/",)
    """Path prefixes."""

    def covers(self, target: str) -> bool:
        """Whether it is about a URL with this path and query."""
        return target.startswith(self.paths)


@dataclass(frozen=True, slots=True)
class Sheet:
    """What holds for `hosts`. None, and what is empty, leaves an option as the crawl has it."""

    hosts: tuple[str, ...] = ()
    delay: float | None = None
    """Seconds between two requests to one host; in the place of DOWNLOAD_DELAY. A Crawl-delay still counts."""
    concurrency: int | None = None
    """Requests under way on one host; in the place of CONCURRENT_REQUESTS_PER_DOMAIN."""
    priority: float | None = None
    """How many turns a host gets where another gets one; 1.0 is the crawl's. Above 0."""
    max_pages: int | None = None
    """URLs to fetch of one host; 0 for no limit."""
    max_depth: int | None = None
    """Links to follow from a seed to a URL of this host; 0 for no limit."""
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    """Regular expressions for URLs of these hosts, besides those of the crawl."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Sent with every request, in the place of the crawl's own of the same name."""
    cookies: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Sent at first; what the host sets afterwards counts."""
    proxy: str | None = field(default=None, repr=False)
    """Through which its requests go, robots.txt included; empty for none."""
    robots: RobotsException | None = None
    login: Mapping[str, Any] | None = field(default=None, repr=False)
    """How to log in: see docs/login.md."""

    def over(self, under: Sheet) -> Sheet:
        """Both, where what this one says counts."""
        said: dict[str, Any] = {
            name: value for name in _SINGLE if (value := getattr(self, name)) is not None and value != ()
        }
        return replace(
            under, **said, headers={**under.headers, **self.headers}, cookies={**under.cookies, **self.cookies}
        )


_SINGLE: Final = tuple(one.name for one in fields(Sheet) if one.name not in {"hosts", "headers", "cookies"})
_NOTHING: Final = Sheet()


class Sheets:
    """The sheets of a crawl, in their order."""

    def __init__(self, sheets: Sequence[Sheet] = ()) -> None:
        self.all = tuple(sheets)
        self._named = frozenset(name for sheet in self.all for name in sheet.hosts)
        self.of = lru_cache(maxsize=KEPT)(self._of) if self.all else lambda _host: _NOTHING

    def __bool__(self) -> bool:
        return bool(self.all)

    def names(self, host: str) -> bool:
        """Whether a sheet names that very host: it has a record of its own, whatever its site has."""
        return host in self._named

    def _of(self, host: str) -> Sheet:
        """What is otherwise for the host of this name (`host:port`)."""
        found = _NOTHING
        for sheet in self.all:
            if any(_names(pattern, host) for pattern in sheet.hosts):
                found = sheet.over(found)
        return found


def undotted(host: str) -> str:
    """`example.com` for `example.com.`, the same name written out to its root (RFC 1034, section 3.1)."""
    name, colon, port = host.partition(":")
    return f"{name.removesuffix('.')}{colon}{port}"


def _names(pattern: str, host: str) -> bool:
    """Whether `pattern`, of a sheet, names the host."""
    host = undotted(host)
    if pattern.startswith("*."):
        return host.partition(":")[0].endswith(pattern[1:])
    return pattern in {"*", host}
