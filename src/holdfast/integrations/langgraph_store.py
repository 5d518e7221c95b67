"""LangGraph: a BaseStore of items with namespaces, filters, semantic search and time to live.

store = HoldfastStore(Holdfast("~/.holdfast"))
graph = builder.compile(store=store)
"""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from langgraph.store.base import (
    BaseStore,
    GetOp,
    IndexConfig,
    Item,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
    get_text_at_path,
    tokenize_path,
)

from holdfast.client import Holdfast
from holdfast.core.errors import InvalidRequest
from holdfast.core.model import Json

Path = tuple[str, ...]


class HoldfastStore(BaseStore):
    """A store of LangGraph in a memory of Holdfast.

    Values come back as they were put, except for secrets in their texts: these are removed before anything is stored,
    and a warning names their kinds. With secrets="refuse" such a put fails instead, and nothing of its batch is stored.
    Search goes by words and by meaning; the embedder is that of the memory, so `index` takes only `fields`.
    """

    supports_ttl = True

    def __init__(
        self,
        memory: Holdfast,
        *,
        index: IndexConfig | None = None,
        ttl: TTLConfig | None = None,
        secrets: Literal["remove", "refuse"] = "remove",
    ):
        if index and (set(index) - {"fields"}):
            raise InvalidRequest(
                "index: the memory has an embedder of its own, so only fields can be given",
                hint="Leave dims and embed out; HOLDFAST_EMBEDDER chooses the embedder.",
            )
        self._memory = memory
        self._fields = (index or {}).get("fields") or ["$"]
        self._secrets = secrets
        self.ttl_config = ttl

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Reads see the store as it was before the writes of the batch, which are stored together."""
        asked = list(ops)
        results: list[Result] = [None] * len(asked)
        self._get(asked, results)
        for at, op in enumerate(asked):
            if isinstance(op, SearchOp):
                results[at] = self._search(op)
            elif isinstance(op, ListNamespacesOp):
                results[at] = self._namespaces(op)
        # Of two writes of one key the last one counts.
        puts = {(op.namespace, op.key): op for op in asked if isinstance(op, PutOp)}
        if puts:
            self._put(list(puts.values()))
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        return await asyncio.to_thread(self.batch, list(ops))

    def _get(self, asked: Sequence[Op], results: list[Result]) -> None:
        places: dict[Path, list[int]] = {}
        for at, op in enumerate(asked):
            if isinstance(op, GetOp):
                places.setdefault(op.namespace, []).append(at)
        for namespace, wanted in places.items():
            ops = [op for at in wanted if isinstance(op := asked[at], GetOp)]
            rows = self._memory.call("items_get", namespace=list(namespace), keys=[op.key for op in ops])["items"]
            for at, row in zip(wanted, rows, strict=True):
                results[at] = Item(**_item(row)) if row else None
            self._touch([row for op, row in zip(ops, rows, strict=True) if row and op.refresh_ttl])

    def _search(self, op: SearchOp) -> list[SearchItem]:
        rows: list[Json] = self._memory.call(
            "items_search",
            namespace=list(op.namespace_prefix),
            query=op.query or None,
            filter=op.filter or None,
            limit=op.limit,
            offset=op.offset,
        )["items"]
        if op.refresh_ttl:
            self._touch(rows)
        return [SearchItem(**_item(row), score=row.get("score")) for row in rows]

    def _touch(self, rows: Sequence[Json]) -> None:
        ending: dict[Path, list[str]] = {}
        for row in rows:
            if "expiresAt" in row:
                ending.setdefault(tuple(row["namespace"]), []).append(row["key"])
        for namespace, keys in ending.items():
            self._memory.call("items_touch", namespace=list(namespace), keys=keys)

    def _namespaces(self, op: ListNamespacesOp) -> list[Path]:
        paths: dict[str, list[str]] = {}
        for one in op.match_conditions or ():
            if one.match_type in paths:
                raise InvalidRequest(f"list_namespaces: two {one.match_type} conditions are not supported")
            paths[one.match_type] = list(one.path)
        found = self._memory.call(
            "items_namespaces", **paths, max_depth=op.max_depth, limit=op.limit, offset=op.offset
        )["namespaces"]
        return [tuple(path) for path in found]

    def _put(self, ops: Sequence[PutOp]) -> None:
        items = [
            {
                "namespace": list(op.namespace),
                "key": op.key,
                "value": None if op.value is None else dict(op.value),
                "text": "" if op.value is None else self._text(op.value, op.index),
                "ttlMinutes": op.ttl,
            }
            for op in ops
        ]
        answer = self._memory.call("items_put", items=items, secrets=self._secrets)
        if kinds := answer.get("redacted"):
            warnings.warn(
                f"Holdfast removed secrets from values before storing them: {', '.join(kinds)}",
                UserWarning,
                stacklevel=4,
            )

    def _text(self, value: Mapping[str, Any], index: Literal[False] | Sequence[str] | None) -> str | None:
        """What an item is found by; None is all its texts."""
        fields = self._fields if index is None else index or []
        if fields == ["$"]:
            return None
        return "\n".join(text for field in fields for text in get_text_at_path(value, tokenize_path(field)))


def _item(row: Json) -> dict[str, Any]:
    return {
        "namespace": tuple(row["namespace"]),
        "key": row["key"],
        "value": row["value"],
        "created_at": datetime.fromisoformat(row["createdAt"]),
        "updated_at": datetime.fromisoformat(row["updatedAt"]),
    }
