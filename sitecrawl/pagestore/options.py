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
    """Request headers, in lower case, whose values are masked: secrets entrusted to the crawl."""
    key: bytes = b""
    """The crawl's key, at most 64 bytes, by which records are sealed; empty: no seals."""
    max_file_size: int = 1_000_000_000
    """Bytes after which the next record opens a new file. Only a single larger record makes a larger file."""
    once: bool = True
    """Whether a known body is stored as a reference (WARC section 6.7.2) and not again."""
