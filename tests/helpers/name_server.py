"""A name server on loopback that answers over UDP what a function says."""

from __future__ import annotations

import socketserver
import struct
from collections.abc import Callable
from ipaddress import ip_address

from threaded import Threaded

SILENCE = None
NO_SUCH_NAME: list[str] = []
_TYPES = {1: 4, 28: 6}
"""By the number of a record's type, the version of the addresses that it has."""
Answer = Callable[[str], list[str] | None]


class NameServer(Threaded):
    """`answer` gives the addresses of a name; `NO_SUCH_NAME`, or `SILENCE`."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.asked: list[str] = []
        """Each name once for each query."""
        self._server = socketserver.ThreadingUDPServer(("127.0.0.1", 0), _handler(self))
        self.address = f"127.0.0.1:{self._server.server_address[1]}"
        self.serve(self._server)


def _handler(server: NameServer) -> type[socketserver.BaseRequestHandler]:
    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            query, connection = self.request
            name, end = _name(query)
            server.asked.append(name)
            if (addresses := server.answer(name)) is not SILENCE:
                connection.sendto(_message(query, end, addresses), self.client_address)

    return Handler


def _name(query: bytes) -> tuple[str, int]:
    """The name that is asked for, and where the question ends (RFC 1035, section 4.1.2)."""
    labels, at = [], 12
    while length := query[at]:
        labels.append(query[at + 1 : at + 1 + length].decode("ascii"))
        at += 1 + length
    return ".".join(labels), at + 5


def _message(query: bytes, end: int, addresses: list[str]) -> bytes:
    (kind,) = struct.unpack(">H", query[end - 4 : end - 2])
    found = [address.packed for address in map(ip_address, addresses) if address.version == _TYPES.get(kind)]
    code = 0 if addresses else 3
    head = query[:2] + struct.pack(">5H", 0x8180 | code, 1, len(found), 0, 0)
    records = [struct.pack(">HHHIH", 0xC00C, kind, 1, 60, len(packed)) + packed for packed in found]
    return head + query[12:end] + b"".join(records)
