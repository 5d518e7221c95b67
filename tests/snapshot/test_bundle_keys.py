"""Signatures and the keyring: whose seal is believed, and what the key files must look like for that."""

from __future__ import annotations

import base64
import contextlib
import os
import stat
import threading
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given, strategies as st
from rows import each

from holdfast.core.didkey import InvalidDidKey, did_of, public_key, public_of, sign, verify_signature
from holdfast.core.errors import Conflict, DataDamaged, InvalidRequest, NotFound, StorageFailed
from holdfast.snapshot.keys.keyring import Keyring

SEED = bytes(range(32))
DID = did_of(public_of(SEED))
OTHER = did_of(public_of(bytes(range(1, 33))))
P = 2**255 - 19


@given(st.binary(min_size=32, max_size=32), st.binary(max_size=200))
def test_whoever_has_the_key_signs_and_everybody_can_tell(seed: bytes, data: bytes) -> None:
    did, signature = did_of(public_of(seed)), sign(seed, data)

    assert verify_signature(did, data, signature)
    assert not verify_signature(did, data + b"x", signature)
    assert not verify_signature(OTHER if did == DID else DID, data, signature)


def test_the_name_of_a_key_is_as_others_write_it() -> None:
    """The example of the did:key specification."""
    did = "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK"

    assert did_of(public_key(did)) == did
    assert public_key(did).hex() == "2e6fcce36701dc791488e0d0b1745cc1e33a4c1c9fcc41c63bd343dbbe0970e6"


def test_the_first_test_of_the_standard_holds() -> None:
    """RFC 8032, 7.1, test 1."""
    seed = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
    expected = bytes.fromhex(
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"
    )

    assert base64.urlsafe_b64decode(sign(seed, b"") + "==") == expected


@given(st.binary(min_size=32, max_size=32), st.integers(0, 60), st.sampled_from("0OIl+/ 1zA"))
def test_another_spelling_of_a_did_is_another_key_or_none(seed: bytes, at: int, letter: str) -> None:
    did = did_of(public_of(seed))
    changed = did[:at] + letter + did[at + 1 :]

    with contextlib.suppress(InvalidDidKey):
        assert public_key(changed) != public_of(seed) or changed == did


BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def encoded(raw: bytes) -> str:
    number, text = int.from_bytes(raw, "big"), ""
    while number:
        number, digit = divmod(number, 58)
        text = BASE58[digit] + text
    return "did:key:z" + text


def order(point: tuple[int, int]) -> int:
    """How often the point is added to itself until nothing is left; counted to 8."""
    d = -121665 * pow(121666, -1, P) % P

    def add(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
        k = d * a[0] * b[0] * a[1] * b[1]
        x = (a[0] * b[1] + b[0] * a[1]) * pow(1 + k, -1, P) % P
        y = (a[1] * b[1] + a[0] * b[0]) * pow(1 - k, -1, P) % P
        return x, y

    now, count = point, 1
    while now != (0, 1) and count < 9:
        now, count = add(now, point), count + 1
    return count


def roots(y: int) -> list[int]:
    d = -121665 * pow(121666, -1, P) % P
    square = (y * y - 1) * pow(d * y * y + 1, -1, P) % P
    root = pow(square, (P + 3) // 8, P)
    found = [one for one in (root, root * pow(2, (P - 1) // 4, P) % P) if one * one % P == square]
    return sorted({value for one in found for value in (one, -one % P)})


SMALL_Y = [1, P - 1, 0, 0x7A03AC9277FDC74EC6CC392CFA53202A0F67100D760B3CBA4FD84D3D706A17C7]
SMALL_Y.append(P - SMALL_Y[-1])


def test_the_points_of_small_order_are_those() -> None:
    assert sorted(order((x, y)) for y in SMALL_Y for x in roots(y)) == [1, 2, 4, 4, 8, 8, 8, 8]


@each("y", [*SMALL_Y, P, P + 1, 2**255 - 1])
@each("sign_bit", [0, 1])
def test_a_key_that_signs_anything_or_is_spelled_twice_is_no_key(y: int, sign_bit: int) -> None:
    did = encoded(b"\xed\x01" + (y | sign_bit << 255).to_bytes(32, "little"))

    with pytest.raises(InvalidDidKey):
        public_key(did)


def test_a_signature_that_needs_no_secret_is_refused() -> None:
    """With the neutral point as key, R = S·B holds for any message; the library itself accepts it."""
    neutral = (1).to_bytes(32, "little")
    forged = neutral + bytes(32)

    assert not verify_signature(did_of(neutral), b"anything", base64.urlsafe_b64encode(forged).decode().rstrip("="))


@each(
    "did",
    [
        "",
        "did:key:",
        "did:key:z",
        "did:web:example.org",
        DID[:-1],
        DID + "1",
        " " + DID,
        DID + "#" + DID,
        DID.replace("did:key:z", "did:key:m"),
        encoded(b"\xe7\x01" + bytes(33)),  # secp256k1
        encoded(b"\xec\x01" + public_of(SEED)),  # x25519: not for signing
        encoded(b"\xed\x01" + public_of(SEED)[:-1]),
        encoded(b"\xed\x01" + public_of(SEED) + b"\0"),
        "did:key:z1" + DID[9:],
        "did:key:z" + "z" * 1_000_000,
    ],
)
def test_what_is_no_ed25519_did_is_refused(did: str) -> None:
    with pytest.raises(InvalidDidKey):
        public_key(did)
    assert not verify_signature(did, b"", sign(SEED, b""))


def test_a_signature_has_one_spelling() -> None:
    good = sign(SEED, b"x")
    last = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    twin = good[:-1] + last[last.index(good[-1]) ^ 1]  # differs in bits that carry nothing

    assert base64.urlsafe_b64decode(twin + "==") == base64.urlsafe_b64decode(good + "==")
    for other in (
        twin,
        good + "==",
        good + "\n",
        " " + good,
        good[:-1],
        "",
        good.replace("_", "/").replace("-", "+") + "!",
    ):
        assert not verify_signature(DID, b"x", other)


def test_a_signature_moved_by_the_order_of_the_curve_is_refused() -> None:
    raw = base64.urlsafe_b64decode(sign(SEED, b"x") + "==")
    order_ = 2**252 + 27742317777372353535851937790883648493
    moved = raw[:32] + (int.from_bytes(raw[32:], "little") + order_).to_bytes(32, "little")

    assert not verify_signature(DID, b"x", base64.urlsafe_b64encode(moved).decode().rstrip("="))


# The keyring


@pytest.fixture
def ring(tmp_path: Path) -> Keyring:
    return Keyring(tmp_path / "keys")


def test_a_new_folder_has_no_key_and_trusts_nobody(ring: Keyring, tmp_path: Path) -> None:
    assert (ring.own(), ring.trusted(), ring.demands(), ring.accepts(DID), ring.mark(None, "p")) == (
        None,
        {},
        False,
        False,
        0,
    )
    assert not (tmp_path / "keys").exists(), "looking makes nothing"
    with pytest.raises(NotFound):
        ring.sign(b"x")


def test_the_own_key_is_made_once_and_signs(ring: Keyring) -> None:
    did = ring.new()

    assert ring.own() == did
    assert ring.accepts(did)
    assert ring.demands()
    assert verify_signature(did, b"x", ring.sign(b"x"))
    with pytest.raises(Conflict):
        ring.new()
    assert ring.own() == did


def test_two_folders_have_two_keys(tmp_path: Path) -> None:
    assert Keyring(tmp_path / "a").new() != Keyring(tmp_path / "b").new()


def test_a_replaced_key_stays_trusted_until_it_is_untrusted(ring: Keyring) -> None:
    old, new = ring.new(), ring.new(replace=True)

    assert ring.own() == new != old
    assert ring.accepts(old)
    ring.untrust(old)
    assert not ring.accepts(old)


def test_the_own_key_cannot_be_untrusted(ring: Keyring) -> None:
    did = ring.new()

    with pytest.raises(Conflict):
        ring.untrust(did)
    assert ring.accepts(did)


def test_keys_are_trusted_with_a_note_and_untrusted_again(ring: Keyring) -> None:
    ring.trust(DID, "Ada's laptop")
    ring.trust(OTHER)

    assert ring.trusted() == {DID: "Ada's laptop", OTHER: ""}
    ring.untrust(DID)
    assert (ring.trusted(), ring.accepts(DID), ring.accepts(OTHER)) == ({OTHER: ""}, False, True)
    with pytest.raises(NotFound):
        ring.untrust(DID)


@pytest.mark.parametrize("did", ["", "did:key:z", "me", encoded(b"\xed\x01" + (1).to_bytes(32, "little"))])
def test_only_a_did_can_be_trusted(ring: Keyring, did: str) -> None:
    with pytest.raises(InvalidRequest):
        ring.trust(did)


@pytest.mark.parametrize("note", ["x" * 201, "\ud800"])
def test_a_note_is_short_text(ring: Keyring, note: str) -> None:
    with pytest.raises(InvalidRequest):
        ring.trust(DID, note)
    assert ring.trusted() == {}


def test_marks_only_rise_unless_they_are_set(ring: Keyring) -> None:
    ring.raise_mark(DID, "shelf", 5)
    ring.raise_mark(DID, "shelf", 3)
    ring.raise_mark(None, "shelf", 2)
    ring.raise_mark(DID, "vault", 9)

    assert [ring.mark(DID, "shelf"), ring.mark(None, "shelf"), ring.mark(DID, "vault"), ring.mark(OTHER, "shelf")] == [
        5,
        2,
        9,
        0,
    ]


def test_a_place_cannot_reach_into_another_signers_marks(ring: Keyring) -> None:
    ring.raise_mark(None, f"{DID}/shelf", 5)

    assert ring.mark(DID, "shelf") == 0
    assert ring.mark(f"unsigned/{DID}", "shelf") == 0


def test_the_files_are_the_owners_alone(ring: Keyring, tmp_path: Path) -> None:
    ring.new()
    ring.trust(DID)
    ring.raise_mark(None, "p", 1)

    folder = tmp_path / "keys"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o666])
def test_a_private_key_that_others_can_read_is_not_used(ring: Keyring, tmp_path: Path, mode: int) -> None:
    ring.new()
    (tmp_path / "keys" / "own.json").chmod(mode)

    for use in (ring.own, lambda: ring.sign(b"x"), lambda: ring.accepts(DID), lambda: ring.new(replace=True)):
        with pytest.raises(DataDamaged):
            use()


@pytest.mark.parametrize("name", ["trusted.json", "marks.json"])
def test_a_list_that_others_can_write_is_not_believed(ring: Keyring, tmp_path: Path, name: str) -> None:
    ring.trust(DID)
    ring.raise_mark(None, "p", 1)
    (tmp_path / "keys" / name).chmod(0o622)

    with pytest.raises(DataDamaged):
        ring.accepts(DID) if name == "trusted.json" else ring.mark(None, "p")


def _all(ring: Keyring) -> object:
    return ring.own(), ring.trusted(), ring.mark(None, "p"), ring.mark(DID, "p")


@pytest.mark.parametrize("name", ["own.json", "trusted.json", "marks.json"])
def test_a_cut_or_flipped_key_file_is_a_fault_and_never_an_empty_one(ring: Keyring, tmp_path: Path, name: str) -> None:
    """A flip may make another note or number of it; what it may never do is to pass for less."""
    ring.new()
    ring.trust(DID, "n")
    ring.raise_mark(None, "p", 1)
    path = tmp_path / "keys" / name
    whole, before = path.read_bytes(), _all(ring)

    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(DataDamaged):
            _all(ring)
    for bit in range(len(whole) * 8):
        changed = bytearray(whole)
        changed[bit // 8] ^= 1 << bit % 8
        path.write_bytes(changed)
        try:
            own, pinned, _, _ = _all(ring)  # type: ignore[misc]
        except DataDamaged:
            continue
        assert (own is not None, len(pinned)) == (True, 1)
    path.write_bytes(whole)
    assert _all(ring) == before


@pytest.mark.parametrize("thing", ["link", "folder", "fifo"])
def test_a_key_file_is_a_regular_file(ring: Keyring, tmp_path: Path, thing: str) -> None:
    ring.new()
    path = tmp_path / "keys" / "own.json"
    path.rename(tmp_path / "elsewhere")
    if thing == "link":
        path.symlink_to(tmp_path / "elsewhere")
    elif thing == "folder":
        path.mkdir()
    else:
        os.mkfifo(path, 0o600)

    with pytest.raises((DataDamaged, StorageFailed)):
        ring.own()


def test_no_message_has_the_private_key(ring: Keyring, tmp_path: Path) -> None:
    ring.new()
    path = tmp_path / "keys" / "own.json"
    text = path.read_text()
    seed = text.split('"seed":"')[1][:43]

    for damaged in (
        text.replace('"did"', '"dud"'),
        text.replace(seed, seed[:-1]),
        text[:-2],
        text.replace(seed, seed[::-1]),
    ):
        path.write_text(damaged)
        with pytest.raises(DataDamaged) as caught:
            ring.sign(b"x")
        fault: BaseException | None = caught.value
        while fault:
            assert seed[:20] not in repr(fault)
            assert seed[::-1][:20] not in repr(fault)
            fault = fault.__cause__ or fault.__context__


def test_marks_of_several_threads_are_all_kept(ring: Keyring) -> None:
    def raise_all(place: str) -> None:
        for number in range(1, 11):
            ring.raise_mark(None, place, number)

    threads = [threading.Thread(target=raise_all, args=(f"p{number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [ring.mark(None, f"p{number}") for number in range(4)] == [10] * 4


def test_the_library_makes_the_same_public_key() -> None:
    assert Ed25519PrivateKey.from_private_bytes(SEED).public_key().public_bytes_raw() == public_key(DID)
