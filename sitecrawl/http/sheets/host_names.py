"""The names of hosts that people write, in sheets and on the dashboard."""

from __future__ import annotations

from typing import Final

from sitecrawl.base.errors import InvalidUrl
from sitecrawl.base.expressions import expression
from sitecrawl.http.sheets.sheet import undotted
from sitecrawl.urls.url import parse

_NO_HOSTS: Final = "is no name of hosts: write example.com, example.com:8080, *.example.com or *"
_OF_HOST: Final = expression(r"[^\s/?#@*\\]+")
_ITS_OWN: Final = {"443": "https", "21": "ftp"}
"""Schemes of which a port is the usual one: their URLs do not name it."""


def host_pattern(text: str) -> str:
    """The names of hosts in `text` as URLs have them: in small letters, in Punycode, without the usual port.

    Raises `ValueError`.
    """
    text = text.strip()
    star, host = ("*.", text[2:]) if text.startswith("*.") else ("", text)
    if text == "*":
        return text
    if not _OF_HOST.fullmatch(host):
        raise ValueError(f"{text!r} {_NO_HOSTS}")
    port = host.rpartition(":")[2]
    try:
        found = parse(f"{_ITS_OWN.get(port, 'http')}://{host}/", schemes=("http", "https", "ftp")).host
    except InvalidUrl:
        raise ValueError(f"{text!r} {_NO_HOSTS}") from None
    if star and ":" in found:
        raise ValueError(f"{text!r} has a port: *. names hosts on all ports, so leave it out")
    return star + undotted(found)
