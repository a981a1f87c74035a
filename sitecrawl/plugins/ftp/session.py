"""One file or one listing over FTP (RFC 959), by Twisted's client.

A URL with a slash at its end is a folder: the session goes there, so that no name can be taken for an option of LIST,
and has it listed, by MLSD (RFC 3659) where the server has that. Any other is a file; where the server refuses that,
it is listed if it is a folder.

Data come from the address to which the commands go, whatever address a server names: so it cannot send the crawler
anywhere (RFC 2577, section 3). Replies, listings and files have limits, and a session can be ended from outside.
"""

from __future__ import annotations

import asyncio
import errno
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any, Final

from scrapy.core.downloader.handlers.ftp import ReceivedDataProtocol
from scrapy.exceptions import DownloadCancelledError, DownloadFailedError
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred
from twisted.internet.error import ConnectError
from twisted.internet.protocol import ClientCreator
from twisted.protocols.ftp import CommandFailed, ConnectionLost, FTPError

from sitecrawl import http
from sitecrawl.extensions.download_errors import LoginRefused
from sitecrawl.http.addresses import literal
from sitecrawl.http.blame import own_want
from sitecrawl.http.ending import Ending
from sitecrawl.plugins.ftp.client import Client, FileData, ListingData, Login, abort, code_of, reply_of
from sitecrawl.plugins.ftp.listing import Listing, parse_list, parse_mlsd
from sitecrawl.plugins.ftp.location import Location, namesake

BUSY: Final = 421
"""The reply of a server that has no room for another client now."""
DONE: Final = 226
_CONNECT_SECONDS: Final = 10.0
"""For which an address may be silent where there is another one to try."""
_PERHAPS_FOLDER: Final = frozenset({450, 501, 504, 550, 553})
"""With these, servers refuse to send a folder as if it were a file."""
_UNIQUE = re.compile(r"unique=([^;]+);", re.IGNORECASE)
_ClientCreator: Any = ClientCreator


@dataclass(frozen=True, slots=True)
class FtpReply:
    """What came of a session."""

    code: int
    """Of the reply (RFC 959, section 4.2)."""
    reply: bytes = b""
    """What the server said of a failure."""
    file: ReceivedDataProtocol | None = None
    listing: Listing | None = None
    is_loop: bool = False
    """Whether the folder is one above itself, so that nothing of it is listed."""


class _Enough(Exception):
    """Of a listing."""


class Session:
    """A session for what is at `location`.

    `may_connect` is called with an IP address before it is connected to; what it raises ends the session. `bind` is
    the local address to connect from. A file of more than `max_size` bytes is none, and a listing is cut there, or
    after `max_entries`. `filename`: where to put the file, instead of into memory.
    """

    def __init__(
        self,
        client: http.Client,
        location: Location,
        login: Login,
        *,
        may_connect: Callable[[str], None],
        bind: tuple[str, int] | None,
        max_size: int,
        max_entries: int,
        filename: bytes | None = None,
    ) -> None:
        self._client = client
        self._location = location
        self._login = login
        self._may_connect = may_connect
        self._bind = bind
        self._max_size = max_size
        self._max_entries = max_entries
        self._filename = filename
        self._ending = Ending()
        self._address = ""
        """The last that was tried."""
        self._control: Any = None
        """A `Client`: Twisted's FTP has no types."""
        self._data: FileData | ListingData | None = None

    @property
    def progress(self) -> int:
        """A number that grows with every byte that comes."""
        if self._control is None:
            return -1
        received: int = self._control.received
        return received + (self._data.size if self._data is not None else 0)

    @property
    def arrived(self) -> int:
        """Bytes of the file, or of the listing, that have come."""
        return self._data.size if self._data is not None else 0

    @property
    def ip(self) -> IPv4Address | IPv6Address:
        """The server's."""
        return ip_address(self._address)

    def end(self, error: Exception) -> None:
        """Let `run` raise `error`, at once."""
        if self._ending.end(error):
            abort(self._data)
            abort(self._control)

    async def run(self) -> FtpReply:
        """Raises an `HttpError` where there is no connection, `LoginRefused`, `DownloadFailedError` for what breaks
        off, `DownloadCancelledError` for what is too large, and what `may_connect` raises and `end` was called with.
        """
        try:
            self._control = await self._connect()
            return await self._answer()
        except CommandFailed as error:
            return FtpReply(code_of(error), reply_of(error))
        except ConnectionLost as error:
            return self._refused(error)
        except FTPError as error:
            raise DownloadFailedError(f"No connection for data: {error}") from error
        finally:
            self._close()

    async def lacks(self, error: Exception) -> http.Want | None:
        """What was lacking, if `run` has raised `error` for no fault of the server."""
        if isinstance(error, http.Lacking):
            return error.want
        return await self._client.lacks_network(error, self._location.host, self._address)

    def _refused(self, error: ConnectionLost) -> FtpReply:
        """A server that lets us in says no to commands; one that does not, to all of them."""
        cause = error.args[1].value
        if not isinstance(cause, CommandFailed):
            raise DownloadFailedError(f"The connection has ended: {cause}") from error
        if code_of(cause) != BUSY:
            raise LoginRefused(reply_of(cause).decode("latin-1")) from error
        return FtpReply(BUSY, reply_of(cause))

    def _close(self) -> None:
        abort(self._data)
        if self._ending.error is not None:
            abort(self._control)
        elif self._control is not None:
            self._control.queueStringCommand("QUIT").addErrback(lambda _: None)
            self._control.transport.loseConnection()

    # Connecting

    async def _connect(self) -> Any:
        host = self._location.host
        addresses = [host] if literal(host) else await self._resolved(host)
        for address in addresses:
            self._may_connect(address)
        for address in addresses[:-1]:
            with suppress(http.ConnectionFailed):
                return await self._open(address, _CONNECT_SECONDS)
        return await self._open(addresses[-1])

    async def _resolved(self, host: str) -> list[str]:
        return list(await self._ending.wait(asyncio.ensure_future(self._client.resolve(host))))

    async def _open(self, address: str, seconds: float = 30.0) -> Any:
        from twisted.internet import reactor  # noqa: PLC0415 - it must be installed first

        self._address, port = address, self._location.port
        creator = _ClientCreator(reactor, Client, self._login, self._bind)
        try:
            connecting = creator.connectTCP(address, port, timeout=seconds, bindAddress=self._bind)
            control = await self._ending.wait(_future(connecting))
        except ConnectError as error:
            cause = OSError(error.osError or errno.ETIMEDOUT, str(error))
            if (want := own_want(cause, address)) is not None:
                raise http.Lacking(want, str(error)) from cause
            if isinstance(cause, ConnectionRefusedError):
                self._client.blame.answered(address, port)
            raise http.ConnectionFailed(f"{address} cannot be connected to: {error}") from cause
        self._client.blame.answered(address, port)
        return control

    # What is asked for

    async def _answer(self) -> FtpReply:
        if self._location.is_folder:
            return await self._folder()
        try:
            return await self._file()
        except CommandFailed as refused:
            if code_of(refused) not in _PERHAPS_FOLDER:
                raise
            try:
                return await self._folder()
            except CommandFailed:
                raise refused from None

    async def _file(self) -> FtpReply:
        file = self._data = FileData(self._address, self._filename, self._took)
        try:
            await self._transfer(f"RETR {self._path}")
        finally:
            file.close()
        return FtpReply(DONE, file=file)

    def _took(self, size: int) -> None:
        if size > self._max_size:
            self.end(DownloadCancelledError(f"A file of more than {self._max_size} bytes"))

    async def _folder(self) -> FtpReply:
        has_mlsd = await self._has_mlsd()
        listing = Listing(parse_mlsd if has_mlsd else parse_list, self._location.path, self._max_entries)
        if await self._enter(has_mlst=has_mlsd):
            return FtpReply(DONE, listing=listing, is_loop=True)

        def took(size: int) -> None:
            if size > self._max_size:
                listing.is_full = True
            if listing.is_full:
                self.end(_Enough())

        self._data = ListingData(self._address, listing, took)
        with suppress(_Enough):
            await self._transfer("MLSD" if has_mlsd else "LIST")
        if not listing.is_full:
            listing.end()
        return FtpReply(DONE, listing=listing)

    async def _has_mlsd(self) -> bool:
        try:
            features = await self._command("FEAT")
        except CommandFailed:
            return False
        return any(line.strip().upper().startswith("MLST") for line in features)

    async def _enter(self, *, has_mlst: bool) -> bool:
        """Go into the folder. Gives whether that is the folder above it that has its name: a symbolic link leads back
        there, as one does in a circle.
        """
        above = namesake(self._location.path)
        if above is None:
            if self._path:
                await self._command(f"CWD {self._path}")
            return False
        await self._command(f"CWD {above.decode('latin-1')}")
        there = await self._where(has_mlst=has_mlst)
        rest = self._location.path[len(above) :].lstrip(b"/")
        await self._command(f"CWD {rest.decode('latin-1')}")
        return there == await self._where(has_mlst=has_mlst)

    async def _where(self, *, has_mlst: bool) -> str:
        """What is the same for the same folder alone, if the server says so: a number, or a path without links."""
        if has_mlst:
            with suppress(CommandFailed):
                if (found := _UNIQUE.search("".join(await self._command("MLST")))) is not None:
                    return found[1]
        return "".join(await self._command("PWD"))

    @property
    def _path(self) -> str:
        return self._location.path.decode("latin-1")  # as Twisted encodes commands: the same bytes

    async def _command(self, text: str) -> list[str]:
        reply: list[str] = await self._ending.wait(_future(self._control.queueStringCommand(text)))
        return reply

    async def _transfer(self, command: str) -> None:
        await self._ending.wait(_future(self._control.receiveFromConnection([command], self._data)))


def _future(deferred: Deferred[Any]) -> asyncio.Future[Any]:
    return asyncio.ensure_future(maybe_deferred_to_future(deferred))
