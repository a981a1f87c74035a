"""`scrapy crawl` with SITECRAWL_WORKERS: one crawl by many processes, which a user meets as one of one process."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from pstats import Stats

import forks
import pytest
from console import command
from crawling import PROJECT, environment, scrapy, scrapy_command, with_settings
from fleet import urls_of, web_of
from localweb import LocalWeb, linked
from redis import Redis
from syntheticweb import Web
from waiting import FOREVER, PATIENCE, until

from sitecrawl.cluster.line import VARIABLE
from sitecrawl.cluster.own_redis import redis_server
from sitecrawl.console.fleet import Fleet, Team
from sitecrawl.console.status_line import StatusLine
from sitecrawl.pagestore import PageReader
from sitecrawl.pagestore.workers import stores_below


def test_workers_that_do_not_begin(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """Why is said once where they say it; of one that ended without a word its log is named, whatever others say."""
    team = Team(tmp_path, StatusLine(live=False, interval=0, aloud=False))
    for worker in ("worker-1", "worker-2"):
        team.heard(worker, {"error": "it is \x1b[31m taken"})
        team.ended(worker, 1, again=False, wanted=False)
    team.ended("worker-3", 1, again=False, wanted=False)
    team.ended("worker-4", -2, again=False, wanted=True)
    assert capsys.readouterr().err == "sitecrawl: it is \\x1b[31m taken\n"
    assert caplog.messages == [f"worker-3 ended with exit code 1: {tmp_path}/worker-3.log says why"]


def test_an_end_while_a_worker_is_started(tmp_path: Path) -> None:
    """A signal that comes before a worker is known ends that one, too."""

    def sleeping(place: Path) -> list[str]:
        if place.name == "worker-2":
            signal.raise_signal(signal.SIGTERM)
        return [sys.executable, "-c", f"import time; time.sleep({FOREVER})"]

    team = Team(tmp_path, StatusLine(live=False, interval=0, aloud=False))
    fleet = Fleet(sleeping, [tmp_path / "worker-1", tmp_path / "worker-2"], team)
    assert fleet.run() == [-signal.SIGTERM, -signal.SIGTERM]
    assert fleet.is_stopping


QUICK = {"SITECRAWL_DELAY_FACTOR": 0, "SITECRAWL_ALLOW_PRIVATE": True, "SITECRAWL_LEASE_SECONDS": 4}
LOADS_FOR_EVER = f"""
import os, pathlib, signal, time
if {VARIABLE!r} in os.environ:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    pathlib.Path(os.environ["LOADING"], f"{{os.getpid()}}.loading").touch()
    time.sleep({FOREVER})
"""
"""A `sitecustomize` that keeps workers, and nobody else, from coming so far as to import anything of ours."""


@pytest.fixture(scope="module")
def web() -> Iterator[Web]:
    with web_of(60) as served:
        yield served


@pytest.fixture(scope="module")
def crawl(web: Web, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The directory of a crawl by two workers that has ended, and what was said on stderr."""
    place = tmp_path_factory.mktemp("crawl") / "job"
    words = ["crawl", "generic", "-a", f"seeds={web.url(0)}", "-a", "scope=any"]
    words += ["-O", f"{place}.jsonl", "--profile", f"{place}.prof"]
    written = {"SITECRAWL_EXPORTS": f"{place}.csv", "SITECRAWL_REPORT": f"{place}.html"}
    patient = {
        **QUICK,
        "SITECRAWL_LEASE_SECONDS": PATIENCE,
    }  # a late worker's pages would be fetched by the other, too
    done = scrapy(*words, settings={**patient, "SITECRAWL_WORKERS": 2, "JOBDIR": place, **written})
    assert done.returncode == 0, done.stderr
    return place, done.stderr


class TestWhole:
    def test_what_it_says(self, crawl: tuple[Path, str], web: Web) -> None:
        """What is crawled, one address, one summary, and how to read all of it; nothing else."""
        place, said = crawl
        lines = said.splitlines()
        assert sum(line.startswith("Dashboard: http://127.0.0.1:") for line in lines) == 1
        begin = lines.index(f"Crawling: {web.url(0)} (spider generic, scope any)")
        assert lines[begin + 1] == f"Data: {place}"
        assert lines[begin + 2].startswith("Ctrl-C stops it. To go on: ")
        assert lines[begin + 3].startswith("Dashboard: ")
        assert lines.count("The crawl finished: nothing is left to fetch.") == 1
        (pages,) = [line.split() for line in lines if "2xx pages" in line]
        assert pages[2:] == [str(web.pages)]
        assert f"  read      scrapy pages -d {place}" in lines
        assert "resume" not in said

    def test_who_reads_it(self, crawl: tuple[Path, str], web: Web) -> None:
        """All commands that read a crawl take the directory for one crawl, which has ended."""
        place, _ = crawl
        listed = command("pages", "-d", str(place), "--kind", "page", "--format", "urls").stdout.split()
        assert Counter(listed) == Counter(urls_of(web))
        assert "Page 7" in command("page", "-d", str(place), web.url(7)).stdout
        why = json.loads(command("why", "-d", str(place), "--json", web.url(0)).stdout)
        assert (why["verdict"], why["evidence"]["known"]) == ("fetched", "yes, it was fetched\na seed")
        ranked = command("rank", "-d", str(place), "--limit", "1000", "--format", "jsonl").stdout.splitlines()
        assert {json.loads(line)["url"] for line in ranked} == urls_of(web)
        assert web.url(7) in command("search", "Page 7", "-d", str(place)).stdout

    def test_what_is_written_at_the_end(self, crawl: tuple[Path, str], web: Web) -> None:
        """SITECRAWL_EXPORTS and SITECRAWL_REPORT have what all workers have, once."""
        place, _ = crawl
        assert len(Path(f"{place}.csv").read_text().splitlines()) == 1 + web.pages
        assert "<html" in Path(f"{place}.html").read_text()

    def test_check(self, crawl: tuple[Path, str]) -> None:
        """What is on Redis is held against what is in the workers' directories, and a lost one is named."""
        place, _ = crawl
        checked = command("check-crawl", str(place))
        assert (checked.returncode, checked.stderr) == (0, "")
        assert checked.stdout.endswith(" is sound\n")
        broken = place.parent / "broken"
        shutil.copytree(place, broken, ignore=shutil.ignore_patterns("socket"))
        lost, worker = max((pages_of(place, number), number) for number in (1, 2))
        shutil.rmtree(broken / f"worker-{worker}")
        found = command("check-crawl", str(broken))
        assert f"{lost} URLs count as stored, and are not" in found.stdout
        assert found.returncode == 1

    def test_one_more_round(self, crawl: tuple[Path, str], web: Web) -> None:
        """It is refused, for the whole and for what one worker has, which stays as it is."""
        place, _ = crawl
        whole = scrapy("update", str(place), settings=QUICK)
        assert whole.returncode == 1
        assert "is shared by workers: again=1 is for crawls of one process" in whole.stderr
        alone = scrapy("update", str(place / "worker-1"), settings=QUICK)
        assert alone.returncode == 1
        assert f"sitecrawl: {place}/worker-1 belongs to a worker" in alone.stderr
        assert command("check-crawl", str(place)).returncode == 0

    def test_feeds(self, crawl: tuple[Path, str], web: Web) -> None:
        """Each worker writes one of its own, and together they have each page once."""
        place, _ = crawl
        items = [
            json.loads(line) for n in (1, 2) for line in Path(f"{place}-worker-{n}.jsonl").read_text().splitlines()
        ]
        assert Counter(item["url"] for item in items) == Counter(urls_of(web))

    def test_profiles(self, crawl: tuple[Path, str]) -> None:
        """`--profile` is of the command itself, which waits, and beside it of each worker, which crawls."""
        place, _ = crawl
        ran = {
            name: any(function == "read_page" for _, _, function in Stats(f"{place}{name}.prof").stats)  # type: ignore[attr-defined]
            for name in ("", "-worker-1", "-worker-2")
        }
        assert ran == {"": False, "-worker-1": pages_of(place, 1) > 0, "-worker-2": pages_of(place, 2) > 0}


def pages_of(place: Path, number: int) -> int:
    """How many pages the worker has fetched: on a busy machine all may be one's."""
    return len(Path(f"{place}-worker-{number}.jsonl").read_text().splitlines())


def pid_of_worker(place: Path, number: int) -> int:
    """Of the process that has the worker's directory; 0 where there is none."""
    said = f"JOBDIR={place}/worker-{number}".encode()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if said in words:
            return int(process.name)
    return 0


@contextmanager
def running(words: list[str], said: Path) -> Iterator[forks.Fork]:
    """A crawl that is under way; what it says goes into a file. It is killed if it has not ended."""
    process = forks.start(words, environment(), said)
    try:
        yield process
    finally:
        process.kill()
        process.wait(PATIENCE)


class TestKills:
    @pytest.mark.deep
    def test_whoever_is_killed(self, tmp_path: Path, web: Web) -> None:
        """A worker, Redis, at last the process that has started both: nobody stays behind, the same command goes on,
        with as many workers as one likes, and every page is there once.
        """
        place, said = tmp_path / "job", tmp_path / "said"
        slow = {**QUICK, "SITECRAWL_WORKERS": 2, "JOBDIR": place, "DOWNLOAD_DELAY": 0.3}
        words = ["crawl", "generic", "-a", f"seeds={web.url(0)}", "-a", "scope=any"]
        with running(with_settings(*words, settings=slow), said):
            until(lambda: stored(place) > 5, said.read_text)
            with Redis(unix_socket_path=f"{place}/redis/socket") as redis:
                os.kill(int(redis.info("server")["process_id"]), signal.SIGKILL)
            first = pid_of_worker(place, 1)
            os.kill(first, signal.SIGKILL)
            until(lambda: pid_of_worker(place, 1) not in {0, first}, "another one has its place")
            assert "worker-1 was ended by signal 9, and starts again" in said.read_text()
            before = stored(place)
            until(lambda: stored(place) > before + 5, said.read_text)
        until(lambda: not (pid_of_worker(place, 1) or pid_of_worker(place, 2)), "both workers have ended")
        done = scrapy(*words, settings={**slow, "SITECRAWL_WORKERS": 1, "DOWNLOAD_DELAY": 0})
        assert done.returncode == 0, done.stderr
        assert f"  fetched in all    {web.pages:>10}  URLs" in done.stderr
        listed = command("pages", "-d", str(place), "--kind", "page", "--format", "urls").stdout.split()
        assert Counter(listed) == Counter(urls_of(web))
        with redis_server(place):
            pass  # the other has ended, or this one would be refused

    @pytest.mark.deep
    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP], ids=["Ctrl-C", "closed terminal"])
    def test_an_end(self, tmp_path: Path, number: signal.Signals) -> None:
        """A second command is told who is at work, as the file for the process is; then all processes end, and the
        command that goes on is named. Into the log file writes the command alone.
        """
        said, log, process = (tmp_path / name for name in ("said", "log", "process"))
        settings = {
            "DOWNLOAD_DELAY": 0.3,
            "ROBOTSTXT_OBEY": False,
            "SITECRAWL_WORKERS": 2,
            "JOBDIR": tmp_path / "job",
        }
        with LocalWeb(lambda path, _: linked(f"{path}a", f"{path}b")) as web:
            files = ("--logfile", str(log), "--loglevel", "INFO", "--pidfile", str(process))
            words = with_settings("crawl", "generic", "-a", f"seeds={web.root}/", *files, settings=settings)
            with running(words, said) as crawl:
                until(lambda: len(web.paths()) > 1, said.read_text)
                assert int(process.read_text()) == crawl.pid
                second = scrapy("crawl", "generic", "-a", f"seeds={web.root}/", settings=settings)
                assert f"is at work already: process {crawl.pid}" in second.stderr
                assert second.returncode == 1
                crawl.send_signal(number)
                assert crawl.wait(PATIENCE) == 0
        assert "The crawl was interrupted." in said.read_text()
        assert "Spider opened" in log.read_text()
        assert "INFO: Spider opened" not in log.read_text(), "by a worker itself"
        (resume,) = [line for line in said.read_text().splitlines() if line.startswith("  resume ")]
        assert f"SITECRAWL_WORKERS=2 -s JOBDIR={tmp_path}/job" in resume
        with redis_server(tmp_path / "job"):
            pass

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
    def test_an_end_before_the_beginning(self, tmp_path: Path, number: signal.Signals) -> None:
        """Who ends a crawl whose workers are loading still is told so, and that is no failure."""
        said, slow = tmp_path / "said", tmp_path / "slow"
        slow.mkdir()
        (slow / "sitecustomize.py").write_text(LOADS_FOR_EVER)
        words = with_settings(
            "crawl", "generic", "-a", "seeds=http://a.example/",
            settings={"SITECRAWL_WORKERS": 2, "JOBDIR": tmp_path / "job"},
        )  # fmt: skip
        process = forks.start(words, {**environment(), "PYTHONPATH": str(slow), "LOADING": str(tmp_path)}, said)
        try:
            until(lambda: len([*tmp_path.glob("*.loading")]) == 2, said.read_text)
            process.send_signal(number)
            assert process.wait(PATIENCE) == 0, said.read_text()
        finally:
            process.kill()
            process.wait(PATIENCE)
        assert said.read_text().count("The crawl was interrupted before it had begun.") == 1
        assert "ended by signal" not in said.read_text()


def stored(place: Path) -> int:
    """How many pages there are in all workers' directories."""
    with ExitStack() as stack:
        readers = [stack.enter_context(PageReader(store)) for store in stores_below(place)]
        return sum(capture.kind == "page" for reader in readers for capture in reader.pages())


class TestRefusals:
    @pytest.mark.parametrize(
        ("words", "said"),
        [
            (("-s", "SITECRAWL_WORKERS=many"), "SITECRAWL_WORKERS is 'many', and has to be auto"),
            (("-s", "SITECRAWL_WORKERS=0"), "SITECRAWL_WORKERS is '0', and has to be auto"),
            (("-s", "SITECRAWL_WORKERS=2", "-o", "-:jsonl"), "Many workers cannot write their items to stdout"),
            (("-s", "SITECRAWL_WORKERS=2", "-a", "max_pages=many"), "max_pages must be a whole number"),
            (("-s", "SITECRAWL_WORKERS=2", "-s", "SITECRAWL_CLUSTER_SHARDS=1"), "work for at most 1 workers"),
            (("-s", "SITECRAWL_WORKERS=2", "-s", "SITECRAWL_ORDER=none"), "SITECRAWL_ORDER is 'none'"),
        ],
    )
    def test_one_line(self, words: tuple[str, ...], said: str, tmp_path: Path) -> None:
        """What is wrong is said once, and not by each worker; nobody is asked anything."""
        with LocalWeb({"/": ""}) as web:
            done = scrapy(
                "crawl", "generic", "-a", f"seeds={web.root}/", *words, settings={"JOBDIR": tmp_path / "job"}
            )
            assert web.hits == []
        assert done.returncode == 1
        assert said in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1, done.stderr

    def test_what_only_a_worker_sees(self, tmp_path: Path) -> None:
        """It is said once, such as of a directory that is none of ours; the others work, and the exit code is 1."""
        foreign = tmp_path / "job" / "worker-1"
        foreign.mkdir(parents=True)
        (foreign / "letters.txt").touch()
        (tmp_path / "job" / "worker-2").touch()
        with LocalWeb({"/": ""}) as web:
            words = ("crawl", "generic", "-a", f"seeds={web.root}/")
            settings = {**QUICK, "JOBDIR": tmp_path / "job", "SITECRAWL_WORKERS": 2}
            refused = scrapy(*words, settings=settings)
            (tmp_path / "job" / "worker-2").unlink()
            done = scrapy(*words, settings=settings)
        assert refused.stderr == f"sitecrawl: {tmp_path}/job/worker-2 cannot be used: File exists\n"
        assert refused.returncode == done.returncode == 1
        assert done.stderr.count(f"sitecrawl: {foreign} is not a crawl of sitecrawl: it holds letters.txt") == 1
        assert "The crawl finished" in done.stderr

    @pytest.mark.deep
    def test_a_crawl_begun_by_one(self, tmp_path: Path) -> None:
        """Many workers cannot go on with it, and are told who can; `auto` goes on with one."""
        place = tmp_path / "job"
        with LocalWeb({"/": linked()}) as web:
            words = ("crawl", "generic", "-a", f"seeds={web.root}/")
            assert scrapy(*words, settings={"JOBDIR": place}).returncode == 0
            done = scrapy(*words, settings={"JOBDIR": place, "SITECRAWL_WORKERS": 2})
            assert done.returncode == 1
            assert "was begun by one process" in done.stderr
            assert scrapy(*words, settings={"JOBDIR": place, "SITECRAWL_WORKERS": "auto"}).returncode == 0
        assert not (place / "worker-1").exists()


class TestJobs:
    @pytest.mark.deep
    def test_no_page(self, tmp_path: Path) -> None:
        """What no worker knows alone, that there is no page at all, is in the exit code; the job file says how many
        workers, and its name where they are.
        """
        job = tmp_path / "nothing.toml"
        with LocalWeb({}) as one, LocalWeb({}, address="127.0.0.2") as other:
            seeds = json.dumps([f"{one.root}/", f"{other.root}/"])
            job.write_text(f"[crawl]\nseeds = {seeds}\nworkers = 2\n[settings]\nSITECRAWL_EXIT_CODES = true\n")
            done = subprocess.run(
                scrapy_command("crawl", "generic", "-a", f"job={job}", settings=QUICK),
                cwd=tmp_path,
                env=environment(SCRAPY_SETTINGS_MODULE="sitecrawl.settings", PYTHONPATH=str(PROJECT)),
                capture_output=True,
                text=True,
                check=False,
            )
        assert "The crawl fetched no page" in done.stderr, done.stderr
        assert done.returncode == 4
        assert (tmp_path / "crawls" / "nothing" / "worker-2").is_dir()
