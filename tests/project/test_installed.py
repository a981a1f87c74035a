"""The egg and the wheel, each in an environment that has nothing else of sitecrawl."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from crawling import PROJECT, scrapy
from installed import PARTS, Environment, build_egg, build_wheel, copy_of_project, run
from localweb import LocalWeb, linked

pytestmark = pytest.mark.deep

CONFIGURATION = "[settings]\ndefault = sitecrawl.settings\n"


@pytest.fixture(scope="module")
def web() -> Iterator[LocalWeb]:
    site = {"/": linked("/a", title="first"), "/a": linked("/", title="second")}
    with LocalWeb(site) as served:
        yield served


@pytest.fixture(scope="module")
def artefacts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("built")
    project = copy_of_project(tmp_path_factory.mktemp("sources"))
    return {"egg": build_egg(project, folder), "wheel": build_wheel(project, folder)}


@pytest.fixture(scope="module", params=["egg", "wheel"])
def environ(
    request: pytest.FixtureRequest, artefacts: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> Environment:
    made = Environment.make(tmp_path_factory.mktemp(request.param) / "env")
    if request.param == "egg":
        made.add_egg(artefacts["egg"])
    else:
        made.install(artefacts["wheel"])
    return made


@pytest.mark.parametrize("kind", ["egg", "wheel"])
def test_everything_is_in_it(artefacts: dict[str, Path], kind: str) -> None:
    """Every file of the packages that is under version control, data included; no tests, no settings of anybody.

    What is written in C is in the wheel as it was built, and nowhere as its source.
    """
    command = ["git", "ls-files", "-co", "--exclude-standard", "--", *PARTS]
    listed = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False).stdout.split()
    found = {name for name in listed if (PROJECT / name).exists()} or {
        path.relative_to(PROJECT).as_posix()
        for part in PARTS
        for path in (PROJECT / part).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    packed = {name for name in zipfile.ZipFile(artefacts[kind]).namelist() if not name.endswith(".pyc")}
    files = {name for name in found if not name.endswith((".c", ".h"))}
    built = {name for name in packed if name.endswith(".so")}
    assert len(files) > 100
    assert files <= packed
    assert packed.isdisjoint(found - files)
    assert built <= {"sitecrawl/base/_native.abi3.so"} if kind == "wheel" else not built
    added = {name.partition("/")[0] for name in packed - files - built}
    assert added <= {"EGG-INFO", "scrapy_sitecrawl-0.2.0.dist-info"}


def test_the_source_of_the_c_is_in_the_sdist(tmp_path: Path) -> None:
    """Of which others build wheels for their machines."""
    project = copy_of_project(tmp_path / "project")
    run([sys.executable, "setup.py", "--quiet", "sdist", "--dist-dir", str(tmp_path)], cwd=project)
    with tarfile.open(next(tmp_path.glob("scrapy_sitecrawl-*.tar.gz"))) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    c = {path.relative_to(project).as_posix() for path in project.rglob("*.[ch]")}
    assert "sitecrawl/base/native/_native.c" in c
    assert c <= names


def test_only_the_artefact_is_found(environ: Environment, artefacts: dict[str, Path], tmp_path: Path) -> None:
    """What the other tests here run is what was built."""
    for part in PARTS:
        file = Path(environ.where(part, tmp_path))
        assert artefacts["egg"] in file.parents or environ.packages in file.parents


def test_it_crawls(environ: Environment, web: LocalWeb, tmp_path: Path) -> None:
    """With its sitemaps, which read data files of the package, and its own commands to look at the result."""
    (tmp_path / "scrapy.cfg").write_text(CONFIGURATION)
    words = ("-a", f"seeds={web.root}/", "-a", "sitemaps=1", "-s", "SITECRAWL_DELAY_FACTOR=0", "-s", "JOBDIR=job")
    done = environ.scrapy("crawl", "generic", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "The crawl finished" in done.stderr
    listed = environ.scrapy("pages", "-d", "job", "--kind", "page", "--format", "urls", cwd=tmp_path)
    assert {f"{web.root}/", f"{web.root}/a"} <= set(listed.stdout.split())
    assert environ.scrapy("check-crawl", "job", cwd=tmp_path).returncode == 0


def test_a_new_spider_of_ten_lines(environ: Environment, web: LocalWeb, tmp_path: Path) -> None:
    """`genspider -t sitecrawl` in a new project that does not name the add-on: the spider runs as it is."""
    assert environ.scrapy("startproject", "shop", ".", cwd=tmp_path).returncode == 0
    done = environ.scrapy("genspider", "-t", "sitecrawl", "news", web.root, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    written = tmp_path / "shop" / "spiders" / "news.py"
    assert len(written.read_text().splitlines()) <= 10
    words = ("-s", "SITECRAWL_DELAY_FACTOR=0", "-s", "DOWNLOAD_DELAY=0", "-O", "items.jsonl")
    done = environ.scrapy("crawl", "news", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    items = (tmp_path / "items.jsonl").read_text()
    assert '"title": "first"' in items
    assert '"title": "second"' in items
    (job,) = re.findall(r"scrapy pages -d (\S+)", done.stderr)
    for folder in (tmp_path, tmp_path / "shop"):
        listed = environ.scrapy("pages", "-d", str(tmp_path / job), "--format", "urls", cwd=folder)
        assert f"{web.root}/" in listed.stdout.split(), listed.stderr
    assert environ.scrapy("check-crawl", str(tmp_path / job), cwd=tmp_path.parent).returncode == 0
    assert "sitecrawl\n" in environ.scrapy("genspider", "--list", cwd=tmp_path).stdout
    assert written.read_text().partition("(")[0] in (
        environ.scrapy("genspider", "-d", "sitecrawl", cwd=tmp_path).stdout.replace("$classname", "NewsSpider")
    )


@pytest.mark.parametrize("environ", ["egg"], indirect=True)
def test_a_new_spider_outside_of_a_folder(environ: Environment, tmp_path: Path) -> None:
    """Where the spiders' package is in a zip file, the new one is written to where the user is."""
    (tmp_path / "scrapy.cfg").write_text(CONFIGURATION)
    done = environ.scrapy("genspider", "-t", "sitecrawl", "news", "example.com", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert 'start_urls = ["https://example.com"]' in (tmp_path / "news.py").read_text()


def test_a_project_s_own_template_goes_first(tmp_path: Path) -> None:
    """`TEMPLATES_DIR` means what it means to Scrapy."""
    (tmp_path / "spiders").mkdir()
    (tmp_path / "spiders" / "sitecrawl.tmpl").write_text("# mine\n")
    done = scrapy("genspider", "-d", "sitecrawl", settings={"TEMPLATES_DIR": tmp_path})
    assert done.stdout == "# mine\n\n"


def test_a_foreign_module_before_the_egg(environ: Environment, web: LocalWeb, tmp_path: Path) -> None:
    """The file in whose place ours should be is named, zipped or not."""
    (tmp_path / "scrapy.cfg").write_text(CONFIGURATION)
    foreign = tmp_path / "middlewares" / "__init__.py"
    foreign.parent.mkdir()
    foreign.write_text("raise RuntimeError('not for you')")
    done = environ.scrapy("crawl", "generic", "-a", f"seeds={web.root}/", cwd=tmp_path, PYTHONPATH=str(tmp_path))
    assert done.returncode == 1
    assert f"another package named 'middlewares', {foreign}, before sitecrawl's" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("environ", ["wheel"], indirect=True)
@pytest.mark.parametrize("addon", ["", 'ADDONS = {"sitecrawl.addon.Addon": 500}\n'])
def test_a_flat_project(environ: Environment, web: LocalWeb, tmp_path: Path, addon: str) -> None:
    """Its `pipelines.py` lies behind ours, whether it has anything to do with sitecrawl or not: it is told so."""
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = settings\n")
    own = 'SPIDER_MODULES = ["spiders"]\nITEM_PIPELINES = {"pipelines.Own": 1}\n'
    (tmp_path / "settings.py").write_text(addon + own)
    (tmp_path / "pipelines.py").write_text("class Own:\n    pass\n")
    (tmp_path / "spiders.py").write_text(f"""import scrapy


class Flat(scrapy.Spider):
    name = "flat"
    start_urls = ["{web.root}/"]
""")
    done = environ.scrapy("crawl", "flat", cwd=tmp_path, PYTHONSAFEPATH="1")  # as the command `scrapy` has it
    assert f"sitecrawl's package 'pipelines' hides the project's own {tmp_path}/pipelines.py" in done.stderr
    assert done.returncode == 1
