"""The figures of the source: how long functions and files are, how many modules a folder has, and what they are called.

test_layers.py has the imports and what only one module does.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from rows import each

SOURCE = Path(__file__).parents[1] / "src" / "holdfast"
FILES = sorted(SOURCE.rglob("*.py"))
Lengths = list[tuple[str, int]]

LONGEST_FUNCTION, LONGEST_FILE, MOST_MODULES = 60, 500, 15
MEDIAN, NINTH_TENTH = 8, 20
BROAD_PER_THOUSAND = 0.5


def name_of(path: Path) -> str:
    return str(path.relative_to(SOURCE).with_suffix(""))


@pytest.fixture(scope="module")
def nodes() -> list[tuple[Path, ast.AST]]:
    """Every node of the source. Not read while tests are collected, which each worker does."""
    return [(path, node) for path in FILES for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))]


@pytest.fixture(scope="module")
def functions(nodes: list[tuple[Path, ast.AST]]) -> Lengths:
    """Each function and its lines."""
    return [
        (f"{name_of(path)}.{node.name}", (node.end_lineno or 0) - node.lineno + 1)
        for path, node in nodes
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]


# How large


def test_no_function_has_more_than_sixty_lines(functions: Lengths) -> None:
    assert [name for name, lines in functions if lines > LONGEST_FUNCTION] == []


def test_most_functions_are_short(functions: Lengths) -> None:
    lengths = sorted(lines for _, lines in functions)
    assert lengths[len(lengths) // 2] <= MEDIAN
    assert lengths[len(lengths) * 9 // 10] <= NINTH_TENTH


def test_no_file_has_more_than_five_hundred_lines() -> None:
    assert [name_of(path) for path in FILES if len(path.read_text("utf-8").splitlines()) > LONGEST_FILE] == []


@each("folder", sorted({path.parent for path in FILES}))
def test_no_folder_has_more_than_fifteen_modules(folder: Path) -> None:
    assert len([path for path in folder.glob("*.py") if path.name != "__init__.py"]) <= MOST_MODULES


def test_broad_handlers_are_rare(nodes: list[tuple[Path, ast.AST]]) -> None:
    """All of them count here: those that raise again as well. test_layers.py lists those that do not."""
    broad = [
        node for _, node in nodes if isinstance(node, ast.ExceptHandler) and (node.type is None or _is_broad(node.type))
    ]
    lines = sum(len(path.read_text("utf-8").splitlines()) for path in FILES)
    assert 1_000 * len(broad) / lines <= BROAD_PER_THOUSAND


def _is_broad(kind: ast.expr) -> bool:
    return any(isinstance(one, ast.Name) and one.id in ("Exception", "BaseException") for one in ast.walk(kind))


# What they are called

# Names that several modules have because they have the same role in their folders, and the role.
ROLES = {
    "capture": "takes a memory out as files: the engine its database, a snapshot all its sources",
    "context": "what every flow of the room has at hand, or the operations on contexts",
    "encryption": "age around what the folder's format holds",
    "manifest": "what the folder's format says of itself",
    "reader": "reads the folder's format",
    "rows": "records as rows of the folder's database",
    "status": "the state in a few figures; the command of that name shows it",
    "wire": "records of the room as clients read them",
    "writer": "writes the folder's format",
}
# These rooms offer what another room does: a file of theirs may be called after the flow or the topic that it offers.
OFFERING = ("ops", "settings", "cli")
# Engines of the store have the same parts, under the same names.
ENGINES = ("store/sqlite", "store/postgres")
NOUNS = {"keyring", "learning"}
ENDS = re.compile(r"(ing|ed|en)$")
# Words that end like a participle and are none.
NO_PARTICIPLES = {"hidden", "token"}


def _modules() -> Iterator[tuple[str, Path]]:
    for path in FILES:
        if path.name != "__init__.py":
            yield path.stem, path.relative_to(SOURCE)


def _repeated() -> dict[str, list[Path]]:
    found = defaultdict(list)
    for name, path in _modules():
        found[name].append(path)
    return {name: paths for name, paths in found.items() if len(paths) > 1}


def _engine_or_path(path: Path) -> str:
    return "an engine" if path.parent.as_posix() in ENGINES else path.as_posix()


def test_no_two_modules_have_one_name_unless_they_have_one_role() -> None:
    wrong = {
        name: sorted(map(str, paths))
        for name, paths in _repeated().items()
        if name not in ROLES and len({_engine_or_path(path) for path in paths if path.parts[0] not in OFFERING}) > 1
    }
    assert wrong == {}


def test_every_role_is_played_more_than_once() -> None:
    assert [name for name in ROLES if name not in _repeated()] == []


def test_no_module_is_called_by_a_participle() -> None:
    wrong = {name for name, _ in _modules() if ENDS.search(name) and "_" not in name and len(name) > 4}
    assert wrong - NOUNS - NO_PARTICIPLES == set()


GONE = ("desk", "shelf", "recipe", "lane", "fold", "elsewhere", "glance", "told", "utils", "helpers", "manager", "base")


def test_no_module_is_called_by_a_word_that_only_its_authors_know() -> None:
    assert [name for name, _ in _modules() if set(name.split("_")) & set(GONE)] == []


# What it stands on

# Packages of which private parts are used, and where: a new release may change these without a word.
PRIVATE_PARTS = {"uvicorn": "serve/http/listener", "nats-py": "serve/events/nats"}


@each("package", PRIVATE_PARTS)
def test_a_package_whose_private_parts_are_used_has_an_upper_bound(package: str) -> None:
    project = tomllib.loads((SOURCE.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *(one for some in project["optional-dependencies"].values() for one in some)]
    found = [one for one in wanted if re.match(rf"{package}\b(?!-)", one)]

    assert found
    assert [one for one in found if "<" not in one] == []
    assert (SOURCE / PRIVATE_PARTS[package]).with_suffix(".py").is_file()
