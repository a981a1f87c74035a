"""Which links belong to a crawl: those of its seeds' hosts, sites or folders, less what patterns take away."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from sitecrawl.base.errors import OptionError
from sitecrawl.base.patterns import BadPattern, MatchTime, Pattern, compiled
from sitecrawl.page.items import Link
from sitecrawl.urls.url import Url, site_of

KINDS: Final = ("host", "site", "prefix", "any")

_SLASH = re.compile("/")


class Scope:
    """Links are in scope if they share with a seed what `kind` names.

    - `host`: host and port
    - `site`: the registrable domain, so `www.example.org` and `docs.example.org` alike
    - `prefix`: host and port, and the folder of the seed's path
    - `any`: nothing

    Besides, a link must match one of `allow` if there is any, and none of `deny`: regular expressions that are
    searched for in the URL. A link for which one of them has to be stopped is out of scope: it might be one that is
    denied. Raises `OptionError`.
    """

    def __init__(self, kind: str = "site", *, allow: Sequence[str] = (), deny: Sequence[str] = ()) -> None:
        if kind not in KINDS:
            raise OptionError(f"There is no scope {kind!r}: choose one of {', '.join(KINDS)}")
        self.kind = kind
        self._allow = _compile("allow", allow)
        self._deny = _compile("deny", deny)
        self._time = MatchTime(recovers=True)
        self._on_stopped: Callable[[str, str], None] = lambda _pattern, _url: None
        self._hosts: set[str] = set()
        self._sites: set[str] = set()
        self._folders: set[str] = set()
        self._longest = 0
        """Characters of the longest folder."""

    def add_seed(self, seed: Url) -> None:
        """Widen the scope to what `seed` stands for."""
        self._hosts.add(seed.host)
        self._sites.add(site_of(seed.host))
        folder = f"{seed.host}{seed.path[: seed.path.rfind('/') + 1]}"
        self._folders.add(folder)
        self._longest = max(self._longest, len(folder))

    def admits(self, link: Link) -> bool:
        """Whether `link` is to be followed."""
        if not self._is_near(link):
            return False
        if any(self._has(link.url, pattern, unknown=True) for pattern in self._deny):
            return False
        return not self._allow or any(self._has(link.url, pattern, unknown=False) for pattern in self._allow)

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
            return site_of(link.host) in self._sites
        if self.kind == "host":
            return link.host in self._hosts
        if self.kind == "prefix":
            return self._is_below_a_folder(link.url)
        return True

    def _is_below_a_folder(self, url: str) -> bool:
        target = url.partition("://")[2][: self._longest]
        return any(target[: slash.end()] in self._folders for slash in _SLASH.finditer(target))


def _compile(name: str, patterns: Sequence[str]) -> list[Pattern]:
    try:
        return [compiled(text) for text in patterns]
    except BadPattern as error:
        raise OptionError(f"{name}: {error}") from None
