"""The documents say what the code does: settings, commands, arguments, modules, links, examples."""

from __future__ import annotations

import argparse
import ast
import re
import tomllib
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

from crawling import PROJECT, environment, scrapy
from localweb import LocalWeb, linked
from scrapy.commands import ScrapyCommand
from scrapy.commands.crawl import Command as ScrapyCrawl
from scrapy.commands.genspider import Command as ScrapyGenspider
from scrapy.commands.settings import Command as ScrapySettings
from scrapy.settings import Settings, default_settings

from sitecrawl.addon import SCRAPY_DEFAULTS
from sitecrawl.base import compiled
from sitecrawl.base.declared import RETIRED, SETTINGS
from sitecrawl.base.errors import DISTRIBUTION
from sitecrawl.base.limits import LIMITS
from sitecrawl.base.secret_settings import HIDDEN_WORDS
from sitecrawl.base.setting import Limit
from sitecrawl.crawldir import meta
from sitecrawl.spiders.arguments import NAMES

DOCS = PROJECT / "docs"
DOCUMENTS = [*sorted(PROJECT.glob("*.md")), *sorted(DOCS.rglob("*.md"))]
SOURCES = [
    path for part in ("sitecrawl", "middlewares", "pipelines") for path in sorted((PROJECT / part).rglob("*.py"))
]
COMMANDS = [
    path for path in SOURCES if path.parent.name == "commands" and "class Command(" in path.read_text("utf-8")
]
DEFINITIONS = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
VARIABLES = {compiled.PURE, HIDDEN_WORDS, "SITECRAWL_API_TOKEN"}
"""Of the environment, and no settings."""


def text(name: str) -> str:
    return (PROJECT / name).read_text(encoding="utf-8")


def rows(name: str, heading: str = "") -> dict[str, list[str]]:
    """The rows of tables and the points of lists, or of those between `heading` and the next one: code in the first
    cell, or before the colon → all cells.
    """
    section = text(name)
    if heading:
        section = re.split(r"^#+ ", section.partition(heading)[2], maxsplit=1, flags=re.MULTILINE)[0]
    lines = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| `")]
    lines += [line.removeprefix("- ").split(": ", 1) for line in section.splitlines() if line.startswith("- `")]
    return {code: cells for cells in lines for code in re.findall(r"`([^`]+)`", cells[0])}


def imported(path: Path) -> ModuleType:
    return import_module(".".join(path.relative_to(PROJECT).with_suffix("").parts))


class TestSettings:
    def test_every_name_in_the_source_is_declared(self) -> None:
        """No code speaks of a setting that there is not."""
        named = {
            name for path in SOURCES for name in re.findall(r"\bSITECRAWL_[A-Z_]*[A-Z]\b(?!_)", path.read_text())
        }
        assert named - VARIABLES - RETIRED.keys() <= SETTINGS.keys()

    def test_every_row_is_made_of_the_declaration(self) -> None:
        """Each setting has its row, in some table, as `Setting.row` has it; limits have theirs in docs/limits.md."""
        lines = text("docs/settings.md").splitlines()
        rows = [one.row() for one in SETTINGS.values() if not isinstance(one, Limit)]
        assert [row for row in rows if row not in lines] == []

    def test_every_documented_name_exists(self) -> None:
        """A documented setting of ours has a default, one of Scrapy's is known to Scrapy."""
        known = SETTINGS.keys() | set(dir(default_settings)) | {"HTTPERROR_ALLOW_ALL"}
        assert rows("docs/settings.md").keys() <= known

    def test_every_mentioned_name_exists(self) -> None:
        """No document speaks of a setting that there is not, but the changelog of those that were removed."""
        for path in DOCUMENTS:
            present = re.sub(r"^### Removed$.*?^##", "", path.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
            named = set(re.findall(r"\bSITECRAWL_[A-Z_]*[A-Z]\b(?!_)", present))
            assert named <= SETTINGS.keys() | VARIABLES, path

    def test_default(self) -> None:
        """The documented default of each of Scrapy's settings is the add-on's; limits have a test of their own."""
        documented = rows("docs/settings.md")
        limits = {limit.name for limit in LIMITS if isinstance(limit, Limit)}
        for name in SCRAPY_DEFAULTS.keys() - limits:
            assert ast.literal_eval(documented[name][1].split("`")[1]) == SCRAPY_DEFAULTS[name], name


class TestCommands:
    def test_every_command_and_option(self) -> None:
        """Each command has its heading, and a table of what it adds to the options at the top and Scrapy's."""
        common = set(re.findall(r"`(--?[a-z]+)`", text("docs/commands.md").partition("\n## ")[0]))
        for path in COMMANDS:
            name, module = path.stem, imported(path)
            heading = f"## scrapy {name}\n"
            assert heading in text("docs/commands.md"), name
            documented = {option for option in rows("docs/commands.md", heading) if option.startswith("-")}
            added = options_of(module.Command) - options_of(BASES.get(name, Plain)) - {"--version"}
            assert documented <= added <= documented | common, name

    def test_every_command_says_its_version(self) -> None:
        """The option that all of ours have is said once, above them."""
        have = [path.stem for path in COMMANDS if "--version" in options_of(imported(path).Command)]
        assert have == [path.stem for path in COMMANDS]
        assert "`--version`" in text("docs/commands.md").partition("## ")[0]

    def test_every_argument_of_generic(self) -> None:
        """The table of arguments is whole, and the README names each."""
        assert rows("docs/commands.md", "### Arguments of `generic`").keys() == set(NAMES)
        said = text("README.md").partition("## Arguments of `generic`")[2].partition("![")[0]
        assert set(NAMES) <= set(re.findall(r"`(\w+)`", said))

    def test_every_make_target(self) -> None:
        """What `.PHONY` lists is what a user may type."""
        phony = re.search(r"^\.PHONY: (.*)$", text("Makefile"), re.MULTILINE)
        assert phony is not None
        documented = {name.split()[1] for name in rows("docs/commands.md", "## make\n") if name.startswith("make ")}
        assert documented == set(phony[1].split())


class Plain(ScrapyCommand):
    """The options that every command has."""

    def short_desc(self) -> str:
        return ""

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        raise NotImplementedError


BASES: dict[str, type[ScrapyCommand]] = {
    "crawl": ScrapyCrawl,
    "genspider": ScrapyGenspider,
    "settings": ScrapySettings,
    "update": ScrapyCrawl,
}
"""Commands of Scrapy that ours extend."""


def options_of(command_class: type[ScrapyCommand]) -> set[str]:
    command = command_class()
    command.settings = Settings()
    parser = argparse.ArgumentParser(conflict_handler="resolve")
    command.add_options(parser)
    return set(parser._option_string_actions)


class TestArchitecture:
    def test_every_module_on_the_map_exists(self) -> None:
        """The map shows no module that is gone."""
        for name in rows("docs/design/architecture.md", "## The map"):
            assert (PROJECT / name).exists(), name

    def test_every_module_is_on_the_map(self) -> None:
        """No module is missing from the map; a folder stands for what is in it."""
        shown = rows("docs/design/architecture.md", "## The map").keys()
        for path in SOURCES:
            name = path.relative_to(PROJECT).as_posix()
            folders = {f"{parent.as_posix()}/" for parent in path.relative_to(PROJECT).parents}
            assert name in shown or folders & shown or name == "sitecrawl/__init__.py", name

    def test_layers(self) -> None:
        """The drawing of the layers is the contract that `make lint` keeps."""
        contract = tomllib.loads(text("pyproject.toml"))["tool"]["importlinter"]["contracts"][0]
        drawing = "\n".join(layer.replace("sitecrawl.", "") for layer in contract["layers"])
        assert f"```\n{drawing}\n```" in text("docs/design/architecture.md")


class TestNamedFiles:
    def test_every_named_file_exists(self) -> None:
        """A module that a document names by its path is there."""
        parts = "sitecrawl|middlewares|pipelines|benchmarks"
        for path in DOCUMENTS:
            named = re.findall(rf"`((?:{parts})/[\w/.-]+\.(?:py|lua|js))`", path.read_text(encoding="utf-8"))
            assert [name for name in named if not (PROJECT / name).exists()] == [], path


class TestNamedTests:
    def test_every_named_test_exists(self) -> None:
        """What a document says is tested, by the file and the name of a test, is there to be run."""
        written = "\n".join(path.read_text(encoding="utf-8") for path in DOCUMENTS)
        for named in re.findall(r"`(tests/[\w/]+(?:\.py)?(?:::\w+)*)`", written):
            file, *names = named.split("::")
            assert (PROJECT / file).exists(), named
            body = ast.parse(text(file)).body if names else []
            for name in names:
                found = [node for node in body if isinstance(node, DEFINITIONS) and node.name == name]
                assert found, named
                body = found[0].body


class TestDependencies:
    def test_every_dependency_is_explained(self) -> None:
        """What pyproject.toml asks for has a row, and no other package has one."""
        project = tomllib.loads(text("pyproject.toml"))["project"]
        asked = [*project["dependencies"], *(p for extra in project["optional-dependencies"].values() for p in extra)]
        names = {re.split(r"[\[<>=; ]", requirement)[0] for requirement in asked} - {DISTRIBUTION}
        packages = {name for name in rows("docs/dependencies.md") if re.fullmatch(r"[a-z][a-z0-9.-]*", name)}
        assert names <= packages


class TestLinks:
    def test_no_link_is_dead(self) -> None:
        """A relative link leads to a file, and its fragment to a heading of it."""
        targets = [(path, to) for path in DOCUMENTS for to in re.findall(r"\]\(([^)\s]+)\)", path.read_text("utf-8"))]
        for path, target in targets:
            if "://" in target:
                continue
            name, _, fragment = target.partition("#")
            file = path.parent / name if name else path
            assert file.exists(), (path, target)
            assert not fragment or fragment in anchors(file), (path, target)

    def test_every_document_is_in_the_index(self) -> None:
        """docs/README.md leads to all of them."""
        index = (DOCS / "README.md").read_text(encoding="utf-8")
        missing = [
            p for p in DOCS.rglob("*.md") if p.name != "README.md" and p.relative_to(DOCS).as_posix() not in index
        ]
        assert missing == []


@cache
def anchors(file: Path) -> set[str]:
    """The fragments that GitHub gives to a document's headings."""
    headings = re.findall(r"^#+ (.*)$", file.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


class TestExamples:
    def test_readme_spider_runs(self, tmp_path: Path) -> None:
        """The spider of the README, saved and run as it says, takes the headings of all pages of a site."""
        spider = re.search(r"```python\n(.*?)```", text("README.md"), re.DOTALL)
        assert spider is not None
        package = tmp_path / "spiders_of_readme"
        package.mkdir()
        (package / "__init__.py").write_text("")
        (package / "headings.py").write_text(spider[1])
        pages = {"/": linked("/a") + "<h1>Home</h1>", "/a": "<h2>A</h2>"}
        feed = tmp_path / "headings.csv"
        with LocalWeb(pages) as web:
            done = scrapy(
                "crawl", "headings", "-a", f"seeds={web.root}", "-O", str(feed),
                settings={
                    "SPIDER_MODULES": package.name, "JOBDIR": tmp_path / "crawl", "SITECRAWL_DELAY_FACTOR": 0,
                },
                env=environment(PYTHONPATH=str(tmp_path)),
            )  # fmt: skip
        assert done.returncode == 0, done.stderr
        lines = {line.replace(web.root, "") for line in feed.read_text().splitlines()}
        assert {"/,0,Home", "/a,1,A"} <= lines

    def test_python_compiles(self) -> None:
        """Every Python block is Python, and what it imports from us exists."""
        written = "\n".join(path.read_text(encoding="utf-8") for path in DOCUMENTS)
        for block in re.findall(r"```python\n(.*?)```", written, re.DOTALL):
            for node in ast.walk(ast.parse(block)):
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(("sitecrawl", "pipelines")):
                    assert node.module is not None
                    module = import_module(node.module)
                    assert all(hasattr(module, alias.name) for alias in node.names), node.module


class TestDistribution:
    """`sitecrawl` on PyPI is another project: nobody is told to install that."""

    def test_nobody_installs_a_stranger(self) -> None:
        """What `pip` is told is a path, a URL, or the name of our distribution."""
        said = [
            (path.name, command)
            for path in (*DOCUMENTS, *SOURCES)
            for command in re.findall(r"pip install ([^\n`#]*)", path.read_text("utf-8"))
        ]
        assert len(said) > 3
        assert [one for one in said if re.search(r"""(?:^|[\s'"])sitecrawl(?:$|[\s'"\[<>=])""", one[1])] == []

    def test_it_has_that_name(self) -> None:
        """The messages say it, and so does what is built."""
        project = tomllib.loads(text("pyproject.toml"))["project"]
        assert project["name"] == DISTRIBUTION
        mine = [one for extra in project["optional-dependencies"].values() for one in extra if "sitecrawl" in one]
        assert all(one.startswith(f"{DISTRIBUTION}[") for one in mine)


class TestKeysOfMeta:
    """What a crawl remembers once: one list in the code, and the same in the format's document."""

    KEYS = frozenset(value.decode() for name, value in vars(meta).items() if name.isupper())

    def test_the_document_has_the_list(self) -> None:
        """A key that the format does not name is one that no other program can read."""
        assert rows("docs/formats/database.md", "\n## `meta`\n").keys() == self.KEYS

    def test_nothing_else_spells_a_key(self) -> None:
        """A key that is written out where it is used is in no list."""
        by_hand = re.compile(r"""["']meta["'], b["']|meta\.(?:get|put|delete)\(b["']""")
        assert [path.name for path in SOURCES if by_hand.search(path.read_text("utf-8"))] == []
