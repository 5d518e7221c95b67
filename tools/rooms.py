"""The rooms of src/holdfast and their levels, and docs/rooms.svg, the picture of them: python tools/rooms.py

The levels are written here once: tests/test_layers.py holds the imports to them, and the picture is drawn from them and
from the first line of each package. `make docs` draws it anew; a test compares it with the tree.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "holdfast"
PICTURE = ROOT / "docs" / "rooms.svg"

Levels = tuple[tuple[str, ...], ...]

# From the ground up. A room may import what stands lower. Rooms of one level do not know each other, but for those of
# the lowest level: they are small modules, and a test makes sure that these form no circle.
LEVELS: Levels = (
    ("core", "text", "local", "settings"),
    ("redact", "store", "remote", "protocol", "index", "vault", "viewer"),
    ("context", "embedder", "colony", "transport"),
    ("daemon", "projects"),
    ("intake", "recall", "learn", "snapshot"),
    ("coordination", "pages"),
    ("engine",),
    ("ops",),
    ("connection",),
    ("client_snapshots",),
    ("client",),
    ("user_memory",),
    ("serve", "cli", "integrations", "wrap"),
    ("holdfast",),  # the package itself: public names only
)

# The same inside the large rooms: packages and modules by their names below the room.
INSIDE: dict[str, Levels] = {
    "snapshot": (
        ("bundle", "chunks", "keys"),  # formats: no repository, no vault
        ("repo",),
        ("sources", "merge"),
        ("remote", "nexo"),
        ("journal", "guard"),
        ("verify", "status", "prune", "damaged_generations"),
        ("resolve",),
        ("browse", "scrub"),
        ("sync", "diff"),
        ("wire",),
        ("create",),
        ("switch", "triggers"),
        ("restore", "merge_run", "undo"),
        ("recovery", "drill"),
        ("follow",),
    ),
    "store": (
        ("vector_values", "journal"),
        ("port", "data_folder", "tokenizer", "kernel", "fleet"),
        ("minhash", "quantization", "damage", "unavailable", "rows", "engine_port", "fulltext", "quota"),
        ("tables", "envelope"),
        ("queries",),
        ("sqlite",),
        ("portable", "guard"),
        ("postgres", "move"),
        ("engines",),  # knows which engines there are
    ),
    "store.sqlite": (
        ("faults", "event_queue", "recall_counts", "minhash_index", "database", "row_check", "word_rows", "word_check"),
        ("vectors", "changes"),
        ("integrity", "reader"),
        ("tx", "files"),
        ("group_commit",),
        ("store",),
        ("generations",),
        ("live", "move"),
    ),
    "store.postgres": (
        ("connect_faults",),
        ("pool", "conditions"),
        ("damage",),
        ("batch", "session", "schema"),
        ("vectors", "usage"),
        ("reader", "space_copy", "integrity"),
        ("shared",),
        ("tx",),
        ("group_commit",),
        ("store",),
        ("live", "move"),
    ),
    "ops": (
        ("framework",),
        ("query", "oauth"),
        ("records", "snapshots", "foreign", "coordination"),
        ("server",),
        ("registry",),
        ("openapi",),
    ),
}

# Of the picture, in pixels.
WIDTH, GAP, PAD = 1_200, 10, 8
LINE, SMALL = 17, 12
LETTER, WIDE_LETTER = 6.1, 7.4  # of the small font, on average, and of the one with equal letters
WORTH_SHOWING = 12  # letters: less of a sentence says nothing


def duty(name: str) -> str:
    """The first sentence of what a room says of itself; "" if it is a single module or the package."""
    path = SOURCE / name.replace(".", "/")
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    if name == "holdfast":
        return "Public names only."
    text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    first = " ".join(text.split("\n\n")[0].replace("`", "").split())
    return first.split(". ")[0].rstrip(".") + "."


def rooms_inside(name: str) -> list[str]:
    """The packages of a room, by their names below it."""
    path = SOURCE / name.replace(".", "/")
    return sorted(one.name for one in path.iterdir() if (one / "__init__.py").is_file()) if path.is_dir() else []


def draw() -> str:
    """The picture: the levels of the house, then the insides of the rooms that have levels of their own."""
    parts, y = [], 34
    for number, row in enumerate(reversed(LEVELS)):
        height = max(_height(name, _width(len(row))) for name in row)
        for x, name in _places(row):
            parts.append(_box(x, y, _width(len(row)), height, name, number))
        y += height + GAP
    for room, levels in INSIDE.items():
        y += 34
        parts.append(_text(PAD, y - 10, f"Inside {room.replace('.', '/')}/", "title"))
        for row in reversed(levels):
            parts += [_chip(x, y, _width(len(row)), room, name) for x, name in _places(row)]
            y += LINE + PAD + 4
    return "\n".join([_head(y + PAD), *parts, "</svg>", ""])


def _places(row: Sequence[str]) -> Iterator[tuple[float, str]]:
    for at, name in enumerate(row):
        yield PAD + at * (_width(len(row)) + GAP), name


def _width(count: int) -> float:
    return round((WIDTH - 2 * PAD - GAP * (count - 1)) / count, 1)


def _wrapped(text: str, width: float) -> list[str]:
    return textwrap.wrap(text, int((width - 2 * PAD) / LETTER))


def _inner(name: str) -> str:
    found = rooms_inside(name) if name != "holdfast" else []
    return "rooms: " + " · ".join(found) if found else ""


def _height(name: str, width: float) -> int:
    lines = len(_wrapped(duty(name), width)) + len(_wrapped(_inner(name), width))
    return LINE + PAD + lines * (SMALL + 3) + PAD


def _box(x: float, y: float, width: float, height: int, name: str, level: int) -> str:
    shade = "a" if level % 2 else "b"
    is_room = (SOURCE / name).is_dir() or name == "holdfast"
    lines = [f'<rect class="{shade}" x="{x}" y="{y}" width="{width}" height="{height}" rx="5"/>']
    lines.append(_text(x + PAD, y + LINE, f"{name}/" if is_room else f"{name}.py", "name"))
    below = y + LINE + PAD + 8
    for text in _wrapped(duty(name), width):
        lines.append(_text(x + PAD, below, text, "duty"))
        below += SMALL + 3
    for text in _wrapped(_inner(name), width):
        lines.append(_text(x + PAD, below, text, "inner"))
        below += SMALL + 3
    return "\n".join(lines)


def _chip(x: float, y: float, width: float, room: str, name: str) -> str:
    is_room = (SOURCE / room.replace(".", "/") / name).is_dir()
    rect = f'<rect class="{"b" if is_room else "c"}" x="{x}" y="{y}" width="{width}" height="{LINE + 6}" rx="4"/>'
    label = f"{name}/" if is_room else f"{name}.py"
    lines = [rect, _text(x + PAD, y + LINE - 1, label, "chip")]
    taken = len(label) * WIDE_LETTER + 2 * PAD
    letters = int((width - taken - PAD) / LETTER)
    if letters >= WORTH_SHOWING:
        about = textwrap.shorten(duty(f"{room}.{name}"), letters, placeholder=" …")
        lines.append(_text(x + taken, y + LINE - 1, about, "inner"))
    return "\n".join(lines)


def _text(x: float, y: float, text: str, kind: str) -> str:
    return f'<text class="{kind}" x="{round(x, 1)}" y="{y}">{escape(text)}</text>'


def _head(height: int) -> str:
    style = (
        "text{font-family:system-ui,sans-serif;fill:#1b1f24}"
        ".title{font-size:15px;font-weight:600}.name{font-size:14px;font-weight:600;font-family:ui-monospace,monospace}"
        f".chip{{font-size:{SMALL}px;font-family:ui-monospace,monospace}}.duty,.inner{{font-size:{SMALL - 1}px}}"
        ".inner{fill:#57606a}rect{stroke:#8c959f}.a{fill:#f6f8fa}.b{fill:#ddf4ff}.c{fill:#fff}.ground{fill:#fff;stroke:none}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}">\n'
        f"<style>{style}</style>\n"
        f'<rect class="ground" width="{WIDTH}" height="{height}"/>\n'
        + _text(PAD, 20, "The rooms of holdfast: each may import what stands below it", "title")
    )


if __name__ == "__main__":
    PICTURE.write_text(draw(), encoding="utf-8")
