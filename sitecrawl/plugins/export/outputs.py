"""An export that is written when the crawl has ended (`SITECRAWL_EXPORTS`)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import Final

from scrapy.settings import Settings

from sitecrawl.base.errors import OptionError, how_to_install

_FORMS: Final = {
    ".csv": "pages",
    ".jsonl": "pages",
    ".parquet": "pages",
    ".wacz": "wacz",
}
"""What `scrapy export` makes of a file whose name ends so."""


def export_to(target: object) -> Callable[[Path, Settings], None]:
    """What `scrapy export` does. Raises `OptionError` for a name that ends like none of `_FORMS`."""
    ending = PurePosixPath(target).suffix if isinstance(target, str) else ""
    if ending not in _FORMS:
        raise OptionError(f"{target!r} names no format of an export: end it with {', '.join(_FORMS)}")
    if ending == ".parquet" and find_spec("pyarrow") is None:
        raise OptionError(f"{target} needs pyarrow: {how_to_install('export')}")
    return partial(_write, _FORMS[ending], str(target))


def _write(form: str, target: str, directory: Path, settings: Settings) -> None:
    from sitecrawl.plugins.export.commands.export import Command  # noqa: PLC0415 - not before there is anything

    command = Command()
    command.write(form, command.options(settings, "-d", str(directory), "-o", target))
