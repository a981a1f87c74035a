"""`scrapy crawl`, which becomes that of `sitecrawl/commands/crawl.py`."""

from sitecrawl.console.entry_points import Later


class Crawl(Later):
    name = "crawl"
    requires_project = True
