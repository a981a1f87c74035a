"""The rows that a frontier would have of a copy of a site (`copied.py`), made from those that it has of another copy.

Two copies differ in nothing but names, so crawls of the two that are equally long leave the same rows under different
names. Those are exchanged here, and the fingerprint of every URL is made anew from its text. All else (states,
credit, serial numbers, times) stays. What is random stays as random: digests of bodies and titles are hashed with the
copy's number, and SimHashes all change in the same bits, so that they are as far from one another as before.

What learnt rules say stays as well. A row of a family that no such crawl writes is a `KeyError`.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

from copied import Copy

from sitecrawl.frontier.forms.duplicates import text_keys
from sitecrawl.frontier.moving import Row
from sitecrawl.frontier.urls.disk_queue import DiskQueue
from sitecrawl.frontier.urls.host import Host
from sitecrawl.frontier.urls.link_credit import SEEDS, edges_of, edges_row
from sitecrawl.frontier.urls.sections import Section
from sitecrawl.frontier.urls.sites import pool_of
from sitecrawl.frontier.urls.tables import section_key
from sitecrawl.urls.fingerprint import Fingerprinter

_RECORD = 81
"""Bytes of a URL's record before the URL: see docs/formats/database.md."""
_SAMPLE = 17


class SiteRows:
    """All rows of one copy of a site, but for those of the queue, which are those of its records. `fingerprint` gives
    the key of a URL's text.
    """

    def __init__(
        self, site: Copy, rows: Iterable[Row], hosts: Fingerprinter, fingerprint: Callable[[str], bytes]
    ) -> None:
        self.site = site
        self.hosts = hosts
        self.fingerprint = fingerprint
        self.families: defaultdict[str, list[tuple[bytes, bytes]]] = defaultdict(list)
        for family, key, value in rows:
            if family != "queue":
                self.families[family].append((key, value))
        self.texts = [value[_RECORD:].decode() for _, value in self.families["urls"]]

    @property
    def urls(self) -> int:
        """How many are known."""
        return len(self.texts)

    def __iter__(self) -> Iterator[Row]:
        for family, rows in self.families.items():
            for key, value in rows:
                yield family, key, value

    def copied(self, to: Copy) -> Iterator[Row]:
        """The rows of the copy `to`."""
        return iter(self) if to.number == self.site.number else _Copying(self, to).rows()


class _Copying:
    """From one copy of a site to another."""

    def __init__(self, rows: SiteRows, to: Copy) -> None:
        self._rows = rows
        self._to = to
        self._words = rows.site.words_in(to)
        self._salt = to.number.to_bytes(8, "big")
        self._region = rows.hosts.host(to.seed.host)[:2]
        self._mask = int.from_bytes(self._random(b"SimHash", 8))
        self._hosts, self._sections = {bytes(8): bytes(8)}, {bytes(4): bytes(4)}
        for key, value in rows.families["hosts"]:
            name = Host.unpack(key, value).name
            for one in filter(None, (name, pool_of(name))):
                self._hosts[rows.hosts.host(one)] = rows.hosts.host(self._host(one))
        for key, value in rows.families["sections"]:
            self._sections[key[8:]] = section_key(self._shape(_section(key, value).shape))
        self._urls = [self._url(text) for text in rows.texts]
        self._keys = {bytes(16): bytes(16)}
        fingerprints = map(rows.fingerprint, self._urls)
        self._keys.update(zip((key for key, _ in rows.families["urls"]), fingerprints, strict=True))
        self._beginnings = {key[:8]: copied[:8] for key, copied in self._keys.items()}

    def rows(self) -> Iterator[Row]:
        for key, value, url in zip(*zip(*self._rows.families["urls"], strict=True), self._urls, strict=True):
            head = value[:16] + self._hosts[value[16:24]] + self._sections[value[24:28]] + value[28:40]
            yield "urls", self._keys[key], head + self._key(value[40:56]) + value[56:_RECORD] + url.encode()
        for family, rows in self._rows.families.items():
            if family == "urls":
                continue
            copied = _FAMILIES[family]
            for key, value in rows:
                yield family, *copied(self, key, value)

    # Names

    def _random(self, data: bytes, size: int) -> bytes:
        return hashlib.blake2b(data, key=self._salt, digest_size=size).digest()

    def _host(self, name: str) -> str:
        return self._rows.site.host_in(self._to, name)

    def _url(self, text: str) -> str:
        host, slash, path = text[7:].partition("/")
        return f"http://{self._host(host)}{slash}{path.translate(self._words)}"

    def _shape(self, shape: str) -> str:
        """With its query keys in their order there; a rule's name stays."""
        if not shape.startswith("/"):
            return shape
        path, mark, query = shape.translate(self._words).partition("?")
        return path + mark + "&".join(sorted(query.split("&")))

    def _key(self, key: bytes) -> bytes:
        """That of a URL; of what is no URL that is known, another one of the site."""
        found = self._keys.get(key)
        return self._region + self._random(key, 14) if found is None else found

    def _beginning(self, content: bytes) -> bytes:
        found = self._beginnings.get(content)
        return self._region + self._random(content, 6) if found is None else found

    def _text_hash(self, text: bytes) -> bytes:
        return (int.from_bytes(text) ^ self._mask).to_bytes(8)

    # Families

    def host_row(self, key: bytes, value: bytes) -> tuple[bytes, bytes]:
        host = Host.unpack(key, value)
        host.name = self._host(host.name)
        return self._hosts[key], host.pack()

    def section_row(self, key: bytes, value: bytes) -> tuple[bytes, bytes]:
        section = _section(key, value)
        section.shape = self._shape(section.shape)
        section.circle = self._sections[section.circle]
        section.brought = {self._sections[one]: urls for one, urls in section.brought.items()}
        section.last = b"".join(
            self._key(section.last[at : at + 16]) + section.last[at + 16 : at + _SAMPLE]
            for at in range(0, len(section.last), _SAMPLE)
        )
        return self._hosts[key[:8]] + self._sections[key[8:]], section.pack()

    def content_row(self, key: bytes, value: bytes) -> tuple[bytes, bytes]:
        kind = key[:1]
        if kind == b"D":
            return kind + self._random(key[1:], 16), self._key(value)
        of_title = kind + self._hosts[key[1:9]] + self._random(key[9:17], 8)
        if kind == b"T":
            texts = (value[at : at + 24] for at in range(0, len(value), 24))
            return of_title, b"".join(self._text_hash(text[:8]) + self._key(text[8:]) for text in texts)
        return list(text_keys(of_title, int.from_bytes(key[20:]) ^ self._mask))[key[17]], self._key(value)

    def class_row(self, key: bytes, value: bytes) -> tuple[bytes, bytes]:
        page, content, other = self._key(value[:16]), self._beginning(value[16:24]), self._key(value[24:40])
        return self._key(key), page + content + other + value[40:]

    def graph_row(self, key: bytes, value: bytes) -> tuple[bytes, bytes]:
        edges = edges_of(value)
        seeds = edges.pop(SEEDS, 0.0)
        return self._hosts[key], edges_row({self._hosts[host]: pages for host, pages in edges.items()}, seeds)

    def site_row(self, key: bytes, value: bytes) -> tuple[bytes, bytes]:
        keys = (self._hosts[value[at : at + 8]] for at in range(0, len(value), 8))
        return self._hosts[key], b"".join(keys)

    def levels_row(self, key: bytes, value: bytes) -> tuple[bytes, bytes]:
        urls = (self._key(value[at : at + 16]) for at in range(0, len(value), 16))
        return self._hosts[key[:8]] + key[8:], b"".join(urls)

    def children_row(self, key: bytes, value: bytes) -> tuple[bytes, bytes]:
        name, urls = self.levels_row(key[:8], value)
        return name + self._key(key[8:]), urls

    def rules_row(self, key: bytes, value: bytes) -> tuple[bytes, bytes]:
        return self._hosts[key], value


_FAMILIES: dict[str, Callable[[_Copying, bytes, bytes], tuple[bytes, bytes]]] = {
    "hosts": _Copying.host_row,
    "sections": _Copying.section_row,
    "content": _Copying.content_row,
    "classes": _Copying.class_row,
    "edges": _Copying.graph_row,
    "sites": _Copying.site_row,
    "rules": _Copying.rules_row,
    "levels": _Copying.levels_row,
    "children": _Copying.children_row,
}


def _section(key: bytes, value: bytes) -> Section:
    """Its queue is never asked."""
    return Section.unpack(key, value, DiskQueue.__new__(DiskQueue))
