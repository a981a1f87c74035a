"""Rows of stored pages."""

from __future__ import annotations

import re
from typing import Final

from sitecrawl.base.display import one_line
from sitecrawl.console.listing import Layout
from sitecrawl.pagestore.capture import Capture
from sitecrawl.pagestore.printing import time_of

_TITLE_WIDTH: Final = 50
_LINE_BREAKS = re.compile(r"[\t\n]+")


def _capture(capture: Capture) -> str:
    title = one_line(_LINE_BREAKS.sub(" ", capture.title or f"({capture.kind})"))
    if len(title) > _TITLE_WIDTH:
        title = title[: _TITLE_WIDTH - 1] + "\N{HORIZONTAL ELLIPSIS}"
    size = capture.payload_size if capture.size is None else capture.size
    numbers = f"{time_of(capture)}  {capture.status:>6}  {size:>9}"
    return f"{numbers}  {title:<{_TITLE_WIDTH}}  {one_line(capture.url)}"


CAPTURES: Final = Layout(
    f"{'fetched (UTC)':<19}  {'status':>6}  {'size':>9}  {'title':<{_TITLE_WIDTH}}  url",
    _capture,
    Capture._fields,
    Capture._asdict,
)
