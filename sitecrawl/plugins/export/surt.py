"""The key under which indexes of archives have a URL: `http://www.Example.com/a/?b=1&a=2` is
`com,example)/a?a=2&b=1` (Sort-friendly URI Reordering Transform).

Programs that replay an archive make the key of what a browser asks for, and look for that. So this is what the
package `surt` makes, which they use: case, `www`, user, port of the scheme's own, last slash, order of the query and
the session ids that it knows do not count. The package itself is under the AGPL, asks name servers about hosts that
look like numbers, and has patterns whose time grows with the square of a query.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote_from_bytes, unquote_to_bytes

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
