"""Text of any size without secrets: in pieces, cut where the cut hides nothing from the rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from holdfast.redact import redact_text
from holdfast.redact.private import remove_private

# Redacting takes several times the memory of its text.
PIECE = 4 << 20
# On both sides of a cut. The longest secrets are private keys, of some kilobytes.
ZONE = 32 << 10
# A text that cannot be cut up to here was built that way; it is taken whole.
HELD = 32 << 20

Counts = Counter[str]
Read = Callable[[int], bytes]

_END = b"\0end of the piece"


def pieces(read: Read) -> Iterator[bytes]:
    """The bytes in pieces: redacting each for itself finds what redacting the whole would find."""
    held = b""
    while more := read(PIECE):
        held += more
        if cut := _cut(held):
            yield held[:cut]
            held = held[cut:]
    if held:
        yield held


def _cut(held: bytes) -> int:
    """Where the first piece can end; 0 if not yet."""
    if len(held) <= PIECE:
        return 0
    if len(held) > HELD:
        return len(held) - ZONE
    cut = held.rfind(b"\n", ZONE, len(held) - ZONE) + 1
    if not cut:
        return 0
    before, after = held[cut - ZONE : cut], held[cut : cut + ZONE]
    alone = _shown(before) + _shown(after)
    return cut if _shown(before + after) == alone and not _in_private_block(held[:cut]) else 0


def _shown(data: bytes) -> str:
    return redact_text(data.decode("latin-1")).value


def _in_private_block(data: bytes) -> bool:
    return not remove_private(data + _END)[0].endswith(_END)


def clean(data: bytes, counts: Counts) -> bytes | None:
    """The piece without secrets; None if it is no text. What was found is counted."""
    decoded = _decoded(data)
    if decoded is None:
        return None
    text, encoding = decoded
    found = redact_text(text)
    if found.value == text:
        return data
    counts.update({one.rule: one.count for one in found.findings})
    return found.value.encode(encoding, "backslashreplace")


def _decoded(data: bytes) -> tuple[str, str] | None:
    """The text and its encoding. Without zero bytes it is text in some encoding; secrets are ASCII in nearly all."""
    try:
        return data.decode(), "utf-8"
    except UnicodeDecodeError:
        return None if b"\0" in data else (data.decode("latin-1"), "latin-1")
