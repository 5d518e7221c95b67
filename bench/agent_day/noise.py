"""What tools print on a working day: source files, test runs, logs. Seeded, so that two runs send the same bytes."""

from __future__ import annotations

import random
import zlib

_SHAPES: dict[str, tuple[str, ...]] = {
    "c": (
        "static int {a}_{b}(struct {a} *self, uint32_t {c})",
        "    if (self->{b} == NULL || {c} > {A}_MAX) {{ return -EINVAL; }}",
        "    self->{c} += {b}_step(self, {c});",
        "#define {A}_{B}_OFFSET 0x{n:04x}u",
        "/* {b} is set up by {c}_init() */",
        "}}",
        "",
    ),
    "rb": (
        "class {Ca}{Cb} < ApplicationRecord",
        "  has_many :{b}s, dependent: :destroy",
        "  validates :{c}, presence: true, length: {{ maximum: {n} }}",
        "  scope :with_{b}, -> {{ joins(:{b}s).distinct }}",
        "  def {b}_for({c})",
        "    {c}.{a}s.find_each {{ |one| yield one.{b} }}",
        "  end",
        "",
    ),
    "py": (
        "def {a}_{b}(frame: pd.DataFrame, {c}: str) -> pd.DataFrame:",
        "    {b} = frame.groupby({c!r}).agg({{'{a}': 'mean', '{c}': 'count'}})",
        "    assert not {b}['{c}'].isna().any()",
        "    return frame.merge({b}, on='{a}', how='left')",
        "# {b} per {c}; see the cell above",
        "{A}_{B} = {n}",
        "",
    ),
    "go": (
        "func (s *{Ca}Server) {Cb}(ctx context.Context, req *pb.{Cb}Request) (*pb.{Cb}Reply, error) {{",
        "\t{b}, err := s.{a}.Lookup(ctx, req.Get{Cc}())",
        "\tif err != nil {{",
        '\t\treturn nil, fmt.Errorf("{a} {b}: %w", err)',
        "\t}}",
        "\treturn &pb.{Cb}Reply{{{Cc}: {b}.{Cc}}}, nil",
        "}}",
        "",
    ),
    "yaml": ("{a}:", "  {b}:", "    {c}: {n}", "    name: {a}-{b}", "  # {c} as in the {a} block", "  - {b}: {c}", ""),
    "tex": (
        "\\section{{On the {a} of a {b}}}",
        "Let ${a}_{{{n}}}$ denote the {b} of a {c}; we write ${b} \\prec {c}$ when the {a} is finite.",
        "\\begin{{equation}}\\label{{eq:{a}-{b}}}",
        "  {a}({b}) = \\sum_{{k=1}}^{{{n}}} {c}_k",
        "\\end{{equation}}",
        "% {b} follows {c} here",
        "",
    ),
    "php": (
        "function theme_{a}_{b}( ${c} = null ) {{",
        "    ${b} = get_post_meta( ${c}->ID, '_{a}_{b}', true );",
        "    if ( empty( ${b} ) ) {{ return ''; }}",
        "    return apply_filters( '{a}_{b}', ${b}, ${c} );",
        "}}",
        "",
    ),
    "swift": (
        "struct {Ca}{Cb}View: View {{",
        "    @ObservedObject var {b}: {Cb}Model",
        "    private let {c} = {n}",
        "    var body: some View {{ List({b}.{a}s) {{ {Ca}Row($0) }} }}",
        "    func {b}{Cc}() async throws -> [{Ca}] {{ try await {b}.load({c}) }}",
        "}}",
        "",
    ),
    "rs": (
        "impl<'a> {Ca}{Cb}<'a> {{",
        "    pub fn {b}(&mut self, {c}: &{Cc}) -> Option<{Cb}Id> {{",
        "        let {a} = self.{a}s.get({c}.index())?;",
        "        self.{b}s.push(({a}.id, {n}));",
        "        Some({Cb}Id::new({n}))",
        "    }}",
        "}}",
        "",
    ),
    "ts": (
        "export const {b}{Ca} = async ({c}: {Cc}Input): Promise<{Cb}> => {{",
        "  const {a} = await db.{a}.findFirst({{ where: {{ {b}: {c}.{b} }} }});",
        "  if (!{a}) return null;",
        "  return {{ ...{a}, {c}Total: {a}.{b}s.length + {n} }};",
        "}};",
        "// {b} may be empty while the {c} loads",
        "",
    ),
}
_SAME = {
    "h": "c",
    "cpp": "c",
    "ipynb": "py",
    "cs": "ts",
    "js": "ts",
    "tsx": "ts",
    "toml": "yaml",
    "yml": "yaml",
    "tf": "yaml",
}


def _dice(*key: object) -> random.Random:
    return random.Random(zlib.crc32("/".join(map(str, key)).encode()))  # noqa: S311 - noise, no secret


def source(path: str, lines: int, words: str, has: str = "") -> str:
    """A source file of that many lines; `has` stands in the middle."""
    ending = path.rsplit(".", 1)[-1]
    shapes = _SHAPES.get(_SAME.get(ending, ending), _SHAPES["ts"])
    dice, pool = _dice(path, lines), words.split()
    made = [_line(dice, dice.choice(shapes), pool) for _ in range(lines)]
    made[lines // 2 : lines // 2] = has.splitlines()
    return "\n".join(made)


def _line(dice: random.Random, shape: str, pool: list[str]) -> str:
    a, b, c = (dice.choice(pool) for _ in range(3))
    names = {"a": a, "b": b, "c": c, "A": a.upper(), "B": b.upper(), "Ca": a.title(), "Cb": b.title(), "Cc": c.title()}
    return shape.format(**names, n=dice.randint(2, 900))


def tests(count: int, words: str, end: str) -> str:
    """A test run: many green lines, and the end, which says what matters."""
    dice, pool = _dice("tests", words, count), words.split()
    verbs = ("accepts", "returns", "skips", "sorts", "parses", "stores", "closes", "ignores")
    green = [
        f"PASS  {dice.choice(pool)} {dice.choice(verbs)} {dice.choice(pool)}  [{dice.randint(1, 70)}ms]"
        for _ in range(count)
    ]
    return "\n".join([*green, end])


def log(lines: int, words: str, end: str = "") -> str:
    """A log of a service; `end` is its last line."""
    dice, pool = _dice("log", words, lines), words.split()
    made = [
        f"{dice.randint(0, 23):02d}:{dice.randint(0, 59):02d}:{dice.randint(0, 59):02d}.{dice.randint(0, 999):03d} "
        f"{dice.choice(('INFO', 'INFO', 'DEBUG', 'WARN'))} {dice.choice(pool)}.{dice.choice(pool)} "
        f"took={dice.randint(1, 900)}ms req={dice.getrandbits(40):010x}"
        for _ in range(lines)
    ]
    return "\n".join([*made, *([end] if end else [])])


def matches(count: int, ending: str, words: str, shown: str) -> str:
    """What a search through the sources prints."""
    dice, pool = _dice("matches", words, shown, count), words.split()
    return "\n".join(
        f"src/{dice.choice(pool)}/{dice.choice(pool)}.{ending}:{dice.randint(3, 400)}:  {shown}" for _ in range(count)
    )


def diff(path: str, words: str, lines: int = 30) -> str:
    """A diff as git shows it."""
    dice, body = _dice("diff", path, lines), source(path, lines, words).splitlines()
    marks = [dice.choice((" ", " ", "+", "-")) for _ in body]
    head = [f"diff --git a/{path} b/{path}", f"--- a/{path}", f"+++ b/{path}", f"@@ -12,{lines} +12,{lines} @@"]
    return "\n".join([*head, *(mark + line for mark, line in zip(marks, body, strict=True))])
