"""Texts without a secret that look as if there were one: names, digests, ids, public keys, placeholders, lock files.

Kinds and seeds are split in two as the secrets are: one half to build on, one only for figures.
"""

from __future__ import annotations

import base64
import json
import random
import string
from collections.abc import Callable, Iterator
from typing import NamedTuple

from redaction_corpus.secrets import is_held

BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
BECH32 = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
WORDS = (
    "account cache client config customer default delivery device document event export feature field filter group handler"
    " index invoice item job listing login memory message model module network order page parser payment policy profile"
    " project queue record region report request response result retry role route schema search server session setting"
    " shipment source status storage stream summary table tenant ticket timer upload user vendor version webhook worker"
).split()


class Innocent(NamedTuple):
    kind: str
    form: int
    held: bool
    text: str


def hexes(c: random.Random, size: int) -> str:
    return "".join(c.choices("0123456789abcdef", k=size))


def uuid(c: random.Random) -> str:
    return "-".join(hexes(c, size) for size in (8, 4, 4, 4, 12))


def b64(c: random.Random, size: int, head: bytes = b"") -> str:
    return base64.b64encode(head + c.randbytes(size)).decode()


def chars(c: random.Random, alphabet: str, size: int) -> str:
    return "".join(c.choices(alphabet, k=size))


def word(c: random.Random) -> str:
    return c.choice(WORDS)


def snake(c: random.Random, size: int = 3) -> str:
    return "_".join(c.sample(WORDS, size))


def camel(c: random.Random, size: int = 3) -> str:
    first, *rest = c.sample(WORDS, size)
    return first + "".join(part.title() for part in rest)


def did_key(c: random.Random) -> str:
    return "did:key:z6Mk" + chars(c, BASE58, 44)


def ssh_key(c: random.Random) -> str:
    return "ssh-ed25519 " + b64(c, 32, b"\x00\x00\x00\x0bssh-ed25519\x00\x00\x00 ")


def pem(c: random.Random, label: str) -> str:
    body = b64(c, 180)
    lines = "\n".join(body[at : at + 64] for at in range(0, len(body), 64))
    return f"-----BEGIN {label}-----\n{lines}\n-----END {label}-----"


def date(c: random.Random) -> str:
    return f"2026-{c.randint(1, 12):02d}-{c.randint(1, 28):02d}T{c.randint(0, 23):02d}:{c.randint(0, 59):02d}:07Z"


Form = Callable[[random.Random], str]

KINDS: dict[str, tuple[Form, ...]] = {
    "identifiers": (
        lambda c: f'cache_key = f"{word(c)}:{{user.id}}:{word(c)}"',
        lambda c: f"sort_key: {snake(c)}_{c.randrange(100)}",
        lambda c: f"const {camel(c)}Key = '{snake(c)}';",
        lambda c: f"token_type: {snake(c)}",
        lambda c: f"self.{snake(c)}_token = {snake(c)}({word(c)}_token)",
        lambda c: f"api_key_name: {word(c)}-{word(c)}-{c.randrange(2000, 2030)}",
        lambda c: f"secretName: {word(c)}-{word(c)}-tls",
        lambda c: f"def test_{snake(c, 5)}_{c.randrange(100)}() -> None:",
        lambda c: (
            f"pod/{word(c)}-{word(c)}-{chars(c, 'bcdfghjklmnpqrstvwxz2456789', 10)}-{chars(c, 'bcdfghjklmnpqrstvwxz2456789', 5)} Running"
        ),
        lambda c: f"The token {camel(c)} is parsed by {camel(c)}Parser in {word(c)}/{word(c)}.py:{c.randrange(900)}",
        lambda c: f"primary key ({word(c)}_id, {word(c)}_id), foreign key: {snake(c)}_fk",
        lambda c: f"password_reset_url: /account/{word(c)}/reset/{c.randrange(10**6)}",
    ),
    "hashes": (
        lambda c: f"commit {hexes(c, 40)}\nAuthor: Jo <jo@example.com>",
        lambda c: f"sha256: {hexes(c, 64)}",
        lambda c: f"{hexes(c, 64)}  {word(c)}-1.{c.randrange(9)}.tar.gz",
        lambda c: f"image: ghcr.io/acme/{word(c)}@sha256:{hexes(c, 64)}",
        lambda c: f'"etag": "{hexes(c, 32)}"',
        lambda c: f"uses: actions/checkout@{hexes(c, 40)} # v4",
        lambda c: f"Merge {hexes(c, 7)} into {hexes(c, 12)}: {word(c)} {word(c)}",
        lambda c: f"md5 ({word(c)}.iso) = {hexes(c, 32)}",
        lambda c: f"tx 0x{hexes(c, 64)} from 0x{hexes(c, 40)} confirmed",
        lambda c: json.dumps({"digest": f"sha512-{b64(c, 64)}", "size": c.randrange(10**6)}),
        lambda c: f"content_hash={hexes(c, 64)} key_count={c.randrange(100)}",
        lambda c: f"index {hexes(c, 7)}..{hexes(c, 7)} 100644",
    ),
    "uuids": (
        lambda c: json.dumps({"id": uuid(c), "type": word(c)}),
        lambda c: f"request_id={uuid(c)} status=200",
        lambda c: f"GET /v1/{word(c)}s/{uuid(c)} HTTP/1.1",
        lambda c: f"session {uuid(c)} ended after {c.randrange(90)} s",
        lambda c: f"trace_id: {hexes(c, 32)}\nspan_id: {hexes(c, 16)}",
        lambda c: f"user_id = '{uuid(c)}'",
        lambda c: f"ULID 01{chars(c, '0123456789ABCDEFGHJKMNPQRSTVWXYZ', 24)} for {word(c)}",
        lambda c: f'"message_id": "{c.randrange(10**17, 10**18)}", "channel": "{word(c)}"',
        lambda c: f"idempotency-key: {uuid(c)}",
        lambda c: f"objectId: {hexes(c, 24)} in {word(c)}s",
    ),
    "did-keys": (
        lambda c: f"signed by {did_key(c)}",
        lambda c: json.dumps({"signer": did_key(c), "key": did_key(c)}),
        lambda c: f"trusted_key: {did_key(c)}",
        lambda c: f"The public key is {did_key(c)}.",
        lambda c: (lambda did: f"verificationMethod: {did}#{did[8:]}")(did_key(c)),
        lambda c: f"export SIGNER={did_key(c)}",
        lambda c: f"did:key:zQ3sh{chars(c, BASE58, 44)} and did:key:zDna{chars(c, BASE58, 45)}",
        lambda c: f"2026-01-02 INFO bundle verified key={did_key(c)} ok",
    ),
    "public-keys": (
        lambda c: f"{ssh_key(c)} jo@host",
        lambda c: f"ssh_public_key: {ssh_key(c)}",
        lambda c: pem(c, "PUBLIC KEY"),
        lambda c: pem(c, "CERTIFICATE"),
        lambda c: f"age1{chars(c, BECH32, 58)}",
        lambda c: f'recipient = "age1{chars(c, BECH32, 58)}"',
        lambda c: f"[Peer]\nPublicKey = {b64(c, 32)}\nAllowedIPs = 10.0.0.{c.randrange(255)}/32",
        lambda c: f"public_key: {b64(c, 32)}",
        lambda c: f"known_hosts: github.com {ssh_key(c)}",
        lambda c: f'publicKey = "{hexes(c, 64)}"',
        lambda c: f"SHA256:{b64(c, 32).rstrip('=')} jo@host (ED25519)",
        lambda c: (
            f"untrusted comment: minisign public key {hexes(c, 16).upper()}\nRW{chars(c, string.ascii_letters + string.digits, 54)}"
        ),
        lambda c: f"Donate: bc1q{chars(c, BECH32, 38)} or 0x{hexes(c, 40)}",
    ),
    "placeholders": (
        lambda c: f"export API_KEY=your_{word(c)}_api_key_here",
        lambda c: f"api_key: <YOUR_{word(c).upper()}_API_KEY>",
        lambda c: f"{word(c).upper()}_TOKEN=${{{word(c).upper()}_TOKEN}}",
        lambda c: f"password: {{{{ vault_{word(c)}_password }}}}",
        lambda c: "curl -H 'Authorization: Bearer $TOKEN' https://api.example.com",
        lambda c: "curl -H 'Authorization: Bearer <token>' https://api.example.com",
        lambda c: f'{word(c)}_token = "xxxxxxxxxxxxxxxxxxxxxxxx"',
        lambda c: f"OPENAI_API_KEY=sk-... # {word(c)}",
        lambda c: f"Set `GITHUB_TOKEN=ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx` for {word(c)}",
        lambda c: "aws_access_key_id = AKIAIOSFODNN7EXAMPLE",
        lambda c: f"secret: REPLACE_ME  # {word(c)}",
        lambda c: f"password = os.environ['{word(c).upper()}_PASSWORD']",
        lambda c: f"token: ${{{{ secrets.{word(c).upper()}_TOKEN }}}}",
        lambda c: f"Pass the key as `--api-key YOUR_KEY` to {word(c)}",
        lambda c: "Authorization: Basic <base64(user:password)>",
        lambda c: f'"password": "********", "user": "{word(c)}"',
    ),
    "pictures": (
        lambda c: (
            f"![{word(c)}](data:image/png;base64,{b64(c, c.randrange(300, 3000), bytes.fromhex('89504e470d0a1a0a'))})"
        ),
        lambda c: json.dumps(
            {"type": "image", "data": b64(c, 2000, bytes.fromhex("89504e470d0a1a0a0000000d49484452"))}
        ),
        lambda c: f'<img src="data:image/jpeg;base64,{b64(c, 1500, bytes.fromhex("ffd8ffe0"))}" alt="{word(c)}">',
        lambda c: f"background: url(data:image/gif;base64,{b64(c, 400, b'GIF89a')});",
        lambda c: f'favicon = "data:image/x-icon;base64,{b64(c, 600, bytes(4))}"',
        lambda c: json.dumps({"attachment": {"mime": "application/pdf", "content": b64(c, 3000, b"%PDF-1.7")}}),
    ),
    "lock-files": (
        lambda c: (
            f'    "node_modules/{word(c)}": {{\n      "version": "1.{c.randrange(9)}.0",\n      "integrity": "sha512-{b64(c, 64)}"\n    }}'
        ),
        lambda c: (
            f'[[package]]\nname = "{word(c)}-token"\nversion = "0.{c.randrange(99)}.1"\nchecksum = "{hexes(c, 64)}"'
        ),
        lambda c: f"github.com/acme/{word(c)} v1.{c.randrange(20)}.0 h1:{b64(c, 32)}",
        lambda c: f"github.com/acme/{word(c)} v0.0.0-20240101120000-{hexes(c, 12)}/go.mod h1:{b64(c, 32)}",
        lambda c: (
            f"{word(c)}-auth==2.{c.randrange(9)}.1 \\\n    --hash=sha256:{hexes(c, 64)} \\\n    --hash=sha256:{hexes(c, 64)}"
        ),
        lambda c: (
            f'{word(c)}@^1.0.0:\n  version "1.0.{c.randrange(50)}"\n  resolved "https://registry.example.com/{word(c)}/-/{word(c)}-1.0.4.tgz#{hexes(c, 40)}"\n  integrity sha512-{b64(c, 64)}'
        ),
        lambda c: f"  /{word(c)}-key@2.0.{c.randrange(9)}:\n    resolution: {{integrity: sha512-{b64(c, 64)}}}",
        lambda c: f'    sha256 = "{chars(c, "0123456789abcdfghijklmnpqrsvwxyz", 52)}"; # nix {word(c)}',
        lambda c: f'    {{file = "{word(c)}_token-1.0-py3-none-any.whl", hash = "sha256:{hexes(c, 64)}"}},',
    ),
    "connection-patterns": (
        lambda c: f"The {word(c)} URL has the form postgres://user:password@host:5432/database",
        lambda c: "postgresql://<user>:<password>@<host>/<db>",
        lambda c: f"Use redis://:${{REDIS_PASSWORD}}@{word(c)}:6379/0",
        lambda c: "e.g. mysql://USER:PASSWORD@HOST:PORT/DATABASE",
        lambda c: "amqp://username:password@hostname:5672/vhost is what the client expects.",
        lambda c: f"mongodb+srv://{{user}}:{{password}}@{word(c)}.example.net/",
        lambda c: "scheme://user:pass@host:port/path?query#fragment",
        lambda c: "Server=HOST;Database=DB;User Id=USER;Password=PASSWORD;",
        lambda c: f"DATABASE_URL=postgres://$USER:$PASSWORD@localhost/{word(c)}",
        lambda c: f"https://user:token@git.example.com/acme/{word(c)}.git is the pattern",
        lambda c: f"ssh://git@example.com:2222/acme/{word(c)}.git",
        lambda c: f"see jdbc:postgresql://{word(c)}.example.com:5432/{word(c)}?sslmode=require",
        lambda c: "connect with mysql://root:yourpassword@localhost/app or mysql://db_user:db_password@db/app",
    ),
    "logs": (
        lambda c: f"{date(c)} INFO {word(c)} token refreshed for {word(c)} in {c.randrange(900)} ms",
        lambda c: f"{date(c)} DEBUG auth: access granted user={word(c)}{c.randrange(100)} role={word(c)}",
        lambda c: f"tokens: {c.randrange(9999)} in, {c.randrange(9999)} out, cache_key_hits={c.randrange(99)}",
        lambda c: f'  File "/srv/{word(c)}/{word(c)}_token.py", line {c.randrange(900)}, in {snake(c)}',
        lambda c: f"key={word(c)}:{c.randrange(10**6)} ttl={c.randrange(3600)} hit=true",
        lambda c: f"PASS tests/{word(c)}/test_password_{word(c)}.py ({c.randrange(90)} tests)",
        lambda c: f"[{date(c)}] POST /api/{word(c)}/token 200 {c.randrange(90)}ms - {c.randrange(5000)}",
        lambda c: f"model=claude-{word(c)}-4-20250514 max_tokens={c.randrange(8192)} stop_sequence=null",
    ),
}


def innocents(seeds: range) -> Iterator[Innocent]:
    """Every form of every kind, once for each seed; half of the forms are held back for figures."""
    for kind, forms in KINDS.items():
        for form, make in enumerate(forms):
            for seed in seeds:
                yield Innocent(kind, form, is_held(f"{kind} {form}"), make(random.Random(f"{kind} {form} {seed}")))
