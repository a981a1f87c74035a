"""Parts of a frontier that do nothing: a base for simple frontiers, the peers of a crawl in one process."""

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


class Peers:
    """None: the crawl is all in this process. `cluster.shared_frontier.SharedFrontier` has those of a worker."""

    @property
    def are_there(self) -> bool:
        """Whether other processes may share the crawl."""
        return False

    @property
    def session(self) -> str:
        """Name of this process among the workers."""
        return ""

    @property
    def share(self) -> float:
        """Share of all sites that this process has."""
        return 1.0

    @property
    def is_first(self) -> bool:
        """Whether no other process was at work when this one began."""
        return True

    @property
    def is_last(self) -> bool:
        """Whether this process has ended, and no other was at work then; as far as can be said."""
        return True

    @property
    def wants_checkpoint(self) -> bool:
        """Whether there is nothing to do before a checkpoint has been made."""
        return False

    def has(self, host_name: str) -> bool:
        """Whether this process owns the host."""
        return True

    def tell(self, text: str) -> None:
        """Let all others hear `text`, those that begin later as well: by `WorkerListener.widened`. What is said twice
        is there once.
        """

    def end(self, reason: str) -> None:
        """End the others' crawls, too, for Scrapy's finish reason `reason`."""

    def pause(self) -> None:
        """Nothing will be asked for soon: what others could fetch meanwhile, they may."""

    def recording(self, batch: Batch) -> Batch:
        """The batch for all who write into a checkpoint, made of `batch`."""
        return batch

    # Life

    def start(self) -> None:
        """Start talking to the other workers. Call it inside the event loop."""

    async def close(self) -> None:
        """Stop talking. What is durable stays."""

    def stats(self) -> Mapping[str, int | float]:
        """Counts for the crawl's statistics."""
        return {}
