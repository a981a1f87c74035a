"""A base for frontiers: parts that do nothing, and defaults for methods that a simple frontier can do without."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sitecrawl.crawldir.database import Batch
from sitecrawl.frontier.contract import Capability, Figures, Frontier
from sitecrawl.frontier.forms.duplicates import Verdict
from sitecrawl.frontier.urls.host import Host
from sitecrawl.frontier.urls.record import UrlRecord
from sitecrawl.frontier.urls.visit import Visit
from sitecrawl.page.items import Link


class Nothing:
    """All parts of a frontier in one: it knows no URL and no host, compares no content, and keeps no manners."""

    def get(self, key: bytes) -> UrlRecord | None:
        return None

    def get_many(self, keys: Sequence[bytes]) -> Mapping[bytes, UrlRecord | None]:
        return {key: self.get(key) for key in keys}

    def live(self) -> Iterator[Host]:
        return iter(())

    def answered(self, visit: Visit, *, failed: bool, retry_after: float = 0.0) -> None:
        """No pause comes of it."""

    def slow_down(self, host_name: str, crawl_delay: float) -> None:
        """No pause comes of it."""

    def is_out(self, visit: Visit) -> bool:
        return False

    def is_repeated(self, visit: Visit, sha1: bytes) -> bool:
        return False

    def judge(
        self, visit: Visit, sha1: bytes, *, title: str, text_hash: int | None, sample: bytes | None = b""
    ) -> Verdict:
        return Verdict.NEW


class BaseFrontier(Frontier):
    """Inherit it, and write `add`, `next`, `is_finished`, `done`, `retry` and `put_back`."""

    can = Capability.NONE
    urls = hosts = manners = contents = Nothing()

    @property
    def figures(self) -> Figures:
        """The crawl's summary shows zeros."""
        return Figures()

    def expand(self, visit: Visit, found: Sequence[Link], *, rest: int = 0) -> int:
        """A page has no credit to spend."""
        return self.add(found, depth=visit.depth + 1, referrer=visit.key)

    def again(self, key: bytes, *, priority: int = 0, request: bytes | None = None) -> bool:
        """What has come to its end is not queued again."""
        return False

    def next_time(self) -> float | None:
        """No host rests: only what is in flight brings something."""
        return None

    def downloaded(
        self,
        visit: Visit,
        seconds: float,
        *,
        ip: str | None = None,
        failed: bool | None = False,
        retry_after: float = 0.0,
    ) -> None:
        """No pause comes of it."""

    def prepare(self, batch: Batch) -> None:
        """Nothing is kept: a crawl that is resumed begins anew."""

    def committed(self) -> None:
        """Nothing was written."""
