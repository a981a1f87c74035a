"""A part of a crawl that copies what the page store has."""

from __future__ import annotations

from typing import Self

from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured

from sitecrawl.crawl.build import Crawl
from sitecrawl.crawl.directories import only_looks
from sitecrawl.plugins.remote import REMOTE
from sitecrawl.plugins.remote.copy import RemoteCopy, open_place, place_of


class RemotePipeline:
    """Stands behind `pipelines.WarcPipeline`, which opens the page store, and has nothing to do with items."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Raises `OptionError` or `RemoteError`."""
        crawl = Crawl.of(crawler)
        store = crawl.pages.store
        if store is None or only_looks() or not REMOTE.read(crawler.settings):  # a dry run has taken it out
            raise NotConfigured
        session, manifest = crawl.peers.session, crawl.directory.manifest
        options = place_of(crawler.settings, crawl.directory.path, manifest, session)
        remote = open_place(options, manifest, session, may_wait=crawl.directory.resumed)
        copy = RemoteCopy(remote, store, crawl.stats)
        crawl.checkpoints.add(copy)
        crawl.checkpoints.last_acts.append(copy.finish)
        return cls()
