"""Verifying a crawl's directory, and rebuilding what of it can be rebuilt."""

from sitecrawl.checking.crawl import CheckResult, check, repair
from sitecrawl.checking.problems import Problem

__all__ = ["CheckResult", "Problem", "check", "repair"]
