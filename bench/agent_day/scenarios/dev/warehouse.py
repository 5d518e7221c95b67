"""A dbt warehouse of a bike rental. The user types terse lower-case lines; the answers are two or three sentences."""

from __future__ import annotations

from agent_day.gold import fact, question, value
from agent_day.noise import diff, log, matches, source, tests
from agent_day.script import Edit, Read, Run, Scenario, Search, Write, session, turn

W = "rider trip dock city tariff refund invoice snapshot mart staging"

REFUNDS = session(
    turn(
        "refunds for april are 6% too high in mart_orders, finance is angry. look",
        Run(
            "dbt show --inline \"select count(*), count(distinct refund_id) from {{ ref('mart_orders') }}\"",
            "| count | distinct |\n| 84211 | 79390 |",
        ),
        Search("dim_rider", matches(9, "sql", W, "left join {{ ref('dim_rider') }} r on r.rider_id = o.rider_id")),
        Read(
            "models/marts/mart_orders.sql",
            source(
                "models/marts/mart_orders.sql", 110, W, "left join {{ ref('dim_rider') }} r on r.rider_id = o.rider_id"
            ),
        ),
        "4,821 refunds appear twice. A rider who moved to another city has two rows in `dim_rider`, one per validity range, and the join takes both because it matches on `rider_id` alone. Adding `o.ordered_at between r.valid_from and r.valid_to` brings it to 79,390.",
    ),
    turn(
        "yes do that. and name the ctes after what they hold pls, i never want to see one called final or tmp again",
        Edit(
            "models/marts/mart_orders.sql",
            "on r.rider_id = o.rider_id",
            "on r.rider_id = o.rider_id and o.ordered_at between r.valid_from and r.valid_to",
        ),
        Run("dbt build --select mart_orders+", tests(64, W, "Done. PASS=64 WARN=0 ERROR=0 SKIP=0 TOTAL=64")),
        Run(
            "git commit -am 'mart_orders: join riders by validity'",
            "[main 41fa0c9] mart_orders: join riders by validity",
        ),
        "Joined by validity; counts agree with finance to the cent. The CTEs are `paid_orders`, `refunds_per_order` and `riders_at_order_time`.",
    ),
    turn(
        "what runs when? need it for the newcomer",
        Read("orchestration/schedule.yml", source("orchestration/schedule.yml", 60, W)),
        "- incremental build: every night at 03:15\n- full refresh: every Sunday at 05:00\n- source freshness: hourly; alerts go to #dw-noise\n- test failures: go to #dw-noise as well\n- docs site: `dbt docs generate`, daily at noon",
    ),
    turn(
        "and where does bi read, and what do i run ahead of a pull request",
        Read("profiles/README.md", source("profiles/README.yaml", 30, W)),
        "The dashboards read the schema `serving_eu`; raw loads sit in `landing`. Ahead of a pull request it is `dbt build --select state:modified+ --defer --state prod-artifacts`.",
    ),
)

COST = session(
    turn(
        "bill doubled. why",
        Run("snow sql -f ops/credits_by_query.sql", log(90, W, "full_refresh  credits=311  share=0.58")),
        "58 percent of the credits are the full refresh: it rebuilds 3.1 billion trip rows each week, though only tariffs ever change backwards.",
    ),
    turn(
        "ok. weekly is silly then. first saturday of the month is enough, same hour. nightly stays",
        Write(
            "orchestration/schedule.yml",
            source("orchestration/schedule.yml", 58, W, "full_refresh:\n  cron: '0 5 1-7 * 6'"),
        ),
        "The rebuild from scratch is monthly, on the first Saturday at 05:00. That should save about 230 credits a month.",
    ),
    turn(
        "someone in the guild wants great expectations on top. worth it?",
        Search("great_expectations", ""),
        "I would not. All 22 expectations on their list exist as dbt tests or are one macro away, and it brings a second runner with its own store of results. It would be two places to look at when something is red.",
    ),
    turn(
        "yeah told them no great expectations here, dbt tests are it",
        "Good. I turned the two missing ones into generic tests: `row_count_close_to` and `no_gap_in_days`.",
        Run("dbt test --select tag:guild", tests(22, W, "Done. PASS=22 WARN=0 ERROR=0")),
        "All 22 pass on production data.",
    ),
)

STALE = session(
    turn(
        "lyon dashboard stuck since fri, nobody told us",
        Run(
            "dbt source freshness --select source:landing.trips_lyon",
            "ERROR STALE freshness of landing.trips_lyon (max_loaded_at 2024-05-03 22:10)",
        ),
        Run(
            "python ops/loader_log.py lyon",
            log(70, W, "WARN loader.lyon skipped file trips_0503.csv: header 'heure_début'"),
        ),
        "The supplier in Lyon renamed a column to `heure_début`, the loader compares headers byte by byte, skips a file that differs and still exits with 0. So the load looked green and nothing arrived. The freshness check did fire 61 times over the weekend; nobody has that channel open on a Sunday.",
    ),
    turn(
        "lol. stale sources ring the duty phone from now on. failed tests can keep spamming the channel, those wait till monday",
        Edit("orchestration/alerts.yml", "freshness: {channel: slack}", "freshness: {channel: opsphone}"),
        Run("python ops/fire_test_alert.py freshness", "sent to opsphone, ack by duty after 40s"),
        "Done and tried once: the duty phone rang after four seconds.",
    ),
    turn(
        "and make that loader exit 1 on a skipped file",
        Edit("ops/loader.py", "log.warning('skipped file %s', name)", "skipped.append(name)"),
        Run("pytest ops -q", tests(31, W, "31 passed in 2.20s")),
        Run("git diff HEAD~1", diff("ops/loader.py", W, 22)),
        "A skipped file ends the load with 1 and the file's name. Headers are compared after normalising accents.",
    ),
    ends=False,
)

MOVE = session(
    turn(
        "bi moved house over the weekend, all dashboards point at gold_shared. check our grants fit",
        Run("snow sql -q 'show grants on schema gold_shared'", log(24, W, "USAGE  ROLE  BI_READER")),
        "They fit: `BI_READER` has usage and select on `gold_shared`, future tables included. Raw loads are still in `landing` and closed to BI.",
    ),
    turn(
        "we have a justfile since yesterday, whats the ci thing called there",
        Read("justfile", "default:\n  just --list\n\nci-build base='main':\n  ./ops/slim_build.sh {{base}}\n"),
        "`just ci-build`. It fetches the artifacts of production by itself and builds what differs, so that is the one to run ahead of a pull request.",
    ),
    turn(
        "2023 trips of lyon are still empty right?",
        Run(
            "dbt show --inline \"select count(*) from {{ ref('fct_trips') }} where city = 'lyon' and year(started_at) = 2023\"",
            "| count |\n| 0 |",
        ),
        "Yes, zero rows. The backfill needs the parquet files that the archive people promised; once they are in `landing.lyon_2023`, one run with `--vars 'backfill: lyon'` does it. Nothing has arrived so far.",
    ),
    turn(
        "k. and no select * in marts pls, saw one yesterday",
        Search("select \\*", "models/marts/mart_docks.sql:3:select * from docks_with_city"),
        Edit(
            "models/marts/mart_docks.sql",
            "select * from docks_with_city",
            "select dock_id, city_id, capacity from docks_with_city",
        ),
        "It was in `mart_docks`; the columns are listed by name.",
    ),
)

SCENARIO = Scenario(
    name="warehouse", client="codex", place="src/heron/warehouse", remote="https://git.example.net/heron/warehouse.git", words=W, ending="sql",
    sessions=(REFUNDS, COST, STALE, MOVE),
    facts=(
        fact("double-riders", "rootcause", "Refunds doubled since riders with two validity rows matched on rider_id alone.", (r"two rows|validity", r"rider_id|dim_rider|riders")),
        fact("cte-names", "preference", "CTEs are named after what they hold, never final or tmp.", (r"ctes?", r"after what they hold|called final|never final")),
        fact("no-ge", "rejected", "No great expectations; dbt tests are enough.", (r"great expectations", r"told them no|\bno great|dbt tests are")),
        fact("lyon-header", "rootcause", "The Lyon load skipped files since a renamed header did not match and it still ended with 0.", (r"heure_début|renamed", r"skip|exits? with 0|header")),
        fact("full-refresh", "changed", "The full refresh runs on the first Saturday of the month at 05:00.", (r"first saturday",), was=((r"full refresh", r"every sunday|each week"),)),
        fact("freshness-alert", "changed", "Stale sources ring the duty phone.", (r"duty phone", r"stale|freshness|rang"), was=((r"freshness[^\n]{0,40}#dw-noise",),)),
        fact("bi-schema", "changed", "The dashboards read the schema gold_shared.", r"gold_shared", was=((r"serving_eu",),)),
        fact("ci-command", "changed", "Run just ci-build ahead of a pull request.", r"just ci-build", was=((r"dbt build --select state:modified\+",),)),
        fact("lyon-backfill", "open", "Open: the backfill of Lyon's 2023 trips waits for the archive's parquet files.", (r"backfill", r"parquet|archive people|nothing has arrived|lyon")),
        fact("nightly", "fact", "The incremental build runs every night at 03:15.", (r"incremental build", r"03:15")),
    ),
    questions=(
        question("why did finance see too many reimbursements for april", "riders with two validity rows matched twice on rider_id alone", (r"two rows|takes both|validity", r"rider"), kind="rootcause"),
        question("when is everything rebuilt from zero", "first Saturday of the month at 05:00", (r"first saturday",), was=((r"full refresh", r"every sunday"),)),
        question("who or what gets told if a feed stops delivering", "the duty phone rings", (r"duty phone",), was=((r"freshness[^\n]{0,40}#dw-noise",),)),
        question("which schema feeds the reports", "gold_shared", r"gold_shared", was=((r"serving_eu",),)),
        question("what do i have to execute so my pr goes through", "just ci-build", r"just ci-build", was=((r"state:modified\+",),)),
        question("how come the french city had no numbers and the job looked green", "the column heure_début was renamed; the loader skipped the file and exited with 0", (r"heure_début|renamed a column", r"skip|exits"), kind="rootcause"),
        question("do we add another data quality framework", "no great expectations, dbt tests are it", (r"great expectations", r"\bno\b"), (r"second runner",), kind="rejected"),
        question("rules for naming the parts of a query", "CTEs are named after what they hold, never final or tmp", (r"ctes?", r"after what they hold|final"), kind="preference"),
        question("what are we waiting for to fill the gap of 2023", "the parquet files from the archive people", (r"parquet",), kind="open"),
        question("what time does the nightly one kick off", "03:15", r"03:15"),
        question("may a mart just take all columns", "no select * in marts; list the columns", (r"no select \*",), (r"columns are listed",), kind="preference"),
    ),
    stands=(
        value("test-failures", (r"test failures[^\n]{0,20}#dw-noise",), (r"failed tests", r"channel")),
        value("raw", (r"raw loads", r"`landing`")),
        value("docs-cmd", (r"dbt docs generate",)),
    ),
    foreign=(
        value("wishes", r"works council|rota-stage"),
        value("tofu", r"tofu apply|for_each"),
        value("gapless", r"gapless|exoplayer"),
    ),
)  # fmt: skip
