"""Every limit on what comes off the network, in one place: its setting or value, and the stat that counts it.

docs/limits.md says what each is for, and what happens beyond it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from sitecrawl.base.setting import FixedLimit, Limit

AnyLimit = Limit[Any] | FixedLimit[Any]

# fmt: off
BODY_SIZE: Final = Limit("DOWNLOAD_MAXSIZE", 64 << 20, "bytes", stat="limits/body_size",
    what="A response's body, as transferred and with its content coding removed.")
DECODED_SIZE: Final = replace(BODY_SIZE, stat="limits/decoded_size")
TOTAL_TIME: Final = Limit("DOWNLOAD_TIMEOUT", 60.0, "seconds", stat="limits/total_time",
    what="For a whole download.")
RATE: Final = FixedLimit(100.0, "bytes per second", "limits/rate")
IDLE_TIME: Final = Limit("SITECRAWL_MAX_IDLE_TIME", 30.0, "seconds", stat="limits/idle_time",
    what="Silence in a download; 0: no limit.")
HEADERS: Final = FixedLimit(1000, "lines", "limits/headers")
HEADER_SIZE: Final = FixedLimit(256 << 10, "bytes", "limits/header_size")
CHUNKS: Final = FixedLimit(100_000, "chunks", "limits/chunks")
REDIRECTS: Final = Limit("REDIRECT_MAX_TIMES", 20, "redirects", stat="limits/redirects",
    what="Redirects in a row.")
REDIRECT_SIZE: Final = replace(BODY_SIZE, stat="limits/redirect_size")
URL_LENGTH: Final = Limit("URLLENGTH_LIMIT", 8000, "characters", stat="limits/url_length",
    what="Longer URLs are traps or accidents.")
SCHEMES: Final = FixedLimit(("http", "https"), "names", "limits/scheme")
LINKS: Final = FixedLimit(50_000, "elements", "limits/links")
FTP_ENTRIES: Final = FixedLimit(50_000, "entries", "limits/ftp_entries")
REQUISITES: Final = FixedLimit(2000, "URLs", "limits/requisites")
READ_SIZE: Final = FixedLimit(64 << 20, "bytes", "limits/read_size")
READ_ELEMENTS: Final = FixedLimit(500_000, "elements", "limits/read_elements")
TREE_SIZE: Final = FixedLimit(64 << 10, "bytes", "limits/tree_size")
TREE_ELEMENTS: Final = FixedLimit(250_000, "elements", "limits/tree_elements")
PARSE_TIME: Final = FixedLimit(30.0, "seconds", "limits/parse_time")
PARSE_MEMORY: Final = FixedLimit(2 << 30, "bytes", "limits/parse_memory")
RENDER_TIME: Final = FixedLimit(30.0, "seconds", "limits/render_time")
RENDER_REQUESTS: Final = FixedLimit(500, "requests", "limits/render_requests")
RENDER_SIZE: Final = FixedLimit(64 << 20, "bytes", "limits/render_size")
RENDER_MEMORY: Final = FixedLimit(1 << 30, "bytes", "limits/render_memory")
ROBOTS_SIZE: Final = FixedLimit(512 << 10, "bytes", "limits/robots_size")
ROBOTS_RULES: Final = FixedLimit(20_000, "rules", "limits/robots_rules")
ROBOTS_WORK: Final = FixedLimit(32_000_000, "steps", "limits/robots_work")
SITEMAP_SIZE: Final = FixedLimit(512 << 20, "bytes", "limits/sitemap_size")
SITEMAP_ENTRIES: Final = FixedLimit(5_000_000, "entries", "limits/sitemap_entries")
EXTRACT_SIZE: Final = FixedLimit(8 << 20, "bytes", "limits/extract_size")
EXTRACT_TIME: Final = FixedLimit(5.0, "seconds", "limits/extract_time")
REGEX_TIME: Final = FixedLimit(0.5, "seconds", "limits/regex_time")
CRAWL_DELAY: Final = Limit("SITECRAWL_MAX_DELAY", 60.0, "seconds", stat="limits/crawl_delay",
    what="The longest pause that `SITECRAWL_DELAY_FACTOR`, a `Crawl-delay` and failures can lead to.")
RETRY_AFTER: Final = Limit("SITECRAWL_MAX_RETRY_AFTER", 3600.0, "seconds", stat="limits/retry_after",
    what="Used in place of a longer `Retry-After`.")
COOKIES: Final = FixedLimit(3000, "cookies", "limits/cookies")
PRIVATE_ADDRESS: Final = Limit("SITECRAWL_ALLOW_PRIVATE", False, "yes or no", stat="limits/private_address",
    what="Let links and redirects lead to [addresses that are not public](limits.md#private-addresses).")
# fmt: on

LIMITS: Final[tuple[AnyLimit, ...]] = tuple(
    limit for limit in list(globals().values()) if isinstance(limit, Limit | FixedLimit)
)
"""In the order of the table in docs/limits.md."""
