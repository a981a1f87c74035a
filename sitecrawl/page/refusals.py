"""Recognise answers by which a site refuses.

A site asks for time (`RATE_LIMITED`), for a proof that a browser or a person is there (`CHALLENGE`), for an account
(`LOGIN_WALL`), or sends a page that is empty until a browser has built it (`EMPTY_SHELL`). If the crawl logs in
(`sitecrawl.plugins.logins`), it may end the session (`LOGGED_OUT`) or reject the login (`LOGIN_FAILED`). A challenge
may have any status, 200 included; taken for a page it would stand for every URL of its host.

Precision comes before recall: a page wrongly taken for a challenge is lost, and its host waits. So a header counts
only if its sender documents it, and a mark in the body only if all of these hold:

- the answer is HTML with one of `_STATUSES`, short and with few links: challenges are pages of their own;

- the mark is in the markup and not in the text, where pages about challenges have it;

- there is hardly any text. Much of what challenges load is in good pages, too, so each mark has its own limit.

Expensive checks come last: a page without signs costs one search for its links. Everything takes linear time.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from sitecrawl.base.expressions import expression
from sitecrawl.page.budget import within
from sitecrawl.page.items import Headers
from sitecrawl.urls.url import parse_or_none


class RefusalKind(StrEnum):
    """Kinds of refusals. The value is also the name of the statistic."""

    RATE_LIMITED = "rate_limited"
    CHALLENGE = "challenge"
    LOGIN_WALL = "login_wall"
    EMPTY_SHELL = "empty_shell"
    EMPTY_RENDERED = "empty_rendered"
    LOGGED_OUT = "logged_out"
    LOGIN_FAILED = "login_failed"


class Refusal(NamedTuple):
    """One refusal."""

    kind: RefusalKind
    by: str = ""
    """Maker of the challenge, or reason of the failed login."""


class _HeaderMark(NamedTuple):
    """A header that only challenges have."""

    by: str
    name: bytes
    """In lower case."""
    values: frozenset[bytes]
    source: str
    statuses: frozenset[int] | None = None
    """Statuses it comes with; None for any."""

    def counts(self, value: bytes, status: int) -> bool:
        is_status = self.statuses is None or status in self.statuses
        return is_status and value.strip().lower() in self.values


_PAGE: Final = 3000
"""Bytes of text that explain a challenge: Anubis takes 2,000."""
_WORDS: Final = 300
"""A sentence or two."""


class _BodyMark(NamedTuple):
    """A mark in the markup of a challenge."""

    by: str
    sign: bytes
    source: str
    text: int = _PAGE
    """Most bytes of text of the page."""
    alone: bool = False
    """Whether it counts only without another form: protection of forms is on good pages, too."""


_HEADER_MARKS: Final = (
    _HeaderMark(
        "Cloudflare",
        b"cf-mitigated",
        frozenset({b"challenge"}),
        "https://developers.cloudflare.com/cloudflare-challenges/challenge-types/challenge-pages/detect-response",
    ),
    _HeaderMark(
        "AWS WAF",
        b"x-amzn-waf-action",
        frozenset({b"challenge", b"captcha"}),
        "https://docs.aws.amazon.com/waf/latest/developerguide/waf-captcha-and-challenge-actions.html",
        frozenset({202, 405}),
    ),
    _HeaderMark(
        "Vercel",
        b"x-vercel-mitigated",
        frozenset({b"challenge"}),
        "https://github.com/microlinkhq/is-antibot/blob/master/src/providers.json",
    ),
)

_ANUBIS: Final = "https://github.com/TecharoHQ/anubis/blob/main/web/index.templ"
_AKAMAI: Final = "https://github.com/germondai/trawl/pull/33"
_CLOUDFLARE: Final = "https://developers.cloudflare.com/cloudflare-challenges/concepts/how-challenges-work"
_DDOS_GUARD: Final = "https://github.com/FlareSolverr/FlareSolverr"
_GO_AWAY: Final = "https://git.gammaspectra.live/git/go-away"
_IMPERVA: Final = "https://github.com/microlinkhq/is-antibot/blob/master/providers/imperva/failed.json"
_SITEGROUND: Final = "https://github.com/colophon-group/jobseek/pull/5835"

_BODY_MARKS: Final = (
    # Not all of /cdn-cgi/challenge-platform/, of which JavaScript detections put a part into every page.
    _BodyMark("Cloudflare", b"_cf_chl_opt", _CLOUDFLARE),
    _BodyMark("Cloudflare", b"/orchestrate/chl_page/", _CLOUDFLARE),
    _BodyMark("AWS WAF", b"window.gokuProps", "https://github.com/germondai/trawl/pull/82"),
    _BodyMark("Akamai", b"sec-if-cpt-container", _AKAMAI),
    _BodyMark("Akamai", b"bm-verify", _AKAMAI),
    _BodyMark("DataDome", b"captcha-delivery.com", "https://github.com/psf/requests/issues/5331", _WORDS),
    _BodyMark("HUMAN", b"px-captcha", "https://github.com/HumanSecurity/perimeterx-python-wsgi/pull/14"),
    _BodyMark("Imperva", b"_Incapsula_Resource?CWUDNSAI=", "https://github.com/hennroja/immowebAPI/issues/1", _WORDS),
    _BodyMark("Imperva", b"_Incapsula_Resource?SWJIYLWA=", _IMPERVA, 0),
    _BodyMark("Sucuri", b"sucuri_cloudproxy_js", "https://github.com/Anorov/cloudflare-scrape/issues/76", _WORDS),
    _BodyMark("DDoS-Guard", b"/.well-known/ddos-guard/js-challenge/", _DDOS_GUARD),
    _BodyMark("DDoS-Guard", b"/.well-known/ddos-guard/ddg-captcha-page/", _DDOS_GUARD),
    _BodyMark("Anubis", b"anubis_challenge", _ANUBIS),
    _BodyMark("Anubis", b"/.within.website/x/cmd/anubis/", _ANUBIS),
    _BodyMark("go-away", b"__goaway_challenge=", _GO_AWAY),
    _BodyMark("go-away", b"/go-away/cmd/go-away/", _GO_AWAY),
    _BodyMark("SiteGround", b"/.well-known/captcha/", _SITEGROUND, _WORDS),
    _BodyMark("SiteGround", b"/.well-known/sgcaptcha/", _SITEGROUND, _WORDS),
    _BodyMark(
        "reCAPTCHA", b"g-recaptcha", "https://developers.google.com/recaptcha/docs/display", _WORDS, alone=True
    ),
    _BodyMark("hCaptcha", b"h-captcha", "https://docs.hcaptcha.com/", _WORDS, alone=True),
    _BodyMark(
        "Turnstile",
        b"cf-turnstile",
        "https://developers.cloudflare.com/turnstile/get-started/",
        _WORDS,
        alone=True,
    ),
)

_STATUSES: Final = frozenset({200, 202, 401, 403, 405, 418, 429, 503})
"""Statuses of challenges."""
_MAX_SIZE: Final = 1 << 15
"""Most bytes of a challenge."""
_MAX_LINKS: Final = 16
"""Most addresses in a challenge; Anubis has 11."""
_PASSING_SIZE: Final = 12_000
"""Most bytes of a challenge with a status of success; Anubis has 8,000."""
_PASSING_HEAD: Final = 4096
"""Bytes in which such a challenge has its mark; the rest of the many pages of that size is not searched."""
SHELL_SIZE: Final = 1 << 17
"""Bytes of a page that is still empty, at the most."""
SHELL_TEXT: Final = 100
"""Bytes of text of a page that is still empty, at the most."""

_OTHER_FIELDS: Final = expression(
    rb"""<(?:select\b|textarea\b(?![^>]{0,200}captcha-response)"""
    rb"""|input\b(?![^>]{0,200}\btype=["']?(?:hidden|submit|button)\b))""",
    re.IGNORECASE,
)
_TAG: Final = expression(rb"<(?:(script|style|noscript|template|title|svg|select)\b|(!--)|[a-z/!?])", re.IGNORECASE)
_SPACE: Final = expression(rb"(?:\s|&nbsp;)+")


def refusal(status: int, headers: Headers, body: bytes) -> Refusal | None:
    """The refusal that an answer is by itself; None for none. `body` is without content codings.

    A login wall by redirect, and an empty shell, need more: `returns_to` and `has_password`, `is_shell`.
    """
    if (challenged := _challenge(status, headers, body)) is not None:
        return challenged
    if status == 429 or (status == 503 and any(name.lower() == b"retry-after" for name, _ in headers)):
        return Refusal(RefusalKind.RATE_LIMITED)
    return Refusal(RefusalKind.LOGIN_WALL) if status == 401 else None


def _challenge(status: int, headers: Headers, body: bytes) -> Refusal | None:
    """The challenge that an answer is, if it is one."""
    is_html = False
    for name, value in headers:
        lowered = name.lower()
        if lowered == b"content-type":
            is_html = b"html" in value.lower()
        elif (mark := _BY_HEADER.get(lowered)) is not None and mark.counts(value, status):
            return Refusal(RefusalKind.CHALLENGE, mark.by)
    if not is_html or status not in _STATUSES:
        return None
    passes = status < 300
    if len(body) > (_PASSING_SIZE if passes else _MAX_SIZE) or _addresses(body) > _MAX_LINKS:
        return None
    return _marked(body, body[:_PASSING_HEAD] if passes else body)


_BY_HEADER: Final = {mark.name: mark for mark in _HEADER_MARKS}


def _addresses(body: bytes) -> int:
    """Number of addresses, counted up to the limit."""
    found = body.count(b"href=")
    return found if found > _MAX_LINKS else found + body.count(b"HREF=")


def _marked(body: bytes, looked_at: bytes) -> Refusal | None:
    marks = [mark for mark in _BODY_MARKS if mark.sign in looked_at]
    if not marks:
        return None
    text = visible(body)
    return next((Refusal(RefusalKind.CHALLENGE, mark.by) for mark in marks if _counts(mark, body, text)), None)


def _counts(mark: _BodyMark, body: bytes, text: bytes) -> bool:
    if len(text) > mark.text or mark.sign in text:
        return False
    return not (mark.alone and _OTHER_FIELDS.search(body))


def visible(body: bytes) -> bytes:
    """The text of an HTML page that a reader sees before any script has run, with single spaces, title left out."""
    body = within(body)
    lowered, pieces, at = body.lower(), [], 0
    while (tag := _TAG.search(body, at)) is not None:
        pieces.append(body[at : tag.start()])
        name, is_comment = tag[1], tag[2]
        closing = b"</" + name.lower() if name else b"-->" if is_comment else b">"
        end = lowered.find(closing, tag.end() - 1)
        if end < 0:
            break
        at = end if name else end + len(closing)
    else:
        pieces.append(body[at:])
    return _SPACE.sub(b" ", b" ".join(pieces)).strip()


def is_shell(body: bytes) -> bool:
    """Whether an HTML page without links is empty until a script has built it."""
    return b"<script" in body.lower() and len(visible(body)) <= SHELL_TEXT


def returns_to(target: str, asked: str) -> bool:
    """Whether the query of `target`, to which `asked` redirects, has an address to go on to.

    Gates of all kinds do that; whether it is a login depends on the page there.
    """
    wanted = parse_or_none(asked)
    return any(
        value.startswith(("/", "http://", "https://")) and parse_or_none(value, asked) == wanted
        for _, value in _parameters(target)
    )


def has_password(body: bytes) -> bool:
    """Whether an HTML page asks for a password."""
    return _PASSWORD.search(body, 0, _LOGIN_SIZE) is not None


_LOGIN_SIZE: Final = 1 << 16
"""Bytes of a page in which a field for a password is looked for."""
_PASSWORD: Final = expression(rb"""<input\b[^>]{0,200}\btype=["']?password\b""", re.IGNORECASE)


def _parameters(url: str) -> list[tuple[str, str]]:
    try:
        return parse_qsl(urlsplit(url).query, max_num_fields=50)
    except ValueError:
        return []
