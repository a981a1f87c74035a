"""RocksDB's own counters, read from the text that it writes of them: one a line, `name COUNT : number`, histograms
with `COUNT : number SUM : number` at the end.
"""

from __future__ import annotations

import re
from typing import Final

from sitecrawl.base.expressions import expression

_ALL: Final = ("rocksdb.last.level.read.count", "rocksdb.non.last.level.read.count")
_FOR_WRITING: Final = (
    "rocksdb.file.read.flush.micros",
    "rocksdb.file.read.compaction.micros",
    "rocksdb.file.read.db.open.micros",
)
"""Of these, what is read to open, write out and merge tables."""
_COUNT: Final = expression(r"^(\S+) .*?COUNT : (\d+)", re.MULTILINE)


def reads_of(text: str) -> int:
    """Reads from tables' files for whoever asks the database."""
    counts = {name: int(number) for name, number in _COUNT.findall(text)}
    return sum(counts.get(name, 0) for name in _ALL) - sum(counts.get(name, 0) for name in _FOR_WRITING)
