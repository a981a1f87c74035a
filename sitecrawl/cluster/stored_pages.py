"""What the stored pages of the workers say to the frontier on Redis, after that was damaged.

A page that is stored and of which Redis knows nothing, or whose URL waits there, would be fetched and stored again:
it counts as fetched from now on. A page that its worker has yet to tell of is left to that: if its lease is over by
then, the page is withdrawn, so its URL has to wait again. Of pages that several workers have stored one stays, one
of which Redis has heard, and of these the last.
"""

from __future__ import annotations

import secrets
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from sitecrawl.base.batches import batches
from sitecrawl.cluster.facts import Facts
from sitecrawl.cluster.options import ClusterOptions, limits_of
from sitecrawl.cluster.parcel import Outcome, Packer, Parcel, ParcelLink
from sitecrawl.cluster.rebuilding import mend
from sitecrawl.cluster.records import A_TIME, Reading
from sitecrawl.cluster.shards import pack, script
from sitecrawl.cluster.survey import MOST_KEYS, literal
from sitecrawl.cluster.worker_store import WorkerStore
from sitecrawl.frontier.record import Flag, UrlState
from sitecrawl.pagestore import Capture
from sitecrawl.seen.clock import Clock

_KNOWN, _WAITS, _UNKNOWN, _LOST = range(4)
_SESSION: Final = "repair"


class _Page(NamedTuple):
    key: bytes
    capture: Capture


class StoredPages:
    """Those of `stores`, against the crawl on Redis, all of whose shards are whole."""

    def __init__(self, client: Any, facts: Facts, stores: Sequence[WorkerStore]) -> None:
        self._client = client
        self._facts = facts
        self._stores = stores
        self._fingerprints = facts.fingerprints
        self._unsent = _keys_of(parcel for store in stores for parcel in store.unsent)
        """Fingerprints of URLs of which Redis may not have heard."""
        self._untold: defaultdict[Path, set[bytes]] = defaultdict(set)
        """Those of which it certainly has not, by their worker."""
        self._readings = [Reading(facts.keys, shard, self._fingerprints) for shard in range(facts.keys.shards)]

    def restore(self) -> Counter[str]:
        """Let Redis know of them. Returns how many were `unknown`, of URLs that `waited`, and of `lost` URLs."""
        self._recall_parcels()
        found = Counter((shard, case) for shard, pages in self._cases() for case, _ in pages)
        # Of some it is meant: requests without filter leave nothing behind.
        blind = {
            shard for (shard, case), number in found.items() if case == _UNKNOWN and number > self._forgotten(shard)
        }
        for shard, pages in self._cases():
            stored = {_WAITS, _UNKNOWN} if shard in blind else {_WAITS}
            self._note(shard, [page for case, page in pages if case in stored])
            self._queue(shard, [page for case, page in pages if case == _LOST])
        waited, lost = (
            sum(found[shard, case] for shard in range(self._facts.keys.shards)) for case in (_WAITS, _LOST)
        )
        return Counter(unknown=sum(found[shard, _UNKNOWN] for shard in blind), waited=waited, lost=lost)

    def withdraw_extra(self) -> int:
        """To be called last. Returns how many pages are none any more, as another worker has them."""
        extra = 0
        for store in self._stores:
            rows = [row for chunk in batches(store.pages(), A_TIME) for row in self._extra(store, chunk)]
            if rows:
                store.withdraw(rows)
                extra += len(rows)
        return extra

    def _extra(self, store: WorkerStore, captures: Sequence[Capture]) -> Iterator[int]:
        """Rows of pages that another worker's page stands for."""
        keys = {capture.url_key: self._fingerprints.url(capture.url_key) for capture in captures}
        best: dict[str, tuple[bool, float, Path]] = {}
        for other in self._stores:
            for url, fetched in other.last_pages(keys):
                found = keys[url] not in self._untold[other.directory], fetched, other.directory
                best[url] = max(best.get(url, found), found)
        for capture in captures:
            is_told, _, directory = best[capture.url_key]
            shard = self._facts.keys.shard_of(capture.host)
            if is_told and directory != store.directory and self._is_done(shard, keys[capture.url_key]):
                yield capture.id

    def _recall_parcels(self) -> None:
        """A shard that forgot the numbers of its streams would refuse what it has taken, and pages be withdrawn."""
        holders: defaultdict[bytes, set[Path]] = defaultdict(set)
        for store in self._stores:
            for capture in store.pages():
                if (key := self._fingerprints.url(capture.url_key)) in self._unsent:
                    holders[key].add(store.directory)
        for store in self._stores:
            for parcel in store.unsent:
                own = [key for key in _keys_of([parcel]) if holders[key] <= {store.directory}]
                if self._is_taken(parcel, own):
                    self._recall_forwards(parcel)
                else:
                    self._untold[store.directory] |= _keys_of([parcel])
        self._unsent = set().union(*self._untold.values())

    def _is_taken(self, parcel: Parcel, own: Iterable[bytes]) -> bool:
        """Whether its shard has it; `own` are those of its pages that no other worker has stored."""
        streams = self._facts.keys.base(parcel.shard) + "streams"
        if int(self._client.hget(streams, parcel.stream) or 0) >= parcel.seq:
            return True
        is_taken = any(self._is_done(parcel.shard, key) for key in own)
        if is_taken:
            self._client.hset(streams, parcel.stream, parcel.seq)
        return is_taken

    def _recall_forwards(self, parcel: Parcel) -> None:
        """What it had for other shards, and what has left the outbox, has arrived: its worker will send it again."""
        keys = self._facts.keys
        fields = {
            field
            for name in self._client.scan_iter(f"{literal(keys.base(parcel.shard))}out:*", count=MOST_KEYS)
            for field in self._client.hkeys(name)
        }
        for target in {keys.shard_of(link.host) for one in parcel.outcomes for link in one.links} - {parcel.shard}:
            streams, stream = keys.base(target) + "streams", f"{parcel.shard}/{parcel.stream}"
            has_left = f"{parcel.stream}:{parcel.seq}:{target}".encode() not in fields
            if has_left and int(self._client.hget(streams, stream) or 0) < parcel.seq:
                self._client.hset(streams, stream, parcel.seq)

    def _is_done(self, shard: int, key: bytes) -> bool:
        return bool(self._client.hexists(self._done_key(shard, key), key))

    def _done_key(self, shard: int, key: bytes) -> str:
        return self._facts.keys.done(shard, key, self._facts.buckets)

    def _forgotten(self, shard: int) -> int:
        return int(float(self._client.hget(self._facts.keys.base(shard) + "state", "forgotten") or 0))

    def _cases(self) -> Iterator[tuple[int, list[tuple[int, _Page]]]]:
        """Shards, and how it stands with some pages there."""
        for store in self._stores:
            for chunk in batches(store.pages(), A_TIME):
                by_shard: defaultdict[int, list[_Page]] = defaultdict(list)
                for capture in chunk:
                    page = _Page(self._fingerprints.url(capture.url_key), capture)
                    by_shard[self._facts.keys.shard_of(capture.host)].append(page)
                for shard, pages in by_shard.items():
                    yield shard, list(zip(self._looked_up(shard, pages), pages, strict=True))

    def _looked_up(self, shard: int, pages: list[_Page]) -> Iterator[int]:
        base = self._facts.keys.base(shard)
        with self._client.pipeline(transaction=False) as pipeline:
            for page in pages:
                pipeline.hexists(self._done_key(shard, page.key), page.key)
                pipeline.hget(f"{base}urls", page.key)
            answers = pipeline.execute()
        for page, is_done, packed in zip(pages, answers[::2], answers[1::2], strict=True):
            yield self._case(shard, page, packed, is_done=bool(is_done))

    def _case(self, shard: int, page: _Page, packed: bytes | None, *, is_done: bool) -> int:
        url = self._readings[shard].url(page.key, packed)
        if is_done:
            return _KNOWN
        if page.key in self._unsent:
            return _LOST if url is None else _KNOWN
        if url is None:
            return _UNKNOWN
        return _KNOWN if url.attempts or url.flags & Flag.REQUEST else _WAITS

    def _note(self, shard: int, pages: Iterable[_Page]) -> None:
        stored = [[page.capture.host, page.key, page.capture.status] for page in pages]
        if stored:
            mend(self._client, self._facts.keys.base(shard), stored=stored)

    def _queue(self, shard: int, pages: Iterable[_Page]) -> None:
        """Let URLs wait, as if a page had led to them just now."""
        links = [
            ParcelLink(page.key, page.capture.url, page.capture.host, page.capture.depth or 0, 0) for page in pages
        ]
        if not links:
            return
        parcel = Parcel(shard, f"{_SESSION}.{secrets.token_hex(4)}", 1, [Outcome(links=links)])
        packed = Packer(self._facts.keys.shard_of, Clock(1)).pack(parcel)
        options = ClusterOptions({}, self._facts.keys.crawl, shards=self._facts.keys.shards)
        args = {"session": _SESSION, "ms": 0, "channel": self._facts.keys.channel, "shard": shard, "repair": 1}
        text, _ = script("apply")
        self._client.eval(
            text, 1, self._facts.keys.base(shard), pack({**args, "parcels": [packed], **limits_of(options)})
        )


def _keys_of(parcels: Iterable[Parcel]) -> set[bytes]:
    """Fingerprints of the URLs that have come to an end."""
    outcomes = (outcome for parcel in parcels for outcome in parcel.outcomes)
    return {one.key for one in outcomes if one.key and one.state != UrlState.QUEUED}
