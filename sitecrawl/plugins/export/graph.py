"""The link graph of a crawl: which page links to which URL, by numbers and by names.

Nodes are canonical URLs, fetched or not, numbered from 0 in the order of their bytes: neighbours in that order are
neighbours on the web, which is what makes a web graph compress (Boldi and Vigna, The WebGraph Framework I, 2004).
Arcs are in the order of their numbers, each once.

No URL is looked up. Links are written as lines `target source` and sorted; reading them beside the sorted nodes turns
targets into numbers, and sorting again by source and reading once more does the same for sources. So memory is
bounded by what `Sorted` holds, whatever the number of links.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from sitecrawl.crawldir.faults import file_errors
from sitecrawl.pagestore.lookup import url_key
from sitecrawl.pagestore.record import warc_uri
from sitecrawl.plugins.export.exported_page import ExportedPage
from sitecrawl.plugins.export.fields import Field
from sitecrawl.plugins.export.sorting import Sorted

FIELDS: Final = (
    Field("source", "text"),
    Field("target", "text"),
    Field("source_id", "integer"),
    Field("target_id", "integer"),
)
_DIGITS: Final = 12
"""Of a number, so that the order of bytes is that of numbers."""


class Arc(NamedTuple):
    """A link."""

    source: str
    target: str
    source_id: int
    target_id: int


class LinkGraph:
    """Of `pages`. Works in `directory`, which is for nothing else. Raises `StorageError`."""

    def __init__(self, pages: Iterable[ExportedPage], directory: Path) -> None:
        self._directory = directory
        self.nodes = 0
        self.arcs = 0
        links, nodes = Sorted(directory / "links"), Sorted(directory / "urls")
        for page in pages:
            source = _node(page.capture.url_key)
            nodes.add(source)
            for link in page.links:
                target = _node(url_key(link))
                nodes.add(target)
                links.add(target + b"\t" + source)
        self._links = links
        self._names = directory / "names"
        with file_errors(self._names), self._names.open("wb") as file:
            for name in nodes:
                file.write(name + b"\n")
                self.nodes += 1

    def urls(self) -> Iterator[str]:
        """Of the nodes, that of number 0 first."""
        with self._names.open("rb") as file:
            yield from (line[:-1].decode() for line in file)

    def all_arcs(self) -> Iterator[Arc]:
        """To be asked for once."""
        by_source = Sorted(self._directory / "arcs")
        for number, target, source in self._numbered(self._links):
            by_source.add(b"\t".join((source, b"%0*d" % (_DIGITS, number), target)))
        for number, source, rest in self._numbered(by_source):
            target_id, _, target = rest.partition(b"\t")
            self.arcs += 1
            yield Arc(source.decode(), target.decode(), number, int(target_id))

    def _numbered(self, lines: Iterable[bytes]) -> Iterator[tuple[int, bytes, bytes]]:
        """Sorted lines, each with the number of the node that it begins with: number, node, rest."""
        with self._names.open("rb") as file:
            names = enumerate(line[:-1] for line in file)
            number, name = -1, b""
            for line in lines:
                node, _, rest = line.partition(b"\t")
                while name != node:
                    number, name = next(names)
                yield number, node, rest


def _node(url: str) -> bytes:
    return warc_uri(url).encode()


def arc_lines(arcs: Iterable[Arc]) -> Iterator[bytes]:
    """What WebGraph calls an arc list: a line an arc, two numbers with a tab between."""
    return (b"%d\t%d\n" % (arc.source_id, arc.target_id) for arc in arcs)


def url_lines(urls: Iterable[str]) -> Iterator[bytes]:
    """The URL of number n in line n, counted from 0."""
    return (url.encode() + b"\n" for url in urls)
