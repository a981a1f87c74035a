"""The live line and the summary: as text, and on a real terminal of a real crawl."""

from __future__ import annotations

import os
import pty
import random
import re
import select
import shlex
import signal
import subprocess
import sys
import termios
import time
from collections import Counter
from pathlib import Path
from typing import Any, Self

import pytest
from crawling import environment, scrapy_command
from localweb import Answer, LocalWeb, linked
from rich.console import Console
from scrapy import Request
from scrapy.http import Response
from scrapy.settings import Settings
from waiting import PATIENCE

from sitecrawl.base.display import duration, printable, size
from sitecrawl.base.errors import OptionError
from sitecrawl.console.live_line import _AboveLine
from sitecrawl.console.progress import _HostErrors
from sitecrawl.console.status_line import Status, wants_line
from sitecrawl.console.summary import Summary, resume_command
from sitecrawl.crawl.ending import ending
from sitecrawl.crawl.requests import GUESS
from sitecrawl.crawl.traffic import Rate, Traffic
from sitecrawl.crawldir.outcomes import HostRefusals
from sitecrawl.frontier.contract import Figures

HOSTILE = "a\x1b]0;owned\x07\x9b2J\r\n\u202e[red]b[/red]"
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]")


def status(**more: Any) -> Status:
    return Status(pages=1234, rate=8.25, received=45_300_000, duplicates=56, errors=7, seconds=3723, **more)


def summary(**more: Any) -> Summary:
    return Summary(**{"ending": "finished", "seconds": 10.0, "traffic": Traffic(), **more})


def text_of(told: Summary) -> str:
    return "\n".join(told.lines())


class TestFormats:
    def test_printable_leaves_nothing_that_a_terminal_obeys(self) -> None:
        """Control characters and marks of direction are written out; brackets are only brackets."""
        text = printable(HOSTILE)
        assert not CONTROLS.search(text)
        assert text.endswith("[red]b[/red]")

    def test_printable_cuts_what_is_too_long(self) -> None:
        """A host name of a megabyte is no line."""
        assert len(printable("x" * 1_000_000)) == 200

    @pytest.mark.parametrize(
        ("number", "text"),
        [
            (0, "0 B"),
            (999, "999 B"),
            (1000, "1.0 kB"),
            (45_300_000, "45.3 MB"),
            (2.5e9, "2.5 GB"),
            (3e15, "3,000.0 TB"),
        ],
    )
    def test_size(self, number: float, text: str) -> None:
        """Bytes come in powers of 1,000."""
        assert size(number) == text

    @pytest.mark.parametrize(("seconds", "text"), [(0.9, "0:00:00"), (61, "0:01:01"), (360_000, "100:00:00")])
    def test_duration(self, seconds: float, text: str) -> None:
        """Hours are not days."""
        assert duration(seconds) == text


class TestStatusLine:
    def test_line(self) -> None:
        """All figures, then the hosts, of which three are named."""
        line = status(waiting=99, resting=5, active=["a", "b", "c", "d"]).line()
        assert line == (
            "1,234 pages  8.2/s  45.3 MB  99 waiting  56 duplicates  7 errors  1:02:03"
            "  hosts 4 active 5 resting  a  b  c"
        )

    def test_without_a_frontier(self) -> None:
        """Under another scheduler the line says what Scrapy's statistics know."""
        assert status().line().endswith("7 errors  1:02:03")

    def test_hostile_host(self) -> None:
        """A host name cannot move the cursor."""
        assert not CONTROLS.search(status(waiting=1, active=[HOSTILE]).line())

    def test_rate_is_that_of_the_last_seconds(self) -> None:
        """A slow hour before does not count."""
        rate = Rate(seconds=10)
        assert rate.update(0, 0) == 0
        assert rate.update(1, 5) == 5
        rate.update(3600, 10)
        assert rate.update(3605, 110) == 20

    def test_what_is_queued_once_more(self) -> None:
        """A total that falls, as in another round, is no growth below zero."""
        rate = Rate(seconds=10)
        assert [rate.update(now, total) for now, total in ((0, 100), (1, 0), (2, 5), (4, 15))] == [
            0.0,
            0.0,
            2.5,
            3.75,
        ]

    def test_rate_where_samples_are_rare(self) -> None:
        """With a sample a little later than the window is long, it is the growth since the one before, not 0."""
        rate = Rate(seconds=60)
        rate.update(0, 0)
        assert rate.update(60.5, 121) == 2
        assert rate.update(121, 363) == 4

    @pytest.mark.parametrize(("value", "wanted"), [("auto", False), (True, True), ("1", True), ("False", False)])
    def test_setting(self, value: object, wanted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
        """`auto` asks whether stderr is a terminal."""
        monkeypatch.setattr(sys.stderr, "isatty", lambda: False, raising=False)
        assert wants_line(Settings({"SITECRAWL_PROGRESS": value})) is wanted

    def test_wrong_setting(self) -> None:
        """What is neither auto nor a truth value is named."""
        with pytest.raises(OptionError, match="'sometimes'"):
            wants_line(Settings({"SITECRAWL_PROGRESS": "sometimes"}))


class TestAboveLine:
    def write(self, tmp_path: Path, text: str) -> str:
        with (tmp_path / "out").open("w+") as file:
            _AboveLine(Console(file=file, width=20)).write(text)
            file.seek(0)
            return file.read()

    def test_long_lines_stay_whole(self, tmp_path: Path) -> None:
        """A log line that is wider than the terminal is not cut into several."""
        assert self.write(tmp_path, "word " * 20 + "\n") == "word " * 20 + "\n"

    def test_hostile_messages(self, tmp_path: Path) -> None:
        """A message is neither markup nor a command to the terminal; its line ends stay."""
        written = self.write(tmp_path, f"{HOSTILE}\nnext\n")
        assert not CONTROLS.search(written)
        assert written.endswith("[red]b[/red]\nnext\n")

    def test_colours_of_logs_stay(self, tmp_path: Path) -> None:
        """LOG_COLOR works above the line, too."""
        assert self.write(tmp_path, "\x1b[31mred\x1b[0m\n") == "\x1b[31mred\x1b[0m\n"


class TestTraffic:
    def test_read(self) -> None:
        """robots.txt is no page, a refusal of ours is no failure, retries count as what they are."""
        traffic = Traffic.read(
            {
                "downloader/response_status_count/200": 10,
                "downloader/response_status_count/404": 3,
                "robotstxt/response_status_count/404": 3,
                "robotstxt/response_status_count/200": 1,
                "downloader/response_status_count/410": 5,
                "guesses/response_status_count/410": 4,
                "downloader/exception_type_count/scrapy.exceptions.DownloadTimeoutError": 4,
                "downloader/exception_type_count/scrapy.exceptions.IgnoreRequest": 5,
                "downloader/exception_type_count/middlewares.robots.Unreachable": 6,
                "downloader/response_bytes": 1000,
                "links/followed": 70,
                "links/new": 30,
                "dupefilter/filtered": 2,
                "robotstxt/forbidden": 5,
                "spider_exceptions/KeyError": 1,
            }
        )
        assert traffic == Traffic(Counter({200: 9, 410: 1}), Counter({"timed out": 4}), 1000, 42, 5, 1, guesses=4)
        assert (traffic.responses, traffic.errors) == (10, 6)

    def test_nothing_yet(self) -> None:
        """No statistics are no traffic."""
        assert Traffic.read({}) == Traffic()


class TestHostErrors:
    def test_failed_downloads_and_refusals_count(self) -> None:
        """What arrives well is no error."""
        errors = _HostErrors()
        good, lost = Request("http://good.example/"), Request("http://user:secret@lost.example:81/")
        errors.response_downloaded(good)
        errors.request_left_downloader(good)
        errors.response_received(Response(good.url, status=200), good)
        errors.request_left_downloader(lost)
        errors.response_received(Response("http://gone.example/x", status=404), good)
        guess = Request("http://good.example/sitemap.xml", meta={GUESS: True})
        errors.response_received(Response(guess.url, status=404), guess)
        assert errors.hosts == Counter({"lost.example:81": 1, "gone.example": 1})

    @pytest.mark.parametrize("status", [408, 429, 500, 503])
    def test_a_server_that_fails_has_not_said_that_a_guess_was_wrong(self, status: int) -> None:
        """Whatever it was asked for."""
        errors = _HostErrors()
        guess = Request("http://down.example/sitemap.xml", meta={GUESS: True})
        errors.response_received(Response(guess.url, status=status), guess)
        assert errors.hosts == Counter({"down.example": 1})

    def test_hosts_are_bounded(self) -> None:
        """A crawl of a million dead hosts keeps those that fail most."""
        errors = _HostErrors(limit=10)
        for n in range(100):
            errors.request_left_downloader(Request("http://often.example/"))
            errors.request_left_downloader(Request(f"http://h{n}.example/"))
        assert len(errors.hosts) <= 10
        assert errors.hosts["often.example"] == 100


class TestSummary:
    def test_private_addresses(self) -> None:
        """Who crawls an intranet is told why pages are missing, and which setting lets them in; nobody else is."""
        line = "  private                    7  addresses that no seed names, see SITECRAWL_ALLOW_PRIVATE"
        assert line in text_of(summary(traffic=Traffic.read({"limits/private_address": 7}))).splitlines()
        assert "private" not in text_of(summary(traffic=Traffic.read({})))

    def test_guesses(self) -> None:
        """A site without sitemaps has no errors."""
        line = "  guesses                    3  addresses that sitemaps usually have, where none is"
        assert line in text_of(summary(traffic=Traffic(guesses=3))).splitlines()
        assert "guesses" not in text_of(summary(traffic=Traffic()))

    def test_sitemaps_that_were_left_out(self) -> None:
        """How many, for whatever reason."""
        stats = {"sitemaps/left_out": 7, "sitemaps/nested": 2, "sitemaps/too_many": 1}
        assert "  sitemaps left out         10  " in text_of(summary(traffic=Traffic.read(stats)))
        assert "sitemaps" not in text_of(summary(traffic=Traffic.read({})))

    def test_sites_that_say_no(self) -> None:
        """How often, which hosts, and of the one that did so most what can be done; nothing where none did."""
        rows = [HostRefusals("a.example", "challenge", 4, "Anubis"), HostRefusals("b.example", "challenge", 1, "X")]
        told = text_of(summary(traffic=Traffic.read({"refused/challenge": 5}), refusals=rows))
        assert "  challenges                 5  a.example Anubis (4), b.example X (1)" in told.splitlines()
        assert "  said no   a.example asks for a proof that a browser or a person is there (Anubis). " in told
        assert told.count("said no") == 1
        assert "said no" not in text_of(summary(traffic=Traffic.read({})))

    def test_whole(self, tmp_path: Path) -> None:
        """Every figure has its line."""
        traffic = Traffic(Counter({200: 8, 301: 1, 404: 2}), Counter({"timed out": 3}), 2_000_000, 40, 5, 1)
        told = summary(
            traffic=traffic,
            hosts=Counter({"a.example": 4, "b.example": 1}),
            totals=Figures(fetched=111, failed=2, queued=9),
            resumed=True,
            directory=Path("crawls/generic-1"),
            has_pages=True,
            resume="scrapy crawl generic",
        )
        assert (
            text_of(told)
            == """\
The crawl finished.

  responses                 11  2.0 MB in 0:00:10, 1.1 a second
    2xx pages                8
    3xx redirects            1
    4xx errors               2  404 (2)
  failed downloads           3  timed out (3)
  spider errors              1  the log has them
  most errors                   a.example (4), b.example (1)
  duplicates                40  links to URLs that were known
  robots.txt                 5  URLs that it excludes
  given up                   2  URLs for which no answer came
  waiting                    9  URLs that are known and not fetched
  fetched in all           111  URLs, this run and those before it; guesses count, too

  data      crawls/generic-1
  read      scrapy pages -d crawls/generic-1
            scrapy page URL -d crawls/generic-1
  resume    scrapy crawl generic"""
        )

    def test_hostile_words(self) -> None:
        """Host names and reasons cannot move the cursor."""
        told = summary(
            ending=ending(HOSTILE), facts=[f"{HOSTILE}: x"], hosts=Counter({HOSTILE: 3}), directory=Path(HOSTILE)
        )
        assert all(not CONTROLS.search(line) for line in told.lines())

    @pytest.mark.parametrize(
        ("reason", "words"),
        [
            ("finished", "nothing is left"),
            ("shutdown", "interrupted"),
            ("storage_error", "could not be used"),
            ("closespider_timeout", "CLOSESPIDER_TIMEOUT"),
            ("bored", "bored"),
        ],
    )
    def test_endings(self, reason: str, words: str) -> None:
        """Each finish reason is said in words."""
        assert words in ending(reason)

    def test_facts_of_the_sites(self) -> None:
        """Five are said, and how many more there are."""
        facts = [f"{n}.example: 40 of 40 pages are noindex" for n in range(7)]
        lines = [line.strip() for line in summary(facts=facts).lines()]
        assert f"of the sites                  {facts[0]}" in lines
        assert facts[4] in lines
        assert facts[5] not in lines
        assert "and 2 more" in lines


class TestResumeCommand:
    def test_adds_the_directory(self) -> None:
        """What was typed, and where to go on; quoted for a shell."""
        argv = ["python", "-m", "scrapy", "crawl", "generic", "-a", "seeds=http://a.example/?x=1&y=2"]
        command = resume_command(argv, Path("crawls/my crawl"))
        assert command is not None
        assert shlex.split(command) == [*argv, "-s", "JOBDIR=crawls/my crawl"]

    def test_keeps_passwords_to_itself(self) -> None:
        """Of a database or a Redis; whoever resumes knows them."""
        urls = ["-s", "SITECRAWL_CLUSTER=redis://me:s3cret@redis:6379/0", "-a", "seeds=http://a.example/x:y@z"]
        command = resume_command(["python", "-m", "scrapy", "crawl", "generic", *urls], Path("x"))
        assert command is not None
        assert "s3cret" not in command
        assert "redis://me:PASSWORD@redis:6379/0" in command
        assert "http://a.example/x:y@z" in command

    @pytest.mark.parametrize("given", [["-s", "JOBDIR=x"], ["-sJOBDIR=x"], ["--set=JOBDIR=x"], ["--set", "JOBDIR=x"]])
    def test_keeps_a_directory_that_was_given(self, given: list[str]) -> None:
        """JOBDIR stands there once."""
        command = resume_command(["/opt/x/python", "/opt/x/scrapy", "crawl", "generic", *given], Path("x"))
        assert command is not None
        assert shlex.split(command) == ["/opt/x/scrapy", "crawl", "generic", *given]

    def test_names_the_program_as_it_is_typed(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A `scrapy` that the shell finds needs no path."""
        program = tmp_path / "scrapy"
        program.touch(mode=0o755)
        monkeypatch.setenv("PATH", str(tmp_path))
        assert resume_command(["python", str(program), "crawl", "a"], Path("x")) == "scrapy crawl a -s JOBDIR=x"

    @pytest.mark.parametrize(
        "argv", [["python", "crawl.py", "crawl"], ["python", "-m", "scrapy", "list"], ["python"]]
    )
    def test_other_programs(self, argv: list[str]) -> None:
        """A script's own command line is its own: nothing is guessed."""
        assert resume_command(argv, Path("x")) is None


class Terminal:
    """A process whose stdout and stderr are a terminal of 200 columns."""

    def __init__(self, command: list[str], cwd: Path, **env: str) -> None:
        master, slave = pty.openpty()
        termios.tcsetwinsize(slave, (24, 200))
        variables = environment(TERM="xterm-256color", SCRAPY_SETTINGS_MODULE="sitecrawl.settings", **env)
        for name in ("COLUMNS", "LINES"):  # they would count for more than the terminal
            variables.pop(name, None)
        self.process = subprocess.Popen(command, cwd=cwd, env=variables, stdout=slave, stderr=slave)
        os.close(slave)
        self._master = master
        self.output = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._master)

    def wait_for(self, pattern: str) -> None:
        while not re.search(pattern, self.output):
            assert self._read(), self.output

    def wait(self) -> str:
        """All that the process wrote until its end."""
        while self._read():
            pass
        assert self.process.wait(PATIENCE) == 0, self.output
        return self.output

    def _read(self) -> bool:
        if not select.select([self._master], [], [], 120)[0]:
            return False
        try:
            data = os.read(self._master, 1 << 16)
        except OSError:  # the other side is closed
            return False
        self.output += data.decode(errors="replace")
        return bool(data)


def on_terminal(words: list[str], cwd: Path, **env: str) -> str:
    with Terminal(words, cwd, **env) as terminal:
        return terminal.wait()


def visible_lines(output: str) -> list[str]:
    """What stands on the terminal in the end: what was written last on each line that was not taken away."""
    lines: list[str] = []
    for line in output.split("\n"):
        if "\x1b[1A" in line:
            lines.pop()
        shown = line.rstrip("\r").rpartition("\r")[2]
        lines.append(re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown))
    return lines


def slow_site(pages: int, title: str = "page") -> LocalWeb:
    """Pages in a row, the first of which links to all, each after 50 ms; and one that is missing."""

    def answer(path: str, host: str) -> str | None:
        time.sleep(0.05)
        if path == "/":
            return linked("/gone", *(f"/{n}" for n in range(pages)), title=title)
        return linked("/", title=title) if path[1:].isdigit() else None

    return LocalWeb(answer)


def command(web: LocalWeb, *words: str, spider: str = "generic", **settings: object) -> list[str]:
    return scrapy_command(
        "crawl", spider, "-a", f"seeds={web.root}", *words, settings={"SITECRAWL_DELAY_FACTOR": 0, **settings}
    )


class TestOnATerminal:
    def test_line_and_summary(self, tmp_path: Path) -> None:
        """The line counts while the crawl runs, at most four times a second, and makes room for the summary."""
        with slow_site(30) as web:
            begun = time.monotonic()
            output = on_terminal(command(web), tmp_path)
            seconds = time.monotonic() - begun
        drawn = re.findall(r"([\d,]+) pages  [\d.]+/s  [^\r]* waiting", output)
        assert any(0 < int(number) < 32 for number in drawn)
        assert len(drawn) <= 4 * seconds + 2
        assert f"resting  {web.root.removeprefix('http://')}" in output
        assert "The crawl finished: nothing is left to fetch." in output
        assert re.search(r"4xx errors +1  404 \(1\)", output)
        assert output.rindex("\x1b[?25h") > output.rindex("\x1b[?25l")
        assert not any("/s  " in line for line in visible_lines(output))

    @pytest.mark.deep
    def test_logs_stand_above_the_line(self, tmp_path: Path) -> None:
        """Every log line is whole, and has nothing of the live line in it."""
        with slow_site(10) as web:
            output = on_terminal(command(web, "-L", "DEBUG"), tmp_path)
        logged = [line for line in visible_lines(output) if "DEBUG: Crawled" in line]
        assert len(logged) == 13
        assert all(re.fullmatch(r"[\d: -]{19} \[scrapy.core.engine\] DEBUG: .*\)", line) for line in logged)

    @pytest.mark.deep
    def test_hostile_titles_in_the_log(self, tmp_path: Path) -> None:
        """What a page says goes to the log as text, not to the terminal as a command."""
        package = tmp_path / "hostile_spiders"
        package.mkdir()
        (package / "__init__.py").write_text(
            "from sitecrawl.spiders.site import SiteSpider\n"
            "class Loud(SiteSpider):\n"
            "    name = 'loud'\n"
            "    def extract(self, response, page):\n"
            "        self.logger.warning('Title: %s', response.text)\n"
        )
        with slow_site(5, title=HOSTILE) as web:
            words = command(web, spider="loud", SPIDER_MODULES=package.name)
            output = on_terminal(words, tmp_path, PYTHONPATH=str(tmp_path))
        assert "owned" in output
        assert "\x1b]0;" not in output
        assert "\x07" not in output
        assert "[red]b[/red]" in output


class TestWithoutATerminal:
    def run(self, words: list[str], cwd: Path) -> subprocess.CompletedProcess[str]:
        env = environment(SCRAPY_SETTINGS_MODULE="sitecrawl.settings")
        return subprocess.run(words, cwd=cwd, env=env, capture_output=True, text=True, timeout=PATIENCE, check=True)

    def test_no_line_but_a_summary(self, tmp_path: Path) -> None:
        """What is crawled, where to, the dashboard's address, how to stop and go on; and the summary."""
        with slow_site(3) as web:
            done = self.run(command(web), tmp_path)
        assert done.stdout == ""
        assert re.match(
            r"Crawling: http://127\.0\.0\.1:\d+/ \(spider generic, scope site\)\nData: crawls/generic-[\d-]+\n"
            r"Dashboard: http://127\.0\.0\.1:\d+/[\w-]{32}/\n"
            r"Ctrl-C stops it. To go on: .*scrapy crawl generic .*JOBDIR=crawls/generic-[\d-]+\n"
            r"\nThe crawl finished",
            done.stderr,
        )
        assert "\x1b" not in done.stderr
        directory = next((tmp_path / "crawls").iterdir())
        assert f"scrapy page URL -d {directory.relative_to(tmp_path)}" in done.stderr

    def test_log_line(self, tmp_path: Path) -> None:
        """Every LOGSTATS_INTERVAL the log gets the figures, the first time with a speed, too; if that is what stderr
        shows, once.
        """
        with slow_site(20) as web:
            done = self.run(command(web, "-L", "INFO", LOGSTATS_INTERVAL=0.2), tmp_path)
        pages, speed = re.findall(r"INFO: ([\d,]+) pages  ([\d.]+)/s", done.stderr)[0]
        assert (pages == "0") == (speed == "0.0")
        assert re.search(r"\[sitecrawl.console.status_line\] INFO: [1-9]\d* pages", done.stderr)
        assert not re.search(r"(?m)^[\d:]+ [1-9]\d* pages", done.stderr)

    @pytest.mark.deep
    def test_a_long_rest(self, tmp_path: Path) -> None:
        """Where the log shows no figures, stderr does; they and the summary name who asked for a rest, until when.
        A resumed crawl leaves that host alone as well.
        """
        busy = Answer(status=503, headers={"Retry-After": "3000"})
        env = environment(SCRAPY_SETTINGS_MODULE="sitecrawl.settings")
        with LocalWeb({"/": linked("/busy"), "/busy": busy}) as web:
            words = command(web, LOGSTATS_INTERVAL=0.2, JOBDIR=tmp_path / "job")
            said = f"{web.root.removeprefix('http://')} asked for no request before "
            for _ in range(2):
                with subprocess.Popen(words, cwd=tmp_path, env=env, stderr=subprocess.PIPE, text=True) as crawl:
                    assert crawl.stderr is not None
                    line = next(line for line in crawl.stderr if said in line)
                    crawl.send_signal(signal.SIGINT)
                    end = crawl.stderr.read()
                assert re.match(r"\d\d:\d\d:\d\d 1 page  .*  1 waiting  ", line)
                assert re.search(rf"    resting +1  hosts: {said}(\S+ )?\d\d:\d\d\n", end)
            assert web.paths() == ["/", "/busy"]

    @pytest.mark.deep
    def test_summary_off(self, tmp_path: Path) -> None:
        """SITECRAWL_SUMMARY = False leaves nothing to be read."""
        with slow_site(1) as web:
            assert self.run(command(web, SITECRAWL_SUMMARY=False), tmp_path).stderr == ""

    @pytest.mark.deep
    def test_max_pages(self, tmp_path: Path) -> None:
        """A crawl that has what was asked for says so, and how much waits."""
        with slow_site(5) as web:
            done = self.run(command(web, "-a", "max_pages=2"), tmp_path)
        assert "max_pages is reached" in done.stderr
        assert re.search(r"waiting +5  ", done.stderr)

    @pytest.mark.deep
    def test_full_disk(self, tmp_path: Path) -> None:
        """A crawl that cannot write says so, and how to go on when it can."""
        noise = random.Random(1)
        with LocalWeb(lambda path, host: linked(f"/{noise.random()}") + noise.randbytes(50_000).hex()) as web:
            words = ["sh", "-c", 'ulimit -f 2000 && exec "$@"', "sh", *command(web, "-a", "max_pages=500")]
            with pytest.raises(subprocess.CalledProcessError) as failed:
                self.run(words, tmp_path)
        assert "ERROR" in failed.value.stderr
        assert "The crawl stopped: a file of the crawl could not be used" in failed.value.stderr
        assert "-s JOBDIR=crawls/generic-" in failed.value.stderr

    @pytest.mark.deep
    def test_failed_downloads(self, tmp_path: Path) -> None:
        """A host that hangs up is named, with what went wrong."""
        with LocalWeb({"/": Answer(raw=b"")}) as web:
            settings: dict[str, Any] = {
                "ROBOTSTXT_OBEY": False,
                "SITECRAWL_FAILURE_DELAY": 0,
                "SITECRAWL_EXIT_CODES": False,
            }
            done = self.run(command(web, **settings), tmp_path)
        host = web.root.removeprefix("http://")
        assert re.search(r"failed downloads +3  connection lost \(3\)", done.stderr)
        assert f"{host} (3)" in done.stderr
        assert re.search(r"given up +1  ", done.stderr)

    @pytest.mark.deep
    def test_other_scheduler(self, tmp_path: Path) -> None:
        """In a project that takes only this extension, it says what Scrapy's statistics know, and makes no files."""
        spider = tmp_path / "plain.py"
        with slow_site(0) as web:
            spider.write_text(
                "import scrapy\n"
                "class Plain(scrapy.Spider):\n"
                f"    name, start_urls = 'plain', ['{web.root}']\n"
                "    custom_settings = {'EXTENSIONS': {'sitecrawl.console.progress.Progress': 0}}\n"
                "    def parse(self, response): pass\n"
            )
            words = scrapy_command("runspider", str(spider), "-L", "WARNING")
            done = subprocess.run(
                words,
                cwd=tmp_path,
                env=environment(PYTHONDONTWRITEBYTECODE="1"),
                capture_output=True,
                text=True,
                timeout=PATIENCE,
                check=True,
            )
        assert re.search(r"responses +1  ", done.stderr)
        assert "waiting" not in done.stderr
        assert [path.name for path in tmp_path.iterdir()] == ["plain.py"]


class TestInterrupted:
    @pytest.mark.deep
    def test_the_command_that_it_prints_resumes(self, tmp_path: Path) -> None:
        """Ctrl-C, then exactly what the summary says: every page is asked for once in all."""
        with slow_site(40) as web:
            with Terminal(command(web), tmp_path) as terminal:
                terminal.wait_for("[5-9] pages")
                terminal.process.send_signal(signal.SIGINT)
                output = terminal.wait()
            assert "The crawl was interrupted." in output
            asked = len(web.paths())
            assert 5 <= asked < 42
            resume = re.search(r"resume +(\S.*?)\r?$", output, re.MULTILINE)
            assert resume is not None
            again = on_terminal(["sh", "-c", resume[1]], tmp_path)
            assert sorted(web.paths()) == sorted(["/", "/gone", *(f"/{n}" for n in range(40))])
        assert re.search(r"fetched in all +42", again)
