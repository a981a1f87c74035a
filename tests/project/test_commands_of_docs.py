"""Every command of the documents runs, as it stands there, in a copy of a clean checkout, document by document.

What a reader has beside the checkout is `FILES`, a crawl in `crawls/mine`, and a web: any host, over http and https.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from chromium import executable
from crawling import PROJECT, environment
from installed import Environment
from local_ftp import LocalFtp
from localweb import Answer, linked
from redis_servers import Server
from required import lacking
from scrapyd_server import Scrapyd
from whole_web import WholeWeb

DOCUMENTS = [*sorted(PROJECT.glob("*.md")), *sorted((PROJECT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"(?:<!-- not run: (.*?) -->\n)?```sh\n(.*?)```", re.DOTALL)
ROW = re.compile(r"\| `(scrapy .*?)` \| `(.*?)` \|$", re.MULTILINE)
REASONS = {
    "it installs packages",
    "it is what runs this",
    "it needs Docker",
    "it needs Kubernetes",
    "it needs pywb: make replay does it",
    "it needs the servers it names",
    "it takes minutes or hours",
}
"""Why a block of commands is not run here."""

FRONTIER = re.search(r"```python\n(.*?)```", (PROJECT / "docs" / "design" / "frontier.md").read_text(), re.DOTALL)
RULES = re.search(r"```yaml\n(.*?)```", (PROJECT / "docs" / "extract.md").read_text(), re.DOTALL)
URLS = ("/", "/about", "/blog/a/2026", "/bikes", "/bike/7")
SITEMAP = "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>{}</urlset>"
FEED = "<rss version='2.0'><channel><item><link>https://example.com/about</link></item></channel></rss>"
TEXT = "<p>The annual report on solar panels: how a panel on a roof of a Straße turns the sun into power.</p>"
PAGES = {
    "/": linked("/about", "/blog/a/2026", "/bikes", "/gone", "/picture.png") + TEXT,
    "/about": linked("/", title="about") + TEXT,
    "/blog/a/2026": linked("/", title="blog"),
    "/bikes": '<div class="bike"><h2>Seven</h2><a href="/bike/7">7</a></div>',
    "/bike/7": "<h1>Seven</h1><p class=price>7,50</p>",
    "/docs": TEXT,
    "/feed.xml": FEED,
    "/picture.png": "\x89PNG",
}
SETTINGS = """
import sys

from sitecrawl.settings import *

SITECRAWL_DELAY_FACTOR = 0
if {"recrawl=1", "watch=1"} & set(sys.argv):
    CLOSESPIDER_TIMEOUT = 8  # they would go on; whatever ends by itself takes as long as the machine needs for it
"""


def web(host: str, path: str) -> Answer:
    if path in ("/robots.txt", "/sitemap.xml"):
        listed = "".join(f"<url><loc>https://{host}{path}</loc></url>" for path in URLS)
        body = SITEMAP.format(listed) if path == "/sitemap.xml" else f"Sitemap: https://{host}/sitemap.xml\n"
        return Answer(body.encode(), 200, {"Content-Type": "text/xml" if "xml" in body else "text/plain"})
    kind = {"png": "image/png", "xml": "text/xml"}.get(path.rpartition(".")[2], "text/html; charset=utf-8")
    page = PAGES.get(path)
    return Answer((page or "<title>no</title>").encode(), 200 if page else 404, {"Content-Type": kind})


FILES = {
    "seeds.txt": "https://example.com\n",
    "domains.txt": "example.com\nexample.org\n",
    "sitemap.xml": SITEMAP.format("<url><loc>https://example.com/about</loc></url>"),
    "rules.yaml": RULES[1] if RULES else "",
    "nearest.py": FRONTIER[1] if FRONTIER else "",
    "liked.html": f"<title>panels</title>{TEXT}",
}


def blocks(path: Path) -> list[tuple[str, str]]:
    """Why each block of commands is not run, empty if it is, and its commands."""
    return BLOCK.findall(path.read_text(encoding="utf-8"))


def name_of(path: Path) -> str:
    return path.relative_to(PROJECT).as_posix()


WITH_COMMANDS = [path for path in DOCUMENTS if any(not why for why, _ in blocks(path))]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """What the processes see of the world."""
    with WholeWeb(web, tmp_path_factory.mktemp("web")) as served:
        settings = tmp_path_factory.mktemp("settings")
        (settings / "settings_of_reader.py").write_text(SETTINGS)
        variables = {"SCRAPY_SETTINGS_MODULE": "settings_of_reader", "PYTHONPATH": str(settings)}
        seen = environment(**served.environment, **variables)
        yield {name: value for name, value in seen.items() if not name.startswith("MAKE") and name != "ARGS"}


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory, world: dict[str, str]) -> Path:
    """The reader's checkout, with a crawl."""
    if missing := [program for program in ("curl", "jq", "sqlite3") if shutil.which(program) is None]:
        lacking("PROGRAMS", f"not installed: {', '.join(missing)}")
    folder = tmp_path_factory.mktemp("reader") / "sitecrawl"
    left_out = (".*", "crawls", "build", "dist", "*.egg-info", "__pycache__", "tests", "benchmarks")
    shutil.copytree(PROJECT, folder, ignore=shutil.ignore_patterns(*left_out))
    for name, content in FILES.items():
        (folder / name).write_text(content)
    (folder / ".venv").mkdir()
    (folder / ".venv" / "bin").symlink_to(Path(shutil.which("scrapy", path=PROJECT / ".venv" / "bin") or "").parent)
    for stamp in ("crawl", "test", "deploy", "lint", "workers"):
        (folder / ".venv" / f".{stamp}").touch()
    words = ("-a", "seeds=https://example.com", "-a", "sitemaps=1", "-s", "JOBDIR=crawls/mine")
    said = run(" ".join(("scrapy", "crawl", "generic", *words)), folder, world)
    assert "The crawl finished" in said
    return folder


def run(commands: str, folder: Path, world: dict[str, str]) -> str:
    """What they print, all of which have to succeed."""
    path = f"{folder / '.venv' / 'bin'}:{world['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", commands],
        cwd=folder,
        env={**world, "PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, f"{commands}\n{done.stdout}"
    assert "Traceback" not in done.stdout, done.stdout
    assert '"status": "error"' not in done.stdout, done.stdout
    return done.stdout


@pytest.fixture
def folder(begun: Path, tmp_path: Path) -> Path:
    """One of its own for each document."""
    return shutil.copytree(begun, tmp_path / "sitecrawl", symlinks=True)


@pytest.mark.deep
@pytest.mark.parametrize("path", WITH_COMMANDS, ids=name_of)
def test_commands(path: Path, folder: Path, world: dict[str, str], tmp_path: Path) -> None:
    """In the order in which they stand there; the servers they name are on other ports here."""
    commands = "\n".join(commands for why, commands in blocks(path) if not why)
    with ExitStack() as stack:
        moved: dict[str, str] = {}
        if "localhost:6800" in commands:
            scrapyd = Scrapyd(Environment.make(tmp_path / "environment"), tmp_path / "scrapyd", **world)
            stack.callback(scrapyd.close)
            moved["http://localhost:6800"] = scrapyd.url
        if "127.0.0.1:6379" in commands:
            redis = Server(tmp_path)
            stack.callback(redis.close)
            moved["127.0.0.1:6379"] = f"127.0.0.1:{redis.port}"
        if "ftp://" in commands:
            ftp = stack.enter_context(LocalFtp({"/pub/a.txt": b"a"}))
            moved["ftp://ftp.example.org"] = f"ftp://127.0.0.1:{ftp.port}"
        for old, new in moved.items():
            commands = commands.replace(old, new)
            configuration = folder / "scrapy.cfg"
            configuration.write_text(configuration.read_text().replace(old, new))
        run(commands, folder, world)


@pytest.mark.deep
def test_rows_that_compare(folder: Path, world: dict[str, str]) -> None:
    """Each command in a table of docs/compared.md succeeds, and prints what stands beside it."""
    executable()
    rows = ROW.findall((PROJECT / "docs" / "compared.md").read_text(encoding="utf-8"))
    assert len(rows) > 10
    wrong = [(command, text) for command, text in rows if text not in run(command, folder, world)]
    assert wrong == []


def test_benchmarks_are_there() -> None:
    """Of those that take long, script and options."""
    for path in DOCUMENTS:
        for name, words in re.findall(r"^python (benchmarks/\w+\.py)(.*)$", path.read_text("utf-8"), re.MULTILINE):
            source = (PROJECT / name).read_text(encoding="utf-8")
            assert [option for option in re.findall(r"--[a-z-]+", words) if f'"{option}"' not in source] == [], name


def test_what_is_not_run_says_why() -> None:
    """And every command of ours stands in a block that is run, or says so."""
    for path in DOCUMENTS:
        assert {why for why, _ in blocks(path) if why} <= REASONS, path
        text = path.read_text(encoding="utf-8")
        assert re.findall(r"^    (?:scrapy|make|KeywordHunter|docker|curl) .*$", text, re.MULTILINE) == [], path
        assert re.findall(r"```(?:bash|shell|console)\n", text) == [], path
