"""Rules that cannot be trusted are refused when they are loaded."""

from __future__ import annotations

import pytest
from rows import each

from holdfast.core.errors import InvalidSettings
from holdfast.redact.plain import Counts, clean_text
from holdfast.redact.rules import default_rules, load_rules

WORDS = '\n[words]\nplain = ["str"]\nprose = []\ndigest = []\nharmless = []\n'
GOOD = '{ id = "a", about = "b", kind = "c", keywords = ["tok_"], pattern = "tok_[a-z]{8}" }'


def book(*rows: str, words: str = WORDS) -> str:
    return "rules = [\n" + ",\n".join(rows) + "\n]\n" + words


BAD = {
    "not TOML": "rules = [",
    "no rules": "rules = []" + WORDS,
    "no words": book(GOOD, words=""),
    "a missing list of words": book(GOOD, words='\n[words]\nplain = ["str"]\n'),
    "words in upper case": book(GOOD, words=WORDS.replace("str", "Str")),
    "an unknown table": book(GOOD) + "[other]\n",
    "the same id twice": book(GOOD, GOOD),
    "no id": book(GOOD.replace('id = "a", ', "")),
    "an empty kind": book(GOOD.replace('"c"', '" "')),
    "an unknown field": book(GOOD.replace("kind", "colour = 1, kind")),
    "two forms at once": book(GOOD.replace("kind", 'near = ["x1"], kind')),
    "no keywords": book(GOOD.replace('keywords = ["tok_"], ', "")),
    "empty keywords": book(GOOD.replace('["tok_"]', "[]")),
    "a keyword of one letter": book(GOOD.replace('"tok_"', '"t"')),
    "a keyword with a quote": book(GOOD.replace('"tok_"', "'to\"k'")),
    "a keyword with a line end": book(GOOD.replace('"tok_"', '"to\\nk"')),
    "keywords and a gate": book(GOOD.replace("kind", 'gate = "tok", kind')),
    "a gate that does not compile": book(GOOD.replace('keywords = ["tok_"]', 'gate = "tok("')),
    "a pattern that does not compile": book(GOOD.replace("tok_[a-z]{8}", "tok_[a-z{8}")),
    "a pattern that RE2 does not know": book(GOOD.replace("tok_[a-z]{8}", "(?=tok)_")),
    "a group that is not there": book(GOOD.replace("kind", "group = 1, kind")),
    "a group that is no number": book(GOOD.replace("kind", 'group = "1", kind')),
    "an unknown edge": book(GOOD.replace("kind", 'edge = "sharp", kind')),
    "an edge and a group": book(
        GOOD.replace("kind", 'edge = "word", group = 1, kind').replace("[a-z]{8}", "([a-z]{8})")
    ),
    "an entropy no text has": book(GOOD.replace("kind", "entropy = 9, kind")),
    "an entropy that is no number": book(GOOD.replace("kind", "entropy = true, kind")),
    "an unknown check": book(GOOD.replace("kind", 'check = "astrology", kind')),
    "an inner pattern without a group": book(GOOD.replace("kind", 'within = "x", kind')),
    "a value with a group": book('{ id = "a", about = "b", kind = "c", near = ["acme"], value = "([a-f]{8})" }'),
    "names with a group": book(
        '{ id = "a", about = "b", kind = "c", keywords = ["pin"], names = "(pin)", check = "password" }'
    ),
    "names without a check": book('{ id = "a", about = "b", kind = "c", keywords = ["pin"], names = "pin" }'),
}


@each("source", BAD.values())
def test_a_bad_book_of_rules_is_refused(source: str) -> None:
    with pytest.raises(InvalidSettings, match="redaction rules"):
        load_rules(source)


def test_a_book_of_one_rule_of_each_form_finds_what_it_says() -> None:
    rules = load_rules(
        book(
            GOOD,
            '{ id = "n", about = "b", kind = "c", near = ["acme"], value = "[a-f0-9]{8}" }',
            '{ id = "p", about = "b", kind = "c", gate = "pin", names = "pin", check = "password" }',
        )
    )
    counts: Counts = Counts()
    clean = clean_text(rules, 'xtok_abcdefgh acme: a1b2c3d4, pin = "4711x", pin: str', counts)
    assert clean == ('x[REDACTED_SECRET] acme: [REDACTED_SECRET], pin = "[REDACTED_SECRET]", pin: str')
    assert counts == {"a": 1, "n": 1, "p": 1}


def test_the_rules_are_loaded_once_and_cover_the_known_formats() -> None:
    assert default_rules() is default_rules()
    assert len(default_rules().rules) >= 300


def test_a_gate_that_fails_lets_every_rule_run() -> None:
    class Broken:
        def Match(self, data: bytes) -> None:
            return None

    rules = default_rules()
    object.__setattr__(broken := load_rules(book(GOOD)), "gate", Broken())
    assert broken.calls(b"anything") == [0]
    assert not broken.is_quiet(b"anything")
    assert rules.is_quiet(b"hello there")
