"""Fields of a query or a form, each at most once, and how a client authenticates with them."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Collection
from urllib.parse import parse_qsl, unquote_plus

from starlette.requests import Request

from holdfast.core.errors import InvalidRequest
from holdfast.ops.oauth.oauth_records import OAuthRefused
from holdfast.serve.http.request_body import FORM, read_body

MAX_FORM = 16_000
MAX_FIELDS = 40


def fields_of(raw: bytes, lists: Collection[str] = ()) -> dict[str, str]:
    """The fields by name; those of `lists` may stand there several times and are joined by spaces.

    Raises:
        OAuthRefused: there are too many, one is there twice, or they are not UTF-8.
    """
    found: dict[str, str] = {}
    try:
        pairs = parse_qsl(
            raw.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS, encoding="utf-8"
        )
    except ValueError:
        raise OAuthRefused("invalid_request", "the fields are too many, or not UTF-8") from None
    for name, value in pairs:
        if name in found and name not in lists:
            raise OAuthRefused("invalid_request", "a field is given twice")
        found[name] = f"{found[name]} {value}" if name in found else value
    return found


async def form_of(request: Request, pause_seconds: float, lists: Collection[str] = ()) -> dict[str, str]:
    """The fields of a form that was sent.

    Raises:
        Fault: it is no form, too large, or too slow.
        OAuthRefused: as of `fields_of`.
    """
    raw = await read_body(request.scope, request.receive, limit=MAX_FORM, pause_seconds=pause_seconds, media=FORM)
    return fields_of(raw, lists)


def client_credentials(request: Request, fields: dict[str, str]) -> tuple[str, str | None, str]:
    """The client's id, its secret if it sent one, and by which method.

    Raises:
        OAuthRefused: it used two methods, or none.
    """
    given = request.headers.getlist("authorization")
    if not given:
        secret = fields.get("client_secret")
        return fields.get("client_id", ""), secret, "none" if secret is None else "client_secret_post"
    kind, _, encoded = given[0].partition(" ")
    if len(given) > 1 or kind.lower() != "basic" or "client_secret" in fields:
        raise OAuthRefused("invalid_client", "the client authenticated in more than one way, or in one that is unknown")
    try:
        pair = base64.b64decode(encoded.strip(), validate=True).decode("ascii")
    except (binascii.Error, UnicodeDecodeError):
        raise OAuthRefused("invalid_client", "the Authorization header is not valid") from None
    id, _, secret = (unquote_plus(part) for part in pair.partition(":"))
    if fields.get("client_id", id) != id:
        raise OAuthRefused("invalid_client", "client_id differs from the Authorization header")
    return id, secret, "client_secret_basic"


def object_of(body: object) -> dict[str, object]:
    """The JSON object that a body holds."""
    if not isinstance(body, dict):
        raise InvalidRequest("oauth: the body must be a JSON object")
    return body
