"""Markdown files of the user: what is shortened, written and read, and only where it is allowed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st
from world import World

from holdfast.core.errors import Forbidden, InvalidRequest, NotFound
from holdfast.core.model import Caller
from holdfast.pages.markdown_extract import shortened

pytestmark = pytest.mark.quick

TEXT = """---
title: guide
---
# Build

Run make. It compiles a lot of things. You must never run it as root. See https://x.org too.

- First item. It explains itself. Use `-j4`.
- Second item

```sh
echo one. Two. Three.
```

| a | b |
|---|---|
| x. Y. Z | 1 |
"""


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    folder = tmp_path / "pages"
    folder.mkdir()
    return folder


@pytest.fixture
def kept(tmp_path: Path, pages: Path) -> Any:
    world = World(tmp_path / "m", page_folders=str(pages), claude_memory_file=str(tmp_path / "claude" / "MEMORY.md"))
    yield world
    world.close()


def test_headings_code_tables_links_and_rules_stay_and_explanations_go() -> None:
    short = shortened(TEXT)
    assert "Run make. You must never run it as root. See https://x.org too.\n" in short
    assert "- First item. Use `-j4`.\n- Second item" in short
    assert "compiles" not in short
    assert "explains" not in short
    for whole in ("---\ntitle: guide\n---\n# Build", "```sh\necho one. Two. Three.\n```", "| x. Y. Z | 1 |"):
        assert whole in short


@given(st.lists(st.sampled_from([*TEXT.split("\n"), "~~~", "---", "    code", "> quoted. More.", "1. One. Two."])))
def test_shortening_adds_nothing_and_a_second_time_changes_nothing(lines: list[str]) -> None:
    text = "\n".join(lines)
    short = shortened(text)
    assert shortened(short) == short
    assert len(short) <= len(text) + 1
    assert set(short.split()) <= set(text.split())
    assert [one for one in lines if "://" in one and one not in short and "://" not in short] == []


def test_each_shortening_keeps_the_file_as_it_was_and_overwrites_none(kept: World, pages: Path) -> None:
    page = pages / "guide.md"
    page.write_text(TEXT, "utf-8")
    first = kept.call("compress_file", filePath=str(page))
    assert Path(first["backupPath"]).read_text("utf-8") == TEXT
    assert kept.call("compress_file", filePath=str(page))["skipped"] is True
    page.write_text(TEXT + "\nAgain. And more of it.\n", "utf-8")
    second = kept.call("compress_file", filePath=str(page))
    assert Path(second["backupPath"]).name == "guide.original-2.md"
    assert Path(first["backupPath"]).read_text("utf-8") == TEXT


def test_no_file_outside_of_the_folders_is_touched_whatever_the_path_says(
    kept: World, pages: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside.md"
    outside.write_text(TEXT, "utf-8")
    (pages / "link.md").symlink_to(outside)
    (pages / "way").symlink_to(tmp_path)
    for path in (outside, pages / "link.md", pages / ".." / "outside.md", pages / "way" / "outside.md"):
        with pytest.raises(InvalidRequest):
            kept.call("compress_file", filePath=str(path))
    with pytest.raises(InvalidRequest):
        kept.call("compress_file", filePath="guide.md")
    with pytest.raises(InvalidRequest):
        kept.call("obsidian_export", vaultDir=str(pages / "way" / "notes"))
    with pytest.raises(NotFound):
        kept.call("compress_file", filePath=str(pages / "none.md"))
    (pages / "notes").mkdir()
    (pages / "notes" / "memories").symlink_to(tmp_path)
    with pytest.raises(InvalidRequest):
        kept.call("obsidian_export", vaultDir=str(pages / "notes"), types="memories")
    assert outside.read_text("utf-8") == TEXT


def test_without_a_setting_nothing_may_be_written_and_a_token_never(tmp_path: Path, kept: World, pages: Path) -> None:
    bare = World(tmp_path / "bare")
    with pytest.raises(InvalidRequest, match="no folder is named"):
        bare.call("obsidian_export")
    with pytest.raises(InvalidRequest):
        bare.call("claude_bridge_sync", direction="read")
    bare.close()
    token = Caller(name="token:a", scopes=frozenset({"read", "write", "admin"}))
    for operation, given_path in (("compress_file", {"filePath": str(pages / "a.md")}), ("obsidian_export", {})):
        with pytest.raises(Forbidden):
            kept.call(operation, token, **given_path)
    assert "path" not in kept.call("claude_bridge_sync", token)
    assert not (tmp_path / "claude").exists()


def test_notes_have_front_matter_that_no_text_can_leave_and_links_to_each_other(kept: World, pages: Path) -> None:
    one = kept.call("remember", content="Line one\n---\nevil: true", title='A "title" [[x]]', concepts=["a: b"])[
        "memory"
    ]
    other = kept.call("remember", content="The other one entirely")["memory"]
    kept.call("relate", sourceId=one["id"], targetId=other["id"], type="supports")
    kept.call("lesson_save", content="Look twice")
    kept.call("remember", content="Private", umo="tg:FriendMessage:ada", senderId="ada", scope="personal")
    done = kept.call("obsidian_export")
    assert done["exported"] == {"memories": 2, "lessons": 1, "crystals": 0, "sessions": 0}
    head, body = (pages / "memories" / f"{one['id']}.md").read_text("utf-8").split("\n---\n", 1)
    assert "evil" not in head
    assert 'concepts: ["a: b"]' in head
    assert f"[[{other['id']}]]" in body
    index = (pages / "MOC.md").read_text("utf-8")
    assert f"[[memories/{one['id']}|" in index
    assert "[[x]]" not in index


def test_memory_md_keeps_what_its_user_wrote_and_is_read_back(kept: World, tmp_path: Path) -> None:
    path = tmp_path / "claude" / "MEMORY.md"
    kept.call("remember", content="Deploys happen on Tuesdays")
    kept.call("claude_bridge_sync")
    path.write_text(f"# Mine\n\n- Always run the linter first\n\n{path.read_text('utf-8')}", "utf-8")
    assert kept.call("claude_bridge_sync", direction="read")["added"] == 1
    again = kept.call("claude_bridge_sync", direction="read")
    assert (again["added"], again["changed"]) == (0, 0)
    kept.call("remember", content="The database is called heron")
    kept.call("claude_bridge_sync")
    text = path.read_text("utf-8")
    assert text.count("Always run the linter first") == 2  # the user's own, and the memory of it
    assert "heron" in text
    path.write_text(text.replace("<!-- holdfast: end -->", ""), "utf-8")
    with pytest.raises(InvalidRequest):
        kept.call("claude_bridge_sync")
