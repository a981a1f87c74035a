"""Exchanges to store, and the two checkers that every WARC file must pass."""

from __future__ import annotations

from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import cast

import fastwarc.cli as fastwarc
import warcio.cli as warcio

from sitecrawl.crawldir.database import Batch
from sitecrawl.page.items import Exchange, Headers, PageItem
from sitecrawl.pagestore import PageReader

STARTED = 1_800_000_000.25

NO_BATCH = cast("Batch", None)
"""For stores that have nothing to put into one."""


def exchange(
    url: str = "http://site.example/",
    body: bytes = b"<title>Hello</title>",
    status: int = 200,
    headers: Headers = ((b"Content-Type", b"text/html; charset=utf-8"),),
    started: float = STARTED,
    **more,
) -> Exchange:
    request_headers = [(b"User-Agent", b"sitecrawl-test")]
    return Exchange(url, started, 0.5, status, request_headers, list(headers), body, **more)


def page(of: Exchange, **facts) -> PageItem:
    facts = {"content_type": "text/html", "charset": "utf-8", "size": len(of.body), "body": of.body, **facts}
    return PageItem(url=of.url, status=of.status, fetched=of.started, exchange=of, **facts)


def warc_files(directory: Path) -> list[Path]:
    return sorted((directory / "warc").iterdir())


def assert_checkers_pass(directory: Path) -> None:
    """`warcio check` and `fastwarc check` accept every WARC file of the crawl directory."""
    for path in warc_files(directory):
        assert faults(path) == {}


def faults(path: Path, *options: str) -> dict[str, str]:
    """What each of the two has to say of a file that it does not accept, by its name. `options` are FastWARC's.

    They run in this process: a process for each file and checker takes longer than all else that a test does with it.
    """
    commands = {"warcio": (warcio.main, ["check"]), "fastwarc": (fastwarc.main, ["check", "--quiet", *options])}
    found = {}
    for name, (main, arguments) in commands.items():
        said = StringIO()
        try:
            with redirect_stdout(said):
                main([*arguments, str(path)])
        except SystemExit as end:
            if end.code:
                found[name] = f"{end.code}: {said.getvalue()}"
        except Exception as error:  # noqa: BLE001 - as a command it would end with a traceback
            found[name] = repr(error)
    return found


def stored(directory: Path) -> list[tuple[str, bytes]]:
    """URL and body of every capture, read back."""
    with PageReader(directory) as reader:
        return [(capture.url, reader.read(capture).body) for capture in reader.pages()]
