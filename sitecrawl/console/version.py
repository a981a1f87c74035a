"""Which version this is: the one line that `--version` prints of every command of ours."""

from __future__ import annotations

import argparse
import platform
import sys

import scrapy
from scrapy.commands import ScrapyCommand

from sitecrawl import __version__
from sitecrawl.base.display import forgive


def add_version(parser: argparse.ArgumentParser) -> None:
    line = f"sitecrawl {__version__} (Scrapy {scrapy.__version__}, Python {platform.python_version()})"
    parser.add_argument("--version", action="version", version=line, help="print which version this is, and exit")


class Versioned(ScrapyCommand):
    """A command that answers `--version`, and whose output any terminal can show."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        forgive(sys.stdout, sys.stderr)
        add_version(parser)
