"""A downloader middleware of a user's own: hosts whose names begin with "d" go through another proxy."""

from __future__ import annotations

import os

from scrapy import Request
from scrapy.utils.httpobj import urlparse_cached


class ByHost:
    """`PROXY` and `PROXY_OF_D` name the two."""

    def process_request(self, request: Request) -> None:
        is_d = (urlparse_cached(request).hostname or "").startswith("d")
        request.meta["proxy"] = os.environ["PROXY_OF_D" if is_d else "PROXY"]
