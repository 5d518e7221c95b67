"""The viewer's static files. They are the same for everybody and hold nothing of the memory."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from importlib.resources import files
from importlib.resources.abc import Traversable

from starlette.requests import Request
from starlette.responses import Response

from holdfast.core.errors import NotFound

# Styles are set by the CSSOM only, scripts are files of ours only, and nothing is requested from another host.
CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_MEDIA = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
_INDEX = "index.html"


@dataclass(frozen=True)
class Asset:
    body: bytes
    packed: bytes
    tag: str
    media: str


@cache
def assets() -> dict[str, Asset]:
    """Every file by its path below /viewer, read once: what is not in here cannot be requested."""
    return dict(_walk(files("holdfast.viewer"), ""))


def _walk(place: Traversable, prefix: str) -> list[tuple[str, Asset]]:
    found = []
    for one in place.iterdir():
        path = prefix + one.name
        if one.is_dir():
            found += _walk(one, f"{path}/")
        elif media := _MEDIA.get("." + one.name.rpartition(".")[2]):
            body = one.read_bytes()
            tag = f'"{blake2b(body, digest_size=12).hexdigest()}"'
            found.append((path, Asset(body, gzip.compress(body, 9, mtime=0), tag, media)))
    return found


async def viewer_page(request: Request) -> Response:
    """The page itself, or one of its files."""
    asset = assets().get(request.path_params.get("path") or _INDEX)
    if asset is None:
        raise NotFound("viewer: no such file")
    headers = {
        "Content-Security-Policy": CSP,
        "ETag": asset.tag,
        "Cache-Control": "no-cache",  # kept, but revalidated: a new version is seen at the next load
        "Vary": "Accept-Encoding",
    }
    if asset.tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    body = asset.body
    if _takes_gzip(request):
        body = asset.packed
        headers["Content-Encoding"] = "gzip"
    return Response(body, headers={**headers, "Content-Type": asset.media})


def _takes_gzip(request: Request) -> bool:
    offered = request.headers.get("accept-encoding", "").lower().split(",")
    return any(one.strip().split(";")[0] == "gzip" and "q=0" not in one.replace(" ", "") for one in offered)
