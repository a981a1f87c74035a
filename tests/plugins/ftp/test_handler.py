"""FTP servers, crawled: good ones, strange ones, and such as are out to do harm."""

from __future__ import annotations

import itertools
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from crawling import HELPERS, PROJECT, crawl, environment, scrapy, scrapy_command, states_of, stats_of
from local_ftp import SILENCE, Faults, LocalFtp
from localweb import Answer, LocalWeb, linked
from pagestore_helpers import assert_checkers_pass, warc_files
from waiting import until
from warcio.archiveiterator import ArchiveIterator

from sitecrawl.frontier.urls.record import UrlState
from sitecrawl.pagestore import Capture, PageReader
from sitecrawl.plugins.ftp.handler import _status_of

FILES = {
    "/pub/README": b"Read me",
    "/pub/a b#c%20?d;type=i.txt": b"signs",
    "/pub/\xff<script>alert(1)<": b"bytes",
    "/pub/deep/index.html": b"<a href='../README'>r</a> <a href='page.html'>p</a> <a href='/top.txt'>t</a>",
    "/pub/deep/page.html": b"<title>page</title>",
    "/top.txt": b"top",
}
QUICK = {"SITECRAWL_FAILURE_DELAY": 0.01, "SITECRAWL_MAX_DELAY": 0.01, "STATS_DUMP": True, "LOG_LEVEL": "INFO"}


def crawled(
    server: LocalFtp, tmp_path: Path, path: str = "/", **arguments: object
) -> tuple[dict[str, Capture], dict[str, int], str]:
    """What is stored, by path; the statistics; and what was printed."""
    done = crawl(server.root + path, tmp_path / "job", **{"ftp": 1, **QUICK, **arguments})
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    assert "Unhandled" not in done.stderr, done.stderr
    with PageReader(tmp_path / "job") as reader:
        stored = {capture.url.removeprefix(server.root): capture for capture in reader.pages()}
    return stored, stats_of(done.stderr), done.stdout + done.stderr


@pytest.mark.parametrize("mlsd", [True, False])
def test_a_tree(mlsd: bool, tmp_path: Path) -> None:
    """Folders are pages and files are documents, each once, whatever their names; no robots.txt is asked for."""
    with LocalFtp(FILES, mlsd=mlsd) as server:
        stored, _, _ = crawled(server, tmp_path, sitemaps=1)
    names = {"/pub/README", "/pub/a%20b%23c%2520%3Fd%3Btype=i.txt", "/pub/%FF%3Cscript%3Ealert(1)%3C", "/top.txt"}
    folders = {"/", "/pub/", "/pub/deep/"}
    assert stored.keys() == {*names, *folders, "/pub/deep/index.html", "/pub/deep/page.html"}
    assert {capture.status for capture in stored.values()} == {200}
    assert {stored[path].title for path in folders} == {f"Index of {server.root}{path}" for path in folders}
    assert stored["/pub/deep/page.html"].depth == 3
    assert [verb for verb in server.verbs() if verb in {"MLSD", "LIST"}] == ["MLSD" if mlsd else "LIST"] * 3
    assert not any("robots" in command for command in server.commands)
    with PageReader(tmp_path / "job") as reader:
        bodies = {path: reader.read(capture).body for path, capture in stored.items()}
    assert {bodies[path] for path in bodies.keys() - folders} == {*FILES.values()}


def test_what_is_stored_is_sound(tmp_path: Path) -> None:
    """The archive has resource records that other readers read, and the index can be made again of them."""
    files = {"/a.txt": b"same", "/b.txt": b"same", "/index.html": b"<title>index</title><a href=nowhere>n</a>"}
    with LocalFtp(files) as server:
        crawled(server, tmp_path)
    job = tmp_path / "job"
    assert_checkers_pass(job)
    with warc_files(job)[0].open("rb") as file:
        kinds = {found.rec_headers["WARC-Target-URI"]: found.rec_type for found in ArchiveIterator(file)}
    root = server.root
    same = {kinds.pop(f"{root}/a.txt"), kinds.pop(f"{root}/b.txt")}
    assert (same, kinds.pop(f"{root}/nowhere"), {kinds[f"{root}/"], kinds[f"{root}/index.html"]}) == (
        {"resource", "revisit"},
        "metadata",
        {"resource"},
    )
    before = rows(job)
    (job / "pages.sqlite").unlink()
    scrapy("check-crawl", "--repair", str(job))
    assert scrapy("check-crawl", str(job)).returncode == 0
    assert rows(job) == before
    shown = scrapy("page", "-d", str(job), "--headers", f"{server.root}/nowhere").stdout
    assert shown.startswith("FTP 404\nContent-Type: text/plain\n")
    assert "550 No such file" in shown


def rows(job: Path) -> list[Capture]:
    """Without what stands in no record."""
    with PageReader(job) as reader:
        return [capture._replace(seconds=0, fetched=0) for capture in reader.pages()]


def test_a_folder_without_a_slash(tmp_path: Path) -> None:
    """It is listed where no file has its name, and what is in it has the right URL."""
    with LocalFtp(FILES) as server:
        stored, _, _ = crawled(server, tmp_path, "/pub/deep", max_pages=5)
    assert stored["/pub/deep"].title == f"Index of {server.root}/pub/deep/"
    assert "/pub/deep/page.html" in stored


@pytest.mark.parametrize("mlsd", [True, False])
def test_circles_end(mlsd: bool, tmp_path: Path) -> None:
    """Symbolic links to folders above, and round by others, are gone round once at the most."""
    links = {"/a/b/up": "/a", "/a/self": "/a", "/c/to-d": "/d", "/d/to-c": "/c"}
    files = {"/a/b/x": b"1", "/c/y": b"2", "/d/z": b"3"}
    with LocalFtp(files, links=links, mlsd=mlsd) as server:
        stored, stats, _ = crawled(server, tmp_path)
    assert {b"1", b"2", b"3"} == {server.files[server.real(path)] for path in stored if not path.endswith("/")
                                  and server.real(path) in files}  # fmt: skip
    assert len(stored) < 60
    assert max(path.count("/") for path in stored) < 10
    assert stats["ftp/loops" if mlsd else "ftp/skipped_entries"] > 0


@pytest.mark.parametrize("mlsd", [True, False])
def test_a_listing_without_end(mlsd: bool, tmp_path: Path) -> None:
    """It is cut where there are enough entries: that is counted, and said, and the rest never comes."""
    sent = itertools.count()

    def lines() -> Iterator[bytes]:
        start = b"type=file; " if mlsd else b"-rw-r--r--   1 ftp      ftp          1024 Nov  7 12:00 "
        while (number := next(sent)) < 10_000_000:
            yield start + b"file%d\r\n" % number

    with LocalFtp({}, mlsd=mlsd, faults=Faults(listings={"/": lines()})) as server:
        stored, stats, log = crawled(server, tmp_path, LIMITS={"FTP_ENTRIES": 23})
    assert (stats["limits/ftp_entries"], stats["links/found"]) == (1, 20)
    assert len(stored) == 1 + 20
    assert f"{server.root}/ has more than 20 entries: the others are left out" in log
    assert next(sent) < 1_000_000


def test_garbage_in_listings(tmp_path: Path) -> None:
    """Lines that make no sense are skipped and counted; a line without end ends at the size of a body."""
    noise = [bytes(range(256)) * 40 + b"\r\n", b"type=file; ../up\r\n", b"type=file; good\r\n"]
    endless = itertools.repeat(b"x" * 65536, 10_000)
    files = {"/good": b"good", "/endless/x": b""}
    faults = Faults(listings={"/": [*noise, b"type=dir; endless\r\n"], "/endless": endless})
    with LocalFtp(files, faults=faults) as server:
        stored, stats, _ = crawled(server, tmp_path, DOWNLOAD_MAXSIZE=1 << 20)
    assert stored.keys() == {"/", "/good", "/endless/"}
    assert stats["ftp/skipped_entries"] > 2
    assert stats["limits/ftp_entries"] == 1
    assert next(endless)


def test_what_cannot_be_had(tmp_path: Path) -> None:
    """A missing file is a 404, one that is too large is cut off, one that breaks off is tried again, and fails."""
    files = {"/large": bytes(1 << 20), "/index.html": b"<a href=gone></a><a href=large></a><a href=torn></a>"}
    with LocalFtp(files, faults=Faults(replies={"RETR torn": ""})) as server:
        stored, stats, _ = crawled(server, tmp_path, "/index.html", DOWNLOAD_MAXSIZE=1 << 16)
    assert {path: capture.status for path, capture in stored.items()} == {"/index.html": 200, "/gone": 404}
    states = states_of(tmp_path / "job")
    assert {states[f"{server.root}/{name}"] for name in ("large", "torn")} == {UrlState.FAILED}
    assert stats["limits/body_size"] == 1
    assert server.commands.count("RETR torn") == 3


@pytest.mark.parametrize(
    ("faults", "settings", "seen"),
    [
        (Faults(replies={"PASS": "530 Who are you?"}), {}, "LoginRefused"),
        (Faults(replies={"USER": SILENCE}), {"SITECRAWL_MAX_IDLE_TIME": 0.2}, "IdleTimeout"),
        (Faults(greeting=b"220-x\r\n" * 20_000), {}, "DownloadFailedError"),
        (Faults(replies={"PASV": "227 (no,address)"}), {}, "DownloadFailedError"),
        (Faults(replies={"PASV": "227 Entering passive mode (127,0,0,1,0,1)"}), {}, "DownloadFailedError"),
        (Faults(replies={"FEAT": SILENCE}), {"DOWNLOAD_TIMEOUT": 0.2}, "DownloadTimeoutError"),
    ],
)
def test_a_host_that_fails(faults: Faults, settings: dict[str, Any], seen: str, tmp_path: Path) -> None:
    """Its fault has a name, and it is given up after three attempts."""
    with LocalFtp(FILES, faults=faults) as server:
        stored, stats, _ = crawled(server, tmp_path, **settings)
        assert server.connections == 3
    assert stored == {}
    failures = {name.rpartition(".")[2]: n for name, n in stats.items() if "exception_type_count/" in name}
    assert failures == {seen: 3}
    assert states_of(tmp_path / "job") == {f"{server.root}/": UrlState.FAILED}


@pytest.mark.parametrize("reply", ["530-Incorrect for\r\n5ec2e7\r\n530 PASS 5ec2e7", "530 5ec2e75ec2e7"])
def test_a_password_in_a_refusal(reply: str, tmp_path: Path) -> None:
    """What a server says again is in no line of the log, with all its tracebacks."""
    with LocalFtp(FILES, faults=Faults(replies={"PASS": reply})) as server:
        settings = {**QUICK, "FTP_PASSWORD": "5ec2e7", "LOG_LEVEL": "DEBUG"}
        done = crawl(f"{server.root}/", tmp_path / "job", ftp=1, **settings)
        assert "PASS 5ec2e7" in server.commands
    assert "Traceback" in done.stderr
    assert "(masked)" in done.stderr
    assert "5ec2e7" not in done.stdout + done.stderr


def test_a_password_in_replies_that_are_read(tmp_path: Path) -> None:
    """An address, a folder and a list of features are taken as they come."""
    with LocalFtp(FILES) as server:
        stored, _, _ = crawled(server, tmp_path, FTP_PASSWORD="1")
    assert "/top.txt" in stored


def test_nobody_there(tmp_path: Path) -> None:
    """A refused connection is the host's fault, as over HTTP."""
    with closing(socket.socket()) as refusing:
        refusing.bind(("127.0.0.1", 0))
        root = f"ftp://127.0.0.1:{refusing.getsockname()[1]}/"
        done = crawl(root, tmp_path / "job", ftp=1, **QUICK)
    assert stats_of(done.stderr)["downloader/exception_count"] == 3
    assert "DownloadConnectionRefusedError" in done.stderr
    assert states_of(tmp_path / "job") == {root: UrlState.FAILED}


def test_a_file_of_its_own(tmp_path: Path) -> None:
    """Scrapy's `ftp_local_filename` puts a file elsewhere: then it is not in the page store."""
    target, spider = tmp_path / "target", tmp_path / "spider.py"
    with LocalFtp(FILES) as server:
        spider.write_text(LOCAL.format(url=f"{server.root}/top.txt", target=str(target).encode()))
        settings = {"JOBDIR": tmp_path / "job", "ADDONS": '{"sitecrawl.addon.Addon": 1}'}
        done = scrapy("runspider", str(spider), settings=settings)
    assert done.returncode == 0, done.stderr
    assert target.read_bytes() == b"top"
    with PageReader(tmp_path / "job") as reader:
        assert list(reader.pages()) == []


LOCAL = """
import scrapy

class Local(scrapy.Spider):
    name = "local"

    async def start(self):
        yield scrapy.Request({url!r}, meta={{"ftp_local_filename": {target}}})

    def parse(self, response):
        assert response.headers["Size"] == b"3"
"""


def test_a_busy_server_is_asked_again(tmp_path: Path) -> None:
    """Its 421 is a failure of the host, as a 503 is; when it has room, nothing is missing."""
    with LocalFtp(FILES, faults=Faults(busy=2)) as server:
        stored, stats, _ = crawled(server, tmp_path)
    assert len(stored) == 9
    assert stats["downloader/response_status_count/503"] == 2


def test_an_address_that_is_told_is_not_believed(tmp_path: Path) -> None:
    """The connection for data goes where that for commands goes, wherever PASV would have it."""
    with closing(socket.create_server(("127.0.0.9", 0))) as elsewhere:
        faults = Faults(pasv_address="127.0.0.9")
        with LocalFtp(FILES, faults=faults) as server:
            stored, _, _ = crawled(server, tmp_path)
        elsewhere.setblocking(False)
        with pytest.raises(BlockingIOError):
            elsewhere.accept()
    assert len(stored) == 9


@pytest.mark.deep
def test_from_the_web_to_ftp_and_not_astray(tmp_path: Path) -> None:
    """A page's links to FTP servers are followed where that is on; none leads to a private address, or has a command
    in it.
    """
    with LocalFtp(FILES) as near, LocalFtp(FILES, address="127.0.0.9") as private:
        links = linked(f"{near.root}/top.txt", f"{private.root}/", f"{near.root}/x%0d%0aDELE%20top.txt")
        with LocalWeb({"/": links, "/moved": Answer(b"", 302, {"Location": near.root})}) as web:
            done = crawl(f"{web.root}/ {web.root}/moved", tmp_path / "on", ftp=1, scope="any", **QUICK)
            off = crawl(web.root, tmp_path / "off", scope="any", **QUICK)
    states = states_of(tmp_path / "on")
    assert states[f"{near.root}/top.txt"] == UrlState.FETCHED
    assert states[f"{private.root}/"] == UrlState.EXCLUDED
    assert private.connections == 0
    assert not any("DELE" in command for command in near.commands)
    assert stats_of(done.stderr)["limits/scheme"] == 2  # the link with two lines, and the redirect
    assert stats_of(off.stderr)["limits/scheme"] == 3
    assert near.verbs().count("RETR") == 1


def test_off_by_default(tmp_path: Path) -> None:
    """A seed says in one line what to do."""
    done = crawl("ftp://a.example/", tmp_path / "job")
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "sitecrawl: A seed is an ftp: URL, and FTP is off: switch it on with -a ftp=1 or SITECRAWL_FTP=True"
    ]


def test_credentials_are_settings(tmp_path: Path) -> None:
    """FTP_USER and FTP_PASSWORD are said to the server, and stand in nothing that is stored."""
    with LocalFtp(FILES) as server:
        crawled(server, tmp_path, FTP_USER="joe", FTP_PASSWORD="hunter2", max_pages=2)
    assert server.commands[:3] == ["USER joe", "PASS hunter2", "TYPE I"]
    done = crawl(f"ftp://joe:hunter2@127.0.0.1:{server.port}/", tmp_path / "other", ftp=1)
    assert "FTP_USER" in done.stderr
    assert "hunter2" not in done.stderr


def test_ipv6(tmp_path: Path) -> None:
    """There EPSV takes the place of PASV."""
    try:
        server = LocalFtp(FILES, address="::1")
    except OSError:
        pytest.skip("no IPv6 here")
    with server:
        stored, _, _ = crawled(server, tmp_path)
    assert len(stored) == 9
    assert "EPSV" in server.verbs()


def test_pages_are_read_elsewhere(tmp_path: Path) -> None:
    """A process that reads pages may tell of links to FTP, where that is on."""
    with LocalFtp(FILES) as server:
        stored, _, _ = crawled(server, tmp_path, SITECRAWL_PARSE_PROCESSES=1)
    assert len(stored) == 9


@contextmanager
def twisteds_server(folder: Path) -> Iterator[str]:
    """The server that Twisted has; gives its URL."""
    words = [sys.executable, str(HELPERS / "twisted_ftp.py"), str(folder)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment()) as process:
        assert process.stdout is not None
        try:
            yield f"ftp://127.0.0.1:{process.stdout.readline().strip()}"
        finally:
            process.kill()


@pytest.mark.deep
def test_a_server_of_others(tmp_path: Path) -> None:
    """What Twisted's server has on disk comes in, as it is."""
    folder = tmp_path / "files"
    names = ["a b.txt", "100%.txt", "sub/one.html", "sub/deep/two"]
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    with twisteds_server(folder) as root:
        assert crawl(root, tmp_path / "job", SITECRAWL_FTP=True).returncode == 0
    with PageReader(tmp_path / "job") as reader:
        bodies = {reader.read(capture).body.decode() for capture in reader.pages() if not capture.url.endswith("/")}
    assert bodies == {*names}


@pytest.mark.deep
def test_a_kill_loses_nothing(tmp_path: Path) -> None:
    """After a SIGKILL the same command goes on, and every file is stored once."""
    files = {f"/{n % 9}/file{n}": b"%d" % n for n in range(60)}
    job = tmp_path / "job"
    settings = {"SITECRAWL_DELAY_FACTOR": 0, "JOBDIR": job}
    with LocalFtp(files) as server:
        words = scrapy_command("crawl", "generic", "-a", f"seeds={server.root}", "-a", "ftp=1", settings=settings)
        with subprocess.Popen(words, cwd=PROJECT, env=environment(), stderr=subprocess.DEVNULL) as process:
            until(lambda: server.verbs().count("RETR") > 20, "files that are asked for")
            process.kill()
        stored, _, _ = crawled(server, tmp_path)
    assert len(stored) == 1 + 9 + 60
    with PageReader(job) as reader:
        assert len(list(reader.pages())) == len(stored)


@pytest.mark.parametrize(
    ("code", "status"), [(421, 503), (450, 503), (530, 401), (550, 404), (553, 404), (500, 501), (504, 501)]
)
def test_statuses(code: int, status: int) -> None:
    """What may come later is tried again, what is not there is not."""
    assert _status_of(code) == status
