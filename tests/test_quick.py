"""`make quick` reaches every room of the source, and needs nothing but the packages."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

pytestmark = pytest.mark.quick

TESTS = Path(__file__).parent
SOURCE = TESTS.parent / "src" / "holdfast"
MARK = "pytest.mark.quick"

# What drives a browser, Node, a tracer, a mounted disk, another process or a server that is no part of Holdfast.
NOT_QUICK = {
    "playwright",
    "viewing",
    "real_clients",
    "shim",
    "tracing",
    "small_disks",
    "processes",
    "daemons",
    "broker",
    "warm",
}
# Their packages are in an environment of their own, where `make frameworks` tests them.
ELSEWHERE = {"wrap"}
NOT_QUICK_FIXTURES = {"objects", "hub", "small_disk", "browser", "page"}


@cache
def quick_files() -> dict[Path, ast.Module]:
    """As the Makefile finds them: by a line that ends with the mark."""
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(TESTS.rglob("test_*.py"))}
    return {
        path: ast.parse(text) for path, text in texts.items() if any(line.endswith(MARK) for line in text.splitlines())
    }


def rooms() -> set[str]:
    return {path.parent.name for path in SOURCE.glob("*/__init__.py")}


def imported(tree: ast.Module) -> set[str]:
    """Every module that is named in an import."""
    froms = {
        f"{node.module}.{name.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for name in node.names
    }
    return froms | {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}


def test_every_room_has_a_quick_test() -> None:
    reached = {name.split(".")[1] for tree in quick_files().values() for name in imported(tree) if "holdfast." in name}
    assert rooms() - reached - ELSEWHERE == set()


def test_every_folder_of_tests_of_a_room_has_a_quick_file() -> None:
    folders = {path.parent.name for path in quick_files()}
    assert {room for room in rooms() if (TESTS / room).is_dir()} - folders == set()


def test_no_quick_test_needs_more_than_the_packages() -> None:
    needed = {
        path.name: {name.split(".")[0] for name in imported(tree)} & NOT_QUICK for path, tree in quick_files().items()
    }
    assert {name: needs for name, needs in needed.items() if needs} == {}


def test_no_quick_test_asks_for_a_server_or_a_browser() -> None:
    asked = {
        path.name: {
            given.arg for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) for given in node.args.args
        }
        for path, tree in quick_files().items()
    }
    assert {name: args & NOT_QUICK_FIXTURES for name, args in asked.items() if args & NOT_QUICK_FIXTURES} == {}
