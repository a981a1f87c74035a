"""A Bloom filter that grows: most new URLs are known to be new without a look at the disk.

A Bloom filter (Bloom 1970) answers "never added" for certain and "added" with a small error. One filter has to
know its number of keys in advance; a crawl does not. So this one is a stack of layers, after Almeida, Baquero,
Preguiça and Hutchison, "Scalable Bloom Filters" (2007): keys go into the newest layer; when it is full, a layer
of twice its size is put on top. Layer i has the error rate P(1-r)r^i with r = 0.85, so the sum over any number
of layers stays below the asked rate P.

      layer 0   capacity c     error 0.15 P           a look-up asks the newest layer first:
      layer 1   capacity 2c    error 0.1275 P         it holds half of all keys
      layer 2   capacity 4c    error 0.1084 P  <- adds

A layer is a filter of the library pybloom-live, which gets a fingerprint in its hexadecimal form.

Invariants: a key that was added is found; no layer holds more keys than its capacity; `len` counts adds, so add
a key once (an add of a known key only fills the layer).

On disk it is one file (docs/formats/seen.md), written whole, so a crash costs what was added since it was last
saved: whoever has the exact set then fills the filter again from it (`SeenSet.rebuild`). The file names the
filter and carries a witness: the checksum of a small filter with known keys, which changes when a release of the
library hashes differently although its name stays the same.
"""

from __future__ import annotations

import zlib
from binascii import hexlify
from collections.abc import Iterable, Sequence
from inspect import getclosurevars, isfunction
from io import BytesIO
from pathlib import Path
from struct import calcsize
from typing import Final

from pybloom_live import BloomFilter

from sitecrawl.base.compiled import native
from sitecrawl.base.errors import CorruptFile, FormatMismatch, OptionError
from sitecrawl.frontier.seen.files import read_file, write_file

MAGIC: Final = b"SCBLOOM\n"
VERSION: Final = 1
_NAME: Final = "pybloom-live"
_GROWTH: Final[int] = 2
_TIGHTENING: Final = 0.85


class Layer:
    """A `pybloom_live.BloomFilter` whose bits C sets and looks at, where it is there: the library asks its generator
    for each bit. The hash is the library's own, and so are the bits. Keys come in hexadecimal.
    """

    __slots__ = ("_native", "_salts", "_size", "filter")

    def __init__(self, made: BloomFilter) -> None:
        self.filter = made
        hashes = getclosurevars(made.make_hashes).nonlocals if isfunction(made.make_hashes) else {}
        self._native = native if {"salts", "fmt"} <= hashes.keys() else None
        """Nothing where the library has come to hash in another way, which is its own matter."""
        self._salts = hashes.get("salts", ())
        """Hash functions that have been begun, one for each part of the numbers."""
        self._size = calcsize(hashes.get("fmt", "Q")[:1])
        """Bytes of a number."""

    def _digest(self, point: bytes) -> bytes:
        """The numbers of `point`."""
        parts = []
        for salt in self._salts:
            hashed = salt.copy()
            hashed.update(point)
            parts.append(hashed.digest())
        return b"".join(parts)

    def add(self, point: bytes) -> None:
        one, fast = self.filter, self._native
        if fast is None:
            one.add(point.decode("ascii"), skip_check=True)
            return
        fast.bloom_add(one.bitarray, self._digest(point), self._size, one.num_slices, one.bits_per_slice)
        one.count += 1

    def __contains__(self, point: bytes) -> bool:
        one, fast = self.filter, self._native
        if fast is None:
            return point.decode("ascii") in one
        return fast.bloom_has(one.bitarray, self._digest(point), self._size, one.num_slices, one.bits_per_slice)

    def dump(self) -> bytes:
        """As the library writes it to a file."""
        file = BytesIO()
        self.filter.tofile(file)
        return file.getvalue()

    def size(self) -> int:
        """Bytes of `dump`, without making them."""
        return calcsize(BloomFilter.FILE_FMT) + int(self.filter.bitarray.nbytes)


class ScalableBloom:
    """A Bloom filter that grows, with an error rate of at most `error_rate` at any size.

    `capacity` is the number of keys that its first layer has room for. Raises `OptionError`.
    """

    def __init__(self, *, capacity: int, error_rate: float) -> None:
        if not 0 < error_rate < 1:
            raise OptionError(f"An error rate of {error_rate} is none: it lies between 0 and 1")
        if capacity < 1:
            raise OptionError(f"A Bloom filter for {capacity} keys holds nothing: ask for 1 or more")
        self.error_rate = error_rate
        """Upper bound of the share of wrong yeses."""
        self._capacity = capacity
        self._layers: list[Layer] = []
        self._counts: list[int] = []

    def add_many(self, keys: Iterable[bytes]) -> None:
        points = list(map(hexlify, keys))
        while points:
            room = self._room() or self._grow()
            layer = self._layers[-1]
            for point in points[:room]:
                layer.add(point)
            self._counts[-1] += len(points[:room])
            points = points[room:]

    def _room(self) -> int:
        return self._layer_capacity(len(self._layers) - 1) - self._counts[-1] if self._layers else 0

    def _grow(self) -> int:
        """Put an empty layer on top; returns its capacity."""
        number = len(self._layers)
        capacity = self._layer_capacity(number)
        rate = self.error_rate * (1 - _TIGHTENING) * _TIGHTENING**number
        self._layers.append(Layer(BloomFilter(capacity, rate)))
        self._counts.append(0)
        return capacity

    def _layer_capacity(self, number: int) -> int:
        return int(self._capacity * _GROWTH**number)

    def contains_many(self, keys: Sequence[bytes]) -> list[bool]:
        points = list(map(hexlify, keys))
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

    def save(self, path: Path, hash_name: str) -> None:
        """Replace the file `path` atomically; `hash_name` names the function that made the keys.

        Raises `StorageError`; the old file is then still there.
        """
        header = {
            "filter": _NAME,
            "hash": hash_name,
            "witness": _witness(),
            "error_rate": self.error_rate,
            "capacity": self._capacity,
            "counts": self._counts,
            "sizes": [layer.size() for layer in self._layers],
        }
        # One after the other: all copies at once would take as much memory as the filter itself.
        write_file(path, MAGIC, VERSION, header, map(Layer.dump, self._layers))


def load_bloom(path: Path, *, error_rate: float, hash_name: str) -> ScalableBloom:
    """Load a filter that `ScalableBloom.save` wrote, checked against the wanted options.

    Raises `FileNotFoundError`; `FormatMismatch` if it was written by another format, filter, hash or error rate;
    `CorruptFile` if it is damaged.
    """
    header, body = read_file(path, MAGIC, VERSION)
    wanted = {"filter": _NAME, "hash": hash_name, "witness": _witness(), "error_rate": error_rate}
    found = {name: header.get(name) for name in wanted}
    if found != wanted:
        raise FormatMismatch(
            f"{path} was written as {found}, and {wanted} is asked for: remove it, and it is made again"
        )
    bloom = ScalableBloom(capacity=header["capacity"], error_rate=error_rate)
    if sum(header["sizes"]) != len(body):
        raise CorruptFile(f"The layers of {path} do not fill the file: restore it, or start in a new directory")
    for count, size in zip(header["counts"], header["sizes"], strict=True):
        bloom._layers.append(Layer(BloomFilter.fromfile(BytesIO(body[:size]))))  # noqa: SLF001 - the other half of `save`
        bloom._counts.append(count)  # noqa: SLF001
        body = body[size:]
    return bloom


def _witness() -> int:
    """The checksum of a small layer with known keys: another hash function gives another one."""
    layer = Layer(BloomFilter(64, 0.01))
    for number in range(64):
        layer.add(hexlify(bytes([number]) * 16))
    return zlib.crc32(layer.dump())
