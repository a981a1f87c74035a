"""A learner finds the rules of a host from its pages, within its bounds."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from dust_strategies import A, drop

from sitecrawl.base.errors import CorruptFile
from sitecrawl.frontier.forms.evidence import TESTS, State
from sitecrawl.frontier.forms.learner import MAX_NEW, MAX_RULES, RECENT, SET, Learner
from sitecrawl.frontier.forms.parts import split


def surf(learner: Learner, url_of: Callable[[int, int], str], *, pages: int = 30, visits: int = 4) -> None:
    """Every page is seen under `visits` URLs; tests of what is joined go as they should."""
    first: dict[int, str] = {}
    for visit in range(visits):
        for page in range(pages):
            url = A + url_of(page, visit)
            learner.observe(url, b"%08d" % page, first.get(page))
            first.setdefault(page, url)
    confirm(learner)


def confirm(learner: Learner) -> None:
    for _ in range(TESTS):
        for learnt in list(learner.learnt.values()):
            if learnt.evidence.state == State.TESTING:
                for stratum in learnt.evidence.strata:
                    learnt.evidence.test(stratum, same=True)


def trusted(learner: Learner) -> set[str]:
    return {str(one.rule) for one in learner.learnt.values() if one.evidence.state == State.TRUSTED}


@pytest.mark.parametrize(
    ("url_of", "one", "other"),
    [
        (lambda page, visit: f"/p/{page}?wombat={page}{visit}", "/p/700?wombat=1", "/p/700?wombat=x2"),
        (lambda page, visit: f"/x.php?t={page}&wombat={visit}", "/x.php?t=9&wombat=1", "/x.php?t=9&wombat=2"),
        (lambda page, visit: f"/f{page}{visit}/p/{page}", "/f1/p/700", "/f2/p/700"),
        (
            lambda page, visit: f"/p/{page}?a={visit}&b={visit}7&c=x{visit}",
            "/p/700?a=1&b=2&c=3",
            "/p/700?a=4&b=5&c=6",
        ),
        (lambda page, visit: f"/s{visit}/p/{page}?a={visit}&b={visit}7", "/s9/p/700?a=1&b=2", "/s8/p/700?a=4&b=5"),
        (lambda page, visit: f"/(S(f{page}{visit}))/p/{page}", "/(S(f1))/p/700", "/(S(f2))/p/700"),
        (lambda page, visit: f"/p/{page};wombat={visit}", "/p/700;wombat=1", "/p/700;wombat=2"),
        (lambda page, visit: f"/p/{page}" + ("?printable=yes" if visit else ""), "/p/700", "/p/700?printable=yes"),
        (lambda page, visit: f"/d{page}/" + ("index.html" if visit else ""), "/d700/", "/d700/index.html"),
        (lambda page, visit: f"/p/{page}" + ("/" if visit else ""), "/p/700", "/p/700/"),
        (lambda page, visit: f"/{'Item' if visit else 'item'}/{page}", "/item/700", "/Item/700"),
    ],
)
def test_what_is_learnt(url_of, one, other):
    """Whatever the name: two URLs of a page that was never seen are of one class, two pages are not."""
    learner = Learner()
    surf(learner, url_of)
    assert trusted(learner)
    assert learner.form(A + one)[0] == learner.form(A + other)[0]
    assert learner.form(A + url_of(700, 0))[0] != learner.form(A + url_of(701, 0))[0]


def test_a_key_that_chooses():
    """The page of a list is never taken for nothing, though its first page comes under two URLs."""
    learner = Learner()
    for board in range(20):
        for start in ("", "&start=0", "&start=25", "&start=50"):
            content = b"%04d%04d" % (board, int(start[7:] or 0))
            first = f"{A}/list.php?f={board}" if start == "&start=0" else None
            learner.observe(f"{A}/list.php?f={board}{start}", content, first)
    confirm(learner)
    assert trusted(learner) == {'without "start=0" in /list.php'}
    assert learner.form(f"{A}/list.php?f=1&start=25")[1] is None


def test_content_that_changes_with_each_fetch():
    """Nothing is ever learnt where nothing ever comes twice."""
    learner = Learner()
    for n in range(2000):
        learner.observe(f"{A}/p/{n % 50}?sid={n}", b"%08d" % n)
    assert not learner.learnt


def test_one_page_at_every_path():
    """An application that the browser builds: that all paths give one page says nothing of their segments."""
    learner = Learner()
    for n in range(300):
        learner.observe(f"{A}/app/{n}", b"theshell", f"{A}/app/0" if n else None)
    assert not learner.active.rules


def test_a_page_that_stands_for_many():
    """Pages that are missing all look alike: a rule by which all pages were one is not trusted."""
    learner = Learner()
    rng = random.Random(1)
    for n in range(500):
        missing = rng.random() < 0.3
        learner.observe(
            f"{A}/topic.php?t={n}", b"missing." if missing else b"%08d" % n, f"{A}/topic.php?t=0" if missing else None
        )
    confirm(learner)
    assert learner.form(f"{A}/topic.php?t=900")[0] == f"{A}/topic.php?t=900"


def test_a_rule_that_holds_beside_one_key_only():
    """A topic's number chooses nothing beside `view=next` of the last topics, and everything alone."""
    learner = Learner()
    for n in range(200):
        learner.observe(f"{A}/topic.php?t={n}", b"%08d" % n)
        learner.observe(f"{A}/topic.php?t={n}&view=next", b"nothing.", f"{A}/topic.php?t=0&view=next" if n else None)
    confirm(learner)
    assert learner.form(f"{A}/topic.php?t=900&view=next")[0] == f"{A}/topic.php?view=next"
    assert learner.form(f"{A}/topic.php?t=900")[0] == f"{A}/topic.php?t=900"


def test_a_narrow_place_that_is_refused():
    """Where a key chooses at one place, the rule at the wide place around it does not hold there."""
    learner = Learner()
    for n in range(60):
        for kind in ("shop", "news", "blog"):
            for view in (1, 2):
                content = b"%04d%s%03d" % (n, kind.encode(), view if kind == "blog" else 0)
                first = f"{A}/{kind}/{n}?view=1" if view == 2 and kind != "blog" else None
                learner.observe(f"{A}/{kind}/{n}?view={view}", content, first)
    confirm(learner)
    assert learner.form(f"{A}/shop/900?view=7")[0] == f"{A}/shop/900"
    assert learner.form(f"{A}/blog/900?view=7")[0] == f"{A}/blog/900?view=7"


def test_what_carries_over():
    """A session id beside another key is joined after one page that agrees, not after eight."""
    learner = Learner()
    surf(learner, lambda page, visit: f"/x.php?t={page}&wombat={page}{visit}")
    assert learner.form(f"{A}/x.php?p=1&wombat=1")[1] is None
    learner.observe(f"{A}/x.php?p=1&wombat=1", b"%08d" % 77)
    learner.observe(f"{A}/x.php?p=1&wombat=2", b"%08d" % 77, f"{A}/x.php?p=1&wombat=1")
    assert learner.form(f"{A}/x.php?p=2&wombat=3")[0] == f"{A}/x.php?p=2"


def test_failed_tests_blame_the_rule_that_is_trusted_least():
    """A URL that two rules have joined and that is another page: the older one stays."""
    learner = Learner()
    surf(learner, lambda page, visit: f"/x.php?t={page}&wombat={page}{visit}", pages=60)
    surf(learner, lambda page, visit: f"/x.php?t={page}" + ("&view=print" if visit else ""), pages=20)
    both = f"{A}/x.php?t=900&view=print&wombat=1"
    for rule in (drop("/x.php", "wombat"), drop("/x.php", "view")):
        learner.learnt[rule].evidence.strata.update({rule.stratum(split(both)): (1, 0)})
    assert learner.form(both)[0] == f"{A}/x.php?t=900"
    young, old = drop("/x.php", "view"), drop("/x.php", "wombat")
    learner.learnt[old].evidence.tests += 100
    learner.tested(both, same=False)
    assert (learner.learnt[young].evidence.failed, learner.learnt[old].evidence.failed) == (1, 0)


@pytest.mark.deep
def test_keys_by_the_million_stay_bounded():
    """Keys without end, each with pages that repeat: rules, samples and recent URLs stay within their bounds."""
    learner = Learner()
    for n in range(600):
        learner.observe(f"{A}/p/{n}?k{n // 4}=1", b"%08d" % (n // 2), f"{A}/p/{n}" if n % 2 else None)
        learner.observe(f"{A}/q/{n % 7}?r={n}", b"same....", f"{A}/q/{n % 7}" if n else None)
    assert len(learner.learnt) <= MAX_RULES
    assert all(len(one.sample) <= 2 * RECENT + 1 for one in learner.learnt.values())
    assert len(list(learner.recent())) <= RECENT
    assert len(learner.pack()) < 64_000


class Counting(Learner):
    """Counts what `observe` states a bound of."""

    compared = taken_apart = 0

    def _meet(self, *given):
        self.compared += 1
        return super()._meet(*given)

    def _normal(self, url):
        self.taken_apart += 1
        return super()._normal(url)


def test_the_work_for_a_page_is_bounded():
    """Candidates without end, some for each page that a page repeats: none costs more than `observe` says."""
    learner, compared = Counting(), []
    for n in range(200):
        key = n // 2  # a pair suggests what another one has suggested before
        page, one, other = f"{A}/p/{n}", f"{A}/p/{n}?o{key}=1", f"{A}/p/{n}?t{key}=1"
        for url, original in ((one, None), (other, one), (page, one)):
            learner.compared = learner.taken_apart = 0
            assert not learner.observe(url, b"%08d" % n, original)
            assert learner.taken_apart <= 2
            compared.append(learner.compared)
    assert MAX_NEW * RECENT <= max(compared) <= MAX_RULES + MAX_NEW * (RECENT + 2)


def test_one_content_at_urls_without_end():
    """A set of pages is held against the last few of it, not against all."""
    learner = Learner()
    for n in range(300):
        learner.observe(f"{A}/{n}/x/{n}", b"missing.", f"{A}/" if n else None)
    assert len(learner._sets[b"missing."]) == SET
    for n in range(RECENT):
        learner.observe(f"{A}/p/{n}", b"%08d" % n)
    assert set(learner._sets) == {content for _, content in learner.recent()}


def test_what_any_of_three_keys_may_miss():
    """A key that chooses alone, and nothing beside two others: it is not joined where nobody has compared."""
    learner = Learner()
    surf(learner, lambda page, visit: f"/p/{page}?a={visit}{page}&b={visit}7&c=x{visit}")
    assert learner.form(f"{A}/p/700?a=1&b=2&c=3")[0] == f"{A}/p/700"
    assert learner.form(f"{A}/p/700?a=1")[1] is None


def test_packing():
    """Rules, numbers and evidence come back; they join the same URLs."""
    learner = Learner()
    surf(learner, lambda page, visit: f"/f{page}{visit}/p/{page}")
    again = Learner.unpack(learner.pack())
    assert {rule: one.evidence for rule, one in again.learnt.items()} == {
        rule: one.evidence for rule, one in learner.learnt.items()
    }
    assert again.form(f"{A}/f9/p/900")[0] == learner.form(f"{A}/f9/p/900")[0] == f"{A}/*/p/900"
    assert any(rule.may_be_of_one_page for rule in again.learnt)


@pytest.mark.parametrize(
    "data",
    [b"", b"\x93", b"\xc1", b"\x93\x02\x00\x91\x01", b"\x93\x02\x00\x91\x93\x01\x91\xa1x\x90"],
)
def test_bytes_of_something_else(data):
    """What no learner wrote is a corrupt file."""
    with pytest.raises(CorruptFile):
        Learner.unpack(data)


def test_rules_of_another_version():
    """What was learnt by other rules is learnt anew."""
    assert not Learner.unpack(b"\x93\x01\x07\x91\x93\x01\x91\xa5slash\x90").learnt


def test_a_person_says():
    """A rule that is refused joins nothing, one that is ordered joins, a candidate decides by its evidence again."""
    learner = Learner()
    surf(learner, lambda page, visit: f"/x.php?t={page}&wombat={page}{visit}")
    url, learnt = f"{A}/x.php?t=900&wombat=1", learner.learnt[drop("/x.php", "wombat")]
    learner.order(learnt, State.REFUSED)
    assert learner.form(url)[1] is None
    learner.order(learnt, State.ORDERED)
    assert learner.form(url) == (f"{A}/x.php?t=900", learnt)
    learner.order(learnt, State.CANDIDATE)
    assert learner.form(url)[1] is None
    assert learner.numbered(learnt.number) is learnt


def test_what_is_taken_away():
    """Keys and path segments, by which the kinds of a rule's URLs are told apart."""
    learner = Learner()
    surf(learner, lambda page, visit: f"/s{visit}{page}/p/{page}?a={visit}&b=1")
    assert learner.taken(f"{A}/s9/p/700?a=7&b=1") == ("a=7&s9", "s9", "a=7&b=1")
