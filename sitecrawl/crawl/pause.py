"""Pause the crawl while this machine or its network lacks something.

`sitecrawl.http.blame` decides whose fault a failure is. Pages that failed because of a want (no files, no network,
...) go back into the frontier unchanged, and the first failure begins a pause. After it one page is handed out as a
probe: if it fails for the same reason, the next pause is twice as long; as soon as any host is heard from, the crawl
goes on. If the want lasts for SITECRAWL_MAX_WANT_TIME, the crawl ends with a finish reason of its own, and the next
run goes on.

The crawl does not pause for one proxy of several, because its pages would be the probes again and again. They go
back, and their hosts rest for a while. The same holds for slow name look-ups, and, without a name server, for `GRACE`
seconds after the last answer of any host whose address is known.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from math import inf
from typing import Final

from scrapy.statscollectors import StatsCollector

from sitecrawl.base.display import duration
from sitecrawl.crawl.requests import host_of
from sitecrawl.http import Want

logger = logging.getLogger(__name__)

FIRST_PAUSE: Final = 0.5
"""Seconds; each further pause is twice as long."""
LONGEST_PAUSE: Final = 30.0
_RESTS: Final = {Want.PROXY: 5.0, Want.LOOKUPS: 5.0, Want.NAMES: 5.0}
"""Wants for which the crawl does not pause, or not at once, and the longest rest of a page's host in seconds. It
begins with `FIRST_PAUSE` and doubles until the host answers."""
GRACE: Final = 10.0
"""Seconds without an answer of any host until the crawl pauses for want of a name server."""
MAX_HOSTS: Final = 10_000
"""Most hosts whose rests are remembered."""

_WORDS: Final = {
    Want.FILES: "no more files and connections may be open (ulimit -n)",
    Want.MEMORY: "this process can have no more memory",
    Want.PORTS: "no local port is free for another connection",
    Want.BUFFERS: "the system has no buffers for another connection",
    Want.NETWORK: "the network is down: no host can be reached",
    Want.ANSWER: "no host answers: the network is down, or all hosts that were asked are",
    Want.NAMES: "no name server answers",
    Want.LOOKUPS: "names are looked up, and nothing comes",
    Want.PROXIES: "no proxy answers, or none lets the crawl through",
    Want.PROXY: "a proxy does not answer, and nothing comes by another way",
}
REASONS: Final = {f"no_{want}": f"stopped for want of something: {words}" for want, words in _WORDS.items()}
"""Scrapy's finish reasons for each want, and words for it."""


class Pause:
    """See the module. `limit`: seconds; 0 for none. `is_under_way`: whether the visit with a key is not yet over.

    `begun` is called with each pause, `ended` when pages may be asked for again, `give_up` with a finish reason when
    the limit is reached and a last probe has failed. `clock` gives monotonic seconds.
    """

    def __init__(
        self,
        stats: StatsCollector,
        *,
        limit: float,
        is_under_way: Callable[[bytes], bool],
        begun: Callable[[], None],
        ended: Callable[[], None],
        give_up: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stats = stats
        self._limit = limit or inf
        self._is_under_way = is_under_way
        self._begun = begun
        self._ended = ended
        self._give_up = give_up
        self._clock = clock
        self.want: Want | None = None
        """Current want, or None."""
        self._since = 0.0
        self._heard_at = -inf
        """Time of the last answer of a host, or of the last failure that was a host's own."""
        self._borne_since: float | None = None
        """Time of the first want without a pause since the last answer."""
        self._seconds = FIRST_PAUSE
        """Length of the current pause in seconds."""
        self._until = 0.0
        self._rests: dict[str, float] = {}
        """Rest of each host, in seconds, since it met a want without a pause."""
        self._probe: bytes | None = None
        """Key of the probing visit."""

    def __str__(self) -> str:
        """Current want in words, and for how long; empty for none."""
        return f"paused {duration(self.lasts)}: {self.why}" if self.want is not None else ""

    @property
    def why(self) -> str:
        """Current want in words; empty for none."""
        return _WORDS[self.want] if self.want is not None else ""

    @property
    def lasts(self) -> float:
        """Seconds since the want began; 0 without one."""
        return self._clock() - self._since if self.want is not None else 0.0

    def suffer(self, want: Want) -> None:
        """Note that a request failed because of `want`."""
        now = self._clock()
        if want in _RESTS and (want is not Want.NAMES or now - self._heard_at < GRACE):
            self._bear(want, now)
            return
        if self.want is None:
            self._since, self._seconds = now, FIRST_PAUSE
            self._stats.inc_value("want/pauses")
        elif self._probe is not None:
            self._tell()
            self._seconds = min(2 * self._seconds, LONGEST_PAUSE)
        else:
            return  # it was under way when the pause began
        self.want, self._probe = want, None
        self._until = min(now + self._seconds, max(now, self._since + self._limit))
        self._begun()
        if now - self._since >= self._limit:
            self._give_up(f"no_{want}")

    def _bear(self, want: Want, now: float) -> None:
        if self._borne_since is None:
            self._borne_since = now
        if now - self._borne_since >= self._limit:
            self._give_up(f"no_{want}")

    def _tell(self) -> None:
        """Log the want unless it is short."""
        if self._seconds == FIRST_PAUSE:
            logger.warning("The crawl pauses, and goes on by itself: %s", _WORDS[self.want or Want.NETWORK])

    def put_back(self, want: Want, url: str) -> float:
        """Return the seconds for which the host of a page rests that goes back because of `want`."""
        self._stats.inc_value(f"want/{want}")
        if want not in _RESTS:
            return 0.0
        if len(self._rests) >= MAX_HOSTS:
            self._rests.clear()
        host = host_of(url)
        rest = self._rests[host] = min(2 * self._rests.get(host, FIRST_PAUSE / 2), _RESTS[want])
        return rest

    def heard(self, url: str) -> None:
        """Note an answer of the host of `url`."""
        if self._rests:
            self._rests.pop(host_of(url), None)

    def end(self) -> None:
        """End the pause: a host answered or failed by its own fault."""
        self._borne_since = None
        self._heard_at = self._clock()
        if self.want is None:
            return
        if self._seconds > FIRST_PAUSE:
            logger.warning("The crawl goes on, after %s", duration(self.lasts))
        self.want = self._probe = None
        self._ended()

    def may_ask(self) -> bool:
        """Whether a page may be handed out now, as usual or as a probe."""
        if self.want is None:
            return True
        if self._probe is not None and self._is_under_way(self._probe):
            return False
        return self._clock() >= self._until

    def asked(self, key: bytes) -> None:
        """Note that the visit of `key` was handed out."""
        if self.want is not None:
            self._probe = key

    def next_time(self) -> float:
        """Seconds until the next probe."""
        return max(0.0, self._until - self._clock())
