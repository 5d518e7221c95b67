"""Runs what connect writes for an agent to load, in a stand-in for the agent, and shows what reached `holdfast hook`."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from connect_homes import make_place
from patience import WAIT_SECONDS

from holdfast.cli.connect import ConnectTarget

NODE = shutil.which("node")

# Stands in for `holdfast hook`: writes down what it was asked and answers like the real one.
HOOK = """#!{python}
import json, sys
given = json.load(sys.stdin)
with open({log!r}, "a", encoding="utf-8") as log:
    log.write(json.dumps([sys.argv[1:], given]) + "\\n")
if sys.argv[2] == "session-start":
    print(json.dumps({{"hookSpecificOutput": {{"additionalContext": "remembered"}}}}))
"""


def hook_command(folder: Path) -> Path:
    """A command in the place of `holdfast`, which keeps what it was told."""
    command = folder / "holdfast"
    command.write_text(HOOK.format(python=sys.executable, log=str(folder / "log.jsonl")), encoding="utf-8")
    command.chmod(0o755)
    return command


def told_hooks(folder: Path) -> list[tuple[list[str], dict[str, Any]]]:
    return [tuple(json.loads(line)) for line in (folder / "log.jsonl").read_text(encoding="utf-8").splitlines()]


def played(folder: Path, script: str, text: Callable[[ConnectTarget], str]) -> tuple[Any, dict[str, Any]]:
    """What the script prints, and what each hook event was told."""
    place = make_place(folder, command=hook_command(folder), url="http://127.0.0.1:4000")
    (folder / "holdfast.mjs").write_text(text(place), encoding="utf-8")
    (folder / "host.mjs").write_text('import plugin from "./holdfast.mjs"\n' + script, encoding="utf-8")
    run = subprocess.run([str(NODE), "host.mjs"], cwd=folder, capture_output=True, timeout=WAIT_SECONDS, check=True)
    rows = told_hooks(folder)
    assert len([words for words, _ in rows if words[1] == "agent-message"]) <= 1
    assert all(words[2:] == ["--url", "http://127.0.0.1:4000"] for words, _ in rows)
    return json.loads(run.stdout), {words[1]: given for words, given in rows}
