"""Runs `scrapy` on a Scrapy that has other names for some things, as a later version may have.

    python renamed_scrapy.py scrapy.core.engine:ExecutionEngine._slot,... crawl generic -a seeds=...

A name that begins with `_` is another one in all modules of Scrapy; any other, which may stand for more than one
thing, as an attribute in the modules around the engine. The version passes for one that sitecrawl knows.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType

_AROUND_ENGINE = ("scrapy.core.", "scrapy.crawler.", "scrapy.middleware.", "scrapy.pipelines.")
_IMPORT = r"^(?:from|import) .*$"
"""There it is a module."""


class Renamed:
    """What is called otherwise."""

    def __init__(self, name: str) -> None:
        self.owner, _, path = name.partition(":")
        self.name = path.rpartition(".")[2]
        self._is_private = self.name.startswith("_")
        attribute = rf"{_IMPORT}|(?:(?<=\.)|(?<=def )|^ {{4}}(?={self.name}: )){self.name}\b"
        self._pattern = re.compile(rf"\b{self.name}\b" if self._is_private else attribute, re.MULTILINE)

    def in_source(self, module: str, source: str) -> str:
        """A module's source; another class's method of the same name keeps it."""
        is_anothers = module != self.owner and f"def {self.name}(" in source
        if not self._is_private and (is_anothers or not f"{module}.".startswith(_AROUND_ENGINE)):
            return source
        return self._pattern.sub(self._new, source)

    @staticmethod
    def _new(found: re.Match[str]) -> str:
        return found[0] if found[0].startswith(("from ", "import ")) else f"{found[0]}_renamed"


class Loader(SourceFileLoader):
    renamed: Sequence[Renamed] = ()

    def get_code(self, fullname: str) -> CodeType | None:
        source = changed = self.get_source(fullname) or ""
        for one in self.renamed:
            changed = one.in_source(fullname, changed)
        return super().get_code(fullname) if changed == source else compile(changed, self.path, "exec")


class Finder:
    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if not name.startswith("scrapy."):
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and type(spec.loader) is SourceFileLoader:
            spec.loader = Loader(name, spec.loader.path)
        return spec


def main() -> None:
    Loader.renamed = [Renamed(name) for name in sys.argv[1].split(",")]
    sys.meta_path.insert(0, Finder)
    sys.argv = ["scrapy", *sys.argv[2:]]
    import scrapy
    from scrapy.cmdline import execute

    from sitecrawl.crawl import privates

    privates.KNOWN[:] = [scrapy.version_info[:2]]
    execute()


if __name__ == "__main__":
    main()
