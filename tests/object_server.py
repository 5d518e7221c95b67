"""A real S3 server for tests: SeaweedFS on free ports, with a key that may write, one that may only add and one that may
only read, and with a bucket that keeps for days what is put into it."""

from __future__ import annotations

import hmac
import json
import socket
import subprocess
import sysconfig
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from types import MappingProxyType
from typing import Self
from urllib.parse import urlencode

import httpx
from patience import WAIT_SECONDS, until

from holdfast.core.errors import VaultBusy, VaultUnreachable
from holdfast.core.system import SystemEntropy
from holdfast.settings import Settings, load

PROGRAM = Path(sysconfig.get_path("scripts")) / "weed"
BUCKET = "memory"
LOCKED = "locked"  # a bucket with object lock: every version is kept for some days
LOCK_DAYS = 3
WRITER, READER, STRANGER = ("AKwriter", "SKwriter"), ("AKreader", "SKreader"), ("AKnobody", "SKnobody")
APPENDER = ("AKappender", "SKappender")  # creates and reads, and deletes nothing
_MAY_APPEND = {
    "Version": "2012-10-17",
    "Statement": [
        {
            "Effect": "Allow",
            "Action": ["s3:PutObject", "s3:GetObject", "s3:ListBucket"],
            "Resource": ["arn:aws:s3:::*", "arn:aws:s3:::*/*"],
        }
    ],
}
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
            {**_identity("appender", APPENDER), "policyNames": ["append"]},
        ]
        policies = [{"name": "append", "content": json.dumps(_MAY_APPEND)}]
        (folder / "data").mkdir(parents=True)
        config = folder / "s3.json"
        config.write_text(json.dumps({"identities": people, "policies": policies}))
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

    def make_locked_bucket(self) -> None:
        """The bucket `LOCKED`, if it is not there yet."""
        self.ask("PUT", f"/{LOCKED}", {"x-amz-bucket-object-lock-enabled": "true"})
        days = f"<DefaultRetention><Mode>COMPLIANCE</Mode><Days>{LOCK_DAYS}</Days></DefaultRetention>"
        rule = f"<ObjectLockEnabled>Enabled</ObjectLockEnabled><Rule>{days}</Rule>"
        body = f"<ObjectLockConfiguration>{rule}</ObjectLockConfiguration>".encode()
        answer = self.ask("PUT", f"/{LOCKED}", query={"object-lock": ""}, body=body)
        assert answer.status_code == 200, answer.text

    def ask(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str] = MappingProxyType({}),
        query: Mapping[str, str] = MappingProxyType({}),
        body: bytes = b"",
        key: tuple[str, str] = WRITER,
    ) -> httpx.Response:
        """The answer to a request that is signed (version 4), for what vaults never ask."""
        now = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        scope = f"{now[:8]}/us-east-1/s3/aws4_request"
        hashed = sha256(body).hexdigest()
        host = self.endpoint.removeprefix("http://")
        signed = dict(sorted({**headers, "host": host, "x-amz-content-sha256": hashed, "x-amz-date": now}.items()))
        asked = urlencode(sorted(query.items()))
        lines = [
            method,
            path,
            asked,
            *(f"{name}:{value}" for name, value in signed.items()),
            "",
            ";".join(signed),
            hashed,
        ]
        text = "\n".join(["AWS4-HMAC-SHA256", now, scope, sha256("\n".join(lines).encode()).hexdigest()])
        secret = f"AWS4{key[1]}".encode()
        for part in scope.split("/"):
            secret = hmac.digest(secret, part.encode(), "sha256")
        proof = hmac.digest(secret, text.encode(), "sha256").hex()
        credential = (
            f"AWS4-HMAC-SHA256 Credential={key[0]}/{scope}, SignedHeaders={';'.join(signed)}, Signature={proof}"
        )
        url = f"{self.endpoint}{path}{f'?{asked}' if asked else ''}"
        sent = {**signed, "authorization": credential}
        return httpx.request(method, url, headers=sent, content=body, timeout=WAIT_SECONDS, trust_env=False)

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
