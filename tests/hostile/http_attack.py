"""The client against a server that sends cases: over real sockets, one at a time, connections kept where they may be.

The server has a thread of its own, so that the loop's stops are the client's alone.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from time import perf_counter, thread_time
from typing import Self
from weakref import WeakKeyDictionary

from http_cases import Case

from sitecrawl.http import (
    Client,
    Connection,
    Download,
    Endpoint,
    Found,
    HttpError,
    ReadLimits,
    Request,
    ResponseReader,
    Tls,
)
from sitecrawl.page.codings import at_once, decoding

LIMITS = ReadLimits(headers=200, header_size=64 << 10, chunks=20_000)
MAX_SIZE = 1 << 20
"""Bytes of a body."""
READ_SIZE = 256 << 10
"""Bytes that a loop reads at a time: so much may come before anybody can count it."""
BUDGET = MAX_SIZE + LIMITS.header_size + 16 * LIMITS.chunks + READ_SIZE
SECONDS = 600
"""After which a case has failed, whatever it is."""


class CaseServer:
    """Sends `case` to whoever asks, on a port of 127.0.0.1."""

    def __init__(self) -> None:
        self.case: Case | None = None
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            threading.Thread(target=self._talk, args=(connection,), daemon=True).start()

    def _talk(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.settimeout(SECONDS)
            while self._asked(connection) and self._answer(connection):
                pass

    @staticmethod
    def _asked(connection: socket.socket) -> bool:
        asked = b""
        while not asked.endswith(b"\r\n\r\n"):
            data = connection.recv(65536)
            if not data:
                return False
            asked += data
        return True

    def _answer(self, connection: socket.socket) -> bool:
        """Whether there may be another request."""
        case = self.case
        assert case is not None
        for piece in case.pieces:
            connection.sendall(piece)
        return not case.closes

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join(SECONDS)


class Attack:
    """What came of the cases so far."""

    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        self.failures: list[str] = []
        self.longest_stop = 0.0
        """Seconds for which the loop was stopped."""
        self.longest_work = 0.0
        """Seconds of CPU that its thread took without a pause."""
        self._received: WeakKeyDictionary[Connection, int] = WeakKeyDictionary()
        """Bytes of the cases before."""

    async def run(self, cases: Iterable[Case]) -> None:
        watch = asyncio.create_task(self._watch())
        client = Client(_resolve, Tls(lambda _verify: ssl.create_default_context()), LIMITS)
        try:
            with CaseServer() as server:
                for case in cases:
                    server.case = case
                    await self._try(client, server.port, case)
                client.close()
        finally:
            client.close()
            watch.cancel()

    async def _watch(self) -> None:
        while True:
            since, worked = perf_counter(), thread_time()
            await asyncio.sleep(0)
            self.longest_stop = max(self.longest_stop, perf_counter() - since)
            self.longest_work = max(self.longest_work, thread_time() - worked)

    async def _try(self, client: Client, port: int, case: Case) -> None:
        # What a server says that goes on behind its response may come as the answer to the next request.
        host = f"{self.outcomes.total()}.example" if case.closes else "a.example"
        request = Request(case.method, "/", host, Endpoint(False, host, port))
        download = Download(client, request)
        alarm = asyncio.get_running_loop().call_later(SECONDS, download.end, HttpError("no end"))
        try:
            reader = await download.run(max_size=MAX_SIZE)
        except HttpError as error:
            self._failed(case, error, self._beyond_budget(download))
        except Exception as error:  # noqa: BLE001 - what must not be
            self._note(case, "surprise", repr(error))
        else:
            self._came(case, reader, self._beyond_budget(download))
        finally:
            alarm.cancel()

    def _beyond_budget(self, download: Download) -> str:
        connection = download.connection
        if connection is None:
            return ""
        received = connection.received - self._received.get(connection, 0)
        self._received[connection] = connection.received
        return f"{received} bytes were taken" if received > BUDGET else ""

    def _failed(self, case: Case, error: HttpError, wrong: str) -> None:
        if str(error) == "no end":
            wrong = "no end"
        elif case.expected is not None:
            wrong = f"a good response failed: {error!r}"
        self._note(case, type(error).__name__, wrong)

    def _came(self, case: Case, reader: ResponseReader, wrong: str) -> None:
        expected, body = case.expected, b"".join(reader.body)
        codings = [value.decode("latin-1") for value in reader.values(b"content-encoding")]
        decoded = at_once(decoding(body, codings, MAX_SIZE))
        if len(decoded.body) > max(MAX_SIZE, len(body)):
            wrong = f"{len(decoded.body)} bytes of content"
        if expected is not None and (reader.status, body) != (expected.status, expected.body):
            wrong = f"{reader.status} and {body[:100]!r} for {expected.status} and {expected.body[:100]!r}"
        elif expected is not None and reader.headers != expected.headers:
            wrong = f"{reader.headers} for {expected.headers}"
        elif expected is not None and expected.body and (decoded.body, decoded.left) != (expected.content, ()):
            wrong = f"{decoded.body[:100]!r} under {decoded.left} for {expected.content[:100]!r}"
        self._note(case, "response", wrong)

    def _note(self, case: Case, outcome: str, wrong: str) -> None:
        self.outcomes[f"{case.name.partition(',')[0]}: {outcome}"] += 1
        if wrong:
            self.failures.append(f"{wrong}: {case}")


async def _resolve(name: str, *, fresh: bool = False) -> Found:
    return Found(["127.0.0.1"])
