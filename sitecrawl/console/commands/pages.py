"""`scrapy pages`: what is stored, listed and filtered."""

from __future__ import annotations

import argparse
import re
import sys
from itertools import islice
from typing import Final

from sitecrawl.base.display import one_line
from sitecrawl.console.base_command import ListingCommand
from sitecrawl.console.listing import Layout, add_filters, filter_of, why_nothing, write
from sitecrawl.pagestore.capture import Capture
from sitecrawl.pagestore.console import time_of

_TITLE_WIDTH: Final = 50
_LINE_BREAKS = re.compile(r"[\t\n]+")


def _capture(capture: Capture) -> str:
    title = one_line(_LINE_BREAKS.sub(" ", capture.title or f"({capture.kind})"))
    if len(title) > _TITLE_WIDTH:
        title = title[: _TITLE_WIDTH - 1] + "\N{HORIZONTAL ELLIPSIS}"
    size = capture.payload_size if capture.size is None else capture.size
    numbers = f"{time_of(capture)}  {capture.status:>6}  {size:>9}"
    return f"{numbers}  {title:<{_TITLE_WIDTH}}  {one_line(capture.url)}"


CAPTURES: Final = Layout(
    f"{'fetched (UTC)':<19}  {'status':>6}  {'size':>9}  {'title':<{_TITLE_WIDTH}}  url",
    _capture,
    Capture._fields,
    Capture._asdict,
)


class Command(ListingCommand):
    """List what a crawl has stored, oldest first. Works while the crawl runs."""

    summary = "List stored pages"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add_filters(parser)

    def list(self, opts: argparse.Namespace) -> None:
        wanted = filter_of(opts)
        with self.pages(opts) as reader:
            rows = reader.pages(wanted)
            if wanted.kind is None:  # fetched for other pages, once a day and run
                rows = (capture for capture in rows if capture.kind != "robots")
            if not write(islice(rows, opts.limit), CAPTURES, sys.stdout, format=opts.format):
                print(f"scrapy: {why_nothing(reader, wanted)}", file=sys.stderr)
