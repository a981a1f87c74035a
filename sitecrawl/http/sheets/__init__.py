"""Other settings for some hosts than for the crawl: delays, headers, scope and the like, by sheets of hosts."""

from sitecrawl.http.sheets.sheet import RobotsException, Sheet, Sheets

__all__ = ["RobotsException", "Sheet", "Sheets"]
