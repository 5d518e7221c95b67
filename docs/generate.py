"""Writes docs/operations.md, docs/settings.md and docs/errors.md from the tables in the source, docs/promises.md from
docs/promises.toml, docs/rooms.svg from the tree, the table of commands that the command line reads, and the types of
the TypeScript client. Run by `make docs`.

The pages contain only what the tables contain. tests/test_docs.py fails if they are out of date.
"""

from __future__ import annotations

import inspect
import json
import re
import runpy
import sys
import tomllib
import types
import typing
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any, NotRequired

from pydantic import WithJsonSchema
from typing_extensions import is_typeddict

from holdfast.cli import command_table_source
from holdfast.cli.command_table import TABLE
from holdfast.cli.options import kebab
from holdfast.core.errors import Fault, InvalidRequest, every_fault
from holdfast.core.model import Json
from holdfast.core.wire import schema
from holdfast.ops.framework.answers import RECORDS
from holdfast.ops.framework.operation import Operation, Stream
from holdfast.ops.openapi import PREFIX
from holdfast.ops.registry import OPERATIONS
from holdfast.settings import SETTINGS, Setting, Settings
from holdfast.settings.row import duration

DOCS = Path(__file__).parent
PROMISES = DOCS / "promises.toml"
ROOMS = DOCS.parent / "tools" / "rooms.py"
TYPES = DOCS.parent / "tools" / "typescript_types.py"
CLIENT_TYPES = DOCS.parent / "clients" / "typescript" / "src" / "generated.ts"
INTEGRATIONS = DOCS / "integrations_page.py"
COMMANDS = DOCS.parent / "src" / "holdfast" / "cli" / TABLE
MADE = "<!-- Generated from the source by docs/generate.py (`make docs`). Do not edit. -->"


def pages() -> dict[str, str]:
    """Every generated page by its file name."""
    return {
        "operations.md": operations_page(),
        "settings.md": settings_page(),
        "errors.md": errors_page(),
        "integrations.md": integrations_page(),
        "promises.md": promises_page(),
        "rooms.svg": runpy.run_path(str(ROOMS))["draw"](),
    }


def main() -> int:
    for name, text in pages().items():
        (DOCS / name).write_text(text, encoding="utf-8")
    COMMANDS.write_bytes(command_table_source.table_text())
    CLIENT_TYPES.write_text(client_types(), encoding="utf-8")
    return 0


def client_types() -> str:
    """The types of the TypeScript client."""
    return str(runpy.run_path(str(TYPES))["source"]())


# Markdown


def page(title: str, *parts: str) -> str:
    return "\n\n".join([f"# {title}", MADE, *(part.strip("\n") for part in parts if part.strip())]) + "\n"


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    columns = list(head)
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(map(cell, line)) + " |" for line in lines)


def cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def prose(text: str) -> str:
    """Text from the source that is no markup."""
    return text.replace("<", "&lt;")


def code(text: str) -> str:
    return f"`{text}`"


def codes(texts: Iterable[str]) -> str:
    return ", ".join(map(code, texts))


def anchor(title: str) -> str:
    """The fragment that a heading gets."""
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


# Operations


def operations_page() -> str:
    groups: dict[str, list[Operation]] = {}
    for operation in OPERATIONS:
        groups.setdefault(operation.run.__module__, []).append(operation)
    return page(
        "Operations",
        _OPERATIONS_INTRO,
        _overview(),
        *(_group(module, members) for module, members in groups.items()),
        "## Records\n\nRecords that several responses share.",
        *(f"### {record.__name__}\n\n{_record(record)}" for record in RECORDS),
    )


_OPERATIONS_INTRO = f"""
All operations of Holdfast, declared once in `src/holdfast/ops`. Each operation is available through four interfaces
and returns the same result in all of them:

- **REST**: at its path under `{PREFIX}`. Arguments are query parameters of a GET request, or fields of a JSON object in
  the body of any other request. Unknown fields are ignored.
- **MCP**: under its tool names, at `/mcp`, through `holdfast mcp`, and at the older `POST {PREFIX}/mcp/call`.
- **Command line**: as `holdfast` followed by its words. Every command accepts `--json`, `--data DIR` and `--url URL`.
- **Python**: as `Holdfast(…).call("name", …)`, with arguments in snake_case.

The scope is the permission that a token requires. `admin` includes `read` and `write`. `root` is the server's own
secret or a local command. A failed operation returns one of the [errors](errors.md).
"""


def _overview() -> str:
    rows = (
        [
            f"[{operation.name}](#{anchor(operation.name)})",
            code(f"{operation.method} {operation.path}"),
            codes([operation.tool] if operation.tool else []),
            code(_command(operation)) if operation.cli else "",
            operation.needs,
        ]
        for operation in OPERATIONS
    )
    return table(["operation", "REST", "tool", "command", "scope"], rows)


def _group(module: str, members: list[Operation]) -> str:
    about = inspect.getdoc(sys.modules[module]) or ""
    room, name = module.rsplit(".", 2)[1:]
    title = name.replace("_", " ").capitalize() if room != "snapshots" else f"Snapshots: {name.replace('_', ' ')}"
    return "\n\n".join([f"## {title}", about, *map(_operation, members)])


def _operation(operation: Operation) -> str:
    parts = [f"### {operation.name}", operation.description, _places(operation)]
    arguments = list(_arguments(operation))
    parts.append(table(["argument", "type", "default", "notes"], arguments) if arguments else "No arguments.")
    parts.append(f"Response:\n\n{_answer(operation)}")
    return "\n\n".join(parts)


def _places(operation: Operation) -> str:
    rows = [
        ["REST", f"{code(_route(operation.method, operation.path))}, status {_statuses(operation)}"],
        ["older paths", codes(_route(method, path) for method, path in operation.also)],
        ["MCP tools", codes([operation.tool, *operation.tool_also] if operation.tool else [])],
        ["command", code(_command(operation)) if operation.cli else ""],
        ["scope", "none; no credential required" if operation.unguarded else code(operation.needs)],
        ["effect", operation.effect],
    ]
    return table(["", ""], (row for row in rows if row[1]))


def _route(method: str, path: str) -> str:
    return f"{method} {PREFIX}{path}"


def _statuses(operation: Operation) -> str:
    return f"{operation.status}, or 200 if a record was changed" if operation.status_for else f"{operation.status}"


def _command(operation: Operation) -> str:
    required = {*_schema(operation).get("required", []), *operation.tool_required}
    words = [kebab(name).upper().replace("-", "_") for name in operation.positional]
    shown = (word if name in required else f"[{word}]" for name, word in zip(operation.positional, words, strict=True))
    return " ".join(["holdfast", operation.cli or "", *shown])


def _schema(operation: Operation) -> Json:
    return operation.request.model_json_schema(by_alias=True)


def _arguments(operation: Operation) -> Iterator[list[str]]:
    made = _schema(operation)
    required = made.get("required", [])
    for name, prop in made.get("properties", {}).items():
        kind: Json = next((one for one in prop.get("anyOf", ()) if one.get("type") != "null"), prop)
        notes = [str(prop.get("description", kind.get("description", ""))).rstrip("."), *_limits(kind)]
        if name in operation.tool_required and name not in required:
            notes.append("required by the tool")
        if name in operation.tool_defaults:
            notes.append(f"the tool's default is {code(json.dumps(operation.tool_defaults[name]))}")
        default = "required" if name in required else _default(prop)
        yield [code(name), _type(kind), default, "; ".join(filter(None, notes))]


def _default(prop: Json) -> str:
    value = prop.get("default")
    return "" if value is None or value in ([], "") else code(json.dumps(value))


def _type(kind: Json) -> str:
    if "enum" in kind:
        return " or ".join(code(str(word)) for word in kind["enum"])
    if kind.get("format") == "date-time":
        return "time"
    if "oneOf" in kind:
        return "list of strings, or one string separated by commas"
    if kind.get("type") == "array":
        return f"list of {_plural(_type(kind.get('items', {})))}"
    return _WORDS.get("object" if "$ref" in kind else str(kind.get("type")), "any")


_WORDS = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "object": "object",
}


def _plural(word: str) -> str:
    return word if word.startswith("`") else f"{word}s"


def _limits(kind: Json) -> Iterator[str]:
    low, above, high = kind.get("minimum"), kind.get("exclusiveMinimum"), kind.get("maximum")
    if low is not None and high is not None:
        yield f"{low:,} to {high:,}"
    elif above is not None and high is not None:
        yield f"more than {above:,}, at most {high:,}"
    if "maxLength" in kind:
        yield f"at most {kind['maxLength']:,} characters"
    if "maxItems" in kind:
        yield f"at most {kind['maxItems']:,}"
    if "pattern" in kind:
        yield f"matches {code(kind['pattern'])}"


def _answer(operation: Operation) -> str:
    if operation.response is Stream:
        return "One JSON object of any size, streamed."
    answer = typing.get_type_hints(operation.run, include_extras=True)["return"]
    return "\n".join(["```text", *_shape(answer), "```"])


def _shape(hint: Any) -> list[str]:
    """A type as the JSON it stands for, in lines."""
    if is_typeddict(hint):
        return _object_lines(hint)
    if isinstance(hint, types.UnionType) and is_typeddict(typing.get_args(hint)[0]):
        *lines, last = _object_lines(typing.get_args(hint)[0])
        return [*lines, f"{last} or null"]
    if typing.get_origin(hint) is list:
        inner = _shape(typing.get_args(hint)[0])
        return [f"[{inner[0]}", *inner[1:-1], f"{inner[-1]}, …]"] if len(inner) > 1 else [f"[{inner[0]}, …]"]
    return [_word(hint)]


def _object_lines(hint: Any) -> list[str]:
    lines = ["{"]
    for name, field in typing.get_type_hints(hint, include_extras=True).items():
        optional = typing.get_origin(field) is NotRequired
        inner = _shape(typing.get_args(field)[0] if optional else field)
        first, *rest = [f"{inner[0]}", *inner[1:]]
        lines.append(f'  "{name}"{"?" if optional else ""}: {first}')
        lines += [f"  {line}" for line in rest]
    return [*lines, "}"]


def _word(hint: Any) -> str:
    if typing.get_origin(hint) is Annotated:
        mark = next(mark for mark in hint.__metadata__ if isinstance(mark, WithJsonSchema))
        return _marked(mark.json_schema or {})
    if isinstance(hint, types.UnionType):
        return " or ".join(map(_word, typing.get_args(hint)))
    if typing.get_origin(hint) is dict:
        value = typing.get_args(hint)[1]
        return "object" if value is Any else f"{{text: {_word(value)}, …}}"
    return _PYTHON_WORDS[hint]


def _marked(made: Json) -> str:
    """The record that a shape refers to, whatever it calls the reference."""
    return next(str(value) for value in made.values()).rsplit("/", 1)[-1]


_PYTHON_WORDS: dict[Any, str] = {
    str: "text",
    int: "whole number",
    float: "number",
    bool: "true or false",
    type(None): "null",
}


def _record(record: type[Any]) -> str:
    rows = []
    for name, prop in schema(record)["properties"].items():
        optional = "anyOf" in prop
        kind: Json = prop["anyOf"][0] if optional else prop
        rows.append([code(name), _type(kind) + (" or null" if optional else "")])
    return table(["field", "type"], rows)


# Promises


def promises_page() -> str:
    promises = tomllib.loads(PROMISES.read_text(encoding="utf-8"))["promise"]
    groups: dict[str, list[Json]] = {}
    for promise in promises:
        groups.setdefault(promise["id"].split(".")[0], []).append(promise)
    return page("Promises", _PROMISES_INTRO, *(_promises(kind, members) for kind, members in groups.items()))


_PROMISES_INTRO = """
What Holdfast promises, where it says so, and the tests that would fail if it were not so: `make test` runs all of them.
Each promise has an id that does not change. Whatever breaks one is a bug, and a hole where
[SECURITY.md](../SECURITY.md) names it.
"""


def _promises(kind: str, members: list[Json]) -> str:
    return f"## {kind.capitalize()}\n\n" + "\n".join(map(_promise, members))


def _promise(promise: Json) -> str:
    said = ", ".join(f"[{name}](../{name})" for name in dict.fromkeys(name for name, _ in promise.get("said", ())))
    where = f" ({said})" if said else ""
    return "\n".join([f"- `{promise['id']}` {promise['text']}{where}", *map(_carried_by, promise["tests"])])


def _carried_by(test: str) -> str:
    file, _, name = test.partition("::")
    about = name.removeprefix("test_").replace("_", " ") or "all of it"
    return f"  - [{file}](../tests/{file}): {about}"


# Settings


def settings_page() -> str:
    hints = typing.get_type_hints(Settings)
    rows = (
        [
            code(row.env),
            codes(row.also),
            DURATION if row.parse is duration else _setting_kind(hints[row.name]),
            _shown(row),
            f"{prose(row.help)} {_bounds(row)}",
        ]
        for row in SETTINGS
    )
    return page("Settings", _SETTINGS_INTRO, table(["name", "also read", "type", "default", "meaning"], rows))


_SETTINGS_INTRO = """
All settings are environment variables; there is no configuration file. If several names of a row are set, the first one
that is not empty is used. Command-line options (`--data`, `--url`, and `--host` and `--port` of `holdfast serve`)
override the environment. An invalid value stops the command with an error that names the setting.

Settings marked **secret** never appear in a response, an error message or a log.
"""


DURATION = "time, such as 12h"


def _setting_kind(hint: Any) -> str:
    if isinstance(hint, types.UnionType):
        return " or ".join(_setting_kind(part) for part in typing.get_args(hint) if part is not type(None))
    if typing.get_origin(hint) is tuple:
        return "list, comma-separated"
    return _PYTHON_WORDS[hint]


def _bounds(row: Setting) -> str:
    """What the setting's own check says of a value that is far off."""
    try:
        row.parse("9" * 30)
    except ValueError as refused:
        said = str(refused)
        return f"{said.capitalize()}." if said.startswith(("must be one of", "must be between")) else ""
    return ""


def _shown(row: Setting) -> str:
    default = code(row.default) if row.default else "none"
    return f"{default} (**secret**)" if row.hidden else default


# Integrations


def integrations_page() -> str:
    return page("Integrations", *runpy.run_path(str(INTEGRATIONS))["parts"](table))


# Errors


def errors_page() -> str:
    rows = (
        [
            code(fault.code),
            str(fault.http_status),
            str(fault.exit_code),
            "yes" if fault.retryable else "no",
            prose(inspect.getdoc(fault) or ""),
            prose(fault.hint),
        ]
        for fault in every_fault()
        if fault is not Fault
    )
    head = ["code", "HTTP", "exit", "retry", "meaning", "remedy"]
    example = json.dumps(InvalidRequest("remember: content is required").to_dict(), indent=2)
    return page("Errors", _ERRORS_INTRO.replace("EXAMPLE", example), table(head, rows))


_ERRORS_INTRO = f"""
Every error has a code and the same fields. REST returns it as the body of a response with the HTTP status in the table.
An MCP tool returns it as text with `isError`. A command prints it on standard error (as JSON with `--json`) and exits
with the exit code in the table. In Python it is an exception from `holdfast.core.errors`. Some errors have additional
fields:

```json
EXAMPLE
```

If `retryable` is true, the same request may succeed later without changes. Commands also exit with 0 on success, with
{Fault.exit_code} on an error that has no code of its own, and with 130 when they were interrupted.
"""


if __name__ == "__main__":
    sys.exit(main())
