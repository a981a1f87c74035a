"""Pages as files in one folder, for people and programs that want nothing but the bodies.

A name is what can be read of the URL and 16 hexadecimal digits of its digest, as in
`example.org_a_b-0123456789abcdef.html`. The first part holds ASCII letters, digits and `._-` alone and does not begin
with a dot, so no URL leads out of the folder, hides its file or is too long for a file system; the digits keep apart
what the first part does not, also where case does not count. A page that is fetched again replaces its file. Nothing
is followed that lies in the folder: a file is written under another name and moved into place.
"""

from __future__ import annotations

import contextlib
import os
import re
from hashlib import blake2b
from pathlib import Path
from typing import Final

from sitecrawl.base.errors import OptionError, StorageError

_READABLE: Final = 120
"""Characters of a name before its digits: with them well below the 143 bytes of the strictest file systems."""
_ODD = re.compile(r"[^A-Za-z0-9.-]+")
_ENDINGS: Final = {
    "text/html": ".html", "application/xhtml+xml": ".xhtml", "text/plain": ".txt", "text/css": ".css",
    "text/csv": ".csv", "text/xml": ".xml", "application/xml": ".xml", "application/rss+xml": ".xml",
    "application/atom+xml": ".xml", "application/json": ".json", "text/javascript": ".js",
    "application/javascript": ".js", "application/pdf": ".pdf", "image/png": ".png", "image/jpeg": ".jpg",
    "image/gif": ".gif", "image/svg+xml": ".svg", "image/webp": ".webp", "application/zip": ".zip",
}  # fmt: skip


class PageFolder:
    """See the module. Makes the folder if it is missing; raises `OptionError` if it cannot be written to."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OptionError(f"The folder {path} cannot be made: {error.strerror}") from error
        if not os.access(path, os.W_OK | os.X_OK):
            raise OptionError(f"The folder {path} cannot be written to")

    def save(self, url: str, content_type: str, body: bytes) -> Path:
        """Write the body of the page at `url`; returns its file. Raises `StorageError`."""
        target = self.path / file_name(url, content_type)
        passing = target.with_name(f".{target.stem[-16:]}.{os.getpid()}.part")
        try:
            descriptor = os.open(passing, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o666)
            with os.fdopen(descriptor, "wb") as file:
                file.write(body)
            passing.replace(target)
        except OSError as error:
            with contextlib.suppress(OSError):
                passing.unlink()
            raise StorageError(f"{target} cannot be written: {error.strerror}") from error
        return target


def file_name(url: str, content_type: str) -> str:
    """The name of the file for the page at `url`, an absolute http(s) URL."""
    readable = _ODD.sub("_", url.partition("://")[2])[:_READABLE].strip("._")
    digits = blake2b(url.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return f"{readable or 'page'}-{digits}{_ENDINGS.get(content_type, '.bin')}"
