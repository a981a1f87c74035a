"""Remove all but the first attributes of each tag, for parsers with quadratic time in them.

libxml2 compares each attribute with all before it: 200 KB of them in one tag take two seconds, 8 MB an hour. Tags
are found as the HTML standard says (section 13.2.5), as libxml2 does from 2.14 on, with two exceptions: an element
that closes itself has no content there; and NUL is dropped, by parsel. A comment in a script, in which another
script could begin, is changed to be none. It takes 80 us a KB.
"""

from __future__ import annotations

from typing import Final

from sitecrawl.page.markup import ATTRIBUTE, MARKUP, MOST_ATTRIBUTES, TEXT_ONLY, UNSEEN, first_end

_RAW: Final = (UNSEEN | TEXT_ONLY) - {"template", "plaintext"}
_SHORT: Final = 1 << 16
"""Characters of a page that is left as it is: at most 16,000 attributes, half a second."""


def lean(html: str, most: int = MOST_ATTRIBUTES, short: int = _SHORT) -> str:
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
    """Whether they end in a slash that is no part of a value."""
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
