"""The key under which indexes of archives have a URL: `http://www.Example.com/a/?b=1&a=2` is
`com,example)/a?a=2&b=1` (Sort-friendly URI Reordering Transform).

Programs that replay an archive make the key of what a browser asks for, and look for that. So this is what the
package `surt` makes, which they use: case, `www`, user, port of the scheme's own, last slash, order of the query and
the session ids that it knows do not count. The package itself is under the AGPL, asks name servers about hosts that
look like numbers, and has patterns whose time grows with the square of a query.

What was not asked for by GET has an address with the method and the body in its query:

    POST http://a.example/x  Content-Type: application/json  {"page": 2, "tags": ["a", "b"]}
    http://a.example/x?__wb_method=POST&page=2&tags=a&tags.2_=b

Programs that replay an archive make the same of what a browser sends, and look for that. The rules are those of
IIPC's "CDX for non-GET requests" and Webrecorder's "Request Body Canonicalization", both drafts: where they differ
this does as pywb and ReplayWeb.page do, which write numbers, true, false and null as JavaScript has them.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from email import message_from_bytes
from email.message import Message
from typing import Final
from urllib.parse import quote_from_bytes, unquote_plus, unquote_to_bytes, urlencode

from sitecrawl.pagestore.record import HttpMessage

_MAX_QUERY: Final = 4096
"""Characters of what stands for a body."""
_WITH_BODY: Final = frozenset({"POST", "PUT"})


def with_query(url: str, method: str, query: str) -> str:
    return "".join((url, "&" if "?" in url else "?", f"__wb_method={method}", "&" if query else "", query))


def as_query(method: str, asked: HttpMessage) -> str:
    """What stands for the body of a request; empty where nothing does."""
    if method not in _WITH_BODY or not asked.body:
        return ""
    types = [value.decode("latin-1").strip() for name, value in asked.headers if name.lower() == b"content-type"]
    return _query(types[0] if types else "", asked.body)[:_MAX_QUERY]


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


_PORTS: Final = {b"http": b"80", b"https": b"443"}
_SAFE: Final = "!\"$&'()*+,-./:;<=>?@[\\]^_`{|}~"
_WWW = re.compile(rb"www\d*\.")
_AS_TOKEN = re.compile(rb"/(?:\((?:[a-z]\([0-9a-z]{24}\))+\)|\([0-9a-z]{24}\))/(?=[^?]+\.aspx)")
"""What ASP.NET puts into a path."""
_SESSION = re.compile(
    rb"(?:(?:jsessionid|phpsessid|sid)=[0-9a-z]{32}|aspsessionid[a-z]{8}=[a-z]{24}|cfid=[^&]+&cftoken=[^&]+)(?:&|$)"
)
_SLASHES = re.compile(rb"/{2,}")
_MOST_ROUNDS: Final = 8
"""A percent sign may be escaped over and over; each round is as long as the URL."""


def surt(url: str) -> str:
    """The key of an absolute URL as a browser writes it. It has no space."""
    scheme, _, rest = url.encode("utf-8", "replace").partition(b"://")
    rest = rest.partition(b"#")[0]
    end = next((place for place, byte in enumerate(rest) if byte in b"/?"), len(rest))
    return (_host(scheme, rest[:end]) + b")" + _target(rest[end:])).decode("ascii")


def _host(scheme: bytes, authority: bytes) -> bytes:
    host = authority.rpartition(b"@")[2].lower()
    name, colon, port = host.rpartition(b":")
    if not colon or not port.isdigit():
        name, port = host, b""
    name = _escaped(_WWW.sub(b"", name.strip(b"."), count=1) if _WWW.match(name) else name.strip(b"."))
    turned = b",".join(reversed(name.strip(b"[]").split(b".")))
    return turned + (b":" + port if port and port not in {b"0", _PORTS.get(scheme.lower())} else b"")


def _target(target: bytes) -> bytes:
    path, mark, query = target.partition(b"?")
    path = _SLASHES.sub(b"/", _escaped(path or b"/").lower())
    path = _AS_TOKEN.sub(b"/", path, count=1)
    if len(path) > 1:
        path = path.removesuffix(b"/")
    query = _SESSION.sub(b"", _escaped(query).lower())
    parts = sorted(tuple(part.split(b"=", 1)) for part in query.split(b"&"))
    return path + (mark + b"&".join(b"=".join(part) for part in parts) if query else b"")


def _escaped(text: bytes) -> bytes:
    """With the same escapes whatever it had before."""
    for _ in range(_MOST_ROUNDS):
        plain = unquote_to_bytes(text)
        if plain == text:
            break
        text = plain
    return quote_from_bytes(text, safe=_SAFE).encode()
