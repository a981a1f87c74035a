"""What is a no, and what only looks like one. The samples are cut down from what these systems send."""

from __future__ import annotations

import pytest

from sitecrawl.page.refusals import (
    _BODY_MARKS,
    _HEADER_MARKS,
    _MAX_SIZE,
    RefusalKind,
    _challenge,
    has_password,
    is_shell,
    refusal,
    returns_to,
    visible,
)

HTML = [(b"Server", b"nginx"), (b"Content-Type", b"text/html; charset=utf-8")]
INCAPSULA = b'<script src="/_Incapsula_Resource?SWJIYLWA=5074a744,719d34d3">\n</script>'
MENU = b"".join(b'<li><a href="/%d">Part %d of the catalogue</a>' % (n, n) for n in range(30))

CHOSEN_ON: dict[str, tuple[int, bytes]] = {
    "Cloudflare": (
        403,
        (
            b"<title>Just a moment...</title><style>h1{}</style><noscript>Enable JavaScript and cookies to continue"
            b"</noscript><script>(function(){window._cf_chl_opt={cvId:'3'};var a=document.createElement('script');"
            b"a.src='/cdn-cgi/challenge-platform/h/b/orchestrate/chl_page/v1?ray=8b96';}())</script>"
        ),
    ),
    "Imperva": (200, b'<html><head><META NAME="robots" CONTENT="noindex,nofollow">' + INCAPSULA + b"<body></body>"),
    "Akamai": (
        200,
        (
            b'<script src="/SZrnE/LDw3/RAor?v=1"></script><div id="sec-if-cpt-container" style="display:none">'
            b'<div class="behavioral-content"></div>Powered and protected by</div>'
        ),
    ),
    "Anubis": (
        200,
        b"<title>Making sure you're not a bot!</title><link rel=stylesheet href=/.within.website/x/xess/xess.min.css>"
        b'<script id="anubis_challenge" type="application/json">{"rules":{}}</script><p>Loading...</p><details>'
        + b"<p>You are seeing this because the administrator has set up <a href=x>Anubis</a>.</p>"
        * 8,
    ),
    "Sucuri": (
        200,
        (
            b"<html><title>You are being redirected...</title><noscript>Javascript is required.</noscript>"
            b"<script>var s={},u,c,U,r,i,l=0,a,e=eval,sucuri_cloudproxy_js='',S='Yj0n';</script>"
        ),
    ),
    "go-away": (
        200,
        (
            b'<title>Checking you are not a bot</title><meta http-equiv="refresh" content="0; url=/.well-known/x?'
            b'__goaway_challenge=meta-refresh&amp;__goaway_id=34d5"><h1>Checking you are not a bot</h1>'
        ),
    ),
}
"""By whose challenge it is; the rules were chosen on these."""

HELD_BACK: dict[str, tuple[int, bytes]] = {
    "HUMAN": (
        200,
        (
            b"<title>Robot or human?</title><h1>Robot or human?</h1><p>Activate and hold the button to confirm that "
            b"you're human.</p><div id=\"px-captcha\"></div><script>window._pxAppId='PX'</script>"
        ),
    ),
    "DataDome": (
        403,
        (
            b"<title>You have been blocked</title><p id=cmsg>Please enable JS and disable any ad blocker</p><script>"
            b"var dd={'rt':'c','t':'fe','host':'geo.captcha-delivery.com'}</script>"
            b'<script src="https://ct.captcha-delivery.com/c.js"></script>'
        ),
    ),
    "AWS WAF": (
        202,
        (
            b'<script>window.gokuProps = {"key":"AQ"};</script><script src="https://a.b.token.awswaf.com/a/challenge.js">'
            b'</script><div id="challenge-container"></div><noscript><h1>JavaScript is disabled</h1></noscript>'
        ),
    ),
    "DDoS-Guard": (
        403,
        (
            b'<title>DDoS-Guard</title><link href="/.well-known/ddos-guard/ddg-captcha-page/index.css">'
            b"<h1 id=title>Checking your browser before accessing shop.example</h1>"
        ),
    ),
    "SiteGround": (202, b'<html><head><meta http-equiv="refresh" content="0;/.well-known/sgcaptcha/?r=%2F"></head>'),
    "hCaptcha": (
        200,
        (
            b'<title>Verify you are human</title><div class="h-captcha" data-sitekey="k"></div>'
            b'<script src="https://hcaptcha.com/1/api.js"></script>'
        ),
    ),
    "reCAPTCHA": (
        429,
        (
            b"<p>Our systems have detected unusual traffic.</p><form method=post><input type=hidden name=q value=x>"
            b"<div id=recaptcha class=g-recaptcha data-sitekey=k></div><textarea id=g-recaptcha-response>"
        ),
    ),
    "Turnstile": (403, b'<h1>One more step</h1><form><div class="cf-turnstile" data-sitekey="k"></div></form>'),
}
"""The same; the rules were not changed after these."""

NO_CHALLENGES: dict[str, tuple[int, bytes]] = {
    "a talk about it": (
        200,
        (
            b"<title>How it works</title><p>The page has <code>window._cf_chl_opt</code> and &lt;script "
            b'id="anubis_challenge"&gt;, or loads <code>/_Incapsula_Resource?CWUDNSAI=9</code>.'
        ),
    ),
    "a page with the script of Imperva": (200, b"<h1>Opening times</h1><p>Monday to Friday." + INCAPSULA),
    "an error with the script of Imperva": (403, b"<h1>Forbidden</h1>" + INCAPSULA),
    "JavaScript detections of Cloudflare": (
        200,
        (
            b"<h1>Welcome</h1><script>window.__CF$cv$params={r:'a4'};var s=document.createElement('script');"
            b"s.src='/cdn-cgi/challenge-platform/scripts/jsd/main.js'</script>"
        ),
    ),
    "a form with a captcha": (
        200,
        b"<h1>Contact</h1><form><input name=mail><textarea name=text></textarea><div class=g-recaptcha></div></form>",
    ),
    "a login with a captcha": (
        403,
        b'<form><input type="text"><input type="password"><div class="cf-turnstile"></div></form>',
    ),
    "a site with a captcha and a menu": (403, MENU + b"<div class=h-captcha></div>"),
    "a site with a widget and text": (200, b"<p>" + b"Much is to be said. " * 200 + b'<div id="px-captcha"></div>'),
    "a mark that is out of place": (404, b'<div id="px-captcha"></div>'),
    "a comment": (200, b"<h1>Shop</h1><p>" + b"All is well. " * 30 + b"<!-- captcha-delivery.com -->"),
    "nothing": (200, b""),
}


@pytest.mark.parametrize(("by", "answer"), [*CHOSEN_ON.items(), *HELD_BACK.items()])
def test_challenges(by: str, answer: tuple[int, bytes]) -> None:
    """Each is known by its body, and whose it is."""
    found = _challenge(answer[0], HTML, answer[1])
    assert found == (RefusalKind.CHALLENGE, by)


@pytest.mark.parametrize("answer", NO_CHALLENGES.values(), ids=NO_CHALLENGES.keys())
def test_no_challenges(answer: tuple[int, bytes]) -> None:
    """What talks of challenges, or is put into good pages, is none."""
    assert _challenge(answer[0], HTML, answer[1]) is None


@pytest.mark.parametrize(("answer"), CHOSEN_ON.values(), ids=CHOSEN_ON.keys())
def test_what_is_no_page_is_no_challenge(answer: tuple[int, bytes]) -> None:
    """As text, or in a large page, or beside a site's menu, the same bytes say nothing."""
    status, body = answer
    assert _challenge(status, [(b"Content-Type", b"text/plain")], body) is None
    assert _challenge(status, HTML, body + b" " * _MAX_SIZE) is None
    assert _challenge(status, HTML, body + MENU) is None


@pytest.mark.parametrize("mark", _HEADER_MARKS, ids=lambda mark: mark.by)
def test_headers(mark: object) -> None:
    """A header that its sender documents is enough, whatever the body is; with another value it says nothing."""
    header = next(one for one in _HEADER_MARKS if one is mark)
    status = min(header.statuses or {429})
    for value in header.values:
        named = [(header.name.title(), value.upper())]
        assert _challenge(status, named, b"\x1f\x8b") == (RefusalKind.CHALLENGE, header.by)
    assert _challenge(status, [(header.name, b"allow")], b"") is None
    assert header.statuses is None or _challenge(200, [(header.name, min(header.values))], b"") is None


def test_every_mark_has_a_source() -> None:
    """And none stands there twice."""
    assert all(mark.source.startswith("https://") for mark in (*_HEADER_MARKS, *_BODY_MARKS))
    assert len({mark.sign for mark in _BODY_MARKS}) == len(_BODY_MARKS)


@pytest.mark.parametrize(
    ("status", "headers", "kind"),
    [
        (429, [], RefusalKind.RATE_LIMITED),
        (503, [(b"retry-after", b"5")], RefusalKind.RATE_LIMITED),
        (503, [], None),
        (401, [], RefusalKind.LOGIN_WALL),
        (403, [], None),
        (404, [], None),
        (200, [], None),
    ],
)
def test_statuses(status: int, headers: list[tuple[bytes, bytes]], kind: RefusalKind | None) -> None:
    """What a status says alone."""
    found = refusal(status, headers, b"")
    assert (found.kind if found is not None else None) == kind


def test_the_text_of_a_page() -> None:
    """What is in tags, scripts, comments and the like is none of it; what is not closed is not shown."""
    assert visible(
        b"<title>No</title><p class='a'>One <b>two</b><script>no</script>\n&nbsp;three<!-- <p>no -->."
    ) == (b"One two three .")
    assert visible(b"plain") == b"plain"
    assert visible(b"a<script>no<p>no") == b"a"
    assert visible(b"a < b") == b"a < b"


@pytest.mark.parametrize("piece", [b"<", b"<script", b"<!--", b"<input ", b"</script", b"<svg>", b"<a title='"])
def test_pages_that_are_never_closed(piece: bytes) -> None:
    """They have an end all the same, and no text behind what is open."""
    body = b'said<div id="px-captcha">' + piece * (_MAX_SIZE // len(piece) - 10)
    assert visible(body).startswith(b"said")
    assert (_challenge(403, HTML, body) is None) == (len(visible(body)) > 3000)


@pytest.mark.parametrize(
    ("body", "shell"),
    [
        (b'<!doctype html><title>App</title><div id="root"></div><script src="/app.js"></script>', True),
        (b"<app-root></app-root><SCRIPT SRC=x></SCRIPT><noscript>You need to enable JavaScript.</noscript>", True),
        (
            b"<h1>Hello</h1><p>" + b"A page that has something to say, and a script. " * 4 + b"<script></script>",
            False,
        ),
        (b"<h1>Nothing here</h1>", False),
        (b"", False),
    ],
)
def test_shells(body: bytes, *, shell: bool) -> None:
    """A page with scripts and without text."""
    assert is_shell(body) == shell


@pytest.mark.parametrize(
    ("target", "asked", "does"),
    [
        ("http://a.example/login?next=/a", "http://a.example/a", True),
        ("http://a.example/login?next=%2Fa%3Fb%3D1", "http://a.example/a?b=1", True),
        ("http://sso.example/in?return_to=http%3A%2F%2Fa.example%2Fa", "http://a.example/a", True),
        ("http://a.example/login?next=/b", "http://a.example/a", False),
        ("http://a.example/login", "http://a.example/a", False),
        ("http://a.example/b?page=a", "http://a.example/a", False),
        ("http://a.example/login?next=http://[", "http://a.example/a", False),
    ],
)
def test_gates(target: str, asked: str, *, does: bool) -> None:
    """One that a request is sent to says where it came from."""
    assert returns_to(target, asked) == does


def test_passwords() -> None:
    """A field for one, however it is written."""
    assert has_password(b"<INPUT class=x TYPE='Password'>")
    assert not has_password(b"<input type=text name=password> password")
