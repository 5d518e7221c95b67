"""Commands that a server carries out load little, and say when they mean another memory than the environment names."""

from __future__ import annotations

import subprocess
import sys
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path

import pytest
from daemons import OpenMemory
from patience import WAIT_SECONDS
from rows import each

from holdfast.cli.command_table import command, endpoint, listing, rows
from holdfast.cli.main import _parser
from holdfast.cli.memory_location import reach
from holdfast.core.errors import InvalidRequest
from holdfast.ops.registry import BY_NAME, OPERATIONS

# Each takes a tenth of a second of processor time or more to load.
HEAVY = ("pydantic", "httpx", "numpy", "apsw", "mcp", "uvicorn", "starlette", "holdfast.ops", "holdfast.engine")
LOADED = f"import sys; from holdfast.cli.main import main; code = 0\ntry: code = main(sys.argv[1:])\nexcept SystemExit: pass\nsys.stderr.write('loaded: ' + ' '.join(n for n in {HEAVY!r} if n in sys.modules)); sys.exit(code)"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenMemory]:
    made = OpenMemory(tmp_path_factory.mktemp("light") / "memory")
    made.remember("The lighthouse stands on the cliff.")
    yield made
    made.end()


@pytest.mark.parametrize(
    "words",
    [
        ("--version",),
        ("--help",),
        ("snapshot", "--help"),
        ("recall", "--help"),
        ("recall", "lighthouse"),
        ("recall", "lighthouse", "--json"),
        ("remember", "The harbour freezes."),
        ("memories",),
        ("show",),
        ("show", "sessions"),
        ("snapshot", "list"),
        ("health",),
        ("status",),
        ("doctor",),
        ("import", "AGENTS.md"),
    ],
    ids=" ".join,
)
def test_a_command_through_a_server_loads_nothing_heavy(
    home: OpenMemory, words: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "AGENTS.md").write_text("- Ring the bell twice in fog.\n")
    done = subprocess.run(
        [sys.executable, "-c", LOADED, *words],
        env=home.environ,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert done.stderr.endswith("loaded: ")


@each("module", ["holdfast", "holdfast.local.launcher", "holdfast.cli.hook.hook_command"])
def test_what_a_hook_loads_is_of_the_standard_library(module: str) -> None:
    code = f"import sys; before = set(sys.modules); import {module}\nprint(*{{n.split('.')[0] for n in set(sys.modules) - before}} - sys.stdlib_module_names)"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert set(done.stdout.split()) <= {"holdfast"}


# The table


def test_the_table_has_every_operation() -> None:
    assert [row.name for row in rows()] == [operation.name for operation in OPERATIONS]
    assert [words for words, _ in listing()] == [operation.cli for operation in OPERATIONS if operation.cli]


def test_a_row_says_of_a_request_what_the_operation_says() -> None:
    for operation in OPERATIONS:
        row = endpoint(operation.name)
        assert (row.method, row.path, row.effect) == (operation.method, operation.path, operation.effect)
        assert (row.paths, row.long, row.asks, row.steps) == (
            operation.paths,
            operation.long,
            operation.asks,
            operation.steps,
        )


def test_no_words_are_no_command() -> None:
    assert command("") is None
    assert command("remember") is not None


def test_a_row_checks_arguments_as_the_operation_does() -> None:
    with pytest.raises(InvalidRequest) as here:
        endpoint("remember").read({})
    with pytest.raises(InvalidRequest) as there:
        BY_NAME["remember"].read({})

    assert here.value.message == there.value.message


def test_a_word_that_is_no_command_is_refused_with_those_that_are() -> None:
    with pytest.raises(InvalidRequest, match="remember"):
        _parser(["remembre"]).parse_args(["remembre"])


# Which memory


def test_a_hook_of_a_folder_without_a_server_is_not_sent_to_the_server_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_HOME", str(tmp_path))
    monkeypatch.delenv("AGENTMEMORY_URL", raising=False)

    assert reach(Namespace()) == ("", None)


def test_a_port_that_is_named_without_a_folder_is_where_a_hook_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("HOLDFAST_HOME", raising=False)
    monkeypatch.delenv("AGENTMEMORY_URL", raising=False)
    monkeypatch.setenv("III_REST_PORT", "4321")

    assert reach(Namespace()) == ("http://127.0.0.1:4321", None)


def test_a_command_that_goes_to_the_server_of_another_folder_says_so_in_one_line(
    home: OpenMemory, tmp_path: Path
) -> None:
    url, elsewhere = home.card["url"], tmp_path / "elsewhere"

    done = home.run("recall", "lighthouse", AGENTMEMORY_URL=url, HOLDFAST_HOME=str(elsewhere))

    assert "The lighthouse" in done.stdout
    assert done.stderr == f"note: AGENTMEMORY_URL is {url}, not the server of {elsewhere} (HOLDFAST_HOME)\n"


def test_a_command_whose_settings_are_not_the_servers_says_so_in_one_line(home: OpenMemory) -> None:
    done = home.run("recall", "lighthouse", HOLDFAST_VAULT="/a/vault", TOKEN_BUDGET="1234")

    assert done.stderr == (
        f"note: the server of {home.folder} was started with different values of TOKEN_BUDGET, HOLDFAST_VAULT; "
        "stop it with holdfast serve --stop, and the next command starts it with the current values\n"
    )


def test_no_value_of_a_setting_stands_in_the_card(tmp_path: Path) -> None:
    home = OpenMemory(tmp_path / "memory", OPENAI_API_KEY="the-key-of-a-model", HOLDFAST_LLM_MODEL="a-model-of-mine")
    try:
        home.remember("The harbour freezes.")
        card = (home.folder / "server.json").read_text()
        assert "openai_key" in card
        assert "the-key-of-a-model" not in card
        assert "a-model-of-mine" not in card
        assert home.run("recall", "harbour").stderr == ""
    finally:
        home.end()


def test_a_command_that_goes_to_the_server_of_its_folder_says_nothing(home: OpenMemory) -> None:
    url = home.card["url"].replace("127.0.0.1", "localhost")

    assert home.run("recall", "lighthouse", AGENTMEMORY_URL=url).stderr == ""
    assert home.run("recall", "lighthouse").stderr == ""
    assert home.run("recall", "lighthouse", "--url", home.card["url"], HOLDFAST_HOME="/elsewhere").stderr == ""
