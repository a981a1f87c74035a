"""`scrapy job` as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from crawling import scrapy

from sitecrawl.plugins.jobs.job import job_schema

JOB = """
[crawl]
seeds = ["https://example.com/"]
deny = ["print"]
max_depth = 3
[politeness]
delay = 1
[[sheets]]
hosts = ["*.example.com"]
delay = 5
priority = 0.5
deny = ["/old/"]
headers = { X-Key = "hush" }
cookies = { id = "hush" }
proxy = "http://me:hush@proxy.example:3128"
robots = { reason = "we own it", paths = ["/docs/"] }
login = { kind = "basic", user = "me", password = "hush" }
"""


@pytest.fixture
def job(tmp_path: Path) -> Path:
    path = tmp_path / "site.toml"
    path.write_text(JOB)
    return path


class TestCheck:
    def test_what_it_will_do(self, job: Path) -> None:
        """Each URL is told with what keeps it out; no secret is shown."""
        urls = ["https://www.example.com/docs/a", "https://example.com/print", "https://www.example.com/old/"]
        done = scrapy("job", "check", str(job), *urls, "b.example", "http://", settings={"JOBDIR": "crawl"})
        assert done.returncode == 0, done.stderr
        head, docs, printed, old, other, none = done.stdout.splitlines()
        assert head == f"{job} is sound: spider generic, 1 seed, directory crawl"
        assert docs.endswith(": it is in scope")
        assert printed.endswith(": not followed: deny matches it: print")
        assert old.endswith(": not followed: its sheet: deny matches it: /old/")
        assert other.startswith("b.example: not followed: no seed is of the site b.example")
        assert none.startswith("http://: not followed: ")
        assert "hush" not in done.stdout + done.stderr

    def test_mistakes(self, job: Path) -> None:
        """A file with mistakes has exit code 1, and a line for each."""
        job.write_text(JOB.replace("delay = 5", "delay = -5").replace("[politeness]", "[politenes]"))
        done = scrapy("job", "check", str(job))
        assert done.returncode == 1
        assert done.stderr == (
            f"scrapy: {job}, line 6: there is no 'politenes' here: is politeness meant?\n"
            f"{job}, line 10: delay is -5, and has to be 0 or more\n"
        )

    @pytest.mark.parametrize(
        ("name", "text", "message"),
        [
            ("site.txt", "", "is no job file: those are TOML"),
            ("site.toml", "[crawl]\nspider = 'nobody'", "is for the spider nobody, which is not in this project"),
            ("site.toml", "", "seeds is empty: say what to crawl"),
            ("none/site.toml", None, "No such file"),
        ],
    )
    def test_what_cannot_be_checked(self, name: str, text: str | None, message: str, tmp_path: Path) -> None:
        """One line says what is wrong, and the exit code is 1."""
        if text is not None:
            (tmp_path / name).write_text(text)
        done = scrapy("job", "check", str(tmp_path / name))
        assert done.returncode == 1
        assert message in done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_the_schema() -> None:
    """It is printed whole, that of sheets included."""
    assert json.loads(scrapy("job", "schema").stdout) == json.loads(json.dumps(job_schema()))


@pytest.mark.parametrize("words", [[], ["init", "a", "b"], ["check"], ["schema", "x"], ["nothing"]])
def test_a_wrong_call(words: list[str]) -> None:
    """Whoever asks for something else is told what there is."""
    done = scrapy("job", *words)
    assert done.returncode == 2
    assert "job check FILE [URL ...], job schema" in done.stderr
