"""A session that has statements is told by them: whole sentences, each once."""

from __future__ import annotations

from session_of_steps import answered, asked, edited

from holdfast.core.model import Statement
from holdfast.learn.sessions.session_summary import crystallize, summarize_session

STEPS = [
    asked(1, "Make the export fast again. It takes a minute since Monday.\n\nDetails are in the ticket."),
    edited(2, "/home/ana/shop/src/export.py"),
    edited(3, "/home/ana/shop/src/export.py"),
    edited(4, "/etc/hosts"),
    answered(5, "Done."),
]


def said(number: int, kind: str, text: str, worth: float = 0.8) -> Statement:
    return Statement("default", f"stm_{number}", number, f"obs_{number}", "s1", "proj", None, kind, text, worth, number)


STATEMENTS = [
    said(1, "finding", "The query read every row twice."),
    said(2, "decision", "Rows are read in batches of 500."),
    said(3, "rejected", "A cache would hide the problem"),
    said(4, "preference", "Please keep the exporter free of threads."),
    said(5, "change", "The exporter now streams."),
    said(6, "open", "The nightly job still uses the old path."),
]


def test_the_parts_are_told_in_order_with_the_request_first_and_the_files_last() -> None:
    digest = summarize_session(STEPS, STATEMENTS, ["/home/ana/shop"])
    assert digest.title == "Make the export fast again. It takes a minute since Monday. Details are in the…"
    assert digest.narrative == (
        "Wanted: Make the export fast again. It takes a minute since Monday. Details are in the ticket. "
        "Found: The query read every row twice. Decided: Rows are read in batches of 500. "
        "Rejected: A cache would hide the problem. "
        "The user prefers: Please keep the exporter free of threads. Changed: The exporter now streams. "
        "Left open: The nightly job still uses the old path. Files changed: src/export.py, /etc/hosts."
    )


def test_decisions_are_what_was_decided_rejected_or_wished() -> None:
    digest = summarize_session(STEPS, STATEMENTS)
    assert digest.decisions == (STATEMENTS[1].text, STATEMENTS[2].text, STATEMENTS[3].text)


def test_what_was_said_twice_or_wanted_is_told_once() -> None:
    again = [said(7, "finding", "the query read every row twice"), said(8, "fact", "It takes a minute since Monday.")]
    digest = summarize_session(STEPS, [*STATEMENTS, *again])
    assert digest.narrative.lower().count("every row twice") == 1
    assert digest.narrative.count("a minute since Monday") == 1


def test_a_narrative_that_is_full_holds_whole_sentences_and_one_of_each_part() -> None:
    many = [said(10 + n, "finding", f"Finding number {n} says {'much ' * 20}about it.", 0.9) for n in range(30)]
    digest = summarize_session(STEPS, [*many, *STATEMENTS])
    assert len(digest.narrative) <= 1_200
    assert all(one.text in digest.narrative for one in STATEMENTS[1:])
    told = [one.text for one in many if f"number {one.seq - 10} " in digest.narrative]
    assert told
    assert all(text in digest.narrative for text in told)


def test_a_session_whose_statements_were_all_replaced_tells_none_of_its_steps_as_current() -> None:
    assert summarize_session([asked(1, "Which one?"), answered(2, "We decided to use Redis.")], []).narrative == (
        "Wanted: Which one?"
    )


def test_files_in_the_project_are_named_from_its_folder_and_others_whole() -> None:
    files = summarize_session(STEPS, None, ["/home/ana/shop/"]).files
    assert files == ("src/export.py", "/etc/hosts")


def test_a_crystal_repeats_no_sentence_of_its_story() -> None:
    crystal = crystallize(STEPS, summarize_session(STEPS, STATEMENTS))
    assert all(crystal.content.count(one.text) == 1 for one in STATEMENTS)
