"""Under which address clients reach this server, and what it publishes about itself there."""

from __future__ import annotations

from urllib.parse import urlsplit

from holdfast.core.errors import InvalidSettings
from holdfast.core.model import Json
from holdfast.ops.oauth.clients import GRANTS, METHODS
from holdfast.ops.oauth.consents import SCOPES
from holdfast.ops.oauth.redirect_uris import LOOPBACK
from holdfast.settings import Settings

AUTHORIZE, TOKEN, REGISTER, REVOKE = "/oauth/authorize", "/oauth/token", "/oauth/register", "/oauth/revoke"
MCP = "/mcp"
RESOURCE_PATH = "/.well-known/oauth-protected-resource"
SERVER_PATH = "/.well-known/oauth-authorization-server"


def check_settings(settings: Settings) -> None:
    """Refuse OAuth where a token would travel in the clear, or where no token would be needed.

    Raises:
        InvalidSettings: the message says which setting is missing.
    """
    if not settings.oauth:
        return
    if not settings.secret:
        raise InvalidSettings(
            "HOLDFAST_OAUTH: without a secret every caller is let in, so no client would ask for a token",
            hint="Set HOLDFAST_SECRET, for example to the output of: openssl rand -hex 24",
        )
    local = settings.host.strip("[]") in LOOPBACK
    if not local and not settings.public_url.startswith("https:"):
        raise InvalidSettings(
            "HOLDFAST_OAUTH: tokens would travel in the clear",
            hint="Put a proxy or tunnel with TLS before this server and set HOLDFAST_PUBLIC_URL to its https address, "
            "or listen on 127.0.0.1.",
        )


def issuer(settings: Settings) -> str:
    """The address of the server for its clients, without a slash at its end."""
    if settings.public_url:
        return settings.public_url
    host = settings.host.strip("[]")
    return f"http://[{host}]:{settings.port}" if ":" in host else f"http://{host}:{settings.port}"


def public_names(settings: Settings) -> tuple[str, ...]:
    """Host names under which requests come: with and without the port."""
    if not (settings.oauth and settings.public_url):
        return ()
    parts = urlsplit(settings.public_url)
    return tuple(dict.fromkeys((parts.netloc, parts.hostname or "")))


def resource(settings: Settings) -> str:
    """What tokens are for: the address of MCP (RFC 8707)."""
    return issuer(settings) + MCP


def challenge(settings: Settings, *, had_token: bool) -> str:
    """The WWW-Authenticate of an answer 401 (RFC 9728), by which a client finds out how to get a token."""
    error = 'error="invalid_token", ' if had_token else ""
    return f'Bearer {error}scope="{" ".join(SCOPES)}", resource_metadata="{issuer(settings)}{RESOURCE_PATH}{MCP}"'


def resource_document(settings: Settings) -> Json:
    """Protected resource metadata (RFC 9728)."""
    return {
        "resource": resource(settings),
        "authorization_servers": [issuer(settings)],
        "scopes_supported": list(SCOPES),
        "bearer_methods_supported": ["header"],
        "resource_name": "Holdfast",
    }


def server_document(settings: Settings) -> Json:
    """Authorization server metadata (RFC 8414)."""
    here = issuer(settings)
    return {
        "issuer": here,
        "authorization_endpoint": here + AUTHORIZE,
        "token_endpoint": here + TOKEN,
        "registration_endpoint": here + REGISTER,
        "revocation_endpoint": here + REVOKE,
        "scopes_supported": list(SCOPES),
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": list(GRANTS),
        "token_endpoint_auth_methods_supported": list(METHODS),
        "revocation_endpoint_auth_methods_supported": list(METHODS),
        "code_challenge_methods_supported": ["S256"],
        "authorization_response_iss_parameter_supported": True,
    }
