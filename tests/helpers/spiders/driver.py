"""Runs spiders of `stock` one after another in one process, as a script of a Scrapy user does.

python driver.py JOB: a JSON file with `settings`, `arguments`, `spiders` and `jobs`, the folder for the JOBDIRs.
Items and statistics of every spider go into a file of the same name with the suffix `.out`.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import small_limits
from scrapy import signals
from scrapy.crawler import AsyncCrawlerRunner
from scrapy.utils.defer import deferred_from_coro
from scrapy.utils.log import configure_logging
from scrapy.utils.reactor import install_reactor

JOB = Path(sys.argv[1])


async def crawl(runner: AsyncCrawlerRunner, name: str, job: dict[str, Any]) -> dict[str, Any]:
    from stock import SPIDERS

    runner.settings.set("JOBDIR", str(Path(job["jobs"]) / name), priority="cmdline")
    crawler = runner.create_crawler(SPIDERS[name])
    items: list[Any] = []
    crawler.signals.connect(lambda item: items.append(dict(item)), signals.item_scraped, weak=False)
    await runner.crawl(crawler, **job["arguments"])
    return {"items": items, "stats": crawler.stats.get_stats()}


async def main(job: dict[str, Any]) -> dict[str, Any]:
    configure_logging({"LOG_LEVEL": job["settings"].get("LOG_LEVEL", "INFO")})
    runner = AsyncCrawlerRunner(job["settings"])
    return {name: await crawl(runner, name, job) for name in job["spiders"]}


def write(results: dict[str, Any]) -> None:
    JOB.with_suffix(".out").write_text(json.dumps(results, default=str))


if __name__ == "__main__":
    small_limits.arm(os.environ)
    install_reactor("twisted.internet.asyncioreactor.AsyncioSelectorReactor")
    from twisted.internet.task import react

    react(lambda _: deferred_from_coro(main(json.loads(JOB.read_text()))).addCallback(write))
