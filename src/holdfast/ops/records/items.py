"""Operations on items: JSON values under exact keys in namespaces, for agent frameworks and applications."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, Literal, NotRequired

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from typing_extensions import TypedDict

from holdfast.context import CallContext
from holdfast.core.errors import InvalidRequest
from holdfast.core.model import CleanText, Json, Memory
from holdfast.core.times import iso
from holdfast.intake.addressed import items as kept
from holdfast.ops.framework.fields import CleanBody, CleanJson, Name, Names, Offset, Query, limit
from holdfast.ops.framework.operation import Operation, Request
from holdfast.protocol.item_filter import matches
from holdfast.recall.flow import search as search_records
from holdfast.recall.hits import Question
from holdfast.redact import redact_text

BATCH = 1_000
PATH = 'Path of the namespace, such as ["users", "ada"] or users,ada.'
SEARCHED = 1_000  # hits of a query that a filter chooses among


class ItemShape(TypedDict):
    namespace: list[str]
    key: str
    value: Json
    createdAt: str
    updatedAt: str
    expiresAt: NotRequired[str]
    score: NotRequired[float | None]


class ItemPut(BaseModel):
    """One item to keep, or to remove."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True, hide_input_in_errors=True)

    namespace: Names = Field(description=PATH)
    key: Name | None = Field(default=None, description="Without a key the item comes after all others.")
    value: CleanJson | None = Field(default=None, description="The value; null removes the item.")
    text: CleanBody | Literal[""] | None = Field(
        default=None, description="What a query finds it by. Default: all texts of the value; empty: none."
    )
    ttl_minutes: float | None = Field(default=None, gt=0, le=52_560_000, allow_inf_nan=False)


class ItemsPut(Request):
    items: list[ItemPut] = Field(
        max_length=BATCH,
        description="Each with namespace, key, value (null removes the item), and if wanted text and ttlMinutes.",
    )
    secrets: Literal["remove", "refuse"] = Field(
        default="remove", description="refuse: store nothing if a value contains a secret, instead of removing it."
    )


class ItemsPutAnswer(TypedDict):
    items: list[ItemShape | None]
    redacted: NotRequired[list[str]]


def items_put(ctx: CallContext, ask: ItemsPut) -> ItemsPutAnswer:
    """Store or remove up to 1,000 items in one transaction: JSON values under exact keys in namespaces.

    A value comes back as it was stored: keys, numbers and structure are kept. Secrets in its texts are removed before;
    `redacted` names their kinds. With secrets=refuse nothing is stored then.
    """
    if ctx.redacted and ask.secrets == "refuse":
        raise InvalidRequest(
            f"items: a value contains what looks like a secret ({', '.join(ctx.redacted)}); nothing was stored",
            hint="Remove it, or pass secrets=remove to store the values without it.",
        )
    for one in ask.items:
        _check_names(one.namespace, one.key)
    made = kept.put_items(ctx, [_draft(one) for one in ask.items])
    answer: ItemsPutAnswer = {"items": [_shape(one) if one else None for one in made]}
    if ctx.redacted:
        answer["redacted"] = list(ctx.redacted)
    return answer


def _check_names(namespace: kept.Path, key: str | None) -> None:
    """Names are compared as they are, so a secret in one cannot be taken out.

    Raises:
        InvalidRequest: a name looks like a secret, or there is no namespace.
    """
    if not namespace:
        raise InvalidRequest("namespace: it must have at least one name")
    if any(redact_text(name).findings for name in (*namespace, key or "")):
        raise InvalidRequest(
            "namespace and key: one looks like a secret, and names are stored as they are",
            hint="Use another name, such as a hash of it.",
        )


def _draft(one: ItemPut) -> kept.ItemDraft:
    text = "\n".join(_texts(one.value)) if one.text is None else one.text
    words = CleanText(text) if text.strip() else kept.NO_WORDS
    return kept.ItemDraft(one.namespace, one.key, one.value, words, one.ttl_minutes)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _texts(one)


def _shape(memory: Memory) -> ItemShape:
    about = kept.item_of(memory)
    shown: ItemShape = {
        "namespace": about["namespace"],
        "key": about["key"],
        "value": about["value"],
        "createdAt": iso(about["createdAt"]),
        "updatedAt": iso(memory.updated_at),
    }
    if memory.forget_after is not None:
        shown["expiresAt"] = iso(memory.forget_after)
    return shown


class ItemsGet(Request):
    namespace: Names = Field(description=PATH)
    keys: Names


class ItemsGetAnswer(TypedDict):
    items: list[ItemShape | None]


def items_get(ctx: CallContext, ask: ItemsGet) -> ItemsGetAnswer:
    """Get items by their keys, each in its place; null where there is none."""
    return {"items": [_shape(one) if one else None for one in kept.items_at(ctx, ask.namespace, ask.keys)]}


class ItemsList(Request):
    namespace: Names = Field(description=PATH)
    limit: int = limit(100, BATCH)
    offset: Offset = 0
    last: bool = Field(default=False, description="Begin with the last item, by key.")


class ItemsAnswer(TypedDict):
    items: list[ItemShape]


def items_list(ctx: CallContext, ask: ItemsList) -> ItemsAnswer:
    """List the items of one namespace in the order of their keys, without those below it."""
    found = kept.items_in(ctx, ask.namespace, last_first=ask.last)
    return {"items": [_shape(one) for one in islice(found, ask.offset, ask.offset + ask.limit)]}


class ItemsSearch(Request):
    namespace: Names = Field(default=(), description=PATH)
    query: Query | None = None
    filter: Json = Field(
        default_factory=dict,
        description="Fields of the value and what they must equal, or operators: $eq, $ne, $gt, $gte, $lt, $lte.",
    )
    limit: int = limit(10, BATCH)
    offset: Offset = 0


def items_search(ctx: CallContext, ask: ItemsSearch) -> ItemsAnswer:
    """Find items of a namespace and of those below it, by the fields of their values and by words and meaning.

    With a query the best come first, each with a score; items that it does not find follow without one. Otherwise the
    items that were changed last come first.
    """
    found = [one for one in kept.items_under(ctx, ask.namespace) if matches(kept.item_of(one)["value"], ask.filter)]
    found.sort(key=lambda one: (one.updated_at, one.seq), reverse=True)
    scores = _scores(ctx, ask) if ask.query else {}
    found.sort(key=lambda one: -scores.get(one.id, float("-inf")))
    page = found[ask.offset : ask.offset + ask.limit]
    if not ask.query:
        return {"items": [_shape(one) for one in page]}
    return {"items": [{**_shape(one), "score": scores.get(one.id)} for one in page]}


def _scores(ctx: CallContext, ask: ItemsSearch) -> dict[str, float]:
    """How well items answer the query, by their ids. One that repeats another's text answers as well as that."""
    question = Question(
        query=ask.query or "",
        limit=SEARCHED if ask.filter else min(ask.offset + ask.limit, SEARCHED),
        type=kept.ITEM,
        concepts=(kept.concept_of(ctx, ask.namespace),) if ask.namespace else (),
        kinds=("memory",),
    )
    scores: dict[str, float] = {}
    for hit in search_records(kept.among_items(ctx), question):
        for id in (hit.record.id, *hit.also):
            scores.setdefault(id, round(hit.score, 6))
    return scores


class ItemsNamespaces(Request):
    prefix: Names = Field(default=(), description="What the path begins with; * stands for any name.")
    suffix: Names = Field(default=(), description="What the path ends with; * stands for any name.")
    max_depth: int | None = Field(default=None, ge=1, le=100, description="Cut longer paths to so many names.")
    limit: int = limit(100, BATCH)
    offset: Offset = 0


class NamespacesAnswer(TypedDict):
    namespaces: list[list[str]]


def items_namespaces(ctx: CallContext, ask: ItemsNamespaces) -> NamespacesAnswer:
    """List the namespaces that have items, sorted."""
    found = [
        path for path in kept.namespaces(ctx) if _begins(path, ask.prefix) and _begins(path[::-1], ask.suffix[::-1])
    ]
    cut = sorted({path[: ask.max_depth] for path in found})
    return {"namespaces": [list(path) for path in cut[ask.offset : ask.offset + ask.limit]]}


def _begins(path: kept.Path, wanted: kept.Path) -> bool:
    pairs = zip(path, wanted, strict=False)
    return len(path) >= len(wanted) and all(one in (name, "*") for name, one in pairs)


class ItemsOf(Request):
    namespace: Names = Field(description=PATH)


class ItemAnswer(TypedDict):
    item: ItemShape | None


def items_pop(ctx: CallContext, ask: ItemsOf) -> ItemAnswer:
    """Take the last item, by key, out of a namespace; null if there is none."""
    last = kept.pop_item(ctx, ask.namespace)
    return {"item": _shape(last) if last else None}


class ItemCount(TypedDict):
    items: int


def items_clear(ctx: CallContext, ask: ItemsOf) -> ItemCount:
    """Remove all items of a namespace, without those below it."""
    return {"items": kept.clear_items(ctx, ask.namespace)}


def items_touch(ctx: CallContext, ask: ItemsGet) -> ItemCount:
    """Let items with a time to live last their whole time again."""
    return {"items": kept.touch_items(ctx, ask.namespace, ask.keys)}


ITEM_OPERATIONS = (
    Operation(items_put, "POST", "/items", effect="write", status=201, bulk=True),
    Operation(items_get, "POST", "/items/get", tool="item_get", cli="item get"),
    Operation(items_list, "POST", "/items/list", tool="item_list", cli="item list"),
    Operation(
        items_search,
        "POST",
        "/items/search",
        tool="item_search",
        cli="item search",
        by_meaning=True,
        positional=("query",),
    ),
    Operation(items_namespaces, "POST", "/items/namespaces", tool="item_namespaces", cli="item namespaces"),
    Operation(items_pop, "POST", "/items/pop", effect="destroy"),
    Operation(items_clear, "POST", "/items/clear", effect="destroy", cli="item clear"),
    Operation(items_touch, "POST", "/items/touch", effect="write"),
)
