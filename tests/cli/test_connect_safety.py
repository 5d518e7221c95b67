"""What connect does when a file is broken, linked, locked, full of the user's own things, or in motion."""

from __future__ import annotations

import errno
import json
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from connect_homes import COMMAND, HOOKS_FILE, SERVER_FILE, USED, everything, fill, make_place

from holdfast.cli.connect import AGENTS, apply, connect_command, plan, plan_undo, undo
from holdfast.cli.connect.formats.jsonc import parse
from holdfast.cli.main import main
from holdfast.core.errors import Conflict, Fault, InvalidRequest, StorageFull

NOBODY = 65534
every_agent = pytest.mark.parametrize("agent", [agent.name for agent in AGENTS])


@every_agent
def test_a_malformed_file_is_named_and_nothing_is_written(tmp_path: Path, agent: str) -> None:
    fill(tmp_path, {**USED[agent], SERVER_FILE[agent]: '{"a": [1, 2,\n  "secret-value'})
    before = everything(tmp_path)
    with pytest.raises(InvalidRequest) as refusal:
        connect_command(agent, place=make_place(tmp_path), dry_run=False, undo=False, list_=False, hooks=True)
    assert str(tmp_path / SERVER_FILE[agent]) in refusal.value.message
    assert "secret-value" not in str(refusal.value.to_dict())
    assert str(COMMAND) in refusal.value.hint
    assert everything(tmp_path) == before


@pytest.mark.parametrize("agent", [name for name in HOOKS_FILE if name != "gemini"])
def test_a_malformed_hooks_file_stops_the_server_entry_too(tmp_path: Path, agent: str) -> None:
    fill(
        tmp_path,
        {HOOKS_FILE[agent]: '{"hooks": {"SessionStart": {}, "sessionStart": 1, "pre_user_prompt": 2}}'},
    )
    before = everything(tmp_path)
    with pytest.raises(InvalidRequest, match="is not a list"):
        connect_command(agent, place=make_place(tmp_path), dry_run=False, undo=False, list_=False, hooks=True)
    assert everything(tmp_path) == before


@pytest.mark.parametrize("text", ["[]", '{"mcpServers": null}', '{"mcpServers": []}', '{"a":1} {"b":2}', "{'a': 1}"])
def test_a_file_of_another_shape_is_refused(tmp_path: Path, text: str) -> None:
    fill(tmp_path, {".cursor/mcp.json": text})
    with pytest.raises(InvalidRequest):
        plan("cursor", make_place(tmp_path))


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    fill(tmp_path, {".cursor/mcp.json": ""})
    (tmp_path / ".cursor/mcp.json").write_bytes(b'{"a": "\xff\xfe"}')
    with pytest.raises(InvalidRequest, match="UTF-8"):
        plan("cursor", make_place(tmp_path))


def test_a_comment_inside_our_own_entry_is_not_destroyed(tmp_path: Path) -> None:
    text = '{"mcpServers": {"holdfast": {"command": "/x/holdfast", "args": [ /* why */ "serve"]}}}'
    fill(tmp_path, {".cursor/mcp.json": text})
    planned = plan("cursor", make_place(tmp_path))
    assert "/* why */" in (planned.changes[0].after or "")


@every_agent
def test_a_linked_file_is_written_through_its_link(tmp_path: Path, agent: str) -> None:
    home, dotfiles = tmp_path / "home", tmp_path / "dotfiles"
    fill(dotfiles, {"config": USED[agent][SERVER_FILE[agent]]})
    link = home / SERVER_FILE[agent]
    link.parent.mkdir(parents=True)
    link.symlink_to(dotfiles / "config")
    before = (dotfiles / "config").read_bytes()
    apply(plan(agent, make_place(home)))
    assert link.is_symlink()
    assert str(COMMAND).encode() in (dotfiles / "config").read_bytes()
    undo(agent, make_place(home))
    assert link.is_symlink()
    assert (dotfiles / "config").read_bytes() == before


def test_a_link_to_nowhere_gets_its_target_made(tmp_path: Path) -> None:
    link = tmp_path / "home/.cursor/mcp.json"
    link.parent.mkdir(parents=True)
    link.symlink_to(tmp_path / "elsewhere/mcp.json")
    apply(plan("cursor", make_place(tmp_path / "home")))
    assert link.is_symlink()
    assert "holdfast" in (tmp_path / "elsewhere/mcp.json").read_text(encoding="utf-8")


def test_a_link_to_itself_gives_a_clear_fault(tmp_path: Path) -> None:
    link = tmp_path / ".cursor/mcp.json"
    link.parent.mkdir(parents=True)
    link.symlink_to(link)
    with pytest.raises(InvalidRequest, match=r"cannot read .*mcp\.json"):
        plan("cursor", make_place(tmp_path))


def test_a_read_only_folder_gives_a_clear_fault() -> None:
    """As nobody where the tests run as root, who may write anywhere."""
    with tempfile.TemporaryDirectory() as name, as_nobody(Path(name)):
        home = Path(name)
        (home / ".cursor").mkdir(mode=0o500)
        with pytest.raises(InvalidRequest, match=r"cannot write .*mcp\.json"):
            apply(plan("cursor", make_place(home)))


@contextmanager
def as_nobody(home: Path) -> Iterator[None]:
    if os.geteuid() != 0:
        yield
        return
    os.chown(home, NOBODY, -1)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_file_where_a_folder_should_be_gives_a_clear_fault(tmp_path: Path) -> None:
    fill(tmp_path, {".cursor": "not a folder"})
    with pytest.raises(InvalidRequest, match=r"\.cursor/mcp\.json") as refusal:
        plan("cursor", make_place(tmp_path))
    assert refusal.value.hint


@pytest.mark.parametrize(
    ("number", "fault"),
    [(errno.EACCES, InvalidRequest), (errno.EROFS, InvalidRequest), (errno.ENOSPC, StorageFull)],
)
@pytest.mark.parametrize("nth", [1, 2, 3])
def test_a_write_that_fails_leaves_every_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, fault: type[Fault], nth: int
) -> None:
    fill(tmp_path, USED["cursor"])
    before, planned = everything(tmp_path), plan("cursor", make_place(tmp_path))
    real, calls = os.replace, 0

    def failing(source: Any, target: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == nth:
            raise OSError(number, os.strerror(number))
        real(source, target)

    monkeypatch.setattr(os, "replace", failing)
    with pytest.raises(fault, match="connect cannot write"):
        apply(planned)
    assert everything(tmp_path) == before


def test_a_file_that_changed_since_the_plan_is_not_overwritten(tmp_path: Path) -> None:
    fill(tmp_path, USED["claude-code"])
    planned = plan("claude-code", make_place(tmp_path))
    (tmp_path / ".claude.json").write_text('{"numStartups": 35}', encoding="utf-8")
    before = everything(tmp_path)
    with pytest.raises(Conflict, match=r"\.claude\.json"):
        apply(planned)
    assert everything(tmp_path) == before


def test_the_mode_of_a_file_is_kept_and_new_files_are_private(tmp_path: Path) -> None:
    fill(tmp_path, {".claude.json": "{}"})
    (tmp_path / ".claude.json").chmod(0o664)
    copies = apply(plan("claude-code", make_place(tmp_path)))
    modes = {name: mode for name, (_, mode) in everything(tmp_path).items()}
    assert modes[".claude.json"] == 0o664
    assert modes[".claude/settings.json"] == 0o600
    assert [stat.S_IMODE(copy.stat().st_mode) for copy in copies] == [0o600]


def test_a_backup_never_overwrites_an_earlier_one(tmp_path: Path) -> None:
    fill(tmp_path, {".cursor/mcp.json": "{}", ".cursor/mcp.json.holdfast-1.bak": "precious"})
    copies = apply(plan("cursor", make_place(tmp_path)))
    assert [copy.name for copy in copies] == ["mcp.json.holdfast-2.bak"]
    assert (tmp_path / ".cursor/mcp.json.holdfast-1.bak").read_text(encoding="utf-8") == "precious"


def test_what_the_user_put_into_our_entry_stays(tmp_path: Path) -> None:
    entry = {
        "command": "/old/holdfast",
        "args": ["mcp"],
        "disabled": True,
        "env": {"LANG": "C", "HOLDFAST_URL": "x"},
    }
    fill(tmp_path, {".cursor/mcp.json": json.dumps({"mcpServers": {"holdfast": entry}})})
    apply(plan("cursor", make_place(tmp_path)))
    after = parse((tmp_path / ".cursor/mcp.json").read_text(encoding="utf-8")).value["mcpServers"]["holdfast"]
    assert after == {"command": str(COMMAND), "args": ["mcp"], "disabled": True, "env": {"LANG": "C"}}


def test_a_server_set_up_over_http_by_hand_is_left_alone(tmp_path: Path) -> None:
    text = '{"mcpServers": {"holdfast": {"url": "http://127.0.0.1:3111/mcp"}}}'
    fill(tmp_path, {".cursor/mcp.json": text})
    apply(plan("cursor", make_place(tmp_path)))
    assert (tmp_path / ".cursor/mcp.json").read_text(encoding="utf-8") == text


def test_hooks_of_others_in_a_group_with_ours_survive_undo(tmp_path: Path) -> None:
    place = make_place(tmp_path)
    apply(plan("claude-code", place))
    path = tmp_path / ".claude/settings.json"
    value = json.loads(path.read_text(encoding="utf-8"))
    value["hooks"]["SessionStart"][0]["hooks"].append({"type": "command", "command": "mine"})
    path.write_text(json.dumps(value), encoding="utf-8")
    undo("claude-code", place)
    left = json.loads(path.read_text(encoding="utf-8"))
    assert left == {"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "mine"}]}]}}


def test_a_plugin_file_of_somebody_else_is_not_overwritten(tmp_path: Path) -> None:
    fill(tmp_path, {".config/opencode/plugins/holdfast.js": "export default {}\n"})
    with pytest.raises(InvalidRequest, match="not written by connect"):
        plan("opencode", make_place(tmp_path))


def test_undo_without_a_journal_still_takes_our_entries_out(tmp_path: Path) -> None:
    fill(tmp_path, USED["cursor"])
    place = make_place(tmp_path)
    apply(plan("cursor", place))
    (tmp_path / ".holdfast/connect/cursor.json").unlink()
    undo("cursor", place)
    assert "holdfast" not in (tmp_path / ".cursor/mcp.json").read_text(encoding="utf-8")
    assert parse((tmp_path / ".cursor/hooks.json").read_text(encoding="utf-8")).value == json.loads(
        USED["cursor"][".cursor/hooks.json"]
    )


def test_undo_with_a_damaged_backup_falls_back_to_our_entries(tmp_path: Path) -> None:
    fill(tmp_path, USED["cursor"])
    place = make_place(tmp_path)
    for copy in apply(plan("cursor", place)):
        copy.write_text("damaged", encoding="utf-8")
    undo("cursor", place)
    before = {name: parse(text).value for name, text in USED["cursor"].items()}
    assert {name: parse((tmp_path / name).read_text(encoding="utf-8")).value for name in before} == before


def test_edits_between_two_connects_survive_undo(tmp_path: Path) -> None:
    apply(plan("cursor", make_place(tmp_path, command=Path("/old/holdfast"))))
    path = tmp_path / ".cursor/mcp.json"
    value = json.loads(path.read_text(encoding="utf-8"))
    value["mcpServers"]["mine"] = {"command": "m"}
    path.write_text(json.dumps(value), encoding="utf-8")
    apply(plan("cursor", make_place(tmp_path)))
    undo("cursor", make_place(tmp_path))
    assert json.loads(path.read_text(encoding="utf-8")) == {"mcpServers": {"mine": {"command": "m"}}}


def test_a_crash_between_journal_and_files_leaves_nothing_to_undo(tmp_path: Path) -> None:
    fill(tmp_path, USED["cursor"])
    place = make_place(tmp_path)
    apply(plan("cursor", place))
    for name, text in USED["cursor"].items():
        (tmp_path / name).write_bytes(text.encode())
    assert plan_undo("cursor", place).changes == ()
    apply(plan("cursor", place))
    undo("cursor", place)
    assert {name: (tmp_path / name).read_bytes().decode() for name in USED["cursor"]} == USED["cursor"]


def test_a_dry_undo_shows_and_writes_nothing(tmp_path: Path) -> None:
    place = make_place(tmp_path)
    apply(plan("cursor", place))
    before = everything(tmp_path)
    report = connect_command("cursor", place=place, dry_run=True, undo=True, list_=False, hooks=True)
    assert report.action == "would undo"
    assert "/dev/null" in report.diff
    assert everything(tmp_path) == before


def test_undo_twice_has_nothing_left_to_do(tmp_path: Path) -> None:
    place = make_place(tmp_path)
    apply(plan("cursor", place))
    undo("cursor", place)
    report = connect_command("cursor", place=place, dry_run=False, undo=True, list_=False, hooks=True)
    assert report.action == "nothing to undo"


def test_an_unreadable_journal_is_named(tmp_path: Path) -> None:
    fill(tmp_path, {".holdfast/connect/cursor.json": "{}"})
    with pytest.raises(InvalidRequest, match="journal"):
        undo("cursor", make_place(tmp_path))


def test_a_project_that_names_a_server_of_its_own_is_mentioned(tmp_path: Path) -> None:
    fill(tmp_path, {"proj/.cursor/mcp.json": '{"mcpServers": {"agentmemory": {"command": "npx"}}}'})
    planned = plan("cursor", make_place(tmp_path, project=tmp_path / "proj"))
    assert any("proj/.cursor/mcp.json" in note for note in planned.notes)


@pytest.mark.parametrize(
    "wrong",
    [{"command": Path("holdfast")}, {"url": "http://user:pass@127.0.0.1:3111"}],
    ids=["relative command", "password in the URL"],
)
def test_a_place_that_must_not_be_written_down_is_refused(tmp_path: Path, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        plan("cursor", make_place(tmp_path, **wrong))
    assert "pass@" not in refusal.value.message


def test_an_unknown_agent_is_refused_with_the_names_of_the_known(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        plan("emacs", make_place(tmp_path))
    assert "claude-code" in refusal.value.hint


def test_an_agent_answers_to_its_other_names(tmp_path: Path) -> None:
    assert plan("gemini-cli", make_place(tmp_path)).agent == "gemini"


def test_connect_as_the_first_command_makes_the_data_folder_for_its_owner_alone(tmp_path: Path) -> None:
    apply(plan("claude-code", make_place(tmp_path)))
    for name in (".holdfast", ".holdfast/connect"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o700


@pytest.mark.parametrize("url", ["", "http://memory.example:4000"], ids=["a folder", "beside an address"])
def test_the_folder_of_the_environment_is_written_down_for_agents_that_start_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], url: str
) -> None:
    (tmp_path / ".claude").mkdir()
    for name, value in {"HOME": tmp_path, "HOLDFAST_HOME": tmp_path / "elsewhere", "HOLDFAST_URL": url}.items():
        monkeypatch.setenv(name, str(value))
    assert main(["connect", "claude-code"]) == 0
    settings = (tmp_path / ".claude" / "settings.json").read_text()
    assert (f"hook stop --data {tmp_path}/elsewhere" in settings) is not bool(url)
    assert main(["connect", "claude-code", "--undo"]) == 0
    assert not (tmp_path / ".claude" / "settings.json").exists()
    capsys.readouterr()
