"""Which links belong to a crawl: those of its seeds' hosts, sites or folders, less what patterns take away."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Container, Sequence
from functools import lru_cache
from typing import Final

from sitecrawl.base.errors import OptionError
from sitecrawl.base.patterns import BadPattern, MatchTime, Pattern, compiled
from sitecrawl.page.items import Link
from sitecrawl.sheets.sheet import NOTHING, Sheet
from sitecrawl.urls.url import Url, site_of

KINDS: Final = ("host", "site", "prefix", "any")

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

    `places`: what the seeds of a crawl stood for, where it is known already and no seed is to come.
    """

    def __init__(
        self,
        kind: str = "site",
        *,
        allow: Sequence[str] = (),
        deny: Sequence[str] = (),
        places: Container[str] | None = None,
    ) -> None:
        if kind not in KINDS:
            raise OptionError(f"There is no scope {kind!r}: choose one of {', '.join(KINDS)}")
        self.kind = kind
        self._allow = _compile("allow", allow)
        self._deny = _compile("deny", deny)
        self._sheet_of: Callable[[str], Sheet] = lambda _: NOTHING
        self._time = MatchTime(recovers=True)
        self._on_stopped: Callable[[str, str], None] = lambda _pattern, _url: None
        self._own: set[str] = set()
        self._places = self._own if places is None else places
        self._new: list[str] = []
        self._longest = 0 if places is None else sys.maxsize
        """Characters of the longest folder, as far as that is known."""

    @property
    def patterns(self) -> tuple[list[str], list[str]]:
        """Those of `allow`, and those of `deny`."""
        return [one.pattern for one in self._allow], [one.pattern for one in self._deny]

    def lay(self, sheet_of: Callable[[str], Sheet]) -> None:
        """`sheet_of` gives the sheet of a host by its name."""
        self._sheet_of = sheet_of

    def change(self, name: str, patterns: Sequence[str]) -> None:
        """From now on these are `allow`, or `deny`. Raises `OptionError`."""
        made = _compile(name, patterns)
        if name == "allow":
            self._allow = made
        else:
            self._deny = made

    def add_seed(self, seed: Url) -> None:
        """Widen the scope to what `seed` stands for."""
        place = self._place_of(seed)
        if place is not None and place not in self._own:
            self._own.add(place)
            self._new.append(place)
            self._longest = max(self._longest, len(place))

    def take_new(self) -> list[str]:
        """What seeds have widened it to since this was asked last."""
        new, self._new = self._new, []
        return new

    def _place_of(self, seed: Url) -> str | None:
        if self.kind == "site":
            return site_of(seed.host)
        if self.kind == "host":
            return seed.host
        if self.kind == "prefix":
            return f"{seed.host}{seed.path[: seed.path.rfind('/') + 1]}"
        return None

    def admits(self, link: Link) -> bool:
        """Whether `link` is to be followed."""
        return self._is_near(link) and self.lets(link.url, link.host)

    def lets(self, url: str, host: str) -> bool:
        """Whether no pattern keeps a URL out, of the crawl or of the sheet of its host."""
        if (self._allow or self._deny) and not self._passes(url, self._allow, self._deny):
            return False
        sheet = self._sheet_of(host)
        if not (sheet.allow or sheet.deny):
            return True
        return self._passes(url, _of_sheet("allow", sheet.allow), _of_sheet("deny", sheet.deny))

    def _passes(self, url: str, allow: Sequence[Pattern], deny: Sequence[Pattern]) -> bool:
        if any(self._has(url, pattern, unknown=True) for pattern in deny):
            return False
        return not allow or any(self._has(url, pattern, unknown=False) for pattern in allow)

    def why_not(self, link: Link) -> str:
        """The rule that keeps `link` out of the crawl, in words; empty for one that is to be followed."""
        if not self._is_near(link):
            return _FAR[self.kind].format(site=site_of(link.host), host=link.host)
        sheet = self._sheet_of(link.host)
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

    def _is_near(self, link: Link) -> bool:
        if self.kind == "site":
            return site_of(link.host) in self._places
        if self.kind == "host":
            return link.host in self._places
        if self.kind == "prefix":
            return self._is_below_a_folder(link.url)
        return True

    def _is_below_a_folder(self, url: str) -> bool:
        target = url.partition("://")[2][: self._longest]
        return any(target[: slash.end()] in self._places for slash in _SLASH.finditer(target))


@lru_cache(maxsize=_SHEETS_KEPT)
def _of_sheet(name: str, patterns: tuple[str, ...]) -> list[Pattern]:
    return _compile(name, patterns)


def _compile(name: str, patterns: Sequence[str]) -> list[Pattern]:
    try:
        return [compiled(text) for text in patterns]
    except BadPattern as error:
        raise OptionError(f"{name}: {error}") from None
