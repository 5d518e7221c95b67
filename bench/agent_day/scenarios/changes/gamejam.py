"""A game jam; decisions as a list, changed one by one."""

from __future__ import annotations

from agent_day.gold import fact
from agent_day.script import Scenario, session, turn

SCENARIO = Scenario(
    name="gamejam", client="claude", place="changes/gamejam", words="note page plan list date",
    sessions=(
        session(
            turn('decisions so far as a list, i keep forgetting','- engine: Godot 4.2\n- art: pixel, 32 colours\n- music: Mirela, three tracks\n- win: reach the lighthouse\n- players: one\n- upload: itch, Sunday 18:00'),
            turn('controls?','Arrow keys and space. No mouse.'),
            turn('who does the trailer','The trailer is on Tonino, he has the capture card.'),
            turn('scope creep rule','No new feature after Saturday noon.'),
        ),
        session(
            turn('pixel takes forever. lets do paper cutouts, photographed','The first three are in; they look charming with a shadow.'),
            turn('reaching the lighthouse is boring, you should have to light it','You carry oil up and light it. Reaching the door is just a checkpoint.'),
            turn('tonino is sick','Then Mirela records it on her phone, she said.'),
            turn('people on laptops without arrow keys??','WASD works beside the arrows.'),
        ),
        session(
            turn('jam got extended','itch says Monday 12:00, I moved our plan and the reminder.'),
            turn('godot 4.2 has that audio bug','On 4.3 it is gone, everybody please update.'),
            turn('mirela only manages one track','One track then, with a slow version for the night.'),
            turn('ok and my sister wants to play along','The second player steers the lamp now, hot seat on one keyboard.'),
        ),
    ),
    facts=(
        fact("engine", "changed", "engine", r'4\.3', was=(r'godot 4\.2$|engine: godot 4\.2',)),
        fact("art", "changed", "art", r'cutouts', was=(r'art: pixel',)),
        fact("music", "changed", "music", r'one track', was=(r'three tracks',)),
        fact("win", "changed", "win", r'light it', was=(r'win: reach',)),
        fact("players", "changed", "players", r'second player', was=(r'players: one',)),
        fact("upload", "changed", "upload", r'monday 12:00', was=(r'sunday 18:00',)),
        fact("controls", "changed", "controls", r'wasd', was=(r'arrow keys and space',)),
        fact("trailer", "changed", "trailer", r'mirela records', was=(r'trailer is on tonino',)),
    ),
    questions=(),
)  # fmt: skip
