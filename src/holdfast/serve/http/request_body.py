"""The body of a request, whole and within its limits. Knows nothing of what the bytes mean.

Refusals that the headers alone justify come before a single byte is read. Form posts and text/plain are
refused with them: a web page can send those to any address without asking first, JSON it cannot.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from starlette.types import Message, Receive, Scope

from holdfast.core.errors import InvalidRequest, RequestTimeout, TooLarge, UnsupportedMedia

# A sender may fall `pause_seconds` behind this pace, so a byte every few seconds does not hold a
# connection open for ever. 10 kB/s is slower than any link that could be used for this at all.
SLOWEST_BYTES_PER_SECOND = 10_000

# The listener puts this into the scope of a request that has come to its end: there is nothing to wait for, and no
# timer to set, which costs 10 µs.
WHOLE = "holdfast.whole"

JSON, FORM = "JSON", "a form"

Headers = Iterable[tuple[bytes, bytes]]


async def read_body(scope: Scope, receive: Receive, *, limit: int, pause_seconds: float, media: str = JSON) -> bytes:
    """The bytes of the request, JSON or a form, or b"" when it has none.

    Raises: TooLarge: the body is, or declares to be, larger than `limit`. UnsupportedMedia: it is compressed, or not
    declared as that. RequestTimeout: the client paused or crawled. InvalidRequest: the client disconnected before the
    body was complete.
    """
    length, declared = _declared(scope["headers"])
    if length == 0:
        return b""
    if length is not None:
        _check_size(length, limit)
        _check_media(declared, media)
    if scope.get(WHOLE):
        body = _part(await receive(), 0, limit)
    else:
        body = await _received(receive, limit, pause_seconds)
    if body:
        _check_media(declared, media)
    return body


async def _received(receive: Receive, limit: int, pause: float) -> bytes:
    clock = asyncio.get_running_loop().time
    started = clock()
    body = bytearray()  # not a list of parts: two bytes at a time, a list takes 28 times the body's size
    try:
        async with asyncio.timeout(pause) as patience:
            while True:
                message = await receive()
                part = _part(message, len(body), limit)
                if not message.get("more_body", False):
                    return bytes(body + part) if body else part
                body += part
                behind = started + pause + len(body) / SLOWEST_BYTES_PER_SECOND
                patience.reschedule(min(clock() + pause, behind))
    except TimeoutError:
        raise RequestTimeout("the body did not arrive in time") from None


def _part(message: Message, have: int, limit: int) -> bytes:
    if message["type"] == "http.disconnect":
        raise InvalidRequest("the client disconnected before the body was complete")
    part: bytes = message.get("body", b"")
    _check_size(have + len(part), limit)
    return part


def _declared(headers: Headers) -> tuple[int | None, str]:
    """The length that was announced (None: chunked, so unknown) and what the type names."""
    length: int | None = 0
    declared = ""
    for name, value in headers:
        if name == b"content-length" and length is not None:
            length = _length(value)
        elif name == b"transfer-encoding":
            length = None
        elif name == b"content-type":
            declared = _media(value)
        elif name == b"content-encoding" and value.strip().lower() not in (b"", b"identity"):
            # A kilobyte of gzip can become a gigabyte; no client of ours compresses what it sends.
            raise UnsupportedMedia("the body is compressed", hint="Send uncompressed JSON.")
    return length, declared


def _length(value: bytes) -> int:
    if not value.isdigit() or len(value) > 19:
        raise InvalidRequest("Content-Length is not a number of bytes")
    return int(value)


def _media(value: bytes) -> str:
    media = value.partition(b";")[0].strip().lower()
    if media == b"application/json" or (media.startswith(b"application/") and media.endswith(b"+json")):
        return JSON
    return FORM if media == b"application/x-www-form-urlencoded" else ""


def _check_media(declared: str, media: str) -> None:
    if declared != media:
        hint = "Send it with Content-Type: application/x-www-form-urlencoded." if media == FORM else None
        raise UnsupportedMedia(f"the Content-Type is not {media}", hint=hint)


def _check_size(size: int, limit: int) -> None:
    if size > limit:
        raise TooLarge(f"the body is larger than {limit} bytes", details={"limit": limit})
