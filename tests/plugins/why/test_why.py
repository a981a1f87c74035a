"""`scrapy why` on real crawls: one answer for each cause, finished, at work and killed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from console import command
from crawling import at_work, crawl
from localweb import Answer, LocalWeb, Page, linked
from ports import held_port
from waiting import until

ROBOTS = b"User-agent: *\nDisallow: /private\nAllow: /private/open\n"


NEAR = ["/near/1", "/near/2"]
WORDS = [f"word{number}" for number in range(400)]


def page(path: str, host: str) -> Page | None:
    """A site with a page for each fate."""
    fates = ["/a", "/first", "/second", "/gone", "/broken", "/moved", "/far", "/private/x", "/denied", *NEAR]
    others = [f"/a?PHPSESSID={'0' * 32}", *(f"/p/{number}" for number in range(12))]
    pages: dict[str, Page] = {
        "/robots.txt": Answer(ROBOTS, 200, {"Content-Type": "text/plain"}),
        "/": linked(*fates, *others),
        "/a": linked("/", title="a"),
        "/first": "<title>twice</title><p>the same words</p>",
        "/near/1": f"<title>near</title><p>{' '.join(WORDS)}</p>",
        "/near/2": f"<title>near</title><p>{' '.join(WORDS)} more</p>",
        "/second": "<title>twice</title><p>the same words</p>",
        "/broken": Answer(b"busy", 500),
        "/moved": Answer(b"", 302, {"Location": "/a"}),
        "/far": Answer(b"", 302, {"Location": "http://far.example/x"}),
    }
    if path.startswith("/p/"):
        return linked("/", title=path)
    return pages.get(path)


@pytest.fixture(scope="module")
def web() -> Iterator[LocalWeb]:
    with LocalWeb(page) as served:
        yield served


@pytest.fixture(scope="module")
def dead() -> Iterator[str]:
    """A host that refuses every connection."""
    with held_port() as port:
        yield f"http://127.0.0.1:{port}"


@pytest.fixture(scope="module")
def ended(web: LocalWeb, dead: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl that has ended by itself."""
    directory = tmp_path_factory.mktemp("why") / "job"
    seeds = ",".join([web.root, *(f"{dead}/{number}" for number in range(4))])
    limits = {"RETRY_TIMES": 1, "SITECRAWL_FAILURE_DELAY": 0.05}
    done = crawl(seeds, directory, scope="host", deny="/denied", **limits)
    assert done.returncode == 0, done.stderr
    return directory


def why(directory: Path, url: str) -> dict[str, Any]:
    done = command("why", "-d", str(directory), "--json", url)
    assert (done.returncode, done.stderr) == (0, "")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


class TestEnded:
    @pytest.mark.parametrize(
        ("path", "verdict", "text"),
        [
            ("/a", "fetched", "with status 200"),
            ("/gone", "error", "its server answered 404"),
            ("/broken", "error", "answered 500 each of 2 times"),
            ("/moved", "redirects", "redirects to {root}/a"),
            ("/far", "redirects", "out of scope (no seed is on the host far.example (scope=host))"),
            ("/private/x", "robots", "Not fetched: robots.txt forbids it, line 2: Disallow: /private"),
            ("/private/y", "robots", "Not known, and it would be left out: robots.txt forbids it, line 2"),
            ("/denied", "out of scope", "Not known, and it would be left out: deny matches it: /denied"),
            ("/nowhere", "unknown", "Not known: no page that was read is known to link to it"),
            ("/private/open", "unknown", "Not known: no page that was read is known to link to it"),
        ],
    )
    def test_the_answer(self, ended: Path, web: LocalWeb, path: str, verdict: str, text: str) -> None:
        """One line says what became of a URL, or why nothing did."""
        answer = why(ended, web.root + path)
        assert answer["verdict"] == verdict
        assert text.format(root=web.root) in answer["answer"]
        assert answer["known"] == (not answer["answer"].startswith("Not known"))

    def test_how_often_it_was_put_back(self, ended: Path, web: LocalWeb) -> None:
        """Once is a word."""
        done = command("why", "-d", str(ended), f"{web.root}/broken")
        assert "; put back once before" in done.stdout

    def test_a_copy(self, ended: Path, web: LocalWeb) -> None:
        """Of two pages with one content, the second names the first."""
        answers = {path: why(ended, web.root + path) for path in ("/first", "/second")}
        (copy,) = [path for path, answer in answers.items() if answer["verdict"] == "repeats"]
        (first,) = answers.keys() - {copy}
        assert answers[copy]["answer"].endswith(f"the content of {web.root}{first}")

    def test_nearly_a_copy(self, ended: Path, web: LocalWeb) -> None:
        """A page with the title and nearly the text of another names that."""
        answers = [why(ended, web.root + path) for path in NEAR]
        (copy,) = [one for one in answers if one["verdict"] == "repeats"]
        (first,) = [one["url"] for one in answers if one is not copy]
        assert copy["answer"].endswith(f"the content of {first}")

    def test_where_it_was_found(self, ended: Path, web: LocalWeb) -> None:
        """The page that linked to it first, and how far it is from a seed."""
        known = why(ended, f"{web.root}/a")["evidence"]["known"]
        assert known == f"yes, it was fetched\nfirst linked to by {web.root}/, 1 link from a seed"
        assert why(ended, f"{web.root}/")["evidence"]["known"].endswith("a seed")

    def test_another_spelling(self, ended: Path, web: LocalWeb) -> None:
        """What is one URL to the crawl has one answer, which says what it is to the crawl."""
        answer = why(ended, f"{web.root}/a?PHPSESSID={'0' * 32}#top")
        assert (answer["verdict"], answer["url"]) == ("fetched", f"{web.root}/a")
        assert answer["evidence"]["canonical"] == f"{web.root}/a"

    def test_nearest(self, ended: Path, web: LocalWeb) -> None:
        """Beside a URL that is not known stand those that one may have meant."""
        for typed in (f"https{web.root[4:]}/a", f"{web.root}/a/"):
            assert why(ended, typed)["evidence"]["nearest"] == f"{web.root}/a"

    def test_a_host_that_refuses(self, ended: Path, dead: str) -> None:
        """It says how often it was asked; of what was not asked for any more, that its host was given up."""
        answers = [why(ended, f"{dead}/{number}") for number in range(4)]
        said = {one["verdict"]: one for one in answers}
        assert said.keys() == {"failed", "given up"}
        assert said["failed"]["answer"].endswith("in vain: connection refused")
        assert said["given up"]["answer"] == "Not asked for: its host never answered, and it was given up"
        assert "resumed asks again" in said["given up"]["advice"]

    def test_for_people(self, ended: Path, web: LocalWeb) -> None:
        """The answer is the first line, and the evidence stands below it."""
        done = command("why", "-d", str(ended), f"{web.root}/private/x")
        first, second, *rest = done.stdout.splitlines()
        assert (first[:11], second) == ("Not fetched", "")
        assert any(line.startswith("  robots.txt") for line in rest)

    @pytest.mark.parametrize("text", ["nonsense", "http://user:password@a.example/"])
    def test_no_url(self, ended: Path, text: str) -> None:
        """What is no URL is an error in one line, in which no password stands."""
        done = command("why", "-d", str(ended), text)
        assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (1, "", 1)
        assert "password" not in done.stderr.replace("a user name", "")


@pytest.mark.deep
def test_enough_pages(web: LocalWeb, tmp_path: Path) -> None:
    """What waits when the crawl has all that it was to have says so; another end is named, too."""
    directory = tmp_path / "job"
    crawl(web.root, directory, max_pages=2, order="bfs")
    answer = why(directory, f"{web.root}/p/3")
    assert (answer["verdict"], "max_pages" in answer["answer"]) == ("full", True)
    assert why(directory, f"{web.root}/new")["answer"].endswith("as many pages as max_pages allows")
    crawl(web.root, directory, max_pages=4, order="bfs", CLOSESPIDER_PAGECOUNT=1, CONCURRENT_REQUESTS=1)
    answer = why(directory, f"{web.root}/p/3")
    assert answer["verdict"] in {"ended", "full"}
    assert int(answer["evidence"]["queue"].partition(" ")[0]) >= 3


def test_too_far(web: LocalWeb, tmp_path: Path) -> None:
    """What only pages link to that are at the greatest depth is not known; the page is named."""
    crawl(f"{web.root}/a", tmp_path / "job", max_depth=1)
    answer = why(tmp_path / "job", f"{web.root}/p/3")
    assert (answer["verdict"], f" {web.root}/ links to it" in answer["answer"]) == ("too deep", True)
    assert "max_depth=1" in answer["answer"]
    done = command("why", "-d", str(tmp_path / "job"), "--search-pages", "0", f"{web.root}/p/3")
    assert done.stdout.startswith("Not known: no page that was read is known to link to it\n")


def many_forms(path: str, host: str) -> Page | None:
    """Twenty pages, each under as many URLs as there are links to it."""
    number = int(path.removeprefix("/p/").partition("?")[0]) if path.startswith("/p/") else 0
    links = [f"/p/{(number * 7 + n) % 20}?v={number}x{n}" for n in range(8)]
    return linked(*links, title=f"page {number}") if path == "/" or path.startswith("/p/") else None


def test_another_form(tmp_path: Path) -> None:
    """What waits as another form of a page names the page, and the rule that was learnt."""
    with LocalWeb(many_forms) as web:
        crawl(web.root, tmp_path / "job")
    waiting = command("frontier", "-d", str(tmp_path / "job"), "--urls").stdout.splitlines()
    answer = why(tmp_path / "job", waiting[-1])
    assert answer["verdict"] == "joined"
    assert 'without "v" in /' in answer["answer"]
    stands = answer["evidence"]["canonical"].removesuffix(" stands for it").rpartition(" ")[2]
    assert stands.partition("?")[0] == waiting[-1].partition("?")[0]
    assert why(tmp_path / "job", stands)["verdict"] in {"fetched", "repeats"}


def waiting_page(path: str, host: str) -> Page | None:
    """The first page leads to one whose host then asks for a long rest, and to a host that nobody has named."""
    if path == "/":
        return linked(
            "/busy", *(f"/later/{number}" for number in range(5)), f"http://localhost:{host.rpartition(':')[2]}/x"
        )
    return Answer(b"", 503, {"Retry-After": "600"}) if path == "/busy" else None


def test_what_waits(tmp_path: Path) -> None:
    """At work and killed, a crawl says for what a URL waits: its host's rest, or its robots.txt."""
    silent = {"/robots.txt": Answer(b"", 503)}
    directory = tmp_path / "job"
    with LocalWeb(waiting_page) as web, LocalWeb(silent) as mute:
        expected = {
            f"{web.root}/later/1": ("resting", "It waits: its host rests until"),
            f"{mute.root}/": ("robots silent", "the robots.txt of its host cannot be had"),
            f"http://localhost:{web.port}/x": ("excluded", "a private address, which no seed names"),
        }

        def verdicts() -> dict[str, str]:
            found = (command("why", "-d", str(directory), "--json", url) for url in expected)
            return {
                url: json.loads(one.stdout)["verdict"]
                for url, one in zip(expected, found, strict=True)
                if not one.returncode
            }

        words = ("crawl", "generic", "-a", f"seeds={web.root},{mute.root}", "-a", "scope=any")
        settings = {"JOBDIR": directory, "SITECRAWL_DELAY_FACTOR": 0, "SITECRAWL_MAX_HOST_FAILURES": 0}
        with at_work(*words, settings=settings) as process:
            wanted = {url: verdict for url, (verdict, _) in expected.items()}
            until(lambda: verdicts() == wanted, lambda: f"{wanted}, and not {verdicts()}")
            assert process.poll() is None
        for url, (verdict, text) in expected.items():
            answer = why(directory, url)
            assert (answer["verdict"], text in answer["answer"]) == (verdict, True), answer["answer"]
        assert "at the last checkpoint it rested until" in why(directory, f"{web.root}/later/1")["evidence"]["host"]


def test_a_number_of_pages_below_zero(tmp_path: Path) -> None:
    """It is refused, as by `scrapy report`."""
    done = command("why", "-d", str(tmp_path), "--search-pages", "-1", "example.com")
    assert (done.returncode, "--search-pages: -1 is no number of pages" in done.stderr) == (2, True)
