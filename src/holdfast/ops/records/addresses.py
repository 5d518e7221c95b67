"""Operations on the addresses of memories."""

from __future__ import annotations

from itertools import islice

from pydantic import Field
from typing_extensions import TypedDict

from holdfast.context import CallContext
from holdfast.core.model import Address, Json, Memory
from holdfast.core.wire import shape
from holdfast.intake.addresses import add_alias, address_shape, move, places
from holdfast.ops.framework.answers import MemoryShape
from holdfast.ops.framework.fields import CleanName, Name, Offset, limit, storable
from holdfast.ops.framework.operation import ChatRequest, Operation


class Addresses(ChatRequest):
    under: str = Field(
        default="", max_length=512, description="Only addresses with this prefix, such as facts:// or facts://home/"
    )
    limit: int = limit(100, 1000)
    offset: Offset = 0


class AddressesAnswer(TypedDict):
    addresses: list[Json]


def addresses(ctx: CallContext, ask: Addresses) -> AddressesAnswer:
    """List the addresses of memories in alphabetical order, with the memory at each."""
    storable(ask.under)
    found = islice(places(ctx, ctx.store.read(), ask.under, ask.agent_id), ask.offset, ask.offset + ask.limit)
    return {
        "addresses": [
            {**address_shape(one.address), "memoryId": one.memory.id, "title": one.memory.title} for one in found
        ]
    }


class AddressAlias(ChatRequest):
    id: Name = Field(description="Id or address of the memory.")
    alias: CleanName = Field(description="Additional address, domain://path.")


class AddressAnswer(TypedDict):
    success: bool
    memory: MemoryShape
    addresses: list[Json]


def address_alias(ctx: CallContext, ask: AddressAlias) -> AddressAnswer:
    """Add another address to a memory. Every address resolves to its current version."""
    return _address_answer(*add_alias(ctx, ask.id, ask.alias, ask.agent_id))


class AddressMove(ChatRequest):
    id: Name = Field(description="Id or address of the memory.")
    to: CleanName = Field(description="New address, domain://path.")


def address_move(ctx: CallContext, ask: AddressMove) -> AddressAnswer:
    """Change the address of a memory. The old address redirects to the new one."""
    return _address_answer(*move(ctx, ask.id, ask.to, ask.agent_id))


def _address_answer(memory: Memory, names: list[Address]) -> AddressAnswer:
    return {"success": True, "memory": shape(memory), "addresses": [address_shape(one) for one in names]}


ADDRESS_OPERATIONS = (
    Operation(addresses, "GET", "/addresses", tool="memory_addresses", cli="address list", positional=("under",)),
    Operation(
        address_alias,
        "POST",
        "/addresses/alias",
        effect="write",
        tool="memory_address_alias",
        cli="address alias",
        positional=("id", "alias"),
    ),
    Operation(
        address_move,
        "POST",
        "/addresses/move",
        effect="write",
        tool="memory_address_move",
        cli="address move",
        positional=("id", "to"),
    ),
)
