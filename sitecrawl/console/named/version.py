"""`scrapy version`, which becomes that of `sitecrawl/commands/version.py`."""

from sitecrawl.console.entry_points import Later


class Version(Later):
    name = "version"
    requires_project = False
