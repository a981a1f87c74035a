"""`scrapy version`, which becomes that of `sitecrawl/console/commands/version.py`."""

from sitecrawl.console.entry_points import Later


class Version(Later):
    name = "version"
    requires_project = False
