"""How much a text is about a topic."""

from __future__ import annotations

from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest

if TYPE_CHECKING:
    from sitecrawl.plugins.focused.topic import Topic


def test_relevance_orders_texts(new_topic: type[Topic]) -> None:
    """More of the topic is more relevant, nothing of it is 0, the same is 1; and long texts are not preferred."""
    topic = new_topic(["solar panels"])
    much, little, none = topic.relevance(["solar panels on roofs", "roofs with one panel, solar", "wind and water"])
    assert much > little > none == 0
    assert topic.relevance(["Panels: solar"]) == [pytest.approx(1)]
    once = "we sell solar power " + "and many other things of all kinds " * 3
    assert topic.relevance([once])[0] < much
    assert topic.relevance([]) == []


def test_words_that_are_everywhere_count_less(new_topic: type[Topic]) -> None:
    """What every page of a site says does not tell its pages apart, once some have been met."""
    topic = new_topic(["company bridge"])
    before = topic.relevance(["company news"])[0]
    for number in range(40):
        topic.read(f"company page number{number}")
    assert topic.relevance(["company news"])[0] < before
    assert topic.relevance(["a bridge"])[0] > topic.relevance(["a company"])[0]


def test_examples(new_topic: type[Topic]) -> None:
    """Pages stand for a topic as a query does."""
    topic = new_topic(["bridges of steel, bridges of stone, arches"])
    near, far = topic.relevance(["an old bridge of stone, with arches", "the weather of today"])
    assert near > far


def test_memory_is_bounded(new_topic: type[Topic]) -> None:
    """Of the pages that were met a sample stays, spread over all of them."""
    topic = new_topic(["bridge"])
    with patch("sitecrawl.plugins.focused.topic._SAMPLE", 20):
        for number in range(100):
            topic.read(f"w{number}")
    assert len(topic._sample) == 20
