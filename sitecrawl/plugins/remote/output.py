"""A result that is named by a URL: a store elsewhere gets it when it is whole."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

from scrapy.settings import BaseSettings

from sitecrawl.base.errors import OptionError
from sitecrawl.crawldir.faults import file_errors
from sitecrawl.plugins.remote.options import remote_at
from sitecrawl.plugins.remote.store import Remote


class Elsewhere:
    """See `elsewhere` of `sitecrawl.base.plugins.Plugin`."""

    @staticmethod
    def check(url: str, settings: BaseSettings) -> None:
        """Raises `OptionError`."""
        remote_at(settings, url.rpartition("/")[0])

    @staticmethod
    @contextmanager
    def output(url: str, settings: BaseSettings) -> Iterator[str]:
        """A file in a passing folder. When all went well it is sent, after whatever else was written there. Raises
        `SitecrawlError`.
        """
        place, _, base = url.rpartition("/")
        if not base:
            raise OptionError("The URL of an output has to end with the name of a file")
        remote = Remote(remote_at(settings, place))
        remote.check()
        with file_errors(Path(gettempdir())), TemporaryDirectory(prefix="sitecrawl-") as folder:
            yield str(Path(folder, base))
            for path in sorted(Path(folder).iterdir(), key=lambda path: path.name == base):
                remote.send(path, path.name, changes=True)
