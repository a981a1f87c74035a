"""Crawls on a machine that lacks something: descriptors, a name server, a network. No host is blamed for it."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from shutil import which

import pytest
from crawling import HELPERS, PROJECT, environment, scrapy, scrapy_command, states_of, stats_of
from localweb import LocalWeb, linked
from name_server import SILENCE, NameServer
from silence import silent
from waiting import PATIENCE, until

from sitecrawl.frontier.urls.record import UrlState

SETTINGS = {
    "SITECRAWL_DELAY_FACTOR": 0,
    "SITECRAWL_CONCURRENT_REQUESTS_PER_IP": 0,
    "SITECRAWL_DASHBOARD": False,
    "STATS_DUMP": True,
    "LOG_LEVEL": "INFO",
}
WITHIN = "import os, resource, sys; n = int(sys.argv[1]); resource.setrlimit(resource.RLIMIT_NOFILE, (n, n)); "
ALONE = ("unshare", "--user", "--map-root-user", "--net")
"""Begins a command in a network that has nothing, not even a loopback that is up."""


def limited(files: int, command: Sequence[str]) -> list[str]:
    """`command` in a process that may have so many files open."""
    return [sys.executable, "-c", WITHIN + "os.execv(sys.argv[2], sys.argv[2:])", str(files), *command]


def run(command: Sequence[str], **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=PROJECT, env=environment(**env), capture_output=True, text=True, timeout=PATIENCE, check=False
    )


def page(path: str, host: str) -> str | None:
    return f"the page of {host}" if path == "/" else None


@pytest.fixture
def alone() -> Sequence[str]:
    if not which("unshare") or subprocess.run([*ALONE, "true"], check=False, capture_output=True).returncode:
        pytest.skip("no right to have a network of one's own")
    return ALONE


def test_few_descriptors(tmp_path: Path) -> None:
    """Of 150 hosts, which would have as many connections, all are fetched with no more than 64 files open."""
    with LocalWeb(page, address="0.0.0.0") as web:
        seeds = [f"http://127.0.1.{number}:{web.port}/" for number in range(1, 151)]
        (tmp_path / "seeds").write_text("\n".join(seeds))
        words = ("crawl", "generic", "-a", f"seeds=@{tmp_path / 'seeds'}")
        done = run(limited(64, scrapy_command(*words, settings={**SETTINGS, "JOBDIR": tmp_path / "job"})))
        assert done.returncode == 0, done.stderr
        assert len(web.paths()) == len(seeds)
    assert states_of(tmp_path / "job") == dict.fromkeys(seeds, UrlState.FETCHED)


def test_too_few_descriptors(tmp_path: Path) -> None:
    """A crawl that could not open its own files says so before it begins."""
    words = ("crawl", "generic", "-a", "seeds=http://127.0.0.1:1/")
    done = run(limited(48, scrapy_command(*words, settings={**SETTINGS, "JOBDIR": tmp_path / "job"})))
    assert done.returncode == 1
    assert "sitecrawl: This process may have 48 files open, and a crawl needs 64: raise ulimit -n\n" in done.stderr
    assert not (tmp_path / "job").exists()


@pytest.mark.deep
def test_a_name_server_that_is_gone_for_a_while(tmp_path: Path) -> None:
    """No host of those whose names nobody can look up meanwhile is given up; each page is fetched once."""
    gone, log = tmp_path / "gone", tmp_path / "log"

    def then_gone(path: str, host: str) -> str | None:
        if path == "/" and len(web.paths()) == 10:
            gone.touch()
        return linked(*links) if host.startswith("h1.") else page(path, host)

    with LocalWeb(then_gone, address="0.0.0.0") as web:
        links = [f"http://h{number}.example:{web.port}/" for number in range(2, 41)]
        words = ("crawl", "generic", "-a", f"seeds=http://h1.example:{web.port}/", "-a", "scope=any")
        settings = {
            **SETTINGS,
            "TWISTED_DNS_RESOLVER": "resolvers.Vanishing",
            "SITECRAWL_ALLOW_PRIVATE": True,
            "CONCURRENT_REQUESTS": 4,
            "JOBDIR": tmp_path / "job",
        }
        env = environment(PYTHONPATH=str(HELPERS / "spiders"), NAME_SERVER_IS_GONE=str(gone))
        with log.open("wb") as stderr:
            crawl = subprocess.Popen(scrapy_command(*words, settings=settings), cwd=PROJECT, env=env, stderr=stderr)
        try:
            until(lambda: "The crawl pauses, and goes on by itself: no name server" in log.read_text(), "the pause")
            assert len(web.paths()) < 40
            gone.unlink()
            assert crawl.wait(PATIENCE) == 0
        finally:
            crawl.kill()
        assert len(web.paths()) == 40
    assert set(states_of(tmp_path / "job").values()) == {UrlState.FETCHED}
    assert stats_of(log.read_text())["want/names"] > 0


@pytest.mark.deep
def test_a_zone_whose_name_server_is_silent(tmp_path: Path) -> None:
    """Links to 100 names of it, and to 100 zones of the kind, cost the site that has them no page, and no pause."""
    good = [f"/{number}" for number in range(1, 101)]

    def site(path: str, host: str) -> str | None:
        number = path.removeprefix("/") or "0"
        dead = (f"http://h{number}.dead.example:{web.port}/", f"http://dead{number}.example:{web.port}/")
        return linked(*good, *dead) if path in {"/", *good} else None

    def answer(name: str) -> list[str] | None:
        return SILENCE if "dead" in name else ["127.0.0.7"]

    with LocalWeb(site, address="127.0.0.7") as web, NameServer(answer) as server:
        settings = {
            **SETTINGS,
            "TWISTED_DNS_RESOLVER": "resolvers.Loopback",
            "SITECRAWL_FAILURE_DELAY": 0.01,
            "JOBDIR": tmp_path / "job",
        }
        words = ("crawl", "generic", "-a", f"seeds=http://www.good.example:{web.port}/", "-a", "scope=any")
        env = environment(PYTHONPATH=str(HELPERS / "spiders"), NAME_SERVER=server.address)
        done = run(scrapy_command(*words, settings=settings), **env)
    assert done.returncode == 0, done.stderr
    states = states_of(tmp_path / "job")
    assert {url for url, state in states.items() if state is UrlState.FETCHED} == {
        f"http://www.good.example:{web.port}{path}" for path in ("/", *good)
    }
    assert len(states) == 303
    assert "want/pauses" not in done.stderr


@pytest.mark.deep
def test_a_network_that_is_gone_for_a_while(tmp_path: Path, alone: Sequence[str]) -> None:
    """No host of those that nobody can reach meanwhile is given up; each page comes in once."""
    done = run([*alone, sys.executable, str(HELPERS / "lost_network.py"), str(tmp_path), "24"])
    log = (tmp_path / "log").read_text()
    assert done.returncode == 0, done.stderr + log
    states = states_of(tmp_path / "job")
    assert len(states) == 24
    assert set(states.values()) == {UrlState.FETCHED}
    assert stats_of(log)["want/network"] > 0
    assert len(set(json.loads(done.stdout))) == 24


@pytest.mark.deep
def test_no_network_at_all(tmp_path: Path, alone: Sequence[str]) -> None:
    """The crawl ends, with a reason and an exit code of its own, and has lost nothing: the next run goes on."""
    with LocalWeb(page, address="0.0.0.0") as web:
        seeds = [f"http://h{number}.example:{web.port}/" for number in range(1, 4)]
        words = ("crawl", "generic", "-a", f"seeds={','.join(seeds)}")
        settings = {**SETTINGS, "SITECRAWL_MAX_WANT_TIME": 1, "JOBDIR": tmp_path / "job"}
        done = run([*alone, *scrapy_command(*words, settings=settings)])
        assert done.returncode == 3, done.stderr
        assert "The crawl fetched no page, and stopped for want of something: no name server answers." in done.stderr
        assert "'finish_reason': 'no_names'" in done.stderr
        assert states_of(tmp_path / "job") == dict.fromkeys(seeds, UrlState.QUEUED)
        again = scrapy(
            *words,
            settings={**settings, "TWISTED_DNS_RESOLVER": "resolvers.Vanishing"},
            env={"PYTHONPATH": str(HELPERS / "spiders"), "NAME_SERVER_IS_GONE": str(tmp_path / "no")},
        )
    assert again.returncode == 0, again.stderr
    assert states_of(tmp_path / "job") == dict.fromkeys(seeds, UrlState.FETCHED)


def test_seeds_that_are_all_dead(tmp_path: Path) -> None:
    """The crawl ends, and claims no more than it knows: they are down, or the network is."""
    with ExitStack() as stack:
        addresses = [f"127.0.3.{number}" for number in range(1, 4)]
        seeds = [f"http://{address}:{stack.enter_context(silent(address))}/" for address in addresses]
        words = ("crawl", "generic", "-a", f"seeds={','.join(seeds)}")
        settings = {
            **SETTINGS,
            "JOBDIR": tmp_path / "job",
            "SITECRAWL_MAX_IDLE_TIME": 0.2,
            "SITECRAWL_MAX_WANT_TIME": 1,
        }
        done = scrapy(*words, settings=settings)
    assert done.returncode == 3, done.stderr
    assert (
        "stopped for want of something: no host answers: the network is down, or all hosts that were" in done.stderr
    )
    assert states_of(tmp_path / "job") == dict.fromkeys(seeds, UrlState.QUEUED)


def proxied(path: str, host: str) -> str | None:
    return None if path.endswith("/robots.txt") else f"the page of {host}"


@contextmanager
def refusing(address: str) -> Iterator[int]:
    """A port of `address` of which everybody is refused; a server may take it over."""
    with closing(socket.socket()) as bound:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((address, 0))
        yield bound.getsockname()[1]


@pytest.mark.deep
def test_a_proxy_that_is_down_for_a_while(tmp_path: Path) -> None:
    """No host behind it is given up, and no attempt is counted of their pages."""
    address, log = "127.0.0.77", tmp_path / "log"
    seeds = [f"http://h{number}.example/" for number in range(1, 6)]
    words = ("crawl", "generic", "-a", f"seeds={','.join(seeds)}")
    settings = {**SETTINGS, "JOBDIR": tmp_path / "job", "SITECRAWL_FAILURE_DELAY": 0.01}
    with refusing(address) as port, log.open("wb") as stderr:
        env = environment(http_proxy=f"http://{address}:{port}")
        crawl = subprocess.Popen(scrapy_command(*words, settings=settings), cwd=PROJECT, env=env, stderr=stderr)
        try:
            until(lambda: "goes on by itself: no proxy answers" in log.read_text(), "the pause")
            with LocalWeb(proxied, address=address, port=port) as web:
                assert crawl.wait(PATIENCE) == 0
        finally:
            crawl.kill()
    assert states_of(tmp_path / "job") == dict.fromkeys(seeds, UrlState.FETCHED)
    assert sorted(web.paths()) == sorted([*seeds, *(f"{seed}robots.txt" for seed in seeds)])
    assert f"The proxy {address}:{port} does not answer" in log.read_text()
    assert stats_of(log.read_text())["want/proxies"] > 0


@pytest.mark.deep
def test_one_proxy_of_several(tmp_path: Path) -> None:
    """What goes through the others comes in without a pause; what waits for it is kept, and the crawl ends."""
    live, dead = ([f"http://{kind}{number}.example/" for number in range(1, 6)] for kind in "ld")
    words = ("crawl", "generic", "-a", f"seeds={','.join(dead + live)}")
    settings = {
        **SETTINGS,
        "JOBDIR": tmp_path / "job",
        "SITECRAWL_MAX_WANT_TIME": 1,
        "DOWNLOADER_MIDDLEWARES": json.dumps({"proxied.ByHost": 50}),
        "ROBOTSTXT_OBEY": False,
    }
    with refusing("127.0.0.78") as port, LocalWeb(proxied, address="127.0.0.77") as web:
        env = {"PROXY": web.root, "PROXY_OF_D": f"http://127.0.0.78:{port}", "PYTHONPATH": str(HELPERS / "spiders")}
        done = scrapy(*words, settings=settings, env=env)
        assert sorted(web.paths()) == live
    assert done.returncode == 3, done.stderr
    assert "stopped for want of something: a proxy does not answer, and nothing comes by another way" in done.stderr
    fetched, waiting = dict.fromkeys(live, UrlState.FETCHED), dict.fromkeys(dead, UrlState.QUEUED)
    assert states_of(tmp_path / "job") == {**fetched, **waiting}
