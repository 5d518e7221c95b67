"""When a newer statement replaces an older one, and when they are two facts."""

from __future__ import annotations

import json
from importlib import resources

import pytest
from rows import each

from holdfast.learn.statements.change_features import Similarity, signs
from holdfast.learn.statements.changes import gives_another_number, verdict
from holdfast.learn.statements.edits import Claim, Edit
from holdfast.learn.statements.values import Value, values, without_values

pytestmark = pytest.mark.quick

TIMEOUT = "The request timeout is 30 seconds."


def replaced(old: str, new: str, prompt: str = "", edits: tuple[Edit, ...] = (), before: tuple[Edit, ...] = ()) -> bool:
    return verdict(Claim(old, "", before), Claim(new, prompt, edits), None) == "replaced"


@each(
    "text, found",
    [
        ("It waits 30 seconds.", [Value("number time", "30")]),
        ("We use 1,500 rows", [Value("number count", "1500")]),
        ("It runs at 10.0.0.7 from 07:30", [Value("address", "10.0.0.7"), Value("clock", "07:30")]),
        ("Deploys happen each Friday", [Value("weekday", "friday")]),
        ("The code is in src/app.py", [Value("path", "src/app.py")]),
        ("Ask for `make all`", [Value("code", "make all")]),
        ("It was given to Ben", [Value("name", "ben")]),
        ("It was due 2026-02-28", [Value("date", "2026-02-28")]),
        ("They allow Ten pages, and two weeks", [Value("number", "10"), Value("number time", "2")]),
        ("due on 3 Sept, friday at the latest", [Value("date", "3 sept"), Value("weekday", "friday")]),
        ("alerts go to #ops-quiet hourly", [Value("address", "#ops-quiet"), Value("frequency", "hourly")]),
        ("the flag is off. We go on with it from now on.", [Value("switch", "off")]),
        ("nothing of the kind", []),
    ],
)
def test_a_value_has_a_kind(text: str, found: list[Value]) -> None:
    assert values(text) == found


def test_what_a_sentence_is_about_remains_without_its_values() -> None:
    assert without_values("The limit is 30 MB") == without_values("The limit is 64 MB")


@each(
    "old, new, prompt",
    [
        ("The database is Postgres 14.", "We moved the database from Postgres 14 to Postgres 16.", ""),
        (TIMEOUT, "I raised the request timeout from 30 seconds to 60 seconds.", "30 seconds is too short"),
        ("Releases are signed by Anna.", "Anna left; releases are signed by Ben now.", ""),
        (
            "The worker listens on port 8080.",
            "The worker no longer listens on port 8080, it listens on port 9090 now.",
            "",
        ),
    ],
)
def test_another_value_of_the_same_replaces_the_older(old: str, new: str, prompt: str) -> None:
    assert replaced(old, new, prompt)


@each(
    "old, new",
    [
        ("The staging database is Postgres 14.", "The production database is Postgres 16 now."),
        ("Anna owns the parser.", "Ben owns the lexer."),
        ("Tenant Alpha has 5 seats.", "Tenant Beta has 9 seats."),
        ("The upload limit is 10 MB.", "The download limit is 20 MB now."),
        ("The API server listens on port 8080.", "The admin server listens on port 8081."),
        ("The cache is used by the parser.", "The cache is not used by the parser."),
        ("Invoice 4711 was paid.", "Invoice 4712 was paid."),
        ("Android needs version 8 at least.", "iOS needs version 16 at least now."),
    ],
)
def test_near_duplicates_that_differ_in_a_name_a_number_or_a_not_are_two_facts(old: str, new: str) -> None:
    assert not replaced(old, new)


@each(
    "new",
    [
        "Should we raise the request timeout from 30 seconds to 60 seconds?",
        "We could raise the request timeout to 60 seconds.",
        "Perhaps the request timeout should be 60 seconds instead.",
        "The request timeout was 10 seconds until March.",
        "The request timeout is 30 seconds.",
        "I tried 60 seconds for the request timeout and put it back to 30 seconds.",
    ],
)
def test_questions_proposals_history_and_repetition_replace_nothing(new: str) -> None:
    assert not replaced(TIMEOUT, new)


def test_a_value_that_was_put_back_replaces_the_one_between() -> None:
    again = "I put the request timeout back to 30 seconds, 60 seconds is too long."
    assert replaced("The request timeout is 60 seconds now.", again)
    assert not replaced(TIMEOUT, again)


def test_an_edit_that_goes_on_from_the_older_one_replaces_it() -> None:
    first, second = Edit("db.py", "pool = 5", "pool = 10"), Edit("db.py", "pool = 10", "pool = 20")
    old, new = "I set the pool to ten connections.", "The pool has twenty connections now."
    assert replaced(old, new, edits=(second,), before=(first,))


def test_an_edit_of_another_key_replaces_nothing() -> None:
    edit = Edit("settings.py", "RETRY_LIMIT = 30", "RETRY_LIMIT = 60")
    assert not replaced("CONNECT_LIMIT is 30.", "RETRY_LIMIT is 60 now.", edits=(edit,))


def test_a_command_that_an_edit_replaced_word_by_word_is_replaced() -> None:
    edit = Edit("docs/releasing.md", "make ship ENV=prod", "shipctl rollout --env prod")
    old, new = "Release with `make ship ENV=prod` from main.", "`shipctl rollout --env prod` does what the target did."
    assert replaced(old, new, "The Makefile is gone, how do we release?", (edit,))


def test_of_several_values_in_one_statement_none_is_hidden_but_all_are_marked() -> None:
    edit = Edit("conf.h", "#define KEEPALIVE_S 60", "#define KEEPALIVE_S 540")
    old = Claim("Production listens on port 8883, and the keepalive is 60 s.")
    assert verdict(old, Claim("KEEPALIVE_S is 540 now.", "the nodes drop off", (edit,)), None) == "newer"


@each(
    "new",
    [
        "Trained on the new snapshot: the accuracy is 0.847, up from 0.812.",
        "The accuracy went from 0.812 to 0.847 on the new snapshot.",
        "We quote 0.847 instead of 0.812 for the accuracy.",
    ],
)
def test_a_value_that_is_said_to_be_past_is_at_least_marked(new: str) -> None:
    assert verdict(Claim("The accuracy is 0.812 on the January snapshot."), Claim(new), None) != "apart"


def test_a_symbol_in_another_clause_is_not_taken_for_gone() -> None:
    old = "`attach_work` and the feeder share the queue, and `lte_connect()` blocks it."
    assert (
        verdict(Claim(old), Claim("One call had been dropped upstream, `lte_connect()` does its work."), None)
        == "apart"
    )


@each("model", ["with meaning", "words alone"])
def test_the_table_weighs_the_signs_that_there_are(model: str) -> None:
    table = json.loads((resources.files("holdfast.learn.statements") / "changes.json").read_text(encoding="utf-8"))
    near = {"near", "near with prompt", "near without values"} if model == "words alone" else set[str]()
    assert set(table["models"][model]["signs"]) == set(signs(Claim("a"), Claim("b"), Similarity())) - near


OWNER, NEW_OWNER = (
    "Unclear invoices go to Ines Carvalho of the back office.",
    "Noted, Paolo Ricci is the one for invoices.",
)


def test_another_name_for_the_same_is_told_first_though_nothing_says_that_the_old_one_is_gone() -> None:
    near = Similarity(0.6, 0.55, 0.7)
    assert verdict(Claim(OWNER), Claim(NEW_OWNER, "Paolo takes the invoices."), near) in ("related", "newer")


def test_what_only_may_be_the_same_is_never_replaced() -> None:
    assert verdict(Claim(OWNER), Claim(NEW_OWNER), Similarity(1.0, 1.0, 1.0)) != "replaced"


def test_two_facts_that_are_far_apart_in_meaning_stay_apart() -> None:
    far = Similarity(0.05, 0.05, 0.05)
    assert verdict(Claim(OWNER), Claim("The nightly build takes 14 minutes on the small runner."), far) == "apart"


@each(
    "old, new, differs",
    [
        ("Betas go out on Thursdays.", "A beta each Monday.", True),
        ("The limit is 20 MB.", "The limit is 20 MB, as before.", False),
        ("Ask Ines.", "Ask Paolo.", False),  # a name is no number
    ],
)
def test_another_day_or_number_is_noticed(old: str, new: str, differs: bool) -> None:
    assert gives_another_number(old, new) is differs
