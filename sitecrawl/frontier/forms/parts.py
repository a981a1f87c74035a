"""A URL in parts, of which a rule takes away what does not matter.

    http://a.example/forum/topic;v=7/index.php?t=17&sort=new
    |     origin    | segments   |  |          keys         |

A parameter of a path segment counts as a key whose name begins with `;`. Keys are in the order of their names, as in
the canonical URL (`sitecrawl.urls.url`): what differs in their order alone is one URL already.

A rule holds at a *place*: a kind of path. The narrow place of a path names its first and its last segment where they
are words, the wide one says only how many segments there are, and a script's name:

    /forum/topic.php  →  /forum/topic.php, /*/topic.php
    /p/17/red-shoe    →  /p/*/red-shoe,    /*/*/*
    /p/17/shoe-3      →  /p/*/*,           /*/*/*
    /docs/intro.html  →  /docs/intro.html, /*/*.html
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from sitecrawl.urls.url import Canonicalizer, path_start

_canonical: Final[Callable[[str], str]] = Canonicalizer().canonical_href
_MAX_WORD: Final = 40
_DIGIT = re.compile(r"[0-9]")
_PAGES: Final = frozenset({"html", "htm", "xhtml", "shtml"})
"""Endings of files that are a page each; with any other ending, or a query, a file is a script of many pages."""
STAR: Final = "*"


class Parts:
    """See the module. It is not changed."""

    __slots__ = ("_places", "_text", "keys", "origin", "segments", "slash")

    def __init__(self, origin: str, segments: tuple[str, ...], *, slash: bool, keys: tuple[str, ...]) -> None:
        self.origin = origin
        """Scheme, host and port."""
        self.segments = segments
        self.slash = slash
        """Whether the path ends with a slash."""
        self.keys = keys
        """`name=value` or `name`, in the order of the names; those of path segments begin with `;`."""
        self._places: tuple[str, ...] | None = None
        self._text: str | None = None

    def text(self) -> str:
        """The URL. Path parameters come behind the path: it is a class's name, and not to be fetched."""
        if self._text is None:
            path = "/" + "/".join(self.segments) + ("/" if self.slash and self.segments else "")
            inside = "".join(key for key in self.keys if key[0] == ";")
            query = "&".join(key for key in self.keys if key[0] != ";") if self.keys else ""
            self._text = f"{self.origin}{path}{inside}{'?' if query else ''}{query}"
        return self._text

    @property
    def places(self) -> tuple[str, ...]:
        """Where it is: the narrow place, then the wide one if that is another."""
        if self._places is None:
            self._places = places_of(self.segments)
        return self._places

    def values(self) -> dict[str, tuple[str, ...]]:
        """The values of every key, in their order."""
        found: dict[str, tuple[str, ...]] = {}
        for key in self.keys:
            name, _, value = key.partition("=")
            found[name] = (*found.get(name, ()), value)
        return found


def split(url: str) -> Parts:
    """The parts of an absolute http(s) URL, in its canonical spelling."""
    href = _canonical(url)
    start = path_start(href)
    path, _, query = href[start + 1 :].partition("?")
    pieces = path.split("/")
    keys: list[str] = []
    if ";" in path:
        for number, piece in enumerate(pieces):
            name, *parameters = piece.split(";")
            pieces[number] = name
            keys += (f";{parameter}" for parameter in parameters if parameter)
    slash = not pieces[-1]
    if query:
        keys += (part for part in query.split("&") if part)
    if len(keys) > 1:
        keys.sort(key=name_of)
    return Parts(href[:start], tuple(pieces[:-1] if slash else pieces), slash=slash, keys=tuple(keys))


def name_of(key: str) -> str:
    return key.partition("=")[0]


def in_lower_case(segment: str) -> str:
    """In lower case but for percent-encoded octets, whose digits a canonical URL has in upper case."""
    if "%" not in segment:
        return segment.lower()
    first, *others = segment.split("%")
    return "".join([first.lower(), *(f"%{other[:2]}{other[2:].lower()}" for other in others)])


@lru_cache(maxsize=1 << 12)
def places_of(segments: tuple[str, ...]) -> tuple[str, ...]:
    """The narrow place of a path with these segments, then the wide one if that is another."""
    if not segments:
        return ("/",)
    stars = [STAR] * len(segments)
    wide = [*stars[:-1], _script(segments[-1])]
    narrow = [_word(segments[0]), *stars[1:]] if len(segments) > 1 else stars
    narrow[-1] = _word(segments[-1])
    places = "/" + "/".join(narrow), "/" + "/".join(wide)
    return places if places[0] != places[1] else places[:1]


def _word(segment: str) -> str:
    if len(segment) > _MAX_WORD or _DIGIT.search(segment) is not None:
        return _script(segment)
    return segment


def _script(segment: str) -> str:
    name, dot, ending = segment.rpartition(".")
    if not dot or not name or len(segment) > _MAX_WORD:
        return STAR
    if ending.lower() in _PAGES or _DIGIT.search(segment) is not None:
        return f"{STAR}.{ending}"
    return segment
