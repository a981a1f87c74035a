"""The registrable domain of a name, by the Public Suffix List that `tldextract` ships: no network, no cache on disk,
the same answer in every crawl.

Only the list is `tldextract`'s: the package itself imports an HTTP client, which takes as long as a third of a start.
The algorithm is that of https://publicsuffix.org/list, without its last rule: a top-level domain that is not in the
list is no suffix.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from sitecrawl.base.expressions import expression

_LIST: Final = ".tld_set_snapshot"
_RULE: Final = expression(r"^(?!//)\S+", re.MULTILINE)
"""The first word of each line that is no comment."""


@cache
def _rules() -> frozenset[str]:
    """The list's rules, private part included. Names are in Unicode; exceptions begin with `!`."""
    spec = find_spec("tldextract")
    assert spec is not None
    assert spec.origin is not None
    text = (Path(spec.origin).parent / _LIST).read_text(encoding="utf-8")
    return frozenset(_RULE.findall(text))


def registrable_domain(name: str) -> str:
    """The public suffix of `name` and the label before it; empty without them. A final dot is ignored."""
    labels = name.rstrip(".").split(".")
    at = _suffix_at([_in_unicode(label) for label in labels])
    return ".".join(labels[at - 1 :]) if 0 < at < len(labels) and labels[at - 1] else ""


def _suffix_at(labels: list[str]) -> int:
    """Index of the first label of the longest suffix; the number of labels without one."""
    known = _rules()
    for at in range(len(labels)):
        parent = ".".join(labels[at + 1 :])
        rule = f"{labels[at]}.{parent}" if parent else labels[at]
        if f"!{rule}" in known:
            return at + 1
        if rule in known or (parent and f"*.{parent}" in known):
            return at
    return len(labels)


def _in_unicode(label: str) -> str:
    label = label.lower()
    if not label.startswith("xn--"):
        return label
    try:
        return label[4:].encode("ascii").decode("punycode")
    except UnicodeError:
        return label
