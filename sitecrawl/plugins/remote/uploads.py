"""Files on their way to a store, one after the other, in a thread of their own.

A file waits until the store has confirmed it, through as many attempts as that takes; pauses between them grow.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from sitecrawl.base.display import counted
from sitecrawl.base.errors import SitecrawlError
from sitecrawl.plugins.remote.store import Remote, RemoteError, Sent

logger = logging.getLogger(__name__)

_FIRST_PAUSE: Final = 1.0
_LONGEST_PAUSE: Final = 60.0
"""Seconds after a failed attempt; each is twice the one before."""


class Upload(NamedTuple):
    """A file that is to be sent."""

    name: str
    """Below the store's URL."""
    path: Path
    make: Callable[[], None] | None = None
    """Makes the file, which goes when it has been sent; None for one that is there and stays."""

    def send(self, remote: Remote) -> Sent:
        """Raises as `Remote.send` does."""
        if self.make is None:
            return remote.send(self.path, self.name)
        try:
            self.make()
            return remote.send(self.path, self.name, changes=True)
        finally:
            self.path.unlink(missing_ok=True)


def files_at(url: str, number: int) -> str:
    """How many WARC files the store at `url` has, in words."""
    return f"{counted(number, 'WARC file')} at {url}"


class Uploads:
    """See the module."""

    def __init__(self, remote: Remote, first_pause: float = _FIRST_PAUSE) -> None:
        self.remote = remote
        self.files = 0
        """Files that the store has, without those that were made."""
        self.sent = 0
        """Bytes that were sent."""
        self.failures = 0
        """Attempts that came to nothing."""
        self._first_pause = first_pause
        self._changed = threading.Condition()
        self._queue: deque[Upload] = deque()
        self._is_over = False
        self._thread = threading.Thread(target=self._work, name="uploads", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def add(self, upload: Upload) -> None:
        with self._changed:
            self._queue.append(upload)
            self._changed.notify_all()

    @property
    def waiting(self) -> int:
        """Files that are not confirmed, the one that is being sent among them."""
        return len(self._queue)

    def __str__(self) -> str:
        waiting = f", {self.waiting:,} waiting" if self.waiting else ""
        return f"{files_at(self.remote.url, self.files)}{waiting}"

    def stop(self) -> None:
        """Begin nothing more. What is being sent may end or not."""
        with self._changed:
            self._is_over = True
            self._changed.notify_all()

    def _work(self) -> None:
        while (upload := self._next()) is not None:
            if self._bring(upload):
                self._queue.popleft()

    def _next(self) -> Upload | None:
        """The oldest, when there is one; None at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._queue or self._is_over)
            return None if self._is_over else self._queue[0]

    def _bring(self, upload: Upload) -> bool:
        """Try until the store has it, or nobody can send it; False where all is over before."""
        pause = self._first_pause
        while not self._is_over:
            try:
                sent = upload.send(self.remote)
            except RemoteError as error:
                if pause == self._first_pause:
                    logger.warning("%s. The crawl goes on, and %d files wait to be sent", error, self.waiting)
                self.failures += 1
                with self._changed:
                    self._changed.wait_for(lambda: self._is_over, pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
            except (SitecrawlError, OSError) as error:  # of the file here: another attempt would meet the same
                logger.error("Not sent to %s: %s", self.remote.url, error)
                self.failures += 1
                return True
            else:
                if pause > self._first_pause:
                    logger.info("%s takes files again", self.remote.url)
                self.files += upload.make is None
                self.sent += sent.size if sent.is_new else 0
                return True
        return False
