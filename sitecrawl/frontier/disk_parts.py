"""The parts of a `DiskFrontier` that its crawl asks and tells directly."""

from __future__ import annotations

from collections.abc import Container, Mapping

from sitecrawl.frontier.contract import Figures, HeldBack
from sitecrawl.frontier.dispatcher import Dispatcher
from sitecrawl.frontier.forms.duplicates import ContentIndex, Verdict
from sitecrawl.frontier.forms.forms import Forms
from sitecrawl.frontier.judge.trap_judge import TrapJudge, waits_in
from sitecrawl.frontier.urls.counts import Counts
from sitecrawl.frontier.urls.tables import HostTable
from sitecrawl.frontier.urls.territory import Territory
from sitecrawl.frontier.urls.trap_state import Reason
from sitecrawl.frontier.urls.url_states import UrlStates
from sitecrawl.frontier.urls.visit import Visit


class DiskContents:
    """See `contract.Contents`. What it finds is told to the rules about URLs, and to the page's host."""

    def __init__(
        self, index: ContentIndex, states: UrlStates, forms: Forms, in_flight: Mapping[bytes, Visit]
    ) -> None:
        self._index = index
        self._states = states
        self._forms = forms
        self._in_flight = in_flight

    def is_repeated(self, visit: Visit, sha1: bytes) -> bool:
        return self._index.is_repeated(sha1, visit.key)

    def judge(
        self, visit: Visit, sha1: bytes, *, title: str, text_hash: int | None, sample: bytes | None = b""
    ) -> Verdict:
        if visit.key not in self._in_flight:
            return Verdict.NEW
        record = self._states.known(visit.key)
        found = self._index.add(record.host, sha1, visit.key, title=title, text_hash=text_hash)
        self._forms.compared(visit, record, found.original, found.title)
        host = self._states.host_of(record)
        if not visit.again:
            visit.news.is_new = host.drought.is_news(sample) if found.verdict is Verdict.NEW else False
        return found.verdict


class DiskManners:
    """See `contract.Manners`. With a `territory` other hosts than its own are another's to be polite to."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        hosts: HostTable,
        states: UrlStates,
        in_flight: Mapping[bytes, Visit],
        territory: Territory | None,
    ) -> None:
        self._dispatcher = dispatcher
        self._hosts = hosts
        self._states = states
        self._in_flight = in_flight
        self._territory = territory

    def answered(self, visit: Visit, *, failed: bool, retry_after: float = 0.0) -> None:
        if visit.key in self._in_flight:
            self._dispatcher.answered(visit, failed=failed, retry_after=retry_after)

    def slow_down(self, host_name: str, crawl_delay: float) -> None:
        if self._territory is not None and not self._territory.has(self._hosts.key_of(host_name)):
            return
        host = self._hosts.home(host_name)
        host.crawl_delay = max(crawl_delay, host.crawl_delay if host.is_pool else 0.0)
        self._hosts.changed(host)

    def is_out(self, visit: Visit) -> bool:
        if visit.key not in self._in_flight:
            return False
        return self._states.host_of(self._states.known(visit.key)).is_out


def figures_of(counts: Counts, dispatcher: Dispatcher, judge: TrapJudge, *, in_flight: int) -> Figures:
    """Figures of the crawl now; `in_flight`: number of visits under way."""
    return Figures(
        counts.queued,
        counts.fetched,
        counts.failed,
        counts.excluded,
        counts.requisites,
        in_flight=in_flight,
        held=_held_back(judge, dispatcher.silent_hosts),
        joined=dispatcher.joined,
        silent=dispatcher.silent,
        silent_hosts=len(dispatcher.silent_hosts),
        is_full=dispatcher.page_limit.is_full,
    )


def _held_back(judge: TrapJudge, silent: Container[bytes]) -> HeldBack:
    """What is held back now, on hosts that are not `silent`. Costs a look at every set that is, and none at any
    URL.
    """
    found = HeldBack()
    for host, section in judge.units_held(silent):
        number, reason = waits_in(host, section), Reason((section or host).trap.reason)
        if number and reason != Reason.JOINED:
            found.urls[reason] += number
            found.sets[reason] += 1
    return found
