"""What a robots.txt must look like before a parser may see it."""

from __future__ import annotations

import codecs
import re
from typing import Final

MAX_AGENTS: Final = 100
"""Lines that name a crawler, up to which a file goes to the parser as it is."""

_BOMS = ((codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_AGENT_LINE = re.compile(r"\s*+user[- ]?agent\s*+:?\s*+([^#]*+)", re.IGNORECASE)
_NOBODY = "User-agent: !"


def as_utf8(body: bytes) -> bytes:
    """A robots.txt has to be UTF-8 (RFC 9309 §2.2); some are UTF-16 and say so by a byte order mark."""
    for bom, encoding in _BOMS:
        if body.startswith(bom):
            return body.decode(encoding, errors="replace").encode()
    return body


def addressed(body: bytes, agent: str) -> bytes:
    """`body`, where all crawlers that are not `agent` have one name if there are very many of them.

    Protego keeps every rule of a group once for each crawler that the group names. 20,000 names before 20,000 rules
    fit into 500 KB, and would take minutes and tens of gigabytes.
    """
    if len(re.findall(rb"agent", body, re.IGNORECASE)) <= MAX_AGENTS:
        return body
    lines = body.decode(errors="replace").splitlines()
    return "\n".join(_in_short(line, agent.lower()) for line in lines).encode()


def _in_short(line: str, agent: str) -> str:
    match = _AGENT_LINE.match(line)
    named = match[1].strip().lower() if match is not None else ""
    if named in ("", "*"):
        return line
    name = named.replace("*", "")  # as Protego reads it
    return f"User-agent: {name}" if name and name in agent else _NOBODY
