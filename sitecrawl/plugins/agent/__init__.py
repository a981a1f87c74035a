"""A stored crawl for agents: an MCP server (https://modelcontextprotocol.io/). It only reads."""

from sitecrawl.base.plugins import Plugin

PLUGIN = Plugin(commands={"mcp": "sitecrawl.plugins.agent.commands.mcp.Command"}, needs=("export", "why"))
