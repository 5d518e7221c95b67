"""From a client's request to a code: what is checked, who may agree, and where a request waits meanwhile."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, replace

from holdfast.context import CallContext
from holdfast.core.errors import Forbidden, InvalidRequest, LimitReached, NotFound
from holdfast.core.model import DEFAULT_TENANT, CleanText
from holdfast.ops.oauth.clients import APPROVED_MS, known_client
from holdfast.ops.oauth.oauth_records import AccessRequest, Client, Consent, Grant, OAuthRefused, WaitingRequest
from holdfast.ops.oauth.redirect_uris import is_registered
from holdfast.ops.oauth.token_secret import CODE_PREFIX, ID_CHARS, SECRET_CHARS, hash_of, is_secret, joined
from holdfast.redact import redact_text
from holdfast.store.port import Tx

SCOPES = ("read", "write")  # never admin: no client that registered by itself makes tokens or sees all chats
CODE_SECONDS = 60
WAIT_SECONDS = 600
MAX_WAITING = 200
MAX_STATE_CHARS = 2_000
CODE_LETTERS = "BCDFGHJKLMNPQRSTVWXZ"  # no vowels: no words; 20 of them, so 8 make 25 thousand million codes
NAMES = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")


def access_request(ctx: CallContext, params: Mapping[str, str], resource: str) -> AccessRequest:
    """What the client requests, for the resource with that address.

    Where it cannot be taken, nobody is sent anywhere: anyone may register an address, so a link to here that sends its
    reader on at once would lead to any page (RFC 9700, 4.11).

    Raises:
        OAuthRefused: it cannot be taken.
    """
    client = known_client(ctx, params.get("client_id", ""))
    if client is None:
        raise OAuthRefused("invalid_client", "client_id is not known here; the client has to register again")
    uri = params.get("redirect_uri") or (client.redirect_uris[0] if len(client.redirect_uris) == 1 else "")
    if not is_registered(uri, client.redirect_uris):
        raise OAuthRefused("invalid_redirect_uri", "redirect_uri is not one that this client registered")
    scopes = _checked(params, resource)
    return AccessRequest(client.id, client.name, uri, params["code_challenge"], params["state"], scopes)


def _checked(params: Mapping[str, str], resource: str) -> tuple[str, ...]:
    """The scopes of a request that is right in everything else."""
    if params.get("response_type") != "code":
        raise OAuthRefused("unsupported_response_type", "response_type must be code")
    if not 0 < len(params.get("state", "")) <= MAX_STATE_CHARS:
        raise OAuthRefused("invalid_request", f"state is required, with up to {MAX_STATE_CHARS} characters")
    if params.get("code_challenge_method") != "S256" or not _CHALLENGE.fullmatch(params.get("code_challenge", "")):
        raise OAuthRefused("invalid_request", "PKCE is required: a code_challenge with the method S256")
    check_resource(params, resource)
    return asked_scopes(params.get("scope"), SCOPES)


def check_resource(params: Mapping[str, str], resource: str) -> None:
    """Refuse a request for a token that is to be used elsewhere (RFC 8707)."""
    if params.get("resource", resource).rstrip("/") != resource:
        raise OAuthRefused("invalid_target", f"resource must be {resource}")


def asked_scopes(text: str | None, most: tuple[str, ...]) -> tuple[str, ...]:
    """The scopes in a request, in our order; all that it may have if it names none. Who writes may read."""
    given = set((text or "").split())
    if not given <= set(most):
        raise OAuthRefused("invalid_scope", f"scope may hold: {' '.join(most)}")
    given |= {"read"} if "write" in given and "read" in most else set()
    return tuple(scope for scope in most if scope in given) or most


def suggested_agent(ctx: CallContext, name: str) -> str:
    """A name for the agent of a client: the server's own, else the client's name in small letters."""
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:32].strip("-")
    return ctx.settings.agent or slug


def agreed(ctx: CallContext, chosen: Consent) -> Consent:
    """What was chosen, with the caller's consent.

    Raises:
        Forbidden: the caller is no admin of that tenant, or only for another agent.
    """
    if not ctx.caller.may("admin"):
        raise Forbidden("oauth: the credential lacks the scope admin")
    if chosen.tenant != ctx.tenant and not ctx.caller.may("root"):
        raise Forbidden("tenant: this credential may only access its own tenant")
    if ctx.caller.agent is not None and chosen.agent != ctx.caller.agent:
        raise Forbidden("agentId: this token is bound to another agent")
    return replace(chosen, by=ctx.caller.name)


def choice(asked: AccessRequest, tenant: str, agent: str, scopes: tuple[str, ...]) -> Consent:
    """What the user of the page chose, of what the client requests.

    Raises:
        InvalidRequest: no such names can be given to tenants or agents, or nothing is left.
    """
    for field, value in (("tenant", tenant), ("agent", agent)):
        if value and (not NAMES.fullmatch(value) or redact_text(value).value != value):
            raise InvalidRequest(f"{field}: must be up to 64 letters, digits, dots, _ or -")
    if not scopes or not set(scopes) <= set(asked.scopes):
        raise InvalidRequest(f"scopes: choose among {', '.join(asked.scopes)}")
    return Consent(
        tenant or DEFAULT_TENANT, CleanText(agent) if agent else None, asked_scopes(" ".join(scopes), SCOPES)
    )


def wait_for_consent(ctx: CallContext, asked: AccessRequest, chosen: Consent) -> tuple[str, str]:
    """Keep a request until it is approved on the server's machine: its code, and the secret of the browser's page.

    Raises:
        LimitReached: too many wait.
    """
    secret, code = ctx.entropy.hex(SECRET_CHARS), _letters(ctx.entropy.hex(16))
    now = ctx.clock.now_ms()
    waiting = WaitingRequest(code, now + WAIT_SECONDS * 1000, hash_of(secret), asdict(asked), asdict(chosen))

    def store(tx: Tx) -> None:
        WaitingRequest.sweep(tx, now)
        if WaitingRequest.count(tx) >= MAX_WAITING:
            raise LimitReached(
                "oauth: too many requests wait for approval",
                hint=f"Try again in {WAIT_SECONDS // 60} minutes, or enter the secret of the server on the page.",
            )
        waiting.put(ctx, tx)

    ctx.store.write(store)
    return code, secret


def _letters(hex: str) -> str:
    number, text = int(hex, 16), ""
    for _ in range(8):
        number, letter = divmod(number, len(CODE_LETTERS))
        text += CODE_LETTERS[letter]
    return f"{text[:4]}-{text[4:]}"


def plain_code(text: str) -> str:
    """A code as it is stored, however it was typed."""
    letters = "".join(sign for sign in text.upper() if sign.isalpha())
    return f"{letters[:4]}-{letters[4:]}"


def waiting_request(ctx: CallContext, code: str) -> WaitingRequest:
    """The request with that code.

    Raises:
        NotFound: none waits.
    """
    found = WaitingRequest.get(ctx.store.read(), plain_code(code)) if len(code) <= 32 else None
    if found is None or found.expires_at <= ctx.clock.now_ms():
        raise unknown_code()
    return found


def unknown_code() -> NotFound:
    return NotFound(
        "oauth: no request waits under that code",
        hint=f"Codes are valid for {WAIT_SECONDS // 60} minutes. Begin again in the client.",
    )


def code_if_approved(ctx: CallContext, code: str, secret: str) -> tuple[AccessRequest, str | None]:
    """The request that the page with that secret began, and the client's code once it was approved.

    Raises:
        NotFound: none waits, or another page began it.
    """

    def take(tx: Tx) -> tuple[AccessRequest, str | None]:
        found = waiting_request(ctx, code)
        if not is_secret(secret, found.browser_hash):
            raise unknown_code()
        consent = found.chosen
        if not consent.by:
            return found.asked, None
        found.delete(tx)
        return found.asked, issue_code(ctx, tx, found.asked, consent)

    return ctx.store.write(take)


def audit_for(ctx: CallContext, tenant: str) -> CallContext:
    """The context of the tenant whose memory is concerned: its admin reads in its audit log who was let in."""
    return replace(ctx, caller=replace(ctx.caller, tenant=tenant), asked=None)


def issue_code(ctx: CallContext, tx: Tx, asked: AccessRequest, consent: Consent) -> str:
    """A code that the client exchanges for a token within a minute, once."""
    id, secret, now = ctx.entropy.hex(ID_CHARS), ctx.entropy.hex(SECRET_CHARS), ctx.clock.now_ms()
    Grant.sweep(tx, now)
    Grant(
        id,
        now + CODE_SECONDS * 1000,
        client=asked.client,
        client_name=asked.client_name,
        redirect_uri=asked.redirect_uri,
        challenge=asked.challenge,
        tenant=consent.tenant,
        agent=consent.agent,
        scopes=consent.scopes,
        code_hash=hash_of(secret),
    ).put(ctx, tx)
    client = Client.get(tx, asked.client)
    if client is None:
        raise NotFound("oauth: the client is not registered any more", hint="Begin again in the client.")
    client.but(approved=True, expires_at=now + APPROVED_MS).put(ctx, tx)
    audit_for(ctx, consent.tenant).audit(
        tx, "oauth_consent", (id,), agent=consent.agent, client=asked.client, approved_by=consent.by
    )
    return joined(CODE_PREFIX, id, secret)
