"""Structured data by rules in a file: what is a rule, what it makes of a page (docs/extract.md)."""

from sitecrawl.rules.extraction import Extraction, Outcome
from sitecrawl.rules.reading import read_rules
from sitecrawl.rules.rule import RuleSet
from sitecrawl.rules.sources import PageText

__all__ = ["Extraction", "Outcome", "PageText", "RuleSet", "read_rules"]
