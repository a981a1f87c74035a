"""The sitemaps of a live crawl: between the frontier and `sitecrawl.sitemap`."""

from sitecrawl.crawl.sitemaps.for_spiders import sitemaps_of
from sitecrawl.crawl.sitemaps.sitemaps import Sitemaps

__all__ = ["Sitemaps", "sitemaps_of"]
