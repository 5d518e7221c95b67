"""A small fishing game in the browser, through Gemini CLI. The agent reports in many short messages; the user keeps correcting it."""

from __future__ import annotations

from agent_day.filler import Chore, Routine
from agent_day.gold import fact, question, value
from agent_day.noise import diff, log, matches, source, tests
from agent_day.script import Compact, Edit, Read, Run, Scenario, Search, Write, session, turn

W = "fish rod tide shell bait sprite layer quest crab menu"

FLICKER = session(
    turn(
        "fish flicker when theres more than like 40 of them. only when they overlap",
        "Looking at the fish layer.",
        Read(
            "src/world/fish-layer.ts",
            source("src/world/fish-layer.ts", 140, W, "  layer.children.sort((a, b) => a.y - b.y);"),
        ),
        "Could be mipmaps. Turning them off.",
        Edit("src/render/textures.ts", "mipmap: 'on'", "mipmap: 'off'"),
        Run("pnpm shot --scene crowd --frames 60", log(50, W, "changed pixels between equal frames: 8112")),
        "No difference, so not mipmaps. Putting that back.",
        Edit("src/render/textures.ts", "mipmap: 'off'", "mipmap: 'on'"),
        "Trying with a frozen tide.",
        Run("pnpm shot --scene crowd --freeze --frames 60", log(50, W, "changed pixels between equal frames: 0")),
        Edit("src/world/fish-layer.ts", "(a, b) => a.y - b.y", "(a, b) => a.y - b.y || a.uid - b.uid"),
        Run("pnpm shot --scene crowd --frames 60", log(50, W, "changed pixels between equal frames: 0")),
        "Gone. Two fish that bob on the same row compare as equal, and each frame the sort was free to put either of them in front. Ties go by their `uid` from here on.",
    ),
    turn(
        "yesss 🐟 ok now shop state. buying bait, upgrades, coins",
        "I'll set up a store.",
        Run("pnpm add @reduxjs/toolkit", "+ @reduxjs/toolkit 2.2.7"),
        Write("src/shop/store.ts", "export const shop = createSlice({ name: 'shop', initialState, reducers })"),
        "The shop has a Redux slice with `buy`, `sell` and `upgrade`.",
    ),
    turn(
        "nooo no redux pls. i fought that thing for two years at my old job. zustand like the rest of the ui",
        "Taking it out again.",
        Run("pnpm remove @reduxjs/toolkit", "- @reduxjs/toolkit 2.2.7"),
        Write(
            "src/shop/store.ts",
            "export const useShop = create<Shop>()((set) => ({ coins: 0, buy: (item) => set(bought(item)) }))",
        ),
        Run("pnpm test shop", tests(24, W, "24 passed")),
        "Swapped. `useShop` has the same three actions, 40 lines instead of 110.",
    ),
    turn(
        "can i see the shop state somewhere while playing",
        "Adding the devtools middleware.",
        Edit("src/shop/store.ts", "create<Shop>()((set)", "create<Shop>()(devtools((set)"),
        "In the browser's devtools, tab Redux, as the extension happens to be called that. Only in dev builds.",
    ),
    turn(
        "main loop next, fixed step. and make fish move smooth",
        "Reading the loop.",
        Read("src/loop.ts", source("src/loop.ts", 60, W)),
        Edit("src/loop.ts", "const STEP = dt;", "const STEP = 1 / 60;"),
        "Testing on the crowd scene.",
        Run("pnpm bench loop", log(30, W, "60 steps/s, 7.9 ms each")),
        "The simulation runs at 60 steps a second, and drawing follows the screen.",
    ),
    turn(
        "hmm no, thats way too hot for phones. do 20 and interpolate between, like i said smooth",
        "Right.",
        Edit("src/loop.ts", "const STEP = 1 / 60;", "const STEP = 1 / 20;"),
        Edit("src/render/place.ts", "sprite.x = fish.x", "sprite.x = mix(fish.lastX, fish.x, alpha)"),
        Run("pnpm bench loop", log(30, W, "20 steps/s, 7.7 ms each")),
        "Better?\n\nThe old phone on the desk stays at 31 °C. Positions are mixed between the last two steps, so motion is as smooth as the screen allows.",
    ),
    turn(
        'much. also the texts, you wrote "Great Catch!!" 🙈 no. everything in the game is lower case and calm, no exclamation marks anywhere, its a quiet game',
        "Searching for loud texts.",
        Search("!", matches(12, "ts", W, "label: 'Great Catch!!',")),
        Edit("src/text/en.ts", "Great Catch!!", "a good catch"),
        "Quiet now: 12 labels are lower case and end without a bang.",
    ),
)

SAVES = session(
    turn(
        "saving. autosave each minute plus when you close",
        "Starting with what's simplest.",
        Write(
            "src/save/store.ts",
            "export const put = (save: Save) => localStorage.setItem('tide.save', JSON.stringify(save));",
        ),
        Run("pnpm test save", tests(11, W, "11 passed")),
        "Saves go to localStorage under `tide.save`, each minute and on `pagehide`.",
    ),
    turn(
        "how big is a save late in the game",
        "Playing the late fixture.",
        Run("pnpm play fixtures/late.json --save", "save: 6.2 MB (aquarium 5.9 MB)"),
        "6.2 MB, nearly all of it the aquarium.\n\nThat's more than the 5 MB browsers give us there, so it would throw on somebody's best tank.",
    ),
    turn(
        "oh no. then not localStorage. indexeddb, idb-keyval is fine, one key per slot",
        "Installing idb-keyval.",
        Run("pnpm add idb-keyval", "+ idb-keyval 6.2.1"),
        Edit(
            "src/save/store.ts",
            "localStorage.setItem('tide.save', JSON.stringify(save))",
            "set(`tide.slot.${slot}`, save)",
        ),
        "Tests fail, jsdom has no database. Adding the fake one.",
        Run("pnpm test save", tests(14, W, "14 passed")),
        "Three slots, `tide.slot.1` to `tide.slot.3`.",
    ),
    turn(
        "wren asks how big the pier should be drawn",
        Search("BASE", "src/render/base.ts:1:export const BASE = { width: 480, height: 270 };"),
        "The base canvas is 480x270, and a tile is 16 pixels wide. The pier can be 30 tiles at most.",
    ),
    turn(
        "volume + language settings can stay where they are tho",
        "Nothing to change there, then. They're in localStorage as `tide.prefs`, 90 bytes.",
    ),
    turn(
        "water looks a bit flat at night. more sparkle?",
        "Trying a second normal map.",
        Edit("src/fx/water.frag", "vec3 n = a;", "vec3 n = normalize(a + b);"),
        "More sparkle, 0.3 ms a frame.",
    ),
    turn(
        "volume slider jumps from silent to loud",
        Edit("src/audio/volume.ts", "gain.value = v", "gain.value = v * v"),
        "It's a curve now, so the lower half of the slider does something.",
    ),
    turn(
        "could we go webgpu? that demo with the water looked so good",
        "Making a branch.",
        Run("git switch -c water-gpu", "Switched to a new branch"),
        Edit("src/render/app.ts", "preference: 'webgl'", "preference: 'webgpu'"),
        "Asking the device farm.",
        Run("pnpm farm --all", log(70, W, "21 devices: 16 ok, 5 black screen")),
        "Looks lovely on 16 of 21 devices and is black on the other five, among them both of the tablets that you said your players have. A fallback means writing the water twice.",
    ),
    turn(
        "black on tablets = no. bin the branch, webgl water is pretty enough",
        Run("git branch -D water-gpu", "Deleted branch water-gpu"),
        "Binned.",
    ),
    turn(
        "ipad: no sound after switching apps and back. works on first start",
        "First thought: the context is suspended.",
        Run("pnpm farm --device ipad --script hide-show", log(60, W, "context: running\npool: 0 of 24 voices")),
        "It's running, so no. Checking the voices.",
        Read("src/audio/pool.ts", source("src/audio/pool.ts", 80, W, "  onHide() { this.voices.length = 0; }")),
        Edit(
            "src/audio/pool.ts",
            "onHide() { this.voices.length = 0; }",
            "onHide() { this.voices.forEach((voice) => voice.stop()); }",
        ),
        Run("pnpm farm --device ipad --script hide-show", log(60, W, "pool: 24 of 24 voices")),
        "Sound is back after hiding.\n\nOn hide the pool threw its 24 voices away, to be nice to memory, and nothing made new ones on the way back. They are stopped and kept now.",
    ),
    ends=False,
)

ART = session(
    turn(
        "Wren sent new tiles 🎨 we go 640x360 for the base canvas btw, they drew everything for it. so: why is the pier blurry",
        "Opening the pier scene.",
        Run("pnpm shot --scene pier", log(30, W, "scale 2.37")),
        "Scale is not a whole number.",
        Edit(
            "src/render/fit.ts",
            "const scale = width / BASE.width;",
            "const scale = Math.max(1, Math.floor(width / BASE.width));",
        ),
        Run("pnpm shot --scene pier", log(30, W, "scale 2")),
        "Sharp. It scales by whole numbers and leaves a border.",
    ),
    turn(
        "do the menus know about that",
        Search("480", "src/ui/menu.css:3:  width: 480px; /* base canvas */"),
        "One number is left over in `menu.css`. I'm changing it to a variable.",
        Edit("src/ui/menu.css", "width: 480px;", "width: var(--base-w);"),
        "Done, they read the size from the canvas.",
    ),
    turn(
        "pack the fish again. you did it with padding 0 last time and the edges bleed",
        "Packing.",
        Run("pnpm atlas --src art/fish --pad 1", "atlas 1024x1024"),
        "One pixel still bleeds at scale 3.",
        Run("pnpm atlas --src art/fish --pad 2 --extrude", "atlas 1024x1024"),
        "Clean with `pnpm atlas --src art/fish --pad 2 --extrude`. Plants and tiles don't need it, they're packed with `pnpm atlas --all`.",
    ),
    turn(
        "anemone price is 30 in the shop, should be 45. its in the sheet since forever",
        "Editing the price.",
        Edit("src/shop/prices.ts", "anemone: 30", "anemone: 45"),
        "The anemone costs 45.",
    ),
    turn(
        "no no not in prices.ts, that gets generated. data/prices.csv is where prices live, wren edits it, then the build makes the ts",
        "Ah. Reverting my edit.",
        Run("git checkout src/shop/prices.ts", "Updated 1 path"),
        Edit("data/prices.csv", "anemone,30", "anemone,45"),
        Run("pnpm build:data", "prices.ts written, 88 items"),
        "Changed at the source. I also put a line on top of the generated file that says so.",
    ),
    turn(
        "how many items are in the shop and how do they get their icons",
        Search("icon", matches(5, "ts", W, "icon: atlas.get(item.id)")),
        "88 items, each has an icon of the same name in the atlas. A missing one shows as a shell.",
    ),
    turn(
        "whos testing the nightly? i need to tell them about saves",
        Read(
            "docs/playtest.md", "Nightly group: 14 people, lead Ines Wahl, feedback on Thursdays\nArt: Wren Castellanos"
        ),
        "14 people, led by Ines Wahl, who collects their feedback on Thursdays.",
    ),
    turn(
        "whats not done for the demo",
        "Going through the board.",
        Search(
            "demo",
            "BOARD.md:12: - [ ] gamepad in menus\nBOARD.md:13: - [ ] octopus quest, step 3\nBOARD.md:14: - [x] water",
        ),
        Compact(
            "A game for the browser. Saves moved to another store, new tiles came in, prices are generated from a table. The user asks what the demo lacks."
        ),
        "Two boxes are empty: menus can't be walked with a gamepad, and the octopus quest ends after its second step because the third has no dialogue yet. Water is ticked.",
    ),
)

POLISH = session(
    turn(
        "make a ripple when the bobber lands",
        "Adding a class `Ripple`.",
        Write("src/fx/Ripple.ts", "export class Ripple { constructor(private x: number) {} }"),
        "A ripple of 12 frames plays where the bobber lands.",
    ),
    turn(
        "nice but no classes pls, we do plain functions here, and files are kebab-case. look around before you write, its everywhere like that",
        "Sorry. Rewriting it.",
        Run("git mv src/fx/Ripple.ts src/fx/bobber-ripple.ts", ""),
        Edit("src/fx/bobber-ripple.ts", "export class Ripple", "export function ripple(x: number)"),
        "`src/fx/bobber-ripple.ts` exports the function `ripple`, same picture.",
    ),
    turn(
        "would 30 steps feel better when reeling? dont change it",
        "Trying on the side.",
        Run("pnpm bench loop --step 30", "30 steps/s, 7.8 ms each"),
        "I can't feel a difference in the reel with mixing on, and the phone gets two degrees warmer. Left alone.",
    ),
    turn(
        "which fonts do we ship",
        Run("ls public/fonts", "shore.woff2"),
        "One, `shore.woff2`, 31 kB, with small and capital letters both.",
    ),
    turn(
        "and what if saves went to a server one day?",
        "It would be a second place behind the same `put`, with the slot's time to settle conflicts. Accounts would be the real work. I wrote nothing.",
    ),
    turn(
        "size of the bundle?",
        Run("pnpm build", "dist/index.js 412 kB │ gzip: 131 kB"),
        "131 kB zipped, without art.",
    ),
    resumes=1,
)

ROUTINE = Routine(
    chores=(
        Chore("move the {a} two px up", "file", "Moved, two pixels."),
        Chore("hmm the {b} wobble is too much. half", "diff", "Halved. It sways more than it wobbles by now."),
        Chore("can u make {a} blink when its night", "diff", "It blinks from dusk to dawn, slowly."),
        Chore("nope, slower", "diff", "Slower by a third."),
        Chore("nah the other {c}, the small one", "search", "Ah, that one. Moved it instead and put the big one back."),
        Chore("prettier", "diff", "Formatted, nothing else."),
        Chore("wheres the code for {a} {b}", "search", "In `src/{a}/{b}.ts`, it begins in the middle of the file."),
        Chore("push", "log", "Pushed."),
        Chore("🦀", "nothing", "🦀"),
        Chore("brb", "nothing", "Sure."),
        Chore("typecheck says any somewhere", "log", "It was in the {c}. Typed."),
    ),
    narration=("Looking.", "One sec, opening `{a}`.", "Checking the {b} scene."),
    openings=("Okay. ", "There. ", "Done. "),
    closings=(" Have a look?", "\n\nTouched `{a}` and `{b}`.", " Tell me if it's too much."),
    explanations=(
        "The {a} and the {b} share a layer, so I looked at both in the scene with the pier. They get along.",
        "I kept the {c} out of it.",
        "If you want to see it slowly: the debug menu has a turtle button, it slows the {a} down to a tenth.",
        "It's three lines in `{a}`, and one in `{b}`.",
    ),
)

SCENARIO = Scenario(
    name="tidepool", client="gemini", place="games/tidepool", words=W, ending="ts",
    sessions=(FLICKER, SAVES, ART, POLISH),
    facts=(
        fact("flicker", "rootcause", "Fish flickered because two on the same row compare as equal and the sort put either in front; ties go by uid.", (r"same row|compare as equal|equal", r"sort|in front|ties"), (r"ties", r"uid")),
        fact("no-redux", "rejected", "No Redux; the shop's state is in zustand.", (r"redux", r"\bno\b|fought|zustand|taking it out")),
        fact("step", "changed", "The simulation runs at 20 steps a second, and positions are interpolated.", (r"STEP|steps? a second|simulation|do 20\b|between the last two steps", r"\b20\b|interpolat"), was=((r"simulation|STEP", r"(at|/) 60\b"),)),
        fact("saves", "changed", "Saves go to IndexedDB with idb-keyval, one key per slot.", (r"indexeddb|idb-keyval|tide\.slot", r"slot|saves?\b|not localstorage"), was=((r"saves?\b", r"localStorage"),)),
        fact("base", "changed", "The base canvas is 640x360.", r"640 ?[x×] ?360", was=((r"base", r"480 ?[x×] ?270"),)),
        fact("quiet-texts", "preference", "All texts in the game are lower case and calm, no exclamation marks.", (r"lower case", r"exclamation|calm|bang|quiet|labels")),
        fact("no-webgpu", "rejected", "WebGPU is out: black screen on five of 21 devices, the tablets among them.", (r"webgpu|water|branch", r"black on|black screen|binned|bin the")),
        fact("voices", "rootcause", "No sound on the iPad after switching apps because the pool threw its voices away on hide and nothing made new ones.", (r"pool|voices", r"threw|nothing made new|on hide")),
        fact("atlas", "command", "Fish are packed with pnpm atlas --src art/fish --pad 2 --extrude.", r"pnpm atlas --src art/fish --pad 2"),
        fact("prices", "decision", "Prices live in data/prices.csv; prices.ts is generated.", (r"prices\.csv", r"live|prices\.ts|generated|edit|build")),
        fact("functions", "preference", "Plain functions, no classes; file names in kebab-case.", (r"no classes|plain functions", r"kebab|functions")),
        fact("demo-open", "open", "Open for the demo: gamepad in the menus, and step three of the octopus quest.", (r"gamepad", r"menus?|can't be walked"), (r"octopus", r"third|second step|step 3|dialogue")),
    ),
    questions=(
        question("Why did crowded animals jitter in front of and behind each other?", "Two on the same row compare as equal, so the sort could put either in front.", (r"same row|compare as equal", r"sort|in front"), (r"ties go by", r"uid"), kind="rootcause"),
        question("How many steps a second does the simulation make?", "20 steps, interpolated.", (r"STEP = 1 / 20|do 20 and|20 steps",), was=((r"simulation|STEP", r"\b60\b"),)),
        question("where do saves go", "In IndexedDB through idb-keyval, tide.slot.1 to 3.", (r"tide\.slot|indexeddb|idb-keyval", r"slot"), was=((r"saves?\b", r"localStorage under"),)),
        question("What size should an artist draw the background for?", "640x360.", r"640 ?[x×] ?360", was=((r"base", r"480 ?[x×] ?270"),)),
        question("There is that newer graphics API, could the sea look better with it?", "WebGPU was black on five devices, tablets too; the branch was binned.", (r"black on", r"webgl|tablets|five|devices"), kind="rejected"),
        question("A toast says 'Level Up!'. Is that okay with the style of this thing?", "No: lower case and calm, no exclamation marks.", (r"lower case", r"exclamation|calm|bang"), kind="preference"),
        question("Why was the tablet mute when one came back from another app?", "The pool threw its voices away on hide and nothing made new ones.", (r"threw its", r"voices"), (r"nothing made new ones",), kind="rootcause"),
        question("The edges of the animals bleed, how do I rebuild the sheet?", "pnpm atlas --src art/fish --pad 2 --extrude", r"pnpm atlas --src art/fish --pad 2", kind="command"),
        question("I want to make the crab cheaper. Which file do I open?", "data/prices.csv; the ts is generated.", (r"prices\.csv", r"live|generated|build"), kind="decision"),
        question("Which state library must I not bring in?", "No Redux, it is zustand.", (r"redux", r"no redux|fought|zustand"), kind="rejected"),
        question("How should new code for an effect be shaped and its file be called?", "A plain function, no classes, in a kebab-case file.", (r"no classes",), (r"kebab-case",), kind="preference"),
        question("demo todo?", "Gamepad in menus, and the third step of the octopus quest.", (r"gamepad", r"menus?"), (r"octopus", r"third|second step"), kind="open"),
    ),
    stands=(
        value("prefs", (r"tide\.prefs",)),
        value("plants", (r"pnpm atlas --all",)),
        value("playtest", (r"ines wahl",)),
        value("anemone", (r"anemone", r"\b45\b")),
    ),
    foreign=(
        value("outage", r"seat-audit|pgbouncer"),
        value("metering", r"mdm-test|brandstätter"),
        value("legacy", r"tolva|PRM\d{3}"),
    ),
)  # fmt: skip
