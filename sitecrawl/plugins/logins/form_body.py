"""The entries of a form as a browser sends them (HTML standard, section 4.10.21, "form submission").

In the charset that the form accepts, else the page's; what has no bytes there goes as a character reference. A form
says by its `enctype` whether they go in one line, or in parts.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Final
from urllib.parse import urlencode

from sitecrawl.page.charset import of_label

_IN_PARTS: Final = "multipart/form-data"
_Entries = Sequence[tuple[str, str]]
"""Names and values, in their order."""
_REFERENCE: Final = "xmlcharrefreplace"


def form_body(entries: _Entries, enctype: str, charset: str) -> tuple[str, bytes]:
    """The Content-Type and the body, for what a form says of its `enctype`."""
    lines = [(_crlf(name), _crlf(value)) for name, value in entries]
    if enctype.strip().lower() == _IN_PARTS:
        return _in_parts(lines, charset)
    return "application/x-www-form-urlencoded", urlencode(lines, encoding=charset, errors=_REFERENCE).encode()


def sending_charset(accepted: str, of_page: str) -> str:
    """The first that a form accepts and there is, else its page's. No form is sent in UTF-16."""
    known = (of_label(label) for label in accepted.split())
    charset = next((one for one in known if one), None) or of_label(of_page) or "utf-8"
    return "utf-8" if charset.startswith("utf-16") else charset


def _in_parts(entries: _Entries, charset: str) -> tuple[str, bytes]:
    """RFC 7578. The boundary is in no value: nobody can guess it."""
    boundary = secrets.token_hex(24)
    parts = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{_in_quotes(name)}"\r\n\r\n{value}\r\n'
        for name, value in entries
    ]
    body = "".join([*parts, f"--{boundary}--\r\n"]).encode(charset, _REFERENCE)
    return f"{_IN_PARTS}; boundary={boundary}", body


def _in_quotes(name: str) -> str:
    return name.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")


def _crlf(text: str) -> str:
    return "\r\n".join(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))
