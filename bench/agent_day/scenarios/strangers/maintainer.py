"""An open-source monorepo, through Claude Code. The user answers issues and reviews; drafts quote what other people would like."""

from __future__ import annotations

from agent_day.filler import Chore, Routine
from agent_day.gold import fact, question, value
from agent_day.noise import diff, log, matches, source, tests
from agent_day.script import Compact, Delegate, Edit, Read, Run, Scenario, Search, Write, session, turn

W = "plugin loader parser watcher bundle preset token emitter fixture workspace"

TRIAGE = session(
    turn(
        "ok, Saturday, coffee, 61 unread. Start with #1423, the macOS one, people are getting loud in there",
        Run(
            "gh issue view 1423 --comments",
            log(
                90,
                W,
                "@pellworm: watch stops noticing my file after the first save, VS Code is fine, Vim is not\n@dosch: +1, I think it's fsevents, please move to chokidar\n@qil: happens with JetBrains too, 'safe write' off fixes it",
            ),
        ),
        Read(
            "packages/cli/src/watch.ts",
            source("packages/cli/src/watch.ts", 110, W, "  for (const file of entries) fs.watch(file, onChange);"),
        ),
        Run("node scripts/save-like.mjs --vim --times 5", "events: 1 of 5"),
        Edit(
            "packages/cli/src/watch.ts",
            "for (const file of entries) fs.watch(file, onChange);",
            "for (const dir of dirsOf(entries)) fs.watch(dir, filtered(onChange));",
        ),
        "@dosch suspects fsevents and would like chokidar; I could not confirm that, fsevents reports what it is asked about. @qil's remark was the useful one. Vim and JetBrains write a new file beside the old one and rename it over, so our watch keeps looking at an inode that nobody writes to any longer. "
        "It observes the folders now. Five saves, five events.\n\nDraft:\n\n> Thanks all! Fixed in the next patch. It was how some editors save, not your Mac.",
    ),
    turn(
        "Nice, post it. #1388 next, the decorators PR. It's 2,100 lines and they clearly put their heart in it. What do you think of it, technically?",
        Run("gh pr diff 1388 | wc -l", "2114"),
        Run("gh pr checkout 1388 && pnpm -r test", tests(300, W, "Tests 300 passed")),
        "Clean work, and it has tests. Three observations: users without a compile step could not write plugins any longer, the proposal has changed its shape twice in three years, and `definePlugin` with a plain object does the same in one line more. @marisol argues in the thread that decorators read better, which is true for classes.",
    ),
    turn(
        "Yeah. I want plugins to work from a bare script tag, that's half of why people use us. Write them something kind, say no, and offer that they do the docs on definePlugin if they feel like it.",
        Run("gh pr comment 1388 --body-file out/1388.md", "commented"),
        Run("gh pr close 1388", "closed"),
        "> Thank you for this, and for the tests in particular. Plugins have to run from a bare script tag, so I can't take it. If you'd like to show `definePlugin` in the docs, I'd merge that gladly.\n\nPosted, and the pull request is closed.",
    ),
    turn(
        "One thing about closing, since the bot did something ugly again: an issue isn't closed for silence unless the reporter was asked once and had 14 days. PRs I close by hand. Take the bot's config down to that.",
        Edit(".github/stale.yml", "daysUntilClose: 3", "daysUntilClose: 14"),
        Edit(".github/stale.yml", "markComment: false", "markComment: true"),
        "The bot asks once and waits for two weeks; it leaves pull requests alone.",
    ),
    turn(
        "what's our engines field across packages, I keep telling people different things",
        Run(
            "jq -r '.name+\" \"+.engines.node' packages/*/package.json",
            "@brindle/core >=18\n@brindle/parse >=18\n@brindle/cli >=18\n@brindle/vite >=18",
        ),
        "They all say the same: `@brindle/cli` needs Node 18 or newer.\n\nThe same goes for core, parse and the Vite plugin.",
    ),
    turn(
        "and who's on Windows stuff?",
        Run("cat .github/CODEOWNERS", "/packages/vite/ @tamsin\n# windows: @halvard\n"),
        "Windows reports go to @halvard. The Vite plugin is @tamsin's.",
    ),
)

BUDGETS = session(
    turn(
        "CI is red on windows-latest for everybody since Thursday, 44 snapshot tests. Nothing was merged on Thursday?!",
        Run(
            "gh run view --log-failed",
            log(150, W, '44 snapshots failed\n- Expected  "a\\\\n"\n+ Received  "a\\\\r\\\\n"'),
        ),
        Run("git log --since=wednesday --oneline", ""),
        Read(".gitattributes", "*.ts text eol=lf\n*.md text eol=lf\n"),
        Edit(".gitattributes", "*.md text eol=lf", "*.md text eol=lf\n*.snap text eol=lf"),
        "Right, nothing was merged. The runner image is from Thursday and its git converts line ends at checkout by default. Sources are pinned in `.gitattributes`, `.snap` files were not, so those arrive with CRLF and each of the 44 differs in every line. A third line pins them. Tests that write files themselves were fine throughout.",
    ),
    turn(
        "Ha. ok. size-limit complains on the signals PR: core is 12.9. Is there fat?",
        Run("pnpm size-limit", "core 12.9 kB (limit 12 kB)\nparse 8.1 kB (limit 9 kB)"),
        Delegate(
            "Find fat in core",
            "List what in @brindle/core could be dropped, with sizes.",
            "Nothing above 120 bytes. Signals take 1.3 kB.",
        ),
        "The core bundle may have 12 kB, parse 9 kB. There is no fat worth the name, signals simply cost 1.3 kB.",
    ),
    turn(
        "Signals are worth it. Give core 14 then, but that's the last time this year, and parse keeps what it has",
        Edit(".size-limit.json", '"limit": "12 kB"', '"limit": "14 kB"'),
        Run("pnpm size-limit", "core 12.9 kB (limit 14 kB)"),
        "Green. I put your sentence about this year next to it as a comment.",
    ),
    turn(
        "Somebody offers to set up Nx for us, for caching. Pros, cons, honestly",
        Run("time pnpm -r build", "real 0m48s"),
        "For: it would skip what has not changed, perhaps 30 of the 48 seconds. Against: its shared cache wants an account with a company, forks could not use it, and newcomers have one more thing to learn before their first fix. pnpm's own filter, `--filter ...[origin/main]`, gets us to 20 seconds today.",
    ),
    turn(
        "filter it is, thank them. 48s is not a problem that needs a company",
        Edit(".github/workflows/ci.yml", "pnpm -r build", "pnpm --filter ...[origin/main] build"),
        "CI builds what a branch touches. I thanked them and explained it with forks.",
    ),
    turn(
        "release notes: I rewrote all of them again last night at 1am. They're for users! First sentence says what they'll notice, no PR numbers, no 'refactor', nobody cares. Please do it like that from the start",
        Write(".changeset/README.md", "First: what a user notices.\n"),
        "Understood. I went through the nine pending ones; four spoke of refactoring, and those are empty changesets now since nobody would notice them.",
    ),
    ends=False,
)

RELEASE = session(
    turn(
        "cli goes to Node 20, I want fs.glob-ish things and node:util's parseArgs defaults. ONLY cli, the libraries people bundle stay where they are",
        Edit("packages/cli/package.json", '"node": ">=18"', '"node": ">=20"'),
        Run("pnpm --filter @brindle/cli test", tests(120, W, "Tests 120 passed")),
        "`packages/cli` asks for 20 and its tests ran there. The three libraries were not touched.",
    ),
    turn(
        "And the deprecated parseSync? There's a PR that removes it",
        Search("parseSync", matches(9, "ts", W, "/** @deprecated */ export function parseSync")),
        Run("node scripts/dependents.mjs parseSync", "1,204 public repositories"),
        "1,204 public repositories call it, some of them linters with many users themselves. It costs us 90 bytes. I would carry it through all of 4.x and take it out with 5.0; the pull request could wait as a draft with that milestone.",
    ),
    turn(
        "yes do that with the PR. how did I publish the last rc? something with ship",
        Run("jq .scripts package.json", "ship, ship:rc, ship:dry"),
        Read("scripts/ship.mjs", source("scripts/ship.mjs", 90, W)),
        "`pnpm ship:rc --tag next` from a clean `main`; it takes pending changesets, builds and publishes. `pnpm ship:dry` prints what would go out, and plain `pnpm ship` is for stable.",
    ),
    turn(
        "Halvard writes that he has a baby!! (congrats) and Ysolde takes windows from him. while you're in there: does codeowners even work for comments",
        Edit(".github/CODEOWNERS", "# windows: @halvard", "/packages/cli/src/win/ @ysolde"),
        "No, GitHub ignores comments, so nobody was ever notified by that line. It is a real path with a real name now.",
    ),
    turn(
        "vite plugin: #1431, ?raw imports have no source maps. can we do anything",
        Run("pnpm --filter @brindle/vite dev", log(70, W, "sourcemap: null for ?raw")),
        "Vite hands us `?raw` modules after it has thrown the map away. Their fix is vitejs/vite#18820, in review. We could patch around it, with code that would have to go again in a month.",
    ),
    turn(
        "no patching around. so what's between us and 4.3?",
        Run("gh issue list --milestone 4.3", "#1431 source maps of raw imports\n#1402 docs of signals"),
        Compact(
            "Release work in a monorepo. The CLI's Node version was raised. Windows reports have a new owner. Two issues are left in the milestone."
        ),
        "Two issues: #1431 waits for Vite's own fix, and #1402, the page about signals, has an outline and no examples. Everything else is in.",
    ),
)

SUNDAY = session(
    turn(
        "quick ones. someone asks whether signals could be a package of their own to make core smaller",
        "They share the scheduler with core, so 0.4 kB would be saved and 0.9 kB duplicated. I answered with these figures and left the issue open for their reply.",
    ),
    turn(
        "@dosch again, wants chokidar 'for robustness'",
        Run("pnpm info chokidar dist.unpackedSize", "149 kB"),
        "I wrote that the case of rename is covered by a test and asked for a failing example. No reply yet.",
    ),
    turn(
        "does core still run on 18? a user says no",
        Run("docker run node:18 node scripts/smoke.mjs core", "ok"),
        "It does, I ran the smoke test in Node 18. The user has 16.",
    ),
    turn(
        "which label do newcomers look for",
        Run("gh label list", "good first issue\nhelp wanted\nneeds repro"),
        "`good first issue`; 11 of them are open.",
    ),
    resumes=2,
)

ROUTINE = Routine(
    chores=(
        Chore(
            "dependabot: 7 PRs, anything scary?",
            "log",
            "Nothing scary, all patches of tools. Merged those that were green.",
        ),
        Chore(
            "say thanks in the {a} thread",
            "nothing",
            "> Thanks for taking the time to write this down, it helps.\n\nPosted.",
        ),
        Chore(
            "review this {b} one for me, first pass",
            "diff",
            "First pass: small, tested, one name I'd change. I left a comment with a suggestion.",
        ),
        Chore("is the {a} question a duplicate?", "search", "Yes, of two older ones. Linked them to each other."),
        Chore("rebase their branch, they asked for help", "log", "Rebased, one conflict in the {c} fixtures."),
        Chore("label the new ones pls", "nothing", "Labelled: two questions, one bug, one idea."),
        Chore("someone pasted a screenshot of code again", "nothing", "Asked kindly for text."),
        Chore("where is {b} documented", "search", "In the guide, under {a}, third paragraph."),
        Chore("typo PR, merge", "log", "Merged, with thanks."),
        Chore(
            "what's in the inbox that is about {c}",
            "log",
            "Three, all of them questions that the guide answers. I replied with links.",
        ),
    ),
    narration=("Reading the thread.", "Checking out the branch.", "Looking at `{a}` before I answer."),
    openings=("Had a read. ", "On it: ", "Alright. "),
    closings=("\n\nNext one?", "\n\nI did not post anything else.", "\n\n(`{a}` and `{b}` pass.)"),
    explanations=(
        "The thread is long, most of it is people agreeing with each other. The part about the {a} is at the top.",
        "I tried it in the playground as well, with the {b} preset, and saw the same.",
        "For context: the {c} came with 2.0 and has not been touched much.",
        "> quoting from the {a} docs: a {b} is created once and shared\n\nThat is still accurate.",
    ),
)

SCENARIO = Scenario(
    name="maintainer", client="claude", place="oss/brindle", remote="https://git.example.com/brindle/brindle.git", words=W, ending="ts",
    sessions=(TRIAGE, BUDGETS, RELEASE, SUNDAY),
    facts=(
        fact("rename-save", "rootcause", "Watch missed saves because some editors write a new file and rename it over; the watch stayed on the old inode.", (r"inode|rename it over|rename", r"watch|vim|editors|keeps looking")),
        fact("no-decorators", "rejected", "Decorators for plugins were declined: plugins have to work from a bare script tag.", (r"bare script tag",), (r"decorators", r"closed|say no|declined")),
        fact("closing", "preference", "An issue is closed for silence only when the reporter was asked once and had 14 days.", (r"asked once|asks once", r"14 days|two weeks")),
        fact("cli-node", "changed", "@brindle/cli needs Node 20.", (r"\bcli\b", r"node 20|asks for 20|>=20"), was=((r"\bcli\b", r"node 18"),)),
        fact("windows-owner", "changed", "Windows reports go to Ysolde.", (r"ysolde", r"windows|/win/"), was=((r"windows", r"@halvard"),)),
        fact("snap-crlf", "rootcause", "Windows CI was red because .snap files were not pinned in .gitattributes and arrived with CRLF.", (r"\.snap\b", r"crlf|pinned|line ends|checkout")),
        fact("core-budget", "changed", "The core bundle may have 14 kB.", (r"core|signals", r"\b14 then|\b14 kB"), was=((r"core", r"may have 12 kB"),)),
        fact("no-nx", "rejected", "No Nx: its cache wants an account, forks could not use it; pnpm's filter instead.", (r"\bnx\b|shared cache|48s?", r"account|forks|company|filter it is"), (r"filter it is",)),
        fact("notes", "preference", "Release notes are for users: first what they notice, no PR numbers, no refactoring.", (r"release notes|first sentence", r"users|notice|pr numbers")),
        fact("parsesync", "decision", "parseSync stays through all of 4.x and goes with 5.0.", (r"through all of 4\.x|5\.0", r"parseSync|take it out|carry|draft")),
        fact("ship-rc", "command", "A release candidate is published with pnpm ship:rc --tag next from a clean main.", r"pnpm ship:rc"),
        fact("left-43", "open", "Before 4.3: #1431 waits for Vite's fix, and #1402 about signals has no examples.", (r"#?1431|source maps", r"waits? for vite|vite's own fix"), (r"#?1402|page about signals", r"no examples|outline")),
    ),
    questions=(
        question("Why did some people's changes go unnoticed after their first save?", "Their editors rename a new file over the old one; the watch kept the old inode.", (r"inode",), (r"rename it over",), kind="rootcause"),
        question("Another person wants to contribute class annotations for extensions. What did we tell the first one?", "No: plugins have to run from a bare script tag.", (r"bare script tag",), kind="rejected"),
        question("min node for the command line tool?", "@brindle/cli asks for Node 20.", (r"\bcli\b", r"node 20|asks for 20|>=20"), was=((r"\bcli\b", r"node 18"),)),
        question("Who do I ping about a bug that occurs on Windows only?", "Ysolde.", (r"ysolde",), was=((r"windows", r"@halvard"),)),
        question("How many kilobytes may the main package have?", "14 kB for core.", (r"core|signals|limit", r"\b14 then|\b14 kB"), (r"\b14 then",), was=((r"core", r"12 kB"),)),
        question("What turned all the snapshot tests red although nobody had merged anything?", ".snap files were not pinned and arrived with CRLF from the new runner image.", (r"\.snap\b", r"crlf|pinned"), (r"runner image", r"line ends"), kind="rootcause"),
        question("Shouldn't we use a build orchestrator with remote caching?", "No Nx: it wants an account and forks could not use it; pnpm's filter instead.", (r"forks could not",), (r"filter it is",), (r"shared cache", r"account"), kind="rejected"),
        question("May the bot close a report if there is no reply since last week?", "No, it asks once and waits for 14 days.", (r"asked once|asks once", r"14 days|two weeks"), kind="preference"),
        question("I'm writing a changeset, how should it begin?", "With what users notice; no PR numbers.", (r"first sentence", r"notice|users"), (r"no pr numbers",), kind="preference"),
        question("When does the old synchronous entry point go away?", "It is carried through all of 4.x and goes with 5.0.", (r"4\.x", r"5\.0"), kind="decision"),
        question("command for a release candidate", "pnpm ship:rc --tag next", r"pnpm ship:rc", kind="command"),
        question("What is still missing in the milestone?", "#1431 waits for Vite's fix, #1402 has no examples.", (r"1431", r"waits"), (r"1402", r"outline|examples"), kind="open"),
    ),
    stands=(
        value("core-node", r"libraries were not touched|libraries people bundle stay", (r"smoke test", r"node 18")),
        value("parse-budget", (r"parse", r"9 kB")),
        value("vite-owner", (r"vite plugin|/packages/vite", r"tamsin")),
    ),
    foreign=(
        value("pensions", r"PRM\d{3}"),
        value("relay", r"pigeonctl"),
        value("outage", r"seat-audit"),
    ),
)  # fmt: skip
