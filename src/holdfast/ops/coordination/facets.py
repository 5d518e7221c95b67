"""Operations on facets: tags of the form dimension:value on actions, memories and observations."""

from __future__ import annotations

from typing import Literal, NotRequired

from pydantic import Field, field_validator
from typing_extensions import TypedDict

from holdfast.context import CallContext
from holdfast.coordination.coordination_records import FACET, found, view
from holdfast.coordination.facets import tag, tagged, untag
from holdfast.core.errors import InvalidRequest
from holdfast.core.model import CleanText, Json
from holdfast.ops.framework.fields import CleanLabel, Name, Names, limit
from holdfast.ops.framework.operation import Operation, Request
from holdfast.store.port import where

TargetType = Literal["action", "memory", "observation"]


class FacetTag(Request):
    target_id: Name
    target_type: TargetType
    dimension: CleanLabel = Field(description="Such as priority, team or area; without a colon.")
    value: CleanLabel

    @field_validator("dimension", "value")
    @classmethod
    def _plain(cls, text: CleanText) -> CleanText:
        if not text.strip() or "," in text:
            raise ValueError("must not be empty or hold a comma")
        return CleanText(text.strip())

    @field_validator("dimension")
    @classmethod
    def _without_colon(cls, text: CleanText) -> CleanText:
        if ":" in text:
            raise ValueError("must not hold a colon")
        return text


class FacetAnswer(TypedDict):
    success: bool
    facet: Json
    skipped: NotRequired[bool]


def facet_tag(ctx: CallContext, ask: FacetTag) -> FacetAnswer:
    """Tag an action, a memory or an observation with dimension:value. Tagging it again changes nothing."""
    made, new = tag(ctx, ask.target_type, ask.target_id, ask.dimension, ask.value)
    answer: FacetAnswer = {"success": True, "facet": view(made)}
    return answer if new else {**answer, "skipped": True}


class FacetRemove(Request):
    target_id: Name
    dimension: Name
    value: Name | None = Field(default=None, description="Default: all values of the dimension.")


class FacetRemoveAnswer(TypedDict):
    success: bool
    removed: int


def facet_remove(ctx: CallContext, ask: FacetRemove) -> FacetRemoveAnswer:
    """Remove the facets of a record in a dimension."""
    return {"success": True, "removed": untag(ctx, ask.target_id, ask.dimension, ask.value)}


class FacetQuery(Request):
    match_all: Names = Field(default=(), description="dimension:value, all of which a record must have.")
    match_any: Names = Field(default=(), description="dimension:value, one of which a record must have.")
    target_type: TargetType | None = None
    limit: int = limit(50, 500)


class FacetQueryAnswer(TypedDict):
    success: bool
    results: list[Json]


def facet_query(ctx: CallContext, ask: FacetQuery) -> FacetQueryAnswer:
    """Find actions, memories and observations by their facets: all of some, and any of others."""
    if not ask.match_all and not ask.match_any:
        raise InvalidRequest("matchAll, matchAny: name at least one facet, such as priority:urgent")
    listed = tagged(ctx, ask.match_all, ask.match_any, ask.target_type, ask.limit)
    results = [{"targetId": one.id, "targetType": one.type, "matchedFacets": list(one.facets)} for one in listed]
    return {"success": True, "results": results}


class Facets(Request):
    target_id: Name | None = Field(default=None, description="Facets of this record. Default: of all.")


class FacetsAnswer(TypedDict):
    success: bool
    dimensions: list[Json]


def facets(ctx: CallContext, ask: Facets) -> FacetsAnswer:
    """List the dimensions of facets and their values, of one record or of all, with how often each is used."""
    counts: dict[str, dict[str, int]] = {}
    for one in found(ctx, ctx.store.read(), FACET, *where(subject=ask.target_id)):
        values = counts.setdefault(one.body["dimension"], {})
        values[one.body["value"]] = values.get(one.body["value"], 0) + 1
    dimensions = [
        {"dimension": name, "values": sorted(values), "counts": values} for name, values in sorted(counts.items())
    ]
    return {"success": True, "dimensions": dimensions}


FACETS = (
    Operation(facets, "GET", "/facets", also=(("GET", "/facets/stats"),), cli="facet list"),
    Operation(
        facet_tag,
        "POST",
        "/facets",
        effect="write",
        tool="memory_facet_tag",
        cli="facet tag",
        positional=("targetType", "targetId", "dimension", "value"),
    ),
    Operation(
        facet_remove,
        "POST",
        "/facets/remove",
        effect="write",
        cli="facet remove",
        positional=("targetId", "dimension", "value"),
    ),
    Operation(facet_query, "POST", "/facets/query", tool="memory_facet_query", cli="facet query"),
)
