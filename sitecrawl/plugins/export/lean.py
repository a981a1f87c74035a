"""A page without what its tags have beyond their first attributes, for parsers that would compare each with all.

libxml2 looks through the attributes of a tag for each that it adds: 200 KB of them in one tag take two seconds, 8 MB
an hour. Tags are found as the HTML standard says (section 13.2.5), and libxml2 does so from 2.14 on, but for two
things: an element that closes itself has no content there, whatever it is; and NUL is nothing, which is parsel's
doing. A comment in a script, in which another script could begin, is made none. It takes 80 us a KB.
"""

from __future__ import annotations

from typing import Final

from sitecrawl.page.markup import ATTRIBUTE, MARKUP, MOST_ATTRIBUTES, TEXT_ONLY, UNSEEN, first_end

_RAW: Final = (UNSEEN | TEXT_ONLY) - {"template", "plaintext"}
_SHORT: Final = 1 << 16
"""Characters of a page whose tags are not looked at: 16,000 attributes at most, half a second."""


def lean(html: str, most: int = MOST_ATTRIBUTES, short: int = _SHORT) -> str:
    """`html` with at most so many attributes a tag; one that is `short` as it is."""
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
    """Whether the slash that they end in is no part of a value."""
    return attributes.endswith("/") and all(
        match.end() < len(attributes) for match in ATTRIBUTE.finditer(attributes) if match[1]
    )


def _end_of_first(html: str, start: int, end: int, most: int) -> int:
    """Where the first `most` attributes end that stand there."""
    count = 0
    for match in ATTRIBUTE.finditer(html, start, end):
        count += bool(match[1])
        if count == most:
            return match.end()
    return end
