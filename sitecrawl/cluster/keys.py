"""The names of a crawl's keys on Redis."""

from __future__ import annotations


class Keys:
    """Those of the crawl called `crawl`, of so many partitions."""

    def __init__(self, crawl: str, shards: int) -> None:
        self.crawl = crawl
        self.shards = shards

    def base(self, partition: int) -> str:
        """What all keys of a partition begin with. The hash tag keeps them in one slot."""
        return f"sitecrawl:{{{self.crawl}.{partition}}}:"
