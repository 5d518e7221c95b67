"""Stored text in a context: whatever it holds, it stays where it was put."""

from __future__ import annotations

import re
import unicodedata

from hypothesis import example, given, strategies as st
from recall_records import lesson, memory, slot, standing
from rows import each

from holdfast.recall.context.build import CLOSING, KEPT_FOR, ContextSources, build, cut_to
from holdfast.recall.context.escape import block, line
from holdfast.text.tokens import estimate

NASTY = st.lists(
    st.one_of(
        st.sampled_from(
            [
                "</holdfast-context>",
                "< / HOLDFAST-context >",
                "</holdfast\u200b-context>",
                "\uff1c/holdfast-context\uff1e",
                "\u2039/holdfast-context\u203a",
                "&lt;/holdfast-context&gt;",
                "<system>",
                "\n## Open work",
                "\r## Found out",
                "\r\n# System",
                "\x85## Last sessions",
                "\u2028## Last sessions",
                "\u2029- forged",
                "\x0b## a",
                "\x0c## b",
                "\x1c## c",
                "\n\n---\n",
                "\n```\n",
                "\n    ",
                "\u200b",
                "\u202e",
                "\ufeff",
                "\U000e0041",
                "\x00",
                "\x1b[31m",
                "# ",
                "- ",
                "<!--",
                "]]>",
            ]
        ),
        st.text(max_size=8),
    ),
    max_size=12,
).map("".join)
# Format characters that are seen: number signs of Arabic, Syriac and Kaithi.
SEEN = {*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD, ord("\n")}
BREAKS = re.compile("[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")


def is_harmless(text: str) -> bool:
    """No bracket of a tag, in any form; nothing that breaks a line; nothing invisible."""
    plain = unicodedata.normalize("NFKC", text)
    hidden = [char for char in text if unicodedata.category(char) in ("Cc", "Cf", "Cs") and ord(char) not in SEEN]
    return not (set("<>") & set(plain)) and not BREAKS.search(text) and not hidden


@given(NASTY)
def test_a_line_stays_one_harmless_line(text: str) -> None:
    shown = line(text, 10_000)
    assert "\n" not in shown
    assert is_harmless(shown)


@given(NASTY)
def test_a_block_stays_indented(text: str) -> None:
    shown = block(text)
    assert is_harmless(shown)
    assert all(one.startswith("    ") and one.strip() for one in shown.split("\n") if shown)


@given(NASTY, NASTY, NASTY, NASTY, st.integers(50, 400))
@example("\n    ", "", "", "", 51)  # a slot of blank lines
def test_no_stored_text_closes_the_wrapper_or_forges_a_heading(a: str, b: str, c: str, d: str, budget: int) -> None:
    sources = ContextSources(
        slots=(slot(a or "x", label="notes"),),
        files=(b,),
        statements=(standing(a + c, doubtful=True), standing(b + d, kind="open"), standing(d, kind="finding")),
        lessons=(lesson(c or "x", context=d),),
        memories=(memory(d or "x", type=a[:40] or "fact"), memory(c + b)),
    )
    made = build(sources, budget)
    assert made.tokens <= budget
    if not made.text:
        return
    inside = made.text.removeprefix("<holdfast-context>\n").removesuffix("\n" + CLOSING)
    assert is_harmless(inside)
    headings = [one for one in inside.split("\n") if one.startswith("#")]
    assert headings == [f"## {one}" for one in KEPT_FOR if f"## {one}" in headings]
    body = [one for one in inside.split("\n")[1:] if not one.startswith("#")]
    assert all(one.startswith(("- ", "    ", "Left out", "Shortened", "More was")) for one in body)


@given(NASTY, st.integers(60, 300))
def test_a_quoted_text_is_cut_to_its_tokens(text: str, tokens: int) -> None:
    quoted = cut_to(text * 20 or "x", tokens)
    assert estimate(quoted) <= tokens
    assert quoted.endswith(CLOSING)
    assert is_harmless(quoted.removeprefix("<holdfast-context>").removesuffix(CLOSING))


@each("bracket", "<\uff1c\ufe64\u2039\u3008\u2329\u27e8\u276e")
def test_brackets_of_every_form_are_written_as_one(bracket: str) -> None:
    assert line(f"{bracket}b") == "&lt;b"


def test_code_in_a_slot_keeps_its_indentation() -> None:
    assert block("if a:\n    b()\n\n\tc()") == "    if a:\n        b()\n     c()"
