"""Every promise has a test, every test that is named exists, and what the documents promise has an id."""

from __future__ import annotations

import ast
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest

pytestmark = pytest.mark.quick

ROOT = Path(__file__).parents[1]
TESTS = ROOT / "tests"
PROMISES = tomllib.loads((ROOT / "docs" / "promises.toml").read_text(encoding="utf-8"))["promise"]
# What is about nothing but promises: each file there has to carry one.
PROVING = ("fault", "attack")


def _words(text: str) -> str:
    return " ".join(text.split())


@cache
def _page(name: str) -> str:
    return _words((ROOT / name).read_text(encoding="utf-8"))


@cache
def _tests_of(file: str) -> frozenset[str]:
    tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name[:5] == "test_")


def _said() -> set[tuple[str, str]]:
    return {(page, words) for promise in PROMISES for page, words in promise.get("said", ())}


def _items(document: str, title: str) -> list[str]:
    """What the list under a heading says, item by item."""
    section = (ROOT / document).read_text(encoding="utf-8").split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]
    return [_words(item) for item in section.split("\n- ")[1:]]


def _promised(document: str, item: str) -> bool:
    return any(name == document and words in item for name, words in _said())


def test_no_two_promises_share_an_id() -> None:
    ids = [promise["id"] for promise in PROMISES]

    assert len(set(ids)) == len(ids)
    assert [one for one in ids if not re.fullmatch(r"[a-z]+\.[a-z-]+", one)] == []


def test_every_promise_names_tests_that_exist() -> None:
    missing = []
    for promise in PROMISES:
        assert promise["tests"], promise["id"]
        for test in promise["tests"]:
            file, _, name = test.partition("::")
            there = (TESTS / file).is_file() and (name in _tests_of(file) if name else _tests_of(file))
            missing += [] if there else [(promise["id"], test)]

    assert missing == []


def test_what_a_promise_quotes_is_what_the_document_says() -> None:
    assert sorted((page, words) for page, words in _said() if _words(words) not in _page(page)) == []


def test_every_file_that_only_proves_promises_is_named_by_one() -> None:
    named = {test.partition("::")[0] for promise in PROMISES for test in promise["tests"]}
    files = {path.relative_to(TESTS).as_posix() for room in PROVING for path in (TESTS / room).glob("test_*.py")}

    assert sorted(files - named) == []


def test_everything_that_the_readme_offers_is_promised() -> None:
    items = _items("README.md", "What you get")

    assert len(items) > 8
    assert [item for item in items if not _promised("README.md", item)] == []


def test_every_sentence_of_the_security_policy_is_promised() -> None:
    items = _items("SECURITY.md", "What is promised")

    assert len(items) > 6
    assert [item for item in items if not _promised("SECURITY.md", item)] == []
