"""A planetarium's show control; overviews as tables and lists, changes told in passing, as plans, or only in an answer."""

from __future__ import annotations

from agent_day.gold import fact
from agent_day.script import Edit, Scenario, session, turn

SCENARIO = Scenario(
    name="planetarium", client="claude", place="changes/planetarium", words="dome show star cue lamp", ending="py",
    sessions=(
        session(
            turn('Could you write down how the dome is run at present? I start here today and nobody left me a page.',
                 '## How the dome is run\n\n| what | now |\n|---|---|\n| projectors | six, warped by a table in `warp.json` |\n| frame rate | 30 frames a second |\n| cue server | `orion`, port 7001 |\n| lamps off | 20 minutes after the last show |\n| sound | 5.1, mixed on the desk in room 3 |\n| star catalogue | Hipparcos |\n| seats per show | 96 |\n\nShows are started by hand from the desk.'),
            turn('And who do I turn to when a projector dies on a Sunday?',
                 'To Mrs. Adeyemi of Lumitec; she has a key and comes within two hours. Spare lamps lie in the cellar.'),
            turn('Which format do guest shows come in?', 'As dome masters in 4K, one PNG per frame, on a disk by mail. ProRes is refused.'),
            turn('when is the school programme and what does a class pay?', 'Tuesdays and Thursdays at ten. A class pays 80 euros flat, whatever its size.'),
            turn('Please remember: nothing is deployed on a day with an evening show.', 'Noted. I will check the calendar first.'),
        ),
        session(
            turn('Lumitec went out of business last month, by the way. The city has a frame contract with Baumann now, they have a hotline.',
                 'I put the hotline of Baumann on the sheet by the door and took the old key back into the list of things to collect.'),
            turn('The stars near Orion look sparse to the amateurs in row two. They keep asking.',
                 'I rebuilt the sky from Gaia, cut at magnitude 11. The load at start takes four seconds longer, and the belt looks right.',
                 ),
            turn('we get judder on fast pans, can we go smoother?',
                 Edit('control/render.toml', 'fps = 30', 'fps = 60'),
                 'Pans are smooth. All six machines hold it with 20 percent to spare.'),
            turn('the disk by mail thing is embarrassing. The guests should just upload it somewhere',
                 'There is a bucket for guests with a link that lives for two weeks. The shelf for disks is free again.'),
            turn('orion is falling apart. Can you get the cues off it before summer?',
                 'The cues run on `vega` since this morning. I left the old machine on for the doors, nothing else.'),
        ),
        session(
            turn('The council says one price per head for everybody, schools too. 3 euros a child, teachers free. From the first of the month.',
                 'The till and the flyer say so.'),
            turn('Fire inspection. The back row has to go, all of it. That is twelve seats.', 'The plan has 84 seats, and the booking page sells no more than that.'),
            turn('does the place still go dark too early? People were stumbling out in the dark again yesterday',
                 'I gave them three quarters of an hour. The lamps stay on that long after the end.'),
            turn('the kids are never here on thursday any more because of swimming', 'Then it is Tuesday and Wednesday at ten; the calendar and the mail to the schools are changed.'),
            turn('Someone donated a real spatial sound system!! 16 speakers', 'It is wired up and the desk in room 3 can go to the flea market. Old shows are upmixed when they are loaded.'),
            turn('Thinking about it, evening shows are run by two people who know what to do. Deploy when you like, as long as it is before five.',
                 'Good, before five then.'),
        ),
    ),
    facts=(
        fact("firm", "changed", "firm", r'baumann', was=(r'adeyemi|lumitec; she|of lumitec',)),
        fact("catalogue", "changed", "catalogue", r'gaia', was=(r'hipparcos',)),
        fact("fps", "changed", "fps", r'fps = 60|60 frames', was=(r'30 frames a second|fps = 30',)),
        fact("guests", "changed", "guests", r'bucket for guests', was=(r'on a disk by mail',)),
        fact("cues", "changed", "cues", r'vega', was=((r'orion', r'7001'),)),
        fact("price", "changed", "price", r'3 euros a child', was=(r'80 euros flat',)),
        fact("seats", "changed", "seats", r'84 seats', was=(r'\b96\b',)),
        fact("lamps", "changed", "lamps", r'three quarters of an hour', was=(r'20 minutes after',)),
        fact("school", "changed", "school", r'tuesday and wednesday', was=(r'tuesdays and thursdays',)),
        fact("sound", "changed", "sound", r'16 speakers|spatial', was=(r'5\.1, mixed',)),
        fact("deploy", "changed", "deploy", r'before five', was=(r'nothing is deployed on a day',)),
    ),
    questions=(),
)  # fmt: skip
