"""A phone bot of a heating repair firm in TypeScript. The user chats; the answers are bullet lists, some with bold leads."""

from __future__ import annotations

from agent_day.gold import fact, question, value
from agent_day.noise import diff, log, matches, source, tests
from agent_day.script import Edit, Read, Run, Scenario, Search, Write, session, turn

W = "caller intent utterance boiler slot prompt agent trunk speech engineer"

ECHO = session(
    turn(
        "OK so this is driving everybody nuts: the bot stops in the middle of its own sentence, says 'sorry, go ahead', and there's nobody talking!! Happens on mobile callers mostly. I put three recordings into fixtures/calls. Any idea??",
        Run(
            "pnpm call:replay fixtures/calls/echo-02.json",
            log(130, W, "DEBUG speech.vad start while prompt playing level=-31dB"),
        ),
        Search("onSpeechStart", matches(6, "ts", W, "trunk.onSpeechStart(() => player.stop())")),
        Read(
            "src/media/bargeIn.ts",
            source("src/media/bargeIn.ts", 110, W, "trunk.rtp.on('frame', (f) => vad.push(f)); // raw frames"),
        ),
        "- **What is heard:** the bot itself. A mobile phone on loudspeaker sends our own prompt back after about 180 ms.\n- **Why it counts as talking:** the speech detector gets the raw frames of the trunk; the echo canceller sits one step behind it and never had a chance.\n- **Cure:** swap the two, canceller first, detector second. All three recordings play through then.",
    ),
    turn(
        "omg it was talking to ITSELF. yes swap pls!! oh and the bot must never say 'unfortunately' – our CEO hates it, sounds like a bank. grep for it?",
        Edit(
            "src/media/bargeIn.ts",
            "trunk.rtp.on('frame', (f) => vad.push(f))",
            "canceller.on('clean', (f) => vad.push(f))",
        ),
        Search("unfortunately", matches(5, "ts", W, "say('Unfortunately, all engineers are busy')")),
        Run("pnpm test", tests(260, W, "Tests  260 passed (260)")),
        "- swapped, barge-in works on the clean signal\n- five prompts said 'unfortunately'; I rewrote them, and a test refuses the word in `prompts/*.json`",
    ),
    turn(
        "You're a star. So Dee from compliance wants a one-pager. How long do we keep stuff, when do humans pick up, when does the bot give up, that kind of thing. Can you pull it together?",
        Read("config/policy.yaml", source("config/policy.yaml", 80, W)),
        "- Audio recordings are kept for 90 days.\n- Transcripts are kept for 90 days, with names and addresses masked.\n- After two misunderstood answers in a row the bot hands over to a human.\n- After two silences in a row it says goodbye and hangs up.\n- Engineers are dispatched around the clock for gas smells.",
    ),
    turn(
        "Perfect. And which voice is it speaking with again, my mum asked lol (she thinks she knows her)",
        "- It is the voice 'Harriet', speed 1.05. The hold announcements are a real recording by a colleague of yours.",
    ),
)

PRICES = session(
    turn(
        "So sales had An Idea: let the language model answer free questions about prices. 'How much is a new pump' etc. I let it run on 200 old calls in the sandbox, can you evaluate? results in sandbox/prices.jsonl",
        Run("pnpm tsx sandbox/grade.ts sandbox/prices.jsonl", log(60, W, "graded 200: right=171 wrong=23 refused=6")),
        "- 171 right, 6 refused, **23 wrong**\n- the wrong ones are fluent and precise: a pump for £140 that costs £410, a call-out that is 'free this month'\n- more context did not help; it mixes up rows of neighbouring products\n- each wrong price is a quote that we might have to honour",
    ),
    turn(
        "23 wrong quotes out of 200, NOPE. I told sales: prices get read out from the table or not at all, the model doesn't get to make up prices. can you make sure it CAN'T?",
        Edit(
            "src/dialog/answer.ts",
            "return llm.reply(turn)",
            "return isPriceQuestion(turn) ? priceFromTable(turn) : llm.reply(turn)",
        ),
        Run("pnpm test src/dialog", tests(84, W, "Tests  84 passed (84)")),
        "- price questions are routed to the table; without a matching row the bot offers a call back by the agents, who sit there between 8:00 and 18:00\n- any reply of the model that contains a currency sign is dropped and replaced by the same offer",
    ),
    turn(
        "Next!! Appointments vanish. Just gone from the engineers' tablets. Today it's a whole bunch of them, yesterday none??",
        Run(
            "pnpm call:replay fixtures/calls/appt-31.json",
            log(90, W, "INFO slot.date wanted=2024-06-12 stored=2024-07-12"),
        ),
        Read("src/dialog/dates.ts", source("src/dialog/dates.ts", 70, W, "  date.setMonth(month); date.setDate(day);")),
        "- `dates.ts` sets the month first while the day is still today's.\n- On a 31st that makes June overflow to July, then the day is set on top, so the booking lands a month late.\n- It happens only if the call itself takes place on a 31st and the appointment lies in a shorter month.\n- Building the date in one go, `new Date(year, month, day)`, settles it. The lost bookings are all there, one month too late; I listed the nine of them in `ops/moved.csv`.",
    ),
    turn(
        "Ugh, dates. fix it, I'll call the nine people myself. And pls validate EVERYTHING that comes in from outside with zod, trunk events included, I don't want to guess shapes any more",
        Edit(
            "src/dialog/dates.ts",
            "date.setMonth(month); date.setDate(day);",
            "const date = new Date(year, month, day);",
        ),
        Write("src/trunk/events.ts", source("src/trunk/events.ts", 60, W)),
        Run("pnpm test", tests(271, W, "Tests  271 passed (271)")),
        "- fixed, with a test that pretends it is a 31st\n- trunk events, calendar replies and the dispatcher's webhooks all pass a zod schema; what does not fit is logged and dropped",
    ),
)

LEGAL = session(
    turn(
        "Soooo Dee came back. Two weeks tops for anything you can LISTEN to, and she wants it live by Friday. What you can read is fine as it is, since it's masked.",
        Run("pnpm tsx ops/purge.ts --dry-run", log(34, W, "INFO purge would remove 18211 recordings")),
        Run("pnpm tsx ops/purge.ts", log(34, W, "INFO purge done 18211")),
        "- audio older than 14 days is purged every night; the first run took 18,211 recordings\n- transcripts are not touched by it",
    ),
    turn(
        "Good. Also!! big news, the Leeds crew joins us, so there's somebody on the line from 6 in the morning to 22:00. Finally. Can the bot pls offer a human in those hours.",
        Read("src/dialog/handover.ts", source("src/dialog/handover.ts", 90, W)),
        Run("pnpm test src/dialog/handover", tests(22, W, "Tests  22 passed (22)")),
        "- handover is offered between 6:00 and 22:00, at weekends too\n- outside of these hours the bot takes a number for a call back",
    ),
    turn(
        "And the Leeds people say the bot bails out too early, half the calls they get could have been solved with one more try. Let it try once more than it does today before it passes somebody on.",
        Search("maxMisses", "src/dialog/handover.ts:31:  if (misses >= policy.maxMisses) return handOver(turn)"),
        "- three misses in a row and the caller gets a person\n- the silence rule is separate and has not changed",
    ),
    turn(
        "gotta run, kids. what's the thing with the Scottish postcodes again, just so I have it in writing",
        "- Not solved: postcodes such as 'EH' and 'G' followed by digits are heard as 'H' and 'chee' in about a third of Scottish calls.\n- Plan: a custom grammar for the speech service, fed by the list of the 16 Scottish areas. I have asked nobody for that list so far.",
    ),
    ends=False,
)

VOICE = session(
    turn(
        "Morning! Callers over 70 don't understand our lady on bad lines, we did a test in the Leeds office with 40 people. The gentleman won by miles: Alistair. Put him in, same speed.",
        Run("pnpm say --voice alistair 'Good morning, this is Brightflame.'", "written out.wav 2.9s"),
        Run("pnpm prompts:render", log(50, W, "rendered 212 prompts")),
        "- all 212 prompts are rendered with Alistair at 1.05\n- the hold announcements are the recording you have had all along",
    ),
    turn(
        "Dee once more (sorry!!): the ombudsman wants to be able to hear a call when somebody complains, so it's thirty days of sound. Final, she swears.",
        Run("pnpm tsx ops/purge.ts --dry-run", log(20, W, "INFO purge would remove 0 recordings")),
        "- the nightly purge takes audio once it is 30 days of age\n- nothing else moves, text least of all",
    ),
    turn(
        "How do I listen to one call with all the decisions next to it? you showed me once",
        "- `pnpm call:replay <file> --inspect` opens the call in the browser, audio on the left and each decision with its score on the right.",
    ),
    turn(
        "Thaaanks. btw when you report numbers pls always say out of how many, '23 wrong' means nothing to my boss",
        Run(
            "git log --oneline -3", "aa10f2e prompts: new voice\n5be771c handover: one more try\n19c0d3d policy: purge"
        ),
        Run("git diff HEAD~1 --stat", diff("prompts/index.ts", W, 14)),
        "- Will do. For example: 61 of 188 calls with a postcode last week were Scottish, and 20 of those 61 failed.",
    ),
)

SCENARIO = Scenario(
    name="callbot", client="gemini", place="work/brightflame/bot", remote="https://git.example.com/brightflame/bot.git", words=W, ending="ts",
    sessions=(ECHO, PRICES, LEGAL, VOICE),
    facts=(
        fact("own-echo", "rootcause", "The bot interrupted itself: the detector got raw frames with its own echo, ahead of the canceller.", (r"echo|canceller", r"raw frames|bot itself|detector|canceller first")),
        fact("unfortunately", "preference", "The bot never says 'unfortunately'.", (r"unfortunately", r"never|refuses the word")),
        fact("no-model-prices", "rejected", "The model does not answer prices; they come from the table or not at all.", (r"prices?", r"table or not at all|routed to the table|doesn't get to make up")),
        fact("month-overflow", "rootcause", "Appointments moved since the month was set while the day was still a 31st.", (r"month", r"31st", r"overflow|sets the month first|month was set")),
        fact("inspect", "command", "pnpm call:replay <file> --inspect shows a call with each decision.", (r"call:replay", r"--inspect")),
        fact("audio-retention", "changed", "Audio is kept for 30 days.", (r"audio|sound", r"30 days|thirty days"), was=((r"recordings are kept for 90 days",), (r"audio older than 14 days",), (r"two weeks tops", r"listen"))),
        fact("human-hours", "changed", "Humans can take over between 6:00 and 22:00.", (r"6:00 and 22:00|6 in the morning to 22",), was=((r"8:00 and 18:00",),)),
        fact("misses", "changed", "After three misses in a row a human takes over.", (r"three miss",), was=((r"two misunderstood answers",),)),
        fact("voice", "changed", "The bot speaks with the voice Alistair.", (r"\balistair\b",), was=((r"\bharriet\b",),)),
        fact("postcodes", "open", "Open: Scottish postcodes are misheard; a custom grammar with the 16 areas is planned.", (r"scottish", r"grammar|not solved|heard as")),
    ),
    questions=(
        question("Why did the thing keep interrupting when nobody spoke??", "Its own echo reached the detector ahead of the canceller.", (r"echo", r"detector|canceller|raw frames"), (r"bot itself",), kind="rootcause"),
        question("how long are we allowed to hold on to the sound files?", "Audio goes after 30 days.", (r"audio|sound", r"30 days|thirty days"), was=((r"recordings are kept for 90 days",), (r"audio older than 14 days",), (r"two weeks tops", r"listen"))),
        question("what times can somebody get put through to a real person?", "Between 6:00 and 22:00.", (r"6:00 and 22:00|6 in the morning to 22",), was=((r"8:00 and 18:00",),)),
        question("how often may the bot get it wrong until it gives up?", "Three misses in a row.", (r"three miss",), was=((r"two misunderstood answers",),)),
        question("who's the speaker of our announcements at the moment, name of the voice?", "Alistair.", (r"\balistair\b",), was=((r"\bharriet\b",),)),
        question("can the language model tell people what a pump costs?", "No, prices are read from the table or not at all.", (r"table or not at all|routed to the table",), kind="rejected"),
        question("what happened to the bookings that disappeared at the end of a month?", "The month was set while the day was a 31st, so it overflowed.", (r"overflow|sets the month first", r"month|31st"), kind="rootcause"),
        question("which word is taboo on the phone?", "unfortunately", (r"unfortunately",), kind="preference"),
        question("what's unsolved for people in Edinburgh and Glasgow?", "Scottish postcodes are misheard; a custom grammar is planned.", (r"scottish", r"postcode", r"grammar|heard as"), kind="open"),
        question("how can I go through a single conversation with the bot's reasoning beside it?", "pnpm call:replay <file> --inspect", (r"call:replay", r"--inspect"), kind="command"),
        question("how does my boss like statistics presented?", "Always say out of how many.", (r"out of how many",), (r"20 of those 61",), kind="preference"),
    ),
    stands=(
        value("transcripts", (r"transcripts are kept for 90 days",), (r"transcripts are not touched",)),
        value("silences", (r"two silences",), (r"silence rule", r"not changed")),
        value("speed", (r"1\.05",)),
        value("gas", (r"gas smells", r"around the clock")),
    ),
    foreign=(
        value("nc", r"netcdf|ghost cells"),
        value("vat", r"quayside|mollie"),
        value("passes", r"wren-ops|punta arenas"),
    ),
)  # fmt: skip
