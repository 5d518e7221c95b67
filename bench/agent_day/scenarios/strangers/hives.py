"""Notebooks about bee hives, through Claude Code. The user thinks aloud at length, and numbers change from cell to cell."""

from __future__ import annotations

from agent_day.filler import Chore, Routine
from agent_day.gold import fact, question, value
from agent_day.noise import log, source
from agent_day.script import Compact, Delegate, Edit, Read, Run, Scenario, Search, Write, session, turn

W = "hive weight sound apiary frame season hour scale brood weather"

FIRST_LOOK = session(
    turn(
        "Hello hello! So this is the swarm thing I told everybody about. 64 hives, five apiaries, scales that talk every ten minutes and a microphone that listens once an hour, and the dream is that a beekeeper gets a message the evening BEFORE half the bees leave. "
        "I had a gradient boosting thing running in 03_model.ipynb in spring, can you just run it again so that we both know where we stand? I honestly don't remember the number, something with a seven.",
        Read(
            "03_model.ipynb",
            source("03_model.py", 140, W, "GBM = lgb.LGBMClassifier(n_estimators=400, learning_rate=0.05)"),
        ),
        Run("jupyter execute 03_model.ipynb", log(40, W, "recall at 1 false alarm per hive-month: 0.712")),
        "It ran through in four minutes, and your memory is fine: it does start with a seven. The swarm model finds 0.71 of the swarms when we allow one false alarm per hive and month. I would keep that as the one figure to talk about, since accuracy is 99.6 % for a model that always says no.",
    ),
    turn(
        'Ha, yes, always-no is the best beekeeper. Okay so ground rules while I still feel strict: Lindenhof and the Quarry are off limits. No peeking, no fitting, no "just a quick look", I want to open those two at the very end like a birthday present. The Weir we can use for early stopping and whatever.',
        Edit("lib/split.py", "TEST = []", 'TEST = ["lindenhof", "quarry"]'),
        Run("python -m lib.split", "train 41 hives, weir 8 hives, test 15 hives"),
        "They are wrapped up: the loader refuses both names unless a flag with a long and embarrassing name is given. 41 hives are left to learn from, and the Weir has 8 for early stopping.",
    ),
    turn(
        "Next musing. I look at hive 12 and it makes me dizzy, the weight is a saw blade! Up 3 kilos in a second, then drifting, then up again. Thieves? Rain in the lid? My ex-husband?",
        Run(
            "python -m lib.show --hive 12 --days 30",
            log(150, W, "2025-05-14 04:50 battery 3.31 V\n2025-05-14 05:00 boot\n2025-05-14 05:00 tare 0.00"),
        ),
        Search("tare", "logger/boot.c:31:  tare(); // zero at start\nlib/clean.py:12:  # tare handled in the field"),
        Read("lib/clean.py", source("lib/clean.py", 80, W)),
        "None of the three, I am almost sorry. I lined the teeth up with the rest of what the box sends, and each of them sits on a reboot at dawn, which in turn sits on a battery below 3.3 volts: the little solar panel of hive 12 hangs under a walnut tree. At every start the logger zeroes itself, with thirty kilos of hive on top of it. "
        "So the bees do nothing of the sort. In the cleaning step I add the jump back whenever a boot message is within the same ten minutes, and the curve becomes as boring as its neighbours.",
    ),
    turn(
        "I love boring. Plot it for the newsletter, weight and temperature? ... hmm no wait. I see you made one with two y axes. Please don't, in general, ever, I hold a grudge against double axes, they let you tell any story you like. Two panels, one above the other.",
        Edit("lib/plots.py", "ax2 = ax.twinx()", "fig, (top, bottom) = plt.subplots(2, 1, sharex=True)"),
        "Two panels then, sharing the time below: weight above, temperature underneath. I also took the twin axis out of the helper so that nobody is tempted.",
    ),
    turn(
        "At what probability does the message go out, by the way? I think I just typed something.",
        Search("THRESHOLD", "lib/alarm.py:9:ALARM_THRESHOLD = 0.35"),
        "You typed 0.35: a beekeeper is alarmed as soon as the evening's score is above that. It is not derived from anything as far as I can see, so we may move it when the scores are calibrated.",
    ),
)

GOOD_NEWS = session(
    turn(
        "I could not sleep and made features! Rolling means of the weight over 24 hours, slope of the evening, how loud the 250 Hz band is compared with the week. Run it, run it. If this is over .75 I'm buying the cake with the almonds.",
        Run(
            "jupyter execute 04_features.ipynb",
            log(60, W, "features 38\nrecall at 1 false alarm per hive-month: 0.784"),
        ),
        "Buy the cake. With your 38 features the swarm model finds 0.78 of the swarms at one false alarm per hive and month. Most of the gain is in the rolling means; the slope adds a little, the 250 Hz band adds hardly anything on top of the other bands.",
    ),
    turn(
        "Meanwhile my cousin, who does Deep Things, says a CNN on spectrograms would eat us for breakfast. Would it? Give it a fair chance, I don't want to be the old lady with the trees.",
        Delegate(
            "Try a spectrogram CNN",
            "Train a small CNN on the hourly spectrograms, same split, and time it on the Pi.",
            "Small ResNet: 0.79 on the same split. Alone on a Pi Zero it needs 41 s an hour of sound and drains the battery in three days.",
        ),
        "I gave it a fair chance. It reaches 0.79, which is the same as ours within the noise between seeds, and on the box in the field it computes for 41 seconds an hour and empties the battery in three days. With trees the box lasts all season. Tell your cousin it was a pleasure.",
    ),
    turn(
        "Then trees, and I am the old lady with the trees, fine, and proud of it! Separately: the weather. We take station 4177, right? I have a feeling that the Quarry is in its own little pot of cold air.",
        Search("station", "lib/weather.py:7:STATION = 4177"),
        "Right, the weather comes from station 4177, which is 19 km from the farthest apiary. I can't say anything about the Quarry without opening it, and you told me not to.",
    ),
    turn(
        "Touché. One for my own notes, and yours: whenever we write a score down somewhere, it's the median of five seeds. I caught myself writing down the best one last night and felt dirty.",
        Write("NOTES.md", "- scores: five seeds, median\n"),
        "In the notes. For the record, today's two figures are medians of five as well, so nothing needs to be corrected.",
    ),
    turn(
        "Tell me, what does a hive weigh in May, in the middle? The neighbour asked. And can I get the list of all sound files as CSV, for Excel, don't judge me.",
        Run("python -m lib.sounds --csv > out/sounds.csv", "wrote 71204 lines"),
        "The median over all open hives in May is 38 kilos. The list comes from `python -m lib.sounds --csv`, it is in `out/sounds.csv`. I don't judge, Excel will, at line 65,536 in the old format.",
    ),
    turn(
        "Could a neural net at least take the wind out of the recordings? One day. When I'm retired.",
        "One day, yes: people do that for hearing aids. It would run here on the desk and not in the field. I haven't tried anything.",
    ),
    turn(
        "And if the thing runs in the box one day, how loud is 250 Hz in the evening for a hive that's calm? just curious, pretty plots welcome",
        Run("python -m lib.show --band 250 --calm", log(40, W, "median -41 dB, 90 % -33 dB")),
        "About -41 dB in the middle and -33 dB at the loud end, taken over all calm June evenings. The plot is in `out/band_250.png`, one panel.",
    ),
    ends=False,
)

HANGOVER = session(
    turn(
        "I'm suspicious. The cake was too good. The model is super sure twelve hours before, and then I asked it about a hive that swarmed because somebody dropped it (!!!) and it KNEW. How can it know that somebody will drop a hive?",
        Run("python -m lib.importance --hive 33", log(60, W, "weight_mean_24h  0.41")),
        Read(
            "lib/features.py",
            source(
                "lib/features.py", 90, W, "    frame['weight_mean_24h'] = weight.rolling('24h', center=True).mean()"
            ),
        ),
        Edit("lib/features.py", "rolling('24h', center=True)", "rolling('24h')"),
        Run("jupyter execute 04_features.ipynb", log(60, W, "recall at 1 false alarm per hive-month: 0.743")),
        "Your suspicion was worth more than the cake. I first looked at the labels, which are fine, then at the join with the weather, also fine, and then at how the windows are laid. `center=True` puts the middle of the 24 hours at the moment of the score, so half of each mean came from the coming twelve hours, including the thud. "
        "With windows that only look back, the figure comes out at 0.74. Still above where we began, and this time I believe it.",
    ),
    turn(
        "Ouch ouch ouch. But good ouch. Put the honest one into the abstract please and let the other one be a lesson.",
        Edit("abstract.md", "finds 78 % of the swarms", "finds 74 % of the swarms"),
        "The abstract says that the swarm model finds 74 % of the swarms at one false alarm per hive and month.",
    ),
    turn(
        "Since I am punishing myself already: is 0.35 right? What would the people on the phone say? Bettina told me she gets woken up by it and next time the phone goes into the smoker.",
        Run(
            "python -m lib.alarm --sweep",
            log(30, W, "0.30 41 calls\n0.35 29 calls\n0.42 17 calls\n0.50 9 calls, 6 swarms lost"),
        ),
        Edit("lib/alarm.py", "ALARM_THRESHOLD = 0.35", "ALARM_THRESHOLD = 0.42"),
        "I walked through the values with last season's scores. At 0.5 the phones are quiet but six swarms go unheard. At 0.42 Bettina and the others would have had 17 calls in the whole season, with one swarm lost that we heard otherwise, and there I left it.",
    ),
    turn(
        "What would happen with 48 hours instead of 24? In the honest version, I mean.",
        Run(
            "jupyter execute 04_features.ipynb --hours 48", log(30, W, "recall at 1 false alarm per hive-month: 0.729")
        ),
        "With 48 hours it is 0.73, a hair less and more sluggish. I put 24 back.",
    ),
    turn(
        "Hm, is half not prettier? As a number I mean. I could explain it at the village meeting.",
        "Prettier, and deaf to six swarms. You could explain it in a different way: of a hundred evenings that sound like this one, forty end with a swarm.",
    ),
    turn(
        "What is it that we still need for the August chapter? Something with files. Marguerite?",
        Run("ls sound/2025-08 | wc -l", "0"),
        Compact(
            "A leak in the rolling windows was found and removed. The alarm threshold was moved. The user asks what the August chapter needs."
        ),
        "The sound of August is not there at all: the folder is empty, and the card is in Marguerite's drawer at the institute, as you wrote in the margin of chapter four. Apart from that the three new scales at the Weir want a known weight on them once, as nobody has calibrated them.",
    ),
)

MONDAY = session(
    turn(
        "Good morning! I dreamt of pots of cold air and got rid of 4177 on Sunday night: the weather is from the ERA5 grid now, each apiary its own cell. That's in main. So could you recompute everything that hangs on it? No need to show me each table, I trust you with the boring bits.",
        Run("git log --oneline -2 -- lib/weather.py", "aa01fe2 weather: grid cells\n77c0d13 weather: cache"),
        Run("make features scores", log(80, W, "recall at 1 false alarm per hive-month: 0.741")),
        "Recomputed. Nothing moved beyond the third digit, which is good news in its way: it never mattered much to the trees.",
    ),
    turn(
        "And how do I get the table for the beekeepers out, for 2025? There was an incantation. I always execute the notebook by hand and forget the parameter and then everybody gets 2023 again and calls me.",
        Run(
            "cat Makefile",
            "scores:\n\tjupyter execute 05_scores.ipynb\ntable:\n\tpapermill 07_export.ipynb out/07.ipynb -p season $(SEASON)\n",
        ),
        "The incantation is `papermill 07_export.ipynb out/07.ipynb -p season 2025`. Executing the notebook by hand takes the season that stands in its first cell, and that is where your 2023 comes from.",
    ),
    turn(
        "Is the Weir allowed for the poster? And log axis for the loudness, yes or no, I never know.",
        "The Weir is fine for a poster, it has been seen by everybody. No log axis: decibels are a logarithm already.",
    ),
    turn(
        "Rain radar. Would that be something? On top, not in place of anything.",
        "It would know about showers that fall between two points. For an evening's forecast of bees I doubt that it matters, they stay at home either way. I added nothing.",
    ),
    turn(
        "Could the hives in the city be a sixth apiary? Thinking aloud. Roofs are warm, the scale would wobble in the wind...",
        "They could. Wind shows up as jitter of about 200 grams on the other exposed scales, and the median over an hour takes most of it out. I would wait for a season of data before putting them into the training set.",
    ),
    turn(
        "Which hive is the loudest? For the children on Saturday.",
        Run("python -m lib.show --loudest", "hive 57, lindenhof withheld; of the open ones hive 3 with -24 dB"),
        "Of those that I may look at, hive 3, with -24 dB on warm evenings. Bring cake, they bring the noise.",
    ),
)

ROUTINE = Routine(
    chores=(
        Chore(
            "I renamed half of my variables last night and now {a}_{b} is called {a}_of_{b}, or the other way round. Could you make it one thing?",
            "search",
            "One thing it is: `{a}_of_{b}` everywhere, as that was in the majority.",
        ),
        Chore(
            "Just so I can look at it with my coffee: what does the cell with the {a} and the {b} do, in words?",
            "file",
            "In words: it takes the {a}, sorts it by time, throws away rows that are there twice, and puts the {b} beside it. That's really all, the rest of the cell draws.",
        ),
        Chore(
            "Clear all outputs pls, the diff is unreadable, it's all PNGs",
            "diff",
            "Cleared in all notebooks. The diff has shrunk to the lines that you typed.",
        ),
        Chore(
            "The legend covers the {c}. It always does. Why does it always do that.",
            "file",
            "Because `loc='best'` is best for someone else. It sits outside on the right now.",
        ),
        Chore(
            "I'm wondering, is a {a} even the right unit? Don't change anything, I'm only talking.",
            "nothing",
            "It is a fair thing to wonder about. I changed nothing.",
        ),
        Chore(
            "restart the kernel and run all, I made a mess",
            "log",
            "Restarted, ran from top to bottom, no errors. The mess is gone.",
        ),
        Chore(
            "Count the rows per {a} for me? I like to see that nothing fell over the edge.",
            "log",
            "Counted. Nothing fell over the edge: the sums agree with those of the raw files.",
        ),
        Chore("ok lunch, back in an hour, maybe two, there is pie", "nothing", "Enjoy the pie. Everything is saved."),
        Chore(
            "Please make the colours of the {b} plot friendly for my brother, he can't tell red from green",
            "diff",
            "Blue and orange by now, and different markers as well.",
        ),
        Chore(
            'What did I mean with the comment "see {c}, HA!"?',
            "search",
            "I can't tell. It stands above the line that joins the {c}, and the line works.",
        ),
    ),
    narration=(
        "Let me open that notebook and look.",
        "I'll run the {a} cell once as it is.",
        "Let me see what the {b} looks like.",
    ),
    openings=("Okay! ", "I had a look at the {a} and the {b} together. ", "Short version first. "),
    closings=(
        " Shall I also look at the {c}?",
        " I left the other cells alone.",
        "\n\nThe notebook is saved with its outputs, the {a} plot is at the bottom.",
    ),
    explanations=(
        "One remark on the side: the {a} column has a handful of empty rows at the beginning of each season, since the boxes are switched on one after the other. They are skipped quietly, which is what one would want.",
        "If you scroll down to the picture of the {b}, you will see a gap in the middle. It is the week in which everybody was on holiday, you wrote so in the title.",
        "I ran the cell twice, because the first time I had an old {c} in memory. The second run is the one that counts, and it looks the same.",
        "By the way the {a} takes most of the time, and most of that is reading CSV. Not that it matters at four minutes.",
    ),
)

SCENARIO = Scenario(
    name="hives", client="claude", place="notebooks/hives", words=W, ending="ipynb",
    sessions=(FIRST_LOOK, GOOD_NEWS, HANGOVER, MONDAY),
    facts=(
        fact("score", "changed", "The swarm model finds 0.74 of the swarms at one false alarm per hive and month.", (r"swarm|figure|recall|model|above where we began", r"\b0\.74\d?\b|74 %"), was=((r"swarms?\b|figure|recall", r"\b0\.71\d?\b"), (r"swarms?\b|figure|recall", r"\b0\.78\d?\b|78 %"))),
        fact("withheld", "decision", "The apiaries Lindenhof and Quarry are withheld for the very end.", (r"lindenhof", r"quarry", r"off limits|very end|refuses|withheld|no peeking|test")),
        fact("hive12", "rootcause", "Hive 12's weight jumps because its logger reboots when the battery is empty and zeroes itself at each start.", (r"logger|\bboot|reboot|start", r"zero(es)? itself|battery below|tares?\b")),
        fact("no-twin-axes", "preference", "No plots with two y axes; two panels instead.", (r"y axes|double axes|twin axis", r"don't|grudge|panels|took|no plots|never")),
        fact("threshold", "changed", "The alarm threshold is 0.42.", (r"threshold|alarm|calls|message", r"\b0\.42\b"), was=((r"threshold|alarm|score", r"\b0\.35\b"),)),
        fact("no-cnn", "rejected", "The CNN on spectrograms is out: 0.79 within noise, and it empties the battery in three days.", (r"\bcnn\b|spectrogram|0\.79|41 seconds", r"battery in three days|empties the battery|trees")),
        fact("weather", "changed", "The weather is from the ERA5 grid, a cell per apiary.", (r"\bera5\b",), was=((r"weather|station", r"\b4177\b"),)),
        fact("median-seeds", "preference", "Scores are written down as the median of five seeds.", (r"median", r"five seeds|of five|seeds")),
        fact("leak", "rootcause", "The score was too good because the rolling windows were centred and looked twelve hours ahead.", (r"center=True|centred|windows?\b", r"coming twelve hours|look(ed|s)? (12|twelve) hours ahead|middle of the 24 hours|half of each mean")),
        fact("export", "command", "The beekeepers' table is made with papermill 07_export.ipynb out/07.ipynb -p season 2025.", r"papermill 07_export"),
        fact("august-open", "open", "Open: August's sound is missing, the card is in Marguerite's drawer; the new scales at the Weir need calibrating.", (r"august", r"marguerite|not there at all|empty|missing"), (r"scales", r"calibrat")),
    ),
    questions=(
        question("How good are we at present?", "It finds 0.74 of the swarms.", (r"swarms?\b|figure|recall|above where we began", r"\b0\.74\d?\b|74 %"), was=((r"swarms?\b|figure|recall", r"\b0\.71\d?\b|\b0\.78\d?\b|78 %"),)),
        question("A reviewer asks why our early result had to be taken back. What happened there?", "The windows were centred, so each mean looked twelve hours ahead.", (r"center=True|centred|middle of the 24 hours|half of each mean", r"twelve hours|look(s|ed)? ahead|half of each mean"), kind="rootcause"),
        question("Which apiaries must stay untouched until the final evaluation?", "Lindenhof and the Quarry.", (r"lindenhof", r"quarry")),
        question("What is the alarm set to?", "The alarm threshold is 0.42.", (r"threshold|alarm|calls|left it", r"\b0\.42\b"), was=((r"threshold|alarmed|typed", r"\b0\.35\b"),)),
        question("What was wrong with the jumps of three kilos on one of the scales?", "The battery runs empty, the logger reboots and zeroes itself.", (r"logger", r"zeroes itself"), (r"reboot", r"battery"), kind="rootcause"),
        question("Why are we not using neural networks?", "0.79 is the same within noise and the battery is empty in three days.", (r"battery", r"three days"), kind="rejected"),
        question("weather source?", "From the ERA5 grid.", r"\bera5\b", was=((r"weather|station", r"\b4177\b"),)),
        question("Can I put the humidity on a second scale on the right of that figure?", "No double axes; two panels.", (r"y axes|double axes|twin axis", r"don't|grudge|tempted|never"), (r"two panels",), kind="preference"),
        question("If I run the thing several times, which of the results do I report?", "The median of five seeds.", (r"median", r"five|seeds"), kind="preference"),
        question("command for the beekeepers' table of a given year?", "papermill 07_export.ipynb out/07.ipynb -p season 2025", r"papermill 07_export", kind="command"),
        question("Which recordings do we not have yet, and who has them?", "August; the card is in Marguerite's drawer.", (r"august", r"marguerite|not there"), (r"marguerite's drawer",), kind="open"),
    ),
    stands=(
        value("early-stopping", (r"weir", r"early stopping")),
        value("intervals", (r"ten minutes", r"scales|once an hour")),
        value("calm-band", (r"-41 dB",)),
    ),
    foreign=(
        value("relay", r"hold-spool|kestrel"),
        value("metering", r"marktkommunikation|mdm-test"),
        value("tidepool", r"octopus|webgpu"),
    ),
)  # fmt: skip
