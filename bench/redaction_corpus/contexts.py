"""Forms of text in which a named value stands: JSON, environment files, YAML, code, logs, URLs, shell and prose."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import quote


class Name(NamedTuple):
    """A vendor's word and what the value is, in the spellings of settings, code and headers."""

    word: str
    suffix: str

    @property
    def parts(self) -> list[str]:
        return [part for part in re.split(r"[_-]+", f"{self.word}_{self.suffix}") if part]

    @property
    def snake(self) -> str:
        return f"{self.word}_{self.suffix}".strip("_")

    @property
    def upper(self) -> str:
        return self.snake.upper().replace("-", "_")

    @property
    def kebab(self) -> str:
        return self.snake.replace("__", "_").replace("_", "-")

    @property
    def camel(self) -> str:
        # The word stays whole: a rule that knows linked_in and linkedin is not asked for linkedIn.
        word = self.word.replace("-", "_")
        return word + "".join(part.title() for part in self.suffix.split("_"))

    @property
    def header(self) -> str:
        return "X-" + "-".join(part.title() for part in self.kebab.split("-"))

    @property
    def spoken(self) -> str:
        return f"{self.word} {self.suffix.replace('_', ' ')}".strip()


Form = Callable[[Name, str, random.Random], str]

WHEN = "2026-03-04T05:06:07Z"

JSON: tuple[Form, ...] = (
    lambda n, s, c: json.dumps({n.snake: s}),
    lambda n, s, c: json.dumps(
        {"id": c.randrange(9999), "config": {"debug": True, n.camel: s, "retries": 3}}, indent=2
    ),
    lambda n, s, c: json.dumps({"env": [{"name": "HOME", "value": "/root"}, {"name": n.upper, "value": s}]}),
    lambda n, s, c: json.dumps({"tool_input": {"command": f"export {n.upper}={s} && make"}}),
    lambda n, s, c: json.dumps({"body": json.dumps({n.kebab: s, "n": 1})}),
    lambda n, s, c: json.dumps({"headers": {n.header: s, "Accept": "*/*"}}),
    lambda n, s, c: json.dumps({"Tags": [{"Key": n.kebab, "Value": s}]}),
    lambda n, s, c: json.dumps({"argv": ["tool", f"--{n.kebab}", s, "--verbose"]}),
)
ENV: tuple[Form, ...] = (
    lambda n, s, c: f"DEBUG=1\n{n.upper}={s}\nPORT=8080\n",
    lambda n, s, c: f'{n.upper}="{s}"\n',
    lambda n, s, c: f"export {n.upper}='{s}'\nexport LANG=C\n",
    lambda n, s, c: f"{n.upper} = {s}\n",
    lambda n, s, c: f"# production\n{n.upper}={s} # do not share\n",
    lambda n, s, c: f"{n.snake}={s}\r\nnext=1\r\n",
    lambda n, s, c: f"set {n.upper}={s}\r\n",
    lambda n, s, c: f"[app]\n{n.snake} = {s}\ndebug = no\n",
)
YAML: tuple[Form, ...] = (
    lambda n, s, c: f"server:\n  port: 80\n  {n.snake}: {s}\n  debug: false\n",
    lambda n, s, c: f'{n.camel}: "{s}"\n',
    lambda n, s, c: f"env:\n  - name: {n.upper}\n    value: {s}\n  - name: X\n    value: y\n",
    lambda n, s, c: f"  {n.kebab}: '{s}'  # rotate\n",
    lambda n, s, c: f"environment:\n  - {n.upper}={s}\n  - TZ=UTC\n",
    lambda n, s, c: f"{{ {n.snake}: {s}, retries: 3 }}\n",
    lambda n, s, c: f"app:\n  {n.snake}: >-\n    {s}\n  port: 1\n",
    lambda n, s, c: f'? {n.kebab}\n: "{s}"\n',
)
CODE: tuple[Form, ...] = (
    lambda n, s, c: f'{n.upper} = "{s}"\n',
    lambda n, s, c: f"const {n.camel} = '{s}';\n",
    lambda n, s, c: f'\t{n.camel} := "{s}"\n',
    lambda n, s, c: f'    private static final String {n.upper} = "{s}";\n',
    lambda n, s, c: f"    '{n.snake}' => '{s}',\n",
    lambda n, s, c: f'os.environ["{n.upper}"] = "{s}"\n',
    lambda n, s, c: f"const {n.camel}: string = `{s}`\n",
    lambda n, s, c: f'client = Client(timeout=3, {n.snake}="{s}")\n',
    lambda n, s, c: f"<{n.camel}>{s}</{n.camel}>\n",
    lambda n, s, c: f'define("{n.upper}", "{s}");\n',
    lambda n, s, c: f"let key = process.env.{n.upper} || '{s}'\n",
    lambda n, s, c: f'viper.Set("{n.snake}", "{s}")\n',
    lambda n, s, c: f'const {n.upper}: &str = "{s}";\n',
    lambda n, s, c: f"ENV['{n.upper}'] ||= '{s}'\n",
    lambda n, s, c: f'settings["{n.word}"]["{n.suffix or n.word}"] = "{s}"\n',
    lambda n, s, c: f'<add name="{n.camel}" value="{s}" />\n',
)
LOGS: tuple[Form, ...] = (
    lambda n, s, c: f"{WHEN} INFO  auth using {n.snake}={s} for request {c.randrange(10**6)}\n",
    lambda n, s, c: f'level=debug ts={WHEN} msg="call" {n.camel}="{s}" took=3ms\n',
    lambda n, s, c: f"DEBUG headers={{'{n.header}': '{s}', 'Accept': '*/*'}}\n",
    lambda n, s, c: f"[{WHEN}] ERROR 401 from upstream ({n.spoken}: {s})\n",
    lambda n, s, c: f'{WHEN} WARN {{"{n.snake}":"{s}","ok":false}}\n',
    lambda n, s, c: f"> {n.header}: {s}\r\n> Accept: */*\r\n",
    lambda n, s, c: f"{WHEN}\tworker-3\t{n.snake}:{s}\tdone\n",
    lambda n, s, c: f"{WHEN} [main] config loaded: {{{n.camel}={s}, port=80}}\n",
)
URLS: tuple[Form, ...] = (
    lambda n, s, c: f"https://api.example.com/v1/items?{n.snake}={quote(s, safe='')}&limit=10",
    lambda n, s, c: f"GET /v2/search?q=x&{n.kebab}={quote(s, safe='')} HTTP/1.1",
    lambda n, s, c: f"https://app.example.com/callback#state=1&{n.camel}={quote(s, safe='')}",
    lambda n, s, c: f"see <https://example.com/hook?{n.camel}={quote(s, safe='')}> for it",
    lambda n, s, c: f"wss://stream.example.com/?v=2&{n.snake}={quote(s, safe='')}",
    lambda n, s, c: f"redirect=https%3A%2F%2Fx.example.com%2Fcb%3F{n.snake}%3D{quote(s, safe='')}",
)
SHELL: tuple[Form, ...] = (
    lambda n, s, c: f"export {n.upper}={s}\n",
    lambda n, s, c: f"{n.upper}='{s}' ./deploy.sh --now\n",
    lambda n, s, c: f'curl -s -H "{n.header}: {s}" https://api.example.com/v1\n',
    lambda n, s, c: f"docker run --rm -e {n.upper}={s} acme/app:1.2\n",
    lambda n, s, c: f"./tool --{n.kebab} {s} --verbose\n",
    lambda n, s, c: f'./tool --{n.kebab}="{s}"\n',
    lambda n, s, c: f"kubectl create secret generic app --from-literal={n.kebab}={s}\n",
    lambda n, s, c: f"set -gx {n.upper} {s}\n",
    lambda n, s, c: f"$env:{n.upper} = '{s}'\n",
    lambda n, s, c: f"gh variable set {n.upper} --body {s}\n",
    lambda n, s, c: f"sed -i 's,{n.upper}=.*,{n.upper}={s},' .env\n",
    lambda n, s, c: f"helm upgrade app ./chart --set app.{n.camel}={s},replicas=2\n",
)
PROSE: tuple[Form, ...] = (
    lambda n, s, c: f"Our {n.spoken}: {s}\nPlease keep it.",
    lambda n, s, c: f"The {n.spoken} is {s}, and it expires in May.",
    lambda n, s, c: f"I set {n.snake} to `{s}` yesterday.",
    lambda n, s, c: f"For the record, {n.spoken} = {s}.",
    lambda n, s, c: f"- **{n.spoken}**: `{s}`\n- region: eu",
    lambda n, s, c: f"We used the {n.spoken} ({s}) in staging.",
    lambda n, s, c: f"| setting | value |\n|---|---|\n| {n.snake} | {s} |\n",
    lambda n, s, c: f"Set {n.spoken} → {s} before you start.",
    lambda n, s, c: f"the {n.spoken}, {s}, was in the old repository",
)
CONTEXTS: dict[str, tuple[Form, ...]] = {
    "json": JSON,
    "env": ENV,
    "yaml": YAML,
    "code": CODE,
    "logs": LOGS,
    "urls": URLS,
    "shell": SHELL,
    "prose": PROSE,
}
