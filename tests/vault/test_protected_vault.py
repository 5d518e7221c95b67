"""Vaults from which nothing can be removed: a credential that may only add, a bucket with object lock, a folder with an
attribute. What keeps bytes is told, and nothing that Holdfast does needs more."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fcntl import ioctl
from io import BytesIO
from pathlib import Path
from struct import pack, unpack

import pytest
from conformance import names, parcel, read
from object_server import APPENDER, BUCKET, LOCK_DAYS, LOCKED, STRANGER, WRITER, ObjectServer
from rows import each
from strict_proxy import StrictProxy

from holdfast.core.errors import Conflict, InvalidSettings, NotFound, VaultRefused
from holdfast.core.ports import Protection
from holdfast.core.system import SystemClock, SystemEntropy
from holdfast.settings import load
from holdfast.snapshot.chunks.leases import try_delete
from holdfast.vault.credentials import with_credentials, with_only
from holdfast.vault.local import LocalVault
from holdfast.vault.objects import ObjectVault, object_vault
from holdfast.vault.restriction import AppendOnly
from holdfast.vault.vault_url import vault_from

DAY = 86_400_000
BIG = bytes(range(256)) * (9 << 12)  # 9 MB and a little: sent in one streamed request
PARTS = bytes(range(256)) * (33 << 12)  # 33 MB: in parts where the size is not known


@pytest.fixture
def below() -> str:
    return SystemEntropy().hex(12)


def vault_of(server: ObjectServer, below: str, key: tuple[str, str] = APPENDER, bucket: str = BUCKET) -> ObjectVault:
    return object_vault("s3", bucket, below, server.settings(key), SystemEntropy())


def test_a_credential_that_may_only_add_cannot_delete(objects: ObjectServer, below: str) -> None:
    vault = vault_of(objects, below)
    vault.put("a/b", BytesIO(b"kept"))
    vault.put_all([parcel("a/big", BIG)])

    for name in ("a/b", "a/big", "a/none"):
        with pytest.raises(VaultRefused):
            vault.delete(name)
        assert not try_delete(vault, name)
    assert names(vault) == ["a/b", "a/big"]
    assert (read(vault, "a/b"), read(vault, "a/big")) == (b"kept", BIG)


def test_what_is_sent_in_parts_arrives_where_nothing_may_be_deleted(objects: ObjectServer, below: str) -> None:
    vault = vault_of(objects, below)
    vault.put("a", BytesIO(PARTS))
    vault.put("b", BytesIO(PARTS))

    assert (names(vault), read(vault, "a")) == (["a", "b"], PARTS)


def test_a_bucket_with_object_lock_keeps_what_its_own_administrator_deletes(
    locked_objects: ObjectServer, below: str
) -> None:
    vault = vault_of(locked_objects, below, WRITER, LOCKED)
    vault.put("a", BytesIO(b"kept"))
    version = vault.stat("a").tag.partition("\n")[2]

    answer = locked_objects.ask("DELETE", f"/{LOCKED}/{below}/a", query={"versionId": version})
    assert (answer.status_code, "AccessDenied" in answer.text) == (403, True)
    vault.delete("a")  # only hides it
    assert names(vault) == []
    found = locked_objects.ask("GET", f"/{LOCKED}/{below}/a", query={"versionId": version})
    assert found.content == b"kept"


def test_how_long_a_lock_keeps_bytes_is_told(locked_objects: ObjectServer, below: str) -> None:
    began = SystemClock().now_ms()
    vault = vault_of(locked_objects, below, bucket=LOCKED)
    vault.put("a", BytesIO(b"x"))
    vault.put_all([parcel("big", BIG)])

    for name in ("a", "big"):
        found = vault.protection(name)
        assert found.by == "lock"
        assert found.until is not None
        assert abs(found.until - began - LOCK_DAYS * DAY) < DAY
    with pytest.raises(NotFound):
        vault.protection("none")


def test_without_a_lock_nothing_is_told_to_keep_bytes(objects: ObjectServer, below: str) -> None:
    vault = vault_of(objects, below)
    vault.put("a", BytesIO(b"x"))

    assert vault.protection("a") == Protection("nothing")
    with pytest.raises(VaultRefused):
        vault_of(objects, below, STRANGER).protection("a")


@contextmanager
def strict(objects: ObjectServer, below: str, checksums: bool = False) -> Iterator[tuple[StrictProxy, ObjectVault]]:
    with StrictProxy(objects.endpoint, checksums).serving() as proxy:
        known = objects.settings(WRITER, vault_endpoint=proxy.endpoint)
        yield proxy, object_vault("s3", BUCKET, below, known, SystemEntropy())


def test_every_put_carries_the_condition_by_which_a_policy_knows_that_nothing_is_overwritten(
    objects: ObjectServer, below: str
) -> None:
    with strict(objects, below) as (proxy, vault):
        vault.put("a", BytesIO(b"small"))
        vault.put_all([parcel("big", BIG)])
        for name in ("a", "big"):
            with pytest.raises(Conflict):
                vault.put_all([parcel(name, BIG)])
        assert (read(vault, "a"), read(vault, "big")) == (b"small", BIG)
        assert proxy.refused == []


@pytest.mark.parametrize("size", [10, len(BIG)], ids=["at once", "streamed"])
def test_checksums_are_sent_once_a_bucket_asks_for_them(objects: ObjectServer, below: str, size: int) -> None:
    with strict(objects, below, checksums=True) as (proxy, vault):
        for name in ("a", "b", "c"):
            vault.put_all([parcel(name, BIG[:size])])
            assert read(vault, name) == BIG[:size]
        vault.put("d", BytesIO(b"other"))
        assert proxy.unproved == 1, "only the first one was sent without"


def test_the_wrapper_removes_and_replaces_nothing(tmp_path: Path) -> None:
    inner = LocalVault(tmp_path)
    vault = AppendOnly(inner)
    vault.put("a", BytesIO(b"x"))

    assert (vault.can.delete, vault.can.replace) == (False, False)
    with pytest.raises(VaultRefused, match="only add"):
        vault.delete("a")
    with pytest.raises(VaultRefused, match="only add"):
        vault.replace("a", BytesIO(b"y"), inner.stat("a").tag)
    assert not try_delete(vault, "a")
    assert read(vault, "a") == b"x"


@each("text", ["s3://bucket/x", "gs://bucket", "az://container", "/some/folder"])
def test_the_setting_bounds_every_kind_of_vault(text: str) -> None:
    account = {"azure_account": "someone", "azure_key": "a2V5"}
    usual, bounded = (load({**account, "vault_append_only": value}, {}) for value in ("false", "true"))

    assert vault_from(text, usual).can.delete
    assert not vault_from(text, bounded).can.delete


_GET_FLAGS, _SET_FLAGS, _IMMUTABLE = 0x80086601, 0x40086602, 0x10


@contextmanager
def kept_by_attribute(path: Path) -> Iterator[None]:
    """As after `chattr +i`."""
    with path.open("rb") as file:
        before = unpack("L", ioctl(file, _GET_FLAGS, pack("L", 0)))[0]
        ioctl(file, _SET_FLAGS, pack("L", before | _IMMUTABLE))
        try:
            yield
        finally:
            ioctl(file, _SET_FLAGS, pack("L", before))


@pytest.mark.real_disk
def test_a_folder_tells_which_files_only_root_can_release(tmp_path: Path) -> None:
    vault = LocalVault(tmp_path)
    vault.put("a", BytesIO(b"x"))
    assert vault.protection("a") == Protection("nothing")
    try:
        with kept_by_attribute(tmp_path / "a"):
            assert vault.protection("a") == Protection("attribute")
            assert not try_delete(vault, "a")
    except OSError:
        pytest.skip("only root sets attributes, and not on every file system")
    assert try_delete(vault, "a")


def test_the_keys_of_a_file_take_the_place_of_all_others(tmp_path: Path) -> None:
    file = tmp_path / "prune.keys"
    file.write_text("AWS_ACCESS_KEY_ID=strong\nAWS_SECRET_ACCESS_KEY=key\n")
    file.chmod(0o600)
    given = {"vault_key_id": "weak", "vault_key": "weak", "vault_session_token": "weak", "azure_key": "weak"}
    usual = load({**given, "vault_append_only": "true"}, {})

    found = with_only(usual, str(file))
    assert (found.vault_key_id, found.vault_key) == ("strong", "key")
    assert (found.vault_session_token, found.azure_key, found.vault_append_only) == (None, None, False)
    assert with_credentials(usual).vault_key_id == "weak"
    with pytest.raises(InvalidSettings):
        with_only(usual, str(tmp_path / "none"))
