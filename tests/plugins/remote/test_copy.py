"""A crawl with a store elsewhere: what is there when it has ended, whatever happened meanwhile."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from crawling import crawl, scrapy, stats_of
from dashboards import Crawl
from localweb import LocalWeb, Page, linked
from s3_server import BUCKET, S3, SECRET, s3_server
from waiting import PATIENCE, until

from sitecrawl.pagestore import PageReader

SMALL = 3_000
"""Bytes of a WARC file: a few pages."""
PAGES = 10
DEAD = "http://127.0.0.1:1"


def site(path: str, host: str) -> Page | None:
    number = path.strip("/") or "0"
    if not number.isdigit() or int(number) >= PAGES:
        return None
    return linked(f"/{2 * int(number) + 1}", f"/{2 * int(number) + 2}", title=number)


@pytest.fixture(scope="module")
def web() -> Iterator[LocalWeb]:
    with LocalWeb(site) as served:
        yield served


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3]:
    with s3_server(tmp_path_factory.mktemp("s3")) as running:
        yield running


@pytest.fixture
def s3(server: S3) -> Iterator[S3]:
    """With a bucket that has nothing in it."""
    yield server
    server.faults(delay=0, cut=0, status=0)
    server.clear()


def here(job: Path) -> dict[str, bytes]:
    return {f"warc/{file.name}": file.read_bytes() for file in (job / "warc").iterdir()}


def there(s3: S3, place: str = "crawls/job/") -> dict[str, bytes]:
    """The WARC files of one crawl."""
    objects = {key.removeprefix(place): data for key, data in s3.objects().items() if key.startswith(place)}
    return {name: data for name, data in objects.items() if name.startswith("warc/")}


def fetched(s3: S3, folder: Path, place: str = "crawls/job/") -> Path:
    """What is in the bucket below `place`, as files."""
    for key, data in s3.objects().items():
        path = folder / key.removeprefix(place)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


def test_the_store_has_what_is_here(web: LocalWeb, s3: S3, tmp_path: Path) -> None:
    """Every WARC file byte by byte, each sent once; and an index by which all of it can be read without the rest."""
    job = tmp_path / "job"
    done = crawl(web.root, job, SITECRAWL_WARC_SIZE=SMALL, LOG_LEVEL="DEBUG", STATS_DUMP=True, **s3.settings())
    assert done.returncode == 0, done.stderr
    files = here(job)
    assert len(files) > 3
    assert there(s3) == files
    assert {key for key in s3.objects() if "/warc/" not in key} == {
        "crawls/job/pages.sqlite",
        "crawls/job/sitecrawl.json",
    }
    assert set(s3.written().values()) == {1}
    with PageReader(fetched(s3, tmp_path / "copy")) as theirs, PageReader(job) as ours:
        assert [theirs.read(one).body for one in theirs.pages()] == [ours.read(one).body for one in ours.pages()]
    assert f"{len(files)} WARC files at s3://pages/crawls/job\n" in done.stderr
    stats = stats_of(done.stderr)
    assert (stats["remote/files"], stats["remote/waiting"], stats["remote/failures"]) == (len(files), 0, 0)
    assert stats["remote/bytes"] > sum(map(len, files.values()))
    assert SECRET not in done.stderr
    assert not list(job.glob("*.sent"))


@pytest.mark.deep
def test_the_next_run_sends_what_is_new(web: LocalWeb, s3: S3, tmp_path: Path) -> None:
    """It begins a file of its own, so nothing that was sent is sent again, but for the index."""
    job = tmp_path / "job"
    crawl(web.root, job, max_pages=4, **s3.settings())
    first = there(s3)
    assert len(first) == 1
    done = crawl(web.root, job, **s3.settings())
    assert there(s3) == here(job)
    assert len(here(job)) == 2
    written = s3.written()
    assert {name: number for name, number in written.items() if number > 1} == {"crawls/job/pages.sqlite": 2}
    assert "2 WARC files at" in done.stderr


def test_a_dry_run_sends_nothing(web: LocalWeb, tmp_path: Path) -> None:
    """It looks, whatever the settings say of a store."""
    done = crawl(web.root, tmp_path / "job", dry=1, SITECRAWL_REMOTE=f"file://{tmp_path}/store")
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    assert not (tmp_path / "store").exists()


@pytest.mark.deep
def test_a_run_without_a_store_between(web: LocalWeb, s3: S3, tmp_path: Path) -> None:
    """It appends to the last file; the next run with a store sends that once more, as it is now."""
    job = tmp_path / "job"
    crawl(web.root, job, max_pages=2, **s3.settings())
    crawl(web.root, job, max_pages=6)
    crawl(web.root, job, **s3.settings())
    assert there(s3) == here(job)


def test_a_store_that_goes_away(web: LocalWeb, s3: S3, tmp_path: Path) -> None:
    """The crawl fetches all the same, says so in a line, and `scrapy upload` brings what is missing."""
    job = tmp_path / "job"
    crawl(web.root, job, max_pages=2, **s3.settings())
    s3.faults(status=503)
    told = {"LOG_LEVEL": "INFO", "STATS_DUMP": True, "LIMITS": {"sitecrawl.plugins.remote.copy._LAST_WAIT": 0.5}}
    done = crawl(web.root, job, SITECRAWL_WARC_SIZE=SMALL, **told, **s3.settings())
    assert done.returncode == 0, done.stderr
    assert "1 WARC file at s3://pages/crawls/job, " in done.stderr
    assert stats_of(done.stderr)["remote/waiting"] > 0
    with PageReader(job) as reader:
        assert sum(page.kind == "page" for page in reader.pages()) == PAGES
    s3.faults(status=0)
    sent = scrapy("upload", "-d", str(job), settings=s3.settings())
    assert sent.returncode == 0, sent.stderr
    assert f"{len(here(job))} WARC files at s3://pages/crawls/job; " in sent.stdout
    assert there(s3) == here(job)
    again = scrapy("upload", "-d", str(job), settings=s3.settings())
    assert "; 1 file sent" in again.stdout  # the index


@pytest.mark.parametrize(
    ("url", "options", "said"),
    [
        ("s3://no-such-bucket/a", {}, "bucket or folder is missing"),
        (f"s3://{BUCKET}/a", {"endpoint_url": DEAD}, "cannot be reached"),
        (f"s3://{BUCKET}/a", {"no_such": 1}, "SITECRAWL_REMOTE_OPTIONS"),
        ("memory://a", {}, "schemes"),
    ],
)
def test_what_is_wrong_is_said_at_the_start(
    url: str, options: dict[str, object], said: str, s3: S3, tmp_path: Path
) -> None:
    """In one line, before anything is fetched."""
    settings = {"SITECRAWL_REMOTE": url, "SITECRAWL_REMOTE_OPTIONS": json.dumps({**s3.options, **options})}
    done = crawl(DEAD, tmp_path / "job", **settings)
    assert done.returncode == 1
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("sitecrawl: ")]
    assert said in line
    assert "Traceback" not in done.stderr


def test_refused_at_the_start(web: LocalWeb, s3: S3, tmp_path: Path) -> None:
    """Who may not write hears it in one line, and nothing is fetched."""
    s3.faults(status=403)
    done = crawl(web.root, tmp_path / "job", **s3.settings())
    assert done.returncode == 1
    assert "look at the credentials" in done.stderr
    assert SECRET not in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.deep
def test_two_crawls_of_one_name(web: LocalWeb, s3: S3, tmp_path: Path) -> None:
    """The second one is refused: its index would take the place of the first one's."""
    crawl(web.root, tmp_path / "a" / "job", max_pages=1, **s3.settings())
    done = crawl(web.root, tmp_path / "b" / "job", max_pages=1, **s3.settings())
    assert done.returncode == 1
    assert "another crawl" in done.stderr


@pytest.mark.deep
def test_a_folder(web: LocalWeb, tmp_path: Path) -> None:
    """A URL of a disk does as well, and needs no credentials."""
    done = crawl(web.root, tmp_path / "job", SITECRAWL_REMOTE=f"file://{tmp_path}/store")
    assert done.returncode == 0, done.stderr
    assert here(tmp_path / "store" / "job") == here(tmp_path / "job")
    with PageReader(tmp_path / "store" / "job") as reader:
        assert sum(page.kind == "page" for page in reader.pages()) == PAGES


def test_a_store_that_comes_back(tmp_path: Path) -> None:
    """One that is away in the middle of a crawl costs nothing but attempts: at the end it has all."""
    store, disk, broken = (tmp_path / name for name in ("store", "disk", "broken"))
    disk.mkdir()
    broken.touch()
    crawls: list[Crawl] = []

    def lead_to(place: Path) -> None:
        (tmp_path / "link").symlink_to(place)
        (tmp_path / "link").replace(store)

    def served(path: str, host: str) -> Page | None:
        if path == "/3":
            lead_to(broken)
        if path == f"/{PAGES - 1}":
            until(lambda: "The crawl goes on, and" in crawls[0].log, "an attempt has failed")
            lead_to(disk)
        return site(path, host)

    lead_to(disk)
    settings: dict[str, Any] = {"SITECRAWL_REMOTE": f"file://{store}", "SITECRAWL_WARC_SIZE": 1}
    with LocalWeb(served) as web, Crawl(web.root, tmp_path / "job", **settings) as crawling:
        crawls.append(crawling)
        assert crawling.process.wait(PATIENCE) == 0, crawling.log
    assert here(store / "job") == here(tmp_path / "job")
    stats = stats_of(crawling.log)
    assert stats["remote/failures"] > 0
    assert (stats["remote/files"], stats["remote/waiting"]) == (len(here(tmp_path / "job")), 0)
    assert crawling.log.count("The crawl goes on, and") == crawling.log.count("takes files again") == 1
