"""Read sitemaps and feeds in XML by their tags: one pass, constant memory, however broken they are.

Why no XML parser (measurements in docs/sitemaps.md): expat ends at the first error; lxml's recovery loses what
follows a stray `<`, an unquoted attribute or a second XML declaration. Reading tags is faster than either, and
expands no entities.

Elements are known by name, without prefix and case, so a wrong namespace does not matter. `loc` belongs to the `url`
or `sitemap` around it, unless an element such as `image:image` is between them.

There are two readings of one grammar: `_TOKEN` finds single tags; `_ENTRY` matches a whole entry of the usual shape,
with the same result.

Invariants: how the text is cut into pieces makes no difference; every character is looked at a bounded number of
times; what is kept between two pieces is at most `_MAX_TAG`, the texts of one element and the URLs of one entry.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from html.entities import html5
from typing import Final

from sitecrawl.base.expressions import expression
from sitecrawl.crawl.sitemaps.entry import Entry, Form, ParseReport, Problem, Resolver, unix_time
from sitecrawl.urls.url import Url

_MAX_TAG: Final = 64 << 10
"""Most characters of a tag; longer ones are text that begins with `<`."""
_MAX_TEXT: Final = 16 << 10
"""Characters of an element that are kept: twice the longest URL."""
_LONGEST_DATE: Final = 100
_SURROGATES: Final = (0xD800, 0xDFFF)
_MAX_ALTERNATES: Final = 1000
"""Most alternates of one entry."""

ROOTS: Final = {
    "urlset": Form.URLSET,
    "sitemapindex": Form.INDEX,
    "rss": Form.RSS,
    "rdf": Form.RSS,
    "feed": Form.ATOM,
}
_RECORDS: Final = {
    Form.URLSET: frozenset({"url", "sitemap"}),
    Form.INDEX: frozenset({"url", "sitemap"}),
    Form.RSS: frozenset({"item"}),
    Form.ATOM: frozenset({"entry"}),
}
_DATES: Final = ("lastmod", "updated", "modified", "pubdate", "date", "published", "issued", "publication_date")
"""The first that an entry has is when it last changed."""
_LEAVES: Final = frozenset({"loc", "link", "guid", "changefreq", *_DATES})
_CHANGEFREQS: Final = frozenset({"always", "hourly", "daily", "weekly", "monthly", "yearly", "never"})
_CONTAINERS: Final = frozenset({"image", "video", "news", "content", "source", "author", "pagemap"})
"""Elements whose `loc`, `link` and dates are not the entry's own."""
_WANTED: Final = _LEAVES | _CONTAINERS | frozenset({"url", "sitemap", "item", "entry", "feed"})

_TOKEN = expression(
    rf"""<(?:(?P<close>/?+)(?:(?P<prefix>[\w.-]{{1,40}}):)?(?P<name>{"|".join(sorted(_WANTED))})(?=[\s/>])
        (?P<attributes>[^<>]{{0,{_MAX_TAG - 100}}}+)>
       | !-- | !\[CDATA\[ | !ENTITY)""",
    re.IGNORECASE | re.VERBOSE,
)
_TEXT = r"[^<]*+(?:<!\[CDATA\[[^<\]]*+\]\]>[^<]*+)?+"
_ENTRY = expression(
    rf"""[^<]*+<(url|sitemap)>\s*+
        (?:<loc>([^<]*+)</loc>\s*+)?+ (?:<lastmod>([^<]*+)</lastmod>\s*+)?+
        (?:<changefreq>([^<]*+)</changefreq>\s*+)?+ (?:<priority>[^<]*+</priority>\s*+)?+
        ((?:(?:<loc>{_TEXT}</loc> | <lastmod>{_TEXT}</lastmod> | <changefreq>{_TEXT}</changefreq>
              | <priority>{_TEXT}</priority> | <xhtml:link\s[^<>]*+(?<=/)> | <mobile:mobile/>
              | <image:image>\s*+
                  (?:(?:<image:loc>{_TEXT}</image:loc> | <image:title>{_TEXT}</image:title>
                      | <image:caption>{_TEXT}</image:caption>)\s*+)*+
                </image:image>)\s*+)*+)
        </\1>""",
    re.VERBOSE,
)
"""An entry as nearly all are: what the protocol knows, in its order, then the same in any order, and what follows
often. The tokens give the same, in two to four times the time.

No group within what is repeated: CPython's re can lose its place there, and then raises `SystemError`.
"""
_PART = expression(rf"<(?:(loc|lastmod|changefreq)>({_TEXT})<|xhtml:link\s([^<>]*+))")
_ATTRIBUTE = expression(r"""([\w.:-]++)\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s"'>]++))""")
_ANY_TAG = expression(r"<[^<>]*+>")
_REFERENCE = expression(r"&(?:#([0-9]{1,7})|#[xX]([0-9A-Fa-f]{1,6})|([A-Za-z][A-Za-z0-9]{0,31}));")


def read_xml(pieces: Iterable[str], form: Form, resolver: Resolver, report: ParseReport) -> Iterator[list[Entry]]:
    """Yield the entries of a document of `form` that end in each of the `pieces` of its text."""
    reader = _Reader(form, resolver, report)
    for piece in pieces:
        reader.feed(piece)
        yield reader.take()
    reader.end()
    yield reader.take()


class _Reader:
    def __init__(self, form: Form, resolver: Resolver, report: ParseReport) -> None:
        self._form = form
        self._records = _RECORDS[form]
        self._has_short_way = "url" in self._records
        self._resolver = resolver
        self._report = report
        self._tail = ""
        """What may be the beginning of a token."""
        self._until = ""
        """What ends the comment or CDATA section that the text so far ends in."""
        self._found: list[Entry] = []
        self._record = ""
        """The open record's name."""
        self._container = ""
        self._leaf = ""
        """The element whose text is gathered: a leaf, or a record that has none yet."""
        self._texts: list[str] = []
        self._length = 0
        self._forget()

    def _forget(self) -> None:
        """Begin a new entry."""
        self._record = self._container = self._leaf = self._loc = self._fallback = ""
        self._dates: dict[str, str] = {}
        self._changefreq: str | None = None
        self._alternates: list[str] = []

    def take(self) -> list[Entry]:
        """The entries that have ended since the last call."""
        found, self._found = self._found, []
        return found

    # Tokens

    def feed(self, piece: str) -> None:
        text = self._tail + piece
        end = _end_of_whole_tokens(text)
        self._tail = text[end:]
        position = 0
        while True:
            if self._until:
                position = self._leave(text, position, end)
                if self._until:
                    return
            while self._has_short_way and not self._record and (match := _ENTRY.match(text, position, end)):
                if not self._read_entry(*match.groups()):
                    break
                position = match.end()
            match = _TOKEN.search(text, position, end)
            self._gather(text[position : match.start() if match else end])
            if match is None:
                return
            position = match.end()
            close, prefix, name, attributes = match.groups()
            if name is None:
                self._enter(match[0])
            elif close:
                self._close(name.lower())
            else:
                self._open(name.lower(), (prefix or "").lower(), attributes)

    def _enter(self, opening: str) -> None:
        """Begin a comment or a CDATA section; or note that entities are declared."""
        if opening == "<!--":
            self._until = "-->"
        elif opening.startswith("<!["):
            self._until = "]]>"
        else:
            self._report.problems |= Problem.ENTITIES

    def _leave(self, text: str, position: int, end: int) -> int:
        """Look for the end of the comment or CDATA section. Returns the position after it."""
        close = text.find(self._until, position)
        stop = close if close >= 0 else max(position, len(text) - len(self._until) + 1)
        if self._until == "]]>":
            self._gather(text[position:stop])
        if close < 0:
            self._tail = text[stop:]
            return stop
        stop += len(self._until)
        self._until = ""
        if stop > end:  # the section had something in it that looked like the beginning of a token
            self._tail = text[stop:]
        return stop

    def _gather(self, text: str) -> None:
        if self._leaf and self._length < _MAX_TEXT:
            self._texts.append(text)
            self._length += len(text)

    # Elements

    def _open(self, name: str, prefix: str, attributes: str) -> None:
        empty = attributes.endswith("/")
        if name in self._records and prefix not in _CONTAINERS:
            self._finish()
            self._record = self._leaf = name
            self._fallback = _attributes(attributes).get("rdf:about", "")
            if empty:
                self._finish()
        elif name == "feed":
            self._resolver.rebase(_attributes(attributes).get("xml:base", ""))
        elif self._record:
            self._take()
            if name in _CONTAINERS:
                self._container = self._container or ("" if empty else name)
            elif name == "link" and "href" in attributes:
                self._link(_attributes(attributes))
            elif name in _LEAVES and not empty:
                self._leaf = name

    def _close(self, name: str) -> None:
        if name == self._record:
            self._finish()
        elif name == self._container:
            self._take()
            self._container = ""
        elif name == self._leaf:
            self._take()

    def _take(self) -> None:
        """End the open leaf, and keep its text."""
        name, text = self._leaf, "".join(self._texts)[:_MAX_TEXT]
        self._leaf, self._texts, self._length = "", [], 0
        text = (_ANY_TAG.sub("", text) if "<" in text else text).strip()
        if not name or not text:
            return
        if name in _DATES:
            if not self._container or (self._container, name) == ("news", "publication_date"):
                self._dates.setdefault(name, text[:_LONGEST_DATE])
        elif not self._container:
            self._take_own(name, text)

    def _take_own(self, name: str, text: str) -> None:
        if name == "loc" or (name == "link" and self._form == Form.RSS):
            self._loc = self._loc or text
        elif name == "changefreq":
            self._changefreq = _changefreq(text)
        elif name == "guid":
            self._fallback = text
        elif name == self._record:
            self._fallback = self._fallback or text

    def _link(self, attributes: dict[str, str]) -> None:
        """Keep the URL of a `link` of Atom, or of XHTML in a urlset."""
        for href in _alternate(attributes) if not self._container else ():
            if self._form == Form.ATOM:
                self._loc = self._loc or href
            elif self._form != Form.RSS and len(self._alternates) < _MAX_ALTERNATES:
                self._alternates.append(href)

    # Entries

    def end(self) -> None:
        """End the document; an open entry counts if its URL is complete."""
        if self._record or self._until:
            self._report.problems |= Problem.TORN
        self._leaf = ""
        if self._loc:
            self._finish()

    def _read_entry(
        self, record: str, loc: str | None, lastmod: str | None, changefreq: str | None, rest: str
    ) -> bool:
        """Take the entry of a match of `_ENTRY`; False without a `loc`."""
        loc, date = loc.strip() if loc else "", lastmod.strip() if lastmod else ""
        frequency = changefreq.strip() if changefreq else ""
        alternates: list[str] = []
        for name, text, attributes in _PART.findall(rest) if rest else ():
            word = (text.replace("<![CDATA[", "").replace("]]>", "") if "<" in text else text).strip()[:_MAX_TEXT]
            if name == "loc":
                loc = loc or word
            elif name == "lastmod":
                date = date or word
            elif name == "changefreq":
                frequency = word or frequency
            elif "href" in attributes:
                alternates += _alternate(_attributes(attributes))
        if not loc:
            return False
        url = self._url(loc)
        if url is None:
            self._report.skip(loc)
            return True
        self._found.append(
            Entry(
                url,
                record == "sitemap",
                unix_time(date[:_LONGEST_DATE]) if date else None,
                _changefreq(frequency) if frequency else None,
                self._urls(alternates) if alternates else [],
            )
        )
        return True

    def _finish(self) -> None:
        if not self._record:
            return
        self._take()
        url = self._url(self._loc) if self._loc else self._url(self._fallback, absolute=True)
        if url is None:
            self._report.skip(self._loc or self._fallback)
        else:
            date = next((self._dates[name] for name in _DATES if name in self._dates), "")
            when, alternates = unix_time(date) if date else None, self._urls(self._alternates)
            self._found.append(Entry(url, self._record == "sitemap", when, self._changefreq, alternates))
        self._forget()

    def _urls(self, texts: list[str]) -> list[Url]:
        return [url for text in texts[:_MAX_ALTERNATES] if (url := self._url(text)) is not None]

    def _url(self, text: str, *, absolute: bool = False) -> Url | None:
        if "&" in text:
            only_ampersands = text.count("&") == text.count("&amp;")
            text = text.replace("&amp;", "&") if only_ampersands else _REFERENCE.sub(_character, text)
            if self._report.problems & Problem.ENTITIES and _REFERENCE.search(text):
                return None
        return self._resolver.url(text, absolute=absolute)


def _end_of_whole_tokens(text: str) -> int:
    """Length of the part of `text` without an unfinished token at its end."""
    last = text.rfind("<")
    if last < 0 or len(text) - last > _MAX_TAG or text.find(">", last) >= 0:
        return len(text)
    return len(text) if text.startswith(("<!--", "<![CDATA["), last) else last


def _changefreq(text: str) -> str | None:
    word = text.lower()
    return word if word in _CHANGEFREQS else None


def _alternate(attributes: dict[str, str]) -> list[str]:
    """URL of a link, if it is an alternate one."""
    href = attributes.get("href")
    return [href] if href and attributes.get("rel", "alternate").lower() == "alternate" else []


def _attributes(text: str) -> dict[str, str]:
    found = _ATTRIBUTE.findall(text) if "=" in text else ()
    return {name.lower(): double or single or bare for name, double, single, bare in found}


def _character(reference: re.Match[str]) -> str:
    """Character of a reference; the reference itself if unknown, as `&` is often unescaped in URLs."""
    decimal, hexadecimal, name = reference.groups()
    if name is not None:
        return html5.get(f"{name};", reference[0])
    code = int(decimal) if decimal else int(hexadecimal, 16)
    return reference[0] if code > sys.maxunicode or _SURROGATES[0] <= code <= _SURROGATES[1] else chr(code)
