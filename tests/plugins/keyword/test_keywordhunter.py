"""`KeywordHunter` and `scrapy crawl keyword`, as a user runs them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from crawling import PROJECT, environment, forked, scrapy
from localweb import Answer, LocalWeb, Page, linked
from waiting import FOREVER, PATIENCE

from sitecrawl.plugins.keyword.keywordhunter import _read_words, main

HTML = {"Content-Type": "text/html"}
FAST = ("-s", "SITECRAWL_DELAY_FACTOR=0", "-s", "SITECRAWL_FAILURE_DELAY=0", "-s", "RETRY_ENABLED=False")

PAGES: dict[str, Page] = {
    "/": linked("/old", "/frames", "/words.txt", "/gone") + "<script>secret deep5</script>",
    "/old": Answer(b"", 302, {"Location": "/new"}),
    "/new": linked("/3") + "<p>\nthe key<i>word</i> &eacute;t&eacute;</p>",
    "/frames": "<frameset><frame src=/frame></frameset>",
    "/frame": "<p>in a frame</p>",
    "/words.txt": Answer("eins\nzwei\n\nStra\u00dfe\n".encode("latin-1"), 200, {"Content-Type": "text/plain"}),
    "/3": linked("/4") + "deep3",
    "/4": linked("/5", "/4/..%2f..%2fetc") + "deep4",
    "/5": linked("/6") + "deep5",
    "/6": "deep6",
    "/closed/": Answer(b"secret", 200, HTML),
    "/robots.txt": "User-agent: *\nDisallow: /closed/",
}


@pytest.fixture(scope="module")
def web() -> Iterator[LocalWeb]:
    with LocalWeb(PAGES) as served:
        yield served


def hunter(*words: object) -> list[str]:
    return [sys.executable, "-m", "sitecrawl.plugins.keyword.keywordhunter", *map(str, words)]


def hunt(*words: object, cwd: Path = PROJECT) -> tuple[int, str, str]:
    done = forked("KeywordHunter", *map(str, words), env=environment(), cwd=cwd)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def test_the_command_is_installed() -> None:
    """The entry point leads to the function."""
    entry = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["scripts"]["KeywordHunter"]
    module, _, name = entry.partition(":")
    assert callable(getattr(import_module(module), name))


def test_found_behind_a_redirect(web: LocalWeb, tmp_path: Path) -> None:
    """URL and line on stdout, exit code 0, every page in the folder, and nothing else left anywhere."""
    start = web.root.removeprefix("http://") + "/"
    code, output, errors = hunt(*FAST, start, "KEYWORD ét\u00e9", tmp_path / "out", cwd=tmp_path)
    assert (code, errors) == (0, "")
    assert output == f"{web.root}/new\nline 2: the keyword été\n"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    kept = {path.name.rpartition("-")[0]: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    name = web.root.removeprefix("http://").replace(":", "_")
    assert {name, f"{name}_new"} <= kept.keys()
    assert kept[name] == str(PAGES["/"]).encode()


@pytest.mark.parametrize(
    ("keyword", "path", "line"),
    [("deep5", "/5", 1), ("in a frame", "/frame", 1)],
)
def test_found_to_depth_5(web: LocalWeb, keyword: str, path: str, line: int) -> None:
    """In a frame, and on a page of depth 5, whose way leads through a redirect."""
    code, output, _ = hunt(*FAST, web.root, keyword)
    assert (code, output.splitlines()[0]) == (0, web.root + path)
    assert output.splitlines()[1].startswith(f"line {line}: ")


def test_an_empty_folder_is_none(web: LocalWeb, tmp_path: Path) -> None:
    """With an empty OUTPUT_DIR nothing is saved."""
    assert hunt(*FAST, web.root, "in a frame", "", cwd=tmp_path)[0] == 0
    assert not list(tmp_path.iterdir())


@pytest.mark.deep
def test_not_found_beyond_depth_5(web: LocalWeb, tmp_path: Path) -> None:
    """A page of depth 6 is not fetched; not to find is no error; failed pages are told of, and kept as they came."""
    before = len(web.hits)
    code, output, errors = hunt(*FAST, web.root, "deep6", tmp_path)
    assert (code, output) == (0, "not found on 8 pages\n")
    assert "/6" not in [hit.path for hit in web.hits[before:]]
    assert "2 downloads failed" in errors
    assert len(list(tmp_path.iterdir())) == 10  # the error pages of /gone and of /4's odd link, too


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("http://a.example/",), "START and KEYWORD are needed"),
        (("http://a.example/", "a", "b", "c"), "START and KEYWORD are needed"),
        (("-s", "x", "http://a.example/", "a"), "write -s NAME=VALUE"),
        (("--scope", "all", "http://a.example/", "a"), "invalid choice"),
        (("http://a.example/", ""), "keyword is empty"),
        (("http://a.example/", "x" * 101), "100 is the limit"),
        (("ftp://a.example/", "x"), "its scheme is ftp:"),
        (("no url", "x"), "is no URL"),
    ],
)
def test_bad_arguments(capsys: pytest.CaptureFixture[str], words: tuple[str, ...], why: str) -> None:
    """Exit code 1 and one message, before anything starts."""
    with pytest.raises(SystemExit) as left:
        main(words)
    output, errors = capsys.readouterr()
    assert (left.value.code, output) == (1, "")
    assert why in errors


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("-s", "SITECRAWL_ORDERS=1", "{root}", "x"), "is SITECRAWL_ORDER meant?"),
        (("{root}/closed/", "secret"), "its robots.txt forbids it"),
        (("{root}/nothing", "404"), "the server answered with status 404"),
        (("http://127.0.0.1:1/", "x"), "connection refused"),
    ],
    ids=["setting", "robots", "status", "refused"],
)
def test_exit_code_1(web: LocalWeb, words: tuple[str, ...], why: str) -> None:
    """A bad setting, and a start that cannot be read, are one message on stderr."""
    given = [word.format(root=web.root) for word in words]
    code, output, errors = hunt(*FAST, *given)
    assert (code, output) == (1, "")
    assert why in errors
    assert "Traceback" not in errors


def test_a_keyword_may_begin_with_a_dash() -> None:
    """What follows START is no option."""
    options = _read_words(["--scope", "site", "a.example", "--scope", "-s"])
    assert (options.scope, options.keyword, options.output_dir) == ("site", "--scope", "-s")


def test_a_page_that_cannot_be_kept(tmp_path: Path) -> None:
    """A folder that goes away in the midst ends the crawl with exit code 1 and the reason."""
    out = tmp_path / "out"

    def answer(path: str, host: str) -> Page | None:
        if path == "/":
            for kept in out.iterdir():
                kept.unlink()
            out.rmdir()
            return "hello"
        return None

    with LocalWeb(answer) as web:
        code, output, errors = hunt(*FAST, web.root, "hello", out)
    assert (code, output) == (1, "")
    assert "cannot be written: No such file or directory" in errors
    assert "Traceback" not in errors


@pytest.mark.deep
def test_interrupted() -> None:
    """Ctrl-C: exit code 130, and how far it came."""
    asked, over = threading.Event(), threading.Event()

    def answer(path: str, host: str) -> Page | None:
        if path == "/":
            return linked("/slow")
        if path == "/slow":
            asked.set()
            over.wait(FOREVER)
        return None

    with LocalWeb(answer) as web:
        limits = ("-s", f"DOWNLOAD_TIMEOUT={FOREVER}")
        words = hunter(*FAST, *limits, web.root, "x")
        process = subprocess.Popen(words, cwd=PROJECT, env=environment(), stderr=subprocess.PIPE, text=True)
        try:
            assert asked.wait(PATIENCE)
            os.kill(process.pid, signal.SIGINT)
            _, errors = process.communicate(timeout=PATIENCE)
        finally:
            over.set()
    assert process.returncode == 130
    assert "interrupted; not found on 1 pages" in errors


@pytest.mark.deep
def test_as_a_spider(web: LocalWeb, tmp_path: Path) -> None:
    """The feed has what was found and no pages; the pages are in the page store; the summary says it."""
    feed = tmp_path / "found.jsonl"
    done = scrapy(
        "crawl", "keyword", "-a", f"start={web.root}", "-a", "keyword=deep3", "-O", str(feed),
        settings={"JOBDIR": tmp_path / "job", "SITECRAWL_DELAY_FACTOR": 0},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (found,) = map(json.loads, feed.read_text().splitlines())
    assert (found["url"], found["line"], found["depth"]) == (f"{web.root}/3", 1, 3)
    assert "stopped: the keyword is found" in done.stderr
    assert f"found     {web.root}/3" in done.stderr
    assert (tmp_path / "job" / "pages.sqlite").exists()


def test_what_was_not_read(tmp_path: Path) -> None:
    """Not to find on some of the pages is not to find on all of them: how many are left is said, and why."""
    with LocalWeb({"/": linked(*(f"/{n}" for n in range(9))), **{f"/{n}": "x" for n in range(9)}}) as web:
        code, output, errors = hunt(*FAST, "-s", "SITECRAWL_MAX_PAGES=4", web.root, "nowhere")
    assert (code, output) == (0, "not found on 4 pages\n")
    assert errors == "KeywordHunter: 6 URLs that are known were not read: max_pages is reached\n"
