"""A stand-in for the hub: datasets with commits, large files apart, tokens, pages and faults, as the real client asks.

It keeps what it is told and decides on conditions itself; the client is huggingface_hub as it is.
"""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

TOKEN = "hf_stand_in_token"
DATASET = "owner/memory"
PAGE = 7
SMALL = 100_000  # files above this go to the large-file store


@dataclass(frozen=True)
class Blob:
    data: bytes
    large: bool

    @property
    def oid(self) -> str:
        return hashlib.sha1(b"blob %d\0" % len(self.data) + self.data).hexdigest()

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()

    @property
    def etag(self) -> str:
        return self.sha256 if self.large else self.oid


@dataclass
class Dataset:
    private: bool = True
    commits: list[tuple[str, dict[str, Blob]]] = field(
        default_factory=lambda: [("0" * 40, {".gitattributes": Blob(b"", False)})]
    )

    @property
    def head(self) -> str:
        return self.commits[-1][0]

    def files(self, revision: str) -> dict[str, Blob]:
        if revision == "main":
            return self.commits[-1][1]
        return dict(self.commits)[revision]

    def commit(self, files: dict[str, Blob]) -> str:
        oid = f"{len(self.commits):040x}"
        self.commits.append((oid, files))
        return oid


class HubServer(ThreadingHTTPServer):
    """Datasets over HTTP. `before` may answer a request in its place: a status and headers, or None."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Asked)
        self.datasets = {DATASET: Dataset()}
        self.large: dict[str, bytes] = {}
        self.token = TOKEN
        self.lock = threading.RLock()
        self.before: Callable[[str, str], tuple[int, dict[str, str]] | None] = lambda method, path: None
        self.asked: list[tuple[str, str]] = []
        self._thread = threading.Thread(target=self.serve_forever, args=(0.01,))
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    @property
    def dataset(self) -> Dataset:
        return self.datasets[DATASET]

    def stop(self) -> None:
        self.shutdown()
        self._thread.join()
        self.server_close()


class _Asked(BaseHTTPRequestHandler):
    server: HubServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # header and body are sent apart

    def _handle(self) -> None:
        url = urlsplit(self.path)
        path = unquote(url.path)
        body = self._body()
        with self.server.lock:
            self.server.asked.append((self.command, path))
            instead = self.server.before(self.command, path)
        if instead is not None:
            status, headers = instead
            if not status:
                self.close_connection = True
                return
            return self._send(status, b"{}", headers)
        if path.startswith("/large/"):
            return self._large(path.removeprefix("/large/"), body)
        if self.headers.get("authorization") != f"Bearer {self.server.token}":
            return self._error(401, "Invalid credentials in Authorization header")
        with self.server.lock:
            self._route(path, parse_qs(url.query), body)

    do_GET = do_POST = do_PUT = do_HEAD = _handle

    def _body(self) -> bytes:
        if self.headers.get("transfer-encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("content-length", 0)))
        data = bytearray()
        while size := int(self.rfile.readline(), 16):
            data += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return bytes(data)

    def _route(self, path: str, query: dict[str, list[str]], body: bytes) -> None:
        parts = path.strip("/").split("/")
        if parts[0] == "api":
            owner, name, *rest = parts[2:]
        else:
            owner, name, *rest = parts[1:]
        repo = f"{owner}/{name.removesuffix('.git')}"
        dataset = self.server.datasets.get(repo)
        if dataset is None:
            return self._error(404, "Repository not found", "RepoNotFound")
        if parts[0] != "api":
            return self._batch(body) if rest[0] == "info" else self._resolve(dataset, rest[1], "/".join(rest[2:]))
        if not rest:
            return self._json({"id": repo, "sha": dataset.head, "private": dataset.private, "siblings": []})
        answers: dict[str, Callable[[], None]] = {
            "tree": lambda: self._tree(dataset, rest[1], "/".join(rest[2:]), query),
            "paths-info": lambda: self._paths(dataset, rest[1], body),
            "preupload": lambda: self._preupload(body),
            "commit": lambda: self._commit(dataset, body),
        }
        answers[rest[0]]()

    def _tree(self, dataset: Dataset, revision: str, folder: str, query: dict[str, list[str]]) -> None:
        files = dataset.files(revision)
        below = sorted(name for name in files if not folder or name.startswith(f"{folder}/"))
        if folder and not below:
            return self._error(404, "no such entry", "EntryNotFound")
        start = int(query.get("cursor", ["0"])[0])
        page = [_entry(name, files[name]) for name in below[start : start + PAGE]]
        headers = {}
        if start + PAGE < len(below):
            own = urlsplit(self.path).path
            headers["link"] = f'<{self.server.url}{own}?recursive=true&cursor={start + PAGE}>; rel="next"'
        self._json(page, headers)

    def _paths(self, dataset: Dataset, revision: str, body: bytes) -> None:
        files = dataset.files(revision)
        asked = parse_qs(body.decode())["paths"]
        self._json([_entry(name, files[name]) for name in asked if name in files])

    def _preupload(self, body: bytes) -> None:
        files = [
            {
                "path": one["path"],
                "uploadMode": "lfs" if one["size"] > SMALL else "regular",
                "shouldIgnore": False,
            }
            for one in json.loads(body)["files"]
        ]
        self._json({"files": files})

    def _batch(self, body: bytes) -> None:
        objects = []
        for one in json.loads(body)["objects"]:
            action: dict[str, Any] = {"oid": one["oid"], "size": one["size"]}
            if one["oid"] not in self.server.large:
                action["actions"] = {"upload": {"href": f"{self.server.url}/large/{one['oid']}"}}
            objects.append(action)
        self._json({"transfer": "basic", "objects": objects})

    def _large(self, oid: str, body: bytes) -> None:
        if hashlib.sha256(body).hexdigest() != oid:
            return self._error(422, "other bytes")
        with self.server.lock:
            self.server.large[oid] = body
        self._send(200, b"")

    def _commit(self, dataset: Dataset, body: bytes) -> None:
        lines = [json.loads(line) for line in body.splitlines()]
        if lines[0]["value"].get("parentCommit") not in (None, dataset.head):
            return self._error(412, "A commit has happened since.")
        files = dict(dataset.files("main"))
        for line in lines[1:]:
            value = line["value"]
            if line["key"] == "file":
                files[value["path"]] = Blob(base64.b64decode(value["content"]), False)
            elif line["key"] == "lfsFile":
                files[value["path"]] = Blob(self.server.large[value["oid"]], True)
            else:
                files.pop(value["path"])
        oid = dataset.commit(files)
        self._json(
            {"success": True, "commitOid": oid, "commitUrl": f"{self.server.url}/datasets/{DATASET}/commit/{oid}"}
        )

    def _resolve(self, dataset: Dataset, revision: str, name: str) -> None:
        blob = dataset.files(revision).get(name)
        if blob is None:
            return self._error(404, "no such entry", "EntryNotFound")
        head = {"x-repo-commit": dataset.head, "etag": f'"{blob.etag}"', "accept-ranges": "bytes"}
        self._send(200, blob.data, head)

    def _json(self, value: object, headers: dict[str, str] | None = None) -> None:
        self._send(200, json.dumps(value).encode(), {"content-type": "application/json", **(headers or {})})

    def _error(self, status: int, message: str, code: str = "") -> None:
        headers = {"x-error-message": message} | ({"x-error-code": code} if code else {})
        self._send(status, json.dumps({"error": message}).encode(), headers)

    def _send(self, status: int, data: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        del format, args


def _entry(name: str, blob: Blob) -> dict[str, Any]:
    entry: dict[str, Any] = {"type": "file", "path": name, "size": len(blob.data), "oid": blob.oid}
    if blob.large:
        entry["lfs"] = {"oid": blob.sha256, "size": len(blob.data), "pointerSize": 130}
    return entry
