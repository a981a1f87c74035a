"""SimHash: 64 bits of a text, of which few change when little of the text does.

Charikar, "Similarity estimation techniques from rounding algorithms" (STOC 2002); Manku, Jain and Das Sarma,
"Detecting near-duplicates for web crawling" (WWW 2007), who found that pages of the web with at most 3 of 64 bits
apart are near duplicates. Features are pairs of neighbouring words, counted as often as they stand there; a pair's
hash is the exclusive or of its words' hashes, the second one's moved by a bit, so that the order counts.

Bit i of the result is set if it is set in most features' hashes. That is 64 counts over n hashes. Python does them
fast on long integers: all hashes side by side are one number, which is halved and added to itself until one hash's
width is left. The sums are kept as *planes*, plane k with the k-th binary digit of every count, so an addition is a
full adder's `&`, `|` and `^` over all counts at once.

`sitecrawl/base/native/simhash.c` is the same in C, in a fifth of the time.
"""

from __future__ import annotations

from array import array
from typing import Final

from cityhash import CityHash64

from sitecrawl.base.compiled import native

_MAX_WORDS: Final = 1024
"""Words that are looked at, from the start of the text: what is longer is told apart by its beginning."""

BITS: Final = 64
MAX_DISTANCE: Final = 3
"""Bits that may differ between near duplicates."""
_ALL: Final = (1 << BITS) - 1


def simhash(text: str) -> int:
    """The SimHash of `text`, from 0 to 2^64 - 1; 0 for a text without words."""
    value = None if native is None else native.simhash(text if text.isascii() else text.lower())
    return _simhash_in_python(text) if value is None else value


def _simhash_in_python(text: str) -> int:
    """The same without C."""
    hashes = array("Q", list(map(CityHash64, text.lower().split(maxsplit=_MAX_WORDS)[:_MAX_WORDS])))
    side_by_side, count = int.from_bytes(hashes.tobytes(), "little"), len(hashes)
    if count > 1:
        count -= 1
        side_by_side = (side_by_side ^ side_by_side >> BITS - 1) & (1 << BITS * count) - 1
    return _above(count // 2, _counts(side_by_side, count))


def _counts(hashes: int, count: int) -> list[int]:
    """How often each bit is set in `count` hashes: the planes of 64 counts, the least digit first."""
    planes = [hashes]
    while count > 1:
        count = (count + 1) // 2
        width = BITS * count
        low, carry, sums = (1 << width) - 1, 0, []
        for plane in planes:
            one, other = plane & low, plane >> width
            differ = one ^ other
            sums.append(differ ^ carry)
            carry = (one & other) | (differ & carry)
        planes = [*sums, carry]
    return planes


def _above(limit: int, planes: list[int]) -> int:
    """The bits whose count is greater than `limit`, which has no more digits than there are planes."""
    above, equal = 0, _ALL
    for digit in reversed(range(len(planes))):
        if limit >> digit & 1:
            equal &= planes[digit]
        else:
            above |= equal & planes[digit]
            equal &= ~planes[digit]
    return above


def distance(one: int, other: int) -> int:
    """How many bits differ."""
    return (one ^ other).bit_count()
