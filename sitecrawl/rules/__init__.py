"""Structured data by rules in a file: what is a rule, what it makes of a page (docs/extract.md)."""

from sitecrawl.rules.extraction import Extraction, Outcome, PageText
from sitecrawl.rules.reading import RuleSet, read_rules

__all__ = ["Extraction", "Outcome", "PageText", "RuleSet", "read_rules"]
