"""The address under which indexes of archives have what was not asked for by GET: method and body stand in its query.

    POST http://a.example/x  Content-Type: application/json  {"page": 2, "tags": ["a", "b"]}
    http://a.example/x?__wb_method=POST&page=2&tags=a&tags.2_=b

Programs that replay an archive make the same of what a browser sends, and look for that. The rules are those of
IIPC's "CDX for non-GET requests" and Webrecorder's "Request Body Canonicalization", both drafts: where they differ
this does as pywb and ReplayWeb.page do, which write numbers, true, false and null as JavaScript has them.
"""

from __future__ import annotations

import json
from base64 import b64encode
from email import message_from_bytes
from email.message import Message
from typing import Final
from urllib.parse import unquote_plus, urlencode

from sitecrawl.pagestore.record import HttpMessage

MAX_QUERY: Final = 4096
"""Characters of what stands for a body."""
_WITH_BODY: Final = frozenset({"POST", "PUT"})


def with_query(url: str, method: str, query: str) -> str:
    return "".join((url, "&" if "?" in url else "?", f"__wb_method={method}", "&" if query else "", query))


def as_query(method: str, asked: HttpMessage) -> str:
    """What stands for the body of a request; empty where nothing does."""
    if method not in _WITH_BODY or not asked.body:
        return ""
    types = [value.decode("latin-1").strip() for name, value in asked.headers if name.lower() == b"content-type"]
    return _query(types[0] if types else "", asked.body)[:MAX_QUERY]


def _query(content_type: str, body: bytes) -> str:
    kind = content_type.lower()
    try:
        if kind.startswith("application/x-www-form-urlencoded"):
            return unquote_plus(body.decode())
        if kind.startswith(("application/json", "text/plain")):
            return _of_json(body)
        if kind.startswith("multipart/"):
            return _of_parts(content_type, body)
    except (ValueError, RecursionError):  # it is not what it says
        if kind.startswith("application/json"):
            return ""
    return f"__wb_post_data={b64encode(body).decode()}"


def _of_json(body: bytes) -> str:
    """Each value at the name next above it; the second of a name is at `name.2_`."""
    found: dict[str, str] = {}
    times: dict[str, int] = {}

    def add(value: object, name: str) -> None:
        if isinstance(value, dict):
            for key, inner in value.items():
                add(inner, key)
        elif isinstance(value, list):
            for inner in value:
                add(inner, name)
        elif name:
            times[name] = times.get(name, 0) + 1
            found[name if times[name] == 1 else f"{name}.{times[name]}_"] = _written(value)

    add(json.loads(body), "")
    return urlencode(found)


def _written(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value if isinstance(value, str) else json.dumps(value)


def _of_parts(content_type: str, body: bytes) -> str:
    """Raises `ValueError` where there are none."""
    message = message_from_bytes(b"Content-Type: " + content_type.encode("latin-1", "replace") + b"\r\n\r\n" + body)
    if message.defects or not message.is_multipart():
        raise ValueError("no parts")
    parts = [part for part in message.walk() if not part.is_multipart()]
    return urlencode([(_name(part), part.get_payload(decode=True)) for part in parts])


def _name(part: Message) -> str:
    name = part.get_param("name", "", header="content-disposition")
    return name if isinstance(name, str) else ""
