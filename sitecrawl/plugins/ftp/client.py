"""Twisted's FTP client, which keeps limits, and what takes the data that come to it. It has no types."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from scrapy.core.downloader.handlers.ftp import ReceivedDataProtocol
from twisted.internet.protocol import Protocol
from twisted.protocols.ftp import CommandFailed, ConnectionLost, FTPClient, FTPError
from twisted.python.failure import Failure

from sitecrawl.base.secret_settings import MASK
from sitecrawl.plugins.ftp.listing import Listing

MAX_REPLY: Final = 64 << 10
"""Bytes of a reply, all its lines together. A welcome may have some."""
_EXTENDED = re.compile(rb"229 .*\(([!-~])\1\1(\d{1,5})\1\)")
_CODE = re.compile(rb"\d{3}[ -]").match
_READ: Final = frozenset({b"211", b"227", b"229", b"250", b"257"})
"""Replies of which more than the code counts: features, addresses, facts, folders."""
_FTPClient: Any = FTPClient
_Failure: Any = Failure


class Login(NamedTuple):
    """Who we say that we are; and who opens the connections for data, we (`passive`) or the server."""

    user: str
    password: str
    passive: bool


class Client(_FTPClient):  # type: ignore[misc]
    """Twisted's, with a limit on replies, and with EPSV (RFC 2428) where the server's address is one of IPv6. Where a
    server says the password again, nobody else gets to see it: what it says of a failure is logged, and stored.
    """

    _cause: Any = None
    """Why the connection is of no more use."""

    def __init__(self, login: Login, bind: tuple[str, int] | None) -> None:
        super().__init__(login.user, login.password, passive=login.passive)
        self._bind = bind
        self._password = login.password.encode("latin-1", "replace")
        self._reply_size = 0
        self.received = 0

    def connectFactory(self, host: str, port: int, factory: Any) -> Any:  # noqa: N802 - Twisted's name
        from twisted.internet import reactor  # noqa: PLC0415 - it must be installed first

        connect: Any = reactor.connectTCP
        return connect(self.transport.getPeer().host, port, factory, bindAddress=self._bind)

    def queueCommand(self, ftpCommand: Any) -> None:  # noqa: N802, N803 - Twisted's names
        if ftpCommand.text == "PASV" and ":" in self.transport.getPeer().host:
            ftpCommand.text = "EPSV"
        super().queueCommand(ftpCommand)
        if self._cause is not None:  # those that come later nobody would tell
            ftpCommand.fail(_Failure(ConnectionLost("FTP connection lost", self._cause)))

    def dataReceived(self, data: bytes) -> None:  # noqa: N802 - Twisted's name
        self.received += len(data)
        super().dataReceived(data)

    def lineReceived(self, line: bytes) -> None:  # noqa: N802 - Twisted's name
        self._reply_size += len(line)
        if self._reply_size > MAX_REPLY:
            self.fail(_Failure(FTPError("A reply that does not end")))
            return
        if (extended := _EXTENDED.match(line)) is not None:
            line = b"227 (0,0,0,0,%d,%d)" % divmod(int(extended[2]), 256)
        super().lineReceived(self._masked(line))
        if not self.response:
            self._reply_size = 0

    def _masked(self, line: bytes) -> bytes:
        begun = self.response[0].encode("latin-1") if self.response else line
        if not self._password or begun[:3] in _READ:
            return line
        start = 4 if _CODE(line) else 0
        return line[:start] + line[start:].replace(self._password, MASK.encode())

    def fail(self, error: Any) -> None:
        self._cause = self._cause or error
        abort(self)
        super().fail(error)

    def connectionLost(self, reason: Any) -> None:  # noqa: N802 - Twisted's name
        self._cause = self._cause or reason
        super().connectionLost(reason)


class FileData(ReceivedDataProtocol):
    """`took` is called with the size, in bytes, whenever something has come."""

    def __init__(self, server: str, filename: bytes | None, took: Callable[[int], None]) -> None:
        super().__init__(filename)
        self._server = server
        self._took = took

    def connectionMade(self) -> None:  # noqa: N802 - Twisted's name
        _check_peer(self, self._server)

    def dataReceived(self, data: bytes) -> None:  # noqa: N802 - Twisted's name
        super().dataReceived(data)
        self._took(self.size)


class ListingData(Protocol):
    """The same of a listing."""

    def __init__(self, server: str, listing: Listing, took: Callable[[int], None]) -> None:
        self._server = server
        self._listing = listing
        self._took = took
        self.size = 0

    def connectionMade(self) -> None:  # noqa: N802 - Twisted's name
        _check_peer(self, self._server)

    def dataReceived(self, data: bytes) -> None:  # noqa: N802 - Twisted's name
        self.size += len(data)
        self._listing.feed(data)
        self._took(self.size)


def _check_peer(data: Protocol, server: str) -> None:
    """Where the server is to connect to us, anybody may."""
    transport: Any = data.transport
    if transport.getPeer().host != server:
        transport.abortConnection()


def abort(end: Any) -> None:
    """End the connection that a protocol of Twisted's has, if it has one."""
    if end is not None and end.transport is not None:
        end.transport.abortConnection()


def code_of(error: CommandFailed) -> int:
    return int(error.args[0][-1][:3])


def reply_of(error: CommandFailed) -> bytes:
    return "\r\n".join(error.args[0]).encode("latin-1")
