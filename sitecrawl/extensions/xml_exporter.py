"""Scrapy's XML feeds, well-formed whatever the items hold."""

from __future__ import annotations

import re
from typing import Any, Final
from xml.sax.saxutils import XMLGenerator
from xml.sax.xmlreader import AttributesImpl

from scrapy.exporters import XmlItemExporter as ScrapyXmlItemExporter

_NO_CHARACTER: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""XML, section 2.2."""
_NO_NAME: Final = re.compile(r"[^A-Za-z0-9_.\u00c0-\u02ff\u0370-\u037d\u037f-\u1fff\u3001-\ud7ff-]|^[0-9.-]")
"""Characters not allowed in a name or as its first (section 2.3, and less)."""


class _Generator(XMLGenerator):
    def characters(self, content: str) -> None:
        super().characters(_NO_CHARACTER.sub("\ufffd", content))

    def startElement(self, name: str, attrs: AttributesImpl) -> None:  # noqa: N802 - as the base class has it
        super().startElement(_name(name), attrs)

    def endElement(self, name: str) -> None:  # noqa: N802
        super().endElement(_name(name))


class XmlItemExporter(ScrapyXmlItemExporter):
    """Replaces characters invalid in XML by U+FFFD, and those invalid in names by an underscore."""

    def __init__(self, file: Any, **kwargs: Any) -> None:
        super().__init__(file, **kwargs)
        self.xg = _Generator(self.stream, encoding=self.encoding or "utf-8")


def _name(name: str) -> str:
    return _NO_NAME.sub("_", str(name)) or "_"
