"""A game in Unity. The user chats, jumps between topics and uses lower case; answers mix code blocks and prose."""

from __future__ import annotations

from agent_day.gold import fact, question, value
from agent_day.noise import log, source, tests
from agent_day.script import Delegate, Edit, Read, Run, Scenario, Search, session, turn

W = "player enemy level camera item sound input scene wave loot"

STUTTER = session(
    turn(
        "sooo the game hitches every ~8 seconds on switch, only in the caves. profiler capture is in captures/cave.data, have fun lol",
        Run("tools/profdump captures/cave.data --top 20", log(40, W, "GC.Collect 31.8 ms  frame 4812")),
        Read(
            "Assets/Scripts/Bats.cs",
            source("Assets/Scripts/Bats.cs", 120, W, "        var near = bats.Where(b => b.IsClose(player)).ToList();"),
        ),
        "It is garbage: `Bats.Update` builds a list with LINQ for each bat in each frame, 4 kB a time, and after eight seconds the collector has 30 ms of work. The caves are the only place with more than forty bats. A buffer that is filled again and again instead of a new list gets rid of it.",
    ),
    turn(
        "hah of course it's the bats. fix, and house rule: no linq in anything that runs per frame. tattoo it on your arm",
        Edit("Assets/Scripts/Bats.cs", "bats.Where(b => b.IsClose(player)).ToList()", "Fill(near, bats, player)"),
        Run("tools/playtest caves --frames 3000", log(60, W, "worst frame 17.1 ms")),
        "Worst frame in the caves is 17.1 ms now. I looked for other per-frame LINQ and found two in `LootGlow`, also gone.",
    ),
    turn(
        "which unity are we on? and fps target on switch, i always forget if we promised 30 or 60",
        Search("m_EditorVersion", "ProjectSettings/ProjectVersion.txt:1:m_EditorVersion: 2022.3.21f1"),
        "Unity 2022.3.21f1. The target is 30 frames on Switch and 60 on PC.",
    ),
    turn(
        "max players in a lobby was 4 right",
        Search("MaxPlayers", "Assets/Scripts/Net/Lobby.cs:18: public const int MaxPlayers = 4;"),
        "4 in a lobby. Spectators are counted apart, up to 8.",
    ),
    turn(
        "cool. demo date for the festival?",
        "Fable Fest wants the build on 9 October, the festival itself starts on the 16th.",
    ),
)

NETCODE = session(
    turn(
        "rollback or lockstep for coop? i read three blog posts and am more confused than before",
        Delegate(
            "Prototype both",
            "Try rollback and lockstep on the caves level with 120 ms and report.",
            "lockstep at 120 ms: input delay 8 frames. rollback: 2 frames, but needs a deterministic simulation; physics is not, and 6 of 14 enemies use it.",
        ),
        "For us neither in pure form. Rollback needs a simulation that gives the same result every time, and six of our enemies hang on Unity physics. Lockstep feels like mud at 120 ms. The host decides, clients predict only their own player: that is what our four friends-with-swords need, and hits are decided by the host.",
    ),
    turn(
        "host authority it is, rollback is dead to me. please start with movement",
        Edit(
            "Assets/Scripts/Net/Move.cs",
            "transform.position = target;",
            "predicted = Predict(input); Reconcile(server);",
        ),
        Run("tools/playtest net --latency 120", log(70, W, "corrections per minute: 2.1")),
        "Movement is predicted on the client and corrected by the host, two small corrections a minute at 120 ms.",
    ),
    turn(
        "sometimes loot can be picked up twice, by two people at the same time, free money glitch",
        Read(
            "Assets/Scripts/Loot/Pickup.cs",
            source("Assets/Scripts/Loot/Pickup.cs", 80, W, "    if (!taken) { taken = true; Give(player); }"),
        ),
        Run(
            "tools/playtest loot --players 4",
            tests(90, W, "FAIL  two players take one coin\n  expected 1 coin, got 2\n1 failed, 89 passed"),
            failed=True,
        ),
        "`taken` lives on every client, and each asks only its own copy. Both say no, both give. The question has to go to the host, and the coin is given with the answer.",
    ),
    turn(
        "yes like that. how do i start two clients on one machine btw",
        Edit("Assets/Scripts/Loot/Pickup.cs", "if (!taken)", "if (await host.Claim(id))"),
        "`tools/duo caves --latency 80` starts a host and a client side by side, with sound only in the first.",
    ),
    ends=False,
)

CONTENT = session(
    turn(
        "we got the grant!! so: 6 players per lobby instead of 4, the publisher insists. spectators whatever, keep",
        Edit("Assets/Scripts/Net/Lobby.cs", "MaxPlayers = 4", "MaxPlayers = 6"),
        Run("tools/playtest net --players 6", log(50, W, "bandwidth 41 kB/s")),
        "A lobby takes 6 players; 41 kB/s at the host, which is fine. 8 spectators as before.",
    ),
    turn(
        "and fest moved our slot, build is due 2 october, ugh",
        "2 October for the build, then. The festival days are the same. I would cut the second boss from it; it is the only part without sound.",
    ),
    turn(
        "boss 2 is out of the demo, agreed. loading the forest takes 40 sec on switch?!",
        Run("tools/loadprof forest --switch", log(60, W, "shader variants: 18,204 compiled at load")),
        "18,204 shader variants are compiled while it loads, because the forest materials have every keyword turned on. Stripping what no material uses leaves 900 and takes the load to 9 s.",
    ),
    turn(
        "strip away. also we upgraded to unity 6 this morning, 6000.0.32f1, marta did it, seems fine",
        Edit("Assets/Editor/Strip.cs", "return false;", "return !used.Contains(variant);"),
        Run("tools/build switch", log(50, W, "Build succeeded with Unity 6000.0.32f1")),
        "Builds with Unity 6000.0.32f1, the forest loads in 9 s. `Addressables` had to be rebuilt once after the upgrade, otherwise the old catalogue is used.",
    ),
)

FRIDAY = session(
    turn(
        "make the trailer capture at 4k please",
        Run("tools/capture trailer --res 3840x2160", log(30, W, "wrote trailer.mov")),
        "`trailer.mov`, 4K at 60 frames, from the PC build.",
    ),
    turn(
        "what's missing for saves, i want to show it on monday",
        Read("Assets/Scripts/Save/Slots.cs", source("Assets/Scripts/Save/Slots.cs", 90, W)),
        "Saving works for a single player. In coop nothing is written for guests: they need a slot of their own that keeps what they found, and loading must not hand out the same chest twice. I have a sketch in `docs/saves.md`, no code.",
    ),
)

SCENARIO = Scenario(
    name="game", client="claude", place="games/fable", words=W, ending="cs",
    sessions=(STUTTER, NETCODE, CONTENT, FRIDAY),
    facts=(
        fact("bats", "rootcause", "The hitches came from garbage: Bats.Update built a list with LINQ per frame.", (r"bats", r"garbage|collector|linq|list")),
        fact("no-linq", "preference", "No LINQ in anything that runs per frame.", (r"linq", r"per frame|per-frame|each frame")),
        fact("host", "decision", "The host decides; clients predict only their own player.", (r"host (decides|authority)|decided by the host|corrected by the host",)),
        fact("no-rollback", "rejected", "No rollback: physics is not deterministic.", (r"rollback", r"dead to me|physics|same result|deterministic")),
        fact("lobby", "changed", "6 players per lobby.", (r"lobby|MaxPlayers", r"\b6\b"), was=((r"lobby|MaxPlayers", r"\b4 (in|players)|= 4\b"),)),
        fact("due", "changed", "The demo build is due on 2 October.", r"2 october", was=((r"9 october",),)),
        fact("unity", "changed", "Unity 6000.0.32f1.", (r"unity", r"6000\.0\.32"), was=((r"unity", r"2022\.3"),)),
        fact("loot", "rootcause", "Loot was taken twice since each client asked only its own copy of taken.", (r"taken|claim|own copy", r"host|client|copy")),
        fact("duo", "command", "tools/duo caves --latency 80 starts two clients.", r"tools/duo"),
        fact("saves", "open", "Open: guests need a save slot of their own in coop.", (r"guests?|coop|saves", r"slot of their own|nothing is written|no code|saves\.md")),
    ),
    questions=(
        question("Why did the game hitch in the caves?", "Bats.Update made garbage with LINQ in each frame.", (r"garbage|collector|linq", r"bat"), kind="rootcause"),
        question("How many players fit into a lobby?", "A lobby takes 6 players.", (r"lobby|MaxPlayers", r"\b6 players|6 per|= 6\b"), was=((r"lobby|MaxPlayers", r"\b4 in|= 4\b"),)),
        question("When is the festival build due?", "2 October.", r"2 october", was=(r"9 october",)),
        question("Which Unity version do we use?", "Unity 6000.0.32f1.", r"6000\.0\.32", was=((r"unity", r"2022\.3\.21"),)),
        question("Why is there no rollback netcode?", "Rollback: six enemies hang on physics, the simulation is not deterministic.", (r"physics", r"rollback|same result|lockstep"), kind="rejected"),
        question("How could two people pick up the same loot?", "Each client asked only its own copy of taken.", (r"own copy|every client",), kind="rootcause"),
        question("How do I start two clients on one machine?", "tools/duo caves --latency 80", r"tools/duo", kind="command"),
        question("What is open for saving in coop?", "Guests have no slot of their own.", (r"slot of their own|nothing is written",), kind="open"),
        question("Why did the forest take 40 seconds to load?", "18,204 shader variants compiled at load.", (r"shader variants?|18,204",), kind="rootcause"),
        question("May I use LINQ in an Update method?", "No LINQ in what runs per frame.", (r"linq", r"no linq|per frame|per-frame"), kind="preference"),
        question("How many frames per second did we promise on Switch?", "30 on Switch.", (r"\b30\b", r"switch")),
    ),
    stands=(
        value("spectators", (r"spectators", r"\b8\b")),
        value("switch-fps", (r"\b30\b", r"switch")),
        value("festival", (r"the 16th|festival days are the same",)),
    ),
    foreign=(value("kes", r"llvm|kestrel"), value("wp", r"elementor|wp_options")),
)  # fmt: skip
