"""When a rule is tested, trusted and dropped."""

from __future__ import annotations

import random

import pytest

from sitecrawl.base.errors import CorruptFile
from sitecrawl.frontier.forms.evidence import MAX_STRATA, SUPPORT, TESTS, WINDOW, Evidence, State


def supported(pairs: int = SUPPORT) -> Evidence:
    evidence = Evidence()
    for _ in range(pairs):
        evidence.pair(0, same=True)
    return evidence


def trusted() -> Evidence:
    evidence = supported()
    for _ in range(TESTS):
        evidence.test(0, same=True)
    return evidence


def test_support_and_tests_make_a_rule():
    """Three pairs, then five tests that agree."""
    assert supported(SUPPORT - 1).state == State.CANDIDATE
    assert supported().state == State.TESTING
    assert trusted().state == State.TRUSTED


def test_a_rule_in_test_is_dropped_by_one_failure():
    """And takes twice the support before it is tested again."""
    evidence = supported()
    evidence.test(0, same=True)
    evidence.test(0, same=False)
    assert (evidence.state, evidence.need) == (State.DROPPED, 8)
    assert not evidence.is_active


def test_a_trusted_rule_is_dropped_by_two_failures():
    """However long it held."""
    evidence = trusted()
    for _ in range(500):
        evidence.test(0, same=True)
    states = []
    for _ in range(2):
        evidence.test(0, same=False)
        states.append(evidence.state)
    assert states == [State.TRUSTED, State.DROPPED]
    assert evidence.need > 1000


def test_one_failure_in_a_thousand():
    """A site of which one page in a thousand changes between two fetches keeps its rule through 5,000 tests."""
    evidence, rng = trusted(), random.Random(1)
    for _ in range(5_000):
        evidence.test(0, same=rng.random() >= 0.001)
    assert evidence.state == State.TRUSTED
    assert evidence.failed > 2


def test_a_rule_that_is_wrong_for_a_tenth():
    """It is found out: of 100 such, not one is trusted after 200 tests."""
    rng = random.Random(2)
    left = 0
    for _ in range(100):
        evidence = trusted()
        for _ in range(200):
            if evidence.is_active:
                evidence.test(0, same=rng.random() >= 0.1)
        left += evidence.is_active
    assert left == 0


def test_strata():
    """A rule is closed where it does not hold, and open where it does."""
    evidence = Evidence()
    for _ in range(SUPPORT):
        evidence.pair(1, same=True)
        evidence.pair(2, same=False)
    assert evidence.state == State.TESTING
    assert [evidence.opens(stratum) for stratum in (1, 2, 3)] == [True, False, False]
    assert [evidence.refuses(stratum) for stratum in (1, 2, 3)] == [False, True, False]


def test_a_stratum_opens_again():
    """After twenty agreements for each counter-example."""
    evidence = trusted()
    evidence.pair(5, same=False)
    for _ in range(WINDOW - 1):
        evidence.pair(5, same=True)
    assert not evidence.opens(5)
    evidence.pair(5, same=True)
    assert evidence.opens(5)


def test_strata_without_end():
    """Only so many are told apart, and in none of the others the rule joins anything."""
    evidence = Evidence()
    for stratum in range(10_000):
        evidence.pair(stratum, same=True)
    assert len(evidence.strata) == MAX_STRATA
    assert not evidence.opens(9_999)


def test_a_surprise_takes_the_support_away():
    """A counter-example where the rule had seemed to hold: it begins anew."""
    evidence = supported(SUPPORT - 1)
    evidence.pair(0, same=False)
    assert (evidence.state, evidence.agreed) == (State.CANDIDATE, 0)


@pytest.mark.parametrize("state", [State.REFUSED, State.ORDERED])
def test_what_a_person_said_stays(state):
    """No pair and no test changes it."""
    evidence = Evidence(state)
    for same in (True, False) * 50:
        evidence.pair(0, same=same)
        evidence.test(0, same=same)
    assert evidence.state == state


def test_doubt():
    """At the end a rule is doubtful that has failed more than once, and more than one test in fifty."""
    evidence = trusted()
    for _ in range(60):
        evidence.test(0, same=True)
    evidence.test(0, same=False)
    assert not evidence.is_doubtful
    for _ in range(20):
        evidence.test(0, same=True)
    evidence.test(0, same=False)
    assert (evidence.state, evidence.is_doubtful) == (State.TRUSTED, True)
    for _ in range(20):
        evidence.test(0, same=True)
    assert not evidence.is_doubtful


def test_packing():
    """Evidence comes back as it was."""
    evidence = trusted()
    evidence.pair(7, same=False)
    assert Evidence.unpack(evidence.pack()) == evidence


@pytest.mark.parametrize("packed", [(), (9,), (0, 1), (0, 3, 0, 0, 0, 0, -1), (0, 3, 0, 0, 0, 0, "x"), (0, *[1] * 7)])
def test_what_is_no_evidence(packed):
    """What no `pack` gave is a corrupt file."""
    with pytest.raises(CorruptFile):
        Evidence.unpack(packed)
