"""`scrapy mcp`: a stored crawl for agents."""

from __future__ import annotations

import argparse
import sys

from scrapy.exceptions import UsageError

from sitecrawl.base.extras import how_to_install
from sitecrawl.console.base_command import ReadingCommand
from sitecrawl.crawl.configuration import robots_agent
from sitecrawl.pagestore.console import exit_code_on_error
from sitecrawl.plugins.export import USE
from sitecrawl.plugins.why.commands.why import source_of


class Command(ReadingCommand):
    """Serve a stored crawl to an agent by the Model Context Protocol, over stdin and stdout: search, pages as
    Markdown, and why a URL is there or is not. Nothing of the crawl can be changed. Works while the crawl runs.
    """

    usage = "[options]"
    summary = "Serve a stored crawl to agents (MCP)"

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if args:
            raise UsageError(f"unknown argument {args[0]!r}")
        try:
            import mcp  # noqa: F401, PLC0415 - an extra
        except ImportError:
            print(f"scrapy: {how_to_install('mcp')}", file=sys.stderr)
            self.exitcode = 1
            return
        with exit_code_on_error(self):
            with self.pages(opts):
                pass  # whoever starts it sees at once that there is no crawl
            from sitecrawl.plugins.agent.mcp_server import server_of  # noqa: PLC0415 - for this command alone
            from sitecrawl.plugins.agent.stored_crawl import StoredCrawl  # noqa: PLC0415

            assert self.settings is not None
            crawl = StoredCrawl(
                lambda: self.pages(opts),
                lambda: source_of(self, opts),
                USE.read(self.settings),
                robots_agent(self.settings),
            )
            server_of(crawl).run("stdio")
