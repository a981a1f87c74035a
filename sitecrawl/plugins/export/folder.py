"""Pages as a folder of Markdown files that mirrors their sites.

    http://site.example/docs/a?id=3   site.example/docs/a@id=3.md
    http://site.example/docs/         site.example/docs/index.md
    http://site.example:8080/a        site.example_8080/a.md

Names come off the network, so they have nothing but letters, digits and a few signs that no file system and no shell
takes for anything else; none begins with a dot, has a name that a system reserves, or is long. Where that takes
something away from a URL, the name ends with a digest of the URL, and so does the second one of two that differ by
case alone, or by what was sent for them. No folder ends with `.md`, and every file does, so neither stands in the
other's way.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from sitecrawl.crawldir.faults import file_errors
from sitecrawl.plugins.export.exported_page import ExportedPage
from sitecrawl.plugins.export.formats import iso, time_of
from sitecrawl.plugins.export.markdown import joined
from sitecrawl.plugins.export.passing import Once

_MOST_FOLDERS: Final = 12
"""Below that of the host: the others are left out of a path."""
_MOST_NAME: Final = 80
"""Characters of a file or folder, before its digest; and `_MOST_BYTES` of them in UTF-8."""
_MOST_BYTES: Final = 180
_ENDING: Final = ".md"
_UNSAFE = re.compile(r"[^\w.~@=&+,-]")
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|\Z)", re.IGNORECASE)
_UNPRINTABLE = re.compile("[^\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]+")
"""What YAML does not take as it stands (YAML 1.2, section 5.1), and what ends a line to some of its readers."""


class _Names:
    """Gives each URL a path of its own."""

    def __init__(self, known: Once) -> None:
        self._known = known

    def of(self, url: str, sent: str = "") -> str:
        """Relative, with `/` between its parts. `sent` tells apart what came for other requests than GETs."""
        path, is_whole = _path_of(url)
        if sent or not is_whole or not self._known.is_new(path.casefold()):
            digest = hashlib.blake2b(f"{url}\n{sent}".encode("utf-8", "replace"), digest_size=8)
            path = f"{path}-{digest.hexdigest()}"
        return path + _ENDING


def _path_of(url: str) -> tuple[str, bool]:
    """Without its ending, and whether all of the URL is in it."""
    parts = urlsplit(url)
    *folders, name = parts.path.split("/")[1:] or [""]
    place = parts.netloc.rpartition("@")[2].replace(":", "_")
    if parts.scheme not in {"http", "https"}:
        place = f"{parts.scheme}_{place}"
    if parts.query:
        name = f"{name}@{parts.query}"
    cleaned = [_cleaned(one, is_folder=True) for one in (place, *folders[:_MOST_FOLDERS])]
    cleaned.append(_cleaned(name or "index"))
    is_whole = all(whole for _, whole in cleaned) and len(folders) <= _MOST_FOLDERS
    return "/".join(text for text, _ in cleaned), is_whole


def _cleaned(text: str, *, is_folder: bool = False) -> tuple[str, bool]:
    """A safe name, and whether it says all that `text` does."""
    plain = unicodedata.normalize("NFC", unquote(text, errors="replace"))
    safe = _UNSAFE.sub("_", plain)[:_MOST_NAME]
    safe = safe.encode("utf-8", "replace")[:_MOST_BYTES].decode("utf-8", "ignore")
    if not safe or safe[0] in ".~-" or _RESERVED.match(safe):
        safe = f"_{safe}"
    if safe.endswith(".") or (is_folder and safe.lower().endswith(_ENDING)):
        safe += "_"
    return safe, safe == plain


class FolderWriter:
    """Writes below `folder`, which is made if it is missing. Each file is there whole, or not at all."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.number = 0
        """Files so far."""
        self.without_text = 0
        """Pages so far that have none, such as pictures."""

    def write(self, pages: Iterable[ExportedPage]) -> None:
        """Raises `StorageError`."""
        with Once() as known:
            names = _Names(known)
            for page in pages:
                blocks = page.blocks
                if blocks is None:
                    self.without_text += 1
                    continue
                sent = "" if page.capture.method == "GET" else page.capture.digest
                path = self._folder / names.of(page.capture.url, sent)
                text = f"{_front_matter(page)}\n{joined(blocks)}\n"
                with file_errors(path):
                    path.parent.mkdir(parents=True, exist_ok=True)
                    draft = path.with_name(f"{path.name}.new")
                    draft.write_text(text, encoding="utf-8", errors="replace", newline="\n")
                    draft.replace(path)
                self.number += 1


def _front_matter(page: ExportedPage) -> str:
    """What is said of a page before its text, in YAML: each value a string in quotation marks, on one line."""
    fetched = time_of(page.last_fetched)
    said = {
        "url": page.capture.url,
        "title": page.title,
        "date": iso(fetched) if fetched else None,
        "language": page.language,
    }
    lines = [f"{name}: {_quoted(value)}" for name, value in said.items() if value]
    return "\n".join(["---", *lines, "---", ""])


def _quoted(text: str) -> str:
    return json.dumps(_UNPRINTABLE.sub(" ", text), ensure_ascii=False)
