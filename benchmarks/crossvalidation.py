"""Parameters chosen on all webs but one, and reported on that one: what they are worth where nobody fitted them.

The score of a crawl is the logarithm of how many fetches it takes, for each content, until 90% is in; twice as many
as it made where that does not come. The setting is chosen whose mean score is the least.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log
from statistics import mean
from typing import Final, NamedTuple

from outcome import Outcome

SHARE: Final = 0.9

Crawls = Mapping[str, Mapping[str, Outcome]]
"""By setting, and then by web."""


class Held(NamedTuple):
    """What came of one web that was held back from the choice."""

    web: str
    chosen: str
    """The setting, by all other webs."""
    times: float
    """Fetches for each content until 90% of the web is in, under that setting."""
    best: str
    """The setting that would have been best for the web itself."""
    best_times: float


def times(crawl: Outcome) -> float:
    """Fetches for each content until 90% is in, as the score takes it."""
    return (crawl.until(SHARE) or 2 * crawl.fetched) / crawl.contents


def choice(crawls: Crawls, webs: Sequence[str]) -> str:
    """The setting with the least mean score on `webs`; the first of several."""
    return min(crawls, key=lambda setting: mean(log(times(crawls[setting][web])) for web in webs))


def held_back(crawls: Crawls) -> list[Held]:
    """Each web in turn. There must be two at least, and each setting must have crawled all of them."""
    webs = list(next(iter(crawls.values())))
    found = []
    for web in webs:
        chosen, best = choice(crawls, [other for other in webs if other != web]), choice(crawls, [web])
        found.append(Held(web, chosen, times(crawls[chosen][web]), best, times(crawls[best][web])))
    return found


def table(crawls: Crawls) -> str:
    """A row for each setting, with what it makes of each web; then one for each web, held back in turn."""
    webs = list(next(iter(crawls.values())))
    rows = [["setting", *webs], ["---"] * (len(webs) + 1)]
    rows += [[name, *(f"{times(by_web[web]):.2f}x" for web in webs)] for name, by_web in crawls.items()]
    rows += [[], ["held back", "chosen on the others", "there", "its own best", "there"], ["---"] * 5]
    rows += [
        [one.web, one.chosen, f"{one.times:.2f}x", one.best, f"{one.best_times:.2f}x"] for one in held_back(crawls)
    ]
    return "\n".join(f"| {' | '.join(row)} |" if row else "" for row in rows)
