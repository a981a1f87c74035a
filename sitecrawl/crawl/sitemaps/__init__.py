"""Gathers links from sitemaps for as long as a crawl lives: between the frontier and `sitecrawl.sitemap`."""

from sitecrawl.crawl.sitemaps.for_spiders import sitemaps_of
from sitecrawl.crawl.sitemaps.watching import Gathering

__all__ = ["Gathering", "sitemaps_of"]
