"""An audio guide, through Gemini CLI. The user is no programmer and writes long, kind prompts."""

from __future__ import annotations

from agent_day.gold import fact, value
from agent_day.noise import log, source
from agent_day.script import Edit, Read, Run, Scenario, Write, session, turn

W = "tour room stop beacon audio exhibit visitor ticket map guide"

SCENARIO = Scenario(
    name="museum", client="gemini", place="app/museum", words=W, ending="ts",
    sessions=(
        session(
            turn("Hi! So I'm not a programmer, please bear with me. Visitors told us the audio stops when they lock the phone, which is awful in the long rooms. Can you find out what is happening there?",
                 Read("src/audio/player.ts", source("src/audio/player.ts",90,W,"const ctx = new AudioContext();")),
                 "Hi! I found it: the player uses a Web Audio context, and phones suspend those as soon as the screen locks. An ordinary audio element keeps playing. I'd be happy to swap it, it's about an hour of work."),
            turn("Yes please! And while you are there, the volume at start is much too loud for the crypt, people jump. I think it's 80 percent now?",
                 Edit("src/audio/player.ts","volume = 0.8","volume = 0.5"),
                 "Swapped, and locked phones keep talking. The guide starts at 50 % volume from this version on."),
            turn("Wonderful. For the record, the opening hours in the app are 10 to 17, Mondays closed, and the last admission is at 16:15.",
                 Write("content/hours.json",'{"open":"10:00","close":"17:00","last":"16:15"}'),
                 "I've put that in: open from 10:00 to 17:00 except on Mondays, last admission 16:15."),
            turn("Which languages do we have, and who translates them?",
                 Run("ls content/i18n","de en fr it"),
                 "There are four languages: German, English, French and Italian. According to the notes Madame Lefèvre does the French one and an agency called Polyglossa the Italian one."),
            turn("How near do you have to be to a beacon so that the story begins?",
                 Read("src/beacon.ts",source("src/beacon.ts",40,W,"const TRIGGER_METRES = 4;")),
                 "A story begins when a visitor comes within 4 metres of the beacon. It ends when they are more than 9 metres away."),
            turn("What did we decide on for the map, was it Leaflet?",
                 "Yes, the floor plan is drawn with Leaflet and an image overlay per storey."),
            turn("The kids' tour has eleven stops, right?",
                 Run("jq length content/kids.json","11"),
                 "Right, eleven stops for the children, twenty-three for the grown-ups."),
        ),
        session(
            turn("The director walked through with the tablet yesterday and the stories of two neighbouring paintings kept interrupting each other. She was not amused. Could it be less eager?",
                 Edit("src/beacon.ts","const TRIGGER_METRES = 4;","const TRIGGER_METRES = 2.5;"),
                 "I made it less eager: two and a half metres, and a story that has begun is not interrupted by a neighbour. The distance at which it ends is as before."),
            turn("From May we are open until 18:00, the rest remains. Oh and last admission moves too of course, 17:15.",
                 Edit("content/hours.json",'"close":"17:00","last":"16:15"','"close":"18:00","last":"17:15"'),
                 "Both are in the app and on the poster."),
            turn("Madame Lefèvre retired. Her nephew Bastien takes it over.",
                 "How nice that it stays in the family. I changed the contact for French to Bastien."),
            turn("Kids got two new stops, the knight and the well.",
                 Edit("content/kids.json","]",", {\"id\":\"knight\"}, {\"id\":\"well\"}]"),
                 "Thirteen stops for the children now. The walk takes about fifty minutes."),
            turn("On iPhones the start volume seems lower than on Android, can you check?",
                 "On iPhones an app may not set the volume at all; what you hear there is the phone's own setting."),
        ),
        session(
            turn("Leaflet stutters on the cheap tablets we bought. Alternatives?",
                 Run("node bench/map.js", log(20,W,"leaflet 14 fps, maplibre 52 fps, svg 58 fps")),
                 "I measured three ways on such a tablet. Leaflet reaches 14 frames a second, MapLibre 52, a plain SVG 58. As we have only three floors, the SVG would do."),
            turn("Then the SVG. Less is more.",
                 Edit("src/map.ts","import L from 'leaflet'","import plan from './plan.svg'"),
                 "The floor plan is a plain SVG now and the library is out of the bundle."),
            turn("50 % is too quiet in the tower room though, there's the wind. Perhaps 65?",
                 Edit("src/audio/player.ts","volume = 0.5","volume = 0.65"),
                 "65 % everywhere. If the crypt complains again we could do it by room."),
            turn("We added Dutch, by the way, a volunteer did it, and Italian is off because nobody listened to it.",
                 Run("ls content/i18n","de en fr nl"),
                 "Then we have German, English, French and Dutch. I removed the Italian files, they remain in the history."),
            turn("For the night of museums only: open till midnight on the 16th!",
                 Write("content/special.json",'{"2026-05-16":{"close":"24:00"}}'),
                 "I added an exception for that one night, the app shows midnight on 16 May and the regular hours on all other days."),
        ),
    ),
    facts=(
        fact("volume","changed","65 %",(r"65 ?%|perhaps 65",),was=((r"starts at 50|50 % volume",),(r"80 percent",))),
        fact("close","changed","18:00",(r"18:00",),was=((r"17:00",),)),
        fact("last","changed","17:15",(r"17:15",),was=((r"16:15",),)),
        fact("french","changed","Bastien",(r"bastien",),was=((r"lefèvre does the french",),)),
        fact("trigger","changed","2.5 m",(r"two and a half metres|2\.5",),was=((r"within 4 metres",),)),
        fact("map","changed","SVG",(r"svg",),was=((r"drawn with leaflet",),)),
        fact("kids","changed","13",(r"thirteen",),was=((r"eleven stops",),)),
        fact("languages","changed","Dutch, no Italian",(r"dutch",),was=((r"german, english, french and italian",),)),
        fact("lock","rootcause","Web Audio suspended",(r"web audio",)),
    ),
    questions=(),
    stands=(value("end",(r"9 metres",)), value("adults",(r"twenty-three",)), value("open",(r"10:00|10 to",)), value("night",(r"midnight",))),
)  # fmt: skip
