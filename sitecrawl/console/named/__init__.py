"""Scrapy's own commands with more, which only this project has (`COMMANDS_MODULE`).

Scrapy names a command after its module, and imports all of these whatever command is run. So they are light, as those
of `entry_points` are, which every project has.
"""
