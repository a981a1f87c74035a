"""One attack: a copy of a crawl is damaged, read, started, checked, repaired, and resumed to its end.

What has to hold, whatever the damage:
- no command ends in a traceback; what cannot be done is one line and an exit code;
- no reader serves a body that the site has not;
- in the end every page of the site is stored, once if the crawl asked for it once, and the check finds nothing; or
  the repair has named what it cannot mend, and the stored pages can still be read.
"""

from __future__ import annotations

import shutil
import tempfile
import traceback
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Final

from console import command
from damages import Damage, damage
from victims import PAGES, Range

from sitecrawl.base.errors import SitecrawlError
from sitecrawl.pagestore import PageReader
from sitecrawl.plugins.checking.crawl import CheckResult, check, repair

READERS: Final = (("pages",), ("frontier",), ("rank",), ("report",))


@dataclass
class Outcome:
    """What came of one attack."""

    phase: str
    damages: list[Damage]
    faults: list[str] = field(default_factory=list)
    """What ought not to have happened."""
    named: list[str] = field(default_factory=list)
    """What the repair says that it cannot mend."""
    was_noticed: bool = False
    """Whether the check has found anything."""

    def __str__(self) -> str:
        return f"{self.phase}: {'; '.join(map(str, self.damages))}\n  " + "\n  ".join(self.faults)


def attack(at: Range, phase: str, seed: str) -> Outcome:
    """Damage a copy of the crawl in `phase`, once or twice, and see. `seed` decides everything."""
    random = Random(seed)
    with tempfile.TemporaryDirectory(dir=at.folder) as folder:
        job = Path(folder) / phase
        shutil.copytree(at.phases[phase], job)
        damages = [damage(job, random) for _ in range(random.choice([1, 1, 2]))]
        outcome = Outcome(phase, damages)
        _Attack(at, job, outcome).run(starts_first=random.random() < 0.3, page=random.randrange(PAGES))
    return outcome


class _Attack:
    """What is done to one damaged crawl. Faults go to `outcome`."""

    def __init__(self, at: Range, job: Path, outcome: Outcome) -> None:
        self._at = at
        self._job = job
        self._outcome = outcome

    def run(self, *, starts_first: bool, page: int) -> None:
        self._read(page)
        if starts_first:
            self._start()
        if not self._repair():
            return
        ended = self._start()
        if ended:
            self._fault(f"the resumed crawl ends with {ended}")
            return
        self._compare()
        after = self._checked()
        if after is not None:
            self._outcome.faults += [f"in the end: {problem}" for problem in after.problems]
        self._read(page)

    def _fault(self, what: str) -> None:
        self._outcome.faults.append(what)

    def _read(self, page: int) -> None:
        """All readers: what they print of a page has to be what the site has."""
        url = f"{self._at.site.root}/{page}"
        for words in READERS:
            output = ("-o", str(self._job.parent / "report.html")) if words[0] == "report" else ()
            self._command(*words, "-d", str(self._job), *output)
        shown = self._command("page", url, "-d", str(self._job))
        if shown and shown != self._at.site.body(page):
            self._fault(f"`scrapy page` shows {shown[:60]!r} for {url}")

    def _command(self, *words: str) -> str:
        """What it prints; empty where it says why it cannot."""
        try:
            done = command(*words)
        except BaseException:  # noqa: BLE001 - a traceback is what is looked for
            self._fault(f"`scrapy {words[0]}`: {traceback.format_exc(limit=-2).strip()}")
            return ""
        if "Traceback" in done.stderr:
            self._fault(f"`scrapy {words[0]}`: {done.stderr[-300:]}")
        return done.stdout if done.returncode == 0 else ""

    def _start(self) -> int:
        """Start the crawl, which may refuse."""
        ended = self._at.crawl(self._job)
        if "Traceback" in ended.log:
            self._fault(f"the crawl: {ended.log[ended.log.index('Traceback') :][-600:]}")
        elif ended.code not in {0, 1}:
            self._fault(f"the crawl ends with {ended.code}: {ended.log[-300:]}")
        return ended.code

    def _checked(self) -> CheckResult | None:
        try:
            return check(self._job)
        except SitecrawlError as error:
            self._outcome.named.append(str(error))
        except Exception:  # noqa: BLE001
            self._fault(f"check: {traceback.format_exc(limit=-3)}")
        return None

    def _repair(self) -> bool:
        """Whether there is a crawl now that can be resumed."""
        try:
            before, after = repair(self._job)
        except SitecrawlError as error:
            self._outcome.named.append(f"{type(error).__name__}: {error}")
            return False
        except Exception:  # noqa: BLE001
            self._fault(f"repair: {traceback.format_exc(limit=-3)}")
            return False
        self._outcome.was_noticed = bool(before.problems)
        for problem in after.problems:
            if problem.repairable:
                self._fault(f"not mended: {problem}")
            else:
                self._outcome.named.append(str(problem))
        return not any(problem.where == "crawl.json" for problem in after.problems)

    def _compare(self) -> None:
        """Every page is stored, once, as the site has it."""
        stored: Counter[str] = Counter()
        try:
            with PageReader(self._job) as reader:
                for capture in reader.pages():
                    path = capture.url.rpartition("/")[2]
                    if capture.kind != "page":
                        continue
                    stored[capture.url] += 1
                    if reader.read(capture).body != self._at.site.body(int(path)).encode():
                        self._fault(f"{capture.url} has a wrong body")
        except SitecrawlError as error:
            self._fault(f"the stored pages cannot be read: {error}")
            return
        urls = self._at.site.urls()
        if missing := urls - stored.keys():
            self._fault(f"{len(missing)} pages are not stored, such as {min(missing)}")
        twice = [url for url, number in stored.items() if number > 1]
        if twice and self._outcome.phase != "recrawled":
            self._fault(f"{len(twice)} pages are stored more than once, such as {min(twice)}")
