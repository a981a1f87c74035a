"""`python -m sitecrawl --version`: which version is installed here, wherever one stands."""

from __future__ import annotations

import argparse

from sitecrawl.console.version import add_version


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m sitecrawl",
        description="A crawler for whole sites, on Scrapy: `scrapy crawl` begins one, `scrapy -h` has all commands.",
    )
    add_version(parser)
    parser.parse_args()
    parser.print_help()


if __name__ == "__main__":
    main()
