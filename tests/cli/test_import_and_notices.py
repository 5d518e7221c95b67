"""What the command line says where an import brought nothing, and where a question was put to the wrong memory."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from world import running

sys.path.insert(0, str(Path(__file__).parents[1] / "snapshot"))
from flows import Cli

SECRET = "the-secret-of-the-server"


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path / "memory")


def document(folder: Path, value: Any) -> str:
    path = folder / "document.json"
    path.write_text(json.dumps(value), encoding="utf-8")
    return str(path)


def test_a_document_that_is_no_export_is_refused(cli: Cli, tmp_path: Path) -> None:
    said = cli("import", document(tmp_path, {"foo": 1}))

    assert said.code == 2
    assert "not an export" in said.fault["error"]
    assert "--from" in said.fault["hint"]


def test_what_was_not_imported_is_listed_with_the_reason(cli: Cli, tmp_path: Path) -> None:
    said = cli.plain("import", document(tmp_path, {"memories": [{"content": "The kettle"}, {"id": "mem_1"}]}))

    assert said.code == 2
    assert "id is missing" in said.out
    assert "content is missing" in said.out


def test_observations_in_one_list_are_imported(cli: Cli, tmp_path: Path) -> None:
    seen = {"id": "obs_1", "sessionId": "s1", "timestamp": "2026-05-01T10:00:00Z", "title": "Ran the kettle"}

    said = cli.good("import", document(tmp_path, {"observations": [seen]}))

    assert said["imported"]["observations"] == 1


def test_a_memory_without_a_date_is_of_the_day_of_its_import(cli: Cli, tmp_path: Path) -> None:
    cli.good("import", document(tmp_path, {"memories": [{"id": "mem_1", "content": "The kettle is green"}]}))

    (memory,) = cli.good("memories")["memories"]
    assert memory["createdAt"] > "2026"
    assert memory["createdAt"] == memory["validFrom"]


def test_an_empty_file_of_rules_is_named(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "CLAUDE.md").write_text("\n")

    said = cli("import", str(tmp_path / "CLAUDE.md"))

    assert (said.code, said.fault["error"]) == (2, f"import: {tmp_path / 'CLAUDE.md'} is empty")


def test_files_that_are_no_transcripts_are_told(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "broken.jsonl").write_text('{"type": "user"')

    said = cli.plain("import", str(tmp_path / "broken.jsonl"))

    assert f"Nothing in {tmp_path / 'broken.jsonl'} was recognised" in said.err


def test_a_question_to_an_empty_memory_names_the_folder(cli: Cli) -> None:
    empty = cli.plain("recall", "kettle")
    cli.remember("The harbour opens at six")
    other = cli.plain("recall", "kettle")

    assert "No results." in empty.out
    assert f"This memory is empty: {cli.home}" in empty.err
    assert "holdfast snapshot restore latest --from VAULT" in empty.err
    assert "memory is empty" not in other.err


def test_a_memory_that_holds_what_is_told_in_chats_is_not_called_empty(tmp_path: Path) -> None:
    cli = Cli(tmp_path / "memory", HOLDFAST_EMBEDDER="minilm")
    anna = ("--umo", "telegram:private:17", "--sender-id", "17")
    cli.good("remember", "The locker code is 4711", *anna)
    for chat in ((), ("--umo", "telegram:private:18", "--sender-id", "18")):
        said = cli.plain("recall", "locker", *chat)
        assert "No results." in said.out
        assert "memory is empty" not in said.err


def test_a_wrong_secret_is_told_by_the_variable_it_comes_from(cli: Cli, tmp_path: Path) -> None:
    with running(tmp_path / "other", secret=SECRET) as client:
        url = str(client.base_url)
        none = cli("recall", "kettle", "--url", url)
        cli.environment["AGENTMEMORY_SECRET"] = "quite-another-secret"
        wrong = cli("recall", "kettle", "--url", url)

    assert none.code == wrong.code == 10
    assert "Set HOLDFAST_SECRET" in none.fault["hint"]
    assert "Set AGENTMEMORY_SECRET" in wrong.fault["hint"]


def test_a_file_in_place_of_the_folder_is_told(cli: Cli) -> None:
    cli.home.write_text("")

    assert "the folder is a file" in cli.plain("status").out
    wrong = [one for one in cli("doctor").answer["checks"] if not one["ok"]]
    assert [(one["name"], one["found"]) for one in wrong] == [("data folder", f"{cli.home} is a file")]


def test_a_database_that_may_not_be_written_is_told_to_change_its_permissions(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli.remember("The kettle")
    opened = os.open

    def refuses(path: Any, flags: int, *mode: int) -> int:
        if str(path).endswith("memory.db"):
            raise PermissionError(13, "Permission denied")
        return int(opened(path, flags, *mode))

    monkeypatch.setattr("holdfast.store.sqlite.database.os.open", refuses)
    said = cli("recall", "kettle")

    assert said.code == 22
    assert "permissions" in said.fault["hint"]


@pytest.mark.parametrize(("given", "code"), [(b"The owl\nsits here", 0), (b"\xff\xfe", 2), (b" ", 2)])
def test_a_text_is_read_from_standard_input(cli: Cli, monkeypatch: pytest.MonkeyPatch, given: bytes, code: int) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(given)))

    assert cli("remember", "-").code == code
    assert [one["content"] for one in cli.good("memories")["memories"]] == ([given.decode()] if code == 0 else [])
