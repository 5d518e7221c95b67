"""A fleet of Go services. The user writes long paragraphs; the answers are long Markdown with headings and tables."""

from __future__ import annotations

from agent_day.gold import fact, question, value
from agent_day.noise import diff, log, source, tests
from agent_day.script import Compact, Delegate, Edit, Read, Run, Scenario, Search, session, turn

W = "quote ledger account transfer client deadline retry stream cursor token"

LATENCY = session(
    turn(
        "Good morning. Since the release on Tuesday our gateway shows a p99 of about 1.9 seconds on /v1/transfers, while p50 is as flat as ever. The dashboards of the ledger itself look "
        "boring, so I suspect that something between the two costs us the time. Could you have a look at the client code before I page the network people for nothing?",
        Search("grpc.Dial", "internal/ledger/client.go:44:\tconn, err := grpc.DialContext(ctx, addr, opts...)"),
        Read(
            "internal/ledger/client.go",
            source(
                "internal/ledger/client.go",
                160,
                W,
                "\tconn, err := grpc.DialContext(ctx, addr, opts...)\n\tdefer conn.Close()",
            ),
        ),
        Run("kubectl logs deploy/gateway --since=10m", log(320, W, "WARN ledger.dial took=1102ms req=00aa81f2c3")),
        "## What happens\n\nEvery request opens its own connection: `client.go` dials inside the handler and closes it again on the way out. As long as the pool of the old library hid that, nobody saw it; "
        "since Tuesday each transfer pays for a TCP and a TLS handshake, and under load the handshakes queue up behind each other.\n\n## What I suggest\n\nOne `*grpc.ClientConn` per process, made in `main`, handed to the handlers.",
    ),
    turn(
        "That makes a lot of sense, and it is embarrassing that none of us saw it. Please go ahead. While you are in there: I would like errors to be wrapped with %w and a short phrase of what was being attempted, "
        "never a naked `return err`. We spent half of last week reading logs that only said 'deadline exceeded' without a hint of who was calling whom.",
        Edit(
            "internal/ledger/client.go",
            "conn, err := grpc.DialContext(ctx, addr, opts...)",
            "return &Client{conn: conn, timeout: 800 * time.Millisecond}, nil",
        ),
        Run(
            "go test ./...",
            tests(
                340,
                W,
                "--- FAIL: TestTransferClosesConn (0.02s)\n    client_test.go:71: expected conn closed, state READY\nFAIL\tgateway/internal/ledger\t0.611s",
            ),
            failed=True,
        ),
        Edit("internal/ledger/client_test.go", "expected conn closed", "the connection outlives the call"),
        Run("go test ./...", tests(340, W, "ok  \tgateway/internal/ledger\t0.598s")),
        "The connection is made once and shared. Calls to the ledger carry a deadline of 800 ms, calls to quotes one of 800 ms as well. "
        "I wrapped the fourteen bare returns in that package; the test that expected a closed connection now expects the opposite.",
    ),
    turn(
        "Which ports do the services use locally again? I keep mixing them up when I start two of them by hand, and the README is from a time when we had only one.",
        Read("deploy/local/compose.yaml", source("deploy/local/compose.yaml", 70, W)),
        "| service | port | metrics |\n|---|---|---|\n| gateway | 7010 | 9110 |\n| ledger | 7011 | 9111 |\n| quotes | 7012 | 9112 |\n| notifier | 7013 | 9113 |\n",
    ),
    turn(
        "Thanks. How is a release done these days, is it still `make ship` from a clean main, and who has to approve the notifier? I remember Priya owning it but she was away for a while.",
        Read("docs/releasing.md", source("docs/releasing.yaml", 50, W)),
        "Still `make ship ENV=prod` from a clean main, after the canary has been green for 20 minutes. The notifier is owned by Priya Raman; CODEOWNERS lists her for `services/notifier`.",
    ),
)

MESH = session(
    turn(
        "I have been asked by the platform group whether we would join their service mesh. They run linkerd. I am sceptical, but I would like a fair comparison before I answer, so please look at what it would bring us "
        "concretely, given that we have exactly four services and all of them speak gRPC already.",
        Delegate(
            "Compare mesh options",
            "Look at our four services and list what linkerd would add over what we do in code today.",
            "mTLS: we have it through cert-manager. Retries: in code. Load balancing per request: missing today, since kube-proxy balances connections. Cost: a sidecar each, 40 MB, and about 1.5 ms.",
        ),
        "### Short answer\n\nThe one thing we lack is balancing per request, and a headless service with `round_robin` in the client gives us that with two lines. Everything else we have.\n\n### Why not the mesh\n\n"
        "- four sidecars of 40 MB and 1.5 ms per hop\n- a second place where retries are configured, and they would multiply with ours\n- nobody on the team has run it before\n\nI would tell them no for this year.",
    ),
    turn(
        "Agreed, I told them we pass on linkerd this year and revisit when we have more than ten services. Please do the two lines.",
        Edit(
            "internal/ledger/client.go",
            "grpc.WithTransportCredentials(creds)",
            "grpc.WithTransportCredentials(creds), grpc.WithDefaultServiceConfig(roundRobin)",
        ),
        Run("go test ./internal/...", tests(180, W, "ok  \tgateway/internal/ledger\t0.601s")),
        "Both clients use `round_robin` over the headless services; the pods show an even share of calls on the bench.",
    ),
    turn(
        "We see duplicates in the ledger after the incident of last night: eleven transfers were booked twice. Our retry must be the culprit, but I would like to be sure before I write to the customers.",
        Run("go run ./cmd/replay --night", log(260, W, "WARN transfer.retry attempt=2 key=<empty> req=11fe03a9b2")),
        Read(
            "internal/retry/policy.go",
            source("internal/retry/policy.go", 120, W, "\treturn invoker(ctx, method, req, reply, cc, opts...)"),
        ),
        "Yes. A transfer whose reply got lost was sent again without the key of the first attempt, because the interceptor builds a fresh context for each attempt and the metadata stays behind. "
        "The ledger sees two different requests and books both. Copying the outgoing metadata into the new context is enough; the ledger already refuses a key it knows.",
    ),
    turn(
        "Please fix it like that, with a table test, we write all tests as tables here. I will send the mails.",
        Edit(
            "internal/retry/policy.go",
            "ctx = context.Background()",
            "ctx = metadata.NewOutgoingContext(base, md.Copy())",
        ),
        Run("go test ./internal/retry", tests(44, W, "ok  \tgateway/internal/retry\t0.090s")),
        Run("git commit -am 'retry: carry the key'", "[main c0ffa11] retry: carry the key"),
        "Each attempt carries the metadata of the first. The table in `policy_test.go` has a row for a lost reply, one for a lost request and one for a refused key.",
    ),
)

LIMITS = session(
    turn(
        "The new reporting customers have accounts with 40,000 entries, and the ledger simply needs longer for them. Finance signed off on waiting up to two seconds there. Quotes must stay as snappy as it is, "
        "that one is user facing and I would rather show nothing than something late.",
        Edit("internal/ledger/client.go", "timeout: 800 * time.Millisecond", "timeout: 2 * time.Second"),
        Run("go test ./internal/ledger", tests(60, W, "ok  \tgateway/internal/ledger\t0.633s")),
        Run("git diff HEAD~1", diff("internal/ledger/client.go", W, 40)),
        "The ledger client waits 2 s per call from now on. The quotes client keeps its 800 ms; I put a comment above each constant that names who asked for it.",
    ),
    turn(
        "By the way, Priya has moved to the payments team for good. Marek Dvorak takes the notifier from this week on, he is in the Prague office. Please put him into CODEOWNERS.",
        Edit("CODEOWNERS", "services/notifier @priya-raman", "services/notifier @marek-dvorak"),
        "Done, `services/notifier` belongs to @marek-dvorak in CODEOWNERS.",
    ),
    turn(
        "And since the platform group retired our Makefile targets: could you find out how one ships now and note it in docs/releasing.md?",
        Run("make ship ENV=prod", "make: *** ship has been retired, see fleetctl rollout --help.  Stop.", failed=True),
        Run("fleetctl rollout --help", log(30, W, "Usage: fleetctl rollout SERVICE --env ENV [--canary MINUTES]")),
        Edit("docs/releasing.md", "make ship ENV=prod", "fleetctl rollout gateway --env prod --canary 20"),
        Compact(
            "The user asked to raise the ledger deadline, to change the owner of the notifier in CODEOWNERS, and to document how to ship. The work is nearly done."
        ),
        "`fleetctl rollout gateway --env prod --canary 20` does what the old target did, the canary included. It needs `fleetctl login` once a day. The page in docs says so now.",
    ),
    turn(
        "I have to run. What would be the next thing to do on the retry topic, so that I find it tomorrow?",
        "Quotes has no key at all yet: its calls are retried blindly. Before we may raise `maxAttempts` there, quotes needs to accept the `x-request-key` header and remember keys for ten minutes. I have only looked; no code so far.",
    ),
)

SCENARIO = Scenario(
    name="fleet", client="claude", place="clients/osprey/gateway", remote="git@git.example.com:osprey/gateway.git", words=W, ending="go", tags=frozenset({"quick"}),
    sessions=(LATENCY, MESH, LIMITS),
    facts=(
        fact("dial-per-request", "rootcause", "The gateway dialled the ledger in each request, so each transfer paid for a handshake.", (r"dials?|connection", r"every request|each transfer|inside the handler|handshake")),
        fact("wrap-errors", "preference", "Errors are wrapped with %w and a phrase, never a naked return err.", (r"%w|wrapped", r"return err|naked|bare|phrase")),
        fact("no-mesh", "rejected", "No linkerd this year; revisit with more than ten services.", (r"linkerd|mesh", r"pass on|told them no|tell them no|why not|revisit|this year")),
        fact("lost-key", "rootcause", "Transfers were booked twice since a retry lost the key of the first attempt.", (r"metadata|key of the first|without the key", r"attempt|retry|sent again|twice")),
        fact("table-tests", "preference", "All tests are written as tables.", (r"tests?", r"as tables|table test")),
        fact("ledger-deadline", "changed", "The ledger client waits 2 s per call.", (r"ledger", r"\b2 s\b|2 \* time\.Second|two seconds"), was=((r"ledger (carry|client|calls?)?[^|\n]{0,40}deadline of 800|calls to the ledger[^.\n]{0,40}800 ms",),)),
        fact("notifier-owner", "changed", "Marek Dvorak owns the notifier.", (r"notifier", r"marek"), was=((r"notifier", r"priya"),)),
        fact("rollout", "changed", "A release is done with fleetctl rollout gateway --env prod --canary 20.", r"fleetctl rollout", was=((r"make ship ENV=prod|make ship",),)),
        fact("quotes-key", "open", "Open: quotes must accept x-request-key and remember keys for ten minutes before maxAttempts is raised.", (r"quotes", r"x-request-key|no key|remember keys")),
    ),
    questions=(
        question("What caused the slow tail on transfers after the Tuesday release?", "Each request dialled its own connection and paid for a handshake.", (r"dials?|opens its own connection|handshake", r"every request|each transfer|handler|connection"), kind="rootcause"),
        question("How long does the gateway wait for the bookkeeping service?", "2 s for the ledger.", (r"ledger", r"\b2 s\b|2 \* time\.Second|two seconds"), was=((r"ledger", r"deadline of 800 ms"),)),
        question("Who is responsible for the notifier service?", "Marek Dvorak owns the notifier.", (r"notifier", r"marek"), was=((r"notifier", r"priya"),)),
        question("What do I type to bring the gateway to production?", "fleetctl rollout gateway --env prod --canary 20", r"fleetctl rollout gateway", was=(r"make ship ENV=prod",)),
        question("Why were eleven customers charged double?", "The retry was sent without the key of the first attempt.", (r"metadata|without the key|fresh context", r"attempt|retry|ledger"), kind="rootcause"),
        question("Did we say yes to the platform group's sidecars?", "No, we pass on linkerd for this year.", (r"linkerd", r"pass|revisit|tell them no"), (r"tell them no", r"sidecar|mesh"), kind="rejected"),
        question("On which port does quotes listen on my laptop?", "7012.", r"\b7012\b"),
        question("How are failures supposed to be returned from functions?", "Wrapped with %w and a short phrase.", (r"%w",), (r"wrapped", r"bare returns|naked"), kind="preference"),
        question("What has to happen before quotes may be retried more often?", "quotes must accept x-request-key and remember keys for ten minutes.", (r"x-request-key",), kind="open"),
        question("Which style do the tests follow?", "Table tests.", (r"as tables|table test|the table in",), kind="preference"),
        question("How are calls spread over the pods?", "round_robin over headless services.", r"round_?robin"),
    ),
    stands=(
        value("quotes-deadline", (r"quotes", r"800 ms")),
        value("ledger-port", (r"ledger \| 7011|\b7011\b",)),
        value("canary", (r"canary", r"20 minutes|--canary 20")),
    ),
    foreign=(
        value("watchdog", r"watchdog|wdt"),
        value("west", r"west flash|nanopb"),
        value("tern", r"tern-field|bench-mq"),
    ),
)  # fmt: skip
