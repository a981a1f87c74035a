"""Which IP addresses are public: those to which a page of the web may send the crawler.

The rule is the IANA registries' "globally reachable" (RFC 6890), as Python's `ipaddress` has it, made stricter where
an address leads elsewhere than it says: an IPv6 address that carries an IPv4 address is as public as that one, and of
the rest of IPv6 only the range counts that is given out to anyone (2000::/3).
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Final

_UNICAST: Final = IPv6Network("2000::/3")
_NAT64: Final = IPv6Network("64:ff9b::/96")  # RFC 6052; the last four bytes are the IPv4 address
_METADATA: Final = frozenset({IPv4Address("168.63.129.16")})
"""What a cloud's machines are told about themselves at a public address: Azure's. All others' are link-local."""


def is_public(address: str) -> bool:
    """Whether `address`, an IPv4 or IPv6 address as text, is anybody's on the internet. Raises `ValueError`."""
    parsed = ip_address(address)
    if isinstance(parsed, IPv4Address):
        return _is_public_v4(parsed)
    if (carried := _carried(parsed)) is not None:
        return _is_public_v4(carried)
    return parsed in _UNICAST and parsed.is_global


def _is_public_v4(address: IPv4Address) -> bool:
    return address.is_global and not address.is_multicast and address not in _METADATA


def _carried(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address to which packets for `address` go in the end, if there is one."""
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour


def literal(host: str) -> str | None:
    """The IP address that a URL's `host`, with or without port, is; None for a name."""
    bracketed, closing, _ = host.removeprefix("[").partition("]")
    text = bracketed if closing else host.partition(":")[0]
    try:
        ip_address(text)
    except ValueError:
        return None
    return text
