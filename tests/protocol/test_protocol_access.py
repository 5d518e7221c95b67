"""Who sees what: the table, every combination, and keys that say the same as the predicate."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from hypothesis import given, settings, strategies as st
from rows import each

from holdfast.core.errors import Fault, InvalidRequest, LimitReached
from holdfast.protocol.access import (
    ADMIN,
    AUDIENCE,
    IN_CHATS,
    MOST_OWNERS,
    MemoryFacts,
    Viewer,
    audience_keys,
    check_writable,
    conditions,
    may_see,
    viewer_keys,
)
from holdfast.protocol.origin import UMOInfo
from holdfast.protocol.terms import SCOPES, VISIBILITIES

A_PRIVATE, B_PRIVATE, G1, G2 = "tg:FriendMessage:A", "tg:FriendMessage:B", "tg:GroupMessage:G1", "tg:GroupMessage:G2"


def made(
    scope: str, visibility: str, umo: str, *co_owners: str, shared: bool = False, of_work: bool = False
) -> MemoryFacts:
    return MemoryFacts(scope, visibility, UMOInfo.parse(umo), "A", co_owners, shared, of_work=of_work)


VIEWERS = {
    "A private": Viewer(A_PRIVATE, "A"),
    "A in G1": Viewer(G1, "A"),
    "A in G2": Viewer(G2, "A"),
    "B private": Viewer(B_PRIVATE, "B"),
    "B in G1": Viewer(G1, "B"),
    "B in G2": Viewer(G2, "B"),
    "D in G1": Viewer(G1, "D"),
    "C in G2": Viewer(G2, "C"),
    "no chat": Viewer(),
    "no chat, but a name": Viewer("", "A"),
    "no name in G1": Viewer(G1, ""),
    "A on another platform": Viewer("qq:FriendMessage:A", "A"),
    "G1 of another platform": Viewer("qq:GroupMessage:G1", "A"),
    "private chat called G1": Viewer("tg:FriendMessage:G1", "D"),
    "a chat that cannot be": Viewer("tg:channel:G1", "A"),
}
TABLE = {
    "personal, made in private": (
        made("personal", "private", A_PRIVATE), {"A private"}),
    "personal, made in private, shared": (
        made("personal", "private", A_PRIVATE, shared=True), {"A private", "A in G1", "A in G2"}),
    "personal, made in G1": (
        made("personal", "private", G1), {"A private", "A in G1", "A in G2"}),
    "personal of A and B, made in G1": (
        made("personal", "group", G1, "B"),
        {"A private", "A in G1", "A in G2", "B private", "B in G1", "B in G2"}),
    "personal of A and B, made in private": (
        made("personal", "group", A_PRIVATE, "B"), {"A private", "B private"}),
    "private, though B is listed": (
        made("personal", "private", G1, "B"), {"A private", "A in G1", "A in G2"}),
    "group": (
        made("group", "group", G1), {"A in G1", "B in G1", "D in G1", "no name in G1"}),
    "group, stored as private by an older system": (
        made("group", "private", G1), {"A in G1", "B in G1", "D in G1", "no name in G1"}),
    "group, made in private": (made("group", "group", A_PRIVATE), set()),
    "conversation in G1": (
        made("conversation", "private", G1), {"A in G1", "B in G1", "D in G1", "no name in G1"}),
    "conversation in private": (made("conversation", "private", A_PRIVATE), {"A private"}),
    "global": (made("global", "group", ""), set(VIEWERS) - {"a chat that cannot be"}),
    "global, made in a chat": (made("global", "private", G1), set(VIEWERS) - {"a chat that cannot be"}),
    "global, of a project": (made("global", "group", "", of_work=True), {"no chat", "no chat, but a name"}),
    "global, of a project, saved for chats": (
        made("global", "group", "", of_work=True, shared=True), set(VIEWERS) - {"a chat that cannot be"}),
    "global, of a project, made in a chat": (
        made("global", "group", G1, of_work=True), set(VIEWERS) - {"a chat that cannot be"}),
    "of an unknown scope": (made("secret", "group", G1), set()),
    "of an unknown place": (made("personal", "private", "tg:channel:G1"), set()),
    "personal of nobody": (MemoryFacts("personal", "group", UMOInfo.parse(G1), ""), set()),
}  # fmt: skip


@each("name", TABLE)
def test_the_table_of_who_sees_what(name: str) -> None:
    memory, seen_by = TABLE[name]
    assert {who for who, viewer in VIEWERS.items() if may_see(memory, viewer)} == seen_by


@each("name", TABLE)
def test_a_deprecated_memory_is_seen_by_nobody(name: str) -> None:
    gone = replace(TABLE[name][0], deprecated=True)
    assert not any(may_see(gone, viewer) for viewer in VIEWERS.values())
    assert audience_keys(gone) == (ADMIN,)


@each("name", TABLE)
def test_an_admin_who_asks_as_one_sees_all(name: str) -> None:
    assert all(may_see(TABLE[name][0], replace(viewer, admin=True)) for viewer in VIEWERS.values())


def test_admin_keys_are_held_by_no_one_else() -> None:
    assert all(ADMIN not in viewer_keys(viewer) for viewer in VIEWERS.values())
    assert all(
        ADMIN not in viewer_keys(Viewer(umo, name))
        for umo in ("admin", "admin:private:admin")
        for name in (ADMIN, "all")
    )


# The same as keys


def agree(memory: MemoryFacts, viewer: Viewer) -> None:
    assert may_see(memory, viewer) == bool(set(audience_keys(memory)) & set(viewer_keys(viewer)))


def test_keys_say_the_same_for_every_combination() -> None:
    names = ("A", "B", "")
    chats = itertools.product(("tg", "qq"), ("private", "GroupMessage", "other"), ("A", "G1"))
    places = ["", "tg:x:A", *map(":".join, chats)]
    memories = [
        MemoryFacts(scope, visibility, UMOInfo.parse(place), owner, others, shared, gone, work)
        for scope, visibility, place, owner, others, shared, gone, work in itertools.product(
            (*SCOPES, "x"), VISIBILITIES, places, ("A", ""), ((), ("B",)), *[(False, True)] * 3
        )
    ]
    viewers = [Viewer(place, name, admin) for place, name, admin in itertools.product(places, names, (False, True))]
    audiences = [(memory, set(audience_keys(memory))) for memory in memories]
    for viewer in viewers:
        held = set(viewer_keys(viewer))
        wrong = [memory for memory, audience in audiences if may_see(memory, viewer) != (not held.isdisjoint(audience))]
        assert wrong == []


NAMES = st.one_of(
    st.sampled_from(["A", "B", "G1", "all", "admin", "A/B", "A%2FB", "a:b", "", " ", "\0", "\ud800"]),
    st.text(max_size=4),
)
UMOS = st.one_of(
    st.builds("{}:{}:{}".format, NAMES, st.sampled_from(["private", "group", "FriendMessage", "GroupMessage", "other", "x"]), NAMES),
    NAMES,
)  # fmt: skip
FACTS = st.builds(
    MemoryFacts,
    st.sampled_from([*SCOPES, "x"]),
    st.sampled_from([*VISIBILITIES, "x"]),
    UMOS.map(UMOInfo.parse),
    NAMES,
    st.lists(NAMES, max_size=3).map(tuple),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)


@settings(max_examples=500)
@given(FACTS, st.builds(Viewer, UMOS, NAMES, st.booleans()))
def test_keys_say_the_same_for_any_names(memory: MemoryFacts, viewer: Viewer) -> None:
    agree(memory, viewer)


@settings(max_examples=300)
@given(FACTS, st.data())
def test_keys_say_the_same_where_names_meet(memory: MemoryFacts, data: st.DataObject) -> None:
    """Viewers made of the memory's own names: most pairs of random ones would have nothing to do with each other."""
    own = [memory.owner, *memory.co_owners, memory.origin.session_id]
    viewer = Viewer(
        data.draw(st.sampled_from([memory.origin.to_umo(), f"{memory.origin.platform_id}:private:{memory.owner}"])),
        data.draw(st.sampled_from(own)),
    )
    agree(memory, viewer)


# Names that meet at the border of every encoding.
CLOSE = st.text(alphabet="a/%2F", min_size=1, max_size=4)


@settings(max_examples=500)
@given(CLOSE, CLOSE, CLOSE, CLOSE, st.sampled_from(["private", "group"]))
def test_two_people_or_chats_never_share_a_key(p: str, s: str, q: str, t: str, kind: str) -> None:
    first, second = (
        {*viewer_keys(Viewer(f"{platform}:{kind}:{name}", name))} - {IN_CHATS} for platform, name in ((p, s), (q, t))
    )
    assert (first & second == set()) == ((p, s) != (q, t))
    assert len(first) == (3 if kind == "private" else 2)


def test_names_do_not_reach_into_each_other() -> None:
    chats = ("a/group:group:b", "a:group:group/b", "a%2Fgroup:group:b", "a/group/b:group:c")
    people = (("a", "b/c"), ("a/b", "c"), ("a%2Fb", "c"), ("a", "b%2Fc"))
    assert len({viewer_keys(Viewer(umo, "x"))[1] for umo in chats}) == 4
    for key in (2, 3):
        assert len({viewer_keys(Viewer(f"{platform}:private:1", name))[key] for platform, name in people}) == 4


@given(st.lists(st.builds(Viewer, UMOS, NAMES), max_size=3), st.lists(FACTS, max_size=5))
def test_over_random_memberships_conditions_select_what_may_be_seen(
    viewers: list[Viewer], memories: list[MemoryFacts]
) -> None:
    for viewer in viewers:
        allowed = conditions(viewer)
        assert allowed is not None
        assert {column for column, _ in allowed} <= {AUDIENCE}
        wanted = {key for _, key in allowed}
        assert [one for one in memories if wanted & set(audience_keys(one))] == [
            one for one in memories if may_see(one, viewer)
        ]


def test_an_admin_s_search_has_no_condition() -> None:
    assert conditions(Viewer(admin=True)) is None


def test_who_names_a_chat_that_cannot_be_is_shown_nothing() -> None:
    assert conditions(Viewer("nonsense", "A")) == ()


# What may be written


@each(
    "memory",
    [
        made("global", "group", ""), made("global", "group", G1), made("group", "group", G1),
        made("personal", "private", A_PRIVATE), made("personal", "private", G1, "A"), made("personal", "group", G1, "B"),
        made("conversation", "private", G1), made("conversation", "group", A_PRIVATE),
    ],
)  # fmt: skip
def test_what_fits_together_may_be_written(memory: MemoryFacts) -> None:
    assert check_writable(memory) is memory


@each(
    "memory",
    [
        made("group", "private", G1), made("group", "group", A_PRIVATE), made("group", "group", "tg:other:5"),
        made("x", "group", G1), made("personal", "x", G1), made("personal", "private", ""), made("conversation", "private", "tg"),
        made("personal", "private", G1, "B"), made("personal", "group", G1, ""), made("personal", "group", G1, "\ud800"),
        MemoryFacts("personal", "private", UMOInfo.parse(G1), ""),
    ],
)  # fmt: skip
def test_what_does_not_fit_together_is_refused(memory: MemoryFacts) -> None:
    with pytest.raises(InvalidRequest):
        check_writable(memory)


def test_more_owners_than_allowed_are_refused_not_cut() -> None:
    most = made("personal", "group", G1, *(f"u{at}" for at in range(MOST_OWNERS - 1)))
    assert len(check_writable(most).owners) == MOST_OWNERS
    with pytest.raises(LimitReached):
        check_writable(replace(most, co_owners=(*most.co_owners, "one more")))


@given(FACTS)
def test_whatever_may_be_written_is_seen_by_somebody(memory: MemoryFacts) -> None:
    try:
        check_writable(memory)
    except Fault:
        return
    if not memory.deprecated:
        assert len(audience_keys(memory)) >= 2
