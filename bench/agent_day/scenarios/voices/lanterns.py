"""A game designer who talks in moods and playtests, balances numbers, writes dialogue; through Codex."""

from __future__ import annotations

from agent_day.gold import fact, question, value
from agent_day.noise import log, source
from agent_day.script import Edit, Read, Run, Scenario, session, turn

W = "lantern moth quest npc sprite biome drop perk boss tide"

SCENARIO = Scenario(
    name="lanterns", client="codex", place="games/lanterns", words=W, ending="gd",
    sessions=(
        session(
            turn("playtest on saturday: nine of twelve people quit in the marsh!! they weren't angry, just... gone. i have the telemetry but i read it like tea leaves, what do you see",
                 Run("python heat.py marsh", log(70, W, "death=fall idle=42s")),
                 "They do not die there. They stand still for forty seconds and then leave. The only way on is the sunken bridge, and it surfaces at low tide; tide takes six minutes to turn, and nothing on the screen tells of it. So people believed the level was a dead end."),
            turn("ohhh the tide. ok, make the moths gather above the bridge a minute before it surfaces, like a promise",
                 Edit("biome/marsh.gd", "moths.idle()", "moths.gather(bridge, lead = 60)"),
                 "A minute before low tide they drift over and circle. It looks rather good, actually."),
            turn("remind me of the numbers for the wiki, lantern stuff mostly",
                 Read("data/balance.tres", source("data/balance.tres", 60, W)),
                 "* lantern burns 180 s on a full flask\n* flask drops from one moth in 8\n* player has 5 hearts, a fall costs 1\n* boss of the marsh has 900 health, boss of the reef 1400\n* perks cost 3, 5 and 9 glowdust"),
            turn("tone rule, please take it to heart: nobody in this world says death or dying. lights go out. that's all that happens to anyone",
                 "Went through 214 lines of dialogue. Seventeen said it outright, now lights go out; Grandmother Teasel's I left for you, it is a song and rhymes."),
            turn("who does our sound again, i need stems",
                 "Ines Falkenrath makes music and stems, through the shared folder. Effects come from the library and from your kitchen."),
        ),
        session(
            turn("steam deck: 24 fps in the reef, 60 everywhere else. it breaks my heart, the reef is the prettiest",
                 Run("godot --profile reef", log(40, W, "LightOccluder2D 19.8 ms")),
                 "Each coral casts its own soft shadow, 340 of them, and nineteen of twenty-three milliseconds go into that. From any distance they merge into one anyhow. Baking the far ones into a single texture gives 58 and I cannot tell the screenshots apart."),
            turn("bake!! and what do you think of co-op, a second lantern, everyone on the forum begs for it",
                 "I would resist. The dark is frightening since you are alone in it; two lanterns overlap and the marsh is simply lit. Saves, tide and camera all assume one player. By my guess four months, and the mood pays for it."),
            turn("yes. alone is the whole point. no co-op, i will write them something nice",
                 "I drafted a kind reply for the forum and pinned it in `community/`."),
            turn("how long is the demo, the festival form asks. and price",
                 "The demo ends at the reef's gate, 35 minutes for a first run. Price in the form is 14.99; the soundtrack is 6.99 apart."),
            turn("saves corrupt for two people!! both german, both windows",
                 Run("grep -rn str2var save/", log(12, W, "save/slot.gd:44")),
                 "Their locale writes 0,5 for a half, and our save goes through the text form of numbers. On reading, the comma splits the value in two and every field after it is one too far. Forcing the C locale while writing cures new saves; old ones can be repaired as the comma count tells where."),
            turn("repair the old ones too please, nobody loses their moths because of a comma",
                 Edit("save/slot.gd", "var2str(x)", "var2bytes(x)"),
                 "Saves are binary now, and old ones are mended when they are opened. Tried on the two that people sent."),
        ),
        session(
            turn("people hoard flasks and never feel the dark. burn faster? two minutes?",
                 Edit("data/balance.tres", "burn_seconds = 180", "burn_seconds = 120"),
                 "Two minutes on a full one. The drops are as they were."),
            turn("marsh boss is a pushover, 1200. leave the reef one, she's perfect",
                 Edit("data/balance.tres", "marsh_boss_health = 900", "marsh_boss_health = 1200"),
                 "She takes about three minutes now instead of two."),
            turn("ines got a film. wonderful for her, terrible for me. Bo Achterberg takes over the music, same folder",
                 "Credits and the folder's readme name Bo Achterberg for music and stems; Ines keeps the credit for chapters one and two."),
            turn("publisher says 12.99 sells better than 14.99, fine, whatever",
                 "The store page draft and the form say 12.99. The soundtrack I did not touch."),
            turn("what have i forgotten, be kind",
                 "Kindly: the ending has no second page yet, Teasel's song waits for your rhymes, and the age rating form wants to know about gambling because of the moth lottery."),
            ends=False,
        ),
        session(
            turn("text size on tv is tiny say three reviews",
                 "There is a slider now, up to 200 %, and the default on anything ten feet away is 140 %."),
            turn("could you please never auto-format the dialogue files, the line breaks are breaths",
                 "`dialogue/` is excluded from the formatter, with that sentence as the comment."),
        ),
    ),
    facts=(
        fact("tide", "rootcause", "Players left the marsh as nothing told them the bridge surfaces at low tide.", (r"bridge", r"low tide|surfaces|tide takes")),
        fact("lights-go-out", "preference", "Nobody says death or dying; lights go out.", (r"lights go out",)),
        fact("reef-shadows", "rootcause", "The reef was slow since 340 corals cast soft shadows.", (r"coral", r"shadow")),
        fact("no-coop", "rejected", "No co-op; being alone is the point.", (r"no co-op|alone is the whole point",), (r"two lanterns overlap",)),
        fact("comma", "rootcause", "Saves broke in German locale: the decimal comma.", (r"comma", r"locale|save")),
        fact("burn", "changed", "A lantern burns two minutes.", (r"two minutes on a full|burn_seconds = 120|burns two minutes|burn faster",), was=((r"burns 180 s|burn_seconds = 180",),)),
        fact("marsh-boss", "changed", "The marsh boss has 1200 health.", (r"1200",), was=((r"boss of the marsh has 900|marsh_boss_health = 900",),)),
        fact("music", "changed", "Bo Achterberg makes the music.", (r"bo achterberg",), was=((r"ines falkenrath makes music",),)),
        fact("price", "changed", "The price is 12.99.", (r"12\.99",), was=((r"form is 14\.99",),)),
        fact("rating", "open", "Open: the age rating form asks about gambling, the moth lottery.", (r"age rating|gambling",)),
        fact("breaths", "preference", "Never auto-format the dialogue files.", (r"auto-format|excluded from the formatter",)),
    ),
    questions=(
        question("Why did testers give up in the swamp?", "Nothing told them the bridge surfaces at low tide.", (r"bridge", r"tide"), kind="rootcause"),
        question("How much light does one filling give?", "Two minutes on a full flask.", (r"two minutes on a full|burn faster\? two minutes",), was=((r"burns 180 s",),)),
        question("How tough is the first big enemy?", "1200 health.", (r"1200",), was=((r"marsh has 900",),)),
        question("From whom do I get the soundtrack files?", "Bo Achterberg.", (r"bo achterberg",), was=((r"ines falkenrath makes music",),)),
        question("What will players pay?", "12.99.", (r"12\.99",), was=((r"form is 14\.99",),)),
        question("What slowed the handheld down among the corals?", "340 soft shadows.", (r"shadow", r"coral|340"), kind="rootcause"),
        question("Will there be a mode for two?", "No co-op.", (r"no co-op",), (r"two lanterns overlap",), kind="rejected"),
        question("Why were some people's progress files broken?", "The decimal comma of their locale.", (r"comma", r"locale|save"), kind="rootcause"),
        question("Which words must characters avoid?", "Death and dying; lights go out.", (r"lights go out",), kind="preference"),
        question("What did the classification people want to know?", "Gambling, because of the moth lottery.", (r"gambling",), kind="open"),
        question("How long does the free part last?", "35 minutes.", (r"35 minutes",)),
    ),
    stands=(
        value("reef-boss", (r"boss of the reef 1400",)),
        value("flask-drop", (r"one moth in 8",)),
        value("soundtrack", (r"6\.99",)),
    ),
)  # fmt: skip
