"""Chores and phrases of the dev half."""

from __future__ import annotations

from agent_day.filler import Chore, Routine

ROUTINE = Routine(
    chores=(
        Chore("what's {a}{B} for again?", "file", "`{a}{B}` collects what the {b} step left behind and passes it on to the {c}. The loop in the middle only skips empty entries. It has no state of its own, so calling it a second time changes nothing."),
        Chore("pls rename {a}_tmp to {a}_scratch", "search", "Done. Six places in three files, plus one mention in a comment. No other names collide."),
        Chore("fix the typo in the header of the {b} file", "file", "Corrected the spelling in the header comment. That line was the only change."),
        Chore("lint", "log", "Lint passes. There is one notice about an unused import in the {c} fixtures; I removed it."),
        Chore("run the formatter over {a}", "diff", "Formatted. The diff is white space and two wrapped argument lists, nothing else moved."),
        Chore("push it", "log", "Pushed to the branch. The remote accepted it without complaints."),
        Chore("can you walk me through {a} → {b} once, I forgot how that works", "file", "Sure.\n\n1. The {a} side hands over a plain list.\n2. The {b} side walks it once and groups by key.\n3. Whatever is left over lands in the {c} and is looked at on the next pass.\n\nThe names are a little unfortunate, but the flow itself is short. Reading it from the bottom up is easiest."),
        Chore("is there a test for {b}?", "search", "Yes, two: one for the empty case and one for the usual one. Both are small and live next to the other {b} tests."),
        Chore("show the diff pls", "diff", "Above. In short: the guard moved up a few lines, and a local variable got a clearer name."),
        Chore("Could you write the commit message?", "nothing", "How about:\n\n```\n{a}: tidy the {b} path\n\nNo change of behaviour.\n```"),
        Chore("why is there a blank {c} in the output?", "log", "It is the separator that the printer puts between groups; the {b} reader skips it. Cosmetic only."),
        Chore("sort the imports in {a}", "diff", "Sorted. The order is standard library, third party, ours; no import was added or lost."),
        Chore("which files did we touch so far?", "diff", "Three: the {a} source, its test, and the {c} fixture. Everything else in the diff is generated."),
        Chore("undo the last edit, I'd like to look at it myself first", "nothing", "Reverted; the working tree is as it was before that edit."),
        Chore("hm ok. go on", "nothing", "Going on with the {a} part, then. Tell me when you want to look at it together."),
        Chore("add a comment above the {c} block that says what it does", "file", "Added a two-line comment above the block. It describes the loop and leaves the details to the code."),
        Chore("is that the same thing as {a}{B}?", "search", "Nearly: one takes a list, the other a single entry and wraps it. They share the same inner function."),
    ),
    narration=(
        "Let me open the {a} code first.", "I'll look at where {a} and {b} touch each other.", "Checking the current state before I change anything.",
        "One moment, I want to see what the {c} does at the moment.", "Let me run it once as it is.",
    ),
    openings=(
        "I read through the {a} and {b} parts and tried it once by hand. ",
        "## Result\n\n",
        "Okay, done. ",
        "Took a little digging through {a} and {c}, here is where I ended up.\n\n",
    ),
    closings=(
        "\n\nEverything else in {a} stays as it is.",
        "\n\n**Touched:**\n- the {a} file\n- one test next to {b}\n\nSay the word if you want the {c} side cleaned up as well.",
        "\n\nI left the {c} alone, since nothing there depends on it. Want me to go on?",
        "\n\n| part | state |\n|---|---|\n| {a} | changed |\n| {b} | same |\n| {c} | same |\n",
    ),
)  # fmt: skip
