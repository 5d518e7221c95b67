"""A hospital's rota app in C#. The user writes long polite paragraphs; the answers are Markdown with headings and lists."""

from __future__ import annotations

from agent_day.gold import fact, question, value
from agent_day.noise import diff, log, matches, source, tests
from agent_day.script import Compact, Delegate, Edit, Read, Run, Scenario, Search, session, turn

W = "ward shift colleague roster swap slot wish absence night cover"

CLOCKS = session(
    turn(
        "Good morning, and thank you for jumping in. The ward sisters of the children's clinic noticed that on the last Sunday of March two people were planned for an early shift right after a night, "
        "which our rules ought to forbid. It never happened in any other week of the year as far as I can tell. Would you kindly find out how the plan got past the check?",
        Search("RestChecker", matches(14, "cs", W, "var rest = RestChecker.Between(previous, next);")),
        Read(
            "src/Planning/RestChecker.cs",
            source(
                "src/Planning/RestChecker.cs",
                150,
                W,
                "    public static TimeSpan Between(Shift a, Shift b) => b.Start - a.End; // DateTime, Kind=Unspecified",
            ),
        ),
        Run("dotnet test --filter RestChecker", tests(46, W, "Passed!  - Failed: 0, Passed: 46, Skipped: 0")),
        "## What I found\n\n`RestChecker.Between` subtracts two wall-clock times. In the night in which the clocks jump forward, ten real hours look like eleven on the wall, so the pause passes as legal. "
        "The check is fine in the other 51 weeks, which is why nobody stumbled over it.\n\n## Proposal\n\n- keep `DateTimeOffset` in `Shift`\n- subtract instants, show local times only on the screen",
    ),
    turn(
        "That is a lovely explanation, I shall repeat it to the sisters. Please go ahead with the proposal. One wish while you are at the messages: whatever the staff get to read must speak of colleagues, "
        "never of employees or, heaven forbid, resources. The union is rather touchy about that and so am I.",
        Edit(
            "src/Planning/Shift.cs",
            "public DateTime Start { get; init; }",
            "public DateTimeOffset Start { get; init; }",
        ),
        Edit("src/Planning/Messages.resx", "The employee has too little rest", "This colleague has too little rest"),
        Run(
            "dotnet test",
            tests(410, W, "Failed RosterPrinterTests.PrintsLocalTime [12 ms]\n  Expected 06:00, found 04:00"),
            failed=True,
        ),
        Run("dotnet test", tests(410, W, "Passed!  - Failed: 0, Passed: 410, Skipped: 3")),
        "Shifts carry an offset and the check subtracts instants. The printer converts back to the hospital's zone, so the sheets look as ever. Nine messages spoke of employees; all of them say *colleague* by now.",
    ),
    turn(
        "I am to give a short talk to the new ward managers on Thursday. Could you put together the limits that the app enforces at present? I would rather read them from the code than from my memory.",
        Read("src/Planning/Limits.cs", source("src/Planning/Limits.cs", 90, W)),
        "### Limits in force\n\n| rule | limit |\n|---|---|\n| rest between two shifts | 11 hours |\n| swap request at the latest | 48 hours ahead of the shift |\n| sick-cover offer expires after | 48 hours |\n"
        "| ward rota is published | six weeks ahead |\n| on-call list is published | two weeks ahead |\n| nights in a row | 4 |\n",
    ),
    turn(
        "Splendid. And two more things for the same slide, if I may: whom do we ask when a labour rule is unclear, and on which machine may the managers play around without doing harm?",
        Read("docs/contacts.md", source("docs/contacts.yaml", 40, W)),
        "- Unclear labour rules go to Ilse Overgaard of the works council; she answers within a day or two.\n- Playing around is safe on `rota-stage-2`. Its data are reset every Sunday evening with `dotnet run --project tools/Seed -- --ward all`.",
    ),
)

SOLVER = session(
    turn(
        "The head of IT has seen a demonstration of Timefold and would like us to hand the planning over to it. I do not want to dismiss it only because it is new to me. Might you look into what it would mean for us in practice?",
        Delegate(
            "Assess Timefold",
            "Look at the planner and say what moving it to Timefold would take: runtime, licences, deployment, migration of the rules.",
            "23 rules to port. Needs a JVM beside the app. A new runtime on clinical servers goes through the security board, about five months. Quality of plans on our data: 3 percent better, within noise.",
        ),
        "### In practice\n\n- 23 rules to write a second time\n- a JVM on the clinical servers, and the security board takes about five months for a new runtime\n- plans that are some 3 percent better on last year's data, which is within the noise\n\n"
        "### My advice\n\nLeave the planner in C#. The five months buy us nothing that the wards would notice.",
    ),
    turn(
        "I could not have put it better and have written to him in those words: Timefold is off the table, we remain with our own planner. Now to something more urgent. Planning surgery for June has been running since seven this morning and simply does not finish.",
        Run("dotnet-counters monitor -p 4112 --duration 20", log(60, W, "GC heap size 11,904 MB")),
        Run(
            "dotnet run --project tools/Explain -- --ward surgery --month 6",
            log(180, W, "slots=2914330 wishes=61 colleagues=44"),
        ),
        Read(
            "src/Planning/WishExpander.cs",
            source(
                "src/Planning/WishExpander.cs",
                120,
                W,
                "        for (var day = wish.From; day <= wish.Until; day = day.AddDays(1)) yield return new Slot(day);",
            ),
        ),
        "Surgery has 44 colleagues and yet 2.9 million slots. One wish of theirs has no end date; the form stores that as 31 December 9999, and `WishExpander` dutifully walks every single day up to there. "
        "Clipping a wish to the month that is being planned brings surgery down to 1,320 slots.",
    ),
    turn(
        "Oh dear, the year 9999. Please clip it as you say. I will have a quiet word with whoever made that form, which I fear is me.",
        Edit("src/Planning/WishExpander.cs", "day <= wish.Until", "day <= Min(wish.Until, month.Last)"),
        Run("dotnet test --filter Wish", tests(38, W, "Passed!  - Failed: 0, Passed: 39, Skipped: 0")),
        Run("git commit -am 'planner: clip wishes to the month'", "[main 7d1e0b2] planner: clip wishes to the month"),
        "Surgery plans in 14 seconds. A test with an endless wish guards it.",
    ),
)

AGREEMENT = session(
    turn(
        "The works agreement was signed on Friday, with cake. Among other things colleagues may trade a shift as long as one full day is left until it starts. The cover offers for sick people keep their own time, nobody talked about those, and the rest rule is law anyway.",
        Read("src/Planning/Limits.cs", source("src/Planning/Limits.cs", 90, W)),
        Run("dotnet test --filter Swap", tests(52, W, "Passed!  - Failed: 0, Passed: 52, Skipped: 0")),
        "The app accepts a swap as long as 24 hours remain. The offers for sick cover and the rest rule are untouched; the swap tests run against the new limit.",
    ),
    turn(
        "Thank you. I also had lunch with Tobias Renholm, a most pleasant person. He has taken the chair for working time in the council, so whatever you find doubtful in the labour rules, please put it to him.",
        "Noted, Tobias Renholm is the one to ask about labour rules. I adjusted `docs/contacts.md`.",
    ),
    turn(
        "Then there is the matter of families. Starting with the plan for September, people shall hold the ward rota in their hands two months in advance. It will be hard on the managers, but I find it right. The on-call list is a different animal and stays as it is.",
        Search("PublishLead", matches(6, "cs", W, "calendar.AddDays(-PublishLead)")),
        Run("git diff --stat", " src/Planning/Limits.cs | 2 +-\n 1 file changed, 1 insertion(+), 1 deletion(-)"),
        Compact(
            "The user reported the works agreement: shorter notice for swaps, a new contact for labour rules, earlier publishing of the ward rota. The assistant changed Limits.cs."
        ),
        "Ward rotas are due eight weeks ahead, beginning with September. The reminder mails to the managers shift along with it by themselves.",
    ),
    turn(
        "I must be off to the theatre. What is left lying about, so that I may find it on Monday with a fresh head?",
        Run("git status --short", " M docs/contacts.md"),
        "One thing: the payroll export does not carry the supplement for on-call duty from home, code 417. Payroll has to send us the rate table first; I have written no code for it.",
    ),
    ends=False,
)

PRINT = session(
    turn(
        "Good morning. The printed sheets for the pin boards are so pale that the night nurses cannot read them. May I ask for a stronger print, and please keep it on A3, the boards are made for that.",
        Read("src/Print/SheetLayout.cs", source("src/Print/SheetLayout.cs", 130, W)),
        Edit("src/Print/SheetLayout.cs", "FontWeight.Light", "FontWeight.Medium"),
        "Names and times print in medium weight; the page stays A3 landscape.",
    ),
    turn(
        "Much better. One general remark, as I shall be reviewing everything alone during the summer: I would be grateful for small commits, one idea each, since I read them on my telephone in the tram.",
        Run("git log --oneline -5", "9ab3c11 print: medium weight\n7d1e0b2 planner: clip wishes to the month"),
        Run("git diff HEAD~1", diff("src/Print/SheetLayout.cs", W, 24)),
        "Understood: one idea per commit. I split the pending work into two, the print weight and the contacts page.",
    ),
    turn(
        "Does the app tell colleagues by mail or by text message when a swap is granted? Somebody asked me in the corridor.",
        Search("SwapGranted", matches(3, "cs", W, "await notifier.SendAsync(new SwapGranted(swap));")),
        "By text message, through the hospital's own gateway at `sms-relay.intern`. Mail is used for the monthly sheet alone.",
    ),
)

SCENARIO = Scenario(
    name="rota", client="claude", place="hospital/rota", remote="git@git.example.org:clinic/rota.git", words=W, ending="cs",
    sessions=(CLOCKS, SOLVER, AGREEMENT, PRINT),
    facts=(
        fact("wall-clock", "rootcause", "The rest check subtracted wall-clock times, so the night of the clock change showed an hour too many.", (r"wall[- ]clock", r"subtract|clocks jump|clock change")),
        fact("say-colleague", "preference", "Texts for the staff say colleague, never employee or resource.", (r"colleagues?", r"never of employees|never employee|spoke of employees|say \*?colleague")),
        fact("no-timefold", "rejected", "Timefold is off the table; the planner stays our own in C#.", (r"timefold", r"off the table|our own planner"), (r"JVM", r"leave the planner in C#|five months")),
        fact("endless-wish", "rootcause", "A wish without an end date is stored as 9999 and was expanded day by day.", (r"9999|no end date|without an end", r"wish")),
        fact("swap-notice", "changed", "A swap is accepted as long as 24 hours remain.", (r"swap|trade a shift", r"24 hours remain|one full day is left|24 hours"), was=((r"swap request[^\n]{0,40}48 hours",),)),
        fact("labour-contact", "changed", "Tobias Renholm of the works council is the one to ask about labour rules.", (r"tobias renholm", r"labour rules|working time"), was=((r"labour rules?[^\n]{0,30}ilse overgaard",),)),
        fact("rota-lead", "changed", "The ward rota is published eight weeks ahead, from September on.", (r"ward rotas?", r"eight weeks|two months in advance"), was=((r"ward rota[^\n]{0,30}six weeks",),)),
        fact("payroll-417", "open", "Open: the payroll export lacks the supplement for on-call from home, code 417; payroll must send the rates.", (r"payroll", r"\b417\b|supplement")),
        fact("small-commits", "preference", "Small commits, one idea each; they are read on a telephone.", (r"commits?", r"one idea")),
        fact("stage", "fact", "rota-stage-2 is safe to play on; it is reset on Sundays.", r"rota-stage-2"),
    ),
    questions=(
        question("Why was somebody put on an early after a night at the end of March?", "The check subtracted wall-clock times; in the night of the clock change an hour was missing.", (r"wall[- ]clock", r"subtract|jump forward|eleven|clock change"), kind="rootcause"),
        question("How late may a nurse still hand a duty over to somebody else?", "A swap is fine as long as 24 hours remain.", (r"swap|trade a shift", r"24 hours|one full day is left"), was=((r"swap request[^\n]{0,40}48 hours",),)),
        question("Whom can I call about a doubtful paragraph on working hours?", "Tobias Renholm.", (r"tobias",), was=((r"ilse overgaard", r"labour|council"),)),
        question("How early do the stations get to see their schedule?", "The ward rota comes eight weeks ahead.", (r"rotas?", r"eight weeks|two months in advance"), was=((r"ward rota", r"six weeks ahead"),)),
        question("What made planning for the operating theatres run for hours?", "A wish without an end date, stored as year 9999, was walked day by day.", (r"9999|no end date", r"wish|walks every|day"), kind="rootcause"),
        question("Did we follow the head of IT's idea to use somebody else's optimiser?", "No, Timefold is off the table.", (r"timefold", r"off the table|remain with"), (r"leave the planner in C#",), kind="rejected"),
        question("How must people be called in texts that the personnel reads?", "Colleagues, never employees or resources.", (r"colleagues?", r"employees"), kind="preference"),
        question("Which server can managers break without consequences?", "rota-stage-2.", r"rota-stage-2"),
        question("What is still missing for the wages people?", "The supplement for on-call from home, code 417.", (r"\b417\b",), (r"payroll export", r"supplement"), kind="open"),
        question("How should I slice my changes for review over the summer?", "Small commits with one idea each.", (r"one idea",), kind="preference"),
        question("Through what channel does somebody learn that an exchange of duties went through?", "By text message through sms-relay.intern.", (r"text message", r"gateway|sms"), (r"sms-relay",)),
    ),
    stands=(
        value("rest", (r"rest between two shifts", r"11 hours")),
        value("sick-cover", (r"sick-cover offer", r"48 hours")),
        value("on-call-list", (r"on-call list", r"two weeks ahead")),
        value("paper", (r"\bA3\b",)),
    ),
    foreign=(
        value("snapshots", r"mart_orders|dbt build"),
        value("tofu", r"tofu apply|for_each"),
        value("gapless", r"gapless|exoplayer"),
    ),
)  # fmt: skip
