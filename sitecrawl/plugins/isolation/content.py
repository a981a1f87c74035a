"""How a page is read: by the crawl itself, or for it by `sitecrawl.plugins.isolation.worker`, which decodes it before
(`sitecrawl.page.codings.decoding`).
"""

from __future__ import annotations

from collections import Counter

from sitecrawl.base.limits import AnyLimit
from sitecrawl.page.items import Headers, Reading
from sitecrawl.page.links import PageOptions, read_page


def read(url: str, body: bytes, headers: Headers, options: PageOptions) -> Reading:
    """The page that `body`, without content coding, is."""
    met: Counter[AnyLimit] = Counter()
    return Reading(read_page(url, body, headers, options=options, met=met), met)
