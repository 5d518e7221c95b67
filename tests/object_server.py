"""A real S3 server for tests: SeaweedFS on free ports, with a key that may write and one that may only read."""

from __future__ import annotations

import json
import socket
import subprocess
import sysconfig
from contextlib import ExitStack, suppress
from io import BytesIO
from pathlib import Path
from typing import Self

import httpx
from patience import until

from holdfast.core.errors import VaultBusy, VaultUnreachable
from holdfast.core.system import SystemEntropy
from holdfast.settings import Settings, load

PROGRAM = Path(sysconfig.get_path("scripts")) / "weed"
BUCKET = "memory"
WRITER, READER, STRANGER = ("AKwriter", "SKwriter"), ("AKreader", "SKreader"), ("AKnobody", "SKnobody")
_PORTS = ("master", "volume", "filer", "s3")
TRIES, SECONDS = 3, 60


def _identity(name: str, key: tuple[str, str], *actions: str) -> dict[str, object]:
    return {"name": name, "credentials": [{"accessKey": key[0], "secretKey": key[1]}], "actions": list(actions)}


def _free_ports() -> dict[str, tuple[int, int]]:
    """Two for each part of the server, all of them different."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(2 * len(_PORTS))]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        ports = [int(one.getsockname()[1]) for one in sockets]
    return {name: (ports[2 * at], ports[2 * at + 1]) for at, name in enumerate(_PORTS)}


class ObjectServer:
    """SeaweedFS with its S3 port."""

    def __init__(self, folder: Path):
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self._ports: dict[str, tuple[int, int]] = {}

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self._ports['s3'][0]}"

    def settings(self, key: tuple[str, str] = WRITER, **others: object) -> Settings:
        """Settings that reach this server."""
        given = {"vault_endpoint": self.endpoint, "vault_key_id": key[0], "vault_key": key[1], **others}
        return load({name: str(value) for name, value in given.items()}, environ={})

    def start(self) -> Self:
        """Begin to serve. A port that was free may be taken by the time it is used, so it is tried with others too."""
        for attempt in range(TRIES):
            self._launch(self._folder / str(attempt))
            try:
                until(self._answers, "the S3 server answers", SECONDS)
                until(self._has_bucket, "the S3 server takes its first bytes", SECONDS)
                break
            except AssertionError:
                self.stop()
                if attempt == TRIES - 1:
                    raise
        return self

    def _launch(self, folder: Path) -> None:
        people = [
            _identity("writer", WRITER, "Admin", "Read", "Write", "List", "Tagging"),
            _identity("reader", READER, "Read", "List"),
        ]
        (folder / "data").mkdir(parents=True)
        config = folder / "s3.json"
        config.write_text(json.dumps({"identities": people}))
        self._ports = _free_ports()
        options = [f"-{name}.port={port}" for name, (port, _) in self._ports.items()]
        options += [f"-{name}.port.grpc={port}" for name, (_, port) in self._ports.items()]
        command = [
            str(PROGRAM), f"-logdir={folder}", "server", f"-dir={folder / 'data'}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-filer",
            "-s3", "-s3.port.iceberg=0", "-s3.port.lance=0", f"-s3.config={config}", "-iam=false", "-master.telemetry=false", "-master.volumeSizeLimitMB=64",
            "-volume.max=100", *options,
        ]  # fmt: skip
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder)

    def _has_bucket(self) -> bool:
        """The server makes a bucket at the first put, once its parts have found each other."""
        from holdfast.vault.objects import object_vault  # not for those who only import the fixtures

        with suppress(VaultUnreachable, VaultBusy):
            object_vault("s3", BUCKET, "made", self.settings(), SystemEntropy()).put("here", BytesIO(b""))
            return True
        return False

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, "the S3 server ended at its start"
        with suppress(httpx.HTTPError):
            return httpx.get(self.endpoint, timeout=5, trust_env=False).status_code == 403
        return False

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
