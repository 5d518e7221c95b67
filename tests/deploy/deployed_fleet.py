"""The fleet of deploy/fleet with real programs: its database, its two servers and its load balancer, without Docker."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import yaml
from broker import free_port
from patience import WAIT_SECONDS, until
from postgres_cluster import BIN, Cluster, cluster
from processes import Server, environment, holdfast, serving

FLEET = Path(__file__).parents[2] / "deploy" / "fleet"
PASSWORDS = {"OWNER_PASSWORD": "owner's own: secret", "APP_PASSWORD": 'app"s $ secret'}
SECRET = "a-secret-of-the-fleet"


def services() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((FLEET / "compose.yaml").read_text("utf-8"))["services"]
    return found


def prepare(database: Cluster) -> None:
    """Roles as roles.sh makes them, who need their passwords from now on."""
    guarded = "local all holdfast_owner,holdfast_app scram-sha-256\n"
    hba = database.data / "pg_hba.conf"
    hba.write_text(guarded + hba.read_text())
    path = {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "PGHOST": str(database.folder), "PGUSER": "postgres"}
    subprocess.run(["sh", FLEET / "roles.sh"], env={**path, **PASSWORDS}, check=True, timeout=WAIT_SECONDS)
    database.execute("SELECT pg_reload_conf()")


def of_service(name: str, database: Cluster) -> dict[str, str]:
    """What compose.yaml sets for a service, with the database where it is here, and without broker and vault."""
    given = services()[name]["environment"]
    password = PASSWORDS[given["PGPASSWORD"].removeprefix("${").partition(":")[0]]
    store = given["HOLDFAST_STORE"].replace("@postgres/", "@/") + f"?host={database.folder}"
    return {"HOLDFAST_STORE": store, "PGPASSWORD": password}


def migrated(database: Cluster) -> subprocess.CompletedProcess[str]:
    command = holdfast(*services()["migrate"]["command"], "--json")
    environ = environment(**of_service("migrate", database))
    return subprocess.run(command, env=environ, capture_output=True, text=True, timeout=WAIT_SECONDS, check=False)


@dataclass
class Fleet:
    """Two servers behind the load balancer at `url`."""

    url: str
    servers: tuple[Server, Server]
    database: Cluster

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {SECRET}"}

    def client(self) -> httpx.Client:
        return httpx.Client(base_url=self.url, headers=self.headers, timeout=WAIT_SECONDS, trust_env=False)


@contextmanager
def balanced(servers: tuple[Server, Server], folder: Path) -> Iterator[str]:
    """HAProxy with the file of deploy/fleet, where only the addresses are those of this machine."""
    port = free_port()
    text = (FLEET / "haproxy.cfg").read_text("utf-8").replace("bind :3111", f"bind 127.0.0.1:{port}")
    for name, server in zip(("one", "two"), servers, strict=True):
        assert f" {name}:3111" in text
        text = text.replace(f" {name}:3111", f" {server.url.removeprefix('http://')}")
    config = folder / "haproxy.cfg"
    config.write_text(text, "utf-8")
    subprocess.run(["haproxy", "-c", "-f", config], check=True, capture_output=True, timeout=WAIT_SECONDS)
    with (folder / "haproxy.log").open("w") as log:
        process = subprocess.Popen(["haproxy", "-db", "-f", config], stdout=log, stderr=log)
        try:
            url = f"http://127.0.0.1:{port}"
            until(lambda: process.poll() is not None or _answers(url), "the load balancer answers")
            assert process.poll() is None, (folder / "haproxy.log").read_text()
            yield url
        finally:
            process.kill()
            process.wait()


def _answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/agentmemory/livez", timeout=5, trust_env=False).status_code == 200
    except httpx.HTTPError:
        return False


@contextmanager
def fleet(folder: Path) -> Iterator[Fleet]:
    with ExitStack() as stack:
        database = stack.enter_context(cluster())
        prepare(database)
        done = migrated(database)
        assert done.returncode == 0, done.stderr
        servers = []
        for name in ("one", "two"):
            given = {**of_service(name, database), "HOLDFAST_SECRET": SECRET}
            servers.append(stack.enter_context(serving(folder / name, **given)))
        pair = (servers[0], servers[1])
        yield Fleet(stack.enter_context(balanced(pair, folder)), pair, database)
