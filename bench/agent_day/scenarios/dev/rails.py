"""A Rails monolith of a garden shop. The user is friendly and types with mistakes; answers are of middle length."""

from __future__ import annotations

from agent_day.gold import fact, question, value
from agent_day.noise import log, source, tests
from agent_day.script import Edit, Read, Run, Scenario, Search, Write, session, turn

W = "order invoice plant basket customer shipment voucher stock product return"

SLOW_ORDERS = session(
    turn(
        "heya! the admin orders page takes like 9 secs since last month, customers page is fine. any idea?",
        Run(
            "tail -n 500 log/development.log",
            log(380, W, "Completed 200 OK in 9114ms (Views: 8420.1ms | ActiveRecord: 611.9ms)"),
        ),
        Read(
            "app/models/order.rb",
            source(
                "app/models/order.rb",
                140,
                W,
                "  def total\n    line_items_total || line_items.sum { |one| one.price * one.quantity }\n  end",
            ),
        ),
        Run("bin/rails runner 'puts Order.where(line_items_total: nil).count'", "48211"),
        "`Order#total` falls back to summing line items in Ruby when `line_items_total` is null, and 48,211 orders from before March have no value there: the column was added without filling the old rows. "
        "A backfill in batches plus a default would make the page quick again.",
    ),
    turn(
        "ah nice catch!! yes backfill please. oh and one thing, no callbacks in models pls, we got burned so often. put stuff like that into app/services",
        Write("app/services/backfill_order_totals.rb", source("app/services/backfill_order_totals.rb", 40, W)),
        Run("bin/rspec spec/services", tests(120, W, "120 examples, 0 failures")),
        "Filled in batches of 2,000 through `BackfillOrderTotals`; the admin page takes 0.7 s on a copy of production. There is no callback anywhere in it.",
    ),
    turn(
        "whats our db version on prod, need it for the heroku ticket",
        Run("bin/rails dbconsole -- -c 'select version()'", "PostgreSQL 14.11 on x86_64-pc-linux-gnu"),
        "Production runs PostgreSQL 14.11. Redis there is 7.2.",
    ),
    turn(
        "and where do invoice pdfs live? accountng asks",
        Search(
            "invoices",
            "config/storage.yml:12:  bucket: meadow-invoices\napp/services/render_invoice.rb:31:  upload(pdf, key: number)",
        ),
        "Invoice PDFs are in the bucket `meadow-invoices`, one object per number. Product photos are somewhere else, in `meadow-media`.",
    ),
    turn(
        "sidekiq is always behind in the morning, can we bump it a bit",
        Edit("config/sidekiq.yml", ":concurrency: 5", ":concurrency: 10"),
        "The default worker runs with a concurrency of 10. The mailer worker has its own file and stays at 5, the mail provider throttles us beyond that.",
    ),
)

API = session(
    turn(
        "mobile folks want graphql. do we want graphql? be honest",
        Read(
            "app/controllers/api/products_controller.rb", source("app/controllers/api/products_controller.rb", 150, W)
        ),
        "Honestly, I would not. They have eleven screens and each maps onto one endpoint that exists; what hurts them is that fields change under their feet. A version in the Accept header cures that, "
        "while GraphQL would bring its own batching, caching and rate limiting into a monolith that has all three for REST already.",
    ),
    turn(
        "lol ok, told them no graphql. lets do the header thing then",
        Edit("config/routes.rb", "namespace :api do", "namespace :api, constraints: ApiVersion.new(2) do"),
        Run(
            "bin/rspec spec/requests/api",
            tests(
                210,
                W,
                "  1) GET /api/products without a version answers 406\n     Failure/Error: expect(response).to have_http_status(:not_acceptable)\n       expected 406 but got 200\n\n210 examples, 1 failure",
            ),
            failed=True,
        ),
        Edit("app/lib/api_version.rb", "accept.nil? ||", ""),
        Run("bin/rspec spec/requests/api", tests(210, W, "210 examples, 0 failures")),
        "Clients send `Accept: application/vnd.meadow.v2+json`; without it they get a 406. Version 1 keeps answering until the app from last autumn has died out.",
    ),
    turn(
        "how can i run only the quick specs? whole suite is 14 min",
        Read(".rspec", "--require spec_helper"),
        "`bin/rspec --tag ~slow` leaves out the browser flows and takes about two minutes. CI runs all of them on every push.",
    ),
    turn(
        "checkout in safari adds the voucher twice sometimes?? only from the cart drawer",
        Search(
            "voucher",
            "app/javascript/cart_drawer.js:55:  form.addEventListener('turbo:submit-end', apply)\napp/javascript/cart_drawer.js:61:  form.addEventListener('submit', apply)",
        ),
        Read("app/javascript/cart_drawer.js", source("app/javascript/cart_drawer.js", 110, W)),
        "The drawer listens to `submit` and to `turbo:submit-end`, and Safari fires the second one even when Turbo has been told to stay out. So `apply` runs once per event. One listener is enough; I kept `turbo:submit-end`.",
    ),
    ends=False,
)

UPGRADE = session(
    turn(
        "db got upgraded to 16 over the weekend btw, went smooth. can you check that ci uses the same",
        Edit(".github/workflows/ci.yml", "image: postgres:14", "image: postgres:16"),
        Run("bin/rspec --tag ~slow", tests(400, W, "812 examples, 0 failures")),
        "CI uses `postgres:16` as well, so both agree. `pg_stat_statements` had to be created again on the new server, the rest came along.",
    ),
    turn(
        "still behind in the morning :( give it 25, the dyno can take it",
        Edit("config/sidekiq.yml", ":concurrency: 10", ":concurrency: 25"),
        "25 for the default worker. The database pool has to be as large, so `RAILS_MAX_THREADS` is 25 in the same process; mails are left at 5.",
    ),
    turn(
        "finance wants all docs in one bucket. move invoices to meadow-docs under invoices/ pls",
        Edit("config/storage.yml", "bucket: meadow-invoices", "bucket: meadow-docs\n  prefix: invoices/"),
        Run("bin/rake storage:copy[meadow-invoices,meadow-docs]", log(90, W, "copied 131,022 objects")),
        "New invoices are written to `meadow-docs/invoices/`, and the 131,022 existing ones have been copied there. The photos stay in `meadow-media`.",
    ),
    turn(
        "last thing for today: norway tax export. where are we",
        Read("app/services/norway_tax_export.rb", source("app/services/norway_tax_export.rb", 120, W)),
        "The export writes sales per month and passes their validator. Returns are not in it: a returned order has to show up as a negative line in the month of the return, and nobody has told us yet which code Norway wants for those. So that waits for an answer from Ingrid at the tax office.",
    ),
)

SCENARIO = Scenario(
    name="rails", client="claude", place="code/meadow", remote="https://git.example.org/meadow/meadow.git", words=W, ending="rb",
    sessions=(SLOW_ORDERS, API, UPGRADE),
    facts=(
        fact("null-totals", "rootcause", "The orders page was slow since old orders have no line_items_total and are summed in Ruby.", (r"line_items_total|summing line items|Order#total", r"null|no value|old rows|in ruby|backfill")),
        fact("no-callbacks", "preference", "No callbacks in models; such code goes to app/services.", (r"callbacks?", r"models|app/services|burned|anywhere")),
        fact("postgres", "changed", "The database is PostgreSQL 16.", (r"postgres(ql)?\W{0,2}(:| )?\s?16|db got upgraded to 16|upgraded to 16",), was=((r"postgres(ql)?", r"\b14(\.11)?\b"),)),
        fact("invoices", "changed", "Invoice PDFs are in meadow-docs/invoices/.", (r"invoices?", r"meadow-docs"), was=((r"invoice", r"meadow-invoices"),)),
        fact("concurrency", "changed", "The default Sidekiq worker has a concurrency of 25.", (r"sidekiq|default worker|concurrency|RAILS_MAX_THREADS", r"\b25\b"), was=((r"default worker|concurrency", r"\b10\b"),)),
        fact("no-graphql", "rejected", "No GraphQL for the mobile clients.", (r"graphql", r"would not|told them no|no graphql|rejected|bring its own")),
        fact("api-version", "decision", "API clients choose the version by the Accept header application/vnd.meadow.v2+json.", (r"accept", r"vnd\.meadow\.v2|version in the accept|406")),
        fact("quick-specs", "command", "bin/rspec --tag ~slow runs the quick specs.", r"--tag ~slow"),
        fact("safari", "rootcause", "The drawer listened to two events in Safari, so the voucher was applied twice.", (r"turbo:submit-end|listen", r"safari|twice|once per event|one listener")),
        fact("norway", "open", "Open: returns are missing in the Norwegian tax export; waiting for Ingrid.", (r"norw|tax|export", r"returns? (are )?not in it|ingrid|negative line")),
    ),
    questions=(
        question("Why did the list of orders in the back office load so slowly?", "Old orders have a null line_items_total, so the sum is done in Ruby.", (r"line_items_total|summing", r"null|in ruby|no value"), kind="rootcause"),
        question("Which Postgres version does production run?", "PostgreSQL 16.", (r"postgres(ql)?\W{0,2}(:| )?\s?16|upgraded to 16",), was=((r"postgres(ql)?", r"\b14\.11\b"),)),
        question("Which bucket holds the invoice PDFs?", "Invoices are in meadow-docs/invoices/.", (r"meadow-docs",), was=((r"invoice", r"bucket .?meadow-invoices"),)),
        question("How many jobs does the default background worker handle in parallel?", "25, the concurrency of the default worker.", (r"worker|concurrency|sidekiq", r"\b25\b"), was=((r"concurrency|worker", r"(of|:) 10\b"),)),
        question("How does a phone app pick the API version?", "By the Accept header application/vnd.meadow.v2+json.", r"vnd\.meadow\.v2"),
        question("Did we agree to offer GraphQL?", "No, told them no graphql.", (r"graphql", r"would not|told them no"), kind="rejected"),
        question("What was behind the voucher being counted twice in Safari?", "Safari fires turbo:submit-end too, so apply ran once per event.", (r"turbo:submit-end", r"safari|once per event|listen"), kind="rootcause"),
        question("How do I skip the browser tests when I run the suite?", "bin/rspec --tag ~slow", r"--tag ~slow", kind="command"),
        question("What is missing in the export for Norway?", "Returns as negative lines; waiting for Ingrid.", (r"returns? (are )?not in it|negative line|ingrid",), kind="open"),
        question("May I put an after_save callback into a model?", "No callbacks in models, use app/services.", (r"no callbacks?", r"models|services|anywhere"), kind="preference"),
        question("Which bucket has the pictures of the plants?", "meadow-media.", r"meadow-media"),
    ),
    stands=(
        value("mailer", (r"mail", r"\b5\b")),
        value("redis", (r"redis", r"7\.2")),
        value("photos", r"meadow-media"),
    ),
    foreign=(
        value("warehouse", (r"postgres(ql)?", r"15\.\d")),
        value("linkerd", r"linkerd|fleetctl"),
        value("watchdog", r"watchdog|nanopb"),
    ),
)  # fmt: skip
