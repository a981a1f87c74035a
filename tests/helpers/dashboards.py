"""A crawl in a process of its own, with its dashboard, and a plain HTTP client for it."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from crawling import PROJECT, environment, scrapy_command


class Crawl:
    """`scrapy crawl generic` with the seeds `seeds` in `jobdir`; ended at the latest when the block is left.

    `proxied`: it uses the proxy that the environment names.
    """

    def __init__(self, seeds: str, jobdir: Path, *words: str, proxied: bool = False, **settings: object) -> None:
        given = {
            "JOBDIR": jobdir,
            "LOG_LEVEL": "INFO",
            "SITECRAWL_DELAY_FACTOR": 0,
            "SITECRAWL_SHUTDOWN_TIME": 1,
            "STATS_DUMP": True,
        }
        command = scrapy_command("crawl", "generic", "-a", f"seeds={seeds}", *words, settings={**given, **settings})
        self.jobdir = jobdir
        self.process = subprocess.Popen(
            command,
            cwd=PROJECT,
            env=dict(os.environ) if proxied else environment(),
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
        )
        self._lines: list[str] = []
        self._news = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            with self._news:
                self._lines.append(line)
                self._news.notify_all()

    @property
    def log(self) -> str:
        return "".join(self._lines)

    def line(self, begin: str, timeout: float = 30) -> str:
        """The first line that begins so."""
        with self._news:
            found = self._news.wait_for(lambda: [line for line in self._lines if line.startswith(begin)], timeout)
        assert found, self.log
        return str(found[0])

    @property
    def url(self) -> str:
        """The dashboard's address, with the token."""
        return self.line("Dashboard: ").split()[1]

    def end(self) -> int:
        """Wait for the crawl's own end, at which nothing may have gone wrong; returns the exit code."""
        code = self.process.wait(40)
        self._reader.join(10)
        assert "Traceback" not in self.log, self.log
        return code

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(10)
        self._reader.join(10)
        assert self.process.stderr is not None
        self.process.stderr.close()

    # Its dashboard

    def ask(
        self,
        path: str,
        *,
        method: str = "GET",
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        raw: bool = False,
    ) -> tuple[int, dict[str, str], bytes]:
        """Status, headers (in lower case) and body; `path` follows the token, or with `raw` replaces it."""
        parts = urlsplit(self.url)
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=20)
        sent = {"Content-Type": "application/json"} if body is not None else {}
        data = json.dumps(body).encode() if body is not None and not isinstance(body, bytes) else body
        try:
            connection.request(method, path if raw else parts.path + path, data, {**sent, **(headers or {})})
            answer = connection.getresponse()
            return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
        finally:
            connection.close()

    def json(self, path: str) -> Any:
        status, _, body = self.ask(path)
        assert status == 200, body
        return json.loads(body)

    def act(self, name: str, **fields: object) -> str:
        """Do it; returns what the crawl says."""
        status, _, body = self.ask(f"act/{name}", method="POST", body=fields)
        told = json.loads(body)
        assert status == 200, told
        return str(told["done"])

    def figures(self) -> dict[str, Any]:
        found: dict[str, Any] = self.json("overview")["workers"][0]["figures"]
        return found
