"""Content that was seen before: equal bodies by digest, nearly equal text by SimHash."""

from sitecrawl.content.duplicates import ContentIndex, Verdict
from sitecrawl.content.simhash import distance, simhash

__all__ = ["ContentIndex", "Verdict", "distance", "simhash"]
