"""Embedded pictures, sounds and documents, taken out of a text while it is searched and put back afterwards.

In a megabyte of base64 every short format turns up by chance, and searching it costs time for nothing.
"""

from __future__ import annotations

import re2

# A payload is known by its data URL, or by the first bytes of PNG, JPEG, GIF, RIFF, PDF, MP3, Ogg, WOFF2 or a zip.
# Texts below a kilobyte are not worth the effort.
PAYLOAD = re2.compile(
    rb"(?:data:(?:image|audio|video|font)/[\w.+-]+(?:;[\w=.-]+)*;base64,"
    rb"|iVBORw0KGgo|/9j/|R0lGOD|UklGR|JVBERi0|SUQz|T2dnUw|d09GMg|UEsDB)[A-Za-z0-9+/_-]{200,}={0,2}"
)
STAND_IN = b"\x00payload %d\x00"
STOOD_IN = re2.compile(rb"\x00payload (\d+)\x00")


def set_aside(data: bytes) -> tuple[bytes, list[bytes]]:
    """The data with a short stand-in for each payload, and the payloads."""
    if len(data) < 1000 or b"\x00payload " in data:
        return data, []
    pieces: list[bytes] = []
    payloads: list[bytes] = []
    kept_to = 0
    for match in PAYLOAD.finditer(data):
        start, end = match.span()
        pieces += [data[kept_to:start], STAND_IN % len(payloads)]
        payloads.append(data[start:end])
        kept_to = end
    return (b"".join(pieces) + data[kept_to:], payloads) if payloads else (data, [])


def put_back(data: bytes, payloads: list[bytes]) -> bytes:
    """The data with its payloads; those inside a removed part stay removed."""
    pieces, kept_to = [], 0
    for match in STOOD_IN.finditer(data) if payloads else ():
        pieces += [data[kept_to : match.start()], payloads[int(match.group(1))]]
        kept_to = match.end()
    return b"".join(pieces) + data[kept_to:]
