"""Look up names, such that silent name servers do not hold up other names.

Anybody can link to thousands of names whose name server is silent. Each look-up takes all of its time, and a
download that waits for it has a place among those under way. Guaranteed, whatever the constants are:

- *Places of downloads.* At most `most_slow` downloads wait for names that take longer than `_SLOW`. Others go back
into the frontier (`Want.LOOKUPS`); their look-ups continue, and the result is there when the page comes again.

- *Places of a zone.* While `_ZONE_PLACES` look-ups of a zone, a registrable domain, are slow, no other of it begins.

- *Time.* A look-up takes `_LONGEST` at most.

- *No repeated waiting.* A silent name fails at once for a while, and so does every name below a label under which
`EVERYBODY` names were silent and none has answered (RFC 2308, section 7). That holds only if another answer came
after that silence began, or a caller has found that other names answer (`condemn`): callers of a name server that is
gone learn of it each time.

`ask` may be any resolver, and is not trusted to end.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from sitecrawl.http.blame import EVERYBODY, Want
from sitecrawl.http.client import Found
from sitecrawl.http.errors import Lacking, NotAnswered, UnknownHost, Unresolved
from sitecrawl.urls.url import zone_of

Ask = Callable[[str], Awaitable[Sequence[str]]]

_SLOW: Final = 0.5
"""Seconds after which a look-up is slow."""
_LONGEST: Final = 10.0
"""Seconds for a look-up."""
_ZONE_PLACES: Final = 4
_FIRST_REST: Final = 30.0
"""Seconds for which a silent name is not asked for again; each further silence doubles them."""
_LONGEST_REST: Final = 300.0
"""RFC 2308, section 7.2."""
_LABELS: Final = 4
"""Labels below the zone that are distinguished; deeper names count with those above."""
_REMEMBERED: Final = 10_000
"""Most silent names and labels remembered, and as many that have answered."""


@dataclass(slots=True)
class _LookUp:
    """A look-up under way."""

    task: asyncio.Task[Sequence[str]]
    begun: float


@dataclass(slots=True)
class _Silence:
    """Record of a silent name, or of all names below a silent label."""

    names: set[str] = field(default_factory=set)
    """Some of them, up to `EVERYBODY`."""
    begun: float = 0.0
    """Start of the last of these look-ups."""
    until: float = 0.0
    rest: float = _FIRST_REST / 2
    is_own: bool = False
    """Whether it is known to be its own fault."""


class Names:
    """`ask` looks up a name and raises `UnknownHost` or `Unresolved`; `ask_anew` does so bypassing caches.
    `cache_size`: names whose addresses are kept. `clock` gives monotonic seconds.
    """

    def __init__(
        self,
        ask: Ask,
        ask_anew: Ask,
        *,
        cache_size: int,
        most_slow: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ask = ask
        self._ask_anew = ask_anew
        self._cache_size = cache_size
        self._most_slow = most_slow
        self._clock = clock
        self._known: OrderedDict[str, Sequence[str]] = OrderedDict()
        self._under_way: dict[str, dict[str, _LookUp]] = {}
        """Look-ups under way, by zone and name."""
        self._waiting = 0
        """Downloads that wait for slow ones."""
        self._silent: OrderedDict[str, _Silence] = OrderedDict()
        """Silent names and labels; a label stands for all names below it."""
        self._heard: OrderedDict[str, None] = OrderedDict()
        """Labels below which a name has answered."""
        self._answered = 0.0
        """Time of the last answer to any look-up."""

    async def look_up(self, name: str, *, fresh: bool = False) -> Found:
        """See `client.LookUp`. Also raises `NotAnswered`, and `Lacking` if no place is free."""
        if fresh:  # who asks so wants to know whether anybody is there, and asks for few
            return Found(await self._answer(self._ask_anew, name))
        if (known := self._known.get(name)) is not None:
            return Found(known, is_fresh=False)
        looking = self._looked_up(name)
        await asyncio.wait([looking.task], timeout=max(0.0, looking.begun + _SLOW - self._clock()))
        if not looking.task.done():
            await self._wait(name, looking.task)
        return Found(looking.task.result())

    def condemn(self, name: str) -> None:
        """Note that the silence of `name` is its own: this machine's name server works."""
        for label in _labels(name):
            if label in self._silent:
                self._silent[label].is_own = True

    def close(self) -> None:
        """End what is under way."""
        for zone in self._under_way.values():
            for looking in zone.values():
                looking.task.cancel()

    def _looked_up(self, name: str) -> _LookUp:
        """The look-up of `name`, which may have begun before."""
        zone = self._under_way.setdefault(zone_of(name), {})
        if name not in zone:
            self._check(name, zone)
            task = asyncio.ensure_future(self._find(name))
            task.add_done_callback(_noted)  # whoever wanted to know may have left
            zone[name] = _LookUp(task, self._clock())
        return zone[name]

    def _check(self, name: str, zone: dict[str, _LookUp]) -> None:
        if (silent := self._is_silent(name)) is not None:
            raise NotAnswered(f"No name server says anything of {silent}, and one did of others")
        slow = self._clock() - _SLOW
        if sum(looking.begun <= slow for looking in zone.values()) >= _ZONE_PLACES:
            raise Lacking(Want.LOOKUPS, f"Other names of the zone of {name} are being looked up, and nothing comes")

    async def _wait(self, name: str, task: asyncio.Task[Sequence[str]]) -> None:
        """Wait for `task`. Raises `Lacking` if too many wait."""
        if self._waiting >= self._most_slow:
            raise Lacking(Want.LOOKUPS, f"{name} is being looked up, and that takes long")
        self._waiting += 1
        try:
            await asyncio.wait([task])
        finally:
            self._waiting -= 1

    async def _find(self, name: str) -> Sequence[str]:
        zone, begun = zone_of(name), self._clock()
        try:
            found = await self._answer(self._ask, name)
        except Unresolved:
            self._was_silent(name, begun)
            raise
        else:
            self._keep(name, found)
            return found
        finally:
            del self._under_way[zone][name]
            if not self._under_way[zone]:
                del self._under_way[zone]

    async def _answer(self, ask: Ask, name: str) -> Sequence[str]:
        try:
            async with asyncio.timeout(_LONGEST):
                found = await ask(name)
        except TimeoutError as error:
            raise Unresolved(f"No name server says anything of {name}", stated=True) from error
        except UnknownHost:
            self._was_heard(name)
            raise
        self._was_heard(name)
        return found

    def _keep(self, name: str, addresses: Sequence[str]) -> None:
        self._known[name] = addresses
        _limit(self._known, self._cache_size)

    def _is_silent(self, name: str) -> str | None:
        """The silent label: `name` itself, or one above it; else None."""
        now = self._clock()
        for label in _labels(name):
            silence = self._silent.get(label)
            if silence is None or now >= silence.until:
                continue
            is_own = silence.is_own or silence.begun < self._answered
            if is_own and (label == name or len(silence.names) >= EVERYBODY):
                return label
        return None

    def _was_silent(self, name: str, begun: float) -> None:
        for label in _labels(name):
            if label in self._heard:
                continue
            silence = self._silent.setdefault(label, _Silence())
            self._silent.move_to_end(label)
            if len(silence.names) < EVERYBODY:
                silence.names.add(name)
            silence.begun = begun
            if self._clock() >= silence.until:
                silence.rest = min(2 * silence.rest, _LONGEST_REST)
                silence.until = self._clock() + silence.rest
                silence.is_own = False
        _limit(self._silent, _REMEMBERED)

    def _was_heard(self, name: str) -> None:
        self._answered = self._clock()
        for label in _labels(name):
            self._silent.pop(label, None)
            self._heard[label] = None
            self._heard.move_to_end(label)
        _limit(self._heard, _REMEMBERED)


def _noted(task: asyncio.Task[Sequence[str]]) -> None:
    if not task.cancelled():
        task.exception()


def _labels(name: str) -> Iterator[str]:
    """`name`, and what is above it, down to its zone; of a deep name, the `_LABELS` nearest to the zone."""
    zone = zone_of(name)
    below = name.removesuffix(zone).strip(".").split(".") if name != zone else []
    near = below[-_LABELS:]
    yield from dict.fromkeys([name, *(".".join([*near[start:], zone]) for start in range(len(near) + 1))])


def _limit(known: OrderedDict[str, Any], size: int) -> None:
    while len(known) > size:
        known.popitem(last=False)
