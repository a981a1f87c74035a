"""The report as HTML. Jinja2 escapes all that is put in; what is invisible or turns the text round is written out."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined

from sitecrawl.base.display import duration, size, visible
from sitecrawl.crawldir.history import History
from sitecrawl.frontier.judge.held import name_of
from sitecrawl.plugins.report.gather import ReportData, UrlTotals
from sitecrawl.plugins.report.web import QUANTILES, Groups, Web

_WIDTH: Final = 560
_HEIGHT: Final = 190
_LEFT: Final = 62
_RIGHT: Final = 8
_TOP: Final = 8
_BOTTOM: Final = 24
_HALF_A_MARK: Final = 44
"""A mark of the axis of time is as wide, to either side."""

_Values = Sequence[float | None]


@dataclass(frozen=True, slots=True)
class _Line:
    name: str
    points: list[str]
    """Polylines: a value that is not known parts them."""
    last: str
    """The last value, in words."""
    colour: int
    """Its number in the style sheet."""


@dataclass(frozen=True, slots=True)
class _Chart:
    title: str
    lines: list[_Line]
    x_marks: list[tuple[float, str]]
    y_marks: list[tuple[float, str]]


def _speeds(times: _Values, totals: _Values) -> list[float | None]:
    """Growth a second between a point and the one before it, or the one before that where it comes at once: the last
    point of a run does, and a few pages in no time would be a spike.
    """
    found: list[float | None] = [None]
    for n in range(1, len(times)):
        speed = _speed(times, totals, n - 1, n)
        if speed is not None and n > 1 and _comes_at_once(times[n - 2 : n + 1]):
            longer = _speed(times, totals, n - 2, n)
            speed = speed if longer is None else longer
        found.append(speed)
    return found


def _speed(times: _Values, totals: _Values, one: int, other: int) -> float | None:
    before, after, since, at = totals[one], totals[other], times[one], times[other]
    if before is None or after is None or since is None or at is None or at <= since:
        return None
    return max(0.0, after - before) / (at - since)


def _comes_at_once(times: _Values) -> bool:
    """Whether the last of three times follows within half the time between the others."""
    first, second, third = times
    return first is not None and second is not None and third is not None and third - second < (second - first) / 2


def _chart(
    title: str,
    times: Sequence[float],
    named: dict[str, _Values],
    words: Callable[[float], str],
    *,
    colours: Sequence[int] = (1, 2, 3, 4),
) -> _Chart | None:
    """A chart of several values over time, with its begin, its end and the greatest value marked; None where there is
    too little to draw. `words` says a value.
    """
    known = [value for values in named.values() for value in values if value is not None]
    if len(times) < 2 or len(known) < 2:
        return None
    top = max(known) or 1.0
    span = times[-1] - times[0] or 1.0

    def x(at: float) -> float:
        return round(_LEFT + (at - times[0]) / span * (_WIDTH - _LEFT - _RIGHT), 1)

    def y(value: float) -> float:
        return round(_HEIGHT - _BOTTOM - value / top * (_HEIGHT - _TOP - _BOTTOM), 1)

    lines = []
    for (name, values), colour in zip(named.items(), colours, strict=False):
        last = next((value for value in reversed(values) if value is not None), None)
        lines.append(_Line(name, _polylines(times, values, x, y), "" if last is None else words(last), colour))
    begin, end = (f"{datetime.fromtimestamp(at, UTC):%b %d %H:%M}" for at in (times[0], times[-1]))
    x_marks = [(float(_LEFT + _HALF_A_MARK), begin), (float(_WIDTH - _RIGHT - _HALF_A_MARK), end)]
    return _Chart(title, lines, x_marks, [(y(value), words(value)) for value in (0.0, top)])


def _polylines(
    times: Sequence[float], values: _Values, x: Callable[[float], float], y: Callable[[float], float]
) -> list[str]:
    parts: list[list[str]] = [[]]
    for at, value in zip(times, values, strict=True):
        if value is None:
            parts.append([])
        else:
            parts[-1].append(f"{x(at)},{y(value)}")
    return [" ".join(part) for part in parts if len(part) > 1]


_UNSEEN = re.compile("[\u200b-\u200f\u2060-\u2064\ufeff\ud800-\udfff\ufffe\uffff\t\n]")
_LONGEST: Final = 500
"""Characters of a URL or a title that are shown."""
_FOLDED: Final = 10
"""Rows of a table that are shown before somebody asks for all: the style sheet hides those behind them."""
_DEPTHS: Final = 20
"""Depths that have a bar, the least."""


def render(report: ReportData) -> str:
    """One HTML document, without scripts and without anything to load."""
    environment = Environment(
        loader=PackageLoader("sitecrawl.plugins.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "shown": _shown, "count": _count, "size": size, "percent": _percent, "moment": _moment, "seconds": _seconds,
        "duration": duration,
    }  # fmt: skip
    return environment.get_template("report.html").render(
        report=report,
        folded=_FOLDED,
        name_of=name_of,
        charts=_charts(report.history),
        statuses=_status_rows(report.urls),
        depths=[(depth, number, "") for depth, number in sorted(report.urls.depths.items())[:_DEPTHS]],
        figures=_figure_rows(report.web),
        quantiles=[_percent(share) for share in QUANTILES],
        spreads=_spread_rows(report.web),
        groups={name: _group_rows(getattr(report.web, name)) for name in ("statuses", "types", "languages")},
        chart_size=(_WIDTH, _HEIGHT, _LEFT, _RIGHT, _BOTTOM),
    )


def _charts(history: History | None) -> list[_Chart]:
    """The crawl over time."""
    if history is None:
        return []
    known = history.series()
    nothing: list[float | None] = [None] * len(known["t"])

    def of(name: str) -> list[float | None]:
        return known.get(name, nothing)

    times = [at for at in known["t"] if at is not None]

    def speed(name: str) -> list[float | None]:
        return _speeds(known["t"], of(name))

    def rate(value: float) -> str:
        return f"{value:,.1f}" if value < 10 else f"{value:,.0f}"

    found = [
        _chart("Pages a second", times, {"fetched": speed("fetched")}, rate),
        _chart("Received a second", times, {"received": speed("received")}, size),
        _chart("URLs", times, {"known": of("known"), "waiting": of("waiting"), "fetched": of("fetched")}, _short),
        _chart(
            "Answers a second",
            times,
            {"2xx": speed("ok"), "3xx": speed("redirects"), "4xx": speed("refused"), "5xx": speed("broken")},
            rate,
            colours=(3, 1, 2, 4),
        ),
        _chart("Time of a download", times, {"median": of("p50"), "95% below": of("p95")}, _seconds),
        _chart("Memory of the process", times, {"resident": of("memory")}, size),
    ]
    return [one for one in found if one is not None]


def _status_rows(urls: UrlTotals) -> list[tuple[str, int, str]]:
    """URLs by their last status, and those without one."""
    rows = [(str(status), count, "") for status, count in urls.statuses.most_common(25)]
    return rows + [(state, urls.states[state], note) for state, note in _WITHOUT_STATUS if urls.states[state]]


def _figure_rows(web: Web) -> list[tuple[str, str]]:
    """What a crawl tells of the web: label and value."""
    rows: tuple[tuple[str, float | None, Callable[[float], str]], ...] = (
        ("Links a page, as they stand: mean", web.hrefs.mean, _plain),
        ("Links a page, as they stand: median", web.hrefs.median, _plain),
        ("URLs that a page links to: mean", web.links.mean, _plain),
        ("URLs that a page links to: median", web.links.median, _plain),
        ("Links to what the page links to already", web.near.get("twice"), _percent),
        ("Links within the host", web.near.get("same_host"), _percent),
        ("Links within the site", web.near.get("same_site"), _percent),
        ("Links within the worker", web.near.get("same_worker"), _percent),
        ("Size of a page: mean", web.sizes.mean, size),
        ("Size of a page: median", web.sizes.median, size),
    )
    return [(label, words(value)) for label, value, words in rows if value is not None]


def _spread_rows(web: Web) -> list[tuple[str, list[str]]]:
    """How numbers are spread over pages: label, and the values of `QUANTILES` with the greatest behind them."""
    rows = (
        ("Links a page, as they stand", web.hrefs, _plain),
        ("URLs that a page links to", web.links, _plain),
        ("Size of a page", web.sizes, size),
    )
    return [
        (label, [words(n) for n in (*one.quantiles.values(), one.greatest)])
        for label, one, words in rows
        if one.pages
    ]


def _group_rows(groups: Groups) -> list[tuple[str, int, str]]:
    """Rows of name, count and share, for statuses, types or languages."""
    rows = [(str(group.name or _NAMELESS), group.number) for group in groups.named]
    rows += [("other", groups.other)] if groups.other else []
    return [(name, number, _percent(groups.share(number))) for name, number in rows]


def _plain(number: float) -> str:
    return f"{number:,.0f}" if number >= 1000 else f"{number:.4g}"


_NAMELESS: Final = "none"
"""A type or a language that nobody declares."""
_WITHOUT_STATUS: Final = (
    ("failed", "no answer came"),
    ("excluded", "robots.txt or a rule forbids them"),
    ("queued", "they wait"),
)


def _shown(text: object, limit: int = _LONGEST) -> str:
    """Text from the web, shortened, with control characters and direction marks escaped."""
    whole = str(text)
    cut = whole if len(whole) <= limit else whole[: limit - 1] + "…"
    return _UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), visible(cut))


def _count(number: float) -> str:
    return f"{number:,.0f}"


_UNITS: Final[tuple[tuple[float, str], ...]] = ((1e9, " G"), (1e6, " M"), (1e4, " k"))


def _short(number: float) -> str:
    for unit, name in _UNITS:
        if number >= unit:
            return f"{number / (1e3 if name == ' k' else unit):,.3g}{name}"
    return f"{number:,.3g}" if number < 10 else f"{number:,.0f}"


def _percent(share: float) -> str:
    """A share from 0 to 1, in two digits or so."""
    number = share * 100
    if number >= 10 or number == 0:
        return f"{number:.3g}%"
    return f"{number:.{max(1, 1 - math.floor(math.log10(number)))}f}%"


def _moment(at: float | None) -> str:
    """Unix seconds as a date and a time (UTC)."""
    return "never" if at is None else f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M} UTC"


def _seconds(number: float) -> str:
    """A short time."""
    if number < 1:
        return f"{number * 1000:,.0f} ms"
    return f"{number:,.1f} s"
