"""Editing YAML: one entry changes, every other byte stays, and what cannot be edited by itself is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from connect_homes import everything, fill, make_place
from hypothesis import given, strategies as st
from rows import each

from holdfast.cli.connect import apply, plan, undo
from holdfast.cli.connect.formats.refusal import Refusal
from holdfast.cli.connect.formats.text_format import YAML, Yaml
from holdfast.cli.connect.formats.yaml_text import drop_entry, find, load, set_entry
from holdfast.core.errors import InvalidRequest

KEYS = ("extensions", "holdfast")
WANTED: dict[str, Any] = {"enabled": True, "cmd": "/opt/a b/holdfast", "args": ["mcp"], "envs": {}, "timeout": 300}

NAMES = st.text("abcdefgh_-", min_size=1, max_size=6)
LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(-9, 9), st.text("ab :#-'\"\n\u00e9{}[],&*!|>%@`~", max_size=12), st.floats()
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=3)),
    max_leaves=8,
)
MAPPINGS = st.dictionaries(NAMES, VALUES, max_size=4)


@st.composite
def texts(draw: st.DrawFn) -> str:
    """A settings file as a person may have it: in blocks or in braces, with comments, any line end, a mark or none."""
    whole = draw(MAPPINGS)
    if draw(st.booleans()):
        whole["extensions"] = draw(MAPPINGS)
    text = yaml.safe_dump(
        whole,
        default_flow_style=draw(st.sampled_from([False, False, None, True])),
        indent=draw(st.sampled_from([2, 4])),
        allow_unicode=True,
        sort_keys=False,
        width=10_000,
    )
    lines = text.splitlines(keepends=True)
    for at in draw(st.lists(st.integers(0, len(lines)), max_size=3)):
        lines.insert(at, draw(st.sampled_from(["# a comment\n", "\n", "    # far in\n"])))
    text = "".join(lines)
    text = text if draw(st.booleans()) else text.removesuffix("\n")
    text = text.replace("\n", "\r\n") if draw(st.booleans()) else text
    return "\ufeff" + text if draw(st.booleans()) else text


def is_one_splice(before: str, after: str) -> bool:
    """Whether the longer text is the shorter one with something put in at one place."""
    short, long = sorted((before, after), key=len)
    at = next((at for at in range(len(short)) if short[at] != long[at]), len(short))
    return long.endswith(short[at:])


@given(texts())
def test_an_entry_is_put_in_at_one_place_and_taken_out_there(text: str) -> None:
    try:
        before = load(text)
        after = set_entry(text, KEYS, WANTED)
    except Refusal:
        return
    assert find(load(after), KEYS) == WANTED
    rest = {key: value for key, value in load(after).items() if key != "extensions"}
    assert repr(rest) == repr({key: value for key, value in before.items() if key != "extensions"})
    assert is_one_splice(text, after)
    back = drop_entry(after, KEYS)
    assert is_one_splice(back, after)
    assert not find(load(back), KEYS)


PLAIN_TEXTS = [
    "",
    "# only a comment\n",
    "a: 1",
    "a: 1\r\nextensions:\r\n  dev:\r\n    x: 1\r\n",
    "extensions:\n    # mine\n    dev:\n        x: |\n          text\n\nlast: 1\n",
    "extensions: {}\nb: 2\n",
    "extensions:\nb: 1\n",
    "extensions: {a: {b: 1}} # in braces\n",
    "\ufeffa: 1\n# the end\n",
    "{a: 1}\n",
]


@each("text", PLAIN_TEXTS)
def test_an_entry_of_any_surroundings_comes_in_and_goes_again(text: str) -> None:
    after = YAML.put(text, KEYS, WANTED)
    assert find(load(after), KEYS) == WANTED
    assert YAML.drop(after, KEYS, text).rstrip() == text.rstrip()


@each("text", PLAIN_TEXTS)
def test_what_is_there_already_is_changed_in_its_place(text: str) -> None:
    after = YAML.put(YAML.put(text, KEYS, WANTED), KEYS, {**WANTED, "cmd": "/new/holdfast", "envs": {"A": "b: c"}})
    assert find(load(after), KEYS) == {**WANTED, "cmd": "/new/holdfast", "envs": {"A": "b: c"}}
    assert "/opt/a b" not in after


LISTED = Yaml(listed=True)
ITEM: dict[str, Any] = {"name": "holdfast", "command": "/opt/holdfast", "args": ["mcp"]}


@each(
    "text",
    [
        "name: x\n",
        "mcpServers:\n  - name: a\n    command: x\n",
        "mcpServers:\n- name: a\n  command: x\n# end\n",
        "mcpServers: []\n",
        "mcpServers: [{name: a}]\n",
        "mcpServers: # none yet\nrules: []\n",
    ],
)
def test_an_item_of_a_list_comes_in_and_goes_again(text: str) -> None:
    after = LISTED.put(text, ("mcpServers", "holdfast"), ITEM)
    assert find(load(after), ("mcpServers", "holdfast")) == ITEM
    assert LISTED.drop(after, ("mcpServers", "holdfast"), text) == text


@each(
    "text, why",
    [
        ("a: [1, 2\nb: 3\n", "not valid YAML \\(at line 2\\)"),
        ("a: 1\n\tb: 2\n", "not valid YAML \\(at line 2\\)"),
        ("- a\n- b\n", "does not contain a YAML mapping"),
        ("a: 1\n---\nb: 2\n", "not valid YAML"),
        ("extensions: 7\n", "not a mapping"),
        ("extensions: {a: 1}\nextensions: {b: 2}\n", "is there twice"),
        ("key: !secret x\n", "not valid YAML \\(at line 1\\)"),
        ("a: 1\n...\n", "cannot be edited separately"),
        ("day: 2026-99-99\n", "cannot be read"),
        ("a: &a [*a]\n", "aliases repeat too much"),
        (
            "a: &a [1, 2]\n"
            + "".join(f"k{n}: &k{n} [{', '.join([f'*k{n - 1}' if n else '*a'] * 9)}]\n" for n in range(9)),
            "aliases",
        ),
    ],
)
def test_a_text_that_cannot_be_edited_is_refused_with_its_line(text: str, why: str) -> None:
    with pytest.raises(Refusal, match=why):
        set_entry(text, KEYS, WANTED)


@pytest.mark.parametrize("provider", ["honcho", "'mem0'"])
def test_another_memory_that_the_user_chose_is_not_replaced(tmp_path: Path, provider: str) -> None:
    fill(tmp_path, {".hermes/config.yaml": f"memory:\n  provider: {provider}\n"})
    before = everything(tmp_path)
    with pytest.raises(InvalidRequest, match=r"memory\.provider already names another memory"):
        apply(plan("hermes", make_place(tmp_path)))
    assert everything(tmp_path) == before


def test_the_choice_of_memory_comes_back_after_an_edit(tmp_path: Path) -> None:
    text = '{"plugins": {"slots": {"memory": "memory-core"}}}'
    fill(tmp_path, {".openclaw/openclaw.json": text})
    apply(plan("openclaw", make_place(tmp_path)))
    path = tmp_path / ".openclaw/openclaw.json"
    path.write_text(path.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    undo("openclaw", make_place(tmp_path))
    assert path.read_text(encoding="utf-8") == text + "\n"
