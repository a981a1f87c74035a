"""A crawl in a process of its own, with its dashboard, and a plain HTTP client for it."""

from __future__ import annotations

import http.client
import itertools
import json
import os
import re
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

import forks
import small_limits
from crawling import environment, with_settings
from waiting import PATIENCE, until

_numbers = itertools.count(1)
"""Of logs."""


class Crawl:
    """`scrapy crawl generic` with the seeds `seeds` in `jobdir`; ended at the latest when the block is left.

    `proxied`: it uses the proxy that the environment names.
    """

    def __init__(self, seeds: str, jobdir: Path, *words: str, proxied: bool = False, **settings: Any) -> None:
        limits = small_limits.as_variable(settings.pop("LIMITS", {}))
        given = {
            "JOBDIR": jobdir,
            "LOG_LEVEL": "INFO",
            "SITECRAWL_DELAY_FACTOR": 0,
            "STATS_DUMP": True,
        }
        command = with_settings("crawl", "generic", "-a", f"seeds={seeds}", *words, settings={**given, **settings})
        self._token = str(settings.get("SITECRAWL_DASHBOARD_TOKEN", ""))
        env = {**(os.environ if proxied else environment()), **limits}
        self.jobdir = jobdir
        self._log = jobdir.with_name(f"{jobdir.name}-{next(_numbers)}.log")
        self._log.touch()
        self.process = forks.start(command, env, Path(os.devnull), self._log)

    @property
    def log(self) -> str:
        return self._log.read_text()

    def line(self, begin: str, timeout: float = PATIENCE) -> str:
        """The first whole line that begins so."""
        found = re.compile(rf"^{re.escape(begin)}.*\n", re.MULTILINE)
        return until(lambda: found.search(self.log), lambda: f"{begin!r} in {self.log}", timeout)[0]

    @property
    def url(self) -> str:
        """The dashboard's address, with the token."""
        shown = self.line("Dashboard: ").split()[1]
        return shown.replace("SITECRAWL_DASHBOARD_TOKEN", self._token)

    def end(self) -> int:
        """Wait for the crawl's own end, at which nothing may have gone wrong; returns the exit code."""
        code = self.process.wait(PATIENCE)
        assert "Traceback" not in self.log, self.log
        return code

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(PATIENCE)

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
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=PATIENCE)
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
