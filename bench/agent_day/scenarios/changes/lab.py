"""A pipetting robot, through Claude Code. Short questions; the answers are plain paragraphs and bullets of their own."""

from __future__ import annotations

from agent_day.gold import fact, value
from agent_day.noise import log, matches, source
from agent_day.script import Edit, Read, Run, Scenario, Search, Write, session, turn

W = "pipette deck rack plate tip gantry reagent assay wash spin"

SCENARIO = Scenario(
    name="lab", client="claude", place="lab/robot", words=W, ending="py",
    sessions=(
        session(
            turn("The evaporation losses in row H are back. What do we do about them?",
                 Run("python tools/weigh.py --row H", log(40, W, "mean loss 4.1 %")),
                 "Row H sits next to the fan outlet, which dries the wells while the plate waits for the reader.\n\n• lid goes on between dispense and read\n• the waiting time on deck is capped at 12 minutes\n• the fan stays as it is"),
            turn("How hot does the incubator run in the overnight protocol?",
                 Read("protocols/overnight.py", source("protocols/overnight.py", 60, W, "INCUBATE_C = 37.0")),
                 "The overnight protocol incubates at 37.0 °C. The dry block next to it is held at 65 °C."),
            turn("who signs off new liquid classes, I always forget",
                 "Per the lab handbook it's Ingrid who signs off liquid classes; deck layouts go to Tomasz."),
            turn("we order filter tips from Brandt, 200 µl, lot goes into the run sheet. remember that",
                 "Noted: filter tips come from Brandt, and the lot number belongs in the run sheet."),
            turn("which barcode symbology?", Search("symbology", matches(3,"py",W,"SYMBOLOGY = 'code128'")),
                 "Plates carry Code 128 labels, racks carry QR codes."),
            turn("calibration interval?", Read("docs/calibration.md", "Gravimetric calibration every 90 days.\nDeck teaching every 30 days."),
                 "Two intervals apply. Gravimetric calibration is due every 90 days, deck teaching every 30 days."),
            turn("And the aspirate speed for serum?", Run("grep -n serum classes.yaml","serum: aspirate 40 ul/s dispense 120 ul/s"),
                 "Serum is aspirated at 40 µl/s and dispensed at 120 µl/s."),
        ),
        session(
            turn("Foam in serum again, photos attached. Try slower.",
                 Edit("classes.yaml","serum: aspirate 40","serum: aspirate 25"),
                 Run("python tools/foam.py --class serum", log(30,W,"foam events: 0 of 96")),
                 "No foam in any of 96 wells after the change. Serum now goes up at 25 µl/s; I did not touch the dispense rate."),
            turn("Ingrid is on parental leave from Monday. Mehmet does it until she's back in spring.",
                 "Understood. I'll put Mehmet down as the approver for liquid classes."),
            turn("Quality wants calibration quarterly → every six weeks for the gravimetric one.",
                 Edit("docs/calibration.md","Gravimetric calibration every 90 days.","Gravimetric calibration every 42 days."),
                 "The document says 42 days for the gravimetric procedure. The reminder job reads it from there."),
            turn("the 12 min cap on deck kills throughput, with lids on it doesn't matter. make it 30",
                 Run("python tools/weigh.py --row H --lid", log(20,W,"mean loss 0.3 % at 30 min")),
                 "With lids the loss at half an hour is 0.3 %, so thirty minutes are fine and the scheduler allows them."),
            turn("Brandt can't deliver till March. Purchasing got us Sorenson tips, same volume.",
                 "All right, Sorenson it is. Their tips are 0.4 mm shorter, so I re-taught the pick-up height and ran the leak test: passed."),
            turn("for the validation run only, incubate at 35",
                 Write("protocols/validation.py","INCUBATE_C = 35.0\n"),
                 "The validation protocol has a temperature of its own, 35.0 °C. The overnight one is not touched."),
        ),
        session(
            turn("does the reader still choke on Code 128?",
                 Run("python tools/scan.py --n 500", log(30,W,"500 scans, 31 misreads")),
                 "31 of 500 were misread, all of them from the curved side of the plate. A 2D code would not have that."),
            turn("ok, DataMatrix then, labels arrive on friday",
                 Edit("scan/config.py","SYMBOLOGY = 'code128'","SYMBOLOGY = 'datamatrix'"),
                 "Done, the scanner looks for DataMatrix. I left a switch for the 40 old plates in the freezer."),
            turn("25 is too slow for the big batches, meet in the middle",
                 Edit("classes.yaml","serum: aspirate 25","serum: aspirate 32"),
                 Run("python tools/foam.py --class serum", log(30,W,"foam events: 1 of 384")),
                 "One bubble in 384 wells at 32 µl/s, and a batch of four plates takes 9 minutes less. I'd keep that."),
            turn("what's the dead volume of the new troughs",
                 Run("python tools/dead.py", "dead volume 1.8 ml"),
                 "1.8 ml for the new troughs."),
            turn("the overnight guys complain about condensation. go down to 36.5, biology agrees",
                 Edit("protocols/overnight.py","INCUBATE_C = 37.0","INCUBATE_C = 36.5"),
                 "Set. Condensation should vanish, since the lid heater has half a degree more of headroom."),
        ),
    ),
    facts=(
        fact("deck-wait","changed","Plates may wait 30 minutes on deck.",(r"\b30\b|thirty|half an hour",r"deck|minutes|lids?"),was=((r"12 minutes|\b12 min",r"deck|wait|cap"),)),
        fact("overnight-temp","changed","36.5",(r"36\.5",),was=((r"37\.0",r"overnight|incubat"),)),
        fact("approver","changed","Mehmet",(r"mehmet",),was=((r"ingrid",r"sign"),)),
        fact("tips","changed","Sorenson",(r"sorenson",),was=((r"brandt",r"tips"),)),
        fact("symbology","changed","DataMatrix",(r"datamatrix",),was=((r"code 128 labels|carry code 128",),)),
        fact("calibration","changed","42 days / six weeks",(r"42 days|six weeks",),was=((r"90 days",),)),
        fact("serum","changed","32",(r"\b32\b",r"µl/s|serum"),was=((r"\b25 µl/s|\b40 µl/s|aspirated at 40",r"serum"),)),
        fact("row-h","rootcause","fan",(r"fan outlet",)),
    ),
    questions=(),
    stands=(value("dispense",(r"120 µl/s",)), value("teaching",(r"teaching",r"30 days")), value("block",(r"65 °C",)), value("layouts",(r"tomasz",r"deck layouts")), value("racks",(r"racks",r"QR")), value("validation",(r"validation",r"35\.0"))),
)  # fmt: skip
