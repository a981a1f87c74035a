"""How far earlier exports have come, so that the next one takes what is new.

    exported.json in the crawl's directory: by the name of each store, the last id that was exported and the checksum
    of its row

By ids, and not by time: what was begun before an export and stored after it belongs to the next. A crawl that was
killed, and one that was repaired, may store other captures under ids that were exported: then the row at the mark is
another, and everything counts as new. The mark is written after the export: a kill between the two exports rows
twice, and never none.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from sitecrawl.base.errors import CorruptFile, FormatMismatch
from sitecrawl.crawldir.durable import write_atomically
from sitecrawl.crawldir.faults import file_errors
from sitecrawl.pagestore.columns import checksum
from sitecrawl.pagestore.reader import PageReader

FILE: Final = "exported.json"
_MAGIC: Final = "sitecrawl exported"
_FORMAT: Final = 1


class Mark(NamedTuple):
    """The last capture of a store that was taken."""

    id: int = 0
    checksum: int = 0

    @classmethod
    def at_end_of(cls, reader: PageReader) -> Mark:
        last = reader.get(reader.last_id)
        return cls() if last is None else cls(last.id, checksum(last))

    def holds_in(self, reader: PageReader) -> bool:
        """Whether the capture is still the one that it was."""
        found = reader.get(self.id)
        return not self.id or (found is not None and checksum(found) == self.checksum)


def _read_marks(directory: Path) -> dict[str, Mark]:
    """By the name of a store; empty before any. Raises `StorageError`."""
    path = directory / FILE
    with file_errors(path):
        if not path.exists():
            return {}
        try:
            found = json.loads(path.read_bytes())
            if found["magic"] != _MAGIC or found["format"] != _FORMAT:
                raise FormatMismatch(f"{path} is of another version: delete it to export everything again")
            return {str(name): Mark(int(last), int(row)) for name, (last, row) in found["stores"].items()}
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise CorruptFile(f"{path} cannot be read ({error!r}): delete it to export everything again") from error


def _write_marks(directory: Path, marks: dict[str, Mark]) -> None:
    """Raises `StorageError`."""
    content = {"magic": _MAGIC, "format": _FORMAT, "stores": marks}
    with file_errors(directory / FILE):
        write_atomically(directory / FILE, [json.dumps(content, indent=1).encode()])


class News:
    """What stores have that the last export did not: from its marks to where they end now. Raises `StorageError`."""

    def __init__(self, directory: Path, stores: Sequence[tuple[str, PageReader]]) -> None:
        self._directory = directory
        self._ends = {name: Mark.at_end_of(reader) for name, reader in stores}
        marks = _read_marks(directory)
        begun = {name: marks.get(name, Mark()) for name, _ in stores}
        self.began_anew = [name for name, reader in stores if not begun[name].holds_in(reader)]
        """Stores of which everything counts as new, because they have been cut back or made again."""
        self.spans = {
            name: (0 if name in self.began_anew else begun[name].id, end.id) for name, end in self._ends.items()
        }

    def taken(self) -> None:
        """The next export begins where this one ends."""
        _write_marks(self._directory, self._ends)
