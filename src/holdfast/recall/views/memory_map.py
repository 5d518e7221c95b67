"""Where memories belong: folders and concepts, drawn together by what memories share and by the folders' parents.

A memory lies in the folders of its files; one without files lies in its project. Only the newest memories are
read, and of what they name only what most of them name is drawn: the map reports how much it left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
import orjson
from numpy.typing import NDArray

from holdfast.context import CallContext
from holdfast.core.model import Memory
from holdfast.store.port import Condition, Reader, where
from holdfast.store.tables import MEMORIES

MOST_MEMORIES = 10_000
MOST_EDGES = 8_000
CONCEPTS_OF_ONE = 24  # of one memory; a list of hundreds describes none of them

Node = tuple[str, str]  # kind and name
Edge = tuple[Node, Node]


@dataclass(frozen=True, slots=True)
class MapGraph:
    """Nodes with how many memories name them, heaviest first; what is left out is counted."""

    nodes: dict[Node, int]
    homes: dict[Node, str]  # the folder that a concept is mostly named in
    shared: list[tuple[Edge, int]]  # folder and concept, and how many memories have both
    parents: list[Edge]  # folder and the folder around it
    memories: int
    left_memories: int
    left_folders: int
    left_concepts: int
    left_edges: int


@dataclass(frozen=True, slots=True)
class _MemoryFolders:
    """What one memory names."""

    seq: int
    folders: tuple[str, ...]
    concepts: tuple[str, ...]


def draw(ctx: CallContext, project: str | None, agent: str | None, most_nodes: int) -> MapGraph:
    """Folders and concepts of the newest memories that the caller may see."""
    reader = ctx.store.read()
    bounds = _bounds(ctx, project, agent)
    seqs = reader.newest(MEMORIES, ctx.tenant, MOST_MEMORIES, *bounds)
    folders: Counter[str] = Counter()
    concepts: Counter[str] = Counter()
    both: Counter[tuple[str, str]] = Counter()
    for one in _placed(ctx, reader, seqs):
        folders.update(one.folders)
        concepts.update(one.concepts)
        both.update((folder, concept) for folder in one.folders for concept in one.concepts)
    _add_parents(folders)
    nodes = _heaviest(folders, concepts, most_nodes)
    shared = [(edge, n) for edge, n in _edges(both) if edge[0] in nodes and edge[1] in nodes]
    parents = list(_parents(nodes))
    room = max(0, MOST_EDGES - len(parents))
    kinds = Counter(kind for kind, _ in nodes)
    return MapGraph(
        nodes=nodes,
        homes=_homes(shared),
        shared=shared[:room],
        parents=parents,
        memories=len(seqs),
        left_memories=reader.count(MEMORIES, ctx.tenant, *bounds) - len(seqs),
        left_folders=len(folders) - kinds["folder"],
        left_concepts=len(concepts) - kinds["concept"],
        left_edges=len(both) - len(shared[:room]),
    )


def memories_at(
    ctx: CallContext, kind: str, name: str, project: str | None, agent: str | None, limit: int, offset: int
) -> tuple[list[Memory], int]:
    """The memories behind a node, newest first, and how many there are: of a folder also those in folders inside it."""
    reader = ctx.store.read()
    seqs = reader.newest(MEMORIES, ctx.tenant, MOST_MEMORIES, *_bounds(ctx, project, agent))
    found = sorted((one.seq for one in _placed(ctx, reader, seqs) if _is_at(one, kind, name)), reverse=True)
    page = found[offset : offset + limit]
    records = reader.find(MEMORIES, ctx.tenant, Condition("seq", "in", page)) if page else []
    return [one for one in records if ctx.may_see(one, agent)], len(found)


def _is_at(one: _MemoryFolders, kind: str, name: str) -> bool:
    if kind == "concept":
        return name in one.concepts
    return any(folder == name or _is_inside(folder, name) for folder in one.folders)


def _is_inside(folder: str, outer: str) -> bool:
    return folder.startswith(outer if outer.endswith("/") else f"{outer}/")


def _bounds(ctx: CallContext, project: str | None, agent: str | None) -> tuple[Condition, ...]:
    return (*ctx.sees_memories(agent), *where(latest=True, project=project))


def _placed(ctx: CallContext, reader: Reader, seqs: NDArray[np.int64]) -> Iterator[_MemoryFolders]:
    """Three columns and not the records: 10,000 of these take a tenth of a second less."""
    columns = ("seq", "concepts", "files", "project")
    for seq, concepts, files, project in reader.values(MEMORIES, ctx.tenant, columns, seqs.tolist()):
        inside = sorted({_folder_of(file) for file in orjson.loads(files)})
        named = tuple(dict.fromkeys(islice(orjson.loads(concepts), CONCEPTS_OF_ONE)))
        yield _MemoryFolders(seq, tuple(inside) or ((project,) if project else ()), named)


def _folder_of(file: str) -> str:
    """The path up to the last slash; a file that stands alone lies in the folder '.'."""
    head, slash, _ = file.replace("\\", "/").rpartition("/")
    return head or ("/" if slash else ".")


def _parent_of(folder: str) -> str | None:
    head, slash, _ = folder.rpartition("/")
    return head if slash and head else None


def _add_parents(folders: Counter[str]) -> None:
    """The folders around those that are named. Most hold nothing themselves, but hold the others together."""
    for folder in list(folders):
        around = _parent_of(folder)
        while around is not None:
            if around in folders:
                break
            folders[around] = 0
            around = _parent_of(around)


def _heaviest(folders: Counter[str], concepts: Counter[str], most: int) -> dict[Node, int]:
    """Concepts get at least half of the places, if there are so many; a folder that joins nothing is left out."""
    inside = Counter(_parent_of(name) for name in folders)
    joined = [(("folder", name), n) for name, n in folders.most_common() if n or inside[name] > 1]
    named = [(("concept", name), n) for name, n in concepts.most_common()]
    room = max(most - len(joined), most // 2)
    kept = [*joined[: most - min(len(named), room)], *named[:room]]
    return dict(sorted(kept, key=lambda pair: -pair[1]))


def _edges(both: Counter[tuple[str, str]]) -> Iterator[tuple[Edge, int]]:
    for (folder, concept), n in both.most_common():
        yield (("folder", folder), ("concept", concept)), n


def _parents(nodes: Iterable[Node]) -> Iterator[Edge]:
    """Each folder with the nearest one around it that is drawn."""
    known = {name for kind, name in nodes if kind == "folder"}
    for folder in sorted(known):
        around = _parent_of(folder)
        while around is not None and around not in known:
            around = _parent_of(around)
        if around is not None:
            yield ("folder", folder), ("folder", around)


def _homes(shared: Iterable[tuple[Edge, int]]) -> dict[Node, str]:
    homes: dict[Node, str] = {}
    for ((_, folder), concept), _ in shared:  # the heaviest first
        homes.setdefault(concept, folder)
    return homes
