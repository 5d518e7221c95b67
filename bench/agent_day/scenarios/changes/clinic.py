"""A medical practice; short questions, answers in a sentence or two."""

from __future__ import annotations

from agent_day.gold import fact
from agent_day.script import Scenario, session, turn

SCENARIO = Scenario(
    name="clinic", client="claude", place="changes/clinic", words="note page plan list date",
    sessions=(
        session(
            turn('hey. which lab do we send the samples to and how do we pack them','Samples go to Labor Wisplinghoff in Cologne, by courier at four. Blood in the yellow boxes, everything else in padded bags.'),
            turn('what is our rule for no-shows','After the second missed appointment a patient pays 40 euros. The first one is forgiven with a friendly letter.'),
            turn('what does the phone say outside office hours','It reads out the number of the weekend practice, Dr. Sommerlath, and hangs up after 30 seconds.'),
            turn('how far ahead may people book online','Six weeks ahead. New patients only for mornings.'),
            turn('what is open from the last man','Three things were left. The fridge alarm still goes to Wiebke, who is ill. The reminder by text costs 9 cents each and nobody knows why. And the consent form is from 2019.'),
        ),
        session(
            turn('the courier keeps missing four, the lab agreed to take them until half past six','The pick-up is at half past six now; I changed the sheet by the door.'),
            turn('Sommerlath closes for good. Emergency line is the hospital then','The announcement names the hospital, and reads its number twice.'),
            turn('patients ring all day to move things. let them book three months out','Done, three months. New patients are still mornings only.'),
            turn('the yellow boxes leak. no more of that, use the blue hard ones','Blue hard boxes it is; I ordered a hundred and put a note on the shelf.'),
        ),
        session(
            turn('chamber of physicians says a fee for missed visits needs a signed contract. we drop it','No fee any more, the letter says so. I kept the counter, in case you want to see who does it often.'),
            turn('Cologne is too slow. Bioscientia from monday','Labels and order forms are for Bioscientia as of Monday.'),
            turn('fridge alarm?','It rings at your phone now and, if you do not answer, at the front desk.'),
            turn('what did we do in all these weeks, in five lines','We changed the lab, the boxes, the announcement and how far ahead people book. The fee for missed visits is off. The texts still cost too much.'),
        ),
    ),
    facts=(
        fact("lab", "changed", "lab", r'bioscientia', was=(r'wisplinghoff',)),
        fact("pickup", "changed", "pickup", r'half past six', was=(r'courier at four',)),
        fact("boxes", "changed", "boxes", r'blue hard', was=(r'yellow boxes',)),
        fact("noshow", "changed", "noshow", r'no fee|drop it', was=(r'40 euros',)),
        fact("ahead", "changed", "ahead", r'three months', was=(r'six weeks ahead',)),
        fact("weekend", "changed", "weekend", r'hospital', was=(r'sommerlath',)),
        fact("fridge", "changed", "fridge", r'your phone now', was=(r'alarm still goes to wiebke',)),
    ),
    questions=(),
)  # fmt: skip
