"""Exports of other systems: everything that says something is taken, everything else is reported, nothing raises."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from rows import each

from holdfast.core.errors import Fault, InvalidRequest, TooLarge
from holdfast.protocol.access import Viewer, may_see
from holdfast.protocol.importers import (
    ImportedMemory,
    ImportResult,
    documents,
    import_types,
    notes,
    placed,
    read_basic_memory,
    read_letta,
    read_markdown,
    read_mem0,
    read_plugin,
)

READERS = {"plugin": read_plugin, "mem0": read_mem0, "letta": read_letta}
FOLDERS = {"basic-memory": read_basic_memory, "markdown": read_markdown}


def dump(value: Any) -> bytes:
    return json.dumps(value).encode()


def only(reading: ImportResult) -> ImportedMemory:
    assert reading.refused == ()
    assert len(reading.taken) == 1
    return reading.taken[0]


# The earlier plugin

PERSONAL = {
    "content": "likes tea",
    "metadata": {
        "user_id": "tg_wxid_1", "platform_id": "tg", "sender_id": "wxid_1", "umo": "tg:FriendMessage:wxid_1",
        "domain": "preference", "uri": "preferences://ab12cd34", "importance": "5", "memory_type": "permanent",
        "disclosure": "drinks", "created_at": "2026-05-01T10:00:00+00:00", "recall_count": 2, "topics": ["food"],
        "migrated_from": "facts://old", "mood": "fine",
    },
}  # fmt: skip


def test_a_record_of_the_plugin_keeps_its_fields_and_its_owner() -> None:
    taken = only(read_plugin(dump([PERSONAL])))
    assert (taken.ref, taken.uri, taken.content) == ("preferences://ab12cd34", "preferences://ab12cd34", "likes tea")
    assert (taken.domain, taken.importance, taken.memory_type, taken.recall_count) == ("preferences", 5, "permanent", 2)
    assert (taken.created_at, taken.disclosure, taken.topics) == (1_777_629_600_000, "drinks", ("food",))
    assert taken.links == (("migrated_from", "facts://old"),)
    assert taken.metadata == {"mood": "fine"}
    assert may_see(placed(taken), Viewer("tg:private:wxid_1", "wxid_1"))
    assert not may_see(placed(taken), Viewer("tg:group:G1", "wxid_1"))
    assert not may_see(placed(taken), Viewer("tg:private:2", "2"))


@each("shape", [lambda one: [one], lambda one: {"memories": [one]}, lambda one: {"any key": one}])
def test_records_are_found_in_every_shape(shape: Any) -> None:
    assert only(read_plugin(dump(shape(PERSONAL)))).content == "likes tea"


def test_records_may_be_lines() -> None:
    data = dump(PERSONAL) + b"\n\n{broken\n" + dump({**PERSONAL, "content": "second"}) + b"\n"
    reading = read_plugin(data)
    assert [one.content for one in reading.taken] == ["likes tea", "second"]
    assert [one.reason for one in reading.refused] == ["it is not an object"]


def test_stored_text_is_read_as_the_memory_in_it() -> None:
    record = {"text": "domain: fact\nmemory: lives in Rome\ntopics: home", "metadata": json.dumps(PERSONAL["metadata"])}
    assert only(read_plugin(dump([record]))).content == "lives in Rome"


def test_a_group_s_record_is_the_group_s_though_it_says_private() -> None:
    about = {"umo": "tg:GroupMessage:G1", "memory_scope": "group", "visibility": "private"}
    facts = placed(only(read_plugin(dump([{"content": "x", "metadata": about}]))))
    assert facts.visibility == "group"
    assert may_see(facts, Viewer("tg:group:G1", "anybody"))


@each(
    "about",
    [
        {}, {"user_id": "tg_1"}, {"umo": "tg:GroupMessage:G1"}, {"umo": "tg:channel:G1", "sender_id": "1", "user_id": "tg_1"},
        {"umo": "tg:FriendMessage:1", "memory_scope": "group"},
        {"umo": "tg:GroupMessage:G1", "sender_id": "0", "visibility": "group", "owner_user_ids": [f"tg_{at}" for at in range(200)]},
    ],
)  # fmt: skip
def test_what_does_not_say_whose_it_is_is_refused_and_not_made_everybody_s(about: dict[str, Any]) -> None:
    reading = read_plugin(dump([{"content": "a secret", "metadata": about}, PERSONAL]))
    assert [one.content for one in reading.taken] == ["likes tea"]
    assert reading.refusals == 1
    assert "a secret" not in json.dumps(reading.report())


def test_a_deprecated_record_is_passed_over() -> None:
    gone = {"content": "x", "metadata": {**PERSONAL["metadata"], "deprecated": True}}  # type: ignore[dict-item]
    reading = read_plugin(dump([gone]))
    assert (reading.taken, reading.passed_over) == ((), {"deprecated": 1})


def test_an_address_that_cannot_be_kept_does_not_cost_the_memory() -> None:
    odd = {"content": "x", "metadata": {**PERSONAL["metadata"], "uri": " a ://b\n"}}  # type: ignore[dict-item]
    reading = read_plugin(dump([odd]))
    assert only(reading).uri == ""
    assert reading.passed_over == {"addresses": 1}


# mem0


def test_memories_of_mem0_are_taken_and_its_relations_counted() -> None:
    data = {
        "results": [
            {"id": "f38b", "memory": "is a vegetarian", "hash": "6", "user_id": "alex", "agent_id": "bot", "run_id": "r1",
             "categories": ["user_preferences", "food"], "metadata": {"source": "chat", "user_id": "somebody else"},
             "created_at": "2023-02-25T23:57:00.108347-07:00", "updated_at": None},
        ],
        "relations": [{"source": "alex", "relationship": "eats", "target": "plants"}],
    }  # fmt: skip
    reading = read_mem0(dump(data))
    taken = only(reading)
    assert (taken.ref, taken.content, taken.owner, taken.agent, taken.session) == (
        "f38b",
        "is a vegetarian",
        "alex",
        "bot",
        "r1",
    )
    assert (taken.domain, taken.topics, taken.metadata) == (
        "preferences",
        ("user_preferences", "food"),
        {"source": "chat"},
    )
    assert (taken.created_at, taken.updated_at) == (1_677_394_620_108, None)
    assert reading.passed_over == {"relations": 1}


def test_mem0_s_older_list_and_its_stored_payloads_are_read() -> None:
    assert only(read_mem0(dump([{"id": "1", "memory": "x"}]))).content == "x"
    assert only(read_mem0(dump([{"id": "1", "payload": {"data": "x", "user_id": "u"}}]))).owner == "u"


def test_somebody_s_memory_needs_a_platform() -> None:
    taken = only(read_mem0(dump([{"memory": "x", "user_id": "alex"}])))
    with pytest.raises(InvalidRequest):
        placed(taken)
    facts = placed(taken, "tg")
    assert may_see(facts, Viewer("tg:FriendMessage:alex", "alex"))
    assert not may_see(facts, Viewer())


def test_a_memory_without_an_owner_is_the_agent_s_unless_the_importer_names_one() -> None:
    taken = only(read_mem0(dump([{"memory": "x"}])))
    assert placed(taken).scope == "global"
    assert placed(taken, "tg", "alex").owner == "alex"


# Letta


def test_an_agent_file_gives_its_blocks_and_passages() -> None:
    data = {
        "agents": [{"name": "Sam", "messages": [{"role": "user"}] * 3, "tools": [], "passages": [{"text": "likes jazz", "tags": ["music"]}]}],
        "blocks": [
            {"id": "block-0", "label": "human", "value": "Her name is Sarah.", "description": "About the user", "limit": 5000},
            {"id": "block-1", "label": "persona", "value": "I am Sam."},
            {"id": "block-2", "label": "empty", "value": ""},
        ],
        "tools": [{"name": "send"}],
    }  # fmt: skip
    reading = read_letta(dump(data))
    human, persona, passage = reading.taken
    assert (human.ref, human.content, human.domain, human.memory_type) == (
        "block-0",
        "Her name is Sarah.",
        "user_profile",
        "permanent",
    )
    assert (persona.domain, persona.title, persona.agent) == ("context", "persona", "Sam")
    assert (passage.content, passage.memory_type, passage.topics, passage.agent) == (
        "likes jazz",
        "normal",
        ("music",),
        "Sam",
    )
    assert reading.passed_over == {"messages": 3, "tools": 1}
    assert [(one.ref, one.reason) for one in reading.refused] == [("block-2", "it has no text")]


def test_an_older_agent_file_and_plain_lists_are_read() -> None:
    assert only(read_letta(dump({"name": "Sam", "core_memory": [{"label": "human", "value": "x"}]}))).agent == "Sam"
    passages = [{"id": "p1", "text": "x", "created_at": "2026-01-01", "metadata_": {"k": 1}}, {"passage": {"text": "y"}, "score": 1},
                {"text": "z", "is_deleted": True}]  # fmt: skip
    reading = read_letta(dump(passages))
    assert [(one.content, one.created_at) for one in reading.taken] == [("x", 1_767_225_600_000), ("y", None)]
    assert reading.passed_over == {"deleted": 1}


# Notes

NOTE = b"""---
title: Coffee Brewing
type: note
tags: [coffee, 'brewing']
permalink: notes/coffee
created: 2026-05-01
aliases:
  - beans
nested:
  deeper: 1
---

# Coffee Brewing

Some prose about coffee.

## Observations
- [method] Pour over gives more clarity #clarity
- [preference] Light roasts (at home)
- [ ] a task that is no observation
- [a link](https://example.org) is none either

## Relations
- relates_to [[Coffee Bean Origins]] (context)
- [[Tea]]
"""


def test_observations_are_memories_and_relations_are_links() -> None:
    reading = read_basic_memory([("coffee.md", NOTE), ("image.png", b"\x89PNG"), (".obsidian/app.md", b"x")])
    prose, first, second = reading.taken
    assert prose.content.startswith("# Coffee Brewing\n\nSome prose")
    assert "a task" in prose.content
    assert "## Relations" not in prose.content
    assert prose.links == (("relates_to", "Coffee Bean Origins"), ("relates_to", "Tea"))
    assert (prose.uri, prose.topics, prose.metadata) == (
        "memory://notes/coffee",
        ("coffee", "brewing"),
        {"noteType": "note"},
    )
    assert first.content == "Pour over gives more clarity #clarity"
    assert (first.subject, first.topics, first.metadata) == (
        "Coffee Brewing",
        ("coffee", "brewing", "clarity"),
        {"category": "method"},
    )
    assert (second.domain, second.created_at) == ("preferences", 1_777_593_600_000)
    assert reading.passed_over == {"other files": 2, "lines of front matter": 1}
    assert len({one.uri for one in reading.taken}) == 3


def test_a_note_of_observations_alone_keeps_its_relations() -> None:
    reading = read_basic_memory([("a.md", b"# A\n\n## Observations\n- [fact] one\n\n## Relations\n- of [[B]]\n")])
    assert only(reading).links == (("of", "B"),)


def test_a_short_file_is_one_memory() -> None:
    taken = only(read_markdown([("dir/todo.md", b"---\ntags: a, b\n---\nBuy milk.\r\nAnd tea.")]))
    assert (taken.content, taken.title, taken.uri, taken.topics) == (
        "Buy milk.\nAnd tea.",
        "todo",
        "notes://dir/todo.md",
        ("a", "b"),
    )


def test_a_long_file_is_a_memory_for_each_section() -> None:
    code = "```\n# no heading\n" + "x" * 900 + "\n```"
    body = f"# Log\n\n## One\n\n{code}\n\n## Empty\n\n## Two\n\n" + "word " * 300
    reading = read_markdown([("log.md", body.encode())])
    assert [one.title for one in reading.taken] == ["Log: One", "Log: Two"]
    assert [one.ref for one in reading.taken] == ["log.md#1", "log.md#2"]
    assert "# no heading" in reading.taken[0].content


@given(st.lists(st.text(alphabet="ab \n#", max_size=400), min_size=1, max_size=40))
@settings(max_examples=50)
def test_no_word_of_a_long_file_is_lost(parts: list[str]) -> None:
    """Headings alone aside, every paragraph stands in one of the memories."""
    body = "\n\n".join(parts)
    reading = read_markdown([("a.md", body.encode())])
    told = " ".join(one.content for one in reading.taken).split()
    lost = [
        line for line in body.split("\n") if line.strip() and not line.startswith("#") and set(line.split()) - set(told)
    ]
    assert lost == []


def test_a_paragraph_longer_than_a_memory_is_cut_and_kept() -> None:
    reading = read_markdown([("a.md", b"x" * 120_000)])
    assert reading.refusals == 0
    assert sum(len(one.content) for one in reading.taken) == 120_000


@each("path", ["/etc/a.md", "../a.md", "a/../../b.md", "\\a.md"])
def test_a_path_that_leads_out_of_the_folder_is_refused(path: str) -> None:
    assert read_markdown([(path, b"x")]).taken == ()


def test_files_that_cannot_be_read_are_reported() -> None:
    reading = read_markdown(
        [("a.md", b"\xff\xfe"), ("b.md", b"x" * (notes.FILE_BYTES + 1)), ("c.md", b"  "), ("d.md", b"good")]
    )
    assert [one.content for one in reading.taken] == ["good"]
    assert [one.ref for one in reading.refused] == ["a.md", "b.md", "c.md"]


def test_front_matter_that_is_never_closed_is_text() -> None:
    assert only(read_markdown([("a.md", b"---\ntitle: x\nno end")])).content == "---\ntitle: x\nno end"


# Hostile input


@each("read", READERS.values())
@each(
    "data",
    [b"", b"null", b"5", b'"x"', b"{", b"[1,2", b"\xff", b'{"a": 1}', b"[" * 100_000, b'{"\\ud800": 1}', b"{}\n" * 2 + b"\n" * 100_000 + b"x"],
)  # fmt: skip
def test_what_is_no_export_is_a_fault_or_an_empty_report(read: Any, data: bytes) -> None:
    try:
        reading = read(data)
    except InvalidRequest:
        return
    assert reading.taken == ()


def test_a_fault_does_not_carry_the_export_along() -> None:
    with pytest.raises(InvalidRequest) as caught:
        read_mem0(b'{"memory": "a secret"')
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert "secret" not in json.dumps(caught.value.to_dict())


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_an_export_beyond_the_limits_is_refused_before_it_is_parsed(read: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "MOST_BYTES", 1_000)
    with pytest.raises(TooLarge):
        read(b" " * 1_001)
    monkeypatch.setattr(documents, "MOST_VALUES", 10)
    with pytest.raises(TooLarge):
        read(b"[[],[],[],[],[],[]]")


def test_records_beyond_the_limit_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_types, "MOST_RECORDS", 3)
    reading = read_mem0(dump([{"memory": str(at)} for at in range(200)]))
    assert (len(reading.taken), reading.refusals, len(reading.refused)) == (3, 197, import_types.REFUSALS_SHOWN)


BAD_RECORDS: list[Any] = [
    None, 5, [], {}, {"memory": []}, {"memory": "\x00"}, {"memory": "x" * 60_000}, {"memory": "   "},
    {"memory": "x", "metadata": {"k": "y" * 30_000}}, {"memory": "x", "metadata": {"k": 2**64 - 1}},
]  # fmt: skip


def test_a_bad_record_costs_only_itself() -> None:
    reading = read_mem0(dump([*BAD_RECORDS, {"id": 7, "memory": "good", "created_at": "soon", "categories": {"a": 1}}]))
    assert [(one.ref, one.content, one.created_at) for one in reading.taken] == [("7", "good", None)]
    assert reading.refusals == len(BAD_RECORDS)


def test_a_ref_can_always_be_printed() -> None:
    reading = read_mem0(dump([{"id": "a\u001b[31m\n" + "b" * 900, "memory": ""}]))
    assert reading.refused[0].ref.isprintable()
    assert len(reading.refused[0].ref) == import_types.NAME_CHARS


NAMES = st.sampled_from(
    "id memory data text value label content metadata payload results blocks agents passages core_memory passage user_id umo "
    "created_at tags categories memory_scope owner_user_ids uri deprecated topics name sender_id messages".split()
)
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**63), 2**64 - 1), st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=6)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.one_of(NAMES, st.text(max_size=3)), inner, max_size=6)),
    max_leaves=25,
)  # fmt: skip


@settings(max_examples=200)
@given(JSON)
def test_whatever_json_holds_is_taken_refused_or_a_fault(value: Any) -> None:
    for read in READERS.values():
        try:
            reading = read(json.dumps(value).encode("utf-8", "surrogatepass"))
        except Fault:
            continue
        json.dumps(reading.report())
        assert all(one.content.strip() for one in reading.taken)


LINES = st.sampled_from(
    ["---", "title: x", "tags: [a, b", "tags:", "- a", "- [fact] x #t", "- rel [[B]]", "# H", "## H", "```", "~~~", "", "text", "\t- [x] y",
     "\x00", "\u2028", "- [" + " " * 90, "permalink: ../../x", "created: never", "...", "\ufeff"]
)  # fmt: skip


@settings(max_examples=200)
@given(st.lists(st.one_of(LINES, st.text(max_size=8)), max_size=25), st.text(max_size=8))
def test_whatever_a_file_holds_is_taken_or_refused(lines: list[str], name: str) -> None:
    data = "\n".join(lines).encode("utf-8", "replace")
    for read in FOLDERS.values():
        reading = read([(f"{name}.md", data), ("good.md", b"good")])
        json.dumps(reading.report())
        assert reading.taken[-1].content == "good"


@each("read", FOLDERS.values())
@each("line", ["- " + " " * 200_000 + "x", "- [" + "a" * 200_000, "# " + " " * 200_000, "#" * 200_000, "[[" * 100_000, "---\n" * 50_000, "# a\n" * 50_000])  # fmt: skip
def test_a_file_made_to_be_slow_is_read(read: Any, line: str) -> None:
    """Patterns that go back over what they read would not come to an end here before the test's time is up."""
    read([("a.md", line.encode())])
