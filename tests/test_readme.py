"""The README keeps its word: its commands run, its pictures are what the programs show, and its parts are in order."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from page_commands import Step, empty_home, run, steps
from patience import WAIT_SECONDS
from processes import environment, serving
from rows import each
from scripts import load_script

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
USAGE = (ROOT / "docs" / "usage.md").read_text(encoding="utf-8")
FACT = "Deploys go through the blue/green switch"
MAX_PICTURE_BYTES = 60_000

# Claude Code as far as the README needs it: it starts the MCP server of its configuration and asks it the prompt.
CLAUDE = """
import json, pathlib, subprocess, sys
entry = json.loads((pathlib.Path.home() / ".claude.json").read_text())["mcpServers"]["holdfast"]
server = subprocess.Popen([entry["command"], *entry["args"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
def ask(id, method, params):
    print(json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}), file=server.stdin, flush=True)
    return json.loads(server.stdout.readline())["result"]
me = {"name": "claude", "version": "1"}
ask(1, "initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": me})
print(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}), file=server.stdin, flush=True)
print(ask(2, "tools/call", {"name": "memory_recall", "arguments": {"query": sys.argv[1]}})["content"][0]["text"])
server.stdin.close()
server.wait()
"""


def _section(title: str, page: str = README) -> str:
    """The text under a heading of the second level."""
    return page.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]


def _numbers(text: str) -> list[str]:
    return re.findall(r"\d*\.?\d+", text)


# What a stranger reads, and in which order


def test_the_parts_come_in_the_order_in_which_a_stranger_asks() -> None:
    assert re.findall(r"^## (.+)$", README, re.MULTILINE) == [
        "Why",
        "Install",
        "Claude Code connected, a memory recalled",
        "What you get",
        "Beside others",
        "Figures",
        "From source",
        "What it does not do",
        "Documents",
        "Licence",
    ]
    assert README.index("![") < README.index("**Holdfast is") < README.index("## Why")


def test_from_source_begins_with_the_two_commands() -> None:
    first = next(steps(_section("From source"))).commands

    assert [line.split("#")[0].strip() for line in first.splitlines()] == ["make serve", "make test"]


def test_installing_takes_one_line_and_names_an_extra_that_exists() -> None:
    (block,) = steps(_section("Install"))
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]

    assert block.commands == "pip install '.[embed]'\n"
    assert "embed" in extras


def test_the_figures_of_the_agents_day_stand_between_marks() -> None:
    inside = README.split("<!-- agent-day: begin", 1)[1].split("<!-- agent-day: end -->", 1)[0]

    assert "docs/benchmarks/agent_day.md" in inside
    assert inside.count("\n| ") >= 5


def test_a_figure_stands_on_the_page_that_it_names() -> None:
    table = _section("Figures").split("### And otherwise", 1)[1]
    rows = re.findall(r"^\| (?!what|---)([^|]+) \| ([^|]+) \| \[[^]]+\]\(([^)]+)\) \|$", table, re.MULTILINE)

    assert len(rows) > 3
    for what, figures, page in rows:
        measured = [float(number) for number in _numbers((ROOT / page).read_text(encoding="utf-8"))]
        for figure in _numbers(figures):
            half = 0.5 * 10 ** -len(figure.partition(".")[2])
            assert any(abs(float(figure) - number) <= half for number in measured), (what, figure, page)


def test_every_reason_has_a_public_report() -> None:
    rows = [line for line in _section("Why").splitlines() if line.startswith("| ")][1:]

    assert len(rows) >= 6
    for row in rows:
        assert re.search(r"\(https://github\.com/[\w-]+/[\w-]+/issues/\d+\)", row), row


def test_the_comparison_has_a_cell_for_each_of_the_others_in_every_row() -> None:
    rows = [line for line in _section("Beside others").splitlines() if line.startswith("| ")]

    assert all(name in rows[0] for name in ("agentmemory", "mem0", "basic-memory", "claude-mem", "Letta"))
    assert {len(row.split(" | ")) for row in rows} == {7}


# Commands


def test_claude_code_is_connected_and_recalls_a_memory_in_five_lines(tmp_path: Path) -> None:
    (block,) = steps(_section("Claude Code connected, a memory recalled"))
    lines = block.commands.splitlines()
    assert len(lines) == 5

    with empty_home(tmp_path) as home:
        (home / "claude.py").write_text(CLAUDE, encoding="utf-8")
        stand_in = f'claude() {{ "{sys.executable}" ~/claude.py "$1"; }}\n'
        printed = run([Step(stand_in), *(Step(line) for line in lines)], home)

    connected, saved, recalled, context, answered = printed[1:]
    assert "claude-code: connected" in connected
    assert "Saved mem_" in saved
    for text in (recalled, context, answered):
        assert FACT in text


def test_the_requests_of_the_everyday_page_are_answered(tmp_path: Path) -> None:
    (curls,) = [block.commands for block in steps(USAGE) if block.commands.startswith("curl")]
    (python,) = re.findall(r"^```python\n(.*?)^```$", USAGE, re.MULTILINE | re.DOTALL)

    with serving(tmp_path / "memory") as server:
        address = server.url.removeprefix("http://")
        asked = _printed(["bash", "-ec", curls.replace("localhost:3111", address)])
        found = _printed([sys.executable, "-c", python.replace("127.0.0.1:3111", address)])

    assert asked.count(FACT) >= 2
    assert FACT in found


def _printed(command: list[str]) -> str:
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=WAIT_SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@each("name", ["README.md", "CONTRIBUTING.md", "docs/releasing.md", "docs/tutorial.md"])
def test_every_make_target_that_a_page_names_exists(name: str) -> None:
    page = (ROOT / name).read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))

    assert set(re.findall(r"^make ([a-z]+)|`make ([a-z]+)`", page, re.MULTILINE)) <= {
        pair for target in targets for pair in ((target, ""), ("", target))
    }


# Pictures


def test_the_pictures_are_there_and_small() -> None:
    pictures = re.findall(r"^!\[.+\]\((\S+)\)$", README, re.MULTILINE)

    assert len(pictures) == 2
    assert all((ROOT / picture).stat().st_size < MAX_PICTURE_BYTES for picture in pictures)


def test_the_recording_shows_what_its_commands_print_today(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """But for ids and times, which differ each time."""
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "none")
    recorder = load_script("tools/terminal_picture.py")
    home = tmp_path / "home"
    home.mkdir()
    try:
        made = recorder.drawn(recorder.record(home))
    finally:
        recorder.end_servers(home)
    kept = recorder.PICTURE.read_text(encoding="utf-8")

    assert recorder.commands(kept) == list(recorder.SCENE)
    assert _steady(made) == _steady(kept), "run make pictures"


def _steady(picture: str) -> str:
    """The text of a picture as one line, without what differs each time."""
    text = " ".join(re.findall(r"<text[^>]*>(.*?)</text>", picture))
    return re.sub(r"mem_\w+|\d{6}-\w+-\w+|\d{4}-\d\d-\d\d|\d\d:\d\d|\s+", " ", text)
