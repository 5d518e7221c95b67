"""The viewer's files: who may load them, what they may do in a browser, and what they must not hold."""

from __future__ import annotations

import re
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import httpx
import pytest
from rows import each
from world import running

import holdfast.viewer

pytestmark = pytest.mark.quick

SECRET = "a-secret-of-the-harbor-master"
FOLDER = Path(holdfast.viewer.__file__).parent
SHOWN = sorted(
    str(path.relative_to(FOLDER)) for path in FOLDER.rglob("*") if path.suffix in (".html", ".js", ".css", ".svg")
)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with running(tmp_path_factory.mktemp("viewer") / "memory", secret=SECRET) as client:
        yield client


@each("path", ["/viewer", "/viewer/", "/agentmemory/viewer", *(f"/viewer/{name}" for name in SHOWN)])
def test_every_file_is_public_and_carries_the_policy(client: httpx.Client, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 200
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';")
    assert "unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["cache-control"] == "no-cache"
    assert SECRET not in answer.text


def test_the_first_page_leads_to_the_viewer(client: httpx.Client) -> None:
    answer = client.get("/")
    assert (answer.status_code, answer.headers["location"]) == (307, "/viewer")


def test_a_file_that_did_not_change_is_not_sent_again(client: httpx.Client) -> None:
    first = client.get("/viewer/app.js")
    again = client.get("/viewer/app.js", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    other = client.get("/viewer/app.js", headers={"If-None-Match": '"something-else"'})
    assert other.content == first.content


def test_files_are_packed_for_those_who_take_it(client: httpx.Client) -> None:
    plain = client.get("/viewer/vendor/uplot.js", headers={"Accept-Encoding": "identity"})
    packed = client.get("/viewer/vendor/uplot.js", headers={"Accept-Encoding": "br, gzip"})
    refused = client.get("/viewer/vendor/uplot.js", headers={"Accept-Encoding": "gzip;q=0"})
    assert plain.content == packed.content == refused.content == (FOLDER / "vendor" / "uplot.js").read_bytes()
    assert "content-encoding" not in plain.headers
    assert "content-encoding" not in refused.headers
    assert packed.headers["content-encoding"] == "gzip"
    assert int(packed.headers["content-length"]) * 2 < int(plain.headers["content-length"])


@pytest.mark.parametrize(
    "path",
    [
        "__init__.py",
        "../settings.py",
        "%2e%2e/settings.py",
        "..%2fserve/app.py",
        "vendor",
        "vendor/README.md",
        "/etc/passwd",
    ],
)
def test_nothing_but_the_viewer_is_served(client: httpx.Client, path: str) -> None:
    assert client.get(f"/viewer/{path}").status_code in (401, 404)


def test_the_page_has_no_inline_script_or_style() -> None:
    page = (FOLDER / "index.html").read_text()
    assert re.findall(r"<script(?![^>]* src=)|<style|\son\w+=|\sstyle=|javascript:", page) == []


@each("name", [name for name in SHOWN if name.endswith(".js") and not name.startswith("vendor/")])
def test_a_script_asks_no_other_host_and_writes_no_markup(name: str) -> None:
    """Stored text reaches the page through text nodes only; the ways around that are not used at all."""
    text = (FOLDER / name).read_text()
    assert (
        re.findall(
            r"https?://(?!www\.w3\.org)|innerHTML|outerHTML|insertAdjacent|document\.write|\beval\(|new Function|dangerouslySet",
            text,
        )
        == []
    )
    assert re.findall(r"\bstyle=\"|\son[a-z]+=\"", text) == []


def test_libraries_are_what_their_list_says() -> None:
    rows = re.findall(
        r"^\| `([\w.-]+)` \| ([\w-]+) [\d.]+ \|.*`([0-9a-f]{64})` \|$",
        (FOLDER / "vendor" / "README.md").read_text(),
        re.M,
    )
    listed = {name: digest for name, _, digest in rows}
    found = {
        path.name: sha256(path.read_bytes()).hexdigest()
        for path in (FOLDER / "vendor").iterdir()
        if path.suffix in (".js", ".css")
    }
    assert listed == found
    assert all((FOLDER / "vendor" / f"{package}.LICENSE").exists() for _, package, _ in rows)


def test_whether_a_secret_is_asked_for_is_all_that_a_stranger_learns(client: httpx.Client, tmp_path: Path) -> None:
    assert client.get("/livez").json() == {"status": "ok", "service": "holdfast", "signIn": True}
    with running(tmp_path / "open") as other:
        assert other.get("/livez").json()["signIn"] is False
