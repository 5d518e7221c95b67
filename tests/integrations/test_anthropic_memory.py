"""Anthropic's memory tool with the real `anthropic` package: its tool runner drives the tool, its own tool is beside it.

The model is a script: what it says is fixed, and what it is told is looked at.
"""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx2
import pytest
from anthropic import Anthropic, AsyncAnthropic
from anthropic.lib.tools import ToolError
from anthropic.lib.tools._beta_builtin_memory_tool import BetaLocalFilesystemMemoryTool
from world import running_server

from holdfast import Holdfast
from holdfast.integrations.anthropic_memory import AsyncHoldfastMemoryTool, HoldfastMemoryTool

pytestmark = pytest.mark.quick

GITHUB = "ghp_" + "aB3dE5fG7h" * 3 + "aB3dE5"
NOTES = "/memories/notes.md"
CREATE = {"command": "create", "path": NOTES, "file_text": "Ada likes tea.\n"}
VIEW = {"command": "view", "path": NOTES}


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_server(tmp_path_factory.mktemp("anthropic") / "memory") as (_, address):
        yield address


@pytest.fixture
def memory(url: str) -> Iterator[Holdfast]:
    """A server's memory without files: the tests share the server."""
    with Holdfast(url) as opened:
        for one in opened.call("memories", limit=1_000)["memories"]:
            opened.forget(one["id"])
        yield opened


class Script:
    """A model that uses the tool with these inputs, one after the other, and then stops."""

    def __init__(self, *inputs: dict[str, Any]):
        self._inputs = list(inputs)
        self.told: list[tuple[bool, str]] = []  # what each use gave: whether it was an error, and its text
        self.tools: Any = None

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        body = json.loads(request.content)
        self.tools = body.get("tools", self.tools)  # only the first request of a conversation has them
        last = body["messages"][-1]["content"]
        for block in last if isinstance(last, list) else ():
            if block["type"] == "tool_result":
                content = block["content"]
                self.told.append(
                    (block.get("is_error", False), content if isinstance(content, str) else content[0]["text"])
                )
        content = [{"type": "text", "text": "done"}]
        if self._inputs:
            use = self._inputs.pop(0)
            content = [{"type": "tool_use", "id": f"toolu_{len(self.told)}", "name": "memory", "input": use}]
        answer = {
            "id": "msg_1", "type": "message", "role": "assistant", "model": "claude", "content": content,
            "stop_reason": content[0]["type"] if content[0]["type"] == "tool_use" else "end_turn",
            "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1},
        }  # fmt: skip
        return httpx2.Response(200, json=answer)


ASK: dict[str, Any] = {
    "model": "claude-sonnet-5-5",
    "max_tokens": 100,
    "messages": [{"role": "user", "content": "Remember that I like tea."}],
}


def scripted(script: Script) -> Anthropic:
    return Anthropic(api_key="none", http_client=httpx2.Client(transport=httpx2.MockTransport(script)))


def played(tool: HoldfastMemoryTool, *inputs: dict[str, Any]) -> list[tuple[bool, str]]:
    """What a model is told that uses the tool so."""
    script = Script(*inputs)
    scripted(script).beta.messages.tool_runner(**ASK, tools=[tool]).until_done()
    assert script.tools == [{"type": "memory_20250818", "name": "memory"}]
    return script.told


def test_the_tool_runner_keeps_files_in_the_memory(memory: Holdfast) -> None:
    told = played(
        HoldfastMemoryTool(memory),
        {"command": "view", "path": "/memories"},
        CREATE,
        {"command": "str_replace", "path": NOTES, "old_str": "tea", "new_str": "coffee"},
        {"command": "insert", "path": NOTES, "insert_line": 1, "insert_text": "Ben likes tea.\n"},
        {"command": "rename", "old_path": NOTES, "new_path": "/memories/people.md"},
        {"command": "view", "path": "/memories/people.md", "view_range": [1, 2]},
        {"command": "delete", "path": "/memories/people.md"},
    )

    assert [error for error, _ in told] == [False] * 7
    assert told[5][1].endswith("     1\tAda likes coffee.\n     2\tBen likes tea.")
    assert memory.call("memory_tool_undo", path="/memories/people.md")["memory"]["version"] == 3
    assert memory.search("who likes coffee")[0]["title"] == "/memories/people.md"


def test_the_asynchronous_runner_does_the_same(memory: Holdfast) -> None:
    script = Script(CREATE, VIEW, {"command": "view", "path": "/memories/none"})

    async def play() -> None:
        http = httpx2.AsyncClient(transport=httpx2.MockTransport(script))
        async with AsyncAnthropic(api_key="none", http_client=http) as client:
            await client.beta.messages.tool_runner(**ASK, tools=[AsyncHoldfastMemoryTool(memory)]).until_done()

    asyncio.run(play())
    assert [error for error, _ in script.told] == [False, False, True]
    assert script.told[1][1].endswith("     1\tAda likes tea.\n     2\t")


def test_the_model_is_told_each_error_as_an_error(memory: Holdfast) -> None:
    told = played(
        HoldfastMemoryTool(memory),
        {"command": "view", "path": "/memories/../etc/passwd"},
        VIEW,
        {"command": "create", "path": NOTES},
        {"command": "insert", "path": NOTES, "insert_line": "first", "insert_text": "x"},
    )

    assert told == [
        (True, "Error: Path /memories/../etc/passwd would escape /memories directory"),
        (True, f"The path {NOTES} does not exist. Please provide a valid path."),
        (True, "Error: create needs file_text"),
        (True, told[3][1]),
    ]
    assert told[3][1].startswith("Error: memory_tool: insert_line")


def test_the_model_is_told_that_a_secret_was_removed(memory: Holdfast) -> None:
    [(error, text)] = played(HoldfastMemoryTool(memory), {**CREATE, "file_text": f"token {GITHUB}"})

    assert not error
    assert "Note: what looked like a secret was removed" in text
    assert GITHUB not in str(memory.export())


def test_two_users_of_a_chat_bot_have_files_of_their_own(memory: Holdfast) -> None:
    for user in ("ada", "ben"):
        tool = HoldfastMemoryTool(memory, umo=f"tg:FriendMessage:{user}", sender_id=user)
        assert played(tool, {**CREATE, "file_text": f"of {user}"}, VIEW)[1][1].endswith(f"1\tof {user}")
    assert played(HoldfastMemoryTool(memory), VIEW)[0][0] is True


def test_the_model_is_told_when_the_server_is_gone(tmp_path: Path) -> None:
    with running_server(tmp_path / "memory") as (_, address):
        tool = HoldfastMemoryTool(address)
    [(error, text)] = played(tool, CREATE)
    tool.memory.close()

    assert error
    assert text.startswith("Error: ")
    assert "Traceback" not in text


def test_a_folder_is_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_DAEMON", "off")
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "none")
    tool = HoldfastMemoryTool(tmp_path / "memory")
    try:
        assert played(tool, CREATE, VIEW)[1] == (
            False,
            f"Here's the content of {NOTES} with line numbers:\n     1\tAda likes tea.\n     2\t",
        )
    finally:
        tool.memory.close()


def test_the_example_of_the_page_runs(url: str, memory: Holdfast, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    page = (Path(__file__).parents[2] / "docs" / "memory_tool.md").read_text(encoding="utf-8")
    [example] = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    monkeypatch.setenv("HOLDFAST_URL", url)
    monkeypatch.setattr("anthropic.Anthropic", lambda: scripted(Script(CREATE)))
    names: dict[str, Any] = {}
    exec(compile(example, "memory_tool.md", "exec"), names)
    names["tool"].memory.close()

    assert capsys.readouterr().out == "done\n"
    assert memory.search("tea")[0]["title"] == NOTES


SEQUENCE: Sequence[dict[str, Any]] = (
    {"command": "view", "path": NOTES},
    {"command": "create", "path": NOTES, "file_text": "one\ntwo\r\n\nfour"},
    {"command": "create", "path": NOTES, "file_text": "again"},
    {"command": "view", "path": NOTES},
    {"command": "insert", "path": NOTES, "insert_line": 4, "insert_text": "five\nsix\n"},
    {"command": "insert", "path": NOTES, "insert_line": 0, "insert_text": "zero"},
    {"command": "insert", "path": NOTES, "insert_line": 99, "insert_text": "never"},
    {"command": "str_replace", "path": NOTES, "old_str": "two\r\n\nfour", "new_str": "2"},
    {"command": "str_replace", "path": NOTES, "old_str": "e", "new_str": "E"},
    {"command": "str_replace", "path": NOTES, "old_str": "nowhere", "new_str": "E"},
    {"command": "view", "path": NOTES, "view_range": [2, 4]},
    {"command": "view", "path": NOTES, "view_range": [4, -1]},
    {"command": "create", "path": "/memories/a/b/c.md", "file_text": ""},
    {"command": "rename", "old_path": "/memories/a/b", "new_path": "/memories/d"},
    {"command": "rename", "old_path": "/memories/d", "new_path": NOTES},
    {"command": "view", "path": "/memories/d/c.md"},
    {"command": "view", "path": "/memories/a/b/c.md"},
    {"command": "delete", "path": "/memories/d"},
    {"command": "delete", "path": "/memories/d"},
    {"command": "delete", "path": "/memories"},
    {"command": "view", "path": NOTES},
)


def test_it_answers_as_the_tool_of_the_package_that_keeps_files(memory: Holdfast, tmp_path: Path) -> None:
    """But for the `Error: ` that the documentation asks for, and that package leaves out."""
    theirs, ours = BetaLocalFilesystemMemoryTool(str(tmp_path)), HoldfastMemoryTool(memory)

    def told(tool: Any, given: dict[str, Any]) -> tuple[bool, str]:
        try:
            return False, str(tool.call(given))
        except ToolError as error:
            return True, str(error).removeprefix("Error: ").replace("of lines of the file: [", "[").rstrip(".")

    assert [told(ours, one) for one in SEQUENCE] == [told(theirs, one) for one in SEQUENCE]


def test_nothing_of_it_is_loaded_unless_it_is_asked_for() -> None:
    code = "import sys, holdfast; print([one for one in ('anthropic', 'holdfast.integrations') if one in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
