"""Chores and phrases for those who bring none."""

from __future__ import annotations

from agent_day.filler import Chore, Routine

ROUTINE = Routine(
    chores=(
        Chore("open {a}", "file", "There it is. The first half declares the {b}, the second half uses it; I see nothing odd."),
        Chore("grep {c}", "search", "A handful of places, all in the {a} part. Nothing unexpected among them."),
        Chore("status?", "nothing", "Nothing is running. The last thing I touched was the {b}, and it is saved."),
        Chore("what does the {c} thing return when it is empty", "file", "An empty list, and the caller then skips the {a} step altogether."),
        Chore("run all of it again", "log", "Ran through without complaints, the same lines as before."),
        Chore("shorten that function in {a} a bit", "diff", "It lost nine lines. Two early returns replace the nested branches; behaviour is unchanged."),
        Chore("and the tests for {b}?", "log", "Green, all of them. The slowest one is the {c} round trip."),
        Chore("where do we call {a}{B}", "search", "In two places: once when a {b} is made, once when it is thrown away."),
        Chore("bitte einmal aufräumen in {b}", "diff", "Aufgeräumt: zwei tote Zeilen und ein doppelter Import sind weg, sonst ist alles gleich."),
        Chore("commit this please", "log", "Committed with a one-line message about the {a}."),
        Chore("explain the {b} loop like I am tired", "file", "It takes one {a} after the other, looks whether a {c} hangs on it, and if so puts it on the pile. That is all."),
        Chore("is {c} spelled the same everywhere", "search", "Yes apart from one comment, which I brought in line."),
        Chore("make that a table", "nothing", "| part | where |\n|---|---|\n| {a} | top |\n| {b} | middle |\n| {c} | end |"),
        Chore("thanks. next", "nothing", "Next in the list would be the {c}. Shall I begin?"),
        Chore("add type hints to {a}", "diff", "Added. Two of them had to be optional because the {b} may be missing."),
        Chore("hm, what did you just change in {b}?", "diff", "Only the order of two statements, so that the {c} is known before it is used."),
        Chore("remove the debug prints", "diff", "Five prints are gone. I left the one behind the verbose switch."),
    ),
    narration=(
        "Looking at {a} now.", "First a look at what {b} does today.", "I will check {c} before I say anything.",
        "Running it once to see.", "Give me a second with the {a} side.",
    ),
    openings=(
        "Right. ",
        "I read all of {a} once. ",
        "Short version first. ",
        "### Summary\n\n",
        "So: ",
    ),
    closings=(
        "\n\nThe {b} is as it was.",
        "\n\nShout if you want the {c} treated the same way.",
        "\n\nNext step could be the {a}; no hurry there.",
        "\n\n*Changed:* {a}. *Looked at only:* {b}, {c}.",
    ),
    explanations=(
        "How I got there: from the {a} outwards, one caller at a time, until the {b} no longer mattered.",
        "There is a second road through the {c}. It is longer and ends in the same place, so I did not take it.",
        "The names in this corner are a matter of taste. A {a} and a {b} share a folder and nothing else.",
        "None of this touches what is stored. It is about what happens between {a} and {b}, and about nothing behind it.",
        "For orientation:\n\n- {a}: input\n- {b}: the work\n- {c}: output\n\nThe three know each other only by their types.",
        "If it looks odd in the review: the {c} is sorted, so the diff shows more lines than were touched.",
        "I tried it with an empty {a} as well, and with one that holds a single {b}. Both went through.",
        "The comment above the {b} is older than the code, and a little optimistic. I did not touch it.",
        "One could argue about the name of the {c}. I kept it, for the sake of a small diff.",
        "Reading order that worked for me: {c}, then {a}, and the {b} last.",
        "All of that happens before the {a} is handed over, so nobody outside sees the difference.",
        "This is the kind of code that looks worse than it is. The {b} does one thing and does it twice.",
    ),
)  # fmt: skip
