"""Scrapy's own commands with more, which only this project has (`COMMANDS_MODULE`).

Scrapy names a command after its module, and imports all of these whatever command is run. So they are light, as those
of `entry_points` are, which every project has.
"""

from sitecrawl.console.interrupt import in_a_line

in_a_line()  # only Scrapy's command line imports this, and first of all that is ours but the settings
