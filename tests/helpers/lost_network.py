"""A crawl whose network vanishes and comes back. To be run in a network of its own, which nobody else is on:

    unshare --user --map-root-user --net python lost_network.py DIRECTORY HOSTS

Serves a page on each of 127.0.1.1 ... 127.0.1.HOSTS, the first of which links to all others, and crawls them into
DIRECTORY. After a few pages the network is down until the crawl's log says that it pauses. Prints what was asked for.
"""

from __future__ import annotations

import fcntl
import json
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

from crawling import PROJECT, environment, scrapy_command
from localweb import LocalWeb, linked
from waiting import PATIENCE, until

SETTINGS = {
    "SITECRAWL_DELAY_FACTOR": 0,
    "SITECRAWL_MAX_IDLE_TIME": 0.5,
    "SITECRAWL_DASHBOARD": False,
    "STATS_DUMP": True,
    "LOG_LEVEL": "INFO",
    "CONCURRENT_REQUESTS": 4,
}
_SIOCSIFFLAGS = 0x8914
_IFF_UP = 1


def loopback(*, up: bool) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh", b"lo", _IFF_UP * up) + bytes(14))


def main(directory: Path, hosts: int) -> int:
    enough, log = threading.Event(), directory / "log"

    def page(path: str, host: str) -> str | None:
        if path == "/robots.txt":
            return None
        if len(web.paths()) > hosts // 4:
            enough.set()
        time.sleep(0.05)
        others = (f"http://127.0.1.{number}:{web.port}/" for number in range(2, hosts + 1))
        return linked(*others) if host.startswith("127.0.1.1:") else f"page of {host}"

    loopback(up=True)
    with LocalWeb(page, address="0.0.0.0") as web:
        words = ("crawl", "generic", "-a", f"seeds=http://127.0.1.1:{web.port}/", "-a", "scope=any")
        settings = {**SETTINGS, "SITECRAWL_ALLOW_PRIVATE": True, "JOBDIR": directory / "job"}
        with log.open("wb") as stderr:
            crawl = subprocess.Popen(
                scrapy_command(*words, settings=settings), cwd=PROJECT, env=environment(), stderr=stderr
            )
        try:
            until(enough.is_set, "some pages")
            loopback(up=False)
            until(lambda: "The crawl pauses" in log.read_text(), "the pause")
            loopback(up=True)
            code = crawl.wait(PATIENCE)
        finally:
            crawl.kill()
        print(json.dumps([hit.host for hit in web.hits if hit.path == "/"]))
    return code


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), int(sys.argv[2])))
