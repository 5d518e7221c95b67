"""The documents say what is so: generated pages are current, and what the others name exists."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from rows import each
from scripts import load_script

from holdfast.cli.command_table_source import table_text
from holdfast.cli.commands.parsers import COMMANDS
from holdfast.cli.main import _parser
from holdfast.core.errors import Fault, every_fault
from holdfast.ops.framework.operation import Operation
from holdfast.ops.registry import OPERATIONS, TOOLS
from holdfast.settings import SETTINGS, Setting

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
GENERATED = ("integrations.md", "operations.md", "settings.md", "errors.md", "promises.md")
GENERATOR = load_script("docs/generate.py")
COMMAND_TABLE = ROOT / "src" / "holdfast" / "cli" / "commands.json"

each_page = each("page", PAGES, lambda page: page.relative_to(ROOT))


def _text(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


# The generated pages


@each("name", GENERATED)
def test_a_generated_page_is_current(name: str) -> None:
    assert _text(name) == GENERATOR.pages()[name], "run make docs"


def test_the_table_of_commands_is_current() -> None:
    assert COMMAND_TABLE.read_bytes() == table_text(), "run make docs"


def test_the_types_of_the_typescript_client_are_current() -> None:
    assert GENERATOR.CLIENT_TYPES.read_text(encoding="utf-8") == GENERATOR.client_types(), "run make docs"


def test_the_pages_are_the_same_each_time_they_are_made() -> None:
    assert GENERATOR.pages() == GENERATOR.pages()


def test_making_the_pages_writes_all_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    generator = GENERATOR
    monkeypatch.setattr(generator, "DOCS", tmp_path)
    monkeypatch.setattr(generator, "COMMANDS", tmp_path / COMMAND_TABLE.name)
    monkeypatch.setattr(generator, "CLIENT_TYPES", tmp_path / "generated.ts")

    assert generator.main() == 0

    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        (*GENERATED, "rooms.svg", COMMAND_TABLE.name, "generated.ts")
    )


def test_make_docs_runs_the_generator() -> None:
    assert re.search(r"^docs:.*\n\t\$\(BIN\)/python docs/generate\.py$", (ROOT / "Makefile").read_text(), re.MULTILINE)


@each("operation", OPERATIONS, lambda operation: operation.name)
def test_an_operation_has_an_entry_that_names_every_way_to_it(operation: Operation) -> None:
    entry = _entries()[operation.name]

    assert operation.summary in entry
    assert f"`{operation.method} /agentmemory{operation.path}`" in entry
    for method, path in operation.also:
        assert f"`{method} /agentmemory{path}`" in entry
    for tool in TOOLS.values():
        assert tool.operation is not operation or f"`{tool.name}`" in entry
    assert not operation.cli or f"`holdfast {operation.cli}" in entry
    for name in operation.request.model_json_schema(by_alias=True).get("properties", {}):
        assert f"| `{name}` |" in entry


def _entries() -> dict[str, str]:
    """The text under each heading of the third level."""
    parts = re.split(r"^### (\S+)$", _text("operations.md"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@each("row", SETTINGS, lambda row: row.name)
def test_a_setting_is_listed_with_all_its_names(row: Setting) -> None:
    line = next(line for line in _text("settings.md").splitlines() if line.startswith(f"| `{row.env}` |"))

    assert all(f"`{name}`" in line for name in row.also)
    assert ("**secret**" in line) == row.hidden


@each("fault", [fault for fault in every_fault() if fault is not Fault], lambda fault: fault.code)
def test_a_fault_is_listed_with_its_status_exit_code_and_remedy(fault: type[Fault]) -> None:
    line = next(line for line in _text("errors.md").splitlines() if line.startswith(f"| `{fault.code}` |"))

    assert f"| {fault.http_status} | {fault.exit_code} | {'yes' if fault.retryable else 'no'} |" in line
    assert fault.hint.replace("<", "&lt;") in line


# What the documents name


def _fenced(text: str, *languages: str) -> Iterator[str]:
    """The blocks of code in one of the languages."""
    for language, block in re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        if language in languages:
            yield block


def _shell_commands(text: str) -> Iterator[list[str]]:
    """The words of every holdfast command in shell blocks, without what the shell itself takes."""
    for block in _fenced(text, "sh", "bash", "shell", "console"):
        for line in block.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            words = words[1:] if words[:1] == ["$"] else words
            if "holdfast" in words:
                rest = words[words.index("holdfast") + 1 :]
                end = next((at for at, word in enumerate(rest) if word in (">", ">>", "|", "<", "&&", "&", ";")), None)
                yield rest[:end]


def _inline_commands(text: str) -> Iterator[list[str]]:
    for words in re.findall(r"`holdfast ([^`]+)`", re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)):
        yield words.split()


def _known_commands() -> set[str]:
    words = {operation.cli for operation in OPERATIONS if operation.cli} | {command.words for command in COMMANDS}
    return words | {word.split()[0] for word in words} | {"hook"}


def test_the_commands_of_a_page_are_found() -> None:
    text = "```sh\nX=1 holdfast recall 'a b' --json | jq .  # look\n$ holdfast verify > out\n```\n"

    assert list(_shell_commands(text)) == [["recall", "a b", "--json"], ["verify"]]
    assert len(list(_shell_commands(_text("usage.md")))) >= 20


@each_page
def test_every_command_line_in_a_page_parses(page: Path) -> None:
    for words in _shell_commands(page.read_text(encoding="utf-8")):
        if words[:1] not in (["hook"], ["--version"]):  # a hook takes what it is given
            _parser(words).parse_args(words)


@each_page
def test_every_command_that_a_page_mentions_exists(page: Path) -> None:
    known = _known_commands()
    mentioned = list(_inline_commands(page.read_text(encoding="utf-8")))

    assert [words for words in mentioned if words[0] not in known and not words[0].startswith("-")] == []


@each_page
def test_every_setting_that_a_page_names_exists(page: Path) -> None:
    known = {name for row in SETTINGS for name in (row.env, *row.also)}
    named = set(re.findall(r"\b(?:HOLDFAST|AGENTMEMORY)_[A-Z0-9_]+\b", page.read_text(encoding="utf-8")))

    assert named - known == set()


@each_page
def test_every_tool_that_a_page_names_exists(page: Path) -> None:
    named = set(re.findall(r"`(memory_[a-z_]+)`", page.read_text(encoding="utf-8")))

    assert named - set(TOOLS) == set()


def test_every_file_that_the_design_names_exists() -> None:
    """By its path from the package or from the root; a name alone may lie in any room."""
    named = set(re.findall(r"(?<![\w/.])((?:[a-z_]+/)*[a-z_]+\.(?:py|c|js|json|toml|md))\b", _text("design.md")))
    package = ROOT / "src" / "holdfast"
    rooms = {path.name for path in package.rglob("*")}
    roots = (package, package / "viewer", ROOT, ROOT / "docs")

    assert len(named) > 50
    assert [one for one in sorted(named) if not any((root / one).exists() for root in roots) and one not in rooms] == []


STOPS = re.findall(r"^\d+\. `([\w/]+\.py)` `([\w.]+)`", _text("design.md"), re.MULTILINE)


def test_the_ways_through_the_code_have_ten_to_fifteen_stops() -> None:
    ways = re.split(r"^### ", _text("design.md"), flags=re.MULTILINE)[1:]
    counts = {way.split("\n")[0]: len(re.findall(r"^\d+\. ", way, re.MULTILINE)) for way in ways}
    for name in ("remember", "search", "snapshot create", "restore"):
        assert 10 <= counts[name] <= 15
    assert len(STOPS) == sum(counts.values()), "each stop is a file and a name"


@each("file, name", STOPS)
def test_every_stop_on_a_way_through_the_code_exists(file: str, name: str) -> None:
    body: list[ast.stmt] = ast.parse((ROOT / "src" / "holdfast" / file).read_text(encoding="utf-8")).body
    for part in name.split("."):
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        found = [node for node in body if isinstance(node, kinds) and node.name == part]
        assert found, f"{part} is not in {file}"
        body = found[0].body


# Links


def _links(text: str) -> Iterator[str]:
    without_code = re.sub(r"^```.*?^```$|`[^`\n]*`", "", text, flags=re.MULTILINE | re.DOTALL)
    yield from re.findall(r"\[[^\]]*\]\(([^)\s]+)\)", without_code)


def _anchors(page: Path) -> set[str]:
    """The fragments of a page's headings, as GitHub makes them."""
    seen: dict[str, int] = {}
    found = set()
    for title in re.findall(r"^#{1,6} (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE):
        slug = re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-")
        found.add(f"{slug}-{seen[slug]}" if slug in seen else slug)
        seen[slug] = seen.get(slug, 0) + 1
    return found


@each_page
def test_every_link_to_another_document_leads_somewhere(page: Path) -> None:
    broken = []
    for link in _links(page.read_text(encoding="utf-8")):
        if re.match(r"[a-z]+:", link):
            continue
        file, _, fragment = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        if not target.exists() or (fragment and fragment not in _anchors(target)):
            broken.append(link)

    assert broken == []


def test_the_readme_leads_to_every_generated_page() -> None:
    links = set(_links((ROOT / "README.md").read_text(encoding="utf-8")))

    assert {f"docs/{name}" for name in GENERATED} <= links
