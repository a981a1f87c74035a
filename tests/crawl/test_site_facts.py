"""What is said of a host of whose pages nearly all are alike in something."""

from __future__ import annotations

import pytest

from sitecrawl.crawl.outcomes import HostPages


@pytest.mark.parametrize(
    ("pages", "facts"),
    [
        (HostPages(4000, noindex=3900), ["a.example: 3,900 of 4,000 pages are noindex"]),
        (HostPages(4000, noindex=3500), []),
        (HostPages(10, noindex=10, equal=9), []),
        (HostPages(4000, equal=3999), ["a.example: all 4,000 pages have one body"]),
        (HostPages(4000, equal=3000, near=900), ["a.example: 3,900 of 4,000 pages say what another says"]),
        (HostPages(4000, equal=2000), []),
        (HostPages(), []),
    ],
)
def test_facts(pages: HostPages, facts: list[str]) -> None:
    """Of a host with some pages, what is so of nine tenths of them."""
    assert list(pages.facts("a.example")) == facts
