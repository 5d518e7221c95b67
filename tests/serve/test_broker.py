"""Events over a real NATS server: in order, none lost while it is away, and no name of an agent leaves its word."""

from __future__ import annotations

import json
import logging
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any

import httpx
import pytest
from broker import NatsServer, Reader, bodies, free_port, ids
from hypothesis import given, strategies as st
from patience import WAIT_SECONDS, until
from rows import each
from websockets.sync.client import connect
from world import World, running, running_server

from holdfast.core.model import Caller, Dispatch
from holdfast.ops.registry import BY_NAME
from holdfast.serve.events.broker import Broker
from holdfast.serve.events.subjects import message_of, word_of

A = "/agentmemory"
SYLLABLES = "ba co du fe gi ha jo ku le mi no pu ra so tu ve".split()


def fact(number: int) -> str:
    """Words that no other fact shares, so that none becomes a new version of another."""
    digest = blake2b(str(number).encode(), digest_size=16).hexdigest()
    letters = [SYLLABLES[int(one, 16)] for one in digest]
    return " ".join("".join(letters[at : at + 4]) for at in range(0, 32, 4))


@pytest.fixture
def nats_server(tmp_path: Path) -> Iterator[NatsServer]:
    with NatsServer(tmp_path / "nats") as server:
        yield server


@pytest.fixture
def reader(nats_server: NatsServer) -> Iterator[Reader]:
    with Reader(nats_server.url) as made:
        yield made


class Sending(World):
    """An engine and the thread that sends its events."""

    def __init__(self, home: Path, url: str, **overrides: Any):
        super().__init__(home, nats_url=url, **overrides)
        self.broker = Broker(self.engine)

    def pending(self) -> int:
        return int(self.engine.store.read().undispatched())

    def until_sent(self) -> None:
        until(lambda: self.pending() == 0, "every event is sent")

    def remember(self, text: str, **more: Any) -> str:
        return str(self.call("remember", content=text, **more)["memory"]["id"])


@contextmanager
def sending(home: Path, url: str, **overrides: Any) -> Iterator[Sending]:
    made = Sending(home, url, **overrides)
    made.broker.start()
    try:
        yield made
    finally:
        made.broker.stop()
        assert not made.broker._thread.is_alive()
        made.close()


def remember(client: httpx.Client, text: str, **more: Any) -> str:
    answer = client.post(A + "/remember", json={"content": text, **more})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["memory"]["id"])


def pending(client: httpx.Client) -> int:
    return int(client.get(A + "/health").json()["events"]["pending"])


# Sending


def test_every_write_of_memory_arrives_in_order(tmp_path: Path, nats_server: NatsServer, reader: Reader) -> None:
    reader.listen()
    with running(tmp_path / "m", nats_url=nats_server.url) as client:
        made = [remember(client, fact(number), agentId="kim") for number in range(3)]
        client.post(A + "/forget", json={"memoryId": made[1]}).raise_for_status()
        until(lambda: pending(client) == 0, "every event is sent")
        until(lambda: len(reader.messages) >= 4, "every event has arrived")

    assert {one.subject for one in reader.messages} == {"holdfast.mutated.kim"}
    told = [(one["op"], one["scope"], one["key"]) for one in reader.bodies]
    assert told == [*(("insert", "memories", id) for id in made), ("delete", "memories", made[1])]
    seqs = [one["seq"] for one in reader.bodies]
    assert seqs == sorted(seqs)
    assert reader.bodies[1]["newHash"] == reader.bodies[3]["oldHash"]


def test_no_event_holds_memory_text(tmp_path: Path, nats_server: NatsServer, reader: Reader) -> None:
    reader.listen()
    with sending(tmp_path / "m", nats_server.url) as world:
        world.remember("the zebra sleeps behind the barn", concepts=["zebra"], project="zebra-park")
        world.observe(tool_name="Bash", tool_input={"command": "feed zebra"}, tool_output="zebra fed")
        world.call("lesson_save", content="feed the zebra twice")
        world.call("slot_replace", label="persona", content="friend of the zebra")
        world.until_sent()
        until(lambda: len(reader.messages) >= 4, "every event has arrived")

    assert {one["scope"] for one in reader.bodies} == {"memories", "observations", "lessons", "slots"}
    raw = " ".join(f"{one.subject} {one.headers} {one.data!r}" for one in reader.messages)
    assert "zebra" not in raw


def test_more_events_than_a_batch_are_sent(tmp_path: Path, nats_server: NatsServer, reader: Reader) -> None:
    reader.listen()
    with sending(tmp_path / "m", nats_server.url) as world:
        for first in range(0, 600, 100):
            facts = [{"content": fact(number)} for number in range(first, first + 100)]
            world.call("remember_batch", memories=facts)
        world.until_sent()
        until(lambda: len({one["seq"] for one in reader.bodies}) >= 600, "every event has arrived")

    seqs = [one["seq"] for one in reader.bodies]
    assert seqs == sorted(seqs)


def test_other_readers_of_the_server_choose_the_beginning_of_subjects(
    tmp_path: Path, nats_server: NatsServer, reader: Reader
) -> None:
    reader.listen("fleet.>")
    with sending(tmp_path / "m", nats_server.url, nats_prefix="fleet.memory") as world:
        world.remember("subjects begin as they are told to")
        until(lambda: reader.messages, "the event has arrived")

    assert [one.subject for one in reader.messages] == ["fleet.memory.mutated._"]


# Subjects


@each("agent", ["a.b", "*", ">", "a.>", "a b", "a\r\nPUB x 0", "_", "ü", "%2A", "", None, "x" * 512])
def test_a_name_of_an_agent_is_one_word_of_the_subject(agent: str | None) -> None:
    message = message_of("holdfast", Dispatch(1, "default", agent, "mutated", "{}"))

    beginning, kind, word = message.subject.split(".")
    assert (beginning, kind) == ("holdfast", "mutated")
    assert word.isascii()
    assert word
    assert not set(word) & set("*> \r\n\t")
    assert len(word) < 150


@given(one=st.text(max_size=200), other=st.text(max_size=200))
def test_two_agents_never_share_a_word(one: str, other: str) -> None:
    one, other = (text.encode("utf-8", "ignore").decode() for text in (one, other))

    assert (word_of(one) == word_of(other)) == (one == other)


def test_long_names_that_begin_alike_have_words_of_their_own() -> None:
    assert word_of("x" * 300) != word_of("x" * 301)
    assert word_of("x" * 300) == word_of("x" * 300)


def test_a_plain_name_is_its_own_word() -> None:
    assert word_of("claude_code-2") == "claude_code-2"


def test_the_number_of_a_message_says_which_event_it_is() -> None:
    first = Dispatch(1, "default", "a", "mutated", '{"seq":1}')
    messages = [
        message_of("holdfast", one)
        for one in (
            first,
            Dispatch(9, "default", "a", "mutated", '{"seq":1}'),  # the same after a restore moved it
            Dispatch(1, "default", "a", "mutated", '{"seq":2}'),
            Dispatch(1, "default", "b", "mutated", '{"seq":1}'),
        )
    ]

    assert messages[0].id == messages[1].id
    assert len({one.id for one in messages}) == 3


def test_a_forged_name_reaches_only_whoever_listens_to_all(
    tmp_path: Path, nats_server: NatsServer, reader: Reader
) -> None:
    reader.listen("holdfast.mutated.*")
    with Reader(nats_server.url) as victim, sending(tmp_path / "m", nats_server.url) as world:
        victim.listen("holdfast.snapshot.>")
        victim.listen("holdfast.mutated.kim")
        agents = ["kim.x", "*", ">", "kim.*", "x.snapshot.kim.created"]
        for number, agent in enumerate(agents):
            world.remember(fact(number), agentId=agent)
        until(lambda: len(reader.messages) >= len(agents), "every event has arrived")
        victim.run(victim.client.flush())

    assert [one["agent"] for one in reader.bodies] == agents
    assert victim.messages == []


# The broker away


def test_a_server_starts_and_stops_without_its_broker(tmp_path: Path) -> None:
    with running(tmp_path / "m", nats_url=f"nats://127.0.0.1:{free_port()}") as client:
        remember(client, "nobody listens")
        assert client.get(A + "/health").json()["status"] == "healthy"
        assert pending(client) == 1


def test_a_broker_that_never_answers_holds_up_neither_start_nor_stop(tmp_path: Path) -> None:
    """It takes the connection and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with running(tmp_path / "m", nats_url=f"nats://127.0.0.1:{port}") as client:
            remember(client, "the line is silent")
            assert pending(client) == 1


def test_events_wait_for_the_broker_over_a_restart(tmp_path: Path) -> None:
    server = NatsServer(tmp_path / "nats")
    with running(tmp_path / "m", nats_url=server.url) as client:
        first = remember(client, fact(1))
    with server, Reader(server.url) as reader:
        reader.listen()
        with running(tmp_path / "m", nats_url=server.url) as client:
            second = remember(client, fact(2))
            until(lambda: len(reader.messages) >= 2, "both events have arrived")

    assert [one["key"] for one in reader.bodies] == [first, second]


@pytest.mark.parametrize("kills", [3])
def test_no_event_is_lost_when_the_broker_is_killed_amid_writes(tmp_path: Path, kills: int) -> None:
    """The stream keeps what it has said it has; the same event twice has the same number and is kept once."""
    with NatsServer(tmp_path / "nats") as server:
        with Reader(server.url) as reader:
            reader.make_stream()
        made: list[str] = []
        stop = threading.Event()
        with sending(tmp_path / "m", server.url, nats_confirm="stream") as world:

            def write() -> None:
                while not stop.is_set():
                    number = len(made)
                    made.append(world.remember(fact(number)))

            writer = threading.Thread(target=write)
            writer.start()
            try:
                for _ in range(kills):
                    sent = _sent(world)
                    until(lambda before=sent: _sent(world) > before + 20, "events are sent")
                    server.kill()
                    held = len(made)
                    until(lambda before=held: len(made) > before + 20, "writes go on without the broker")
                    server.start()
            finally:
                stop.set()
                writer.join()
            world.until_sent()
        with Reader(server.url) as reader:
            stored = reader.stored()

    keys = [one["key"] for one in bodies(stored) if one["op"] == "insert"]
    assert set(keys) == set(made)
    assert len(ids(stored)) == len(set(ids(stored)))


def _sent(world: World) -> int:
    lines = [line for line in world.engine.metrics.lines() if line.startswith("holdfast_events_sent_total ")]
    return int(lines[0].split()[1])


def test_an_event_is_dropped_only_after_the_server_has_it(tmp_path: Path, nats_server: NatsServer) -> None:
    """The ping that confirms goes over the wire behind the last event, never ahead of it."""
    with _Wire(nats_server.port) as wire, sending(tmp_path / "m", f"nats://127.0.0.1:{wire.port}") as world:
        for number in range(5):
            world.remember(fact(number))
            world.until_sent()
        world.call("remember_batch", memories=[{"content": fact(number)} for number in range(5, 55)])
        world.until_sent()
        commands = wire.commands()

    assert commands.count("HPUB") == 55
    assert commands[-1] == "PING"


class _Wire:
    """Stands between the client and the server and notes what the client says."""

    def __init__(self, target: int):
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._said = bytearray()
        self._threads = [threading.Thread(target=self._accept)]

    def __enter__(self) -> _Wire:
        self._threads[0].start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join()

    def _accept(self) -> None:
        try:
            while True:
                near, _ = self._listener.accept()
                far = socket.create_connection(("127.0.0.1", self._target))
                for source, sink, note in ((near, far, self._said), (far, near, None)):
                    thread = threading.Thread(target=_copy, args=(source, sink, note))
                    self._threads.append(thread)
                    thread.start()
        except OSError:
            return  # closed

    def commands(self) -> list[str]:
        """What the client said so far, without the connection's own opening."""
        words, rest = [], bytes(self._said)
        while rest:
            line, _, rest = rest.partition(b"\r\n")
            word, *numbers = line.split()
            words.append(word.decode())
            if word == b"HPUB":
                rest = rest[int(numbers[-1]) + 2 :]
        return words[2:]


def _copy(source: socket.socket, sink: socket.socket, note: bytearray | None) -> None:
    try:
        while data := source.recv(65_536):
            if note is not None:
                note.extend(data)
            sink.sendall(data)
    except OSError:
        pass
    finally:
        for one in (source, sink):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue
        source.close()


# What the broker says


def test_a_refused_event_is_kept(tmp_path: Path) -> None:
    """Without the right to publish, the server says so and answers the ping all the same."""
    config = tmp_path / "nats.conf"
    config.write_text(
        'authorization { users = [{ user: kim, password: pw, permissions: { publish: { deny: "holdfast.>" } } }] }'
    )
    with (
        NatsServer(tmp_path / "nats", "-c", str(config), url="nats://kim:pw@127.0.0.1:{port}") as server,
        sending(tmp_path / "m", server.url) as world,
    ):
        world.remember("nobody may hear of it")
        until(lambda: world.broker._said, "the refusal is noticed")

        assert world.pending() == 1
        assert "refused" in world.broker._said


def test_without_a_stream_events_wait_for_one(tmp_path: Path, nats_server: NatsServer, reader: Reader) -> None:
    with sending(tmp_path / "m", nats_server.url, nats_confirm="stream") as world:
        made = world.remember("the stream comes later")
        until(lambda: world.broker._said, "the missing stream is noticed")
        assert world.pending() == 1
        reader.make_stream()
        world.until_sent()

    assert [one["key"] for one in bodies(reader.stored())] == [made]


def test_a_full_stream_keeps_events_waiting(tmp_path: Path, nats_server: NatsServer, reader: Reader) -> None:
    reader.make_stream(max_msgs=2, discard="new")
    with sending(tmp_path / "m", nats_server.url, nats_confirm="stream") as world:
        for number in range(3):
            world.remember(fact(number))
        until(lambda: world.pending() == 1 and world.broker._said, "two fit")

    assert len(reader.stored()) == 2


def test_the_password_of_the_broker_is_never_shown(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Neither when the broker refuses it nor when there is no broker."""
    config = tmp_path / "nats.conf"
    config.write_text("authorization { user: kim, password: another }")
    word = "hunter2hunter2"
    caplog.set_level(logging.DEBUG)
    shown = ""
    with NatsServer(tmp_path / "nats", "-c", str(config), url="nats://kim:" + word + "@127.0.0.1:{port}") as server:
        for url in (server.url, f"nats://kim:{word}@127.0.0.1:{free_port()}"):
            with running(tmp_path / "m", nats_url=url) as client:
                remember(client, "told to nobody")
                until(lambda: "events: " in caplog.text, "the failure is logged")
                for path in (
                    "/agentmemory/health",
                    "/metrics",
                    "/agentmemory/diagnostics",
                    "/agentmemory/config/flags",
                ):
                    shown += client.get(path).text
            shown += caplog.text
            caplog.clear()

    assert "not connected" in shown
    assert word not in shown


def test_a_failure_is_logged_once_and_not_at_every_try(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with sending(tmp_path / "m", f"nats://127.0.0.1:{free_port()}") as world:
        tries = iter(range(3))
        pause = world.broker._pause
        for _ in tries:
            until(lambda before=pause: world.broker._pause > before, "it was tried again")
            pause = world.broker._pause

    assert caplog.text.count("events: ") == 1


def test_an_address_with_tls_is_never_spoken_to_without(tmp_path: Path) -> None:
    """A server that offers no TLS gets no password and no event."""
    with (
        NatsServer(tmp_path / "nats") as server,
        _Wire(server.port) as wire,
        sending(tmp_path / "m", f"tls://kim:pw@127.0.0.1:{wire.port}") as world,
    ):
        world.remember("only behind a lock")
        until(lambda: world.broker._said, "the refusal is noticed")

        assert world.pending() == 1
        assert bytes(wire._said) == b""


def test_events_go_over_tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    certificate, key = _certificate(tmp_path)
    options = ("--tls", "--tlscert", str(certificate), "--tlskey", str(key))
    context = ssl.create_default_context(cafile=str(certificate))
    monkeypatch.setattr("ssl.create_default_context", lambda *_, **__: context)
    with (
        NatsServer(tmp_path / "nats", *options, url="tls://localhost:{port}") as server,
        Reader(server.url) as reader,
        sending(tmp_path / "m", server.url) as world,
    ):
        reader.listen()
        made = world.remember("behind a lock")
        until(lambda: reader.messages, "the event has arrived")

    assert [one["key"] for one in reader.bodies] == [made]


def test_a_certificate_nobody_vouches_for_is_refused(tmp_path: Path) -> None:
    certificate, key = _certificate(tmp_path)
    options = ("--tls", "--tlscert", str(certificate), "--tlskey", str(key))
    with (
        NatsServer(tmp_path / "nats", *options, url="tls://localhost:{port}") as server,
        sending(tmp_path / "m", server.url) as world,
    ):
        world.remember("a stranger's lock")
        until(lambda: world.broker._said, "the refusal is noticed")

        assert world.pending() == 1


def _certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate of localhost that vouches for itself."""
    import datetime

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    certificate, private = folder / "certificate.pem", folder / "key.pem"
    certificate.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    private.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return certificate, private


# Another store, and snapshots


def test_after_a_restore_events_of_the_new_store_are_sent(
    tmp_path: Path, nats_server: NatsServer, reader: Reader
) -> None:
    reader.listen()
    with sending(tmp_path / "m", nats_server.url) as world:
        first = world.remember("of the old store")
        until(lambda: len(reader.messages) == 1, "the first event has arrived")
        made = BY_NAME["snapshot_create"].call(world.context(), {})
        BY_NAME["snapshot_restore"].call(world.context(), {"id": made["id"], "yes": True})
        second = world.remember("of the new store")
        until(lambda: any(one.get("key") == second for one in reader.bodies), "the second event has arrived")
        world.until_sent()

    assert [one["key"] for one in reader.bodies if one["kind"] == "mutated"] == [first, second]
    assert {"created", "restored"} <= {one["kind"] for one in reader.bodies}


def test_what_happens_to_a_snapshot_is_told_to_the_broker(
    tmp_path: Path, nats_server: NatsServer, reader: Reader
) -> None:
    reader.listen()
    with sending(tmp_path / "m", nats_server.url) as world:
        world.context().announce("created", {"id": "000001-20260101T000000Z-abcdef", "bytes": 12})
        world.context(Caller(tenant="other", agent="a.b")).announce("pruned", {"removed": 3})
        world.context().announce("deleted", {"id": "x"}, agent="kim")
        until(lambda: len(reader.messages) == 3, "every event has arrived")

    assert [one.subject for one in reader.messages] == [
        "holdfast.snapshot._.created",
        "holdfast.snapshot.a%2Eb.pruned",
        "holdfast.snapshot.kim.deleted",
    ]
    first = reader.bodies[0]
    assert (first["kind"], first["tenant"], first["agent"], first["bytes"]) == ("created", "default", None, 12)
    assert reader.bodies[1]["tenant"] == "other"


def test_what_happens_to_a_snapshot_is_told_on_the_socket_to_its_tenant(tmp_path: Path) -> None:
    """Without a broker as well."""
    with running_server(tmp_path / "m") as (server, url):
        with connect(url.replace("http", "ws") + "/stream/mem-live/viewer") as viewer:
            server.engine.context(Caller(tenant="other")).announce("created", {"id": "theirs"})
            server.engine.context(Caller()).announce("created", {"id": "ours"})
            frame = json.loads(viewer.recv(timeout=WAIT_SECONDS))
        waiting = server.engine.store.read().undispatched()

    assert frame["type"] == frame["data"]["type"] == "snapshot_created"
    assert frame["data"]["snapshot_created"]["id"] == "ours"
    assert waiting == 0
