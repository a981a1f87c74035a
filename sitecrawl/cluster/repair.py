"""Mending a crawl on Redis: the shards first, then what the workers' directories know, then the credit.

While it lasts no step does anything (`shard.lua`), so a worker that comes waits. A repair that is killed leaves that
so, until it is begun again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from sitecrawl.base.errors import StorageError
from sitecrawl.cluster.audit import in_outboxes, is_quiet, opened, problems, unfinished
from sitecrawl.cluster.facts import REPAIR, Facts
from sitecrawl.cluster.options import MOST_CREDIT, SEED_SHARE
from sitecrawl.cluster.rebuilding import Rebuilding
from sitecrawl.cluster.records import number_of
from sitecrawl.cluster.stored_pages import StoredPages
from sitecrawl.cluster.survey import Survey
from sitecrawl.cluster.worker_store import WorkerStore

_ROUNDS: Final = 3
"""Repairs in a row: mending one thing may show another that was hidden behind it."""


@dataclass(slots=True)
class Repair:
    """What a repair found, did, and left."""

    before: list[str]
    """The faults that there were."""
    notes: list[str] = field(default_factory=list)
    """What was done that cost something, and what nobody can know."""
    after: list[str] = field(default_factory=list)


def repair(params: Mapping[str, Any], crawl: str, directories: Sequence[Path]) -> Repair:
    """Mend the crawl called `crawl`, with what is in the `directories` of its workers.

    Raises `StorageError` if workers are at work, Redis does not answer, or a directory cannot be read.
    """
    with opened(params, crawl) as (client, facts), ExitStack() as stack:
        _refuse_workers(client, facts)
        stores = [stack.enter_context(closing(WorkerStore(directory, facts))) for directory in directories]
        found = Repair([*unfinished(client, facts), *problems(client, facts)])
        if found.before or stores:
            _Mending(client, facts, stores, found).run()
        return found


def _refuse_workers(client: Any, facts: Facts) -> None:
    if not is_quiet(client, facts.keys):
        raise StorageError(
            f"Workers of the crawl {facts.keys.crawl!r} are at work, or were until a moment ago: stop them, and wait "
            "for SITECRAWL_LEASE_SECONDS"
        )


class _Mending:
    def __init__(self, client: Any, facts: Facts, stores: Sequence[WorkerStore], found: Repair) -> None:
        self._client = client
        self._facts = facts
        self._stores = stores
        self._found = found
        self._lost: Counter[str] = Counter()
        self._restored: Counter[str] = Counter()
        self._extra = 0

    def run(self) -> None:
        was_killed = any(unfinished(self._client, self._facts))
        self._facts.restore(self._client)
        self._shut()
        self._mend_shards()
        if self._stores:
            pages = StoredPages(self._client, self._facts, self._stores)
            self._restored = pages.restore()
            self._extra = pages.withdraw_extra()
        if not self._spoilt():
            self._settle()
        self._forget_limits()
        self._tell()
        if was_killed or self._has_lost:  # nobody knows what a repair that was killed has dropped
            self._read_links_again()
        self._open()
        self._found.after = list(problems(self._client, self._facts))

    def _shut(self) -> None:
        """No step does anything from here on; one that a worker made before is over."""
        for base in self._bases():
            self._client.hset(base + "crawl", REPAIR, "1")
        try:
            _refuse_workers(self._client, self._facts)
        except StorageError:
            self._open()
            raise

    def _open(self) -> None:
        for base in self._bases():
            self._client.hdel(base + "crawl", REPAIR)

    def _bases(self) -> list[str]:
        return [self._facts.keys.base(shard) for shard in range(self._facts.keys.shards)]

    def _forget_limits(self) -> None:
        """What the shards may lend of `max_pages` is reckoned anew when the next worker comes: with a new account."""
        first = self._bases()[0]
        accounts = [number_of(self._client.hget(base + "state", "account")) or 0 for base in self._bases()]
        run = [number_of(self._client.hget(first + "run", "account")) or 0]
        self._client.delete(first + "run", first + "tallies")
        self._client.hset(first + "run", mapping={"account": int(max(accounts + run)), "max_pages": -1})

    def _mend_shards(self) -> None:
        for _ in range(_ROUNDS):
            spoilt = self._spoilt()
            if not spoilt:
                return
            shards = [Rebuilding(self._client, self._facts, number) for number in spoilt]
            for shard in shards:
                shard.drop_strangers()
            most = self._most()
            for shard in shards:
                shard.rebuild(most)
                self._lost += shard.lost

    def _spoilt(self) -> list[int]:
        """Shards with faults of their own; where one cannot be read, others may show theirs later."""
        faults = list(problems(self._client, self._facts))
        return [n for n, base in enumerate(self._bases()) if any(fault.startswith(base) for fault in faults)]

    def _most(self) -> int:
        """More credit than a URL can have."""
        totals = [number_of(self._client.hget(base + "state", "total")) for base in self._bases()]
        known = [int(total) for total in totals if total is not None]
        return max(sum(known), SEED_SHARE) if len(known) == len(totals) else MOST_CREDIT

    def _settle(self) -> None:
        """The lambda pages come to hold what nobody holds."""
        keys, fingerprints = self._facts.keys, self._facts.fingerprints
        surveys = [Survey(self._client, keys, shard, fingerprints).read_urls() for shard in range(keys.shards)]
        moving = [in_outboxes(self._client, keys, survey, shard) for shard, survey in enumerate(surveys)]
        if sum(survey.count("sent") - survey.count("arrived") for survey in surveys) != sum(moving):
            for survey, amount in zip(surveys, moving, strict=True):
                self._set(survey, sent=amount, arrived=0)
        missing = sum(survey.count("total") - survey.held for survey in surveys)
        if missing:
            told = "missing: the lambda page has them" if missing > 0 else "too many"
            self._found.notes.append(f"{abs(missing):,} units of credit were {told}")
        for survey in surveys:
            taken = max(missing, -survey.count("reserve"))
            self._set(survey, reserve=survey.count("reserve") + taken)
            missing -= taken
        if missing:  # pages hold more than there ever was: then there is more
            self._set(surveys[0], total=surveys[0].count("total") - missing)

    def _set(self, survey: Survey, **numbers: int) -> None:
        if any(survey.state.get(name) != number for name, number in numbers.items()):
            self._client.hset(survey.base + "state", mapping=dict(numbers))
            survey.state.update(numbers)

    def _tell(self) -> None:
        restored = self._restored
        told = {
            "{:,} URLs that waited are lost: no key has their text any more": self._lost["urls"],
            "{:,} URLs are no longer known to be done": self._lost["done"],
            "links in {:,} outboxes are lost": self._lost["links"],
            "{:,} pages that workers have stored count as fetched now": restored["unknown"] + restored["waited"],
            "{:,} URLs of which a worker has yet to tell wait again": restored["lost"],
            "{:,} pages count as `other` now, as another worker has stored them too": self._extra,
        }
        self._found.notes += [words.format(number) for words, number in told.items() if number]

    @property
    def _has_lost(self) -> bool:
        return bool(sum((self._lost + self._restored).values()))

    def _read_links_again(self) -> None:
        for store in self._stores:
            store.read_links_again()
        self._found.notes.append(
            "the next starts of these workers read the links of their stored pages again"
            if self._stores
            else "name the workers' directories behind the URL: then what they have stored is not fetched again, and "
            "the links of their pages are read again"
        )
