"""Chores and phrases of the held-out half."""

from __future__ import annotations

from agent_day.filler import Chore, Routine

ROUTINE = Routine(
    chores=(
        Chore("What does the {a} wrapper around {b} do?", "file", "It hides the two ways in which a {b} can arrive, as one item or as a batch, and gives the rest of the code a single form. Apart from that it is a pass-through."),
        Chore("move {a} helpers to their own file", "diff", "Moved; five functions, no edits to their bodies. The old file imports them so that callers need not change."),
        Chore("spelling in the {c} docs", "file", "Two words corrected. I also removed a doubled space."),
        Chore("Run checks please.", "log", "All green here. It took a bit under two minutes, most of it the {b} part."),
        Chore("is {c} still needed?", "search", "It has three callers, so yes. One of them looks like it could do without, but that is a separate cleanup."),
        Chore("commit and push", "log", "Committed and pushed, the branch is up to date with its remote."),
        Chore("show me {a} please", "file", "There it is. The part you probably look for is in the lower half, where the {b} gets built."),
        Chore("make that function shorter", "diff", "Split in two: one half prepares the {a}, the other walks over it. Behaviour is the same and the tests agree."),
        Chore("what was that flag called, the one for verbose {a}?", "search", "`--verbose-{a}`. The short form is `-v`, and giving it twice prints the {b} too."),
        Chore("does this compile without warnings?", "log", "It does. The one message in there is a note of the {c} generator and appears on every run."),
        Chore("revert the whitespace changes", "diff", "Reverted, the diff shows only real changes again."),
        Chore("can you make the error text friendlier?", "file", "It reads \"Could not find that {a}, please check its name\" at the moment. Shorter is hard without losing the hint."),
        Chore("and the same for {b}", "diff", "Same treatment for {b}. The two look alike at last."),
        Chore("ok", "nothing", "Good. I am ready for the next step whenever you are."),
        Chore("extract a constant for that string", "diff", "Extracted, it stands at the top of the file next to the other {a} names."),
        Chore("how many lines is {a} by now?", "log", "A little over four hundred, tests not counted. The largest function has thirty-one."),
        Chore("summarize the diff in two lines", "diff", "First: the {a} code asks for the {b} only once.\nSecond: a leftover print is gone."),
    ),
    narration=(
        "I'll have a look around first.", "Reading the {a} part.", "Before I answer, a quick look at {b} and its neighbours.",
        "Let me see what happens when I try that.", "I'll check how {c} is used today.",
    ),
    openings=(
        "That took less time than I thought. ",
        "### Summary\n\n",
        "I compared the {a} and the {c} with each other, line by line. ",
        "Right.\n\n",
    ),
    closings=(
        "\n\nNo other place refers to it.",
        "\n\n---\nChecked: {a}, {b}. Not checked: {c}, since nothing in it moved.",
        "\n\n1. {a}: adapted\n2. {b}: unchanged\n3. {c}: unchanged\n\nTell me if I should continue with something else.",
        "\n\nIf you prefer it differently, it is a small thing to turn around.",
    ),
)  # fmt: skip
