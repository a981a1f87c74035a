"""The processes that read a crawl's pages, as the crawl sees them (`sitecrawl.page.process_pool`)."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from sitecrawl.page.codings import Damaged, TooLarge
from sitecrawl.page.items import Headers, Reading
from sitecrawl.page.links import PageOptions
from sitecrawl.page.process_frames import BadAnswer
from sitecrawl.page.process_pool import PoolOptions, WorkerPool
from sitecrawl.page.text_digest import DIGEST_SIZE
from sitecrawl.plugins.isolation.facts import reading_of


@dataclass(frozen=True, slots=True)
class ParserOptions:
    """How pages are read in processes of their own."""

    processes: int
    """How many; 0: pages are read in the crawl's own process."""
    seconds: float
    """For one page, from sending it to the last byte of the answer."""
    memory: int
    """Bytes of address space of each; 0: no limit."""
    page: PageOptions


@dataclass(frozen=True, slots=True)
class Content:
    """What a worker has made of a response."""

    body: bytes
    """Without the content codings that are known."""
    codings: list[bytes]
    """Those that are not."""
    reading: Reading | None
    """None where no page was asked for."""


class Parsers(WorkerPool):
    """Raises `NoParser` where a first worker cannot be started."""

    def __init__(self, options: ParserOptions, *, module: str = "sitecrawl.plugins.isolation.worker") -> None:
        rations = PoolOptions(options.processes, options.seconds, options.memory)
        super().__init__(module, {"page": asdict(options.page)}, rations, "set SITECRAWL_PARSE_PROCESSES=0")
        self._page = options.page

    def read(
        self, url: str, body: bytes, headers: Headers, *, max_size: int, decode: bool = True, page: bool = True
    ) -> Content:
        """Take the content codings off `body`, to at most `max_size` bytes, if it is to `decode`; read a `page`.

        Raises `Quarantined`, `NoParser`, and as `sitecrawl.page.codings.checked` does `TooLarge` and `Damaged`.
        """
        request = {
            "url": url,
            "headers": [[name.decode("latin-1"), value.decode("latin-1")] for name, value in headers],
            "decode": decode,
            "page": page,
            "max_size": max_size,
        }
        return self._asked(
            request, body, lambda answer, given: self._content(answer, given, body, url), max(max_size, len(body))
        )

    def text_digest(self, content_type: str, charset: str | None, body: bytes) -> bytes:
        """As `sitecrawl.page.text_digest.text_digest`. Raises `Quarantined` and `NoParser`."""
        return self._asked({"digest_of": content_type, "charset": charset}, body, _digest)

    def _content(self, answer: dict[str, Any], given: bytes, sent: bytes, url: str) -> Content:
        for name, error in (("too_large", TooLarge), ("damaged", Damaged)):
            if isinstance(answer.get(name), str):
                raise error(str(answer[name])[:200])
        kept = answer.get("kept")
        if not isinstance(kept, list) or not all(isinstance(one, str) and one.isascii() for one in kept):
            raise BadAnswer("no codings")
        body = given if answer.get("decoded") is True else sent
        facts = answer.get("facts")
        reading = reading_of(facts, url, body, self._page) if facts is not None else None
        return Content(body, [one.encode("ascii") for one in kept], reading)


def _digest(answer: dict[str, Any], _: bytes) -> bytes:
    try:
        digest = bytes.fromhex(answer["digest"])
    except (KeyError, TypeError, ValueError) as error:
        raise BadAnswer("no digest") from error
    if len(digest) != DIGEST_SIZE:
        raise BadAnswer("no digest")
    return digest
