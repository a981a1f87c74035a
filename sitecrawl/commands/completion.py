"""`scrapy completion`: a script with which a shell completes what is typed after `scrapy`."""

from __future__ import annotations

import argparse

from scrapy.exceptions import UsageError

from sitecrawl.completion.shells import SHELLS
from sitecrawl.completion.vocabulary import vocabulary
from sitecrawl.console.base_command import DescribedCommand


class Command(DescribedCommand):
    """Print a script that lets a shell complete commands, options, spiders, their arguments, settings and the
    directories of crawls.
    """

    requires_project = False
    usage = f"<{' | '.join(SHELLS)}>"
    summary = "Print a script that completes scrapy's commands in a shell"
    words = tuple(SHELLS)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if len(args) != 1 or args[0] not in SHELLS:
            raise UsageError(f"name one shell: {', '.join(SHELLS)}", print_help=False)
        assert self.settings is not None
        print(SHELLS[args[0]](vocabulary(self.settings)), end="")
