"""How large a bundle may become when it is opened. Packing and opening keep to the same limits."""

from __future__ import annotations

from holdfast.core.errors import Fault

# Text packs to a third, an empty database to a hundredth. zstd could make 32,000 bytes of one.
_MOST_RATIO = 1000
_ALWAYS = 4 * 1024**3


def most_size(bundle_size: int) -> int:
    """Bytes that a bundle of that size may unpack to."""
    return _ALWAYS + _MOST_RATIO * bundle_size


def check_size(size: int, bundle_size: int, fault: type[Fault]) -> None:
    if size > most_size(bundle_size):
        raise fault(f"snapshot: it unpacks to more than {_MOST_RATIO} times its size")
