"""Fetch the libraries of the viewer: python tools/vendor.py

Each package is packed by npm at the pinned version, compared with the pinned integrity, and its files are copied to
src/holdfast/viewer/vendor with the licence beside them. A page without a build step cannot resolve bare names, so
`from "preact"` becomes `from "./preact.js"`; nothing else is changed. To renew one: set its version, take the
integrity from `npm view NAME dist.integrity`, run this, and run the tests of tests/browser.
"""

from __future__ import annotations

import base64
import hashlib
import re
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

VENDOR = Path(__file__).parents[1] / "src" / "holdfast" / "viewer" / "vendor"


@dataclass(frozen=True)
class Package:
    name: str
    version: str
    licence: str
    integrity: str
    files: dict[str, str]  # path in the package -> name in vendor/
    ending: str = ""  # added to scripts that are no modules


PACKAGES = (
    Package(
        "preact",
        "11.2.0",
        "MIT",
        "sha512-/HfHI/7N84e6GrWBJ3J280z3mLaRJiDcSvj/A+y/4AbLnND/1UlGHe1sR6oYuTGwId0nP7dqDU9OnLxMPZ7xBg==",
        {"dist/preact.mjs": "preact.js", "hooks/dist/hooks.mjs": "hooks.js"},
    ),
    Package(
        "htm",
        "3.1.1",
        "Apache-2.0",
        "sha512-983Vyg8NwUE7JkZ6NmOqpCZ+sh1bKv2iYTlUkzlWmA5JD2acKoxd4KVxbMmxX/85mtfdnDmTFoNKcg5DGAvxNQ==",
        {"dist/htm.mjs": "htm.js"},
    ),
    Package(
        "uplot",
        "1.6.32",
        "MIT",
        "sha512-KIMVnG68zvu5XXUbC4LQEPnhwOxBuLyW1AHtpm6IKTXImkbLgkMy+jabjLgSLMasNuGGzQm/ep3tOkyTxpiQIw==",
        {"dist/uPlot.iife.min.js": "uplot.js", "dist/uPlot.min.css": "uplot.css"},
        "export default uPlot;\n",
    ),
    Package(
        "d3-force",
        "3.0.1",
        "ISC",
        "sha512-kAaaHLFebBYwgi5cYBXAI8vKrQFMCD2MEswj2QuPKKbdU1wYLc8WXtS7O8F/b6POCIe3gJjY6hkDstHi1yMETQ==",
        {"dist/d3-force.min.mjs": "d3-force.js"},
    ),
    Package(
        "d3-quadtree",
        "3.0.2",
        "ISC",
        "sha512-9Lu9mqJKRbIk0d6mKDjpvPURaPdwHVK5CYbcdd0/4vBgz4ldz/7TIOse3kNERsByGNfld58KEco507AztJWyTQ==",
        {"dist/d3-quadtree.min.mjs": "d3-quadtree.js"},
    ),
    Package(
        "d3-dispatch",
        "3.0.2",
        "ISC",
        "sha512-sAzH4Y4nsLo8eSqw5jKiZt+LU2wZmL/qS+OkxQGjhwazB/D7TY34R/QK1eshfGr7cZEKymKZ/Haem7m+lu98Sg==",
        {"dist/d3-dispatch.min.mjs": "d3-dispatch.js"},
    ),
    Package(
        "d3-timer",
        "3.0.2",
        "ISC",
        "sha512-1Il1aliroVSErrv5aulRBxAY+7+DnaoLIWGd1C6SsBTWDeobWiP/V69vwb8vT6abR1kKwaNe1196pmaQ1fK90A==",
        {"dist/d3-timer.min.mjs": "d3-timer.js"},
    ),
)

_BARE = re.compile(r"""(\bfrom\s*)(["'])([a-z][a-z0-9-]*)\2""")
_MAP = re.compile(r"\n?//# sourceMappingURL=\S+")


def main() -> None:
    VENDOR.mkdir(parents=True, exist_ok=True)
    rows = [row for package in PACKAGES for row in fetch(package)]
    (VENDOR / "README.md").write_text(_README + "\n".join(rows) + "\n\n" + _RENEW)


def fetch(package: Package) -> list[str]:
    """Write the files of a package; a row of the README for each."""
    with tempfile.TemporaryDirectory() as place:
        archive = _packed(package, Path(place))
        with tarfile.open(archive) as tar:
            _copy(tar, "LICENSE", VENDOR / f"{package.name}.LICENSE", package)
            for inside, name in package.files.items():
                _copy(tar, inside, VENDOR / name, package)
    return [
        f"| `{name}` | {package.name} {package.version} | {package.licence} | `{inside}` | `{_sha256(VENDOR / name)}` |"
        for inside, name in package.files.items()
    ]


def _packed(package: Package, place: Path) -> Path:
    subprocess.run(
        ["npm", "pack", "--silent", f"{package.name}@{package.version}"], cwd=place, check=True, capture_output=True
    )
    (archive,) = place.glob("*.tgz")
    found = "sha512-" + base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
    if found != package.integrity:
        sys.exit(f"{package.name} {package.version}: the integrity is {found}")
    return archive


def _copy(tar: tarfile.TarFile, inside: str, to: Path, package: Package) -> None:
    member = tar.extractfile(f"package/{inside}")
    if member is None:
        sys.exit(f"{package.name} {package.version}: no file {inside}")
    text = member.read().decode()
    if to.suffix == ".js":
        text = _MAP.sub("", _BARE.sub(r'\1"./\3.js"', text)).rstrip("\n") + "\n" + package.ending
    to.write_text(text)


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


_README = """# Libraries of the viewer

Written by `tools/vendor.py`, which holds the versions and the integrity of every package. The licence of each lies
beside it as `NAME.LICENSE`.

| file | package | licence | made of | sha256 |
| --- | --- | --- | --- | --- |
"""
_RENEW = """Changes made to them: names of other packages became relative ones, links to source maps were taken out,
and `uplot.js` got an export. To renew one, follow the head of `tools/vendor.py`.
"""

if __name__ == "__main__":
    main()
