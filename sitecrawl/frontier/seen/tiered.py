"""The URL-seen test: tiers, each asked only what the one before it could not answer.

Mercator's question (Heydon and Najork, "Mercator: A scalable, extensible Web crawler", 1999) is asked tens of
times a page, so the cheap answers come first:

    keys ──> cache ──────> filter ──> exact set: recent ──────> disk
             hit: seen     no: new    hit: seen                 yes: seen, no: new (the filter was wrong)
             memory        memory     waits to be written       one batched look-up

A wrong yes of the filter costs a look-up, never a page: the exact set has the last word.

Invariants: `add_many` returns True exactly once for a key; a key in the cache is in the set; a key in the exact set
is in the filter.

The exact set need not belong to this one: the frontier's own table of URLs can stand there, with an `add_many`
that does nothing because it writes its records itself.

A crash costs the cache and the filter, both of which the exact set restores: at once (`rebuild`), or while it
answers alone (`rebuild_gradually`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import compress, islice
from typing import Protocol

from sitecrawl.frontier.seen.bloom import ScalableBloom
from sitecrawl.frontier.seen.clock import Clock
from sitecrawl.frontier.seen.figures import Lookups, SeenFigures

_REBUILD_BATCH = 2000
"""Keys that are read and put into the filter in one go: 2 ms."""


class ExactSet(Protocol):
    """A set of 16-byte fingerprints that is never wrong."""

    lookups: Lookups
    """Places where `contains_many` found its answers."""

    def contains_many(self, keys: Sequence[bytes]) -> list[bool]: ...

    def add_many(self, keys: Sequence[bytes]) -> None: ...


@dataclass(slots=True)
class SeenStats:
    """Numbers of keys that the tiers before the exact set answered since the set was opened."""

    new: int = 0
    """Keys that `add_many` had not seen before."""
    cache_hits: int = 0
    bloom_negatives: int = 0
    """New keys that the filter knew to be new: no disk was asked."""
    bloom_false_positives: int = 0
    """Keys that the filter took for seen and the exact set knew to be new."""


class SeenSet:
    """Which fingerprints were seen before, in tiers."""

    def __init__(self, cache: Clock, bloom: ScalableBloom, exact: ExactSet) -> None:
        self.cache = cache
        self.bloom = bloom
        self.exact = exact
        self.stats = SeenStats()
        self._missing: Iterator[bytes] | None = None
        """Keys that the filter lacks while it is filled again."""

    def add_many(self, keys: Sequence[bytes]) -> list[bool]:
        """Add `keys`; True where the key is new. Of equal keys in one batch the first is new.

        Raises `StorageError` if the exact set cannot be asked or written; then no key was added.
        """
        cold = self._cold(keys)
        new = [False] * len(keys)
        for key in self._add_cold(list(cold)):
            new[cold[key]] = True
        return new

    def add_new(self, keys: Sequence[bytes]) -> list[bytes]:
        """Add `keys`; return the new ones, each once, in order."""
        return self._add_cold(list(self._cold(keys)))

    def _cold(self, keys: Sequence[bytes]) -> dict[bytes, int]:
        """Add `keys` to the cache; return those that it did not know, with their first places."""
        cold = self.cache.touch_many(keys)
        self.stats.cache_hits += len(keys) - len(cold)
        return cold

    def _add_cold(self, keys: list[bytes]) -> list[bytes]:
        """Add the distinct `keys`, which the cache did not know before; returns those that are new."""
        try:
            if self._missing is not None:
                self._fill(self._missing)
            known = self._known(keys)
            new = [key for key, yes in zip(keys, known, strict=True) if not yes]
            self.exact.add_many(new)
        except BaseException:
            self.cache.clear()  # it holds keys by now that are in no set
            raise
        self.bloom.add_many(new)
        self.stats.new += len(new)
        return new

    def contains_many(self, keys: Sequence[bytes]) -> list[bool]:
        """True where the key was added before. Raises `StorageError` if the exact set cannot be asked."""
        cached = [key in self.cache for key in keys]
        cold = [key for key, yes in zip(keys, cached, strict=True) if not yes]
        self.stats.cache_hits += len(keys) - len(cold)
        known = iter(self._known(cold))
        return [yes or next(known) for yes in cached]

    def _known(self, keys: Sequence[bytes]) -> list[bool]:
        """Ask the tiers behind the cache."""
        if self.is_filling:
            return self.exact.contains_many(keys)
        maybe = self.bloom.contains_many(keys)
        suspects = list(compress(keys, maybe))
        self.stats.bloom_negatives += len(keys) - len(suspects)
        if not suspects:
            return maybe
        known = self.exact.contains_many(suspects)
        self.stats.bloom_false_positives += known.count(False)
        answers = iter(known)
        return [yes and next(answers) for yes in maybe]

    def rebuild(self, keys: Iterable[bytes], expected: int) -> None:
        """Fill the filter anew with `keys`, all those of the exact set, about `expected` in number."""
        self.rebuild_gradually(keys, expected)
        while self._missing is not None:
            self._fill(self._missing)

    def rebuild_gradually(self, keys: Iterable[bytes], expected: int) -> None:
        """The same, a part at every `add_many`; `keys` stay those of now while the set grows.

        The exact set answers alone until all is done.
        """
        self.bloom.clear(expected)
        self.fill(keys)

    def fill(self, keys: Iterable[bytes]) -> None:
        """Put `keys`, which the exact set has, into the filter, too: a part at every `add_many`."""
        self._missing = iter(keys)

    @property
    def is_filling(self) -> bool:
        """Whether the filter still lacks keys of the exact set."""
        return self._missing is not None

    def stop_filling(self) -> Iterable[bytes]:
        """Let go of the keys that the filter still lacks, and return them: nothing is to be added any more."""
        missing, self._missing = self._missing or (), None
        return missing

    def _fill(self, missing: Iterator[bytes]) -> None:
        batch = list(islice(missing, _REBUILD_BATCH))
        self.bloom.add_many(batch)
        if not batch:
            self._missing = None

    def figures(self) -> SeenFigures:
        """Counts of each tier since the set was opened."""
        stats, found = self.stats, self.exact.lookups
        return SeenFigures(
            cache_hits=stats.cache_hits,
            bloom_negatives=stats.bloom_negatives,
            recent_hits=found.recent,
            buffer_hits=found.buffer,
            disk_lookups=found.disk,
            new=stats.new,
            bloom_false_positives=stats.bloom_false_positives,
        )

    def describe(self) -> str:
        """The tiers in one line, for the log."""
        return (
            f"CLOCK cache of {self.cache.capacity:,} URLs, Bloom filter pybloom-live at {self.bloom.error_rate:.2g}, "
            "exact set"
        )
