"""An S3 on loopback in a process of its own: moto's server, behind what counts, slows and refuses.

    python s3_process.py BUCKET

Prints its port. `GET /_requests` is the list of `[method, path, query, status]` of all that was answered to writers;
`PUT /_faults` with a JSON object sets `delay`, seconds before each part of a body is read, `cut`, how many uploads
to come are cut off in their middle, `status`, with which every upload is answered, or 0, and
`encrypted`, whether ETags are those of KMS; with `forget` the list begins anew.
"""

from __future__ import annotations

import io
import json
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

import boto3
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server

CHUNK = 16 << 10


class Quiet(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"

    def log(self, *_: object) -> None:
        pass


class Watched:
    def __init__(self, app: Callable[..., Iterable[bytes]]) -> None:
        self._app = app
        self._lock = threading.Lock()
        self._requests: list[tuple[str, str, str, int]] = []
        self._faults: dict[str, Any] = {"delay": 0, "cut": 0, "status": 0, "encrypted": 0}

    def __call__(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        if environ["PATH_INFO"] == "/_requests":
            return self._answer(start, "200 OK", json.dumps(self._requests).encode())
        if environ["PATH_INFO"] == "/_faults":
            self._faults |= json.loads(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])))
            if self._faults.pop("forget", 0):
                self._requests.clear()
            return self._answer(start, "200 OK", b"")
        if environ["REQUEST_METHOD"] not in {"PUT", "POST"}:
            return self._app(environ, self._veiled(start) if self._faults["encrypted"] else start)
        return self._write(environ, start)

    def _write(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        if status := self._faults["status"]:
            self._note(environ, status)
            said = b"<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"
            return self._answer(start, f"{status} No", said)
        length = int(environ.get("CONTENT_LENGTH") or 0)
        body = bytearray()
        part = min(CHUNK, max(1, length // 2))
        while len(body) < length and (block := environ["wsgi.input"].read(min(part, length - len(body)))):
            body += block
            time.sleep(self._faults["delay"])
            if self._faults["cut"] and 2 * len(body) >= length and environ["REQUEST_METHOD"] == "PUT":
                self._faults["cut"] -= 1
                environ["werkzeug.socket"].shutdown(socket.SHUT_RDWR)
                break
        if len(body) < length:  # whoever sent it is gone, or was sent away
            self._note(environ, 0)
            raise ConnectionAbortedError
        environ["wsgi.input"] = io.BytesIO(bytes(body))

        def started(status: str, headers: Any, *rest: Any) -> Any:
            self._note(environ, int(status.split(maxsplit=1)[0]))
            return start(status, headers, *rest)

        return self._app(environ, started)

    @staticmethod
    def _veiled(start: Callable[..., Any]) -> Callable[..., Any]:
        """As of an object that is encrypted with a key of KMS: its ETag is no checksum."""

        def veiled(status: str, headers: list[tuple[str, str]], *rest: Any) -> Any:
            kept = [(name, value) for name, value in headers if name.lower() != "etag"]
            told = [("ETag", f'"{"0" * 32}"'), ("x-amz-server-side-encryption", "aws:kms")]
            return start(status, kept + told, *rest)

        return veiled

    def _note(self, environ: dict[str, Any], status: int) -> None:
        with self._lock:
            self._requests.append(
                (environ["REQUEST_METHOD"], environ["PATH_INFO"], environ.get("QUERY_STRING", ""), status)
            )

    @staticmethod
    def _answer(start: Callable[..., Any], status: str, body: bytes) -> Iterable[bytes]:
        start(status, [("Content-Length", str(len(body)))])
        return [body]


def main() -> None:
    app = Watched(DomainDispatcherApplication(create_backend_app))
    server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=Quiet)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    client = boto3.client(
        "s3", endpoint_url=address, aws_access_key_id="k", aws_secret_access_key="s", region_name="us-east-1"
    )
    client.create_bucket(Bucket=sys.argv[1])
    print(server.server_port, flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()
