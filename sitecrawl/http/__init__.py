"""An HTTP/1.1 client for a crawler: it keeps what came over the wire unchanged, and limits everything."""

from sitecrawl.http.blame import Want
from sitecrawl.http.client import Client, Download, Found
from sitecrawl.http.connection import Connection, Endpoint
from sitecrawl.http.errors import (
    BadCertificate,
    BadResponse,
    ConnectionFailed,
    ConnectionLost,
    Enough,
    Fault,
    HttpError,
    Lacking,
    NotAnswered,
    OverLimit,
    Truncated,
    UnknownHost,
    Unresolved,
)
from sitecrawl.http.names import Names
from sitecrawl.http.proxies import Proxy, login_in
from sitecrawl.http.reader import ReadLimits, ResponseReader
from sitecrawl.http.request import Request
from sitecrawl.http.tls import Tls, Verify

__all__ = [
    "BadCertificate",
    "BadResponse",
    "Client",
    "Connection",
    "ConnectionFailed",
    "ConnectionLost",
    "Download",
    "Endpoint",
    "Enough",
    "Fault",
    "Found",
    "HttpError",
    "Lacking",
    "Names",
    "NotAnswered",
    "OverLimit",
    "Proxy",
    "ReadLimits",
    "Request",
    "ResponseReader",
    "Tls",
    "Truncated",
    "UnknownHost",
    "Unresolved",
    "Verify",
    "Want",
    "login_in",
]
