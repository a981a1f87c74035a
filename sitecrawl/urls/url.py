"""URLs as a browser parses them, and the identity that a crawl gives them.

Two strings stand for a URL. `Url.href` is what is fetched: the WHATWG serialisation, without fragment and
without credentials. `Canonicalizer.canonical` makes of it the identity that is fingerprinted; it is never
fetched, so it may merge spellings which every server reads alike, and must merge nothing else.

Invariants of the identity, each with a property test:
- canonicalising twice equals once, and a canonical URL parses to itself;
- the scheme and the host never change;
- parameters of the same name keep their order.

docs/urls.md lists what is merged and where this differs from other canonicalisers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Final, NamedTuple

import ada_url

from sitecrawl.base.errors import InvalidUrl
from sitecrawl.base.expressions import expression
from sitecrawl.base.secret_settings import masked_url
from sitecrawl.urls.public_suffix import registrable_domain

MAX_URL_LENGTH: Final = 8000
"""Characters. RFC 9110 section 4.1 asks everyone to support 8,000; what is longer is a trap or an accident."""

DEFAULT_DROPPED_PARAMETERS: Final = (
    # campaigns: Google Analytics, Matomo, Marketo, HubSpot, Mailchimp, Omeda, Vero
    "utm_*", "mtm_*", "pk_campaign", "pk_kwd", "pk_source", "pk_medium", "_ga", "_gl", "mkt_tok", "_hsenc",
    "_hsmi", "__hssc", "__hstc", "__hsfp", "hsctatracking", "mc_cid", "mc_eid", "oly_anon_id", "oly_enc_id",
    "vero_conv", "vero_id", "_openstat", "_branch_match_id", "_branch_referrer",
    # clicks: Google, Meta, Microsoft, Yandex, X, TikTok, LinkedIn, Pinterest
    "gclid", "gclsrc", "dclid", "gbraid", "wbraid", "srsltid", "fbclid", "igshid", "msclkid", "yclid", "ysclid",
    "twclid", "ttclid", "li_fat_id", "epik",
    # sessions: PHP, Java servlets, ColdFusion, ASP, osCommerce, Zen Cart
    "phpsessid", "jsessionid", "cfid", "cftoken", "aspsessionid*", "oscsid", "zenid",
)  # fmt: skip
"""Parameters that never choose content. See `Canonicalizer` for the notation."""

Schemes = tuple[str, ...]
WEB: Final[Schemes] = ("http", "https")
FTP: Final[Schemes] = ("ftp",)
CRAWLED: Final[Schemes] = (*WEB, *FTP)
"""Schemes that can be fetched; FTP has to be switched on (docs/ftp.md)."""
BEGINNINGS: Final = {schemes: tuple(f"{scheme}://" for scheme in schemes) for schemes in (WEB, FTP, CRAWLED)}
"""Beginnings of URLs of these schemes."""

_SHOWN_LENGTH = 100
_REMEMBERED_LENGTH: Final = 500
"""Most characters of a URL whose parse is cached."""
_COMMAND_BREAK = re.compile(r"%0[0AD]", re.IGNORECASE).search
"""Characters in the path of an FTP URL that would end the command it is sent in (RFC 959, section 5.3.1)."""


class Url(NamedTuple):
    """An absolute http(s) or ftp URL in WHATWG serialisation, without fragment and credentials."""

    href: str
    """The URL to fetch, in ASCII."""
    host: str
    """Host name and, where it is not the scheme's own, port: the key of politeness and frontier."""

    @property
    def scheme(self) -> str:
        return self.href[: self.href.index(":")]

    @property
    def origin(self) -> str:
        """Scheme, host and port (RFC 6454), without a final slash."""
        return self.href[: path_start(self.href)]

    @property
    def path(self) -> str:
        """From the first slash to the query; never empty."""
        return self.target.partition("?")[0]

    @property
    def query(self) -> str:
        """Part after the first question mark; empty without one."""
        return self.target.partition("?")[2]

    @property
    def target(self) -> str:
        """Path and query, as they are sent."""
        return self.href[path_start(self.href) :]


def path_start(href: str) -> int:
    """Start of the path in a `Url.href`."""
    return href.index("/", href.index("/") + 2)


def parse(url: str, base: str | None = None, *, max_length: int = MAX_URL_LENGTH, schemes: Schemes = WEB) -> Url:
    """Parse `url`, relative to `base` if given, as the WHATWG URL standard (section 4.4) says.

    Credentials are dropped: whatever is stored with a page is read by others. Raises `InvalidUrl` for what is no
    absolute URL of `schemes` (`WEB`, `FTP` or `CRAWLED`), or longer than `max_length` characters.
    """
    if len(url) > max_length:
        raise InvalidUrl(f"{shortened(url)!r} has {len(url)} characters, and {max_length} is the limit")
    try:
        if base is not None:
            found = _plain(url) or _stripped(ada_url.join_url(base, url))
        else:
            found = _absolute(url) if len(url) <= _REMEMBERED_LENGTH else _stripped(ada_url.normalize_url(url))
    except ValueError:
        raise InvalidUrl(f"{shortened(url)!r} is no URL") from None
    href = found.href
    if not href.startswith(BEGINNINGS[schemes]) or (href[0] == "f" and _COMMAND_BREAK(href)):
        kinds = "http(s) or ftp" if "ftp" in schemes else "http(s)"
        raise InvalidUrl(f"{shortened(url)!r} is no {kinds} URL")
    if len(href) > max_length:  # percent-encoding triples a character, a base comes on top
        raise InvalidUrl(f"{shortened(href)!r} has {len(href)} characters, and {max_length} is the limit")
    return found


def parse_or_none(
    url: str, base: str | None = None, *, max_length: int = MAX_URL_LENGTH, schemes: Schemes = WEB
) -> Url | None:
    """`parse`; None for what it refuses."""
    try:
        return parse(url, base, max_length=max_length, schemes=schemes)
    except InvalidUrl:
        return None


# A path in which there is nothing to encode or to take out, and a query behind it: what most URLs have.
_PLAIN = expression(
    r"(https?://([a-z0-9.:-]+))(?:/(?!\.\.?(?:[/?]|\Z))[A-Za-z0-9._~-]*+)++(?:\?[A-Za-z0-9._~/=&+%-]++)?+"
).fullmatch


def _plain(url: str) -> Url | None:
    """An absolute URL of which can be seen that it is its own serialisation, in a third of what the parser takes;
    None for any other.
    """
    match = _PLAIN(url)
    return Url(url, match[2]) if match is not None and _is_origin(match[1]) else None


@lru_cache(maxsize=1 << 12)
def _is_origin(text: str) -> bool:
    """Whether a parser leaves scheme, host and port as they are."""
    try:
        return bool(ada_url.normalize_url(text) == f"{text}/")
    except ValueError:
        return False


@lru_cache(maxsize=1 << 10)
def _absolute(url: str) -> Url:
    """Parse an absolute URL, cached: frontier, robots.txt, client and store all parse a page's URL."""
    return _plain(url) or _stripped(ada_url.normalize_url(url))


def _stripped(href: str) -> Url:
    """The URL without fragment and credentials; unchanged for other schemes, which are not kept."""
    if not href.startswith(BEGINNINGS[CRAWLED]):
        return Url(href, "")
    href = href.partition("#")[0]
    start = href.index("/") + 2
    end = href.index("/", start)
    host = href[start:end]
    if "@" in host:
        host = host.rpartition("@")[2]
        href = href[:start] + host + href[end:]
    return Url(href, host)


def target_of(url: str) -> str:
    """Path and query of any URL that a spider may ask for, from the first slash on; `/` where it has none.

    `url` need not be normalised: `http://example.com?a` has the target `/?a`, and `data:,text` has `/`.
    """
    _, hierarchical, rest = url.partition("://")
    if not hierarchical:
        return "/"
    path, mark, query = rest.partition("?")
    return f"/{path.partition('/')[2]}{mark}{query}"


def shortened(text: str) -> str:
    """`text`, perhaps a URL, shortened for a log line and without a password."""
    text = masked_url(text)
    return text if len(text) <= _SHOWN_LENGTH else f"{text[:_SHOWN_LENGTH]}..."


# What canonicalisation has to look at; a URL without any of these is its own identity.
_HAS_WORK = re.compile(r"[?%;|^`{}\\\[\]]").search
_ESCAPE_OR_ILLEGAL = expression(r"%[0-9A-Fa-f]{2}|[%|^`{}\\\[\]]")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")  # RFC 3986, 2.3
_TRANSFER_TYPE = expression(r";type=[ai]$", re.IGNORECASE)
"""Transfer type of an FTP URL (RFC 1738, section 3.2.2); ignored, because files are fetched as they are."""


@cache
def _normal_escape(text: str) -> str:
    """The normal form of an escape, or of a character not allowed in path or query by RFC 3986.

    A percent sign that begins no escape stays, because servers distinguish it from `%25`, or refuse it.
    """
    if len(text) == 1:
        return text if text == "%" else f"%{ord(text):02X}"
    char = chr(int(text[1:], 16))
    return char if char in _UNRESERVED else text.upper()


def _normal_escapes(text: str) -> str:
    found = _ESCAPE_OR_ILLEGAL.sub(lambda match: _normal_escape(match[0]), text)
    if _STRAY(text) and _ESCAPE_OR_ILLEGAL.sub(lambda match: _normal_escape(match[0]), found) != found:
        return _normal_escapes(_STRAYS.sub("%25", text))  # else `%%34%31` would become `%41`, and that `A`
    return found


_STRAYS = expression(r"%(?![0-9A-Fa-f]{2})")
_STRAY = _STRAYS.search


class Canonicalizer:
    """Makes the identity of a URL.

    `drop` names the parameters (of the query, and `;name=value` in the path) that do not choose content, without
    regard to case: `name` or `prefix*`.
    """

    def __init__(self, drop: Iterable[str] = DEFAULT_DROPPED_PARAMETERS) -> None:
        names = [name.lower() for name in drop]
        self._prefixes = tuple(name[:-1] for name in names if name.endswith("*"))
        self._names = frozenset(name for name in names if not name.endswith("*"))

    def canonical(self, url: Url) -> str:
        """The identity of `url`: an ASCII string, itself a URL."""
        return self.canonical_href(url.href)

    def canonical_href(self, href: str) -> str:
        """The identity of a `Url.href`."""
        if _HAS_WORK(href) is None:
            return href
        start = path_start(href)
        if href.startswith("ftp:"):  # it has no query and no parameters: all of it names a file
            return href[:start] + _TRANSFER_TYPE.sub("", _normal_escapes(href[start:]))
        path, _, query = href[start:].partition("?")
        path = _normal_escapes(path)
        if ";" in path:
            path = "/".join(map(self._segment, path.split("/")))
        if query:
            query = self._query(query)
        return f"{href[:start]}{path}?{query}" if query else href[:start] + path

    def _segment(self, segment: str) -> str:
        name, *parameters = segment.split(";")
        kept = [p for p in parameters if not self._is_dropped(p)]
        if not kept and name in {".", ".."}:  # alone, these would be steps in the path
            return segment
        return ";".join([name, *kept])

    def _query(self, query: str) -> str:
        # Empty parts mean nothing: URL standard, section 5.1 (urlencoded parsing), step 3.1
        kept = [p for p in _normal_escapes(query).split("&") if p and not self._is_dropped(p)]
        if len(kept) > 1:
            kept.sort(key=_parameter_name)
        return "&".join(kept)

    def _is_dropped(self, parameter: str) -> bool:
        name = _parameter_name(parameter).lower()
        return name in self._names or name.startswith(self._prefixes)


def _parameter_name(parameter: str) -> str:
    return parameter.partition("=")[0]


@lru_cache(maxsize=1 << 14)
def site_of(host: str) -> str:
    """The site that `host` belongs to: its registrable domain, by the Public Suffix List.

    Private suffixes count: whoever owns `a.github.io` has no say over `b.github.io`, so a crawl of the one does
    not enter the other. A host without registrable domain (an IP address, `localhost`, a single label, a public
    suffix itself) is a site of its own, port included: another port of it is another application.
    """
    name = host.rpartition(":")[0] if host[-1].isdigit() and ":" in host else host
    return registrable_domain(name) or host


@lru_cache(maxsize=1 << 14)
def zone_of(name: str) -> str:
    """The registered domain, which has name servers of its own: a site; below a top-level domain that is not in
    the list (`.test`, an intranet's), the last two labels.
    """
    site = site_of(name)
    return site if registrable_domain(site) else ".".join(site.split(".")[-2:])


def is_public_name(host: str) -> bool:
    """Whether anybody could register `host` (with or without port) or its domain, and so choose where it leads.
    `localhost`, single labels, `.internal`, `.test` and `home.arpa` (RFC 8375) cannot be registered.
    """
    name = host.rpartition(":")[0] if host[-1:].isdigit() and ":" in host else host
    has_suffix = bool(registrable_domain(f"any.{name}"))  # some suffixes are hosts themselves
    return has_suffix and not f".{name}".endswith(".home.arpa")


def top_level_of(host: str) -> str:
    """The top-level domain of the site of `host`; the site itself if it is no registrable domain."""
    site = site_of(host)
    return site.rpartition(".")[2] if registrable_domain(site) else site


_SCHEME = expression(r"[A-Za-z][A-Za-z0-9+.-]*:")
_BEGINNING = expression(r"([A-Za-z]+):[/\\]{2}")
"""Beginning of a URL, in which a backslash is a slash (URL, section 4.4)."""
_HOST_AND_PORT = expression(r"[A-Za-z0-9.-]+:[0-9]+(?:[/?#]|$)")
_BARE_HOST = expression(r"[^\s/?#:@.]+(?:\.[^\s/?#:@.]+)+\.?(?=[/?#:]|$)|localhost(?=[/?#:]|$)|\[[0-9A-Fa-f:.]+\]")


def guess_url(text: str, *, schemes: Schemes = WEB) -> Url:
    """The URL meant by `text`, typed as a seed.

    Without a scheme it is http: a server that wants https redirects, and not the other way round. Raises
    `InvalidUrl` with advice.
    """
    text = text.strip()
    if not text:
        raise InvalidUrl("An empty text is no URL: write one like https://example.com/")
    absolute = _with_scheme(text, schemes)
    url = parse(absolute, schemes=schemes)
    # dropping what someone typed on purpose would end in a crawl of 401s
    if "@" in absolute and _carries_credentials(absolute):
        raise InvalidUrl(
            f"The URL of {url.host} carries a user name, which would be stored with every page: leave it out, and "
            f"set {_CREDENTIALS[url.scheme == 'ftp']}"
        )
    return url


_CREDENTIALS: Final = ("HTTPAUTH_USER, HTTPAUTH_PASS and HTTPAUTH_DOMAIN", "FTP_USER and FTP_PASSWORD")


def _with_scheme(text: str, schemes: Schemes) -> str:
    if (match := _BEGINNING.match(text)) and match[1].lower() in schemes:
        return text
    if text.startswith("//") and text[2:3] not in ("", "/"):
        return f"http:{text}"
    if _HOST_AND_PORT.match(text) or _BARE_HOST.match(text):
        return f"http://{text}"
    if (match := _SCHEME.match(text)) and match[0].lower() not in {"http:", "https:"}:
        raise InvalidUrl(f"{shortened(text)!r} cannot be crawled: its scheme is {match[0]}, not http: or https:")
    raise InvalidUrl(f"{shortened(text)!r} is no URL: write one like https://example.com/ or example.com/path")


def _carries_credentials(absolute: str) -> bool:
    read = ada_url.URL(absolute)
    return bool(read.username or read.password)
