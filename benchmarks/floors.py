"""What the least takes that does a part's work, in instructions a page: floors for two rows of `profiling.py`.

    python benchmarks/floors.py

- engine: the crawl's event loop (uvloop) with one task, one wait and one timer a page, and the page's bytes brought
  in by a connection; nothing is done with them.
- download: a request put together from its headers, and the head of its answer taken apart into names and values, by
  methods of bytes, which are C: `join`, `split` and `partition`.

It takes some minutes, the port 8123 (or `PORT`) and valgrind.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, Final

PAGES: Final = 100, 1100
PORT: Final = int(os.environ.get("PORT", "8123"))
BODY: Final = b"x" * 19_000
REQUEST: Final = [b"GET / HTTP/1.1", *[b"Name: value of a header"] * 5, b"", b""]
ANSWER: Final = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: %d\r\n\r\n" % len(BODY)


class Client(asyncio.Protocol):
    """Asks for one page at a time."""

    def __init__(self) -> None:
        self.left, self.answer = 0, asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.left -= len(data)
        if self.left <= 0:
            self.answer.set_result(None)


async def asked(client: Client) -> None:
    loop = asyncio.get_running_loop()
    client.left, client.answer = len(ANSWER) + len(BODY), loop.create_future()
    client.transport.write(b"GET / HTTP/1.1\r\n\r\n")  # type: ignore[attr-defined]
    timer = loop.call_later(60, client.transport.abort)  # type: ignore[attr-defined]
    await client.answer
    timer.cancel()


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(asyncio.IncompleteReadError):
        while await reader.readuntil(b"\r\n\r\n"):
            writer.write(ANSWER + BODY)


async def engine(pages: int) -> None:
    _, client = await asyncio.get_running_loop().create_connection(Client, "127.0.0.1", PORT)
    for _ in range(pages):
        await asyncio.create_task(asked(client))


async def server() -> None:
    listening = await asyncio.start_server(serve, "127.0.0.1", PORT)
    print("ready", flush=True)
    await listening.serve_forever()


async def download(pages: int) -> None:
    for _ in range(pages):
        b"\r\n".join(REQUEST)
        [line.partition(b": ") for line in ANSWER.split(b"\r\n")]


def counted(part: str, pages: int) -> int:
    """Instructions of a process that does a part's work so often."""
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", sys.executable, __file__, part]
    said = subprocess.run([*command, str(pages)], check=True, capture_output=True, text=True).stderr
    return int(re.findall(r"Collected : (\d+)", said)[0])


def main() -> None:
    with subprocess.Popen([sys.executable, __file__, "server", "0"], stdout=subprocess.PIPE) as serving:
        assert serving.stdout is not None
        serving.stdout.readline()
        for part in ("engine", "download"):
            few, many = (counted(part, pages) for pages in PAGES)
            print(f"{part}: {(many - few) / (PAGES[1] - PAGES[0]) / 1000:,.0f} thousand instructions/page")
        serving.terminate()


WORK: Final[dict[str, Callable[[int], Coroutine[Any, Any, None]]]] = {"engine": engine, "download": download}

if __name__ == "__main__":
    if sys.argv[1:]:
        import uvloop

        part, pages = sys.argv[1], int(sys.argv[2])
        uvloop.run(server() if part == "server" else WORK[part](pages))
    else:
        main()
