"""What is found, what is off, and the plug-in of docs/plugins.md as a stranger installs it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, Final

import pytest
from crawling import PROJECT, environment, scrapy
from localweb import LocalWeb, linked

from sitecrawl.base import plugins
from sitecrawl.base.errors import OptionError
from sitecrawl.base.plugins import Plugin, found, working
from sitecrawl.base.setting import Setting


def test_each_folder_has_one() -> None:
    """And it names settings of ours alone."""
    folders = {path.parent.name for path in (PROJECT / "sitecrawl" / "plugins").glob("*/__init__.py")}
    assert folders <= found().keys()
    names = {setting.name for one in folders for setting in found()[one].settings}
    assert all(name.startswith("SITECRAWL_") for name in names)


class TestWorking:
    @pytest.fixture(autouse=True)
    def three(self, monkeypatch: pytest.MonkeyPatch) -> None:
        chain = {"a": Plugin(), "b": Plugin(needs=["a"]), "c": Plugin(needs=["b"])}
        monkeypatch.setattr(plugins, "found", lambda: chain)

    def test_all(self) -> None:
        """In the order in which they were found."""
        assert [*working()] == ["a", "b", "c"]

    def test_off(self) -> None:
        """What needs one that is off is off as well."""
        assert [*working(["c"])] == ["a", "b"]
        assert [*working(["b"])] == ["a"]
        assert [*working(["a"])] == []

    def test_a_name_that_none_has(self) -> None:
        """A misspelt name is no silent nothing."""
        with pytest.raises(OptionError, match="SITECRAWL_PLUGINS_OFF: there is no plug-in x"):
            working(["x"])


SECONDS: Final = Setting("OTHER_SECONDS", 0.0, "seconds", "Of a plug-in.")


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"settings": SECONDS}, "settings=...) has to be a list"),
        ({"needs": "dashboard"}, "needs=...) has to be a list"),
        ({"outputs": {SECONDS: "a.b"}}, "settings=...) lacks OTHER_SECONDS, which outputs names"),
        ({"components": {"EXTENSION": {}}}, "'EXTENSION', and knows DOWNLOADER_MIDDLEWARES, EXTENSIONS"),
        ({"components": {"EXTENSIONS": ["a.B"]}}, "EXTENSIONS has to be a dict of dotted paths and orders"),
    ],
)
def test_a_field_of_another_shape(fields: dict[str, Any], said: str) -> None:
    """It says which, when the plug-in is made."""
    with pytest.raises(OptionError, match=re.escape(said)):
        Plugin(**fields)


class TestEntryPoints:
    @pytest.fixture(autouse=True)
    def other(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
        """One module with several objects; `point` chooses one as the plug-in."""
        (tmp_path / "other_plug_in.py").write_text(
            "from sitecrawl.base.plugins import Plugin\n"
            "from sitecrawl.base.setting import Setting\n"
            "NO_PLUGIN = {}\n"
            "TAKEN = Plugin(settings=[Setting('SITECRAWL_REPORT', '', 'name', 'Another.')])\n"
        )
        monkeypatch.syspath_prepend(tmp_path)
        yield
        found.cache_clear()

    def point(self, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
        point = EntryPoint("other", f"other_plug_in:{name}", plugins.GROUP)
        monkeypatch.setattr(plugins, "installed", lambda _: [point])
        found.cache_clear()

    def test_one_that_cannot_be_loaded(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The line names plug-in, place and reason."""
        self.point(monkeypatch, "PLUGIN")
        with pytest.raises(OptionError, match="plug-in other cannot be loaded from 'other_plug_in:PLUGIN': module"):
            found()

    def test_one_that_is_something_else(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.point(monkeypatch, "NO_PLUGIN")
        with pytest.raises(
            OptionError, match=r"plug-in other is {}, and has to be a sitecrawl\.base\.plugins\.Plugin"
        ):
            found()

    def test_a_setting_of_another(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """It does not take the other's place."""
        self.point(monkeypatch, "TAKEN")
        with pytest.raises(OptionError, match="other has a setting SITECRAWL_REPORT, and there is another"):
            plugins.settings()


@pytest.fixture(scope="module")
def site_packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as pip leaves it: the files of docs/plugins.md, and the entry points of its pyproject.toml."""
    folder = tmp_path_factory.mktemp("site")
    page = (PROJECT / "docs" / "plugins.md").read_text("utf-8")
    for name, text in re.findall(
        r"^`(slow_pages/\w+\.py)`[^\n]*:\n\n```python\n(.*?)```", page, re.MULTILINE | re.DOTALL
    ):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    (project,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    about = folder / "slow_pages-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: slow-pages\nVersion: 1.0\n")
    points = re.findall(r'^\[project\.entry-points\."(.*?)"\]\n(\w+) = "(.*?)"$', project, re.MULTILINE)
    (about / "entry_points.txt").write_text("".join(f"[{group}]\n{name} = {to}\n" for group, name, to in points))
    return folder


@pytest.fixture
def web() -> Iterator[LocalWeb]:
    with LocalWeb({"/": linked("/a"), "/a": "<p>" + 1000 * "long "}) as served:
        yield served


def test_the_plug_in_of_the_page(site_packages: Path, web: LocalWeb, tmp_path: Path) -> None:
    """It crawls and has its say where its setting is set, and its command is one of scrapy's; off it does nothing."""
    env, job = environment(PYTHONPATH=str(site_packages)), tmp_path / "job"
    words = ("crawl", "generic", "-a", f"seeds={web.root}")
    wanted = {"SITECRAWL_DELAY_FACTOR": 0, "SLOW_PAGES_SECONDS": 1e-9}
    done = scrapy(*words, settings={**wanted, "JOBDIR": job}, env=env)
    assert f"Slow: {web.root}/a" in done.stderr
    assert re.search(r"^  slow +2 pages$", done.stderr, re.MULTILINE), done.stderr
    more = scrapy(*words[:2], "-a", f"seeds={web.root} {web.root}/b", settings={**wanted, "JOBDIR": job}, env=env)
    assert re.search(r"^  slow +3 pages$", more.stderr, re.MULTILINE), more.stderr
    listed = scrapy("slow", "-d", str(job), env=env)
    assert listed.stdout.splitlines()[0].split()[1] == f"{web.root}/a", listed.stderr
    off = {**wanted, "JOBDIR": tmp_path / "other", "SITECRAWL_PLUGINS_OFF": "slow_pages"}
    done = scrapy(*words, settings=off, env=env)
    assert done.returncode == 0, done.stderr
    assert "Slow:" not in done.stderr


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ({"SLOW_PAGES_SECONDS": "soon"}, "SLOW_PAGES_SECONDS is 'soon', and has to be a number from 0 on"),
        ({"SITECRAWL_FACTER": 1}, "There is no setting SITECRAWL_FACTER: is SITECRAWL_DELAY_FACTOR meant?"),
    ],
)
def test_a_setting_of_no_use(site_packages: Path, setting: dict[str, object], said: str) -> None:
    """A plug-in's is checked as ours are, and does not change what is said of ours."""
    done = scrapy(
        "crawl", "generic", "-a", "seeds=http://127.0.0.1:1/", settings=setting,
        env=environment(PYTHONPATH=str(site_packages)),
    )  # fmt: skip
    assert done.stderr == f"sitecrawl: {said}\n"


def test_spiders_of_a_plug_in(tmp_path: Path) -> None:
    """The project has them as its own."""
    package = tmp_path / "spun"
    package.mkdir()
    (package / "__init__.py").write_text(
        'from sitecrawl.base.plugins import Plugin\nPLUGIN = Plugin(spiders=["spun.spiders"])\n'
    )
    (package / "spiders.py").write_text('from scrapy import Spider\nclass Spun(Spider):\n    name = "spun"\n')
    about = tmp_path / "spun-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: spun\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[sitecrawl.plugins]\nspun = spun:PLUGIN\n")
    listed = scrapy("list", env=environment(PYTHONPATH=str(tmp_path)))
    assert {"generic", "spun"} <= {*listed.stdout.split()}, listed.stderr


def test_a_command_of_a_plug_in_that_is_gone(tmp_path: Path) -> None:
    """Its entry point is still there: it says so, and no other command minds."""
    about = tmp_path / "gone-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: gone\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[scrapy.commands]\ngone = sitecrawl.console.entry_points:Gone\n")
    env = environment(PYTHONPATH=str(tmp_path))
    done = scrapy("gone", env=env)
    assert (done.returncode, done.stderr) == (1, "")
    assert "the command gone is of a plug-in that is not here" in done.stdout
    assert "  gone " in scrapy(env=env).stdout
