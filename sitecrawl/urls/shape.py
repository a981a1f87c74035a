"""The shape of a URL: what pages of one kind on one host have in common.

A shape is made of the number of path segments, the first of them, what the last one says of its kind (a script's
name, a MediaWiki namespace, a file's ending), and the set of keys, of the query and of path segments (`;sid=`).
Whatever has a digit in it counts as a number: `/cat-17/` and `/cat-18/` are of one kind. It is written so that a
person recognises the URLs:

    /wiki/Talk:Ada            →  /wiki/Talk:
    /viewtopic.php?f=2&t=17   →  /viewtopic.php?f&t
    /?p=x.git;a=tree;h=4d2f   →  /?a=tree&h&p
    /2024/05/12/some-title    →  /#/*/*/*
    /docs/api/client.html     →  /docs/*/*.html
    /issues/17.pdf            →  /issues/*.pdf
    /blog/title?replyto=17    →  /blog/*?replyto
    /shop/list.jsp;sid=r3fa9  →  /shop/list.jsp?;sid

With keys, the last segment is a script's name if it has a dot. Without one it is as often the page's own name, and
each article with a link to answer it would be a kind of its own. Of a key that says what a script is to do
(`_ACTIONS`) the value counts, if it is a word: what edits a page is of another kind than what shows it. Parameters
are told apart by `&`, or by `;` as the HTML specification once advised.

A host can make up shapes without end. `fold` gives the coarser one that stands for many: first without the keys,
then without head and tail.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

from sitecrawl.base.expressions import expression
from sitecrawl.urls.url import target_of

MAX_SEGMENTS: Final = 4
"""Most segments counted; deeper paths have the shape of a path with this many."""
MAX_KEYS: Final = 6
"""Most query keys distinguished, in alphabetical order."""
_MAX_ENDING: Final = 5
"""Most characters of a file's ending; what stands behind a dot and is longer is part of a name."""
_ACTIONS: Final = frozenset({"a", "act", "action", "cmd", "do", "func", "op", "option", "route", "task"})
_MAX_TOKEN = 40

_BETWEEN_PARAMETERS = expression(r"&|;(?=\w+=)")
_WORD = expression(r"[a-z_/]{1,24}")
_DIGIT = expression(r"[0-9]")
_SEPARATOR = expression(r"[-_,]")
_NUMBERS = expression(r"#(?:-?#)+")


class Shape(NamedTuple):
    """See the module."""

    segments: int
    head: str
    tail: str
    keys: tuple[str, ...]

    def __str__(self) -> str:
        middle = ["*"] * self.segments
        if self.segments > 1 and self.head:
            middle[0] = self.head
        if self.segments and self.tail:
            middle[-1] = f"*{self.tail}" if self.tail.startswith(".") else self.tail
        query = "?" + "&".join(self.keys) if self.keys else ""
        return "/" + "/".join(middle) + query


def shape_of(url: str) -> Shape:
    """The shape of a URL; all URLs without a path, such as `data:,text`, have that of a host's root."""
    path, _, query = target_of(url).partition("?")
    parts: list[str] = _BETWEEN_PARAMETERS.split(query) if ";" in query else query.split("&")
    segments = path.split("/")
    if ";" in path:
        parts += (f";{one}" for segment in segments for one in segment.split(";")[1:] if one)
        segments = [segment.partition(";")[0] for segment in segments]
    segments = [segment for segment in segments if segment]
    keys = sorted({_key(part) for part in parts if part}) if parts else []
    if len(keys) > MAX_KEYS:
        keys = [*keys[:MAX_KEYS], "+"]
    head = _kind(segments[0]) if len(segments) > 1 else ""
    tail = _tail(segments[-1], has_keys=bool(keys)) if segments else ""
    return Shape(min(len(segments), MAX_SEGMENTS), head, tail, tuple(keys))


def fold(shape: Shape, *, wholly: bool) -> Shape:
    """The coarser shape: `shape` without its keys or, `wholly`, without head and tail as well."""
    keys = ("*",) if shape.keys else ()
    return Shape(shape.segments, "*", "", keys) if wholly else shape._replace(keys=keys)


def _key(part: str) -> str:
    key, _, value = part.partition("=")
    return f"{key}={value}" if key in _ACTIONS and _WORD.fullmatch(value) else _kind(key)


def _tail(segment: str, *, has_keys: bool) -> str:
    if has_keys and "." in segment:
        return _kind(segment)
    if ":" in segment:
        return _kind(segment.partition(":")[0]) + ":"
    name, _, ending = segment.rpartition(".")
    is_ending = name and ending.isalnum() and not ending.isdigit() and len(ending) <= _MAX_ENDING
    return f".{ending}" if is_ending else ""


@lru_cache(maxsize=1 << 14)
def _kind(token: str) -> str:
    """The token with numbers replaced: `cat-17` is `cat-#`, `r3fa9` and `2004` are `#`."""
    if _DIGIT.search(token) is None:
        return token[:_MAX_TOKEN]
    parts = ["#" if _DIGIT.search(part) else part for part in _SEPARATOR.split(token)]
    return _NUMBERS.sub("#", "-".join(parts))[:_MAX_TOKEN]
