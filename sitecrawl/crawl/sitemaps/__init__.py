"""The sitemaps of a live crawl: found, remembered, and visited when they may have something new."""

from sitecrawl.crawl.sitemaps.for_spiders import sitemaps_of

__all__ = ["sitemaps_of"]
