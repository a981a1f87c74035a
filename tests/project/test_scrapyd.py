"""sitecrawl in a real scrapyd, on real sites: deployed as an egg, scheduled, watched, cancelled, resumed."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from crawling import PROJECT, scrapy, states_of
from installed import Environment, copy_of_project, run
from localweb import LocalWeb, linked
from realweb import RealWeb
from scrapyd_server import Scrapyd
from waiting import until

from sitecrawl.pagestore import PageFilter, PageReader

pytestmark = pytest.mark.deep

STARLETTE = "http://www.starlette.io/"
HTTPX = "http://www.python-httpx.org/"
SLOW = ("setting", "DOWNLOAD_DELAY=2")
"""Far from its end while another job starts, also on a machine that has other things to do."""


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealWeb]:
    served = RealWeb(tmp_path_factory.mktemp("real_web"))
    yield served
    served.close()


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return Environment.make(tmp_path_factory.mktemp("bare") / "env")


@pytest.fixture(scope="module")
def scrapyd(web: RealWeb, bare: Environment, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scrapyd]:
    server = Scrapyd(bare, tmp_path_factory.mktemp("scrapyd") / "home", http_proxy=web.proxy, no_proxy="127.0.0.1")
    yield server
    server.close()


@pytest.fixture(scope="module")
def deployed(scrapyd: Scrapyd, tmp_path_factory: pytest.TempPathFactory) -> str:
    """What `make deploy` says, once its target in scrapy.cfg is this server."""
    project = copy_of_project(tmp_path_factory.mktemp("deploy"))
    configuration = project / "scrapy.cfg"
    configuration.write_text(configuration.read_text().replace("http://localhost:6800/", f"{scrapyd.url}/"))
    # The environment stands in for the one that make would make, so nothing is installed.
    made = ["ARGS=", "-o", f"{sys.prefix}/.deploy", "-o", f"{sys.prefix}/bin/python", f"VENV={sys.prefix}"]
    return run(["make", "deploy", *made], cwd=project).stdout


def pages(directory: Path) -> Counter[str]:
    """The pages in a job's directory."""
    with PageReader(directory) as reader:
        return Counter(capture.url for capture in reader.pages(PageFilter(kind="page")))


def test_deploy(scrapyd: Scrapyd, deployed: str) -> None:
    """One command puts all spiders there; the egg stays zipped."""
    assert '"status": "ok"' in deployed
    spiders = scrapyd.get("listspiders", project="sitecrawl")["spiders"]
    assert {"generic", "sitemap"} <= set(spiders)
    (egg,) = (scrapyd.folder / "eggs" / "sitecrawl").iterdir()
    assert egg.is_file()


def test_a_job(scrapyd: Scrapyd, deployed: str, web: RealWeb) -> None:
    """Pages, items and log lie where a scrapyd user looks; the log says how it went and ended."""
    job = scrapyd.schedule(STARLETTE, ("jobid", "first"))
    assert job == "first"
    log = scrapyd.wait(job)
    walked = web.walk((STARLETTE,))
    assert len(walked) > 20
    assert pages(scrapyd.job_directory("first")) == dict.fromkeys(walked, 1)
    assert {item["url"] for item in scrapyd.items(job)} == set(walked)
    assert "The crawl finished: nothing is left to fetch." in log
    assert "Dumping Scrapy stats" in log
    assert f"data      {scrapyd.job_directory('first')}" in log
    listed = scrapy("pages", "-d", str(scrapyd.job_directory("first")), "--format", "urls")
    assert STARLETTE in listed.stdout.split()


def begun(scrapyd: Scrapyd, name: str, count: int) -> None:
    """Wait until a job has stored some pages."""
    directory = scrapyd.job_directory(name)
    until(
        lambda: (directory / "pages.sqlite").exists() and pages(directory).total() > count,
        lambda: f"more than {count} pages of the job {name}: {scrapyd.log()}",
    )


def test_two_jobs_at_once_one_cancelled_and_resumed(scrapyd: Scrapyd, deployed: str, web: RealWeb) -> None:
    """Each has its own data; the cancelled one ends cleanly and goes on where it was, under the same id."""
    scrapyd.schedule(STARLETTE, SLOW, ("jobid", "cancelled"))
    scrapyd.schedule(HTTPX, ("setting", "DOWNLOAD_DELAY=0.1"), ("jobid", "other"))
    until(lambda: {"cancelled", "other"} <= scrapyd.jobs("running").keys(), "both jobs at once")
    begun(scrapyd, "other", 1)
    begun(scrapyd, "cancelled", 1)
    scrapyd.cancel("cancelled")
    log = scrapyd.wait("cancelled")
    assert "The crawl was interrupted." in log
    assert "resume    schedule the spider again, with the same arguments and jobid=cancelled" in log
    before, walked = pages(scrapyd.job_directory("cancelled")), web.walk((STARLETTE,))
    assert 1 < before.total() < len(walked)
    assert scrapy("check-crawl", str(scrapyd.job_directory("cancelled"))).returncode == 0
    scrapyd.schedule(STARLETTE, ("jobid", "cancelled"))
    assert "Resuming" in scrapyd.wait("cancelled", times=2)
    assert pages(scrapyd.job_directory("cancelled")) == dict.fromkeys(walked, 1)
    scrapyd.wait("other")
    assert pages(scrapyd.job_directory("other")) == dict.fromkeys(web.walk((HTTPX,)), 1)


def test_a_crawl_that_several_jobs_go_on_with(scrapyd: Scrapyd, deployed: str, web: RealWeb) -> None:
    """The argument `job` names the crawl, whatever ids scrapyd gives; two at once are refused."""
    name = ("job", "weekly")
    first = scrapyd.schedule(STARLETTE, name, SLOW)
    begun(scrapyd, "weekly", 0)
    second = scrapyd.schedule(STARLETTE, name)
    assert "another process" in scrapyd.wait(second)
    scrapyd.cancel(first)
    assert "with the same arguments and job=weekly" in scrapyd.wait(first)
    third = scrapyd.schedule(STARLETTE, name)
    assert "The crawl finished" in scrapyd.wait(third)
    assert pages(scrapyd.job_directory("weekly")) == dict.fromkeys(web.walk((STARLETTE,)), 1)
    assert not scrapyd.job_directory(first).exists()


@pytest.fixture(scope="module")
def local() -> Iterator[LocalWeb]:
    with LocalWeb(lambda path, host: None if path == "/robots.txt" else linked(title=path)) as served:
        yield served


def test_ten_thousand_seeds_from_a_file(scrapyd: Scrapyd, deployed: str, local: LocalWeb, tmp_path: Path) -> None:
    """More than an argument can hold: a file on the server."""
    seeds = tmp_path / "seeds.txt"
    seeds.write_text("".join(f"{local.root}/a/long/path/to/page/{n}\n" for n in range(10_000)))
    job = scrapyd.schedule(f"@{seeds}", ("max_pages", "5"))
    assert "max_pages is reached" in scrapyd.wait(job)
    assert len(states_of(scrapyd.job_directory(job))) == 10_000


@pytest.mark.parametrize(
    ("pairs", "words"),
    [
        ([("max_page", "5")], "There is no argument 'max_page': is max_pages meant?"),
        ([("setting", "SITECRAWL_ORDERS=bfs")], "is SITECRAWL_ORDER meant?"),
        ([("job", "../elsewhere")], "A job is named by"),
    ],
)
def test_what_is_wrong_stands_in_the_log_of_the_job(
    scrapyd: Scrapyd, deployed: str, pairs: list[tuple[str, str]], words: str
) -> None:
    """Nobody sees the job's stderr."""
    log = scrapyd.wait(scrapyd.schedule(STARLETTE, *pairs))
    assert words in log
    assert "Traceback" not in log


@pytest.mark.parametrize("module", ["middlewares", "pipelines"])
def test_a_foreign_module_in_the_folder_of_scrapyd(
    scrapyd: Scrapyd, deployed: str, module: str, request: pytest.FixtureRequest
) -> None:
    """An egg comes last on the path, so any other module of the name wins: the job says which file it is."""
    foreign = scrapyd.folder / f"{module}.py"
    foreign.write_text("")
    request.addfinalizer(foreign.unlink)
    log = scrapyd.wait(scrapyd.schedule(STARLETTE))
    assert f"Python finds another package named '{module}', {foreign}, before sitecrawl's" in log


def test_without_jobs_dir(tmp_path: Path) -> None:
    """The job's id names the directory, below crawls/ where the process runs."""
    with LocalWeb({"/": linked(title="only")}) as web:
        words = ("crawl", "generic", "-a", f"seeds={web.root}/", "-a", "_job=ab12")
        changes = {"PYTHONPATH": str(PROJECT), "SCRAPY_SETTINGS_MODULE": "sitecrawl.settings"}
        done = scrapy(*words, cwd=tmp_path, env=changes)
    assert done.returncode == 0, done.stderr
    assert pages(tmp_path / "crawls" / "ab12").total() == 1
