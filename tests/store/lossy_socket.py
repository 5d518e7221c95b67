"""A socket before a PostgreSQL server that loses the answer to a commit."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from pathlib import Path

_NAME = ".s.PGSQL.5432"


class LossySocket:
    """Passes everything on. While `losing` is set, an answer to COMMIT is awaited and then lost with its connection."""

    def __init__(self, folder: Path, server: Path):
        self.losing = threading.Event()
        self.lost = 0
        self._server = str(server / _NAME)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(folder / _NAME))
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):  # closed
            while True:
                client, _ = self._listener.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(self._server)
                threading.Thread(target=self._forward, args=(client, server), daemon=True).start()
                threading.Thread(target=self._back, args=(client, server), daemon=True).start()

    def _back(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while data := server.recv(65_536):
                client.sendall(data)
        _end(client, server)

    def _forward(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while data := client.recv(65_536):
                if b"COMMIT\x00" in data and self.losing.is_set():
                    self.losing.clear()
                    client.shutdown(socket.SHUT_RDWR)  # from now on nothing reaches the client
                    self.lost += 1
                server.sendall(data)
        _end(client, server)

    def close(self) -> None:
        self._listener.close()


def _end(*sockets: socket.socket) -> None:
    for one in sockets:
        with suppress(OSError):  # the other direction may have ended it
            one.shutdown(socket.SHUT_RDWR)
        one.close()
