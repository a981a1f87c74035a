"""Fingerprints: 16 bytes that stand for a canonical URL wherever the crawl keeps one.

Layout, big-endian:

    | region | CityHash64(canonical), its last 48 bits | BLAKE2b-64(canonical, key) |
    0        2                                         8                           16

Why a *region*. It is the first 16 bits of CityHash64 of the URL's site (its registrable domain): Mercator too took
the high-order bits of a fingerprint from the host (Heydon and Najork 1999, section 3.7). Most links stay on their
site, so what is asked for together lies together on disk, and a block that was read answers for many. A region is a
range of keys in whatever is ordered by fingerprints or by keys of hosts, which begin with the same two bytes.

Why two halves. CityHash64 is the fastest good 64-bit hash, 0.1 us a URL, and its value is the same in every crawl,
so shards and caches can be addressed by it. But it is no cryptographic hash: Aumasson and Bernstein (SipHash, 2012)
and those after them show how to make strings with a chosen CityHash64 at thousands per second. Were it alone, a
hostile site could publish URLs whose fingerprints equal those of other people's pages, and these would look seen
and never be fetched. The second half is keyed: without the key nobody can make two URLs that agree in it.

Why not the keyed half alone, in 16 bytes. It costs the same and would be as good a set key; the CityHash half is
what lets a worker without the key (a cluster's router, a tool that reads the database) find the place of a URL.

The key is random, made once per crawl and stored with it: whoever reads the crawl's directory reads the key too,
and that is no loss, for it protects against those who write web pages. Fingerprints of two crawls do not compare.
Chance collisions: at 10^10 URLs, about 10^20 / 2^129, one in 10^18, if sites are small; if all are of one
site, one in 10^13.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import Final

from cityhash import CityHash64

from sitecrawl.base.hashing import check_key
from sitecrawl.urls.url import site_of

SIZE: Final = 16
_HOST_SIZE: Final = 8
REGION_SIZE: Final = 2

_NO_BODY_METHOD = "GET"


class Fingerprinter:
    """Makes the fingerprints of one crawl, from its key of 16 bytes. Raises `ValueError` for another size."""

    def __init__(self, key: bytes) -> None:
        check_key(key)
        self._keyed = hashlib.blake2b(key=key, digest_size=8)

    def url(self, canonical: str) -> bytes:
        """The fingerprint of a page that is fetched by GET; `canonical` as `Canonicalizer` makes it."""
        return self._digest(canonical.encode(), canonical)

    def request(self, method: str, canonical: str, body: bytes) -> bytes:
        """The fingerprint of any request; that of the URL for a GET without body."""
        if method == _NO_BODY_METHOD and not body:
            return self.url(canonical)
        # A line feed occurs in no method and no canonical URL, so no two requests share these bytes.
        return self._digest(b"\n".join((method.encode(), canonical.encode(), body)), canonical)

    def opaque(self, data: bytes, region: bytes = b"") -> bytes:
        """The fingerprint of another fingerprinter's value; never equal to that of a URL or request.

        Without `region` by default: to another fingerprinter URLs of two sites may be the same.
        """
        data = b"\n" + data
        city: int = CityHash64(data)
        return region + city.to_bytes(8, "big")[len(region) :] + self._keyed_half(data)

    def host(self, name: str) -> bytes:
        """The key of a host, of `_HOST_SIZE` bytes: its region, and of its name a hash that needs the crawl's key."""
        data = name.encode(errors="replace")
        return self.region(name) + self._keyed_half(b"\n" + data)[REGION_SIZE:]

    def region(self, host: str) -> bytes:
        """The `REGION_SIZE` bytes that begin all keys of the site of `host`; zeros for no host."""
        return _region_of(host)

    def _digest(self, data: bytes, canonical: str) -> bytes:
        city: int = CityHash64(data)
        region = self.region(canonical.partition("://")[2].partition("/")[0])
        return region + city.to_bytes(8, "big")[REGION_SIZE:] + self._keyed_half(data)

    def _keyed_half(self, data: bytes) -> bytes:
        keyed = self._keyed.copy()  # 0.2 us cheaper than keying anew
        keyed.update(data)
        return keyed.digest()


@lru_cache(maxsize=1 << 14)
def _region_of(host: str) -> bytes:
    city: int = CityHash64(site_of(host).encode(errors="replace")) if host else 0
    return city.to_bytes(8, "big")[:REGION_SIZE]
