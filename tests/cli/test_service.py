"""holdfast service: written, shown, told to the system, and taken back."""

from __future__ import annotations

import json
import plistlib
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from daemons import OpenMemory

from holdfast.cli.commands.service import service_hint
from holdfast.cli.commands.service_unit import unit_of
from holdfast.core.errors import InvalidRequest
from holdfast.settings import load

SECRET = 'a "secret" with $HOME, `ls` and \\ in it'


@pytest.fixture
def home(tmp_path: Path) -> Iterator[OpenMemory]:
    """A user without systemd; `systemctl` only notes how it was called."""
    programs = tmp_path / "programs"
    programs.mkdir()
    systemctl = programs / "systemctl"
    systemctl.write_text(
        f'#!/bin/sh\necho "$@" >> {tmp_path}/calls\necho "$SYSTEMCTL_SAYS" >&2\nexit ${{SYSTEMCTL_EXIT:-0}}\n'
    )
    systemctl.chmod(0o755)
    made = OpenMemory(tmp_path / "user" / ".holdfast")
    made.environ |= {"HOME": str(tmp_path / "user"), "PATH": f"{programs}:/bin:/usr/bin", "HOLDFAST_PORT": "4711"}
    made.environ.pop("XDG_CONFIG_HOME", None)
    yield made
    made.end()


def _unit(home: OpenMemory) -> Path:
    return Path(home.environ["HOME"]) / ".config" / "systemd" / "user" / "holdfast.service"


def _calls(home: OpenMemory) -> list[str]:
    calls = home.folder.parents[1] / "calls"
    return calls.read_text().splitlines() if calls.exists() else []


def test_a_dry_run_shows_the_unit_and_writes_nothing(home: OpenMemory) -> None:
    answer = home.json("service", "install", "--dry-run")

    assert "ExecStart=" in answer["text"]
    assert (answer["folder"], answer["port"]) == (str(home.folder), 4711)
    assert not _unit(home).exists()
    assert not home.folder.exists()
    assert _calls(home) == []


def test_the_unit_names_folder_and_port_and_is_enabled(home: OpenMemory) -> None:
    home.json("service", "install")

    text = _unit(home).read_text()
    assert f'Environment="HOLDFAST_HOME={home.folder}" HOLDFAST_PORT=4711' in text
    assert _calls(home) == ["--user daemon-reload", "--user enable --now holdfast.service"]


def test_a_secret_stands_in_a_file_of_the_owner_and_not_in_the_unit(home: OpenMemory) -> None:
    done = home.run("service", "install", "--json", HOLDFAST_SECRET=SECRET, HOLDFAST_RATE="5")

    kept = home.folder / "service.env"
    assert SECRET not in _unit(home).read_text()
    assert "HOLDFAST_SECRET" not in _unit(home).read_text()
    assert SECRET not in done.stdout
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert "HOLDFAST_SECRET" in " ".join(json.loads(done.stdout)["notes"])
    told = subprocess.run(
        ["/bin/sh", "-c", '. "$0"; printf %s "$HOLDFAST_SECRET|$HOLDFAST_RATE"', str(kept)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout == f"{SECRET}|5"


def test_where_the_system_does_not_listen_the_command_to_type_is_told(home: OpenMemory) -> None:
    answer = home.json("service", "install", SYSTEMCTL_EXIT="1")

    assert "systemctl --user daemon-reload && systemctl --user enable --now holdfast.service" in " ".join(
        answer["notes"]
    )
    assert _unit(home).exists()


def test_where_no_manager_of_the_user_runs_it_is_told_where_to_type_it(home: OpenMemory) -> None:
    answer = home.json(
        "service", "install", SYSTEMCTL_EXIT="1", SYSTEMCTL_SAYS="Failed to connect to bus: No medium found"
    )

    assert "Run in a login session of this user; this shell has none: systemctl" in " ".join(answer["notes"])


def test_removing_takes_everything_back_but_the_memory(home: OpenMemory) -> None:
    home.remember("The lighthouse stands on the cliff.")
    home.run("service", "install", HOLDFAST_SECRET=SECRET)

    answer = home.json("service", "remove")

    assert answer["removed"] is True
    assert not _unit(home).exists()
    assert not (home.folder / "service.env").exists()
    assert _calls(home)[-1] == "--user disable --now holdfast.service"
    assert home.contents() == {"The lighthouse stands on the cliff."}
    assert home.json("service", "remove")["removed"] is False


def test_the_status_says_whether_it_is_installed_and_runs(home: OpenMemory) -> None:
    before = home.json("service", "status")
    home.run("service", "install")
    home.remember("The lighthouse stands on the cliff.", HOLDFAST_PORT="0")
    after = home.json("service", "status")

    assert (before["startedBy"], after["startedBy"]) == ("none", "a command, on demand")
    assert (before["installed"], before["running"]) == (False, False)
    assert (after["installed"], after["running"], after["url"]) == (True, True, home.card["url"])
    assert (after["folder"], after["port"]) == (str(home.folder), 4711)


def test_two_folders_are_two_services(tmp_path: Path) -> None:
    one, two = (unit_of(load({"home": str(tmp_path / name)}, {}), {}, "systemd") for name in ("a", "b"))

    assert one.name != two.name
    assert one.path != two.path


def test_launchd_gets_the_same_and_reads_the_settings_file(tmp_path: Path) -> None:
    unit = unit_of(load({"home": str(tmp_path / "m")}, {}), {"HOLDFAST_SECRET": SECRET}, "launchd")

    agent = plistlib.loads(unit.text.encode())
    assert agent["Label"] == unit.name
    assert agent["EnvironmentVariables"] == {"HOLDFAST_HOME": str(tmp_path / "m"), "HOLDFAST_PORT": "3111"}
    assert str(tmp_path / "m" / "service.env") in agent["ProgramArguments"]
    assert SECRET not in unit.text


def test_a_path_is_written_as_systemd_reads_it(tmp_path: Path) -> None:
    text = unit_of(load({"home": str(tmp_path / 'a "b" %h $c')}, {}), {}, "systemd").text

    assert 'a \\"b\\" %%h $$c"\nEnvironment=' in text
    assert 'a \\"b\\" %%h $c" HOLDFAST_PORT' in text


def test_a_setting_of_two_lines_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="HOLDFAST_SECRET"):
        unit_of(load({"home": str(tmp_path)}, {}), {"HOLDFAST_SECRET": "a\nHOLDFAST_HOST=0.0.0.0"}, "systemd")


def test_the_hint_names_folder_and_port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hint = service_hint(load({"home": str(tmp_path / "m")}, {}))

    assert str(tmp_path / "m") in hint
    assert "3111" in hint
    assert "holdfast service install" in hint
    monkeypatch.setenv("HOLDFAST_PORT", "4555")
    named = service_hint(load({"home": str(tmp_path / "m"), "port": "4555"}, {}))
    assert "on port 4555 (where the agent has the variable of this port; else on 3111)" in named
    assert service_hint(load({"url": "http://memory.example:3111"}, {})) == (
        "The agent uses the server at http://memory.example:3111."
    )
