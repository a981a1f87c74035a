"""Replays a link graph through the real frontier, without a network: in which order do the pages come in?

    python benchmarks/order.py --edges graph.tsv.gz --mint 5,20
    python benchmarks/order.py --edges edges.tsv --urls urls.tsv --policies aopic-hosts,bfs

Policies: `aopic-hosts` (ours), `aopic-pages` (ours, lambda pays all pages alike), `published` (the order
`aopic-published`, which fetches pages again and again), `bfs`, `dfs`; and, when they are asked for, `cluster-4`,
`cluster-16` and so on: so many workers with a part of the web each.

`--edges` has a link a line, source and target separated by a tab (`#` begins a comment; gzipped or not). `--urls` has
`id<TAB>url<TAB>class` lines; pages of a class in `--good` are worth having, and all are without it. Without
`--urls`, every `--host-size` ids in a row are the pages of one host.

`--mint HOSTS,LINKS` adds hosts whose every page links to so many new pages of its own; `--farm` lets a quarter of
these links lead to the other such hosts. Good pages link to them in `--entries` places each.

`--again N` fetches all pages again at the end, so many times, as a crawl does that comes back (not of a cluster).
"""

from __future__ import annotations

import argparse
import gzip
import random
import resource
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from order_cluster import ClusterReplay
from replaying import COMMIT_EVERY, replayed

from sitecrawl.frontier.disk import DiskFrontier
from sitecrawl.frontier.urls.options import FrontierOptions
from sitecrawl.frontier.urls.order import order_named
from sitecrawl.frontier.urls.record import UrlState
from sitecrawl.page.items import Link

POLICIES = ("aopic-hosts", "aopic-pages", "published", "bfs", "dfs")
SHARES = (0.5, 0.9, 0.99, 1.0)
MASS_AT = (0.05, 0.1, 0.25, 0.5)
DUE = 500
"""Pages that are due at once where all are fetched again."""
TRAP = -1
AGAIN = -2
"""What has been fetched before."""


class Web:
    """A link graph with traps. Pages are ids; ids from `size` on are trap pages, made when they are linked to."""

    def __init__(self, links: list[list[int]], *, host_size: int) -> None:
        self.links = links
        self.size = len(links)
        self.urls = [f"http://h{i // host_size}.example/p{i}" for i in range(self.size)]
        self.good = bytearray(b"\1") * self.size
        self._trap_hosts: list[int] = []
        self._minted = 0
        self._mint_links = 0
        self._farm = False
        self._random = random.Random(1)

    def mint(self, hosts: int, links: int, *, entries: int, farm: bool) -> None:
        self._mint_links, self._farm = links, farm
        for number in range(hosts):
            page = self._new_trap_page(number)
            self._trap_hosts.append(page)
            for _ in range(entries):
                self.links[self._random.randrange(self.size)].append(page)

    def _new_trap_page(self, host: int) -> int:
        self._minted += 1
        self.urls.append(f"http://trap{host}.example/p{self._minted}")
        self.good.append(0)
        return len(self.urls) - 1

    def targets(self, page: int) -> Sequence[int]:
        if page < self.size:
            return self.links[page]
        host = int(self.urls[page][len("http://trap") :].partition(".")[0])
        hosts = len(self._trap_hosts)
        abroad = self._mint_links // 4 if self._farm else 0
        own = [self._new_trap_page(host) for _ in range(self._mint_links - abroad)]
        return own + [self._new_trap_page(self._random.randrange(hosts)) for _ in range(abroad)]

    def reachable(self, seeds: Sequence[int]) -> int:
        """Good pages that links lead to from the seeds."""
        known, queue = set(seeds), list(seeds)
        while queue:
            for target in self.links[queue.pop()]:
                if target < self.size and target not in known:
                    known.add(target)
                    queue.append(target)
        return sum(self.good[page] for page in known)


@dataclass
class Replay:
    """What one policy did."""

    policy: str
    reachable: int
    fetched: int = 0
    good: int = 0
    traps: int = 0
    ended: bool = False
    left: int = 0
    seconds: float = 0.0
    memory: int = 0
    order: list[int] = field(default_factory=list)
    """Pages in the order in which they were fetched first, `TRAP` for trap pages, `AGAIN` for what came again."""
    met: set[int] = field(default_factory=set)
    importance: dict[int, float] = field(default_factory=dict)


def replay(web: Web, seeds: Sequence[int], policy: str, budget: int, directory: Path, *, rounds: int = 0) -> Replay:
    """Fetch pages through the frontier until it ends or the budget is spent."""
    result = Replay(policy, web.reachable(seeds))
    name, _, lambda_policy = policy.partition("-")
    if name == "cluster":
        shared = ClusterReplay(directory / policy, int(lambda_policy), web.urls.__getitem__, web.targets)
        return replay_shared(result, web, seeds, budget, shared)
    order = order_named("aopic-published" if policy == "published" else name)
    options = FrontierOptions(lambda_policy=lambda_policy or "hosts", repeats=order.is_exact)
    ids: dict[bytes, int] = {}
    with replayed(directory / policy, order, options) as crawl:
        frontier = crawl.frontier

        def new_urls(pages: Sequence[int]) -> list[Link]:
            found = [crawl.found(web.urls[page]) for page in pages]
            ids.update(zip((url.key for url in found), pages, strict=True))
            return found

        def fetch_all() -> None:
            while result.fetched < budget and (visit := frontier.next()) is not None:
                page = ids[visit.key]
                frontier.downloaded(visit, 0.0)
                frontier.expand(visit, new_urls(web.targets(page)))
                frontier.done(visit, UrlState.FETCHED, status=200, good=True)
                count(result, web, page)
                if result.fetched % COMMIT_EVERY == 0:
                    crawl.commit()

        begun = time.process_time()
        frontier.link_credit.ledger.comes_back = rounds > 0
        frontier.add(new_urls(seeds), depth=0)
        fetch_all()
        keys = list(ids)
        for number in range(rounds):
            random.Random(number).shuffle(keys)
            for start in range(0, len(keys), DUE):
                for key in keys[start : start + DUE]:
                    frontier.again(key)
                fetch_all()
        crawl.commit()
        result.ended = frontier.is_finished()
        result.left = frontier.figures.waiting
        result.seconds = time.process_time() - begun
        result.memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        result.importance = dict(importances(frontier, ids))
    return result


def replay_shared(result: Replay, web: Web, seeds: Sequence[int], budget: int, crawl: ClusterReplay) -> Replay:
    begun = time.process_time()
    crawl.run(seeds, budget, lambda page: count(result, web, page))
    result.seconds = time.process_time() - begun
    result.memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result.ended, result.left, result.importance = crawl.ended, crawl.left, crawl.importance
    return result


def count(result: Replay, web: Web, page: int) -> None:
    is_new = page not in result.met
    result.met.add(page)
    result.fetched += 1
    result.good += is_new and web.good[page]
    result.traps += page >= web.size
    result.order.append(TRAP if page >= web.size else page if is_new else AGAIN)


def importances(frontier: DiskFrontier, ids: dict[bytes, int]) -> Iterator[tuple[int, float]]:
    for key in frontier.urls.keys():  # noqa: SIM118 - a table, no mapping
        record = frontier.urls.get(key)
        assert record is not None
        yield ids[key], frontier.link_credit.ledger.importance(record)


# Figures


def trap_shares(result: Replay, web: Web) -> list[float | None]:
    """The share of fetches that went to traps when 50, 90, 99 and 100% of the good pages were in."""
    wanted = [share * result.reachable for share in SHARES]
    shares: list[float | None] = []
    good = traps = 0
    for fetched, page in enumerate(result.order, 1):
        traps += page == TRAP
        good += page >= 0 and web.good[page]
        while len(shares) < len(wanted) and good >= wanted[len(shares)]:
            shares.append(traps / fetched)
    return shares + [None] * (len(wanted) - len(shares))


def mass(result: Replay, rank: Sequence[float]) -> list[float]:
    """PageRank mass that the first 5, 10, 25 and 50% of the fetches brought in."""
    total, found = 0.0, []
    marks = [int(share * len(rank)) for share in MASS_AT]
    for fetched, page in enumerate(result.order, 1):
        total += rank[page] if page >= 0 else 0.0
        if fetched in marks:
            found.append(total)
    return found


def pagerank(links: list[list[int]], size: int, *, damping: float = 0.85, rounds: int = 30) -> list[float]:
    """Page et al. 1999, by power iteration; pages without links give to all."""
    rank = [1 / size] * size
    for _ in range(rounds):
        moved = [0.0] * size
        for source, targets in enumerate(links):
            inside = [target for target in targets if target < size]
            if inside:
                share = rank[source] / len(inside)
                for target in inside:
                    moved[target] += share
        rest = (1 - damping * sum(moved)) / size
        rank = [damping * amount + rest for amount in moved]
    return rank


def spearman(one: Sequence[float], other: Sequence[float]) -> float:
    """The correlation of the places, equal values sharing theirs."""
    a, b = places(one), places(other)
    mean = (len(a) - 1) / 2
    above = sum((x - mean) * (y - mean) for x, y in zip(a, b, strict=True))
    below = sum((x - mean) ** 2 for x in a) * sum((y - mean) ** 2 for y in b)
    return float(above / below**0.5) if below else 0.0


def places(values: Sequence[float]) -> list[float]:
    order = sorted(range(len(values)), key=values.__getitem__)
    found, start = [0.0] * len(values), 0
    while start < len(order):
        end = start
        while end + 1 < len(order) and values[order[end + 1]] == values[order[start]]:
            end += 1
        for place in range(start, end + 1):
            found[order[place]] = (start + end) / 2
        start = end + 1
    return found


def correlation(result: Replay, rank: Sequence[float], top: float) -> float:
    """Of importance with PageRank, over the `top` share of pages by PageRank that were fetched."""
    pages = sorted((p for p in result.importance if p < len(rank)), key=rank.__getitem__, reverse=True)
    pages = pages[: max(2, int(top * len(pages)))]
    return spearman([result.importance[p] for p in pages], [rank[p] for p in pages])


# Input and output


def read_edges(path: Path) -> list[list[int]]:
    links: list[list[int]] = []
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt") as lines:  # type: ignore[operator]
        for line in lines:
            if line.startswith("#") or not line.strip():
                continue
            source, target = map(int, line.split()[:2])
            while len(links) <= max(source, target):
                links.append([])
            links[source].append(target)
    return links


def read_urls(path: Path, web: Web, good: set[str]) -> None:
    with path.open() as lines:
        for line in lines:
            number, url, *kind = line.rstrip("\n").split("\t")
            web.urls[int(number)] = url
            web.good[int(number)] = not good or (kind[0] if kind else "") in good


def report(result: Replay, web: Web, rank: Sequence[float] | None) -> None:
    shares = "  ".join("   -  " if s is None else f"{s:6.1%}" for s in trap_shares(result, web))
    end = f"ended, {result.left:,} left" if result.ended else "budget spent"
    speed = result.fetched / result.seconds
    print(f"{result.policy:12} good {result.good:,}/{result.reachable:,}  fetched {result.fetched:,}  ({end})")
    print(f"{'':12} traps at 50/90/99/100% of the good pages: {shares}   in all {result.traps / result.fetched:.1%}")
    if rank is not None:
        masses = "  ".join(f"{m:.3f}" for m in mass(result, rank))
        print(f"{'':12} PageRank mass after 5/10/25/50% of the pages: {masses}")
        all_pages, top = correlation(result, rank, 1.0), correlation(result, rank, 0.01)
        print(f"{'':12} rank correlation with PageRank: all {all_pages:.3f}, top 1% {top:.3f}")
    print(f"{'':12} {speed:,.0f} pages/s of CPU, peak {result.memory / 1024:,.0f} MB", flush=True)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edges", type=Path, required=True)
    parser.add_argument("--urls", type=Path)
    parser.add_argument("--good", default="", help="classes of --urls that are worth having, separated by commas")
    parser.add_argument("--host-size", type=int, default=1000)
    parser.add_argument("--mint", help="HOSTS,LINKS")
    parser.add_argument("--farm", action="store_true")
    parser.add_argument("--entries", type=int, default=3)
    parser.add_argument("--seeds", default="10", help="how many seeds, those with the most links; or @ and their ids")
    parser.add_argument("--budget", type=int, default=600_000)
    parser.add_argument("--policies", default=",".join(POLICIES))
    parser.add_argument("--again", type=int, default=0, metavar="N")
    parser.add_argument("--no-pagerank", action="store_true")
    parser.add_argument("--picture", type=Path, help="write fetches against good pages as SVG")
    return parser.parse_args()


def choose_seeds(text: str, links: list[list[int]]) -> list[int]:
    if text.startswith("@"):
        return [int(number) for number in text[1:].split(",")]
    return sorted(range(len(links)), key=lambda page: len(links[page]), reverse=True)[: int(text)]


def main() -> None:
    arguments = parse()
    links = read_edges(arguments.edges)
    seeds = choose_seeds(arguments.seeds, links)
    rank = None if arguments.no_pagerank else pagerank(links, len(links))
    results = []
    with tempfile.TemporaryDirectory(prefix="order-") as directory:
        for policy in arguments.policies.split(","):
            web = Web([list(targets) for targets in links], host_size=arguments.host_size)
            if arguments.urls:
                read_urls(arguments.urls, web, {c for c in arguments.good.split(",") if c})
            if arguments.mint:
                hosts, per_page = map(int, arguments.mint.split(","))
                web.mint(hosts, per_page, entries=arguments.entries, farm=arguments.farm)
            result = replay(web, seeds, policy, arguments.budget, Path(directory), rounds=arguments.again)
            report(result, web, rank)
            results.append((result, web))
    if arguments.picture:
        arguments.picture.write_text(picture(results))


COLOURS = ("#0b6", "#08c", "#c60", "#a3a", "#666")


def picture(results: Sequence[tuple[Replay, Web]]) -> str:
    """Fetches (across) against good pages (up), a line a policy."""
    width, height, margin = 720, 400, 56
    most = max(result.fetched for result, _ in results)
    best = max(result.reachable for result, _ in results)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"',
        ' font-family="sans-serif" font-size="13">',
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
        f'<path d="M{margin} {margin // 2}V{height - margin}H{width - 20}" fill="none" stroke="#333"/>',
        f'<text x="{width - 20}" y="{height - 20}" text-anchor="end">{most:,} fetches</text>',
        f'<text x="{margin}" y="18">{best:,} good pages</text>',
    ]
    for (result, web), colour in zip(results, COLOURS, strict=False):
        points = []
        good, step = 0, max(1, result.fetched // 400)
        for fetched, page in enumerate(result.order, 1):
            good += page >= 0 and web.good[page]
            if fetched % step == 0 or fetched == result.fetched:
                x = margin + (width - 20 - margin) * fetched / most
                y = height - margin - (height - 1.5 * margin) * good / best
                points.append(f"{x:.1f},{y:.1f}")
        parts.append(f'<polyline points="{" ".join(points)}" fill="none" stroke="{colour}" stroke-width="2"/>')
        row = height - margin - 12 - 18 * len(parts) + 90
        parts.append(f'<text x="{width - 150}" y="{row}" fill="{colour}">{result.policy}</text>')
    return "\n".join([*parts, "</svg>"])


if __name__ == "__main__":
    main()
