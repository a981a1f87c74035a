"""What a section is worth, by what it, its kin and those that it leads to have shown."""

from __future__ import annotations

import pytest
from database_files import put_away
from frontier_helpers import Bench
from hypothesis import given
from hypothesis import strategies as st

from sitecrawl.frontier.urls.causes import Cause
from sitecrawl.frontier.urls.disk_queue import DiskQueue
from sitecrawl.frontier.urls.host import Host
from sitecrawl.frontier.urls.sections import Section
from sitecrawl.frontier.urls.worth import REFRESH, YOUNG, Kin, look_again, parts_of, weigh


def host_of(*shapes: str) -> tuple[Host, list[Section]]:
    host, sections = Host(bytes(8), "a.example"), []
    for number, shape in enumerate(shapes):
        key = number.to_bytes(4, "big")
        section = Section(host.key + key, shape, DiskQueue(None, host.key + key, empty=True))  # type: ignore[arg-type]
        section.known = 100
        host.sections[key] = section
        sections.append(section)
    return host, sections


def learn(host: Host, section: Section, good: int, bad: int, *, leads: float = 0.0) -> None:
    for number in range(good + bad):
        host.fetched += 1
        host.learn(section, good=number < good, leads=leads)


def test_parts():
    """A path, and each key."""
    assert parts_of("/viewtopic.php?highlight&t") == ["/viewtopic.php", "?highlight", "?t"]
    assert parts_of("/wiki/*") == ["/wiki/*"]


@given(st.integers(0, 60), st.integers(0, 60), st.floats(0, 1))
def test_worth_is_a_share(good, bad, leads):
    """Whatever a section has brought, hope and worth are shares."""
    host, (section,) = host_of("/x")
    learn(host, section, good, bad, leads=leads)
    weigh(section, host.kin)
    assert 0 < section.hope <= 1
    assert 0 <= section.worth <= 1


def test_yield_makes_worth():
    """Of sections that were fetched as often, the one that brought more good pages is worth more, by far."""
    worths = []
    for good in (0, 10, 20, 30, 40):
        host, (section,) = host_of("/x")
        learn(host, section, good, 40 - good)
        worths.append(section.worth)
    assert worths == sorted(worths)
    assert worths[2] < worths[4] / 10


def test_a_way_is_worth_as_much_as_a_page():
    """An index without content of its own is worth what a page is that leads nowhere."""
    host, (index, leaf, both) = host_of("/index", "/leaf", "/both")
    learn(host, index, 0, 200, leads=1.0)
    learn(host, leaf, 200, 0)
    learn(host, both, 200, 0, leads=1.0)
    assert index.worth == pytest.approx(leaf.worth, rel=0.5)
    assert both.worth > 50 * leaf.worth


def test_kin_give_the_first_hope():
    """A new shape starts from the worst that its parts have shown elsewhere, and what shares nothing from hope."""
    host, (page, editor, new, other) = host_of("/wiki?title", "/wiki?action&title", "/talk?action&title", "/map")
    learn(host, page, 40, 0)
    learn(host, editor, 0, 40)
    for section in (new, other):
        weigh(section, host.kin)
    assert new.hope < 0.1
    assert other.hope == 1.0


def test_own_evidence_outweighs_kin():
    """A few pages of its own and a section is judged by them."""
    host, (editor, new) = host_of("/wiki?action", "/talk?action")
    learn(host, editor, 0, 40)
    learn(host, new, 10, 0)
    assert new.hope > 0.9


def test_kin_are_counted_again_after_a_restart():
    """What the parts have shown follows from the sections."""
    host, sections = host_of("/x?a", "/x?b", "/y?a")
    for number, section in enumerate(sections):
        learn(host, section, 5 * number, 7)
    assert [Kin(sections).prior(one) for one in sections] == pytest.approx([host.kin.prior(one) for one in sections])


def test_time_is_a_cost():
    """What takes four times as long is worth a quarter; what is quicker than is usual is worth no more."""
    host, (plain, slow, quick) = host_of("/x", "/y", "/z")
    for section, times in ((plain, 1.0), (slow, 4.0), (quick, 0.1)):
        section.spend(times)
        learn(host, section, 10, 0)
    assert slow.worth == pytest.approx(plain.worth / 4)
    assert quick.worth == plain.worth


def test_what_is_slow_waits_for_what_is_quick(tmp_path):
    """Of two sections that are worth the same, the quick one is done by the time that a quarter of the other is."""
    crawl = Bench(tmp_path / "db", "aopic")
    for n in range(80):
        crawl.add(f"quick/{n}", f"slow?n={n}", host="a.example")
    left, slow = 80, 0
    while left:
        visit = crawl.frontier.next()
        assert visit is not None
        is_quick = "quick" in visit.url
        crawl.finish(visit, seconds=0.1 if is_quick else 2.0)
        left -= is_quick
        slow += not is_quick
    assert slow <= 20
    put_away(crawl.database)


def test_what_says_nothing_new_is_worth_less():
    """Pages that nobody had, of which every fourth is looked at: articles, and forms that say what others say."""
    host, (articles, forms) = host_of("/x", "/y")
    for number in range(40):
        for section in (articles, forms):
            host.fetched += 1
            host.learn(section, good=True, is_new=None if number % 4 else section is articles)
    assert forms.successes == articles.successes
    assert forms.worth < articles.worth / 100
    assert forms.shown < articles.shown / 5


def lead(host: Host, index: Section, items: Section, fetches: int) -> None:
    """Pages of `index`, each of which brings ten new URLs of `items`, of which none has shown anything."""
    for _ in range(fetches):
        for _ in range(10):
            index.bring(items.key[-4:])
        host.learn(index, good=False, leads=items.shown, led=True)
        host.fetched += 1


def test_what_a_young_section_led_to_counts_later():
    """The first page of an index is paid for its items when these have shown what they are worth."""
    host, (index, items) = host_of("/index", "/item")
    lead(host, index, items, 1)
    assert index.leads == 0
    learn(host, items, 4 * REFRESH, 0)
    assert index.leads > 0.9
    assert index.worth > items.worth / 5


def test_what_an_old_section_led_to_counts_as_it_was():
    """Its average says more."""
    host, (index, items) = host_of("/index", "/item")
    lead(host, index, items, YOUNG + 1)
    learn(host, items, 4 * REFRESH, 0)
    assert index.leads == 0


def test_what_leads_to_its_own_circle_is_not_looked_at():
    """A maze's pages are good for as long as nobody has seen through it, and pay nothing."""
    host, (index, items) = host_of("/index", "/item")
    index.bring(items.key[-4:])
    index.fetched, index.led = 1, 1.0
    items.trials = items.successes = 40.0
    items.circle = index.circle
    look_again(index, host.sections)
    assert index.leads == 0


def test_only_pages_that_led_on_are_paid():
    """Of an index half of whose pages are its last, the other half."""
    host, (index, items) = host_of("/index", "/item")
    index.brought = {items.key[-4:]: 100}
    index.fetched, index.led = 10, 0.5
    items.trials = items.successes = 1000.0
    look_again(index, host.sections)
    assert index.leads == pytest.approx(0.5, abs=0.01)


def test_attempts_that_are_wasted():
    """What takes its time and brings nothing is worth less at once; a fetch is counted when it has ended."""
    host, (slow, quick) = host_of("/slow/*", "/p/*")
    for section in (slow, quick):
        learn(host, section, 3, 0)
    before = slow.worth, slow.fetched, slow.good
    for _ in range(3):
        host.waste(slow)
    assert slow.worth < before[0] / 10
    assert (slow.fetched, slow.good) == before[1:]
    assert slow.worth < quick.worth / 10


@pytest.mark.parametrize(("cause", "is_less"), [(Cause.SLOW, True), (Cause.SILENT, False)])
def test_an_answer_that_drips_is_wasted(tmp_path, cause, is_less):
    """A URL that is put back for its slowness tells of its section; for another reason it does not."""
    crawl = Bench(tmp_path / "db")
    crawl.add("slow", "other")
    visit = crawl.take("slow")
    section = crawl.section_of("slow")
    visit.cause = cause
    crawl.frontier.retry(visit, priority=-1, request=None)
    assert (section.trials > 0) is is_less
    crawl.database.close()
