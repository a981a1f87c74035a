"""What the image does, without the image: its commands, in an environment that has nothing but the wheel."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest
import yaml
from crawling import PROJECT, environment
from installed import Environment, build_wheel, copy_of_project
from localweb import LocalWeb, linked
from ports import held_port
from redis_servers import server
from scrapyd_server import Scrapyd
from waiting import PATIENCE, until

pytestmark = pytest.mark.deep

DEPLOY = PROJECT / "deploy"
TOKEN = "a-token-of-the-operator"
PASSWORD = "a-password-of-redis"
IMAGE = {"SCRAPY_SETTINGS_MODULE": "sitecrawl.settings"}
"""What the image has in its environment."""


@pytest.fixture(scope="module")
def web() -> Iterator[LocalWeb]:
    site = {
        "/": linked(*(f"/{number}" for number in range(20))),
        **{f"/{number}": linked("/") for number in range(20)},
    }
    with LocalWeb(site) as served:
        yield served


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    made = Environment.make(tmp_path_factory.mktemp("image") / "env")
    made.install(build_wheel(copy_of_project(tmp_path_factory.mktemp("sources")), tmp_path_factory.mktemp("wheel")))
    return made


def health(*words: str, **changes: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(DEPLOY / "health.py"), *words]
    return subprocess.run(command, env=environment(**changes), capture_output=True, text=True, check=False)


def pages(installed: Environment, directory: Path) -> set[str]:
    """The URLs of the pages that the workers in `directory` have stored; none before they have begun."""
    words = ("pages", "-d", str(directory), "--kind", "page", "--format", "urls")
    return set(installed.scrapy(*words, cwd=directory.parent.parent, **IMAGE).stdout.split())


def test_compose_s_crawl(installed: Environment, web: LocalWeb, tmp_path: Path) -> None:
    """The command of compose.yaml crawls with two workers, is well while it does, and tells no secret.

    They stay when nothing is left, so that they can be asked how they are.
    """
    crawled = tmp_path / "crawl" / "mine"
    with held_port() as port, server() as redis, redis.client() as client:
        client.config_set("requirepass", PASSWORD)
        url = f"redis://:{PASSWORD}@127.0.0.1:{redis.port}/0"
        for name, text in (("redis_url", url), ("dashboard_token", TOKEN), ("seeds.txt", f"{web.root}/\n")):
            (tmp_path / name).write_text(f"{text}\n")
        given = {
            "${WORKERS:-2}": "2",
            "${CRAWL:-mine}": "mine",
            "/run/secrets": str(tmp_path),
            "/run/configs": str(tmp_path),
            "/crawl/": f"{tmp_path}/crawl/",
            "DASHBOARD=0.0.0.0:8123": f"DASHBOARD=127.0.0.1:{port}",
        }
        words = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]["crawl"]["command"]
        command = [re.sub(r"\$\{CONTACT.*\}", "https://bot.example/", word) for word in words]
        for before, after in given.items():
            command = [word.replace(before, after) for word in command]
        (home := tmp_path / "home").mkdir()
        asked = {"HEALTH_PORT": str(port), "HEALTH_TOKEN_FILE": str(tmp_path / "dashboard_token")}
        log = (tmp_path / "log").open("w+")
        process = subprocess.Popen(
            [installed.python, "-m", "scrapy", *command, "-a", "watch=1", "-s", "SITECRAWL_DELAY_FACTOR=0"],
            cwd=home,
            env=environment(**IMAGE),
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            until(
                lambda: health(**asked).returncode == 0,
                lambda: f"the crawl is well: {(tmp_path / 'log').read_text()}",
            )
            (tmp_path / "other_token").write_text(f"{TOKEN}x")
            wrong = health(**{**asked, "HEALTH_TOKEN_FILE": str(tmp_path / "other_token")})
            assert (wrong.returncode, "answers 404" in wrong.stdout) == (1, True)
            until(
                lambda: len(pages(installed, crawled)) == 21,
                lambda: f"all is stored: {(tmp_path / 'log').read_text()}",
            )
            process.terminate()
            assert process.wait(PATIENCE) == 0
        finally:
            process.terminate()
            process.wait(PATIENCE)
            log.close()
        assert health(**asked).returncode == 1
    told = "".join(path.read_text() for path in (tmp_path / "log", *crawled.glob("*.log")))
    assert "21 pages" in told
    assert PASSWORD not in told


def test_health_without_a_crawl(tmp_path: Path) -> None:
    """No token, and nobody who answers: each is said."""
    missing = health(HEALTH_TOKEN_FILE=str(tmp_path / "none"))
    assert (missing.returncode, "FileNotFoundError" in missing.stdout) == (1, True)
    (tmp_path / "token").write_text(TOKEN)
    with held_port() as port:
        silent = health(HEALTH_TOKEN_FILE=str(tmp_path / "token"), HEALTH_PORT=str(port))
    assert (silent.returncode, "ConnectionRefusedError" in silent.stdout) == (1, True)


def test_scrapyd_of_the_image(installed: Environment, web: LocalWeb, tmp_path: Path) -> None:
    """Its configuration knows the project without an egg, and keeps everything below one folder."""
    text = (DEPLOY / "scrapyd.conf").read_text()
    for before, after in (("/crawl", str(tmp_path / "kept")), ("0.0.0.0", "127.0.0.1"), ("6800", "{port}")):
        assert before in text
        text = text.replace(before, after)
    scrapyd = Scrapyd(installed, tmp_path / "home", text, **IMAGE)
    try:
        assert scrapyd.get("listspiders", project="sitecrawl")["spiders"].count("generic") == 1
        job = scrapyd.schedule(f"{web.root}/")
        until(lambda: scrapyd.jobs("finished")[job] == 1, lambda: f"the job is over: {scrapyd.log()}")
        assert health(f"{scrapyd.url}/daemonstatus.json").returncode == 0
    finally:
        scrapyd.close()
    assert "The crawl finished" in (tmp_path / "kept" / "logs" / "sitecrawl" / "generic" / f"{job}.log").read_text()
    assert (tmp_path / "kept" / "jobs" / "sitecrawl" / "generic" / job / "crawl.json").exists()
    assert health(f"{scrapyd.url}/daemonstatus.json").returncode == 1


@pytest.mark.parametrize(("status", "code"), [(200, 0), (401, 0), (404, 1), (500, 1)])
def test_who_is_well(status: int, code: int) -> None:
    """Whoever asks for a password is there, as a scrapyd with users does."""

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nothing."""

    with HTTPServer(("127.0.0.1", 0), Answers) as there:
        thread = Thread(target=there.handle_request)
        thread.start()
        assert health(f"http://127.0.0.1:{there.server_port}/daemonstatus.json").returncode == code
        thread.join()
