"""Cookies that are kept: for which host each is, how many, and what of them is on disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from sitecrawl.http.cookies import _COOKIE_SIZE, _PER_SITE, BadCookies, CookieStore, read_cookies

SITE = "https://www.shop.example"


def setting(*cookies: str) -> list[tuple[bytes, bytes]]:
    return [(b"Set-Cookie", cookie.encode()) for cookie in cookies]


@pytest.mark.parametrize(
    ("cookie", "url", "is_sent"),
    [
        ("a=1; Path=/", f"{SITE}/other", True),
        ("a=1; Path=/", "https://shop.example/", False),
        ("a=1; Domain=shop.example; Path=/", "https://blog.shop.example/", True),
        ("a=1; Domain=example", f"{SITE}/", False),
        ("a=1; Domain=other.example", "https://other.example/", False),
        ("a=1; Path=/folder", f"{SITE}/folder/x", True),
        ("a=1; Path=/folder", f"{SITE}/", False),
        ("a=1; Secure", "http://www.shop.example/", False),
        ("a=1; Max-Age=0", f"{SITE}/", False),
        ("a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT", f"{SITE}/", False),
        ("a=\x01", f"{SITE}/", False),
        (f"a={'x' * _COOKIE_SIZE}", f"{SITE}/", False),
    ],
)
def test_where_a_cookie_goes(cookie: str, url: str, is_sent: bool) -> None:
    """To the host, the path and over the scheme that it is for, until it is over."""
    store = CookieStore()
    store.heard(f"{SITE}/folder/page", setting(cookie))
    assert bool(store.header(url)) is is_sent


@pytest.mark.parametrize(
    ("cookie", "url", "is_kept"),
    [
        ("a=1; Secure", "http://www.shop.example/", False),
        ("__Secure-a=1", f"{SITE}/", False),
        ("__Secure-a=1; Secure", f"{SITE}/", True),
        ("__Host-a=1; Secure", f"{SITE}/folder/", False),
        ("__Host-a=1; Secure; Path=/", f"{SITE}/folder/", True),
        ("__host-a=1; Secure; Path=/; Domain=shop.example", f"{SITE}/", False),
        ("__Host-a=1; Secure; Path=/", "http://www.shop.example/", False),
    ],
)
def test_what_a_cookie_promises(cookie: str, url: str, is_kept: bool) -> None:
    """What is for https alone comes by that alone, and a name with a prefix holds what it says."""
    store = CookieStore()
    store.heard(url, setting(cookie))
    assert len(store) == is_kept


def test_http_changes_nothing_of_https() -> None:
    """Who can write into an answer on its way cannot end a session, nor put another in its place."""
    store = CookieStore()
    store.heard(SITE, setting("sid=ours; Secure; Path=/"))
    for cookie in ("sid=theirs; Path=/", "sid=; Max-Age=0; Path=/", "sid=theirs; Domain=shop.example; Path=/"):
        store.heard("http://www.shop.example/", setting(cookie))
    assert store.header(SITE) == "sid=ours"


@pytest.mark.parametrize("odd", [f"b=1; Max-Age={'9' * 400}", "b=1; Max-Age=-1", "b=1; Expires=never", "=", ";", "b"])
@pytest.mark.filterwarnings("error")
def test_one_that_is_odd(odd: str) -> None:
    """It costs none of those that come with it, and no line of the log."""
    store = CookieStore()
    store.heard(SITE, setting("sid=1", odd, "c=1"))
    assert store.has(SITE, "sid")
    assert store.has(SITE, "c")


LATER = "Expires=Thu, 01 Jan 2099 00:00:00 GMT"
OVER = "Expires=Thu, 01 Jan 1970 00:00:00 GMT"


@pytest.mark.parametrize(
    ("attributes", "is_sent", "is_sent_below"),
    [
        ("Max-Age=abc", False, True),
        ('Max-Age="0"', False, True),
        ("Max-Age=0; Max-Age=x", False, False),
        ("Max-Age=0; Max-Age=9", False, True),
        (f"{OVER}; Max-Age=9", False, True),
        (f"{OVER}; {LATER}", False, True),
        (f"{OVER}; Expires=never", False, False),
        ("Path=noslash", False, True),
        ('Path="/"', False, True),
        ("Path", False, True),
        ("Path=/x; Path=/", True, True),
        ("Path=/; Path=/folder", False, True),
        ("Path=/; Path=", False, True),
        ("Path=/; Domain=", True, True),
        ("Path=/; Domain=other.example; Domain=shop.example", True, True),
        ("Path=/; Version=x; Port=1; Discard; Comment", True, True),
    ],
)
def test_attributes(attributes: str, is_sent: bool, is_sent_below: bool) -> None:
    """RFC 6265, sections 5.2 and 5.3: the last of a name counts; what is malformed or unknown is as if not there."""
    store = CookieStore()
    store.heard(f"{SITE}/folder/page", setting(f"a=1; {attributes}"))
    assert [bool(store.header(url)) for url in (f"{SITE}/", f"{SITE}/folder/x")] == [is_sent, is_sent_below]


@pytest.mark.parametrize("attribute", ["Secure", "secure=", "SECURE=no"])
def test_secure_with_a_value(attribute: str) -> None:
    """It is the same with and without."""
    store = CookieStore()
    store.heard(f"{SITE}/", setting(f"a=1; {attribute}"))
    assert (store.header(f"{SITE}/"), store.header(SITE.replace("https", "http"))) == ("a=1", "")


def test_what_scripts_may_not_read_stays_so(tmp_path: Path) -> None:
    """`HttpOnly` is in the file, whoever spells it how, and after it was read again."""
    store, again = CookieStore(), CookieStore()
    store.heard(f"{SITE}/", setting("a=1; httponly", "b=1; HttpOnly"))
    store.write(tmp_path / "first.txt")
    again.take(read_cookies(tmp_path / "first.txt"))
    again.write(tmp_path / "second.txt")
    assert (tmp_path / "first.txt").read_bytes() == (tmp_path / "second.txt").read_bytes()
    assert (tmp_path / "first.txt").read_bytes().count(b"#HttpOnly_") == 2


@pytest.mark.parametrize("site", ["a.co.uk", "a.github.io"])
def test_no_cookie_for_a_public_suffix(site: str) -> None:
    """Where anybody can have a name, nobody sets what all are sent."""
    store = CookieStore()
    store.heard(f"https://{site}/", setting(f"a=1; Domain={site.partition('.')[2]}"))
    assert len(store) == 0


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost:8000", "[::1]:8000", "intranet", "a.b.example"])
def test_back_from_disk(host: str, tmp_path: Path) -> None:
    """What was written is sent again after it was read, whatever the host is called."""
    store, again = CookieStore(), CookieStore()
    store.heard(f"http://{host}/", setting("sid=abc; HttpOnly", "flag", "later=1; Max-Age=1000; Path=/x"))
    store.write(tmp_path / "cookies.txt")
    again.take(read_cookies(tmp_path / "cookies.txt"))
    for path in ("/", "/x"):
        assert again.header(f"http://{host}{path}") == store.header(f"http://{host}{path}") != ""


def test_only_its_owner_reads_it(tmp_path: Path) -> None:
    """The file is its owner's from the first byte on, and no draft of it is left."""
    store = CookieStore()
    store.heard(SITE, setting("a=1"))
    store.write(tmp_path / "cookies.txt")
    assert [(file.name, file.stat().st_mode & 0o777) for file in tmp_path.iterdir()] == [("cookies.txt", 0o600)]


def test_a_site_has_so_many() -> None:
    """What a site sets beyond its share is left out, and what it has may still change."""
    store = CookieStore()
    store.heard(SITE, setting(*(f"n{n}=1" for n in range(2 * _PER_SITE)), "n0=2"))
    assert (len(store), store.left_out) == (_PER_SITE, _PER_SITE)
    assert store.header(SITE).count("=") == _PER_SITE
    assert store.has(SITE, "n0")
    assert "n0=2" in store.header(SITE)


def test_the_longest_unused_site_goes() -> None:
    """Beyond the limit on all sites, the one that was asked the longest time ago is forgotten."""
    store = CookieStore(most=3)
    for name in "abc":
        store.heard(f"https://{name}.example/", setting("k=1"))
    assert store.header("https://a.example/")
    store.heard("https://d.example/", setting("k=1"))
    assert [name for name in "abcd" if store.header(f"https://{name}.example/")] == ["a", "c", "d"]
    assert (len(store), store.left_out) == (3, 1)


def test_given_cookies_come_first() -> None:
    """Cookies that a sheet gives are sent until the host sets others of the same name."""
    store = CookieStore()
    store.heard(SITE, setting("a=of-host"))
    store.give(SITE, {"a": "of-sheet", "b": "of-sheet"})
    assert set(store.header(SITE).split("; ")) == {"a=of-host", "b=of-sheet"}
    store.heard(SITE, setting("b=of-host; Path=/"))
    assert "b=of-host" in store.header(SITE)
    assert "of-sheet" not in store.header(SITE)


@pytest.mark.parametrize("text", ["", "no cookies", "# Netscape HTTP Cookie File\nsecret\tTRUE\n", "\xff\x00"])
def test_what_is_no_cookies_txt(text: str, tmp_path: Path) -> None:
    """It is an error of one line, in which nothing of the file stands."""
    (tmp_path / "c.txt").write_text(text, "latin-1")
    with pytest.raises(BadCookies, match=r"cannot be read: it is no cookies\.txt") as caught:
        read_cookies(tmp_path / "c.txt")
    assert "secret" not in str(caught.value)
    with pytest.raises(BadCookies, match="No such file"):
        read_cookies(tmp_path / "none.txt")


def test_a_long_address() -> None:
    """An address that no link may have, and a spider may ask for, is sent what its host has set."""
    store = CookieStore()
    store.heard(f"{SITE}/?{'x' * 100_000}", setting("a=1; Path=/"))
    assert store.header(f"{SITE}/?{'y' * 100_000}") == "a=1"
