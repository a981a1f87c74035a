"""Credit: split as the AOPIC paper says, and none of it made or lost, to the last unit."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, field

import pytest
from frontier_helpers import balance
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from sitecrawl.base.errors import CorruptFile
from sitecrawl.frontier.credit.ledger import TOTAL, Ledger
from sitecrawl.frontier.credit.policies import POLICIES, policy_named


@dataclass(eq=False)
class Site:
    payees: int = 0
    dividend: int = 0
    mark: int = 0
    rest: int = 0


@dataclass(eq=False)
class Page:
    host: Site
    credit: int = 0
    mark: int = 0
    history: float = 0.0
    waits: bool = True


@dataclass
class Crawl:
    """A ledger, and the pages and hosts that it keeps the credit of."""

    policy: str = "hosts"
    hosts: list[Site] = field(default_factory=lambda: [Site(), Site(), Site()])
    pages: list[Page] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.ledger = Ledger(policy_named(self.policy))

    def page(self, credit: int = 0, host: int = 0) -> Page:
        page = Page(self.hosts[host], credit)
        self.pages.append(page)
        self.ledger.enter(page, page.host)
        return page

    def seeds(self, count: int) -> list[Page]:
        share = self.ledger.seed(count)
        return [self.page(share, number % len(self.hosts)) for number in range(count)]

    def fetch(self, page: Page, links: int = 0, nofollow: int = 0) -> list[Page]:
        """The page spends its credit on new pages, and waits no longer; returns them, the nofollow ones last."""
        tenth = self.ledger.spend(page, page.host, links, nofollow)
        targets = [self.page(host=0) for _ in range(links + nofollow)]
        for number, target in enumerate(targets):
            self.ledger.credit(target, tenth * (10 if number < links else 1), waits=True)
        self.end(page)
        return targets

    def end(self, page: Page) -> None:
        self.ledger.leave(page, page.host)
        self.ledger.give_up(page)
        page.waits = False

    def held(self, page: Page) -> int:
        return balance(self.ledger, page, page.host) if page.waits else page.credit

    def all_credit(self) -> int:
        held = sum(self.held(page) for page in self.pages)
        return held + sum(host.rest for host in self.hosts) + self.ledger.reserve + self.ledger.pending


@pytest.fixture(params=sorted(POLICIES))
def crawl(request):
    return Crawl(request.param)


def test_an_equal_split(crawl):
    """A tenth goes to the lambda page, and every link gets the same of the rest."""
    (seed,) = crawl.seeds(1)
    amount = crawl.held(seed)
    targets = crawl.fetch(seed, 4)
    assert {crawl.held(target) for target in targets} == {amount * 9 // 40}
    assert crawl.held(seed) == 0
    assert crawl.ledger.reserve == amount // 10


def test_a_nofollow_link_counts_a_tenth(crawl):
    """A link that its author does not stand by gets a tenth of what another gets."""
    (seed,) = crawl.seeds(1)
    full, tenth = (crawl.held(target) for target in crawl.fetch(seed, 1, 1))
    assert full == 10 * tenth > 0


def test_a_page_without_links(crawl):
    """A page that links nowhere leaves all of its credit to the lambda page."""
    (seed,) = crawl.seeds(1)
    amount = crawl.held(seed)
    crawl.fetch(seed)
    assert crawl.ledger.reserve == amount == crawl.all_credit()


def test_all_seeds_are_dead(crawl):
    """When every seed has failed, the lambda page holds everything, and paying it out changes nothing."""
    for seed in crawl.seeds(7):
        crawl.end(seed)
    crawl.ledger.pay()
    assert crawl.ledger.reserve == crawl.ledger.total == crawl.all_credit()


def test_late_seeds(crawl):
    """A seed that is added later brings as much as one of the first, however the first were given."""
    first = {crawl.held(page) for page in crawl.seeds(100)}
    late = {crawl.held(page) for page in (*crawl.seeds(1), *crawl.seeds(50))}
    assert first == late == {TOTAL // 100}
    assert crawl.all_credit() == crawl.ledger.total


def test_more_seeds_than_there_is_credit(crawl):
    """A million seeds that come one by one get nothing in the end, and all credit fits into 63 bits."""
    for _ in range(1_000_000):
        crawl.ledger.seed(1)
    assert crawl.ledger.seed(1) == 0
    assert crawl.ledger.total < 2**63


def test_no_seeds_at_all(crawl):
    """Adding no seeds makes no credit."""
    assert crawl.ledger.seed(0) == 0
    assert crawl.ledger.total == 0


def test_credit_that_reaches_a_fetched_page(crawl):
    """It counts for the page's importance, and goes to the lambda page."""
    seed, other = crawl.seeds(2)
    crawl.end(other)
    before = crawl.ledger.reserve
    tenth = crawl.ledger.spend(seed, seed.host, 1, 0)
    crawl.ledger.credit(other, 10 * tenth, waits=False)
    assert other.credit == 0
    assert other.history == 10 * tenth
    assert crawl.ledger.reserve > before
    assert crawl.all_credit() == crawl.ledger.total


def test_credit_for_many_pages(crawl):
    """It is what each of them would have got, one after the other, to the last unit and the last bit."""
    pages = crawl.seeds(7)
    for number, page in enumerate(pages):
        page.waits = number % 3 > 0
    payments = [(page, TOTAL // (3 * number + 7), page.waits) for number, page in enumerate(pages)]
    crawl.ledger.receive(sum(amount for _, amount, _ in payments))
    one_by_one = copy.deepcopy((crawl.ledger, payments))
    crawl.ledger.credit_many(payments)
    ledger, again = one_by_one
    for page, amount, waits in again:
        ledger.credit(page, amount, waits=waits)
    assert [(page.credit, page.history) for page, _, _ in payments] == [(p.credit, p.history) for p, _, _ in again]
    assert ledger.pack() == crawl.ledger.pack()
    assert ledger.pending == crawl.ledger.pending == 0
    assert crawl.all_credit() == crawl.ledger.total


def test_credit_for_a_page_that_is_forgotten(crawl):
    """What was spent on a page of which there is no record any more goes to the lambda page."""
    (seed,) = crawl.seeds(1)
    tenth = crawl.ledger.spend(seed, seed.host, 1, 0)
    crawl.ledger.lose(10 * tenth)
    assert crawl.ledger.pending == 0
    assert crawl.all_credit() == crawl.ledger.total


def test_underflow(crawl):
    """Credit that is halved a million times reaches zero, and never becomes negative, NaN or more."""
    (page,) = crawl.seeds(1)
    for _ in range(20_000):
        tenth = crawl.ledger.spend(page, page.host, 100_000, 3)
        target = crawl.page()
        crawl.ledger.credit(target, 10 * tenth, waits=True)
        crawl.ledger.lose(crawl.ledger.pending)
        crawl.end(page)
        page = target
        if crawl.ledger.reserve % 7 == 0:
            crawl.ledger.pay()
        assert crawl.held(page) >= 0
    assert crawl.ledger.reserve >= 0
    assert math.isfinite(crawl.ledger.spent)
    assert crawl.all_credit() == crawl.ledger.total


def test_a_million_pages_that_wait_for_little(crawl):
    """When there are more pages than units to pay, nobody is paid, and the lambda page keeps it all."""
    (page,) = crawl.seeds(1)
    for _ in range(1_000_000):
        crawl.ledger.policy.enter(crawl.hosts[1])
    crawl.end(page)
    crawl.ledger.reserve, rest = 999_999, crawl.ledger.reserve
    crawl.ledger.pay()
    paid = crawl.ledger.policy.dividend_of(crawl.hosts[1]) * 1_000_000
    assert paid == 0
    assert crawl.ledger.reserve + crawl.hosts[1].rest == 999_999
    assert rest == crawl.ledger.total


class Watched(Page):
    """Counts how often it is written."""

    writes = 0

    def __setattr__(self, name: str, value: object) -> None:
        Watched.writes += 1
        super().__setattr__(name, value)


def test_a_payment_touches_no_page(crawl):
    """The lambda page pays any number of pages without writing one of them, nor their hosts."""
    (seed, *_) = crawl.seeds(3)
    for _ in range(1000):
        page = Watched(crawl.hosts[0])
        crawl.ledger.enter(page, page.host)
        crawl.pages.append(page)
    crawl.end(seed)
    writes, hosts = Watched.writes, copy.deepcopy(crawl.hosts)
    crawl.ledger.pay()
    assert Watched.writes == writes
    assert [vars(host) for host in hosts] == [vars(host) for host in crawl.hosts]
    assert crawl.held(page) > 0
    assert crawl.all_credit() == crawl.ledger.total


class Naive:
    """The same, with every page paid one by one: as slow as it is plain."""

    def __init__(self, policy: str, hosts: list[Site]) -> None:
        self.policy = policy
        self.cash: dict[Page, int] = {}
        self.rest: dict[Site, int] = dict.fromkeys(hosts, 0)
        self.reserve = 0

    def pay(self) -> None:
        groups = [[page for page in self.cash if page.host is host] for host in self.rest]
        if self.policy == "pages":
            self.reserve = share_out(self.cash, list(self.cash), self.reserve)
            return
        groups = [group for group in groups if group]
        if groups:
            share, self.reserve = divmod(self.reserve, len(groups))
            for group in groups:
                host = group[0].host
                self.rest[host] = share_out(self.cash, group, share + self.rest[host])

    def leave(self, page: Page) -> None:
        self.reserve += self.cash.pop(page)
        left = [other for other in self.cash if other.host is page.host]
        if left:
            self.rest[page.host] = share_out(self.cash, left, self.rest[page.host])
        else:
            self.reserve += self.rest[page.host]
            self.rest[page.host] = 0


def share_out(cash: dict[Page, int], pages: list[Page], amount: int) -> int:
    """Pay `pages` alike; returns what does not divide."""
    if not pages:
        return amount
    share, rest = divmod(amount, len(pages))
    for page in pages:
        cash[page] += share
    return rest


class LedgerMachine(RuleBasedStateMachine):
    """The ledger holds what the naive reference holds, page by page, whatever happens, a restart included."""

    @initialize(policy=st.sampled_from(sorted(POLICIES)), seeds=st.integers(1, 4))
    def open(self, policy, seeds):
        self.crawl = Crawl(policy)
        self.naive = Naive(policy, self.crawl.hosts)
        self.owed: list[tuple[Page, int]] = []
        self.seed(seeds)

    @rule(seeds=st.integers(0, 3))
    def seed(self, seeds):
        self.note_new_pages(self.crawl.seeds(seeds))

    def note_new_pages(self, pages):
        for page in pages:
            self.naive.cash[page] = page.credit

    def a_waiting_page(self, data):
        return data.draw(st.sampled_from([page for page in self.crawl.pages if page.waits]))

    @precondition(lambda self: self.naive.cash)
    @rule(data=st.data(), links=st.integers(0, 3), nofollow=st.integers(0, 2), host=st.integers(0, 2))
    def spend(self, data, links, nofollow, host):
        """Some of the targets are new, others known, fetched or forgotten; all are credited later."""
        page = self.a_waiting_page(data)
        cash = self.naive.cash[page]
        tenth = self.crawl.ledger.spend(page, page.host, links, nofollow)
        tenths = 10 * links + nofollow
        assert tenth == ((cash - cash // 10) // tenths if tenths else 0)
        self.naive.cash[page] = 0
        self.naive.reserve += cash - tenth * tenths
        for number in range(links + nofollow):
            known = data.draw(st.sampled_from([*self.crawl.pages, None]))
            target = known or self.crawl.page(host=host)
            if known is None:
                self.naive.cash[target] = 0
            self.owed.append((target, tenth * (10 if number < links else 1)))

    @rule()
    def settle(self):
        for page, amount in self.owed:
            self.crawl.ledger.credit(page, amount, waits=page.waits)
            if page.waits:
                self.naive.cash[page] += amount
            else:
                self.naive.reserve += amount
        self.owed.clear()

    @precondition(lambda self: self.naive.cash)
    @rule(data=st.data())
    def end(self, data):
        page = self.a_waiting_page(data)
        self.crawl.end(page)
        self.naive.leave(page)

    @rule()
    def pay(self):
        self.crawl.ledger.pay()
        self.naive.pay()

    @rule()
    def restart(self):
        """What is under way is settled by every checkpoint, so it is not packed."""
        self.settle()
        self.crawl.ledger = Ledger.unpack(self.crawl.ledger.pack())

    @invariant()
    def nothing_is_made_or_lost(self):
        if not hasattr(self, "crawl"):
            return
        assert self.crawl.all_credit() == self.crawl.ledger.total
        assert self.crawl.ledger.pending == sum(amount for _, amount in self.owed)

    @invariant()
    def everyone_has_what_the_reference_says(self):
        if not hasattr(self, "crawl"):
            return
        for page in self.crawl.pages:
            assert self.crawl.held(page) == self.naive.cash.get(page, 0) >= 0
        assert self.crawl.ledger.reserve == self.naive.reserve
        assert [host.rest for host in self.crawl.hosts] == list(self.naive.rest.values())


TestLedgerMachine = LedgerMachine.TestCase
TestLedgerMachine.settings = settings(max_examples=60, stateful_step_count=40)


@given(st.binary(max_size=80))
def test_torn_ledger(data):
    """Any bytes are a ledger or a corrupt file, and no other error."""
    try:
        ledger = Ledger.unpack(data)
    except CorruptFile:
        return
    assert ledger.policy.name in POLICIES


@pytest.mark.parametrize("data", [b"", b"x" * 48 + b"everyone", b"x" * 48 + b"\xff"])
def test_a_policy_that_is_not_known(data):
    """A record that names no policy of ours is a corrupt file."""
    with pytest.raises(CorruptFile):
        Ledger.unpack(data)


def test_importance_is_the_papers():
    """On a small graph importance comes to PageRank, less what every page gets alike, with a damping of 0.9."""
    links = {0: [1, 2], 1: [0], 2: [0, 1], 3: [0]}
    crawl = Crawl("pages")
    pages = crawl.seeds(len(links))
    for _ in range(4000):
        number = max(links, key=lambda n: crawl.held(pages[n]))
        if crawl.ledger.reserve > crawl.held(pages[number]):
            crawl.ledger.pay()
            continue
        tenth = crawl.ledger.spend(pages[number], pages[number].host, len(links[number]), 0)
        for target in links[number]:
            crawl.ledger.credit(pages[target], 10 * tenth, waits=True)
    rank = [0.25] * 4
    for _ in range(200):
        along = [sum(0.9 * rank[s] / len(links[s]) for s in links if t in links[s]) for t in links]
        rank = [share + (1 - sum(along)) / 4 for share in along]
    importance = [crawl.ledger.importance(page) for page in pages]
    assert importance == pytest.approx([share / sum(along) for share in along], rel=0.02, abs=0.001)


def test_a_crawl_that_is_always_down_to_one_page(crawl):
    """Dividends that add up to more than any field can hold are still exact, on disk too."""
    (page,) = crawl.seeds(100)[:1]
    for other in crawl.pages[1:]:
        crawl.end(other)
    for _ in range(1000):
        crawl.ledger.pay()
        (page,) = crawl.fetch(page, 1)
        crawl.end(crawl.page())
        crawl.pages = [page]
        crawl.ledger = Ledger.unpack(crawl.ledger.pack())
    assert crawl.all_credit() == crawl.ledger.total == TOTAL


def test_each_unit_counts_alike_where_each_page_is_fetched_once(crawl):
    """However much has flowed."""
    crawl.ledger.spent = 1e30
    (page,) = crawl.seeds(1)
    crawl.ledger.credit(page, 7, waits=True)
    assert page.history == 7.0


def test_credit_of_late_counts_where_pages_come_back(crawl):
    """A page that had all of it fades; no rounds are too many; and a stored ledger goes on with it."""
    crawl.ledger.comes_back = True
    old, new = crawl.seeds(2)
    faded = []
    for page in [old] * 10 + [new] * 1000:
        crawl.ledger.credit(page, crawl.ledger.total, waits=True)
        crawl.ledger = Ledger.unpack(crawl.ledger.pack())
        faded.append(crawl.ledger.importance(old))
    assert faded[9] == 1.0
    assert faded[12] < 0.5
    assert faded[19] < 0.05
    assert faded[-1] == pytest.approx(0.0, abs=1e-8)
    assert crawl.ledger.weight < 1e15
