"""Verifying a crawl's directory, and rebuilding what of it can be rebuilt."""

from sitecrawl.checking.crawl import Report, check, repair
from sitecrawl.checking.problems import Finding

__all__ = ["Finding", "Report", "check", "repair"]
