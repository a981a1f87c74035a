"""What a crawl has brought so far, why hosts have given no page, and which hosts said no.

On disk these are two MessagePack maps. Outcomes: `pages`, `others`, `causes`, a list of `[why, hosts, example]`, and
`certificates`, a map of hosts to what is wrong with theirs. Refusals: hosts to maps of kinds to `[times, by]`, where
`by` names whose challenge it is, or is empty. What cannot be read is nothing: only what is said depends on it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Self

import msgpack

from sitecrawl.base.figures import unpacked


class CauseCount(NamedTuple):
    """Why so many hosts have given no page."""

    why: str
    """Cause in words."""
    hosts: int
    example: str
    """One of the hosts, with what there is to say of it."""


@dataclass(frozen=True, slots=True)
class Outcomes:
    """What came, and why hosts gave no page."""

    pages: int = 0
    """Fetches that brought one, over all runs."""
    others: int = 0
    """Fetches that were answered otherwise: errors, redirects, sitemaps."""
    causes: Sequence[CauseCount] = ()
    """Causes of the hosts at which the last run began, the most frequent first."""
    certificates: Mapping[str, str] = field(default_factory=dict)
    """Faults of certificates by host, over all runs."""

    def distrusted(self) -> list[CauseCount]:
        """Faults of certificates, counted."""
        examples = {fault: host for host, fault in reversed([*self.certificates.items()])}
        counted = Counter(self.certificates.values()).most_common()
        return [CauseCount(fault, hosts, examples[fault]) for fault, hosts in counted]

    def pack(self) -> bytes:
        counts = {"pages": self.pages, "others": self.others}
        packed: bytes = msgpack.packb({**counts, "causes": list(self.causes), "certificates": self.certificates})
        return packed

    @classmethod
    def unpack(cls, data: bytes | None) -> Self:
        """Inverse of `pack`; empty for None or invalid data."""
        found = unpacked(data)
        try:
            causes = [CauseCount(str(why), int(hosts), str(example)) for why, hosts, example in found["causes"]]
            certificates = {str(host): str(fault) for host, fault in found["certificates"].items()}
            return cls(int(found["pages"]), int(found["others"]), causes, certificates)
        except (AttributeError, KeyError, TypeError, ValueError):
            return cls()


MAX_HOSTS: Final = 10_000
"""Most hosts counted, the first to refuse."""


class HostRefusals(NamedTuple):
    """One way in which a host said no."""

    host: str
    kind: str
    times: int
    by: str
    """Sender of the last challenge; empty if unknown."""


class RefusalTotals:
    """Which hosts said no, in which way and how often, over all runs."""

    def __init__(self, hosts: Mapping[str, Mapping[str, tuple[int, str]]] | None = None) -> None:
        self._hosts = {host: dict(kinds) for host, kinds in (hosts or {}).items()}

    def add(self, host: str, kind: str, by: str = "") -> int:
        """Count a refusal; return how often `host` refused in that way, 0 if not remembered."""
        kinds = self._hosts.get(host)
        if kinds is None:
            if len(self._hosts) >= MAX_HOSTS:
                return 0
            kinds = self._hosts[host] = {}
        times, before = kinds.get(kind, (0, ""))
        kinds[kind] = times + 1, by or before
        return times + 1

    def rows(self, kind: str | None = None) -> list[HostRefusals]:
        """Refusals of `kind`, or all, the most frequent first."""
        found = [
            HostRefusals(host, name, times, by)
            for host, kinds in self._hosts.items()
            for name, (times, by) in kinds.items()
            if kind in {None, name}
        ]
        return sorted(found, key=lambda row: (-row.times, row.host, row.kind))

    def of(self, host: str) -> list[HostRefusals]:
        """Refusals of one host, the most frequent first."""
        rows = [HostRefusals(host, kind, *known) for kind, known in self._hosts.get(host, {}).items()]
        return sorted(rows, key=lambda row: -row.times)

    def __len__(self) -> int:
        return len(self._hosts)

    def pack(self) -> bytes:
        packed: bytes = msgpack.packb(self._hosts)
        return packed

    @classmethod
    def unpack(cls, data: bytes | None) -> Self:
        """Inverse of `pack`; empty for None or invalid data."""
        found = unpacked(data)
        try:
            return cls(
                {
                    str(host): {str(kind): (int(times), str(by)) for kind, (times, by) in kinds.items()}
                    for host, kinds in found.items()
                }
            )
        except (AttributeError, TypeError, ValueError):
            return cls()
