"""An S3 server behind which nothing is removed or overwritten: it passes requests on, and refuses as a policy of a
bucket would. With `checksums` it takes nothing without one, as S3 does where a bucket keeps what is put."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import parse_qs, urlsplit

from patience import WAIT_SECONDS

_OWN = {"connection", "transfer-encoding", "content-length", "keep-alive"}
DENIED = "<Error><Code>AccessDenied</Code><Message>Access Denied.</Message></Error>"
NO_CHECKSUM = (
    "<Error><Code>InvalidRequest</Code><Message>Content-MD5 OR x-amz-checksum- HTTP header is required for Put Object "
    "requests with Object Lock parameters</Message></Error>"
)


class StrictProxy:
    """In front of an S3 server; it keeps what it refused."""

    def __init__(self, behind: str, checksums: bool = False):
        self.behind, self.checksums = urlsplit(behind).netloc, checksums
        self.refused: list[str] = []
        self.unproved = 0  # puts without a checksum
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = Thread(target=self._server.serve_forever, daemon=True)

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @contextmanager
    def serving(self) -> Iterator[StrictProxy]:
        self._thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()

    def refusal(self, method: str, path: str, headers: dict[str, str]) -> tuple[int, str] | None:
        """Status and text, if this request is not passed on."""
        query = parse_qs(urlsplit(path).query, keep_blank_values=True)
        if method == "DELETE" or (method == "POST" and "delete" in query):
            return 403, DENIED
        if method == "PUT" and "partNumber" not in query and headers.get("if-none-match") != "*":
            return 403, DENIED
        proved = "content-md5" in headers or any(name.startswith("x-amz-checksum-") for name in headers)
        if method == "PUT" and self.checksums and not proved:
            self.unproved += 1
            return 400, NO_CHECKSUM
        return None


def _handler(proxy: StrictProxy) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _pass_on(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            if refusal := proxy.refusal(self.command, self.path, headers):
                proxy.refused.append(f"{self.command} {self.path}")
                return self._answer(refusal[0], [("Content-Type", "application/xml")], refusal[1].encode())
            line = HTTPConnection(proxy.behind, timeout=WAIT_SECONDS)
            try:
                line.request(self.command, self.path, body, headers)
                answer = line.getresponse()
                found = [(name, value) for name, value in answer.getheaders() if name.lower() not in _OWN]
                size = answer.getheader("Content-Length") if self.command == "HEAD" else None
                self._answer(answer.status, found, answer.read(), size)
            finally:
                line.close()

        def _answer(self, status: int, headers: list[tuple[str, str]], body: bytes, size: str | None = None) -> None:
            self.send_response(status)
            for name, value in headers:
                self.send_header(name, value)
            self.send_header("Content-Length", size or str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """It says nothing."""

        do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = _pass_on

    return Handler
