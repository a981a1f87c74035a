"""What a spider takes with `-a`, for `scrapy crawl SPIDER --help`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from textwrap import wrap
from typing import Final

from scrapy.settings import BaseSettings

from sitecrawl.spiders.job_file import job_files

_JOB: Final = "A name for the crawl's directory, or a job file: site.toml."
_COLUMN: Final = 22
_WIDTH: Final = 79


def arguments_of(spider: str, names: Iterable[str], settings: BaseSettings) -> Iterator[str]:
    """Lines on the arguments `names` of a spider, with what the plug-in for job files knows of them."""
    yield from ("", f"Arguments of the spider {spider}", "-" * (len(spider) + 24))
    files = job_files(settings)
    words = {"job": _JOB, **(files.described() if files is not None else {})}
    for name in names:
        yield from _lines(name, words.get(name, "Of this spider: docs/spiders.md says more."))


def _lines(name: str, words: str) -> Iterator[str]:
    first, *others = wrap(words, _WIDTH - _COLUMN) or [""]
    yield f"  -a {name + '=':<{_COLUMN - 6}} {first}"
    yield from (" " * _COLUMN + line for line in others)
