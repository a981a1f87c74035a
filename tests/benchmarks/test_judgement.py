"""The benchmark of the frontier's judgement: its webs are what they say, and it runs."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections import deque
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path

import pytest
from waiting import PATIENCE

pytestmark = pytest.mark.deep

PROJECT = Path(__file__).parents[2]
SCRIPT = PROJECT / "benchmarks" / "judgement.py"
sys.path.insert(0, str(SCRIPT.parent))

import ablation  # noqa: E402
import crossvalidation  # noqa: E402
from copied import Copies  # noqa: E402
from figures import update  # noqa: E402
from judgement import overridden  # noqa: E402
from large import ALONE, NAMES, WHERE, Large  # noqa: E402
from madeup import HOME, Beside, Lab, NoIndex, OneBody  # noqa: E402
from outcome import Outcome  # noqa: E402
from recorded import Recorded  # noqa: E402
from traps import KINDS  # noqa: E402
from webreplay import Conditions, crawl  # noqa: E402
from webs import Page, Web  # noqa: E402

WEBS = PROJECT.parent / "shared" / "data" / "webs"
REACHABLE = {"drupal-cz": 8988, "phpbb-cfnet": 3354, "dokuwiki-tc39": 685}
"""As the server of the recorded webs counts them."""
PAGES = 60
ENDLESS = 1000
GROUNDS = [(kind, place) for kind in KINDS for place in kind.places]
SEEDS = (1, 2)


def foreseen(web: Web) -> Outcome:
    """What the oracle makes of it."""
    return crawl(web, Conditions("oracle", 5 * web.contents() + 100), Path())


def walk(web: Web, *starts: str) -> Iterator[tuple[str, Page]]:
    """Its pages, breadth first."""
    queue, known = deque(starts), set(starts)
    while queue:
        url = queue.popleft()
        page = web.page(url)
        yield url, page
        near = [link.url for link in page.links] + [page.location] * bool(page.location)
        new = [other for other in dict.fromkeys(near) if other not in known]
        known.update(new)
        queue.extend(new)


def test_the_same_seed_makes_the_same_web() -> None:
    """Page for page, and another seed makes another one."""
    for kind, place in GROUNDS:
        first, again, other = (
            list(islice(walk(Beside(kind, place, seed, PAGES), f"{HOME}/"), 200)) for seed in (1, 1, 2)
        )
        assert first == again, (kind.name, place)
        assert first != other, (kind.name, place)


def test_all_content_can_be_reached() -> None:
    """Who knows the pages beforehand finds everything, without a fetch in ten that is wasted."""
    for (kind, place), seed in zip(GROUNDS, cycle(SEEDS), strict=False):
        outcome = foreseen(Beside(kind, place, seed, PAGES))
        assert len(outcome.arrivals) == outcome.contents >= PAGES, (kind.name, place)
        assert outcome.traps <= outcome.fetched / 10, (kind.name, place)


@pytest.mark.parametrize("seed", SEEDS)
def test_traps_do_not_end(seed: int) -> None:
    """Whoever follows all links of one finds another page."""
    for kind in KINDS:
        web = Beside(kind, kind.places[seed % len(kind.places)], seed, PAGES)
        inside = (url for url, _ in walk(web, *web.trap.doors()) if web.trap.owns(url))
        assert sum(1 for _ in islice(inside, ENDLESS)) == ENDLESS, kind.name


def test_traps_stand_where_they_should() -> None:
    """In a folder of the good site's host, on another host of its domain, or elsewhere."""
    where = {"folder": (True, True), "host": (False, True), "foreign": (False, False)}
    for kind, place in GROUNDS:
        for door in Beside(kind, place, 1, PAGES).trap.doors():
            at_home, in_domain = door.startswith(f"{HOME}/"), ".example.com/" in f"{door}/".replace("?", "/")
            assert (at_home, in_domain) == where[place], (kind.name, place)


@pytest.mark.parametrize("web", [NoIndex(200), OneBody(200), Lab(1, hosts=5, pages=20)], ids=lambda web: web.name)
def test_sites_without_a_trap_are_whole(web: Web) -> None:
    """All of their content can be reached."""
    outcome = foreseen(web)
    assert len(outcome.arrivals) == outcome.contents


@pytest.mark.parametrize("name", NAMES)
def test_large_sites_are_whole(name: str) -> None:
    """All that counts as content can be reached, and the large site is most of it."""
    for place in WHERE:
        web = Large(name, place, seed=1, size=0.05)
        found = {page.content for _, page in walk(web, web.seed)} - {""}
        large = {content for content in found if web.large.owns(content)}
        assert len(found) == web.contents(), place
        assert len(large) == web.large.contents > 0.8 * len(found), place


@pytest.mark.parametrize("name", NAMES)
def test_large_sites_are_of_one_shape(name: str) -> None:
    """All of their contents are in one folder."""
    web = Large(name, ALONE, seed=1, size=0.05)
    found = [page.content for _, page in walk(web, web.seed) if page.content]
    assert {content.rpartition("/")[0] for content in found} == {f"{HOME}/read"}


@pytest.mark.parametrize(("name", "reachable"), REACHABLE.items())
def test_recorded_sites(name: str, reachable: int) -> None:
    """They have as many texts as the server counts that serves them live."""
    path = WEBS / f"{name}.tsv.gz"
    if not path.exists():
        pytest.skip(f"{path} is not here")
    assert Recorded(path).contents() == reachable


LINES = """\
https://www.a.org/	200	listing	-	b0	t0	https://www.a.org/one http://www.a.org/two?b=1&a=2|n http://a.org/trap
http://www.a.org/one	200	content	noindex, nofollow	b1	t1	http://www.a.org/gone http://www.b.org/
http://www.a.org/two?a=2&b=1	200	content	-	b2	t1	http://www.a.org/%6Fne
http://www.a.org/lost	200	content	-	b3	t3	http://www.a.org/
http://www.a.org/gone	404	content	-	-	-
http://www.a.org/trap	404	trap	-	-	-
"""


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    path = tmp_path / "small.tsv.gz"
    with gzip.open(path, "wt") as lines:
        lines.write(LINES)
    return Recorded(path)


def test_one_text_under_two_addresses(recorded: Recorded) -> None:
    """It is one content with the same title, however the URL is spelt; its pages have different bytes."""
    one, two = recorded.page("http://a.org/%6Fne"), recorded.page("http://www.a.org/two?b=1&a=2")
    assert recorded.contents() == 1
    assert (one.content, one.title) == (two.content, two.title)
    assert one.sha1 != two.sha1
    assert (one.noindex, one.nofollow) == (True, True)


def test_what_was_not_recorded(recorded: Recorded) -> None:
    """A trap is answered, another URL is missing; a link out of the site is out of scope."""
    assert recorded.page("http://www.a.org/trap").status == 200
    assert recorded.page("http://www.a.org/gone").status == recorded.page("http://www.a.org/new").status == 404
    assert [recorded.admits(link.url) for link in recorded.page("http://www.a.org/one").links] == [True, False]


@pytest.mark.parametrize("policy", ["aopic", "cluster-3"])
def test_copies_are_sites_of_their_own(recorded: Recorded, tmp_path: Path, policy: str) -> None:
    """Each has its text under its own hosts, and by however many workers all are brought in, and the crawl ends."""
    web = Copies(tmp_path, 5)
    outcome = crawl(web, Conditions(policy, 1000), tmp_path / "crawl")
    assert len(web.seeds) == web.contents() == len(outcome.arrivals) == 5 * recorded.contents()
    assert outcome.ended
    assert len({web.page(seed).title for seed in web.seeds}) == 5
    assert all(web.admits(link.url) for seed in web.seeds for link in web.page(seed).links)


def test_shares_of_the_budget() -> None:
    """What was wasted, and what was in, after so many fetches."""
    outcome = Outcome("web", "", "aopic", contents=4, fetched=10, arrivals=[1, 2, 9], wasted=[3, 4, 5, 10])
    assert [outcome.at(fetches) for fetches in (2, 5, 10)] == [(0.0, 0.5), (0.6, 0.5), (0.4, 0.75)]


def test_parameters_are_set() -> None:
    """A bare name is the judge's, a dotted one a constant of a module; another is an error."""
    from sitecrawl.frontier.urls import trap_state

    before = trap_state.FALL
    assert overridden(["min_fetches=7", f"sitecrawl.frontier.urls.trap_state.FALL={before}"]).min_fetches == 7
    assert before == trap_state.FALL
    with pytest.raises(SystemExit):
        overridden(["no_such_thing=1"])


def test_it_runs(tmp_path: Path) -> None:
    """A line for every policy, and the same figures as JSON."""
    found = tmp_path / "found.json"
    words = [sys.executable, SCRIPT, "--quick", "--only", "redirects@host", "--seed", "3", "--budget", "3"]
    words += ["--webs", tmp_path, "--json", found]
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=True, timeout=PATIENCE)
    crawls = json.loads(found.read_text())["crawls"]
    assert [crawl["policy"] for crawl in crawls] == ["aopic", "published", "bfs", "dfs", "oracle"]
    assert done.stdout.count("trap:redirects@host") == len(crawls)
    assert crawls[0]["in"] > 0
    assert all(crawl["in_after"]["3"] <= 1 for crawl in crawls)


def test_it_can_do_without_each_part(tmp_path: Path) -> None:
    """A row of the table for each, and a crawl for each in the figures."""
    found = tmp_path / "found.json"
    words = [sys.executable, SCRIPT, "--quick", "--only", "maze@folder", "--seed", "3", "--ablate"]
    done = subprocess.run(
        list(map(str, [*words, "--webs", tmp_path, "--json", found])),
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE,
    )
    crawls = json.loads(found.read_text())["crawls"]
    assert [crawl["without"] for crawl in crawls] == list(ablation.PARTS)
    assert all(f"\n| {part} | 1 |" in done.stdout for part in ablation.PARTS)
    arrivals = {crawl["without"]: crawl["fetches_until"]["1"] for crawl in crawls}
    assert arrivals["turns: by credit"] != arrivals[ablation.NOTHING]


def test_the_table_counts_what_is_lost() -> None:
    """A crawl that ended early is at an end, and lacks what it left; one that goes on has no end."""
    ended = Outcome("short", "", "aopic", contents=10, fetched=8, arrivals=list(range(1, 8)), ended=True)
    whole = Outcome("long", "", "aopic", contents=10, fetched=40, arrivals=list(range(1, 11)))
    assert ablation.row("circles", [ended, whole], ["long"]) == (
        "| circles | 2 | 1 | 1 | - | 9 | 3 of 20, in 1 webs |"
    )


TABLE = """\
| trap | folder | domain |
|---|---|---|
| maze | \u2013 (64%), 20 | 8, 9 |

| site | contents | in after | 90% | 100% | end |
|---|---|---|---|---|---|
| DokuWiki | 10 | 90, 90, 90 | 9 | 4 | 20 |
| maze | folder | no table | of its |
"""


def test_tables_are_brought_up_to_date(tmp_path: Path) -> None:
    """What is now takes the place of what was then; other rows and places stay."""
    document = tmp_path / "order.md"
    document.write_text(TABLE)
    lacks_one = Outcome("trap:maze@folder", "", "aopic", contents=10, fetched=20, arrivals=list(range(1, 10)))
    whole = Outcome("dokuwiki-x", "", "aopic", contents=10, fetched=12, arrivals=list(range(1, 11)), ended=True)
    update(document, [lacks_one, whole])
    changed = [line for line in document.read_text().split("\n") if line not in TABLE]
    assert changed == [
        "| maze | \u2013 (90%), 20+ | 8, 9 |",
        "| DokuWiki | 10 | 100, 100, 100 | 9 | 10 | 12 |",
    ]


def timed(contents: int, *arrivals: int, fetched: int = 100) -> Outcome:
    return Outcome("web", "", "aopic", contents, fetched=fetched, arrivals=list(arrivals))


def test_what_is_chosen_on_other_webs():
    """Each web is reported under the setting that is best for the others, not for itself."""
    crawls = {
        "low": {"a": timed(1, 2), "b": timed(1, 8), "c": timed(1, 4)},
        "high": {"a": timed(1, 5), "b": timed(1, 3), "c": timed(1, 4)},
    }
    a, b, c = crossvalidation.held_back(crawls)
    assert a == ("a", "high", 5.0, "low", 2.0)
    assert b == ("b", "low", 8.0, "high", 3.0)
    assert (c.chosen, c.times) == ("high", 4.0)
    assert crossvalidation.times(timed(2, 1, fetched=10)) == 10  # half of it is all that came
    assert "| a | high | 5.00x | low | 2.00x |" in crossvalidation.table(crawls)


def test_choosing():
    """A parameter is tried on two webs, and the table says what each value does."""
    options = ["--only", "maze@host,calendar@host", "--quick", "--seed", "5", "--choose", "min_fetches=20,50"]
    done = subprocess.run(
        [sys.executable, SCRIPT, *options], capture_output=True, text=True, timeout=PATIENCE, check=True
    )
    rows = [line.split("|")[1].strip() for line in done.stdout.splitlines() if line.startswith("|")]
    assert rows[2:5] == ["as it is", "min_fetches=20", "min_fetches=50"]
    assert rows[-2:] == ["trap:maze@host", "trap:calendar@host"]
