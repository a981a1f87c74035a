"""One file or one listing over FTP (RFC 959), on asyncio's streams.

A URL with a slash at its end is a folder: the session goes there, so that no name can be taken for an option of LIST,
and has it listed, by MLSD (RFC 3659) where the server has that. Any other is a file; where the server refuses that,
it is listed if it is a folder.

Data come by connections that we open (PASV, or EPSV of RFC 2428 over IPv6), from the address to which the commands
go, whatever address a server names: so it cannot send the crawler anywhere (RFC 2577, section 3). Replies, listings
and files have limits, and a session can be ended from outside. Where a server says the password again in a refusal,
it is masked: that is logged, and stored.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from io import BytesIO
from ipaddress import IPv4Address, IPv6Address, ip_address
from os import fsdecode
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from scrapy.exceptions import DownloadCancelledError, DownloadFailedError

from sitecrawl import http
from sitecrawl.base.secret_settings import MASK
from sitecrawl.crawl.download_errors import LoginRefused
from sitecrawl.http.addresses import literal
from sitecrawl.http.blame import own_want
from sitecrawl.http.errors import Ending
from sitecrawl.plugins.ftp.listing import Listing, Location, parse_list, parse_mlsd

_MAX_REPLY: Final = 64 << 10
"""Bytes of a reply, all its lines together. A welcome may have some."""
_BUSY: Final = 421
"""The reply of a server that has no room for another client now."""
_DONE: Final = 226
_CHUNK: Final = 64 << 10
_CONNECT_SECONDS: Final = 10.0
"""For which an address may be silent where there is another one to try."""
_PERHAPS_FOLDER: Final = frozenset({450, 501, 504, 550, 553})
"""With these, servers refuse to send a folder as if it were a file."""
_UNIQUE = re.compile(rb"unique=([^;]+);", re.IGNORECASE)
_PASSIVE = re.compile(rb"227 .*?\d+,\d+,\d+,\d+,(\d{1,3}),(\d{1,3})")
_EXTENDED = re.compile(rb"229 .*\(([!-~])\1\1(\d{1,5})\1\)")


class Login(NamedTuple):
    """User and password of an FTP login."""

    user: str
    password: str


@dataclass(frozen=True, slots=True)
class FtpReply:
    """The result of a session."""

    code: int
    """Of the reply (RFC 959, section 4.2)."""
    reply: bytes = b""
    """What the server said of a failure."""
    file: bytes | None = None
    """Its content, or the name under which it was put elsewhere."""
    listing: Listing | None = None
    is_loop: bool = False
    """Whether the folder is one above itself, so that nothing of it is listed."""


class _Refused(Exception):
    """A negative reply."""

    def __init__(self, code: int, reply: bytes) -> None:
        super().__init__(reply)
        self.code = code
        self.reply = reply


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
        self.filename = filename
        self._ending = Ending()
        self._address = ""
        """The last that was tried."""
        self._control: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        """The connection for commands."""
        self._received = 0
        """Bytes of replies."""
        self.arrived = 0
        """Bytes of the file, or of the listing, that have come."""

    @property
    def progress(self) -> int:
        """A number that grows with every byte that comes."""
        return self._received + self.arrived if self._control is not None else -1

    @property
    def ip(self) -> IPv4Address | IPv6Address:
        """The server's."""
        return ip_address(self._address)

    def end(self, error: Exception) -> None:
        """Let `run` raise `error`, at once."""
        self._ending.end(error)

    async def run(self) -> FtpReply:
        """Raises an `HttpError` where there is no connection, `LoginRefused`, `DownloadFailedError` for what breaks
        off, `DownloadCancelledError` for what is too large, and what `may_connect` raises and `end` was called with.
        """
        reply: FtpReply = await self._ending.wait(asyncio.ensure_future(self._run()))
        return reply

    async def lacks(self, error: Exception) -> http.Want | None:
        """What was lacking, if `run` has raised `error` for no fault of the server."""
        if isinstance(error, http.Lacking):
            return error.want
        return await self._client.lacks_network(error, self._location.host, self._address)

    async def _run(self) -> FtpReply:
        await self._connect()
        try:
            await self._log_in()
            return await self._answer()
        except _Refused as error:
            return FtpReply(error.code, error.reply)
        except (OSError, EOFError) as error:
            raise DownloadFailedError(f"The connection has ended: {error}") from error
        finally:
            assert self._control is not None
            writer = self._control[1]
            if self._ending.error is None:
                writer.write(b"QUIT\r\n")
                writer.close()
            else:
                writer.transport.abort()

    # Connecting

    async def _connect(self) -> None:
        host = self._location.host
        addresses = [host] if literal(host) else await self._client.resolve(host)
        for address in addresses:
            self._may_connect(address)
        for address in addresses:
            is_last = address == addresses[-1]
            try:
                await self._open(address, None if is_last else _CONNECT_SECONDS)
                break
            except http.ConnectionFailed:
                if is_last:
                    raise

    async def _open(self, address: str, seconds: float | None) -> None:
        self._address, port = address, self._location.port
        try:
            async with asyncio.timeout(seconds):
                self._control = await self._streams(port)
        except OSError as error:
            if (want := own_want(error, address)) is not None:
                raise http.Lacking(want, str(error)) from error
            if isinstance(error, ConnectionRefusedError):
                self._client.blame.answered(address, port)
            raise http.ConnectionFailed(f"{address} cannot be connected to: {error}") from error
        self._client.blame.answered(address, port)

    async def _streams(self, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection(self._address, port, local_addr=self._bind, limit=_MAX_REPLY)

    async def _log_in(self) -> None:
        try:
            await self._reply()
            if (await self._command(f"USER {self._login.user}")).startswith(b"3"):
                await self._command(f"PASS {self._login.password}")
            await self._command("TYPE I")
        except _Refused as error:
            if error.code != _BUSY:
                raise LoginRefused(error.reply.decode("latin-1")) from error
            raise

    # What is asked for

    async def _answer(self) -> FtpReply:
        if self._location.is_folder:
            return await self._folder()
        try:
            return await self._file()
        except _Refused as refused:
            if refused.code not in _PERHAPS_FOLDER:
                raise
            try:
                return await self._folder()
            except _Refused:
                raise refused from None

    async def _file(self) -> FtpReply:
        with closing(self._place()) as file:

            def take(data: bytes) -> None:
                if self.arrived > self._max_size:
                    raise DownloadCancelledError(f"A file of more than {self._max_size} bytes")
                file.write(data)

            await self._transfer(f"RETR {self._path}", take)
            return FtpReply(_DONE, file=file.getvalue() if isinstance(file, BytesIO) else self.filename)

    def _place(self) -> BinaryIO:
        return BytesIO() if self.filename is None else Path(fsdecode(self.filename)).open("wb")

    async def _folder(self) -> FtpReply:
        has_mlsd = await self._has_mlsd()
        listing = Listing(parse_mlsd if has_mlsd else parse_list, self._location.path, self._max_entries)
        if await self._enter(has_mlst=has_mlsd):
            return FtpReply(_DONE, listing=listing, is_loop=True)

        def take(data: bytes) -> None:
            listing.feed(data)
            listing.is_full |= self.arrived > self._max_size
            if listing.is_full:
                raise _Enough

        with suppress(_Enough):
            await self._transfer("MLSD" if has_mlsd else "LIST", take)
            listing.end()
        return FtpReply(_DONE, listing=listing)

    async def _has_mlsd(self) -> bool:
        try:
            features = await self._command("FEAT")
        except _Refused:
            return False
        return any(line.strip().upper().startswith(b"MLST") for line in features.split(b"\n"))

    async def _enter(self, *, has_mlst: bool) -> bool:
        """Go into the folder. Gives whether that is the folder above it that has its name: a symbolic link leads back
        there, as one does in a circle.
        """
        above = self._location.namesake
        if above is None:
            if self._path:
                await self._command(f"CWD {self._path}")
            return False
        await self._command(f"CWD {above.decode('latin-1')}")
        there = await self._where(has_mlst=has_mlst)
        rest = self._location.path[len(above) :].lstrip(b"/")
        await self._command(f"CWD {rest.decode('latin-1')}")
        return there == await self._where(has_mlst=has_mlst)

    async def _where(self, *, has_mlst: bool) -> bytes:
        """What is the same for the same folder alone, if the server says so: a number, or a path without links."""
        if has_mlst:
            with suppress(_Refused):
                if (found := _UNIQUE.search(await self._command("MLST"))) is not None:
                    return found[1]
        return await self._command("PWD")

    @property
    def _path(self) -> str:
        return self._location.path.decode("latin-1")  # as commands are encoded: the same bytes

    # The protocol

    async def _command(self, text: str) -> bytes:
        assert self._control is not None
        self._control[1].write(text.encode("latin-1", "replace") + b"\r\n")
        return await self._reply()

    async def _reply(self) -> bytes:
        """Lines of the next reply. Raises `_Refused` for a negative one."""
        assert self._control is not None
        lines: list[bytes] = []
        size = 0
        while not lines or not lines[-1].startswith(lines[0][:3] + b" "):
            try:
                line = await self._control[0].readuntil(b"\n")
            except asyncio.LimitOverrunError:
                size = _MAX_REPLY + 1
            else:
                self._received += len(line)
                size += len(line)
                lines.append(line.rstrip(b"\r\n"))
            if size > _MAX_REPLY:
                raise DownloadFailedError("A reply that does not end")
            if not lines[0][:3].isdigit():
                raise DownloadFailedError("What answers speaks no FTP")
        reply = b"\r\n".join(lines)
        if (code := int(lines[0][:3])) >= 400:
            password = self._login.password.encode("latin-1", "replace")
            raise _Refused(code, reply.replace(password, MASK.encode()) if password else reply)
        return reply

    async def _transfer(self, command: str, take: Callable[[bytes], None]) -> None:
        """Give what comes for a command to `take`."""
        reader, writer = await self._data_connection()
        try:
            is_begun = (await self._command(command)).startswith(b"1")
            while data := await reader.read(_CHUNK):
                self.arrived += len(data)
                take(data)
        finally:
            writer.transport.abort()
        if is_begun:
            await self._reply()

    async def _data_connection(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if ":" in self._address:
            found = _EXTENDED.match(await self._command("EPSV"))
            port = 0 if found is None else int(found[2])
        else:
            found = _PASSIVE.match(await self._command("PASV"))
            port = 0 if found is None else 256 * int(found[1]) + int(found[2])
        if not 0 < port < 1 << 16:
            raise DownloadFailedError("No connection for data: the server names no port")
        return await self._streams(port)
