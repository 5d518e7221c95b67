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
    explanations=(
        "A word on how I went about it: I started at the place where the {a} is created, followed it through the {b} and stopped where the {c} takes over. The path is short, and the names along the way are consistent with each other, so there was little to guess.",
        "The structure around it looks like this:\n\n```\n{a}\n ├─ {b}\n └─ {c}\n```\n\nOnly the first level matters for what you asked; the rest is there because the {c} needs a place to live.",
        "I did consider touching the {b} as well while I was there. It would have made the diff larger without changing what happens, so I kept my hands off it. If you ever want to tidy that corner, doing it on its own is easier to review.",
        "**What I looked at**\n\n- how the {a} gets its input\n- who calls the {b}, and how often\n- the two places where a {c} may be missing\n\nAll of them behave the way their names promise.",
        "On the way I noticed that a few comments near the {a} are older than the code below them. They are not wrong enough to mislead anyone, they merely describe an order of steps that has been swapped since. I left them as they are.",
        "If you want to try it yourself: open the {a}, scroll to where the {b} begins, and follow the calls from there. It reads well from top to bottom, and the {c} can be ignored on a first pass.",
        "For the record, nothing here depends on timing or on the order in which the {c} arrives. I ran it a couple of times in a row to be sure and got the same output each time, down to the spacing.",
        "I read the {b} twice, because its second half repeats the first with the roles of {a} and {c} exchanged. Once you see that, it is half as long as it looks.",
        "There is a helper for this in the {c} folder. It does nearly the same thing with one more parameter, and it is private to its file, so I did not reach for it.",
        "A small remark on naming: `{a}` and `{b}` are used as nouns in some places and as verbs in others. The code does not mind, a reader might.",
        "> The output above is shortened. The full one is long and says the same thing about each {a}, one after the other.",
        "Nothing in the {c} listens to this, so there is nothing to restart and nothing to warm up.",
        "What you see is the whole of it:\n\n* one place reads the {a}\n* one place writes the {b}\n* both know the {c} by name only",
        "If this looks like a lot of text for a small thing: most of it is the {b} explaining itself. The part that does the work is four lines in the middle.",
        "The tests around the {c} are quick, well under a second for the lot, and they are easy to run on their own if you are curious.",
        "I would call this corner of the code pleasant. The {a} is flat, the {b} has one level, and the {c} says in its first line what it is there for.",
        "You may wonder about the order of the arguments. It follows the {a}, which puts the general thing first; the {b} does the same, so at least they agree with each other.",
    ),
)  # fmt: skip
