"""What a crawl has stored, in the forms that others take: tables, a link graph, an archive in one file."""

from sitecrawl.base.plugins import Plugin

PLUGIN = Plugin(
    settings={"SITECRAWL_EXPORTS": [], "SITECRAWL_SEARCH_INDEX": False, "SITECRAWL_USE": ""},
    wanted_by=("SITECRAWL_SEARCH_INDEX", "SITECRAWL_USE"),
    components={
        "EXTENSIONS": {
            "sitecrawl.plugins.export.search_index.SearchIndexing": 0,
            "sitecrawl.plugins.export.tdm_files.TdmFiles": 0,
        }
    },
    outputs={"SITECRAWL_EXPORTS": "sitecrawl.plugins.export.outputs.export_to"},
    commands={name: f"sitecrawl.plugins.export.commands.{name}.Command" for name in ("changes", "export", "search")},
)
