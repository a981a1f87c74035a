"""Job files as arguments and settings, and every mistake with its line."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from sitecrawl.addon import SCRAPY_DEFAULTS
from sitecrawl.base.declared import SETTINGS
from sitecrawl.base.errors import OptionError
from sitecrawl.frontier.urls.order import ORDERS
from sitecrawl.plugins.jobs.job import job_schema, read_job
from sitecrawl.spiders.arguments import NAMES
from sitecrawl.urls.place import KINDS


def written(tmp_path: Path, text: str, name: str = "site.toml") -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


def wrong(tmp_path: Path, text: str, name: str = "site.toml") -> list[str]:
    path = written(tmp_path, text, name)
    with pytest.raises(OptionError) as raised:
        read_job(path)
    return [line.removeprefix(f"{path}, ") for line in str(raised.value).splitlines()]


TOML = """
[crawl]
seeds = ["https://example.com/a,b", "b.example"]
scope = "host"
deny = ["print", "x,y"]
max_pages = 10
sitemaps = true
hubs = ["https://example.com/news", "https://example.com/blog"]
render = "auto"
requisites = false

[spider]
rules = "rules.yaml"
threshold = 0.5

[politeness]
delay = 2
contact = "https://example.org"

[[sheets]]
hosts = ["*.example.com"]
delay = 5

[outputs]
feeds = ["pages.csv", "s3://bucket/pages.jsonl"]

[schedule]
recrawl = true
recrawl_budget = 100

[settings]
DOWNLOAD_TIMEOUT = 60
"""


def test_what_a_file_tells(tmp_path: Path) -> None:
    """A file becomes arguments and settings."""
    job = read_job(written(tmp_path, TOML))
    assert (job.name, job.spider) == ("site", "")
    assert job.arguments == {
        "seeds": ["https://example.com/a,b", "b.example"],
        "scope": "host",
        "deny": ["print", "x,y"],
        "max_pages": "10",
        "sitemaps": "1",
        "hubs": ["https://example.com/news", "https://example.com/blog"],
        "render": "auto",
        "requisites": "0",
        "recrawl": "1",
    }
    assert job.own == {"rules": "rules.yaml", "threshold": "0.5"}
    assert job.settings == {
        "DOWNLOAD_DELAY": 2,
        "SITECRAWL_CONTACT": "https://example.org",
        "SITECRAWL_SHEETS": [{"hosts": ["*.example.com"], "delay": 5}],
        "FEEDS": {str(tmp_path / "pages.csv"): {"format": "csv"}, "s3://bucket/pages.jsonl": {"format": "jsonl"}},
        "SITECRAWL_RECRAWL_BUDGET": 100,
        "DOWNLOAD_TIMEOUT": 60,
    }


def test_an_empty_file_is_a_job(tmp_path: Path) -> None:
    """Nothing is required: what is left out is told otherwise, or has its default."""
    job = read_job(written(tmp_path, ""))
    assert (job.name, job.arguments, job.own, job.settings) == ("site", {}, {}, {})


def test_a_file_of_seeds_is_beside_the_job(tmp_path: Path) -> None:
    """A text of seeds that names a file is that file, with and without an @."""
    (tmp_path / "my seeds.txt").write_text("a.example")
    for text in ("my seeds.txt", "@my seeds.txt", str(tmp_path / "my seeds.txt")):
        job = read_job(written(tmp_path, f"[crawl]\nseeds = '{text}'"))
        assert job.arguments == {"seeds": f"@{tmp_path / 'my seeds.txt'}"}


def test_texts_of_seeds_that_are_no_file(tmp_path: Path) -> None:
    """URLs stay as they are."""
    text = "a.example b.example"
    assert read_job(written(tmp_path, f"[crawl]\nseeds = '{text}'")).arguments == {"seeds": text}


def test_a_feed_in_a_folder_with_a_percent_sign(tmp_path: Path) -> None:
    """Scrapy fills in what is behind a percent sign in a feed's name, and not in that of its folder."""
    (tmp_path / "50% off").mkdir()
    job = read_job(written(tmp_path, "[outputs]\nfeeds = ['%(name)s.csv']", "50% off/site.toml"))
    (uri,) = job.settings["FEEDS"]
    assert uri % {"name": "generic"} == str(tmp_path / "50% off" / "generic.csv")


def test_a_file_whose_name_is_no_crawls(tmp_path: Path) -> None:
    """A name has to be given where the file's own names no directory."""
    assert wrong(tmp_path, "", "my site.toml")[0].startswith(
        "line 1: the file's name is the crawl's, where name is mi"
    )
    assert read_job(written(tmp_path, "[crawl]\nname = 'mine'", "my site.toml")).name == "mine"


MISTAKES: list[tuple[str, str]] = [
    ("crawl = 5", "line 1: crawl is 5, and has to be a table"),
    ("[crawl]\nseeds = []", "line 2: seeds is empty"),
    ("[crawl]\nseeds = ''", "line 2: seeds: seeds is empty"),
    ("[crawl]\nseeds = 'none.txt'", "line 2: seeds: there is no file "),
    ("[crawl]\nseeds = 'a b:c:d'", "line 2: seeds: "),
    ("[crawl]\nseeds = ['a.example',\n'mailto:x']", "line 2: seeds: 'mailto:x' cannot be crawled"),
    ("[crawl]\nseeds = ['seeds.txt']", "line 2: seeds: a list holds URLs: for a file write seeds = 'seeds"),
    (
        "[crawl]\nscope = 'sites'",
        "line 2: scope is 'sites', and has to be one of site, host, prefix, any: is site mea",
    ),
    ("[crawl]\nrender = 1", "line 2: render is 1, and has to be one of false, true, auto"),
    ("[crawl]\nallow = 'x'", "line 2: allow is 'x', and has to be a list"),
    ("[crawl]\nname = 'a/b'", "line 2: name: A job is named by up to 100 letters"),
    ("[crawl]\nname = 'a.toml'", "line 2: name: 'a.toml' would be a file"),
    ("[crawl]\nsitemaps = ['x y']", "line 2: sitemaps: "),
    ("[crwl]", "line 1: there is no 'crwl' here: is crawl meant?"),
    ("[politeness]\nrobots = 'no'", "line 2: robots is 'no', and has to be true or false"),
    ("[outputs]\nfeeds = ['pages']", "line 2: feeds: 'pages' names no format: end it with .csv"),
    ("[spider]\nrules = []", "line 2: rules is empty, and has to be a text or a number or true or false"),
    ("[spider]\nmax_pages = 3", "line 2: max_pages is max_pages in [crawl]: write it there"),
    ("[spider]\njob = 'b.toml'", "line 2: job is no argument of a spider's own"),
    ("[spider]\n_job = 'x'", "line 2: _job is no argument of a spider's own"),
    ("[settings]\nuser_agent = 'x'", "line 2: 'user_agent' is no name of a setting: they are written in capitals"),
    ("[settings]\nSITECRAWL_ODRER = 'x'", "line 2: There is no setting SITECRAWL_ODRER: is SITECRAWL_ORDER meant?"),
    ("[settings]\nSITECRAWL_ORDER = 'bfs'", "line 2: SITECRAWL_ORDER is order in [crawl]: write it there"),
    ("[settings]\nSITECRAWL_SHEETS = []", "line 2: SITECRAWL_SHEETS is written as [[sheets]]"),
    (
        "[settings]\nSITECRAWL_WARC_MASKED = 2026-11-23",
        "line 2: SITECRAWL_WARC_MASKED is '2026-11-23', and has to be",
    ),
    ("[settings]\nDOWNLOAD_TIMEOUT = 'x'", "line 2: DOWNLOAD_TIMEOUT is 'x', and has to be a number from 0 on"),
    ("[settings]\nLOG_LEVEL = 'INFO'", "line 2: LOG_LEVEL is read before this file"),
    ("[settings]\nJOBDIR = 'x'", "line 2: the crawl's directory is named by name in [crawl]"),
    ("[[sheets]]\nhosts = ['a.example']\n[[sheets]]\ndelay = inf", "line 4: delay is inf, and has to be a number"),
]


@pytest.mark.parametrize(("text", "message"), MISTAKES, ids=range(len(MISTAKES)))
def test_mistakes(text: str, message: str, tmp_path: Path) -> None:
    """What is wrong is said with its line and what it has to be."""
    assert any(line.startswith(message) for line in wrong(tmp_path, text)), wrong(tmp_path, text)


def test_all_mistakes_at_once(tmp_path: Path) -> None:
    """Twenty mistakes are told, in the order of their lines, and no more."""
    lines = wrong(tmp_path, "[crawl]\n" + "\n".join(f"no{n} = 1" for n in range(50)))
    assert [int(re.findall(r"line (\d+)", line)[0]) for line in lines] == list(range(2, 22))


def test_no_secret_is_told(tmp_path: Path) -> None:
    """A value that may be a password is in no message."""
    sheet = "[[sheets]]\nhosts = ['a.example']\nproxy = 'gopher://u:hush@x'\n"
    text = f"{sheet}headers = {{X = 'hush\\nY'}}\ncookies = {{a = 'hush;'}}\nlogin = {{kind = 'hush'}}\n[outputs]\n"
    lines = wrong(tmp_path, text.replace("'hush\\nY'", '"hush\\nY"') + "database = ['hush']")
    assert len(lines) == 5
    assert "hush" not in "\n".join(lines)


@pytest.mark.parametrize(
    "value", ["5", "-1.5", "true", "'x'", "[]", "[[1]]", "{}", "{a = {}}", "2026-11-23", "nan", "''"]
)
def test_wrong_types_everywhere(value: str, tmp_path: Path) -> None:
    """Whatever stands at any key, it is taken or told of, and nothing breaks."""
    for table, schema in job_schema()["properties"].items():
        keys = schema.get("properties", {})
        text = "\n".join([f"[{table}]", *(f"{key} = {value}" for key in keys)]) if keys else f"{table} = {value}"
        with suppress(OptionError):
            read_job(written(tmp_path, text))


class TestSchema:
    def keys(self) -> dict[str, dict[str, Any]]:
        tables = job_schema()["properties"].items()
        return {
            f"{table}.{key}": one for table, schema in tables for key, one in schema.get("properties", {}).items()
        }

    def test_it_is_one(self) -> None:
        """It is a schema of draft 2020-12, with a description of every key."""
        jsonschema.Draft202012Validator.check_schema(job_schema())
        assert [key for key, schema in self.keys().items() if "description" not in schema] == []

    def test_every_argument_has_a_key(self) -> None:
        """What a site spider takes can stand in a file, but for the name of the crawl, which is called name there."""
        assert {schema.get("x-argument") for schema in self.keys().values()} - {None} == {*NAMES} - {"job"}

    def test_settings_exist_with_the_same_defaults(self) -> None:
        """A default that the schema tells is that of the setting."""
        scrapys = {"DOWNLOAD_DELAY": 0, "DEPTH_LIMIT": 0, "FEEDS": [], "USER_AGENT": None}
        known = {**{name: one.default for name, one in SETTINGS.items()}, **SCRAPY_DEFAULTS, **scrapys}
        for schema in self.keys().values():
            if name := schema.get("x-setting"):
                default = known[name]
                told = schema.get("default")
                texts = {("SITECRAWL_RENDER", False), ("SITECRAWL_WORKERS", 1)}  # which have words among their values
                assert told is None or told == default or (name, told) in texts, name

    def test_names_are_those_of_the_code(self) -> None:
        """Where one of several names is asked for, they are the same."""
        keys = self.keys()
        assert sorted(keys["crawl.scope"]["enum"]) == sorted(KINDS)
        assert sorted(keys["crawl.order"]["enum"]) == sorted(ORDERS)


LOGIN = """
[crawl]
seeds = "https://a.example/"

[[sheets]]
hosts = ["a.example"]
login = {kind = "form", url = "https://a.example/login", fields = {user = "me", password = "@secret", file = "x"}}

[[sheets]]
hosts = ["b.example"]
login = {kind = "cookies", file = "cookies.txt"}
"""


def test_files_of_logins_are_beside_the_job(tmp_path: Path) -> None:
    """A secret that a file has, and a file of cookies; a field of the form that is called so is none."""
    form, cookies = read_job(written(tmp_path, LOGIN)).settings["SITECRAWL_SHEETS"]
    assert form["login"]["fields"] == {"user": "me", "password": f"@{tmp_path / 'secret'}", "file": "x"}
    assert cookies["login"] == {"kind": "cookies", "file": str(tmp_path / "cookies.txt")}


def test_a_login_that_makes_no_sense(tmp_path: Path) -> None:
    """It is told with the line of its sheet."""
    with pytest.raises(OptionError, match="line 11: login: cookies takes 'file', which is missing"):
        read_job(written(tmp_path, LOGIN.replace(', file = "cookies.txt"', "")))
    with pytest.raises(OptionError, match="line 7: login: hosts is"):
        read_job(written(tmp_path, LOGIN.replace('["a.example"]', '["*"]')))


def test_a_secret_that_others_can_read(tmp_path: Path) -> None:
    """A file with a password in it is to be its owner's alone; one that names where it stands may be anybody's."""
    file = written(tmp_path, LOGIN.replace("@secret", "letmein"))
    file.chmod(0o644)
    assert "chmod 600" in read_job(file).warning
    assert "letmein" not in read_job(file).warning
    file.chmod(0o600)
    assert not read_job(file).warning
    file = written(tmp_path, LOGIN)
    file.chmod(0o644)
    assert not read_job(file).warning
