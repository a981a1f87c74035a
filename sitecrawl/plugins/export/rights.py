"""What sites and pages ask of machines that use them, beside robots.txt's question who may fetch what.

All of it is read off what the crawl has stored: the page with its headers, the robots.txt of its host, and
`/.well-known/tdmrep.json`, if the crawl has asked for that (`SITECRAWL_USE`). Sources:

- *Usage preferences*: draft-ietf-aipref-vocab-08 and draft-ietf-aipref-attach-05, the header and the rule of
  robots.txt; draft-romm-aipref-contentsignals-00 for Content-Signal. `y` and `n` by category. Where several count,
  the most restrictive does (vocab, section 7).
- *TDM reservation*: the W3C Community Group's TDM Reservation Protocol (10 May 2024): `<meta>` before headers,
  headers before the file of the host, of which the first rule that matches counts.
- *RSL*: Really Simple Licensing 1.0: `License:` in robots.txt, and links of that type of pages and headers. The terms
  behind the address are not read.
- *Directives* of X-Robots-Tag and `<meta name=robots>`: those of search engines, and `noai` and `noimageai`, which
  DeviantArt has introduced and no body has specified.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Self

from sitecrawl.base.errors import EarlierCrawlMissing, StorageError
from sitecrawl.http.robots_txt import UsageRule, matches, quoted, usage_for, usage_rules
from sitecrawl.page.directives import directives_of_headers, header_links
from sitecrawl.page.items import Headers
from sitecrawl.page.links import html_of
from sitecrawl.page.markup import Element, elements
from sitecrawl.page.media_type import HTML
from sitecrawl.pagestore.capture import Capture
from sitecrawl.pagestore.lookup import url_key
from sitecrawl.pagestore.reader import PageReader
from sitecrawl.urls.url import parse_or_none, path_start, target_of

RSL: Final = "application/rsl+xml"
_WIDER: Final = {"train-ai": "ai", "ai-use": "ai"}
"""The category that counts where a narrower one is not named."""
_SIGNALS: Final = {"ai-train": "train-ai", "ai-input": "ai-use", "search": "search"}
_ANSWERS: Final = {"y": True, "n": False}
_SIGNAL_ANSWERS: Final = {"yes": True, "no": False}
_MAY_SAY: Final = re.compile(rb"tdm-|rsl\+xml|robots", re.IGNORECASE)
"""A page without any of these says nothing, and its markup is not read."""
_LICENSE: Final = re.compile(r"^[^\S\n]*+license[^\S\n]*+:[^\S\n]*+([^\s#]++)", re.IGNORECASE | re.MULTILINE)
_MAX_ELEMENTS: Final = 2_000
_MAX_TOKENS: Final = 50
TDM_FILE: Final = "/.well-known/tdmrep.json"
"""Where a host says what it reserves (TDM Reservation Protocol)."""
_MAX_HOSTS: Final = 1_000
"""Of which is kept what their files say."""
_MAX_LENGTH: Final = 2_000
"""Characters of an address, or of a directive."""


@dataclass(slots=True)
class Said:
    """What is asked of one page."""

    usage: dict[str, bool] = field(default_factory=dict)
    """By category, whether that use is welcome; one that nobody has named is missing."""
    reservation: bool | None = None
    """Whether text and data mining is reserved; None where nobody says."""
    policy: str | None = None
    """The address of the TDM policy."""
    licenses: list[str] = field(default_factory=list)
    """Addresses of RSL licences."""
    directives: list[str] = field(default_factory=list)
    """In lower case, each once, in alphabetical order."""

    @classmethod
    def of(
        cls,
        url: str,
        headers: Headers,
        body: bytes,
        *,
        content_type: str,
        charset: str | None,
        host: _HostRights,
        agent: str,
    ) -> Self:
        """All that is asked of the page at `url`, `body` without content coding. `agent`: see `StoredRights`."""
        target = target_of(url)
        said = cls(licenses=[*host.licenses])
        for pattern, reserved, policy in host.reservations:
            if matches(pattern, quoted(target)):
                said.reservation, said.policy = reserved, policy
                break
        for is_signal in (False, True):  # each has its own paths
            for rule in usage_for([rule for rule in host.rules if rule.is_signal == is_signal], target):
                _restrict(said, rule.value, is_signal=is_signal)
        _read_headers(said, headers, agent)
        if content_type in HTML and _MAY_SAY.search(body):
            html = html_of(body, content_type, charset)
            for element in elements(html, _MAX_ELEMENTS).found:
                _read_element(said, element, agent)
        said.directives = sorted({one.strip()[:_MAX_LENGTH] for one in said.directives if one.strip()})[:_MAX_TOKENS]
        said.licenses = list(dict.fromkeys(filter(None, (_absolute(one, url) for one in said.licenses))))[
            :_MAX_TOKENS
        ]
        return said

    @property
    def preferences(self) -> str | None:
        """As the header would have them; None without any."""
        return ", ".join(f"{name}={'y' if yes else 'n'}" for name, yes in sorted(self.usage.items())) or None

    def refuses(self, use: str, content_type: str) -> bool:
        """Whether a page of that media type is not to be used for `use`, of `SITECRAWL_USE`.

        A licence counts as a refusal, for nobody has read its terms; so does a reservation, whatever the use.
        """
        named = self.usage.get(use, self.usage.get(_WIDER.get(use, "")))
        if named is False or self.reservation or self.licenses:
            return True
        found = {*self.directives}
        if use == "search":
            return not found.isdisjoint({"noindex", "none"})
        return "noai" in found or ("noimageai" in found and content_type.startswith("image/"))


@dataclass(slots=True)
class _HostRights:
    """What the files of a host say: its robots.txt, and that of TDM reservations."""

    rules: Sequence[UsageRule] = ()
    licenses: list[str] = field(default_factory=list)
    reservations: Sequence[tuple[str, bool, str | None]] = ()
    """Pattern, whether it is reserved, and policy."""

    @classmethod
    def read(cls, robots: bytes | None, tdm: bytes | None, agent: str) -> _HostRights:
        """None for a file that is not there."""
        if robots is None:
            return cls(reservations=_reservations(tdm))
        text = robots.decode("utf-8", "replace").replace("\r", "\n")
        licenses = [url for url in _LICENSE.findall(text) if parse_or_none(url)]
        return cls(usage_rules(robots, agent), list(dict.fromkeys(licenses[:_MAX_TOKENS])), _reservations(tdm))


class StoredRights:
    """Those of the hosts of stored pages, out of the stores in `readers`. `agent`: our name to robots.txt."""

    def __init__(self, readers: Sequence[PageReader], agent: str) -> None:
        self.agent: Final = agent
        self._readers = readers
        self._read: dict[tuple[str, int, int], _HostRights] = {}

    def of(self, capture: Capture) -> _HostRights:
        """What the files of its host say, as they were when it was fetched."""
        origin = capture.url[: path_start(capture.url)]
        robots, tdm = self._as_of(f"{origin}/robots.txt", capture), self._as_of(origin + TDM_FILE, capture)
        ids = [0 if one is None else one[1].id for one in (robots, tdm)]
        key = origin, ids[0], ids[1]
        if key not in self._read:
            if len(self._read) >= _MAX_HOSTS:
                self._read.clear()
            self._read[key] = _HostRights.read(_body_of(robots), _body_of(tdm), self.agent)
        return self._read[key]

    def _as_of(self, url: str, page: Capture) -> tuple[PageReader, Capture] | None:
        """The newest answer with a body from before the page was fetched, or else the oldest; None without one."""
        key = url_key(url)
        found = [(reader, one) for reader in self._readers for one in reader.versions(key) if one.status == 200]
        found.sort(key=lambda pair: pair[1].fetched)
        before = [pair for pair in found if pair[1].fetched <= page.fetched]
        return before[-1] if before else found[0] if found else None


def _body_of(found: tuple[PageReader, Capture] | None) -> bytes | None:
    if found is None:
        return None
    reader, capture = found
    try:
        return reader.read(capture).body
    except EarlierCrawlMissing:
        raise
    except StorageError:
        return None


def _reservations(tdm: bytes | None) -> list[tuple[str, bool, str | None]]:
    """What is no list of rules says nothing."""
    try:
        rules: Any = json.loads(tdm or b"[]")
    except (ValueError, RecursionError):
        return []
    found = []
    for rule in rules if isinstance(rules, list) else []:
        location = rule.get("location") if isinstance(rule, Mapping) else None
        if isinstance(location, str) and (reserved := _reserved(str(rule.get("tdm-reservation")))) is not None:
            found.append((location, reserved, _policy(rule.get("tdm-policy"))))
    return found


def _read_headers(said: Said, headers: Headers, agent: str) -> None:
    for value in _values(headers, b"content-usage"):
        _restrict(said, value)
    said.directives += directives_of_headers(_values(headers, b"x-robots-tag"), agent)
    _tdm(said, _values(headers, b"tdm-reservation"), _values(headers, b"tdm-policy"))
    for value in _values(headers, b"link"):
        for link in header_links(value):
            _license(said, link.parameters.get("rel"), link.parameters.get("type"), link.target)


def _read_element(said: Said, element: Element, agent: str) -> None:
    attributes = element.attributes
    if element.tag == "link":
        _license(said, attributes.get("rel"), attributes.get("type"), attributes.get("href"))
    elif element.tag == "meta":
        name, content = (attributes.get("name") or "").strip().lower(), attributes.get("content") or ""
        if name in {"robots", agent.lower()}:
            said.directives += content.lower().split(",")
        elif name == "tdm-reservation":
            _tdm(said, [content], [])
        elif name == "tdm-policy":
            said.policy = _policy(content) or said.policy


def _restrict(said: Said, text: str, *, is_signal: bool = False) -> None:
    """Add the preferences of a dictionary (RFC 9651, section 3.2): of a name that stands there twice the last counts.
    A value that is neither yes nor no says nothing.
    """
    found: dict[str, bool] = {}
    for part in text.split(",")[:_MAX_TOKENS]:
        name, _, value = part.partition(";")[0].partition("=")
        answer = (_SIGNAL_ANSWERS if is_signal else _ANSWERS).get(value.strip().lower())
        name = _SIGNALS.get(name.strip().lower(), "") if is_signal else name.strip().lower()
        if name and answer is not None:
            found[name] = answer
    for name, answer in found.items():
        said.usage[name] = answer and said.usage.get(name, True)


def _tdm(said: Said, reservations: Iterable[str], policies: Iterable[str]) -> None:
    """What is nearer to the page takes the place of what is further off."""
    for value in reservations:
        if (reserved := _reserved(value)) is not None:
            said.reservation, said.policy = reserved, None
    for value in policies:
        said.policy = _policy(value) or said.policy


def _reserved(value: str) -> bool | None:
    return {"1": True, "0": False}.get(value.strip())


def _policy(value: object) -> str | None:
    return value.strip()[:_MAX_LENGTH] if isinstance(value, str) and parse_or_none(value.strip()) else None


def _license(said: Said, rel: str | None, media_type: str | None, target: str | None) -> None:
    if "license" in (rel or "").lower().split() and (media_type or "").strip().lower() == RSL and target:
        said.licenses.append(target.strip()[:_MAX_LENGTH])


def _values(headers: Headers, name: bytes) -> list[str]:
    return [value.decode("utf-8", "replace") for key, value in headers if key.lower() == name]


def _absolute(target: str, url: str) -> str:
    found = parse_or_none(target, url)
    return found.href if found is not None else ""
