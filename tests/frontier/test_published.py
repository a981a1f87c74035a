"""The order `aopic-published`, beside the algorithm as its paper has it, in a dictionary."""

from __future__ import annotations

from pathlib import Path

import pytest
from frontier_helpers import Bench, all_credit, url

from sitecrawl.frontier.credit.ledger import TAX_DIVISOR
from sitecrawl.frontier.urls.options import FrontierOptions
from sitecrawl.frontier.urls.order import AopicPublished, Facts, exact_credit
from sitecrawl.frontier.urls.record import UrlState
from tests.frontier.test_recrawl_rank import pagerank, spearman, web

STEP = 2**16
"""Units of credit that the order does not tell apart."""


class Paper:
    """Credit of all pages of the database, and of the lambda page."""

    def __init__(self, seeds: list[str], share: int) -> None:
        self.credit = dict.fromkeys(seeds, float(share))
        self.spare = 0.0

    def richest(self) -> float:
        """What the richest page has, when the lambda page has had its turn."""
        while self.spare > max(self.credit.values()):
            paid, self.spare = self.spare / len(self.credit), 0.0
            self.credit = {page: held + paid for page, held in self.credit.items()}
        return max(self.credit.values())

    def crawl(self, page: str, links: list[str]) -> None:
        spent, self.credit[page] = self.credit[page], 0.0
        self.spare += spent / TAX_DIVISOR if links else spent
        for to in links:
            self.credit[to] = self.credit.get(to, 0.0) + spent * (1 - 1 / TAX_DIVISOR) / len(links)


def published(path: Path) -> Bench:
    return Bench(path, "aopic-published", options=FrontierOptions(repeats=True))


@pytest.mark.parametrize("seeds", [1, 5])
def test_it_is_that_of_the_paper(tmp_path: Path, seeds: int) -> None:
    """Each page that is fetched is the richest at that time, known pages have their credit at once, and the lambda
    page pays all of the database when it is the richest, again and again; the rank is PageRank's.
    """
    links = web()
    crawl, names = published(tmp_path), list(web())[:seeds]
    crawl.add(*names)
    ledger = crawl.frontier.link_credit.ledger
    paper = Paper(names, ledger.total // seeds)
    for number in range(1500):
        visit = crawl.frontier.next()
        assert visit is not None
        page = visit.url.rpartition("/")[2]
        richest = paper.richest()
        assert paper.credit[page] >= richest - 4 * STEP
        crawl.frontier.downloaded(visit, 0.0)
        crawl.link(visit, *(url(to) for to in links[page]))
        crawl.frontier.done(visit, UrlState.FETCHED, status=200, good=True)
        paper.crawl(page, links[page])
        if number % 100 == 0:
            crawl.commit()
            assert all_credit(crawl.frontier) == ledger.total
    rank = pagerank(links)
    found = [ledger.importance(crawl.record(page)) for page in links]
    assert spearman(found, [rank[page] for page in links]) >= 0.95
    crawl.database.close()


def test_a_limit_ends_it(tmp_path: Path) -> None:
    """Pages wait again when they have been fetched, so `max_pages` counts fetches."""
    crawl = Bench(tmp_path, "aopic-published", options=FrontierOptions(repeats=True, max_pages=7))
    crawl.add("a")
    assert len(crawl.drain()) == 7
    assert crawl.frontier.is_finished()
    crawl.database.close()


def test_richest_first_exactly() -> None:
    """127 goes before 100, which classes of half an octave put beside each other; dividends change no place."""
    unit = 10**9
    poor, rich = (AopicPublished().rank(Facts(0, 1, credit=credit * unit)) for credit in (100, 127))
    assert rich < poor
    later = AopicPublished().rank(Facts(0, 9, credit=327 * unit, paid=200 * unit))
    assert later == rich
    assert abs(exact_credit(later, 200 * unit) - 327 * unit) <= STEP
