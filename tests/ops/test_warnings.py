"""What is warned of, and that every warning says what to do."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from rows import each
from world import DAY, World, running, settings

from holdfast.cli.commands.doctor import examine
from holdfast.core.errors import DataReadOnly, RestorePending, StorageFailed, VaultRefused
from holdfast.local.spool_space import LOW_SPACE
from holdfast.ops.server.warnings import (
    DAY_MS,
    MANY_EVENTS,
    MANY_PENDING,
    SENT_BY_THEN_MS,
    Measured,
    warnings,
)
from holdfast.recall.check.check_report import CheckReport
from holdfast.snapshot.drill.drill_records import DrillRecord, Outcome
from holdfast.snapshot.drill.drill_status import DrillStatus
from holdfast.snapshot.repo.key_warnings import ONE_COPY
from holdfast.snapshot.status import GLANCES

WELL = Measured(
    free_bytes=LOW_SPACE,
    records=5,
    snapshots=1,
    snapshot_age_ms=0,
    snapshot_every_s=3600,
    signed=True,
    vault=True,
    encrypted=True,
)


def drilled(outcome: Outcome) -> DrillStatus:
    record = DrillRecord("", "default", "default", outcome, "", "000001-20261116T053146Z-9f86d0", 0, 0, hint="Do this.")
    return DrillStatus(last=record)


def test_nothing_is_said_where_all_is_well() -> None:
    assert warnings(WELL) == []


@each(
    "changed, code, level",
    [
        ({"trouble": StorageFailed("the disk failed")}, "storage_failed", "error"),
        ({"trouble": DataReadOnly("rows are damaged")}, "data_damaged", "error"),
        ({"trouble": RestorePending("the vault is away")}, "restore_pending", "error"),
        ({"kept_damaged": (("gen-000001", "Remove it"),)}, "damaged_kept", "note"),
        ({"free_bytes": LOW_SPACE - 1}, "disk_low", "error"),
        ({"pending": MANY_PENDING}, "index_behind", "warning"),
        ({"events": MANY_EVENTS}, "events_behind", "warning"),
        ({"damaged": ("000001-20261116T053146Z-9f86d0",)}, "snapshot_damaged", "error"),
        ({"snapshots": 0, "snapshot_age_ms": None}, "no_snapshot", "warning"),
        ({"snapshot_age_ms": DAY_MS + 1}, "snapshot_old", "warning"),
        ({"waiting": 2, "waiting_ms": SENT_BY_THEN_MS + 1}, "vault_behind", "warning"),
        ({"vault_fault": VaultRefused("vault: /v is gone", hint="Mount it.")}, "vault_refused", "error"),
        ({"keys": (ONE_COPY,)}, "key_one_copy", "warning"),
        ({"drill": drilled("failed")}, "drill_failed", "error"),
        ({"drill": drilled("locked")}, "drill_locked", "note"),
        ({"drill": DrillStatus(every_s=3600, unproven_ms=3 * 3_600_000 + 1)}, "drill_old", "warning"),
        ({"recall": CheckReport(0, "upgrade", 412, 3, (), 0)}, "recall_changed", "warning"),
        ({"restored": "It was restored."}, "restored", "warning"),
        ({"vault": False}, "no_vault", "note"),
        ({"encrypted": False}, "vault_plain", "note"),
        ({"signed": False}, "unsigned", "note"),
        ({"embedder": False}, "no_embedder", "note"),
    ],
)
def test_each_fault_has_one_warning_with_a_remedy(changed: dict[str, object], code: str, level: str) -> None:
    found = warnings(replace(WELL, **changed))  # type: ignore[arg-type]

    assert [(one.code, one.level) for one in found] == [(code, level)]
    assert found[0].message
    assert found[0].hint


def test_an_empty_memory_needs_no_snapshot() -> None:
    assert warnings(replace(WELL, records=0, snapshots=0, snapshot_age_ms=None)) == []


def test_a_memory_in_trouble_is_not_told_to_make_a_snapshot() -> None:
    found = warnings(replace(WELL, trouble=DataReadOnly("rows are damaged"), snapshots=0, snapshot_age_ms=None))
    assert [one.code for one in found] == ["data_damaged"]


def test_without_a_schedule_a_week_is_early_enough() -> None:
    by_hand = replace(WELL, snapshot_every_s=0, snapshot_age_ms=7 * DAY_MS)

    assert warnings(by_hand) == []
    assert [one.code for one in warnings(replace(by_hand, snapshot_age_ms=7 * DAY_MS + 1))] == ["snapshot_old"]


def test_the_worst_comes_first() -> None:
    found = warnings(replace(WELL, signed=False, snapshot_age_ms=9 * DAY_MS, free_bytes=0))

    assert [one.level for one in found] == ["error", "warning", "note"]


def test_the_overview_looks_at_the_repository_and_not_into_bundles(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.call("remember", content="The lamp oil is in the cellar.")
    first = world.call("overview")
    made = world.call("snapshot_create", label="by hand")
    body = Path(made["path"])
    body.chmod(0)  # whoever would read it finds it closed, or as root reads on: then only its size counts
    world.clock.now += 2 * DAY

    answer = world.call("overview")

    assert first["snapshots"]["newest"] is None
    assert "no_snapshot" in [one["code"] for one in first["warnings"]]
    newest = answer["snapshots"]["newest"]
    assert (newest["id"], newest["label"], newest["ageMs"]) == (made["id"], "by hand", 2 * DAY)
    assert (newest["signed"], newest["encrypted"]) == (False, False)
    assert answer["disk"]["snapshots"] == answer["snapshots"]["bytes"] > 0
    assert answer["disk"]["database"] > 0
    world.close()


def test_a_damaged_snapshot_is_seen_and_the_last_good_one_named(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.call("remember", content="The lamp oil is in the cellar.")
    good = world.call("snapshot_create")
    world.call("remember", content="The spare wick is there too.")
    bad = world.call("snapshot_create")
    Path(bad["path"]).write_bytes(b"cut short")

    answer = world.call("overview")

    assert answer["snapshots"]["newest"]["id"] == good["id"]
    assert answer["snapshots"]["damaged"] == [bad["id"]]
    assert answer["warnings"][0]["code"] == "snapshot_damaged"
    checks = {one["name"]: one for one in world.call("diagnostics")["checks"]}
    assert (checks["snapshot-damaged"]["ok"], checks["storage"]["ok"]) == (False, True)
    world.close()


def test_the_page_and_health_name_the_same_newest_snapshot_however_many_are_damaged(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.call("remember", content="The lamp oil is in the cellar.")
    good = world.call("snapshot_create")["id"]
    for _ in range(GLANCES + 1):
        Path(world.call("snapshot_create")["path"]).write_bytes(b"cut short")

    assert world.call("overview")["snapshots"]["newest"]["id"] == good
    assert world.call("health")["snapshots"]["newest"] == good
    world.close()


def test_a_token_learns_nothing_of_the_disk_or_the_place(tmp_path: Path) -> None:
    (tmp_path / "vault").mkdir()
    world = World(tmp_path / "home", vault=str(tmp_path / "vault"))
    reader = replace(world.context().caller, scopes=frozenset({"read"}))

    answer = world.call("overview", reader)

    assert "disk" not in answer
    assert (answer["snapshots"]["vault"], answer["snapshots"]["path"]) == ("yes", None)
    world.close()


def test_a_token_that_is_no_admins_learns_nothing_of_keys(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.call("key_new")
    reader = replace(world.context().caller, scopes=frozenset({"read"}))

    assert "key_one_copy" in [one["code"] for one in world.call("overview")["warnings"]]
    assert "key_one_copy" not in [one["code"] for one in world.call("overview", reader)["warnings"]]
    world.close()


def test_doctor_tells_of_keys_once(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.call("key_new")
    world.close()

    assert [one.name for one in examine(settings(tmp_path)) if "no backup" in one.found + one.hint] == ["keys"]


def test_doctor_repeats_the_warnings(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.call("remember", content="The lamp oil is in the cellar.")
    world.close()

    checks = {one.name: one for one in examine(settings(tmp_path))}

    assert checks["no snapshot"].ok
    assert checks["no snapshot"].hint == "Create one: holdfast snapshot create"


def test_doctor_with_a_readers_token_says_what_it_could_not_examine(tmp_path: Path) -> None:
    with running(tmp_path / "home") as server:
        token = server.post("/agentmemory/tokens", json={"name": "r", "scopes": ["read"]}).json()["token"]
        elsewhere = settings(tmp_path / "other", url=str(server.base_url), secret=token)
        (store,) = [one for one in examine(elsewhere) if one.name == "store"]
    assert store.ok
    assert "not verified" in store.found


def test_events_that_wait_for_a_memory_in_trouble_are_told_however_few_they_are() -> None:
    assert warnings(replace(WELL, spooled=2)) == []
    found = warnings(replace(WELL, spooled=2, trouble=RestorePending("the vault is away")))
    assert [(one.code, one.values.get("waiting")) for one in found] == [("restore_pending", None), ("spool_behind", 2)]


def test_events_of_hooks_that_were_not_kept_are_told() -> None:
    found = {one.code: one for one in warnings(Measured(spooled=100, unspooled=2))}
    assert found["spool_behind"].values == {"waiting": 100}
    assert found["spool_refused"].values == {"refused": 2}
    assert not {"spool_behind", "spool_refused"} & {one.code for one in warnings(Measured(spooled=99))}


def test_a_quota_is_warned_of_before_it_is_reached() -> None:
    found = {one.code: one for one in warnings(Measured(quotas=(("records", 90, 100), ("bytes", 500, 500))))}
    assert (found["quota_near"].level, found["quota_near"].values["quota"]) == ("warning", "records")
    assert (found["quota_reached"].level, found["quota_reached"].values["used"]) == ("error", 500)
    assert "HOLDFAST_QUOTA_BYTES" in found["quota_reached"].hint
    assert not {"quota_near", "quota_reached"} & {
        one.code for one in warnings(Measured(quotas=(("records", 89, 100),)))
    }
