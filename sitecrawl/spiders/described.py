"""What a spider takes with `-a`, for `scrapy crawl SPIDER --help`."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap
from typing import Final

from scrapy import Spider
from scrapy.utils.python import get_func_args

from sitecrawl.job.reading import described
from sitecrawl.spiders.arguments import NAMES
from sitecrawl.spiders.site import SiteSpider

_JOB: Final = "A name for the crawl's directory, or a job file: site.toml."
_COLUMN: Final = 22
_WIDTH: Final = 79


def arguments_of(name: str, kind: type[Spider]) -> Iterator[str]:
    """Lines that name all arguments of the spider `name`, with what the job file's schema says of them."""
    yield from ("", f"Arguments of the spider {name}", "-" * (len(name) + 24))
    if not issubclass(kind, SiteSpider):
        names = [one for one in get_func_args(kind.__init__, stripself=True) if one != "name"]
        yield f"  {', '.join(names) or 'what its code asks for'}"
        return
    words = {"job": _JOB, **described()}
    for one in (*kind.own_arguments, *NAMES):
        yield from _lines(one, words.get(one, "Of this spider: docs/spiders.md says more."))


def _lines(name: str, words: str) -> Iterator[str]:
    first, *others = wrap(words, _WIDTH - _COLUMN) or [""]
    yield f"  -a {name + '=':<{_COLUMN - 6}} {first}"
    yield from (" " * _COLUMN + line for line in others)
