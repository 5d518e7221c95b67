"""A render farm, through Gemini CLI. Numbers for a budget, with exceptions for one job or one week."""

from __future__ import annotations

from agent_day.gold import fact, value
from agent_day.noise import log
from agent_day.script import Edit, Read, Run, Scenario, session, turn

W = "frame job node shader scene farm license queue artist cache"

SCENARIO = Scenario(
    name="farm", client="gemini", place="farm/ops", words=W, ending="py",
    sessions=(
        session(
            turn("Give me the numbers of the farm for the budget meeting",
                 Run("farmctl report", log(60,W,"nodes 48 gpu 96")),
                 "As of this morning:\n- 48 nodes with two cards each\n- a job may hold 12 nodes\n- frames time out after 90 minutes\n- scratch space is wiped every Sunday\n- average wait in the queue: 7 minutes"),
            turn("What Blender are we on?",
                 Run("blender --version","Blender 4.1.1"),
                 "Blender 4.1.1, with the studio's own build of the denoiser."),
            turn("Who's the wrangler on nights?",
                 "Per the wiki the night wrangler is Siobhan; at weekends it's whoever lost at table football."),
            turn("Where do the licences come from?",
                 Read("conf/lic.yaml","server: lic-a.studio.example\nport: 5053\n"),
                 "All tools ask `lic-a.studio.example` on port 5053."),
            turn("Why do frames from the dragon shots come out black, sometimes?",
                 Run("farmctl logs --shot dragon", log(60,W,"texture cache: file truncated")),
                 "Two nodes write the same texture into the shared cache, and the second one truncates what the first is reading. I'd write to a temporary name and rename."),
            turn("Yes please",
                 Edit("cache/store.py","open(path, 'wb')","open(tmp, 'wb')"),
                 "Renaming is in. 2,000 dragon frames, none black."),
        ),
        session(
            turn("The explosion shots take two hours a frame, they die at 90",
                 Edit("conf/farm.yaml","timeout_min: 90","timeout_min: 180"),
                 "Frames get three hours before they are killed."),
            turn("12 nodes per job starves the small shows",
                 Edit("conf/farm.yaml","max_nodes: 12","max_nodes: 8"),
                 Run("farmctl sim", log(20,W,"wait p50 4 min")),
                 "With eight the simulated wait falls to 4 minutes, so that's what is deployed."),
            turn("Procurement: sixteen more boxes are racked, same cards",
                 Run("farmctl nodes | wc -l","64"),
                 "I see 64 of them, all healthy."),
            turn("lic-a is being decommissioned, use lic-c",
                 Edit("conf/lic.yaml","lic-a.studio.example","lic-c.studio.example"),
                 "Done and tried with Nuke and Houdini. The port is the same."),
        ),
        session(
            turn("4.2 has the LTS label and the artists are already there",
                 Run("farmctl image build --blender 4.2.3", log(30,W,"image farm-blender:4.2.3 pushed")),
                 "All nodes pulled the image with 4.2.3. The denoiser patch applied without conflicts."),
            turn("Siobhan does days now and Rune does nights. swap their pagers",
                 "Swapped. Rune's pager rings between 22:00 and 06:00."),
            turn("people lose stuff on sundays. wipe scratch on the 1st of the month only",
                 Edit("cron/scratch","0 3 * * 0","0 3 1 * *"),
                 "Scratch is emptied once a month, on the first."),
            turn("For Helix only they want 20 nodes per job this week, producer approved",
                 Run("farmctl quota set helix 20 --until friday","ok"),
                 "Helix may take 20 until Friday. The general limit is what it was."),
            turn("does a node with one dead card still count",
                 "It does, with half its slots."),
        ),
    ),
    facts=(
        fact("timeout","changed","3 h",(r"three hours|180",),was=((r"after 90 minutes",),)),
        fact("per-job","changed","8",(r"with eight|max_nodes: 8",),was=((r"may hold 12",),)),
        fact("nodes","changed","64",(r"\b64\b",),was=((r"48 nodes",),)),
        fact("licence","changed","lic-c",(r"lic-c",),was=((r"ask `lic-a",),)),
        fact("blender","changed","4.2.3",(r"4\.2\.3",),was=((r"4\.1\.1",),)),
        fact("wrangler","changed","Rune",(r"rune",),was=((r"wrangler is siobhan",),)),
        fact("scratch","changed","monthly",(r"once a month|1st of the month",),was=((r"every sunday",),)),
    ),
    questions=(),
    stands=(value("port",(r"5053",)),value("helix",(r"helix",)),value("weekend",(r"table football",))),
)  # fmt: skip
