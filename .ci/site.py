"""MkDocs' hooks: the site has README.md for its front page, and docs/README.md says what else there is, and where.

The documents at the project's top are pages of the site, too. Links between them and docs/ are changed to fit, and
what is no document, such as a benchmark, is named and not linked to.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

TOP = Path(__file__).resolve().parent.parent
INDEX = "documents.md"
"""What docs/README.md is on the site: MkDocs would take it for the front page."""
PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
}
"""Documents at the top, and what they are on the site."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """The navigation: the headings of docs/README.md, and the links below them."""
    sections: list[dict[str, Any]] = [{"sitecrawl": ["index.md", INDEX]}]
    for line in (TOP / "docs" / "README.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            sections.append({line.removeprefix("## "): []})
        elif found := re.match(r"- \[(.*?)\]\((.*?)\)", line):
            next(iter(sections[-1].values())).append({found[1]: PAGES.get(found[2].removeprefix("../"), found[2])})
    config.nav = sections
    return config


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    index = files.get_file_from_path("README.md")
    assert index is not None
    files.remove(index)
    files.append(File.generated(config, INDEX, content=_from_docs(index.content_string)))
    for name, page in PAGES.items():
        text = (TOP / name).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=_from_top(text)))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    return _from_docs(markdown)


def _from_docs(text: str) -> str:
    """Of a page in docs/: its links to the top."""
    for name, page in PAGES.items():
        text = text.replace(f"(../{name}", f"({page}")
    return _without_links_to_files(text)


def _from_top(text: str) -> str:
    """Of a page at the top: its links into docs/, and elsewhere."""
    text = text.replace("(docs/README.md", f"({INDEX}")
    text = re.sub(r"\]\(docs/", "](", text)
    for name, page in PAGES.items():
        text = text.replace(f"]({name}", f"]({page}")
    return _without_links_to_files(text)


def _without_links_to_files(text: str) -> str:
    """What is no page and no picture is not on the site."""
    return re.sub(r"(?<!!)\[([^\]]+)\]\(([\w./-]+)(?<!\.md)(?<!\.svg)(?<!\.png)(?<!\.json)\)", r"\1 (`\2`)", text)
