"""`scrapy settings`, which becomes that of `sitecrawl/console/commands/settings.py`."""

from sitecrawl.console.entry_points import Later


class Settings(Later):
    name = "settings"
    requires_project = False
