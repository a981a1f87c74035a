"""What a crawl writes when it has ended, which is what `scrapy export` and `scrapy report` make of it."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import Final

from scrapy.settings import BaseSettings

from sitecrawl.base.errors import OptionError
from sitecrawl.base.extras import how_to_install
from sitecrawl.crawl import configuration, sharing
from sitecrawl.remote.options import is_remote

REPORT: Final = "report"
FORMS: Final = {
    ".csv": "pages",
    ".jsonl": "pages",
    ".parquet": "pages",
    ".arcs": "graph",
    ".wacz": "wacz",
}
"""What `scrapy export` makes of a file whose name ends so."""


@dataclass(frozen=True, slots=True)
class Output:
    """A file, or by a URL one in a store elsewhere."""

    what: str
    """A form of `scrapy export`, or `REPORT`."""
    target: str


def outputs(settings: BaseSettings) -> list[Output]:
    """Those of SITECRAWL_EXPORTS and SITECRAWL_REPORT. Raises `OptionError` for what has no form."""
    found = [Output(form_of(target), target) for target in settings.getlist("SITECRAWL_EXPORTS")]
    report = settings.get("SITECRAWL_REPORT")
    return [*found, Output(REPORT, report)] if report else found


def check_outputs(settings: BaseSettings) -> None:
    """Raises `OptionError` for what could not be written, as far as that is known before there is anything to."""
    found = outputs(settings)
    for output in found:
        check_target(output.target, settings)
    if found and sharing.redis_of(settings) is not None:
        raise OptionError(
            "SITECRAWL_EXPORTS and SITECRAWL_REPORT are of a crawl in one process, and all workers would write the "
            "same files: leave them out, and let scrapy export and scrapy report write them when all have ended"
        )


def form_of(target: object) -> str:
    """What is to be exported. Raises `OptionError`."""
    ending = PurePosixPath(target).suffix if isinstance(target, str) else ""
    if ending not in FORMS:
        raise OptionError(f"{target!r} names no format of an export: end it with {', '.join(FORMS)}")
    if ending == ".parquet" and find_spec("pyarrow") is None:
        raise OptionError(f"{target} needs pyarrow: {how_to_install('export')}")
    return FORMS[ending]


def check_target(target: object, settings: BaseSettings) -> None:
    """Raises `OptionError`."""
    if not isinstance(target, str):
        raise OptionError(f"{target!r} is no name of a file")
    if is_remote(target):
        configuration.remote_at(settings, target.rpartition("/")[0])
    elif not Path(target).parent.is_dir():
        raise OptionError(f"{target} cannot be written: there is no folder {Path(target).parent}")
    elif Path(target).is_dir():
        raise OptionError(f"{target} cannot be written: it is a folder")
