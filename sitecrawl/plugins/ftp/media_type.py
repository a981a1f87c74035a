"""What a file is of which a server says nothing but its name."""

from __future__ import annotations

from mimetypes import MimeTypes
from typing import Final

from sitecrawl.page.media_type import MediaType, actual_type

_TYPES: Final = MimeTypes()
"""Python's own: what this machine says of endings, another may not."""
_PACKED: Final = {
    "br": "application/x-brotli",
    "bzip2": "application/x-bzip2",
    "compress": "application/x-compress",
    "gzip": "application/gzip",
    "xz": "application/x-xz",
}
_UNTYPED: Final = MediaType("", None)


def media_type_of(name: bytes, body: bytes) -> str:
    """By the ending of `name`, or else by a look at `body`."""
    found, coding = _TYPES.guess_type(name.decode("latin-1").rpartition("/")[2], strict=False)
    if coding is not None:
        return _PACKED.get(coding, "application/octet-stream")
    return found or actual_type(_UNTYPED, body)
