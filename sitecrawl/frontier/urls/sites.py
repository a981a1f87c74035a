"""Which names of a site are hosts of their own: names are URLs of their domain until they have earned a record.

A host costs memory, a place in turns, and fetches until anything can be said of it. Whoever owns a domain makes as
many as he likes for nothing, with one wildcard record in its DNS, and none of them ever grows. So of each site
(registrable domain) at most `UNPROVEN` hosts that have not proven themselves have records. A host is proven when it
has given `PROOF` pages worth having; a seed's host, and the registrable domain itself, need no proof. URLs of any
further name go into the site's *pool*: one more host, `*.example.com`, whose queue, sections, politeness, trust
and growth are those of any other. What judges hosts so judges a domain's names as one: they grow without end, and are
held back.

- When a host is proven, or a seed leads to it, the next unknown name may have its place. A URL in the pool asks once
  more when its turn comes, and moves if its name has a record by then, so that no server is asked through two hosts.
- A pool is as polite as one host: one request at a time for all its names, with the greatest of their delays.
- A name that fails says nothing of the others: see `Host.fail`.
- A pool learns no rules about URLs (`frontier.forms.forms`): what two servers do alike is no rule of one.

A site without a registrable domain (an IP address, a single label, a public suffix) has no pool.

Layout of the `sites` family: the key of the site's pool 8 → the keys, 8 each, of its hosts that are not proven. A row
stays when it is empty: it says that its key is a pool's. A crash loses what came after the last checkpoint, with the
hosts that it was about.
"""

from __future__ import annotations

from typing import Final

from sitecrawl.crawldir.database import Batch, Database
from sitecrawl.crawldir.overlay import Overlay
from sitecrawl.urls.url import site_of

KEY_BYTES: Final = 8
UNPROVEN: Final = 64
"""Hosts of a site that have a record before they are proven."""
PROOF: Final = 10
"""Pages worth having that prove a host."""
_MARK: Final = "*."


def pool_of(name: str) -> str | None:
    """The pool that URLs of the host `name` may have to go to; None if it has a record whatever comes."""
    site = site_of(name) if name else name
    return None if site == name else _MARK + site


def is_pool(name: str) -> bool:
    """Whether that is a pool's name. A URL may be of a host that is called so, and is the pool's."""
    return name.startswith(_MARK) and pool_of(name) == name


class Unproven:
    """The hosts of each site that have a record and are not proven, by the key of the site's pool."""

    def __init__(self, database: Database) -> None:
        self._rows = Overlay(database, "sites")

    def admit(self, pool: bytes, host: bytes) -> bool:
        """Give `host` a place, if there is one."""
        row = self._rows.get(pool) or b""
        if len(row) >= UNPROVEN * KEY_BYTES:
            return False
        self._rows.put(pool, row + host)
        return True

    def remove(self, pool: bytes, host: bytes) -> None:
        """`host` needs its place no longer, if it has one."""
        row = self._rows.get(pool) or b""
        keys = [row[start : start + KEY_BYTES] for start in range(0, len(row), KEY_BYTES)]
        if host in keys:
            self._rows.put(pool, b"".join(key for key in keys if key != host))

    def flush(self, batch: Batch) -> None:
        """Hand the changes to `batch`."""
        self._rows.flush(batch)

    def flushed(self) -> None:
        """The batch is on disk."""
        self._rows.flushed()
