"""The benchmark of the orders runs, and shows that traps starve and good pages do not."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from waiting import PATIENCE

pytestmark = pytest.mark.deep

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "order.py"
PAGES = 1500
POLICIES = "aopic-hosts,bfs"


def edges() -> str:
    """A web of three hosts: every page links to ten others, most of them near, the first to all hosts."""
    rng = random.Random(5)
    lines = ["# source\ttarget"]
    for page in range(PAGES):
        near = {min(PAGES - 1, 2 * page + n) for n in (1, 2)}
        far = {int(PAGES * rng.random() ** 2) for _ in range(8)}
        lines += [f"{page}\t{target}" for target in sorted(near | far)]
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def replayed(tmp_path_factory):
    """What the benchmark printed, and its picture."""
    directory = tmp_path_factory.mktemp("order")
    graph, picture = directory / "edges.tsv", directory / "order.svg"
    graph.write_text(edges())
    words = [sys.executable, SCRIPT, "--edges", graph, "--host-size", "500", "--mint", "3,20", "--budget", "5000"]
    words += ["--policies", POLICIES, "--picture", picture]
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=True, timeout=PATIENCE)
    return done.stdout, picture.read_text()


def figures(text: str, policy: str) -> str:
    """What was printed of one policy."""
    return re.split(r"^(?=\S)", text, flags=re.MULTILINE)[1 + POLICIES.split(",").index(policy)]


def test_our_order_ends_with_all_good_pages(replayed):
    """Beside three hosts that mint without end, every good page comes in, and the crawl ends by itself."""
    found = re.search(r"good ([\d,]+)/([\d,]+) .*\(ended", figures(replayed[0], "aopic-hosts"))
    assert found
    assert found[1] == found[2] == f"{PAGES:,}"


def test_breadth_first_does_not_end(replayed):
    """The same web is too much for breadth first."""
    assert "budget spent" in figures(replayed[0], "bfs")


@pytest.mark.parametrize("policy", POLICIES.split(","))
def test_all_figures_are_printed(replayed, policy):
    """Every policy has its shares of traps, PageRank mass, correlation, speed and memory."""
    printed = figures(replayed[0], policy)
    for figure in (
        r"traps at 50/90/99/100% of the good pages:( +([\d.]+%|\S)){4} +in all [\d.]+%",
        r"PageRank mass after 5/10/25/50% of the pages:( +[01]\.\d+){4}",
        r"rank correlation with PageRank: all -?[01]\.\d+, top 1% -?[01]\.\d+",
        r"[\d,]+ pages/s of CPU, peak [\d,]+ MB",
    ):
        assert re.search(figure, printed), figure


def test_the_picture(replayed):
    """It is well-formed, and has a line and a name for every policy."""
    root = ET.fromstring(replayed[1])
    space = "{http://www.w3.org/2000/svg}"
    assert len(root.findall(f"{space}polyline")) == 2
    names = {element.text for element in root.findall(f"{space}text")}
    assert set(POLICIES.split(",")) <= names
