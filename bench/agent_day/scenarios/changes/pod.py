"""A podcast host in Go, through Claude Code. One dense overview, most of which changes."""

from __future__ import annotations

from agent_day.gold import fact, value
from agent_day.noise import matches, tests
from agent_day.script import Edit, Run, Scenario, Search, Write, session, turn

W = "episode feed show chapter upload host mix track cover player"

SCENARIO = Scenario(
    name="pod", client="claude", place="podhost", words=W, ending="go",
    sessions=(
        session(
            turn("I inherited this. What are the moving parts? Be brief, I have a call in ten.",
                 Run("ls cmd", "api\nworker\nfeedgen"),
                 "Three binaries. `api` takes uploads (limit 300 MB), `worker` transcodes to 96 kbit/s mono MP3, `feedgen` rewrites feeds every ten minutes. State lives in MySQL 5.7, files in Backblaze B2. We deploy from `main` with Capistrano, on Tuesdays, Oleg presses the button."),
            turn("loudness?",
                 Search("lufs",matches(2,"go",W,"const targetLUFS = -16")),
                 "We normalise to −16 LUFS. Stereo shows get −14."),
            turn("why do some feeds lack the newest episode?",
                 Run("go test ./feedgen", tests(50,W,"ok podhost/feedgen")),
                 "Because feedgen reads from the replica, which lags by up to a minute, and then marks the feed as done. Reading the list from the primary cures it."),
            turn("support address in the footer?",
                 "help@podhost.example, it is in three templates."),
        ),
        session(
            turn("People with long interviews hit the upload limit. Twice as much?",
                 Edit("api/upload.go","300 << 20","600 << 20"),
                 "Six hundred megabytes from now on; nginx had a limit of its own, which I raised as well."),
            turn("Music shows sound awful. 128 stereo for everyone",
                 Edit("worker/encode.go",'"-b:a", "96k", "-ac", "1"','"-b:a", "128k", "-ac", "2"'),
                 "The worker makes 128 kbit/s stereo for new uploads. Old episodes are left alone."),
            turn("Oleg's paternity leave began. deploys are on Fatima. And not on Tuesdays, that's when the big shows publish. Thursday.",
                 "Got it: Thursdays, and Fatima does it. I moved the calendar entry."),
            turn("where are we with mysql, that thing is a fossil",
                 Run("mysql --version","8.4.2"),
                 "Apparently somebody has already done it: the server reports 8.4.2."),
        ),
        session(
            turn("B2's egress bill is mad. Moved the bucket to Cloudflare R2 over the weekend, creds are in vault.",
                 Run("go test ./store", tests(20,W,"ok")),
                 "The store passes against R2. I dropped the B2 client from go.mod."),
            turn("capistrano is ruby, nobody here knows ruby",
                 Write(".github/workflows/deploy.yml","on: workflow_dispatch\n"),
                 "Replaced by a GitHub workflow that you start by hand; the Capfile is gone."),
            turn("feeds every ten minutes is too slow for news shows",
                 Edit("feedgen/main.go","10 * time.Minute","2 * time.Minute"),
                 "Every two minutes. CPU of the box went from 3 to 9 percent."),
            turn("Apple wants -14 now for all, whatever",
                 Edit("worker/loud.go","targetLUFS = -16","targetLUFS = -14"),
                 "One target for everything then, −14 LUFS."),
            turn("600 is abused, someone uploaded a film. 450 for free accounts, paid stay",
                 Edit("api/upload.go","600 << 20","limitFor(plan)"),
                 "Free accounts may upload 450 MB, paid ones 600."),
            turn("staging can stay on the small box",
                 "Fine, staging keeps its 2 GB box."),
        ),
    ),
    facts=(
        fact("upload","changed","450/600",(r"450",),was=((r"limit 300 mb",),(r"six hundred megabytes from",))),
        fact("bitrate","changed","128",(r"\b128\b",),was=((r"96 kbit",),)),
        fact("deployer","changed","Fatima",(r"fatima",),was=((r"oleg presses",),)),
        fact("mysql","changed","8.4",(r"8\.4",),was=((r"mysql 5\.7",),)),
        fact("files","changed","R2",(r"\br2\b",),was=((r"files in backblaze",),)),
        fact("tool","changed","workflow",(r"github workflow",),was=((r"with capistrano",),)),
        fact("feed","changed","2 min",(r"two minutes|2 \* time",),was=((r"every ten minutes\.|feeds every ten minutes\b(?! is)",),)),
        fact("lufs","changed","-14",(r"−14 lufs",),was=((r"normalise to −16",),)),
    ),
    questions=(),
    stands=(value("support",(r"help@podhost",)),value("staging",(r"2 GB",)),value("lag",(r"replica",))),
)  # fmt: skip
