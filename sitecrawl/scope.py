"""Which links belong to a crawl: those of its seeds' hosts, sites or folders, less what patterns take away."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from sitecrawl.errors import OptionError
from sitecrawl.links import Link
from sitecrawl.url import Url, site_of

KINDS: Final = ("host", "site", "prefix", "any")


class Scope:
    """Links are in scope if they share with a seed what `kind` names.

    - `host`: host and port
    - `site`: the registrable domain, so `www.example.org` and `docs.example.org` alike
    - `prefix`: host and port, and the folder of the seed's path
    - `any`: nothing

    Besides, a link must match one of `allow` if there is any, and none of `deny`: regular expressions that are
    searched for in the URL. Raises `OptionError`.
    """

    def __init__(self, kind: str = "site", *, allow: Sequence[str] = (), deny: Sequence[str] = ()) -> None:
        if kind not in KINDS:
            raise OptionError(f"There is no scope {kind!r}: choose one of {', '.join(KINDS)}")
        self.kind = kind
        self._allow = _compile("allow", allow)
        self._deny = _compile("deny", deny)
        self._hosts: set[str] = set()
        self._sites: set[str] = set()
        self._folders: tuple[str, ...] = ()

    def add_seed(self, seed: Url) -> None:
        """Widen the scope to what `seed` stands for."""
        self._hosts.add(seed.host)
        self._sites.add(site_of(seed.host))
        folder = f"{seed.host}{seed.path[: seed.path.rfind('/') + 1]}"
        if folder not in self._folders:
            self._folders += (folder,)

    def admits(self, link: Link) -> bool:
        """Whether `link` is to be followed."""
        if not self._is_near(link):
            return False
        if self._deny is not None and self._deny.search(link.url):
            return False
        return self._allow is None or self._allow.search(link.url) is not None

    def _is_near(self, link: Link) -> bool:
        if self.kind == "site":
            return site_of(link.host) in self._sites
        if self.kind == "host":
            return link.host in self._hosts
        if self.kind == "prefix":
            return link.url.partition("://")[2].startswith(self._folders)
        return True


def _compile(name: str, patterns: Sequence[str]) -> re.Pattern[str] | None:
    for pattern in patterns:
        try:
            re.compile(pattern)
        except re.error as error:
            raise OptionError(f"{name}: {pattern!r} is no regular expression: {error}") from error
    return re.compile("|".join(f"(?:{p})" for p in patterns)) if patterns else None
