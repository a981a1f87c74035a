"""What a host's pages have said so far, and how much of a page is new beside it.

A body that nobody had before is no measure of what a fetch was worth: a list in another order, a print view, an edit
page, a reply form, an empty day of a calendar are such bodies, and say nothing new. So the words themselves are
looked up, those of a page's sample (`sitecrawl.page.shingles`). Of each it is known whether its host has shown it in
one of its two runs of words. What stands on most pages (menus, headers, footers) counts on neither side, and takes
itself off that way: of an article of 60 words behind a menu of 3,000 all is new.

    look(sample) -> Novelty(share, new)    share = new words / (new ones + known ones that are not common + `_PRIOR`)

`_PRIOR` words that are not new stand for the doubt about a short text: the date on an empty day is not all news.

What was shown is a Bloom filter of runs (Bloom 1970) in layers: the first has room for `_FIRST` sampled words, each
further one for `_GROWTH` times as many, up to `_LARGEST`. A host of one page takes some hundred bytes, one that has
shown 350,000 words 130 kB. From there on each layer takes only words of one level more, half as many as the one
before (Flajolet, "On adaptive sampling", 1990): memory grows by 98 kB each time that the host's text doubles, nothing
is forgotten, and the figures stay right on average. A full layer takes 1 in 280 runs for its own that are not.

What is common is what more than half of the pages of late have voted for: at `_WINDOW` pages all votes are halved, so
that a new menu takes itself off, too. Only what was shown before is voted for, so a host of one page has no such
table, and no host one of more than `_MAX_ENTRIES` entries of 5 bytes.

Invariants: a text that was looked at brings no new word when it is looked at again, nor do its parts of six words and
more in another order, in texts that are not so short that more of their words are sampled; the sizes of sample and
tables bound what a look costs.

The two tables, *layers* of a Bloom filter and *votes*, are bytes. A layer is a bitmap; a run of words, 4 bytes, has
`_PROBES` bits in it, by double hashing (Kirsch and Mitzenmacher, "Less hashing, same performance", 2006).

Votes say on how many pages a run stands that are shown again and again, and for no others: buckets of `_WAYS`
entries, each a run, 4 bytes little-endian, and its votes, 1. A page that says a run gives it one; where its bucket is
full it takes one from the run there that has the least, and has its place when that has none left (Misra and Gries,
"Finding repeated elements", 1982, in each bucket). So what stands on most pages keeps its place.

`sitecrawl/base/native/shown.c` is the same in C.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterator
from typing import Final, NamedTuple

from sitecrawl.base.compiled import native
from sitecrawl.page.shingles import LEVELS, SCALE, UNIT_BYTES

_PROBES: Final = 6
_WAYS: Final = 8
_VOTE_BYTES: Final = 5
_BUCKET_BYTES: Final = _WAYS * _VOTE_BYTES
_UNIT = struct.Struct("<II")
_RUN = struct.Struct("<I")
_ALL: Final = (1 << 32) - 1
_STEP: Final = 0x9E3779B1


class _Compared(NamedTuple):
    """What of a sample was shown before: sampled words, and what the tables have yet to be told."""

    common: int
    """On most pages."""
    known: int
    """On others."""
    new: int
    unshown: bytes
    """The units to `_fill` in, of which not both runs were shown; none that are common."""
    repeated: bytes
    """The runs to `_vote` for."""


def _compare(sample: bytes, level: int, layers: list[bytearray], votes: bytearray, half: int) -> _Compared:
    """Look up the words of `sample` with at least this level. Common is what has more than `half` votes, if `half` is
    not negative.
    """
    if native is not None:
        return _Compared(*native.shown_compare(sample, level, layers, votes, half))
    return _compare_in_python(sample, level, layers, votes, half)


def _fill(layer: bytearray, units: bytes) -> None:
    """Add both runs of each unit of a sample to `layer`."""
    (_fill_in_python if native is None else native.shown_fill)(layer, units)


def _vote(votes: bytearray, runs: bytes) -> None:
    """A page says `runs`. Where the table has no bucket nothing happens."""
    (_vote_in_python if native is None else native.shown_vote)(votes, runs)


def _compare_in_python(sample: bytes, level: int, layers: list[bytearray], votes: bytearray, half: int) -> _Compared:
    """`_compare` without C."""
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
    return _Compared(common, known, new, bytes(unshown), bytes(repeated))


def _fill_in_python(layer: bytearray, units: bytes) -> None:
    """`_fill` without C."""
    for (run,) in _RUN.iter_unpack(units):
        for bit in _bits(run, 8 * len(layer)):
            layer[bit // 8] |= 1 << bit % 8


def _vote_in_python(votes: bytearray, runs: bytes) -> None:
    """`_vote` without C."""
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
            votes[least : least + _VOTE_BYTES] = _RUN.pack(run) + b"\1"


def _bits(run: int, bits: int) -> Iterator[int]:
    step = run * _STEP & _ALL | 1
    return ((run + probe * step & _ALL) * bits >> 32 for probe in range(_PROBES))


def _has(layers: list[bytearray], run: int) -> bool:
    return any(all(layer[bit // 8] >> bit % 8 & 1 for bit in _bits(run, 8 * len(layer))) for layer in layers[::-1])


def _bucket(votes: bytearray, run: int) -> Iterator[tuple[int, int, int]]:
    """Entries of a run's bucket: position, run and votes."""
    start = _BUCKET_BYTES * (run * (len(votes) // _BUCKET_BYTES) >> 32)
    for at in range(start, start + _BUCKET_BYTES, _VOTE_BYTES):
        yield at, _RUN.unpack_from(votes, at)[0], votes[at + 4]


def _votes_for(votes: bytearray, run: int) -> int:
    return next((count for _, found, count in _bucket(votes, run) if found == run), 0) if votes else 0


_PRIOR: Final = 16
"""Words; two of the sampled ones."""
_FIRST: Final = 32
_GROWTH: Final = 4
_WORD_BYTES: Final = 3
"""Of a layer for each: 12 bits a run, of which `_PROBES` are set."""
_FULL_LAYERS: Final = 6
"""Of all levels: those that come after have one more each."""
_LARGEST: Final = _FIRST * _GROWTH ** (_FULL_LAYERS - 1)
"""Sampled words that a layer has room for."""
_MAX_LAYERS: Final = _FULL_LAYERS + LEVELS - 1
_WINDOW: Final = 64
"""Pages."""
_MIN_PAGES: Final = 3
"""Pages before anything counts as common."""
_SPARE: Final = 4
"""Entries for each run that a page says again: with four, one bucket in 10,000 is too small."""
_MAX_ENTRIES: Final = 2_048
"""`_SPARE` times as many as a sample has words."""
_HALVES: Final = bytes(vote // 2 for vote in range(256))


class _Novelty(NamedTuple):
    """How much of a page's text its host had not shown."""

    share: float
    """From 0, nothing, to 1, without what is common: see the module."""
    new: int
    """Words: an estimate, 0 or more. As a word is sampled always or never, that of a site is some tenths off, at high
    levels up to a half; from page to page it is so in the same way."""


class ShownText:
    """The text that one host has shown: see the module."""

    __slots__ = ("_layers", "_pages", "_room", "_votes")

    def __init__(self) -> None:
        self._layers: list[bytearray] = []
        self._room = 0
        """Sampled words that the newest layer still takes."""
        self._votes = bytearray()
        self._pages = 0
        """Pages that have voted, halved with the votes."""

    def look(self, sample: bytes) -> _Novelty:
        """How much of a page with this sample is new; then count it as shown."""
        level = max(sample[0], self.level)
        half = self._pages // 2 if self._pages >= _MIN_PAGES else -1
        found = _compare(sample, level, self._layers, self._votes, half)
        if self._layers and len(sample) > 1:
            self._vote(found.repeated)
        self._add(found.unshown)
        scale = SCALE << level
        return _Novelty(found.new * scale / ((found.new + found.known) * scale + _PRIOR), found.new * scale)

    @property
    def level(self) -> int:
        """Sampled words with a lower one are not looked at."""
        return max(len(self._layers) - _FULL_LAYERS, 0)

    @property
    def size(self) -> int:
        """Bytes of its tables."""
        return len(self._votes) + sum(map(len, self._layers))

    def _add(self, units: bytes) -> None:
        while units:
            if not self._room:
                if len(self._layers) == _MAX_LAYERS:  # more text than any host has: the filter errs more often
                    self._room = _LARGEST
                else:
                    self._grow()
            now, units = units[: self._room * UNIT_BYTES], units[self._room * UNIT_BYTES :]
            _fill(self._layers[-1], now)
            self._room -= len(now) // UNIT_BYTES

    def _grow(self) -> None:
        self._room = _room_of(len(self._layers))
        self._layers.append(bytearray(self._room * _WORD_BYTES))

    def _vote(self, repeated: bytes) -> None:
        """Count a vote for runs that a further page repeats."""
        runs = array("I", dict.fromkeys(memoryview(repeated).cast("I")))
        while len(self._votes) // _VOTE_BYTES < min(_SPARE * len(runs), _MAX_ENTRIES):
            self._widen()
        _vote(self._votes, runs.tobytes())
        self._pages += 1
        if self._pages == _WINDOW:
            self._pages //= 2
            self._votes[_VOTE_BYTES - 1 :: _VOTE_BYTES] = self._votes[_VOTE_BYTES - 1 :: _VOTE_BYTES].translate(
                _HALVES
            )

    def _widen(self) -> None:
        """Twice as many buckets: what was in one is in two, as a bucket is found by a run's first digits."""
        before, self._votes = self._votes, bytearray(2 * len(self._votes) or 2 * _BUCKET_BYTES)
        for start in range(0, len(before), _BUCKET_BYTES):
            bucket = before[start : start + _BUCKET_BYTES]
            places = [2 * start, 2 * start + _BUCKET_BYTES]
            for at in range(0, _BUCKET_BYTES, _VOTE_BYTES):
                run = int.from_bytes(bucket[at : at + _VOTE_BYTES - 1], "little")
                is_upper = run * (len(self._votes) // _BUCKET_BYTES) >> 32 & 1
                place = places[is_upper]
                self._votes[place : place + _VOTE_BYTES] = bucket[at : at + _VOTE_BYTES]
                places[is_upper] += _VOTE_BYTES


def _room_of(layer: int) -> int:
    return int(_FIRST * _GROWTH ** min(layer, _FULL_LAYERS - 1))
