"""`scrapy version`, which says sitecrawl's, too."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version

from scrapy.commands.version import Command as ScrapyVersion

from sitecrawl import __version__, compiled
from sitecrawl.base.extras import DISTRIBUTION
from sitecrawl.console.version import Versioned


class Command(Versioned, ScrapyVersion):
    """Scrapy's own, and sitecrawl's; with -v those of the libraries that sitecrawl stands on."""

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        super().run(args, opts)
        if not opts.verbose:
            print(f"sitecrawl {__version__}")
            return
        rows = [("sitecrawl", __version__), *_libraries(), ("compiled core", compiled.IN_USE)]
        width = max(len(name) for name, _ in rows)
        for name, number in rows:
            print(f"{name:<{width}} : {number}")


def _libraries() -> Iterator[tuple[str, str]]:
    """What sitecrawl says that it needs, but for extras; nothing where it is not installed, as in an egg."""
    try:
        wanted = requires(DISTRIBUTION) or ()
    except PackageNotFoundError:
        return
    for requirement in wanted:
        if "extra ==" in requirement or (name := re.match(r"[\w.-]+", requirement)) is None:
            continue
        try:
            yield name[0], version(name[0])
        except PackageNotFoundError:  # another Python has it of itself
            continue
