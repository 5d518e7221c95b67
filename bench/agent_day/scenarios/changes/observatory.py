"""A robot telescope; a hand-over and what became of it."""

from __future__ import annotations

from agent_day.gold import fact
from agent_day.script import Scenario, session, turn

SCENARIO = Scenario(
    name="observatory", client="claude", place="changes/observatory", words="note page plan list date",
    sessions=(
        session(
            turn('I inherit the robot telescope. Where is it, what does it do on a clear night, who can stop it?','It stands at Calar Alto, dome 3. On a clear night it works through the queue in order of priority. Stop: the red button in the dome, or Amparo by phone.'),
            turn('Exposure settings?','60 s for the survey, 300 s for targets of opportunity, flats at dusk only.'),
            turn('Weather limits?','It closes at 85 % humidity and at 50 km/h of wind. Rain closes it in any case.'),
            turn('Data where?','Raw frames lie on the tape library in Granada; reduced ones on the web server of the institute.'),
            turn('Software?','The pipeline is in IDL and needs the licence dongle in the rack.'),
        ),
        session(
            turn('Mirror was wet on Tuesday. 85 is too optimistic.','It closes at 78 now, the wind limit is as it was.'),
            turn('IDL dongle died. Javier ported it all to Python on a weekend.','I checked his port against twenty nights; residuals below 0.3 %. The cron job calls the Python one.'),
            turn('Survey frames are too shallow they say. Double.','120 s, which costs a third of the fields per night.'),
            turn('Dusk flats are always spoiled by the moon. Try dawn.','The script takes flats at dawn.'),
        ),
        session(
            turn('Amparo moved to Chile. Leocadia can stop it instead, same number.','Contacts page and the label on the door say Leocadia.'),
            turn('Tape library gets scrapped.','Raw frames go to the object store in Jülich, 31 TB copied and compared.'),
            turn('We moved to dome 5 since 3 leaks','Coordinates, horizon mask and the lightning plan are those of dome 5.'),
            turn('Queue by priority starves the students','It takes turns between programmes now, and within one by priority.'),
        ),
    ),
    facts=(
        fact("dome", "changed", "dome", r'dome 5', was=(r'calar alto, dome 3',)),
        fact("stop", "changed", "stop", r'leocadia', was=(r'amparo by phone',)),
        fact("humidity", "changed", "humidity", r'\b78\b', was=(r'85 % humidity',)),
        fact("exposure", "changed", "exposure", r'120 s', was=(r'60 s for the survey',)),
        fact("flats", "changed", "flats", r'at dawn', was=(r'flats at dusk only',)),
        fact("raw", "changed", "raw", r'jülich', was=(r'tape library in granada',)),
        fact("lang", "changed", "lang", r'python', was=(r'pipeline is in idl',)),
        fact("queue", "changed", "queue", r'takes turns', was=(r'order of priority',)),
    ),
    questions=(),
)  # fmt: skip
