"""The other processes of a crawl."""

from __future__ import annotations

from collections.abc import Mapping

from sitecrawl.crawldir.database import Batch


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
