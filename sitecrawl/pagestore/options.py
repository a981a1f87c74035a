from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WarcOptions:
    """Options of the WARC files."""

    name: str = "crawl"
    """The crawl's name: each file's name starts with it, and `isPartOf` of its warcinfo record says it."""
    software: str = "sitecrawl"
    """Name and version of the crawler, for the warcinfo record."""
    user_agent: str = ""
    """The User-Agent that servers saw, for the warcinfo record; empty leaves the field out."""
    operator: str = ""
    """Operator of the crawl with contact, for the warcinfo record; empty leaves the field out."""
    robots: str = "obey"
    """The robots.txt policy, for the warcinfo record: `obey` or `ignore`."""
    robots_exceptions: tuple[str, ...] = ()
    """Exceptions from that policy with their reasons, for the same record, a line each."""
    masked: frozenset[str] = frozenset({"authorization", "cookie", "x-api-key", "x-auth-token"})
    """Headers of requests, in lower case, whose values are not written: what the crawl has been trusted with."""
    key: bytes = b""
    """The crawl's, at most 64 bytes: its records are sealed with it. Empty leaves that out."""
    max_file_size: int = 1_000_000_000
    """Bytes after which the next record opens a new file. Only a single larger record makes a larger file."""
    once: bool = True
    """Whether a body that was stored before is referred to, as WARC's section 6.7.2 has it, and not stored again."""
