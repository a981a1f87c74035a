"""Why a URL was fetched, waits, or is not known: one answer, with what speaks for it (docs/why.md)."""

from sitecrawl.base.plugins import Plugin

PLUGIN = Plugin(commands={"why": "sitecrawl.plugins.why.commands.why.Command"})
