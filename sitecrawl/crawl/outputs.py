"""Files of plug-ins written after a crawl, locally or in a remote store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scrapy.settings import BaseSettings, Settings
from scrapy.utils.misc import load_object

from sitecrawl.base import plugins
from sitecrawl.base.errors import OptionError
from sitecrawl.crawl import sharing


@dataclass(frozen=True, slots=True)
class _Output:
    """An output file, local or, by a URL, in a remote store."""

    target: str
    write: Callable[[Path, Settings], None]
    """Writes it from the crawl's directory. Raises `SitecrawlError`."""


def outputs(settings: BaseSettings) -> list[_Output]:
    """Outputs named by settings of plug-ins. Raises `OptionError` for an unknown format."""
    found = []
    for plugin in plugins.of_crawl(settings).values():
        for setting, path in plugin.outputs.items():
            if value := setting.read(settings):
                to = load_object(path)
                found += [_Output(target, to(target)) for target in (value if isinstance(value, list) else [value])]
    return found


def check_outputs(settings: BaseSettings) -> None:
    """Raise `OptionError` for outputs that cannot be written, as far as that is known at the start."""
    found = outputs(settings)
    for output in found:
        check_target(output.target, settings)
    if found and sharing.redis_of(settings) is not None:
        raise OptionError(
            "SITECRAWL_EXPORTS and SITECRAWL_REPORT are of a crawl in one process, and all workers would write the "
            "same files: leave them out, and let scrapy export and scrapy report write them when all have ended"
        )


def check_target(target: object, settings: BaseSettings) -> None:
    """Check that `target` can be written. Raises `OptionError`."""
    if not isinstance(target, str):
        raise OptionError(f"{target!r} is no name of a file")
    if is_remote(target):
        _elsewhere(settings).check(target, settings)
    elif not Path(target).parent.is_dir():
        raise OptionError(f"{target} cannot be written: there is no folder {Path(target).parent}")
    elif Path(target).is_dir():
        raise OptionError(f"{target} cannot be written: it is a folder")


def is_remote(name: str) -> bool:
    """Whether `name` is a URL and no local file."""
    return "://" in name


@contextmanager
def output(name: str, settings: BaseSettings) -> Iterator[str]:
    """Context manager: the local file to write for the output `name`, which may be a URL. Raises `SitecrawlError`."""
    if is_remote(name):
        with _elsewhere(settings).output(name, settings) as file:
            yield file
    else:
        yield name


def _elsewhere(settings: BaseSettings) -> Any:
    """The plug-in's class for outputs named by a URL. Raises `OptionError` without one."""
    for plugin in plugins.of_crawl(settings).values():
        if plugin.elsewhere:
            return load_object(plugin.elsewhere)
    raise OptionError("A URL names a store elsewhere, which is of a plug-in that is not here: docs/plugins.md")
