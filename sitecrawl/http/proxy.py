"""Proxies.

An HTTP proxy is asked for a whole URL (RFC 9112, section 3.2.2), or for a tunnel to a host with TLS (RFC 9110,
section 9.3.6); an `https` one over TLS. A SOCKS 5 proxy makes a tunnel to any host (`sitecrawl.http.socks`). All of
them look up the host's name, also `socks5`, which elsewhere leaves that to the client.
"""

from __future__ import annotations

from base64 import b64encode
from importlib.util import find_spec
from typing import Final, NamedTuple
from urllib.parse import unquote, urlsplit

from sitecrawl.base.extras import how_to_install
from sitecrawl.http.connection import authority

_SOCKS: Final = ("socks5", "socks5h")
_PORTS: Final = {"http": 80, "https": 443} | dict.fromkeys(_SOCKS, 1080)


class Proxy(NamedTuple):
    """Address and protocol of a proxy."""

    scheme: str
    host: str
    """A name or an address, without brackets."""
    port: int

    @classmethod
    def of(cls, url: str) -> Proxy:
        """Parse `url`; http without a scheme. Raises `ValueError` with the reason."""
        parts = urlsplit(url if "://" in url else f"http://{url}")
        if parts.scheme not in _PORTS:
            raise ValueError(f"A proxy is asked over {', '.join(_PORTS)}, and not over {parts.scheme}")
        if not parts.hostname:
            raise ValueError(f"{parts.scheme}:// without a host is no proxy")
        if parts.scheme in _SOCKS and find_spec("python_socks") is None:
            raise ValueError(f"A proxy of SOCKS takes a package: {how_to_install('socks')}")
        try:
            return cls(parts.scheme, parts.hostname, parts.port or _PORTS[parts.scheme])
        except ValueError:  # its words may have half of a password
            raise ValueError("A proxy's port is a number below 65536") from None

    @property
    def authority(self) -> str:
        return authority(self.host, self.port)

    @property
    def secure(self) -> bool:
        """Whether the connection to it uses TLS."""
        return self.scheme == "https"

    @property
    def is_socks(self) -> bool:
        return self.scheme in _SOCKS


def login_in(url: str) -> bytes:
    """Credentials in the proxy `url` as a header value (RFC 7617); empty without."""
    parts = urlsplit(url if "://" in url else f"http://{url}")
    if parts.username is None:
        return b""
    return b"Basic " + b64encode(f"{unquote(parts.username)}:{unquote(parts.password or '')}".encode())
