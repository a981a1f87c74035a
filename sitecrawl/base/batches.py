"""Rows in batches: looking up many in one call takes little longer than looking up one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

T = TypeVar("T")


def batches(rows: Iterable[T], size: int = 1_000) -> Iterator[list[T]]:
    """All of `rows`, in lists of `size`; the last one may have fewer."""
    remaining = iter(rows)
    while batch := list(islice(remaining, size)):
        yield batch
