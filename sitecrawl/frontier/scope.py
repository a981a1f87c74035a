"""Which links belong to a crawl: those of its seeds' hosts, sites or folders, less what patterns take away."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Container, Sequence
from functools import lru_cache
from typing import Final

from sitecrawl.base.errors import OptionError
from sitecrawl.base.patterns import BadPattern, MatchTime, Pattern, compiled
from sitecrawl.http.sheets import Sheets
from sitecrawl.page.items import Link
from sitecrawl.urls.place import KINDS, part, place_of
from sitecrawl.urls.url import Url, site_of

_SLASH = re.compile("/")
_SHEETS_KEPT: Final = 1_024
"""Lists of patterns of sheets that stay compiled."""
_FAR: Final = {
    "site": "no seed is of the site {site} (scope=site)",
    "host": "no seed is on the host {host} (scope=host)",
    "prefix": "it is below the folder of no seed (scope=prefix)",
}
"""Why a link is too far from all seeds, by kind."""


class Scope:
    """Links are in scope if they share with a seed what `kind` names.

    - `host`: host and port
    - `site`: the registrable domain, so `www.example.org` and `docs.example.org` alike
    - `prefix`: host and port, and the folder of the seed's path
    - `any`: nothing

    Besides, a link must match one of `allow` if there is any, and none of `deny`: regular expressions that are
    searched for in the URL. A link for which one of them has to be stopped is out of scope: it might be one that is
    denied. Raises `OptionError`.

    `lay` lets sheets of hosts have patterns of their own, which a link has to pass besides.

    `places`: the sites, hosts or folders of a crawl's seeds, where they are known already and no seed is to come.
    """

    def __init__(
        self,
        kind: str = "site",
        *,
        allow: Sequence[str] = (),
        deny: Sequence[str] = (),
        places: Container[str] | None = None,
    ) -> None:
        self.kind = _known(kind)
        self._allow = _compile("allow", allow)
        self._deny = _compile("deny", deny)
        self._sheets = Sheets()
        self._time = MatchTime(recovers=True)
        self._on_stopped: Callable[[str, str], None] = lambda _pattern, _url: None
        self._own: set[str] = set()
        """As `kind` has them."""
        self._places = self._own if places is None else places
        self._new: dict[str, bool] = {}
        self._longest = 0 if places is None else sys.maxsize
        """Characters of the longest folder, as far as that is known."""

    @property
    def patterns(self) -> tuple[list[str], list[str]]:
        """Those of `allow`, and those of `deny`."""
        return [one.pattern for one in self._allow], [one.pattern for one in self._deny]

    def lay(self, sheets: Sheets) -> None:
        """Have patterns of single hosts besides."""
        self._sheets = sheets

    def add_seed(self, seed: Url, *, led_to: bool = False) -> bool:
        """Widen the scope to what `seed` stands for; `led_to`: a seed's redirect has led there. Returns whether more
        is in scope than before.
        """
        return self.add_place(place_of(seed), led_to=led_to)

    def add_place(self, place: str, *, led_to: bool = False) -> bool:
        """The same for what `place_of` has given."""
        self._new[place] = led_to or self._new.get(place, False)
        return self._add(place)

    def _add(self, place: str) -> bool:
        own = part(place, self.kind)
        if not own or own in self._own:
            return False
        self._own.add(own)
        self._longest = max(self._longest, len(own))
        return True

    def take_new(self) -> dict[str, bool]:
        """The places of seeds that have come since this was asked last, and whether a redirect has led there."""
        new, self._new = self._new, {}
        return new

    def admits(self, link: Link) -> bool:
        """Whether `link` is to be followed."""
        return bool(self.admitted([link]))

    def admitted(self, links: Sequence[Link]) -> list[Link]:
        """Those of `links` that are to be followed."""
        near = self._near(links)
        if not (self._sheets or self._allow or self._deny):  # nearly always, and every link is asked for
            return near
        return [link for link in near if self.lets(link.url, link.host)]

    def lets(self, url: str, host: str) -> bool:
        """Whether no pattern keeps a URL out, of the crawl or of the sheet of its host."""
        if (self._allow or self._deny) and not self._passes(url, self._allow, self._deny):
            return False
        sheet = self._sheets.of(host)
        if not (sheet.allow or sheet.deny):
            return True
        return self._passes(url, _of_sheet("allow", sheet.allow), _of_sheet("deny", sheet.deny))

    def _passes(self, url: str, allow: Sequence[Pattern], deny: Sequence[Pattern]) -> bool:
        if any(self._has(url, pattern, unknown=True) for pattern in deny):
            return False
        return not allow or any(self._has(url, pattern, unknown=False) for pattern in allow)

    def why_not(self, link: Link) -> str:
        """The rule that keeps `link` out of the crawl, in words; empty for one that is to be followed."""
        if not self._near([link]):
            return _FAR[self.kind].format(site=site_of(link.host), host=link.host)
        sheet = self._sheets.of(link.host)
        of_sheet = _of_sheet("allow", sheet.allow), _of_sheet("deny", sheet.deny)
        return self._pattern_against(link.url, self._allow, self._deny) or self._pattern_against(
            link.url, *of_sheet, whose=f" of the sheet of {link.host}"
        )

    def _pattern_against(
        self, url: str, allow: Sequence[Pattern], deny: Sequence[Pattern], *, whose: str = ""
    ) -> str:
        for pattern in deny:
            if self._has(url, pattern, unknown=True):
                return f"deny{whose} matches it: {pattern.pattern}"
        if allow and not any(self._has(url, pattern, unknown=False) for pattern in allow):
            return f"allow{whose} does not match it: {', '.join(pattern.pattern for pattern in allow)}"
        return ""

    def limit_matches(self, seconds: float, on_stopped: Callable[[str, str], None]) -> None:
        """How long patterns may run at a time, 0 for no limit. `on_stopped` gets a pattern that was stopped, and the
        URL.
        """
        self._time = MatchTime(seconds, recovers=True)
        self._on_stopped = on_stopped

    def _has(self, url: str, pattern: Pattern, *, unknown: bool) -> bool:
        found = self._time.search(pattern, url)
        if found is None:
            self._on_stopped(pattern.pattern, url)
            return unknown
        return found

    def _near(self, links: Sequence[Link]) -> list[Link]:
        places = self._places
        if self.kind == "site":
            hosts = {link.host for link in links}  # of a page's links most lead to the same few
            near = {host for host in hosts if site_of(host) in places}
            return list(links) if len(near) == len(hosts) else [link for link in links if link.host in near]
        if self.kind == "host":
            return [link for link in links if link.host in places]
        if self.kind == "prefix":
            return [link for link in links if self._is_below_a_folder(link.url)]
        return list(links)

    def _is_below_a_folder(self, url: str) -> bool:
        target = url.partition("://")[2][: self._longest]
        return any(target[: slash.end()] in self._places for slash in _SLASH.finditer(target))


@lru_cache(maxsize=_SHEETS_KEPT)
def _of_sheet(name: str, patterns: tuple[str, ...]) -> list[Pattern]:
    return _compile(name, patterns)


def _known(kind: str) -> str:
    if kind not in KINDS:
        raise OptionError(f"There is no scope {kind!r}: choose one of {', '.join(KINDS)}")
    return kind


def _compile(name: str, patterns: Sequence[str]) -> list[Pattern]:
    try:
        return [compiled(text) for text in patterns]
    except BadPattern as error:
        raise OptionError(f"{name}: {error}") from None
