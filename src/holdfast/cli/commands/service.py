"""holdfast service: the server as a service of the user, which runs from login on."""

from __future__ import annotations

import argparse
import shlex
import shutil
import subprocess
from typing import TYPE_CHECKING

from holdfast.cli.commands.service_unit import ServiceUnit, unit_of, usual_port
from holdfast.cli.memory_location import settings_of
from holdfast.cli.output.render import print_answer, print_json
from holdfast.core.disk import disk_faults, make_folder, write_durably
from holdfast.daemon import running_server
from holdfast.settings import Settings, environment

if TYPE_CHECKING:
    from holdfast.core.model import Json

COMMAND_SECONDS = 60
_NO_MANAGER = "Failed to connect to bus"  # systemctl in a container, or after su: no manager of this user runs


def install(given: argparse.Namespace) -> int:
    settings = settings_of(given)
    unit = unit_of(settings, environment())
    answer = _described(unit)
    notes = [_about_settings(unit)] if unit.settings_text else []
    if given.dry_run:
        return _show(given, {**answer, "dryRun": True, "text": unit.text, "notes": notes})
    with disk_faults(f"write {unit.path}"):
        make_folder(unit.folder)
        make_folder(unit.path.parent)
        if unit.settings_text:
            write_durably(unit.settings_path, unit.settings_text.encode())
        else:
            unit.settings_path.unlink(missing_ok=True)
        write_durably(unit.path, unit.text.encode())
    notes += _run_commands(unit, "start")
    if unit.system == "systemd":
        notes.append("To start it at boot and not at login: loginctl enable-linger")
    return _show(given, {"installed": True, **answer, "notes": notes})


def status(given: argparse.Namespace) -> int:
    settings = settings_of(given)
    unit = unit_of(settings, environment())
    card = running_server(settings)
    return _show(
        given,
        {
            "installed": unit.path.exists(),
            "running": card is not None,
            "startedBy": _started_by(card, installed=unit.path.exists()),
            **_described(unit),
            **({"url": str(card.get("url"))} if card else {}),
        },
    )


def _started_by(card: Json | None, *, installed: bool) -> str:
    if not card:
        return "none"
    if card.get("onDemand"):
        return "a command, on demand"
    return "the service, or holdfast serve" if installed else "holdfast serve"


def remove(given: argparse.Namespace) -> int:
    unit = unit_of(settings_of(given), environment())
    if not unit.path.exists():
        return _show(given, {"removed": False, **_described(unit), "notes": ["The service is not installed."]})
    if given.dry_run:
        return _show(given, {"removed": False, "dryRun": True, **_described(unit)})
    notes = _run_commands(unit, "stop")
    with disk_faults(f"remove {unit.path}"):
        unit.path.unlink(missing_ok=True)
        unit.settings_path.unlink(missing_ok=True)
    return _show(given, {"removed": True, **_described(unit), "notes": notes})


def service_hint(settings: Settings) -> str:
    """Which memory an agent on this machine uses, and how its server can be made permanent."""
    if settings.url:
        return f"The agent uses the server at {settings.url}."
    unit = unit_of(settings, environment())
    card = running_server(settings)
    where = f"at {card.get('url')}" if card else f"on port {unit.port}"
    if not card and not unit.path.exists() and unit.port not in (0, usual_port()):
        where += f" (where the agent has the variable of this port; else on {usual_port()})"
    said = f"The agent uses the memory in {unit.folder}, through its server {where}"
    if unit.path.exists():
        return f"{said}, which runs as a service."
    return f"{said}, which starts on demand. To keep it running: holdfast service install"


def _described(unit: ServiceUnit) -> Json:
    return {"unit": unit.name, "path": str(unit.path), "folder": str(unit.folder), "port": unit.port}


def _about_settings(unit: ServiceUnit) -> str:
    names = ", ".join(line.partition("=")[0] for line in unit.settings_text.splitlines())
    return f"The settings of this environment ({names}) are stored in {unit.settings_path}, readable only by you."


def _run_commands(unit: ServiceUnit, to: str) -> list[str]:
    """Have the system start or stop it; returns what the user has to type where that cannot be done here."""
    commands = unit.commands("start" if to == "start" else "stop")
    typed = " && ".join(shlex.join(command) for command in commands)
    if shutil.which(commands[0][0]) is None:
        return [f"{commands[0][0]} was not found. Run: {typed}."]
    for command in commands:
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=COMMAND_SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired):
            return [f"{shlex.join(command)} could not be run. Run: {typed}."]
        if done.returncode:
            said = (done.stderr.strip().splitlines() or ["no reason"])[-1]
            where = " in a login session of this user; this shell has none" if _NO_MANAGER in said else ""
            return [f"{shlex.join(command)} failed: {said[:200]}. Run{where}: {typed}."]
    return []


def _show(given: argparse.Namespace, answer: Json) -> int:
    (print_json if given.json else print_answer)(answer)
    return 0
