"""Old C modules of a pension fund, through Codex. Names, hosts, versions and owners look alike; the user writes like a change request."""

from __future__ import annotations

from agent_day.filler import Chore, Routine
from agent_day.gold import fact, question, value
from agent_day.noise import diff, log, matches, source, tests
from agent_day.script import Compact, Edit, Read, Run, Scenario, Search, session, turn

W = "member premium payout record ledger annuity letter batch scheme period"

TAKEOVER = session(
    turn(
        "CHG-4410. We take over the PRM21x/22x family from the Tolva contractor as of today. Please establish from the configuration which module runs where, on which runtime, and who owns it. No changes.",
        Run(
            "cat etc/modules.tab",
            "PRM210 lxb-04 7.3.1 m.holt\nPRM211 lxb-04 7.3.1 mt.holt\nPRM212 lxb-14 7.3.11 m.holt\nPRM221 lxb-41 7.3.11 m.hult2\n",
        ),
        Read("doc/OWNERS", "m.holt = Maren Holt, mt.holt = Marten Holt, m.hult2 = Maike Hult"),
        "As configured:\n\n| module | purpose | host | runtime | owner |\n|---|---|---|---|---|\n| PRM210 | premiums | lxb-04 | 7.3.1 | Maren Holt |\n| PRM211 | annuities | lxb-04 | 7.3.1 | Marten Holt |\n| PRM212 | letters | lxb-14 | 7.3.11 | Maren Holt |\n| PRM221 | transfers | lxb-41 | 7.3.11 | Maike Hult |\n\nNothing was changed.",
    ),
    turn(
        "INC-20871. PRM211 abended on 31 March with SIGFPE after 88,412 members. PRM210 processed the same members without complaint. Establish the reason.",
        Run(
            "tail -n 400 /var/log/prm/PRM211.20250331",
            log(220, W, "member 88413 scheme 3 joined 2025-01-02\nFloating point exception (core dumped)"),
        ),
        Read(
            "prm211/annuity.c",
            source(
                "prm211/annuity.c", 190, W, "    int months = (run_year - join_year) * 12;\n    rate = paid / months;"
            ),
        ),
        Read(
            "prm210/premium.c", source("prm210/premium.c", 120, W, "    int months = months_between(joined, run_date);")
        ),
        "PRM211 derives the months of membership from the two years alone. A member who joined in the year of the run therefore has none, and the rate is a division by that number. Member 88413 joined on 2 January and is the first of 34 such members. PRM210 counts from date to date, for which reason it was not affected.",
    ),
    turn(
        "Correct it in PRM211 as PRM210 does it. Two standing instructions: the first line of each commit carries the ticket number, and nothing is to be re-indented or re-wrapped, the auditors compare our sources with last year's line by line.",
        Edit(
            "prm211/annuity.c",
            "int months = (run_year - join_year) * 12;",
            "int months = months_between(joined, run_date);",
        ),
        Run(
            "git commit -am 'INC-20871 PRM211: months from date to date'",
            "[main 4d1f002] INC-20871 PRM211: months from date to date\n 1 file changed, 1 insertion(+), 1 deletion(-)",
        ),
        "Corrected with one changed line; the commit begins with INC-20871. White space is as it was.",
    ),
    turn(
        "How is an abended run taken up again? The contractor's handbook lists three variants and I trust none of them.",
        Run("prmrun --help", "-n  new run\n-r  take up after an abend, needs -d\n-s  simulate, writes nothing"),
        Run("prmrun -r -m PRM211 -d 20250331", log(50, W, "resumed at member 88413, 121907 done, RC 0")),
        "`prmrun -r -m PRM211 -d 20250331` took it up at member 88413 and ended with return code 0. `-n` would have begun again and paid 88,412 annuities twice; `-s` simulates and writes nothing.",
    ),
    turn(
        "The contractor's commit messages are partly in Danish. Is a translation called for?",
        Run("git log --oneline | grep -c ret", "41"),
        "41 of 2,300 are in Danish and say little. I do not see who would profit.",
    ),
    turn(
        "What is the commit interval in PRM221, and in PRM212?",
        Search("COMMIT_EVERY", "prm212/main.c:31:#define COMMIT_EVERY 500\nprm221/main.c:28:#define COMMIT_EVERY 500"),
        "PRM221 commits every 500 records. PRM212 has the same figure of its own, 500.",
    ),
)

MOVE = session(
    turn(
        "CHG-4433. The hall with lxb-04 loses half its power. PRM211 is moved to lxb-14. PRM210 remains where it is, as the feed from HERA ends there.",
        Edit("etc/modules.tab", "PRM211 lxb-04", "PRM211 lxb-14"),
        Run("prmrun -s -m PRM211 -d 20250404", log(60, W, "host lxb-14, simulated 121941, RC 0")),
        "PRM211 runs on lxb-14. A simulation there ended with return code 0. PRM210 is still on lxb-04.",
    ),
    turn(
        "INC-20902. 611 members received their letter twice, once with the premium of somebody else's scheme. PRM212.",
        Run("grep -c '' /var/spool/prm/restart.PRM21", "1"),
        Read("prm212/restart.c", source("prm212/restart.c", 90, W, "    strncpy(key, module, 5); /* restart key */")),
        Read("lib/restart.h", source("lib/restart.h", 40, W, "char key[6];")),
        "The restart file is looked up by a key of five characters. For PRM210, PRM211 and PRM212 that is `PRM21` in all cases, so PRM212 found the position that PRM210 had left on the shared disk and resumed in the middle of a list that was already printed. PRM221 has a key of its own by luck.",
    ),
    turn(
        "Some of those 611 also received an empty envelope. Same matter?",
        Run("grep -c empty /var/log/print/20250404", "17"),
        "No. The 17 empty envelopes come from the printer, which drew two sheets and returned one; its log names the tray.",
    ),
    turn(
        "Extend to eight. Is a merger of 210 and 211 not the cleaner way? They share 70 percent of their text.",
        Edit("lib/restart.h", "char key[6];", "char key[9];"),
        Run("make test", tests(96, W, "96 of 96 passed")),
        "The key holds eight characters and the 96 tests pass. On the merger: 71 percent of the lines agree, so it could be done. Each of the two has a separate sign-off by the actuary, though, and a merged module would need both anew, which took fourteen months the last time.",
    ),
    turn(
        "Fourteen months. Understood, they remain two. Further: Maren Holt retires, and letters go to Marten Holt. Amend the owners accordingly. The premiums stay with her until June.",
        Edit("etc/modules.tab", "PRM212 lxb-14 7.3.11 m.holt", "PRM212 lxb-14 7.3.11 mt.holt"),
        "PRM212 is owned by Marten Holt.\n\nPRM210 remains with Maren Holt until June.",
    ),
    turn(
        "CHG-4436. lxb-14 offers gcc 12. Rebuild there and compare with the reference of 2024.",
        Run("make CC=gcc-12 check-reference", log(80, W, "3 of 120114 differ: 0.01, 0.01, -0.01"), failed=True),
        "Three of 120,114 annuities differ from the reference by one cent, all of them in scheme 3. The newer compiler contracts a multiplication and an addition into one instruction. It can be switched off, after which the result equals that of the present compiler and the gain is nil.",
    ),
    turn(
        "A cent is a cent. The rebuild is withdrawn and we stay on gcc 8.",
        Run("make CC=gcc-8 check-reference", log(40, W, "120114 equal")),
        "The binaries of gcc 8 are in place and all 120,114 figures equal the reference.",
    ),
    ends=False,
)

QUARTER = session(
    turn(
        "CHG-4451. The runtime of PRM210 is raised to 7.13.1, security notice of the vendor. 7.3.11 would not suffice according to them.",
        Edit("etc/modules.tab", "PRM210 lxb-04 7.3.1", "PRM210 lxb-04 7.13.1"),
        Run("prmrun -s -m PRM210 -d 20250501", log(50, W, "runtime 7.13.1, simulated 121990, RC 0")),
        "PRM210 simulates without findings on 7.13.1. PRM211 was not part of the notice and stays on 7.3.1.",
    ),
    turn(
        "PRM221 takes nine hours at quarter end. It should take three.",
        Run("prmrun -s -m PRM221 -d 20250331 --profile", log(110, W, "commit 71 %")),
        Edit("prm221/main.c", "#define COMMIT_EVERY 500", "#define COMMIT_EVERY 5000"),
        Run("prmrun -s -m PRM221 -d 20250331", log(40, W, "2 h 51 min")),
        "71 percent of the time went into commits. With PRM221 committing every 5000 records the simulation takes 2 h 51 min.",
    ),
    turn(
        "Lock table overflow on the first real run, rolled back after 4,100. Less, if you please: 2000, not more.",
        Edit("prm221/main.c", "#define COMMIT_EVERY 5000", "#define COMMIT_EVERY 2000"),
        Run("prmrun -n -m PRM221 -d 20250331", log(60, W, "3 h 20 min, RC 0")),
        "It ran through in 3 h 20 min with return code 0. The lock table was filled to 58 percent at most.",
    ),
    turn(
        "Which of the hosts can be reached from the test network?",
        Run("cat etc/test-net", "lxb-14 lxb-40 lxb-41"),
        "lxb-14, lxb-40 and lxb-41. lxb-04 cannot.",
    ),
    turn(
        "The annuity run has been moved once more, operations put it on lxb-40 last night because of the disks, modules.tab is amended already. Verify that 211 finds its restart files there.",
        Run("ssh lxb-40 ls /var/spool/prm", "restart.PRM211\n"),
        "They are found; the shared disk is mounted under the same path and the key is the long one.",
    ),
    turn(
        "Where does PRM221 get its test data, was that not also lxb-40? And does anything else run there?",
        Run("ssh lxb-40 crontab -l", "0 2 * * * /opt/prm/bin/copytest PRM221"),
        Compact(
            "Quarter-end work on the PRM family: runtimes, commit intervals, hosts. The user asks about another host's role."
        ),
        "The test data for the transfers is made there at 02:00, yes. The transfers themselves run on lxb-41, one digit further.",
    ),
)

JUNE = session(
    turn(
        "Good morning. Personnel: Marten Holt changes to the bank. PRM212 goes to Maren Hult, with u; she is new and not to be confused with Maike Hult, who keeps the transfers.",
        Edit("etc/modules.tab", "PRM212 lxb-14 7.3.11 mt.holt", "PRM212 lxb-14 7.3.11 mr.hult"),
        Edit("doc/OWNERS", "m.hult2 = Maike Hult", "m.hult2 = Maike Hult, mr.hult = Maren Hult"),
        "Entered under `mr.hult`. The alias for error mails follows from the same file.",
    ),
    turn(
        "Should 212 also commit less frequently? Merely a question.",
        Search("COMMIT_EVERY", "prm212/main.c:31:#define COMMIT_EVERY 500\nprm221/main.c:28:#define COMMIT_EVERY 2000"),
        "Letters spend 3 percent of their time on commits, so nothing would be gained. PRM212 keeps its 500.",
    ),
    turn(
        "To whom do error mails about transfers go?",
        Run("grep 221 etc/alias", "prm221-errors: m.hult2"),
        "To `m.hult2`, that is Maike Hult.",
    ),
    turn(
        "State what is outstanding from the takeover list, for the steering committee.",
        Run(
            "cat doc/TAKEOVER",
            "1 owners - done\n2 restart - done\n3 divorce splits (DS2) in PRM221 - open\n4 letters in Braille - cancelled",
        ),
        "One item. PRM221 does not know the record type DS2, pension splits after a divorce; such members are written to `rejects.DS2` and settled by hand, 19 of them so far. The layout is to come from the registry on form F-17. Letters in Braille were cancelled by the fund.",
    ),
    turn(
        "When does the feed from HERA come in?",
        Run("crontab -l | grep hera", "40 21 * * * fetch hera"),
        "At 21:40 on lxb-04.",
    ),
    turn(
        "Would one common header for all four modules be conceivable?",
        Search("include", matches(12, "c", W, '#include "prm_common.h"')),
        "Conceivable. Four structures are declared in each of them with different paddings, so the record files would change. I prepared nothing.",
    ),
    resumes=2,
)

ROUTINE = Routine(
    chores=(
        Chore(
            "Confirm that {a} and {b} are declared in one place only.",
            "search",
            "Confirmed. Each is declared once and included elsewhere.",
        ),
        Chore(
            "List the return codes of the {c} step.",
            "file",
            "0 without findings, 4 with notices, 8 with rejected entries, 12 without input.",
        ),
        Chore("Correct the spelling in the comment above {a}_{b}.", "file", "Corrected. The line keeps its length."),
        Chore("Provide the listing of {a} for the file.", "file", "Provided above, as it stands in the repository."),
        Chore("Is {c}.h still included by anything?", "search", "By two sources and one test."),
        Chore("Run the regression for {b}.", "log", "Run. The results equal those of the last run."),
        Chore("Push.", "log", "Pushed."),
        Chore(
            "Explain the {a} loop for the minutes.",
            "file",
            "It reads an entry, looks the {b} up, writes the {c} and continues until the file ends.",
        ),
        Chore("Noted. Continue.", "nothing", "Continuing."),
        Chore("Show the difference for {a}.", "diff", "Shown above."),
        Chore("Archive the logs of last month.", "log", "Archived and compressed."),
    ),
    narration=("Reading the source of {a}.", "Consulting the configuration of {b}.", "Looking at the {c} first."),
    openings=("Result. ", "For the record: ", "Finding. "),
    closings=(
        "\n\nNo other module was touched.",
        "\n\nSources consulted: {a}, {b}.",
        "\n\nThe {c} was left as found.",
    ),
    explanations=(
        "The {a} is described in chapter 4 of the handbook in words that agree with the source. The chapter about the {b} is older and speaks of tapes.",
        "Procedure: the source of {a} was read, its callers listed, and the {b} compared with the print-out in the folder.",
        "The naming follows the custom of the house: the {a} comes before the {b}, and the {c} is abbreviated.",
        "It may be noted that the comment near {c} bears a date of 1998. Its content holds.",
    ),
)

SCENARIO = Scenario(
    name="pensions", client="codex", place="tolva/core", words=W, ending="c", tags=frozenset({"quick"}),
    sessions=(TAKEOVER, MOVE, QUARTER, JUNE),
    facts=(
        fact("host-211", "changed", "PRM211, the annuity run, is on lxb-40.", (r"211\b|annuity run", r"lxb-40\b"), was=((r"PRM211", r"lxb-04\b"), (r"PRM211", r"lxb-14\b"))),
        fact("owner-212", "changed", "PRM212, the letters, is owned by Maren Hult.", (r"212\b|letters", r"maren hult\b|mr\.hult"), was=((r"PRM212", r"maren holt\b"), (r"PRM212", r"marten holt\b"))),
        fact("runtime-210", "changed", "PRM210 is on runtime 7.13.1.", (r"210\b", r"7\.13\.1\b"), was=((r"PRM210", r"7\.3\.1\b"),)),
        fact("commit-221", "changed", "PRM221 commits every 2000 records.", (r"221\b|COMMIT_EVERY|lock table", r"\b2000\b"), r"2000, not more", was=((r"PRM221", r"every 500\b"), (r"PRM221", r"every 5000\b"))),
        fact("months", "rootcause", "PRM211 abended because it took the months from the years alone, which is none for those who joined in the year of the run, and divided by it.", (r"years alone|year of the run|joined in the year", r"months|division|divided|none")),
        fact("restart-key", "rootcause", "Letters went out twice because the restart key of five characters was PRM21 for all three modules.", (r"five characters|.?PRM21\b.?", r"restart|key|resumed")),
        fact("ticket-first", "preference", "The first line of each commit carries the ticket number.", (r"commit", r"ticket number")),
        fact("no-reindent", "preference", "Nothing is re-indented or re-wrapped; the auditors compare line by line.", (r"re-indented|re-wrapped", r"nothing|auditors")),
        fact("take-up", "command", "An abended run is taken up with prmrun -r -m PRM211 -d and the date.", r"prmrun -r -m PRM211"),
        fact("no-merger", "rejected", "PRM210 and PRM211 are not merged: sign-off by the actuary would take fourteen months.", (r"merger|merged|remain two|sign-off", r"fourteen months|actuary|remain two")),
        fact("no-gcc12", "rejected", "gcc 12 was withdrawn, it moves three annuities by a cent; the compiler is gcc 8.", (r"gcc 12|rebuild|newer compiler|gcc 8", r"withdrawn|\bcent\b|stay on|equal the reference")),
        fact("ds2-open", "open", "Open: PRM221 does not know DS2, splits after a divorce; the layout is to come on form F-17.", (r"\bDS2\b|divorce", r"F-17|does not know|by hand|open|registry")),
    ),
    questions=(
        question("Which host is PRM211 on?", "PRM211 is on lxb-40.", (r"211\b|annuity run", r"lxb-40\b"), was=((r"PRM211", r"lxb-(04|14)\b"),)),
        question("Who answers for the letters?", "PRM212, the letters, is with Maren Hult.", (r"212\b|letters", r"maren hult\b|mr\.hult"), was=((r"PRM212", r"(maren|marten) holt\b"),)),
        question("Which version of the runtime is beneath the premium module?", "PRM210 is on 7.13.1.", (r"210\b", r"7\.13\.1\b"), was=((r"PRM210", r"7\.3\.1\b"),)),
        question("After how many records do the transfers commit?", "PRM221 commits every 2000 records.", (r"221\b|COMMIT_EVERY|lock table", r"\b2000\b"), r"2000, not more", was=((r"PRM221", r"every 5000?\b"),)),
        question("What made the run at the end of March crash?", "The months came from the years alone, none for those who joined in that year, and it divides by them.", (r"years alone|joined in the year", r"months|division|none"), kind="rootcause"),
        question("Why did hundreds of people get the same mail two times?", "The restart key has five characters, PRM21 for all three, so PRM212 resumed at PRM210's position.", (r"five characters", r"key|restart"), (r"position that PRM210",), kind="rootcause"),
        question("A batch died half way. What do I enter so that nobody is paid twice?", "prmrun -r -m PRM211 -d with the date", r"prmrun -r -m PRM211", kind="command"),
        question("Two of these programs are nearly the same. Why are they not one?", "Each has its sign-off by the actuary; a merged one needs both anew, fourteen months.", (r"sign-off", r"actuary"), (r"fourteen months", r"remain two|merged"), kind="rejected"),
        question("May I build with the current compiler of the new host?", "No, gcc 12 moves three annuities by a cent; we stay on gcc 8.", (r"differ", r"one cent"), (r"rebuild is withdrawn",), (r"stay on gcc 8",), kind="rejected"),
        question("Can I run a formatter over the file that I edit?", "No, nothing is re-indented; the auditors compare line by line.", (r"re-indented|re-wrapped",), (r"auditors", r"line by line"), kind="preference"),
        question("What has to stand at the top of a commit message?", "The ticket number in its first line.", (r"ticket number",), kind="preference"),
        question("What is still to be delivered after the handover, and what are we waiting for?", "PRM221 does not know DS2; the layout comes on form F-17.", (r"\bDS2\b", r"does not know|F-17|by hand"), (r"F-17", r"layout"), kind="open"),
    ),
    stands=(
        value("host-210", (r"PRM210", r"lxb-04")),
        value("runtime-211", (r"PRM211", r"7\.3\.1\b")),
        value("commit-212", (r"PRM212", r"\b500\b")),
        value("owner-221", (r"PRM221|transfers", r"maike hult")),
        value("hera", (r"21:40", r"lxb-04")),
    ),
    foreign=(
        value("relay", r"pigeonctl|nadia okafor"),
        value("hives", r"lindenhof|ERA5"),
        value("tidepool", r"zustand|octopus"),
    ),
)  # fmt: skip
