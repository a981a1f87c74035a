"""Files on their way to a store, one after the other, in a thread of their own.

A file waits until the store has confirmed it, through as many attempts as that takes; pauses between them grow. What
was confirmed is handed out by `take`, once. A process that dies loses nothing but the knowledge of what it has sent:
`Remote.send` asks the store before it sends a file.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from sitecrawl.base.errors import SitecrawlError
from sitecrawl.plugins.remote.store import Remote, RemoteError, Sent

logger = logging.getLogger(__name__)

FIRST_PAUSE: Final = 1.0
LONGEST_PAUSE: Final = 60.0
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


def _nobody() -> None:
    """Hears that nothing waits."""


class Uploads:
    """See the module. Any thread may call."""

    def __init__(self, remote: Remote, first_pause: float = FIRST_PAUSE) -> None:
        self.remote = remote
        self.failures = 0
        """Attempts that came to nothing."""
        self.trouble = ""
        """What the last attempt met with; empty if it succeeded."""
        self._first_pause = first_pause
        self._changed = threading.Condition()
        self._queue: deque[Upload] = deque()
        self._sent: list[Sent] = []
        self._idle_listener: Callable[[], None] = _nobody
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

    @property
    def is_alive(self) -> bool:
        """Whether anything may still be sent."""
        return self._thread.is_alive()

    def take(self) -> list[Sent]:
        """What has been confirmed since the last call."""
        with self._changed:
            sent, self._sent = self._sent, []
        return sent

    def on_idle(self, listener: Callable[[], None]) -> None:
        """Call it, in some thread, when nothing waits: now, or each time that this comes about."""
        with self._changed:
            self._idle_listener = listener
            if not self._queue:
                listener()

    def stop(self) -> None:
        """Begin nothing more. What is being sent may end or not."""
        with self._changed:
            self._is_over = True
            self._changed.notify_all()

    def _work(self) -> None:
        pause = self._first_pause
        while (upload := self._next()) is not None:
            try:
                sent: Sent | None = upload.send(self.remote)
            except RemoteError as error:
                self._failed(error)
                with self._changed:
                    self._changed.wait_for(lambda: self._is_over, pause)
                pause = min(2 * pause, LONGEST_PAUSE)
                continue
            except (SitecrawlError, OSError) as error:  # of the file here: another attempt would meet the same
                logger.error("Not sent to %s: %s", self.remote.url, error)
                self.failures += 1
                sent = None
            pause = self._first_pause
            self._done(sent)

    def _next(self) -> Upload | None:
        """The oldest, when there is one; None at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._queue or self._is_over)
            return None if self._is_over else self._queue[0]

    def _failed(self, error: RemoteError) -> None:
        if not self.trouble:
            logger.warning("%s. The crawl goes on, and %d files wait to be sent", error, self.waiting)
        self.failures += 1
        self.trouble = str(error)

    def _done(self, sent: Sent | None) -> None:
        if self.trouble and sent is not None:
            logger.info("%s takes files again", self.remote.url)
            self.trouble = ""
        with self._changed:
            self._queue.popleft()
            if sent is not None:
                self._sent.append(sent)
            if not self._queue:
                self._idle_listener()
