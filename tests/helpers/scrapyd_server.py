"""A real scrapyd on loopback, in an environment without sitecrawl: what it runs comes from the eggs it is given."""

from __future__ import annotations

import json
import subprocess
import urllib.parse
import urllib.request
from collections import Counter
from pathlib import Path
from typing import Any

from crawling import environment
from installed import Environment
from ports import Port
from waiting import PATIENCE, until

_CONFIGURATION = """
[scrapyd]
bind_address = 127.0.0.1
http_port = {port}
poll_interval = 0.1
max_proc = 4
jobs_dir = jobs
items_dir = items
"""
_WITHOUT_PROXY = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Scrapyd:
    """Runs in `folder`, where it finds its configuration and keeps all it has, until `close`.

    `configuration` has `{port}` where the port belongs.
    """

    project = "sitecrawl"

    def __init__(
        self, environ: Environment, folder: Path, configuration: str = _CONFIGURATION, **changes: str
    ) -> None:
        self.folder = folder
        folder.mkdir()
        self._port = Port()
        port = str(self._port.number)
        self.url = f"http://127.0.0.1:{port}"
        folder.joinpath("scrapyd.conf").write_text(configuration.replace("{port}", port))
        self._log = folder.joinpath("scrapyd.log").open("w")
        self._process = subprocess.Popen(
            [environ.python, "-m", "scrapyd"],
            cwd=folder,
            env=environment(**changes),
            stdout=self._log,
            stderr=subprocess.STDOUT,
        )
        until(lambda: self._answers() or self._process.poll() is not None, lambda: f"scrapyd answers: {self.log()}")
        assert self._process.poll() is None, self.log()

    def _answers(self) -> bool:
        try:
            return bool(self.get("daemonstatus"))
        except OSError:
            return False

    def log(self) -> str:
        return self.folder.joinpath("scrapyd.log").read_text()

    def get(self, service: str, **values: str) -> dict[str, Any]:
        return self._ask(f"{self.url}/{service}.json?{urllib.parse.urlencode(values)}")

    def post(self, service: str, *pairs: tuple[str, str]) -> dict[str, Any]:
        return self._ask(f"{self.url}/{service}.json", urllib.parse.urlencode(pairs).encode())

    def _ask(self, url: str, data: bytes | None = None) -> dict[str, Any]:
        with _WITHOUT_PROXY.open(url, data, timeout=PATIENCE) as response:
            answer: dict[str, Any] = json.load(response)
        assert answer["status"] == "ok", answer
        return answer

    def schedule(self, seeds: str, *pairs: tuple[str, str], spider: str = "generic") -> str:
        """Without pauses between requests; gives the job's id."""
        settings = ("setting", "SITECRAWL_DELAY_FACTOR=0")
        return str(
            self.post("schedule", ("project", self.project), ("spider", spider), ("seeds", seeds), settings, *pairs)[
                "jobid"
            ]
        )

    def jobs(self, state: str) -> Counter[str]:
        """The ids of the jobs that are `running` or `finished`; one id may have been scheduled several times."""
        return Counter(job["id"] for job in self.get("listjobs", project=self.project)[state])

    def cancel(self, job: str) -> None:
        assert self.post("cancel", ("project", self.project), ("job", job))["prevstate"] == "running"

    def wait(self, job: str, *, times: int = 1) -> str:
        """Until the job is over, for the so-many-th time; gives its log."""
        until(lambda: self.jobs("finished")[job] >= times, lambda: f"job {job} is over: {self.log()}")
        return self.job_log(job)

    def job_log(self, job: str, spider: str = "generic") -> str:
        path = self.folder / "logs" / self.project / spider / f"{job}.log"
        return path.read_text() if path.exists() else ""

    def job_directory(self, name: str, spider: str = "generic") -> Path:
        return self.folder / "jobs" / self.project / spider / name

    def items(self, job: str, spider: str = "generic") -> list[dict[str, Any]]:
        path = self.folder / "items" / self.project / spider / f"{job}.jl"
        return [json.loads(line) for line in path.read_text().splitlines()]

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(PATIENCE)
        self._log.close()
        self._port.close()
