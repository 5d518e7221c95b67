"""A dataset as a vault, through the real huggingface_hub client against a stand-in for the hub."""

from __future__ import annotations

import os
import tempfile
from io import BytesIO
from pathlib import Path

import pytest
from conformance import LARGE, Conformance, names, parcel, read
from hub_server import DATASET, TOKEN, Dataset, HubServer

from holdfast.core.errors import (
    Conflict,
    Fault,
    NotFound,
    VaultBusy,
    VaultFull,
    VaultRefused,
    VaultUnauthorized,
    VaultUnreachable,
)
from holdfast.core.ports import Vault
from holdfast.settings import load
from holdfast.vault.hub import HubVault
from holdfast.vault.vault_url import vault_from

# Of the client's own way to its own HTTP library.
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files go."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def vault_of(hub: HubServer, token: str | None = TOKEN, dataset: str = DATASET) -> HubVault:
    return HubVault(dataset, hub.url, token)


class TestHubVault(Conformance):
    @pytest.fixture
    def vault(self, hub: HubServer) -> Vault:
        return vault_of(hub)


class TestHubVaultAsItIsUsed(Conformance):
    """With the wrappers that the settings put around it."""

    @pytest.fixture
    def vault(self, hub: HubServer) -> Vault:
        given = {"hub_url": hub.url, "hub_token": TOKEN, "vault_quota": "1000000000"}
        return vault_from(f"hf://datasets/{DATASET}", load(given, environ={}))


def test_all_files_of_a_snapshot_are_one_commit(hub: HubServer) -> None:
    before = len(hub.dataset.commits)
    vault_of(hub).put_all([parcel("a/body", LARGE), parcel("a/sum", b"s"), parcel("a/manifest", b"m")])

    assert len(hub.dataset.commits) == before + 1
    assert {name for name in hub.dataset.files("main") if name.startswith("a/")} == {"a/body", "a/sum", "a/manifest"}


def test_only_what_is_asked_for_is_fetched(hub: HubServer) -> None:
    vault = vault_of(hub)
    vault.put_all([parcel("a/body", LARGE), parcel("a/manifest", b"m")])
    hub.asked.clear()

    assert read(vault, "a/manifest") == b"m"
    assert {path for _, path in hub.asked} == {f"/datasets/{DATASET}/resolve/main/a/manifest"}


def test_large_bytes_that_the_hub_has_already_are_not_sent_again(hub: HubServer) -> None:
    vault = vault_of(hub)
    vault.put("a", BytesIO(LARGE))
    hub.asked.clear()
    vault.put("b", BytesIO(LARGE))

    assert not [path for method, path in hub.asked if method == "PUT"]
    assert read(vault, "b") == LARGE


def test_the_hub_says_the_hash_of_large_bytes(hub: HubServer) -> None:
    vault = vault_of(hub)
    vault.put("a", BytesIO(LARGE))

    assert vault.stat("a").sha256 == hub.dataset.files("main")["a"].sha256
    assert next(vault.list("a")).sha256 == vault.stat("a").sha256


def test_a_commit_in_between_is_looked_at_and_the_own_one_put_on_top(hub: HubServer) -> None:
    vault, other = vault_of(hub), vault_of(hub)
    once = ["other"]

    def before(method: str, path: str) -> None:
        if path.endswith("/commit/main") and once:
            name = once.pop()
            hub.dataset.commit({**hub.dataset.files("main"), name: hub.dataset.files("main")[".gitattributes"]})

    hub.before = before  # type: ignore[assignment]
    vault.put("a", BytesIO(b"x"))
    assert names(other) == ["a", "other"]


def test_a_name_that_a_commit_in_between_took_is_a_conflict(hub: HubServer) -> None:
    vault = vault_of(hub)
    once = [1]

    def before(method: str, path: str) -> None:
        if path.endswith("/commit/main") and once:
            once.pop()
            hub.dataset.commit({**hub.dataset.files("main"), "a": hub.dataset.files("main")[".gitattributes"]})

    hub.before = before  # type: ignore[assignment]
    with pytest.raises(Conflict):
        vault.put("a", BytesIO(b"x"))
    assert read(vault, "a") == b""


def test_nothing_is_put_where_anybody_could_read_it(hub: HubServer) -> None:
    vault = vault_of(hub)
    vault.put("a", BytesIO(b"x"))
    hub.dataset.private = False

    assert vault.state().public
    for call in (
        lambda: vault.put("b", BytesIO(b"x")),
        lambda: vault.put_all([parcel("b", b"x")]),
        lambda: vault.replace("a", BytesIO(b"y"), vault.stat("a").tag),
    ):
        with pytest.raises(VaultRefused, match="public"):
            call()
    assert len(hub.dataset.commits) == 2
    vault.delete("a")
    assert names(vault) == []


def test_nothing_is_left_of_what_was_fetched_or_sent(hub: HubServer, scratch: Path) -> None:
    vault = vault_of(hub)
    vault.put("a", BytesIO(LARGE))
    with vault.open("a") as stream:
        assert stream.read() == LARGE
        assert os.listdir(scratch) == []


# Faults


@pytest.mark.parametrize("token", ["hf_wrong", None], ids=["wrong", "none"])
def test_a_token_that_is_not_taken_is_told_as_such_and_not_repeated(hub: HubServer, token: str | None) -> None:
    vault = vault_of(hub, token)
    for call in (
        lambda: vault.put("a", BytesIO(b"x")),
        lambda: vault.open("a"),
        lambda: list(vault.list()),
        lambda: vault.stat("a"),
        lambda: vault.delete("a"),
        vault.state,
    ):
        with pytest.raises(VaultUnauthorized) as caught:
            call()
        assert "hf_wrong" not in str(caught.value.to_dict())


def test_a_dataset_that_is_not_there_is_no_empty_vault(hub: HubServer) -> None:
    vault = vault_of(hub, dataset="owner/nothing")
    for call in (
        lambda: vault.put("a", BytesIO(b"x")),
        lambda: vault.open("a"),
        lambda: list(vault.list()),
        lambda: list(vault.list("a/b")),
        lambda: vault.stat("a"),
        vault.state,
    ):
        with pytest.raises(VaultRefused):
            call()
    hub.datasets["owner/nothing"] = Dataset()
    assert names(vault) == []


@pytest.mark.parametrize(
    ("status", "headers", "fault"),
    [
        (403, {}, VaultRefused),
        (429, {"retry-after": "7"}, VaultBusy),
        (507, {}, VaultFull),
        (500, {}, VaultUnreachable),
        (0, {}, VaultUnreachable),
    ],
    ids=["403", "429", "507", "500", "no answer"],
)
@pytest.mark.parametrize("at", ["/commit/", "/paths-info/", f"/datasets/{DATASET}"])
def test_faults_of_the_hub_keep_their_kind(
    hub: HubServer, status: int, headers: dict[str, str], fault: type[Fault], at: str
) -> None:
    """At the questions that the client itself does not ask again with pauses of its own."""
    vault = vault_of(hub)
    hub.before = lambda method, path: (status, headers) if at in path and "preupload" not in path else None

    with pytest.raises(fault) as caught:
        vault.put("a", BytesIO(b"x"))
    assert TOKEN not in str(caught.value.to_dict())
    if status == 429:
        assert caught.value.details == {"retryAfter": 7}
    hub.before = lambda method, path: None
    assert names(vault) == []


@pytest.mark.parametrize(("status", "fault"), [(403, VaultRefused), (0, VaultUnreachable)])
def test_a_file_that_does_not_come_is_not_missing(hub: HubServer, status: int, fault: type[Fault]) -> None:
    vault = vault_of(hub)
    vault.put("a", BytesIO(b"x"))
    hub.before = lambda method, path: (status, {}) if "/resolve/" in path else None

    with pytest.raises(fault):
        vault.open("a")
    hub.before = lambda method, path: None
    with pytest.raises(NotFound):
        vault.open("b")


def test_large_bytes_that_are_not_taken_leave_nothing(hub: HubServer) -> None:
    vault = vault_of(hub)
    hub.before = lambda method, path: (403, {}) if path.startswith("/large/") else None

    with pytest.raises(VaultRefused):
        vault.put_all([parcel("a/body", LARGE), parcel("a/manifest", b"m")])
    assert names(vault) == []


def test_nobody_there_is_unreachable() -> None:
    with pytest.raises(VaultUnreachable):
        HubVault(DATASET, "http://127.0.0.1:1", TOKEN).state()
