"""What this worker has done and Redis does not know yet, in the worker's own database.

A parcel is written in the same batch as the page store's position. So after a crash either both are there, and the
parcel is sent (again: its number tells Redis whether it was), or neither, and the page is fetched again.

Layout, in the family `meta`: `cluster/session` the worker's name, 8 bytes; `cluster/parcel/` and 8 bytes that count
up -> MessagePack [shard, stream, seq, outcomes].
"""

from __future__ import annotations

import secrets

import msgpack

from sitecrawl.base.errors import CorruptFile
from sitecrawl.cluster.parcel import Outcome, Parcel
from sitecrawl.crawldir.database import Batch, Database
from sitecrawl.crawldir.meta import PARCEL, WORKER


class Journal:
    """Parcels by their number. Raises `CorruptFile` for one that cannot be read."""

    def __init__(self, database: Database) -> None:
        self._numbers: dict[int, int] = {}
        """Where each parcel is, by its identity."""
        self._done: list[int] = []
        self._new: list[Parcel] = []
        self._next = 1
        self._database = database
        self._is_new = (stored := database.get("meta", WORKER)) is None
        self.session = (stored or secrets.token_bytes(8)).hex()

    def load(self) -> list[Parcel]:
        """What a crash has left, in order. To be called once, first."""
        parcels = []
        for key, data in self._database.scan("meta", PARCEL, PARCEL + b"\xff" * 9):
            number = int.from_bytes(key[len(PARCEL) :], "big")
            parcel = _read(data)
            self._numbers[id(parcel)] = number
            self._next = number + 1
            parcels.append(parcel)
        return parcels

    def add(self, parcel: Parcel) -> None:
        """Keep a parcel from the next batch on."""
        self._new.append(parcel)

    def taken(self, parcel: Parcel) -> None:
        """Redis has it: forget it with the next batch."""
        number = self._numbers.pop(id(parcel), None)
        if number is not None:
            self._done.append(number)
            self._new = [one for one in self._new if one is not parcel]

    def changed(self, parcel: Parcel) -> None:
        """Write it once more with the next batch."""
        if id(parcel) in self._numbers and parcel not in self._new:
            self._new.append(parcel)

    def __len__(self) -> int:
        return len(self._numbers)

    def flush(self, batch: Batch) -> None:
        if self._is_new:
            batch.put("meta", WORKER, bytes.fromhex(self.session))
            self._is_new = False
        for parcel in self._new:
            number = self._numbers.get(id(parcel))
            if number is None:
                number = self._numbers[id(parcel)] = self._next
                self._next += 1
            batch.put("meta", _key(number), _write(parcel))
        for number in self._done:
            batch.delete("meta", _key(number))
        self._new.clear()
        self._done.clear()


def _key(number: int) -> bytes:
    return PARCEL + number.to_bytes(8, "big")


def _write(parcel: Parcel) -> bytes:
    outcomes = [outcome.fields() for outcome in parcel.outcomes]
    packed: bytes = msgpack.packb([parcel.shard, parcel.stream, parcel.seq, outcomes])
    return packed


def _read(data: bytes) -> Parcel:
    try:
        shard, stream, seq, outcomes = msgpack.unpackb(data)
        return Parcel(shard, stream, seq, [Outcome.of(fields) for fields in outcomes])
    except (ValueError, TypeError, msgpack.UnpackException) as error:
        raise CorruptFile(f"A parcel of {len(data)} bytes in the worker's journal cannot be read: {error}") from error
