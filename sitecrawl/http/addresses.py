"""Which IP addresses are public: those to which a page of the web may send the crawler.

The rule is the IANA registries' "globally reachable" (RFC 6890), from tables of our own: Python's `ipaddress` has
those of the day when its patch release was made (under 3.11.7, 192.0.0.192 is public). It is stricter where an
address leads elsewhere than it says: an IPv6 address that carries an IPv4 address is as public as that one, and of
the rest of IPv6 only the range counts that is given out to anyone (2000::/3).
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final

_REGISTRIES: Final = "2026-11-25"
"""Date of the last comparison with the registries, whose last additions are RFC 9637 (3fff::/20) and RFC 9602
(5f00::/16): https://www.iana.org/assignments/iana-ipv4-special-registry and
https://www.iana.org/assignments/iana-ipv6-special-registry. Globally reachable rows are left out if they lie in no
other row. 192.88.99.0/24 and 2001::/32 are "N/A" or deprecated there: packets for them go to whoever runs a relay.
Multicast has a registry of its own."""
_NOT_V4: Final = tuple(
    map(
        IPv4Network,
        (
            "0.0.0.0/8",  # this network
            "10.0.0.0/8",  # private use
            "100.64.0.0/10",  # shared with a carrier's customers
            "127.0.0.0/8",  # loopback
            "169.254.0.0/16",  # link-local, where clouds keep their metadata
            "172.16.0.0/12",  # private use
            "192.0.0.0/24",  # IETF protocol assignments: all, but for what is anycast to anyone
            "192.0.2.0/24",  # documentation
            "192.88.99.0/24",  # deprecated 6to4 relays
            "192.168.0.0/16",  # private use
            "198.18.0.0/15",  # benchmarking
            "198.51.100.0/24",  # documentation
            "203.0.113.0/24",  # documentation
            "224.0.0.0/4",  # multicast
            "240.0.0.0/4",  # reserved, and limited broadcast
            "168.63.129.16/32",  # not in the registry: what Azure's machines are told about themselves
        ),
    )
)
_YET_V4: Final = tuple(map(IPv4Network, ("192.0.0.9/32", "192.0.0.10/32")))
"""Globally reachable within these: PCP and TURN anycast."""
_UNICAST: Final = IPv6Network("2000::/3")
_NOT_V6: Final = tuple(
    map(
        IPv6Network,
        (
            "2001::/23",  # IETF protocol assignments: Teredo, benchmarking, ORCHID
            "2001:db8::/32",  # documentation
            "3fff::/20",  # documentation
        ),
    )
)
"""Ranges within the allocated ones that are not public."""
_YET_V6: Final = tuple(
    map(
        IPv6Network,
        (
            "2001:1::1/128",  # PCP anycast
            "2001:1::2/128",  # TURN anycast
            "2001:1::3/128",  # DNS-SD SRP anycast
            "2001:3::/32",  # AMT
            "2001:4:112::/48",  # AS112
            "2001:20::/28",  # ORCHIDv2
            "2001:30::/28",  # drone remote ID
        ),
    )
)
_NAT64: Final = IPv6Network("64:ff9b::/96")  # RFC 6052; the last four bytes are the IPv4 address


def is_public(address: str) -> bool:
    """Whether `address`, an IPv4 or IPv6 address as text, is public. Raises `ValueError`."""
    parsed = ip_address(address)
    if isinstance(parsed, IPv4Address):
        return _is_public_v4(parsed)
    if (carried := _carried(parsed)) is not None:
        return _is_public_v4(carried)
    is_special = any(parsed in network for network in _NOT_V6) and not any(parsed in network for network in _YET_V6)
    return parsed in _UNICAST and not is_special


def _is_public_v4(address: IPv4Address) -> bool:
    is_special = any(address in network for network in _NOT_V4)
    return not is_special or any(address in network for network in _YET_V4)


def _carried(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address embedded in the IPv6 `address`; None without one."""
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour


def literal(host: str) -> str | None:
    """The IP address that `host` (with or without port) is; None for a name."""
    bracketed, closing, _ = host.removeprefix("[").partition("]")
    text = bracketed if closing else host.partition(":")[0]
    try:
        ip_address(text)
    except ValueError:
        return None
    return text


def meant(host: str) -> str | None:
    """The address of `host` (with or without port) without a look-up: one that is written there, or loopback's for
    `localhost` and names below it (RFC 6761, section 6.3). Else None.
    """
    name = host.partition(":")[0].removesuffix(".")
    return "127.0.0.1" if f".{name}".endswith(".localhost") else literal(host)
