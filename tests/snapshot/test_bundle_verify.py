"""Verification: what is found in which snapshot, in what order, and what could not be looked at."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from bundles import FORMS, ID, SECOND, STRANGER, Sealed, seal
from forging import alter
from harm import flip_bit

from holdfast.core.errors import (
    DataDamaged,
    IdentityNeeded,
    InvalidRequest,
    SnapshotDamaged,
    SnapshotForeign,
    SnapshotOlder,
    SnapshotTooNew,
    SnapshotUntrusted,
)
from holdfast.snapshot.bundle.manifest import manifest_bytes, manifest_name, signed_bytes
from holdfast.snapshot.bundle.types import Finding, Report
from holdfast.snapshot.keys.keyring import Keyring
from holdfast.snapshot.verify import Expectations, fault_of, verify

pytestmark = pytest.mark.quick

OWN = Expectations("acme", "coder")


@pytest.mark.parametrize("form", FORMS)
def test_a_whole_snapshot_is_sound_and_all_of_it_was_looked_at(tmp_path: Path, form: str) -> None:
    report = seal(tmp_path, form).look()

    looked = ["files", "bytes", "signature", "sequence", "owner", "members"]
    assert report.sound
    assert fault_of(report) is None
    if form in ("signed", "both"):
        assert (list(report.checked), report.unchecked) == (looked, ())
    else:
        looked.remove("signature")
        assert (list(report.checked), report.unchecked) == (looked, ("signature: not signed",))


def test_the_sidecars_are_those_of_sha256sum(tmp_path: Path) -> None:
    sealed = seal(tmp_path)

    for path in sealed.folder.glob("*.sha256"):
        subprocess.run(["sha256sum", "-c", "--strict", path.name], cwd=sealed.folder, check=True, capture_output=True)


# Who sealed it


def test_unsigned_is_enough_where_there_is_no_key_at_all(tmp_path: Path) -> None:
    assert seal(tmp_path, "plain").codes() == []


@pytest.mark.parametrize("how", ["own key", "pinned key"])
def test_unsigned_is_untrusted_where_there_is_a_key(tmp_path: Path, how: str) -> None:
    sealed = seal(tmp_path, "plain")
    if how == "own key":
        sealed.keyring.new()
    else:
        sealed.keyring.trust(Keyring(tmp_path / "other").new())

    assert sealed.codes() == ["untrusted"]
    assert isinstance(fault_of(sealed.look()), SnapshotUntrusted)
    assert "members: the bundle is not trusted" in sealed.look().unchecked


def test_unsigned_is_taken_if_that_is_asked_for_and_says_so(tmp_path: Path) -> None:
    sealed = seal(tmp_path, "plain")
    sealed.keyring.new()

    report = sealed.look(replace(OWN, allow_unsigned=True))

    assert report.sound
    assert [(one.code, one.note) for one in report.findings] == [("untrusted", True)]


@pytest.mark.parametrize("form", ["signed", "both"])
def test_a_stripped_signature_is_untrusted(tmp_path: Path, form: str) -> None:
    sealed = seal(tmp_path, form)

    sealed.put(replace(sealed.manifest, signer=None, signature=None))

    assert sealed.codes() == ["untrusted"]


@pytest.mark.parametrize("form", ["signed", "both"])
def test_a_signature_without_its_signer_or_the_other_way_round_is_damage(tmp_path: Path, form: str) -> None:
    for field in ("signer", "signature"):
        (tmp_path / field).mkdir()
        sealed = seal(tmp_path / field, form)
        alter(sealed, **{field: None})
        assert sealed.codes() == ["damaged"]


@pytest.mark.parametrize("allow_unsigned", [False, True])
def test_a_snapshot_signed_by_somebundle_else_is_untrusted_always(tmp_path: Path, allow_unsigned: bool) -> None:
    sealed = seal(tmp_path, "signed")
    other = Keyring(tmp_path / "other")
    other.new()

    sealed.sign(other)

    assert sealed.codes(replace(OWN, allow_unsigned=allow_unsigned)) == ["untrusted"]


def test_a_signer_is_untrusted_even_where_there_is_no_key(tmp_path: Path) -> None:
    sealed = seal(tmp_path, "plain")
    other = Keyring(tmp_path / "other")
    other.new()
    sealed.sign(other)

    assert sealed.codes() == ["untrusted"]
    sealed.keyring.trust(str(other.own()))
    assert sealed.codes() == []


def test_another_snapshots_signature_is_damage(tmp_path: Path) -> None:
    one = seal(tmp_path, "signed")
    manifest, signature = one.manifest, one.manifest.signature
    one.manifest = replace(manifest, identity=replace(manifest.identity, label="other"), signature=None)
    one.sign()
    assert one.codes() == []

    one.put(replace(one.manifest, signature=signature))

    assert one.codes() == ["damaged"]


def test_our_signature_under_another_trusted_name_is_damage(tmp_path: Path) -> None:
    sealed = seal(tmp_path, "signed")
    other = Keyring(tmp_path / "other").new()
    sealed.keyring.trust(other)

    sealed.put(replace(sealed.manifest, signer=other))

    assert sealed.codes() == ["damaged"]


def test_a_signature_of_the_same_bytes_for_another_purpose_is_damage(tmp_path: Path) -> None:
    sealed = seal(tmp_path, "signed")
    bare = signed_bytes(sealed.manifest).split(b"\n", 1)[1]

    sealed.put(replace(sealed.manifest, signature=sealed.keyring.sign(bare)))

    assert sealed.codes() == ["damaged"]


def test_a_replaced_own_key_is_still_believed_and_an_untrusted_one_is_not(tmp_path: Path) -> None:
    sealed = seal(tmp_path, "signed")
    old = str(sealed.keyring.own())
    sealed.keyring.new(replace=True)
    assert sealed.codes() == []

    sealed.keyring.untrust(old)

    assert sealed.codes() == ["untrusted"]


def test_keys_that_cannot_be_read_are_a_fault_and_not_a_finding(tmp_path: Path) -> None:
    sealed = seal(tmp_path, "signed")
    (tmp_path / "keys" / "own.json").write_bytes(b"{}")

    with pytest.raises(DataDamaged):
        sealed.look()


# Which one it is


def test_an_older_one_than_known_is_told(tmp_path: Path) -> None:
    sealed = seal(tmp_path)

    assert sealed.codes(replace(OWN, mark=7)) == []
    assert sealed.codes(replace(OWN, mark=8)) == ["older"]
    assert isinstance(fault_of(sealed.look(replace(OWN, mark=8))), SnapshotOlder)
    noted = sealed.look(replace(OWN, mark=8, older_is_note=True))
    assert (noted.sound, [one.code for one in noted.findings]) == (True, ["older"])


def test_the_mark_of_the_place_counts_for_its_signer_only(tmp_path: Path) -> None:
    sealed = seal(tmp_path, "signed")
    signer = str(sealed.keyring.own())
    sealed.keyring.raise_mark(None, "vault", 100)
    sealed.keyring.raise_mark(signer, "shelf", 100)
    assert sealed.codes(place="vault") == []

    sealed.keyring.raise_mark(signer, "vault", 8)

    assert sealed.codes(place="vault") == ["older"]
    assert sealed.codes() == []


@pytest.mark.parametrize(
    "expect", [Expectations("other", "coder"), Expectations("acme", "other"), Expectations("ACME", "coder")]
)
def test_another_tenants_or_agents_is_foreign(tmp_path: Path, expect: Expectations) -> None:
    report = seal(tmp_path).look(expect)

    assert [one.code for one in report.findings] == ["foreign"]
    assert isinstance(fault_of(report), SnapshotForeign)


def test_whose_it_is_may_be_left_open(tmp_path: Path) -> None:
    assert seal(tmp_path).codes(Expectations(None, None)) == []


def test_a_newer_format_is_too_new(tmp_path: Path) -> None:
    sealed = seal(tmp_path)
    alter(sealed, version=3, more="to come")

    report = sealed.look()

    assert isinstance(fault_of(report), SnapshotTooNew)
    assert report.manifest is None


def test_a_newer_store_is_too_new(tmp_path: Path) -> None:
    sealed = seal(tmp_path)

    assert sealed.codes(replace(OWN, schema=(("store", 9),))) == []
    assert sealed.codes(replace(OWN, schema=(("store", 8),))) == ["too_new"]


def test_a_snapshot_under_another_id_is_damage(tmp_path: Path) -> None:
    sealed = seal(tmp_path)
    shutil.copy(sealed.manifest_file, sealed.folder / manifest_name(SECOND))
    sidecar = f"{hashlib.sha256(sealed.manifest_file.read_bytes()).hexdigest()}  {manifest_name(SECOND)}\n"
    (sealed.folder / f"{manifest_name(SECOND)}.sha256").write_text(sidecar)

    report = verify(sealed.folder, SECOND, sealed.keyring, OWN)

    assert [one.code for one in report.findings] == ["damaged"]


def test_another_snapshots_bundle_is_damage(tmp_path: Path) -> None:
    one = seal(tmp_path)
    bundle = one.bundle.read_bytes()
    (tmp_path / "second").mkdir()
    other = seal(tmp_path / "second", files={"store/memory.db": b"worms"}, id=ID)

    one.bundle.write_bytes(other.bundle.read_bytes())

    assert one.codes() == ["damaged"]
    one.bundle.write_bytes(bundle)
    assert one.codes() == []


@pytest.mark.parametrize("id", ["", "..", "../x", "7", ID + "\n", ID.upper(), "x" * 5000])
def test_an_id_that_is_none_is_a_finding(tmp_path: Path, id: str) -> None:
    report = verify(tmp_path, id, Keyring(tmp_path / "keys"), OWN)

    assert [one.code for one in report.findings] == ["damaged"]
    assert report.manifest is None


# What can be looked at


def test_without_an_identity_the_raw_bytes_and_the_signature_are_checked_and_it_says_so(tmp_path: Path) -> None:
    sealed = seal(tmp_path, "both")

    report = verify(sealed.folder, sealed.id, sealed.keyring, OWN)

    assert report.sound
    assert report.checked == ("files", "bytes", "signature", "sequence", "owner")
    assert report.unchecked == ("members: encrypted, no identity given",)


def test_with_the_wrong_identity_it_is_locked(tmp_path: Path) -> None:
    sealed = seal(tmp_path, "encrypted")

    report = verify(sealed.folder, sealed.id, sealed.keyring, OWN, [str(STRANGER)])

    assert isinstance(fault_of(report), IdentityNeeded)
    assert "members" not in report.checked


def test_something_that_is_no_identity_is_the_callers_mistake(tmp_path: Path) -> None:
    sealed = seal(tmp_path, "encrypted")

    with pytest.raises(InvalidRequest):
        verify(sealed.folder, sealed.id, sealed.keyring, OWN, ["AGE-SECRET-KEY-1"])


def test_members_can_be_left_out(tmp_path: Path) -> None:
    report = seal(tmp_path).look(members=False)

    assert report.sound
    assert "members: not requested" in report.unchecked


def test_damaged_bytes_are_not_decompressed(tmp_path: Path) -> None:
    sealed = seal(tmp_path)
    flip_bit(sealed.bundle)

    report = sealed.look()

    assert "members: the bundle is damaged" in report.unchecked
    assert "members" not in report.checked


def test_sidecars_may_be_missing_where_they_are_not_required_but_never_wrong(tmp_path: Path) -> None:
    sealed = seal(tmp_path)
    lenient = replace(OWN, require_sidecars=False)
    bundle, manifest = (path.with_name(f"{path.name}.sha256") for path in (sealed.bundle, sealed.manifest_file))
    bundle.unlink()
    assert (sealed.codes(), sealed.codes(lenient)) == (["damaged"], [])
    manifest.unlink()
    assert sealed.codes(lenient) == []

    manifest.write_text(f"{'0' * 64}  {sealed.manifest_file.name}\n")

    assert sealed.codes(lenient) == ["damaged"]


def test_every_finding_is_told_and_the_gravest_is_the_fault(tmp_path: Path) -> None:
    sealed = seal(tmp_path, "signed")
    other = Keyring(tmp_path / "other")
    other.new()
    sealed.sign(other)
    expect = Expectations("other", "coder", mark=9)
    assert sealed.codes(expect) == ["untrusted", "older", "foreign"]
    assert isinstance(fault_of(sealed.look(expect)), SnapshotUntrusted)

    sealed.bundle.write_bytes(b"x")

    assert sealed.codes(expect) == ["damaged", "untrusted", "older", "foreign"]
    assert isinstance(fault_of(sealed.look(expect)), SnapshotDamaged)


def test_a_fault_is_that_of_the_first_code_that_counts() -> None:
    codes = ["locked", "older", "foreign", "too_new", "untrusted", "damaged"]
    findings = [Finding(code, code) for code in codes]  # type: ignore[arg-type]
    met = []

    while fault := fault_of(Report("x", None, tuple(findings), ())):
        met.append(fault.message)
        findings = [one for one in findings if one.message != fault.message]

    assert met == ["damaged", "untrusted", "too_new", "foreign", "older", "locked"]


def test_a_note_is_no_fault() -> None:
    assert fault_of(Report("x", None, (Finding("older", "older", note=True),), ())) is None


def test_a_manifest_is_the_same_to_whoever_looks(tmp_path: Path) -> None:
    sealed: Sealed = seal(tmp_path, "both")
    found = sealed.look().manifest

    assert found is not None
    assert manifest_bytes(found) == sealed.manifest_file.read_bytes()
