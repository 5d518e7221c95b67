"""The format itself: any documents survive it, no changed byte does, and nothing but our own names is ours."""

from __future__ import annotations

import base64
import gzip
import json
import zlib
from typing import Any

import pytest
from colony_memory import snapshot as theirs
from hypothesis import given, settings, strategies as st
from mem_vault import MemVault
from rows import each
from world import CountingEntropy, StillClock

from holdfast.colony import ColonyDamaged, ColonyInvalid, ColonyMemory, ColonyMemoryError, Ed25519Signer, SnapshotInfo
from holdfast.colony.file_names import began, next_id, read_name, series_of
from holdfast.colony.payload import canonical, pack, sha256

pytestmark = pytest.mark.quick

ME = Ed25519Signer(bytes(range(32)))
text = st.text(st.characters(exclude_categories=["Cs"]))


@given(st.dictionaries(text, text))
def test_the_canonical_spelling_is_that_of_colony_memory(documents: dict[str, str]) -> None:
    assert canonical(documents) == theirs._canonical(documents)


def test_any_gunzip_reads_the_payload() -> None:
    packed = pack({"a": "x" * 1000}, [])

    data = base64.b64decode(packed.blob)

    assert data[:4] == b"\x1f\x8b\x08\x00"
    assert data[4:8] == bytes(4), "no time: equal documents give equal bytes"
    assert gzip.decompress(data) == zlib.decompress(data, 31) == b'{"a":"' + b"x" * 1000 + b'"}'


def test_equal_documents_give_equal_files() -> None:
    vaults = [MemVault(), MemVault()]
    for vault, documents in zip(vaults, [{"a": "1", "b": "2"}, {"b": "2", "a": "1"}], strict=True):
        ColonyMemory(backend=vault, clock=StillClock(), entropy=CountingEntropy(), signer=ME).backup(documents)

    assert vaults[0].files == vaults[1].files


def test_several_gzip_members_are_one_payload(vault: MemVault) -> None:
    """Another writer's compressor may work in blocks."""
    ColonyMemory(backend=vault).backup({"a": "1"})
    part, manifest = vault.one(".p0."), vault.one("manifest")
    blob = base64.b64encode(gzip.compress(b'{"a":') + gzip.compress(b'"1"}')).decode()
    vault.files[part] = json.dumps({**json.loads(vault.files[part]), "b64": blob})
    vault.files[manifest] = json.dumps({**json.loads(vault.files[manifest]), "blob_chars": len(blob)})

    assert ColonyMemory(backend=vault).restore() == {"a": "1"}


def test_a_million_lists_are_refused_before_they_are_made(vault: MemVault) -> None:
    plain = b'{"a":[' + b"[]," * 2_500_000 + b"[]]}"
    blob = base64.b64encode(gzip.compress(plain)).decode()
    ColonyMemory(backend=vault).backup({"a": "1"})
    part, manifest = vault.one(".p0."), vault.one("manifest")
    sizes = {"blob_chars": len(blob), "byte_size": len(plain), "plaintext_sha256": sha256(plain)}
    vault.files[part] = json.dumps({**json.loads(vault.files[part]), "b64": blob})
    vault.files[manifest] = json.dumps({**json.loads(vault.files[manifest]), **sizes})

    with pytest.raises(ColonyDamaged, match="more values"):
        ColonyMemory(backend=vault).restore()


def test_a_text_of_many_commas_is_a_text(vault: MemVault) -> None:
    memory = ColonyMemory(backend=vault)
    memory.backup({"a": ',["\\{' * 1_500_000})

    assert memory.restore() == {"a": ',["\\{' * 1_500_000}


SEALED = MemVault()
ColonyMemory(backend=SEALED, signer=ME, clock=StillClock(), entropy=CountingEntropy()).backup({"a": "text", "b": "2"})
FILES = [SEALED.one(".p0."), SEALED.one("manifest")]


@each("name", FILES)
def test_no_changed_byte_changes_what_is_restored(name: str) -> None:
    """Refused, or spelled differently and the same: JSON has several spellings."""
    whole = SEALED.files[name]
    for at in range(len(whole)):
        for bit in (1, 32):
            changed = whole[:at] + chr(ord(whole[at]) ^ bit) + whole[at + 1 :]
            assert _restored({**SEALED.files, name: changed}) in (None, {"a": "text", "b": "2"})


def _restored(files: dict[str, str]) -> dict[str, str] | None:
    """What comes out; None when it is refused, as code that catches ValueError sees it."""
    try:
        return ColonyMemory(backend=MemVault(files), signer=ME).restore()
    except ValueError:
        return None


@each("name", FILES)
def test_every_shorter_file_is_refused(name: str) -> None:
    whole = SEALED.files[name]
    for end in range(len(whole)):
        with pytest.raises(ColonyMemoryError):
            ColonyMemory(backend=MemVault({**SEALED.files, name: whole[:end]}), signer=ME).restore()


@given(st.dictionaries(st.sampled_from(FILES), st.text(max_size=40) | st.just("{}"), min_size=1))
@settings(max_examples=60)
def test_whatever_a_vault_holds_only_our_faults_come_out(files: dict[str, str]) -> None:
    memory = ColonyMemory(backend=MemVault({**SEALED.files, **files}))
    with pytest.raises(ColonyMemoryError):
        memory.restore()
    assert len(memory.list_snapshots()) + len(memory.refused_snapshots()) == 1


@pytest.mark.parametrize(
    "documents",
    [{}, None, [], "text", {"a": 1}, {1: "a"}, {"a": None}, {"a": b"x"}],
    ids=repr,
)
def test_what_are_no_documents_is_refused_before_the_vault_is_asked(vault: MemVault, documents: Any) -> None:
    def never(step: str, name: str) -> None:
        raise AssertionError

    vault.hook = never

    with pytest.raises(ColonyInvalid):
        ColonyMemory(backend=vault).backup(documents)


def test_half_a_surrogate_pair_is_refused_without_quoting_the_text(vault: MemVault) -> None:
    with pytest.raises(UnicodeEncodeError) as caught:
        ColonyMemory(backend=vault).backup({"a": "private \ud800"})

    assert "private" not in repr(caught.value)
    assert "private" not in caught.value.object


def test_texts_of_a_subclass_of_str_are_texts(vault: MemVault) -> None:
    class Name(str):
        __slots__ = ()

    memory = ColonyMemory(backend=vault)
    memory.backup({Name("n"): Name("t")})

    assert memory.restore() == {"n": "t"}


def test_a_signer_whose_signature_does_not_hold_is_refused(vault: MemVault) -> None:
    class Liar:
        did_key = ME.did_key

        def sign(self, message: bytes) -> bytes:
            return bytes(64)

    with pytest.raises(ColonyInvalid):
        ColonyMemory(backend=vault).backup({"a": "1"}, signer=Liar())
    assert vault.done == []


@each("seed", [b"", bytes(31), bytes(33), "0" * 32])
def test_a_seed_has_32_bytes(seed: Any) -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        Ed25519Signer(seed)


# Names


@given(st.text())
def test_only_names_of_our_own_are_read(name: str) -> None:
    named = read_name(name)
    assert named is None or name.startswith("cmem.")


@each(
    "name",
    ["my-diary.md", "cmem.default.latest.json", "cmem.a.b.c.manifest.json", "cmem.a/../b.x.p0.json", "cmem.a.x.p00.json",
     "cmem.a.x.p-1.json", "cmem.A.x.p0.json", "cmem.a..p0.json", "cmem.a.x.p0.json\n", "cmem.a.x.p٣.json"],
)  # fmt: skip
def test_a_name_that_is_only_like_ours_is_left_alone(name: str) -> None:
    assert read_name(name) is None


@given(text)
def test_labels_become_what_colony_memory_makes_of_them(label: str) -> None:
    try:
        assert series_of(label).label == theirs.sanitize_label(label)
    except ColonyInvalid:
        assert theirs.sanitize_label(label) == "default" or len(theirs.sanitize_label(label)) > 200


@given(
    st.lists(st.integers(0, 253_402_300_799_000)),
    st.integers(0, 253_402_300_799_000),
)
def test_a_new_id_comes_after_every_other(times: list[int], now: int) -> None:
    present = [next_id([], time, "ffffff") for time in times]

    made = next_id(present, now, "000000")

    assert all(made > id for id in present)
    assert began(made) is not None


def test_the_shape_of_what_is_known_of_a_snapshot_is_that_of_colony_memory() -> None:
    assert list(SnapshotInfo.__dataclass_fields__) == list(theirs.SnapshotInfo.__dataclass_fields__)
    assert SnapshotInfo("i", "l", "c", [], 1, 2, "s").signed is False
