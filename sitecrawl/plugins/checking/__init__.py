"""Verifying a crawl's directory or its keys on Redis; index and database made again (docs/after-damage.md)."""

from sitecrawl.base.plugins import Plugin

PLUGIN = Plugin(
    components={"EXTENSIONS": {"sitecrawl.plugins.checking.rereading.Rereading": 0}},
    commands={"check-crawl": "sitecrawl.plugins.checking.commands.check-crawl.Command"},
)
