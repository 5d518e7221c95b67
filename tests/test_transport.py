"""Requests to a server that moves: found again, sent once more where that is safe, and never done twice."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from typing import Any

import pytest
from patience import WAIT_SECONDS
from rows import each

from holdfast import transport
from holdfast.cli.command_table import endpoint
from holdfast.core.errors import AnswerLate, InvalidRequest, ServerUnreachable, Unauthorized
from holdfast.transport import Address, RemoteConnection

ANSWER = {"ok": True}


class Endings:
    """A server that treats one connection after the other as it is told: "answer", "401", "break off" or "hang up"."""

    def __init__(self, *endings: str):
        self._endings = list(endings)
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self.requests: list[bytes] = []
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        for ending in self._endings:
            try:
                connection, _ = self._socket.accept()
            except OSError:  # closed before all of them were used
                return
            with connection:
                self.requests.append(_whole_request(connection))
                if ending != "hang up":
                    answer = _response(401 if ending == "401" else 200)
                    connection.sendall(answer[:-1] if ending == "break off" else answer)

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(WAIT_SECONDS)


def _whole_request(connection: socket.socket) -> bytes:
    got = b""
    while b"\r\n\r\n" not in got:
        got += connection.recv(65_536)
    head, _, body = got.partition(b"\r\n\r\n")
    sizes = [int(line[16:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length: ")]
    while len(body) < sum(sizes):
        body += connection.recv(65_536)
    return head + b"\r\n\r\n" + body


def _response(status: int) -> bytes:
    body = json.dumps(ANSWER if status == 200 else Unauthorized("unauthorized").to_dict()).encode()
    return b"HTTP/1.1 %d X\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s" % (status, len(body), body)


class Found:
    """A finder that knows where the server is now."""

    def __init__(self, url: str, *, moved: bool = False):
        self._address = Address(url, "new-token")
        self._moved = moved
        self.looks = 0

    def moved(self) -> bool:
        return self._moved

    def find(self) -> Address:
        self.looks += 1
        self._moved = False
        return self._address


@pytest.fixture
def servers() -> Iterator[list[Endings]]:
    made: list[Endings] = []
    yield made
    for one in made:
        one.close()


def _free_url() -> str:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        return f"http://127.0.0.1:{closed.getsockname()[1]}"


def _call(url: str, finder: Found | None, name: str, **arguments: Any) -> Any:
    with closing(RemoteConnection(url, "old-token", finder=finder)) as connection:
        return connection.call(endpoint(name), arguments)


def test_a_write_that_found_no_server_is_sent_to_the_one_that_is_found(servers: list[Endings]) -> None:
    servers.append(there := Endings("answer"))

    assert _call(_free_url(), Found(there.url), "slot_append", label="pending", text="more") == ANSWER
    assert len(there.requests) == 1
    assert b"Authorization: Bearer new-token" in there.requests[0]


def test_a_server_that_is_known_to_have_moved_is_not_asked_where_it_was(servers: list[Endings]) -> None:
    servers += [old := Endings("answer"), new := Endings("answer")]

    _call(old.url, Found(new.url, moved=True), "slot_append", label="pending", text="more")

    assert (len(old.requests), len(new.requests)) == (0, 1)


@pytest.mark.parametrize(
    ("name", "arguments"), [("search", {"query": "x"}), ("remember", {"content": "x"}), ("memories", {})]
)
def test_a_request_that_may_be_repeated_is_sent_again_when_its_answer_was_lost(
    servers: list[Endings], name: str, arguments: dict[str, Any]
) -> None:
    servers += [old := Endings("hang up"), new := Endings("answer")]

    assert _call(old.url, Found(new.url), name, **arguments) == ANSWER
    assert (len(old.requests), len(new.requests)) == (1, 1)


@pytest.mark.parametrize("name", ["slot_append", "forget", "token_create", "snapshot_restore"])
def test_a_write_whose_answer_was_lost_is_not_done_twice(servers: list[Endings], name: str) -> None:
    servers += [old := Endings("hang up"), new := Endings("answer")]

    with pytest.raises(AnswerLate, match="may have completed"):
        _call(old.url, Found(new.url), name)

    assert (len(old.requests), len(new.requests)) == (1, 0)


def test_a_token_that_is_no_longer_right_is_replaced_once(servers: list[Endings]) -> None:
    servers += [old := Endings("401"), new := Endings("answer")]

    assert _call(old.url, Found(new.url), "slot_append", label="pending", text="more") == ANSWER


def test_a_credential_that_stays_wrong_is_refused(servers: list[Endings]) -> None:
    servers += [old := Endings("401"), new := Endings("401")]

    with pytest.raises(Unauthorized):
        _call(old.url, Found(new.url), "search", query="x")

    assert (len(old.requests), len(new.requests)) == (1, 1)


def test_a_server_that_is_gone_for_good_is_told_after_one_more_try() -> None:
    finder = Found(_free_url())

    with pytest.raises(ServerUnreachable):
        _call(_free_url(), finder, "search", query="x")

    assert finder.looks == 1


def test_an_answer_that_ends_too_early_is_told_as_such_and_not_as_a_missing_server(servers: list[Endings]) -> None:
    servers += [old := Endings("break off"), new := Endings("break off")]

    with pytest.raises(ServerUnreachable, match="before it was complete") as told:
        _call(old.url, Found(new.url), "export")

    assert "holdfast verify" in told.value.hint
    assert (len(old.requests), len(new.requests)) == (1, 1)


def test_an_address_alone_is_tried_once(servers: list[Endings]) -> None:
    servers.append(there := Endings("hang up", "answer"))

    with pytest.raises(ServerUnreachable):
        _call(there.url, None, "search", query="x")

    assert len(there.requests) == 1


def test_a_program_that_speaks_something_else_is_told(servers: list[Endings]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:

        def talk() -> None:
            connection, _ = other.accept()
            with connection:
                _whole_request(connection)
                connection.sendall(b"220 mail.example ESMTP\r\n")

        thread = threading.Thread(target=talk)
        thread.start()
        with pytest.raises(ServerUnreachable):
            _call(f"http://127.0.0.1:{other.getsockname()[1]}", None, "search", query="x")
        thread.join(WAIT_SECONDS)


@each("url", ["ftp://127.0.0.1:1", "127.0.0.1:3111", "http://", ""])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(InvalidRequest):
        RemoteConnection(url, None)


class Silent:
    """A server that answers one request only once it was asked whether it is there; without `probes`, never."""

    def __init__(self, *, probes: bool):
        self._probes = probes
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self.asked: list[bytes] = []
        self._held: list[socket.socket] = []
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        with suppress(OSError):  # closed
            while True:
                connection, _ = self._socket.accept()
                self._held.append(connection)
                self.asked.append(_whole_request(connection))
                if self._probes and len(self._held) > 1:
                    for one in reversed(self._held):
                        one.sendall(_response(200))

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(WAIT_SECONDS)
        for one in self._held:
            one.close()


def test_a_server_that_answers_no_one_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "SILENT_SECONDS", 0.1)
    with closing(Silent(probes=False)) as server, pytest.raises(AnswerLate, match="does not answer") as told:
        _call(server.url, None, "search", query="x")

    assert "holdfast serve --stop" in told.value.hint
    assert b"/livez" in server.asked[1]


def test_a_server_that_is_at_work_and_still_there_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "SILENT_SECONDS", 0.1)
    with closing(Silent(probes=True)) as server:
        assert _call(server.url, None, "search", query="x") == ANSWER
