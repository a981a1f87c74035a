"""Fingerprints: the official CityHash vectors, and what the two halves promise."""

from __future__ import annotations

import json

import pytest
from cityhash import CityHash32, CityHash64, CityHash128
from hypothesis import given
from hypothesis import strategies as st
from shareddata import shared

from sitecrawl.base.hashing import new_key
from sitecrawl.urls.fingerprint import SIZE, Fingerprinter

KEY = bytes(range(16))


def test_cityhash_vectors() -> None:
    """All 300 official vectors of CityHash32, 64 and 128 hold for the library that we hash with."""
    data = shared("cityhash/testdata.bin").read_bytes()
    vectors = json.loads(shared("cityhash/vectors.json").read_text())["vectors"]
    assert len(vectors) == 300
    for vector in vectors:
        part = data[vector["offset"] : vector["offset"] + vector["len"]]
        low, high = vector["city128"]
        assert CityHash64(part) == vector["city64"]
        assert CityHash32(part) == vector["city32"]
        assert CityHash128(part) in {low << 64 | high, high << 64 | low}


def test_layout() -> None:
    """A fingerprint is 16 bytes: the site's region, CityHash64, big-endian, then a half that depends on the key."""
    url = "http://example.com/"
    one, other = Fingerprinter(KEY).url(url), Fingerprinter(bytes(16)).url(url)
    assert len(one) == len(other) == SIZE
    assert one[:2] == other[:2] == CityHash64("example.com").to_bytes(8, "big")[:2]
    assert one[2:8] == other[2:8] == CityHash64(url).to_bytes(8, "big")[2:]
    assert one[8:] != other[8:]


def test_fingerprint_is_stable() -> None:
    """The same key and URL give the same bytes in every version: they are on disk."""
    assert Fingerprinter(KEY).url("http://example.com/").hex() == "246ad7b7646128bfdea68ec7d5a72277"
    assert Fingerprinter(KEY).host("example.com").hex() == "246a7e8ac5704e05"


@pytest.mark.parametrize(
    ("host", "site"),
    [
        ("example.com", "example.com"),
        ("www.example.com:8080", "example.com"),
        ("a.b.example.co.uk", "example.co.uk"),
        ("*.example.com", "example.com"),
        ("[2001:db8::1]:81", "[2001:db8::1]:81"),
        ("localhost", "localhost"),
    ],
)
def test_a_site_is_a_region(host: str, site: str) -> None:
    """Keys of hosts and of their requests begin with two bytes of their site's hash, and so with the same."""
    fingerprinter, region = Fingerprinter(KEY), CityHash64(site).to_bytes(8, "big")[:2]
    url = f"http://{host}/a?b=c//d"
    keys = [
        fingerprinter.host(host),
        fingerprinter.url(url),
        fingerprinter.request("POST", url, b"x"),
    ]
    assert {key[:2] for key in keys} == {region}
    assert [len(key) for key in keys] == [8, SIZE, SIZE]
    assert len({key[2:8] for key in keys}) == len(keys)


def test_what_has_no_host_is_in_the_first_region() -> None:
    """What is no URL with a host is no error."""
    fingerprinter = Fingerprinter(KEY)
    for url in ("mailto:a@b", "", "http://", "http:///a"):
        assert fingerprinter.url(url)[:2] == bytes(2)


def test_an_opaque_fingerprint_has_no_region() -> None:
    """Another fingerprinter may take URLs of two sites for the same: its value alone counts."""
    assert Fingerprinter(KEY).opaque(b"y")[:8] == CityHash64(b"\ny").to_bytes(8, "big")


def test_get_without_body_is_the_url() -> None:
    """A plain GET has the fingerprint of its URL."""
    fingerprinter = Fingerprinter(KEY)
    assert fingerprinter.request("GET", "http://a.b/", b"") == fingerprinter.url("http://a.b/")


METHODS = st.sampled_from(["GET", "HEAD", "POST", "PUT"])
URLS = st.sampled_from(["http://a.b/", "http://a.b/c"])


@given(st.tuples(METHODS, URLS, st.binary(max_size=4)), st.tuples(METHODS, URLS, st.binary(max_size=4)))
def test_different_requests_differ(one: tuple[str, str, bytes], other: tuple[str, str, bytes]) -> None:
    """Two requests share a fingerprint only when method, URL and body are the same."""
    fingerprinter = Fingerprinter(KEY)
    assert (fingerprinter.request(*one) == fingerprinter.request(*other)) == (one == other)


def test_opaque_is_no_url() -> None:
    """A foreign fingerprint never equals that of a URL or a request with the same bytes."""
    fingerprinter = Fingerprinter(KEY)
    url = "http://a.b/"
    assert fingerprinter.opaque(url.encode()) != fingerprinter.url(url)
    assert fingerprinter.opaque(f"POST\n{url}\n".encode()) != fingerprinter.request("POST", url, b"")


def test_new_keys_differ() -> None:
    """Every crawl gets a key of its own."""
    assert new_key() != new_key()
    assert len(new_key()) == len(KEY)


@pytest.mark.parametrize("key", [b"", b"short", bytes(17)])
def test_wrong_key(key: bytes) -> None:
    """A key that is not 16 bytes is refused."""
    with pytest.raises(ValueError, match="16 bytes"):
        Fingerprinter(key)
