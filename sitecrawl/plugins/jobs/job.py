"""A job file as what a crawl takes: the spider's arguments and Scrapy's settings. docs/job.md says what it holds.

What a key stands for is said by the schema itself, in `x-argument` and `x-setting`. Its texts have the readers that
arguments and settings have, too.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, Final

from scrapy.settings import Settings
from scrapy.utils.conf import feed_process_params_from_cli

from sitecrawl.addon import check_settings
from sitecrawl.base.declared import SETTINGS
from sitecrawl.base.errors import OptionError
from sitecrawl.base.schemas import MOST_TOLD, Place, Problem, problems, schema_in
from sitecrawl.base.text_files import Wrong, text_in
from sitecrawl.crawl.directories import check_job_name
from sitecrawl.crawl.outputs import check_target, is_remote, outputs
from sitecrawl.crawl.seeds import names_file, read_seeds, seeds_of
from sitecrawl.http import written_sheets
from sitecrawl.http.login import Login, beside, exposed
from sitecrawl.http.written_sheets import login_problem, sheet_schema
from sitecrawl.spiders.job_file import Job, is_file
from sitecrawl.urls.url import CRAWLED

_SETTING: Final = re.compile(r"[A-Z][A-Z0-9_]*")
_URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")


@dataclass(frozen=True, slots=True)
class _Document:
    path: Path
    text: str
    values: dict[str, Any]

    def told(self, found: list[Problem]) -> str:
        """Each problem with its line, in their order."""
        lines = self.text.splitlines()
        placed = sorted((_line_of(lines, problem.place), problem.message) for problem in found)
        return "\n".join(f"{self.path}, line {line}: {message}" for line, message in dict.fromkeys(placed))


def _line_of(lines: list[str], place: Place) -> int:
    """The line of a key, which `tomllib` does not tell: below the header of its table, as people write it; of what is
    not found, the header's, or the first.
    """
    names = [re.escape(one) for one in place if isinstance(one, str)]
    if not names:
        return 1
    table, key = names[0], names[1] if len(names) > 1 else None
    header = re.compile(rf"\s*\[+\s*[\"']?{table}[\"']?\s*[.\]]")
    starts = [number for number, line in enumerate(lines) if header.match(line)]
    if not starts:
        own = re.compile(rf"\s*[\"']?{table}[\"']?\s*[.=]")
        return next((number for number, line in enumerate(lines, 1) if own.match(line)), 1)
    which = place[1] if len(place) > 1 and isinstance(place[1], int) else 0
    start = starts[min(which, len(starts) - 1)]
    wanted = re.compile(rf"\s*[\"']?{key}[\"']?\s*[.=]") if key is not None else None
    for number, line in enumerate(lines[start + 1 :], start + 2):
        if line.lstrip().startswith("[") and not line.startswith(" "):
            break
        if wanted is not None and wanted.match(line):
            return number
    return start + 1


def _read_document(path: Path) -> _Document:
    """Raises `OptionError`, which names the file, and the line where there is one."""
    if path.suffix.lower() != ".toml":
        raise OptionError(f"{path} is no job file: those are TOML, and their names end with .toml")
    try:
        text = text_in(path, "job")
        return _Document(path, text, _values(path, text))
    except Wrong as error:
        raise OptionError(f"{path}, line {error.line}: {error}") from error


def _values(path: Path, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message = str(error)
        at = re.search(r" \(at line (\d+), column \d+\)$", message)
        line = int(at[1]) if at else max(1, text.count("\n") + (not text.endswith("\n")))
        raise Wrong(line, re.sub(r" [(]at .*[)]$", "", message)) from None
    except (RecursionError, ValueError) as error:  # the latter: a whole number of thousands of digits
        why = "too many lists or tables within one another" if isinstance(error, RecursionError) else str(error)
        raise OptionError(f"{path}: {why}") from None


_SECRET: Final = written_sheets.SECRET | {"database"}
_TOO_LATE: Final = frozenset(
    {
        "ADDONS", "ASYNCIO_EVENT_LOOP", "BOT_NAME", "COMMANDS_MODULE", "LOG_DATEFORMAT", "LOG_ENABLED",
        "LOG_ENCODING", "LOG_FILE", "LOG_FILE_APPEND", "LOG_FORMAT", "LOG_LEVEL", "LOG_SHORT_NAMES", "LOG_STDOUT",
        "LOG_VERSIONS", "NEWSPIDER_MODULE", "SPIDER_LOADER_CLASS", "SPIDER_LOADER_WARN_ONLY", "SPIDER_MODULES",
        "TWISTED_REACTOR", "TWISTED_REACTOR_ENABLED",
    }
)  # fmt: skip
"""Settings that have done their work before the file is read."""


@cache
def job_schema() -> Mapping[str, Any]:
    """The whole schema, as it is published."""
    schema = schema_in("sitecrawl.plugins.jobs", "job.schema.json")
    return {**schema, "properties": _with_declared(schema["properties"]), "$defs": {"sheet": sheet_schema()}}


def _with_declared(properties: Mapping[str, Any]) -> dict[str, Any]:
    """The same where a key that names a setting, and has no type of its own, has the one that is declared for it."""
    found = {}
    for key, schema in properties.items():
        if "properties" in schema:
            found[key] = {**schema, "properties": _with_declared(schema["properties"])}
        elif schema.get("x-setting", "").startswith("SITECRAWL_") and schema["x-setting"] not in SETTINGS:
            continue  # of a plug-in that is not here
        elif "x-setting" in schema and not {"type", "enum"} & schema.keys():
            found[key] = {**schema, **SETTINGS[schema["x-setting"]].schema()}
        else:
            found[key] = schema
    return found


def read_job(path: Path) -> Job:
    """Raises `OptionError`, which names file and line of every problem, up to 20 of them, a line each."""
    document = _read_document(path)
    if found := list(islice(_wrong(document), MOST_TOLD)):
        raise OptionError(document.told(found))
    values, folder = document.values, path.parent
    crawl = values.get("crawl", {})
    return Job(
        path,
        crawl.get("name", path.stem),
        crawl.get("spider", ""),
        dict(_arguments(values, folder)),
        {name: _text(value) for name, value in values.get("spider", {}).items()},
        {**values.get("settings", {}), **dict(_settings(values, folder))},
        exposed(path, [Login.read(one["login"]) for one in values.get("sheets", ()) if "login" in one]) or "",
    )


def _wrong(document: _Document) -> Iterator[Problem]:
    of_schema = [*islice(problems(job_schema(), document.values, _readers(document.path.parent), _SECRET), MOST_TOLD)]
    yield from of_schema
    own = document.values.get("spider")
    for name in own if isinstance(own, dict) else ():
        if message := _wrong_own(name):
            yield Problem(("spider", name), message)
    settings = document.values.get("settings")
    for name, value in settings.items() if isinstance(settings, dict) else ():
        if message := _wrong_setting(name, value):
            yield Problem(("settings", name), message)
    sheets = document.values.get("sheets")
    for number, sheet in enumerate(sheets if isinstance(sheets, list) else ()):
        place = ("sheets", number, "login")
        is_told = any(problem.place[:3] == place for problem in of_schema)
        if isinstance(sheet, dict) and not is_told and (message := login_problem(sheet)):
            yield Problem(place, message)
    crawl = document.values.get("crawl", {})
    if isinstance(crawl, dict) and "name" not in crawl:
        try:
            _readers(Path())["job-name"](document.path.stem)
        except ValueError as error:
            yield Problem(("crawl",), f"the file's name is the crawl's, where name is missing. {error}")


def _wrong_own(name: str) -> str:
    if name == "job" or name.startswith("_"):
        return f"{name} is no argument of a spider's own"
    table = next((table for table, key, schema in _keys() if schema.get("x-argument") == name), "")
    return f"{name} is {name} in [{table}]: write it there" if table else ""


def _wrong_setting(name: str, value: object) -> str:
    if name in _TOO_LATE:
        return f"{name} is read before this file: give it on the command line, -s {name}=..., or in settings.py"
    if name == "JOBDIR":
        return "the crawl's directory is named by name in [crawl]"
    if place := _places().get(name):
        return (
            f"{name} is {place[1]} in [{place[0]}]: write it there"
            if place[1]
            else f"{name} is written as [[sheets]]"
        )
    try:
        check_settings(Settings({name: value}, "project"))
    except OptionError as error:
        return str(error)
    return ""


def _keys() -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Table, key and schema of all that a table may hold; for a table that is a value of its own without a key."""
    for table, schema in job_schema()["properties"].items():
        yield table, "", schema
        for key, one in schema.get("properties", {}).items():
            yield table, key, one


def _described() -> dict[str, str]:
    """What the arguments mean that all site spiders take, by name: `1` is yes on the command line, `0` no."""
    found = {}
    for _table, _key, schema in _keys():
        if name := schema.get("x-argument"):
            kinds = schema.get("enum") or (["0", "1"] if schema.get("type") == "boolean" else [])
            values = f" One of {', '.join(map(_text, kinds))}." if kinds else ""
            found[name] = schema["description"] + values
    return found


@cache
def _places() -> Mapping[str, tuple[str, str]]:
    """Table and key of each setting that has a place in a job."""
    return {schema["x-setting"]: (table, key) for table, key, schema in _keys() if "x-setting" in schema}


def _given(values: Mapping[str, Any], kind: str) -> Iterator[tuple[str, Any]]:
    """What stands in the file under keys that have `kind` in the schema."""
    for table, key, schema in _keys():
        if kind in schema and table in values:
            if not key:
                yield schema[kind], values[table]
            elif key in values[table]:
                yield schema[kind], values[table][key]


def _arguments(values: Mapping[str, Any], folder: Path) -> Iterator[tuple[str, Any]]:
    for name, value in _given(values, "x-argument"):
        if name == "seeds" and isinstance(value, str):
            path = _seeds_file(value, folder)
            yield name, value if path is None else f"@{path}"
        else:
            yield name, [*value] if isinstance(value, list) else _text(value)


def _text(value: Any) -> str:
    return str(int(value)) if isinstance(value, bool) else str(value)


def _settings(values: Mapping[str, Any], folder: Path) -> Iterator[tuple[str, Any]]:
    arguments = {schema.get("x-setting") for _, _, schema in _keys() if "x-argument" in schema}
    for name, value in _given(values, "x-setting"):
        if name == "FEEDS":
            yield name, {uri: options for text in value for uri, options in _feed_of(text, folder).items()}
        elif name == "SITECRAWL_EXPORTS":
            yield name, [_target_of(text, folder) for text in value]
        elif name == "SITECRAWL_REPORT":
            yield name, _target_of(value, folder)
        elif name == "SITECRAWL_SHEETS":
            yield name, [{**one, "login": beside(one["login"], folder)} if "login" in one else one for one in value]
        elif name not in arguments:
            yield name, value


class TomlFiles:
    """See `sitecrawl.spiders.job_file.JobFiles`."""

    read = staticmethod(read_job)
    described = staticmethod(_described)


def _readers(folder: Path) -> Mapping[str, Callable[[str], object]]:
    """By `format` in the schema. `folder`: where relative paths begin."""
    return {
        **written_sheets.READERS,
        "job-name": _name,
        "seed": _seed,
        "seeds": lambda text: _seeds(text, folder),
        "url": lambda text: seeds_of([text]),
        "feed": _feed,
        "export": lambda text: _export(text, folder),
        "report": lambda text: _report(text, folder),
        "setting-name": _setting,
        "workers": _workers,
    }


def _workers(text: str) -> None:
    if text != "auto":
        raise ValueError("it has to be a number, or auto, for one each core")


def _name(text: str) -> None:
    check_job_name(text)
    if is_file(text):
        raise ValueError(f"{text!r} would be a file: a name has no ending like {Path(text).suffix}")


def _seed(text: str) -> None:
    if text.startswith("@") or names_file(text):
        raise ValueError(f"a list holds URLs: for a file write seeds = {text!r} alone")
    seeds_of([text], schemes=CRAWLED)


def _seeds(text: str, folder: Path) -> None:
    """A file need only be there: it is read when the crawl begins."""
    path = _seeds_file(text, folder)
    if path is None:
        read_seeds(text, schemes=CRAWLED)
    elif not path.is_file():
        raise ValueError(f"there is no file {path}")


def _seeds_file(text: str, folder: Path) -> Path | None:
    """The file that a text of seeds names; None for URLs."""
    if text.startswith("@"):
        return folder / text[1:]
    is_one = "\n" not in text and (names_file(text) or names_file(str(folder / text)))
    return folder / text if is_one else None


def _feed(text: str) -> None:
    _feed_of(text, Path())


def _feed_of(text: str, folder: Path) -> dict[str, dict[str, object]]:
    """Of FEEDS what `-o` would make of `text`, a path below `folder` or a URI. Raises `ValueError`."""
    try:
        ((uri, options),) = feed_process_params_from_cli(Settings(), [text]).items()
    except Exception as error:  # Scrapy's UsageError, whose words are about a command line
        raise ValueError(f"{text!r} names no format: end it with .csv, .json, .jsonl or .xml") from error
    below = Path(str(folder).replace("%", "%%"))  # Scrapy fills in what stands behind a percent sign
    return {uri if _URI.match(uri) else str(below / uri): options}


def _export(text: str, folder: Path) -> None:
    outputs(Settings({"SITECRAWL_EXPORTS": [text]}))
    _report(text, folder)


def _report(text: str, folder: Path) -> None:
    check_target(_target_of(text, folder), Settings())


def _target_of(text: str, folder: Path) -> str:
    """The file below `folder`, or the URL, that an export or the report goes to."""
    return text if is_remote(text) else str(folder / text)


def _setting(text: str) -> None:
    if not _SETTING.fullmatch(text):
        raise ValueError(f"{text!r} is no name of a setting: they are written in capitals")
