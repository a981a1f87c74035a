"""llms.txt, in which a site lists its pages for language models: asked for, and followed (docs/commands.md)."""

from sitecrawl.base.plugins import Plugin

PLUGIN = Plugin(arguments={"llms_txt": "sitecrawl.plugins.llms_txt.asking.LlmsTxt"})
