"""`scrapy mcp`: a stored crawl for agents and other programs."""

from __future__ import annotations

import argparse
import os
import secrets
import sys
from typing import TYPE_CHECKING, Final

from scrapy.exceptions import UsageError

from sitecrawl.base.errors import StorageError, how_to_install
from sitecrawl.console.base_command import ReadingCommand
from sitecrawl.crawl.configuration import robots_agent
from sitecrawl.pagestore.console import exit_code_on_error
from sitecrawl.plugins.export import USE
from sitecrawl.plugins.why.commands.why import source_of

if TYPE_CHECKING:
    from sitecrawl.plugins.agent.stored_crawl import StoredCrawl

_TOKEN: Final = "SITECRAWL_API_TOKEN"  # noqa: S105 - a name


class Command(ReadingCommand):
    """Serve a stored crawl to an agent by the Model Context Protocol, over stdin and stdout; or with --http to any
    program, as JSON over HTTP on 127.0.0.1. Search, pages as Markdown, and why a URL is there or is not. Nothing of
    the crawl can be changed. Works while the crawl runs.
    """

    usage = "[options]"
    summary = "Serve a stored crawl to agents (MCP), or over HTTP"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "--http",
            type=int,
            metavar="PORT",
            help=f"serve JSON over HTTP instead; 0 takes a free port. The token is that in the environment variable "
            f"{_TOKEN}, or a new one, which is printed",
        )

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if args:
            raise UsageError(f"unknown argument {args[0]!r}")
        if opts.http is not None and not 0 <= opts.http < 1 << 16:
            raise UsageError(f"--http: {opts.http} is no port", print_help=False)
        try:
            import mcp  # noqa: F401, PLC0415 - an extra
        except ImportError:
            print(f"scrapy: {how_to_install('mcp')}", file=sys.stderr)
            self.exitcode = 1
            return
        with exit_code_on_error(self):
            with self.pages(opts):
                pass  # whoever starts it sees at once that there is no crawl
            from sitecrawl.plugins.agent.stored_crawl import StoredCrawl  # noqa: PLC0415 - for this command alone

            crawl = StoredCrawl(
                lambda: self.pages(opts),
                lambda: source_of(self, opts),
                USE.read(self.settings),
                robots_agent(self.settings),
            )
            if opts.http is None:
                from sitecrawl.plugins.agent.mcp_server import server_of  # noqa: PLC0415 - as above

                server_of(crawl).run("stdio")
            else:
                _serve(crawl, opts.http)


def _serve(crawl: StoredCrawl, port: int) -> None:
    import socket  # noqa: PLC0415 - as above

    import uvicorn  # noqa: PLC0415

    from sitecrawl.plugins.agent.http_api import app_of  # noqa: PLC0415

    given = os.environ.get(_TOKEN, "")
    token = given or secrets.token_urlsafe(24)
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind(("127.0.0.1", port))
            listening.listen()
        except OSError as error:
            raise StorageError(f"--http: port {port} cannot be had: {error.strerror}") from error
        print(f"http://127.0.0.1:{listening.getsockname()[1]}/", flush=True)
        if not given:
            print(f"Authorization: Bearer {token}", flush=True)
        server = uvicorn.Server(uvicorn.Config(app_of(crawl, token), log_level="warning", access_log=False))
        server.run(sockets=[listening])
