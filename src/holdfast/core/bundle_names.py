"""The files of a bundle by their names, and which texts name one. The one definition, for callers and server.

<id>.tar.zst or <id>.tar.zst.age      the bundle
<id>.chunks or <id>.chunks.age        the bundle as a chunk index, with the packs that it names in packs/
<id>.manifest.json                    what it records about itself
<either>.sha256                       a sidecar: its SHA-256 as `sha256sum -c` reads it
"""

from __future__ import annotations

AGE = ".age"  # after the name of a bundle that is encrypted
BUNDLE = ".tar.zst"
CHUNK_INDEX = ".chunks"
MANIFEST = ".manifest.json"
SIDECAR = ".sha256"

CHUNK_INDEXES = (CHUNK_INDEX, CHUNK_INDEX + AGE)
BUNDLES = (BUNDLE, BUNDLE + AGE, *CHUNK_INDEXES)
SUFFIXES = tuple(f"{name}{more}" for name in (*BUNDLES, MANIFEST) for more in ("", SIDECAR))


def is_bundle_path(text: str) -> bool:
    """Whether an argument that may be a snapshot's id or the path of a bundle is a path.

    A path is a file of the server: only root may name one, and a command makes it absolute before it is sent.
    """
    return "/" in text or text.startswith("~") or text.endswith(SUFFIXES)
