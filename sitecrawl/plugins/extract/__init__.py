"""Structured data by rules in a file: the spider `extract`, and `scrapy rules` (docs/extract.md)."""

from sitecrawl.base.plugins import Plugin

PLUGIN = Plugin(
    commands={"rules": "sitecrawl.plugins.extract.commands.rules.Command"},
    spiders=("sitecrawl.plugins.extract.spider",),
    needs=("export",),
)
