"""What an ftp: URL names on its server (RFC 1738, section 3.2).

A path is relative to the folder into which a login leads; `%2F` at its beginning is the root. `;type=d` names a
folder and the other types a file, which is sent as it is in any case. A question mark is a character of a name.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple
from urllib.parse import unquote_to_bytes

from sitecrawl.urls.url import Url, path_start

PORT: Final = 21
_TYPE = re.compile(r";type=([aid])$", re.IGNORECASE)
_PORT = re.compile(r":(\d+)$")


class Location(NamedTuple):
    """Where something is."""

    host: str
    """A name or an address, without brackets."""
    port: int
    path: bytes
    """As a command names it, without a slash at its end; empty for the folder into which a login leads."""
    is_folder: bool
    """Whether the URL says that it is one: it may be one in any case."""


def location_of(url: Url) -> Location:
    """Where `url`, of the scheme ftp, leads."""
    target = url.href[path_start(url.href) + 1 :]
    typed = _TYPE.search(target)
    if typed is not None:
        target = target[: typed.start()]
    is_folder = not target or target.endswith("/") or (typed is not None and typed[1] in "dD")
    port = _PORT.search(url.host)
    host = url.host if port is None else url.host[: port.start()]
    path = unquote_to_bytes(target)
    path = path.rstrip(b"/") or path[:1]
    return Location(host.strip("[]"), PORT if port is None else int(port[1]), path, is_folder)


def namesake(path: bytes) -> bytes | None:
    """The nearest folder above that at `path` that has its name; None if none has."""
    above, slash, name = path.rpartition(b"/")
    while slash:
        if above.rpartition(b"/")[2] == name:
            return above
        above, slash, _ = above.rpartition(b"/")
    return None


def folder_url(url: Url) -> str:
    """The URL of `url` as that of a folder: with a slash, and nothing behind it."""
    href = _TYPE.sub("", url.href).replace("?", "%3F")
    return href if href.endswith("/") else f"{href}/"
