"""Large parcels to S3 in one streamed request: created or refused, exactly as announced, and told apart when it fails."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from io import BytesIO, RawIOBase
from typing import BinaryIO, cast

import pytest
from conformance import read
from object_server import BUCKET, READER, WRITER, ObjectServer
from rows import each

from holdfast.core.errors import Conflict, Fault, VaultDamaged, VaultRefused, VaultUnauthorized, VaultUnreachable
from holdfast.core.ports import Upload, VaultObject
from holdfast.core.system import SystemEntropy
from holdfast.vault import objects as under_test
from holdfast.vault.objects import ObjectVault, object_vault
from holdfast.vault.signed_request import ConnectionBroken, HostUnreachable
from holdfast.vault.vault_url import vault_from

BIG = bytes(range(256)) * (9 << 12)  # 9 MB and a little


def vault_of(objects: ObjectServer, below: str, key: tuple[str, str] = WRITER) -> ObjectVault:
    return object_vault("s3", BUCKET, below, objects.settings(key), SystemEntropy())


@pytest.fixture
def below() -> str:
    return SystemEntropy().hex(12)


def parcel(data: bytes = BIG, name: str = "a/big", size: int | None = None) -> Upload:
    return Upload(name, len(data) if size is None else size, lambda: BytesIO(data))


def test_a_large_parcel_is_stored_as_it_is_without_a_copy_beside_it(objects: ObjectServer, below: str) -> None:
    vault = vault_of(objects, below)
    vault.put_all([parcel(), parcel(b"small", "b")])

    assert read(vault, "a/big") == BIG
    assert list(vault.list()) == [VaultObject("a/big", len(BIG)), VaultObject("b", 5)]


def test_what_is_there_is_never_overwritten_whoever_came_first(
    objects: ObjectServer, below: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault = vault_of(objects, below)
    vault.put("a/big", BytesIO(b"first"))
    with pytest.raises(Conflict):
        vault.put_all([parcel()])
    monkeypatch.setattr(ObjectVault, "_refuse_existing", lambda *_: None)  # the other came after our look
    with pytest.raises(Conflict):
        vault.put_all([parcel()])
    assert read(vault, "a/big") == b"first"


@pytest.mark.parametrize("wrong", [-1, 1])
def test_another_number_of_bytes_than_announced_becomes_no_object(
    objects: ObjectServer, below: str, wrong: int
) -> None:
    vault = vault_of(objects, below)
    with pytest.raises(VaultDamaged):
        vault.put_all([parcel(size=len(BIG) + wrong)])
    assert list(vault.list()) == []


def test_a_source_that_fails_leaves_nothing(objects: ObjectServer, below: str) -> None:
    class Failing(RawIOBase):
        def read(self, size: int = -1) -> bytes:
            raise VaultUnreachable("the other vault is gone")

    vault = vault_of(objects, below)
    with pytest.raises(VaultUnreachable, match="the other vault"):
        vault.put_all([Upload("a/big", len(BIG), lambda: cast(BinaryIO, Failing()))])
    assert list(vault.list()) == []


def test_a_key_that_may_only_read_is_refused_and_the_address_is_not_shown(objects: ObjectServer, below: str) -> None:
    with pytest.raises((VaultRefused, VaultUnauthorized)) as caught:
        vault_of(objects, below, READER).put_all([parcel()])
    assert "X-Amz" not in caught.value.message
    assert caught.value.__cause__ is None


def _raises(error: Exception) -> Callable[..., object]:
    def put_new(*_: object) -> object:
        raise error

    return put_new


def test_where_no_direct_way_leads_it_goes_as_before(
    objects: ObjectServer, below: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(under_test, "put_new", _raises(HostUnreachable()))
    vault = vault_of(objects, below)
    vault.put_all([parcel()])

    assert read(vault, "a/big") == BIG


def test_a_connection_that_breaks_is_tried_again(
    objects: ObjectServer, below: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, tries = under_test.put_new, []

    def first_broken(*given: object) -> object:
        tries.append(1)
        if len(tries) == 1:
            raise ConnectionBroken
        return real(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(under_test, "put_new", first_broken)
    monkeypatch.setattr("holdfast.vault.retry._FIRST_PAUSE", 0.0)
    vault = vault_from(f"s3://{BUCKET}/{below}", objects.settings())
    vault.put_all([parcel()])

    assert len(tries) == 2
    assert read(vault, "a/big") == BIG


@each(
    "status, text, expected",
    [
        (412, "", "conflict"),
        (409, "ConditionalRequestConflict", "vault_busy"),
        (404, "NoSuchBucket", "vault_refused"),
        (403, "InvalidAccessKeyId", "vault_unauthorized"),
        (403, "AccessDenied", "vault_refused"),
        (503, "SlowDown", "vault_busy"),
        (507, "", "vault_full"),
        (500, "", "vault_unreachable"),
    ],
)
def test_each_refusal_keeps_its_kind(status: int, text: str, expected: str) -> None:
    fault = under_test._refusal(under_test.PutResponse(status, text), "vault: put a")

    assert isinstance(fault, Fault)
    assert fault.code == expected


def test_memory_does_not_grow_with_what_is_sent(objects: ObjectServer, below: str) -> None:
    class Zeros(RawIOBase):
        left = 64 << 20

        def read(self, size: int = -1) -> bytes:
            count = min(size, self.left)
            self.left -= count
            return bytes(count)

    vault = vault_of(objects, below)
    tracemalloc.start()
    try:
        vault.put_all([Upload("a/zeros", 64 << 20, lambda: cast(BinaryIO, Zeros()))])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 16 << 20
