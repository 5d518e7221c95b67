"""Consents given on the command line: `holdfast oauth approve CODE`, with the code that the consent page shows."""

from __future__ import annotations

from dataclasses import asdict

from pydantic import Field
from typing_extensions import TypedDict

from holdfast.context import CallContext
from holdfast.ops.framework.fields import Name
from holdfast.ops.framework.operation import Operation, Request
from holdfast.ops.oauth.consents import agreed, unknown_code, waiting_request
from holdfast.ops.oauth.redirect_uris import origin_of
from holdfast.store.port import Tx


class OAuthApprove(Request):
    code: Name = Field(description="Code that the consent page shows, such as BCDF-GHJK.")
    yes: bool = Field(default=False, description="Approve it. Without it, the request is only shown.")


class OAuthApproveAnswer(TypedDict):
    approved: bool
    client: str  # what the client calls itself
    returnsTo: str  # where its user is sent afterwards
    tenant: str
    agentId: str | None
    scopes: list[str]
    next: str


def oauth_approve(ctx: CallContext, ask: OAuthApprove) -> OAuthApproveAnswer:
    """Approve a client that waits for access by OAuth, by the code on its consent page.

    Without yes, the request is shown: who asks, where its user is sent afterwards, and what would be granted, as it was
    chosen on the page. Approve only a code that your own browser shows.
    """

    def approve(tx: Tx) -> OAuthApproveAnswer:
        waiting = waiting_request(ctx, ask.code)
        if waiting.chosen.tenant != ctx.tenant and not ctx.caller.may("root"):
            raise unknown_code()
        asked, consent = waiting.asked, agreed(ctx, waiting.chosen)
        if ask.yes:
            waiting.but(consent=asdict(consent)).put(ctx, tx)
            ctx.audit(tx, "oauth_approve", (asked.client,), tenant=consent.tenant)
        return {
            "approved": ask.yes,
            "client": asked.client_name,
            "returnsTo": origin_of(asked.redirect_uri),
            "tenant": consent.tenant,
            "agentId": consent.agent,
            "scopes": list(consent.scopes),
            "next": "Press Continue in the browser." if ask.yes else "To approve it, pass --yes (yes: true).",
        }

    return ctx.store.write(approve)


OAUTH_OPERATIONS = (
    Operation(
        oauth_approve,
        "POST",
        "/oauth/approve",
        effect="write",
        scope="admin",
        cli="oauth approve",
        positional=("code",),
    ),
)
