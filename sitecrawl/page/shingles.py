"""A sample of what a text says, by which another text is known to say it, too (`sitecrawl.page.shown_text`).

Broder, "On the resemblance and containment of documents" (SEQUENCES 1997), takes texts for sets of *shingles*, the
runs of so many words that stand in them, and compares those alone whose hash is 0 mod m, which are the same ones in
every text. Two things are otherwise here.

- What is sampled are words, not runs: one in `SCALE`, by its hash. Each is kept with the run of `_WIDTH` words that
  it ends and the run that it begins. It was said before if *either* run was. A list says what others say in another
  order: of six words a name and a price, three of nine runs that touch them reach over into the next entry, and would
  be new in each order, but each word has a run that stays inside.
- A sampled word has a level: it is at least n for one in 2^n of them. A text with more than `_MOST` has only those of
  the lowest level with which it has no more, and so is bounded however long it is; samples of different levels still
  have words in common.

All words count, not only the first ones. A word is a run of letters and digits in lower case, without what stands
around it, so that a quotation or a page's source says what the page says. Where no spaces are written (Chinese,
Japanese, Thai, Khmer, Burmese), each letter is a word. All numbers are the same word, 0: texts that differ in these
alone, as the days of a calendar or lists of what is numbered, say the same.

Layout: the level, 1 byte; then each sampled word once with the same runs, in their order in the text: the hash of the
run that it ends, 4 bytes, and of the run that it begins, 4, little-endian; the three lowest bits of the latter are
the word's level. `sitecrawl/base/native/shingles.c` is the same in C.
"""

from __future__ import annotations

import struct
from typing import Final

from cityhash import CityHash64

from sitecrawl.base.compiled import native
from sitecrawl.base.expressions import expression

try:  # the `fast` extra: a tenth of the time for the same number
    from isal.isal_zlib import crc32
except ImportError:
    from zlib import crc32

SCALE: Final = 8
"""A sampled word of a sample with the level 0 stands for so many words, and for twice as many with each level."""
_WIDTH: Final = 4
"""Words of a run."""
_MOST: Final = 512
LEVELS: Final = 8
UNIT_BYTES: Final = 8
_PAGES: Final = 4
MAX_BYTES: Final = 1 + _MOST * UNIT_BYTES
_WORD: Final = expression(
    "[0-9a-z\u00c0-\u0dff\u0f00-\u0fff\u1080-\u177f\u1800-\u1fff\u2c00-\u2fff]+"
    "|[\u0e00-\u0eff\u1000-\u107f\u1780-\u17ff\u3000-\ud7ff\ue000-\U0010ffff]"
)
_FACTOR: Final = 0x9E3779B97F4A7C15
_ALL: Final = (1 << 64) - 1
_UNIT = struct.Struct("<II")


def is_sampled(body: bytes) -> bool:
    """Whether a crawl takes the sample of a page with this body: of one page in `_PAGES`, by its bytes, so always or
    never of the same page.
    """
    return crc32(body) % _PAGES == 0


def shingles(text: str) -> bytes:
    """The sample of `text`; of one byte where no word of it is sampled."""
    value = None if native is None else native.shingles(text if text.isascii() else text.lower())
    return _shingles_in_python(text) if value is None else value


def _shingles_in_python(text: str) -> bytes:
    """The same without C."""
    edge = [0] * (_WIDTH - 1)
    words = ["0" if word.isascii() and word.isdigit() else word for word in _WORD.findall(text.lower())]
    hashes = edge + list(map(CityHash64, words)) + edge
    units: dict[tuple[int, int], int] = {}
    for at in range(_WIDTH - 1, len(hashes) - _WIDTH + 1):
        if hashes[at] % SCALE == 0:
            level = _level(hashes[at])
            begun = _run(hashes[at : at + _WIDTH]) & -LEVELS | level
            units[_run(hashes[at - _WIDTH + 1 : at + 1]), begun] = level
    least = 0
    while len(units) > _MOST and least < LEVELS - 1:
        least += 1
        units = {unit: level for unit, level in units.items() if level >= least}
    return bytes([least]) + b"".join(_UNIT.pack(*unit) for unit in list(units)[:_MOST])


def _level(word: int) -> int:
    bits = word // SCALE | 1 << LEVELS - 1
    return (bits & -bits).bit_length() - 1


def _run(hashes: list[int]) -> int:
    run = 0
    for one in hashes:
        run = (run + one) * _FACTOR & _ALL
    return run >> 32


def is_sample(value: bytes) -> bool:
    """Whether `shingles` can have given it."""
    if not 1 <= len(value) <= MAX_BYTES or value[0] >= LEVELS or (len(value) - 1) % UNIT_BYTES:
        return False
    return all(begun % LEVELS >= value[0] for _, begun in _UNIT.iter_unpack(value[1:]))
