"""A process that keeps a redis-server running for as long as anybody holds the other end of a pipe.

    python -I -S redis_guard.py DESCRIPTOR LOCK COMMAND...

Whoever starts a crawl by many workers holds that end, and so do the workers. The system lets go of it for those that
are killed, in whatever order: so there is no Redis left that nobody needs, and none goes while one worker still tells
it what it has done. A server that is killed is started again. It inherits LOCK, which is then held while it runs.

It is a program of its own, with nothing but the standard library: it takes 8 MB, and starts in some milliseconds.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from threading import Event, Thread
from typing import Final

MOST_RESTARTS: Final = 20


def main(held: int, lock: int, command: list[str]) -> int:
    """The server's exit code; 0 where it was ended because nobody needs it."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: None)  # a handler, which the server does not inherit
    ended, code = Event(), 0
    for _ in range(1 + MOST_RESTARTS):
        server = subprocess.Popen(command, pass_fds=[lock])  # noqa: S603 - as `own_redis` has put it together
        Thread(target=_end, args=(held, ended, server), daemon=True).start()
        code = server.wait()
        if ended.is_set():
            return 0
        if code > 0:  # it says why in its log, and would only say it again
            break
    return code


def _end(held: int, ended: Event, server: subprocess.Popen[bytes]) -> None:
    """Nothing is ever written into the pipe: what is read is its end."""
    os.read(held, 1)
    ended.set()
    server.terminate()


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]))
