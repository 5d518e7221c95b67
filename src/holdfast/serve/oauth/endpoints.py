"""The endpoints of OAuth: each reads a request, lets ops/oauth decide in a thread, and gives the answer its form."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from holdfast.context import CallContext
from holdfast.core.errors import Fault, Unauthorized
from holdfast.core.model import Caller, Json
from holdfast.engine import Engine
from holdfast.ops.oauth.clients import authenticated, register
from holdfast.ops.oauth.consents import (
    access_request,
    agreed,
    choice,
    code_if_approved,
    issue_code,
    suggested_agent,
    wait_for_consent,
)
from holdfast.ops.oauth.grants import exchange, revoke
from holdfast.ops.oauth.oauth_records import AccessRequest, OAuthRefused
from holdfast.serve.http.admission import RateBuckets, address_of
from holdfast.serve.http.auth import Auth
from holdfast.serve.http.request_body import read_body
from holdfast.serve.http.strict_json import dumps, loads
from holdfast.serve.oauth import issuer
from holdfast.serve.oauth.consent_page import consent_page, refusal_page, waiting_page
from holdfast.serve.oauth.form_fields import MAX_FORM, client_credentials, fields_of, form_of, object_of

T = TypeVar("T")
# Everybody may register and begin, and each time a row is written: twenty at once from one address, then one in ten
# seconds. Behind a proxy all have one address; the numbers of rows are bounded besides.
STRANGERS_RATE, STRANGERS_BURST = 0.1, 20.0
_PARAMS = (
    "response_type", "client_id", "redirect_uri", "scope", "state", "resource", "code_challenge",
    "code_challenge_method",
)  # fmt: skip
_STATUS = {"invalid_client": 401, "temporarily_unavailable": 503}
_Handler = Callable[[Request], Awaitable[Response]]


class OAuthEndpoints:
    """The routes, for one engine."""

    def __init__(self, engine: Engine, auth: Auth, pool: ThreadPoolExecutor):
        self._engine = engine
        self._auth = auth
        self._pool = pool
        self.strangers = RateBuckets(STRANGERS_RATE, engine.clock, STRANGERS_BURST)

    def routes(self) -> list[Route]:
        resource = self._document(issuer.resource_document)
        return [
            Route(issuer.RESOURCE_PATH, resource, methods=["GET"]),
            Route(issuer.RESOURCE_PATH + issuer.MCP, resource, methods=["GET"]),
            Route(issuer.SERVER_PATH, self._document(issuer.server_document), methods=["GET"]),
            Route(issuer.REGISTER, _as_json(self._register), methods=["POST"]),
            Route(issuer.AUTHORIZE, _as_page(self._show), methods=["GET"]),
            Route(issuer.AUTHORIZE, _as_page(self._decide), methods=["POST"]),
            Route(issuer.TOKEN, _as_json(self._token), methods=["POST"]),
            Route(issuer.REVOKE, _as_json(self._revoke), methods=["POST"]),
        ]

    def challenged(self, fault: Unauthorized, *, had_token: bool) -> Unauthorized:
        """The fault, which also tells a client how to get a token."""
        fault.challenge = issuer.challenge(self._engine.settings, had_token=had_token)
        return fault

    def _document(self, make: Callable[[Any], Json]) -> _Handler:
        async def document(request: Request) -> Response:
            return _json(make(self._engine.settings))

        return document

    async def _run(self, work: Callable[..., T], *arguments: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._pool, partial(work, *arguments))

    def _stranger(self) -> CallContext:
        """A context for who has no credential yet; what such a caller may do is decided in ops/oauth."""
        return self._engine.context(Caller(scopes=frozenset(), name="oauth"))

    @property
    def _resource(self) -> str:
        return issuer.resource(self._engine.settings)

    async def _register(self, request: Request) -> Response:
        self.strangers.take(address_of(request.scope))
        pause = self._engine.settings.body_seconds
        raw = await read_body(request.scope, request.receive, limit=MAX_FORM, pause_seconds=pause)
        return _json(await self._run(register, self._stranger(), object_of(loads(raw) if raw else None)), 201)

    async def _show(self, request: Request) -> Response:
        params = fields_of(request.scope["query_string"])
        asked = await self._run(access_request, self._stranger(), params, self._resource)
        return self._form(asked, params)

    def _form(self, asked: AccessRequest, params: dict[str, str], wrong: str = "", status: int = 200) -> Response:
        ctx = self._stranger()
        agent = params.get("agent", suggested_agent(ctx, asked.client_name))
        sent = {name: params[name] for name in _PARAMS if name in params}
        return consent_page(asked, sent, agent, params.get("tenant", ctx.tenant), wrong, status)

    async def _decide(self, request: Request) -> Response:
        fields = await form_of(request, self._engine.settings.body_seconds, lists=("grant",))
        if fields.get("step") == "continue":
            return await self._run(self._continue, fields)
        asked = await self._run(access_request, self._stranger(), fields, self._resource)
        if fields.get("step") == "deny":
            return self._back(asked, error="access_denied")
        self.strangers.take(address_of(request.scope))
        return await self._run(self._allow, asked, fields)

    def _allow(self, asked: AccessRequest, fields: dict[str, str]) -> Response:
        scopes = tuple(fields.get("grant", "").split())
        try:
            chosen = choice(asked, fields.get("tenant", "").strip(), fields.get("agent", "").strip(), scopes)
            if not (credential := fields.get("credential", "").strip()):
                return waiting_page(asked, *wait_for_consent(self._stranger(), asked, chosen))
            ctx = self._engine.context(self._auth.of(credential))
            consent = agreed(ctx, chosen)
            code = ctx.store.write(lambda tx: issue_code(ctx, tx, asked, consent))
        except Fault as fault:
            message = "This is neither the secret nor a token." if isinstance(fault, Unauthorized) else fault.message
            return self._form(asked, fields, message, fault.http_status)
        return self._back(asked, code=code)

    def _continue(self, fields: dict[str, str]) -> Response:
        shown, secret = fields.get("code", ""), fields.get("page", "")
        asked, code = code_if_approved(self._stranger(), shown, secret)
        return waiting_page(asked, shown, secret, again=True) if code is None else self._back(asked, code=code)

    def _back(self, asked: AccessRequest, **answer: str) -> Response:
        """Send the user back to the client, to an address that it registered."""
        query = urlencode({**answer, "state": asked.state, "iss": issuer.issuer(self._engine.settings)})
        joint = "&" if "?" in asked.redirect_uri else "?"
        return Response(status_code=303, headers={"Location": f"{asked.redirect_uri}{joint}{query}"})

    async def _token(self, request: Request) -> Response:
        return _json(await self._for_client(request, partial(exchange, resource=self._resource)))

    async def _revoke(self, request: Request) -> Response:
        await self._for_client(request, lambda ctx, client, fields: revoke(ctx, client, fields.get("token", "")))
        return _json({})

    async def _for_client(self, request: Request, work: Callable[..., T]) -> T:
        """What the work gives for a client that proved to be it."""
        fields = await form_of(request, self._engine.settings.body_seconds)
        credentials = client_credentials(request, fields)

        def run() -> T:
            ctx = self._stranger()
            return work(ctx, authenticated(ctx, *credentials), fields)

        return await self._run(run)


def _as_json(handler: _Handler) -> _Handler:
    """What OAuth refuses is told to the client's developer in the form that OAuth has for it."""

    async def handled(request: Request) -> Response:
        try:
            return await handler(request)
        except OAuthRefused as refused:
            status = _STATUS.get(refused.error, 400)
            answer = _json({"error": refused.error, "error_description": refused.description}, status)
            if status == 401:
                answer.headers["WWW-Authenticate"] = 'Basic realm="holdfast"'
            return answer

    return handled


def _as_page(handler: _Handler) -> _Handler:
    """Here a person reads what is refused."""

    async def handled(request: Request) -> Response:
        try:
            return await handler(request)
        except OAuthRefused as refused:
            return refusal_page(f"The program sent a request that cannot be taken: {refused.description}.")
        except Fault as fault:
            return refusal_page(fault.message, fault.hint, fault.http_status)

    return handled


def _json(value: Json, status: int = 200) -> Response:
    return Response(dumps(value), status, {"Pragma": "no-cache"}, "application/json")
