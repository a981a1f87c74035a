"""A web that is made up as it is asked for, and a server that keeps count.

    python benchmarks/syntheticweb.py --pages 20000 --hosts 100 --port 8000

Page `n` is on host `n % hosts`; hosts are loopback addresses from 127.0.1.1 on. Every page has the same number of
links: two make a tree, by which all pages can be reached from page 0, the others go where a power law sends them:
anywhere, or with `--back 1` only to pages before it, so that the number of new URLs that a page brings stays the same
up to half of the web. Its text is a window into one long random text, so no two pages are alike, and all are of about
`--size` bytes.

`http://127.0.0.1:PORT/` is no part of the web: it tells what was asked for since it last told. `/peek` tells the same
and counts on.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Final, cast

CONTROL: Final = "127.0.0.1"
_HOSTS_A_NET: Final = 200
_TEXT: Final = 1 << 21
_WORD: Final = 7
_SKEW: Final = 3
"""The power of a uniform number by which targets are chosen: page 0 is linked to most."""
_ROBOTS: Final = b"User-agent: *\nDisallow: /private/\n"


@dataclass(frozen=True)
class Web:
    """`pages` pages of about `size` bytes with `links` links each, on `hosts` hosts that listen on `port`."""

    pages: int = 20_000
    hosts: int = 100
    links: int = 40
    size: int = 19_000
    port: int = 8000
    back: int = 0
    """1 if links beside the tree's lead to pages before."""

    @property
    def addresses(self) -> list[str]:
        return [f"127.0.{1 + host // _HOSTS_A_NET}.{1 + host % _HOSTS_A_NET}" for host in range(self.hosts)]

    @property
    def seeds(self) -> list[str]:
        """A URL of every host."""
        return [self.url(host) for host in range(min(self.hosts, self.pages))]

    def url(self, number: int) -> str:
        host = number % self.hosts
        address = f"127.0.{1 + host // _HOSTS_A_NET}.{1 + host % _HOSTS_A_NET}"
        return f"http://{address}:{self.port}{self.path(number)}"

    def path(self, number: int) -> str:
        row = number // self.hosts
        return f"/topic-{row % 13}/page-{row}.html" if row else "/"

    def number(self, address: str, path: str) -> int | None:
        """The page at `path` of the host that listens on `address`; None if there is none."""
        _, _, net, last = map(int, address.split("."))
        host = (net - 1) * _HOSTS_A_NET + last - 1
        name = path.rpartition("/")[2]
        with suppress(ValueError):
            row = 0 if path == "/" else int(name.removeprefix("page-").removesuffix(".html"))
            number = row * self.hosts + host
            if 0 <= host < self.hosts and number < self.pages and self.path(number) == path:
                return number
        return None

    def targets(self, number: int) -> list[int]:
        random = Random(number).random
        tree = [n for n in (2 * number + 1, 2 * number + 2) if n < self.pages]
        reach = number if self.back else self.pages
        return tree + [int(reach * random() ** _SKEW) for _ in range(self.links - len(tree))]

    def page(self, number: int) -> bytes:
        links = "".join(
            f'<li class="item"><a href="{self.url(n)}" title="To page {n}">page {n}</a></li>\n'
            for n in self.targets(number)
        )
        head = (
            f"<!DOCTYPE html><html><head><meta charset=utf-8><title>Page {number}</title></head>\n"
            f"<body><h1>Page {number}</h1><ul>\n{links}</ul>\n"
        )
        length = max(0, self.size - len(head))
        start = number * 7919 % (_TEXT - length)
        return f"{head}<p>{self._text[start : start + length]}</p></body></html>".encode()

    @cached_property
    def _text(self) -> str:
        random = Random(1)
        letters = "".join(random.choices("aaabcdeeeefghiiijklmnoooprrsssttuvwyz", k=_TEXT))
        words = (letters[at : at + random.randint(3, _WORD)] for at in range(0, _TEXT, _WORD))
        return " ".join(word if n % 60 else f"{word}.</p>\n<p>" for n, word in enumerate(words, 1)).ljust(_TEXT)

    def files(self, folder: Path) -> Iterator[Path]:
        """Write the web down, a folder a host, for a server of files."""
        for number in range(self.pages):
            address, path = self.addresses[number % self.hosts], self.path(number)
            file = folder / address / (f"{path}index.html" if path == "/" else path).lstrip("/")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(self.page(number))
            yield file
        for address in self.addresses:
            (folder / address / "robots.txt").write_bytes(_ROBOTS)


class Connection(asyncio.Protocol):
    """HTTP/1.1 without bodies of requests, connections kept alive. `hits` counts every page's requests."""

    def __init__(self, web: Web, hits: dict[int, int]) -> None:
        self._web = web
        self._hits = hits
        self._data = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._address: str = transport.get_extra_info("sockname")[0]

    def data_received(self, data: bytes) -> None:
        self._data += data
        while (end := self._data.find(b"\r\n\r\n")) >= 0:
            line, self._data = self._data[:end].partition(b"\r\n")[0], self._data[end + 4 :]
            path = line.split(b" ")[1].decode("latin-1").partition("?")[0]
            self._transport.write(self._response(path))

    def _response(self, path: str) -> bytes:
        if self._address == CONTROL:
            hits = self._hits.values()
            found = {"pages": len(hits), "requests": sum(hits), "repeated": sum(n > 1 for n in hits)}
            told = json.dumps({**found, "most": max(hits, default=0)}).encode()
            if path != "/peek":
                self._hits.clear()
            return _http(told, "application/json")
        if path == "/robots.txt":
            return _http(_ROBOTS, "text/plain")
        number = self._web.number(self._address, path)
        if number is None:
            return _http(b"<p>no such page</p>", "text/html", "404 Not Found")
        self._hits[number] = self._hits.get(number, 0) + 1
        return _http(self._web.page(number), "text/html; charset=utf-8")


def _http(body: bytes, content_type: str, status: str = "200 OK") -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


async def serve(web: Web) -> None:
    """Until SIGTERM."""
    loop, over, hits = asyncio.get_running_loop(), asyncio.Event(), dict[int, int]()
    loop.add_signal_handler(signal.SIGTERM, over.set)
    for address in [CONTROL, *web.addresses]:
        await loop.create_server(lambda: Connection(web, hits), address, web.port, backlog=512)
    print("ready", flush=True)
    await over.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in vars(Web()).items():
        parser.add_argument(f"--{name}", type=int, default=default)
    try:
        import uvloop  # noqa: PLC0415 - quicker where it is installed
    except ImportError:
        run = asyncio.run
    else:
        run = uvloop.run
    run(serve(Web(**vars(parser.parse_args()))))


if __name__ == "__main__":
    main()
