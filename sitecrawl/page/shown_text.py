"""What a host's pages have said so far, and how much of a page is new beside it.

A body that nobody had before is no measure of what a fetch was worth: a list in another order, a print view, an edit
page, a reply form, an empty day of a calendar are such bodies, and say nothing new. So the words themselves are
looked up, those of a page's sample (`sitecrawl.page.shingles`). Of each it is known whether its host has shown it in
one of its two runs of words. What stands on most pages (menus, headers, footers) counts on neither side, and takes
itself off that way: of an article of 60 words behind a menu of 3,000 all is new.

    look(sample) -> Novelty(share, new)    share = new words / (new ones + known ones that are not common + `_PRIOR`)

`_PRIOR` words that are not new stand for the doubt about a short text: the date on an empty day is not all news.

What was shown is a Bloom filter of runs (Bloom 1970) in layers: the first has room for `_FIRST` sampled words, each
further one for `_GROWTH` times as many, up to `LARGEST`. A host of one page takes some hundred bytes, one that has
shown 350,000 words 130 kB. From there on each layer takes only words of one level more, half as many as the one
before (Flajolet, "On adaptive sampling", 1990): memory grows by 98 kB each time that the host's text doubles, nothing
is forgotten, and the figures stay right on average. A full layer takes 1 in 280 runs for its own that are not.

What is common is what more than half of the pages of late have voted for (`shown_tables`): at `WINDOW` pages all
votes are halved, so that a new menu takes itself off, too. Only what was shown before is voted for, so a host of one
page has no such table, and no host one of more than `MAX_ENTRIES` entries of 5 bytes.

Invariants: a text that was looked at brings no new word when it is looked at again, nor do its parts of six words and
more in another order, in texts that are not so short that more of their words are sampled; the sizes of sample and
tables bound what a look costs.
"""

from __future__ import annotations

from array import array
from typing import Final, NamedTuple

from sitecrawl.page.shingles import LEVELS, SCALE, UNIT_BYTES
from sitecrawl.page.shown_tables import BUCKET_BYTES, VOTE_BYTES, compare, fill, vote

_PRIOR: Final = 16
"""Words; two of the sampled ones."""
_FIRST: Final = 32
_GROWTH: Final = 4
WORD_BYTES: Final = 3
"""Of a layer for each: 12 bits a run, of which `PROBES` are set."""
FULL_LAYERS: Final = 6
"""Of all levels: those that come after have one more each."""
LARGEST: Final = _FIRST * _GROWTH ** (FULL_LAYERS - 1)
"""Sampled words that a layer has room for."""
_MAX_LAYERS: Final = FULL_LAYERS + LEVELS - 1
WINDOW: Final = 64
"""Pages."""
_MIN_PAGES: Final = 3
"""Pages before anything counts as common."""
_SPARE: Final = 4
"""Entries for each run that a page says again: with four, one bucket in 10,000 is too small."""
MAX_ENTRIES: Final = 2_048
"""`_SPARE` times as many as a sample has words."""
_HALVES: Final = bytes(vote // 2 for vote in range(256))


class Novelty(NamedTuple):
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

    def look(self, sample: bytes) -> Novelty:
        """How much of a page with this sample is new; then count it as shown."""
        level = max(sample[0], self.level)
        half = self._pages // 2 if self._pages >= _MIN_PAGES else -1
        found = compare(sample, level, self._layers, self._votes, half)
        if self._layers and len(sample) > 1:
            self._vote(found.repeated)
        self._add(found.unshown)
        scale = SCALE << level
        return Novelty(found.new * scale / ((found.new + found.known) * scale + _PRIOR), found.new * scale)

    @property
    def level(self) -> int:
        """Sampled words with a lower one are not looked at."""
        return max(len(self._layers) - FULL_LAYERS, 0)

    @property
    def size(self) -> int:
        """Bytes of its tables."""
        return len(self._votes) + sum(map(len, self._layers))

    def _add(self, units: bytes) -> None:
        while units:
            if not self._room:
                if len(self._layers) == _MAX_LAYERS:  # more text than any host has: the filter errs more often
                    self._room = LARGEST
                else:
                    self._grow()
            now, units = units[: self._room * UNIT_BYTES], units[self._room * UNIT_BYTES :]
            fill(self._layers[-1], now)
            self._room -= len(now) // UNIT_BYTES

    def _grow(self) -> None:
        self._room = _room_of(len(self._layers))
        self._layers.append(bytearray(self._room * WORD_BYTES))

    def _vote(self, repeated: bytes) -> None:
        """Count a vote for runs that a further page repeats."""
        runs = array("I", dict.fromkeys(memoryview(repeated).cast("I")))
        while len(self._votes) // VOTE_BYTES < min(_SPARE * len(runs), MAX_ENTRIES):
            self._widen()
        vote(self._votes, runs.tobytes())
        self._pages += 1
        if self._pages == WINDOW:
            self._pages //= 2
            self._votes[VOTE_BYTES - 1 :: VOTE_BYTES] = self._votes[VOTE_BYTES - 1 :: VOTE_BYTES].translate(_HALVES)

    def _widen(self) -> None:
        """Twice as many buckets: what was in one is in two, as a bucket is found by a run's first digits."""
        before, self._votes = self._votes, bytearray(2 * len(self._votes) or 2 * BUCKET_BYTES)
        for start in range(0, len(before), BUCKET_BYTES):
            bucket = before[start : start + BUCKET_BYTES]
            places = [2 * start, 2 * start + BUCKET_BYTES]
            for at in range(0, BUCKET_BYTES, VOTE_BYTES):
                run = int.from_bytes(bucket[at : at + VOTE_BYTES - 1], "little")
                is_upper = run * (len(self._votes) // BUCKET_BYTES) >> 32 & 1
                place = places[is_upper]
                self._votes[place : place + VOTE_BYTES] = bucket[at : at + VOTE_BYTES]
                places[is_upper] += VOTE_BYTES


def _room_of(layer: int) -> int:
    return int(_FIRST * _GROWTH ** min(layer, FULL_LAYERS - 1))
