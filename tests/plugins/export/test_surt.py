"""The keys of archives' indexes. What is expected here, the package `surt` 0.3.1 gives as well."""

from __future__ import annotations

import pytest

from sitecrawl.plugins.export.surt import surt


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("http://www.Example.com/a/?b=1&a=2", "com,example)/a?a=2&b=1"),
        ("https://u:p@www2.example.com:443/", "com,example)/"),
        ("http://example.com:8080//A//b?", "com,example:8080)/a/b"),
        ("http://[2001:db8::1]:81/x", "2001:db8::1:81)/x"),
        ("http://127.0.0.1/%7Euser/%2520?q=%41", "1,0,0,127)/~user/%20?q=a"),
        ("http://e.com/?x=1&jsessionid=0123456789abcdef0123456789ABCDEF", "com,e)/?&x=1"),
        ("http://e.com/?phpsessid=0123456789abcdef0123456789abcdef&b=1", "com,e)/?b=1"),
        ("http://e.com/(S(4hqa0555fwsecu455xqckv45))/Page.aspx", "com,e)/page.aspx"),
        ("http://e.com/?b&a=&a", "com,e)/?a&a=&b"),
        ("http://xn--e1afmkfd.xn--p1ai/%D1%8F", "xn--p1ai,xn--e1afmkfd)/%d1%8f"),
    ],
)
def test_keys(url: str, key: str) -> None:
    """What does not matter to a browser's question is gone, and the rest is in order."""
    assert surt(url) == key


@pytest.mark.parametrize("url", ["http://e.com/?" + "sid=&" * 100_000, "http://e.com/" + "%25" * 100_000])
def test_long_urls(url: str) -> None:
    """A URL that is made to take long takes as long as it is."""
    assert surt(url).startswith("com,e)/")
