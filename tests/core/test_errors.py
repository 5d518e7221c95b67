"""One tree of faults: each can be told from the others, and each edge finds in it what it needs."""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import re
from collections import Counter
from typing import Any

import pytest
from rows import each

import holdfast
from holdfast.cli.commands.parsers import COMMANDS
from holdfast.connection import fault_from
from holdfast.core.errors import Fault, InvalidRequest, every_fault
from holdfast.ops.registry import OPERATIONS
from holdfast.settings import SETTINGS

pytestmark = pytest.mark.quick

FAULTS = every_fault()
CLIENT_ERRORS, SERVER_ERRORS = range(400, 500), range(500, 600)

each_fault = each("kind", FAULTS, lambda kind: kind.code)


def test_every_fault_of_the_source_is_in_the_tree() -> None:
    """All modules are loaded first: a fault declared elsewhere would otherwise be listed only now and then."""
    before = set(every_fault())
    for module in pkgutil.walk_packages(holdfast.__path__, "holdfast."):
        if not module.name.startswith("holdfast.integrations."):  # each needs the package of its framework
            importlib.import_module(module.name)

    assert set(every_fault()) == before
    assert {kind.__module__ for kind in before} == {"holdfast.core.errors"}


def test_no_two_faults_share_a_code() -> None:
    codes = Counter(kind.code for kind in FAULTS)

    assert [code for code, count in codes.items() if count > 1] == []


@each_fault
def test_a_code_is_a_plain_word(kind: type[Fault]) -> None:
    assert re.fullmatch(r"[a-z]+(_[a-z]+)*", kind.code)


@each_fault
def test_a_status_is_an_error(kind: type[Fault]) -> None:
    assert kind.http_status in CLIENT_ERRORS or kind.http_status in SERVER_ERRORS


@each_fault
def test_an_exit_code_is_a_failure_that_no_shell_gives_by_itself(kind: type[Fault]) -> None:
    """0 is success; 64 to 78 have meanings of their own, and from 126 the shell speaks."""
    assert 1 <= kind.exit_code < 64


def test_faults_share_an_exit_code_only_if_all_of_them_refuse_the_request() -> None:
    shared = Counter(kind.exit_code for kind in FAULTS)

    assert {kind.exit_code for kind in FAULTS if shared[kind.exit_code] > 1} == {InvalidRequest.exit_code}
    assert all(kind.http_status in CLIENT_ERRORS for kind in FAULTS if kind.exit_code == InvalidRequest.exit_code)


@each(
    "code, status, exit_code",
    [
        ("fault", 500, 1),
        ("invalid", 400, 2),
        ("invalid_settings", 500, 3),
        ("not_found", 404, 4),
        ("conflict", 409, 5),
        ("limit_reached", 400, 6),
        ("too_large", 413, 7),
        ("unauthorized", 401, 10),
        ("forbidden", 403, 11),
        ("rate_limited", 429, 12),
        ("request_timeout", 408, 13),
        ("data_locked", 409, 20),
        ("storage_full", 507, 21),
        ("storage_failed", 500, 22),
        ("data_damaged", 500, 23),
        ("data_too_new", 500, 24),
        ("upstream_failed", 502, 30),
        ("unreachable", 502, 31),
    ],
)
def test_a_released_code_keeps_its_status_and_exit_code(code: str, status: int, exit_code: int) -> None:
    """Scripts and clients depend on these numbers."""
    kind = next(kind for kind in FAULTS if kind.code == code)

    assert (kind.http_status, kind.exit_code) == (status, exit_code)


@each_fault
def test_what_can_be_tried_again_is_not_the_caller_s_mistake(kind: type[Fault]) -> None:
    assert not kind.retryable or kind.http_status not in (400, 401, 403, 404, 405, 413, 415)


@each_fault
def test_a_fault_says_in_a_sentence_what_happened_and_what_to_do(kind: type[Fault]) -> None:
    assert (inspect.getdoc(kind) or "").split("\n")[0].endswith(".")
    assert kind.hint.endswith(".")


@each_fault
def test_a_remedy_names_only_commands_and_settings_that_exist(kind: type[Fault]) -> None:
    commands = {operation.cli for operation in OPERATIONS if operation.cli} | {one.words for one in COMMANDS}
    settings = {name for row in SETTINGS for name in (row.env, *row.also)}

    named = re.findall(r"holdfast ([a-z]+(?: [a-z]+)?)", kind.hint)
    assert [words for words in named if words not in commands and words.split()[0] not in commands] == []
    assert set(re.findall(r"\b(?:HOLDFAST|AGENTMEMORY)_[A-Z_]+\b", kind.hint)) <= settings


def test_faults_are_listed_by_exit_code_and_code() -> None:
    assert [(kind.exit_code, kind.code) for kind in FAULTS] == sorted((kind.exit_code, kind.code) for kind in FAULTS)


# The shape


@each_fault
def test_a_fault_has_one_json_shape(kind: type[Fault]) -> None:
    assert json.loads(json.dumps(kind("remember: no").to_dict())) == {
        "error": "remember: no",
        "code": kind.code,
        "hint": kind.hint,
        "retryable": kind.retryable,
    }


def test_a_hint_of_its_own_replaces_the_general_one() -> None:
    fault = InvalidRequest("no", hint="Say yes.")

    assert fault.to_dict()["hint"] == "Say yes."
    assert InvalidRequest("no").hint != "Say yes."


def test_details_stand_beside_the_shape() -> None:
    assert InvalidRequest("no", details={"limit": 3}).to_dict()["limit"] == 3


@each("name", ["error", "code", "hint", "retryable"])
def test_details_never_cover_the_shape(name: str) -> None:
    fault = InvalidRequest("no", details={name: "covered"})

    assert fault.to_dict()[name] != "covered"


def test_details_of_one_fault_are_not_those_of_another() -> None:
    first, second = InvalidRequest("no"), InvalidRequest("no")

    first.details["limit"] = 3

    assert second.details == {}


def test_a_fault_is_printed_as_its_message() -> None:
    assert str(InvalidRequest("remember: no")) == "remember: no"


# And back


@each_fault
def test_a_fault_comes_back_from_its_json_as_the_same_kind(kind: type[Fault]) -> None:
    sent = kind("remember: no", hint="Do this.", details={"limit": 3})

    got = fault_from(json.loads(json.dumps(sent.to_dict())), kind.http_status)

    assert type(got) is kind
    assert got.to_dict() == sent.to_dict()


@each("body", [{}, {"code": "unheard_of"}, {"code": 7, "error": None}, {"detail": "from a proxy"}])
def test_an_error_of_another_program_is_a_fault_too(body: Any) -> None:
    got = fault_from(body, 503)

    assert type(got) is Fault
    assert isinstance(got.message, str)
    assert got.hint
