"""XML feeds of items that hold anything."""

from __future__ import annotations

from io import BytesIO
from xml.etree import ElementTree as ET

import pytest

from sitecrawl.extensions.xml_exporter import XmlItemExporter


def exported(item: dict[str, object]) -> ET.Element:
    file = BytesIO()
    exporter = XmlItemExporter(file)
    exporter.start_exporting()
    exporter.export_item(item)
    exporter.finish_exporting()
    return ET.fromstring(file.getvalue())


@pytest.mark.parametrize("bad", ["\x01", "\x00", "\x0b\x1f", "\ud800", "\ufffe"])
def test_what_xml_has_not_is_replaced(bad: str) -> None:
    """Wherever it stands in an item; what XML has stays."""
    found = exported({"title": f"a{bad}<b>é\U0001f600", "many": [bad, "x"], "in": {"deep": bad}})
    assert found.findtext("item/title") == "a" + len(bad) * "\ufffd" + "<b>é\U0001f600"
    assert [one.text for one in found.iter("value")] == [len(bad) * "\ufffd", "x"]


@pytest.mark.parametrize(
    ("name", "expected"), [("a b", "a_b"), ("1x", "_x"), ("", "_"), ("größe", "größe"), ("<", "_")]
)
def test_what_no_name_may_have_is_replaced(name: str, expected: str) -> None:
    """Names of fields become names of elements."""
    assert exported({"found": {name: "x"}}).findtext(f"item/found/{expected}") == "x"
