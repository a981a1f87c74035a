"""A web on loopback in a process of its own: its hits are counted where no crawler's crash can reach.

    python web_process.py PAGES LATENCY

Prints its port, then serves pages that lead to one another: `/0` to all of `/1` ... `/PAGES - 1`, each after LATENCY
seconds. `/hits` is the list of the paths that were asked for, in their order.
"""

from __future__ import annotations

import asyncio
import json
import sys
from random import Random

LINKS = 8


def page(number: int, pages: int) -> bytes:
    """Two links that make a tree of all pages, and others to anywhere."""
    random = Random(number)
    targets = [2 * number + 1, 2 * number + 2, *(random.randrange(pages) for _ in range(LINKS))]
    links = "".join(f'<p><a href="/{to}">page {to}</a></p>' for to in targets if to < pages)
    words = " ".join(str(random.random()) for _ in range(60))
    return f"<!doctype html><title>page {number}</title><body>{links}<p>{words}</p></body>".encode()


class Server:
    def __init__(self, pages: int, latency: float) -> None:
        self._pages = pages
        self._latency = latency
        self._hits: list[str] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                path = head.split(b" ", 2)[1].decode()
                await self._answer(path, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _answer(self, path: str, writer: asyncio.StreamWriter) -> None:
        if path == "/hits":
            body, status = json.dumps(self._hits).encode(), "200 OK"
        else:
            self._hits.append(path)
            await asyncio.sleep(self._latency)
            known = path[1:].isdigit() and int(path[1:]) < self._pages
            body, status = (page(int(path[1:]), self._pages), "200 OK") if known else (b"", "404 Not Found")
        head = f"HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        await writer.drain()


async def main() -> None:
    pages, latency = int(sys.argv[1]), float(sys.argv[2])
    server = await asyncio.start_server(Server(pages, latency).serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
