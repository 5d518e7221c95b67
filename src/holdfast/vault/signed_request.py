"""Requests over a signed address, for what the store's own client cannot do: one large put to S3 in a single request,
only if the name is free, and the headers that tell how long bytes are kept.

The store's own client has a condition for bytes that are all in memory and none for parts; a signed address takes a
stream with one. Such an address is a key for a few minutes: it stands in no message and no log.
"""

from __future__ import annotations

import http.client
import ssl
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
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


def put_new(url: str, size: int, pieces: Iterator[bytes], md5: bytes = b"") -> PutResponse:
    """The answer to a put of exactly so many bytes; their MD5 is sent along if it is given.

    Raises:
        HostUnreachable: no connection; the pieces were not touched.
        Broken: it was cut off. A store may do so to report that the name is taken.
    """
    headers = {**_CONDITION, "Content-Length": str(size)}
    if md5:
        headers["Content-MD5"] = b64encode(md5).decode()
    with closing(_connection(url)) as connection:
        _connect(connection)
        return _sent(connection, _path(url), headers, pieces)


def head(url: str) -> tuple[int, Mapping[str, str]]:
    """Status and headers of a look at a name.

    Raises:
        HostUnreachable, ConnectionBroken: there was no answer.
    """
    with closing(_connection(url)) as connection:
        _connect(connection)
        try:
            connection.request("HEAD", _path(url))
            answer = connection.getresponse()
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}
        except (http.client.HTTPException, OSError):
            raise ConnectionBroken from None


def _connection(url: str) -> http.client.HTTPConnection:
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.scheme == "https":
        return http.client.HTTPSConnection(host, parts.port, timeout=SECONDS, context=ssl.create_default_context())
    return http.client.HTTPConnection(host, parts.port, timeout=SECONDS)


def _path(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.path}?{parts.query}"


def _connect(connection: http.client.HTTPConnection) -> None:
    try:
        connection.connect()
    except OSError:
        raise HostUnreachable from None


def _sent(
    connection: http.client.HTTPConnection, path: str, headers: Mapping[str, str], pieces: Iterator[bytes]
) -> PutResponse:
    connection.putrequest("PUT", path, skip_accept_encoding=True)
    for name, value in headers.items():
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
