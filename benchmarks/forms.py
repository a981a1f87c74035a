"""Sites whose pages stand under many URLs: how many good pages come in, after how many fetches, by what rules.

    python benchmarks/forms.py
    python benchmarks/forms.py --only three,margin --seed 7 --budget 4000
    python benchmarks/forms.py --graph ../shared/data/webs/phpbb-dostips.tsv.gz --budget 4000

Each site is drawn from `--seed` and crawled through the real frontier without a network, in the default order. A kind
says how links are written, which is another way at each view, and what of a page changes by itself.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from goodsite import GoodSite, chance, prose, word
from outcome import Outcome
from recorded import Recorded
from replaying import replayed
from webreplay import Conditions, _Crawl, _frontier_of
from webs import MISSING, Page, Web, to

HOME: Final = "http://www.example.com"


def hexadecimal(draw: Random) -> str:
    return f"{draw.getrandbits(40):x}"


def with_keys(url: str, *keys: str) -> str:
    return f"{url}{'&' if '?' in url else '?'}{'&'.join(keys)}" if keys else url


class Kind(NamedTuple):
    """How a site writes its links, and how each is read."""

    name: str
    dress: Callable[[str, Random], str]
    """A link to a page, as one view of a page has it."""
    bare: Callable[[str], str]
    """The page that a link leads to."""
    margin: Callable[[GoodSite, Random], str] = lambda site, draw: ""
    """What is beside a page's text at one view."""


def keyed(name: str, *keys: str, share: float = 1.0, margin: Callable[[GoodSite, Random], str] | None = None) -> Kind:
    """Links with `keys`, each with a new value at each view, or on a share of the links only."""

    def dress(url: str, draw: Random) -> str:
        return with_keys(url, *(f"{key}={hexadecimal(draw)}" for key in keys if share == 1 or draw.random() < share))

    def bare(url: str) -> str:
        path, _, query = url.partition("?")
        return with_keys(path, *(part for part in query.split("&") if part and part.partition("=")[0] not in keys))

    return Kind(name, dress, bare, margin or Kind._field_defaults["margin"])


def clock(site: GoodSite, draw: Random) -> str:
    """The time, a visitors' counter and a nonce."""
    return (
        f"It is {draw.randrange(24)}:{draw.randrange(60)} now. Visitors: {draw.randrange(10**6)} {hexadecimal(draw)}"
    )


def related(site: GoodSite, draw: Random) -> str:
    """The beginnings of five other articles, which rotate."""
    chosen = draw.sample(sorted(site.contents), 5)
    return "Related: " + " ".join(
        f"{site.pages[url].title} {' '.join(site.pages[url].text.split()[-8:])}" for url in chosen
    )


def changing(site: GoodSite, draw: Random) -> str:
    return f"{clock(site, draw)} {related(site, draw)}"


def _in_path(url: str, draw: Random) -> str:
    path, mark, query = url.partition("?")
    return f"{path};wombat={hexadecimal(draw)}{mark}{query}"


def _out_of_path(url: str) -> str:
    path, mark, query = url.partition("?")
    return f"{path.partition(';')[0]}{mark}{query}"


def _printed(url: str, draw: Random) -> str:
    return with_keys(url, *draw.choice([(), (), ("print=1",), ("print=1", "mobile=1"), ("mobile=1",)]))


def _tracked(url: str, draw: Random) -> str:
    """Where the reader came from: three keys of few values."""
    return (
        with_keys(url, *(f"{key}={draw.choice('abcde')}" for key in ("src", "cmp", "med")))
        if draw.random() < 0.7
        else url
    )


def _cut(*keys: str) -> Callable[[str], str]:
    return keyed("", *keys).bare


KINDS: Final[Sequence[Kind]] = (
    keyed("one value", "wombat"),
    keyed("three values", "wombat", "dingo", "quoll"),
    keyed("three, not always all", "wombat", "dingo", "quoll", share=0.7),
    keyed("six values", "wombat", "dingo", "quoll", "emu", "kiwi", "possum"),
    Kind("in the path", _in_path, _out_of_path),
    Kind("print and mobile", _printed, _cut("print", "mobile")),
    Kind("where from", _tracked, _cut("src", "cmp", "med")),
    keyed("clock", "wombat", margin=clock),
    keyed("clock, three values", "wombat", "dingo", "quoll", margin=clock),
    keyed("related", "wombat", margin=related),
    keyed("changing, three values", "wombat", "dingo", "quoll", margin=changing),
)


class Dressed:
    """A good site under links of a kind."""

    place = ""

    def __init__(self, kind: Kind, seed: int, pages: int = 307) -> None:
        self.name = kind.name
        self._kind = kind
        self._seed = seed
        self._good = GoodSite(HOME, chance(seed, "good"), pages)
        self._views = count()
        self.seed = f"{HOME}/"

    def contents(self) -> int:
        return len(self._good.contents)

    def admits(self, url: str) -> bool:
        return True

    def page(self, url: str) -> Page:
        bare = self._kind.bare(url)
        page = self._good.pages.get(bare)
        if page is None:
            return MISSING
        draw = chance(self._seed, next(self._views))
        links = to(self._kind.dress(link.url, draw) for link in page.links)
        text = f"{page.text} {self._kind.margin(self._good, draw)}"
        return page._replace(links=links, text=text, identity=bare)


class Wiki:
    """Articles of a MediaWiki: by name and by `title`, printable, by `oldid`, their revisions, histories, editors."""

    name, place, seed = "wiki", "", f"{HOME}/wiki/Main"

    def __init__(self, seed: int, pages: int = 200) -> None:
        draw = chance(seed, "wiki")
        self._seed = seed
        self._names = ["Main", *(f"{word(draw).capitalize()}_{word(draw)}{n}" for n in range(1, pages))]
        self._numbers = {name: n for n, name in enumerate(self._names)}

    def contents(self) -> int:
        return len(self._names)

    def admits(self, url: str) -> bool:
        return True

    def page(self, url: str) -> Page:
        path, _, query = url.removeprefix(HOME).partition("?")
        keys = dict(part.partition("=")[::2] for part in query.split("&") if part)
        name = keys.get("title", path.removeprefix("/wiki/"))
        if name not in self._numbers:
            return MISSING
        return self._made(self._numbers[name], name, keys)

    def _made(self, number: int, name: str, keys: dict[str, str]) -> Page:
        draw = chance(self._seed, number)
        text, near = prose(draw), draw.sample(self._names, 4)
        script = f"{HOME}/index.php?title={name}"
        links = [f"{HOME}/wiki/{other}" for other in near]
        links += [f"{HOME}/wiki/{self._names[(number + 1) % len(self._names)]}"]
        links += [f"{script}&action=edit", f"{script}&action=history", f"{script}&oldid={number * 10 + 3}"]
        links += [f"{script}&printable=yes", f"{HOME}/index.php?title={near[0]}&redirect=no"]
        if (action := keys.get("action")) is not None:
            links += [f"{script}&oldid={number * 10 + n}" for n in range(4)] if action == "history" else []
            return Page(f"{action} {name}", f"{action} of {name} {text[:80]}", to(links), trap=True)
        revision = int(keys["oldid"]) % 10 if "oldid" in keys else 3
        if revision < 3:
            return Page(name, f"{text} {prose(chance(number, revision), 5, 60)}", to(links), trap=True)
        return Page(name, text, to(links), content=name, identity=name)


def crawl(web: Web, budget: int) -> tuple[Outcome, list[str]]:
    """How it went, and the rules that held at the end."""
    outcome = Outcome(web.name, web.place, "aopic", web.contents())
    conditions = Conditions("aopic", budget)
    order, options = _frontier_of(conditions)
    with (
        tempfile.TemporaryDirectory(prefix="forms-") as directory,
        replayed(Path(directory) / "c", order, options) as one,
    ):
        _Crawl(web, one, outcome).run(conditions)
        outcome.ended = one.frontier.is_finished()
        learners = one.frontier.forms.learners
        hosts = [host.key for host in one.frontier.hosts.live()]
        found = [
            f"{r.rule} {r.evidence.state.name.lower()}"
            for key in hosts
            for r in learners.of(key).learnt.values()
            if r.evidence.is_active
        ]
    return outcome, found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="parts of names, separated by commas")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--budget", type=int, default=3000)
    parser.add_argument("--rules", action="store_true", help="print those that hold")
    parser.add_argument("--graph", type=Path, help="a recorded site in place of all")
    arguments = parser.parse_args()
    webs: list[Callable[[], Web]] = [lambda kind=kind: Dressed(kind, arguments.seed) for kind in KINDS]  # type: ignore[misc]
    webs.append(lambda: Wiki(arguments.seed))
    if arguments.graph:
        webs = [lambda: Recorded(arguments.graph)]
    print(f"{'site':26} {'good':>5} {'in':>6} {'90%':>6} {'100%':>6} {'fetches':>8} {'ms':>5}")
    for make in webs:
        web = make()
        if any(part in web.name for part in arguments.only.split(",")):
            one, rules = crawl(web, arguments.budget)
            until = " ".join(f"{one.until(share) or '-':>6}" for share in (0.9, 1))
            took = f"{one.fetched:7}{' ' if one.ended else '+'} {1000 * one.seconds / max(one.fetched, 1):5.1f}"
            print(f"{one.web:26} {one.contents:5} {len(one.arrivals):6} {until} {took}", flush=True)
            for rule in rules if arguments.rules else ():
                print(f"    {rule}")


if __name__ == "__main__":
    main()
