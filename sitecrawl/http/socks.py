"""Tunnel through a SOCKS 5 proxy (RFC 1928), with name and password if given (RFC 1929)."""

from __future__ import annotations

import socket
from base64 import b64decode
from typing import Any, Final

from python_socks import ProxyError, ProxyType
from python_socks.async_.asyncio import Proxy as Socks

from sitecrawl.http.connection import Endpoint
from sitecrawl.http.errors import ConnectionFailed, ConnectionLost, HttpError

_FOREVER: Final = 1e9
"""Seconds; the caller limits the time."""


class ShutOut(HttpError):
    """A proxy that rejects the credentials."""


class NoSocks(HttpError):
    """A proxy that speaks something else, such as HTTP."""


class _Standing(Socks):
    """An open connection to the proxy, for the library's handshake."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    async def connect(self, *_whither: Any, **_how: Any) -> socket.socket:
        return self._connection


async def tunnel(standing: socket.socket, endpoint: Endpoint, login: bytes) -> None:
    """Make a tunnel to `endpoint` over `standing`, a connection to the proxy, which is closed on failure.

    `login`: credentials, as in `Request.proxy_login`. Raises `ConnectionFailed` if the proxy cannot reach the host,
    `ShutOut` if it rejects the login, `NoSocks` if it speaks something else, and `ConnectionLost` if it breaks off.
    """
    name, _, password = b64decode(login.partition(b" ")[2]).decode("latin-1").partition(":")
    try:
        proxy = Socks(ProxyType.SOCKS5, "", 0, name, password, rdns=True, forward=_Standing(standing))
        await proxy.connect(endpoint.host, endpoint.port, timeout=_FOREVER)
    except ProxyError as error:
        if error.error_code is not None:
            raise ConnectionFailed(f"The proxy says of {endpoint.authority}: {error}") from error
        if "authentication" in str(error):
            raise ShutOut(str(error)) from error
        if "version" in str(error):
            raise NoSocks(str(error)) from error
        raise ConnectionLost(f"The proxy broke off: {error}") from error
    except OSError as error:
        raise ConnectionLost(f"The proxy broke off: {error}") from error
    except ValueError as error:  # neither fits into a byte's length or ASCII
        standing.close()
        raise ShutOut(f"Such a name and password cannot be sent: {error}") from error
