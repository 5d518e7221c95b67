"""A law office's document system, formal prompts, answers in prose; through Gemini CLI."""

from __future__ import annotations

from agent_day.gold import fact, question, value
from agent_day.noise import log, source
from agent_day.script import Edit, Read, Run, Scenario, session, turn

W = "matter clause deadline filing party docket folder stamp draft court"

SCENARIO = Scenario(
    name="kanzlei", client="gemini", place="work/docket", words=W, ending="ts",
    sessions=(
        session(
            turn("Please find out why a deadline in the Brandt matter was shown a day late. It nearly cost us an appeal.",
                 Read("src/deadline.ts", source("src/deadline.ts", 120, W)),
                 "The service date is stored at midnight local time and converted to UTC, which in summer is the evening before. Adding a month to that evening and rounding up to a working day lands one day further whenever the month ends on a Sunday. It needs a plain calendar date without any clock."),
            turn("Then let it be a plain date, please, and check all open matters for the same.",
                 Edit("src/deadline.ts", "serviceDate: Date", "serviceDate: PlainDate"),
                 Run("npm run audit:deadlines", log(40, W, "3 of 1,208 differ")),
                 "Done; of 1,208 open deadlines three were a day late, and I listed them for your secretary. None has passed."),
            turn("Which reminders does the system send before a deadline, and to whom?",
                 "Two: ten days ahead to the clerk in charge, and two days ahead to the partner as well. Hearings have their own reminder, five days ahead, to everybody in the matter."),
            turn("And how long do we keep closed matters?",
                 "Six years from the end of the calendar year in which a matter was closed. Wills are kept without limit, and accounting vouchers for ten years."),
            turn("In all letters we write the date out in full, never in figures; the senior partner insists.",
                 "The templates print dates in words for the month, fourteen of them were changed."),
        ),
        session(
            turn("An OCR vendor offers to read our scans in their cloud. Before I answer: what speaks for and against?",
                 "In favour, better recognition of handwriting. Against it, client files would leave the house, which professional secrecy forbids without each client's consent, and their contract names subprocessors in two countries outside the Union. Our own engine reads print at 99.1 per cent already, and handwriting makes up some three per cent of pages."),
            turn("That settles it. The files remain in the house and we keep our engine.",
                 "I recorded it in the register of decisions, with the reason."),
            turn("The search finds nothing for the name Yıldırım although I see the file in front of me.",
                 Run("npm run tokens 'Yıldırım'", log(8, W, "yildirim | y ld r m")),
                 "The index lower-cases with the English rules, so the dotless i falls out and the name is cut into four pieces. The same befalls İnan and all their relatives. Folding with ICU keeps names whole."),
            turn("Please proceed with ICU.",
                 Edit("src/index/fold.ts", "toLowerCase()", "icuFold()"),
                 "Proceeded, and the index is rebuilt: 61 more matters are found under their parties' names."),
            turn("Who is our contact at the court's electronic mailbox?",
                 "Frau Hollmann, in the mornings. Outages are announced on the page of the federal chamber."),
            turn("What is the size limit for filings?",
                 "The mailbox takes 100 files and 60 MB per message. Above that, split by exhibits, never in the middle of a brief."),
        ),
        session(
            turn("The clerks find ten days too short, since briefs go to clients first. Let it be three weeks. The partner's stays.",
                 Edit("config/reminders.json", "\"clerk\": 10", "\"clerk\": 21"),
                 "Clerks hear of a deadline three weeks ahead; the partner's notice and the one for hearings are as before."),
            turn("As of this month the mailbox accepts twice as many files and up to 200 MB, says the circular.",
                 "I raised both checks: 200 files, 200 MB. The rule about exhibits remains."),
            turn("Frau Hollmann has retired; a Herr Quandt answers in her stead.",
                 "The address book has Herr Quandt, and the fax cover sheet, which still exists, names him as well."),
            turn("What must not be forgotten before the audit?",
                 "Three deadlines' history needs your signature. And the retention job has never been run against the archive in the cellar, since nobody has given it read access."),
        ),
        session(
            turn("Two people could edit one brief at once yesterday, and one lost an afternoon. How is that possible, with locks?",
                 Run("journalctl -u docket", log(50, W, "lock renewed by sleeping laptop")),
                 "Her laptop slept over lunch. Its lock ran out after 30 minutes, he got it rightly; but when hers woke up, the client renewed its old lock without asking whose it was by then. The server should compare the holder on renewal, and it does not."),
            turn("Let the server refuse, and her draft shall be kept beside his as a second version.",
                 Edit("src/locks.ts", "renew(id)", "renew(id, holder)"),
                 "It refuses, and what the refused client holds is kept as a version of its own."),
        ),
    ),
    facts=(
        fact("utc-date", "rootcause", "Deadlines were a day late: midnight local time became the evening before in UTC.", (r"midnight|utc|evening before", r"deadline|service date|date")),
        fact("dates-in-words", "preference", "Dates in letters are written out in full.", (r"written? (the date )?out in full|never in figures|dates in words",)),
        fact("no-cloud-ocr", "rejected", "No OCR in a cloud; files remain in the house.", (r"files remain in the house|no ocr",), (r"secrecy", r"forbids")),
        fact("dotless", "rootcause", "Search missed Turkish names since English lower-casing drops the dotless i.", (r"dotless i|english rules",)),
        fact("clerk-reminder", "changed", "Clerks are reminded three weeks ahead.", (r"three weeks",), was=((r"ten days ahead to the clerk",),)),
        fact("filing-size", "changed", "Filings may have 200 MB and 200 files.", (r"200 MB",), was=((r"60 MB",),)),
        fact("mailbox-contact", "changed", "Herr Quandt is the contact at the court's mailbox.", (r"quandt",), was=((r"frau hollmann, in the mornings",),)),
        fact("lock-renewal", "rootcause", "A waking laptop renewed its old lock without asking whose it was.", (r"renew", r"lock")),
        fact("cellar", "open", "Open: the retention job has no read access to the cellar archive.", (r"cellar",)),
    ),
    questions=(
        question("How could we nearly miss the time for the appeal?", "Midnight local time became the evening before in UTC.", (r"midnight|evening before", r"utc"), kind="rootcause"),
        question("When does a paralegal first get warned?", "Three weeks ahead.", (r"three weeks",), was=((r"ten days ahead to the clerk",),)),
        question("How large may a submission to the judges be?", "200 MB.", (r"200 MB",), was=((r"60 MB",),)),
        question("Whom do I ring about electronic delivery problems?", "Herr Quandt.", (r"quandt",), was=((r"frau hollmann, in the mornings",),)),
        question("Did we hire the scanning service?", "No, files remain in the house.", (r"files remain in the house",), (r"professional secrecy",), kind="rejected"),
        question("Why were clients with Turkish names not found?", "English lower-casing drops the dotless i.", (r"dotless|english rules",), kind="rootcause"),
        question("What made two lawyers overwrite each other?", "A waking laptop renewed its old lock.", (r"renewed|renewal", r"lock"), kind="rootcause"),
        question("How do I write the 3rd of May in correspondence?", "In full, never in figures.", (r"out in full|never in figures",), (r"dates in words",), kind="preference"),
        question("Where has the deletion routine not been yet?", "The archive in the cellar.", (r"cellar",), kind="open"),
        question("For what period are finished cases stored?", "Six years.", (r"six years",)),
    ),
    stands=(
        value("partner-reminder", (r"two days ahead to the partner",)),
        value("hearings", (r"five days ahead",)),
        value("wills", (r"wills are kept without limit",)),
    ),
)  # fmt: skip
