"""A process that reads documents, and breaks on some: what the first bytes say is done to it."""

from __future__ import annotations

import ctypes
import time
from typing import Any

from sitecrawl.plugins.export.documents import worker
from sitecrawl.plugins.export.documents.document import DocumentLimits

READ = worker._answer


def answer(request: dict[str, Any], body: bytes, limits: DocumentLimits) -> tuple[dict[str, Any], bytes]:
    if body == b"segfault":
        ctypes.string_at(0)
    if body == b"eat":
        bytearray(1 << 40)
    if body == b"hang":
        while True:
            time.monotonic()
    if body == b"raise":
        raise RuntimeError
    if body == b"long":
        return {"is_cut": False}, b"x" * (4 * limits.characters + 1)
    if body == b"lie":
        return {"is_cut": False, "title": ["a"]}, b""
    return READ(request, body, limits)


if __name__ == "__main__":
    vars(worker)["_answer"] = answer
    worker.main()
