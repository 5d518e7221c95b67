"""Meter data of a municipal utility, through Gemini CLI. Jörg writes German, Priya English, on one machine; answers follow the prompt."""

from __future__ import annotations

from agent_day.filler import Chore, Routine
from agent_day.gold import fact, question, value
from agent_day.noise import diff, log, matches, source, tests
from agent_day.script import Compact, Edit, Read, Run, Scenario, Search, session, turn

W = "zaehler lesung tarif rechnung netz abschlag kunde import invoice reading"

NEGATIVE = session(
    turn(
        "Moin! Wir haben 212 Kunden mit negativem Verbrauch in der Jahresabrechnung, alle aus dem Südnetz. Der Vorstand hat schon gefragt. Schau bitte, was da los ist.",
        Run(
            "./gradlew :import:report --args='--negative --year 2025'",
            log(180, W, "212 Kunden, kleinster Wert -41233 kWh"),
        ),
        Search("sortedBy", matches(6, "kt", W, "lesungen.sortedBy { it.geraet }")),
        Read(
            "src/import/Verbrauch.kt",
            source("src/import/Verbrauch.ts", 130, W, "val reihe = lesungen.sortedBy { it.geraet }"),
        ),
        "Ich habe zehn davon verfolgt. Allen gemeinsam ist ein Gerätetausch im laufenden Jahr, und im Südnetz wurde 2025 fast alles getauscht. Die Lesungen eines Tages werden nach der Gerätenummer geordnet und nicht nach der Uhrzeit. "
        "Trägt das neue Gerät die kleinere Nummer, dann steht sein Anfangsstand vor dem Endstand des ausgebauten, und die Differenz wird negativ. Wo die neue Nummer zufällig größer ist, stimmt alles.",
    ),
    turn(
        'Klingt plausibel. Bitte nach Uhrzeit sortieren und die 212 neu rechnen. Wenn ihr dabei Texte anfasst: Der Kunde wird gesiezt, und bitte kein "Update", "Account" oder "Reading" in Briefen und Mails. Wir sind ein Stadtwerk, kein Startup.',
        Edit("src/import/Verbrauch.kt", "lesungen.sortedBy { it.geraet }", "lesungen.sortedBy { it.zeitpunkt }"),
        Run("./gradlew :import:test", tests(140, W, "140 tests completed")),
        'Die 212 sind neu gerechnet, keiner davon ist mehr unter null. In zwei Briefvorlagen stand "Account", dort heißt es jetzt "Kundenkonto"; die Anrede war überall in Ordnung.',
    ),
    turn(
        "Priya here, taking over the keyboard. From which deviation on does a reading go to clarification? Need it for the slides.",
        Read(
            "src/check/Limits.kt",
            source("src/check/Limits.ts", 60, W, "const val STROM_PROZENT = 30\nconst val GAS_PROZENT = 20"),
        ),
        "For electricity a reading goes to clarification when it deviates from the forecast by more than 30 percent. For gas the limit is 20 percent.",
    ),
    turn(
        "And the machine to test against is mdm-test2, correct? Also a small rule for everybody, I've told Jörg as well: identifiers, comments and commit messages in English from here on. The old German names may stay until somebody touches the file.",
        Run("cat env/test.properties", "host=mdm-test2\nintegration=mdm-int1\n"),
        "Yes, tests run against mdm-test2; the integration stage is mdm-int1. I'll write new names, comments and commits in English, and leave the others alone as long as nobody edits the file.",
    ),
    turn(
        "Sag mal, an der Börse gab es gestern negative Preise. Kommt unser Tarifrechner damit klar?",
        Search("preis", matches(4, "kt", W, "require(preis >= BigDecimal(-500))")),
        "Ja, Preise dürfen unter null liegen, geprüft wird nur, ob sie über -500 sind. Mit dem Verbrauch hat das nichts zu tun.",
    ),
    turn(
        "Wer ist eigentlich bei uns für Wärme zuständig? Und wer für Marktkommunikation, wenn der Netzbetreiber wieder Unsinn schickt?",
        Read(
            "docs/ansprechpartner.md",
            "| Thema | Name |\n|---|---|\n| Marktkommunikation | Frau Yıldız |\n| Wärme | Frau Okonkwo |\n| Abschläge | Herr Thom |",
        ),
        "Für Marktkommunikation ist Frau Yıldız zuständig, für Wärme Frau Okonkwo. Die Abschläge liegen bei Herrn Thom.",
    ),
)

TRANSPORT = session(
    turn(
        'Der neue Abteilungsleiter will "Event-Streaming", sprich Kafka, für die Übernahme der Messwerte. Stell mir bitte sachlich zusammen, was dafür und was dagegen spricht.',
        Run("./gradlew :import:stats", log(60, W, "Dateien pro Tag 1440, Lieferanten 38, davon Streaming 0")),
        "Dafür spräche, dass Werte in Sekunden statt in zehn Minuten da wären. Dagegen stehen drei Dinge:\n\n- alle 38 Netzbetreiber liefern Dateien über SFTP, keiner kann etwas anderes\n- niemand liest die Werte vor dem nächsten Morgen\n- drei zusätzliche Server und eine Rufbereitschaft, die wir nicht haben\n\nGewonnen wären also zehn Minuten, die keiner braucht.",
    ),
    turn(
        "Danke, genau das habe ich ihm vorgelesen, und das Thema ist vom Tisch, wir holen weiter alle zehn Minuten Dateien ab. Für Benachrichtigungen an Kunden fände ich so etwas irgendwann ganz nett, aber das ist Zukunftsmusik.",
        "Gut. Der Abholer bleibt, wie er ist. Für die Benachrichtigungen habe ich nichts angelegt.",
    ),
    turn(
        "Priya: invoices. Rendering 9,000 PDFs takes all night and sometimes simply stops at around 200 per minute. CPU is idle. Ideas? I suspected the fonts.",
        Run("./gradlew :invoice:render --args='--sample 500 --profile'", log(140, W, "waiting on socket 91 %")),
        Search("logo", matches(3, "kt", W, 'Image(url = "https://intranet.example/logo.svg")')),
        Edit(
            "src/invoice/Template.kt",
            'Image(url = "https://intranet.example/logo.svg")',
            'Image(resource = "logo.svg")',
        ),
        Run("./gradlew :invoice:render --args='--sample 500 --profile'", log(40, W, "500 in 11 s")),
        "Fonts first: they are embedded from a local folder and cost 2 ms, so that was not it. I then looked at the template engine, which was idle like the rest of the machine. What it waits for is the network: the company logo is fetched through the proxy again for each page, and the proxy lets 200 requests a minute through. "
        "With the picture inside the jar 500 invoices take 11 seconds. The whole run should be through in under four minutes.",
    ),
    turn(
        "wow ok. Where do we round, by the way? The auditors' spreadsheet differs from ours by a cent here and there.",
        Search(
            "HALF_EVEN",
            "src/invoice/Money.kt:19:  fun line(amount: BigDecimal) = amount.setScale(2, HALF_EVEN)\nsrc/invoice/Energy.kt:8:  setScale(3)",
        ),
        "Amounts are rounded once, on the invoice line, half-even; energy is carried with three decimals up to there. Their sheet rounds each month and adds up, hence the cents.",
    ),
    turn(
        "Priya: marketing wants the logo in the letterhead in the new blue. Vector or bitmap?",
        Read("assets/logo.svg", "<svg viewBox='0 0 120 40'/>"),
        "It is a vector file, 4 kB; I changed the two fills to #0a4d8c. The letterhead uses the same file.",
    ),
    turn(
        "Perfect, then theirs is the one to be fixed, and ours stays at the line. I'll tell them.",
        "Understood. I put a sentence about it into `docs/rounding.md` in case they come back.",
    ),
    ends=False,
)

CHANGES = session(
    turn(
        "Frau Yıldız ist seit gestern in Elternzeit, ihre Sachen in der Marktkommunikation macht jetzt Herr Brandstätter. Trag das doch bitte ein, und schick mir bei der Gelegenheit die Liste der Lieferanten, die diese Woche nichts geschickt haben.",
        Edit(
            "docs/ansprechpartner.md",
            "| Marktkommunikation | Frau Yıldız |",
            "| Marktkommunikation | Herr Brandstätter |",
        ),
        Run(
            "./gradlew :import:report --args='--silent --days 7'",
            log(40, W, "Lieferanten ohne Datei: 2 (Werra, Hoher Stein)"),
        ),
        "Eingetragen. Nichts geschickt haben Werra und Hoher Stein; bei beiden ist der Ordner seit Montag leer.",
    ),
    turn(
        "In welcher Sprache ist eigentlich das Kundenportal, nur deutsch?",
        Run("ls portal/i18n", "de.json\nen.json\ntr.json"),
        "Deutsch, Englisch und Türkisch. Die Texte liegen in `portal/i18n`.",
    ),
    turn(
        "Die Klärung ersäuft. 1.900 Fälle beim Strom, fast alles Wärmepumpen und Balkonkraftwerke. Wo müsste die Grenze liegen, damit wir unter 500 kommen?",
        Run("./gradlew :check:simulate --args='--strom 30..60'", log(50, W, "40: 702\n45: 481\n50: 366\n60: 207")),
        "Simuliert mit den Werten vom letzten Quartal:\n\n| Grenze | Fälle | davon echte Fehler verpasst |\n|---|---|---|\n| 40 | 702 | 0 |\n| 45 | 481 | 1 |\n| 50 | 366 | 9 |\n| 60 | 207 | 31 |",
    ),
    turn(
        "Dann 45 beim Strom. Gas lassen wir so.",
        Edit("src/check/Limits.kt", "const val STROM_PROZENT = 30", "const val STROM_PROZENT = 45"),
        Run("./gradlew :check:test", tests(60, W, "60 tests completed")),
        "Ist so eingestellt, die Tests laufen durch. In der Nacht werden die offenen Fälle neu bewertet.",
    ),
    turn(
        "Priya again. My tests time out, host unreachable. Ah wait, they wiped test2 over the weekend and we got mdm-test5 for it. Can you rerun the contract tests over there? And how did we fill such an empty box with data, there was a gradle task with the network area in it.",
        Run(
            "./gradlew tasks --all | grep -i seed",
            "seedGrid - fills a system with a network area (-Pnetz=sued|nord)\nseedUsers - makes test users",
        ),
        Run(
            "./gradlew seedGrid -Pnetz=sued -Phost=mdm-test5 && ./gradlew contractTest",
            tests(88, W, "88 tests completed"),
        ),
        "All 88 pass. The box was filled with `./gradlew seedGrid -Pnetz=sued`, which takes about six minutes; `seedUsers` makes logins alone.",
    ),
    turn(
        "Was fehlt denn noch, bevor wir im März die Hausverwaltungen abrechnen können?",
        Search("TODO", "src/invoice/Collective.kt:201: // TODO cancellation"),
        Compact(
            "Jörg raises the clarification limit for electricity, Priya moves to another test host. Collective invoices for property managers are due in March."
        ),
        "Rechnen und drucken lassen sich Sammelrechnungen. Was es nicht gibt, ist ihr Storno: Wird eine einzelne Wohnung korrigiert, müsste die ganze Sammelrechnung zurück. Ob das erlaubt ist oder eine Gutschrift genügt, wollte der Wirtschaftsprüfer schreiben; ohne seine Antwort habe ich nichts angefangen.",
    ),
)

QUIET = session(
    turn(
        "Guten Morgen, wann laufen nochmal die Abschläge? Ein Kunde behauptet, es sei am Ersten abgebucht worden.",
        Run("crontab -l", "30 4 15 * * /opt/mdm/bin/abschlag"),
        "Die Abschläge laufen am 15. um 04:30. Am Ersten läuft bei uns nichts; das wird eine andere Lastschrift gewesen sein.",
    ),
    turn(
        "Priya. Could we do the rounding in the database instead? Just asking what it would mean, no change please.",
        "It would mean a numeric type with fixed scale and triggers in four tables, and the invoice would have to trust them. I see no gain; nothing has been changed.",
    ),
    turn(
        "ok. And if gas went up to 25, how many cases?",
        Run("./gradlew :check:simulate --args='--gas 20..30'", "20: 77\n25: 51\n30: 40"),
        "51 in place of 77. It hardly pays, and I left it alone.",
    ),
    turn(
        "Priya: what does seedUsers do, does it need an empty system?",
        Read("build/seed_users.kt", source("build/seed_users.ts", 40, W)),
        "It makes ten logins with roles and needs nothing else, so it can be run at any time. No meters, no readings.",
    ),
    turn(
        "Kurz noch: Welche Version haben wir in Produktion?",
        Run("curl -s mdm-prod/version", "8.14.2"),
        "8.14.2, seit dem 3. des Monats.",
    ),
    resumes=2,
)

ROUTINE = Routine(
    chores=(
        Chore("Bitte {a} und {b} alphabetisch sortieren", "diff", "Sortiert. Am Inhalt hat sich nichts geändert."),
        Chore(
            "Was macht {a}{B} genau?",
            "file",
            "Die Klasse sammelt {a} ein, gruppiert sie und gibt sie an {b} weiter. Zustand hat sie keinen.",
        ),
        Chore("Tippfehler in der Überschrift von {c} korrigieren", "file", "Korrigiert, es war nur ein Buchstabe."),
        Chore("Priya: run ktlint please", "log", "Clean, apart from one trailing comma in `{a}`, which I added."),
        Chore(
            "can you split {a}{B} in two files",
            "diff",
            "Split. The {a} half and the {b} half do not call each other, so it was painless.",
        ),
        Chore("Mach mal einen Commit", "nothing", "Ist erledigt: `{a}: small clean-up`."),
        Chore("is {c} still used anywhere?", "search", "Yes, in the {a} package, twice."),
        Chore(
            "Warum ist {b} leer in der Ausgabe?",
            "log",
            "Weil für den Zeitraum nichts vorliegt. Die Spalte wird dann leer gedruckt.",
        ),
        Chore("Pause, bin gleich wieder da", "nothing", "Alles klar."),
        Chore("which tests touch {b}?", "search", "Three of them, all in the {b} package."),
    ),
    narration=("`{a}.kt` …", "`{a}` + `{b}` …"),
    openings=("✅ ", "**OK.** ", "`{a}` / `{b}`:\n\n"),
    closings=("\n\n`{a}.kt` ✓ `{b}.kt` ✓", "\n\n```\n{a}.kt | 4 ++--\n```", "\n\n| {a} | {b} |\n|---|---|\n| ✓ | – |"),
    explanations=(
        "```\n{a} -> {b} -> {c}\n```",
        "```kotlin\nclass {a}(val {b}: List<{c}>)\n```",
        "| | {a} | {b} |\n|---|---|---|\n| `{c}` | ✓ | ✓ |",
        "- `{a}`\n- `{b}`\n- `{c}`",
    ),
)

SCENARIO = Scenario(
    name="metering", client="gemini", place="dev/stadtwerk-mdm", remote="git@git.example.de:stadtwerk/mdm.git", words=W, ending="kt",
    sessions=(NEGATIVE, TRANSPORT, CHANGES, QUIET),
    facts=(
        fact("device-order", "rootcause", "Negativer Verbrauch: Die Lesungen eines Tages waren nach Gerätenummer statt nach Uhrzeit geordnet.", (r"gerätenummer|device number|it\.geraet", r"uhrzeit|geordnet|time|sortier"), (r"neue gerät", r"kleinere nummer|anfangsstand")),
        fact("formal-german", "preference", "Kunden werden gesiezt, in Briefen und Mails keine englischen Wörter.", (r"gesiezt|per sie\b", r"update|account|briefen|englisch"), (r"kundenkonto", r"account")),
        fact("english-code", "preference", "Identifiers, comments and commit messages are in English.", (r"identifiers|comments|new names", r"commits?\b|commit messages", r"english")),
        fact("limit", "changed", "Beim Strom liegt die Grenze für die Klärung bei 45 Prozent.", (r"strom|electricity|STROM_PROZENT", r"\b45\b(?! \|)"), was=((r"STROM_PROZENT|electricity", r"\b30( percent)?\b"),)),
        fact("test-host", "changed", "The test machine is mdm-test5.", r"mdm-test5", was=(r"mdm-test2",)),
        fact("market-contact", "changed", "Für Marktkommunikation ist Herr Brandstätter zuständig.", r"brandstätter", was=((r"marktkommunikation", r"yıldız (zuständig)?"),)),
        fact("no-kafka", "rejected", "Kafka für die Messwerte ist vom Tisch; alle Netzbetreiber liefern nur über SFTP.", (r"kafka|event-streaming|streaming", r"vom tisch|dagegen|rejected|sftp"), (r"vom tisch", r"zehn minuten|dateien"), (r"netzbetreiber liefern dateien", r"sftp")),
        fact("logo-proxy", "rootcause", "Rendering invoices was slow because the logo was fetched through the proxy for each page.", (r"logo", r"proxy|each page")),
        fact("rounding", "decision", "Amounts are rounded once, on the invoice line, half-even.", (r"round", r"invoice line|at the line|half-even")),
        fact("seed", "command", "An empty system is filled with ./gradlew seedGrid -Pnetz=sued.", r"gradlew seedGrid"),
        fact("storno-open", "open", "Offen: Storno der Sammelrechnung; die Antwort des Wirtschaftsprüfers fehlt.", (r"storno|sammelrechnung", r"gibt es nicht|was es nicht gibt|fehlt|wirtschaftsprüfer|zurück"), (r"wirtschaftsprüfer", r"antwort|schreiben")),
        fact("integration", "fact", "The integration stage is mdm-int1.", r"mdm-int1"),
    ),
    questions=(
        question("Warum kamen bei manchen Leuten Minuswerte heraus?", "Nach Gerätenummer statt nach Uhrzeit geordnet, deshalb Differenz negativ.", (r"gerätenummer", r"uhrzeit|geordnet"), (r"anfangsstand", r"endstand"), kind="rootcause"),
        question("At how many percent off does somebody have to look at an electricity value by hand?", "45 percent for electricity.", (r"strom|electricity|STROM_PROZENT", r"\b45\b(?! \|)"), was=((r"electricity|STROM_PROZENT", r"\b30\b"),)),
        question("Wen rufe ich an, wenn ein Netzbetreiber falsche Nachrichten liefert?", "Herrn Brandstätter.", r"brandstätter", was=((r"marktkommunikation", r"yıldız"),)),
        question("which box do I point the contract tests at?", "mdm-test5", r"mdm-test5", was=((r"tests?", r"mdm-test2"),)),
        question("Why did printing all the bills take the whole night?", "The logo was fetched through the proxy for each page.", (r"logo", r"proxy|each page"), kind="rootcause"),
        question("Was spricht dagegen, die Daten der Netzbetreiber als Strom von Ereignissen zu übernehmen?", "Alle liefern nur Dateien über SFTP; das Thema ist vom Tisch.", (r"sftp", r"netzbetreiber"), (r"vom tisch",), (r"rufbereitschaft",), kind="rejected"),
        question("Wie bekomme ich Beispieldaten in ein leeres System?", "./gradlew seedGrid -Pnetz=sued", r"gradlew seedGrid", kind="command"),
        question("At which point is a price cut down to cents?", "Amounts are rounded once, on the invoice line.", (r"round", r"invoice line|at the line|half-even"), (r"ours stays at the line",), kind="decision"),
        question("May I name a new class Zaehlerwechsel?", "No, identifiers are in English.", (r"english", r"identifiers|names|comments"), kind="preference"),
        question("Was muss noch gebaut werden, damit Vermieter ihre Abrechnung bekommen?", "Der Storno der Sammelrechnung fehlt, der Wirtschaftsprüfer muss antworten.", (r"storno",), (r"wirtschaftsprüfer",), kind="open"),
        question("Darf in einer Mail an Kunden \"Ihr Account\" stehen?", "Nein, Kundenkonto; keine englischen Wörter.", (r"kundenkonto",), (r"gesiezt",), kind="preference"),
        question("An welchem Tag wird das Geld eingezogen?", "Die Abschläge laufen am 15. um 04:30.", (r"\b15\. um 04:30",), (r"abschl", r"\b15\.")),
    ),
    stands=(
        value("gas", (r"gas\b", r"20 percent|GAS_PROZENT = 20")),
        value("integration", r"mdm-int1"),
        value("heat", (r"wärme", r"okonkwo")),
        value("prod-version", r"8\.14\.2"),
    ),
    foreign=(
        value("hives", r"lindenhof|ERA5"),
        value("tidepool", r"octopus|webgpu"),
        value("incident", r"seatmap"),
    ),
)  # fmt: skip
