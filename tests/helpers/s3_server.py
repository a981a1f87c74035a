"""An S3 on loopback for tests: see `s3_process.py`."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import ProxyHandler, Request, build_opener

import boto3
from crawling import environment

HERE = Path(__file__).parent
BUCKET = "pages"
SECRET = "not-for-logs-7f3a"
_OPENER = build_opener(ProxyHandler({}))


class S3:
    """The server, and a bucket on it that is there."""

    def __init__(self, folder: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / "s3_process.py"), BUCKET],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment(),
            text=True,
        )
        assert self._process.stdout is not None
        self.address = f"http://127.0.0.1:{int(self._process.stdout.readline())}"
        self._secret = folder / "secret"
        self._secret.write_text(SECRET)
        self._client: Any = boto3.client(
            "s3",
            endpoint_url=self.address,
            aws_access_key_id="k",
            aws_secret_access_key="s",
            region_name="us-east-1",
        )

    @property
    def options(self) -> dict[str, str]:
        """SITECRAWL_REMOTE_OPTIONS."""
        return {"endpoint_url": self.address, "key": "somebody", "secret": f"@{self._secret}"}

    def settings(self, url: str = f"s3://{BUCKET}/crawls") -> dict[str, object]:
        return {"SITECRAWL_REMOTE": url, "SITECRAWL_REMOTE_OPTIONS": json.dumps(self.options)}

    def faults(self, **faults: float) -> None:
        """See `s3_process.py`."""
        _OPENER.open(Request(f"{self.address}/_faults", json.dumps(faults).encode(), method="PUT")).close()

    def requests(self) -> list[tuple[str, str, str, int]]:
        """What writers asked for: method, path, query, and the status that was answered; 0 for none."""
        with _OPENER.open(f"{self.address}/_requests") as answer:
            return [tuple(one) for one in json.load(answer)]

    def written(self) -> Counter[str]:
        """How often each object has come to be there."""
        return Counter(
            path.removeprefix(f"/{BUCKET}/")
            for method, path, query, status in self.requests()
            if status == 200
            and ((method == "PUT" and "partNumber" not in query) or (method == "POST" and "uploadId" in query))
        )

    def objects(self) -> dict[str, bytes]:
        listed = self._client.list_objects_v2(Bucket=BUCKET).get("Contents", [])
        return {one["Key"]: self._client.get_object(Bucket=BUCKET, Key=one["Key"])["Body"].read() for one in listed}

    def clear(self) -> None:
        """Nothing is in the bucket, and nothing was asked for."""
        for key in self.objects():
            self._client.delete_object(Bucket=BUCKET, Key=key)
        self.faults(forget=1)

    def close(self) -> None:
        self._process.terminate()
        self._process.communicate()


@contextmanager
def s3_server(folder: Path) -> Iterator[S3]:
    server = S3(folder)
    try:
        yield server
    finally:
        server.close()
