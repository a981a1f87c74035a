"""Which addresses are public."""

from __future__ import annotations

import pytest

from sitecrawl.http.addresses import is_public, literal


@pytest.mark.parametrize(
    "address",
    [
        "1.1.1.1",
        "93.184.215.14",
        "172.32.0.1",
        "2606:4700::1111",
        "::ffff:1.1.1.1",
        "64:ff9b::1.1.1.1",
        "2002:101:101::",
    ],
)
def test_public(address: str) -> None:
    """Anybody's addresses, and those that carry one."""
    assert is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "127.255.255.254", "::1",  # loopback
        "0.0.0.0", "::", "0.1.2.3",  # this host
        "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "fc00::1", "fd00:ec2::254",  # private networks
        "169.254.169.254", "fe80::1", "fe80::1%eth0", "fec0::1",  # link-local, where clouds keep their metadata
        "100.64.0.1", "100.100.100.200", "168.63.129.16",  # a carrier's, and clouds' elsewhere
        "224.0.0.1", "ff02::1", "255.255.255.255", "240.0.0.1",  # not one host
        "192.0.2.1", "198.51.100.1", "203.0.113.1", "2001:db8::1", "198.18.0.1",  # documentation and benchmarks
        "::ffff:127.0.0.1", "::ffff:a9fe:a9fe", "::127.0.0.1", "64:ff9b::a00:1", "64:ff9b:1::1", "2002:7f00:1::",
        "2001:0:7f00:1::",  # IPv4 in other clothes
        "5f00::1", "4000::1",  # given out to nobody
    ],
)  # fmt: skip
def test_not_public(address: str) -> None:
    """Whatever is only ours, our network's or nobody's."""
    assert not is_public(address)


@pytest.mark.parametrize(
    ("host", "expected"),
    [("127.0.0.1:80", "127.0.0.1"), ("10.0.0.1", "10.0.0.1"), ("[::1]:80", "::1"), ("[::1]", "::1"), ("a.b", None),
     ("a.b:80", None), ("", None), ("1.2.3", None)],
)  # fmt: skip
def test_literal(host: str, expected: str | None) -> None:
    """An address is told from a name, with and without port."""
    assert literal(host) == expected
