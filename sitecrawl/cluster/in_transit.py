"""What is on its way between this worker and the shards, in the order in which it must go."""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass
from typing import Any, Final

from sitecrawl.cluster.parcel import Packer, Parcel

PARCELS_A_CALL: Final = 4
"""One call may hold Redis up for some milliseconds, and no longer."""
FORWARDS_A_CALL: Final = 32


@dataclass(frozen=True, slots=True)
class Forward:
    """What one shard's outbox holds for another."""

    source: int
    owner: str
    """The session whose outbox it is."""
    stream: str
    seq: int
    blob: bytes

    def parcel(self) -> dict[str, Any]:
        """As `apply` takes it. The stream is named after the shard, too: the same worker has one on every shard."""
        return {"stream": f"{self.source}/{self.stream}", "seq": self.seq, "blob": self.blob, "pages": []}


class InTransit:
    """Parcels for their own shards, and forwards from one shard's outbox to another shard."""

    def __init__(self, packer: Packer, session: str) -> None:
        self._packer = packer
        self._session = session
        self.parcels: defaultdict[int, deque[Parcel]] = defaultdict(deque)
        self.forwards: defaultdict[int, deque[Forward]] = defaultdict(deque)
        self.arrived: defaultdict[tuple[int, str], list[str]] = defaultdict(list)
        """Fields of outboxes that can go, by shard and session."""

    def __bool__(self) -> bool:
        return self.is_sending or any(self.arrived.values())

    @property
    def has_parcels(self) -> bool:
        return any(self.parcels.values())

    @property
    def is_sending(self) -> bool:
        return self.has_parcels or any(self.forwards.values())

    def batches(self) -> dict[int, list[Parcel]]:
        """What can go now, by shard."""
        return {shard: list(queue)[:PARCELS_A_CALL] for shard, queue in self.parcels.items() if queue}

    def taken(self, parcel: Parcel) -> None:
        """Its shard has it: what it has for others is in that shard's outbox, and goes on."""
        self.parcels[parcel.shard].remove(parcel)
        packed = self._packer.pack(parcel)
        for target, blob in packed["out"].items():
            self.forward(int(target), Forward(parcel.shard, self._session, parcel.stream, parcel.seq, blob))
        self._packer.taken(parcel)

    def forget_answers(self) -> None:
        """Redis may have less than it had: the outboxes hold what is to be forwarded, and no URL is known there."""
        self.forwards.clear()
        self.arrived.clear()
        self._packer.forget_known()
        for queue in self.parcels.values():
            for parcel in queue:
                parcel.packed = None

    def forward(self, target: int, forward: Forward) -> None:
        self.forwards[target].append(forward)

    def has_arrived(self, target: int, forward: Forward) -> None:
        if forward in self.forwards[target]:
            self.forwards[target].remove(forward)
        self.arrived[forward.source, forward.owner].append(f"{forward.stream}:{forward.seq}:{target}")

    def trimmed(self, place: tuple[int, str], fields: list[str]) -> None:
        """These have left their outbox."""
        left = [field for field in self.arrived.pop(place, []) if field not in set(fields)]
        if left:
            self.arrived[place] = left


def outbox_of(shard: int, owner: str, fields: dict[bytes, bytes]) -> list[tuple[int, Forward]]:
    """What a session's outbox on a shard holds, in the order in which it must go: target and forward."""
    found = []
    for name, blob in fields.items():
        stream, seq, target = name.decode().rsplit(":", 2)
        found.append((int(target), Forward(shard, owner, stream, int(seq), blob)))
    return sorted(found, key=lambda one: (one[1].stream, one[1].seq))
