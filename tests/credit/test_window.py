"""AOPIC's adaptive window."""

from __future__ import annotations

import pytest

from sitecrawl.credit.window import Share, Window


def test_a_page_that_keeps_its_share_of_the_spending_keeps_its_importance():
    """A page that gets a tenth of all credit has importance 0.1, however often it is fetched."""
    window = Window(1000.0)
    for step in (1.0, 10.0, 250.0, 999.0, 5000.0):
        share, now = Share(), 0.0
        for _ in range(int(20_000 / step) + 2):
            now += step
            share = window.fetch(share, step / 10, now)
        assert window.importance(share) == pytest.approx(0.1, rel=0.02)


def test_old_credit_is_forgotten():
    """A page that was important once and gets nothing now fades out within a few windows."""
    window = Window(100.0)
    share = Share(credit=80.0, at=0.0)
    for now in range(10, 1000, 10):
        share = window.fetch(share, 0.0, float(now))
    assert window.importance(share) < 0.01


def test_a_rare_visit_counts_its_windows_part():
    """Credit that gathered over ten windows counts for one of them."""
    assert Window(100.0).fetch(Share(), 50.0, 1000.0).credit == pytest.approx(5.0)


def test_time_that_spends_nothing_does_not_age():
    """Two fetches between which nothing was spent add up."""
    window = Window(100.0)
    assert window.fetch(Share(10.0, 500.0), 3.0, 500.0) == Share(13.0, 500.0)


@pytest.mark.parametrize("span", [0.0, -1.0])
def test_a_window_spans_something(span):
    """A window without span is refused."""
    with pytest.raises(ValueError, match="spans nothing"):
        Window(span)
