"""A worker's leases, and the thread that renews them over a connection of its own.

Nothing in the crawl's loop can delay it, and no load on the machine that makes that loop slow.

Invariants:

- When a lease is over is Redis' to say. The worker's own clock tells only how long ago a renewal was sent. Redis took
  it no sooner than that, so the lease lasts for its whole length from then on, at least.
- Of a partition whose last renewal was sent half a lease ago nothing is handed out: who cannot reach Redis stops
  before others have what was his.
- Nothing is renewed while the loop has not moved for `hung_seconds`: a worker that hangs loses what it has.
- A worker gets there in the end, however slow: leases grow until renewals come in time, and who was taken for hung
  and goes on has twice as long from then on. Else two such workers might take a partition from one another for ever.
- Whatever is late, or wrong here, costs fetches and no page: `commit.lua` takes nothing from who has no lease.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Sequence
from threading import Event, Lock, Thread
from typing import Any, Final

import redis
from redis.exceptions import NoScriptError

from sitecrawl.cluster.run import PLACE
from sitecrawl.cluster.steps import Keys, script

ROUNDS: Final = 6
"""Renewals in the length of a lease."""
LONGEST: Final = 4.0
"""Largest length of a lease where renewing is slow, in times of the setting: twice that after each renewal that
came too late all the same."""
_RECENT: Final = 16
"""Renewals by which the length is decided."""
_MARGIN: Final = 4.0
"""Length of a lease in times of the slowest renewal."""
_HUNG_LEASES: Final = 4.0
_HUNG_SECONDS: Final = 60.0
"""At least: a checkpoint that takes in a large partition may block the loop for half of that."""
_LAST_SECONDS: Final = 5.0
"""For which the end waits for a renewal that is under way."""

logger = logging.getLogger(__name__)


class Leases:
    """Those of one worker, as both threads know them. `seconds` is their length by the settings; `clock` gives
    monotonic seconds.
    """

    def __init__(self, seconds: float, clock: Callable[[], float]) -> None:
        self.shortest: Final = seconds
        self._clock = clock
        self._lock = Lock()
        self._tokens: dict[int, int] = {}
        self._sure_until: dict[int, float] = {}
        self._lost: set[tuple[int, int]] = set()
        self._took = deque[float](maxlen=_RECENT)
        self._longest = LONGEST * seconds

    @property
    def seconds(self) -> float:
        """Length of a lease that is given or renewed now."""
        return min(max(self.shortest, _MARGIN * max(self._took, default=0.0)), self._longest)

    @property
    def ms(self) -> int:
        return int(1000 * self.seconds)

    @property
    def held(self) -> dict[int, int]:
        """The token of each partition that is renewed."""
        with self._lock:
            return dict(self._tokens)

    def hold(self, partition: int, token: int, sure_until: float) -> None:
        """A partition was lent. Its URLs may be handed out until then, if it is not renewed."""
        with self._lock:
            self._tokens[partition] = token
            self._sure_until[partition] = sure_until

    def drop(self, partition: int, token: int) -> None:
        """Stop renewing the lease."""
        with self._lock:
            self._lost.discard((partition, token))
            if self._tokens.get(partition) == token:
                del self._tokens[partition], self._sure_until[partition]

    def renewed(self, partition: int, token: int, sure_until: float) -> None:
        """Redis has taken a renewal."""
        with self._lock:
            if self._tokens.get(partition) == token and (partition, token) not in self._lost:
                self._sure_until[partition] = max(self._sure_until[partition], sure_until)

    def is_over(self, partition: int, token: int) -> None:
        """Redis says that it is not this worker's any more."""
        with self._lock:
            if self._tokens.get(partition) == token:
                self._sure_until[partition] = 0.0
                self._lost.add((partition, token))

    def took(self, seconds: float) -> None:
        """Note the time between sending the previous renewal and the answer to this one."""
        if 2 * seconds < LONGEST * self.shortest:
            self._longest = LONGEST * self.shortest
        elif self.seconds == self._longest <= 2 * seconds:
            self._longest *= 2
        self._took.append(seconds)

    def is_sure(self, partition: int) -> bool:
        """Whether URLs of a partition may be handed out."""
        return self._clock() < self._sure_until.get(partition, 0.0)

    @property
    def are_all_unsure(self) -> bool:
        """Whether URLs of none may be."""
        with self._lock:
            latest = max(self._sure_until.values(), default=0.0)
        return self._clock() >= latest

    def has_lost(self, partition: int, token: int) -> bool:
        return (partition, token) in self._lost


class Renewal:
    """See the module. `connect` makes the blocking client, which only the thread uses and which waits for an answer
    for no longer than so many seconds; `session` is the worker's name.
    """

    def __init__(
        self,
        leases: Leases,
        keys: Keys,
        session: str,
        connect: Callable[[float], Any],
        *,
        clock: Callable[[], float],
    ) -> None:
        self.leases: Final = leases
        self.hung_seconds = max(_HUNG_LEASES * leases.shortest, _HUNG_SECONDS)
        self.is_resting = False
        """Whether the worker has no use for partitions just now, and does not count as alive."""
        self._keys = keys
        self._session = session
        self._connect = connect
        self._clock = clock
        self._client: Any = None
        self._moves = self._moves_seen = 0
        self._still = 0
        """Rounds in which the loop has not moved. A process that was stopped has had none."""
        self._sent_at = 0.0
        self._is_hung = self._is_unsure = False
        self._ends = Event()
        self._thread: Thread | None = None

    def moved(self) -> None:
        """The crawl's loop goes on: to be said every second or so."""
        self._moves += 1

    @property
    def step(self) -> float:
        """Seconds between two renewals."""
        return self.leases.shortest / ROUNDS

    # The thread

    def start(self) -> None:
        self._thread = Thread(target=self._run, name="leases", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Renew nothing more: when this returns nothing is under way, if Redis answers."""
        self.cease()
        if self._thread is None:
            self._hang_up()
        else:
            self._thread.join(_LAST_SECONDS)

    def cease(self) -> None:
        """The same without waiting."""
        self._ends.set()

    def _run(self) -> None:
        while not self._ends.is_set():
            self.round()
            self._ends.wait(self.step)
        self._hang_up()

    def round(self) -> None:
        """Renew all leases once. A Redis that is away is asked again by the next round."""
        now = self._clock()
        if not self._loop_moves():
            return
        before, self._sent_at = self._sent_at, now
        ms, held = self.leases.ms, self.leases.held
        renewal = (0, "", "", 0, "", 0)
        calls: list[tuple[str, int, Sequence[Any]]] = [
            ("commit", partition, (token, self._session, ms, *renewal)) for partition, token in held.items()
        ]
        calls.append(("beat", PLACE, (self._session, 0 if self.is_resting else ms)))
        answers = self._ask(calls)
        for (partition, token), answer in zip(held.items(), answers, strict=False):
            if isinstance(answer, int):
                self.leases.renewed(partition, token, now + ms / 2000)
            elif answer == b"fenced":
                self.leases.is_over(partition, token)
        if before and not _is_away(answers[-1]):
            self.leases.took(self._clock() - before)
        self._tell(is_unsure=bool(held) and self.leases.are_all_unsure)

    def _tell(self, *, is_unsure: bool) -> None:
        if is_unsure and not self._is_unsure:
            logger.warning("Redis has renewed no lease in time: nothing is fetched until it does")
        self._is_unsure = is_unsure

    def _loop_moves(self) -> bool:
        self._still += 1
        if self._moves != self._moves_seen:
            self._moves_seen, self._still = self._moves, 0
            self.hung_seconds *= 2 if self._is_hung else 1
        was_hung, self._is_hung = self._is_hung, self._still * self.step > self.hung_seconds
        if self._is_hung and not was_hung:
            logger.warning("The worker hangs: others have its partitions when its leases are over")
        return not self._is_hung

    def _ask(self, calls: Sequence[tuple[str, int, Sequence[Any]]]) -> list[Any]:
        """The answer to each step, or its error; that alone where Redis is away."""
        try:
            if self._client is None:
                self._client = self._connect(self.leases.seconds / 2)
            if isinstance(self._client, redis.RedisCluster):
                return [self._ask_node(call) for call in calls]
            pipeline = self._client.pipeline(transaction=False)
            for step, partition, args in calls:
                pipeline.execute_command("EVALSHA", script(step)[1], 1, self._keys.base(partition), *args)
            answers = pipeline.execute(raise_on_error=False)
            return [
                self._load(call) if isinstance(answer, NoScriptError) else answer
                for call, answer in zip(calls, answers, strict=True)
            ]
        except (redis.RedisError, OSError) as error:
            self._hang_up()
            return [error]

    def _ask_node(self, call: tuple[str, int, Sequence[Any]]) -> Any:
        """On a Redis Cluster: one node may be away while the others are not."""
        step, partition, args = call
        try:
            return self._client.execute_command("EVALSHA", script(step)[1], 1, self._keys.base(partition), *args)
        except NoScriptError:
            return self._load(call)
        except (redis.RedisError, OSError) as error:
            return error

    def _load(self, call: tuple[str, int, Sequence[Any]]) -> Any:
        step, partition, args = call
        try:
            return self._client.eval(script(step)[0], 1, self._keys.base(partition), *args)
        except redis.ResponseError as error:  # a Redis that is full refuses who is alive, and renews leases
            return error

    def _hang_up(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None


def _is_away(answer: Any) -> bool:
    """Whether Redis was not reached. Of one that is too slow the time counts."""
    return isinstance(answer, redis.RedisError | OSError) and not isinstance(
        answer, redis.ResponseError | redis.TimeoutError
    )
