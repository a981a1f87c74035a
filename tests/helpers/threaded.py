"""A server of a test, in a thread of its own."""

from __future__ import annotations

import threading
from socketserver import BaseServer
from typing import Self


class Threaded:
    """Serves from `serve` on, until `close`, or as long as it is the context."""

    def serve(self, server: BaseServer, seconds: float = 0.01) -> None:
        """`seconds`: how often it looks whether it is to end."""
        self._serves = server
        self._thread = threading.Thread(target=server.serve_forever, args=(seconds,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._serves.shutdown()
        self._serves.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
