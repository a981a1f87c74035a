"""A worker that reads pages, and breaks on some: what a page's name or its first bytes say is done to the process."""

from __future__ import annotations

import ctypes
import os
import time
from typing import Any

from sitecrawl.page.links import PageOptions
from sitecrawl.page.process_serving import _SOCKET
from sitecrawl.plugins.isolation import worker

READ = worker._answer


def answer(request: dict[str, Any], body: bytes, options: PageOptions) -> tuple[dict[str, Any], bytes]:
    def is_to(do: str) -> bool:
        return body.startswith(do.encode()) or request.get("url", "").endswith(f"/{do}")

    if is_to("segfault"):
        ctypes.string_at(0)
    if is_to("eat"):
        bytearray(1 << 40)
    if is_to("hang"):
        while True:
            time.monotonic()
    if is_to("exit"):
        os._exit(3)
    if is_to("noise"):
        os.write(_SOCKET, b"\xff" * 64)
    if is_to("swap"):
        said, content = READ(request, b"", options)
        said["facts"]["links"] = [["file:///etc/passwd", "", "a", False]]
        return said, content
    return READ(request, body, options)


if __name__ == "__main__":
    vars(worker)["_answer"] = answer
    worker.main()
