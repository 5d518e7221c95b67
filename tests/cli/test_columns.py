"""Tables fit the terminal: ids and dates stand whole at every width, other cells are cut or put on lines of their own."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from rich.cells import cell_len
from rich.console import Console
from world import World

from holdfast.cli.connect import ConnectReport
from holdfast.cli.main import main
from holdfast.cli.output.columns import ColumnTitle, fitted, print_table
from holdfast.cli.output.render import print_answer, print_report

pytestmark = pytest.mark.quick

Command = Callable[..., list[str]]
each_width = pytest.mark.parametrize("width", [60, 80, 120])
DATE = re.compile(r"\d{4}-\d{2}-\d{2} \d{2}:\d{2}")


def printed(heads: list[ColumnTitle], rows: list[list[str]], width: int) -> list[str]:
    out = io.StringIO()
    print_table(Console(file=out, width=width, highlight=False), heads, rows)
    return out.getvalue().splitlines()


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A folder with memories of long texts and projects, a session and a snapshot; and the ids of the memories."""
    world = World(tmp_path_factory.mktemp("tables") / "m")
    ids = []
    for number in range(3):
        text = f"Kiln {number} is fired on Fridays and needs seven hours to cool down before anyone opens its door"
        made = world.call("remember", content=text, project="pottery-workshop-at-the-harbour", uri=f"craft://{number}")
        ids.append(made["memory"]["id"])
    world.observe(session="s" * 30, prompt="Why is the kiln cold, and who opened its door so early?")
    world.call("snapshot_create", label="before the move to the new workshop at the river")
    world.close()
    return world.engine.path, ids


@pytest.fixture
def command(
    memory: tuple[Path, list[str]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    """Runs a command on that folder, on a terminal of a width; its lines."""

    def run(words: str, width: int) -> list[str]:
        monkeypatch.setenv("COLUMNS", str(width))
        monkeypatch.setenv("HOLDFAST_EMBEDDER", "none")
        assert main([*words.split(), "--data", str(memory[0])]) == 0
        return capsys.readouterr().out.splitlines()

    return run


@each_width
@pytest.mark.parametrize("words", ["memories", "show memories", "recall kiln"])
def test_ids_of_memories_stand_whole_at_every_width(
    memory: tuple[Path, list[str]], command: Command, words: str, width: int
) -> None:
    lines = command(words, width)

    for id in memory[1]:
        assert any(id in line for line in lines), lines
    assert max(map(cell_len, lines)) <= width


@each_width
@pytest.mark.parametrize("words", ["snapshot list", "show snapshots", "show memories", "show sessions", "audit"])
def test_dates_stand_whole_at_every_width(command: Command, words: str, width: int) -> None:
    lines = command(words, width)

    assert any(DATE.search(line) for line in lines), lines
    assert [line for line in lines if re.search(r"\d{4}-\d{2}-\d{2}(?! \d{2}:\d{2})", line)] == []
    assert max(map(cell_len, lines)) <= width


def test_a_cell_that_is_too_long_is_cut_and_says_so() -> None:
    lines = printed([ColumnTitle("id", True), ColumnTitle("text")], [["mem_1", "word " * 30]], 40)

    assert lines[-1].split()[0] == "mem_1"
    assert lines[-1].rstrip().endswith("…")


def test_on_a_narrow_terminal_each_row_is_a_few_lines() -> None:
    lines = printed(
        [ColumnTitle("id", True), ColumnTitle("when", True), ColumnTitle("text")],
        [["m" * 30, "d" * 16, "word " * 30]] * 2,
        50,
    )

    assert lines[0] == "id    " + "m" * 30
    assert lines[1] == "when  " + "d" * 16
    assert lines[2].startswith("text  word word")
    assert len(lines[2]) == 50
    assert lines[3] == ""
    assert lines[4:] == lines[:3]


def test_markup_in_a_cell_is_shown_as_it_is() -> None:
    assert "[bold red]not a colour[/]" in "\n".join(printed([ColumnTitle("text")], [["[bold red]not a colour[/]"]], 80))


@given(
    width=st.integers(20, 200),
    table=st.integers(1, 6).flatmap(
        lambda count: st.tuples(
            st.lists(st.booleans(), min_size=count, max_size=count),
            st.lists(
                st.lists(st.text("abc日本 ", max_size=90), min_size=count, max_size=count), min_size=1, max_size=4
            ),
        )
    ),
)
def test_columns_never_take_more_room_than_there_is(width: int, table: tuple[list[bool], list[list[str]]]) -> None:
    whole, rows = table
    heads = [ColumnTitle(f"column {number}", one) for number, one in enumerate(whole)]
    widths = fitted(heads, rows, width)
    if widths is None:
        return
    assert sum(widths) + 2 * (len(widths) - 1) <= width
    for at, head in enumerate(heads):
        if head.whole:
            assert widths[at] >= max(cell_len(row[at]) for row in rows)


@each_width
def test_a_diff_is_printed_line_by_line_as_it_is(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    long = '+      "command": "' + "/a/very/long/path" * 12 + ' hook session-start --url http://127.0.0.1:3111"'
    text = f"--- settings.json\n+++ settings.json\n@@ -1,3 +1,4 @@\n {{\n{long}\n-\told [bold]line[/bold]\n }}"

    print_report(ConnectReport("would connect", "claude-code", diff=text, notes=("n" * 300,)))

    said = capsys.readouterr().out.splitlines()
    assert said[:7] == text.splitlines()
    assert said[-1] == "  note: " + "n" * 300


@pytest.mark.parametrize("words", ["memories", "sessions", "snapshot list"])
def test_a_row_of_a_list_is_one_line_at_80_columns(
    words: str, command: Command, memory: tuple[Path, list[str]]
) -> None:
    lines = command(words, 80)
    rows = {"memories": 3, "sessions": 1, "snapshot list": 1}[words]
    assert len(lines) == 1 + rows
    assert all(DATE.search(line) for line in lines[1:])
    assert max(map(cell_len, lines)) <= 80


def test_spare_columns_go_before_a_text_is_cut_to_nothing() -> None:
    heads = [ColumnTitle("id", whole=True), ColumnTitle("project", spare=1), ColumnTitle("text", least=20)]
    rows = [["x" * 20, "harbour-light", "The light on the northern cliff is green."]]
    assert printed(heads, rows, 80)[0].split() == ["id", "project", "text"]
    assert printed(heads, rows, 45)[0].split() == ["id", "text"]


def test_the_labels_of_flags_stand_whole(command: Command) -> None:
    assert any(line.startswith("Chats may modify global memories ") for line in command("flags", 80))


def test_the_preview_of_a_move_names_each_tenant_and_how_much_it_has(capsys: pytest.CaptureFixture[str]) -> None:
    print_answer({"tenants": [{"tenant": "acme", "change": "replaced", "records": 201}]})
    shown = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert shown[1:] == ["tenant  change    records", "acme    replaced  201"]


def test_the_overview_is_a_page_and_no_list_of_zeros(command: Command) -> None:
    lines = command("overview", 80)
    assert "Last 60 days" in lines
    assert not any("0, 0, 0" in line for line in lines)


def test_a_list_that_was_narrowed_says_that_nothing_was_found(command: Command) -> None:
    assert command("memories --project nowhere", 80) == ["None found."]
    assert command("memories --count", 80) == ["3 memories."]
