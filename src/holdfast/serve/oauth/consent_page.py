"""The pages on which the owner of the memory consents, or reads why he cannot. They need no script.

A client names itself and chooses its addresses, so every word of it is escaped, and the policy allows nothing but the
page's own style and its own form.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from html import escape

from starlette.responses import Response

from holdfast.ops.oauth.oauth_records import AccessRequest
from holdfast.ops.oauth.redirect_uris import origin_of
from holdfast.serve.oauth.issuer import AUTHORIZE

_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:34rem;margin:2rem auto;padding:0 1rem}"
    "body{color:#1b1f24;background:#fff}h1{font-size:1.3rem}label{display:block;margin:.6rem 0}"
    "dt{font-weight:600}dd{margin:0 0 .6rem;overflow-wrap:anywhere}"
    "input[type=text],input[type=password]{display:block;width:100%;box-sizing:border-box;font:inherit;padding:.4rem}"
    "button{font:inherit;padding:.5rem 1.2rem;margin:.8rem .6rem 0 0}small{color:#57606a}"
    ".wrong{border-left:4px solid #cf222e;padding-left:.8rem}code{font-size:1.3em;letter-spacing:.08em}"
    "@media(prefers-color-scheme:dark){body{color:#e6edf3;background:#0d1117}small{color:#9198a1}}"
)
_STYLE_HASH = b64encode(sha256(_STYLE.encode()).digest()).decode()
_ABOUT = {"read": "search and read what is remembered", "write": "save, change and forget memories"}


def consent_page(
    asked: AccessRequest, params: Mapping[str, str], agent: str, tenant: str, wrong: str = "", status: int = 200
) -> Response:
    """Who wants what, and the form with which the owner consents. `params` are sent again with it."""
    scopes = "".join(
        f'<label><input type="checkbox" name="grant" value="{one}" checked> <b>{one}</b>: {_ABOUT[one]}</label>'
        for one in asked.scopes
    )
    hidden = "".join(_hidden(name, value) for name, value in params.items())
    warning = f'<p class="wrong" role="alert">{escape(wrong)}</p>' if wrong else ""
    return _page(
        "Access to this memory",
        f"""{warning}<p>A program that calls itself <b>{escape(asked.client_name)}</b> requests access to this memory.
Its name is not verified. If you did not just add this server in that program, press Deny.</p>
<dl><dt>Afterwards you return to</dt><dd>{escape(origin_of(asked.redirect_uri))}</dd></dl>
<form method="post" action="{AUTHORIZE}">{hidden}
<fieldset><legend>It may</legend>{scopes}</fieldset>
<label>as the agent <input type="text" name="agent" value="{escape(agent)}" maxlength="64" autocomplete="off"></label>
<label>in the memory of the tenant
<input type="text" name="tenant" value="{escape(tenant)}" maxlength="64" autocomplete="off"></label>
<label>Secret of this server, or an admin token
<input type="password" name="credential" autocomplete="off" maxlength="4000">
<small>Leave it empty to approve with a command on the server's machine instead.</small></label>
<button name="step" value="allow">Allow</button><button name="step" value="deny">Deny</button></form>""",
        status,
        to=asked.redirect_uri,
    )


def waiting_page(asked: AccessRequest, code: str, secret: str, again: bool = False) -> Response:
    """The code to approve on the server's machine."""
    notice = '<p class="wrong" role="alert">It is not approved yet.</p>' if again else ""
    return _page(
        "Approve on the server",
        f"""{notice}<p>On the machine of the server, run:</p><p><code>holdfast oauth approve {escape(code)}</code></p>
<p>It shows what <b>{escape(asked.client_name)}</b> would get. To approve it, add <b>--yes</b>, then press Continue.
The code is valid for ten minutes.</p>
<form method="post" action="{AUTHORIZE}">{_hidden("code", code)}{_hidden("page", secret)}
<button name="step" value="continue">Continue</button></form>""",
        to=asked.redirect_uri,
    )


def refusal_page(message: str, hint: str = "", status: int = 400) -> Response:
    """Why nobody is sent anywhere."""
    return _page("This request cannot be answered", f"<p>{escape(message)}</p><p>{escape(hint)}</p>", status)


def _hidden(name: str, value: str) -> str:
    return f'<input type="hidden" name="{escape(name)}" value="{escape(value)}">'


def _page(title: str, body: str, status: int = 200, to: str = "") -> Response:
    # Browsers hold redirects after a form to form-action too, so it names where the client's user is sent.
    actions = " ".join(("'self'", origin_of(to))) if to else "'none'"
    policy = (
        f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; form-action {actions}; "
        "base-uri 'none'; frame-ancestors 'none'"
    )
    # With no-referrer, the form's own Origin would be null, and a page without an origin is refused.
    headers = {"Content-Security-Policy": policy, "Referrer-Policy": "same-origin"}
    text = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1"><meta name="robots" content="noindex">'
        f"<title>{title} · Holdfast</title><style>{_STYLE}</style></head>"
        f"<body><main><h1>{title}</h1>{body}</main></body></html>"
    )
    return Response(text.encode(), status, headers, "text/html; charset=utf-8")
