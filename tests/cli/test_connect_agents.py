"""Every agent, on a fresh machine and on one in use: connect, connect again, undo."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from connect_homes import COMMAND, HOOKS_FILE, SERVER_FILE, SERVERS_AT, USED, everything, fill, make_place

from holdfast.cli.connect import AGENTS, apply, connect_command, diff, plan, undo
from holdfast.cli.connect.formats.text_format import JSON, TOML, YAML, members
from holdfast.cli.hook.hook_command import EVENTS

NAMES = [agent.name for agent in AGENTS]
every_agent = pytest.mark.parametrize("agent", NAMES)


def read_as(name: str, text: str) -> dict[str, Any]:
    reader = {".toml": TOML, ".yaml": YAML}.get(Path(name).suffix, JSON)
    return reader.load(text)


def loaded(path: Path) -> dict[str, Any]:
    return read_as(path.name, path.read_text(encoding="utf-8"))


def servers(home: Path, agent: str) -> dict[str, Any]:
    return members(
        loaded(home / SERVER_FILE[agent]), SERVERS_AT.get(agent, ("mcpServers",)), listed=agent == "continue"
    )


PLAIN = {"command": str(COMMAND), "args": ["mcp"]}
GOOSE = {"name": "holdfast", "type": "stdio", "enabled": True, "cmd": str(COMMAND), "args": ["mcp"], "timeout": 300}
SERVER = {
    "claude-code": {"type": "stdio", **PLAIN},
    "opencode": {"type": "local", "command": [str(COMMAND), "mcp"]},
    "vscode": {"type": "stdio", **PLAIN},
    "droid": {"type": "stdio", **PLAIN},
    "copilot": {"type": "local", **PLAIN, "tools": ["*"]},
    "continue": {"name": "holdfast", **PLAIN},
    "goose": {**GOOSE, "envs": {}},
}


@every_agent
def test_a_fresh_home_gets_the_mcp_server_where_the_agent_reads_it(tmp_path: Path, agent: str) -> None:
    apply(plan(agent, make_place(tmp_path)))
    assert servers(tmp_path, agent) == {"holdfast": SERVER.get(agent, PLAIN)}


@pytest.mark.parametrize("agent", HOOKS_FILE)
def test_every_hook_line_calls_an_event_that_the_hook_command_knows(tmp_path: Path, agent: str) -> None:
    apply(plan(agent, make_place(tmp_path)))
    groups = [group for own in loaded(tmp_path / HOOKS_FILE[agent])["hooks"].values() for group in own]
    lines = [hook["command"] for group in groups for hook in group.get("hooks", [group])]
    assert lines
    assert all(line.removeprefix(f"{COMMAND} hook ") in EVENTS for line in lines)


def test_claude_code_hooks_have_the_documented_shape(tmp_path: Path) -> None:
    apply(plan("claude-code", make_place(tmp_path)))
    hooks = loaded(tmp_path / ".claude/settings.json")["hooks"]
    command = {"type": "command", "command": f"{COMMAND} hook session-start", "timeout": 10}
    assert hooks["SessionStart"] == [{"hooks": [command]}]
    assert {"Stop", "SubagentStop", "PreCompact", "SessionEnd", "PostToolUseFailure"} <= set(hooks)
    assert "SessionEnd" in hooks


def test_cursor_hooks_are_flat_and_name_their_version(tmp_path: Path) -> None:
    apply(plan("cursor", make_place(tmp_path)))
    whole = loaded(tmp_path / ".cursor/hooks.json")
    assert whole["version"] == 1
    assert whole["hooks"]["sessionStart"] == [{"command": f"{COMMAND} hook session-start"}]


def test_gemini_gets_server_and_hooks_in_one_file_with_milliseconds(tmp_path: Path) -> None:
    apply(plan("gemini", make_place(tmp_path)))
    hooks = loaded(tmp_path / ".gemini/settings.json")["hooks"]
    assert hooks["BeforeAgent"][0]["hooks"][0]["timeout"] == 10_000


def test_droid_hooks_go_where_droid_reads_them(tmp_path: Path) -> None:
    text = '{\n  "hooksDisabled": false,\n  "PostToolUse": [{"hooks": [{"type": "command", "command": "fmt.sh"}]}]\n}\n'
    fill(tmp_path, {".factory/hooks.json": text})
    place = make_place(tmp_path)
    apply(plan("droid", place))
    hooks = loaded(tmp_path / ".factory/hooks.json")
    assert hooks["SessionStart"][0]["hooks"][0]["command"] == f"{COMMAND} hook session-start"
    assert [len(hooks["PostToolUse"]), hooks["hooksDisabled"]] == [2, False]
    assert not (tmp_path / ".factory/settings.json").exists()
    assert plan("droid", place).changes == ()
    (tmp_path / ".factory/hooks.json").write_text(
        (tmp_path / ".factory/hooks.json").read_text(encoding="utf-8") + "\n", encoding="utf-8"
    )
    undo("droid", place)
    assert (tmp_path / ".factory/hooks.json").read_text(encoding="utf-8") == text + "\n"


def test_folders_of_the_new_agents_named_in_the_environment_are_used(tmp_path: Path) -> None:
    named = {
        "copilot": ("COPILOT_HOME", "mcp-config.json"),
        "qwen": ("QWEN_HOME", "settings.json"),
        "cline": ("CLINE_DIR", "data/settings/cline_mcp_settings.json"),
        "continue": ("CONTINUE_GLOBAL_DIR", "config.yaml"),
        "pi": ("PI_CODING_AGENT_DIR", "mcp.json"),
        "hermes": ("HERMES_HOME", "config.yaml"),
        "openclaw": ("OPENCLAW_STATE_DIR", "openclaw.json"),
    }
    for agent, (variable, file) in named.items():
        folder = tmp_path / agent
        changes = plan(agent, make_place(tmp_path, environ={variable: str(folder)})).changes
        assert changes[0].path == folder / file
        assert all(folder in change.path.parents for change in changes)


def test_devin_is_written_only_where_its_folder_is(tmp_path: Path) -> None:
    assert len(plan("windsurf", make_place(tmp_path)).changes) == 2
    (tmp_path / ".config/devin").mkdir(parents=True)
    apply(plan("windsurf", make_place(tmp_path)))
    assert loaded(tmp_path / ".config/devin/mcp_config.json")["mcpServers"]["holdfast"] == PLAIN


# What names the memory that is used: an agent has one.
REPLACED = {"hermes": "''", "openclaw": "memory-core"}


@every_agent
def test_settings_in_use_lose_no_character_and_change_no_order(tmp_path: Path, agent: str) -> None:
    fill(tmp_path, USED[agent])
    apply(plan(agent, make_place(tmp_path)))
    for name, before in USED[agent].items():
        after = iter((tmp_path / name).read_bytes().decode("utf-8"))
        before = before.replace(REPLACED.get(agent, ""), "")
        assert all(character in after for character in before)  # each is found after the one before it


@every_agent
def test_connecting_twice_changes_nothing(tmp_path: Path, agent: str) -> None:
    fill(tmp_path, USED[agent])
    place = make_place(tmp_path)
    apply(plan(agent, place))
    written = everything(tmp_path)
    report = connect_command(agent, place=place, dry_run=False, undo=False, list_=False, hooks=True)
    assert report.action == "already connected"
    assert everything(tmp_path) == written


@every_agent
@pytest.mark.parametrize("used", [False, True], ids=["fresh", "in use"])
def test_undo_brings_back_every_byte_and_mode(tmp_path: Path, agent: str, used: bool) -> None:
    fill(tmp_path, USED[agent] if used else {})
    for path in tmp_path.rglob("*"):
        path.chmod(0o640 if path.is_file() else 0o755)
    before = everything(tmp_path)
    apply(plan(agent, make_place(tmp_path)))
    assert everything(tmp_path) != before
    undo(agent, make_place(tmp_path))
    assert everything(tmp_path) == before


@every_agent
def test_undo_after_an_edit_takes_out_only_our_entries_and_says_so(tmp_path: Path, agent: str) -> None:
    fill(tmp_path, USED[agent])
    place = make_place(tmp_path)
    apply(plan(agent, place))
    path = tmp_path / SERVER_FILE[agent]
    comment = "\n# edited later\n" if path.suffix in (".toml", ".yaml") else "\n// edited later\n"
    path.write_text(path.read_text(encoding="utf-8") + comment, encoding="utf-8")
    done = undo(agent, place)
    left = path.read_text(encoding="utf-8")
    assert "edited later" in left
    assert "opt/holdfast" not in left
    assert any(str(path) in note for note in done.notes)
    assert loaded(path) == read_as(path.name, USED[agent][SERVER_FILE[agent]])


@every_agent
def test_a_dry_run_shows_the_change_and_writes_nothing(tmp_path: Path, agent: str) -> None:
    fill(tmp_path, USED[agent])
    before = everything(tmp_path)
    report = connect_command(agent, place=make_place(tmp_path), dry_run=True, undo=False, list_=False, hooks=True)
    assert everything(tmp_path) == before
    assert report.action == "would connect"
    assert "+++ " in report.diff
    assert str(COMMAND) in report.diff


@every_agent
def test_without_hooks_only_the_server_is_written(tmp_path: Path, agent: str) -> None:
    report = connect_command(agent, place=make_place(tmp_path), dry_run=False, undo=False, list_=False, hooks=False)
    assert [change.path for change in report.changes] == [str(tmp_path / SERVER_FILE[agent])]
    assert "hook" not in (tmp_path / SERVER_FILE[agent]).read_text(encoding="utf-8")


@every_agent
def test_an_entry_of_the_earlier_system_stays_and_is_mentioned(tmp_path: Path, agent: str) -> None:
    old: Any = {"name": "agentmemory", "command": "npx", "args": ["-y", "@agentmemory/mcp"]}
    whole: Any = [old] if agent == "continue" else {"agentmemory": old}
    for key in reversed(SERVERS_AT.get(agent, ("mcpServers",))):
        whole = {key: whole}
    text = '[mcp_servers.agentmemory]\ncommand = "npx"\n' if agent == "codex" else json.dumps(whole)
    fill(tmp_path, {SERVER_FILE[agent]: text})
    planned = plan(agent, make_place(tmp_path))
    apply(planned)
    assert "agentmemory" in servers(tmp_path, agent)
    assert any("agentmemory" in note for note in planned.notes)


@every_agent
def test_a_server_elsewhere_is_named_without_any_secret(tmp_path: Path, agent: str) -> None:
    place = make_place(tmp_path, data=tmp_path / "memory", url="http://127.0.0.1:4000")
    apply(plan(agent, place))
    env = servers(tmp_path, agent)["holdfast"][{"opencode": "environment", "goose": "envs"}.get(agent, "env")]
    assert env == {"HOLDFAST_HOME": str(tmp_path / "memory"), "HOLDFAST_URL": "http://127.0.0.1:4000"}


@every_agent
def test_going_back_to_the_default_server_leaves_no_old_address(tmp_path: Path, agent: str) -> None:
    apply(plan(agent, make_place(tmp_path, url="http://127.0.0.1:4000")))
    apply(plan(agent, make_place(tmp_path)))
    texts = [body.decode() for name, (body, _) in everything(tmp_path).items() if not name.endswith(".bak")]
    assert not any("4000" in text for text in texts)


@every_agent
def test_a_moved_command_replaces_the_old_lines_instead_of_adding_more(tmp_path: Path, agent: str) -> None:
    fill(tmp_path, USED[agent])
    before = everything(tmp_path)
    apply(plan(agent, make_place(tmp_path, command=Path("/old place/bin/holdfast"))))
    apply(plan(agent, make_place(tmp_path)))
    texts = [body.decode() for name, (body, _) in everything(tmp_path).items() if not name.endswith(".bak")]
    assert not any("/old place" in text for text in texts)
    undo(agent, make_place(tmp_path))
    left = {name: body for name, body in everything(tmp_path).items() if not name.endswith(".bak")}
    assert left == before


def test_the_diff_shows_a_long_line_whole(tmp_path: Path) -> None:
    kept = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "notify " + "x" * 600 + " end"}]}]}}
    fill(tmp_path, {".claude/settings.json": json.dumps(kept)})
    assert "x" * 600 + " end" in diff(plan("claude-code", make_place(tmp_path)))


def test_the_diff_hides_the_keys_of_other_servers(tmp_path: Path) -> None:
    fill(tmp_path, USED["claude-code"])
    shown = diff(plan("claude-code", make_place(tmp_path)))
    assert "GITHUB_TOKEN" in shown
    assert "ghp_private" not in shown


def test_opencode_2_settings_get_the_server_in_their_nested_map(tmp_path: Path) -> None:
    name = ".config/opencode/opencode.jsonc"
    fill(tmp_path, {name: '{"mcp": {"servers": {}, "timeout": {"startup": 5}}}'})
    apply(plan("opencode", make_place(tmp_path)))
    mcp = loaded(tmp_path / name)["mcp"]
    assert mcp["servers"]["holdfast"] == SERVER["opencode"]
    assert not (tmp_path / ".config/opencode/opencode.json").exists()


def test_vscode_settings_lie_where_each_platform_keeps_them(tmp_path: Path) -> None:
    mac = plan("vscode", make_place(tmp_path, platform="darwin")).changes[0].path
    windows = plan("vscode", make_place(tmp_path, platform="win32")).changes[0].path
    assert mac == tmp_path / "Library/Application Support/Code/User/mcp.json"
    assert windows == tmp_path / "AppData/Roaming/Code/User/mcp.json"


def test_folders_named_in_the_environment_are_used(tmp_path: Path) -> None:
    environ = {"CODEX_HOME": str(tmp_path / "cx"), "CLAUDE_CONFIG_DIR": str(tmp_path / "cl")}
    place = make_place(tmp_path, environ=environ)
    paths = [change.path for name in ("codex", "claude-code") for change in plan(name, place).changes]
    names = ["cx/config.toml", "cx/hooks.json", "cl/.claude.json", "cl/settings.json"]
    assert [path for path in paths if path.name != "SKILL.md"] == [tmp_path / name for name in names]
    assert tmp_path / "cl/skills/holdfast-memory/SKILL.md" in paths


def test_a_windows_hook_line_suits_both_of_its_shells(tmp_path: Path) -> None:
    place = make_place(tmp_path, platform="win32", command=Path("C:\\Program Files\\Holdfast\\holdfast.exe"))
    assert place.hook_line("stop") == '"C:/Program Files/Holdfast/holdfast.exe" hook stop'
    assert place.own_hook(place.hook_line("stop")) == "stop"


def test_the_list_shows_what_is_installed_and_connected(tmp_path: Path) -> None:
    (tmp_path / ".cursor").mkdir()
    apply(plan("codex", make_place(tmp_path)))
    fill(tmp_path, {".gemini/settings.json": "{ not json"})
    report = connect_command(None, place=make_place(tmp_path), dry_run=False, undo=False, list_=True, hooks=True)
    rows = {row.name: row for row in report.agents}
    assert [row.name for row in report.agents] == NAMES
    assert (rows["codex"].found, rows["codex"].connected, rows["codex"].hooks) == (True, True, True)
    assert (rows["cursor"].found, rows["cursor"].connected, rows["cursor"].hooks) == (True, False, False)
    assert (rows["windsurf"].found, rows["windsurf"].connected) == (False, False)
    assert ".gemini/settings.json" in (rows["gemini"].problem or "")
    assert json.loads(json.dumps(report.to_dict()))["action"] == "listed"


EARLIER_EVENTS = {
    "claude-code": (
        ".claude/settings.json",
        "SessionStart PostToolUse SessionEnd",
        {"Stop", "SubagentStop", "PreCompact"},
    ),
    "codex": (".codex/hooks.json", "SessionStart UserPromptSubmit SessionEnd", {"Stop", "PreCompact", "SubagentStop"}),
    "cursor": (".cursor/hooks.json", "sessionStart sessionEnd", {"afterAgentResponse", "stop"}),
    "gemini": (".gemini/settings.json", "SessionStart SessionEnd", {"AfterAgent"}),
    "windsurf": (".codeium/windsurf/hooks.json", "pre_user_prompt", {"post_cascade_response"}),
}


@pytest.mark.parametrize("agent", EARLIER_EVENTS)
def test_connecting_again_adds_the_events_that_an_earlier_release_did_not_know(tmp_path: Path, agent: str) -> None:
    name, kept, new = EARLIER_EVENTS[agent]
    apply(plan(agent, make_place(tmp_path)))
    whole = loaded(tmp_path / name)
    before = {event: rows for event, rows in whole["hooks"].items() if event in kept.split()}
    (tmp_path / name).write_text(json.dumps({**whole, "hooks": before}), encoding="utf-8")
    apply(plan(agent, make_place(tmp_path)))
    after = loaded(tmp_path / name)["hooks"]
    assert new <= set(after)
    assert {event: after[event] for event in before} == before
    assert plan(agent, make_place(tmp_path)).changes == ()
