"""Files that a crash has cut anywhere: the crawl goes on, or refuses and says what to do. It never begins anew."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from drawn import SEED
from killing import Sitecrawl, Web, killed_at, run, web_of

from sitecrawl.plugins.checking.crawl import check, repair

pytestmark = pytest.mark.deep

PAGES = 500


@pytest.fixture(scope="module")
def web() -> Iterator[Web]:
    with web_of(PAGES, latency=0.02) as served:
        yield served


@pytest.fixture(scope="module")
def killed(web: Web, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a crawl that was killed twice."""
    folder = tmp_path_factory.mktemp("killed")
    crawler = Sitecrawl(folder)
    _, _, _, *words = crawler.command(web.root)  # without `python -m scrapy`
    for times in (3, 4):
        killed_at("crawl.checkpoints.Checkpoints.write: batch", words, folder / "log", times, pages=30)
    return folder


@pytest.mark.parametrize("pattern", ["db/*.log", "warc/*.gz", "pages.sqlite", "pages.sqlite-wal", "db/MANIFEST*"])
def test_a_torn_file(pattern: str, killed: Path, web: Web, tmp_path: Path) -> None:
    """After a repair, where the crawl asks for one, it ends complete, each page once."""
    folder = tmp_path / "copy"
    shutil.copytree(killed, folder)
    crawler = Sitecrawl(folder)
    file = max(crawler.job.glob(pattern), key=lambda path: path.stat().st_size)
    content = file.read_bytes()
    file.write_bytes(content[: int(len(content) * Random(f"{SEED} {pattern}").uniform(0.2, 1))])
    code, log = run(crawler, web)
    if code:
        assert "check-crawl --repair" in log, log[-1000:]
        before, after = repair(crawler.job)
        assert before.problems
        assert [str(problem) for problem in after.problems] == []
        code, log = run(crawler, web)
    assert code == 0, log[-2000:]
    assert crawler.stored() == dict.fromkeys(web.urls(), 1)
    assert [str(problem) for problem in check(crawler.job).problems] == []
