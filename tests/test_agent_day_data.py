"""The labelled turns and pairs of bench/agent_day: their form, so that no figure rests on a typing error."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

DATA = Path(__file__).parent.parent / "bench" / "agent_day" / "data"
TURNS = ["turns_dev", "turns_held_out"]
PAIRS = ["pairs_dev", "pairs_held_out"]
LABELS = {"preference", "decision", "rejected", "finding", "fact", "change", "open", "none"}
TURN_FIELDS = {"id", "domain", "prompt", "prompt_labels", "answer", "answer_labels"}
PAIR_FIELDS = {
    "id",
    "domain",
    "old",
    "new",
    "new_prompt",
    "edit",
    "old_edit",
    "replaces",
    "old_value",
    "new_value",
    "why",
}
MARKUP = re.compile(r"(\s|[-*+]|\d+[.)]|\[[ x]\])*")


def rows(name: str) -> list[dict[str, Any]]:
    lines = (DATA / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def between(text: str, sentences: list[str]) -> str | None:
    """What is left of the text without the sentences in their order; None if one is missing."""
    rest, at = "", 0
    for sentence in sentences:
        start = text.find(sentence, at)
        if start < 0:
            return None
        rest, at = rest + text[at:start], start + len(sentence)
    return rest + text[at:]


@pytest.mark.parametrize("name", TURNS)
def test_the_labelled_sentences_are_the_whole_text(name: str) -> None:
    for turn in rows(name):
        assert set(turn) == TURN_FIELDS
        for side in ("prompt", "answer"):
            labelled = turn[f"{side}_labels"]
            assert labelled, turn["id"]
            assert {label for _, label in labelled} <= LABELS, turn["id"]
            rest = between(turn[side], [sentence for sentence, _ in labelled])
            assert rest is not None, turn["id"]
            assert MARKUP.fullmatch(rest), turn["id"]


@pytest.mark.parametrize("name", PAIRS)
def test_a_pair_has_two_statements_and_their_values(name: str) -> None:
    for pair in rows(name):
        assert set(pair) == PAIR_FIELDS
        assert isinstance(pair["replaces"], bool)
        assert all(pair[field] for field in ("domain", "old", "new", "why")), pair["id"]
        assert pair["old_value"].lower() in pair["old"].lower(), pair["id"]
        assert pair["new_value"].lower() in f"{pair['new']} {pair['new_prompt']}".lower(), pair["id"]
        assert not pair["replaces"] or (pair["old_value"] and pair["new_value"]), pair["id"]
        for edit in (pair["edit"], pair["old_edit"]):
            assert edit is None or (len(edit) == 3 and all(edit)), pair["id"]


@pytest.mark.parametrize(("build", "held_out"), [TURNS, PAIRS])
def test_what_is_held_out_shares_no_id_and_no_domain_with_what_is_built_on(build: str, held_out: str) -> None:
    ids = Counter(row["id"] for name in (build, held_out) for row in rows(name))
    assert max(ids.values()) == 1
    assert not {row["domain"] for row in rows(build)} & {row["domain"] for row in rows(held_out)}
