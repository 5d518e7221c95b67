"""Ownership: structured fields decide, nothing else does."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st
from rows import each

from holdfast.core.errors import InvalidRequest
from holdfast.protocol import MemoryMetadata, UMOInfo
from holdfast.protocol.access import MemoryFacts, Viewer, may_see
from holdfast.protocol.ownership import (
    OWNERSHIP_FIELDS,
    decides_ownership,
    facts_of,
    owned,
    ownership_metadata,
    without_ownership,
)

G1, PRIVATE = "tg:GroupMessage:G1", "tg:FriendMessage:A"


def spellings(name: str) -> list[str]:
    head, *rest = name.split("_")
    camel = head + "".join(part.capitalize() for part in rest)
    return [
        name,
        camel,
        name.upper(),
        name.replace("_", "-"),
        f" {name} ",
        f"__{name}__",
        "".join(chr(ord(c) + 0xFEE0) if c.isalpha() else c for c in name),
    ]


def test_there_are_twelve_fields_of_ownership() -> None:
    assert len(set(OWNERSHIP_FIELDS)) == 12
    assert set(OWNERSHIP_FIELDS) < set(MemoryMetadata().to_dict())


@each("name", [*OWNERSHIP_FIELDS, "owners", "scope", "share_into_groups", "audience"])
def test_free_metadata_cannot_say_whose_a_memory_is(name: str) -> None:
    for spelling in spellings(name):
        assert decides_ownership(spelling)
        assert without_ownership({"mood": "fine", spelling: "x"}) == ({"mood": "fine"}, (spelling,))


def test_other_metadata_stays() -> None:
    free: dict[str, Any] = {"mood": "fine", "user": "x", "session": 5, "nested": {"owner_user_id": "x"}}
    assert without_ownership(free) == (free, ())


def test_without_a_chat_a_memory_is_the_agent_s_own() -> None:
    assert owned(None, None) == MemoryFacts("global", "group")


def test_in_a_chat_a_memory_is_its_sender_s() -> None:
    assert owned(PRIVATE, "A") == MemoryFacts("personal", "private", UMOInfo.parse(PRIVATE), "A")


def test_further_owners_are_listed_beside_the_sender() -> None:
    memory = owned(G1, "A", owners=["B", "A", "B"])
    assert (memory.owner, memory.co_owners, memory.visibility) == ("A", ("B",), "group")


def test_a_memory_may_be_kept_for_somebody_else() -> None:
    assert owned(G1, None, owners=["B", "C"]).owner == "B"


@each(
    "fields",
    [
        {"umo": "tg", "sender_id": "A"}, {"umo": None, "sender_id": "A", "scope": "personal"}, {"umo": G1, "sender_id": ""},
        {"umo": G1, "sender_id": "A", "scope": "group", "visibility": "private"}, {"umo": PRIVATE, "sender_id": "A", "scope": "group"},
        {"umo": G1, "sender_id": "A", "scope": "Group "}, {"umo": G1, "sender_id": "A", "owners": ["B"], "visibility": "private"},
        {"umo": G1, "sender_id": "A", "owners": ["E"], "trusted": ["B"]},
    ],
)  # fmt: skip
def test_what_is_unclear_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest):
        owned(**fields)


def test_an_owner_must_be_a_known_sender_where_these_are_known() -> None:
    assert owned(G1, "A", owners=["B"], trusted=["B", "C"]).co_owners == ("B",)


NAMES = st.text(alphabet="ab_%:/5F", min_size=1, max_size=5)


@given(
    NAMES.filter(lambda name: ":" not in name),
    st.sampled_from(["private", "GroupMessage"]),
    NAMES,
    NAMES,
    st.lists(NAMES, max_size=3),
)
def test_ownership_reads_back_from_the_metadata(
    platform: str, kind: str, session: str, sender: str, owners: list[str]
) -> None:
    memory = owned(f"{platform}:{kind}:{session}", sender, owners=owners)
    about = MemoryMetadata.from_dict({**ownership_metadata(memory), "domain": "facts"})
    assert facts_of(about) == memory


# Records of the earlier plugin


def test_an_old_id_with_an_underscore_is_its_owner_s_alone() -> None:
    about = MemoryMetadata.from_dict(
        {"platform_id": "tg", "sender_id": "wxid_1", "umo": "tg:group:G1", "user_id": "tg_wxid_1",
         "owner_user_ids": ["tg_wxid_1", "tg_wxid_2"], "visibility": "group"}
    )  # fmt: skip
    memory = facts_of(about)
    assert (memory.owner, memory.co_owners) == ("wxid_1", ("wxid_2",))
    assert may_see(memory, Viewer("tg:group:G9", "wxid_2"))
    assert not may_see(memory, Viewer("tg_wxid:group:G1", "1"))


def test_a_name_that_looks_encoded_is_not_taken_for_another() -> None:
    """In the old form %5F was a name; today it stands for an underscore. The record says of which form it is."""
    about = {
        "umo": "tg:group:G1",
        "sender_id": "%5F",
        "user_id": "tg_%5F",
        "owner_user_ids": ["tg_%5F"],
        "visibility": "group",
    }
    assert facts_of(MemoryMetadata.from_dict(about)).owners == ("%5F",)
    today = MemoryMetadata.from_dict(ownership_metadata(owned(G1, "%5F", owners=["_"])))
    assert facts_of(today).owners == ("%5F", "_")


def test_an_owner_on_another_platform_is_nobody_here() -> None:
    about = MemoryMetadata.from_dict(
        {"umo": "tg:group:G1", "user_id": "tg_1", "owner_user_ids": ["qq_2"], "visibility": "group"}
    )
    assert facts_of(about).co_owners == ()


def test_without_an_origin_only_a_group_is_believed() -> None:
    group = {"platform_id": "tg", "session_type": "GroupMessage", "session_id": "G1", "memory_scope": "group"}
    assert may_see(facts_of(MemoryMetadata.from_dict(group)), Viewer(G1, "D"))
    private = {"platform_id": "tg", "session_id": "A", "user_id": "tg_A", "sender_id": "A"}
    assert not may_see(facts_of(MemoryMetadata.from_dict(private)), Viewer(PRIVATE, "A"))


def test_a_deprecated_record_stays_unseen() -> None:
    about = MemoryMetadata.from_dict({"umo": PRIVATE, "sender_id": "A", "user_id": "tg_A", "deprecated": 1})
    assert not may_see(facts_of(about), Viewer(PRIVATE, "A"))
