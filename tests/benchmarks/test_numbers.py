"""Each number that decides what is fetched stands in the table of docs/design/order.md, with its value."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

PROJECT = Path(__file__).parents[2]
sys.path.insert(0, str(PROJECT / "benchmarks"))

from madeup import Beside  # noqa: E402
from traps import KINDS  # noqa: E402
from webreplay import Conditions, crawl  # noqa: E402

PARTS = (
    "frontier/judge/*.py",
    "frontier/urls/*.py",
    "frontier/forms/*.py",
    "frontier/portfolio.py",
    "frontier/turns.py",
    "frontier/workbench.py",
    "frontier/left.py",
    "frontier/base.py",
    "frontier/places.py",
    "frontier/intake.py",
    "frontier/dispatcher.py",
    "frontier/credit/policies.py",
    "frontier/credit/trust.py",
    "urls/shape.py",
)
FILES = sorted(path for part in PARTS for path in (PROJECT / "sitecrawl").glob(part) if path.stem != "__init__")
DOCUMENT = (PROJECT / "docs" / "design" / "order.md").read_text("utf-8")
OPTIONS = ("TrapOptions", "PolitenessOptions")
"""Classes whose fields are numbers that somebody chose. Those of others begin at what their lines say, and change."""
PLAIN = {0, 1, 2, 0.5}
"""What may stand in an expression without a name."""
MASK = 0xFFFF
"""From here on a number says what a field can hold."""
EXCUSED = {("counts", 7), ("evidence", 3), ("forms", 8), ("host", 30), ("record", 200), ("record", 300)}
"""Fields of a record, where the host begins in a URL, how often a pause can double, what HTTP calls a success."""


def module_of(path: Path) -> ModuleType:
    return import_module(".".join(path.relative_to(PROJECT).with_suffix("").parts))


def numbers() -> dict[str, float]:
    """The numbers that have a name, of modules and of `OPTIONS`, by the file and the name."""
    found: dict[str, float] = {}
    for path in FILES:
        module, tree = module_of(path), ast.parse(path.read_text("utf-8"))
        classes = [one for one in tree.body if isinstance(one, ast.ClassDef) and one.name in OPTIONS]
        for body, owner in [(tree.body, module), *((one.body, vars(module)[one.name]()) for one in classes)]:
            for name in chosen(body):
                value = getattr(owner, name)
                if type(value) in {int, float}:
                    found[f"{path.stem}.{name}"] = value
    return found


def chosen(body: list[ast.stmt]) -> Iterator[str]:
    """What is assigned, but for what follows from other numbers: itself, or twice one of them."""
    for one in body:
        if not isinstance(one, ast.AnnAssign | ast.Assign) or one.value is None:
            continue
        parts = list(ast.walk(one.value))
        own = {part.value for part in parts if isinstance(part, ast.Constant)}
        if own <= PLAIN and any(isinstance(part, ast.Name) for part in parts):
            continue
        targets = [one.target] if isinstance(one, ast.AnnAssign) else one.targets
        yield from (target.id for target in targets if isinstance(target, ast.Name))


def section(heading: str) -> str:
    return re.split(r"^#+ ", DOCUMENT.partition(f"\n{heading}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]


def listed(beginning: str) -> set[str]:
    """The names in the paragraph of "The numbers" that begins so."""
    (paragraph,) = [line for line in section("### The numbers").splitlines() if line.startswith(f"**{beginning}**")]
    return set(re.findall(r"`(\w+\.\w+)`", paragraph))


def table() -> dict[str, list[str]]:
    """The rows of the table, by name."""
    rows = [line.strip("| ").split(" | ") for line in section("### The numbers").splitlines() if line[:3] == "| `"]
    return {name.strip("`"): cells for name, *cells in rows}


def test_each_number_is_in_the_table():
    """With its value, where it comes from and what it does; sizes, formats and settings are named beside it."""
    known, rows = numbers(), table()
    others = [listed(kind) for kind in ("Sizes", "Formats", "Settings")]
    assert sorted(known) == sorted([*rows, *(name for names in others for name in names)])
    values = {name: float(value.replace(",", "")) for name, (value, *_) in rows.items()}
    assert values == {name: known[name] for name in rows}
    assert all(len(cells) == 3 and all(cells) for cells in rows.values())


def test_no_number_is_without_a_name():
    """In functions stand only `PLAIN` ones, and others where bytes are cut, packed or shifted."""
    found = [f"{path.stem}:{line}: {value}" for path in FILES for line, value in nameless(path)]
    assert found == []


def nameless(path: Path) -> Iterator[tuple[int, float]]:
    def walk(node: ast.AST, *, inside: bool) -> Iterator[tuple[int, float]]:
        for child in ast.iter_child_nodes(node):
            value = getattr(child, "value", None)
            if isinstance(child, ast.Constant) and isinstance(value, int | float) and not isinstance(value, bool):
                if inside and not is_plain(path, value):
                    yield child.lineno, value
            elif not lays_out(child):
                yield from walk(child, inside=inside or isinstance(child, ast.FunctionDef | ast.Lambda))

    return walk(ast.parse(path.read_text("utf-8")), inside=False)


def is_plain(path: Path, value: float) -> bool:
    return value in PLAIN or value >= MASK or (path.stem, value) in EXCUSED


def lays_out(node: ast.AST) -> bool:
    """Whether a node says where bytes are, and not how many of anything there may be."""
    if isinstance(node, ast.Call):
        return ast.unparse(node.func).rpartition(".")[2] in {"to_bytes", "bytes", "blake2b", "_pack"}
    is_shift = isinstance(node, ast.BinOp) and isinstance(node.op, ast.LShift | ast.RShift)
    return is_shift or isinstance(node, ast.Subscript)


def fetched(tmp_path: Path, kind: str) -> list[int]:
    """At which fetches of a small site beside a trap something new came in."""
    (found,) = [one for one in KINDS if one.name == kind]
    outcome = crawl(Beside(found, "folder", 101, 60), Conditions("aopic", 1000), tmp_path)
    return [*outcome.arrivals, outcome.fetched, len(outcome.wasted)]


@pytest.mark.parametrize(("kind", "decides"), [("calendar", "worth.POWER"), ("session in query", "views.FIRST")])
def test_sizes_decide_nothing(tmp_path, monkeypatch, kind, decides):
    """Where all sizes are twice as large the same is fetched in the same order; not so with a number that decides."""
    before = fetched(tmp_path / "before", kind)
    known = numbers()
    for name in listed("Sizes"):
        double(monkeypatch, name, known[name])
    assert fetched(tmp_path / "sizes", kind) == before
    double(monkeypatch, decides, known[decides])
    assert fetched(tmp_path / "other", kind) != before


def double(monkeypatch: pytest.MonkeyPatch, name: str, value: float) -> None:
    """Also wherever another module has taken the number from its own."""
    name = name.partition(".")[2]
    takers = [one for key, one in sys.modules.items() if key.startswith("sitecrawl.") and name in vars(one)]
    for one in takers:
        if vars(one)[name] == value:
            monkeypatch.setattr(one, name, 2 * value)
