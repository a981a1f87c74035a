"""What can be replaced: each part's contract, kept by a contract test over all of its implementations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol


class BloomFilter(Protocol):
    """A set that may say yes wrongly, and never no wrongly."""

    name: str
    """Which filter and which hash, as stored with it on disk."""

    def add(self, key: bytes) -> None: ...

    def __contains__(self, key: bytes) -> bool: ...

    error_rate: float
    """The share of keys that were never added and are found all the same, at most."""

    def add_many(self, keys: Iterable[bytes]) -> None: ...

    def contains_many(self, keys: Sequence[bytes]) -> list[bool]: ...

    def clear(self, capacity: int) -> None:
        """Forget every key, and expect about `capacity` of them."""


class ExactSet(Protocol):
    """A set of 16-byte fingerprints that is never wrong. `add_many` is durable after `flush`."""

    def contains_many(self, keys: Sequence[bytes]) -> list[bool]: ...

    def add_many(self, keys: Sequence[bytes]) -> None: ...

    def __len__(self) -> int: ...

    def flush(self) -> None: ...

    def close(self) -> None: ...
