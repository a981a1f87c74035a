"""The order `best`: a spider that says what comes first."""

from __future__ import annotations

from crawling import PROJECT, scrapy
from localweb import LocalWeb, linked

SPIDER = '''
from sitecrawl.spiders.site import SiteSpider


class Sevens(SiteSpider):
    """Pages whose number ends with a seven are wanted most, then the greater ones."""

    name = "sevens"

    def score(self, link):
        number = int(link.url.rpartition("/")[2] or 0)
        return 1000.0 + number if number % 10 == 7 else -1.0 / (number + 1)
'''


def test_the_best_score_comes_first_whenever_it_is_found(tmp_path):
    """Negative and positive scores are compared as numbers, and a better link overtakes those that wait."""
    file = tmp_path / "sevens.py"
    file.write_text(SPIDER)
    pages = {f"/{number}": linked() for number in range(1, 40)}
    pages["/"] = linked(*(f"/{number}" for number in range(1, 30)))
    pages["/27"] = linked("/37")
    with LocalWeb(pages) as web:
        words = ("runspider", str(file), "-a", f"seeds={web.root}/", "-a", "order=best")
        done = scrapy(*words, settings={"JOBDIR": tmp_path / "job", "SITECRAWL_DELAY_FACTOR": 0}, cwd=PROJECT)
        paths = web.paths()
    assert done.returncode == 0, done.stderr
    # The page of the first link is parsed while the next is fetched: 37 may come one later.
    assert paths[:2] == ["/", "/27"]
    assert sorted(paths[2:4]) in (["/17", "/37"], ["/37", "/7"])
    others = [int(path[1:]) for path in paths[5:]]
    assert others == sorted(others, reverse=True)
