"""Hosts and sections take turns: in proportion, and nobody is put off for ever."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitecrawl.frontier.credit.trust import HostGraph
from sitecrawl.frontier.turns import LEAST, HostTurns, next_section, shares, take_turn
from sitecrawl.frontier.urls.disk_queue import DiskQueue
from sitecrawl.frontier.urls.host import Host
from sitecrawl.frontier.urls.order import Aopic, Facts
from sitecrawl.frontier.urls.sections import Section

ENTRY = Aopic().rank(Facts(1, 1)) + bytes(16)


def section_of(number: int, worth: float, *, circle: int | None = None, queued: int = 1) -> Section:
    key = bytes(8) + number.to_bytes(4, "big")
    section = Section(key, f"/{number}", DiskQueue(None, key, empty=True))  # type: ignore[arg-type]
    section.worth, section.queued = worth, queued
    if circle is not None:
        section.circle = circle.to_bytes(4, "big")
    return section


def host_of(sections: list[Section]) -> Host:
    return Host(bytes(8), "a.example", {section.key[8:]: section for section in sections})


def run(host: Host, sections: list[Section], fetches: int) -> list[Section]:
    turns, taken = HostTurns(HostGraph(), [host]), []
    for _ in range(fetches):
        _, section = next_section(host, [(ENTRY, one) for one in sections])
        turns.take(host, ENTRY, hosts=1)
        take_turn(host, section, ENTRY)
        taken.append(section)
    return taken


def test_in_proportion_to_worth():
    sections = [section_of(1, 0.9), section_of(2, 0.3)]
    taken = Counter(id(one) for one in run(host_of(sections), sections, 400))
    assert taken[id(sections[0])] / taken[id(sections[1])] == pytest.approx(3, rel=0.05)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_nobody_waits_longer_than_is_said(worths):
    """The bound in the module: at least one in k (k + 1) / LEAST fetches is of each section, whatever it is worth."""
    sections = [section_of(number, worth) for number, worth in enumerate(worths)]
    count = len(sections)
    taken = run(host_of(sections), sections, int(count * (count + 1) / LEAST) + count)
    assert {id(one) for one in taken} == {id(one) for one in sections}


def test_in_proportion_to_the_root_of_what_waits():
    """A list that is as good as the articles does not get as many turns as all of them."""
    articles, short = section_of(1, 0.5, queued=100), section_of(2, 0.5)
    assert shares([articles, short]) == pytest.approx([1, 0.1])


def test_a_circle_has_one_share():
    """A maze in ten shapes gets what one section gets, however good it looks."""
    maze = [section_of(number, 0.5, circle=1) for number in range(10)]
    alone = section_of(99, 0.5)
    found = shares([*maze, alone])
    assert sum(found[:-1]) == pytest.approx(found[-1])


def test_the_good_of_a_circle_does_not_pay_for_the_bad():
    """The circle's best section keeps nearly all of the share."""
    found = shares([section_of(1, 0.8, circle=1), *(section_of(n, 0.0, circle=1) for n in range(2, 9))])
    assert found[0] > 0.9


def test_what_did_not_wait_has_saved_nothing():
    """A section that comes late does not take all that the others have had."""
    early, late = section_of(1, 0.5), section_of(2, 0.5)
    host = host_of([early, late])
    run(host, [early], 100)
    assert run(host, [early, late], 10).count(late) <= 6


def test_a_priority_goes_before_turns():
    """What a spider wants first comes first, whosever turn it is."""
    good, poor = section_of(1, 1.0), section_of(2, 0.0)
    host = host_of([good, poor])
    wanted = Aopic().rank(Facts(1, 1, priority=1)) + bytes(16)
    assert next_section(host, [(ENTRY, good), (wanted, poor)])[1] is poor


def test_what_goes_first_moves_no_clock():
    """Redirects that mint go first, and are paid for: what waits meanwhile keeps its place."""
    good, trap = section_of(1, 0.5), section_of(2, 0.5)
    host = host_of([good, trap])
    taken: list[Section] = []
    turns = HostTurns(HostGraph(), [host])
    wanted = Aopic().rank(Facts(1, 1, priority=2)) + bytes(16)
    for number in range(100):
        entry, section = next_section(host, [(ENTRY, good), (wanted if number % 2 else ENTRY, trap)])
        turns.take(host, entry, hosts=1)
        take_turn(host, section, entry)
        taken.append(section)
    assert taken.count(good) >= 45


def hosts_of(trust: dict[str, int]) -> tuple[HostGraph, dict[str, Host]]:
    """Hosts that are seeds so many times, and so have a share of all trust."""
    graph = HostGraph()
    for name, seeds in trust.items():
        for _ in range(seeds):
            graph.seed(name.encode().ljust(8))
    hosts = {name: Host(name.encode().ljust(8), name) for name in trust}
    for host in hosts.values():
        host.sections[bytes(4)] = section_of(0, 1.0)
    return graph, hosts


def served(turns: HostTurns, hosts: list[Host], fetches: int, *, known: int) -> Counter[str]:
    taken: Counter[str] = Counter()
    for _ in range(fetches):
        host = min(hosts, key=lambda one: turns.preference(one, ENTRY))
        turns.take(host, ENTRY, hosts=known)
        taken[host.name] += 1
    return taken


def test_hosts_by_trust():
    graph, hosts = hosts_of({"much": 3, "some": 1})
    taken = served(HostTurns(graph, []), list(hosts.values()), 400, known=2)
    assert taken["much"] / taken["some"] == pytest.approx(3, rel=0.05)


def test_hosts_without_trust_share_the_least():
    """A thousand hosts that nobody vouches for get a tenth together, and each gets something."""
    graph, hosts = hosts_of({"seed": 1, **{f"h{number}": 0 for number in range(100)}})
    taken = served(HostTurns(graph, []), list(hosts.values()), 2200, known=101)
    assert taken["seed"] > 1900
    assert len(taken) == 101


def test_turns_go_on_after_a_restart():
    """Hosts that come after a restart are not served before those that waited then."""
    graph, hosts = hosts_of({"old": 1, "new": 1})
    served(HostTurns(graph, []), [hosts["old"]], 100, known=1)
    taken = served(HostTurns(graph, [hosts["old"]]), list(hosts.values()), 20, known=2)
    assert 8 <= taken["new"] <= 12
