"""A stored crawl for agents: an MCP server (https://modelcontextprotocol.io/), and the same over HTTP. Read only."""
