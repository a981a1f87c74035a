"""The URL-cache study runs, and its caches miss what they should."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from crawling import PROJECT, environment, scrapy
from hypothesis import given
from hypothesis import strategies as st
from localweb import LocalWeb, linked
from waiting import PATIENCE

pytestmark = pytest.mark.deep

BENCHMARKS = PROJECT / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))
from caches import POLICIES, next_uses  # noqa: E402

STREAMS = st.lists(st.integers(0, 12), max_size=60)


def run(*words: object) -> str:
    command = [sys.executable, BENCHMARKS / "url_cache.py", *words]
    done = subprocess.run(
        list(map(str, command)),
        env=environment(PYTHONPATH=str(PROJECT)),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def belady(stream: list[int], size: int) -> int:
    """The same as MIN, looking through the whole future at every miss."""
    cache: set[int] = set()
    misses = 0
    for now, request in enumerate(stream):
        if request not in cache:
            misses += 1
            if len(cache) == size:
                ahead = [(stream.index(url, now) if url in stream[now:] else len(stream), url) for url in cache]
                cache.remove(max(ahead)[1])
            cache.add(request)
    return misses


def lru(stream: list[int], size: int) -> int:
    recent: list[int] = []
    misses = 0
    for request in stream:
        if request in recent:
            recent.remove(request)
        else:
            misses += 1
        recent = [*recent, request][-size:]
    return misses


@given(STREAMS, st.integers(1, 14))
def test_misses(stream: list[int], size: int) -> None:
    """MIN and LRU are those of the textbook; nothing misses less than MIN but what is there from the start."""
    found = {name: misses(stream, size) for name, misses in POLICIES.items()}
    assert found["MIN"] == belady(stream, size)
    assert found["LRU"] == lru(stream, size)
    distinct = len(set(stream))
    assert found["INFINITE"] == distinct <= found["MIN"] <= min(found[name] for name in ("LRU", "CLOCK", "RANDOM"))
    if size >= distinct:
        assert {found[name] for name in ("MIN", "LRU", "CLOCK", "RANDOM")} == {distinct}
        assert found["STATIC"] == 0


@given(STREAMS)
def test_next_uses(stream: list[int]) -> None:
    """Each request's next one, or the end."""
    for now, after in enumerate(next_uses(stream)):
        assert after == next((n for n in range(now + 1, len(stream)) if stream[n] == stream[now]), len(stream))


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    rng = random.Random(3)
    path = tmp_path / "edges.tsv"
    path.write_text("".join(f"{n}\t{int(2000 * rng.random() ** 3)}\n" for n in range(2000) for _ in range(5)))
    return path


def test_a_graph(graph: Path, tmp_path: Path) -> None:
    """All links and those to other hosts, a row a size, rates that fall, one critical point, a picture."""
    picture = tmp_path / "picture.svg"
    printed = run("--edges", graph, "--host-size", 100, "--to", 11, "--picture", picture)
    for part in re.split(r"\n(?=links to other hosts)", printed):
        rows = [line.split(" | ") for line in part.splitlines() if line.startswith("| 2^")]
        assert [row[0].split()[1] for row in rows] == [f"2^{n}" for n in range(4, 12)]
        for column in (1, 2, 3, 5):  # MIN, LRU, CLOCK, STATIC; RANDOM has luck
            rates = [float(row[column].rstrip("%")) for row in rows]
            assert all(large <= small + 0.5 for small, large in pairwise(rates))
        assert sum("critical" in row[0] for row in rows) == 1
    root = ET.fromstring(picture.read_text())
    lines = root.findall("{http://www.w3.org/2000/svg}polyline")
    assert len(lines) == 24
    heights = [float(point.split(",")[1]) for line in lines for point in (line.get("points") or "").split()]
    assert 0 < min(heights) < max(heights) < 720


def test_a_recorded_crawl(tmp_path: Path) -> None:
    """What a crawl writes down is what it asked: each link of each page, in scope, told apart by where it leads."""
    recording = tmp_path / "links"
    pages = {"/": linked("/a", "/b", "http://localhost:1/"), "/a": linked("/", "/b"), "/b": linked("/a?utm_source=x")}
    with LocalWeb(pages) as web:
        done = scrapy(
            "crawl", "generic", "-a", f"seeds={web.root}", "-a", "scope=any",
            settings={
                "JOBDIR": tmp_path / "job", "SITECRAWL_DELAY_FACTOR": 0, "SITECRAWL_ORDER": "bfs",
                "SPIDER_MIDDLEWARES": '{"linkrecorder.LinkRecorder": 960}', "RECORD_LINKS": recording,
            },
            env={"PYTHONPATH": str(BENCHMARKS)},
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    printed = run("--recorded", recording, "--to", 4)
    assert "all links: 6 requests, 4 URLs" in printed  # both spellings of /a are one
    assert "links to other hosts: 1 requests, 1 URLs" in printed


def test_a_made_up_web() -> None:
    """It has as many requests as were asked for."""
    assert "all links: 3,000 requests" in run("--made-up", 3000, "--to", 5)


def test_seen_tests() -> None:
    """A bitmap of MD5 loses pages, the more the smaller it is; exact sets lose none."""
    rows = [line.split(" | ") for line in run("--seen-tests", 20_000).splitlines() if "%" in line]
    wrong = {row[0].strip("| "): float(row[1].rstrip("%")) for row in rows}
    small, middle, large = (wrong[f"MD5(URL) modulo n, {bits} bits a URL"] for bits in (8, 16, 64))
    assert small > middle > large > 0
    assert 5 < small < 7  # 1 - 8 (1 - e^(-1/8)) = 6.0%
    assert [rate for name, rate in wrong.items() if name.startswith("exact")] == [0, 0]
