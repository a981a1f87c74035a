"""Registrable domains, by the list that tldextract ships."""

from __future__ import annotations

import pytest
from tldextract import TLDExtract

from sitecrawl.urls.public_suffix import _rules, registrable_domain

TLDEXTRACT = TLDExtract(suffix_list_urls=(), cache_dir=None, include_psl_private_domains=True)
ELSE_THERE = {"sub.wc.psl.hrsn.dev"}
"""Where a name has rules of its own below, tldextract does not see that a wildcard is above."""


def names() -> list[str]:
    """Of every rule: itself, and what is one and two labels below it; in Unicode, and as URLs have it."""
    plain = [rule.removeprefix("!").replace("*", "some") for rule in sorted(_rules())]
    coded = [name.encode("idna").decode() for name in plain if not name.isascii()]
    return [f"{below}{name}" for name in plain + coded for below in ("", "a.", "b.a.")]


def test_as_tldextract() -> None:
    """Every rule of the list counts as in tldextract."""
    differ = {name for name in names() if registrable_domain(name) != TLDEXTRACT(name).top_domain_under_public_suffix}
    assert {name.removeprefix("b.").removeprefix("a.") for name in differ} <= ELSE_THERE
    assert _rules() >= {"com", "co.uk", "github.io", "*.ck", "!www.ck"}


@pytest.mark.parametrize(
    ("name", "domain"),
    [
        ("docs.example.co.uk", "example.co.uk"),
        ("EXAMPLE.com.", "EXAMPLE.com"),
        ("a.b.github.io", "b.github.io"),
        ("x.www.ck", "www.ck"),
        ("x.y.other.ck", "y.other.ck"),
        ("shop.xn--55qx5d.cn", "shop.xn--55qx5d.cn"),
        ("a.xn--a-.com", "xn--a-.com"),
        *((name, "") for name in ("", "com", "github.io", "other.ck", "localhost", "a.nosuch", "192.0.2.1", "[::1]")),
        (".com", ""),
        ("a..com", ""),
    ],
)
def test_of(name: str, domain: str) -> None:
    """The suffix and one label more; nothing where one of them is missing."""
    assert registrable_domain(name) == domain
