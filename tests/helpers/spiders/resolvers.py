"""Name servers that mean ill, or are not there: `TWISTED_DNS_RESOLVER=resolvers.Changing`."""

from __future__ import annotations

import os
from functools import cached_property
from itertools import chain, repeat
from pathlib import Path

from scrapy.resolver import CachingThreadedResolver
from twisted.internet.defer import Deferred, fail, succeed
from twisted.internet.error import DNSLookupError

from sitecrawl.extensions.resolver import Resolver, _CAres
from sitecrawl.http import addresses, names

PUBLIC = "127.0.0.51"
PRIVATE = "127.0.0.52"

_is_public = addresses.is_public
addresses.is_public = lambda address: address == PUBLIC or _is_public(address)  # the internet, on loopback


class Changing(CachingThreadedResolver):
    """`changing.example` is public when it is first asked for, and private from the second time on."""

    answers = chain([PUBLIC], repeat(PRIVATE))

    def getHostByName(self, name, timeout=()) -> Deferred[str]:  # noqa: N802 - Twisted's name
        if addresses.literal(name):
            return succeed(name)
        if name == "changing.example":
            return succeed(next(self.answers))
        return succeed(PRIVATE if name.startswith("private.") else PUBLIC)


class Vanishing(CachingThreadedResolver):
    """`h7.example` is 127.0.0.7, as long as there is no file `NAME_SERVER_IS_GONE`; nothing is cached."""

    def getHostByName(self, name, timeout=()) -> Deferred[str]:  # noqa: N802 - Twisted's name
        if addresses.literal(name):
            return succeed(name)
        if Path(os.environ["NAME_SERVER_IS_GONE"]).exists():
            return fail(DNSLookupError(name))
        return succeed(f"127.0.0.{name.removeprefix('h').removesuffix('.example')}")


class Loopback(Resolver):
    """Ours, on the name server at `NAME_SERVER`, for which it waits a second at most."""

    @cached_property
    def _c_ares(self) -> _CAres:
        vars(names)["_LONGEST"] = 1.0
        return _CAres([os.environ["NAME_SERVER"]])
