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
    explanations=(
        "Some background, in case it helps: the {a} is one of the older parts, and the {b} was put beside it later. That is why the two do not share a style. They do share their tests, which is what made this quick to check.",
        "Step by step:\n\n1. opened the {a}\n2. looked for every mention of the {b}\n3. compared with the {c}\n4. wrote down what you see above\n\nThere were no surprises at any of these.",
        "I kept the public side of the {c} exactly as it is. Callers see the same names, the same order of arguments and the same results; a reader of the diff has nothing to look up elsewhere.",
        "One could argue about the name of the {b}. It is not a bad name, it merely promises a little more than the code does. Renaming is cheap, but it would touch many files for the sake of taste.",
        "> Note: the editor shows a squiggle below the {a} until its index has been rebuilt. That has nothing to do with the code.\n\nReopening the file is enough to make it go away.",
        "The {c} has its own little world of helpers. I read them all, most are three lines long, and none of them reaches outside. That is nice, because it means one can reason about the {a} without having them in mind.",
        "As far as I can tell the {b} and the {c} will not get in each other's way here. I tried a few odd inputs by hand, an empty one, a very long one, one with strange characters, and all of them came out as one would expect.",
        "The file is longer than it needs to be, mostly because each {a} gets its own little block. That makes it easy to find things with a search and tiresome to read in one go.",
        "Two readers of the {b} exist. Both treat an empty one as nothing at all, which is what the comment above them says as well.",
        "Worth a smile: the example in the {c} header uses the names of the seven dwarfs. It runs, I tried it.",
        "I was careful with the {a}, since it is written by hand and the spacing carries meaning there. The diff shows no line that only moved.",
        "| seen | remark |\n|---|---|\n| {a} | as described |\n| {b} | as described |\n| {c} | not part of it |",
        "You can fold the {c} away in your editor while reading, it is only there for the command line.",
        "My editor suggested three more simplifications in the {b}. They are matters of taste, I did not apply any.",
        "Reading order, if you like to follow along: {a} first, then {b}, and the {c} last. Ten minutes in all.",
        "The wording of the messages is the same in the {a} and in the {b}, down to the comma. Somebody took care there.",
        "Should you look for the place again: it is right below the long comment about the {c}, you cannot miss it.",
    ),
)  # fmt: skip
