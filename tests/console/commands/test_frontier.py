"""`scrapy frontier` on real crawls of a site with a trap, at work and finished."""

from __future__ import annotations

import csv
import json
import random
import re
import shlex
import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from console import command
from crawling import PROJECT, at_work, crawl, scrapy
from forks import Fork
from localweb import LocalWeb, Page, linked

GOOD = 20
MINTED = 20
HOSTILE = '<a href="/evil/&#27;[2J&#x202e;">x</a><a href="/evil/%1b[31m">x</a><a href="/evil/a&#10;b c">x</a>'
CONTROLS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]")
FIELDS = ["host", "shape", "waiting", "known", "fetched", "good", "novelty", "demoted", "reason"]
EVIDENCE = ["why", "since", "elsewhere", "fetched_urls", "waiting_urls"]


def page(path: str, host: str) -> Page | None:
    """Pages that are worth having, and a trap: /trap/N links to 20 more that nobody has seen."""
    if path == "/":
        return linked("/trap/1", *(f"/good/{n}" for n in range(GOOD))) + HOSTILE
    if path.startswith("/trap/"):
        number = int(path.removeprefix("/trap/"))
        more = (f"/trap/{MINTED * number + n}" for n in range(1, MINTED + 1))
        return f"<p>{prose(number)}</p>{linked(*more, title=path)}"
    return linked("/", title=path) if path.startswith(("/good/", "/evil/")) else None


def prose(number: int) -> str:
    """A text that resembles no other."""
    words = random.Random(number)
    return " ".join(f"{words.getrandbits(64):x}" for _ in range(60))


@pytest.fixture(scope="module")
def web() -> Iterator[LocalWeb]:
    with LocalWeb(page) as served:
        yield served


@pytest.fixture(scope="module")
def ended(web: LocalWeb, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The directory of a crawl that ended by itself, and what it said."""
    directory = tmp_path_factory.mktemp("trapped") / "job"
    done = crawl(web.root, directory, SITECRAWL_EXIT_CODES=True, SITECRAWL_TRAP_BUDGET=200)
    assert done.returncode == 5, done.stderr
    return directory, done.stderr


@pytest.fixture(scope="module")
def job(ended: tuple[Path, str]) -> Path:
    return ended[0]


def frontier(directory: Path, *words: str) -> str:
    done = command("frontier", "-d", str(directory), *words)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_nothing_to_list(tmp_path):
    """A crawl that has fetched everything has no line, and says so on stderr."""
    with LocalWeb({"/": linked(title="alone")}.get) as alone:
        crawl(alone.root, tmp_path / "job")
    for words, nothing in (
        ([], "nothing waits"),
        (["--urls"], "nothing waits"),
        (["--rules"], "no rule is learnt"),
        (["--demoted"], "nothing is held back"),
    ):
        done = command("frontier", "-d", str(tmp_path / "job"), *words)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", f"scrapy: {nothing}\n")


def crawling(seed: str, directory: Path) -> AbstractContextManager[Fork]:
    """A crawl at work, slow enough to be looked at."""
    return at_work("crawl", "generic", "-a", f"seeds={seed}", settings={"JOBDIR": directory, "DOWNLOAD_DELAY": 0.2})


class TestTrapped:
    def test_the_trap_is_named_with_its_reason(self, job, web):
        """The trap's section is held back and says why; nothing else waits."""
        rows = [json.loads(line) for line in frontier(job, "--demoted", "--format", "jsonl").splitlines()]
        assert [list(row) for row in rows] == [FIELDS + EVIDENCE]
        trap = rows[0]
        assert (trap["host"], trap["shape"], trap["demoted"]) == (urlsplit(web.root).netloc, "/trap/*", True)
        assert trap["novelty"] > 10
        assert trap["waiting"] == trap["known"] - trap["fetched"]
        assert re.search(f"demoted since fetch {trap['since']:,} of [\\d,]+: ", trap["reason"])
        assert trap["why"] == "grows"
        assert 0 < trap["elsewhere"] < 0.1

    def test_samples(self, job, web):
        """Of the trap, URLs that were fetched, with what came of them, and others that wait."""
        (trap,) = (json.loads(line) for line in frontier(job, "--demoted", "--format", "jsonl").splitlines())
        asked = set(web.paths())
        assert len(trap["fetched_urls"]) == len(set(trap["waiting_urls"])) == 3
        for one in trap["fetched_urls"]:
            assert (one["status"], one["good"]) == (200, True)
            assert one["url"].removeprefix(web.root) in asked
        waiting = frontier(job, "--demoted", "--urls").splitlines()
        assert set(trap["waiting_urls"]) <= set(waiting)

    def test_the_table_of_what_is_held_back(self, job, web):
        """A line with the numbers, one with the reason, and one for each sample."""
        header, trap, reason, *samples = frontier(job, "--demoted").splitlines()
        assert header.split()[4:6] == ["novelty", "elsewhere"]
        assert trap.endswith(f"%  {urlsplit(web.root).netloc}/trap/*")
        assert reason.strip().startswith("demoted since fetch")
        kinds = [re.sub(r"\s+http://\S+$", "", line.strip()) for line in samples]
        assert kinds == ["fetched  200  good"] * 3 + ["waits"] * 3

    def test_the_table(self, job, web):
        """The host has a line, the trap has one, and its reason another."""
        header, host, trap, reason = frontier(job).splitlines()
        assert header.split()[:5] == ["waiting", "known", "fetched", "good", "novelty"]
        assert host.endswith(f"  {urlsplit(web.root).netloc}")
        assert trap.endswith(f"  {urlsplit(web.root).netloc}/trap/*")
        assert reason.strip().startswith("demoted since fetch")

    def test_csv(self, job):
        """The rows of a CSV have the same fields."""
        header, *rows = csv.reader(frontier(job, "--format", "csv", "--limit", "1").splitlines())
        assert header == FIELDS
        assert len(rows) == 1
        header, row = csv.reader(frontier(job, "--demoted", "--format", "csv").splitlines())
        assert header == FIELDS + EVIDENCE
        assert len(json.loads(row[-1])) == 3

    def test_the_summary_says_so(self, ended):
        """The end of the crawl counts what was left; one command that it names lists as many, another goes on."""
        directory, said = ended
        (held,) = re.findall(r"held back +([\d,]+) ", said)
        (named,) = re.findall(r"(?m)^  traps +scrapy (.*)$", said)
        done = scrapy(*shlex.split(named), "--urls")
        assert len(done.stdout.splitlines()) == int(held.replace(",", ""))
        assert str(directory) in named
        (goes_on,) = re.findall(r"(?m)^ +\S.*scrapy (crawl generic .*) fetches them as well$", said)
        assert shlex.split(goes_on)[-2:] == ["-s", "SITECRAWL_HOLD_TRAPS=False"]
        assert f"JOBDIR={directory}" in shlex.split(goes_on)

    @pytest.mark.deep
    def test_the_list_can_be_crawled(self, job, web, tmp_path):
        """What was left as a list serves as seeds, in its order."""
        left = frontier(job, "--demoted", "--urls", "--limit", "3")
        (tmp_path / "left.txt").write_text(left)
        before = len(web.hits)
        done = crawl(f"@{tmp_path / 'left.txt'}", tmp_path / "second", max_pages=3, order="bfs")
        assert done.returncode == 0, done.stderr
        asked = [hit.path for hit in web.hits[before:] if hit.path != "/robots.txt"]
        assert [web.root + path for path in asked] == left.splitlines()

    @pytest.mark.parametrize("name", ["jsonl", "csv"])
    def test_urls_with_their_facts(self, job, name):
        """In the formats for programs a URL has its importance, depth, status and state."""
        lines = frontier(job, "--urls", "--limit", "2", "--format", name).splitlines()
        rows = [json.loads(line) for line in lines] if name == "jsonl" else list(csv.DictReader(lines))
        assert [list(row) for row in rows] == [["importance", "depth", "status", "state", "url"]] * 2
        assert {row["state"] for row in rows} == {"queued"}

    def test_hostile_urls(self, job, web):
        """A URL or a shape with control characters moves no cursor."""
        shown = frontier(job, "--host", urlsplit(web.root).netloc) + frontier(job, "--urls")
        assert "/evil/" in shown
        assert not CONTROLS.search(shown)


def test_why_it_waits(job, web):
    """A URL of the trap says that it is held back, with what, and by which numbers."""
    url = frontier(job, "--demoted", "--urls").splitlines()[0]
    said = json.loads(command("why", "-d", str(job), "--json", url).stdout)
    assert said["verdict"] == "held back"
    assert said["answer"].startswith("Held back as a trap, with its section /trap/*: demoted since fetch ")
    assert "set it free on the dashboard" in said["advice"]


@pytest.mark.deep
def test_a_crawl_at_work(web, tmp_path):
    """While the crawl holds its database, what waits can be listed."""
    directory = tmp_path / "job"
    with crawling(web.root, directory) as process:
        urls: list[str] = []
        while len(urls) < 2:
            assert process.poll() is None
            urls = command("frontier", "-d", str(directory), "--urls").stdout.splitlines()
        table = frontier(directory)
        assert process.poll() is None
    assert all(url.startswith(web.root) for url in urls)
    assert f"  {urlsplit(web.root).netloc}/good/*\n" in table


class TestErrors:
    def failed(self, *words: str, code: int = 1, cwd: Path = PROJECT) -> str:
        done = command("frontier", *words, cwd=cwd)
        assert (done.returncode, done.stdout) == (code, "")
        return done.stderr

    def test_unknown_host(self, job):
        """A host that the crawl does not know is one line."""
        for more in ((), ("--urls",)):
            said = self.failed("-d", str(job), "--host", "nowhere.example", *more)
            assert said == f"scrapy: The crawl in {job} knows no host 'nowhere.example'\n"

    def test_no_crawl(self, tmp_path):
        """A directory without a crawl is one line, and so is a folder without crawls."""
        assert self.failed("-d", "nowhere") == "scrapy: nowhere holds no crawl: it has no crawl.json\n"
        assert re.fullmatch(r"scrapy: there is no crawl below .*\n", self.failed(cwd=tmp_path))

    def test_a_corrupt_database(self, job, tmp_path):
        """Damage is one line with the path, not a traceback and not an empty list."""
        shutil.copytree(job, tmp_path / "job")
        (tmp_path / "job/db/CURRENT").write_text("damaged")
        said = self.failed("-d", str(tmp_path / "job"))
        assert said.startswith(f"scrapy: {tmp_path / 'job/db'} ")
        assert said.count("\n") == 1

    @pytest.mark.parametrize("words", [["extra"], ["--limit", "0"], ["--limit", "x"], ["--format", "xml"]])
    def test_wrong_usage(self, words):
        """Arguments that make no sense end with exit code 2."""
        self.failed(*words, code=2)


def test_help(tmp_path: Path) -> None:
    """Scrapy takes each line that ends with a colon for a heading, where the text is wrapped, too."""
    lines = command("frontier", "--help", cwd=tmp_path).stdout.splitlines()
    headings = [line for line, below in pairwise(lines) if below and not below.strip("=-")]
    assert headings == ["Usage", "Options", "Global Options"]
