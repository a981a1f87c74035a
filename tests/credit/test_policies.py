"""The lambda page pays evenly, loses nothing, and touches no page."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitecrawl.base.errors import OptionError
from sitecrawl.frontier.credit.policies import POLICIES, HostsPolicy, PagesPolicy, policy_named


@dataclass
class Account:
    payees: int = 0
    dividend: int = 0
    mark: int = 0
    rest: int = 0


def hosts_with(policy, *pages: int) -> list[Account]:
    accounts = [Account() for _ in pages]
    for account, count in zip(accounts, pages, strict=True):
        for _ in range(count):
            policy.enter(account)
    return accounts


def test_pages_are_paid_alike():
    """With `pages`, every waiting page gets the same, however many its host has."""
    policy = PagesPolicy()
    small, large = hosts_with(policy, 1, 9)
    assert policy.pay(100) == 0
    assert (policy.dividend_of(small), policy.dividend_of(large)) == (10, 10)


def test_hosts_are_paid_alike():
    """With `hosts`, every host gets the same, and its pages share it."""
    policy = HostsPolicy()
    small, large = hosts_with(policy, 1, 10)
    assert policy.pay(100) == 0
    assert (policy.dividend_of(small), policy.dividend_of(large)) == (50, 5)


def test_what_does_not_divide():
    """The policy gives back what does not divide by hosts; what does not divide by pages stays with the host."""
    policy = HostsPolicy()
    one, other = hosts_with(policy, 3, 4)
    assert policy.pay(101) == 1
    assert (policy.dividend_of(one), one.rest) == (16, 2)
    assert (policy.dividend_of(other), other.rest) == (12, 2)


def test_a_rest_goes_on_to_those_that_stay():
    """What is left on a host's account is shared by fewer when a page has left, and goes back with the last one."""
    policy = HostsPolicy()
    (host,) = hosts_with(policy, 3)
    policy.pay(101)
    assert (policy.dividend_of(host), host.rest) == (33, 2)
    assert policy.leave(host) == 0
    assert (policy.dividend_of(host), host.rest) == (34, 0)
    policy.leave(host)
    host.rest = 7
    policy.dividend_of(host)
    assert policy.leave(host) == host.rest == 0
    assert policy.payees == 0


@pytest.mark.parametrize("name", sorted(POLICIES))
def test_nobody_waits(name):
    """Without a page that waits nothing is paid, and nothing is lost."""
    policy = policy_named(name)
    assert policy.pay(100) == 100


@pytest.mark.parametrize("name", sorted(POLICIES))
def test_a_host_that_comes_back_is_not_paid_for_its_absence(name):
    """Dividends of a time at which none of its pages waited are not a host's."""
    policy = policy_named(name)
    left, stays = hosts_with(policy, 1, 1)
    policy.leave(left)
    before = policy.dividend_of(left)
    policy.pay(100)
    policy.enter(left)
    marked = policy.dividend_of(left)
    assert policy.dividend_of(stays) == 100
    policy.pay(100)
    assert policy.dividend_of(left) - marked == 50
    assert marked == before or name == "pages"


@given(st.lists(st.integers(1, 6), min_size=1, max_size=5), st.lists(st.integers(0, 10**6), max_size=6), st.randoms())
def test_settling_early_or_late_is_the_same(pages, payments, random):
    """How often a host's dividend is asked for does not change what its pages get, to the last unit."""
    policies = [HostsPolicy(), HostsPolicy()]
    eager, lazy = (hosts_with(policy, *pages) for policy in policies)
    for amount in payments:
        assert policies[0].pay(amount) == policies[1].pay(amount)
        policies[0].dividend_of(random.choice(eager))
    paid = [
        [policy.dividend_of(host) for host in hosts] for policy, hosts in zip(policies, (eager, lazy), strict=True)
    ]
    assert paid[0] == paid[1]
    assert [host.rest for host in eager] == [host.rest for host in lazy]


@given(st.lists(st.integers(1, 6), min_size=1, max_size=5), st.integers(0, 10**9))
def test_a_payment_is_fair(pages, amount):
    """No page is more than a unit short of its exact share of what its host got, no host of its share."""
    policy = HostsPolicy()
    hosts = hosts_with(policy, *pages)
    rest = policy.pay(amount)
    assert 0 <= rest < len(pages)
    share = Fraction(amount - rest, len(pages))
    for host, count in zip(hosts, pages, strict=True):
        assert 0 <= share / count - policy.dividend_of(host) < 1


def test_unknown_policy():
    """A policy that there is not names those that there are."""
    with pytest.raises(OptionError, match="hosts, pages"):
        policy_named("everyone")
