"""A Markdown file of rules (CLAUDE.md, AGENTS.md, notes): each list item or paragraph with its code is one rule.

Headings, and sentences that end with a colon before a list, are the subject of the rules below them. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from holdfast.protocol.importers.blocks import Block, blocks

MOST_RULES = 2_000
RULE_CHARS = 20_000

_PREFERENCE = re.compile(
    r"\b(?:prefer(?:s|red|ably)?|please|favou?rs?|would rather|my|i (?:like|love|want|wish|hate|dislike|always|never)"
    r"|(?:the )?user (?:likes|wants|prefers|wishes|asks))\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"\w")


@dataclass(frozen=True, slots=True)
class Rule:
    """The text of one rule, as it is written, and its headings."""

    text: str
    headings: tuple[str, ...] = ()

    @property
    def content(self) -> str:
        """The rule so that it is clear on its own."""
        return f"{self.headings[-1]}: {self.text}" if self.headings else self.text

    @property
    def type(self) -> str:
        return "preference" if _PREFERENCE.search(self.text) else "convention"


def read_rules(markdown: str) -> list[Rule]:
    """The rules of a file in their order, each once."""
    found = dict.fromkeys(rule for rule in _Assembly().rules(list(blocks(markdown))) if _WORD.search(rule.text))
    return list(found)


@dataclass
class _OpenRule:
    """A rule to which more may be added."""

    indent: int  # of its list item; -1 for a paragraph
    lines: list[str]
    steps: bool = False  # of a numbered list, which mean something together only

    @property
    def is_lead(self) -> bool:
        """Whether it only introduces what comes next."""
        return len(self.lines) == 1 and self.lines[0].endswith((":", "：")) and "\n" not in self.lines[0]

    @property
    def subject(self) -> str:
        return re.sub(r"[*_`]", "", self.lines[0]).rstrip(":： ")


@dataclass
class _Assembly:
    headings: list[tuple[int, str]] = field(default_factory=list)
    leads: list[tuple[int, str]] = field(default_factory=list)  # of lists, by their indent
    open: _OpenRule | None = None

    def rules(self, found: list[Block]) -> Iterator[Rule]:
        title = _title(found)
        for block in found:
            if block.kind == "heading":
                yield from self._close()
                self.leads = []
                self.headings = [(level, text) for level, text in self.headings if level < block.indent]
                if block is not title:
                    self.headings.append((block.indent, block.text))
            elif block.kind == "item":
                yield from self._item(block)
            elif self.open is not None and (block.kind == "code" or block.indent > self.open.indent >= 0):
                self._add(self.open, block)
            else:
                yield from self._close()
                self.leads = []
                self.open = _OpenRule(-1, [_code(block.text) if block.kind == "code" else block.text])
        yield from self._close()

    def _add(self, open: _OpenRule, block: Block) -> None:
        """One line of code after a colon ends the sentence; anything else is a line of its own."""
        text = _code(block.text) if block.kind == "code" else block.text
        if block.kind == "code" and open.is_lead and "\n" not in text:
            open.lines[0] = f"{open.lines[0]} {text}"
        else:
            open.lines.append(text)

    def _item(self, block: Block) -> Iterator[Rule]:
        above = self.open
        if above is not None and above.indent < block.indent:
            if (above.is_lead or above.steps) and block.mark[0].isdigit():
                above.steps = True
                above.lines.append(f"{block.mark} {block.text}")
                return
            if above.is_lead:
                self.leads.append((above.indent, above.subject))
                self.open = None
            elif above.indent >= 0:
                above.lines.append(f"{' ' * max(2, block.indent - above.indent)}- {block.text}")
                return
        yield from self._close()
        self.leads = [(indent, text) for indent, text in self.leads if indent < block.indent]
        self.open = _OpenRule(block.indent, [block.text])

    def _close(self) -> Iterator[Rule]:
        one, self.open = self.open, None
        if one is not None and not one.is_lead:
            subjects = (*(text for _, text in self.headings), *(text for _, text in self.leads))
            yield Rule("\n".join(one.lines).strip(), subjects)


def _code(text: str) -> str:
    """What stands between the fences: they and the name of the language are of no use to a reader."""
    fence, _, rest = text.partition("\n")
    lines = rest.split("\n")
    if lines and lines[-1].strip() and not lines[-1].strip().strip(fence.strip()[0]):
        lines.pop()
    return "\n".join(lines).strip("\n")


def _title(found: list[Block]) -> Block | None:
    """The heading that names the whole file: the first block, if it is the only one of the highest level."""
    highest = [one for one in found if one.kind == "heading" and one.indent == 1]
    return found[0] if highest and highest == found[:1] else None
