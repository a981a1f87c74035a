"""The report as HTML. Jinja2 escapes all that is put in; what is invisible or turns the text round is written out."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined

from sitecrawl.base.display import duration, size, visible
from sitecrawl.crawldir.history import History
from sitecrawl.frontier.judge.held import name_of
from sitecrawl.plugins.report import drawing, graph
from sitecrawl.plugins.report.drawing import Bar, Chart, bars, chart, speeds
from sitecrawl.plugins.report.gather import ReportData
from sitecrawl.plugins.report.published import SOURCES, Published
from sitecrawl.plugins.report.url_totals import UrlTotals, share_of_top
from sitecrawl.plugins.report.web import QUANTILES, Groups, Web
from sitecrawl.plugins.report.web_figures import FIGURES, GROUPS, SPREADS, Form, published_of
from sitecrawl.sheets.change import in_words

_UNSEEN = re.compile("[\u200b-\u200f\u2060-\u2064\ufeff\ud800-\udfff\ufffe\uffff\t\n]")
_LONGEST: Final = 500
"""Characters of a URL or a title that are shown."""
_FOLDED: Final = 10
"""Rows of a table that are shown before somebody asks for all: the style sheet hides those behind them."""
_NAMED: Final = 3
"""Pages that link to a dead one and are named at once."""
_LEAST_CLASS: Final = 20
"""Octaves of importance that have a bar of their own: less than one in a million is one."""


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
        "shown": shown, "count": _count, "size": size, "percent": percent, "moment": moment, "seconds": seconds,
        "duration": duration,
    }  # fmt: skip
    return environment.get_template("report.html").render(
        report=report,
        folded=_FOLDED,
        named=_NAMED,
        name_of=name_of,
        in_words=in_words,
        charts=charts(report.history),
        importance=importance_bars(report.urls),
        top_shares=[(share, share_of_top(report.urls, share)) for share in (0.01, 0.1, 0.5)],
        statuses=status_bars(report.urls),
        depths=depth_bars(report.urls, report.web),
        figures=figure_rows(report.web),
        quantiles=[percent(share) for share in QUANTILES],
        spreads=spread_rows(report.web),
        groups={name: group_rows(name, read(report.web)) for name, read in GROUPS.items() if name != "depths"},
        sources=SOURCES.values(),
        graph_size=(graph.WIDTH, graph.HEIGHT),
        chart_size=(drawing.WIDTH, drawing.HEIGHT, drawing.LEFT, drawing.RIGHT, drawing.BOTTOM),
    )


def charts(history: History | None) -> list[Chart]:
    """The crawl over time."""
    if history is None:
        return []
    known = history.series()
    nothing: list[float | None] = [None] * len(known["t"])

    def of(name: str) -> list[float | None]:
        return known.get(name, nothing)

    times = [at for at in known["t"] if at is not None]

    def speed(name: str) -> list[float | None]:
        return speeds(known["t"], of(name))

    def rate(value: float) -> str:
        return f"{value:,.1f}" if value < 10 else f"{value:,.0f}"

    found = [
        chart("Pages a second", times, {"fetched": speed("fetched")}, rate, marks=_short),
        chart("Received a second", times, {"received": speed("received")}, size),
        chart("URLs", times, {"known": of("known"), "waiting": of("waiting"), "fetched": of("fetched")}, _short),
        chart(
            "Answers a second",
            times,
            {"2xx": speed("ok"), "3xx": speed("redirects"), "4xx": speed("refused"), "5xx": speed("broken")},
            rate,
            marks=_short,
            colours=(3, 1, 2, 4),
        ),
        chart("Time of a download", times, {"median": of("p50"), "95% below": of("p95")}, seconds),
        chart("Memory of the process", times, {"resident": of("memory")}, size),
    ]
    return [one for one in found if one is not None]


def importance_bars(urls: UrlTotals) -> list[Bar]:
    """URLs by their importance, in classes of an octave."""
    used = [n for n, count in enumerate(urls.octaves) if count]
    if not used:
        return []
    last = min(max(used), _LEAST_CLASS)
    rows = [
        (f"{percent(2.0 ** -(n + 1))} to {percent(2.0**-n)}", urls.octaves[n], f"{percent(urls.weights[n])} of all")
        for n in range(min(used), last)
    ]
    rest, weight = sum(urls.octaves[last:]), sum(urls.weights[last:])
    rows.append((f"less than {percent(2.0**-last)}", rest, f"{percent(weight)} of all"))
    if urls.unlinked:
        rows.append(("none came along links", urls.unlinked, ""))
    return bars(rows)


def status_bars(urls: UrlTotals) -> list[Bar]:
    """URLs by their last status, and those without one."""
    rows = [(str(status), count, "") for status, count in urls.statuses.most_common(25)]
    rows += [(state, urls.states[state], note) for state, note in _WITHOUT_STATUS if urls.states[state]]
    return bars(rows)


def depth_bars(urls: UrlTotals, web: Web) -> list[Bar]:
    """URLs by their depth, with the pages that came of them."""
    pages = {group.name: f"{group.number:,}" for group in web.depths.named}
    first = sorted(urls.depths.items())[:_LEAST_CLASS]
    return bars([(str(depth), count, pages.get(depth, "")) for depth, count in first])


def figure_rows(web: Web) -> list[tuple[str, str, str]]:
    """What a crawl tells of the web: label, value, and what others have published."""
    return [
        (figure.label, _said(value, figure.form), _beside(published_of(name), figure.form))
        for name, figure in FIGURES.items()
        if (value := figure.read(web)) is not None
    ]


def spread_rows(web: Web) -> list[tuple[str, list[str]]]:
    """How numbers are spread over pages: label, and the values of `QUANTILES` with the greatest behind them."""
    return [
        (one.label, [_said(value, one.form) for value in (*spread.quantiles.values(), spread.greatest)])
        for one in SPREADS.values()
        if (spread := one.read(web)).pages
    ]


def group_rows(name: str, groups: Groups) -> list[tuple[str, int, str, str]]:
    """Each status, type or language: what, how many, its share, and the shares that others have published."""
    rows = [
        (
            str(group.name or _NAMELESS),
            group.number,
            percent(groups.share(group.number)),
            _beside(published_of(name, group.name), "share"),
        )
        for group in groups.named
    ]
    return [*rows, ("other", groups.other, percent(groups.share(groups.other)), "")] if groups.other else rows


def _beside(found: Iterable[Published], form: Form) -> str:
    return ", ".join(f"{_said(one.value, form)} ({SOURCES[one.source].name})" for one in found)


def _said(value: float, form: Form) -> str:
    if form == "number":
        return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"
    return percent(value) if form == "share" else size(value)


_NAMELESS: Final = "none"
"""A type or a language that nobody declares."""
_WITHOUT_STATUS: Final = (
    ("failed", "no answer came"),
    ("excluded", "robots.txt or a rule forbids them"),
    ("queued", "they wait"),
)


def shown(text: object, limit: int = _LONGEST) -> str:
    """Text of the web for a page: cut, with control characters and marks of direction written out."""
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


def percent(share: float) -> str:
    """A share from 0 to 1, in two digits or so."""
    number = share * 100
    if number >= 10 or number == 0:
        return f"{number:.3g}%"
    return f"{number:.{max(1, 1 - math.floor(math.log10(number)))}f}%"


def moment(at: float | None) -> str:
    """Unix seconds as a date and a time (UTC)."""
    return "never" if at is None else f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M} UTC"


def seconds(number: float) -> str:
    """A short time."""
    if number < 1:
        return f"{number * 1000:,.0f} ms"
    return f"{number:,.1f} s"
