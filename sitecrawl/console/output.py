"""Where a command's result goes: a file here, or by a URL a store elsewhere, which gets it when it is whole."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

from scrapy.settings import BaseSettings

from sitecrawl.base.errors import OptionError
from sitecrawl.crawl import configuration
from sitecrawl.crawldir.faults import file_errors
from sitecrawl.remote.options import is_remote
from sitecrawl.remote.store import Remote


@contextmanager
def output(name: str, settings: BaseSettings) -> Iterator[str]:
    """The file to write what is to become `name`. Of a URL it is one in a passing folder: when all went well it is
    sent, after whatever else was written there. Raises `SitecrawlError`.
    """
    if not is_remote(name):
        yield name
        return
    url, _, base = name.rpartition("/")
    if not base:
        raise OptionError("The URL of an output has to end with the name of a file")
    remote = Remote(configuration.remote_at(settings, url))
    remote.check()
    with file_errors(Path(gettempdir())), TemporaryDirectory(prefix="sitecrawl-") as folder:
        yield str(Path(folder, base))
        for path in sorted(Path(folder).iterdir(), key=lambda path: path.name == base):
            remote.send(path, path.name, changes=True)
