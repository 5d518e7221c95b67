"""Rules of a Markdown file: one a list item or paragraph, with its code, under its headings."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st
from rows import each

from holdfast.protocol.importers.rule_file import Rule, read_rules

pytestmark = pytest.mark.quick


def texts(markdown: str) -> list[str]:
    return [rule.text for rule in read_rules(markdown)]


def test_each_item_and_each_paragraph_is_a_rule_under_its_headings() -> None:
    assert read_rules(
        "# Shop\n\nBe brief.\n\n## Style\n### Python\n- Use four spaces\n* No tabs\n\n## Git\n+ Rebase\n"
    ) == [
        Rule("Be brief."),
        Rule("Use four spaces", ("Style", "Python")),
        Rule("No tabs", ("Style", "Python")),
        Rule("Rebase", ("Git",)),
    ]


def test_the_content_of_a_rule_is_clear_on_its_own() -> None:
    assert [rule.content for rule in read_rules("# A\n## Go\n- Use tabs\n")] == ["Go: Use tabs"]


def test_a_heading_that_is_not_alone_on_its_level_is_no_title() -> None:
    assert [rule.headings for rule in read_rules("# One\n- a\n# Two\n- b\n")] == [("One",), ("Two",)]


def test_lines_that_go_on_belong_to_their_rule() -> None:
    assert texts("- Use four spaces,\n  never tabs.\n- Second\nlazy line\n\nA paragraph\nof two lines.\n") == [
        "Use four spaces, never tabs.",
        "Second lazy line",
        "A paragraph of two lines.",
    ]


def test_code_stays_with_its_rule_without_its_fences() -> None:
    inside = "# not a heading\n- not an item\n\nmake test"
    code = f"```sh\n{inside}\n```"

    assert texts(f"Run the tests:\n\n{code}\n") == [f"Run the tests:\n{inside}"]
    assert texts(f"- Run it\n  {code.replace(chr(10), chr(10) + '  ')}\n- Next\n") == [f"Run it\n{inside}", "Next"]
    assert read_rules(f"## Commands\n{code}\n") == [Rule(inside, ("Commands",))]


def test_one_line_of_code_reads_as_a_sentence() -> None:
    code = "```sh\npytest -q -n 4\n```"

    assert [rule.content for rule in read_rules(f"# Shop\n## Commands\n{code}\n")] == ["Commands: pytest -q -n 4"]
    assert texts(f"Run the tests with:\n{code}\n") == ["Run the tests with: pytest -q -n 4"]
    assert texts("~~~~\nmake ~~~\n~~~~\n") == ["make ~~~"]
    assert texts("```\n```\n") == []


def test_code_that_is_never_closed_goes_to_the_end() -> None:
    assert texts("- a\n```\n- b\n# c") == ["a\n- b\n# c"]


def test_a_sentence_before_a_list_says_what_its_rules_are_about() -> None:
    assert read_rules("## CI\nBefore a **merge**:\n\n- run tests\n- ask for review\n\nAfter that rest.\n") == [
        Rule("run tests", ("CI", "Before a merge")),
        Rule("ask for review", ("CI", "Before a merge")),
        Rule("After that rest.", ("CI",)),
    ]
    assert read_rules("- Errors:\n  - raise\n  - never log\n- Other\n") == [
        Rule("raise", ("Errors",)),
        Rule("never log", ("Errors",)),
        Rule("Other"),
    ]


def test_items_below_a_whole_sentence_are_part_of_it() -> None:
    assert texts("- Prefer dataclasses\n  - frozen ones\n  - with slots\n- Next\n") == [
        "Prefer dataclasses\n  - frozen ones\n  - with slots",
        "Next",
    ]


def test_steps_stay_together() -> None:
    assert texts("To deploy:\n\n1. tag the commit\n2. push the tag\n\n- Else\n") == [
        "To deploy:\n1. tag the commit\n2. push the tag",
        "Else",
    ]
    assert texts("1. First rule.\n2. Second rule.\n") == ["First rule.", "Second rule."]


def test_an_indented_paragraph_belongs_to_the_item_above() -> None:
    assert texts("- Use the cache.\n\n  It saves an hour.\n- Next\n") == ["Use the cache.\nIt saves an hour.", "Next"]


@each(
    "silent",
    [
        "---\ntitle: x\n---\n",
        "<!-- - a comment\n- of two lines -->\n",
        "---\n",
        "* * *\n",
        "@docs/more.md\n",
        "![badge](http://x/y.svg) [![b](c)](d)\n",
        "## A heading alone\n\n",
        "Notes:\n",
        "",
    ],
)
def test_what_says_nothing_is_no_rule(silent: str) -> None:
    assert texts(silent) == []
    assert texts(f"{silent}\n# H\n- A rule\n") == ["A rule"]


def test_tasks_tables_quotes_and_underlined_headings_are_read() -> None:
    assert texts("- [x] Done once\n- [ ] To do\n") == ["Done once", "To do"]
    assert texts("| a | b |\n|---|---|\n| 1 | 2 |\n") == ["| a | b |\n|---|---|\n| 1 | 2 |"]
    assert texts("> Said before.\n> And again.\n") == ["Said before. And again."]
    assert read_rules("A\n===\n- x\n\nB\n---\n- y\n") == [Rule("x"), Rule("y", ("B",))]


def test_a_rule_that_stands_twice_is_one() -> None:
    assert texts("- Same\n- Other\n- Same\n") == ["Same", "Other"]


@each(
    "text, type",
    [
        ("Prefer small functions", "preference"),
        ("Please answer in German", "preference"),
        ("I want short commit messages", "preference"),
        ("The user likes tables", "preference"),
        ("Use four spaces", "convention"),
        ("Never push to main", "convention"),
        ("The API lives in src/api", "convention"),
    ],
)
def test_its_wording_says_of_what_type_a_rule_is(text: str, type: str) -> None:
    assert read_rules(f"- {text}\n")[0].type == type


@given(st.text(alphabet="ab#-*>`~:|=1. \t\n<!@[]()", max_size=200))
def test_any_text_is_read_and_read_alike_with_any_line_ends(markdown: str) -> None:
    rules = read_rules(markdown)

    assert read_rules(markdown.replace("\n", "\r\n")) == rules
    assert len(rules) == len(set(rules))
    assert all(rule.text.strip() for rule in rules)
