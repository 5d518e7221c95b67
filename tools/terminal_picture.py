"""Runs the commands of the README's recording in an empty home and writes what the terminal showed as an SVG.

The lines appear one after the other and then stay; where nothing moves, all are there. Nothing in the picture is
typed by hand but the commands: when an answer changes, `make pictures` shows the new one. The home and the processes
are the recording's own.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from html import escape, unescape
from pathlib import Path

PICTURE = Path(__file__).parents[1] / "docs" / "pictures" / "terminal.svg"
COLUMNS = 84
PAUSE_SECONDS = 1.1  # after a command and its answer
LINE_SECONDS = 0.12  # between the lines of an answer

SCENE = (
    "holdfast connect claude-code | grep connected",
    "mkdir ~/backup && export HOLDFAST_VAULT=~/backup",
    'holdfast remember "Deploys go through the blue/green switch"',
    'holdfast recall "how do we deploy"',
    "holdfast snapshot create --label monday | grep ^id",
    "rm -rf ~/.holdfast        # the disk is gone",
    'holdfast recall "how do we deploy"',
)

PROMPT = "$ "
END = "---end of the answer---"
SERVERS = "servers"  # a file in the home: the process ids of the servers that the commands started
NOTE_SERVER = f"""grep -hso '"pid":[0-9]*' ~/.holdfast/server.json >> ~/{SERVERS} || true"""
CHARACTER, LINE, MARGIN, BAR = 8.43, 20, 18, 34
STYLE = """
  .window { fill: #10201f }
  text { font: 14px ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace }
  text { fill: #d5e0de; white-space: pre }
  .command { fill: #ffffff; font-weight: 600 }
  .prompt { fill: #4cc2a5 }
  .line { animation: appear .01s linear backwards }
  @keyframes appear { from { opacity: 0 } }
  @media (prefers-reduced-motion: reduce) { .line { animation: none } }
"""


@dataclass(frozen=True)
class Line:
    """One line on the terminal and when it appears."""

    text: str
    command: bool
    at_seconds: float


def record(home: Path) -> list[Line]:
    """What a shell in that home shows for the scene."""
    shown: list[Line] = []
    now = 0.0
    for command, answer in zip(SCENE, _answers(home), strict=True):
        shown.append(Line(PROMPT + command, True, now))
        for text in _wrapped(answer.replace(str(home), "~").splitlines()):
            now += LINE_SECONDS
            shown.append(Line(text, False, now))
        now += PAUSE_SECONDS
    return shown


def _answers(home: Path) -> Iterator[str]:
    """The answer of each command; all run in one shell, as a person's do."""
    (home / "shop").mkdir()
    script = "set -eo pipefail\n" + "".join(f"{command}\n{NOTE_SERVER}\necho '{END}'\n" for command in SCENE)
    settings = {
        "HOME": str(home),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOLDFAST_PORT": "0",  # any that is free
        "COLUMNS": str(COLUMNS),
        **{name: value for name, value in os.environ.items() if name == "HOLDFAST_EMBEDDER"},
    }
    done = subprocess.run(
        ["bash"],
        input=script,
        cwd=home / "shop",
        env=settings,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=True,
    )
    yield from done.stdout.split(f"{END}\n")[:-1]


def _wrapped(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        while len(line) > COLUMNS:
            at = line.rfind(" ", 0, COLUMNS)
            yield line[:at]
            line = line[at + 1 :]
        yield line


def drawn(lines: list[Line]) -> str:
    """The picture."""
    width, height = round(COLUMNS * CHARACTER + 2 * MARGIN), BAR + LINE * len(lines) + MARGIN
    size = f'width="{width}" height="{height}"'
    words = ", ".join(line.text[len(PROMPT) :] for line in lines if line.command)
    parts = (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {width} {height}" role="img">',
        f"<title>{escape(f'A terminal: {words}', quote=False)}</title>",
        f"<style>{STYLE}</style>",
        f'<rect class="window" {size} rx="8"/>',
        *(f'<circle cx="{x}" cy="17" r="5" fill="#33504c"/>' for x in (20, 38, 56)),
        *(_row(number, line) for number, line in enumerate(lines)),
        "</svg>",
    )
    return "\n".join(parts) + "\n"


def _row(number: int, line: Line) -> str:
    text = escape(line.text, quote=False)
    if line.command:
        text = f'<tspan class="prompt">$</tspan><tspan class="command">{text[1:]}</tspan>'
    y = BAR + LINE * number + 14
    return f'<text class="line" x="{MARGIN}" y="{y}" style="animation-delay:{line.at_seconds:.2f}s">{text}</text>'


def commands(picture: str) -> list[str]:
    """The commands that a picture shows."""
    return [unescape(text) for text in re.findall(r'<tspan class="command"> (.*?)</tspan>', picture)]


def end_servers(home: Path) -> None:
    """End what the commands started in that home."""
    for pid in set(re.findall(r"\d+", (home / SERVERS).read_text(encoding="utf-8"))):
        with suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)


def main() -> int:
    home = Path(tempfile.mkdtemp(prefix="recording-"))
    try:
        picture = drawn(record(home))
    finally:
        end_servers(home)
        shutil.rmtree(home, ignore_errors=True)
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    PICTURE.write_text(picture, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
