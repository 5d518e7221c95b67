"""Payouts of a bank in Kotlin, through Codex. Formal paragraphs; one value goes back to what it was."""

from __future__ import annotations

from agent_day.gold import fact, value
from agent_day.noise import matches, source, tests
from agent_day.script import Edit, Read, Run, Scenario, Search, session, turn

W = "ledger payout mandate batch tariff voucher settlement account fee rate"

SCENARIO = Scenario(
    name="pay", client="codex", place="src/payouts", words=W, ending="kt",
    sessions=(
        session(
            turn("Summarise how payouts leave the house.",
                 Read("src/PayoutJob.kt", source("src/PayoutJob.kt",80,W,'@Scheduled(cron = "0 0 6 * * MON-FRI")')),
                 "Payouts are collected into one SEPA file per bank, which is uploaded on working days at 06:00. Anything above EUR 50,000 is held for a second pair of eyes. The file goes to Nordbank by EBICS; there is a fallback over SFTP that nobody has used since 2022."),
            turn("And retries?",
                 Search("maxAttempts", matches(2,"kt",W,"maxAttempts = 5")),
                 "A rejected upload is attempted five times, with a doubling pause that begins at thirty seconds. The webhook towards merchants follows a different policy: eight attempts over a day."),
            turn("Who is on the rota for settlement incidents?",
                 "The rota in PagerDuty lists Priscilla as primary for settlement and Dagfinn for onboarding."),
            turn("We compute fees with floats somewhere, don't we?",
                 Search("Double", matches(4,"kt",W,"val fee: Double")),
                 "We do, in `FeeTable`. Rounding differs by a cent in about one of nine hundred invoices. I'd move the table to `BigDecimal` with HALF_EVEN."),
            turn("Go ahead with it.",
                 Edit("src/FeeTable.kt","val fee: Double","val fee: BigDecimal"),
                 Run("./gradlew test", tests(80,W,"BUILD SUCCESSFUL")),
                 "`FeeTable` works on `BigDecimal`, rounding HALF_EVEN. The nightly comparison with the ledger shows no difference."),
            turn("What is the reference currency for reports?",
                 "Reports are drawn up in euro; the treasury dashboard alone shows Swiss francs."),
            turn("How long do we retain bank statements?",
                 Read("src/Retention.kt","STATEMENT_YEARS = 7\nCHAT_MONTHS = 18\n"),
                 "Bank statements are retained for seven years and support chats for eighteen months."),
        ),
        session(
            turn("Finance objects to HALF_EVEN. Their auditors insist on HALF_UP.",
                 Edit("src/FeeTable.kt","RoundingMode.HALF_EVEN","RoundingMode.HALF_UP"),
                 "The rounding mode follows the auditors' wish. Three invoices of last month would have come out one cent higher."),
            turn("Treasury wants the cut-off an hour and a half earlier, otherwise the money arrives a day late.",
                 Edit("src/PayoutJob.kt",'cron = "0 0 6 * * MON-FRI"','cron = "0 30 4 * * MON-FRI"'),
                 "The upload starts at 04:30 from the next working day on. The statement import, which runs at 06:15, is unaffected."),
            turn("Priscilla moved to risk. Who's on call for settlement?",
                 Run("pd oncall settlement","primary: Oyelaran\nsecondary: Dagfinn"),
                 "PagerDuty gives Oyelaran as primary."),
            turn("Legal says statements for ten years, by the new accounting act.",
                 Edit("src/Retention.kt","STATEMENT_YEARS = 7","STATEMENT_YEARS = 10"),
                 "Changed in `Retention.kt`. The purge of this winter is cancelled, as nothing falls due before 2029."),
            turn("On sandbox set the four-eyes limit to 100, the testers want to see the dialog",
                 Edit("config/sandbox.yaml","fourEyesLimit: 50000","fourEyesLimit: 100"),
                 "In the sandbox the dialog appears from EUR 100 on."),
        ),
        session(
            turn("Nordbank is closing our contract at the end of the month. Are we ready for Fjordkasse?",
                 Run("./gradlew ebicsTest -Pbank=fjordkasse", tests(12,W,"BUILD SUCCESSFUL")),
                 "The key exchange with Fjordkasse is complete and a test file was accepted. I have made it the default route; the previous one remains configured until the 30th."),
            turn("Risk lowered the four-eyes limit to twenty thousand",
                 Edit("config/prod.yaml","fourEyesLimit: 50000","fourEyesLimit: 20000"),
                 "Production holds payouts from EUR 20,000 on for a second approval."),
            turn("5 uploads in a row annoy the bank, 3 is plenty",
                 Edit("src/Upload.kt","maxAttempts = 5","maxAttempts = 3"),
                 "An upload is given up after the third attempt, and an incident is opened at once."),
            turn("Actually finance changed their mind about rounding, HALF_EVEN like before.",
                 Edit("src/FeeTable.kt","RoundingMode.HALF_UP","RoundingMode.HALF_EVEN"),
                 "Reverted; HALF_EVEN is in the table again and the three invoices agree with the old figures."),
            turn("Board wants reports in dollars from Q3",
                 Edit("src/Report.kt","BASE = EUR","BASE = USD"),
                 "Reports are in US dollars, converted at the rate of the last day of a month."),
        ),
    ),
    facts=(
        fact("cutoff","changed","04:30",(r"04:30",),was=((r"06:00",),)),
        fact("bank","changed","Fjordkasse",(r"fjordkasse",),was=((r"nordbank",r"goes to|file|upload"),)),
        fact("limit","changed","20,000",(r"20,000|twenty thousand",),was=((r"50,000",),)),
        fact("retry","changed","3",(r"third attempt|3 is plenty",),was=((r"five times",),)),
        fact("oncall","changed","Oyelaran",(r"oyelaran",),was=((r"priscilla",r"primary|lists"),)),
        fact("rounding","changed","HALF_EVEN",(r"HALF_EVEN",),was=((r"insist on HALF_UP",),(r"rounding mode follows the auditors",))),
        fact("statements","changed","ten years",(r"ten years|10 years|STATEMENT_YEARS = 10",),was=((r"seven years|= 7",),)),
        fact("currency","changed","dollars",(r"dollars",),was=((r"drawn up in euro",),)),
    ),
    questions=(),
    stands=(value("webhook",(r"eight attempts",)), value("chats",(r"eighteen months",)), value("dagfinn",(r"dagfinn",r"onboarding")), value("import",(r"06:15",)), value("sandbox",(r"sandbox",r"100")), value("treasury",(r"swiss francs",))),
)  # fmt: skip
