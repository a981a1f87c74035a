"""One form of each page is fetched, the others wait, and none of the content is lost."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from database_files import put_away
from form_sites import LINKS, Site, begin, learner, name_of, number, rules, stored
from frontier_helpers import Bench, all_credit, check_sections, stored_records, url

from sitecrawl.base.errors import OptionError
from sitecrawl.frontier.forms.duplicates import Verdict
from sitecrawl.frontier.forms.evidence import State
from sitecrawl.frontier.forms.learner import rule_number
from sitecrawl.frontier.urls.options import FrontierOptions, TrapOptions
from sitecrawl.frontier.urls.record import Flag, UrlState
from sitecrawl.frontier.urls.visit import Visit
from sitecrawl.page.items import sha1


def in_query(pages: int = 120) -> Site:
    """A session id under a name that nothing knows, a new one in every link."""
    return Site(pages, lambda page, n: f"p/{page}?wombat={n:x}z", lambda name: number(name[2:].partition("?")[0]))


def in_path(pages: int = 120) -> Site:
    return Site(pages, lambda page, n: f"s{n}/p/{page}", lambda name: number(name.rpartition("/")[2]))


def asp(pages: int = 120) -> Site:
    return Site(pages, lambda page, n: f"(S(x{n}))/p/{page}", lambda name: number(name.rpartition("/")[2]))


def in_segment(pages: int = 120) -> Site:
    return Site(pages, lambda page, n: f"p/{page};v={n}", lambda name: number(name[2:].partition(";")[0]))


def printable(pages: int = 120) -> Site:
    forms = ("", "?printable=yes")
    return Site(
        pages, lambda page, n: f"p/{page}{forms[n % 7 == 0]}", lambda name: number(name[2:].partition("?")[0])
    )


def sorted_lists(pages: int = 120) -> Site:
    """Lists that fit on a page: in whatever order, they say the same."""
    return Site(
        pages, lambda page, n: f"list.php?f={page}&sort={n % 5}", lambda name: number(name[11:].partition("&")[0])
    )


def index(pages: int = 120) -> Site:
    forms = ("", "index.html")
    return Site(pages, lambda page, n: f"d{page}/{forms[n % 2]}", lambda name: number(name[1:].partition("/")[0]))


SITES = [in_query, in_path, asp, in_segment, printable, sorted_lists, index]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path / "db", "aopic")
    yield made
    put_away(made.database)


@pytest.mark.parametrize("make", SITES)
def test_a_site_with_many_forms(bench, make):
    """All pages come in, with less than one and a half fetches a page, and the crawl ends by itself.

    A key with few values is tested more at the end.
    """
    site = make()
    begin(bench, site)
    site.crawl(bench)
    assert site.came == {f"text of {page}" for page in range(site.pages)}
    assert len(site.fetched) < (2 if make is printable else 1.5) * site.pages
    assert bench.frontier.is_finished()
    assert {State.TRUSTED, State.MINTED} & {*rules(bench).values()}
    assert bench.frontier.figures.joined == bench.frontier.figures.waiting > bench.frontier.figures.held_back == 0


@pytest.mark.parametrize("make", [SITES[0], *(pytest.param(make, marks=pytest.mark.deep) for make in SITES[1:])])
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.deep)])
def test_kills(bench, make, seed):
    """Rules and joined URLs survive; what was not yet durable comes again, and all pages come in."""
    site, rng = make(200), random.Random(seed)
    begin(bench, site)
    bench.commit()
    for _ in range(8):
        site.crawl(bench, budget=rng.randrange(10, 90))
        before = rules(bench), bench.frontier.figures.joined
        if (visit := bench.frontier.next()) is not None:  # it is in flight when the kill comes
            assert visit.url
        bench.crash()
        assert (rules(bench), bench.frontier.figures.joined) == before
    site.crawl(bench)
    assert site.came == {f"text of {page}" for page in range(site.pages)}
    assert len(site.fetched) < 1.7 * site.pages
    check_sections(bench.frontier)


@pytest.mark.parametrize("make", SITES)
def test_no_credit_is_lost(bench, make):
    """Pages, hosts and the lambda page hold what there ever was; sections count what waits in them."""
    site = make(80)
    begin(bench, site)
    for _ in range(12):
        site.crawl(bench, budget=20)
        assert all_credit(bench.frontier) == bench.frontier.link_credit.ledger.total
        check_sections(bench.frontier)


def test_a_rule_that_fails_after_500_pages(bench):
    """Printable versions say what their pages say, until they do not: then all of them are fetched."""

    def text(name: str, page: int) -> str:
        return f"text of {page}" + (" as printed" if page >= 500 and "?" in name else "")

    site = printable(1000)
    site.text_of, site.goes_on = text, True
    begin(bench, site)
    site.crawl(bench, budget=480)
    assert State.TRUSTED in rules(bench).values()
    assert bench.frontier.figures.joined
    site.crawl(bench)
    known = [name_of(href) for href in stored(bench)]
    texts = {text(name, site.page_of(name)) for name in known}
    assert texts <= site.came
    assert sum("printed" in one for one in texts) > 150
    assert learner(bench).form("http://a.example/p/700?printable=yes")[1] is None


@pytest.mark.parametrize("number", range(4))
def test_a_site_of_which_little_is_translated(bench, number):
    """A language in which one page of thirty has a text of its own, and all others the site's: all texts come in."""
    pages, languages = 300, ("", "?lang=de", "?lang=fr", "?lang=it")

    def text(name: str, page: int) -> str:
        language = name.partition("=")[2]
        return f"text of {page} {language if language and (page + number) % 30 == 0 else ''}"

    site = Site(pages, lambda page, n: f"p/{page}{languages[n % 4]}", number_of)
    site.text_of = text
    begin(bench, site)
    site.crawl(bench)
    assert site.came == {text(name_of(url), site.page_of(name_of(url))) for url in stored(bench)}


def test_tests_at_the_end_are_of_different_pages(bench):
    """Where each page has eight versions, so that an old one which says something else on few pages is found."""
    versions = ("", *(f"?year={year}" for year in range(2008, 2015)))
    site = Site(200, lambda page, n: f"p/{page}{versions[n % len(versions)]}", number_of)
    begin(bench, site)
    site.crawl(bench)
    last = [number_of(name) for name in site.fetched[-60:] if "?year" in name]
    assert len({*last}) == len(last) > 40


def number_of(name: str) -> int:
    return number(name[2:].partition("?")[0])


def test_content_that_changes_with_each_fetch(bench):
    """Nothing is learnt, and every URL is fetched."""
    site = printable(100)
    site.text_of = lambda name, page: f"{page} {next(site.ids)}"
    begin(bench, site)
    site.crawl(bench)
    assert rules(bench) == {}
    assert bench.frontier.counts.queued == 0
    assert sorted(site.fetched) == sorted(map(name_of, stored(bench)))


def test_a_site_of_which_one_page_in_a_hundred_changes(bench):
    """The rule stays, or comes back; all pages come in."""
    site = in_query(400)
    site.text_of = lambda name, page: f"{page} {next(site.ids)}" if "0z" in name[-3:] and page % 9 == 0 else f"{page}"
    begin(bench, site)
    site.crawl(bench)
    assert {page.partition(" ")[0] for page in site.came} == {str(page) for page in range(400)}
    assert len(site.fetched) < 2 * 400


@pytest.mark.parametrize("status", [302, 403, 500])
def test_the_page_of_a_class_that_comes_to_nothing(bench, status):
    """An id that has expired leads to no page: another form of it is fetched in its place."""
    site = in_query(150)
    begin(bench, site)
    site.crawl(bench, budget=60)
    assert bench.frontier.figures.joined
    waits = {name for name in map(name_of, stored(bench)) if name not in site.fetched}
    site.status_of = lambda name: status if name in waits and int(name.partition("=")[2][:-1], 16) % 2 else 200
    site.crawl(bench)
    missing = {f"text of {page}" for page in range(site.pages)} - site.came
    assert not missing


def linked_from_hub(bench: Bench, name: str) -> Visit:
    """Trust a rule about printable versions, and let a page link to `name`; that page is being fetched."""
    site = printable(60)
    begin(bench, site)
    site.crawl(bench)
    assert State.TRUSTED in rules(bench).values()
    bench.add("hub")
    (hub,) = [bench.frontier.next()]
    assert hub is not None
    bench.link(hub, url(name))
    return hub


def test_the_shorter_form_is_fetched(bench):
    """Of two that wait: the one that was found first makes room for a shorter one."""
    hub = linked_from_hub(bench, "p/700?printable=yes")
    long = bench.section_of("p/700?printable=yes")
    assert not long.trap.is_joined
    bench.link(hub, url("p/700"))
    assert bench.section_of("p/700?printable=yes").trap.is_joined
    assert not bench.section_of("p/700").trap.is_joined
    bench.commit()
    check_sections(bench.frontier)


def test_a_version_does_not_hide_its_page(bench):
    """A URL that the rule takes nothing from is fetched, though a version of it was there before."""
    bench.finish(linked_from_hub(bench, "p/700?printable=yes"))
    (version,) = [bench.frontier.next()]
    assert version is not None
    assert name_of(version.url) == "p/700?printable=yes"
    bench.link(version, url("p/700"), url("p/700?printable=yes&n=2"))
    bench.finish(version)
    (plain,) = [bench.frontier.next()]
    assert plain is not None
    assert name_of(plain.url) == "p/700"


def test_only_what_links_lead_to_is_joined(bench):
    """A request, a seed and what is asked for again are fetched, whatever the rules say."""
    site = in_query(60)
    begin(bench, site)
    site.crawl(bench)
    bench.add("p/1?wombat=seedz")
    bench.ask("p/2?wombat=askedz", request=b"POST", flags=Flag.NONE)
    tested = next(record for _, record in stored_records(bench.frontier) if is_test(bench, record))
    assert bench.frontier.again(url(name_of(tested.url)).key)
    came: list[str] = []
    while (visit := bench.frontier.next()) is not None and len(came) < 3:
        came.append(name_of(visit.url))
        bench.finish(visit)
    assert {"p/1?wombat=seedz", "p/2?wombat=askedz", name_of(tested.url)} == set(came)
    bench.commit()
    check_sections(bench.frontier)


def is_test(bench: Bench, record) -> bool:
    host = bench.frontier.hosts.named("a.example")
    return record.state == UrlState.FETCHED and rule_number(host.sections[record.section].shape) is not None


@pytest.mark.parametrize(
    ("order", "options"),
    [
        ("bfs", FrontierOptions()),
        ("aopic", FrontierOptions(learn_rules=False)),
        ("aopic", FrontierOptions(max_depth=20)),
        ("aopic", FrontierOptions(traps=TrapOptions(hold=False), learn_rules=False)),
    ],
)
def test_where_nothing_is_learnt(tmp_path, order, options):
    """Every form is fetched."""
    bench, site = Bench(tmp_path / "db", order, options=options), printable(40)
    begin(bench, site)
    site.crawl(bench)
    assert bench.frontier.counts.queued == bench.frontier.figures.joined == 0
    put_away(bench.database)


def test_resumed_without_rules(bench):
    """What was held back as other forms is fetched after all, and comes back to nothing when rules are on again."""
    site = printable(100)
    begin(bench, site)
    site.crawl(bench)
    held = bench.frontier.figures.joined
    assert held
    bench.options = FrontierOptions(learn_rules=False)
    bench.restart()
    assert bench.frontier.figures.joined == 0
    site.crawl(bench)
    assert bench.frontier.counts.queued == 0
    assert set(site.fetched) == set(map(name_of, stored(bench)))


def test_without_holding_traps(tmp_path):
    """Rules join URLs also where no trap is held back: that is another setting."""
    bench, site = (
        Bench(tmp_path / "db", "aopic", options=FrontierOptions(traps=TrapOptions(hold=False))),
        in_query(80),
    )
    begin(bench, site)
    site.crawl(bench)
    assert bench.frontier.figures.joined > 0
    bench.restart()
    assert bench.frontier.figures.joined > 0
    put_away(bench.database)


def test_a_person_sets_a_rules_section_free(bench):
    """The rule is refused, and all that it held is fetched."""
    site = printable(100)
    begin(bench, site)
    site.crawl(bench)
    host = bench.frontier.hosts.named("a.example")
    for section in [section for section in host.sections.values() if section.trap.is_joined]:
        bench.frontier.by_hand.vouch(host, section)
    assert bench.frontier.figures.joined == 0
    assert State.REFUSED in rules(bench).values()
    bench.restart()
    site.crawl(bench)
    assert bench.frontier.counts.queued == 0


def test_no_page_is_known_by_a_rule_that_was_dropped(bench):
    """A URL that stood for a class stands for it only as long as the class is the same."""
    site = printable(60)
    begin(bench, site)
    site.crawl(bench)
    bench.add("hub")
    hub = bench.frontier.next()
    assert hub is not None
    bench.link(hub, url("p/800?printable=yes"))
    host = bench.frontier.hosts.named("a.example")
    for section in [section for section in host.sections.values() if section.trap.is_joined]:
        bench.frontier.by_hand.vouch(host, section)
    bench.link(hub, url("p/800"))
    assert not bench.section_of("p/800").trap.is_joined


def test_blocking_needs_no_rule(bench):
    """A depth limit forbids to block, as before; rules are not asked."""
    bench.options = FrontierOptions(max_depth=3)
    bench.restart()
    bench.add("x")
    with pytest.raises(OptionError):
        bench.frontier.by_hand.block(bench.frontier.hosts.named("a.example"))


def test_mirrors(bench):
    """Two hosts with the same pages, each page linked at either: one of the two is fetched, and nothing is lost."""
    pages, came, fetched = 120, set(), 0
    bench.frontier.add([url("p/0")], depth=0)
    while (visit := bench.frontier.next()) is not None:
        page, fetched = number(visit.url.rpartition("/")[2]), fetched + 1
        came.add(page)
        bench.frontier.downloaded(visit, 0.0)
        targets = [page + 1, *(random.Random(f"{page}{n}").randrange(pages) for n in range(LINKS))]
        hosts = itertools.cycle(("a.example", "www.a.example", "www.a.example", "a.example", "a.example"))
        bench.link(visit, *(url(f"p/{n}", next(hosts)) for n in targets if n < pages))
        body = sha1(f"text of {page}".encode())
        verdict = bench.frontier.contents.judge(visit, body, title="", text_hash=None)
        bench.frontier.done(visit, UrlState.FETCHED, status=200, good=verdict == Verdict.NEW)
        if fetched % 20 == 0:
            bench.commit()
    assert came == set(range(pages))
    assert fetched < 1.6 * pages
    assert bench.frontier.is_finished()


def test_the_cost_of_a_link_without_rules(bench):
    """A host that has none is known by one look into a set: no URL is taken apart, no row is read."""
    bench.add("x")
    host = bench.frontier.hosts.named("a.example")
    bench.frontier.forms.learners = None
    assert bench.frontier.forms.joined(host, url("y")) is None


def test_a_link_to_a_form_is_one_to_its_page(bench):
    """So the end of a site comes into sight whose every link is new."""
    site = in_query(400)
    begin(bench, site)
    site.crawl(bench, budget=300)
    host = bench.frontier.hosts.find("a.example")
    pages = max((one for one in host.sections.values() if rule_number(one.shape) is None), key=lambda one: one.known)
    assert pages.trap.falls
