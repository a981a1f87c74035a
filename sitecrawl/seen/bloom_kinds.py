"""What the layers of a `ScalableBloom` are made of: one class for each library, chosen by name."""

from __future__ import annotations

import importlib.util
import zlib
from collections.abc import Iterable
from io import BytesIO
from struct import calcsize
from typing import Any, Final, Protocol

from pybloom_live import BloomFilter

from sitecrawl.base.errors import OptionError

_RBLOOM_HEAD_BYTES: Final = 8
"""How many hash functions there are, before the bits."""


class Kind(Protocol):
    """How one layer of fixed capacity is made, filled and written down. A layer itself answers `point in layer`."""

    name: str

    def point(self, key: bytes) -> Any:
        """The form of a 16-byte `key` that a layer takes."""

    def layer(self, capacity: int, error_rate: float) -> Any: ...

    def fill(self, layer: Any, points: Iterable[Any]) -> None: ...

    def dump(self, layer: Any) -> bytes: ...

    def size(self, layer: Any) -> int:
        """Bytes of `dump`, without making them."""

    def load(self, data: bytes) -> Any: ...


class PybloomLive:
    """Layers made of `pybloom_live.BloomFilter`, in Python."""

    name = "pybloom-live"

    def point(self, key: bytes) -> str:
        return key.hex()

    def layer(self, capacity: int, error_rate: float) -> Any:
        return BloomFilter(capacity, error_rate)

    def fill(self, layer: Any, points: Iterable[str]) -> None:
        for point in points:
            layer.add(point, skip_check=True)

    def dump(self, layer: Any) -> bytes:
        file = BytesIO()
        layer.tofile(file)
        return file.getvalue()

    def size(self, layer: Any) -> int:
        return calcsize(BloomFilter.FILE_FMT) + int(layer.bitarray.nbytes)

    def load(self, data: bytes) -> Any:
        return BloomFilter.fromfile(BytesIO(data))


class Rbloom:
    """Layers made of `rbloom.Bloom`, in Rust; the extra `fast` installs it."""

    name = "rbloom"

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


KINDS: Final[dict[str, Kind]] = {kind.name: kind for kind in (PybloomLive(), Rbloom())}


def kind_named(name: str) -> Kind:
    """The kind called `name`; `auto` is the fastest that is installed.

    Raises `OptionError` for an unknown name, or if its library is not installed.
    """
    has_rbloom = importlib.util.find_spec("rbloom") is not None
    if name == "auto":
        name = Rbloom.name if has_rbloom else PybloomLive.name
    if name not in KINDS:
        raise OptionError(f"No Bloom filter is called {name!r}: use auto, {' or '.join(KINDS)}")
    if name == Rbloom.name and not has_rbloom:
        raise OptionError("The Bloom filter rbloom is not installed: pip install 'sitecrawl[fast]'")
    return KINDS[name]


def witness(kind: Kind) -> int:
    """The checksum of a small layer with known keys: another hash function gives another one."""
    layer = kind.layer(64, 0.01)
    kind.fill(layer, [kind.point(bytes([i]) * 16) for i in range(64)])
    return zlib.crc32(kind.dump(layer))
