"""One large put to S3 in a single request over a signed address, only if the name is free.

The store's own client has a condition for bytes that are all in memory and none for parts; a signed address takes a
stream with one. Such an address is a key for a few minutes: it stands in no message and no log.
"""

from __future__ import annotations

import http.client
import ssl
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

SECONDS = 120.0
_MOST_ANSWER = 65_536
_CONDITION = {"If-None-Match": "*", "Content-Type": "application/octet-stream"}


class HostUnreachable(Exception):
    """The host cannot be reached from here, as behind a proxy; nothing was sent."""


class ConnectionBroken(Exception):
    """The connection ended before there was an answer."""


@dataclass(frozen=True, slots=True)
class PutResponse:
    status: int
    text: str


def put_new(url: str, size: int, pieces: Iterator[bytes]) -> PutResponse:
    """The answer to a put of exactly so many bytes.

    Raises:
        HostUnreachable: no connection; the pieces were not touched.
        Broken: it was cut off. A store may do so to report that the name is taken.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    connection = http.client.HTTPConnection(host, parts.port, timeout=SECONDS)
    if parts.scheme == "https":
        connection = http.client.HTTPSConnection(
            host, parts.port, timeout=SECONDS, context=ssl.create_default_context()
        )
    try:
        _connect(connection)
        return _sent(connection, f"{parts.path}?{parts.query}", size, pieces)
    finally:
        connection.close()


def _connect(connection: http.client.HTTPConnection) -> None:
    try:
        connection.connect()
    except OSError:
        raise HostUnreachable from None


def _sent(connection: http.client.HTTPConnection, path: str, size: int, pieces: Iterator[bytes]) -> PutResponse:
    connection.putrequest("PUT", path, skip_accept_encoding=True)
    for name, value in {**_CONDITION, "Content-Length": str(size)}.items():
        connection.putheader(name, value)
    try:
        connection.endheaders()
        for piece in pieces:
            _send(connection, piece)
        answer = connection.getresponse()
        return PutResponse(answer.status, answer.read(_MOST_ANSWER).decode("utf-8", "replace"))
    except _ConnectionCut:
        return _early(connection)
    except (http.client.HTTPException, ConnectionError, TimeoutError, ssl.SSLError):
        raise ConnectionBroken from None


class _ConnectionCut(Exception):
    """The store reads no more."""


def _send(connection: http.client.HTTPConnection, piece: bytes) -> None:
    """Here errors of the connection are distinguished from those of the file that is read."""
    try:
        connection.send(piece)
    except OSError:
        raise _ConnectionCut from None


def _early(connection: http.client.HTTPConnection) -> PutResponse:
    """A store that refuses before it has read everything has sent the reason."""
    with suppress(http.client.HTTPException, OSError):
        answer = connection.getresponse()
        return PutResponse(answer.status, answer.read(_MOST_ANSWER).decode("utf-8", "replace"))
    raise ConnectionBroken
