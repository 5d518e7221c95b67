"""A haulier's dispatch software; the user thinks aloud, decisions are taken back, and the agent sums up in long lists."""

from __future__ import annotations

from agent_day.gold import fact
from agent_day.script import Edit, Scenario, session, turn

SCENARIO = Scenario(
    name="freight", client="codex", place="changes/freight", words="tour truck ramp pallet driver", ending="go",
    sessions=(
        session(
            turn('give me the numbers that the planner works with, I want to print them',
                 'These are the ones in force:\n\n- a driver may be on the road for nine hours, then comes a pause of eleven\n- a ramp is booked for 25 minutes\n- pallets are counted as 0.4 metres of the bed\n- a tour has at most 14 stops\n- fuel is billed at 1.62 a litre\n- a late delivery costs us 150 per hour\n- tours are frozen at 18:00 on the day before'),
            turn('where do the maps come from', 'From HERE, by their routing API, with the key of the Antwerp office. Distances are kept for a week.'),
            turn('who signs off a tour across the border?', 'Joost does, in the portal, before noon. Without him the papers are not printed.'),
            turn('ok and the messages to drivers', 'They get an SMS by way of MessageBird, in Dutch and in Polish.'),
            turn('I think we should move the planner to Rust one day', 'That would be about three months. I put it on the list of ideas, below the new ramp calendar.'),
            turn('how do we match drivers to trucks', 'By hand. The dispatcher drags them, and the planner only warns of a missing licence.'),
        ),
        session(
            turn('HERE wants four times the money. I will not pay that. Is there something we can run ourselves?',
                 'Valhalla does what we need. It runs beside the planner with the tiles of Benelux, Germany and Poland; the key of Antwerp is not used by anything now.'),
            turn('Joost left on friday. For now nobody can print the papers for Switzerland...',
                 'I gave the right to Femke and to you. It works in the portal from now on.'),
            turn('25 minutes at a ramp was a nice dream, they always take 40', Edit('planner/ramp.go', 'const rampMinutes = 25', 'const rampMinutes = 40'), 'Booked as you said. Eleven tours of next week got one stop less by it.'),
            turn('drivers do not read texts. they all have WhatsApp', 'The bot writes there now, with the tour as a picture. Who has none gets a call from the desk.'),
            turn('let us never have more than twelve stops, the last two are always late', 'Done, and the old tours of this week stay as they are.'),
        ),
        session(
            turn('Our big customer signed. The penalty is capped, 90 an hour and not a cent more', 'Then the planner reckons with 90. The report for May is made anew.'),
            turn('The freeze in the evening drives the night shift mad, they get everything too late. Can it be in the afternoon?',
                 'It happens at half past three now. The mail to the customers goes out right after.'),
            turn('forget rust. We hire two go people', 'I took it off the list.'),
            turn('Diesel is at one eighty five again', 'All open offers are reckoned anew with 1.85.'),
            turn('the licences and the trucks, is that still dragging and dropping?', 'No. The planner gives each driver a truck by itself at night, and the desk may swap two of them.'),
            turn('and what is new in the rules for the drivers', 'With two in the cab it may be 18 hours in the tacho; alone it stays at nine, and the pause as well.'),
        ),
    ),
    facts=(
        fact("maps", "changed", "maps", r'valhalla', was=(r'from here, by their',)),
        fact("papers", "changed", "papers", r'femke', was=(r'joost does',)),
        fact("ramp", "changed", "ramp", r'rampminutes = 40|always take 40', was=(r'booked for 25|rampminutes = 25',)),
        fact("messages", "changed", "messages", r'whatsapp|the bot writes', was=(r'messagebird',)),
        fact("stops", "changed", "stops", r'more than twelve stops', was=(r'14 stops',)),
        fact("penalty", "changed", "penalty", r'\b90\b', was=(r'150 per hour',)),
        fact("freeze", "changed", "freeze", r'half past three', was=(r'frozen at 18:00',)),
        fact("rust", "changed", "rust", r'forget rust|off the list|two go people', was=(r'that would be about three months|move the planner to rust',)),
        fact("fuel", "changed", "fuel", r'1\.85', was=(r'1\.62',)),
        fact("match", "changed", "match", r'each driver a truck by itself', was=(r'dispatcher drags them|by hand\.',)),
        fact("hours", "fact", "hours", r'nine hours|stays at nine'),
        fact("pallet", "fact", "pallet", r'0\.4 metres'),
    ),
    questions=(),
)  # fmt: skip
