"""What a crawl has stored, in the forms that others take: tables, a link graph, an archive in one file."""

from typing import Any, Final

from sitecrawl.base.plugins import Plugin
from sitecrawl.base.setting import Setting

# fmt: off
# Categories of draft-ietf-aipref-vocab-08, and text and data mining of any other kind.
USE: Final = Setting("SITECRAWL_USE", "", "name",
    "What the pages are for; exports leave out [what refuses that](rights.md#to-obey-them).",
    choices=("", "search", "ai-use", "train-ai", "tdm"))
EXPORTS: Final[Setting[list[Any]]] = Setting("SITECRAWL_EXPORTS", [], "names of files",
    "What is [written when the crawl has ended](export.md#at-the-end-of-a-crawl): pages, links, all of it.")
SEARCH_INDEX: Final = Setting("SITECRAWL_SEARCH_INDEX", False, "yes or no",
    "At its end, the crawl adds its new pages to the [search index](export.md#search).")
# fmt: on

PLUGIN = Plugin(
    settings=(USE, EXPORTS, SEARCH_INDEX),
    wanted_by=(SEARCH_INDEX, USE),
    components={
        "EXTENSIONS": {
            "sitecrawl.plugins.export.search_index.SearchIndexing": 0,
            "sitecrawl.plugins.export.tdm_files.TdmFiles": 0,
        }
    },
    outputs={EXPORTS: "sitecrawl.plugins.export.outputs.export_to"},
    commands={name: f"sitecrawl.plugins.export.commands.{name}.Command" for name in ("changes", "export", "search")},
)
