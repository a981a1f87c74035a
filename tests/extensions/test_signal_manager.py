"""Signals reach whom Scrapy's own manager would reach."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Coroutine, Iterable
from typing import Any

import pytest
from pydispatch import dispatcher
from scrapy.exceptions import StopDownload
from scrapy.signalmanager import SignalManager
from scrapy.utils.test import get_crawler
from twisted.internet.defer import Deferred, succeed
from twisted.python.failure import Failure

from sitecrawl.addon import Addon
from sitecrawl.extensions.signal_manager import Signals

SIGNAL, OTHER = object(), object()
SENDER = object()


class Hearer:
    def hear(self, signal: object, word: str) -> str:
        assert signal is SIGNAL
        return word


@pytest.mark.parametrize(
    ("connected", "answers"),
    [
        ({"signal": SIGNAL, "sender": SENDER}, 1),
        ({"signal": SIGNAL, "sender": dispatcher.Any}, 1),
        ({"signal": dispatcher.Any, "sender": SENDER}, 1),
        ({"signal": dispatcher.Any, "sender": dispatcher.Any}, 1),
        ({"signal": OTHER, "sender": SENDER}, 0),
        ({"signal": SIGNAL, "sender": OTHER}, 0),
    ],
)
def test_who_is_reached(connected: dict[str, Any], answers: int) -> None:
    """By this signal of this sender, or by all of either, and nobody after the receiver has gone."""
    hearer = Hearer()
    dispatcher.connect(hearer.hear, **connected)
    for manager in (Signals(SENDER), SignalManager(SENDER)):
        assert manager.send_catch_log(SIGNAL, word="yes") == [(hearer.hear, "yes")] * answers
    del hearer
    assert Signals(SENDER).send_catch_log(SIGNAL, word="yes") == []


def test_who_comes_and_goes() -> None:
    """Each signal reaches who is connected when it is sent."""
    first, second, manager = Hearer(), Hearer(), Signals(SENDER)
    dispatcher.connect(first.hear, SIGNAL, SENDER)
    assert manager.send_catch_log(SIGNAL, word="yes") == [(first.hear, "yes")]
    dispatcher.connect(second.hear, SIGNAL, SENDER)
    assert manager.send_catch_log(SIGNAL, word="yes") == [(first.hear, "yes"), (second.hear, "yes")]
    dispatcher.disconnect(first.hear, SIGNAL, SENDER)
    assert manager.send_catch_log(SIGNAL, word="yes") == [(second.hear, "yes")]
    del second
    assert manager.send_catch_log(SIGNAL, word="yes") == []


def test_another_sender() -> None:
    """Who sends can be said with the signal."""
    hearer = Hearer()
    dispatcher.connect(hearer.hear, SIGNAL, OTHER)
    assert Signals(SENDER).send_catch_log(SIGNAL, word="yes", sender=OTHER) == [(hearer.hear, "yes")]


class Receivers:
    """Each hears in its own way."""

    def takes_none(self) -> int:
        return 1

    def takes_some(self, word: str, nothing: int = 2) -> tuple[str, int]:
        return word, nothing

    def takes_all(self, **named: Any) -> list[str]:
        return sorted(named)

    def fails(self) -> None:
        raise KeyError

    def lacks(self, another: str) -> None:
        raise AssertionError(another)

    def stops(self) -> None:
        raise StopDownload

    def has_fired(self) -> Deferred[int]:
        return succeed(3)

    def promises(self) -> Awaitable[str]:
        return self.waits("later")

    async def waits(self, word: str) -> str:
        await asyncio.sleep(0)
        return word

    async def fails_later(self) -> None:
        raise KeyError


METHODS = [name for name in vars(Receivers) if not name.startswith("_")]


def told(answers: Iterable[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Who answered what, in a form that can be compared."""

    def shown(answer: Any) -> Any:
        if isinstance(answer, Coroutine):
            answer.close()
        one = answer.value if isinstance(answer, Failure) else answer
        return (type(answer), type(one)) if isinstance(one, Exception | Coroutine | Deferred) else one

    return [(receiver, shown(answer)) for receiver, answer in answers]


@pytest.mark.filterwarnings("ignore:.*returned a Deferred")
@pytest.mark.parametrize("names", [*[[name] for name in METHODS], METHODS])
def test_what_receivers_give(names: list[str], caplog: pytest.LogCaptureFixture) -> None:
    """Whatever they take, raise or give, the outcome and the log are Scrapy's."""
    receivers = Receivers()
    for name in names:
        dispatcher.connect(getattr(receivers, name), SIGNAL, SENDER)

    def outcome(manager: SignalManager) -> list[Any]:
        caplog.clear()
        now = told(manager.send_catch_log(SIGNAL, word="yes", spider=None))
        later = told(asyncio.run(manager.send_catch_log_async(SIGNAL, word="yes")))
        return [now, later, Counter((record.name, record.getMessage()) for record in caplog.records)]

    assert outcome(Signals(SENDER)) == outcome(SignalManager(SENDER))


def test_it_takes_the_place_of_scrapys() -> None:
    """Not that of a manager which somebody else has put there."""
    crawler = get_crawler(settings_dict={"ADDONS": {"sitecrawl.addon.Addon": 1}})
    assert type(crawler.signals) is Signals
    assert crawler.signals.sender is crawler
    crawler.signals = own = type("Own", (SignalManager,), {})(crawler)
    Addon.from_crawler(crawler)
    assert crawler.signals is own
