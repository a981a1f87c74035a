"""Which version this is: the one line that `--version` prints of every command of ours."""

from __future__ import annotations

import argparse
import platform
import sys
from importlib.metadata import version
from typing import Any

from scrapy.commands import ScrapyCommand

from sitecrawl import __version__
from sitecrawl.base.display import forgive


def _in_one_line() -> str:
    """Of sitecrawl, and of what it stands on."""
    return f"sitecrawl {__version__} (Scrapy {version('scrapy')}, Python {platform.python_version()})"


class _Version(argparse.Action):
    """`argparse` has one that wants the line before anybody has asked for it."""

    def __init__(self, option_strings: list[str], dest: str, **_: Any) -> None:
        super().__init__(
            option_strings, dest=argparse.SUPPRESS, nargs=0, help="print which version this is, and exit"
        )

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        print(_in_one_line())
        parser.exit()


def add_version(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--version", action=_Version)


class Versioned(ScrapyCommand):
    """A command that answers `--version`, and whose output any terminal can show."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        forgive(sys.stdout, sys.stderr)
        add_version(parser)
