"""A mail relay in Rust, through Codex. The user types lower case with typos; the answers are long Markdown documents."""

from __future__ import annotations

from agent_day.filler import Chore, Routine
from agent_day.gold import fact, question, value
from agent_day.noise import diff, log, matches, source, tests
from agent_day.script import Compact, Edit, Read, Run, Scenario, Search, Write, session, turn

W = "spool envelope tenant header worker socket quota digest verdict ladder"

GREYLIST = session(
    turn(
        "mails to gmx take 40min somtimes. find out why, dont guess",
        Run(
            "pigeonctl trace --domain gmx.example --last 200",
            log(
                200,
                W,
                "451 4.7.1 try again later  src=203.0.113.14\n451 4.7.1 try again later  src=203.0.113.12\n250 2.0.0 ok  src=203.0.113.14",
            ),
        ),
        Search(
            "pick_source",
            "src/out/source.rs:41:  let src = pool.pick_source();\nsrc/out/attempt.rs:88:  let src = self.pool.pick_source();",
        ),
        Read(
            "src/out/attempt.rs",
            source("src/out/attempt.rs", 160, W, "        let src = self.pool.pick_source(); // any free one"),
        ),
        "## Slow deliveries to GMX\n\n### Observations\n\n- 200 messages traced, 31 of them took longer than 20 minutes\n- all 31 got `451 4.7.1` at least three times\n- the ladder itself is as configured: 5, 10, 20 minutes\n\n"
        "### Explanation\n\nWe own four outgoing addresses, and every attempt grabs whichever is free at that moment. The far side keys its greylist on the triple of address, sender and recipient, so a retry that leaves through another address looks like a first contact and starts the wait afresh.\n\n"
        "### What could be changed\n\n```rust\nlet src = envelope.first_source.unwrap_or_else(|| pool.pick_source());\n```\n\n- costs one field in the spool record\n- messages stay bound to one address for their lifetime",
    ),
    turn(
        "do it. and keep your hands off the public structs in pigeon-core, kestrel links agianst them and we dont ship both at once",
        Edit("src/out/attempt.rs", "let src = self.pool.pick_source();", "let src = self.pinned_source(&envelope);"),
        Run("cargo test -p pigeon-out", tests(120, W, "test result: ok. 120 passed; 0 failed")),
        "## Done\n\n| file | change |\n|---|---|\n| `src/out/attempt.rs` | the first address is remembered and used again |\n| `src/spool/record.rs` | private field `first_source` |\n\nThe exported types are as they were; the new field lives in the private spool record.",
    ),
    turn(
        "how do i drain a node w/o losing stuff, forgot",
        Run(
            "pigeonctl --help",
            "pause     stop delivering, keep accepting\ndrain     stop accepting, deliver the rest\nfreeze    stop both\nrequeue   put a message at the head",
        ),
        "## Taking a node out\n\n| you want | command |\n|---|---|\n| stop delivering for a minute | `pigeonctl pause` |\n| stop everything, look at the disk | `pigeonctl freeze` |\n| empty it and switch it off | `pigeonctl drain --node mx3 --hold-spool` |\n\n"
        "Notes:\n\n- without `--hold-spool` whatever is undeliverable after ten minutes is bounced\n- watch `pigeonctl stat` until the count is zero",
    ),
    turn(
        "what do we keep and for how long? legal is asking",
        Read(
            "src/purge/ages.rs",
            source(
                "src/purge/ages.rs",
                40,
                W,
                "pub const BOUNCE_KEEP_DAYS: u16 = 14;\npub const DELIVERED_KEEP_DAYS: u16 = 30;\npub const DEFERRED_KEEP_DAYS: u16 = 5;",
            ),
        ),
        "## Ages in the purge job\n\n| what | kept for |\n|---|---|\n| bounces | 14 days |\n| log of delivered mail | 30 days |\n| deferred mail | 5 days |\n\nThe job runs at 03:10 and removes whole day folders.",
    ),
    turn(
        "web.de is slow too, same thing?",
        Run("pigeonctl trace --domain webde.example --last 100", log(90, W, "421 4.3.2 too many connections")),
        "## web.de\n\nNo.\n\n- they answer `421`, not `451`\n- they allow 20 connections and we open 20\n- the median is 70 seconds, which is what 20 connections give\n\nNothing for us to repair there.",
    ),
)

SPOOL = session(
    turn(
        "spool on rocksdb, yes or no. numbers pls not opinions",
        Run(
            "cargo bench -p pigeon-spool -- --stores all",
            log(
                60, W, "files+fsync  p50 1.9ms p99 6.1ms\nrocksdb  p50 0.7ms p99 212ms\nsqlite-wal  p50 1.4ms p99 11ms"
            ),
        ),
        "## Stores for the spool\n\n| store | p50 | p99 | 24 h soak |\n|---|---|---|---|\n| flat files, fsync each | 1.9 ms | 6.1 ms | flat |\n| RocksDB | 0.7 ms | 212 ms | stalls every 9 min |\n| SQLite, WAL | 1.4 ms | 11 ms | flat |\n\n"
        "### Reading the table\n\n1. RocksDB is quickest until a compaction begins; then senders wait a fifth of a second.\n2. SQLite is fine and brings nothing that we lack.\n3. The flat files lose only in the median, and a batch would win that back.\n\n### Cost of a move\n\n- two releases that read both layouts\n- a migration per node, about 50 minutes each",
    ),
    turn(
        "files then. those stalls would kill us at 9am. batch the fsyncs, 64",
        Edit("src/spool/flush.rs", "const FSYNC_BATCH: usize = 1;", "const FSYNC_BATCH: usize = 64;"),
        Run("cargo bench -p pigeon-spool", log(40, W, "files+batch  p50 0.8ms p99 6.4ms")),
        "## Batched flush\n\n- up to 64 messages share one fsync, or whatever came in within 4 ms\n- p50 fell to 0.8 ms, p99 is unchanged\n\n```rust\nconst FSYNC_BATCH: usize = 64;\nconst FSYNC_WAIT: Duration = Duration::from_millis(4);\n```",
    ),
    turn(
        "how do others deal with flaky tests, nextest retries?",
        "## Retries in general\n\n- `nextest` repeats a failed test up to n times and marks it as flaky\n- it keeps a pipeline green\n- it hides the ones that fail for a reason\n\nWe use none of it so far.",
    ),
    turn(
        "and the tls session cache? rocks there?",
        Search("SessionCache", matches(5, "rs", W, "let cache = SessionCache::in_memory(4096);")),
        "## TLS session cache\n\nIt holds 4096 entries in memory and is empty after a restart. A store on disk would save about 2 % of handshakes in the first minute, so the question hardly matters. It stays as it is unless you see a reason.",
    ),
    turn(
        "dkim_roundtrip is flaky on ci, 1 of 30. fix or delete",
        Run(
            "for i in $(seq 60); do cargo test -p pigeon-dkim -q; done",
            tests(90, W, "test dkim_roundtrip ... FAILED\nsignature verification: BadKey"),
            failed=True,
        ),
        Search("selector", matches(8, "rs", W, 'write_key("/tmp/pigeon-test/selector.pem")')),
        Edit("tests/dkim.rs", "/tmp/pigeon-test/selector.pem", 'dir.path().join("selector.pem")'),
        Run("for i in $(seq 300); do cargo test -p pigeon-dkim -q; done", tests(40, W, "300 of 300 ok")),
        "## `dkim_roundtrip`\n\n### What I saw\n\n- fails only with `--test-threads` above 1\n- the error is always `BadKey`, never a wrong hash\n\n### Why\n\n`dkim_roundtrip` and `dkim_rotate` write the same `selector.pem` below /tmp. When the second one is half way through its write, the first reads a key that is cut off.\n\n### Now\n\nEach test has a folder of its own. 300 runs, no failure.",
    ),
    turn(
        "ok. who looks at crypto changes these days? joost left",
        Read(
            "CODEOWNERS",
            "/spool/ @piet.mulder\n/dkim/ @nadia.okafor\n/arc/ @nadia.okafor\n/out/ @piet.mulder\n/docs/ @sanne",
        ),
        "## Reviewers\n\n| area | who |\n|---|---|\n| `dkim/`, `arc/` | Nadia Okafor |\n| `spool/`, `out/` | Piet Mulder |\n| `docs/` | Sanne |\n\nJoost is no longer in the file.",
    ),
    ends=False,
)

PORTS = session(
    turn(
        "put up a one page runbook for the new guys: ports, units, logs",
        Read(
            "etc/pigeon.toml", '[submission]\nimplicit_tls = 465\nstarttls = 587\n[health]\nlisten = "0.0.0.0:9117"\n'
        ),
        Write(
            "docs/runbook.md",
            "# Runbook\n\n- 465 implicit TLS, 587 STARTTLS\n- the health endpoint answers on 9117\n- unit: pigeon.service\n",
        ),
        "## `docs/runbook.md`\n\n- submission: 465 with implicit TLS, 587 with STARTTLS\n- the health endpoint answers on port 9117\n- unit `pigeon.service`, logs in the journal\n\nOne page, no screenshots.",
    ),
    turn(
        "reload drops conns, ~30 per reload. ops put their exporter on 9117 yday btw so our health thing sits on 9180 now, dont be confused by that when you test",
        Run("pigeonctl reload && pigeonctl stat", log(80, W, "closed 28 connections: listener replaced")),
        Edit("src/net/listener.rs", "drop(self.listener);", "self.listener.hand_over(&mut next);"),
        Run("cargo test -p pigeon-net", tests(75, W, "test result: ok. 75 passed; 0 failed")),
        "## Reload\n\n1. the listener was closed and opened, so the accept backlog was thrown away\n2. it hands its descriptor over to its successor\n3. five reloads under load: 0 connections lost\n\nI tested against the address that you named.",
    ),
    turn(
        "legal wants 45 for bounces, rest is fine",
        Edit("src/purge/ages.rs", "pub const BOUNCE_KEEP_DAYS: u16 = 14;", "pub const BOUNCE_KEEP_DAYS: u16 = 45;"),
        Run("cargo test -p pigeon-purge", tests(22, W, "test result: ok. 22 passed; 0 failed")),
        "## Purge\n\n- `BOUNCE_KEEP_DAYS` is 45\n- delivered and deferred are untouched\n- disk: about 9 GB more per node after six weeks",
    ),
    turn(
        "new pub field on Limits in pigeon-cli, semver?",
        Read("cli/src/limits.rs", source("cli/src/limits.rs", 50, W)),
        "## `Limits` in `pigeon-cli`\n\n- the crate is a binary, nothing can depend on it\n- so a field more is not a matter of semver at all",
    ),
    turn(
        "how would we even do arc, whats involved",
        Read("src/arc/mod.rs", source("src/arc/mod.rs", 120, W)),
        "## ARC in general\n\n- three headers per hop: results, signature, seal\n- a seal covers all earlier sets\n- keys can be those of DKIM\n\nThis is a description of the standard; how far our own code is would be another question.",
    ),
    turn(
        "what keeps us from cutting 4.2",
        Search("arc::", "src/arc/mod.rs:12:  // arc::seal is not called yet"),
        "## Before 4.2\n\n### In the way\n\n- `arc::seal` compiles and is tested, yet nothing calls it: forwarded mail leaves unsealed. Missing are the config switch and the hook in `out/forward.rs`.\n\n### Not in the way\n\n- the docs build warns about two links\n- `clippy` is clean",
    ),
)

POWERCUT = session(
    turn(
        "pulled the plug on mx2 in the lab. 51 mails gone that the client had a 250 for. not ok!!",
        Run("pigeon-fsck /spool --since 10m", log(120, W, "acked and absent: 51")),
        Read(
            "src/spool/flush.rs",
            source("src/spool/flush.rs", 110, W, "        conn.reply(250); batch.push(record); // flush follows"),
        ),
        Edit(
            "src/spool/flush.rs",
            "conn.reply(250); batch.push(record);",
            "batch.push(record.on_flushed(|| conn.reply(250)));",
        ),
        Compact(
            "The user tests power loss on a lab node. Acknowledged mails were missing. The assistant moves the reply in the spool's flush and looks at batch sizes."
        ),
        "## Power cut on mx2\n\n### Finding\n\nThe reply went out when a record was put into the batch; the disk heard of it up to 4 ms later. 51 records were in that gap.\n\n### Change\n\nA client gets its 250 only after the fsync that holds its record has returned.\n\n### Price\n\n| batch | p50 | p99 |\n|---|---|---|\n| 8 | 3.0 ms | 7.9 ms |\n| 16 | 3.2 ms | 8.0 ms |\n| 32 | 4.4 ms | 11 ms |\n| 64 | 6.0 ms | 19 ms |",
    ),
    turn(
        "16 then. plug again, 10x",
        Edit("src/spool/flush.rs", "const FSYNC_BATCH: usize = 64;", "const FSYNC_BATCH: usize = 16;"),
        Run("lab/plug.sh mx2 --times 10", log(90, W, "acked and absent: 0")),
        "## Ten cuts\n\n- acknowledged and absent: 0 of 18,204\n- `FSYNC_BATCH` stands at 16\n- p99 over all ten runs: 8.1 ms",
    ),
    turn(
        "rfc wise, who is responsible when, between DATA and our answer",
        "## RFC 5321 in short\n\n| moment | responsible |\n|---|---|\n| before the final dot | sender |\n| after a positive answer to it | receiver |\n| connection lost in between | sender, and may send twice |\n\nThat is what the text demands of anybody.",
    ),
    turn(
        "list the fields we log per message",
        Search("info!", matches(14, "rs", W, 'info!(id = %envelope.id, tenant, step, "queued");')),
        "## Fields\n\n| field | meaning |\n|---|---|\n| `id` | number in the spool |\n| `tenant` | whose mail |\n| `step` | of the ladder |\n| `size` | bytes |\n| `src` | our address |",
    ),
    turn(
        "logs: i see rcpt adresses in there. never. hash em, gdpr ppl will have my head",
        Search("rcpt=", matches(9, "rs", W, 'info!(rcpt = %envelope.rcpt, "queued");')),
        Edit("src/log/fields.rs", "rcpt = %envelope.rcpt", "rcpt = %short_hash(&envelope.rcpt)"),
        "## Log fields\n\n- nine places printed a recipient in clear\n- they print eight hex digits of a keyed hash by now\n- the key is per node and is thrown away at restart",
    ),
    turn(
        "size of the worker pool, still 48?",
        Run("grep -n workers etc/pigeon.toml", "12:workers = 48"),
        "## Pool\n\n`workers = 48`, as ever. The quota of a tenant is 6 of them at a time.",
    ),
    resumes=2,
)

ROUTINE = Routine(
    chores=(
        Chore("clippy", "log", "## clippy\n\n- 0 errors\n- 1 warning in `{a}`, a needless borrow; gone"),
        Chore(
            "explain {a}{B} in 5 lines",
            "file",
            "## `{a}{B}`\n\n1. takes the {a}\n2. looks up its {b}\n3. skips empty ones\n4. hands over to the {c}\n5. returns the count",
        ),
        Chore(
            "tidy imports in {b}",
            "diff",
            "## Imports\n\n| group | lines |\n|---|---|\n| std | 3 |\n| crates | 4 |\n| ours | 2 |",
        ),
        Chore("rename {a}_x to {a}_slot everwhere", "search", "## Rename\n\n- places: 11\n- files: 4\n- public: none"),
        Chore("comit msg?", "nothing", "```\n{a}: make the {b} path shorter\n\nNo functional change.\n```"),
        Chore("show me the diff stat", "diff", "## Diff\n\n- two files\n- 18 lines in, 11 out"),
        Chore(
            "docs for {c} are ugly. fix",
            "file",
            "## Docs\n\nThe comment of `{c}` has a first line, a blank and a paragraph, as the others have.",
        ),
        Chore(
            "does {a} allocate in the loop",
            "file",
            "## Allocation\n\nNo. One buffer above the loop is reused for each {b}.",
        ),
        Chore(
            "bench {b} once",
            "log",
            "## Bench of `{b}`\n\n| run | ms |\n|---|---|\n| 1 | 41 |\n| 2 | 40 |\n| 3 | 41 |\n\nWithin noise of last week.",
        ),
        Chore("nm. go on", "nothing", "Continuing with the {a} part."),
    ),
    narration=(
        "Reading `{a}` first.",
        "I will look at how `{a}` reaches `{b}`.",
        "Collecting the facts before touching anything.",
    ),
    openings=("# Report\n\n", "> Scope: `{a}`, `{b}`\n\n", "**TL;DR** below in the first section.\n\n"),
    closings=(
        "\n\n---\n\n### Files looked at\n\n- `{a}.rs`\n- `{b}.rs`",
        "\n\n### Checklist\n\n- [x] builds\n- [x] formatted\n- [x] `{c}` not affected",
        "\n\n| area | effect |\n|---|---|\n| {a} | see above |\n| {b} | none |\n| {c} | none |",
    ),
    explanations=(
        "### Background\n\nThe {a} is made once per connection and lives as long as the {b} does. The two know each other through a trait with three methods, of which the {c} implements two.",
        "### Layout\n\n```text\n{a}/\n  {b}.rs\n  {c}.rs\n```",
        "### How it was checked\n\n1. read the {a}\n2. followed the {b}\n3. compared with the {c}\n\nThe three agree.",
        "### Remarks\n\n- the names in `{a}` follow those of `{b}`\n- comments are sparse but right\n- `{c}` could do with a doc line",
        "### Not touched\n\n`{b}` and `{c}`. They would make the diff larger without changing what happens.",
    ),
)

SCENARIO = Scenario(
    name="relay", client="codex", place="work/pigeon/core", words=W, ending="rs", tags=frozenset({"quick"}),
    sessions=(GREYLIST, SPOOL, PORTS, POWERCUT),
    facts=(
        fact("greylist", "rootcause", "Mails to GMX were slow because each retry left through another of the four source addresses and the greylist took it for a first contact.", (r"greylist", r"another address|first contact"), (r"first contact", r"retry|address"), (r"four outgoing addresses", r"attempt|retry")),
        fact("public-structs", "preference", "The public structs of pigeon-core must not change, kestrel links against them.", (r"public structs", r"kestrel|hands off|not change")),
        fact("drain", "command", "A node is drained with pigeonctl drain --node mx3 --hold-spool.", r"pigeonctl drain[^\n]{0,20}--hold-spool"),
        fact("bounce-keep", "changed", "Bounces are kept for 45 days.", (r"bounces?\b|BOUNCE_KEEP", r"\b45\b"), was=((r"bounces?\b|BOUNCE_KEEP", r"\b14( days|;)"),)),
        fact("no-rocksdb", "rejected", "RocksDB is out for the spool: compaction stalls, p99 of 212 ms.", (r"rocks", r"stalls?\b|212 ms|compaction|a fifth of a second|files then"), (r"files then", r"stalls")),
        fact("fsync-batch", "changed", "The fsync batch of the spool is 16.", (r"fsync|FSYNC_BATCH|batch", r"\b16\b(?! \|)"), was=((r"fsync|FSYNC_BATCH", r"\b64\b(?! \|)"),)),
        fact("dkim-flake", "rootcause", "dkim_roundtrip was flaky because two tests wrote the same selector.pem below /tmp.", (r"selector\.pem|dkim_rotate", r"same|cut off|half way")),
        fact("health-port", "changed", "The health endpoint is on port 9180.", (r"health", r"\b9180\b"), was=((r"health", r"\b9117\b"),)),
        fact("arc-open", "open", "Before 4.2: nothing calls arc::seal, forwarded mail leaves unsealed; config switch and hook are missing.", (r"arc::seal|\bARC\b|unsealed", r"nothing calls|not called|leaves unsealed|missing")),
        fact("crypto-reviewer", "fact", "Nadia Okafor reviews dkim and arc.", (r"nadia", r"dkim|arc|crypto|review")),
        fact("no-rcpt", "preference", "Never recipient addresses in the logs; hash them.", (r"rcpt|recipient", r"hash", r"logs?\b|print|never"), (r"hash em", r"gdpr"), (r"keyed hash", r"hex digits|print")),
        fact("ack-after-fsync", "decision", "A client gets its 250 only after the fsync that holds its record.", (r"\b250\b", r"only after the fsync|after the fsync|on_flushed")),
    ),
    questions=(
        question("Why did some providers make us wait for more than half an hour?", "Each attempt used another of our four outgoing addresses, so greylisting started anew.", (r"first contact", r"address|retry"), (r"four outgoing addresses", r"attempt"), kind="rootcause"),
        question("How long do returned messages stay on disk?", "Bounces are kept for 45 days.", (r"bounces?\b|BOUNCE_KEEP", r"\b45\b"), was=((r"bounces?\b|BOUNCE_KEEP", r"\b14( days|;)"),)),
        question("health check port?", "9180", r"\b9180\b", was=((r"health", r"\b9117\b"),)),
        question("How many messages share one sync to disk?", "16, FSYNC_BATCH.", (r"FSYNC_BATCH", r"\b16\b"), (r"^16 then", r"plug"), (r"\b16 then",), was=((r"FSYNC_BATCH|fsync", r"(share|= |batch the fsyncs, |up to )\s?64|\b64 messages"),)),
        question("Somebody proposes an embedded key-value store for queued mail. Did we look at that, and what came out?", "RocksDB stalls at compaction, p99 of 212 ms; files stay.", (r"rocks", r"stalls?\b|212 ms|compaction begins"), (r"files then", r"stalls"), kind="rejected"),
        question("I need to switch off one mx for maintenance. What do I type so that nothing bounces?", "pigeonctl drain --node mx3 --hold-spool", r"pigeonctl drain[^\n]{0,20}--hold-spool", kind="command"),
        question("What blocks the next minor release?", "arc::seal is called by nothing; forwarded mail leaves unsealed.", (r"arc::seal|\barc\b", r"nothing calls|unsealed"), (r"config switch", r"forward\.rs"), kind="open"),
        question("Who should approve a patch to the signing code?", "Nadia Okafor, for dkim and arc.", (r"nadia", r"dkim|arc")),
        question("May I add a pub field to a type that another product compiles in?", "No, the public structs stay as they are; kestrel links against them.", (r"kestrel",), (r"public structs",), kind="preference"),
        question("Can I print who a message is for when it is queued?", "No, hash the recipient; never in clear in logs.", (r"rcpt|recipient", r"hash|never"), (r"hash em", r"gdpr"), (r"keyed hash", r"hex digits|print"), kind="preference"),
        question("When does the sending side get told that we have taken the mail?", "It gets 250 only after the fsync has returned.", (r"\b250\b", r"after the fsync|on_flushed"), kind="decision"),
        question("Why did the signature test fail once in a while?", "Two tests wrote the same selector.pem.", (r"selector\.pem|dkim_rotate", r"same|cut off|half way"), kind="rootcause"),
    ),
    stands=(
        value("delivered-keep", (r"delivered", r"30 days|= 30")),
        value("deferred-keep", (r"deferred", r"5 days|= 5\b")),
        value("submission", (r"\b465\b", r"\b587\b")),
        value("workers", (r"workers = 48|pool", r"\b48\b")),
    ),
    foreign=(
        value("hives", r"varroa|hive 12"),
        value("incident", r"seatmap|pgbouncer"),
        value("legacy", r"PRM\d{3}"),
    ),
)  # fmt: skip
