"""Which project a folder belongs to: its git remote; without one, the repository's root; without that, the folder.

Clones and worktrees of one remote are one project, and two folders of the same name are two. Reads a few small files
and starts no process. A hook imports this on every step of an agent: standard library only, and as little as possible.
"""

from __future__ import annotations

import os
import stat

KEY_CHARS = 500  # the longest name that every request takes
_POINTER_BYTES = 4_096
_CONFIG_BYTES = 262_144
_URL_CHARS = 2_000
_DEEPEST = 200

_PORTS = {"ssh": "22", "git": "9418", "http": "80", "https": "443", "git+ssh": "22", "ssh+git": "22"}
# Hosts that serve ssh at port 443 under another name.
_SSH_HOSTS = {
    "ssh.github.com": "github.com",
    "altssh.gitlab.com": "gitlab.com",
    "altssh.bitbucket.org": "bitbucket.org",
}
# Hosts that take a repository's name in any case.
_CASELESS = frozenset({"github.com", "gitlab.com", "bitbucket.org"})


def project_key(folder: str) -> str:
    """The key of the project that the folder belongs to; never a password of a remote."""
    return repository_key(folder) or _bounded(os.path.realpath(folder))


def repository_key(folder: str) -> str | None:
    """The same for a folder in a repository; None for any other."""
    found = _repository(os.path.realpath(folder))
    if found is None:
        return None
    root, git = found
    common = _common(git)
    url = _remote_url(os.path.join(common, "config"))
    if url is not None:
        return _bounded(remote_key(url) or _local_remote(url, root))
    return _bounded(root if common == git else _main_root(common))


def remote_key(url: str) -> str | None:
    """`github.com/borealis/platform` for any form of that address; None for a path, and for what is no address."""
    url = url.strip()
    if len(url) > _URL_CHARS or not url.isprintable() or "\\" in url:
        return None
    scheme, has_scheme, rest = url.partition("://")
    if has_scheme:
        place, _, path = rest.partition("/")
        scheme = scheme.lower()
        if scheme not in _PORTS:
            return None
    else:
        address, bracket, rest = url.partition("]:")  # user@[::1]:path
        place, colon, path = (f"{address}]", ":", rest) if bracket else url.partition(":")
        if not colon or "/" in place or len(place) < 2 or path.startswith("\\"):
            return None  # a path, or C:\\…
        scheme = "ssh"
    host = _host(place, scheme, bool(has_scheme))
    path = _clean_path(path)
    if not host or not path:
        return None
    return f"{host}/{path.lower() if host in _CASELESS else path}"


def is_path(name: str) -> bool:
    """Whether a project's name is the path of a folder, of this system or of Windows."""
    return name.startswith(("/", "~")) or name[1:3] in (":\\", ":/")


def is_key(name: str) -> bool:
    """Whether a project's name contains where it is, and not only what its folder is called."""
    return "/" in name or "\\" in name


def last_part(name: str) -> str:
    """What the project's folder is called."""
    parts = [part for part in name.replace("\\", "/").split("/") if part]
    return parts[-1] if parts else name


def ends_with(key: str, name: str) -> bool:
    """Whether the last parts of a key are this name: `shop`, or `borealis/platform`."""
    return ("/" + key.replace("\\", "/").strip("/")).endswith("/" + name.strip("/"))


def _repository(folder: str) -> tuple[str, str] | None:
    """The root of the repository around a folder, and its git folder."""
    for _ in range(_DEEPEST):
        marker = os.path.join(folder, ".git")
        if os.path.isdir(marker):
            return folder, marker
        pointer = _read(marker, _POINTER_BYTES)
        if pointer is not None and pointer.startswith("gitdir:"):
            return folder, os.path.realpath(os.path.join(folder, pointer[len("gitdir:") :].strip()))
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above
    return None


def _common(git: str) -> str:
    """The git folder that a worktree shares with the others."""
    pointer = _read(os.path.join(git, "commondir"), _POINTER_BYTES)
    return os.path.realpath(os.path.join(git, pointer.strip())) if pointer and pointer.strip() else git


def _main_root(common: str) -> str:
    return os.path.dirname(common) if os.path.basename(common) == ".git" else common


def _remote_url(config: str) -> str | None:
    """The address of `origin`, or else of the first remote."""
    remote = ""
    urls: dict[str, str] = {}
    for line in (_read(config, _CONFIG_BYTES) or "").splitlines():
        line = line.strip()
        if line.startswith("["):
            section = line[1:].partition("]")[0]
            kind, _, name = section.partition(" ")
            remote = name.strip().strip('"') if kind.lower() == "remote" else ""
        elif remote:
            name, _, value = line.partition("=")
            if name.strip().lower() == "url" and value.strip():
                urls.setdefault(remote, value.strip().strip('"'))
    return urls.get("origin") or next(iter(urls.values()), None)


def _local_remote(url: str, root: str) -> str:
    """A remote that is a folder: its real path. What cannot be read as either is no remote."""
    path = url.removeprefix("file://")
    if "://" in path or not path.isprintable() or len(path) > _URL_CHARS or "@" in path:
        return root
    return os.path.realpath(os.path.join(root, os.path.expanduser(path))).removesuffix("/.git").removesuffix(".git")


def _host(place: str, scheme: str, may_have_port: bool) -> str:
    host = place.rpartition("@")[2].lower()
    if may_have_port and not host.endswith("]"):
        name, colon, port = host.rpartition(":")
        host = name if colon and (port == _PORTS[scheme] or (port == "443" and name in _SSH_HOSTS)) else host
    return _SSH_HOSTS.get(host, host)


def _clean_path(path: str) -> str:
    path = path.partition("?")[0].partition("#")[0]
    parts = [part for part in path.split("/") if part not in ("", ".", "..")]
    if parts and parts[-1] != ".git":
        parts[-1] = parts[-1].removesuffix(".git")
    return "/".join(parts).removeprefix("~")


def _read(path: str, most: int) -> str | None:
    """A small plain file as text; None if it is not there, or is anything else."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))  # a pipe must not hold the agent up
    except (OSError, ValueError):
        return None
    try:
        about = os.fstat(handle)
        if not stat.S_ISREG(about.st_mode) or about.st_size > most:
            return None
        return os.read(handle, most).decode("utf-8", "replace")
    except OSError:
        return None
    finally:
        os.close(handle)


def _bounded(key: str) -> str:
    if len(key) <= KEY_CHARS:
        return key
    from hashlib import sha256

    return f"{key[: KEY_CHARS - 20]}…{sha256(key.encode('utf-8', 'replace')).hexdigest()[:16]}"
