"""A look before a crawl: what it would fetch, and what that would take (docs/commands.md)."""

from sitecrawl.base.plugins import Plugin

PLUGIN = Plugin(arguments={"dry": "sitecrawl.plugins.dry_run.look.DryRun"})
