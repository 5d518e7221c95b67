"""Metadata, stored text and listing: thirty fields, one bad record at a time, pages that add up."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, strategies as st
from rows import each

from holdfast.core.errors import InvalidRequest
from holdfast.protocol import MemoryMetadata, format_memory_content, format_memory_for_user
from holdfast.protocol.text import display_text
from holdfast.protocol.visible import visible

DEFAULTS: dict[str, Any] = {
    "user_id": "", "platform_id": "", "sender_id": "", "umo": "", "session_type": "private", "session_id": "",
    "domain": "", "uri": "", "version": 1, "deprecated": False, "memory_type": "normal", "disclosure": "",
    "recall_count": 0, "importance": 3, "compressed": False, "memory_scope": "personal", "owner_user_id": "",
    "owner_user_ids": [], "owner_session_id": "", "visibility": "private", "speaker_id": "", "subject": "",
    "entities": [], "topics": [], "memory_content": "", "impression": None, "migrated_from": None, "migrated_to": None,
}  # fmt: skip
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=10)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=5), inner, max_size=4)),
    max_leaves=8,
)
FIELDS = [*DEFAULTS, "created_at", "last_recalled_at"]


def test_there_are_thirty_fields_with_their_defaults() -> None:
    made = MemoryMetadata().to_dict()
    times = [datetime.fromisoformat(made.pop(name)) for name in ("created_at", "last_recalled_at")]
    assert made == DEFAULTS
    assert len(made) + len(times) == 30
    assert all(time.utcoffset() == timedelta(0) for time in times)


def test_fields_read_back() -> None:
    made = MemoryMetadata(uri="facts://1", owner_user_ids=["a", "b"], recall_count=3, impression="x", topics=["t"])
    made.owner_user_id, made.speaker_id = "a", "s"
    assert MemoryMetadata.from_dict(made.to_dict()) == made
    assert MemoryMetadata.from_dict(json.dumps(made.to_dict())) == made


def test_owner_and_speaker_fall_back_to_user_and_sender() -> None:
    made = MemoryMetadata.from_dict({"user_id": "tg_1", "sender_id": "1"})
    assert (made.owner_user_id, made.speaker_id, made.owner_user_ids) == ("tg_1", "1", [])


def test_a_time_that_nobody_recorded_is_not_now() -> None:
    made = MemoryMetadata.from_dict({"uri": "facts://1", "created_at": None})
    assert (made.created_at, made.last_recalled_at) == ("", "")


@each(
    "given_, read",
    [(1_767_225_600, "2026-01-01T00:00:00.000Z"), (1_767_225_600_123, "2026-01-01T00:00:00.123Z"), ("2026", "2026"),
     (-5, ""), (10**18, ""), (float("inf"), ""), ([], "")],
)  # fmt: skip
def test_a_time_may_be_a_number(given_: object, read: str) -> None:
    assert MemoryMetadata.from_dict({"created_at": given_}).created_at == read


def test_all_owners_are_kept_whole() -> None:
    owners = [f"tg_{at}" for at in range(20)] + ["x" * 200]
    assert MemoryMetadata.from_dict({"owner_user_ids": ["", " ", *owners]}).owner_user_ids == owners


def test_entities_and_topics_are_short_lists_of_names() -> None:
    given_ = ["", " a ", 5, None, {}, True, "x" * 100, *"bcdefghijk"]
    assert MemoryMetadata.from_dict({"topics": given_}).topics == ["a", "5", "x" * 80, *"bcdef"]
    assert MemoryMetadata.from_dict({"entities": "not a list"}).entities == []


def test_the_platform_s_name_of_a_chat_is_understood() -> None:
    assert MemoryMetadata.from_dict({"session_type": "GroupMessage"}).session_type == "group"


@given(st.one_of(JSON, st.dictionaries(st.sampled_from(FIELDS), JSON)))
def test_whatever_was_stored_is_read_with_every_field_of_its_own_type(data: Any) -> None:
    made = MemoryMetadata.from_dict(data).to_dict()
    for name, value in {**DEFAULTS, "created_at": "", "last_recalled_at": ""}.items():
        kinds = (str, type(None)) if value is None else (type(value),)
        assert type(made[name]) in kinds
    assert all(isinstance(one, str) for name in ("owner_user_ids", "entities", "topics") for one in made[name])


@each("data", [None, "", "{", "[]", "5", 5, [], b"{}", "\ud800", "[" * 5_000, {"version": 10**5_000}])
def test_what_is_no_record_has_the_defaults(data: object) -> None:
    made = MemoryMetadata.from_dict(data)
    assert made == MemoryMetadata(created_at="", last_recalled_at="")


# Stored text


def test_stored_text_has_a_line_for_each_field_that_helps_to_find_it() -> None:
    about = {"domain": "preferences", "disclosure": "asked for drinks", "entities": ["tea", "milk"], "topics": ["food"]}
    assert format_memory_content("likes tea", about) == (
        "domain: preference\nmemory: likes tea\nrecall_when: asked for drinks\nentities: tea, milk\ntopics: food"
    )


@each(
    "domain, label",
    [("user_profile", "user_profile"), ("facts", "fact"), ("events", "event"), ("context", "context"), ("own", "own")],
)
def test_domains_are_named_in_the_singular(domain: str, label: str) -> None:
    assert format_memory_content("x", MemoryMetadata(domain=domain)) == f"domain: {label}\nmemory: x"


@given(st.text().map(visible), st.text(), st.lists(st.text(max_size=9), max_size=3))
def test_a_memory_is_read_back_from_its_stored_text(content: str, disclosure: str, topics: list[str]) -> None:
    about = {"domain": disclosure, "disclosure": disclosure, "topics": topics}
    stored = format_memory_content(content, about)
    assert display_text({"text": stored}, MemoryMetadata()) == content


def test_a_memory_cannot_forge_a_field() -> None:
    stored = format_memory_content("a\nrecall_when: always\nentities: b", {"disclosure": "x\ntopics: y"})
    assert stored.split("\n") == [
        "domain: ", "memory: a", "  recall_when: always", "  entities: b", "recall_when: x topics: y",
    ]  # fmt: skip


def test_earlier_text_of_several_lines_is_read_whole() -> None:
    assert display_text({"text": "domain: fact\nmemory: a\nb\ntopics: c"}, MemoryMetadata()) == "a\nb"


def test_the_metadata_s_own_content_comes_first() -> None:
    both = {"content": "second", "text": "memory: third"}
    assert display_text(both, MemoryMetadata(memory_content="first")) == "first"
    assert display_text(both, MemoryMetadata()) == "second"
    assert display_text({"text": "no fields"}, MemoryMetadata()) == "no fields"


# Listing


def listed(count: int, **about: Any) -> list[dict[str, Any]]:
    return [
        {"content": f"c{at}", "metadata": {"uri": f"facts://{at}", "created_at": "2026-05-01T00:00", **about}}
        for at in range(count)
    ]


def test_a_listing_is_that_of_the_earlier_protocol() -> None:
    made = format_memory_for_user(listed(1, disclosure="d", recall_count=2), page=1, total=11)
    assert made == (
        "记忆列表（第 1/2 页，共 11 条）：\n\n1. [facts://0]\n   内容: c0\n   作用域: personal\n   创建: 2026-05-01\n"
        "   触发: d\n   召回: 2次\n\n提示: /memory list 2 查看下一页"
    )
    assert format_memory_for_user([]) == "暂无记忆"


def test_a_listing_can_be_in_english() -> None:
    made = format_memory_for_user(
        listed(1, disclosure="d", recall_count=2), 1, 11, all_mode=True, cmd_prefix="!", locale="en"
    )
    assert made == (
        "Memories (page 1/2, 11 in all):\n\n1. [facts://0]\n   Content: c0\n   Scope: personal\n   Created: 2026-05-01\n"
        "   Recall when: d\n   Recalled: 2 times\n\nNext page: !memory list --all 2"
    )
    assert format_memory_for_user([], locale="en") == "No memories yet"


def test_the_last_page_has_no_next_one() -> None:
    made = format_memory_for_user(listed(1), page=2, total=11)
    assert made.startswith("记忆列表（第 2/2 页，共 11 条）：\n\n11. [")
    assert "提示" not in made


def test_a_page_past_the_end_is_not_an_empty_memory() -> None:
    assert format_memory_for_user([], page=3, total=11, locale="en") == "There is no page 3: 2 pages, 11 memories"


@given(st.integers(-3, 9), st.integers(-3, 60), st.integers(-2, 12), st.integers(0, 4))
def test_numbers_add_up_on_every_page(page: int, total: int, size: int, count: int) -> None:
    made = format_memory_for_user(listed(count), page, total, size)
    if not count:
        return
    numbers = [int(line.split(". ")[0]) for line in made.split("\n") if line.endswith("]") and ". [" in line]
    first = (max(page, 1) - 1) * (size if size > 0 else 10) + 1
    assert numbers == list(range(first, first + count))
    shown, pages = (int(part) for part in made.split("第 ")[1].split(" 页")[0].split("/"))
    assert 1 <= shown <= pages
    assert ("提示" in made) == (shown < pages)


def test_a_long_memory_is_shown_in_part() -> None:
    memory = [{"content": "x" * 101, "metadata": {}}]
    assert "   内容: " + "x" * 100 + "...\n" in format_memory_for_user(memory)
    assert "   创建: N/A" in format_memory_for_user(memory)


def test_a_bad_record_is_named_and_the_others_are_listed() -> None:
    bad: list[Any] = [None, {"metadata": {"recall_count": None, "created_at": 5}}, {"metadata": {"recall_count": "3"}}]
    made = format_memory_for_user([*bad, *listed(1)], locale="en")
    assert "1. (this record cannot be read)" in made
    assert "Recalled: 3 times" in made
    assert "4. [facts://0]" in made


@given(st.text(), st.text(), st.text())
def test_stored_text_forges_no_item(content: str, uri: str, disclosure: str) -> None:
    nasty = {
        "content": content + "\n2. [facts://fake]",
        "metadata": {"uri": uri + "\n9. [x]", "disclosure": disclosure},
    }
    lines = format_memory_for_user([nasty]).splitlines()
    assert len(lines) == 6 + bool(disclosure)
    assert [line for line in lines if line[:1].isdigit()] == [lines[2]]


def test_another_language_is_refused() -> None:
    with pytest.raises(InvalidRequest):
        format_memory_for_user([], locale="tlh")  # type: ignore[arg-type]
