"""What reads the texts of a job file: those readers that arguments and settings have, too."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from scrapy.settings import Settings
from scrapy.utils.conf import feed_process_params_from_cli

from sitecrawl.crawl.directories import check_job_name
from sitecrawl.crawl.outputs import check_target, is_remote, outputs
from sitecrawl.crawl.seeds import names_file, read_seeds, seeds_of
from sitecrawl.http import written_sheets
from sitecrawl.spiders.job_file import is_file
from sitecrawl.urls.url import CRAWLED

_SETTING: Final = re.compile(r"[A-Z][A-Z0-9_]*")
_URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")


def readers(folder: Path) -> Mapping[str, Callable[[str], object]]:
    """By `format` in the schema. `folder`: where relative paths begin."""
    return {
        **written_sheets.READERS,
        "job-name": _name,
        "seed": _seed,
        "seeds": lambda text: _seeds(text, folder),
        "url": lambda text: seeds_of([text]),
        "feed": _feed,
        "export": lambda text: _export(text, folder),
        "report": lambda text: _report(text, folder),
        "setting-name": _setting,
        "workers": _workers,
    }


def _workers(text: str) -> None:
    if text != "auto":
        raise ValueError("it has to be a number, or auto, for one each core")


def _name(text: str) -> None:
    check_job_name(text)
    if is_file(text):
        raise ValueError(f"{text!r} would be a file: a name has no ending like {Path(text).suffix}")


def _seed(text: str) -> None:
    if text.startswith("@") or names_file(text):
        raise ValueError(f"a list holds URLs: for a file write seeds = {text!r} alone")
    seeds_of([text], schemes=CRAWLED)


def _seeds(text: str, folder: Path) -> None:
    """A file need only be there: it is read when the crawl begins."""
    path = seeds_file(text, folder)
    if path is None:
        read_seeds(text, schemes=CRAWLED)
    elif path is not None and not path.is_file():
        raise ValueError(f"there is no file {path}")


def seeds_file(text: str, folder: Path) -> Path | None:
    """The file that a text of seeds names; None for URLs."""
    if text.startswith("@"):
        return folder / text[1:]
    is_one = "\n" not in text and (names_file(text) or names_file(str(folder / text)))
    return folder / text if is_one else None


def _feed(text: str) -> None:
    feed_of(text, Path())


def feed_of(text: str, folder: Path) -> dict[str, dict[str, object]]:
    """Of FEEDS what `-o` would make of `text`, a path below `folder` or a URI. Raises `ValueError`."""
    try:
        ((uri, options),) = feed_process_params_from_cli(Settings(), [text]).items()
    except Exception as error:  # Scrapy's UsageError, whose words are about a command line
        raise ValueError(f"{text!r} names no format: end it with .csv, .json, .jsonl or .xml") from error
    below = Path(str(folder).replace("%", "%%"))  # Scrapy fills in what stands behind a percent sign
    return {uri if _URI.match(uri) else str(below / uri): options}


def _export(text: str, folder: Path) -> None:
    outputs(Settings({"SITECRAWL_EXPORTS": [text]}))
    _report(text, folder)


def _report(text: str, folder: Path) -> None:
    check_target(target_of(text, folder), Settings())


def target_of(text: str, folder: Path) -> str:
    """The file below `folder`, or the URL, that an export or the report goes to."""
    return text if is_remote(text) else str(folder / text)


def _setting(text: str) -> None:
    if not _SETTING.fullmatch(text):
        raise ValueError(f"{text!r} is no name of a setting: they are written in capitals")
