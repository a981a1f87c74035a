"""Rows of sitemaps."""

from __future__ import annotations

from typing import Final

from sitecrawl.base.display import one_line
from sitecrawl.console.listing import Layout
from sitecrawl.sitemap import printing
from sitecrawl.sitemap.record import SitemapRecord


def _sitemap(record: SitemapRecord) -> str:
    following = (printing.time_of(record.next_visit) or "-")[:16]
    return (
        f"{record.state.name.lower():<8} {record.form.value:<7} {record.how.value:<6} "
        f"{record.entries:>9,} {record.new:>9,} {record.good_share:>5.0%} {record.spam_share:>5.0%}  "
        f"{following:<16}  {one_line(record.url)}"
    )


SITEMAPS: Final = Layout(
    f"{'state':<8} {'form':<7} {'how':<6} {'entries':>9} {'new':>9} {'good':>5} {'spam':>5}  next visit        url",
    _sitemap,
    printing.COLUMNS,
    printing.facts,
)
