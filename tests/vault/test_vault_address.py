"""From a text to a vault: every kind in one place, and no credential in it."""

from __future__ import annotations

import subprocess
import sys
from io import BytesIO
from pathlib import Path

import pytest
from conformance import read
from rows import each

from holdfast.core.errors import InvalidSettings
from holdfast.settings import Settings, load
from holdfast.vault.credentials import with_credentials
from holdfast.vault.local import LocalVault
from holdfast.vault.vault_url import vault_from

pytestmark = pytest.mark.quick

NONE = load(environ={})


def settings(**values: object) -> Settings:
    return load({name: str(value) for name, value in values.items()}, environ={})


def test_a_text_names_a_folder(tmp_path: Path) -> None:
    texts = (str(tmp_path), f"file://{tmp_path}", f"file://localhost{tmp_path}", f" {tmp_path} ", f"file:{tmp_path}")
    for text in texts:
        assert vault_from(text, NONE).place == str(tmp_path)
    assert vault_from("file:///with%20space", NONE).place == "/with space"
    assert vault_from("~/vault", NONE).place == str(Path("~/vault").expanduser())
    vault_from(str(tmp_path), NONE).put("a", BytesIO(b"x"))
    assert read(LocalVault(tmp_path), "a") == b"x"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("s3://bucket", "s3://bucket"),
        ("s3://bucket/a/b/", "s3://bucket/a/b"),
        ("S3://bucket/a", "s3://bucket/a"),
        ("gs://bucket/a", "gs://bucket/a"),
        ("az://container/a", "az://container/a"),
        ("hf://datasets/owner/name", "hf://datasets/owner/name"),
        ("hf://datasets/owner/name/", "hf://datasets/owner/name"),
    ],
)
def test_a_url_names_a_vault_elsewhere_without_asking_it(text: str, place: str, tmp_path: Path) -> None:
    known = settings(azure_account="account", azure_key="a2V5", vault_key_id="id", vault_key="key")

    assert vault_from(text, known).place == place


@each(
    "text",
    [
        "", "vault", "./vault", "ftp://hunter2@host/x", "file://host/x", "file:///x?y", "file://", "file:vault",
        "s3://key:hunter2@bucket/x", "s3://", "s3:///x", "s3://bucket?secret=hunter2", "s3://bucket/../x",
        "s3://bucket/a#hunter2", "s3://bucket/a b", "gs://u:hunter2@b", "az://container?sas=hunter2",
        "hf://owner/name", "hf://datasets/name", "hf://datasets/a/b/c", "hf://user:hunter2@datasets/a/b",
        "hf://datasets/../b", "hf://models/a/b", "hf://datasets/a/b?token=hunter2",
    ],
)  # fmt: skip
def test_a_text_that_names_no_known_vault_is_refused_without_being_repeated(text: str) -> None:
    with pytest.raises(InvalidSettings) as caught:
        vault_from(text, NONE)
    assert "hunter2" not in f"{caught.value.message}{caught.value.hint}"


@each(
    "endpoint",
    ["http://example.org", "https://u:hunter2@example.org", "ftp://localhost", "http://169.254.169.254", "https://"],
)
def test_an_endpoint_in_the_clear_or_with_a_password_is_refused(endpoint: str) -> None:
    with pytest.raises(InvalidSettings) as caught:
        vault_from("s3://bucket", settings(vault_endpoint=endpoint))
    assert "hunter2" not in caught.value.message
    with pytest.raises(InvalidSettings):
        vault_from("hf://datasets/a/b", settings(hub_url=endpoint))


@each("endpoint", ["http://127.0.0.1:9000", "http://minio:9000", "http://10.0.0.9", "https://x.org"])
def test_a_compatible_server_has_an_address_of_its_own(endpoint: str) -> None:
    assert vault_from("s3://bucket", settings(vault_endpoint=endpoint)).place == f"s3://bucket at {endpoint}"


# Credentials


def _file(path: Path, text: str, mode: int = 0o600) -> Settings:
    path.write_text(text)
    path.chmod(mode)
    return settings(vault_credentials=path)


def test_keys_come_from_a_private_file(tmp_path: Path) -> None:
    text = "# mine\n\nAWS_ACCESS_KEY_ID=id\nexport AWS_SECRET_ACCESS_KEY = 'k=e=y'\nHOLDFAST_HUB_TOKEN=\"hf_x\"\n"
    found = with_credentials(_file(tmp_path / "keys", text))

    assert (found.vault_key_id, found.vault_key, found.hub_token) == ("id", "k=e=y", "hf_x")


def test_the_environment_has_the_first_word(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    _file(path, "HF_TOKEN=of-the-file")
    known = load({"vault_credentials": str(path)}, environ={"HF_TOKEN": "of-the-environment"})

    assert with_credentials(known).hub_token == "of-the-environment"


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o660])
def test_a_file_that_others_can_read_is_refused(tmp_path: Path, mode: int) -> None:
    with pytest.raises(InvalidSettings, match="other users"):
        with_credentials(_file(tmp_path / "keys", "HF_TOKEN=hunter2", mode))


@pytest.mark.parametrize("text", ["hunter2", "PATH=hunter2", "HF_TOKEN", "HF_TOKEN=x\nhunter2\n", "HOLDFAST_HOST=x"])
def test_what_is_no_credential_is_told_by_its_line_only(tmp_path: Path, text: str) -> None:
    with pytest.raises(InvalidSettings, match="line") as caught:
        with_credentials(_file(tmp_path / "keys", text))
    assert "hunter2" not in caught.value.message


def test_a_file_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "keys")
    for path in (tmp_path, tmp_path / "nothing", tmp_path / "link"):
        with pytest.raises(InvalidSettings):
            with_credentials(settings(vault_credentials=path))
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    (tmp_path / "binary").chmod(0o600)
    with pytest.raises(InvalidSettings):
        with_credentials(settings(vault_credentials=tmp_path / "binary"))


def test_nothing_heavy_is_loaded_before_it_is_named() -> None:
    script = (
        "import sys; import holdfast.engine; from holdfast.vault.vault_url import vault_from\n"
        "from holdfast.settings import load; vault_from('/tmp/x', load(environ={}))\n"
        "assert not {'obstore', 'huggingface_hub'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_a_kind_whose_package_is_missing_says_which(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "obstore", None)
    monkeypatch.delitem(sys.modules, "holdfast.vault.objects", raising=False)

    with pytest.raises(InvalidSettings) as caught:
        vault_from("s3://bucket", NONE)
    assert "holdfast[objects]" in caught.value.hint
