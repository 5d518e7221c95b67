"""A fleet as deploy/ describes it: the database and its roles, two servers, and the load balancer in front of them."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import httpx2
import psycopg
import pytest
import yaml
from anyio.from_thread import start_blocking_portal
from deployed_fleet import FLEET, PASSWORDS, SECRET, Fleet, fleet, migrated, of_service, services
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from patience import WAIT_SECONDS, until
from processes import Server, serving, word
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from holdfast.cli.main import _parser as parser_of
from holdfast.settings import BY_NAME, load

KUBERNETES = FLEET.parent / "kubernetes" / "fleet.yaml"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    with fleet(tmp_path_factory.mktemp("fleet")) as made:
        yield made


@pytest.fixture
def mortal(tmp_path: Path) -> Iterator[Fleet]:
    """One whose servers a test may kill."""
    with fleet(tmp_path) as made:
        yield made


def requests_of(server: Server, operation: str) -> int:
    """How many requests of an operation a server has answered."""
    page = server.http.get("/metrics", headers={"Authorization": f"Bearer {SECRET}"}).text
    found = re.findall(rf'^holdfast_requests_total{{operation="{operation}",status="2xx"}} (\d+)', page, re.M)
    return sum(map(int, found))


def sentence() -> str:
    return f"the {word()} stands beside the {word()}"


def remember(http: httpx.Client, text: str) -> str:
    answer = http.post("/agentmemory/remember", json={"content": text})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["memory"]["id"])


def contents(http: httpx.Client) -> set[str]:
    answer = http.get("/agentmemory/memories", params={"limit": 500})
    return {one["content"] for one in answer.json()["memories"]}


# The database


def test_the_role_that_serves_changes_no_table(served: Fleet) -> None:
    given = of_service("one", served.database)
    with psycopg.connect(given["HOLDFAST_STORE"], password=given["PGPASSWORD"]) as db:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            db.execute("CREATE TABLE mine (id bigint)")
        db.rollback()
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            db.execute("DROP TABLE memories")
    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(given["HOLDFAST_STORE"], password="wrong")


def test_migrate_may_be_run_again_while_servers_run(served: Fleet) -> None:
    assert migrated(served.database).returncode == 0


# The load balancer


def test_requests_go_to_both_servers_and_see_one_memory(served: Fleet) -> None:
    texts = {sentence() for _ in range(10)}
    with served.client() as http:
        for text in texts:
            remember(http, text)
        assert all(texts <= contents(http) for _ in range(4))
    assert all(requests_of(server, "remember") > 0 for server in served.servers)


@contextlib.contextmanager
def reading(url: str, since: str = "") -> Iterator[ClientConnection]:
    """A live reader at a server, or behind the load balancer."""
    address = f"{url.replace('http', 'ws')}/stream/mem-live/viewer?since={since}"
    with connect(address, additional_headers={"Authorization": f"Bearer {SECRET}"}) as socket:
        yield socket


def frame(socket: ClientConnection, kind: str) -> Any:
    while True:
        found = json.loads(socket.recv(timeout=WAIT_SECONDS))
        if found["type"] == kind:
            return found


def test_a_live_reader_behind_the_load_balancer_sees_the_writes_of_all_servers(served: Fleet) -> None:
    with reading(served.url) as socket, served.client() as http:
        frame(socket, "hello")
        texts = [sentence() for _ in range(6)]
        for text in texts:
            remember(http, text)
        assert {frame(socket, "memory")["data"]["memory"]["content"] for _ in texts} == set(texts)


@contextlib.contextmanager
def mcp_client(fleet: Fleet) -> Iterator[Callable[..., Any]]:
    """The MCP SDK's own client in one session; what is yielded calls a tool."""

    @contextlib.asynccontextmanager
    async def connected() -> Any:
        async with (
            httpx2.AsyncClient(headers=fleet.headers, timeout=WAIT_SECONDS, trust_env=False) as http,
            Client(streamable_http_client(f"{fleet.url}/mcp", http_client=http)) as client,
        ):
            yield client

    with start_blocking_portal() as portal, portal.wrap_async_context_manager(connected()) as client:

        def call(tool: str, **arguments: Any) -> Any:
            result = portal.call(client.call_tool, tool, arguments)
            assert not result.is_error, result
            return json.loads(result.content[0].text)

        yield call


def test_a_session_of_mcp_need_not_stay_with_one_server(served: Fleet) -> None:
    before = [requests_of(server, "remember") for server in served.servers]
    texts = [sentence() for _ in range(8)]
    with mcp_client(served) as call:
        for text in texts:
            call("memory_save", content=text)
    with served.client() as http:
        assert set(texts) <= contents(http)
    after = [requests_of(server, "remember") for server in served.servers]
    assert all(now > then for now, then in zip(after, before, strict=True))


def test_a_server_that_dies_takes_no_session_with_it(mortal: Fleet) -> None:
    with mortal.client() as http, mcp_client(mortal) as call, reading(mortal.url) as socket:
        place = frame(socket, "hello")["place"]
        before = sentence()
        remember(http, before)
        of_socket = next(one for one in mortal.servers if knows(one, place))
        of_socket.kill()
        with pytest.raises(ConnectionClosed):  # the load balancer ends it, and a client connects again
            frame(socket, "nothing")
        until(lambda: answers(http), "the load balancer knows")
        after = sentence()
        call("memory_save", content=after)
        assert {before, after} <= contents(http)
        with reading(mortal.url, place) as again:
            frame(again, "gap")  # it loads its lists anew
            remember(http, text := sentence())
            assert frame(again, "memory")["data"]["memory"]["content"] == text


def knows(server: Server, place: str) -> bool:
    """Whether a place is one of this server's: it can go on from there."""
    with reading(server.url, place) as socket:
        return bool(json.loads(socket.recv(timeout=WAIT_SECONDS))["type"] != "gap")


def answers(http: httpx.Client) -> bool:
    return all(http.get("/agentmemory/livez").status_code == 200 for _ in range(4))


# A data folder that is new at each start, as in a pod


def test_a_new_data_folder_serves_what_the_database_holds(served: Fleet, tmp_path: Path) -> None:
    """The vault is for an empty database: here it holds an earlier state, which is not restored."""
    (tmp_path / "vault").mkdir()
    given = {
        **of_service("one", served.database), "HOLDFAST_SECRET": SECRET, "HOLDFAST_VAULT": str(tmp_path / "vault"),
    }  # fmt: skip
    texts = []
    for life in range(3):
        with serving(tmp_path / f"disk-{life}", **given) as server:
            server.http.headers["Authorization"] = f"Bearer {SECRET}"
            assert set(texts) <= contents(server.http)
            assert server.post("/snapshots").is_success
            assert server.post("/vault/sync").is_success
            texts.append(sentence())
            remember(server.http, texts[-1])
    assert len(list((tmp_path / "vault").rglob("*.manifest.json"))) == 3


# Files


def test_the_manifests_of_the_fleet_fit_together() -> None:
    documents = list(yaml.safe_load_all(KUBERNETES.read_text("utf-8")))
    named = {(one["kind"], one["metadata"]["name"]): one for one in documents}
    spec = named["Deployment", "holdfast"]["spec"]
    keeper = named["StatefulSet", "holdfast-snapshots"]["spec"]
    (job,) = (one for one in documents if one["kind"] == "Job")
    (migrate,) = job["spec"]["template"]["spec"]["containers"]

    for name, one in (("holdfast", spec), ("holdfast-snapshots", keeper)):
        (server,) = one["template"]["spec"]["containers"]
        labels = one["template"]["metadata"]["labels"]
        claims = [claim["metadata"] for claim in one.get("volumeClaimTemplates", ())]
        assert named["Service", name]["spec"]["selector"] == labels == one["selector"]["matchLabels"]
        assert [port["containerPort"] for port in server["ports"]] == [int(BY_NAME["port"].default)]
        volumes = [*one["template"]["spec"]["volumes"], *claims]
        assert {mount["name"] for mount in server["volumeMounts"]} == {volume["name"] for volume in volumes}
        assert server["image"] == migrate["image"]
        assert job["metadata"]["name"].endswith(server["image"].partition(":")[2])
        assert store_secret(server) != store_secret(migrate), "no pod that serves knows the owner's password"
        assert_takes(server)
    assert_takes(migrate)
    budget = named["PodDisruptionBudget", "holdfast"]["spec"]["selector"]["matchLabels"]
    assert budget == spec["selector"]["matchLabels"]
    assert spec["replicas"] > 1
    assert spec["strategy"]["type"] == "RollingUpdate"


def assert_takes(container: Any) -> None:
    """Its command and settings are ones that the program takes, and it needs no right to change its image."""
    parser_of(container["args"]).parse_args(container["args"])
    load({}, {one["name"]: one["value"] for one in container["env"] if "value" in one})
    assert container["securityContext"]["readOnlyRootFilesystem"]


def test_one_server_of_a_fleet_makes_the_snapshots() -> None:
    """Each data folder numbers its own: see docs/fleet.md."""
    pods = [one for one in yaml.safe_load_all(KUBERNETES.read_text("utf-8")) if "template" in one["spec"]]
    (server,) = (one["spec"]["template"]["spec"]["containers"][0] for one in pods if one["kind"] == "Deployment")
    (keeper,) = (one["spec"]["template"]["spec"]["containers"][0] for one in pods if one["kind"] == "StatefulSet")
    of_pods = [{one["name"]: one.get("value", "") for one in each["env"]} for each in (server, keeper)]
    of_services = [services()[name]["environment"] for name in ("two", "one")]
    for quiet, making in (of_pods, of_services):
        assert (quiet["HOLDFAST_SNAPSHOT_EVERY"], quiet["HOLDFAST_SNAPSHOT_BEFORE"]) == ("off", "none")
        assert not {"HOLDFAST_SNAPSHOT_EVERY", "HOLDFAST_SNAPSHOT_BEFORE"} & set(making)


def store_secret(container: Any) -> str:
    return next(one["valueFrom"]["secretKeyRef"]["name"] for one in container["env"] if one["name"] == "HOLDFAST_STORE")


def test_the_compose_file_of_the_fleet_names_what_is_there() -> None:
    compose = yaml.safe_load((FLEET / "compose.yaml").read_text("utf-8"))
    mounted = [volume.split(":")[0] for one in services().values() for volume in one.get("volumes", ())]
    roles = {name: one["environment"]["HOLDFAST_STORE"] for name, one in services().items() if "build" in one}

    assert {one for one in mounted if not one.startswith("./")} == set(compose["volumes"])
    assert all((FLEET / one).is_file() for one in mounted if one.startswith("./"))
    assert {name for one in services().values() for name in one.get("depends_on", ())} <= set(services())
    assert roles["migrate"].startswith("postgresql://holdfast_owner@")
    assert {roles[name] for name in ("one", "two")} == {"postgresql://holdfast_app@postgres/holdfast"}
    assert services()["one"]["volumes"] != services()["two"]["volumes"], "a data folder belongs to one server"
    for name in roles:
        assert (FLEET / services()[name]["build"]["context"] / services()[name]["build"]["dockerfile"]).is_file()
        assert services()[name]["read_only"]
    words = services()["migrate"]["command"]
    parser_of(words).parse_args(words)
    assert set(PASSWORDS) <= set(services()["postgres"]["environment"])
