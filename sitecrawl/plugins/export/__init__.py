"""What a crawl has stored, in the forms that others take: tables, an archive in one file."""

from typing import Any, Final

from sitecrawl.base.plugins import Plugin
from sitecrawl.base.setting import Setting

# fmt: off
# Categories of draft-ietf-aipref-vocab-08, and text and data mining of any other kind.
USE: Final = Setting("SITECRAWL_USE", "", "name",
    "What the pages are for; exports leave out [what refuses that](rights.md#to-obey-them).",
    choices=("", "search", "ai-use", "train-ai", "tdm"))
EXPORTS: Final[Setting[list[Any]]] = Setting("SITECRAWL_EXPORTS", [], "names of files",
    "What is [written when the crawl has ended](export.md#at-the-end-of-a-crawl): pages, or all of it.")
# fmt: on

PLUGIN = Plugin(
    settings=(USE, EXPORTS),
    wanted_by=(USE,),
    components={"EXTENSIONS": {"sitecrawl.plugins.export.tdm_files.TdmFiles": 0}},
    outputs={EXPORTS: "sitecrawl.plugins.export.outputs.export_to"},
    commands={name: f"sitecrawl.plugins.export.commands.{name}.Command" for name in ("changes", "export", "search")},
)
