"""A download is whole and of the expected size, or there is nothing; it goes where it may go and no further."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread

import httpx
import pytest
from still_time import NoChance

from holdfast.core.errors import UpstreamFailed
from holdfast.core.system import SystemClock
from holdfast.remote.download import Download, _RedirectPolicy

CONTENT = bytes(range(256)) * 4000
Answer = Callable[[BaseHTTPRequestHandler], None]


class FileServer:
    def __init__(self) -> None:
        self.answers: dict[str, Answer] = {}
        self.seen: list[tuple[str, dict[str, str]]] = []
        self.let_go = Event()
        outer = self

        class Request(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.seen.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
                outer.answers.get(self.path, status(404))(self)

            def log_message(self, format: str, *args: object) -> None:
                """Tests stay quiet."""

        class Server(ThreadingHTTPServer):
            daemon_threads = False

            def handle_error(self, request: object, client_address: object) -> None:
                """A client that hangs up is part of the tests."""

        self.http = Server(("127.0.0.1", 0), Request)
        self.origin = f"http://127.0.0.1:{self.http.server_port}"


def content(body: bytes = CONTENT, length: int | None = None) -> Answer:
    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.send_header("Content-Length", str(len(body) if length is None else length))
        request.end_headers()
        request.wfile.write(body)

    return answer


def status(code: int, **headers: str) -> Answer:
    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(code)
        for name, value in headers.items():
            request.send_header(name, value)
        request.send_header("Content-Length", "0")
        request.end_headers()

    return answer


@pytest.fixture
def server() -> Iterator[FileServer]:
    running = FileServer()
    thread = Thread(target=running.http.serve_forever, args=(0.01,))
    thread.start()
    yield running
    running.let_go.set()
    running.http.shutdown()
    thread.join()
    running.http.server_close()


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "models" / "here" / "file.bin"


def download(server: FileServer, seconds: float = 30.0) -> Download:
    return Download("HOLDFAST_EMBEDDER_URL", f"{server.origin}/base", SystemClock(), NoChance(), seconds)


def refused(server: FileServer, target: Path, **more: float) -> UpstreamFailed:
    with pytest.raises(UpstreamFailed) as caught:
        download(server, **more).fetch("file.bin", len(CONTENT), target)
    assert not target.parent.exists() or list(target.parent.iterdir()) == []
    return caught.value


def test_the_file_arrives_whole_and_alone(server: FileServer, target: Path) -> None:
    server.answers["/base/file.bin"] = content()
    download(server).fetch("file.bin", len(CONTENT), target)
    assert target.read_bytes() == CONTENT
    assert list(target.parent.iterdir()) == [target]
    assert not {"authorization", "cookie"} & set(server.seen[0][1])


def test_redirects_are_followed(server: FileServer, target: Path) -> None:
    server.answers["/base/file.bin"] = status(302, Location="/elsewhere")
    server.answers["/elsewhere"] = status(307, Location=f"{server.origin}/last?signed=1")
    server.answers["/last?signed=1"] = content()
    download(server).fetch("file.bin", len(CONTENT), target)
    assert target.read_bytes() == CONTENT


def test_redirects_in_a_circle_come_to_an_end(server: FileServer, target: Path) -> None:
    server.answers["/base/file.bin"] = status(302, Location="/base/file.bin")
    assert "too many redirects" in str(refused(server, target))
    assert len(server.seen) == 6


@pytest.mark.parametrize(
    "location", ["http://169.254.169.254/latest/meta-data", "file:///etc/passwd", "ftp://127.0.0.1/x", "http://[::", ""]
)
def test_a_redirect_to_where_nothing_may_go_is_refused(location: str, server: FileServer, target: Path) -> None:
    server.answers["/base/file.bin"] = status(302, Location=location)
    refused(server, target, seconds=3.0)


def test_a_public_site_may_not_send_one_to_a_private_address() -> None:
    way = _RedirectPolicy(httpx.URL("https://hub.example/file"))
    assert way.refusal("203.0.113.7") is None
    assert way.on("https://inside.example/file") is None
    assert "private address" in str(way.refusal("10.0.0.5"))
    assert way.refusal("203.0.113.8") is None
    assert "from https to http" in str(way.on("http://hub.example/file"))


@pytest.mark.parametrize("body", [CONTENT[:-1], CONTENT + b"x", b""])
def test_a_file_of_another_size_is_not_kept(body: bytes, server: FileServer, target: Path) -> None:
    server.answers["/base/file.bin"] = content(body)
    assert "expected size" in str(refused(server, target))


def test_a_connection_that_breaks_leaves_nothing(server: FileServer, target: Path) -> None:
    server.answers["/base/file.bin"] = content(CONTENT[:5000], length=len(CONTENT))
    assert refused(server, target).retryable


def test_a_file_that_never_ends_is_given_up_in_time(server: FileServer, target: Path) -> None:
    def drip(request: BaseHTTPRequestHandler) -> None:
        request.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
        while not server.let_go.wait(0.02):
            request.wfile.write(b"a")

    server.answers["/base/file.bin"] = drip
    assert "no response in time" in str(refused(server, target, seconds=0.5))


def test_a_missing_file_and_a_missing_server_are_told(server: FileServer, target: Path) -> None:
    assert "HTTP status 404" in str(refused(server, target))
    with socket.create_server(("127.0.0.1", 0)) as closing:
        port = closing.getsockname()[1]
    gone = Download("HOLDFAST_EMBEDDER_URL", f"http://127.0.0.1:{port}", SystemClock(), NoChance())
    with pytest.raises(UpstreamFailed, match="could not connect"):
        gone.fetch("file.bin", 10, target)


def test_a_place_that_cannot_be_written_is_told(server: FileServer, tmp_path: Path) -> None:
    (tmp_path / "models").write_text("a file where a folder should be")
    server.answers["/base/file.bin"] = content()
    with pytest.raises(UpstreamFailed, match="could not be written") as caught:
        download(server).fetch("file.bin", len(CONTENT), tmp_path / "models" / "file.bin")
    assert "writable" in caught.value.hint


def test_what_stood_there_before_stays_when_the_download_fails(server: FileServer, target: Path) -> None:
    target.parent.mkdir(parents=True)
    target.write_bytes(b"old")
    server.answers["/base/file.bin"] = content(b"short")
    with pytest.raises(UpstreamFailed):
        download(server).fetch("file.bin", len(CONTENT), target)
    assert target.read_bytes() == b"old"
