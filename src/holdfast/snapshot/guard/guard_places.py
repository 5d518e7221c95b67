"""Which places can be guarded: those of known agents by name, any other by its path; and what of them is taken.

Sources of the locations: Claude Code docs (settings, memory), openai/codex codex-rs (rollout, memories),
docs.openclaw.ai (agent workspace, where things live on disk), modelcontextprotocol/servers src/memory.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from holdfast.core.disk import user_path
from holdfast.core.errors import InvalidRequest, NotFound
from holdfast.snapshot.sources.folder_paths import is_git, shown
from holdfast.snapshot.sources.folder_walk import OMITTED, Rule
from holdfast.store.guard.guard_records import GuardedPlace

CREDENTIAL = "a credential by its name"
HISTORY = "history of a repository"
TEMPORARY = ".holdfast-guard-"  # how files are named that are just restored

# Never taken, whatever the place: what gives access is no memory. Compared in lower case.
_CREDENTIALS = (
    "auth*.json", ".credentials*", "credentials", "credentials.*", "creds.json", "oauth*.json", "secrets", "secrets.*",
    "token", "tokens", "token.json", "tokens.json", "*.pem", "*.key", "*.p12", "*.pfx", "*.kdbx", "*.age-key",
    "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", ".env", ".env.*", ".netrc", ".npmrc", ".pypirc", ".pgpass",
    ".git-credentials", ".htpasswd", ".ssh", ".gnupg", ".aws", ".kube", ".docker",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class AgentPlace:
    """Where an agent keeps its memory: below the folder, what matches the patterns."""

    folder: Callable[[Mapping[str, str], Path], Path]
    only: tuple[str, ...]


def _folder_of(variable: str, usual: str) -> Callable[[Mapping[str, str], Path], Path]:
    def folder(environ: Mapping[str, str], user: Path) -> Path:
        given = environ.get(variable, "").strip()
        return user_path(given, variable) if given else user / usual

    return folder


AGENTS: Mapping[str, AgentPlace] = {
    "claude-code": AgentPlace(
        _folder_of("CLAUDE_CONFIG_DIR", ".claude"),
        ("projects", "CLAUDE.md", "rules", "agents", "agent-memory", "commands", "plans", "history.jsonl"),
    ),
    "codex": AgentPlace(
        _folder_of("CODEX_HOME", ".codex"),
        ("sessions", "archived_sessions", "memories", "AGENTS.md", "AGENTS.override.md", "prompts", "history.jsonl"),
    ),
    "openclaw": AgentPlace(
        _folder_of("OPENCLAW_STATE_DIR", ".openclaw"),
        ("workspace*/memory", "workspace*/*.md", "agents/*/sessions"),
    ),
}
MEMORY_JSON = "memory.json"
_NPX = ".npm/_npx/*/node_modules/@modelcontextprotocol/server-memory/dist"


def place_of(what: str, environ: Mapping[str, str], home: Path, *, redact: bool, now_ms: int) -> GuardedPlace:
    """The place that a name or an absolute path means; it has no number yet.

    Raises:
        NotFound: no memory of that program is on this machine.
        InvalidRequest: it is no place that may be guarded.
    """
    user = Path.home()
    if what in AGENTS:
        folder, only = AGENTS[what].folder(environ, user), AGENTS[what].only
        if not folder.is_dir():
            raise NotFound(
                f"guard: {what} keeps nothing in {shown(str(folder))}: there is no such folder",
                hint="If it is elsewhere, name the folder: holdfast guard add PATH",
            )
    elif what == MEMORY_JSON:
        file = _memory_json(environ, user)
        folder, only = file.parent, (_literal(file.name),)
    else:
        folder, only = _given(what)
    folder = _checked(folder.resolve(), home, only)
    return GuardedPlace(0, _name_of(what, folder, only), portable(folder), only, redact, True, now_ms)


def _given(what: str) -> tuple[Path, tuple[str, ...]]:
    path = user_path(what, "guard")
    if not path.is_absolute():
        names = ", ".join((*AGENTS, MEMORY_JSON))
        raise InvalidRequest(f"guard: {what} is neither a known name nor an absolute path", hint=f"Names: {names}")
    if path.is_symlink():
        raise InvalidRequest(f"guard: {shown(what)} is a link", hint="Name what it leads to; links are not followed.")
    if path.is_file():
        return path.parent, (_literal(path.name),)
    if not path.is_dir():
        raise NotFound(f"guard: {shown(what)} does not exist", hint="Name a folder or a file that exists.")
    return path, ()


def _literal(name: str) -> str:
    """A name as a pattern that means it alone."""
    return re.sub(r"([*?\[])", r"[\1]", name)


def _memory_json(environ: Mapping[str, str], user: Path) -> Path:
    """The file of the MCP reference server for memory: as its variable says, or in its package."""
    if given := environ.get("MEMORY_FILE_PATH", "").strip():
        path = user_path(given, "MEMORY_FILE_PATH")
        if path.is_absolute():
            return path
    for name in ("memory.jsonl", "memory.json"):
        found = sorted(user.glob(f"{_NPX}/{name}"), key=lambda one: one.stat().st_mtime)
        if found:
            return found[-1]
    raise NotFound(
        "guard: the file of the MCP memory server was not found",
        hint="Name it as in MEMORY_FILE_PATH of the client's configuration: holdfast guard add /path/to/memory.jsonl",
    )


def _checked(folder: Path, home: Path, only: tuple[str, ...]) -> Path:
    """The folder, unless guarding it would take in more than a memory."""
    home = home.resolve()
    broad = folder == Path(folder.anchor) or folder == Path.home().resolve()
    if broad and not only:
        raise InvalidRequest(f"guard: {folder} is too broad", hint="Name the folder in which the memory lies.")
    if folder.is_relative_to(home) or (home.is_relative_to(folder) and not only):
        raise InvalidRequest(f"guard: {folder} holds the data folder of Holdfast, or lies in it")
    if fault := next((one for part in folder.parts if (one := credential_fault(part))), None):
        raise InvalidRequest(f"guard: {shown(str(folder))} may not be guarded: {fault}")
    if any(credential_fault(one) for one in only):
        raise InvalidRequest(f"guard: {shown(only[0])} may not be guarded: {CREDENTIAL}")
    return folder


def _name_of(what: str, folder: Path, only: tuple[str, ...]) -> str:
    if what in AGENTS or what == MEMORY_JSON:
        return what
    return shown(portable(folder / re.sub(r"\[(.)\]", r"\1", only[0]) if only else folder))


def portable(folder: Path) -> str:
    """The path as it is kept: below the user's home without that home, so that it holds for the same user elsewhere."""
    user = Path.home().resolve()
    if folder == user or not folder.is_relative_to(user):
        return "~" if folder == user else str(folder)
    return f"~/{folder.relative_to(user)}"


def root_of(place: GuardedPlace) -> Path:
    """Where the place is on this machine."""
    user = Path.home().resolve()
    if place.root == "~":
        return user
    return user / place.root[2:] if place.root.startswith("~/") else Path(place.root)


def credential_fault(name: str) -> str | None:
    lower = name.lower()
    return CREDENTIAL if any(fnmatchcase(lower, one) for one in _CREDENTIALS) else None


def rule_of(place: GuardedPlace) -> Rule:
    """What of the place is taken, as the rule of a walk."""
    patterns = [one.split("/") for one in place.only]

    def rule(path: str) -> str | None:
        parts = path.split("/")
        if patterns and not any(_matches(one, parts) for one in patterns):
            return OMITTED
        if parts[-1].startswith(TEMPORARY):
            return OMITTED
        return HISTORY if is_git(parts[-1]) else credential_fault(parts[-1])

    return rule


def _matches(pattern: list[str], parts: list[str]) -> bool:
    """Whether the path is what a pattern means, lies below it, or leads there."""
    return all(fnmatchcase(part, one) for one, part in zip(pattern, parts, strict=False))


def safe_path(path: bytes) -> bool:
    """Whether a relative path from elsewhere stays below its place."""
    parts = path.split(b"/")
    return bool(path) and b"\0" not in path and not any(one in (b"", b".", b"..") for one in parts)


def inside(place: GuardedPlace, path: Path) -> bytes | None:
    """The path below the root of the place; None if it is elsewhere."""
    root = root_of(place)
    whole = Path(os.path.normpath(path))
    if not whole.is_relative_to(root) or whole == root:
        return None
    return os.fsencode(whole.relative_to(root))
