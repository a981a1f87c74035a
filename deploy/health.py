"""Whether the process in this container answers: exit code 0, or 1 and why not.

    python health.py
    python health.py http://127.0.0.1:6800/daemonstatus.json

Without an address a crawl is asked for its metrics, which come from the loop that fetches and stores: `HEALTH_PORT`
and `HEALTH_TOKEN_FILE` say where its page is, and what it is to be shown. Of another server it is enough that it
wants a password.
"""

from __future__ import annotations

import os
import sys
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from urllib.parse import urlsplit

PATIENCE = 8.0
"""Seconds."""
ASKS_WHO = 401


def main(addresses: list[str]) -> int:
    try:
        address, headers = (addresses[0], {}) if addresses else crawl()
        status = ask(address, headers)
    except (OSError, HTTPException, ValueError) as error:
        print(f"{type(error).__name__}: {error}")
        return 1
    if status < 400 or (addresses and status == ASKS_WHO):
        return 0
    print(f"{address} answers {status}")
    return 1


def crawl() -> tuple[str, dict[str, str]]:
    """Where the crawl here tells its metrics, and what it wants to see first."""
    token = Path(os.environ.get("HEALTH_TOKEN_FILE", "/run/secrets/dashboard_token")).read_text().strip()
    port = os.environ.get("HEALTH_PORT", "8123")
    return f"http://127.0.0.1:{port}/metrics", {"Authorization": f"Bearer {token}"}


def ask(address: str, headers: dict[str, str]) -> int:
    """With which status a server here answers; no proxy is asked."""
    where = urlsplit(address)
    connection = HTTPConnection(where.hostname or "", where.port or 80, timeout=PATIENCE)
    try:
        connection.request("GET", where.path or "/", headers=headers)
        answer = connection.getresponse()
        answer.read()
        return answer.status
    finally:
        connection.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
