"""What a page changes by itself is known by fetching it twice."""

from __future__ import annotations

from sitecrawl.dust.learner import Learner
from sitecrawl.dust.margin import DOUBT, KEPT, MOST, Change, Margin
from sitecrawl.page.simhash import MAX_DISTANCE


def margin(*changes: tuple[float, int]) -> Margin:
    made = Margin()
    for share, distance in changes:
        made.learn(Change(share, distance))
    return made


def test_a_site_that_does_not_change():
    """Where two fetches are alike nothing is allowed for, and nothing is doubted."""
    for made in (margin(), margin((0.0, 0), (0.0, 0))):
        assert made.distance == 0
        assert not made.doubts(0.0)


def test_the_greatest_change_of_late_counts():
    """Of the last few pages that were fetched twice."""
    made = margin((0.1, 5), (0.0, 9), (0.05, 2))
    assert (made.distance, made.share) == (9 + 2 * MAX_DISTANCE, 0.2 + DOUBT)
    for _ in range(KEPT):
        made.learn(Change(0.0, 1))
    assert (made.distance, made.share) == (1 + 2 * MAX_DISTANCE, DOUBT)


def test_what_is_mostly_new_is_another_page():
    """However much of a page changes."""
    made = margin((0.9, 20))
    assert made.share == MOST
    assert made.doubts(MOST)
    assert not made.doubts(MOST + 0.01)


def test_learning_says_whether_more_is_allowed():
    """It does after a greater change than before, and not after a lesser one."""
    made = Margin()
    assert [made.learn(Change(0.1, n)) for n in (0, 4, 3, 5)] == [True, True, False, True]


def test_few_pages_are_fetched_twice():
    """The first few suspects, and then one whenever their number has doubled."""
    made = Margin()
    asked = [n for n in range(1, 1001) if made.suspect()]
    assert asked == [1, 2, 3, 4, 8, 16, 32, 64, 128, 256, 512]


def test_a_learner_keeps_its_margin():
    """On disk, with rules; and what it had compared before a greater change it forgets."""
    learner = Learner()
    learner.observe("http://a.example/x", b"content.")
    assert learner.margin.suspect()
    learner.fetched_again(Change(0.25, 7))
    assert not list(learner.recent())
    again = Learner.unpack(learner.pack()).margin
    assert (again.suspects, again.changes) == (1, (Change(0.25, 7),))
