"""A Bloom filter that grows: most new URLs are known to be new without a look at the disk.

A Bloom filter (Bloom 1970) answers "never added" for certain and "added" with a small error. One filter has to
know its number of keys in advance; a crawl does not. So this one is a stack of layers, after Almeida, Baquero,
Preguiça and Hutchison, "Scalable Bloom Filters" (2007): keys go into the newest layer; when it is full, a layer
of twice its size is put on top. Layer i has the error rate P(1-r)r^i with r = 0.85, so the sum over any number
of layers stays below the asked rate P.

      layer 0   capacity c     error 0.15 P           a look-up asks the newest layer first:
      layer 1   capacity 2c    error 0.1275 P         it holds half of all keys
      layer 2   capacity 4c    error 0.1084 P  <- adds

What the layers are made of is a `Kind`: `pybloom-live`; `rbloom`, which is eight times as fast; or `md5:N`, a bitmap
with one bit a key, which is no Bloom filter and does not grow. A fingerprint is hash enough for the first two:
`rbloom` gets its 16 bytes as the 128-bit number that it would otherwise ask a hash function for (big-endian, so that
the keyed half of a fingerprint, which nobody outside can choose, stirs all bits); `pybloom-live` hashes its
hexadecimal form again.

Invariants: a key that was added is found; no layer holds more keys than its capacity; `len` counts adds, so add
a key once (an add of a known key only fills the layer).

On disk it is one file (docs/formats/seen.md), written whole, so a crash costs what was added since it was last
saved: whoever has the exact set then fills the filter again from it (`SeenSet.rebuild`). The file names the
filter and carries a witness: the checksum of a small filter with known keys, which changes when a release of the
library hashes differently although its name stays the same.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from sitecrawl.base.errors import CorruptFile, FormatMismatch, OptionError
from sitecrawl.frontier.seen.bloom_kinds import Kind, kind_named, witness
from sitecrawl.frontier.seen.files import Header, read_file, write_file

MAGIC: Final = b"SCBLOOM\n"
VERSION: Final = 1
_GROWTH: Final[int] = 2
_TIGHTENING: Final = 0.85


class ScalableBloom:
    """A Bloom filter that grows, with an error rate of at most `error_rate` at any size.

    `capacity` is the number of keys that its first layer has room for. Raises `OptionError`.
    """

    def __init__(self, kind: Kind, *, capacity: int, error_rate: float) -> None:
        if not 0 < error_rate < 1:
            raise OptionError(f"An error rate of {error_rate} is none: it lies between 0 and 1")
        if capacity < 1:
            raise OptionError(f"A Bloom filter for {capacity} keys holds nothing: ask for 1 or more")
        self.name = kind.name
        self.title = kind.title
        self.error_rate = _bound(kind, error_rate)
        self._kind = kind
        self._capacity = capacity
        self._layers: list[Any] = []
        self._counts: list[int] = []

    def add_many(self, keys: Iterable[bytes]) -> None:
        points = list(map(self._kind.point, keys))
        while points:
            room = self._room() or self._grow()
            self._kind.fill(self._layers[-1], points[:room])
            self._counts[-1] += len(points[:room])
            points = points[room:]

    def _room(self) -> int:
        return self._layer_capacity(len(self._layers) - 1) - self._counts[-1] if self._layers else 0

    def _grow(self) -> int:
        """Put an empty layer on top; returns its capacity."""
        number = len(self._layers)
        capacity = self._layer_capacity(number)
        rate = self.error_rate * (1 - _TIGHTENING) * _TIGHTENING**number
        self._layers.append(self._kind.layer(capacity, rate))
        self._counts.append(0)
        return capacity

    def _layer_capacity(self, number: int) -> int:
        return int(self._capacity * _GROWTH**number) if not self._kind.is_alone else sys.maxsize

    def contains_many(self, keys: Sequence[bytes]) -> list[bool]:
        points = list(map(self._kind.point, keys))
        if not self._layers:
            return [False] * len(points)
        newest = self._layers[-1]
        found = [point in newest for point in points]
        for layer in self._layers[-2::-1]:
            found = [yes or point in layer for yes, point in zip(found, points, strict=True)]
        return found

    def __len__(self) -> int:
        """Number of added keys."""
        return sum(self._counts)

    def clear(self, capacity: int) -> None:
        """Forget every key, and expect about `capacity` of them."""
        self._capacity = max(self._capacity, capacity)
        self._layers.clear()
        self._counts.clear()

    def memory(self) -> int:
        """Bytes that the layers take."""
        return sum(map(self._kind.size, self._layers))

    def save(self, path: Path, hash_name: str) -> None:
        """Replace the file `path` atomically; `hash_name` names the function that made the keys.

        Raises `StorageError`; the old file is then still there.
        """
        header = {
            "filter": self.name,
            "hash": hash_name,
            "witness": witness(self._kind),
            "error_rate": self.error_rate,
            "capacity": self._capacity,
            "counts": self._counts,
            "sizes": [self._kind.size(layer) for layer in self._layers],
        }
        # One after the other: all copies at once would take as much memory as the filter itself.
        write_file(path, MAGIC, VERSION, header, map(self._kind.dump, self._layers))


def _bound(kind: Kind, error_rate: float) -> float:
    """Upper bound of the share of wrong yeses: 1 for a table that does not grow."""
    return 1.0 if kind.is_alone else error_rate


def load_bloom(path: Path, name: str, *, error_rate: float, hash_name: str) -> ScalableBloom:
    """Load a filter that `ScalableBloom.save` wrote, checked against the wanted options.

    `name`: the kind of its layers; with `auto` any kind.

    Raises `FileNotFoundError`; `FormatMismatch` if it was written by another format, filter, hash or error rate;
    `CorruptFile` if it is damaged.
    """
    header, body = read_file(path, MAGIC, VERSION)
    kind = kind_named(name) if name != "auto" else _kind_of(header, path)
    wanted = {
        "filter": kind.name,
        "hash": hash_name,
        "witness": witness(kind),
        "error_rate": _bound(kind, error_rate),
    }
    found = {name: header.get(name) for name in wanted}
    if found != wanted:
        raise FormatMismatch(
            f"{path} was written as {found}, and {wanted} is asked for: "
            "use the settings that wrote it, or start in a new directory"
        )
    bloom = ScalableBloom(kind, capacity=header["capacity"], error_rate=error_rate)
    if sum(header["sizes"]) != len(body):
        raise CorruptFile(f"The layers of {path} do not fill the file: restore it, or start in a new directory")
    for count, size in zip(header["counts"], header["sizes"], strict=True):
        bloom._layers.append(kind.load(bytes(body[:size])))  # noqa: SLF001 - the other half of `save`
        bloom._counts.append(count)  # noqa: SLF001
        body = body[size:]
    return bloom


def _kind_of(header: Header, path: Path) -> Kind:
    try:
        return kind_named(str(header.get("filter")))
    except OptionError as error:  # nobody has asked for it by name
        raise FormatMismatch(f"{path} cannot be read here: {error}") from error
