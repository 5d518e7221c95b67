"""Words, addresses, origins and ids: what the earlier protocol gives for well-formed input, and no way to collide."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, strategies as st
from rows import each
from world import CountingEntropy

from holdfast.core.errors import Conflict, InvalidRequest
from holdfast.protocol import (
    MemoryDomain,
    MemoryScope,
    MemoryType,
    MemoryURI,
    MemoryVisibility,
    UMOInfo,
    build_session_id,
    build_user_id,
    normalize_memory_scope,
    normalize_visibility,
)
from holdfast.protocol.address import check_address
from holdfast.protocol.ids import read_user_id, session_id_of
from holdfast.protocol.origin import check_origin
from holdfast.protocol.terms import (
    DOMAINS,
    SCOPES,
    TYPES,
    VISIBILITIES,
    default_visibility,
    normalize_domain,
    normalize_importance,
    normalize_type,
)

ANYTHING = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.binary(max_size=9), st.lists(st.text())
)
# Names that meet at the borders of every encoding.
NAMES = st.one_of(st.text(alphabet="a_%:/25F5", min_size=1, max_size=6), st.text(min_size=1, max_size=6))


def test_the_constants_are_those_of_the_protocol() -> None:
    assert (MemoryType.NORMAL, MemoryType.PERMANENT) == TYPES == ("normal", "permanent")
    assert DOMAINS == ("user_profile", "preferences", "facts", "events", "context")
    assert (MemoryDomain.USER_PROFILE, MemoryDomain.CONTEXT) == ("user_profile", "context")
    assert set(SCOPES) == {"global", "personal", "group", "conversation"}
    assert (MemoryVisibility.PRIVATE, MemoryVisibility.GROUP) == VISIBILITIES == ("private", "group")


@each(
    "given_, scope",
    [(" Group ", "group"), ("GLOBAL", "global"), ("conversation", "conversation"), ("", "personal"), ("x", "personal")],
)
def test_a_scope_is_read_in_any_case(given_: str, scope: str) -> None:
    assert normalize_memory_scope(given_) == scope


@given(ANYTHING)
def test_whatever_is_given_becomes_a_word_of_the_protocol(value: object) -> None:
    assert normalize_memory_scope(value) in SCOPES
    assert normalize_visibility(value) in VISIBILITIES
    assert normalize_type(value) in TYPES
    assert normalize_domain(value) in DOMAINS
    assert normalize_importance(value) in range(1, 6)


@each("value", [5, ["group"], {"group"}, None, 0, b"group"])
def test_what_is_no_text_is_the_narrowest(value: object) -> None:
    assert (normalize_memory_scope(value), normalize_visibility(value)) == (MemoryScope.PERSONAL, "private")


@each(
    "value, importance",
    [
        (0, 1),
        (9, 5),
        ("4", 4),
        (2.9, 2),
        ("x", 3),
        (None, 3),
        (True, 3),
        (float("nan"), 3),
        ("9" * 5_000, 3),
        (10**30, 3),
    ],
)
def test_importance_is_a_number_from_one_to_five(value: object, importance: int) -> None:
    assert normalize_importance(value) == importance


@each(
    "scope, owners, visibility",
    [("global", 1, "group"), ("group", 1, "group"), ("personal", 1, "private"), ("personal", 2, "group"),
     ("conversation", 2, "private")],
)  # fmt: skip
def test_visibility_has_a_default_by_scope(scope: str, owners: int, visibility: str) -> None:
    assert default_visibility(scope, owners=owners) == visibility


# Addresses


@given(st.text(min_size=1).filter(lambda text: "://" not in text), st.text(min_size=1))
def test_an_address_reads_back_from_its_text(domain: str, path: str) -> None:
    uri = MemoryURI(domain, path)
    assert MemoryURI.parse(str(uri)) == uri


@each("text", ["", "facts", "facts:/x", "://x", "facts://", "://"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="Invalid memory URI format"):
        MemoryURI.parse(text)


def test_an_address_is_cut_at_the_first_separator() -> None:
    assert MemoryURI.parse("a://b://c") == MemoryURI("a", "b://c")


def test_a_new_address_has_eight_digits() -> None:
    uri = MemoryURI.generate("facts")
    assert uri.domain == "facts"
    assert len(uri.path) == 8
    assert int(uri.path, 16) >= 0


def test_a_taken_address_is_not_given_again() -> None:
    seen = {"facts://00000001", "facts://000000000002"}
    assert str(MemoryURI.generate("facts", entropy=CountingEntropy(), taken=seen.__contains__)) == f"facts://{3:016x}"


def test_if_all_are_taken_somebody_hears_of_it() -> None:
    with pytest.raises(Conflict):
        MemoryURI.generate("facts", taken=lambda _text: True)


@each("text", [" a://b", "a ://b", "a://b ", "a://b\nc", "a://b\u200bc", "a://\0", "a://" + "x" * 600, "one"])
def test_a_new_memory_cannot_have_an_address_that_misleads(text: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        check_address(text)
    assert text not in caught.value.message


def test_a_plain_address_may_hold_slashes_and_other_scripts() -> None:
    assert check_address("笔记://项目/一 二") == MemoryURI("笔记", "项目/一 二")


# Origins


@each(
    "text, parts",
    [
        ("telegram:private:123", ("telegram", "private", "123")),
        ("aiocqhttp:group:98765", ("aiocqhttp", "group", "98765")),
        ("tg:GroupMessage:-100:7", ("tg", "group", "-100:7")),
        ("tg:FriendMessage:5", ("tg", "private", "5")),
        ("tg:OtherMessage:5", ("tg", "other", "5")),
        ("", ("", "private", "")),
        ("tg", ("tg", "private", "")),
        ("tg:group", ("tg", "group", "")),
    ],
)
def test_an_origin_is_taken_apart(text: str, parts: tuple[str, str, str]) -> None:
    origin = UMOInfo.parse(text)
    assert (origin.platform_id, origin.session_type, origin.session_id) == parts


@given(st.text())
def test_an_origin_that_names_a_chat_reads_back_from_its_text(text: str) -> None:
    origin = UMOInfo.parse(text)
    if origin.is_valid:
        assert origin.to_umo() == text
    assert UMOInfo.parse(origin.to_umo()) == origin


def test_one_chat_is_one_origin_under_both_names() -> None:
    assert UMOInfo.parse("tg:GroupMessage:5") == UMOInfo.parse("tg:group:5") != UMOInfo.parse("tg:private:5")


@each("text", ["", "tg", "tg:group", "tg:group:", ":group:5", "tg:channel:5", "tg::5", "tg:group: ",
                                  "tg:group:\0", "tg:group:\ud800", "t" * 600 + ":group:5"])  # fmt: skip
def test_what_names_no_chat_is_not_valid(text: str) -> None:
    assert not UMOInfo.parse(text).is_valid
    with pytest.raises(InvalidRequest):
        check_origin(text)


@each("value", [None, 5, [], {}])
def test_an_origin_that_is_no_text_is_not_valid(value: object) -> None:
    assert not UMOInfo.parse(value).is_valid


# Ids


def test_ids_of_plain_names_are_those_of_earlier_records() -> None:
    assert build_user_id("telegram", "42") == "telegram_42"
    assert build_session_id("telegram", "42") == "telegram_42"
    assert build_user_id("qq_official", "42") == "qq_official_42"


@given(NAMES, NAMES, NAMES, NAMES)
def test_two_people_never_share_an_id(p: str, s: str, q: str, t: str) -> None:
    assert (build_user_id(p, s) == build_user_id(q, t)) == ((p, s) == (q, t))


@given(
    NAMES, NAMES, NAMES, NAMES, st.sampled_from(["private", "group", "other"]), st.sampled_from(["private", "group"])
)
def test_two_chats_never_share_an_id(p: str, s: str, q: str, t: str, kind: str, other: str) -> None:
    assert (build_session_id(p, s, kind) == build_session_id(q, t, other)) == ((p, s, kind) == (q, t, other))
    assert build_session_id(p, s, kind) != build_user_id(q, t)


def test_no_collision_that_the_earlier_form_had() -> None:
    assert build_user_id("tg_1", "2") != build_user_id("tg", "1_2")
    ids = [build_user_id("tg", "5"), *(session_id_of(UMOInfo.parse(f"tg:{kind}:5")) for kind in ("group", "private"))]
    assert all(a != b for a, b in itertools.combinations(ids, 2))


@given(NAMES, NAMES)
def test_an_id_is_read_back(platform: str, sender: str) -> None:
    assert read_user_id(build_user_id(platform, sender)) == (platform, sender)
    assert read_user_id(build_user_id(platform, sender), platform) == (platform, sender)


@given(NAMES, NAMES.filter(lambda name: "%" not in name))
def test_an_id_of_the_old_form_is_read_with_its_platform(platform: str, sender: str) -> None:
    assert read_user_id(f"{platform}_{sender}", platform) == (platform, sender)


@each("user_id, platform", [("tg_5", "qq"), ("tg_", "tg"), ("5", ""), ("_5", ""), ("", "")])
def test_an_id_of_nobody_is_nobody_s(user_id: str, platform: str) -> None:
    assert read_user_id(user_id, platform) is None
