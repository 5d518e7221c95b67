"""The backend of a shop, through Codex. Polite prompts of one or two sentences; answers with lists."""

from __future__ import annotations

from agent_day.gold import fact, question, value
from agent_day.noise import log, source, tests
from agent_day.script import Edit, Read, Run, Scenario, Search, Write, session, turn

W = "cart order payment product price webhook search stock email refund"

WEBHOOKS = session(
    turn(
        "Some orders stay in 'pending' although Stripe shows them as paid. Could you trace one, lumen-orders 88121?",
        Run("pnpm tsx scripts/trace.ts 88121", log(60, W, "webhook payment_intent.succeeded -> 404 order not found")),
        Read(
            "src/webhooks/stripe.ts",
            source(
                "src/webhooks/stripe.ts", 140, W, "  const order = await db.order.findUnique({ where: { intentId } });"
            ),
        ),
        "The webhook comes 80 ms before our own transaction has committed, finds no order, and answers 404; Stripe takes that as final since we return it with `Stripe-Should-Retry: false`.\n\n- answer 409 instead, so that Stripe tries again\n- or store the event first and match later\n\nThe second one survives a slow database as well.",
    ),
    turn(
        "The second one please. We prefer storing every event before doing anything with it, that should be the rule for all providers.",
        Write("src/webhooks/inbox.ts", source("src/webhooks/inbox.ts", 80, W)),
        Run("pnpm test webhooks", tests(160, W, "160 passed")),
        "Every provider's event goes to the table `webhook_inbox` first; a worker matches it afterwards. Order 88121 and 40 others were matched by the first run.",
    ),
    turn(
        "How long do we hold stock for an unpaid cart?",
        Search(
            "HOLD",
            "src/stock/hold.ts:3:export const HOLD_MINUTES = 15;\nsrc/auth/magic.ts:7:export const LINK_MINUTES = 15;",
        ),
        "Stock is held for 15 minutes. Login links are valid for 15 minutes too, but that is a constant of its own.",
    ),
    turn(
        "And which search engine is behind the product search, I have to fill in a form.",
        "Elasticsearch 7.17, one node, index `products-v4`. Sessions and carts are in Redis at `cache-1.lumen.internal:6379`.",
    ),
)

SEARCH = session(
    turn(
        "Elasticsearch costs us 400 a month for 9,000 products. What would you use instead?",
        Run(
            "pnpm tsx scripts/search-bench.ts",
            "elasticsearch p95 41 ms\nmeilisearch p95 12 ms\npostgres tsvector p95 33 ms, typo tolerance none",
        ),
        "Meilisearch: 12 ms at the 95th percentile, handles typos, and fits into 200 MB next to the API. Postgres full text would cost nothing extra, but customers mistype product names constantly and it finds none of those.",
    ),
    turn(
        "Please switch to Meilisearch.",
        Edit("src/search/client.ts", "new ElasticClient(url)", "new MeiliSearch({ host })"),
        Run("pnpm tsx scripts/reindex.ts", log(50, W, "indexed 9,114 products")),
        Run(
            "pnpm test search",
            tests(
                90,
                W,
                'FAIL search ranks exact title first\n  expected "Lumen One", got "Lumen One Case"\n1 failed, 89 passed',
            ),
            failed=True,
        ),
        Edit("src/search/settings.ts", "rankingRules: []", "rankingRules: ['exactness', 'words', 'typo']"),
        Run("pnpm test search", tests(90, W, "90 passed")),
        "Product search runs on Meilisearch 1.11, index `products`. Exactness had to be first in the ranking rules, otherwise cases come before the lamps they belong to.",
    ),
    turn(
        "Please write tests with the real database in a container, we had bad experience with mocked Prisma.",
        Edit("vitest.config.ts", "setupFiles: []", "setupFiles: ['./test/containers.ts']"),
        "The suite starts Postgres in a container once per run. The three files that mocked Prisma use it as well.",
    ),
    turn(
        "Mails with the order confirmation arrive twice for some customers, can you see why?",
        Run("pnpm tsx scripts/mails.ts --twice", log(40, W, "order 90214: sent by api-7f, sent by worker-2")),
        "The confirmation is sent by the API after checkout and again by the new inbox worker once the payment event is matched. The one in the API is a leftover; with it gone, 1 mail per order.",
    ),
    turn(
        "Remove the leftover then, thank you.",
        Edit("src/checkout/complete.ts", "await mail.confirm(order);", ""),
        Run("pnpm test checkout", tests(130, W, "130 passed")),
        "Removed, with a test that counts mails.",
    ),
)

HOLIDAYS = session(
    turn(
        "For the holiday sale customers need more time in the checkout. 30 minutes for the stock, please; the login link is fine as it is.",
        Edit("src/stock/hold.ts", "HOLD_MINUTES = 15", "HOLD_MINUTES = 30"),
        "Carts hold their stock for 30 minutes. Login links: unchanged, 15.",
    ),
    turn(
        "Could we take payments through Klarna ourselves rather than through Stripe? Marketing asks.",
        "Technically yes, but it would bring a second refund flow, a second reconciliation and a contract of its own, for 3 % of the orders. Stripe offers Klarna as a payment method with a switch. I would use the switch.",
    ),
    turn(
        "Good, through Stripe then. How is a hotfix deployed at night?",
        Read("docs/hotfix.md", source("docs/hotfix.yaml", 30, W)),
        "`pnpm release:hotfix --from main --skip-canary`, then watch `/healthz/deep` for five minutes. It asks for a reason and writes it into the deploy log.",
    ),
    turn(
        "Redis moved to the managed one this morning, redis-managed.lumen.example, port 6380 with TLS. Could you adapt the configuration?",
        Edit("config/prod.json", "redis://cache-1.lumen.internal:6379", "rediss://redis-managed.lumen.example:6380"),
        Run("pnpm tsx scripts/ping-redis.ts", "PONG in 3 ms"),
        "The shop talks to `redis-managed.lumen.example:6380` over TLS. Eviction there is `allkeys-lru`, so nothing that must survive may live in it.",
    ),
    turn(
        "What remains for the gift cards? I take it up on Monday.",
        Search("giftCard", "src/payment/gift.ts:40:  // partial redemption"),
        "Gift cards can be bought and redeemed in full. Partial redemption is open: the remaining value has to be written back to the card inside the same transaction as the order, and refunds must go to the card before they go to Stripe. Neither has a test yet.",
    ),
)

BEFORE = session(
    turn(
        "Good morning. Please bump the patch versions of our dependencies.",
        Run("pnpm up --latest --filter '!prisma'", log(50, W, "31 packages updated")),
        Run("pnpm test", tests(420, W, "612 passed")),
        "31 packages, all tests pass. Prisma is left out, it comes with a migration.",
    ),
    turn(
        "Where was Redis before? The monitoring people ask for the old name to delete it.",
        "Before the move it was `cache-1.lumen.internal:6379`. Nothing of ours connects there any more.",
    ),
)

SCENARIO = Scenario(
    name="storefront", client="codex", place="shops/lumen/platform", words=W, ending="ts", tags=frozenset({"quick"}),
    sessions=(WEBHOOKS, SEARCH, HOLIDAYS, BEFORE),
    facts=(
        fact("webhook-race", "rootcause", "Orders stayed pending since the webhook came before our transaction committed and got a 404.", (r"webhook", r"before our own transaction|80 ms|404|committed")),
        fact("inbox", "preference", "Storing every event first, for all providers.", (r"event", r"storing every|webhook_inbox|before doing anything|first")),
        fact("search", "changed", "Product search runs on Meilisearch 1.11.", (r"meilisearch", r"1\.11|switch|runs on|product search"), was=((r"elasticsearch", r"7\.17|products-v4|one node"),)),
        fact("hold", "changed", "Stock is held for 30 minutes.", (r"stock|hold", r"30 minutes|MINUTES = 30"), was=((r"stock is held|HOLD_MINUTES", r"\b15\b"),)),
        fact("redis", "changed", "Redis is redis-managed.lumen.example:6380 with TLS.", (r"redis-managed",), was=((r"cache-1\.lumen\.internal",),)),
        fact("real-db", "preference", "Tests use the real database in a container, no mocked Prisma.", (r"container|mocked prisma", r"database|postgres|prisma")),
        fact("mails", "rootcause", "Confirmations arrived twice since both the API and the inbox worker sent them.", (r"confirmation|mails?", r"inbox worker|leftover|sent by the api|again by")),
        fact("no-klarna", "rejected", "No own Klarna integration; through Stripe.", (r"klarna|second refund flow", r"stripe|switch|second")),
        fact("hotfix", "command", "pnpm release:hotfix --from main --skip-canary", r"release:hotfix"),
        fact("gift", "open", "Open: partial redemption of gift cards, refunds to the card first, no tests.", (r"partial redemption|gift cards?", r"open|remaining value|neither has|refunds must")),
    ),
    questions=(
        question("Why did paid orders stay pending?", "The webhook arrived before our own transaction had committed and got a 404.", (r"before our own transaction|80 ms", r"webhook|commit"), kind="rootcause"),
        question("What engine does the product search use?", "Meilisearch 1.11.", (r"meilisearch", r"1\.11|runs on|switch to"), was=((r"elasticsearch", r"7\.17"),)),
        question("For how long is stock reserved for an unpaid cart?", "Stock is held for 30 minutes.", (r"stock", r"30 minutes"), was=((r"stock is held", r"15 minutes"),)),
        question("How long is a login link valid?", "Login links are valid for 15 minutes.", (r"login links?", r"\b15\b")),
        question("Where does Redis run for the shop?", "redis-managed.lumen.example:6380", r"redis-managed", was=((r"redis", r"cache-1\.lumen\.internal"),)),
        question("Why did customers get two confirmations?", "API and inbox worker both sent one.", (r"inbox worker|leftover", r"confirm|api|mail"), kind="rootcause"),
        question("Do we integrate Klarna directly?", "No, through Stripe, a second refund flow is not worth it.", (r"second refund flow|through stripe",), kind="rejected"),
        question("How do I ship a hotfix at night?", "pnpm release:hotfix --from main --skip-canary", r"release:hotfix", kind="command"),
        question("What is still to do for gift cards?", "Partial redemption: write back the remaining value; refunds to the card.", (r"partial redemption", r"remaining|open|refunds"), kind="open"),
        question("May tests mock Prisma?", "No, real database in a container.", (r"container", r"prisma|database|postgres"), kind="preference"),
        question("What happens to an incoming provider event first?", "It is stored in webhook_inbox.", (r"webhook_inbox|storing every event",)),
    ),
    stands=(
        value("login-link", (r"login links?", r"\b15\b")),
        value("eviction", r"allkeys-lru"),
        value("one-mail", (r"1 mail per order|counts mails",)),
    ),
    foreign=(value("karst", r"atlantis|karst|pagerduty"), value("k8s", r"kubernetes|eu-north-1")),
)  # fmt: skip
