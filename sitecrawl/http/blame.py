"""Decide whose fault a failed download is: its host's, this machine's, or the network's.

A host is given up for what is its fault, and for nothing else. Three kinds of failures are told apart:

- *This machine's*, which the kernel says itself: no more descriptors, memory, ports or buffers (`own_want`).
- *The host's*: it refuses, breaks off, or sends what is no answer. That shows that the network works.
- *Silence*: no route, no address, no answer in time. It is the host's if anybody else is heard from **after** it,
  and else the network's. In a crawl that goes on, the next answer of any host tells, within moments. Where none
  comes, those that have answered of late are asked whether they are still there: names are looked up once more,
  addresses are connected to and nothing is sent. When there is nobody to ask, or nobody answers, it takes
  `EVERYBODY` who are silent to call it the network's fault: fewer may well be down themselves. An exception is what
  kernel or name server state ("no route", "try again") while nobody has been heard from at all, or of one who was.

Addresses and names have a `_Lifeline` each, since either may be cut while the other is not. Many hosts on one address
are one party: their server may be down. So are all names of one zone, a registrable domain.
"""

from __future__ import annotations

import asyncio
import errno
import os
import socket
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from enum import StrEnum
from typing import Final

from sitecrawl.http.addresses import literal
from sitecrawl.urls.url import zone_of

EVERYBODY: Final = 3
"""Number of silent parties, without an answer of any, that make it the network's fault."""
PATIENCE: Final = 5.0
"""Seconds to wait for an answer of parties that are probed."""
_BY_ITSELF: Final = 1.0
"""Seconds to wait for an answer before others are probed."""
_WITNESSES: Final = 8
"""Recently reachable peers that are remembered (count)."""
_ASKED: Final = 3
"""Peers probed at once (count)."""


class Want(StrEnum):
    """Kinds of wants; the value is also the name of the statistic."""

    FILES = "files"
    MEMORY = "memory"
    PORTS = "ports"
    BUFFERS = "buffers"
    NETWORK = "network"
    ANSWER = "answer"
    """A network, or a host that answers: nobody ever did, so it is not known which."""
    NAMES = "names"
    LOOKUPS = "lookups"
    """A place for a slow name look-up (`sitecrawl.http.names`)."""
    PROXY = "proxy"
    """One proxy, if there are other ways."""
    PROXIES = "proxies"


_OWN: Final = {
    errno.EMFILE: Want.FILES,
    errno.ENFILE: Want.FILES,
    errno.ENOMEM: Want.MEMORY,
    errno.ENOBUFS: Want.BUFFERS,
    errno.EADDRNOTAVAIL: Want.PORTS,
    errno.EADDRINUSE: Want.PORTS,
}
_NO_ROUTE: Final = (errno.ENETUNREACH, errno.ENETDOWN, errno.EHOSTUNREACH, errno.EHOSTDOWN)
_SILENCE: Final = (*_NO_ROUTE, errno.ETIMEDOUT)


def own_want(error: OSError, address: str) -> Want | None:
    """Return the want of this machine that `error`, of a connection to `address`, reports; None for another error."""
    want = _want_of(error)
    return None if want is Want.PORTS and not _has_source(address) else want


def lacks_socket() -> Want | None:
    """Return the want of this machine for looking up a name, which takes a socket; None if it has one."""
    try:
        socket.socket().close()
    except OSError as error:
        return _want_of(error)
    return None


def _want_of(error: OSError) -> Want | None:
    return next((want for code, want in _OWN.items() if _says(error, code)), None)


def _has_source(address: str) -> bool:
    """Whether this machine has a source address for `address`. Without one, another port would not help."""
    with (
        suppress(OSError),
        socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM) as probe,
    ):
        probe.connect((address, 9))  # which sends nothing
        return True
    return False


def is_silence(error: OSError) -> bool:
    """Whether `error` means that nothing came back."""
    return _says_any(error, _SILENCE)


def is_no_route(error: OSError) -> bool:
    """Whether `error` means that the kernel knows no route."""
    return _says_any(error, _NO_ROUTE)


def _says_any(error: OSError, codes: Iterable[int]) -> bool:
    return any(_says(error, code) for code in codes)


def _says(error: OSError, code: int) -> bool:
    """Whether an error has this code, or its text if it has no code: an error for several addresses has only text."""
    return error.errno == code if error.errno is not None else os.strerror(code) in str(error)


class _Lifeline:
    """Recent answers, of names or of addresses. `ask` probes a party for at most `patience` seconds, and says
    whether it answers.
    """

    def __init__(self, ask: Callable[[str], Awaitable[bool]], patience: float) -> None:
        self._ask = ask
        self._patience = patience
        self._witnesses: OrderedDict[str, None] = OrderedDict()
        """Recently reachable peers, the latest last."""
        self._silent: set[str] = set()
        """Silent peers since somebody was heard from, up to `EVERYBODY`."""
        self._sign: asyncio.Future[None] | None = None
        """Future of the next answer; None while nobody waits for it."""
        self._round: asyncio.Task[None] | None = None

    @property
    def has_been_heard(self) -> bool:
        """Whether anybody has ever answered."""
        return bool(self._witnesses)

    def heard(self, party: str) -> None:
        """Note an answer of `party`."""
        self._witnesses[party] = None
        self._witnesses.move_to_end(party)
        if len(self._witnesses) > _WITNESSES:
            self._witnesses.popitem(last=False)
        self._silent.clear()
        if self._sign is not None:
            self._sign.set_result(None)
            self._sign = None

    async def is_cut(self, party: str, *, stated: bool) -> bool:
        """Whether not only `party` is silent. `stated`: kernel or name server report the failure."""
        if len(self._silent) < EVERYBODY:
            self._silent.add(party)
        if self._witnesses.keys() - {party}:
            sign = self._next_sign()
            await asyncio.wait([sign], timeout=_BY_ITSELF)
            if not sign.done():
                await self._ask_around(party)
            if sign.done():
                return False
        return stated or len(self._silent) >= EVERYBODY

    def was_heard(self, party: str) -> bool:
        """Whether `party` is among the last that answered."""
        return party in self._witnesses

    def _next_sign(self) -> asyncio.Future[None]:
        if self._sign is None:
            self._sign = asyncio.get_running_loop().create_future()
        return self._sign

    async def _ask_around(self, but: str) -> None:
        if self._round is None:
            others = [party for party in reversed(self._witnesses) if party != but][:_ASKED]
            self._round = asyncio.get_running_loop().create_task(self._ask_all(others))
        await asyncio.shield(self._round)

    async def _ask_all(self, parties: list[str]) -> None:
        try:
            await asyncio.gather(*map(self._ask_one, parties))
        finally:
            self._round = None

    async def _ask_one(self, party: str) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(self._patience):
                if await self._ask(party):
                    self.heard(party)
                    return
        self._silent.add(party)

    def close(self) -> None:
        if self._round is not None:
            self._round.cancel()


class Blame:
    """See the module. `look_up` asks a name server for a name, bypassing caches.

    An address is a party without its port: `ports` has the one that answered.
    """

    def __init__(self, look_up: Callable[[str], Awaitable[bool]], patience: float) -> None:
        self.names = _Lifeline(look_up, patience)
        self.addresses = _Lifeline(self._connect, patience)
        self._ports: OrderedDict[str, int] = OrderedDict()

    def named(self, name: str) -> None:
        """Note an answer of a name server, also that there is no such name."""
        self.names.heard(zone_of(name))

    def answered(self, address: str, port: int) -> None:
        """Note an answer of an address, also a refused connection."""
        self._ports[address] = port
        self._ports.move_to_end(address)
        if len(self._ports) > 2 * _WITNESSES:
            self._ports.popitem(last=False)
        self.addresses.heard(address)

    async def of_silence(self, host: str, address: str, *, stated: bool) -> Want | None:
        """Return the want if nothing came from `host`; None if the host is to blame. `address`: empty if unknown."""
        if not address and literal(host) is None:
            line, party, want = self.names, zone_of(host), Want.NAMES
        else:
            line, party, want = self.addresses, address or host, Want.NETWORK
        has_been_heard = self.names.has_been_heard or self.addresses.has_been_heard
        stated = stated and (line.was_heard(party) or not has_been_heard)
        if not await line.is_cut(party, stated=stated):
            return None
        is_known = want is Want.NAMES or stated or line.has_been_heard
        return want if is_known else Want.ANSWER

    async def _connect(self, address: str) -> bool:
        try:
            _, writer = await asyncio.open_connection(address, self._ports[address])
        except ConnectionRefusedError:
            return True
        except OSError:
            return False
        writer.transport.abort()
        return True

    def close(self) -> None:
        self.names.close()
        self.addresses.close()
