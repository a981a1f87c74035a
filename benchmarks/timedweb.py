"""The seven real sites behind an HTTP proxy in a thread of this process, which notes when it was asked for what."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path
from typing import NamedTuple, Self
from urllib.parse import urlsplit

from realweb import tool


class Answered(NamedTuple):
    """One request. Times are monotonic seconds."""

    host: str
    path: str
    asked: float
    """When all of its header was there."""
    at: float
    """When the last of the answer was handed to the system."""


class TimedWeb:
    """See the module. `address` is that of the proxy, `answers` are in the order in which they were given."""

    def __init__(self, cache: Path) -> None:
        self._module = tool()
        self._cache = cache.resolve()
        self._module.unpack(self._cache)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self.answers: list[Answered] = []

    def __enter__(self) -> Self:
        self._thread.start()
        starting = asyncio.start_server(self._serve, "127.0.0.1", 0)
        server = asyncio.run_coroutine_threadsafe(starting, self._loop).result()
        self.address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                asked = time.monotonic()
                url = head.split(b" ")[1].decode("latin-1")
                writer.write(self._answer(url))
                await writer.drain()
                parts = urlsplit(url)
                self.answers.append(Answered(parts.netloc, parts.path, asked, time.monotonic()))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def _answer(self, url: str) -> bytes:
        parts = urlsplit(url)
        status, headers, body = 404, {}, b"no such host here"
        if (name := self._module.HOSTS.get(parts.hostname)) is not None:
            target = parts._replace(scheme="", netloc="").geturl()
            status, headers, body = self._module.answer(self._cache / name, target)
        fields = "".join(f"{key}: {value}\r\n" for key, value in headers.items())
        return f"HTTP/1.1 {status} X\r\n{fields}Content-Length: {len(body)}\r\n\r\n".encode() + body
