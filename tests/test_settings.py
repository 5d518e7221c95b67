"""One table of settings: what it lists is what there is, and a bad value is named without being shown."""

from __future__ import annotations

import dataclasses
import re
import types
import typing
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st
from rows import each

from holdfast.core.errors import InvalidSettings
from holdfast.settings import SETTINGS, Setting, Settings, duration, load, origin

pytestmark = pytest.mark.quick

SOURCE = Path(__file__).parents[1] / "src" / "holdfast"

each_setting = each("row", SETTINGS, lambda row: row.name)
ROWS = {row.name: row for row in SETTINGS}
HINTS = typing.get_type_hints(Settings)


def _value(row: Setting) -> tuple[str, Any]:
    """A value other than the default, as it is written and as it is read."""
    hint = HINTS[row.name]
    if row.parse is duration:
        return "12H", 43_200
    if hint is bool:
        return ("no", False) if row.parse(row.default) else ("yes", True)
    if hint is int:
        return ("7777", 7777) if row.name in ("max_body", "max_import") else ("77", 77)
    if hint is float:
        return "2.5", 2.5
    if hint == tuple[str, ...]:
        return " one, two ,", ("one", "two")
    return _WORDS.get(row.name, ("some-text", "some-text"))


_WORDS = {
    "agent_scope": ("Isolated", "isolated"),
    "mcp_tools": ("ALL", "all"),
    "recall_keep": ("ALL", "all"),
    "llm": ("none", "none"),
    "embedder": ("Local", "local"),
    "reranker": ("None", "none"),
    "log_level": ("DEBUG", "debug"),
    "store": (" postgresql://user:word@db/memory ", "postgresql://user:word@db/memory"),
    "public_url": ("https://Memory.Example.org:8443/ ", "https://memory.example.org:8443"),
    "nats_url": (" nats://user:word@broker:4222,tls://[::1]:4222 ", "nats://user:word@broker:4222,tls://[::1]:4222"),
    "nats_confirm": ("Stream", "stream"),
    "vault_layout": ("Chunks", "chunks"),
    "snapshot_layout": ("Chunks", "chunks"),
}


# The table and the dataclass


def test_the_table_and_the_settings_have_the_same_names_in_the_same_order() -> None:
    assert [row.name for row in SETTINGS] == [field.name for field in dataclasses.fields(Settings)]


def test_no_name_is_read_for_two_settings() -> None:
    names = Counter(name for row in SETTINGS for name in (row.env, *row.also))

    assert [name for name, count in names.items() if count > 1] == []


@each_setting
def test_a_default_has_the_declared_type(row: Setting) -> None:
    assert _fits(getattr(load({}, {}), row.name), HINTS[row.name])


def _fits(value: Any, hint: Any) -> bool:
    if isinstance(hint, types.UnionType):
        return any(_fits(value, part) for part in typing.get_args(hint))
    if typing.get_origin(hint) is tuple:
        return isinstance(value, tuple) and all(isinstance(one, str) for one in value)
    return type(value) is hint


@each_setting
def test_a_setting_says_in_a_sentence_what_it_means(row: Setting) -> None:
    assert row.help.endswith(".")


def test_the_settings_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        load({}, {}).port = 1  # type: ignore[misc]


def test_keys_and_secrets_are_hidden() -> None:
    telling = re.compile(r"secret|key|token(?!_budget)|password|^nats_url$|^store$")  # an address may hold a password

    assert {row.name for row in SETTINGS if telling.search(row.name)} == {row.name for row in SETTINGS if row.hidden}


# Reading


@each_setting
def test_a_setting_is_read_from_its_own_name(row: Setting) -> None:
    raw, value = _value(row)

    assert getattr(load({}, {row.env: raw}), row.name) == value


@each("row, name", [(row, name) for row in SETTINGS for name in row.also], lambda one: one[1])
def test_a_setting_is_read_from_its_older_names(row: Setting, name: str) -> None:
    raw, _ = _value(row)

    assert getattr(load({}, {name: raw}), row.name) == row.parse(row.written(name, raw))


def test_a_dataset_of_the_earlier_system_is_a_vault() -> None:
    read = load({}, {"AGENTMEMORY_DATASET_REPO": " ada/memory "})

    assert read.vault == "hf://datasets/ada/memory"
    assert origin(read, "vault", {"AGENTMEMORY_DATASET_REPO": "ada/memory"})[0] == "AGENTMEMORY_DATASET_REPO"
    assert load({}, {"AGENTMEMORY_DATASET_REPO": "ada/memory", "HOLDFAST_VAULT": "/backup"}).vault == "/backup"


@each(
    "name",
    [
        "III_REST_PORT",
        "PORT",
        "AGENTMEMORY_SECRET",
        "AGENTMEMORY_URL",
        "AGENT_ID",
        "AGENTMEMORY_AGENT_SCOPE",
        "MAX_OBS_PER_SESSION",
        "TOKEN_BUDGET",
        "GEMINI_API_KEY",
        "GOOGLE_API_KEY",
        "OPENAI_API_KEY",
        "ANTHROPIC_API_KEY",
        "CONSOLIDATION_ENABLED",
        "GRAPH_EXTRACTION_ENABLED",
        "AGENTMEMORY_AUTO_COMPRESS",
        "HF_TOKEN",
        "AGENTMEMORY_DATASET_REPO",
    ],
)
def test_a_name_of_the_earlier_system_keeps_working(name: str) -> None:
    """The contract of DESIGN.md, written out: a row that loses a name fails here."""
    assert name in {known for row in SETTINGS for known in row.also}


@each("row", [row for row in SETTINGS if row.also], lambda row: row.name)
def test_the_own_name_wins_over_older_ones(row: Setting) -> None:
    raw, value = _value(row)
    older = dict.fromkeys(row.also, row.default or "other")

    assert getattr(load({}, {**older, row.env: raw}), row.name) == value


@each("row", [row for row in SETTINGS if row.also], lambda row: row.name)
@pytest.mark.parametrize("blank", ["", "  "])
def test_a_name_that_is_set_to_nothing_is_passed_over(row: Setting, blank: str) -> None:
    raw, _ = _value(row)
    older = row.parse(row.written(row.also[0], raw))

    assert getattr(load({}, {row.env: blank, row.also[0]: raw}), row.name) == older


@each_setting
def test_an_option_wins_over_the_environment(row: Setting) -> None:
    raw, value = _value(row)

    assert getattr(load({row.name: raw}, {row.env: row.default}), row.name) == value


@each_setting
def test_an_option_that_was_not_given_leaves_the_environment_alone(row: Setting) -> None:
    raw, value = _value(row)

    assert getattr(load({row.name: None}, {row.env: raw}), row.name) == value


def test_names_that_are_no_settings_are_ignored() -> None:
    assert load({}, {"HOLDFAST_NO_SUCH_SETTING": "1", "PATH": "/bin"}) == load({}, {})


def test_the_environment_of_the_process_is_read_when_none_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_PORT", "4321")

    assert load().port == 4321


def test_the_folder_is_the_home_with_the_tilde_resolved() -> None:
    assert load({}, {"HOLDFAST_HOME": "~/elsewhere"}).folder == Path.home() / "elsewhere"


def test_agents_are_isolated_only_when_the_scope_says_so() -> None:
    assert not load({}, {}).isolated
    assert load({}, {"AGENTMEMORY_AGENT_SCOPE": "isolated"}).isolated


# Refusing

BAD = [
    *((row, "not a number") for row in SETTINGS if HINTS[row.name] in (int, float)),
    *((row, "9" * 30) for row in SETTINGS if HINTS[row.name] in (int, float)),
    *((row, "-1") for row in SETTINGS if HINTS[row.name] in (int, float)),
    *((row, "perhaps") for row in SETTINGS if HINTS[row.name] is bool),
    *((ROWS[name], "something else") for name in _WORDS),
    *((row, word) for row in SETTINGS if HINTS[row.name] is float for word in ("nan", "inf", "-inf")),
    *((row, "1.5") for row in SETTINGS if HINTS[row.name] is int),
]


@each("row, raw", BAD, lambda one: f"{one[0].name}-{one[1][:12]}")
def test_a_value_that_cannot_be_used_is_refused_by_the_name_it_came_under(row: Setting, raw: str) -> None:
    for name in (row.env, *row.also):
        with pytest.raises(InvalidSettings) as refused:
            load({}, {name: raw})
        assert refused.value.message.startswith(f"{name}: ")


@each("row, raw", BAD, lambda one: f"{one[0].name}-{one[1][:12]}")
def test_a_bad_option_is_refused_by_its_own_name(row: Setting, raw: str) -> None:
    with pytest.raises(InvalidSettings) as refused:
        load({row.name: raw}, {})

    assert refused.value.message.startswith(f"--{row.name.replace('_', '-')}: ")


@each("row", [row for row in SETTINGS if HINTS[row.name] is int and row.parse is not duration], lambda row: row.name)
def test_the_bounds_of_a_number_are_told(row: Setting) -> None:
    with pytest.raises(InvalidSettings, match=r"must be between -?\d+ and \d+$"):
        load({}, {row.env: "9" * 30})


@each("raw, seconds", [("off", 0), ("0", 0), ("90s", 90), ("30m", 1_800), (" 7D ", 604_800)])
def test_a_time_is_read_in_seconds(raw: str, seconds: int) -> None:
    assert load({}, {"HOLDFAST_SNAPSHOT_EVERY": raw}).snapshot_every == seconds


@each("raw", ["5", "h", "-1h", "1.5h", "9999d", "٣h", "1h1"])
def test_what_is_no_time_is_refused(raw: str) -> None:
    with pytest.raises(InvalidSettings, match="must be a time like"):
        load({}, {"HOLDFAST_SNAPSHOT_EVERY": raw})


def test_a_word_where_a_number_belongs_is_told_in_our_own_words() -> None:
    """Not Python's "invalid literal for int() with base 10: 'many'", which shows the value and helps nobody."""
    said = {}
    for row in SETTINGS:
        if HINTS[row.name] in (int, float):
            with pytest.raises(InvalidSettings) as refused:
                load({}, {row.env: "many"})
            said[row.name] = refused.value.message

    assert [message for message in said.values() if "many" in message or "int()" in message] == []


@pytest.mark.parametrize("row", [row for row in SETTINGS if row.hidden], ids=lambda row: row.name)
def test_the_value_of_a_secret_is_never_shown(row: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(raw: str) -> Any:
        raise ValueError(f"{raw} is no good")

    strict = tuple(dataclasses.replace(one, parse=refuse) if one is row else one for one in SETTINGS)

    monkeypatch.setattr("holdfast.settings.SETTINGS", strict)

    with pytest.raises(InvalidSettings) as refused:
        load({}, {row.env: "s3cret-value"})

    assert "s3cret-value" not in str(refused.value.to_dict())


@each("raw", ["a.*", ">", "a..b", ".a", "a.", "a b", "a\r\nPUB", "ä", "x" * 101])
def test_the_beginning_of_subjects_has_no_wildcard_and_no_empty_word(raw: str) -> None:
    with pytest.raises(InvalidSettings, match="HOLDFAST_NATS_PREFIX: must be words"):
        load({}, {"HOLDFAST_NATS_PREFIX": raw})


@each("raw", ["broker:4222", "http://broker", "nats://", "nats://a b", "nats://a,", "ws://broker"])
def test_an_address_that_is_no_nats_server_is_refused_without_being_shown(raw: str) -> None:
    with pytest.raises(InvalidSettings, match=r"^HOLDFAST_NATS_URL: must be addresses such as nats://host:4222 or"):
        load({}, {"HOLDFAST_NATS_URL": raw})


@given(raw=st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=40))
def test_any_text_is_read_or_refused(raw: str) -> None:
    for row in SETTINGS:
        with suppress(InvalidSettings):
            load({}, {row.env: raw})


# What the source says of settings


def test_every_setting_that_the_source_names_exists() -> None:
    known = {name for row in SETTINGS for name in (row.env, *row.also)}
    named = {
        name
        for path in SOURCE.rglob("*.py")
        for name in re.findall(r"\b(?:HOLDFAST|AGENTMEMORY)_[A-Z0-9_]+\b", path.read_text(encoding="utf-8"))
    }

    beginnings = {name for name in named if any(one.startswith(f"{name}_") for one in known)}
    assert named - known - beginnings == _READ_BY_HOOKS


# Hooks run inside an agent and read its environment, under the names that hooks of the earlier system read.
_READ_BY_HOOKS = {
    "AGENTMEMORY_COMMIT_SHA",
    "AGENTMEMORY_INJECT_CONTEXT",
    "AGENTMEMORY_PROJECT_NAME",
    "AGENTMEMORY_SDK_CHILD",
    "AGENTMEMORY_SESSION_ID",
}


def test_every_setting_is_used() -> None:
    """Read as an attribute, or by the ending that the settings of several model providers share."""
    read = set()
    for path in SOURCE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        read |= set(re.findall(r"\.([a-z_]+)\b", text))
        read |= {f"{name}{end}" for end in re.findall(r'f"\{\w+\}(_[a-z]+)"', text) for name in _PROVIDERS}

    assert [row.name for row in SETTINGS if row.name not in read] == []


_PROVIDERS = ("anthropic", "openai", "gemini")
