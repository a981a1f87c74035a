"""A way through a proxy of SOCKS 5 (RFC 1928), with a name and a password where there are some (RFC 1929)."""

from __future__ import annotations

import socket
from base64 import b64decode
from typing import Any, Final

from python_socks import ProxyError, ProxyType
from python_socks.async_.asyncio import Proxy as Socks

from sitecrawl.http.connection import Endpoint
from sitecrawl.http.errors import ConnectionFailed, ConnectionLost, HttpError

_FOREVER: Final = 1e9
"""Seconds. How long it may take is the business of who waits for it."""


class ShutOut(HttpError):
    """A proxy that wants another name or password."""


class NoSocks(HttpError):
    """A proxy that speaks something else, such as HTTP."""


class _Standing(Socks):
    """An open connection to the proxy, for the library's handshake."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    async def connect(self, *_whither: Any, **_how: Any) -> socket.socket:
        return self._connection


async def tunnel(standing: socket.socket, endpoint: Endpoint, login: bytes) -> None:
    """Let `standing`, a connection to the proxy, lead to `endpoint`. It is closed where that fails.

    `login`: name and password, as in `Request.proxy_login`. Raises `ConnectionFailed` for what the proxy says of the
    host, `ShutOut` for what it says of the login, `NoSocks` where it speaks something else, and `ConnectionLost`
    where it breaks off.
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
