"""Kinds of layers of a `ScalableBloom`, by name: a class for each library, and our own bitmap."""

from __future__ import annotations

import importlib.util
import zlib
from binascii import hexlify
from collections.abc import Iterable
from hashlib import md5
from inspect import getclosurevars, isfunction
from io import BytesIO
from struct import calcsize
from typing import Any, Final, Protocol

from pybloom_live import BloomFilter

from sitecrawl.base.compiled import native
from sitecrawl.base.errors import OptionError, how_to_install, meant
from sitecrawl.base.expressions import expression

_RBLOOM_HEAD_BYTES: Final = 8
"""Number of hash functions, stored before the bits."""
_BITS_BYTES: Final = 8
"""Number of bits of a bitmap, stored before them."""


class Kind(Protocol):
    """Make, fill and serialise layers of fixed capacity. A layer itself answers `point in layer`."""

    name: str
    title: str
    """Name of such a filter in the log."""
    is_alone: bool
    """Whether it is one table that never grows, without an exact set: false positives are lost pages."""

    def point(self, key: bytes) -> Any:
        """The form of a 16-byte `key` that a layer takes."""

    def layer(self, capacity: int, error_rate: float) -> Any: ...

    def fill(self, layer: Any, points: Iterable[Any]) -> None: ...

    def dump(self, layer: Any) -> bytes: ...

    def size(self, layer: Any) -> int:
        """Bytes of `dump`, without making them."""

    def load(self, data: bytes) -> Any: ...


class PybloomLayer:
    """A `pybloom_live.BloomFilter` whose bits C sets and looks at, where it is there: the library asks its generator
    for each bit. The hash is the library's own, and so are the bits.
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


class PybloomLive:
    """Layers made of `pybloom_live.BloomFilter`."""

    name = "pybloom-live"
    title = "Bloom filter pybloom-live"
    is_alone = False

    def point(self, key: bytes) -> bytes:
        return hexlify(key)

    def layer(self, capacity: int, error_rate: float) -> PybloomLayer:
        return PybloomLayer(BloomFilter(capacity, error_rate))

    def fill(self, layer: PybloomLayer, points: Iterable[bytes]) -> None:
        for point in points:
            layer.add(point)

    def dump(self, layer: PybloomLayer) -> bytes:
        file = BytesIO()
        layer.filter.tofile(file)
        return file.getvalue()

    def size(self, layer: PybloomLayer) -> int:
        return calcsize(BloomFilter.FILE_FMT) + int(layer.filter.bitarray.nbytes)

    def load(self, data: bytes) -> PybloomLayer:
        return PybloomLayer(BloomFilter.fromfile(BytesIO(data)))


class Rbloom:
    """Layers made of `rbloom.Bloom`, in Rust; the extra `fast` installs it."""

    name = "rbloom"
    title = "Bloom filter rbloom"
    is_alone = False

    def point(self, key: bytes) -> int:
        return int.from_bytes(key, "big", signed=True)

    def layer(self, capacity: int, error_rate: float) -> Any:
        from rbloom import Bloom  # noqa: PLC0415 - it is not installed everywhere

        return Bloom(capacity, error_rate, int)

    def fill(self, layer: Any, points: Iterable[int]) -> None:
        layer.update(points)

    def dump(self, layer: Any) -> bytes:
        data: bytes = layer.save_bytes()
        return data

    def size(self, layer: Any) -> int:
        bits: int = layer.size_in_bits
        return _RBLOOM_HEAD_BYTES + bits // 8

    def load(self, data: bytes) -> Any:
        from rbloom import Bloom  # noqa: PLC0415

        return Bloom.load_bytes(data, int)


class Bitmap:
    """Bitmap of `bits` bits: a key sets one, and is found if that bit is set."""

    __slots__ = ("_bytes", "bits")

    def __init__(self, bits: int, data: bytes | None = None) -> None:
        self.bits = bits
        self._bytes = bytearray(-(-bits // 8)) if data is None else bytearray(data)

    def add(self, point: int) -> None:
        place, bit = divmod(point % self.bits, 8)
        self._bytes[place] |= 1 << bit

    def __contains__(self, point: int) -> bool:
        place, bit = divmod(point % self.bits, 8)
        return bool(self._bytes[place] >> bit & 1)

    def __bytes__(self) -> bytes:
        return bytes(self._bytes)


class Md5:
    """MD5 modulo n: used by archive crawlers instead of a set, because it takes two lines of code.

    n keys in m bits have a false positive rate of about n/m: errors fall in proportion to its size, those of a Bloom
    filter exponentially. Before an exact set a Bloom filter of a fortieth of the size does as well, so this kind is
    for those who want no exact set.
    """

    is_alone = True

    def __init__(self, bits: int) -> None:
        self._bits = bits
        self.name = f"md5:{bits}"
        self.title = f"MD5 modulo {bits:,}"

    def point(self, key: bytes) -> int:
        return int.from_bytes(md5(key, usedforsecurity=False).digest(), "big")

    def layer(self, capacity: int, error_rate: float) -> Bitmap:
        return Bitmap(self._bits)

    def fill(self, layer: Bitmap, points: Iterable[int]) -> None:
        for point in points:
            layer.add(point)

    def dump(self, layer: Bitmap) -> bytes:
        return layer.bits.to_bytes(_BITS_BYTES, "big") + bytes(layer)

    def size(self, layer: Bitmap) -> int:
        return _BITS_BYTES + -(-layer.bits // 8)

    def load(self, data: bytes) -> Bitmap:
        return Bitmap(int.from_bytes(data[:_BITS_BYTES], "big"), data[_BITS_BYTES:])


_TABLE: Final = expression(r"md5:([1-9]\d{0,12})")
KINDS: Final[dict[str, Kind]] = {kind.name: kind for kind in (PybloomLive(), Rbloom())}


def kind_named(name: str) -> Kind:
    """The kind called `name`; `auto` is the fastest that is installed.

    Raises `OptionError` for an unknown name, or if its library is not installed.
    """
    has_rbloom = importlib.util.find_spec("rbloom") is not None
    if name == "auto":
        name = Rbloom.name if has_rbloom else PybloomLive.name
    if match := _TABLE.fullmatch(name):
        return Md5(int(match[1]))
    if name not in KINDS:
        raise OptionError(
            f"No filter is called {name!r}: use auto, {', '.join(KINDS)} or md5:N for a table of N bits"
            f"{meant(name, KINDS)}"
        )
    if name == Rbloom.name and not has_rbloom:
        raise OptionError(f"The Bloom filter rbloom is not installed: {how_to_install('fast')}")
    return KINDS[name]


def witness(kind: Kind) -> int:
    """The checksum of a small layer with known keys: another hash function gives another one."""
    layer = kind.layer(64, 0.01)
    kind.fill(layer, [kind.point(bytes([i]) * 16) for i in range(64)])
    return zlib.crc32(kind.dump(layer))
