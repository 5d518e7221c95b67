"""Texts that must come back unchanged: what agents write all day and what only looks like a secret."""

from __future__ import annotations

import base64
import hashlib
import random

PROSE = """
the password is required
Forgot your password? Click here to reset it
Enter your password:
The token is invalid or expired
Bearer authentication is used by the gateway
The key to success is hard work
the secret of good cooking
Secret santa: 25 people
set password for user bob
- password: bcrypt
The plan covers password: rotation
Token count: 1523
cost per token: 0.0004
// TODO: rotate the token every 30 days
author: john99smith
Author: Jane Doe <jane@example.com>
12 passed, 3 failed in 4.56s
PASSED tests/test_auth.py::test_token_12
PASS: test_login_2
密码是必填项，请输入密码
パスワードを入力してください
这个函数返回一个令牌，用于登录
비밀번호를 입력하세요
пароль обязателен
private key
a private matter, not a tag
""".strip().split("\n")

CODE = """
password: str
password: string
password?: string;
password: Optional[str] = None
def login(user: str, password: str) -> bool:
token = get_token()
token = tokens[0]
password = os.environ["X"]
api_key=os.getenv("API_KEY")
const password = req.body.password;
password: z.string().min(8)
self.password = password
connect(user=user, password=password)
if (password !== confirmPassword) {
const { token, secret } = props
token: token,
secret: process.env.JWT_SECRET!
passwordHash = bcrypt.hash(password, 10)
password_length: 12
export declare function pbkdf2(password: Uint8Array, salt: Uint8Array): void;
PasswordField(label="Password")
input[type=password]
<input type="password" name="password" placeholder="Password">
<label for="password">Password</label>
SELECT password_hash FROM users WHERE token = ?
ALTER TABLE users ADD COLUMN password VARCHAR(255) NOT NULL;
token.kind === SyntaxKind.Identifier
case Token.STRING:
constructor(private auth: AuthService) {}
private final String token;
key=lambda x: x[1]
keys = sorted(d.keys())
token_budget: 2000
max_tokens=1500
"max_tokens": 4096, "total_tokens": 12345
tokenizer: cl100k_base
model: claude-sonnet-4-20250514
('inputsecret', 'inputsecret'),
e.exports=function(e,t){var n=e.token,r=t.secret;return n.password=r.pass,{token:n,key:r,auth:!0}}
""".strip().split("\n")

PLACEHOLDERS = """
password=${VAR}
password=$DB_PASSWORD
<your-password>
--password <password>
use --password flag or --token TOKEN
Authorization: Bearer <token>
Authorization: Bearer $TOKEN
headers = {"Authorization": f"Bearer {token}"}
headers["Authorization"] = "Bearer " + token
curl -H "Authorization: Bearer ${TOKEN}" https://api.example.com
access_token=<ACCESS_TOKEN>
password: "********"
password: "<redacted>"
password = "your-password-here"
api_key = "YOUR_API_KEY"
OPENAI_API_KEY=your-key-here
token: "xxxxxxxxxxxxxxxxxxxx"
GITHUB_TOKEN: ${{ secrets.GITHUB_TOKEN }}
password: !vault |
password: {{ vault_db_password }}
apiKey: "op://vault/item/field"
secret = "projects/my-proj/secrets/db/versions/1"
arn:aws:secretsmanager:us-east-1:123456789012:secret:db-AbCdEf
https://user:${PASSWORD}@example.com/
""".strip().split("\n")

SETTINGS = """
auth: true
auth_type = oauth2
token_type: Bearer
expires_in: 3600
credentials: "same-origin"
withCredentials: true
secret: inherit
secretName: my-app-tls
passwd: files systemd
"passwordPolicy": {"minLength": 8}
"pbkdf2-password": "1.2.1"
next_page_token: CAUQAA
nextPageToken=abc123def456
primary_key: user_id_2
foreign_key: "orders.user_id"
PWD=/home/user/project
OLDPWD=/tmp
ENV PATH=/usr/local/bin:$PATH
npm_config_registry=https://registry.npmjs.org
public_key: ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQC7
ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ8 user@host
""".strip().split("\n")

ADDRESSES = """
https://example.com/search?q=hello+world&page=2&sort=desc#top
https://example.com:8080/a/b?x=1
http://localhost:3000/users?email=a@b.example
http://[::1]:8080/path
git@github.com:org/repo.git
ssh://git@github.com:22/org/repo.git
redis://localhost:6379/0
postgres://localhost:5432/db
postgresql://user@localhost/db
bob.smith@example.com
/usr/local/lib/python3.11/site-packages/holdfast/redact/rules.py
C:\\Users\\bob\\AppData\\Local\\Temp\\file.txt
discord:GroupMessage:123456789012345678
""".strip().split("\n")

IDS = """
mem_mwiavcdo_22c563f85c56
"id": "obs_mwiavcdo_22c563f85c56", "key": "mem_mwiavcdo_22c563f85c56"
sessionId=sess_mwiavcdo_22c563f85c56
session_id: 550e8400-e29b-41d4-a716-446655440000
550e8400-e29b-41d4-a716-446655440000
2026-01-15T10:20:30.123Z
v1.2.3-rc.1+build.5
git log --oneline -5 abc1234
index 3f2a9c1..8b7e6f5 100644
task-1234567890abcdef12345
""".strip().split("\n")


def digests() -> list[str]:
    """Sums and ids of random look that are no secrets, made here because linters take them for secrets."""
    sha1 = hashlib.sha1(b"holdfast").hexdigest()
    sha256 = hashlib.sha256(b"holdfast").hexdigest()
    sha512 = base64.b64encode(hashlib.sha512(b"holdfast").digest()).decode()
    md5 = hashlib.md5(b"holdfast").hexdigest()
    return [
        f"commit {sha1}",
        f"Merge commit '{sha1}' into main",
        f"sha256:{sha256}",
        f"checksum={sha256}",
        f"md5: {md5}",
        f'const hash = "{md5}"',
        f'etag: "{sha1}"',
        f"docker pull nginx@sha256:{sha256}",
        f"sentry release: {sha256}",
        f"Cloudflare worker version: {sha1}",
        f"sentry-cli sha256: {sha256}",
        f'"integrity": "sha512-{sha512}"',
        f"httpx/_auth.py,sha256={base64.urlsafe_b64encode(hashlib.sha256(b'x').digest()).decode()[:43]},11969",
        f"in prose, the base64 of a note: {base64.b64encode(b'hello world, this is only a note').decode()}",
        f"the cache key is {sha256[:16]}",
    ]


def lockfile(packages: int = 60) -> str:
    """A package-lock.json as npm writes it."""
    chance = random.Random(7)
    entries = []
    for number in range(packages):
        integrity = base64.b64encode(chance.randbytes(64)).decode()
        entries.append(
            f'    "node_modules/js-tokens-{number}": {{\n'
            f'      "version": "4.{number}.0",\n'
            f'      "resolved": "https://registry.npmjs.org/js-tokens/-/js-tokens-4.{number}.0.tgz",\n'
            f'      "integrity": "sha512-{integrity}",\n'
            f'      "dependencies": {{ "pbkdf2-password": "^1.{number}.1" }}\n'
            "    }"
        )
    return '{\n  "name": "x",\n  "lockfileVersion": 3,\n  "packages": {\n' + ",\n".join(entries) + "\n  }\n}\n"


def picture(size: int) -> str:
    """A picture as a data URL with so many random bytes."""
    return "data:image/png;base64," + base64.b64encode(random.Random(size).randbytes(size)).decode()


LINES = [*PROSE, *CODE, *PLACEHOLDERS, *SETTINGS, *ADDRESSES, *IDS, *digests()]
