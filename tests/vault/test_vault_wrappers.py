"""What stands around a vault: all that any vault does, and what each wrapper adds to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, cast

import pytest
from conformance import Conformance, Dripping, names, parcel, read

from holdfast.core.errors import (
    Conflict,
    Fault,
    NotFound,
    VaultBusy,
    VaultDamaged,
    VaultFull,
    VaultRefused,
    VaultUnauthorized,
    VaultUnreachable,
)
from holdfast.core.ports import Upload, Vault, VaultObject
from holdfast.vault.byte_counter import ByteCounter
from holdfast.vault.local import LocalVault
from holdfast.vault.named_errors import NamedErrors
from holdfast.vault.quota import HOUR, Quota, RateLimitedVault, RequestRate
from holdfast.vault.restriction import ReadOnly
from holdfast.vault.retry import RetryingVault
from holdfast.vault.sequential_put import put_each
from holdfast.vault.wrapper import VaultWrapper

pytestmark = pytest.mark.quick


class StillClock:
    """A clock that goes on only while somebody sleeps by it."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.slept: list[float] = []

    def now_ms(self) -> int:
        return int(self.now * 1000)

    def steady(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


class Chance:
    def __init__(self, hex: str = "ffff"):
        self._hex = hex

    def hex(self, chars: int) -> str:
        return self._hex[:chars]


class Flaky(VaultWrapper):
    """A vault that fails now and then: each call takes a fault from the list first, None being none.

    `after`: the call is made before it fails, as when an answer is lost.
    """

    def __init__(self, vault: Vault, faults: Sequence[Fault | None], *, after: bool = False):
        super().__init__(vault)
        self.faults, self.after = list(faults), after
        self.calls = 0

    def _do(self, call: Callable[[], object]) -> object:
        self.calls += 1
        fault = self.faults.pop(0) if self.faults else None
        if fault is None:
            return call()
        if self.after:
            call()
        raise fault

    def put(self, name: str, data: BinaryIO) -> None:
        self._do(lambda: super(Flaky, self).put(name, data))

    def put_all(self, parcels: Sequence[Upload]) -> None:
        put_each(self, parcels)

    def replace(self, name: str, data: BinaryIO, tag: str) -> None:
        self._do(lambda: super(Flaky, self).replace(name, data, tag))

    def open(self, name: str) -> BinaryIO:
        return cast(BinaryIO, self._do(lambda: super(Flaky, self).open(name)))

    def stat(self, name: str) -> VaultObject:
        return cast(VaultObject, self._do(lambda: super(Flaky, self).stat(name)))

    def list(self, prefix: str = "", after: str = "") -> Iterator[VaultObject]:
        for one in super().list(prefix, after):
            yield one
            self._do(lambda: None)

    def delete(self, name: str) -> None:
        self._do(lambda: super(Flaky, self).delete(name))


AWAY = VaultUnreachable("vault: away")


@pytest.fixture
def local(tmp_path: Path) -> LocalVault:
    return LocalVault(tmp_path / "vault")


@pytest.fixture
def clock() -> StillClock:
    return StillClock()


class TestAround(Conformance):
    @pytest.fixture
    def vault(self, local: LocalVault) -> Vault:
        return VaultWrapper(local)


class TestRetrying(Conformance):
    @pytest.fixture
    def vault(self, local: LocalVault, clock: StillClock) -> Vault:
        return RetryingVault(local, Chance(), sleep=clock.sleep)


class TestRetryingWhatFails(Conformance):
    """Every second call fails in passing, and nobody notices."""

    @pytest.fixture
    def vault(self, local: LocalVault, clock: StillClock) -> Vault:
        return RetryingVault(Flaky(local, [AWAY, None] * 500), Chance(), attempts=100, sleep=clock.sleep)


class TestQuota(Conformance):
    @pytest.fixture
    def vault(self, local: LocalVault) -> Vault:
        return Quota(local, 100_000_000)


class TestPaced(Conformance):
    @pytest.fixture
    def vault(self, local: LocalVault, clock: StillClock) -> Vault:
        return RateLimitedVault(local, RequestRate(10, clock, HOUR, clock.sleep))


class TestTold(Conformance):
    @pytest.fixture
    def vault(self, local: LocalVault) -> Vault:
        return NamedErrors(local)


class TestCounted(Conformance):
    @pytest.fixture
    def vault(self, local: LocalVault) -> Vault:
        return ByteCounter(local)


class TestAllTogether(Conformance):
    @pytest.fixture
    def vault(self, local: LocalVault, clock: StillClock) -> Vault:
        inner = Quota(RateLimitedVault(local, RequestRate(1_000, clock, HOUR, clock.sleep)), 100_000_000)
        return ByteCounter(NamedErrors(RetryingVault(inner, Chance(), sleep=clock.sleep)))


# Which vault it was, and what it took


CALLS: tuple[Callable[[Vault], object], ...] = (
    lambda vault: vault.put("a", BytesIO(b"x")),
    lambda vault: vault.put_all([parcel("a", b"x")]),
    lambda vault: vault.replace("a", BytesIO(b"x"), "tag"),
    lambda vault: vault.open("a"),
    lambda vault: vault.stat("a"),
    lambda vault: list(vault.list()),
    lambda vault: vault.delete("a"),
    lambda vault: vault.state(),
)


@pytest.mark.parametrize("call", CALLS)
def test_a_fault_names_its_vault_once(local: LocalVault, call: Callable[[Vault], object]) -> None:
    class Away(VaultWrapper):
        def __getattribute__(self, name: str) -> object:
            if name in ("place", "_vault"):
                return super().__getattribute__(name)
            raise VaultUnreachable("vault: no answer")

    with pytest.raises(VaultUnreachable) as told:
        call(NamedErrors(NamedErrors(Away(local))))

    assert told.value.message == f"vault: no answer ({local.place})"


def test_what_is_not_there_or_in_the_way_is_said_as_it_was(local: LocalVault) -> None:
    vault = NamedErrors(local)
    vault.put("a", BytesIO(b"x"))
    with pytest.raises(NotFound) as missing:
        vault.open("b")
    with pytest.raises(Conflict) as there:
        vault.put("a", BytesIO(b"y"))

    assert not any(local.place in fault.value.message for fault in (missing, there))


def test_only_what_a_vault_took_is_counted(local: LocalVault) -> None:
    vault = ByteCounter(local)
    vault.put_all([parcel("a", b"12345"), parcel("b", b"678")])
    with pytest.raises(Conflict):
        vault.put_all([parcel("a", b"other bytes")])

    assert vault.taken == 8


# Trying again


def test_pauses_grow_by_chance_up_to_a_limit(local: LocalVault, clock: StillClock) -> None:
    vault = RetryingVault(Flaky(local, [AWAY] * 9), Chance("ffff"), attempts=10, sleep=clock.sleep)
    vault.put("a", BytesIO(b"x"))

    assert clock.slept == [1, 2, 4, 8, 16, 30, 30, 30, 30]
    assert read(local, "a") == b"x"
    clock.slept.clear()
    RetryingVault(Flaky(local, [AWAY] * 2), Chance("0000"), sleep=clock.sleep).stat("a")
    assert clock.slept == [0, 0]


def test_a_vault_that_asks_for_a_pause_gets_it(local: LocalVault, clock: StillClock) -> None:
    busy = VaultBusy("vault: busy", details={"retryAfter": 7})
    RetryingVault(Flaky(local, [busy]), Chance("0000"), sleep=clock.sleep).put("a", BytesIO(b"x"))

    assert clock.slept == [7]


def test_a_pause_beyond_all_patience_is_left_to_the_caller(local: LocalVault, clock: StillClock) -> None:
    busy = VaultBusy("vault: busy", details={"retryAfter": 3_000})
    with pytest.raises(VaultBusy) as caught:
        RetryingVault(Flaky(local, [busy]), Chance(), sleep=clock.sleep).put("a", BytesIO(b"x"))
    assert caught.value.details["retryAfter"] == 3_000
    assert clock.slept == []


def test_tries_have_an_end(local: LocalVault, clock: StillClock) -> None:
    flaky = Flaky(local, [AWAY] * 100)
    vault = RetryingVault(flaky, Chance(), attempts=4, sleep=clock.sleep)

    with pytest.raises(VaultUnreachable):
        vault.put("a", BytesIO(b"x"))
    assert flaky.calls == 4


@pytest.mark.parametrize(
    "kind", [VaultUnauthorized, VaultRefused, VaultDamaged, VaultFull, NotFound, Conflict], ids=lambda kind: kind.code
)
def test_what_would_fail_again_is_not_tried_again(local: LocalVault, clock: StillClock, kind: type[Fault]) -> None:
    flaky = Flaky(local, [kind("vault: no")])
    with pytest.raises(kind):
        RetryingVault(flaky, Chance(), sleep=clock.sleep).put("a", BytesIO(b"x"))
    assert flaky.calls == 1


def test_a_put_whose_answer_was_lost_has_succeeded(local: LocalVault, clock: StillClock) -> None:
    vault = RetryingVault(Flaky(local, [AWAY], after=True), Chance(), sleep=clock.sleep)
    vault.put("a", BytesIO(b"x" * 100))
    assert read(local, "a") == b"x" * 100


@pytest.mark.parametrize("data", [b"y" * 100, b"x" * 99, b"x" * 101, b""])
def test_a_put_that_meets_other_bytes_after_a_failure_is_a_conflict(
    local: LocalVault, clock: StillClock, data: bytes
) -> None:
    local.put("a", BytesIO(data))
    vault = RetryingVault(Flaky(local, [AWAY]), Chance(), sleep=clock.sleep)

    with pytest.raises(Conflict):
        vault.put("a", BytesIO(b"x" * 100))
    assert read(local, "a") == data


def test_a_stream_is_sent_again_from_where_it_stood(local: LocalVault, clock: StillClock) -> None:
    stream = BytesIO(b"head-body")
    stream.seek(5)
    RetryingVault(Flaky(local, [AWAY, AWAY]), Chance(), sleep=clock.sleep).put("a", stream)

    assert read(local, "a") == b"body"
    assert not stream.closed


def test_a_stream_that_cannot_go_back_is_sent_once(local: LocalVault, clock: StillClock) -> None:
    class Pipe(Dripping):
        def seekable(self) -> bool:
            return False

    flaky = Flaky(local, [AWAY])
    with pytest.raises(VaultUnreachable):
        RetryingVault(flaky, Chance(), sleep=clock.sleep).put("a", Pipe(b"x"))
    assert flaky.calls == 1


def test_each_parcel_has_its_own_tries(local: LocalVault, clock: StillClock) -> None:
    flaky = Flaky(local, [AWAY, AWAY, None, AWAY, AWAY, None])
    RetryingVault(flaky, Chance(), attempts=3, sleep=clock.sleep).put_all([parcel("a", b"1"), parcel("b", b"2")])

    assert (read(local, "a"), read(local, "b"), flaky.calls) == (b"1", b"2", 6)


def test_a_list_goes_on_where_it_broke(local: LocalVault, clock: StillClock) -> None:
    for name in "abcdef":
        local.put(name, BytesIO(b"x"))
    flaky = Flaky(local, [None, AWAY, None, AWAY, AWAY])

    assert names(RetryingVault(flaky, Chance(), attempts=2, sleep=clock.sleep)) == list("abcdef")


# Limits


def test_what_would_pass_the_quota_is_refused_before_it_is_sent(local: LocalVault) -> None:
    vault = Quota(local, 10)
    vault.put("a", BytesIO(b"123456"))

    with pytest.raises(VaultFull):
        vault.put_all([parcel("b", b"12"), parcel("c", b"123")])
    with pytest.raises(VaultFull):
        vault.put("b", BytesIO(b"12345"))
    assert names(local) == ["a"]
    vault.put_all([parcel("b", b"12"), parcel("c", b"12")])
    assert (vault.state().used, vault.state().free) == (10, 0)


def test_a_full_vault_still_takes_a_replacement_of_the_same_size_and_gives_room_back(local: LocalVault) -> None:
    vault = Quota(local, 10)
    vault.put("a", BytesIO(b"1234567890"))
    vault.replace("a", BytesIO(b"abcdefghij"), vault.stat("a").tag)
    with pytest.raises(VaultFull):
        vault.replace("a", BytesIO(b"abcdefghijk"), vault.stat("a").tag)
    assert read(local, "a") == b"abcdefghij"
    vault.delete("a")
    vault.put("b", BytesIO(b"12345"))


def test_what_others_put_counts_too(local: LocalVault) -> None:
    vault = Quota(local, 10)
    local.put("theirs", BytesIO(b"12345678"))

    with pytest.raises(VaultFull):
        vault.put("ours", BytesIO(b"123"))


def test_requests_of_any_hour_stay_below_the_limit(local: LocalVault, clock: StillClock) -> None:
    vault = RateLimitedVault(local, RequestRate(3, clock, HOUR, clock.sleep))
    when = []
    for number in range(8):
        vault.put(f"{number}", BytesIO(b"x"))
        when.append(clock.now)
        clock.now += 60

    assert all(later - earlier >= HOUR for earlier, later in zip(when, when[3:], strict=False))


def test_a_wait_beyond_patience_is_refused_before_anything_is_sent(local: LocalVault, clock: StillClock) -> None:
    vault = RateLimitedVault(local, RequestRate(3, clock, 60, clock.sleep))
    vault.put("a", BytesIO(b"x"))

    with pytest.raises(VaultBusy) as caught:
        vault.put_all([parcel("b", b"1"), parcel("c", b"2"), parcel("d", b"3")])
    assert caught.value.details["retryAfter"] == HOUR
    with pytest.raises(VaultBusy):
        vault.put_all([parcel(name, b"x") for name in "bcde"])
    assert names(local) == ["a"]
    vault.put_all([parcel("b", b"1"), parcel("c", b"2")])


# Reading only


def test_nothing_is_changed_through_a_vault_that_is_only_read(local: LocalVault) -> None:
    local.put("a/b", BytesIO(b"x"))
    vault = ReadOnly(local)
    for change in (
        lambda: vault.put("c", BytesIO(b"x")),
        lambda: vault.put_all([parcel("c", b"x")]),
        lambda: vault.replace("a/b", BytesIO(b"y"), local.stat("a/b").tag),
        lambda: vault.delete("a/b"),
    ):
        with pytest.raises(VaultRefused):
            change()

    assert names(vault) == names(local) == ["a/b"]
    assert read(vault, "a/b") == b"x"
    assert vault.stat("a/b") == local.stat("a/b")
    assert not vault.can.replace
    assert not vault.can.delete
    assert vault.state().free == 0
