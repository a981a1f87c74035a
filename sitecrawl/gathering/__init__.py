"""Gathers links from sitemaps for as long as a crawl lives: between the frontier and `sitecrawl.sitemap`."""

from sitecrawl.gathering.asking import sitemaps_of
from sitecrawl.gathering.watching import Gathering

__all__ = ["Gathering", "sitemaps_of"]
