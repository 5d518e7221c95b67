"""The architecture as tests: imports point down, and each promise about the whole source is looked up in it.

The source is parsed, not imported, so that imports inside functions and types-only imports count as well.
"""

from __future__ import annotations

import ast
import re
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from io import StringIO
from pathlib import Path

import pytest
from rows import each
from scripts import load_script

ROOT = Path(__file__).parents[1] / "src" / "holdfast"

HOUSE = load_script("tools/rooms.py")
LEVELS = HOUSE.LEVELS
GROUND = LEVELS[0]
LEVEL = {room: number for number, rooms in enumerate(LEVELS) for room in rooms}

# The context stands on the store's port and tables, on nothing else of it.
CONTEXT_KNOWS = {"holdfast.store.engine_port", "holdfast.store.port", "holdfast.store.tables"}

# Formats of snapshots know no vault; chunks read the bytes that one gives them by the helper of its streams.
FORMATS = ("bundle", "chunks", "keys")
FORMATS_KNOW = {"holdfast.vault.streams"}

# Outside the store no module knows an engine of it; only the reader of foreign databases opens SQLite files itself.
ENGINES = ("holdfast.store.sqlite", "holdfast.store.postgres")
FOREIGN_DATABASES = "holdfast.snapshot.nexo"

# `holdfast serve` and `holdfast mcp` start what the server has; only they load it, when they run.
LAZY = {
    ("holdfast.cli.commands.serve", "holdfast.serve.run"),
    ("holdfast.cli.commands.parsers", "holdfast.serve.mcp.stdio"),
}


@dataclass(frozen=True)
class Module:
    name: str
    text: str
    tree: ast.Module

    @property
    def room(self) -> str:
        return room_of(self.name)

    def __str__(self) -> str:
        return self.name


def _module(path: Path) -> Module:
    parts = ("holdfast", *path.relative_to(ROOT).with_suffix("").parts)
    name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    text = path.read_text(encoding="utf-8")
    return Module(name, text, ast.parse(text))


@cache
def modules() -> tuple[Module, ...]:
    """All of them; parsed once they are needed, as every process of a parallel run imports this file."""
    return tuple(_module(path) for path in sorted(ROOT.rglob("*.py")))


@cache
def names() -> frozenset[str]:
    return frozenset(module.name for module in modules())


def room_of(name: str) -> str:
    """holdfast.store.rows -> store; holdfast -> holdfast"""
    parts = name.split(".")
    return parts[1] if len(parts) > 1 else parts[0]


@dataclass(frozen=True)
class Import:
    source: Module
    target: str  # the module that is imported, not the name inside it
    line: int
    lazy: bool  # inside a function: happens when it is called

    def __str__(self) -> str:
        return f"{self.source.name}:{self.line} imports {self.target}"


def imports(module: Module) -> Iterator[Import]:
    """Every import of one of our modules."""
    for node, lazy in _with_laziness(module.tree, False):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module.name}:{node.lineno}: imports are written in full"
            full = [f"{node.module}.{alias.name}" for alias in node.names]
            targets = [name if name in names() else str(node.module) for name in full]
        else:
            continue
        for target in dict.fromkeys(targets):
            if target.split(".")[0] == "holdfast":
                yield Import(module, target, node.lineno, lazy)


def _with_laziness(node: ast.AST, lazy: bool) -> Iterator[tuple[ast.AST, bool]]:
    yield node, lazy
    inside = lazy or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
    for child in ast.iter_child_nodes(node):
        yield from _with_laziness(child, inside)


@cache
def all_imports() -> tuple[Import, ...]:
    return tuple(one for module in modules() for one in imports(module))


def _is_allowed(one: Import) -> bool:
    source, target = one.source.room, room_of(one.target)
    if source == target:
        return True
    if source in GROUND and target in GROUND:
        return True  # single modules; that they form no circle is tested below
    if (one.source.name, one.target) in LAZY:
        return one.lazy
    if source == "context" and target == "store":
        return one.target in CONTEXT_KNOWS
    return LEVEL[target] < LEVEL[source]


def test_the_source_is_found() -> None:
    assert {"holdfast", "holdfast.engine", "holdfast.store.rows", "holdfast.cli.connect"} <= names()
    assert len(all_imports()) > 300


def test_every_room_has_a_level() -> None:
    assert {module.room for module in modules()} - set(LEVEL) == set()


def test_every_import_names_a_module_that_exists() -> None:
    assert [str(one) for one in all_imports() if one.target not in names()] == []


def test_imports_point_down_only() -> None:
    assert [str(one) for one in all_imports() if not _is_allowed(one)] == []


def part_of(name: str, room: str) -> str | None:
    """The package or module below a room that a module belongs to; None outside it and for the room itself."""
    inner = f"holdfast.{room}."
    return name.removeprefix(inner).split(".")[0] if name.startswith(inner) else None


def _wrong_inside(room: str, levels: tuple[tuple[str, ...], ...], one: Import) -> bool:
    source, target = part_of(one.source.name, room), part_of(one.target, room)
    if source is None or target is None or source == target:
        return False
    level = {part: number for number, parts in enumerate(levels) for part in parts}
    return level[target] > level[source] or level[target] == level[source] != 0


each_inside = pytest.mark.parametrize(("room", "levels"), HOUSE.INSIDE.items(), ids=HOUSE.INSIDE)


@each_inside
def test_every_part_of_a_large_room_has_a_level(room: str, levels: tuple[tuple[str, ...], ...]) -> None:
    found = {part for module in modules() if (part := part_of(module.name, room))}
    assert found == {part for parts in levels for part in parts}


@each_inside
def test_inside_a_large_room_imports_point_down_too(room: str, levels: tuple[tuple[str, ...], ...]) -> None:
    assert [str(one) for one in all_imports() if _wrong_inside(room, levels, one)] == []


def test_an_import_that_points_up_inside_a_room_would_be_found() -> None:
    levels = (("format",), ("repo",), ("flow",))
    up = [
        Import(Module(f"holdfast.made_up.{source}", "", ast.Module([], [])), f"holdfast.made_up.{target}", 1, False)
        for source, target in (("format.reader", "repo"), ("repo", "flow"), ("flow", "format"), ("repo.a", "repo.b"))
    ]
    assert [_wrong_inside("made_up", levels, one) for one in up] == [True, True, False, False]


def test_the_formats_of_snapshots_know_no_vault() -> None:
    found = {
        str(one): one.target
        for one in all_imports()
        if part_of(one.source.name, "snapshot") in FORMATS and room_of(one.target) == "vault"
    }
    assert [where for where, target in found.items() if target not in FORMATS_KNOW] == []


def test_the_picture_of_the_rooms_is_current() -> None:
    assert HOUSE.PICTURE.read_text(encoding="utf-8") == HOUSE.draw(), "run make docs"


def test_the_picture_names_every_room() -> None:
    picture = HOUSE.PICTURE.read_text(encoding="utf-8")
    assert [room for room in LEVEL if f">{room}" not in picture] == []
    inner = {name for module in modules() for name in HOUSE.rooms_inside(module.room) if module.room != "holdfast"}
    assert [name for name in inner if name not in picture] == []


def test_only_the_store_knows_its_engines() -> None:
    found = [str(one) for one in all_imports() if _is_engine(one.target) and one.source.room != "store"]

    assert found == []


def _is_engine(name: str) -> bool:
    return any(name == engine or name.startswith(f"{engine}.") for engine in ENGINES)


def test_the_port_of_the_store_knows_no_engine() -> None:
    ports = ("holdfast.store.port", "holdfast.store.engine_port", "holdfast.store.tables")

    assert [str(one) for one in all_imports() if one.source.name in ports and _is_engine(one.target)] == []


def test_only_the_store_and_the_reader_of_foreign_databases_open_sqlite_files() -> None:
    found = {
        module.name
        for module in modules()
        for node in ast.walk(module.tree)
        if "apsw" in map(_head, _imported_by(node))
    }

    assert {name for name in found if room_of(name) != "store" and not name.startswith(FOREIGN_DATABASES)} == set()
    assert any(name.startswith(FOREIGN_DATABASES) for name in found)  # or the exception is not needed any more


def test_the_one_exception_to_the_levels_is_used() -> None:
    assert {(one.source.name, one.target) for one in all_imports() if one.lazy} >= LAZY


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Packages count as their __init__; what is imported when a function runs does not count."""
    edges = {module.name: {one.target for one in imports(module) if not one.lazy} for module in modules()}
    assert _circle(edges) == []


def _circle(edges: dict[str, set[str]]) -> list[str]:
    done: set[str] = set()

    def walk(name: str, path: list[str]) -> list[str]:
        if name in path:
            return [*path[path.index(name) :], name]
        if name in done:
            return []
        for target in sorted(edges.get(name, ())):
            if found := walk(target, [*path, name]):
                return found
        done.add(name)
        return []

    return next((found for name in sorted(edges) if (found := walk(name, []))), [])


def test_a_circle_would_be_found() -> None:
    assert _circle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]


# What only one module does


def uses(module: Module, names: Iterable[str]) -> Iterator[str]:
    """Where a module mentions one of the dotted names, whatever it calls the imported module."""
    wanted = set(names)
    known = _aliases(module.tree)
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Attribute | ast.Name):
            dotted = _dotted(node, known)
            if dotted in wanted:
                yield f"{module.name}:{node.lineno} {dotted}"


@cache
def _aliases(tree: ast.Module) -> dict[str, str]:
    """What each imported name stands for: {"t": "time"} for `import time as t`."""
    known: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                known[alias.asname or _head(alias.name)] = alias.name if alias.asname else _head(alias.name)
        elif isinstance(node, ast.ImportFrom):
            known |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    return known


def _head(name: str) -> str:
    return name.split(".")[0]


def _dotted(node: ast.expr, known: dict[str, str]) -> str | None:
    if isinstance(node, ast.Name):
        return known.get(node.id)
    if isinstance(node, ast.Attribute):
        inner = _dotted(node.value, known)
        return f"{inner}.{node.attr}" if inner else None
    return None


def _source(text: str) -> Module:
    return Module("holdfast.made_up", text, ast.parse(text))


@each(
    "text",
    [
        "import time\ntime.time()",
        "import time as t\nt.time()",
        "from time import time\ntime()",
        "import time\nx = time.time",
    ],
)
def test_a_use_is_found_under_any_name(text: str) -> None:
    assert len(list(uses(_source(text), {"time.time"}))) == 1


ENVIRONMENT = {"os.environ", "os.getenv", "os.environb", "os.getenvb", "os.putenv", "os.unsetenv"}


def _may_read_the_environment(module: Module) -> bool:
    """Settings; hooks, which run inside an agent without the rest; connect, which looks for agents' folders; and what
    loads onnxruntime, which can be told in no other way that it shall not report."""
    return (
        module.name in ("holdfast.settings", "holdfast.index.onnx_session")
        or module.name.startswith("holdfast.cli.hook.hook_command")
        or module.name.startswith("holdfast.cli.connect")
    )


def test_only_settings_reads_the_environment() -> None:
    found = [use for module in modules() if not _may_read_the_environment(module) for use in uses(module, ENVIRONMENT)]

    assert found == []


TIME = {
    "time.time", "time.time_ns", "time.monotonic", "time.monotonic_ns", "time.perf_counter", "time.perf_counter_ns",
    "time.process_time", "time.gmtime", "time.localtime", "time.strftime", "time.ctime",
    "datetime.datetime.now", "datetime.datetime.utcnow", "datetime.datetime.today", "datetime.date.today",
}  # fmt: skip
CHANCE = {"os.urandom", "os.getrandom", "uuid.uuid1", "uuid.uuid4", "tempfile.mktemp"}
CHANCE_MODULES = {"random", "secrets", "numpy.random"}


def _may_read_time(module: Module) -> bool:
    """The real clock; the hook, which has only the standard library, dates an event when it happens and keeps time."""
    hooks = ("holdfast.cli.hook.hook_command", "holdfast.cli.hook.hook_events", "holdfast.cli.hook.http")
    return module.name == "holdfast.core.system" or module.name in hooks


def test_only_the_system_clock_reads_the_time() -> None:
    assert [use for module in modules() if not _may_read_time(module) for use in uses(module, TIME)] == []


def test_a_sleep_can_always_be_handed_in() -> None:
    """time.sleep stands as the default of an argument, never as a call: tests pass something that does not wait."""
    called = [
        f"{module.name}:{node.lineno}"
        for module in modules()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call) and _dotted(node.func, _aliases(module.tree)) == "time.sleep"
    ]

    assert called == []


def test_only_the_system_entropy_takes_chances() -> None:
    found = [use for module in modules() if module.name != "holdfast.core.system" for use in uses(module, CHANCE)]
    imported = [
        f"{module.name}:{node.lineno}"
        for module in modules()
        if module.name != "holdfast.core.system"
        for node in ast.walk(module.tree)
        if CHANCE_MODULES & _imported_by(node)
    ]

    assert found + imported == []


def _imported_by(node: ast.AST) -> set[str]:
    if isinstance(node, ast.Import):
        return {alias.name for alias in node.names}
    if isinstance(node, ast.ImportFrom) and node.module:
        return {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return set()


# How it fails and what it says

# Where a broad `except` swallows what it caught, and why it may. A new one is added here by whoever can say why.
BROAD = {
    "holdfast.colony.files._ask": "a vault's client may raise anything; all of it is raised again as a fault",
    "holdfast.serve.http.admission.__call__": "the HTTP edge",
    "holdfast.serve.http.write_batcher._is_prepared": "handed to the request that asked, which raises it",
    "holdfast.serve.http.write_batcher._finish": "as above",
    "holdfast.serve.http.write_batcher._carry_together": "as above: nobody on the lane may wait for ever",
    "holdfast.serve.events.broker._work": "a bug, or a store that was just closed, must not end all sending",
    "holdfast.serve.background.drill_schedule._loop": "a bug in one look must not end all later ones",
    "holdfast.serve.background.guard_watch._loop": "a bug in one look must not end all later ones",
    "holdfast.serve.background.learning_thread._loop": "a bug in one step must not end all later ones",
    "holdfast.serve.background.vector_worker._loop": "a broken model must not end all later runs",
    "holdfast.serve.background.maintenance._loop": "a bug in one run must not end all later ones",
    "holdfast.serve.background.follow_thread._look": "a bug in one look must not end all later ones",
    "holdfast.serve.background.journal_thread.reported": "a bug in one step must not end all later ones",
    "holdfast.serve.background.schedule._loop": "a bug in one look must not end all later ones",
    "holdfast.serve.background.spool_intake._loop": "a bug in one look must not end all later ones",
    "holdfast.cli.main.main": "the command-line edge",
    "holdfast.cli.hook.hook_command.run_hook": "the edge to the agent, whose work must go on",
    "holdfast.cli.hook.hook_command.hook_main": "as above; a closed pipe is no reason to stop the agent",
    "holdfast.wrap.recorder._run": "the edge to an application, whose own calls go on whatever the memory has",
    "holdfast.store.postgres.group_commit.run": "as below",
    "holdfast.store.postgres.shared.membership._loop": "a bug at one notice must not end all later ones",
    "holdfast.store.sqlite.group_commit._attempt": "handed to the thread that asked, which raises it",
}


@dataclass(frozen=True)
class Caught:
    where: str  # module and function
    line: int
    marked: bool


def _broad_handlers(module: Module) -> Iterator[Caught]:
    lines = module.text.splitlines()
    for function, handler in _handlers(module.tree, ""):
        if _is_broad(handler.type) and not _raises_again(handler):
            marked = "noqa: BLE001 " in lines[handler.lineno - 1]
            yield Caught(f"{module.name}.{function}", handler.lineno, marked)


def _handlers(node: ast.AST, function: str) -> Iterator[tuple[str, ast.ExceptHandler]]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        function = node.name
    if isinstance(node, ast.ExceptHandler):
        yield function, node
    for child in ast.iter_child_nodes(node):
        yield from _handlers(child, function)


def _is_broad(kind: ast.expr | None) -> bool:
    if isinstance(kind, ast.Tuple):
        return any(map(_is_broad, kind.elts))
    return kind is None or (isinstance(kind, ast.Name) and kind.id in ("Exception", "BaseException"))


def _raises_again(handler: ast.ExceptHandler) -> bool:
    """Tidying up on the way out: the last step is a bare raise."""
    last = handler.body[-1]
    return isinstance(last, ast.Raise) and last.exc is None


def test_everything_is_caught_only_where_it_is_listed() -> None:
    """As many as are listed: a second one in the same function is a new one."""
    found = [caught.where for module in modules() for caught in _broad_handlers(module)]

    assert sorted(found) == sorted(BROAD)


def test_every_broad_except_is_marked_with_its_reason() -> None:
    found = [caught for module in modules() for caught in _broad_handlers(module)]

    assert [f"{one.where}:{one.line}" for one in found if not one.marked] == []


def test_a_suppressed_exception_is_never_broad() -> None:
    found = [
        f"{module.name}:{node.lineno}"
        for module in modules()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call)
        and _dotted(node.func, _aliases(module.tree)) == "contextlib.suppress"
        and any(map(_is_broad, node.args))
    ]

    assert found == []


def test_only_the_command_line_prints() -> None:
    found = [
        f"{module.name}:{node.lineno}"
        for module in modules()
        if module.room != "cli"
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]

    assert found == []


def test_nothing_is_left_for_later() -> None:
    unfinished = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")

    assert [comment for module in modules() for comment in _comments(module) if unfinished.search(comment)] == []


def _comments(module: Module) -> Iterator[str]:
    for token in tokenize.generate_tokens(StringIO(module.text).readline):
        if token.type == tokenize.COMMENT:
            yield f"{module.name}:{token.start[0]} {token.string}"
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{module.name}: {ast.get_docstring(node) or ''}"


def test_every_module_says_what_its_duty_is() -> None:
    assert [module.name for module in modules() if not ast.get_docstring(module.tree)] == []
