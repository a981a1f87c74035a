"""A crawl of a local web under which the machine, its network and the web can be broken."""

from __future__ import annotations

import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import Final

from clocks import set_clock
from crawling import HELPERS, PROJECT, environment, scrapy_command, stats_of
from killing import Sitecrawl
from localweb import Answer, LocalWeb, linked
from waiting import PATIENCE

HOSTS: Final = 30
SLOW: Final = 0.6
"""Seconds for a page that would come before its fault."""
LARGE: Final = 2 << 20
"""Bytes of every seventh page, for which memory has to be found."""
DROPPED: Final = Answer(raw=b"")


class FaultyWeb:
    """Pages that lead to one another on `HOSTS` names; see `fault_cases.Victim` for what it can be told to do."""

    def __init__(self, pages: int) -> None:
        self.pages = pages
        self.drops = False
        self.share = 0.0
        """Of all pages, which may come at once."""
        self.asked = 0.0
        """When the last page was asked for."""
        self._seen: set[int] = set()
        self._web = LocalWeb(self._page, address="0.0.0.0")
        self.port = self._web.port

    def url(self, number: int) -> str:
        return f"http://h{number % HOSTS + 2}.example:{self.port}/{number}"

    def urls(self) -> set[str]:
        return {self.url(number) for number in range(self.pages)}

    def _page(self, path: str, host: str) -> Answer | str | None:
        if self.drops:
            return DROPPED
        if not path[1:].isdigit() or int(path[1:]) >= self.pages:
            return None
        self.asked = time.monotonic()
        self._seen.add(number := int(path[1:]))
        if len(self._seen) > self.share * self.pages:
            time.sleep(SLOW)
        random = Random(number)
        targets = [2 * number + 1, 2 * number + 2, *(random.randrange(self.pages) for _ in range(6))]
        words = (
            " ".join(str(random.random()) for _ in range(60)) + "<!--" + "large " * (LARGE // 6 * (number % 7 == 0))
        )
        return linked(*(self.url(to) for to in targets if to < self.pages), title=f"page {number}") + words

    def refuse(self) -> None:
        self._web.close()

    def listen(self) -> None:
        self._web = LocalWeb(self._page, address="0.0.0.0", port=self.port)

    def close(self) -> None:
        self._web.close()


class FaultyCrawl(FaultyWeb):
    """A `fault_cases.Victim`: the crawl, resumed as often as it ends before all is fetched."""

    def __init__(self, folder: Path, pages: int) -> None:
        super().__init__(pages)
        self.folder, self.gone, self.clock = folder, folder / "gone", folder / "clock"
        set_clock(self.clock, 0)
        self.crawler = Sitecrawl(folder)
        self.suffered: list[str] = []
        """Kinds of the faults of this run."""
        self.log: list[str] = []
        """Lines of all runs."""
        self.wants: Counter[str] = Counter()
        """The statistics of what was lacking."""
        self.begun = 0.0
        """When this run was."""
        self._begun = 0
        """The first line of its log."""
        self.start()

    def start(self) -> None:
        settings = {
            "JOBDIR": self.crawler.job,
            "SITECRAWL_DELAY_FACTOR": 0,
            "SITECRAWL_CONCURRENT_REQUESTS_PER_IP": 0,
            "SITECRAWL_ALLOW_PRIVATE": True,
            "SITECRAWL_DASHBOARD": False,
            "SITECRAWL_EXIT_CODES": False,
            "SITECRAWL_MAX_IDLE_TIME": 2,
            "RETRY_TIMES": 50,  # what is dropped three times is given up, as is documented: no fault, but chance
            "CONCURRENT_REQUESTS": 8,
            "TWISTED_DNS_RESOLVER": "clocks.Jumping",
            "LOG_LEVEL": "INFO",
            "STATS_DUMP": True,
        }
        words = ("crawl", "generic", "-a", f"seeds={self.url(0)}", "-a", "scope=any")
        env = environment(
            PYTHONPATH=str(HELPERS / "spiders"), NAME_SERVER_IS_GONE=str(self.gone), CLOCK_IS_OFF=str(self.clock)
        )
        self.suffered, self.begun, self._begun = [], time.monotonic(), len(self.log)
        self.process = subprocess.Popen(
            scrapy_command(*words, settings=settings), cwd=PROJECT, env=env, stderr=subprocess.PIPE
        )
        self._reader = threading.Thread(target=self._read, args=(self.process.stderr,), daemon=True)
        self._reader.start()

    def _read(self, stderr: Iterable[bytes]) -> None:
        self.log.extend(line.decode(errors="replace").rstrip() for line in stderr)

    @property
    def run_log(self) -> str:
        return "\n".join(self.log[self._begun :])

    @property
    def has_ended(self) -> bool:
        return self.process.poll() is not None

    @property
    def is_ending(self) -> bool:
        """Whether it has ended, or is about to."""
        return self.has_ended or "Closing spider" in self.run_log

    @property
    def is_complete(self) -> bool:
        """Whether it has ended by itself."""
        return self.has_ended and self.process.returncode == 0 and "term" not in self.suffered

    def until_ended(self) -> int:
        """Its exit code. Raises `subprocess.TimeoutExpired` if it is stuck."""
        try:
            code = self.process.wait(PATIENCE)
        finally:
            self.process.kill()
        self._reader.join()
        self.wants.update({name: n for name, n in stats_of(self.run_log).items() if name.startswith("want/")})
        return code

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        super().close()
