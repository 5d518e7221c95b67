"""Flags: what is on, where that comes from, and what changes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rows import each
from world import World, settings

from holdfast.ops.server.features import FEATURES, Feature
from holdfast.settings import load, origin

# A language model is on when there is a key.
BY_VALUE = [one for one in FEATURES if one.setting != "llm"]


def flag(world: World, setting: str) -> Any:
    return next(one for one in world.call("flags")["flags"] if one["setting"] == setting)


def test_a_flag_says_what_is_so_where_that_comes_from_and_what_changes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONSOLIDATION_ENABLED", "yes")
    monkeypatch.delenv("HOLDFAST_SNAPSHOT_EVERY", raising=False)
    world = World(tmp_path / "m", consolidation="yes")

    said = flag(world, "HOLDFAST_CONSOLIDATION")
    assert (said["enabled"], said["value"], said["source"]) == (True, "yes", "CONSOLIDATION_ENABLED")
    assert said["change"] == "HOLDFAST_CONSOLIDATION=false"
    said = flag(world, "HOLDFAST_SNAPSHOT_EVERY")
    assert (said["enabled"], said["value"], said["source"]) == (True, "24h", "default")
    assert said["change"] == "HOLDFAST_SNAPSHOT_EVERY=off"
    world.close()


def test_a_secret_is_never_shown(tmp_path: Path) -> None:
    world = World(tmp_path / "m", secret="open-sesame", nats_url="nats://user:open-sesame@host:4222")

    assert flag(world, "HOLDFAST_SECRET")["value"] == "set"
    assert "open-sesame" not in str(world.call("flags"))
    world.close()


@each("one", BY_VALUE)
def test_what_a_flag_names_turns_it_over(one: Feature) -> None:
    for enabled in (True, False):
        value = one.off if enabled else one.on
        environ = {one.row.env: value} if value else {}
        if environ:
            assert one.change(enabled) == f"{one.row.env}={value}"
        else:
            assert one.change(enabled) == f"unset {one.row.env}"
        assert one.is_on(getattr(load({}, environ), one.setting)) is not enabled


@pytest.mark.parametrize(
    ("environ", "overrides", "source"),
    [
        ({}, {}, ("default", "3111")),
        ({"PORT": "4000"}, {}, ("PORT", "4000")),
        ({"PORT": "4000", "HOLDFAST_PORT": "5000"}, {}, ("HOLDFAST_PORT", "5000")),
        ({"PORT": "4000"}, {"port": "6000"}, ("option", "6000")),
        ({"PORT": "no number"}, {"port": "6000"}, ("option", "6000")),
    ],
)
def test_the_origin_of_a_setting_is_what_decided_it(
    environ: dict[str, str], overrides: dict[str, str], source: tuple[str, str], tmp_path: Path
) -> None:
    made = settings(tmp_path, **{"port": "3111", **overrides}) if "no number" in environ.values() else None

    assert origin(made or load(overrides, environ), "port", environ) == source
