"""The names of a crawl's keys on Redis."""

from __future__ import annotations


class Keys:
    """Key names of the crawl `crawl`."""

    def __init__(self, crawl: str, shards: int) -> None:
        self.crawl = crawl
        self.shards = shards

    def base(self, partition: int) -> str:
        """Common prefix of a partition's keys. The hash tag keeps them in one slot."""
        return f"sitecrawl:{{{self.crawl}.{partition}}}:"
