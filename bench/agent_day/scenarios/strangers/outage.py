"""A ticket shop is down on the evening of a sale, through Claude Code. The user pastes logs; one guess after another falls."""

from __future__ import annotations

from agent_day.filler import Chore, Routine
from agent_day.gold import fact, question, value
from agent_day.noise import log, matches, source, tests
from agent_day.script import Compact, Delegate, Edit, Read, Run, Scenario, Search, Write, session, turn

W = "checkout basket gateway pod latency probe replica node trace queue"

EVENING = session(
    turn(
        "SEV1. checkout p99 9s since 19:41 UTC, tour sale opened 19:30.\n\n19:41:52 checkout-7c9f ERROR seatmap: context deadline exceeded (3.0s)\n19:41:52 checkout-7c9f WARN retry 1/2\n19:41:55 checkout-b210 ERROR seatmap: context deadline exceeded (3.0s)\n19:42:07 gateway-11 504 POST /v2/holds 9.004s\n\ngo",
        Run("kubectl -n boxoffice top pods", log(60, W, "checkout-7c9f 340m 410Mi")),
        Run("kubectl -n boxoffice get deploy checkout", "checkout 12/12"),
        "19:47 Traffic is three times the usual, pods sit at 35 % processor. A client of the seatmap gives up after 3 seconds and tries twice more, hence nine.\n\nFirst guess: too few of them. checkout runs with 12 replicas. I can double that within a minute; it costs nothing and tells us something.",
    ),
    turn(
        "do it",
        Run("kubectl -n boxoffice scale deploy checkout --replicas=24", "deployment.apps/checkout scaled"),
        "19:49 checkout runs with 24 replicas. Watching.",
    ),
    turn(
        "19:55 no change whatsoever. p99 9.1. next. Mei says redis, hot key for the arena",
        Run("redis-cli --latency-history -i 1", log(30, W, "min: 0, max: 1, avg: 0.41 (96 samples)")),
        Run("redis-cli --hotkeys", "seatmap:arena-1 38%"),
        "19:58 There is a hot key, `seatmap:arena-1` with 38 % of reads, and it's harmless: Redis answers in 0.4 ms on average, 99.2 % hits, no slow log. You could switch Redis off this list. More copies of checkout did nothing either, so capacity in front is not it.",
    ),
    turn(
        "from pgbouncer:\n\n19:43:21 WARNING no more connections allowed (max_client_conn)\n19:43:22 LOG stats: 911 xacts/s, wait 2410000 us\n19:43:52 LOG stats: 902 xacts/s, wait 2890000 us\n\nthats it right? raise the pool",
        Edit("ops/pgbouncer.ini", "default_pool_size = 200", "default_pool_size = 400"),
        Run("kubectl -n boxoffice rollout restart deploy/pgbouncer", "restarted"),
        Run("psql -c 'select state, count(*) from pg_stat_activity group by 1'", "active 398\nidle 2"),
        "20:06 Raised to 400, and all 400 are busy at once with nothing finished: we only moved the queue from the pooler into the database. Look at the clock as well, its first warning is from 19:43:21, that is 90 seconds after the first timeout. PgBouncer suffers, it did not start this. I put `default_pool_size` back to 200 at 20:05.",
    ),
    turn(
        "ravi swears its dns. ndots 5, seen it at his last job",
        Run(
            "kubectl -n boxoffice exec checkout-7c9f -- ./dnsprobe -n 500",
            log(40, W, "500 lookups p50 1.1ms p99 2.3ms, 0 failures"),
        ),
        "20:11 500 lookups out of a checkout pod: 2.3 ms at p99, none failed. With ndots 5 we make four useless queries for each good one, which is ugly and not slow. DNS is innocent this time.",
    ),
    turn(
        "20:13 its recovering BY ITSELF?? p99 400ms. what did we do",
        Run("psql -f ops/locks.sql", log(20, W, "0 rows")),
        "20:14 We did nothing in the last eight minutes that could explain it. Something ended. I am going through everything that stopped between 20:08 and 20:13.",
    ),
    turn(
        "need a timeline for the mail to the directors in 10 min, keep it factual, and tell me whats safe to say in public",
        Delegate(
            "What stopped",
            "List jobs, connections and deployments that ended between 20:05 and 20:15 UTC.",
            "CronJob seat-audit: started 19:40:30, completed 20:11:48. Two image pulls. A backup that ran on another cluster.",
        ),
        Search("LOCK TABLE", "jobs/seat_audit/main.sql:3:LOCK TABLE holds IN SHARE MODE;"),
        "**19:30** The sale opens; 41,000 people in the first minute, all served.\n\n**19:41** First timeouts from checkout towards the seat service, customers see an error after nine seconds.\n\n**19:49** Replicas doubled, without effect.\n\n**19:58** Cache examined, without findings.\n\n"
        "**20:05** Pool of connections raised and put back. In this whole stretch the nightly `seat-audit` was holding a share lock on `holds`, so that every reservation stood in line behind it; it belongs at 02:00 and has been starting at 19:40 since Tuesday's cluster upgrade gave its schedule a time zone. Customers who were patient got their seats, nobody got a wrong one.\n\n"
        "**20:11** Name lookups examined, without findings.\n\n**20:13** Back to normal.\n\nSafe to say: from 19:41 to 20:13 UTC purchases were slow or failed, no payment was taken without a ticket, all baskets were kept for 30 minutes longer. I would not name a number of lost sales, since we do not know it.",
    ),
    turn(
        "ok. second sale at 22:00. nobody touches anything until then. how do i keep that job from starting again",
        Run(
            'kubectl -n boxoffice patch cronjob seat-audit -p \'{"spec":{"suspend":true}}\'',
            "cronjob.batch/seat-audit patched",
        ),
        'It is asleep: `kubectl -n boxoffice patch cronjob seat-audit -p \'{"spec":{"suspend":true}}\'`. The same with `false` wakes it up.',
    ),
    ends=False,
)

REVIEW = session(
    turn(
        "morning. postmortem draft pls. and one rule that goes on top: when it burns there's ONE change at a time, with its UTC time written next to it. yesterday three of us turned knobs at once and mei's restart looked like a cure for 2 min",
        Write(
            "postmortems/sale-evening.md",
            "# Slow purchases on the evening of the sale\n\n> One change at a time, each with its time in UTC.\n",
        ),
        "The draft is in `postmortems/sale-evening.md`, with your rule on top. I left the paragraph about detection empty, as nothing detected it: a customer did.",
    ),
    turn(
        "change freeze for the holidays, when was that again, and does it cover config",
        Read("docs/freeze.md", "20 December to 2 January, code and config"),
        "From 20 December to 2 January, for code and for config alike. One exception at a time, with a signature of the director.",
    ),
    turn(
        "who or what do we page for the arena's network folks? the bridge had an old number",
        Read("runbooks/contacts.md", "arena NOC: ext 4410\npayments: Halden Pay desk, ext 7200\ncdn: vendor portal\n"),
        "The arena's NOC is at extension 4410, Halden Pay's desk at 7200. The CDN has a portal and no phone.",
    ),
    turn(
        "could the audit read from the replica",
        Run("psql -h replica -c 'select now() - pg_last_xact_replay_timestamp()'", "00:00:00.8"),
        Run("promql 'max_over_time(replica_lag[2d])'", "41.2"),
        "At this minute it lags by 0.8 seconds, during the sale it was 41. An audit of holds that sees the world as it was 41 seconds ago reports thousands of phantoms on exactly the evenings that matter, so no, not from there.",
    ),
    turn(
        "reports for finance, those can go to the copy right?",
        Search("REPORT_DSN", 'jobs/finance/main.go:14: dsn := os.Getenv("REPORT_DSN")'),
        "They do already, `REPORT_DSN` points to it. Yesterday's revenue is the same a minute later.",
    ),
    turn(
        "then what",
        Edit(
            "jobs/seat_audit/main.sql",
            "LOCK TABLE holds IN SHARE MODE;",
            "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;",
        ),
        Run("go test ./jobs/...", tests(64, W, "ok boxoffice/jobs 2.1s")),
        "It reads on the primary inside one REPEATABLE READ transaction. That gives it a picture of a single moment, writers go on as if it was not there, and it takes 33 minutes in place of 31.",
    ),
    turn(
        "good. we ran fine at 22:00 on 24 pods, thats wasteful though, whats the knee",
        Run(
            "k6 run load/sale.js",
            log(90, W, "12 pods p99 610ms, 16 pods p99 290ms, 20 pods p99 285ms, 24 pods p99 281ms"),
        ),
        Edit("deploy/checkout.yaml", "replicas: 24", "replicas: 16"),
        "The knee is at 16: p99 290 ms against 281 with half as many again. checkout runs with 16 replicas as of 10:20 UTC, and the autoscaler may go to 40.",
    ),
    turn(
        "does seatmap need more pods too?",
        Run("kubectl -n boxoffice get deploy seatmap", "seatmap 8/8"),
        "It has 8 and was at 20 % during the whole evening. It only looked guilty because its name is in the error.",
    ),
)

AFTER = session(
    turn(
        "retries made it worse i think. 3 s times three. Mei put the seatmap client on 800ms this morning, so check that the retry budget still makes sense with that",
        Read(
            "internal/seatmap/client.go",
            source("internal/seatmap/client.go", 100, W, "\tTimeout: 800 * time.Millisecond,\n\tRetries: 2,"),
        ),
        Edit("internal/seatmap/client.go", "Retries: 2,", "Retries: 1,"),
        Run("go test ./internal/seatmap", tests(31, W, "ok boxoffice/internal/seatmap 0.8s")),
        "It does with a single retry, so that a customer waits for 1.7 seconds at worst. I took one away.",
    ),
    turn(
        "and redis client timeout",
        Search("DialTimeout", "internal/cache/client.go:22: DialTimeout: 250 * time.Millisecond,"),
        "250 ms to connect and the same to read, since the beginning.",
    ),
    turn(
        "background for the new folks: what was the client's timeout in the incident, and why did a request take nine",
        "The client's timeout was 3 seconds with two retries, which makes nine. That's in the postmortem as well.",
    ),
    turn(
        "if it ever looks like this again how do i see who blocks whom, in one line, i dont want to remember sql at 3 am",
        Run("ls bin", "pgblock\npgslow\nholdsctl\nkubefwd"),
        Run("bin/pgblock --help", "--tree  who waits for whom\n--kill  ends the root"),
        "`bin/pgblock --tree --db boxoffice` prints who waits for whom, with the query at the root. `bin/pgslow` is its neighbour, that one lists long queries whether they block or not.",
    ),
    turn(
        "arena ppl got a new pbx, its 4477. pls put in the contacts and then: action items, what's not done",
        Edit("runbooks/contacts.md", "arena NOC: ext 4410", "arena NOC: ext 4477"),
        Search("lock_wait", "alerts/pg.yaml:1:# nothing about lock waits"),
        Compact("Follow-up of the outage: retries reduced, contacts changed, action items listed."),
        "Noted. Of the action items these are not done:\n\n1. an alert on waiting for locks; there is none at all, Ravi has it\n2. a check in CI that refuses `LOCK TABLE` in jobs, without an owner\n\nDone are the audit itself, the retries and the contacts.",
    ),
    turn(
        "which dashboard did we stare at yesterday",
        "The board called Front of House, in the folder of the shop.",
    ),
    turn(
        "and pool size is what now? someone left a comment with 400 in the ini",
        Run("grep -n pool_size ops/pgbouncer.ini", "14:default_pool_size = 200\n15:; 400 tried in the incident"),
        "200. The comment is a memory of the evening, I removed it.",
    ),
)

DRILL = session(
    turn(
        "game day thursday: plan one where dns dies for real",
        Write("gamedays/dns.md", "# DNS is gone\n\n1. block port 53 for one node\n2. watch checkout\n"),
        "Planned: one node loses port 53 for ten minutes, at 14:00 UTC, outside of any sale. The page lists who watches what.",
    ),
    turn(
        "how many gateways do we have in front",
        Run("kubectl -n edge get deploy gateway", "gateway 11/11"),
        "11, and they need about a tenth of their memory.",
    ),
    turn(
        "and one for redis later. which keys would hurt",
        Run("redis-cli --bigkeys", log(30, W, "seatmap:arena-1 4.1 MB")),
        "Basket keys would hurt at once, the maps within a minute, sessions not at all as they are in the cookie.",
    ),
    turn(
        "did seat-audit run ok tonight? 02:00?",
        Run("kubectl -n boxoffice get jobs", "seat-audit-2911 Complete 33m"),
        "Yes, from 02:00 to 02:33 UTC, no waits. Its schedule names the zone by itself by now.",
    ),
)

ROUTINE = Routine(
    chores=(
        Chore(
            "{a} graph for the last 6h pls", "log", "Drawn, see `out/{a}.png`. Flat apart from the usual morning bump."
        ),
        Chore(
            "09:12:44 {a}-3f WARN {b} slow\n09:12:45 {a}-3f INFO {b} ok\n\nnoise?",
            "log",
            "Noise. It happens each time a {c} is rotated and is over within a second.",
        ),
        Chore("lint the yaml", "log", "Clean."),
        Chore("add a label to the {a} manifests so i can select them", "diff", "Labelled, eleven manifests."),
        Chore("whats {a}-{b} even", "file", "A sidecar that copies the {b} to the {c}. Nobody calls it directly."),
        Chore("grep who calls {a}.{b}", "search", "The handlers and one test. The rest is generated."),
        Chore("ack. standby", "nothing", "Standing by."),
        Chore("merge it when green", "log", "Green and merged."),
        Chore("cut the log to what matters", "log", "Cut to the lines about the {a}; the full one is in the bucket."),
        Chore("shift handover in 3 lines", "nothing", "- {a}: quiet\n- {b}: quiet\n- {c}: quiet"),
    ),
    narration=("Looking at the {a} first.", "Pulling the {b} metrics.", "One look at the {c} before I say anything."),
    openings=("Copy. ", "OK, from the top. ", "Checked twice. "),
    closings=(
        "\n\nStanding by.",
        "\n\nNothing else moved on the {a} board.",
        "\n\nI have the {b} view open in case it comes back.",
    ),
    explanations=(
        "How I looked: the {a} view for the last hour, then the same for the {b}, and at the end the raw lines of one {c} to make sure that the graphs do not lie.",
        "```\n{a}  ok\n{b}  ok\n{c}  ok\n```",
        "The {b} has a short spike in every graph at the full hour. It's the collector itself, you can ignore it.",
        "If you compare this with last week, mind that the {a} axis is logarithmic in one of the two.",
    ),
)

SCENARIO = Scenario(
    name="outage", client="claude", place="oncall/boxoffice", remote="git@git.example.net:boxoffice/ops.git", words=W, ending="go",
    sessions=(EVENING, REVIEW, AFTER, DRILL),
    facts=(
        fact("cause", "rootcause", "The outage: seat-audit held a share lock on holds; it started at 19:40 since the cluster upgrade gave its schedule a time zone.", (r"seat-audit", r"share lock|lock on .?holds|19:40"), (r"share lock on .?holds", r"reservation|behind it|line")),
        fact("not-redis", "rejected", "It was not Redis: 0.4 ms, the hot key is harmless.", (r"redis", r"harmless|0\.4 ms|off this list")),
        fact("not-dns", "rejected", "It was not DNS: lookups take 2.3 ms at p99.", (r"\bdns\b|lookups", r"innocent|2\.3 ms|none failed")),
        fact("not-pool", "rejected", "It was not PgBouncer: its first warning came 90 seconds after the first timeout.", (r"pgbouncer|pooler", r"90 seconds|did not start|moved the queue"), (r"first warning", r"90 seconds after")),
        fact("suspend", "command", "seat-audit is stopped with kubectl -n boxoffice patch cronjob seat-audit and suspend true.", r"patch cronjob seat-audit"),
        fact("replicas", "changed", "checkout runs with 16 replicas.", (r"checkout|knee|replicas|pods", r"\b16\b(?! pods)"), was=((r"checkout", r"\b12 replicas"), (r"checkout", r"\b24 replicas"))),
        fact("client-timeout", "changed", "The seatmap client's timeout is 800 ms.", (r"seatmap|client", r"\b800 ?(ms|\*)"), was=((r"client|seatmap", r"\b3 seconds|\(3\.0s\)"),)),
        fact("noc", "changed", "The arena's NOC is at extension 4477.", (r"arena|\bnoc\b", r"\b4477\b"), was=((r"arena|\bnoc\b", r"\b4410\b"),)),
        fact("one-change", "preference", "In an incident one change at a time, with its UTC time next to it.", (r"one change at a time", r"utc|time")),
        fact("audit-snapshot", "decision", "The audit reads on the primary in one REPEATABLE READ transaction, without a lock.", (r"repeatable read", r"audit|primary|transaction|writers")),
        fact("not-replica", "rejected", "The audit does not read from the replica: it lagged 41 seconds in the sale and would report phantoms.", (r"phantoms?", r"\b41\b"), (r"replica|lag", r"\b41 seconds|phantoms")),
        fact("blockers", "command", "bin/pgblock --tree --db boxoffice shows who blocks whom.", r"pgblock --tree --db"),
        fact("lock-alert", "open", "Not done: an alert on lock waits (Ravi), and a CI check that refuses LOCK TABLE in jobs.", (r"alert on waiting for locks|alert on lock|lock waits", r"none at all|not done|ravi"), (r"refuses .?lock table", r"owner|ci\b")),
    ),
    questions=(
        question("In the end, what was it that made buying tickets slow that evening?", "seat-audit held a share lock on holds, every reservation waited behind it.", (r"seat-audit", r"share lock"), (r"share lock on", r"reservation"), kind="rootcause"),
        question("Somebody in the review insists it was name resolution. Did we check?", "Yes, 500 lookups, 2.3 ms at p99, DNS is innocent.", (r"lookups", r"2\.3 ms"), (r"dns is innocent",), kind="rejected"),
        question("Was the cache to blame?", "No, Redis answers in 0.4 ms; the hot key is harmless.", (r"redis", r"0\.4 ms|harmless|off this list"), kind="rejected"),
        question("Why didn't we leave the bigger connection pool in place? It was full after all.", "It only moved the queue; the first warning came 90 seconds after the first timeout.", (r"moved the queue",), (r"90 seconds after",), (r"did not start this",), kind="rejected"),
        question("how many copies of the purchase service do we run", "checkout runs with 16 replicas.", (r"checkout|knee|replicas", r"\b16\b(?! pods)"), was=((r"checkout", r"\b(12|24) replicas"),)),
        question("What is the timeout of the seatmap client?", "The seatmap client gives up after 800 ms.", (r"seatmap|client|timeout", r"\b800 ?(ms|\*)"), was=((r"client", r"\b3 seconds"),)),
        question("NOC phone?", "Extension 4477.", (r"\b4477\b",), was=((r"\bnoc\b|arena", r"\b4410\b"),)),
        question("What do I type to find the session that everybody else waits for?", "bin/pgblock --tree --db boxoffice", r"pgblock --tree --db", kind="command"),
        question("How can I keep the nightly check of seats from starting?", "kubectl -n boxoffice patch cronjob seat-audit with suspend true", r"patch cronjob seat-audit", kind="command"),
        question("Three of us have ideas and the shop is on fire. How do we go about it?", "One change at a time, each with its UTC time.", (r"one change at a time",), kind="preference"),
        question("Could we take load off the main database by letting the nightly comparison use the copy?", "No, it lagged 41 seconds and would report phantoms.", (r"phantoms?\b",), (r"\b41\b", r"lag|seconds ago"), kind="rejected"),
        question("Which follow-ups of the incident nobody has finished yet?", "An alert on lock waits, and a CI check that refuses LOCK TABLE.", (r"alert on waiting for locks",), (r"refuses .?lock table",), kind="open"),
    ),
    stands=(
        value("pool", (r"default_pool_size|pool size", r"\b200\b")),
        value("payments", (r"halden", r"7200")),
        value("seatmap-pods", (r"it has 8\b", r"20 %")),
        value("board", r"front of house"),
    ),
    foreign=(
        value("relay", r"greylist|FSYNC_BATCH"),
        value("legacy", r"PRM\d{3}|tolva"),
        value("metering", r"stadtwerk|abschläge"),
    ),
)  # fmt: skip
