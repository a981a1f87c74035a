"""`scrapy genspider`, with a template for spiders that crawl whole sites."""

from __future__ import annotations

import argparse
from importlib import import_module
from importlib.resources import as_file, files
from pathlib import Path

from scrapy.commands.genspider import Command as ScrapyGenspider

from sitecrawl.console.version import Versioned

_TEMPLATE = "sitecrawl"


class Command(Versioned, ScrapyGenspider):
    """Scrapy's own, and the template `sitecrawl`; one of that name that the project has goes first."""

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        assert self.settings is not None
        if not _is_in_folder(self.settings.get("NEWSPIDER_MODULE")):
            self.settings.set("NEWSPIDER_MODULE", "", priority="cmdline")  # the spider goes to where the user is
        with as_file(files("sitecrawl") / "templates" / f"{_TEMPLATE}.tmpl") as path:  # the package may be a zip file
            self._packed = path
            super().run(args, opts)

    def _find_template(self, template: str) -> Path | None:
        own = (Path(f"{_TEMPLATE}.tmpl"), Path(self.templates_dir, f"{_TEMPLATE}.tmpl"))
        is_ours = template == _TEMPLATE and not any(path.exists() for path in own)
        return self._packed if is_ours else super()._find_template(template)

    def _list_templates(self) -> None:
        super()._list_templates()
        print(f"  {_TEMPLATE}")


def _is_in_folder(module: str | None) -> bool:
    return bool(module) and Path(import_module(str(module)).__file__ or "").parent.is_dir()
