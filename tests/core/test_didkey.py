"""did:key: one spelling for each key, and no key that signs without a secret."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given, strategies as st
from rows import each

from holdfast.core.didkey import _SMALL, InvalidDidKey, did_of, public_key, public_of, sign, verify_signature

pytestmark = pytest.mark.quick

P = 2**255 - 19
D = -121665 * pow(121666, -1, P) % P
SEED = bytes(range(32))
VECTOR = "did:key:z6MkehRgf7yJbgaGfYsdoAsKdBPE3dj2CYhowQdcjqSJgvVd"


def test_the_vector_of_the_colony() -> None:
    assert did_of(public_of(SEED)) == VECTOR
    assert did_of(public_key(VECTOR)) == VECTOR


@given(st.binary(min_size=32, max_size=32), st.binary())
def test_a_signature_holds_for_its_own_key_and_message_only(seed: bytes, message: bytes) -> None:
    did = did_of(public_of(seed))
    signature = sign(seed, message)

    assert public_key(did) == Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()
    assert verify_signature(did, message, signature)
    assert not verify_signature(did, message + b"x", signature)
    assert seed == SEED or not verify_signature(VECTOR, message, signature)


@each(
    "did",
    [
        "",
        "did:key:z",
        "did:web:example.org",
        VECTOR[:-1],
        VECTOR + "1",
        "did:key:z111" + VECTOR[9:],
        VECTOR.replace("z6Mk", "z6MO"),
        VECTOR + "\n",
        "did:key:z" + "z" * 10_000,
    ],
)
def test_what_is_not_the_one_spelling_of_a_key_is_none(did: str) -> None:
    with pytest.raises(InvalidDidKey):
        public_key(did)
    assert not verify_signature(did, b"", sign(SEED, b""))


def test_the_points_of_small_order_are_all_known() -> None:
    """Order 1, 2 and 4 have y = 1, -1 and 0. Of order 8 are those whose double has y = 0: d y^4 + 2 y^2 = 1."""
    of_order_8 = _SMALL - {0, 1, P - 1}

    assert len(of_order_8) == 2
    assert all((D * pow(y, 4, P) + 2 * y * y - 1) % P == 0 for y in of_order_8)


@each("y", sorted([*_SMALL, P, P + 1]))
@each("sign_of_x", [0, 1])
def test_a_key_of_small_order_is_refused(y: int, sign_of_x: int) -> None:
    key = (y | sign_of_x << 255).to_bytes(32, "little")

    with pytest.raises(InvalidDidKey):
        public_key(did_of(key))


@each("signature", ["", "x", "=" * 4, "A" * 86 + "==", "A" * 85 + "B", "é" * 86])
def test_what_is_no_signature_holds_for_nothing(signature: str) -> None:
    assert not verify_signature(VECTOR, b"", signature)
