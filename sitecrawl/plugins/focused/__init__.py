"""What is about a topic comes first: the spider `focused`, and what links promise to it (docs/spiders.md)."""

from sitecrawl.base.plugins import Plugin

PLUGIN = Plugin(spiders=("sitecrawl.plugins.focused.spider",))
