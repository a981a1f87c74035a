"""A web of any host, over http and https, for whoever goes through its proxy: what the documents' commands crawl."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

from certificates import certificate
from localweb import Answer
from threaded import Threaded

Pages = Callable[[str, str], Answer]
"""The answer for a host and a path."""


class WholeWeb(Threaded):
    """Serves `pages` until `close`; its certificates, which are in `folder`, are signed by itself."""

    def __init__(self, pages: Pages, folder: Path) -> None:
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._tls.load_cert_chain(certificate(folder))
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(pages, self._tls))
        self._server.daemon_threads = True
        self.root = f"http://127.0.0.1:{self._server.server_address[1]}"
        self.serve(self._server)

    @property
    def environment(self) -> dict[str, str]:
        """For processes that are to see it."""
        return {"http_proxy": self.root, "https_proxy": self.root, "no_proxy": "127.0.0.1"}


def _handler(pages: Pages, tls: ssl.SSLContext) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_CONNECT(self) -> None:
            """RFC 9110, section 9.3.6: what comes next is for the host."""
            self.send_response_only(200)
            self.end_headers()
            self.close_connection = False  # also behind HTTP/1.0, which http.client of Python 3.11 speaks here
            try:
                self.connection = tls.wrap_socket(self.connection, server_side=True)
            except OSError:  # it does not like the certificate
                self.close_connection = True
                return
            self.rfile, self.wfile = self.connection.makefile("rb"), self.connection.makefile("wb", buffering=0)

        def finish(self) -> None:
            super().finish()
            self.connection.close()

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            answer = pages(parts.netloc or self.headers.get("Host", ""), parts.path or "/")
            self.send_response(answer.status)
            for name, value in {"Content-Length": str(len(answer.body)), **answer.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(answer.body)

        do_HEAD = do_GET  # noqa: N815

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    return Handler
