"""SimHash: 64 bits of a text, of which few change when little of the text does.

Charikar, "Similarity estimation techniques from rounding algorithms" (STOC 2002); Manku, Jain and Das Sarma,
"Detecting near-duplicates for web crawling" (WWW 2007), who found that pages of the web with at most 3 of 64 bits
apart are near duplicates. Features are pairs of neighbouring words, each counted once a text.

Bit i of the result is set if it is set in most features' hashes. That is 64 counts over n hashes; Python does them
fast if the hashes are one long integer: masked to the i-th bit of each, its `bit_count` is the i-th count.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from cityhash import CityHash64

MAX_FEATURES: Final = 2048
"""Pairs of words that are looked at, from the start of the text: what is longer is told apart by its beginning."""

BITS: Final = 64
_EVERY_64TH: Final = sum(1 << (BITS * i) for i in range(MAX_FEATURES))


def simhash(text: str) -> int:
    """The SimHash of `text`, from 0 to 2^64 - 1; 0 for a text without words."""
    words = text.lower().split(maxsplit=MAX_FEATURES)[:MAX_FEATURES]
    features = {CityHash64(f"{first} {second}") for first, second in pairwise(words)} or {
        CityHash64(word) for word in words
    }
    every = int.from_bytes(b"".join(feature.to_bytes(8, "little") for feature in features), "little")
    half = len(features) / 2
    result = 0
    for bit in range(BITS):
        if ((every >> bit) & _EVERY_64TH).bit_count() > half:
            result |= 1 << bit
    return result


def distance(one: int, other: int) -> int:
    """How many bits differ."""
    return (one ^ other).bit_count()
