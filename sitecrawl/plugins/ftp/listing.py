"""What an ftp: URL names on its server, and a folder as the server lists it: read as it comes, in bounded memory.

Listings have two forms. MLSD (RFC 3659) was made for programs. What LIST gives was made for people (RFC 959), and
nobody has said how it looks: nearly all servers write what `ls -l` of Unix or `dir` of DOS does. A name is bytes.

Nothing of it is believed. Names that lead elsewhere (`..`, what has a slash in it) are no entries, and neither are
symbolic links to a folder above, in which a crawl would go round for ever. Circles that a listing does not show are
left to the frontier's judge of traps.

The path of a URL (RFC 1738, section 3.2) is relative to the folder into which a login leads; `%2F` at its beginning
is the root. `;type=d` names a folder and the other types a file, which is sent as it is in any case. A question mark
is a character of a name.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from typing import Final, NamedTuple, Self
from urllib.parse import unquote_to_bytes

from sitecrawl.urls.url import Url, path_start

_MAX_LINE: Final = 8 << 10
"""Bytes. A name has up to 255 in most file systems, a path that a symbolic link leads to up to 4,096."""
PORT: Final = 21
_TYPE = re.compile(r";type=([aid])$", re.IGNORECASE)
_PORT = re.compile(r":(\d+)$")


class Entry(NamedTuple):
    """A file or a folder in the folder that is listed."""

    name: bytes
    is_folder: bool | None
    """None where only the server knows, as of a symbolic link."""
    size: int | None = None
    """Bytes, of a file."""
    modified: str = ""
    """As the server writes it."""
    target: bytes | None = None
    """Of a symbolic link, where it leads, if that is said."""


_ParseLine = Callable[[bytes], Entry | None]
"""Reads one line; None for one that is no entry. Raises `ValueError` for what makes no sense."""


class Listing:
    """Takes the bytes of a listing of the folder `path`, and keeps at most `most` entries."""

    def __init__(self, parse_line: _ParseLine, path: bytes, most: int) -> None:
        self._parse_line = parse_line
        self._path = posixpath.normpath(b"/" + path.lstrip(b"/"))
        self._most = most
        self._rest = b""
        self._is_too_long = False
        """Whether what comes belongs to a line that is too long."""
        self.entries: list[Entry] = []
        self.skipped = 0
        """Lines that are no entries: what cannot be read, is of no use, or leads up."""
        self.is_full = False
        """Whether there are more entries than are kept."""

    def feed(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._take(line)
        if len(self._rest) > _MAX_LINE:
            self._rest, self._is_too_long = b"", True

    def end(self) -> None:
        """The last line may lack its end."""
        if self._rest:
            self._take(self._rest)
            self._rest = b""

    def _take(self, line: bytes) -> None:
        is_too_long, self._is_too_long = self._is_too_long, False
        if is_too_long or len(line) > _MAX_LINE:
            self.skipped += 1
            return
        try:
            entry = self._parse_line(line.removesuffix(b"\r"))
        except ValueError:
            self.skipped += 1
            return
        if entry is not None and entry.name not in {b".", b".."}:
            self._add(entry)

    def _add(self, entry: Entry) -> None:
        if not entry.name or _NO_NAME.search(entry.name) or self._leads_up(entry):
            self.skipped += 1
        elif len(self.entries) < self._most:
            self.entries.append(entry)
        else:
            self.is_full = True

    def _leads_up(self, entry: Entry) -> bool:
        if entry.target is None:
            return False
        target = posixpath.normpath(posixpath.join(self._path, entry.target)).replace(b"//", b"/")
        return self._path == target or self._path.startswith(target.rstrip(b"/") + b"/")


_NO_NAME = re.compile(rb"[/\x00\r\n]")


# MLSD

_LINK = b"os.unix=slink"
_HIDDEN: Final = frozenset({b"cdir", b"pdir"})
"""The folder itself, and the one above (RFC 3659, section 7.5.1)."""


def parse_mlsd(line: bytes) -> Entry | None:
    """A line such as `type=file;size=1024;modify=20261107120000; name` (RFC 3659, section 7.2)."""
    facts, space, name = line.partition(b" ")
    if not line:
        return None
    if not space or (facts and not facts.endswith(b";")):
        raise ValueError("no line of MLSD")
    given = dict(_fact(fact) for fact in facts.split(b";") if fact)
    kind = given.get(b"type", b"")
    if kind.lower() in _HIDDEN:
        return None
    size = given.get(b"size", b"")
    modified = given.get(b"modify", b"").decode("latin-1")
    return Entry(name, _is_folder(kind), int(size) if size.isdigit() else None, modified, _link_target(kind))


def _fact(text: bytes) -> tuple[bytes, bytes]:
    name, _, value = text.partition(b"=")
    return name.lower(), value


def _is_folder(kind: bytes) -> bool | None:
    kind = kind.lower()
    if kind in {b"dir", b"file"}:
        return kind == b"dir"
    if not kind or kind.startswith((_LINK, b"os.unix=symlink")):
        return None
    raise ValueError("a device, or something else that is no file")


def _link_target(kind: bytes) -> bytes | None:
    return kind[len(_LINK) + 1 :] or None if kind.lower().startswith(_LINK) else None


# LIST

_UNIX = re.compile(
    rb"""(?P<kind>[-dl])[-rwxsStTlLhH?]{9}[.+@]?\ *+
    (?:\d++\ ++)?+  (?:[^\ ]++\ ++){1,3}?           # links; owner and group, of which there may be one
    (?P<size>\d++)\ ++
    (?P<modified>
        [^\d\ ]{2,12}+\ ++\d{1,2}\ ++\d[\d:]{3,4}   # Nov  7 12:00; Nov  7  2025
      | \d{1,2}\.?\ ++[^\d\ ]{2,12}+\ ++\d[\d:]{3,4}  # 7. Nov 12:00
      | \d{4}-\d\d-\d\d\ ++\d\d:\d\d
    )\ (?P<name>.+)""",
    re.VERBOSE | re.DOTALL,
)
_DOS = re.compile(
    rb"(?P<modified>\d\d-\d\d-\d{2,4} ++\d\d:\d\d(?:[AP]M)?+) ++(?:(?P<folder><DIR>)|(?P<size>\d++)) ++(?P<name>.+)",
    re.DOTALL,
)
_TOTAL = re.compile(rb"total \d+")


def parse_list(line: bytes) -> Entry | None:
    """A line as `ls -l` or `dir` writes it."""
    if not line or _TOTAL.fullmatch(line):
        return None
    if (found := _UNIX.fullmatch(line)) is not None:
        return _of_unix(found)
    if (found := _DOS.fullmatch(line)) is None:
        raise ValueError("no line of a listing")
    modified = found["modified"].decode("latin-1")
    return Entry(found["name"], found["folder"] is not None, int(found["size"]) if found["size"] else None, modified)


def _of_unix(found: re.Match[bytes]) -> Entry:
    modified = " ".join(found["modified"].decode("latin-1").split())
    if found["kind"] == b"l":
        name, arrow, target = found["name"].partition(b" -> ")
        return Entry(name, None, None, modified, target if arrow else None)
    is_folder = found["kind"] == b"d"
    return Entry(found["name"], is_folder, None if is_folder else int(found["size"]), modified)


class Location(NamedTuple):
    """Where something is."""

    host: str
    """A name or an address, without brackets."""
    port: int
    path: bytes
    """As a command names it, without a slash at its end; empty for the folder into which a login leads."""
    is_folder: bool
    """Whether the URL says that it is one: it may be one in any case."""

    @classmethod
    def of(cls, url: Url) -> Self:
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
        return cls(host.strip("[]"), PORT if port is None else int(port[1]), path, is_folder)

    @property
    def namesake(self) -> bytes | None:
        """The path of the nearest folder above that has its name; None if none has."""
        above, slash, name = self.path.rpartition(b"/")
        while slash:
            if above.rpartition(b"/")[2] == name:
                return above
            above, slash, _ = above.rpartition(b"/")
        return None


def folder_url(url: Url) -> str:
    """The URL of `url` as that of a folder: with a slash, and nothing behind it."""
    href = _TYPE.sub("", url.href).replace("?", "%3F")
    return href if href.endswith("/") else f"{href}/"
