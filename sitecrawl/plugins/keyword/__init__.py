"""The nearest page that says something: the spider `keyword`, and the program `KeywordHunter` (docs/spiders.md)."""

from sitecrawl.base.plugins import Plugin

PLUGIN = Plugin(spiders=("sitecrawl.plugins.keyword.spider",))
