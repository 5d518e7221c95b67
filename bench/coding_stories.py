"""What happened in the made-up coding sessions: services, stories, facts and notes. Data only."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Service:
    name: str
    about: str  # what people call it who do not know its name
    prefix: str
    files: tuple[str, ...]
    functions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Story:
    turns: dict[str, str]
    questions: tuple[tuple[str, str, str], ...]  # turns that answer, category, question


SERVICES = (
    Service(
        "ledgerd",
        "the bookkeeping daemon",
        "LDG",
        ("src/ledger/post.py", "src/ledger/close_period.py"),
        ("postEntries", "close_period"),
    ),
    Service(
        "parcel-api",
        "the shipping backend",
        "PCL",
        ("parcel/routes/label.ts", "parcel/carriers/rates.ts"),
        ("createLabel", "quoteRates"),
    ),
    Service(
        "nightjar",
        "the overnight batch runner",
        "NJR",
        ("nightjar/plan.go", "nightjar/worker/loop.go"),
        ("planRun", "drainQueue"),
    ),
    Service(
        "atrium",
        "the customer portal",
        "ATR",
        ("atrium/pages/Account.tsx", "atrium/state/session.ts"),
        ("useAccount", "restoreSession"),
    ),
    Service(
        "quill",
        "the document editor",
        "QLL",
        ("quill/doc/merge.rs", "quill/doc/cursor.rs"),
        ("merge_ops", "shift_cursor"),
    ),
    Service(
        "beacon",
        "the notification sender",
        "BCN",
        ("beacon/push/fanout.py", "beacon/mail/render.py"),
        ("fanOut", "render_mail"),
    ),
    Service(
        "granary",
        "the data warehouse loader",
        "GRN",
        ("granary/load/stage.py", "granary/schema/evolve.py"),
        ("stageRows", "evolve_schema"),
    ),
    Service(
        "tollgate",
        "the login and permission service",
        "TGT",
        ("tollgate/token/mint.go", "tollgate/policy/check.go"),
        ("mintToken", "checkPolicy"),
    ),
)

STORIES = (
    Story(
        {
            "ask": "user: {svc} keeps falling over under load since this morning, can you look at {file}?",
            "trace": 'tool: Traceback (most recent call last):\n  File "{file}", line {line}, in {func}\n    conn = pool.acquire(timeout=5)\nPoolExhausted: {code}: no free connection after {ms} ms (size={num}, waiting=311)',
            "why": "assistant: Every request opens a second transaction for the audit row while it still holds the first one. With all slots taken by outer transactions the inner ones wait for each other forever.",
            "fix": "assistant: I write the audit row inside the outer transaction now, so one request needs one slot. Raising the limit would only have hidden it.",
            "test": "tool: 48 passed, 1 skipped in {ms} ms",
            "commit": "tool: [main {sha}] {svc}: one connection per request\n 2 files changed, 31 insertions(+), 44 deletions(-)",
        },
        (
            ("why", "cause", "What made {svc} starve itself of database handles?"),
            ("fix", "fix", "How was the deadlock between nested transactions in {svc} resolved?"),
            ("trace", "error code", "{code}"),
            ("why+fix", "cause", "Why did {about} hang when it was busy, and what was changed?"),
        ),
    ),
    Story(
        {
            "ask": "user: amounts in {svc} are off by a cent for some people in Chile, see {func}",
            "look": "tool: {file}:{line}:    return round(total * rate, 2)\n{file}:{line}:    # currency is ignored here",
            "why": "assistant: The peso has no minor unit. We round to two places and later drop the fraction, so about one sum in {num} ends up one too low.",
            "fix": "assistant: Money is kept as whole minor units with the exponent taken from the currency table; floats are gone from {func}.",
            "decide": "user: good. From now on no floating point for money anywhere, please keep to that.",
            "commit": "tool: [main {sha}] {svc}: integers for money\n 5 files changed",
        },
        (
            ("why", "cause", "Which rounding mistake hit South American users of {about}?"),
            ("decide", "decision", "What rule about representing prices came out of the {svc} bug?"),
            ("look", "path", "where in {file} was the currency disregarded"),
            ("fix", "fix", "How does {func} in {svc} represent sums after the change?"),
        ),
    ),
    Story(
        {
            "ask": "user: the container of {svc} gets killed every few hours, nothing in the log",
            "tool": "tool: dmesg | tail -3\n[8123.4] Out of memory: Killed process {pid} ({svc}) total-vm:4194304kB, anon-rss:2087312kB",
            "guess": "assistant: My first suspicion was the response cache, but a heap dump shows it holds only {num} MB.",
            "why": "assistant: The real culprit is the metrics registry: each request id becomes a label, and label sets are never dropped.",
            "fix": "assistant: Request ids are out of the labels; they go to the trace instead. Resident size has stayed flat for six hours.",
            "ok": "user: great, that was driving me mad",
        },
        (
            ("why", "cause", "What was leaking in {svc}?"),
            ("guess", "rejected", "Which suspect for the {svc} kills turned out to be innocent?"),
            ("tool", "tool output", "kernel message when {about} was terminated"),
            ("tool", "error code", "Killed process {pid}"),
        ),
    ),
    Story(
        {
            "ask": "user: can we speed up the test suite of {svc}? it takes ages",
            "measure": "tool: slowest durations\n{ms}.12s setup tests/{svc}/conftest.py::database\n3.40s call {file}::{func}",
            "why": "assistant: Nearly all of it is the fixture that migrates an empty schema again for every single case.",
            "fix": "assistant: I migrate once, then copy the template database for each case. The whole run went from eleven minutes to two.",
            "prefer": "user: nice. And please never mock the database in this project, I want real ones only.",
            "commit": "tool: [main {sha}] tests: template database",
        },
        (
            ("why", "cause", "Why were {svc}'s checks so slow?"),
            ("prefer", "preference", "How should storage be treated in tests of {about}?"),
            ("fix", "fix", "What brought the duration of the {svc} suite down?"),
            ("measure", "path", "tests/{svc}/conftest.py"),
        ),
    ),
    Story(
        {
            "ask": "user: deploys of {svc} fail in the new region",
            "log": "tool: helm upgrade {svc} ./chart\nError: UPGRADE FAILED: {code}: timed out waiting for the condition; readiness probe http://:{port}/ready refused",
            "why": "assistant: The pod listens on IPv4 only, and the new cluster gives probes an IPv6 address.",
            "fix": "assistant: Bind to [::] and keep the old address as a fallback; chart value listenFamily defaults to dual.",
            "docs": "assistant: I also noted it in docs/runbooks/{svc}.md under Networking.",
            "thanks": "user: works, rolled out everywhere",
        },
        (
            ("why", "cause", "What was wrong with health checks of {svc} after moving?"),
            ("log", "error code", "UPGRADE FAILED {code}"),
            ("docs", "path", "Which runbook describes the network setup of {about}?"),
            ("fix", "fix", "listenFamily {svc}"),
        ),
    ),
    Story(
        {
            "ask": "user: people say they get signed out at random in {svc}",
            "repro": "assistant: Reproduced: open two tabs, let both refresh at the same moment, and one of them loses.",
            "why": "assistant: The refresh secret is single-use. The slower tab presents one that was already spent, and the server revokes the whole family as stolen.",
            "fix": "assistant: A spent secret stays valid for {num} seconds more if it comes from the same device. Real theft is still caught after that.",
            "review": "user: security is fine with the grace period, merge it",
            "commit": "tool: [main {sha}] {svc}: grace for concurrent refresh ({func})",
        },
        (
            ("why", "cause", "Why did users of {about} lose their logins?"),
            ("repro", "steps", "How can the random sign-outs in {svc} be provoked?"),
            ("review", "decision", "Who approved tolerating reused tokens for a short while in {svc}?"),
            ("fix", "fix", "For how long may an already consumed refresh secret be replayed in {svc}?"),
        ),
    ),
    Story(
        {
            "ask": "user: upgrade {svc} to the new major version of the framework",
            "build": "tool: error {code}: {file}({line},17): Property 'context' does not exist on type 'Request'",
            "plan": "assistant: Three things break: middleware order, the removed context bag, and error pages. I go through them one at a time.",
            "bag": "assistant: Instead of the context bag each value now travels as an argument of {func}; that also made the hidden dependency on the tenant visible.",
            "hold": "user: leave the error pages on the old renderer for now, marketing wants to redo them anyway",
            "done": "tool: build succeeded, 0 errors, {num} warnings",
        },
        (
            ("hold", "decision", "What did we postpone during the framework migration of {svc}?"),
            ("bag", "fix", "What replaced the request-scoped storage in {about}?"),
            ("build", "error code", "compiler error {code}"),
            ("plan", "steps", "Which incompatibilities had to be dealt with when {svc} was upgraded?"),
        ),
    ),
    Story(
        {
            "ask": "user: add retries to the outgoing calls of {svc}",
            "warn": "assistant: Careful: {func} is not idempotent. Trying again after a lost answer would do the work twice.",
            "fix": "assistant: Each call carries a key made from the order and the attempt's purpose; the other side drops repeats. Back-off is exponential with jitter, at most {num} tries.",
            "limit": "user: cap the total at thirty seconds, callers give up after that",
            "diff": "tool: diff --git a/{file} b/{file}\n@@ -{line},6 +{line},19 @@\n+    for attempt in backoff(limit={num}, total=30):",
            "commit": "tool: [main {sha}] {svc}: safe retries",
        },
        (
            ("warn", "risk", "What danger is there in repeating requests from {svc}?"),
            ("limit", "decision", "Upper bound for the time {about} may spend on another attempt"),
            ("fix", "fix", "How are duplicates avoided when {svc} sends again?"),
            ("diff", "path", "diff of {file} with backoff"),
        ),
    ),
    Story(
        {
            "ask": "user: the nightly job in {svc} ran twice on Sunday",
            "log": "tool: 2025-03-30T02:30:00+01:00 {svc}[{pid}] start {func}\n2025-03-30T03:30:00+02:00 {svc}[{pid}] start {func}",
            "why": "assistant: The schedule is in local time. When the clocks change, half past two is skipped, and the catch-up logic starts what the regular timer starts as well.",
            "fix": "assistant: Schedules are in UTC now, and a run takes a lock named after its date.",
            "check": "assistant: {num} duplicated rows were found and removed by hand, with a copy in backup/{svc}-{sha}.csv.",
            "bye": "user: ok, closing the ticket",
        },
        (
            ("why", "cause", "How did daylight saving confuse {about}?"),
            ("check", "path", "Where are the surplus rows kept that were deleted after the double run of {svc}?"),
            ("fix", "fix", "What prevents a second execution on the same day in {svc}?"),
            ("log", "tool output", "log lines with start {func} at 02:30"),
        ),
    ),
    Story(
        {
            "ask": "user: page loads in {svc} are slow for big accounts",
            "plan": "tool: EXPLAIN ANALYZE\nSeq Scan on events (cost=0.00..{ms}.00 rows=1900000) Filter: (account_id = $1 AND deleted_at IS NULL)",
            "why": "assistant: There is an index on account_id, but the planner ignores it because the statistics think every account has the same number of events.",
            "fix": "assistant: A partial index on (account_id, created_at) where deleted_at is null; p95 fell from {ms} ms to {num} ms.",
            "ask2": "user: does this slow down inserts?",
            "cost": "assistant: Measured: writes got about two percent slower, which nobody will notice.",
        },
        (
            ("why", "cause", "Why was the existing index not used in {svc}?"),
            ("cost", "risk", "What does the additional index of {about} cost on the write path?"),
            ("fix", "fix", "What made pages of large accounts quick in {svc}?"),
            ("plan", "tool output", "query plan with a sequential scan in {svc}"),
        ),
    ),
    Story(
        {
            "ask": "user: which license does the parser in {svc} have? legal is asking",
            "scan": "tool: license-scan {file}\nfastgrammar 2.{num}  GPL-3.0-only  (direct)",
            "why": "assistant: That one obliges us to publish our own source if we ship it, so it cannot stay in a product we distribute.",
            "choose": "assistant: Candidates: write our own, buy the commercial edition, or switch to pegleg (MIT). pegleg lacks incremental parsing but {func} does not need it.",
            "decide": "user: take pegleg",
            "commit": "tool: [main {sha}] {svc}: pegleg replaces fastgrammar",
        },
        (
            ("decide+choose", "decision", "What grammar library did we settle on for {svc}?"),
            ("why", "cause", "Why did the old parser of {about} have to go for legal reasons?"),
            ("scan", "tool output", "fastgrammar GPL finding {svc}"),
            ("choose", "rejected", "Which alternatives to the copyleft dependency were weighed for {svc}?"),
        ),
    ),
    Story(
        {
            "ask": "user: umlauts are broken in exports of {svc}",
            "hex": "tool: xxd export.csv | head -1\n00000000: 4dc3 83c2 bc6c 6c65 722c 3132  M....ller,12",
            "why": "assistant: The text is encoded twice: {func} gets bytes that are UTF-8 already and treats them as Latin-1.",
            "fix": "assistant: Decoding happens once at the edge; inside there are only strings. Old files can be repaired with scripts/unmangle.py.",
            "excel": "user: Excel still shows nonsense unless there is a BOM, add one please",
            "commit": "tool: [main {sha}] {svc}: decode once, BOM for spreadsheets",
        },
        (
            ("why", "cause", "Why do German names come out garbled from {about}?"),
            ("fix", "path", "Which script mends files with mojibake that {svc} already wrote?"),
            ("excel", "preference", "Why do {svc} exports begin with a byte order mark?"),
            ("hex", "tool output", "hex dump of export.csv from {svc}"),
        ),
    ),
    Story(
        {
            "ask": "user: two of us edited the same record in {svc} and one edit vanished",
            "why": "assistant: Classic lost update: {func} reads, changes and writes back the whole row without looking whether someone was there in between.",
            "options": "assistant: We could lock the row while a form is open, or refuse the later save. Locks left behind by closed laptops are worse than the occasional refusal.",
            "decide": "user: refuse the later one, but show both versions side by side",
            "fix": "assistant: Rows carry a version; a stale save answers 409 {code} with the current state. File: {file}.",
            "commit": "tool: [main {sha}] {svc}: optimistic concurrency",
        },
        (
            ("options", "rejected", "What speaks against pessimistic locking in {svc}?"),
            ("decide", "decision", "What should happen in {about} when two people change one entry?"),
            ("why", "cause", "How could a colleague's modification disappear in {svc}?"),
            ("fix", "error code", "409 {code}"),
        ),
    ),
    Story(
        {
            "ask": "user: CI for {svc} is red only on the arm runners",
            "log": "tool: --- FAIL: {func} (0.0{num}s)\n    {file}:{line}: got 2147483648 want -2147483648",
            "why": "assistant: Converting an out-of-range float to an int is undefined; x86 wraps and arm saturates. The test had the x86 answer baked in.",
            "fix": "assistant: Values are clamped before the conversion, and the expectation is the same on both now.",
            "flaky": "user: and quarantine the screenshot comparison, it fails every third time",
            "commit": "tool: [main {sha}] {svc}: clamp before convert",
        },
        (
            ("why", "cause", "What differs between processors in the failing build of {svc}?"),
            ("flaky", "decision", "Which unreliable check of {about} was set aside?"),
            ("log", "error code", "got 2147483648 want -2147483648 {file}"),
            ("fix", "fix", "How was the platform-dependent number conversion in {svc} made uniform?"),
        ),
    ),
)

FILLER = (
    "user: ok",
    "user: go on please",
    "assistant: Let me look at the surrounding code first.",
    "assistant: Running the tests again to be sure.",
    "tool: On branch main\nYour branch is up to date with 'origin/main'.\nnothing to commit, working tree clean",
    "tool: total 48\n-rw-r--r-- 1 dev dev  812 README.md\n-rw-r--r-- 1 dev dev 2210 Makefile\ndrwxr-xr-x 6 dev dev 4096 src",
    "assistant: That looks unrelated, I leave it alone.",
    "user: what do you think, is that the cause?",
    "user: does it also happen on staging?",
    "assistant: Yes, the same on staging, though less often.",
    "tool: Requirement already satisfied: wheel in ./.venv/lib/python3.11/site-packages",
    "assistant: I would rather fix the cause than add another flag.",
)

FACTS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "User prefers tabs over spaces in Go and four spaces everywhere else",
        ("indentation style?", "How wide should Python code be indented?"),
    ),
    (
        "The production database runs Postgres 15 on db-prod-2, read replica on db-prod-3",
        ("Which machine serves read-only queries?", "version of the live SQL server"),
    ),
    ("Staging is wiped every Monday at 06:00 UTC", ("When is the test environment reset?",)),
    ("Never push to main directly; open a pull request even for typos", ("May I commit straight to the trunk?",)),
    ("Commit messages are in the imperative and at most 60 characters", ("How long may a commit subject be?",)),
    (
        "Dana owns the billing module, Priya the search module",
        ("Who should review changes to invoices?", "Whom do I ask about full-text lookup?"),
    ),
    (
        "Feature flags live in config/flags.toml and are read at start only",
        ("Why does toggling a switch need a restart?", "config/flags.toml"),
    ),
    (
        "API keys rotate every 90 days; the next rotation is run by the ops calendar",
        ("How often are credentials exchanged?",),
    ),
    (
        "We chose SQLite over RocksDB because a single file is easy to back up",
        ("Why not RocksDB?", "reason for the embedded database we use"),
    ),
    (
        "The mobile team still calls /v1/orders, so it cannot be removed before March",
        ("What blocks the removal of the old orders endpoint?",),
    ),
    ("Use pnpm, not npm: the lock file is pnpm-lock.yaml", ("Which JavaScript package manager do we use?",)),
    (
        "Error E4031 means the tenant is suspended, not that a permission is missing",
        ("meaning of E4031", "What does it look like when an account is frozen?"),
    ),
    ("Error E4013 means the request body exceeds 8 MB", ("E4013", "How big may an upload be?")),
    ("The user wants answers in German when the question is in German", ("In which language should I reply?",)),
    ("The user dislikes long explanations; give the command first, reasons after", ("How verbose should answers be?",)),
    ("Releases are cut on the first Wednesday of a month by Tomasz", ("Who makes the release and when?",)),
    (
        "Local development uses port 5173 for the web client and 8081 for the API",
        ("Which port does the frontend listen on at my machine?", "8081"),
    ),
    ("The Redis cluster is only a cache; losing it must not lose data", ("Is it safe to flush Redis?",)),
    ("Logs are kept 30 days hot and one year in cold storage", ("How far back can I look for old log lines?",)),
    (
        "getUserProfile returns null for deleted users, it does not throw",
        ("What does getUserProfile do if somebody was removed?", "user profile lookup of a deleted person"),
    ),
    ("getUserPreferences throws NotFound for deleted users", ("Which preference call raises an exception?",)),
    (
        "Timeouts: gateway 30 s, service 20 s, database 10 s, in that order on purpose",
        ("How long does the gateway wait?", "Why is the SQL limit shorter than the proxy's?"),
    ),
    (
        "The staging password vault is at vault/staging, read-only for developers",
        ("Where do I find secrets of the test environment?",),
    ),
    ("Prefer composition over inheritance in the rendering code", ("How do we like the drawing code structured?",)),
    ("Snapshot tests are updated with make snapshots, never by hand", ("How do I refresh the expected outputs?",)),
    ("The nightly build publishes to registry/nightly with the tag of the date", ("Where do nightly images go?",)),
    ("Windows builds need the long path setting turned on", ("Why does checkout fail on Windows?",)),
    (
        "The import job must be idempotent because the queue delivers at least once",
        ("May the importer see a message twice?",),
    ),
    (
        "User's laptop is a MacBook with an M2; Docker images must be multi-arch",
        ("What processor does the developer have?",),
    ),
    ("Emails to customers are sent only between 8 and 20 local time", ("Quiet hours for messages to clients?",)),
    ("The parser rejects trailing commas since version 3.2", ("When did we become strict about a comma at the end?",)),
    ("CSV exports use semicolons because of the European offices", ("Which separator do spreadsheets get?",)),
    ("Ticket HF-1182 tracks the slow dashboard", ("HF-1182", "Where is the sluggish overview page being followed up?")),
    ("Ticket HF-1128 tracks the broken dark mode", ("HF-1128",)),
    ("Ticket HF-1218 tracks the flaky upload test", ("Which issue is about uploads failing now and then?",)),
    ("The team decided against GraphQL after the spike in April", ("Do we plan to offer GraphQL?",)),
    ("All dates are stored in UTC and shown in the viewer's zone", ("In which time zone are timestamps saved?",)),
    ("The linter is ruff; black and isort were removed", ("What formats our Python?",)),
    (
        "Kubernetes manifests are generated; edit deploy/templates, not deploy/out",
        ("Which folder may I edit for cluster configuration?",),
    ),
    ("The demo account is demo@example.org and resets hourly", ("Which login shows the product to prospects?",)),
    (
        "Payment webhooks are verified with the header X-Signature-256",
        ("How do we know a callback about a charge is genuine?", "X-Signature-256"),
    ),
    ("Rate limit for anonymous callers: 60 per minute per address", ("How many requests without a token?",)),
    ("The user is left-handed and uses vim keybindings", ("Which editor shortcuts does the user like?",)),
    ("Screens smaller than 360 px are not supported", ("Smallest display we care about?",)),
    (
        "Tests that need the network carry the marker online and do not run in CI",
        ("How do I exclude tests that go out to the internet?",),
    ),
    ("The backup of the warehouse runs at 01:15 and takes about 40 minutes", ("When is the warehouse copied?",)),
    ("src/legacy is frozen: only security fixes", ("May I refactor src/legacy?", "Which directory is off limits?")),
    (
        "Proto files are the source of truth; the JSON schemas are derived",
        ("What do I edit to change a message format?",),
    ),
    ("Prod access requires a second person and is logged", ("Can I log in to the live system alone?",)),
    ("The new tax rule for Norway starts on 1 July", ("What changes for Norwegian customers in summer?",)),
)

NOTES: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "Post-mortem of the billing outage. On Tuesday between nine and eleven no invoice could be created. The trigger was a migration that added a column with a default to a table of forty million rows. On the version of Postgres we run in that cluster this rewrites the whole table under an exclusive lock. Nobody saw it in staging because the table there has a few thousand rows. We killed the migration after twenty minutes, but the queue behind it needed another hour to drain. From now on a column is added without a default first, filled in batches, and only then given one.",
        (
            "Why could nobody be charged that morning?",
            "What is the safe way to extend a huge table?",
            "Why did the rehearsal environment not show the lock problem?",
        ),
    ),
    (
        "How events reach the warehouse. Services write to an outbox table in the same transaction as their data. A relay reads the outbox in order and puts each entry on Kafka, keyed by customer, so one customer's events stay in order. The loader keeps its offset in the warehouse itself, next to the rows, so that a crash between the two is impossible. Duplicates can still arrive when the relay restarts; they are dropped by their event id. We looked at change data capture and left it because it ties readers to the table layout.",
        (
            "How do we guarantee ordering of what a single client does?",
            "Why is the consumer position saved beside the data?",
            "Argument against log-based CDC",
        ),
    ),
    (
        "Notes on the memory growth of the search service. The process started at four hundred megabytes and reached three gigabytes within a day. Heap profiles were useless since the growth was outside the managed heap. With the allocator's own statistics it became clear that fragmentation was to blame: many short-lived buffers of slightly different size. Switching to another allocator helped by half; rounding the buffer sizes up to powers of two removed the rest. The lesson is to look at resident size and heap size side by side before hunting for leaks.",
        (
            "Resident size grew though the heap did not: what was it?",
            "How were the differently sized short-lived buffers tamed?",
            "What should be compared before looking for a leak?",
        ),
    ),
    (
        "Decision record about the design of permissions. We considered roles, attributes and relationship tuples. Roles are simple but every large customer wants an exception, which ends in a role per person. Attributes are flexible but nobody could predict what a rule would do. We take relationship tuples, stored as object, relation and subject, with at most five levels of nesting. Answers are cached for ten seconds, so that a revoked right can still work for that long, which the security team accepted in writing.",
        (
            "Which authorisation model did we pick and why not RBAC?",
            "How stale may an access decision be?",
            "How deep may groups contain other groups?",
        ),
    ),
    (
        "Why the mobile app drains the battery. Users of older phones lost a third of their charge in a night. The app asked for the position every thirty seconds even when nothing had moved. The obvious fix, a longer interval, made the map jump. Instead the app now listens to the motion sensor and asks for a position only after real movement. In the background it relies on coarse cell changes. A field test with twenty phones showed two percent loss in a night.",
        (
            "Overnight consumption of phones: what was the reason?",
            "How does the app know when to locate itself?",
            "Result of the trial with real handsets",
        ),
    ),
    (
        "Guide for new colleagues: how a change gets to production. Open a branch, keep it small, and ask the owner of the module for a review. The pipeline builds one artefact, and this same artefact goes to staging and later to production; nothing is rebuilt. Canary instances take five percent of the traffic for thirty minutes. If the error budget of the hour is touched, the rollout stops by itself and the old version stays. Rolling back is the same button with the previous number. There are no deployments after noon on Fridays.",
        (
            "When should one not ship?",
            "What happens automatically if the first instances misbehave?",
            "Is the binary built again for production?",
        ),
    ),
    (
        "Investigation of the duplicate charges. Seventeen people paid twice. The payment provider answers slowly at the end of the month, our gateway gives up after thirty seconds and the browser sends the form again. The provider had accepted the first one by then. A unique constraint on the cart would have caught it, but carts are reused after a failure. We now create the payment intent before the form is shown and send its id along, so that a repeat finds the same intent. All seventeen got their money back with an apology and a voucher.",
        (
            "How did some buyers end up paying two times?",
            "What did the affected people receive?",
            "Why was a uniqueness rule on the basket not an option?",
        ),
    ),
    (
        "The case for TypeScript in the back office. The old code has four hundred files without types, and most incidents of last year were undefined values. A rewrite was estimated at nine months. We chose to convert file by file, starting with the leaves of the import graph, with strict checking for converted files only. A script counts the remaining ones every week and posts the number. After ten weeks, half was done and incidents of that kind had fallen by two thirds.",
        (
            "In which order were sources converted?",
            "What was the most frequent class of failure last year?",
            "How is progress of the conversion made visible?",
        ),
    ),
    (
        "Backups: what we test and why. A backup that was never restored is a hope. Every night the latest copy is restored to an empty machine, the row counts are compared with the source, and a sample of a hundred customers is compared field by field. The check found that large objects in S3 had been left out for three weeks because of a changed prefix. Copies are encrypted with a key that lies in a safe on paper, since a key that lies beside the data protects nothing. Retention is seven daily, five weekly and twelve monthly copies.",
        (
            "Where is the decryption secret for copies kept?",
            "What did the nightly restore rehearsal uncover?",
            "How many old generations are retained?",
        ),
    ),
    (
        "How the search relevance work went. Users complained that exact product numbers were not found first. The analyser split them at the dash, so a number matched everything with the same prefix. We index such tokens a second time as a whole and give the whole a higher weight. Synonyms were tried and taken back: they helped three queries and hurt forty. The largest gain came from dropping words that occur in more than a third of the descriptions. A set of three hundred judged queries is kept in the repository and runs with the tests.",
        ("Why did article codes rank badly?", "Experience with synonyms", "How do we notice if relevance gets worse?"),
    ),
    (
        "About the flaky login test. It failed in one run out of thirty, only on the shared runners. Recording the screen showed that the password field was focused by a script after the typing had begun, so that its first letters went to the name field. Waiting longer made it rarer, not better. The page now focuses the field before it is shown. The test waits for a state, not for a time. We went through all other tests and found eleven sleeps of the same sort, all gone now.",
        (
            "Where did the missing characters of the password go?",
            "How many fixed pauses did we delete from tests?",
            "Why was a longer delay no solution?",
        ),
    ),
    (
        "Plan for splitting the monolith, second version. The first plan cut along the layers and would have made every feature touch four services. The second cuts along the business: catalogue, basket, payment, delivery. The database stays one for the first half year, with a schema for each part and no joins between them; a nightly check fails if someone adds one. Only when the schemas are apart for two months does a part get its own server. Payment goes first because its rules change least.",
        (
            "Which part becomes independent first and for what reason?",
            "Why was slicing by technical tier dropped?",
            "How do we keep tables of different domains from being joined?",
        ),
    ),
    (
        "What we learnt from the load test. The target was two thousand orders a minute. At eight hundred the response time doubled, though processors were idle. All workers were waiting for one lock in the logging library, which wrote to a slow terminal. With logging to a buffer and one writer the target was reached at once. Redis was never above ten percent. The test itself had a fault as well: it used one user, so that everything was cached; with a hundred thousand users the figure is fifteen hundred.",
        (
            "What throttled throughput while CPUs had nothing to do?",
            "Why were the first load figures too optimistic?",
            "Throughput with realistic accounts",
        ),
    ),
    (
        "Rules for public interfaces. Fields are never removed or given another meaning; they are marked as old and stay for two years. New fields are optional. Clients must ignore what they do not know, and our own client is tested against answers with random extra fields. Errors have a stable code, a sentence for people and a link. Lists are always paged, also when they are short today. Times are in RFC 3339 with a zone. Numbers that may exceed 2^53 are strings.",
        (
            "How long do we keep deprecated attributes?",
            "How are very large integers transmitted?",
            "How do we make sure consumers tolerate additions?",
        ),
    ),
    (
        "Accessibility review of the checkout. With a keyboard one could not leave the date picker, and the error summary was not announced by screen readers. Contrast of the grey hints was 2.8 to 1 where 4.5 is required. The picker was replaced by three plain fields, which everybody fills in faster, by the way. Errors get focus and a live region. The review was done with two blind testers who found in an hour more than the automatic tool in a year.",
        (
            "Who discovered most of the barriers?",
            "What took the place of the calendar widget?",
            "Were the hint colours legible enough?",
        ),
    ),
)
