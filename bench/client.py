"""A bare HTTP client over one socket: the bytes are made before the clock starts, so that it measures the server."""

from __future__ import annotations

import json
import random
import socket

WORDS = [
    f"{a}{b}{c}" for a in ("ta", "re", "mi", "so", "ku") for b in ("lon", "ver", "das", "pim") for c in range(1000)
]


def text(chance: random.Random, words: int = 40) -> str:
    return " ".join(chance.choices(WORDS, k=words))


def request(path: str, body: dict[str, object], method: str = "POST") -> bytes:
    data = json.dumps(body).encode()
    head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
    return head.encode() + data


class Line:
    """One keep-alive connection."""

    def __init__(self, port: int):
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._rest = b""

    def ask(self, raw: bytes) -> tuple[int, bytes]:
        self._socket.sendall(raw)
        while b"\r\n\r\n" not in self._rest:
            self._rest += self._socket.recv(65536)
        head, _, body = self._rest.partition(b"\r\n\r\n")
        length = int(next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length"))[15:])
        while len(body) < length:
            body += self._socket.recv(65536)
        self._rest = body[length:]
        return int(head[9:12]), body[:length]

    def close(self) -> None:
        self._socket.close()
