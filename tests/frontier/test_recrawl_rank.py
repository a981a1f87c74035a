"""The importance of pages that are fetched again and again is that of PageRank, whoever the seeds are."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from frontier_helpers import Bench, all_credit, url

from sitecrawl.frontier.urls.record import UrlState

PAGES = 150
ROUNDS = 10


def web() -> dict[str, list[str]]:
    """Every page links to the two below it in a tree, and to some others, most of them near its root."""
    rng = random.Random(3)
    near = {page: {2 * page + 1, 2 * page + 2} for page in range(PAGES)}
    far = {page: {int(PAGES * rng.random() ** 3) for _ in range(rng.randrange(1, 8))} for page in near}
    return {f"p{page}": [f"p{to}" for to in sorted((near[page] | far[page]) - {page}) if to < PAGES] for page in near}


def pagerank(links: dict[str, list[str]]) -> dict[str, float]:
    """With AOPIC's tax of a tenth."""
    rank = dict.fromkeys(links, 1 / len(links))
    for _ in range(100):
        moved = dict.fromkeys(links, 0.0)
        for page, targets in links.items():
            for to in targets:
                moved[to] += 0.9 * rank[page] / len(targets)
        rest = (1 - sum(moved.values())) / len(links)
        rank = {page: value + rest for page, value in moved.items()}
    return rank


def spearman(one: list[float], other: list[float]) -> float:
    places = [sorted(range(len(one)), key=values.__getitem__) for values in (one, other)]
    first, second = ({page: place for place, page in enumerate(order)} for order in places)
    return 1 - 6 * sum((first[page] - second[page]) ** 2 for page in first) / (len(one) * (len(one) ** 2 - 1))


def fetch_all(crawl: Bench, links: dict[str, list[str]]) -> None:
    while (visit := crawl.frontier.next()) is not None:
        crawl.frontier.downloaded(visit, 0.0)
        crawl.link(visit, *(url(to) for to in links[visit.url.rpartition("/")[2]]))
        crawl.frontier.done(visit, UrlState.FETCHED, status=200, good=True)
        if visit.url.endswith("0"):  # a checkpoint for ten pages
            crawl.commit()


def fetch_again(crawl: Bench, links: dict[str, list[str]], rounds: int, lot: int = PAGES) -> None:
    """All pages so many times, each time in another order, `lot` due at once."""
    pages, rng = list(links), random.Random(7)
    for _ in range(rounds):
        rng.shuffle(pages)
        for start in range(0, PAGES, lot):
            for page in pages[start : start + lot]:
                assert crawl.frontier.again(url(page).key)
            fetch_all(crawl, links)
    crawl.commit()


@pytest.mark.parametrize("lot", [1, 40, PAGES])
@pytest.mark.parametrize("seeds", [1, 30])
def test_rank(tmp_path: Path, seeds: int, lot: int) -> None:
    """After ten rounds it agrees with PageRank, with one seed and with many, however many are due at a time."""
    links = web()
    crawl = Bench(tmp_path, "aopic")
    crawl.frontier.link_credit.ledger.comes_back = True
    crawl.add(*list(links)[:seeds])
    fetch_all(crawl, links)
    fetch_again(crawl, links, ROUNDS, lot)
    ledger, rank = crawl.frontier.link_credit.ledger, pagerank(links)
    assert all_credit(crawl.frontier) == ledger.total
    importance = {page: ledger.importance(crawl.record(page)) for page in links}
    assert spearman(list(importance.values()), [rank[page] for page in links]) >= 0.95
    first = max(rank, key=rank.__getitem__)
    assert importance[first] == pytest.approx(rank[first], rel=0.25)
    crawl.database.close()


def test_links_of_late_count(tmp_path: Path) -> None:
    """Ten rounds after all links were set anew, the importance is that of the web as it is, also after a restart."""
    links = web()
    crawl = Bench(tmp_path, "aopic")
    crawl.add("p0")
    fetch_all(crawl, links)
    crawl.frontier.link_credit.ledger.comes_back = True
    fetch_again(crawl, links, ROUNDS // 2)
    crawl.restart()
    turned = {page: f"p{PAGES - 1 - number}" for number, page in enumerate(links)}
    links = {page: [turned[to] for to in links[turned[page]]] for page in links}
    fetch_again(crawl, links, ROUNDS)
    ledger, rank = crawl.frontier.link_credit.ledger, pagerank(links)
    importance = [ledger.importance(crawl.record(page)) for page in links]
    assert sum(importance) == pytest.approx(1)
    assert spearman(importance, [rank[page] for page in links]) >= 0.95
    crawl.database.close()
