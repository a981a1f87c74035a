"""`scrapy genspider`, with a template for spiders that crawl whole sites."""

from __future__ import annotations

import argparse
import shutil
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory

from scrapy.commands.genspider import Command as ScrapyGenspider

from sitecrawl.console.base_command import Versioned

_TEMPLATE = "sitecrawl.tmpl"


class Command(Versioned, ScrapyGenspider):
    """Scrapy's own, and the template `sitecrawl`; one of that name that the project has goes first."""

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if not _is_in_folder(self.settings.get("NEWSPIDER_MODULE")):
            self.settings.set("NEWSPIDER_MODULE", "", priority="cmdline")  # the spider goes to where the user is
        with TemporaryDirectory() as folder:
            self._collect_templates(Path(folder, "spiders"))
            self.settings.set("TEMPLATES_DIR", folder, priority="cmdline")
            super().run(args, opts)

    def _collect_templates(self, folder: Path) -> None:
        """The project's or Scrapy's, and ours beside them."""
        if Path(self.templates_dir).is_dir():
            shutil.copytree(self.templates_dir, folder)
        folder.mkdir(exist_ok=True)
        if not (folder / _TEMPLATE).exists():
            (folder / _TEMPLATE).write_bytes((files("sitecrawl") / "templates" / _TEMPLATE).read_bytes())


def _is_in_folder(module: str | None) -> bool:
    return bool(module) and Path(import_module(str(module)).__file__ or "").parent.is_dir()
