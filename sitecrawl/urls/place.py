"""The place of a seed: its site, its host or its folder, by the kind of scope.

One text has all of them, so that the kind can change while a crawl runs: `SITE HOST/FOLDER/`, as in `example.org
www.example.org/docs/`. No site and no host contains a blank. So in a sorted table the places of a site begin with it
and a blank, and those of a host with both and a slash: one look-up answers for any kind.
"""

from __future__ import annotations

from typing import Final

from sitecrawl.urls.url import Url, site_of

KINDS: Final = ("host", "site", "prefix", "any")
"""Kinds of scopes."""


def place_of(seed: Url) -> str:
    """The place of `seed`."""
    folder = seed.path[: seed.path.rfind("/") + 1]
    return f"{site_of(seed.host)} {seed.host}{folder}"


def part(place: str, kind: str) -> str:
    """The part of `place` that scopes of `kind` compare: a site, a host, or a host with a folder; empty for
    `any`.
    """
    site, _, folder = place.partition(" ")
    return {"site": site, "host": folder.partition("/")[0], "prefix": folder}.get(kind, "")
