"""scikit-learn takes a second to import, and each process of the suite imports all modules of tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from sitecrawl.plugins.focused.topic import Topic


@pytest.fixture
def new_topic() -> type[Topic]:
    from sitecrawl.plugins.focused.topic import Topic

    return Topic
