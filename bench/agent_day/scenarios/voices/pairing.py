"""A long-winded pair programmer who thinks aloud, in Rust; answers as long as the prompts, through Claude Code."""

from __future__ import annotations

from agent_day.gold import fact, question, value
from agent_day.noise import log, source, tests
from agent_day.script import Edit, Read, Run, Scenario, session, turn

W = "parser token span node arena visitor scope binding trivia cursor"

SCENARIO = Scenario(
    name="pairing", client="claude", place="oss/quillfmt", words=W, ending="rs",
    remote="https://git.example.org/quill/quillfmt.git",
    sessions=(
        session(
            turn("So I have been staring at this since breakfast and I think I am going slightly mad. If I format a file, fine. If I format the result again I would expect to get the same bytes, that is the whole point of a formatter, right? But every second run, and I mean literally every second run, the comment after a match arm hops to the next line, and on the third run it hops back. Can we walk through it together, slowly, because I would like to understand it rather than have it go away?",
                 Read("src/trivia.rs", source("src/trivia.rs", 140, W)),
                 Run("cargo test idempotent", tests(80, W, "test trivia::match_arm ... FAILED"), failed=True),
                 "Let us walk. A trailing comment is attached to whichever token ends nearest before it. On the first pass that token is the comma of the arm, on the second pass the printer has dropped that comma (it is optional after a block), so the comment is attached to the closing brace, and braces print their trivia after a newline. With the newline in place the comma comes back, and round it goes. Two owners for one comment, in short, and the optional comma decides which."),
            turn("Oh that is lovely, in a horrible way. So what you are saying is that we ought to decide ownership before the optional comma is decided, not after. I would go with attaching comments to nodes instead of tokens then, what do you think, or is that too much surgery for a Tuesday?",
                 Edit("src/trivia.rs", "attach_to_token(comment)", "attach_to_node(comment)"),
                 Run("cargo test", tests(412, W, "test result: ok. 412 passed")),
                 "It was less surgery than feared: nodes own comments now, forty lines changed, and the corpus of 1,900 files is stable from the first pass on."),
            turn("While we have the corpus loaded, remind me how wide we wrap at the moment? Somebody on the tracker was grumbling and I could not answer off the top of my head, which is embarrassing for the author of the thing.",
                 Read("src/config.rs", source("src/config.rs", 50, W)),
                 "Code wraps at 96 columns, comments at 80, and doc strings are never wrapped at all. The grumbling is probably about the first, since the official style guide says 100."),
            turn("Right. And for heaven's sake, before I forget: could we agree that no panics are allowed in library code, I mean unwrap, expect, indexing that may fail, all of that. Return an error, always. I had an editor plugin crash on a user last night and I felt terrible about it.",
                 "Agreed. There were eleven unwraps outside the tests; each returns an `Err` now, and clippy's `unwrap_used` is denied in `lib.rs` so that it stays that way."),
            turn("Somebody asked who is to be told about security problems, since I am never reading that mailbox. It was Dagny, was it not?",
                 "Yes: SECURITY.md names Dagny Holm, at security@quill.example, with an answer within five days. Release signing on the other hand is yours alone."),
        ),
        session(
            turn("Morning! I slept on it and I had this idea which I would like you to tear apart: what if we threw the hand-written parser away and took tree-sitter. Incremental, error tolerant, grammar maintained by others. I am half in love with it, so please be honest and do not spare my feelings.",
                 Read("grammar.js", source("grammar.js", 80, W)),
                 "Honestly then. Its tree has no place for blank lines and drops the difference between `\\r\\n` and `\\n`, both of which a formatter must give back. We would keep our lexer beside it only to find those again. On the corpus it was also slower, 2.1 times, because the whole tree is copied into our arena afterwards. The error tolerance is the one thing I would envy."),
            turn("Hmm. Hmm hmm. No, you are right, losing the blank lines kills it. Let us stay with ours and steal the idea of error nodes at some point. It hurts a little but fine.",
                 "Noted in `docs/ideas.md`: error nodes, borrowed. The parser remains hand-written."),
            turn("There is a report that says we take eleven seconds on one single file of a user, a generated one with a list of thirty thousand entries. Everything else is instant. My bet would be on the width calculation but I lost such bets before.",
                 Run("perf record quillfmt big.ql", log(60, W, "71.2% fits_on_line")),
                 Run("cargo bench list", log(20, W, "list_30k 11.2 s")),
                 "You win this one. `fits_on_line` measures the rest of the list for every entry, so the thirty thousandth entry is measured thirty thousand times. It may stop as soon as the line is full, which is after ninety-odd characters. With that the file takes 140 milliseconds."),
            turn("Ha! I shall frame that. Please make it so, and add the file to the benchmarks so nobody, meaning me, breaks it again.",
                 Edit("src/layout.rs", "measure(rest)", "measure_until(rest, width)"),
                 "Made so; `benches/list_30k.ql` guards it with a bound of half a second."),
            turn("What is the oldest compiler we promise to build with? A packager from a distribution wants to know and they are always in a hurry.",
                 Read("Cargo.toml", source("Cargo.toml", 30, W, 'rust-version = "1.70"')),
                 "Rust 1.70 according to Cargo.toml, and CI builds with exactly that. The WASM playground is separate and needs nightly."),
        ),
        session(
            turn("I gave in. The tracker has forty-one thumbs under it and I no longer want to argue: let us do what the style guide says for code. Please leave prose in comments alone, eighty reads well, I will die on that hill.",
                 Edit("src/config.rs", "code_width: 96", "code_width: 100"),
                 Run("cargo test snapshots", tests(300, W, "test result: ok. 300 passed")),
                 "Done, a hundred for code, and the snapshots are renewed. Prose stays where it was."),
            turn("Also I had a long call with Dagny, who is starting a PhD and wants out of the on-duty things, bless her. Ruben Castellanos said yes before I had finished asking. Could you make sure reports reach him?",
                 Edit("SECURITY.md", "Dagny Holm", "Ruben Castellanos"),
                 "They do from now on; the address is the same, the name and the key fingerprint in SECURITY.md are his."),
            turn("One more chore of that kind. The packager is happy, but we are not: let-else would save us two hundred lines and I want it. How far up do we have to go, and would it hurt anybody we know of?",
                 Run("cargo msrv find", log(30, W, "1.65 ok; if-let chains 1.88")),
                 Edit("Cargo.toml", 'rust-version = "1.70"', 'rust-version = "1.76"'),
                 "let-else itself was there already; what you really use in the branch is `inspect_err`, which asks for 1.76. Debian stable carries a newer one, so nobody is hurt. Cargo.toml and CI say 1.76."),
            turn("What do we still owe people? I like to end a week with a list, even when the list is longer than the week.",
                 "Two debts. Range formatting still ignores the selection when it begins inside a string. And the Windows build of the plugin is unsigned, for which we need the certificate that the foundation ordered; nothing we can do until it comes."),
        ),
    ),
    facts=(
        fact("two-owners", "rootcause", "A comment after a match arm had two possible owners; the optional comma decided which, so it hopped every run.", (r"optional comma|closing brace", r"comments?|attached")),
        fact("code-width", "changed", "Code wraps at 100 columns.", (r"hundred for code|wraps at 100|code_width: 100|style guide says for code",), was=((r"wraps at 96|code_width: 96",),)),
        fact("no-panics", "preference", "No panics in library code; return an error.", (r"no panics",), (r"unwrap", r"returns an `Err`|denied")),
        fact("security-contact", "changed", "Ruben Castellanos gets security reports.", (r"ruben castellanos",), was=((r"names dagny holm|dagny holm, at",),)),
        fact("no-tree-sitter", "rejected", "tree-sitter was rejected; the parser stays hand-written.", (r"parser remains hand-written|stay with ours",), (r"tree-sitter", r"blank lines|rejected")),
        fact("quadratic", "rootcause", "fits_on_line measured the rest of the list for every entry.", (r"fits_on_line", r"measure"), (r"rest of the list", r"entry")),
        fact("msrv", "changed", "The oldest compiler is Rust 1.76.", (r"1\.76",), was=((r"rust 1\.70|rust-version = .1\.70",),)),
        fact("range", "open", "Open: range formatting ignores a selection that begins inside a string.", (r"range formatting",)),
        fact("signing", "open", "Open: the Windows plugin is unsigned until the certificate comes.", (r"unsigned", r"certificate")),
    ),
    questions=(
        question("What made remarks jump back and forth between lines each time the tool ran?", "Two owners of a comment; the optional comma decided.", (r"optional comma|two owners", r"comment|trivia"), kind="rootcause"),
        question("How long may a line get these days?", "100 columns for code.", (r"hundred for code|100 columns|style guide says for code",), was=((r"wraps at 96",),)),
        question("Who should hear about a vulnerability?", "Ruben Castellanos.", (r"ruben",), was=((r"names dagny holm",),)),
        question("Which toolchain is the minimum for distributions?", "Rust 1.76.", (r"1\.76",), was=((r"rust 1\.70",),)),
        question("Did we swap our grammar code for that incremental library?", "No, the parser remains hand-written.", (r"parser remains hand-written|stay with ours",), (r"blank lines", r"tree|lexer"), kind="rejected"),
        question("Why did one generated file take forever?", "Each entry measured the rest of the list.", (r"fits_on_line|rest of the list", r"entry|measure"), kind="rootcause"),
        question("What must library functions do when something goes wrong?", "Return an error, no panics.", (r"no panics",), (r"returns an `Err`",), kind="preference"),
        question("What keeps the plugin for Microsoft's system from being trusted?", "It is unsigned until the certificate comes.", (r"unsigned", r"certificate"), kind="open"),
        question("What bound protects the long list from getting slow again?", "half a second, benches/list_30k.ql.", (r"half a second",), (r"list_30k", r"guard|bound")),
        question("Where do line breaks go in prose above functions?", "Wrap comments at 80.", (r"comments at 80|prose in comments|eighty reads well",), (r"doc strings", r"never wrapped")),
    ),
    stands=(
        value("comments", (r"comments at 80|eighty reads well",)),
        value("playground", (r"playground", r"nightly")),
    ),
)  # fmt: skip
