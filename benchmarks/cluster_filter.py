"""Would a Bloom filter save anything on a cluster? What it could save at most is counted and timed.

    python benchmarks/cluster_filter.py ../shared/data/graphs/cnr-2000.tsv.gz

A worker's filter can only tell that a URL is perhaps known, so that its text need not be sent: what the worker's
CLOCK cache does already. A filter that never errs and never forgets is a set of all that the worker has ever sent;
the links that such a set knows and the cache does not are the most that any filter can save. Pages come
breadth first.

A filter on the shards would stand before the exact look-up. Both run in one script on a real Redis.
"""

from __future__ import annotations

import argparse
import gzip
import sys
from collections import deque
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
HELPERS = PROJECT / "tests" / "helpers"
sys.path[:0] = [str(HELPERS), str(PROJECT)]

from redis_servers import server  # noqa: E402

from sitecrawl.cluster.parcel import Outcome, Packer, Parcel, ParcelLink  # noqa: E402
from sitecrawl.cluster.shards import pack  # noqa: E402
from sitecrawl.seen.clock import Clock  # noqa: E402

PROBES = 7
"""Bits a look-up: an error rate of one in a hundred."""
TIMED = """
for bucket = 0, 1023 do
  for n = 0, 63 do redis.call('HSET', 'done:' .. bucket, string.format('%016d', bucket * 64 + n), '1234567') end
end
redis.call('SETBIT', 'filter', 10000000, 0)
local function microseconds() local t = redis.call('TIME'); return t[1] * 1000000 + t[2] end
local begun = microseconds()
for n = 1, 50000 do redis.call('HGET', 'done:' .. n % 1024, string.format('%016d', n)) end
local exact = microseconds() - begun
begun = microseconds()
for n = 1, 50000 do for bit = 1, 7 do redis.call('GETBIT', 'filter', (n * 7919 * bit) % 10000000) end end
return {exact, microseconds() - begun}
"""


def read(path: Path) -> dict[int, list[int]]:
    links: dict[int, list[int]] = {}
    with gzip.open(path, "rt") as lines:
        for line in lines:
            if not line.startswith("#"):
                source, target = line.split()[:2]
                links.setdefault(int(source), []).append(int(target))
    return links


def breadth_first(links: dict[int, list[int]]) -> list[int]:
    order, known = [], set()
    for root in links:
        if root in known:
            continue
        known.add(root)
        queue = deque([root])
        while queue:
            page = queue.popleft()
            order.append(page)
            for target in links.get(page, ()):
                if target not in known:
                    known.add(target)
                    queue.append(target)
    return order


def count(links: dict[int, list[int]], order: list[int], cache: int) -> tuple[int, int, int]:
    """Links in all; those that the cache knows; those that only a perfect filter knows."""
    clock, known = Clock(cache), set()
    asked = hits = saved = 0
    for page in order:
        for target in links.get(page, ()):
            key = target.to_bytes(16, "big")
            asked += 1
            if key in clock:
                hits += 1
            elif target in known:
                saved += 1
            clock.touch(key)
            known.add(target)
    return asked, hits, saved


def entry_bytes() -> tuple[float, float]:
    """Of a link with its text, of about 60 characters, and of one without."""
    packer = Packer(lambda host: 0, Clock(1000))
    url = "http://www.example.org/section/2024/11/some-article-%05d.html"
    links = [ParcelLink(n.to_bytes(16, "big"), url % n, "www.example.org", 3, referrer=bytes(16)) for n in range(500)]
    first, second = (Parcel(0, "s", n, [Outcome(bytes(16), 1, "a", 1, credit=10**9, links=links)]) for n in (1, 2))
    whole = len(pack(packer.pack(first)["links"])) / len(links)
    packer.taken(first)
    return whole, len(pack(packer.pack(second)["links"])) / len(links)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("edges", type=Path)
    arguments = parser.parse_args()
    links = read(arguments.edges)
    order = breadth_first(links)
    whole, short = entry_bytes()
    print(f"{len(order):,} pages; a link with its text {whole:.0f} bytes, without {short:.0f}")
    print("| cache | hit rate | only a perfect filter | bytes it saves a page |\n|---|---|---|---|")
    for cache in (4_096, 16_384, 65_536):
        asked, hits, saved = count(links, order, cache)
        print(
            f"| {cache:,} | {hits / asked:.4f} | {saved / asked:.4f} | {saved * (whole - short) / len(order):.0f} |",
            flush=True,
        )
    with server() as started, started.client() as client:
        exact, bits = (1e-6 * 20 * time for time in client.eval(TIMED, 0))
    print(f"in a script: exact look-up {exact:.2f} us, {PROBES} bits of a filter {bits:.2f} us")


if __name__ == "__main__":
    main()
