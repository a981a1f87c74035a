"""Every limit on what comes off the network, in one place: its setting, its default, the stat that counts it.

docs/limits.md says what each is for, and what happens beyond it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True, slots=True, eq=False)
class Limit:
    """One limit. Two share a setting where Scrapy's counts for both."""

    setting: str
    default: Any
    unit: str
    stat: str
    """Counts what went beyond it."""


BODY_SIZE: Final = Limit("DOWNLOAD_MAXSIZE", 64 << 20, "bytes", "limits/body_size")
DECODED_SIZE: Final = Limit("DOWNLOAD_MAXSIZE", 64 << 20, "bytes", "limits/decoded_size")
TOTAL_TIME: Final = Limit("DOWNLOAD_TIMEOUT", 60, "seconds", "limits/total_time")
RATE: Final = Limit("SITECRAWL_MIN_RATE", 100.0, "bytes per second", "limits/rate")
IDLE_TIME: Final = Limit("SITECRAWL_MAX_IDLE_TIME", 30.0, "seconds", "limits/idle_time")
HEADERS: Final = Limit("SITECRAWL_MAX_HEADERS", 1000, "lines", "limits/headers")
HEADER_SIZE: Final = Limit("SITECRAWL_MAX_HEADER_SIZE", 256 << 10, "bytes", "limits/header_size")
CHUNKS: Final = Limit("SITECRAWL_MAX_CHUNKS", 100_000, "chunks", "limits/chunks")
REDIRECTS: Final = Limit("REDIRECT_MAX_TIMES", 20, "redirects", "limits/redirects")
REDIRECT_SIZE: Final = Limit("DOWNLOAD_MAXSIZE", 64 << 20, "bytes", "limits/redirect_size")
URL_LENGTH: Final = Limit("URLLENGTH_LIMIT", 8000, "characters", "limits/url_length")
SCHEMES: Final = Limit("SITECRAWL_SCHEMES", ["http", "https"], "names", "limits/scheme")
LINKS: Final = Limit("SITECRAWL_MAX_LINKS", 50_000, "elements", "limits/links")
FTP_ENTRIES: Final = Limit("SITECRAWL_MAX_LINKS", 50_000, "entries", "limits/ftp_entries")
REQUISITES: Final = Limit("SITECRAWL_MAX_REQUISITES", 2000, "URLs", "limits/requisites")
READ_SIZE: Final = Limit("SITECRAWL_MAX_READ_SIZE", 64 << 20, "bytes", "limits/read_size")
READ_ELEMENTS: Final = Limit("SITECRAWL_MAX_READ_ELEMENTS", 500_000, "elements", "limits/read_elements")
TREE_SIZE: Final = Limit("SITECRAWL_MAX_TREE_SIZE", 64 << 10, "bytes", "limits/tree_size")
TREE_ELEMENTS: Final = Limit("SITECRAWL_MAX_TREE_ELEMENTS", 250_000, "elements", "limits/tree_elements")
PARSE_TIME: Final = Limit("SITECRAWL_MAX_PARSE_TIME", 30.0, "seconds", "limits/parse_time")
PARSE_MEMORY: Final = Limit("SITECRAWL_MAX_PARSE_MEMORY", 2 << 30, "bytes", "limits/parse_memory")
RENDER_TIME: Final = Limit("SITECRAWL_MAX_RENDER_TIME", 30.0, "seconds", "limits/render_time")
RENDER_REQUESTS: Final = Limit("SITECRAWL_MAX_RENDER_REQUESTS", 500, "requests", "limits/render_requests")
RENDER_SIZE: Final = Limit("SITECRAWL_MAX_RENDER_SIZE", 64 << 20, "bytes", "limits/render_size")
RENDER_MEMORY: Final = Limit("SITECRAWL_MAX_RENDER_MEMORY", 1 << 30, "bytes", "limits/render_memory")
ROBOTS_SIZE: Final = Limit("SITECRAWL_MAX_ROBOTS_SIZE", 512 << 10, "bytes", "limits/robots_size")
ROBOTS_RULES: Final = Limit("SITECRAWL_MAX_ROBOTS_RULES", 20_000, "rules", "limits/robots_rules")
ROBOTS_WORK: Final = Limit("SITECRAWL_MAX_ROBOTS_WORK", 32_000_000, "steps", "limits/robots_work")
SITEMAP_SIZE: Final = Limit("SITECRAWL_MAX_SITEMAP_SIZE", 512 << 20, "bytes", "limits/sitemap_size")
SITEMAP_ENTRIES: Final = Limit("SITECRAWL_MAX_SITEMAP_ENTRIES", 5_000_000, "entries", "limits/sitemap_entries")
EXTRACT_SIZE: Final = Limit("SITECRAWL_MAX_EXTRACT_SIZE", 8 << 20, "bytes", "limits/extract_size")
EXTRACT_TIME: Final = Limit("SITECRAWL_MAX_EXTRACT_TIME", 5.0, "seconds", "limits/extract_time")
REGEX_TIME: Final = Limit("SITECRAWL_MAX_REGEX_TIME", 0.5, "seconds", "limits/regex_time")
CRAWL_DELAY: Final = Limit("SITECRAWL_MAX_CRAWL_DELAY", 60.0, "seconds", "limits/crawl_delay")
RETRY_AFTER: Final = Limit("SITECRAWL_MAX_RETRY_AFTER", 3600.0, "seconds", "limits/retry_after")
COOKIES: Final = Limit("SITECRAWL_MAX_COOKIES", 3000, "cookies", "limits/cookies")
PRIVATE_ADDRESS: Final = Limit("SITECRAWL_ALLOW_PRIVATE", False, "yes or no", "limits/private_address")  # noqa: FBT003

LIMITS: Final = tuple(limit for limit in list(globals().values()) if isinstance(limit, Limit))
"""In the order of the table in docs/limits.md."""

NO_LIMIT: Final = 1 << 62
"""What 0 stands for."""

DEFAULTS: Final = {limit.setting: limit.default for limit in LIMITS}
"""What the add-on sets."""
