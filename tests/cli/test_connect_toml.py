"""TOML: one table is added, changed and removed; every other byte stays."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
import tomlkit
from connect_homes import COMMAND, USED, make_place
from hypothesis import given, strategies as st
from rows import each

from holdfast.cli.connect.agents.shapes import plain_server
from holdfast.cli.connect.config_entries import Server
from holdfast.cli.connect.formats.refusal import Refusal
from holdfast.cli.connect.formats.text_format import TOML
from holdfast.cli.connect.formats.toml_text import drop_table, load, set_table

OURS = ("mcp_servers", "holdfast")
WANTED = {"command": "/opt/holdfast", "args": ["mcp"]}

BARE = st.from_regex(r"[a-z][a-z0-9_-]{0,5}", fullmatch=True)
QUOTED = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=5).map(
    lambda text: json.dumps(text, ensure_ascii=False)
)
SCALARS = st.one_of(
    st.integers(-99, 99).map(str),
    st.booleans().map(lambda yes: str(yes).lower()),
    QUOTED,
    st.sampled_from(
        [
            "1979-05-27T07:32:00Z",
            "'lit # eral'",
            '"""\n[mcp_servers.holdfast]\n"""',
            "'''\n# [x]\n'''",
            '"""a""""',
            '"with [brackets] # and marks"',
        ]
    ),
)
VALUES = st.one_of(
    SCALARS,
    st.lists(SCALARS, max_size=3).map(lambda items: "[\n  " + ", # note ]\n  ".join([*items, ""]) + "\n]"),
    st.lists(SCALARS, max_size=2).map(
        lambda items: "{ " + ", ".join(f"k{n} = {i}" for n, i in enumerate(items)) + " }"
    ),
)
TRIVIA = st.lists(st.sampled_from(["\n", "# a comment\n", "  # [mcp_servers.holdfast]\n"]), max_size=2).map("".join)


@st.composite
def configs(draw: st.DrawFn) -> str:
    """A valid TOML text in any order and spelling; without a table of ours."""
    tables = draw(st.lists(BARE, unique=True, max_size=3))
    parts = []
    for header in [None, *tables, *(f"mcp_servers.x{n}" for n in range(draw(st.integers(0, 2))))]:
        parts.append(draw(TRIVIA) + (f"[{header}] # head\n" if header else ""))
        keys = draw(st.lists(BARE | QUOTED, unique_by=lambda key: key.strip('"'), max_size=3))
        for key in keys if header else [f"top{n}" for n in range(len(keys))]:
            parts.append(f"{key} = {draw(VALUES)}{draw(st.sampled_from(['', '  # why']))}\n" + draw(TRIVIA))
    text = "".join(parts)
    if draw(st.booleans()):
        text = text.rstrip("\n")
    if draw(st.booleans()):
        text = re.sub(r"(?<!\r)\n", "\r\n", text)
    return text


@given(configs())
def test_a_new_table_goes_to_the_end_and_everything_else_stays(text: str) -> None:
    after = set_table(text, OURS, WANTED)
    assert after.startswith(text)
    was, now = tomllib.loads(text), tomllib.loads(after)
    assert now["mcp_servers"].pop("holdfast") == WANTED
    assert now == {**was, "mcp_servers": was.get("mcp_servers", {})}


@given(configs())
def test_setting_the_same_table_again_changes_nothing(text: str) -> None:
    after = set_table(text, OURS, WANTED)
    assert set_table(after, OURS, WANTED) == after


@given(configs(), configs())
def test_a_changed_table_leaves_both_sides_of_it_alone(above: str, below: str) -> None:
    text = set_table(above, OURS, {**WANTED, "command": "/old", "env": {"A": "b"}})
    tail = "\n# below\n[zz-last]\nmine = 1 # kept\n"
    after = set_table(text + tail, OURS, WANTED)
    assert after.startswith(above)
    assert after.endswith(tail)
    assert tomllib.loads(after)["mcp_servers"]["holdfast"] == WANTED


@given(configs())
def test_a_removed_table_leaves_what_was_there_before(text: str) -> None:
    back = drop_table(set_table(text, OURS, WANTED), OURS)
    assert load(back) == load(text)
    assert back.rstrip("\r\n") == text.rstrip("\r\n")


@given(configs(), st.sampled_from(["", "[mcp_servers.holdfast.env] # ours\nA = 'b'\n"]))
def test_a_removed_table_takes_no_comment_of_the_next_one_along(above: str, more: str) -> None:
    below = "\n# of what follows\n[zz-last]\nmine = 1 # kept\n"
    back = drop_table(set_table(above, OURS, WANTED) + more + below, OURS)
    assert back.endswith(below)
    assert back.removesuffix(below).rstrip("\r\n") == above.rstrip("\r\n")


@each("newline", ["\n", "\r\n"])
@each("mark", ["", "\ufeff"])
def test_a_new_key_stands_before_the_comment_of_the_next_table(newline: str, mark: str) -> None:
    text = f"{mark}[mcp_servers.holdfast]\ncommand = '/old' # why\n\n# mine\n[other]\na = 1\n".replace("\n", newline)
    after = set_table(text, OURS, WANTED)
    wanted = 'command = "/opt/holdfast" # why\nargs = ["mcp"]\n'.replace("\n", newline)
    assert after == text.replace(f"command = '/old' # why{newline}", wanted)


@each("text", ["[mcp_servers.holdfast]", "[mcp_servers.holdfast] # ours\n"])
def test_an_empty_table_of_ours_is_filled(text: str) -> None:
    after = set_table(text, OURS, WANTED)
    assert after.startswith(text)
    assert load(after) == {"mcp_servers": {"holdfast": WANTED}}


def test_a_table_out_of_order_is_taken_out_wherever_it_is_written() -> None:
    text = "[mcp_servers.a]\nx = 1\n\n[mcp_servers.holdfast]\ncommand = 'x'\n\n[other] # o\n\n[mcp_servers.holdfast.env]\nA = 'b'\n# last\n[z]\n"
    assert drop_table(text, OURS) == "[mcp_servers.a]\nx = 1\n\n[other] # o\n# last\n[z]\n"


def test_a_text_that_the_editor_cannot_read_gets_a_new_table_and_nothing_else() -> None:
    """tomlkit 0.15.2 refuses this text, which is valid."""
    text = "[t.r]\n[t.r.l.a]\n[t.r.l]\n[u]\n[t.r.l.b]\n"
    after = set_table(text, OURS, WANTED)
    assert after.startswith(text)
    with pytest.raises(Refusal):
        drop_table(after, OURS)


@pytest.mark.parametrize(("lost", "instead"), [("# theirs", "#"), ("b = 1", "b  = 1"), ("\n\n", "\n")])
def test_an_editor_that_changes_anything_else_is_not_believed(
    monkeypatch: pytest.MonkeyPatch, lost: str, instead: str
) -> None:
    text = "# theirs\nb = 1\n\n[mcp_servers.holdfast]\ncommand = '/old'\n"
    real = tomlkit.TOMLDocument.as_string
    calls: list[str] = []

    def faulty(document: tomlkit.TOMLDocument) -> str:
        calls.append(real(document))
        return calls[-1] if calls[-1] == text else calls[-1].replace(lost, instead, 1)

    monkeypatch.setattr(tomlkit.TOMLDocument, "as_string", faulty)
    with pytest.raises(Refusal):
        set_table(text, OURS, WANTED)
    with pytest.raises(Refusal):
        drop_table(text, OURS)
    assert calls


@each(
    "text",
    [
        "mcp_servers = { docs = { command = 'x' } }\n",
        "mcp_servers = { holdfast = { command = 'x' } }\n",
        "[mcp_servers]\nholdfast = { command = 'x' }\n",
        "[mcp_servers.holdfast]\ncommand = 'x'\n[mcp_servers.holdfast.env]\nA = 'b'\n",
        "mcp_servers = 1\n",
        "[mcp_servers]\nholdfast = 1\n",
    ],
)
def test_a_form_that_cannot_be_edited_by_itself_is_refused(text: str) -> None:
    with pytest.raises(Refusal):
        set_table(text, OURS, {**WANTED, "env": {"HOLDFAST_URL": "http://x"}})


@each("spelling", ['mcp_servers."holdfast"', " mcp_servers . 'holdfast' ", '"mcp_servers".holdfast'])
def test_our_table_is_known_in_any_spelling(spelling: str) -> None:
    text = f"[{spelling}]\ncommand = '/old' # where it was\nargs = [\n  'mcp',\n]\nstartup_timeout_sec = 20\n"
    after = set_table(text, OURS, {**WANTED, "startup_timeout_sec": 20})
    assert after == text.replace("'/old'", '"/opt/holdfast"')


@each(
    "text",
    [
        "[mcp_servers.holdfast]\ncommand = 'x'\n\n[mcp_servers.holdfast.env]\nA = 'b'\n\n[other]\nb = 1\n",
        "[mcp_servers]\nholdfast.command = 'x'\nholdfast.args = []\n\n[other]\nb = 1\n",
    ],
)
def test_every_form_of_our_table_can_be_taken_out(text: str) -> None:
    assert tomllib.loads(drop_table(text, OURS))["other"] == {"b": 1}
    assert "holdfast" not in drop_table(text, OURS)


def test_strings_with_every_kind_of_character_come_back_the_same() -> None:
    odd = 'C:\\a "b" \x7f \x01 é \n 漢'
    assert tomllib.loads(set_table("", OURS, {"command": odd}))["mcp_servers"]["holdfast"]["command"] == odd


def test_broken_toml_is_refused_with_its_line_and_without_its_content() -> None:
    with pytest.raises(Refusal, match="line 2") as refusal:
        load("a = 1\nb = sk-secret\n")
    assert "secret" not in str(refusal.value)


def test_the_users_own_keys_in_our_table_stay() -> None:
    text = "[mcp_servers.holdfast]\ncommand = '/old'\nargs = ['mcp']\nenabled = false\nenv = { LANG = 'C', HOLDFAST_URL = 'x' }\n"
    entry = Server(TOML, ("mcp_servers",), plain_server)
    after = tomllib.loads(entry.added(text, make_place(Path("/home/dev"))))["mcp_servers"]["holdfast"]
    assert after == {"command": str(COMMAND), "args": ["mcp"], "enabled": False, "env": {"LANG": "C"}}


def test_a_header_inside_a_string_is_not_our_table() -> None:
    text = USED["codex"][".codex/config.toml"]
    assert set_table(text, OURS, WANTED).startswith(text)
