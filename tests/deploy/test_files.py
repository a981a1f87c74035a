"""The files of `deploy/`, by the linters of those who run them, and against what this project has."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from crawling import PROJECT

DEPLOY = PROJECT / "deploy"
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
KUBERNETES = DEPLOY / "kubernetes"
GIVEN = {"seeds.txt", "redis_password", "redis_url", "dashboard_token", "grafana_password", "scrapyd_users.conf"}
"""Files that docs/running-anywhere.md has a user write."""
SETTINGS = (PROJECT / "docs" / "settings.md").read_text()
SETTING = re.compile(r"^([A-Z_]+)=")


def manifests(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((KUBERNETES / name).read_text()))


MANIFESTS = [
    (path.name, one)
    for path in sorted(KUBERNETES.glob("*.yaml"))
    for one in manifests(path.name)
    if not one["apiVersion"].startswith(("kustomize.", "keda."))
]
SETS = [one for _, one in MANIFESTS if one["kind"] == "StatefulSet"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="hadolint is installed on Linux alone")
def test_hadolint() -> None:
    """The linter of Dockerfiles has nothing to say."""
    program = Path(sys.executable).with_name("hadolint")
    done = subprocess.run([program, DEPLOY / "Dockerfile"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_image_has_all_that_it_copies() -> None:
    """Nothing is copied that is not there, or that the builder is told to leave out."""
    lines = (DEPLOY / "Dockerfile").read_text().splitlines()
    words = [line.split()[1:-1] for line in lines if line.startswith("COPY ") and "--from" not in line]
    copied = {name for names in words for name in names}
    ignored, *admitted = (
        line for line in (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines() if not line.startswith("#")
    )
    assert ignored == "*"
    assert copied == {line.removeprefix("!") for line in admitted if line.startswith("!")}
    assert [name for name in copied if not (PROJECT / name).exists()] == []
    assert {"sitecrawl", "middlewares", "pipelines"} <= copied


def test_nothing_in_the_image_is_root_s() -> None:
    """It runs as a user that has a number, so that Kubernetes can tell that it is not root."""
    users = re.findall(r"^USER (.*)", (DEPLOY / "Dockerfile").read_text(), re.MULTILINE)
    assert users == ["10001:10001"]


def test_the_compose_file_is_one() -> None:
    """By the schema of the Compose specification."""
    words = ["--builtin-schema", "vendor.compose-spec", str(DEPLOY / "compose.yaml")]
    done = subprocess.run(
        [Path(sys.executable).with_name("check-jsonschema"), *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


def test_every_file_that_compose_mounts_is_there() -> None:
    """Or is one that its user writes."""
    files = [one["file"] for kind in ("configs", "secrets") for one in COMPOSE[kind].values()]
    assert len(files) >= 8
    missing = [name for name in files if not (DEPLOY / name).exists() and Path(name).name not in GIVEN]
    assert missing == []
    used = {one if isinstance(one, str) else one["source"] for kind in ("configs", "secrets") for service
            in COMPOSE["services"].values() for one in service.get(kind, ())}  # fmt: skip
    assert used == COMPOSE["configs"].keys() | (COMPOSE["secrets"].keys())


def test_only_this_machine_reaches_what_compose_runs() -> None:
    """Every port is published on loopback, and Redis has no way to the world."""
    services = COMPOSE["services"]
    ports = [port for service in services.values() for port in service.get("ports", ())]
    assert len(ports) == 3
    assert [port for port in ports if not port.startswith("127.0.0.1:")] == []
    assert services["redis"]["networks"] == services["prometheus"]["networks"] == ["inside"]
    assert COMPOSE["networks"]["inside"] == {"internal": True}


def test_settings_are_ours() -> None:
    """A setting that is misspelt would do nothing. And no secret stands on a command line."""
    (worker,) = (one for one in SETS if one["metadata"]["name"] == "worker")
    commands = [
        COMPOSE["services"]["crawl"]["command"],
        worker["spec"]["template"]["spec"]["containers"][0]["args"],
    ]
    for command in commands:
        named = [found[1] for word in command if (found := SETTING.match(word))]
        assert len(named) >= 5
        assert [name for name in named if f"`{name}`" not in SETTINGS] == []
        text = " ".join(command)
        assert "SITECRAWL_DASHBOARD_TOKEN=@" in text
        assert "redis://" not in text


@pytest.mark.parametrize(("file", "manifest"), MANIFESTS, ids=[f"{file}-{one['kind']}" for file, one in MANIFESTS])
def test_kubernetes_takes_it(file: str, manifest: dict[str, Any]) -> None:
    """By Kubernetes' own schemas of an old and the newest version, with nothing that they do not know."""
    for version in ("1.30", "1.36"):
        kubernetes_validate.validate(manifest, version, strict=True)


def test_workers_are_asked_for_by_their_names() -> None:
    """What scales, guards and finds workers names those that there are."""
    (scaled,) = manifests("scaling.yaml")
    target = scaled["spec"]["scaleTargetRef"]
    assert (target["kind"], target["name"]) in {(one["kind"], one["metadata"]["name"]) for _, one in MANIFESTS}
    pods = {tuple(one["spec"]["template"]["metadata"]["labels"].items()) for one in SETS}
    for _, one in MANIFESTS:
        chosen = one.get("spec", {}).get("selector") or one.get("spec", {}).get("podSelector")
        if chosen:
            assert tuple((chosen.get("matchLabels") or chosen).items()) in pods


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="there is no kubectl here")
def test_kustomize_puts_it_together(tmp_path: Path) -> None:
    """With what a user writes, all names are found: those of the secrets and of the seeds among them."""
    folder = tmp_path / "kubernetes"
    shutil.copytree(KUBERNETES, folder)
    (folder / "secrets").mkdir()
    for name in GIVEN:
        (folder / name if name == "seeds.txt" else folder / "secrets" / name).write_text("x")
    done = subprocess.run(["kubectl", "kustomize", folder], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    made = list(yaml.safe_load_all(done.stdout))
    assert {one["metadata"].get("namespace") for one in made if one["kind"] != "Namespace"} == {"sitecrawl"}
    names = {one["metadata"]["name"] for one in made if one["kind"] in {"ConfigMap", "Secret"}}
    pods = [one["spec"]["template"]["spec"] for one in made if one["kind"] == "StatefulSet"]
    wanted = {
        volume[kind][key]
        for pod in pods
        for volume in pod["volumes"]
        for kind, key in (("configMap", "name"), ("secret", "secretName"))
        if kind in volume
    }
    assert len(wanted) == 3
    assert wanted == names
