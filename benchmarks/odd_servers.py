"""Servers as users of other crawlers have met them: what is got from them, here and elsewhere?

    python benchmarks/odd_servers.py
    python benchmarks/odd_servers.py --only "ours;curl" --cases 3 14

The cases are those of ../shared/data/cases, each after a public bug report; ../shared/tools/case_web.py serves them
and writes down what it is asked for. Each says which targets a crawler has to ask for and which it must not, and some
say which titles their pages have, or what has to be asked for twice. By that are judged

- ours: `scrapy crawl generic`, with the arguments that the case names;
- Scrapy: `peer_crawlers/stock.py` in an empty folder, robots.txt obeyed, `DOWNLOAD_TIMEOUT` 20 s;
- Chromium: opens the seed, then what `document.links` has of its host, each once, and waits for refreshes.

curl follows no links: `curl -sSL --compressed --globoff` with a cookie jar is given the case's pages and what is
expected, and how many come with status 200 and a body is counted. Some pages are not to be read by anybody.

Prints a table, a row a case; exits with 1 if ours falls short. The cases have fixed addresses, 127.1.0.N:9100.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any, Final
from urllib.parse import urlsplit

ROOT: Final = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests" / "helpers"), str(ROOT)]

from chromium import chromium, executable  # noqa: E402 - the path comes first
from crawling import environment, scrapy_command  # noqa: E402
from playwright.sync_api import Browser, Error, Page, Response  # noqa: E402

from sitecrawl.base.errors import DISTRIBUTION  # noqa: E402
from sitecrawl.pagestore import PageReader  # noqa: E402

SHARED: Final = ROOT.parent / "shared"
TOOL: Final = SHARED / "tools" / "case_web.py"
CASES: Final = SHARED / "data" / "cases"
STOCK: Final = Path(__file__).parent / "peer_crawlers" / "stock.py"
CURL: Final = "curl"
PATIENCE: Final = 400
"""Seconds for one case."""
MOST_OPENED: Final = 200
"""Pages that the browser opens of a case."""
REFRESH: Final = 6_000
"""Milliseconds that the browser waits for a page that says it leads on: the longest of the cases is 5 s."""
NAMED: Final = 3
"""What is missing, by name."""

Titles = dict[str, str]
"""Path with query → title that was found."""


@dataclass(frozen=True)
class Case:
    number: int
    asked: str
    """What it is about."""
    site: ModuleType

    @property
    def seed(self) -> str:
        return f"http://{self.site.HOST}/"

    @property
    def paths(self) -> list[str]:
        """Its own pages, and what is expected."""
        own = [path for path in self.site.PAGES if path not in {"*", "/robots.txt"}]
        return list(dict.fromkeys([*own, *getattr(self.site, "EXPECT", [])]))


@dataclass
class Verdict:
    wanted: int = 0
    missing: list[str] = field(default_factory=list)
    forbidden: list[str] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        return not self.missing and not self.forbidden

    def __str__(self) -> str:
        words = f"{self.wanted - len(self.missing)} of {self.wanted}"
        if self.missing:
            words += f": not {_listed(self.missing)}"
        if self.forbidden:
            words += f"; but asks for {_listed(self.forbidden)}"
        return words


def _listed(names: list[str]) -> str:
    shown = ", ".join(f"`{name[:40]}`".replace("|", "\\|") for name in names[:NAMED])
    return shown + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")


def cases_of(tool: ModuleType, numbers: list[int]) -> list[Case]:
    folders = {int(folder.name.partition("-")[0]): folder for folder in CASES.iterdir()}
    sites: dict[int, ModuleType] = tool.load(CASES, numbers)
    return [Case(number, _about(folders[number]), site) for number, site in sites.items()]


def _about(folder: Path) -> str:
    lines = (folder / "README").read_text(encoding="utf-8").splitlines()
    return next(line.partition(":")[2].strip() for line in lines if line.startswith("expected:"))


def judged(case: Case, got: list[str], titles: Titles) -> Verdict:
    """What the server was asked for, and the titles that were found, held against what the case wants."""
    wanted = {path: path in got for path in getattr(case.site, "EXPECT", [])}
    wanted |= {f"title of {path}": titles.get(path) == title for path, title in _titles_of(case).items()}
    if hasattr(case.site, "check"):
        wanted["what is to be asked for twice"] = case.site.check(got)
    forbidden = [path for path in getattr(case.site, "FORBID", []) if path in got]
    return Verdict(len(wanted), [name for name, holds in wanted.items() if not holds], forbidden)


def _titles_of(case: Case) -> Titles:
    return getattr(case.site, "TITLES", {})


def target_of(url: str) -> str:
    parts = urlsplit(url)
    return parts.path + (f"?{parts.query}" if parts.query else "")


# Who reads

Reader = Callable[[Case, Path], "Titles | Verdict"]
"""Given a folder of its own."""
Mapped = Callable[[Reader, list[Case], list[Path]], Iterable["Titles | Verdict"]]


def ours(case: Case, folder: Path) -> Titles:
    settings = {"JOBDIR": folder / "crawl", "SITECRAWL_ALLOW_PRIVATE": True, "SITECRAWL_DELAY_FACTOR": 0}
    words = "crawl", "generic", "-a", f"seeds={case.seed}", *getattr(case.site, "ARGS", [])
    _run(scrapy_command(*words, settings=settings), ROOT, folder)
    with PageReader(folder / "crawl") as reader:
        return {target_of(page.url): page.title or "" for page in reader.pages()}


def stock(case: Case, folder: Path) -> Titles:
    seeds, items = folder / "seeds", folder / "items.jsonl"
    seeds.write_text(case.seed)
    settings = {"ROBOTSTXT_OBEY": True, "DOWNLOAD_DELAY": 0, "DOWNLOAD_TIMEOUT": 20, "CONCURRENT_REQUESTS": 64}
    words = "runspider", str(STOCK), "-a", f"seeds={seeds}", "-O", str(items)
    _run(scrapy_command(*words, settings=settings), folder, folder)
    found = map(json.loads, items.read_text().splitlines())
    return {target_of(item["url"]): item["title"] or "" for item in found}


def _run(words: list[str], cwd: Path, folder: Path) -> None:
    """To the end, or until patience is; what was asked for until then counts."""
    plain = {name: value for name, value in environment().items() if not name.startswith("SCRAPY")}
    with (folder / "log").open("wb") as log:
        try:
            subprocess.run(words, cwd=cwd, env=plain, stdout=log, stderr=log, timeout=PATIENCE, check=False)
        except subprocess.TimeoutExpired:
            log.write(b"did not end\n")


def opened(chrome: Browser, case: Case, _folder: Path) -> Titles:
    waiting, seen, titles = [case.seed], {case.seed}, Titles()
    with chrome.new_context() as context:
        page = context.new_page()
        while waiting and len(seen) <= MOST_OPENED:
            url = waiting.pop(0)
            titles[target_of(url)], links = _opened(page, url)
            for link in links:
                address = link.partition("#")[0]
                if address not in seen and _is_of(case, address):
                    seen.add(address)
                    waiting.append(address)
    return titles


def _opened(page: Page, url: str) -> tuple[str, list[str]]:
    """Title and links of what is there when the browser has come to rest."""
    answer: Response | None = None
    with suppress(Error):  # a download, or no end: there may be a page all the same
        answer = page.goto(url, wait_until="load", timeout=20_000)
    try:
        leads_on = "meta[http-equiv=refresh i]"
        if page.query_selector(leads_on) or (answer is not None and answer.headers.get("refresh")):
            title, links = _read(page)
            page.wait_for_url(lambda now: now != url, timeout=REFRESH)
            return title, [*links, page.url, *_read(page)[1]]
        return _read(page)
    except Error:
        return "", [page.url]


def _read(page: Page) -> tuple[str, list[str]]:
    links: list[str] = page.evaluate("[...document.links].map(link => link.href)")
    return page.title(), links


def _is_of(case: Case, url: str) -> bool:
    return re.sub("^http://([^/]*@)?", "", url).partition("/")[0] == case.site.HOST


def curl(case: Case, folder: Path) -> Verdict:
    verdict = Verdict(len(case.paths))
    jar = folder / "jar"
    for path in case.paths:
        words = ["curl", "-sSL", "--compressed", "--globoff", "-m", "20", "-b", str(jar), "-c", str(jar)]
        body = folder / "body"
        words += ["-o", str(body), "-w", "%{http_code}", case.seed.rstrip("/") + path]
        done = subprocess.run(words, env=environment(), capture_output=True, text=True, check=False)
        if done.returncode or done.stdout != "200" or not body.stat().st_size:
            verdict.missing.append(f"{path} ({f'error {done.returncode}' if done.returncode else done.stdout})")
        body.unlink(missing_ok=True)
    return verdict


# Running and telling


@contextmanager
def served(cases: list[Case], log: Path) -> Iterator[None]:
    """The cases from their first answer on, as long as the `with` lasts."""
    words = [sys.executable, str(TOOL), str(CASES), str(log), *(str(case.number) for case in cases)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        if not server.stdout.readline().startswith("serving"):
            sys.exit("The cases cannot be served: is something else on port 9100?")
        try:
            yield
        finally:
            server.terminate()


def by(reader: Reader, cases: list[Case], folder: Path, in_turn: Mapped = map) -> dict[int, Verdict]:
    """What one reader gets of all cases."""
    log = folder / "asked"
    log.touch()
    folders = [folder / str(case.number) for case in cases]
    for one in folders:
        one.mkdir()
    with served(cases, log):
        found = list(in_turn(reader, cases, folders))
    asked: list[dict[str, Any]] = [json.loads(line) for line in log.read_text().splitlines()]
    return {
        case.number: one if isinstance(one, Verdict) else judged(case, _targets(asked, case), one)
        for case, one in zip(cases, found, strict=True)
    }


def _targets(asked: list[dict[str, Any]], case: Case) -> list[str]:
    return [one["target"] for one in asked if one["ip"] == case.site.HOST.partition(":")[0]]


def by_chromium(cases: list[Case], folder: Path) -> dict[int, Verdict]:
    with chromium() as chrome:
        return by(partial(opened, chrome), cases, folder)


def table(cases: list[Case], results: Mapping[str, Mapping[int, Verdict]]) -> Iterator[str]:
    yield f"| case | what is asked | {' | '.join(results)} |"
    yield "|---|---|" + "---|" * len(results)
    for case in cases:
        cells = (str(found[case.number]) for found in results.values())
        yield f"| {case.number} | {case.asked} | {' | '.join(cells)} |"
    counts = ("" if name == CURL else whole(found) for name, found in results.items())
    yield f"| | **cases without a miss** | {' | '.join(counts)} |"


def whole(found: Mapping[int, Verdict]) -> str:
    return f"{sum(verdict.holds for verdict in found.values())} of {len(found)}"


def versions() -> str:
    commands = {"curl": ["curl", "--version"], "Chromium": [executable(), "--version"]}
    found = {
        name: subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()[1]
        for name, words in commands.items()
    }
    found = {"sitecrawl": version(DISTRIBUTION), "Scrapy": version("scrapy"), **found}
    return ", ".join(f"{name} {number}" for name, number in found.items())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="readers, separated by semicolons")
    parser.add_argument("--cases", type=int, nargs="*", default=[], metavar="N")
    parser.add_argument("--keep", type=Path, help="a new folder in which logs and crawls stay")
    options = parser.parse_args()
    spec = importlib.util.spec_from_file_location("case_web", TOOL)
    if spec is None or spec.loader is None or not TOOL.exists():
        sys.exit(f"The cases are not there: {TOOL}")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    cases = cases_of(tool, options.cases)
    with tempfile.TemporaryDirectory() as temporary, ThreadPoolExecutor(2) as pool:
        ways: dict[str, Callable[[list[Case], Path], dict[int, Verdict]]] = {
            "ours": partial(by, ours, in_turn=pool.map),
            "Scrapy": partial(by, stock, in_turn=pool.map),
            CURL: partial(by, curl),
            "Chromium": by_chromium,
        }
        results = {}
        for name, way in ways.items():
            if name in (options.only.split(";") if options.only else ways):
                folder = (options.keep or Path(temporary)) / name
                folder.mkdir(parents=True)
                results[name] = way(cases, folder)
                print(f"{name}: {whole(results[name])}", flush=True)
    print(*table(cases, results), f"\n{versions()}; {datetime.now(UTC):%-d %B %Y}", sep="\n")
    sys.exit(any(not verdict.holds for verdict in results.get("ours", {}).values()))


if __name__ == "__main__":
    main()
