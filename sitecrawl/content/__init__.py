"""Content that was seen before: equal bodies by digest, nearly equal text by SimHash."""

from sitecrawl.content.duplicates import ContentIndex, Verdict
from sitecrawl.content.simhash import distance, simhash
from sitecrawl.content.text import readable_text

__all__ = ["ContentIndex", "Verdict", "distance", "readable_text", "simhash"]
