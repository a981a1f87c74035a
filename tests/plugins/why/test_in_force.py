"""What is told of a crawl's scope and limits is what holds by now."""

import json

import pytest

from sitecrawl.base.errors import CorruptFile
from sitecrawl.crawldir.terms import Terms
from sitecrawl.http.sheets.change import SETTINGS, Change
from sitecrawl.http.sheets.kept import kept
from sitecrawl.http.sheets.sheet import Sheet
from sitecrawl.plugins.why.source import in_force, sheets_in_force


def change(at: float, option: str, host: str = "", *, after: object, configured: object = None, **by: str) -> Change:
    return Change.new(at, option, host, before=None, after=after, configured=configured, **by)


class TestCrawl:
    def test_the_last_change_counts(self) -> None:
        """Of what was changed for the crawl the last says what holds, also where the settings say it again."""
        told = Terms(allow=("/a",), deny=("/d",), max_pages=5, max_depth=2)
        changes = [
            change(1, "deny", after=("/x",)),
            change(2, "deny", after=("/x", "/y")),
            change(3, "max_depth", after=9),
            change(4, "max_depth", after=2, by=SETTINGS),
            change(5, "delay", after=3.0),
            change(6, "max_pages", "a.example", after=1),
        ]
        found = in_force(told, changes)
        assert found is not None
        assert (found.allow, found.deny, found.max_pages, found.max_depth) == (("/a",), ("/x", "/y"), 5, 2)

    def test_the_kind_of_scope(self) -> None:
        """Links are judged by the kind that was set by hand."""
        found = in_force(Terms(scope="site"), [change(1, "scope", after="prefix", configured="site")])
        assert found is not None
        assert found.scope == "prefix"

    def test_nothing_is_known(self) -> None:
        """Of a crawl that was told nothing yet there is nothing to change."""
        assert in_force(None, [change(1, "max_depth", after=1)]) is None


class TestSheets:
    def test_what_was_kept_gives_the_same_answers(self) -> None:
        """What the crawl keeps of a sheet says which URLs are fetched, and what was set by hand goes over it."""
        sheet = Sheet(hosts=("a.example",), deny=("/x",), max_depth=4, headers={"X-Key": "secret"})
        stored = json.loads(json.dumps([kept(sheet, lambda _text: "digest")]))
        found = sheets_in_force(stored, [change(1, "max_depth", "b.example", after=2)])
        assert (found.of("a.example").deny, found.of("a.example").max_depth) == (("/x",), 4)
        assert found.of("b.example").max_depth == 2

    def test_what_was_taken_back(self) -> None:
        """A host's option that is as its sheet has it again is the sheet's."""
        stored = [{"hosts": ["a.example"], "max_pages": 7}]
        changes = [
            change(1, "max_pages", "a.example", after=3, configured=7),
            change(2, "max_pages", "a.example", after=7, configured=7),
        ]
        assert sheets_in_force(stored, changes).of("a.example").max_pages == 7

    @pytest.mark.parametrize("stored", [[3], [{"hosts": 5}], 7])
    def test_damage(self, stored: object) -> None:
        """What cannot be read is an error that says so."""
        with pytest.raises(CorruptFile, match="cannot be read"):
            sheets_in_force(stored, []).of("a.example")  # type: ignore[arg-type]
