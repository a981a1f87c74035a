"""The two tables of what a host's pages have shown, as bytes: *layers* of a Bloom filter, and *votes*.

A layer is a bitmap; a run of words, 4 bytes, has `PROBES` bits in it, by double hashing (Kirsch and Mitzenmacher,
"Less hashing, same performance", 2006).

Votes say on how many pages a run stands that are shown again and again, and for no others. They are buckets of `WAYS`
entries, each a run, 4 bytes little-endian, and its votes, 1. A page that says a run gives it one; where its bucket is
full it takes one from the run there that has the least, and has its place when that has none left (Misra and Gries,
"Finding repeated elements", 1982, in each bucket). So what stands on most pages keeps its place.

`sitecrawl/base/native/shown.c` is the same in C.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

from sitecrawl.base.compiled import native
from sitecrawl.page.shingles import LEVELS

PROBES: Final = 6
WAYS: Final = 8
VOTE_BYTES: Final = 5
BUCKET_BYTES: Final = WAYS * VOTE_BYTES
_UNIT = struct.Struct("<II")
_RUN = struct.Struct("<I")
_ALL: Final = (1 << 32) - 1
_STEP: Final = 0x9E3779B1


class Compared(NamedTuple):
    """What of a sample was shown before: sampled words, and what the tables have yet to be told."""

    common: int
    """On most pages."""
    known: int
    """On others."""
    new: int
    unshown: bytes
    """The units to `fill` in, of which not both runs were shown; none that are common."""
    repeated: bytes
    """The runs to `vote` for."""


def compare(sample: bytes, level: int, layers: list[bytearray], votes: bytearray, half: int) -> Compared:
    """Look up the words of `sample` with at least this level. Common is what has more than `half` votes, if `half` is
    not negative.
    """
    if native is not None:
        return Compared(*native.shown_compare(sample, level, layers, votes, half))
    return compare_in_python(sample, level, layers, votes, half)


def fill(layer: bytearray, units: bytes) -> None:
    """Add both runs of each unit of a sample to `layer`."""
    (fill_in_python if native is None else native.shown_fill)(layer, units)


def vote(votes: bytearray, runs: bytes) -> None:
    """A page says `runs`. Where the table has no bucket nothing happens."""
    (vote_in_python if native is None else native.shown_vote)(votes, runs)


def compare_in_python(sample: bytes, level: int, layers: list[bytearray], votes: bytearray, half: int) -> Compared:
    """`compare` without C."""
    common = known = new = 0
    unshown, repeated = bytearray(), bytearray()
    for ended, begun in _UNIT.iter_unpack(sample[1:]):
        if begun % LEVELS < level:
            continue
        of_page = _votes_for(votes, ended)
        is_ended = of_page > 0 or _has(layers, ended)
        if is_ended:
            repeated += _RUN.pack(ended)
        if of_page > half >= 0:
            common += 1
            continue
        is_begun = _has(layers, begun)
        known += is_ended or is_begun
        new += not (is_ended or is_begun)
        if not (is_ended and is_begun):
            unshown += _UNIT.pack(ended, begun)
    return Compared(common, known, new, bytes(unshown), bytes(repeated))


def fill_in_python(layer: bytearray, units: bytes) -> None:
    """`fill` without C."""
    for (run,) in _RUN.iter_unpack(units):
        for bit in _bits(run, 8 * len(layer)):
            layer[bit // 8] |= 1 << bit % 8


def vote_in_python(votes: bytearray, runs: bytes) -> None:
    """`vote` without C."""
    for (run,) in _RUN.iter_unpack(runs) if votes else ():
        entries = list(_bucket(votes, run))
        mine = next((at for at, found, count in entries if count and found == run), None)
        if mine is not None:
            votes[mine + 4] = min(votes[mine + 4] + 1, 255)
            continue
        least, _, count = min(entries, key=lambda entry: entry[2])
        if count > 1:
            votes[least + 4] -= 1
        else:
            votes[least : least + VOTE_BYTES] = _RUN.pack(run) + b"\1"


def _bits(run: int, bits: int) -> Iterator[int]:
    step = run * _STEP & _ALL | 1
    return ((run + probe * step & _ALL) * bits >> 32 for probe in range(PROBES))


def _has(layers: list[bytearray], run: int) -> bool:
    return any(all(layer[bit // 8] >> bit % 8 & 1 for bit in _bits(run, 8 * len(layer))) for layer in layers[::-1])


def _bucket(votes: bytearray, run: int) -> Iterator[tuple[int, int, int]]:
    """The entries of a run's bucket: where they stand, the run and the votes of each."""
    start = BUCKET_BYTES * (run * (len(votes) // BUCKET_BYTES) >> 32)
    for at in range(start, start + BUCKET_BYTES, VOTE_BYTES):
        yield at, _RUN.unpack_from(votes, at)[0], votes[at + 4]


def _votes_for(votes: bytearray, run: int) -> int:
    return next((count for _, found, count in _bucket(votes, run) if found == run), 0) if votes else 0
