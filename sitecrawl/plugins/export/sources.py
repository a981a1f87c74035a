"""Where a field's text comes from: CSS, XPath, JSON-LD, a path into a JSON answer (JMESPath, jmespath.org), and a
regular expression over any of them or over the page.

CSS and XPath are compiled once, when the rules are read. Libxml2 notices an unknown function or prefix only where it
comes to call it, which may be in the midst of a crawl, so they are looked for here. A document type declaration is
taken out of XML before it is read: its entities could multiply. XPath has no regular expressions of its own: those
run without a bound. Ours do not: a page has some time for all of its own.

`_lean` removes all but the first attributes of each tag before a tree is made: libxml2 compares each attribute with
all before it, so 200 KB of them in one tag take two seconds, 8 MB an hour. Tags are found as the HTML standard says
(section 13.2.5), as libxml2 does from 2.14 on, with two exceptions: an element that closes itself has no content
there; and NUL is dropped, by parsel. A comment in a script, in which another script could begin, is changed to be
none. It takes 80 us a KB.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Any, Final

import jmespath
from cssselect import SelectorError
from lxml import etree
from parsel import Selector
from parsel.csstranslator import HTMLTranslator

from sitecrawl.base.patterns import BadPattern, MatchTime, Pattern, compiled
from sitecrawl.page.markup import ATTRIBUTE, MARKUP, MOST_ATTRIBUTES, TEXT_ONLY, UNSEEN, first_end
from sitecrawl.page.media_type import HTML
from sitecrawl.page.xhtml import as_html
from sitecrawl.plugins.export.jsonld import PATH, LinkedData
from sitecrawl.urls.url import parse_or_none

_RAW: Final = (UNSEEN | TEXT_ONLY) - {"template", "plaintext"}
_SHORT: Final = 1 << 16
"""Characters of a page that is left as it is: at most 16,000 attributes, half a second."""


def _lean(html: str, most: int = MOST_ATTRIBUTES, short: int = _SHORT) -> str:
    """`html` with at most `most` attributes a tag; unchanged if it is `short`."""
    if len(html) <= short:
        return html
    html = html.replace("\0", "")
    pieces, position, kept = list[str](), 0, 0
    while match := MARKUP.search(html, position):
        position = match.end()
        if match["name"] is None:
            continue
        name, attributes = match["name"].lower(), match["attributes"]
        if len(attributes) > most:  # each takes a character at least
            start, end = match.span("attributes")
            if (last := _end_of_first(html, start, end, most)) < end:
                pieces += [html[kept:last], " "]
                kept = end - _closes_itself(attributes)
        if name in _RAW and not (match["slash"] or _closes_itself(attributes)):
            start, position = position, first_end(html, name, position)
            if html.find("<!--", start, position) >= 0:
                pieces += [html[kept:start], html[start:position].replace("<!--", "<!- ")]
                kept = position
    return "".join([*pieces, html[kept:]])


def _closes_itself(attributes: str) -> bool:
    """Whether the attributes end in a slash that is not part of a value."""
    return attributes.endswith("/") and all(
        match.end() < len(attributes) for match in ATTRIBUTE.finditer(attributes) if match[1]
    )


def _end_of_first(html: str, start: int, end: int, most: int) -> int:
    """End of the first `most` attributes."""
    count = 0
    for match in ATTRIBUTE.finditer(html, start, end):
        count += bool(match[1])
        if count == most:
            return match.end()
    return end


_MAX_VALUES: Final = 10_000
"""Of one source on one page."""
_MAX_TEXT: Final = 16 << 20
"""Characters of them: in elements within one another the same text comes again and again."""
_URL_SECONDS: Final = 0.05

_TRANSLATOR = HTMLTranslator()
_NOTHING = etree.HTML("<html></html>")
_DOCTYPE = re.compile(r"<!DOCTYPE[^\[>]*+(?:\[.*?(?:\]|\Z))?+[^>]*+>?+", re.DOTALL | re.IGNORECASE)
_LITERAL = re.compile(r"""'[^']*+'|"[^"]*+\"""")
_PREFIX = re.compile(r"([A-Za-z_][\w.-]*+):(?=[\w*])")
_CALL = re.compile(r"([A-Za-z_][\w.-]*+)\s*+\(")
_FUNCTIONS: Final = frozenset({
    "last", "position", "count", "id", "local-name", "namespace-uri", "name",
    "string", "concat", "starts-with", "contains", "substring-before", "substring-after", "substring",
    "string-length", "normalize-space", "translate",
    "boolean", "not", "true", "false", "lang", "number", "sum", "floor", "ceiling", "round", "has-class",
    "text", "node", "comment", "processing-instruction", "and", "or", "div", "mod",
})  # fmt: skip
"""With parsel's own, the tests of nodes, and the operators that a bracket may follow."""
_STRING = etree.XPath("string()", smart_strings=False)


class BadSource(ValueError):
    """A selector or pattern that is not valid; the message says why."""


@dataclass
class PageText:
    """A page as sources see it."""

    url: str
    text: str
    content_type: str = "text/html"
    match_time: MatchTime = field(default_factory=MatchTime)
    """For its regular expressions, all together."""

    @cached_property
    def root(self) -> Any:
        """The page's tree; None if it is neither HTML nor XML."""
        if self.content_type in HTML:
            return Selector(text=_lean(as_html(self.text, self.content_type)), type="html").root
        if self.content_type.endswith("xml"):
            return Selector(text=_DOCTYPE.sub(" ", self.text), type="xml").root
        return None

    @cached_property
    def answer(self) -> Any:
        """The page as JSON; None if it is not JSON."""
        try:
            return json.loads(self.text)
        except (ValueError, RecursionError):
            return None

    def _elements(self, tag: str) -> Iterable[Any]:
        return () if self.root is None else self.root.iter(tag)

    @cached_property
    def data(self) -> LinkedData:
        scripts = (s for s in self._elements("script") if "ld+json" in (s.get("type") or "").lower())
        return LinkedData(script.text or "" for script in scripts)

    @cached_property
    def base_url(self) -> str:
        """Base of relative URLs: the page's `<base href>` or its own URL."""
        href = next((href for base in self._elements("base") if (href := base.get("href"))), "")
        url = parse_or_none(href, self.url)
        return url.href if url is not None else self.url

    def is_at(self, pattern: Pattern) -> bool:
        """Whether the URL has `pattern` in it. It has a time of its own: other rules are not to suffer."""
        found = (own := MatchTime(_URL_SECONDS)).search(pattern, self.url)
        self.match_time.stopped += own.stopped
        return bool(found)


@dataclass(frozen=True, slots=True)
class Source:
    """One way to a text."""

    kind: str
    """`css`, `xpath`, `jsonld`, `json`, or `regex` for the page's own text."""
    text: str
    """As it stands in the file."""
    selector: Any = None
    type: str = ""
    """Of JSON-LD: the type of the object; empty for the object at hand."""
    properties: Sequence[str] = ()
    pattern: Pattern | None = None
    """Chooses a part of what is found: its only group, or all that it matches."""

    def __str__(self) -> str:
        words = [] if self.kind == "regex" else [self.kind, self.text]
        return " ".join([*words, *(["regex", self.pattern.pattern] if self.pattern is not None else [])])

    def places(self, page: PageText) -> list[Any]:
        """For `each`: elements of the page's tree, or objects of its JSON-LD."""
        if self.kind == "jsonld":
            return page.data.values(page.data.of_type(self.type), self.properties)[:_MAX_VALUES]
        if self.kind == "json":
            return [found for found in self._in_json(page.answer) if isinstance(found, dict)][:_MAX_VALUES]
        found = () if page.root is None else self.selector(page.root)
        return [place for place in found if isinstance(place, etree.ElementBase | etree._Element)][:_MAX_VALUES]  # noqa: SLF001

    def values(self, page: PageText, place: Any, *, markup: bool = False) -> list[Any]:
        """What it finds at `place`, an element or an object; None for the whole page. `markup`: elements as HTML."""
        found = self._found(page, place, markup=markup)
        if self.pattern is None:
            return _taken(found)
        texts = (str(value) for value in found if not isinstance(value, dict | list))
        return _taken(part for text in texts for part in page.match_time.find(self.pattern, text))

    def _found(self, page: PageText, place: Any, *, markup: bool) -> Iterator[Any]:
        if self.kind == "regex":
            yield page.text if not _is_element(place) else etree.tostring(place, encoding="unicode", with_tail=False)
        elif self.kind == "jsonld":
            start = page.data.of_type(self.type) if self.type else [place]
            yield from page.data.values(start, self.properties)
        elif self.kind == "json":
            yield from self._in_json(place if isinstance(place, dict) else page.answer)
        elif (within := place if _is_element(place) else page.root) is not None:
            found = self.selector(within)
            for one in found if isinstance(found, list) else [found]:
                yield _read(one, markup=markup)

    def _in_json(self, start: Any) -> list[Any]:
        """Each of a list by itself; none where an expression cannot be asked, such as the length of a number."""
        try:
            found = self.selector(start)
        except (jmespath.exceptions.JMESPathError, TypeError, ValueError):  # a text is not more than a number
            return []
        return [one for one in (found if isinstance(found, list) else [found]) if one is not None]


def _taken(values: Iterator[Any]) -> list[Any]:
    """As many as one source may find."""
    taken: list[Any] = []
    room = _MAX_TEXT
    for value in islice(values, _MAX_VALUES):
        taken.append(value)
        room -= len(value) if isinstance(value, str) else 1
        if room < 0:
            break
    return taken


def _is_element(place: Any) -> bool:
    return isinstance(place, etree._Element)  # noqa: SLF001 - lxml names its elements' class nowhere else


def _read(found: Any, *, markup: bool) -> Any:
    if not _is_element(found):
        return found if isinstance(found, str | bool | float) else str(found)
    if markup:
        return etree.tostring(found, encoding="unicode", method="html", with_tail=False)
    return _STRING(found)


def _css(text: str, pattern: Pattern | None) -> Source:
    try:
        path = _TRANSLATOR.css_to_xpath(text)
    except SelectorError as error:
        raise BadSource(f"{text!r} is no CSS selector: {error}") from None
    return Source("css", text, _compiled(path, text), pattern=pattern)


def _xpath(text: str, pattern: Pattern | None) -> Source:
    bare = _LITERAL.sub("", text)
    if prefix := _PREFIX.search(bare):
        hint = ": regular expressions have a key of their own, `regex`" if prefix[1] == "re" else ""
        raise BadSource(f"{text!r} has the prefix {prefix[1]!r}, and there are none here{hint}")
    for name in _CALL.findall(bare):
        if name not in _FUNCTIONS:
            raise BadSource(f"{text!r} calls {name}(), which is no function of XPath 1.0")
    return Source("xpath", text, _compiled(text, text), pattern=pattern)


def _compiled(path: str, text: str) -> etree.XPath:
    try:
        found = etree.XPath(path, regexp=False, smart_strings=False)
        found(_NOTHING)
    except etree.XPathError as error:
        raise BadSource(f"{text!r} is no XPath: {error}") from None
    return found


def _jsonld(text: str, pattern: Pattern | None) -> Source:
    if not text or not PATH.fullmatch(text):
        raise BadSource(f"{text!r} names no JSON-LD: write Type, Type.property or .property")
    name, *properties = text.split(".")
    return Source("jsonld", text, type=name, properties=properties, pattern=pattern)


def _json_path(text: str, pattern: Pattern | None) -> Source:
    try:
        return Source("json", text, jmespath.compile(text).search, pattern=pattern)
    except jmespath.exceptions.JMESPathError as error:
        raise BadSource(f"{text!r} is no JMESPath: {' '.join(str(error).split())}") from None


_MAKERS: Final[dict[str, Callable[[str, Pattern | None], Source]]] = {
    "css": _css,
    "xpath": _xpath,
    "jsonld": _jsonld,
    "json": _json_path,
}
SELECTORS: Final = (*_MAKERS,)
"""The kinds of sources that choose elements or objects; the other kind is `regex`."""


def source_of(kind: str, text: str, pattern: Pattern | None = None) -> Source:
    """Raises `BadSource`."""
    return _MAKERS[kind](text, pattern) if kind in _MAKERS else Source(kind, text, pattern=pattern)


def pattern_of(text: str) -> Pattern:
    """Raises `BadSource`."""
    try:
        pattern = compiled(text)
    except BadPattern as error:
        raise BadSource(str(error)) from None
    if pattern.groups > 1:
        raise BadSource(f"{text!r} has {pattern.groups} groups: one at most says which part is wanted; write (?:...)")
    return pattern
