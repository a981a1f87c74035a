"""`scrapy crawl`, which becomes that of `sitecrawl/console/commands/crawl.py`."""

from sitecrawl.console.entry_points import Later


class Crawl(Later):
    name = "crawl"
    requires_project = True
