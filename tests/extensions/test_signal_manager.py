"""Signals reach whom Scrapy's own manager would reach."""

from __future__ import annotations

from typing import Any

import pytest
from pydispatch import dispatcher
from scrapy.signalmanager import SignalManager
from scrapy.utils.test import get_crawler

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


def test_another_sender() -> None:
    """Who sends can be said with the signal."""
    hearer = Hearer()
    dispatcher.connect(hearer.hear, SIGNAL, OTHER)
    assert Signals(SENDER).send_catch_log(SIGNAL, word="yes", sender=OTHER) == [(hearer.hear, "yes")]


def test_it_takes_the_place_of_scrapys() -> None:
    """Not that of a manager which somebody else has put there."""
    crawler = get_crawler(settings_dict={"ADDONS": {"sitecrawl.addon.Addon": 1}})
    assert type(crawler.signals) is Signals
    assert crawler.signals.sender is crawler
    crawler.signals = own = type("Own", (SignalManager,), {})(crawler)
    Addon.from_crawler(crawler)
    assert crawler.signals is own
