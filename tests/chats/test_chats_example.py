"""The example of a bot, run as a user runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from patience import WAIT_SECONDS

BOT = Path(__file__).parents[2] / "examples" / "chat_bot.py"
SAID = [
    "anna> remember my locker code is 4711",
    "anna@club> remember we meet on Friday at seven",
    "ben> remember my sister is called Cleo",
]
ASKED = {
    "anna> what is my locker code": ("4711",),
    "ben> what is the locker code of anna": ("Cleo",),
    "anna@club> what is my locker code": ("Friday",),
    "ben@club> when do we meet, and who is Cleo": ("Friday",),
    "anna@choir> when do we meet": (),
}
SECRETS = ("4711", "Friday", "Cleo")


def test_nothing_that_one_told_the_bot_is_told_to_another() -> None:
    lines = [*SAID, *ASKED]
    environment = {**os.environ, "HOLDFAST_EMBEDDER": "none", "AGENTMEMORY_URL": ""}
    run = subprocess.run(
        [sys.executable, str(BOT)],
        input="\n".join(lines),
        capture_output=True,
        text=True,
        env=environment,
        timeout=WAIT_SECONDS,
    )

    assert run.returncode == 0, run.stderr
    answers = run.stdout.split("I will remember that.\n")[-1]
    parts = _parts(answers)
    assert len(parts) == len(ASKED)
    for part, told in zip(parts, ASKED.values(), strict=True):
        assert tuple(secret for secret in SECRETS if secret in part) == told


def test_what_the_bot_does_not_understand_does_not_end_it() -> None:
    lines = [
        "",
        "hello",
        "mallory> remember this",
        "anna>",
        "anna> remember   ",
        "anna> remember tea is green",
        "anna> tea",
    ]
    environment = {**os.environ, "HOLDFAST_EMBEDDER": "none", "AGENTMEMORY_URL": ""}
    run = subprocess.run(
        [sys.executable, str(BOT)],
        input="\n".join(lines),
        capture_output=True,
        text=True,
        env=environment,
        timeout=WAIT_SECONDS,
    )

    assert run.returncode == 0, run.stderr
    assert run.stdout.count("Say it as one of the two") == 5  # once at the start
    assert "- [fact] tea is green" in run.stdout


def _parts(text: str) -> list[str]:
    """The answers: each is one block, or one line that says there is none."""
    parts: list[str] = [""]
    for line in text.splitlines():
        parts[-1] += line + "\n"
        if line == "</user_context_reference>" or line.startswith("I know nothing"):
            parts.append("")
    return [part for part in parts if part]


def test_the_bot_has_thirty_lines() -> None:
    """Of code: without its docstrings and empty lines."""
    code = BOT.read_text(encoding="utf-8").split('"""', 2)[2]
    lines = [line for line in code.splitlines() if line.strip() and not line.strip().startswith('"""')]
    assert len(lines) <= 30
