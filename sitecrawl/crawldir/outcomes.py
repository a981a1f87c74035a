"""What a crawl has brought so far, and why hosts have given no page: counted by cause, with an example of each.

On disk it is one value: a MessagePack map of `pages`, `others`, `causes`, a list of `[why, hosts, example]`, and
`certificates`, a map of hosts to what is wrong with theirs. What cannot be read is nothing: only what is said depends
on it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Self

import msgpack

from sitecrawl.base.packed import unpacked


class CauseCount(NamedTuple):
    """Why so many hosts have given no page."""

    why: str
    """Cause in words."""
    hosts: int
    example: str
    """One of the hosts, with what there is to say of it."""


@dataclass(frozen=True, slots=True)
class Outcomes:
    """See the module."""

    pages: int = 0
    """Fetches that brought one, over all runs."""
    others: int = 0
    """Fetches that were answered otherwise: errors, redirects, sitemaps."""
    causes: Sequence[CauseCount] = ()
    """Causes of the hosts at which the last run began, the most frequent first."""
    certificates: Mapping[str, str] = field(default_factory=dict)
    """Faults of certificates by host, over all runs."""

    def distrusted(self) -> list[CauseCount]:
        """The same, counted."""
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
