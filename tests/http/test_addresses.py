"""Which addresses are public."""

from __future__ import annotations

from ipaddress import ip_network
from typing import Final

import pytest

from sitecrawl.http.addresses import is_public, literal, meant


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
        "192.0.0.9",
        "192.31.196.1",
        "192.52.193.1",
        "192.175.48.1",
        "2001:1::1",
        "2001:4:112::1",
        "2001:20::1",
        "2620:4f:8000::1",
        "2a00::1",
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
        "192.0.0.8", "192.0.0.170", "192.0.0.192", "192.88.99.1", "3fff::1",  # public by tables of older days
        "2001:2::1", "2001:10::1", "2001:1::4", "100::1", "64:ff9b:1::808:808", "2002:c058:6301::",
    ],
)  # fmt: skip
def test_not_public(address: str) -> None:
    """Whatever is only ours, our network's or nobody's."""
    assert not is_public(address)


ROWS: Final = {
    False: "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/29 "
    "192.0.0.8/32 192.0.0.170/32 192.0.0.171/32 192.0.2.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 "
    "203.0.113.0/24 240.0.0.0/4 255.255.255.255/32 ::1/128 ::/128 64:ff9b:1::/48 100::/64 100:0:0:1::/64 "
    "2001::/32 2001:2::/48 2001:db8::/32 2001:10::/28 3fff::/20 5f00::/16 fc00::/7 fe80::/10",
    True: "192.0.0.9/32 192.0.0.10/32 192.31.196.0/24 192.52.193.0/24 192.175.48.0/24 2001:1::1/128 2001:1::2/128 "
    "2001:1::3/128 2001:3::/32 2001:4:112::/48 2001:20::/28 2001:30::/28 2620:4f:8000::/48",
}
"""Those of the registries for both families, by whether they are globally reachable; without what carries IPv4."""


@pytest.mark.parametrize(("is_reachable", "row"), [(is_, row) for is_, rows in ROWS.items() for row in rows.split()])
def test_the_registries_rows(is_reachable: bool, row: str) -> None:
    """First and last address of each are as the registry says, and what lies around it does not change that."""
    network = ip_network(row)
    assert {is_public(str(network[0])), is_public(str(network[-1]))} == {is_reachable}


@pytest.mark.parametrize(
    ("host", "expected"),
    [("127.0.0.1:80", "127.0.0.1"), ("10.0.0.1", "10.0.0.1"), ("[::1]:80", "::1"), ("[::1]", "::1"), ("a.b", None),
     ("a.b:80", None), ("", None), ("1.2.3", None)],
)  # fmt: skip
def test_literal(host: str, expected: str | None) -> None:
    """An address is told from a name, with and without port."""
    assert literal(host) == expected


@pytest.mark.parametrize("host", ["localhost", "localhost:80", "localhost.", "a.localhost.:80"])
def test_localhost_is_loopback(host: str) -> None:
    """Nobody is asked what it means."""
    assert meant(host) == "127.0.0.1"


@pytest.mark.parametrize(
    ("host", "expected"), [("mylocalhost", None), ("localhost.a:80", None), ("10.1.1.1:80", "10.1.1.1")]
)
def test_what_a_host_means(host: str, expected: str | None) -> None:
    """Any other name is for others to look up, and an address is itself."""
    assert meant(host) == expected
