"""How an operation is declared, and the one way in which it is called from every surface."""

from __future__ import annotations

import dataclasses
import inspect
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, GetJsonSchemaHandler, ValidationError
from pydantic.alias_generators import to_camel
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from holdfast.context import CallContext
from holdfast.core.errors import Following, Forbidden, InvalidRequest
from holdfast.core.model import Scope
from holdfast.intake.audience_migration import add_audience_keys
from holdfast.ops.framework.argument_errors import explain
from holdfast.ops.framework.argument_texts import describe
from holdfast.ops.framework.fields import CleanName, Name, collect_findings
from holdfast.ops.framework.notices import news, words_only
from holdfast.protocol.access import Viewer
from holdfast.store.port import Tx
from holdfast.store.quota.tenant_quota import Quota, QuotaStore

Method = Literal["GET", "POST", "PATCH", "DELETE"]
Effect = Literal["read", "write", "destroy"]


class Request(BaseModel):
    """Arguments of an operation. Unknown ones are ignored: clients of all versions send their own."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        populate_by_name=True,
        extra="ignore",
        frozen=True,
        hide_input_in_errors=True,
    )

    agent_id: CleanName | None = Field(
        default=None, description="Agent that owns the records. A token may be bound to one agent."
    )

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        made = handler(core)
        describe(handler.resolve_ref_schema(made).get("properties", {}))
        return made


class SeeingAll(Request):
    """A request for which an admin may ask to see what was said in every chat."""

    all_chats: bool = Field(
        default=False, description="Include records of all chats. Requires the scope admin; recorded in the audit log."
    )

    def viewer(self) -> Viewer:
        return Viewer(admin=self.all_chats)


class ChatRequest(SeeingAll):
    """A request from a chat: who asks, and where. Ids of people are compared as they are, so they are not redacted."""

    umo: Name | None = Field(
        default=None, description="Chat of the request, as platform:type:session. Default: the agent's own memory."
    )
    sender_id: Name | None = Field(
        default=None, description="Sender of the request: the user's id on the chat platform."
    )

    def viewer(self) -> Viewer:
        return Viewer(self.umo or "", self.sender_id or "", self.all_chats)


CHAT_FIELDS = ("umo", "senderId", "sender_id")


class Nothing(Request):
    """An operation without arguments."""


@dataclass(frozen=True, slots=True)
class Stream:
    """An answer of unbounded size: one JSON value, in pieces."""

    pieces: Iterator[bytes]


@dataclass(frozen=True)
class Operation:
    """One thing Holdfast can do. REST, MCP, CLI, OpenAPI and docs are made from this."""

    run: Callable[[CallContext, Any], Any]
    method: Method
    path: str
    effect: Effect = "read"
    scope: Scope | None = None  # what the caller's token needs; by default it follows the effect
    status: int = 200
    status_for: Callable[[Any], int] | None = None  # where it depends on the answer: created or only changed
    also: tuple[tuple[Method, str], ...] = ()
    tool: str | None = None
    tool_also: tuple[str, ...] = ()
    tool_defaults: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    tool_required: tuple[str, ...] = ()
    brief: Mapping[str, Any] = dataclasses.field(default_factory=dict)  # defaults where the reader pays for each word
    cli: str | None = None
    positional: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()  # arguments that may name files: a relative one starts at the caller's folder
    secret_answer: bool = False  # the answer holds a new secret and is never kept
    unguarded: bool = False  # answers without a credential
    short: bool = False  # one write of a millisecond, nothing else: may share its transaction with others
    long: bool = False  # may take hours on a large memory: the caller waits as long
    asks: bool = False  # removes by a plan: the command line shows its dryRun and asks for confirmation
    steps: bool = False  # takes a limit and returns what remains: the command line repeats it and shows progress
    bulk: bool = False  # the request body may be as large as an import
    by_meaning: bool = False  # it finds less where search uses words only
    for_agent: bool = False  # agentId names whom the result is for, not who acts: a new token
    on_copy: bool = False  # a copy that follows another host allows it too: it changes nothing of the memory
    tells: bool = False  # its answer reports what is wrong with the memory anyway

    @property
    def name(self) -> str:
        return self.run.__name__

    @cached_property
    def request(self) -> type[Request]:
        hints = list(_hints(self.run).items())
        return next(hint for name, hint in hints if name not in ("ctx", "return"))  # type: ignore[no-any-return]

    @cached_property
    def response(self) -> Any:
        return _hints(self.run)["return"]

    @cached_property
    def summary(self) -> str:
        return self.description.split("\n", 1)[0]

    @cached_property
    def description(self) -> str:
        return inspect.getdoc(self.run) or ""

    @property
    def needs(self) -> Scope:
        return self.scope or ("read" if self.effect == "read" else "write")

    def status_of(self, answer: Any) -> int:
        return self.status_for(answer) if self.status_for else self.status

    def allow(self, ctx: CallContext) -> None:
        """Refuse a caller without the scope.

        Raises:
            Forbidden: the caller's token does not have it.
        """
        if not ctx.caller.may(self.needs):
            raise Forbidden(f"{self.name}: the token lacks the scope {self.needs}")

    def read(self, arguments: Mapping[str, Any]) -> Request:
        """The request that the arguments make.

        Raises:
            InvalidRequest: one of them cannot be taken; the message names it, never its value.
        """
        try:
            return self.request.model_validate(arguments)
        except ValidationError as error:
            raise InvalidRequest(f"{self.name}: {explain(error)}") from None

    def prepare(self, ctx: CallContext, arguments: Mapping[str, Any]) -> tuple[CallContext, Request]:
        """Check the scope and the arguments and clean the text; what `run` takes.

        Raises:
            Forbidden: the caller may not.
            InvalidRequest: an argument cannot be taken; the message names it, never its value.
        """
        self.allow(ctx)
        if ctx.follow is not None and self.effect != "read" and not self.on_copy:
            self._refuse(ctx)
        arguments = self._from_chat(ctx, arguments)
        with collect_findings() as found:
            request = self.read(arguments)
        redacted = tuple(sorted(found))
        if ctx.asked != request.agent_id or ctx.redacted != redacted:
            ctx = dataclasses.replace(ctx, asked=request.agent_id, redacted=redacted)
        if request.agent_id and ctx.settings.isolated and not self.for_agent:
            ctx.agent()  # before anything is read: an operation that does not use the agent refuses a bad name too
        return self._within_quota(self._seen_by(ctx, request)), request

    def _refuse(self, ctx: CallContext) -> None:
        """Let the store of a copy refuse, which knows whom it follows, in the name of this operation."""
        try:
            ctx.store.write(_nothing)
        except Following as fault:
            raise Following(f"{self.name}{fault.message.removeprefix('write')}", hint=fault.hint) from None

    def _within_quota(self, ctx: CallContext) -> CallContext:
        """The context, with a store that holds what is written to the tenant's quota. What removes is not held."""
        quota = Quota(ctx.settings.quota_records, ctx.settings.quota_bytes, ctx.settings.quota_writes)
        if not quota.is_set or self.effect != "write" or ctx.whole or isinstance(ctx.store, QuotaStore):
            return ctx
        refused = partial(ctx.metrics.count, "holdfast_quota_refusals_total")
        store = QuotaStore(ctx.store, ctx.tenant, quota, ctx.clock.steady, lambda limit: refused(quota=limit))
        return dataclasses.replace(ctx, store=store)

    def _from_chat(self, ctx: CallContext, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """The arguments, with the chat that the connection is bound to, if any.

        Unknown arguments are ignored, but not a chat where none is known: what a user writes there would become
        visible to all, and what is the agent's own would be shown there.
        """
        bound, named = ctx.caller.chat, any(arguments.get(name) is not None for name in CHAT_FIELDS)
        if (bound or named) and not issubclass(self.request, ChatRequest):
            raise InvalidRequest(
                f"{self.name}: umo and senderId are not supported",
                hint="Chats have memories only; see docs/chats.md.",
            )
        if bound is None:
            return arguments
        others = {arguments.get(name) for name in ("senderId", "sender_id")} - {None, bound.sender_id}
        if others or arguments.get("umo") not in (None, bound.umo):
            raise Forbidden("umo, senderId: this connection is bound to one chat and one sender")
        rest = {name: value for name, value in arguments.items() if name not in CHAT_FIELDS}
        return {**rest, "umo": bound.umo, "senderId": bound.sender_id or None}

    def _seen_by(self, ctx: CallContext, request: Request) -> CallContext:
        viewer = request.viewer() if isinstance(request, SeeingAll) else Viewer()
        if viewer.admin:
            if ctx.caller.chat or not ctx.caller.may("admin"):
                raise Forbidden(f"{self.name}: allChats needs a token with the scope admin")
            ctx.store.write(lambda tx: ctx.audit(tx, "see_all_chats", (), asked=self.name))
        seeing = ctx if ctx.viewer == viewer else dataclasses.replace(ctx, viewer=viewer)
        if seeing.in_chat:
            add_audience_keys(ctx.store, ctx.tenant)
        return seeing

    def call(self, ctx: CallContext, arguments: Mapping[str, Any]) -> Any:
        """Prepare and run.

        Raises:
            Fault: the operation's own, or those of `prepare`.
        """
        return self.answer(*self.prepare(ctx, arguments))

    def answer(self, ctx: CallContext, request: Request) -> Any:
        """Run, and say with the answer what is wrong with the memory: an agent that is told "nothing found" by a memory
        that is damaged, or was never restored, would believe it."""
        answer = self.run(ctx, request)
        if ctx.live is None or self.tells or self.unguarded or not isinstance(answer, dict):
            return answer
        trouble = ctx.live.trouble(ctx.tenant)
        notice = f"{trouble.message}. {trouble.hint}" if trouble else news(ctx)
        if notice is None and self.by_meaning:
            notice = words_only(ctx)
        return {**answer, "notice": notice} if notice else answer


def _nothing(tx: Tx) -> None:
    """Writes nothing."""


def _hints(run: Callable[..., Any]) -> dict[str, Any]:
    return typing.get_type_hints(run)
