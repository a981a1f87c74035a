"""What a crawl keeps of its sheets, to tell later what has changed: of secrets not more than that."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, Final
from urllib.parse import urlsplit

from sitecrawl.http.sheets.sheet import RobotsException, Sheet

Digest = Callable[[str], str]
DIGEST: Final = "digest"
"""The only key of what stands for a secret."""


def kept(sheet: Sheet, digest: Digest) -> dict[str, Any]:
    """What the sheet says, by name: plain values, and mappings with a digest where it is secret."""
    found: dict[str, Any] = {}
    for name in (one.name for one in fields(Sheet)):
        value = getattr(sheet, name)
        if value is not None and value not in ((), {}):
            found.update(_kept(name, value, digest))
    return found


def _kept(name: str, value: Any, digest: Digest) -> Mapping[str, Any]:
    if name in {"headers", "cookies"}:
        return {f"{name[:-1]} {key}": {DIGEST: digest(one)} for key, one in value.items()}
    if name == "login":
        return {"login": str(value.get("kind")), "login secret": {DIGEST: digest(json.dumps(value, default=str))}}
    if name == "proxy":
        return {
            "proxy": _proxy_shown(value),
            **({"proxy's password": {DIGEST: digest(value)}} if "@" in value else {}),
        }
    if isinstance(value, RobotsException):
        return {"robots exception": f"{', '.join(value.paths)} ({value.reason})"}
    return {name: list(value) if isinstance(value, tuple) else value}


def _proxy_shown(url: str) -> str:
    """Without user name and password."""
    parts = urlsplit(url if "://" in url else f"http://{url}")
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}" if url else "none"
