"""A bakery; no punctuation, a wish that the user gives up."""

from __future__ import annotations

from agent_day.gold import fact
from agent_day.script import Scenario, session, turn

SCENARIO = Scenario(
    name="bakery_shop", client="claude", place="changes/bakery_shop", words="note page plan list date",
    sessions=(
        session(
            turn('opening hours and prices for the new sign pls','Tuesday to Saturday, 6:30 to 13:00. Roll 45 cents, rye loaf 4.20, croissant 1.90.'),
            turn('Please remember we never sell yesterdays bread.','Understood, nothing from yesterday is offered.'),
            turn('who bakes on holidays','Florian does holidays, Ines only Sundays in Advent.'),
            turn('how do restaurants order','By fax until ten the evening ahead. Yes, fax.'),
            turn('flour?','Flour comes from the Kampffmeyer mill, 25 kg bags, every second Thursday.'),
        ),
        session(
            turn('ines says yesterdays bread at half price is better than the bin and i gave in','There is a basket for it now, with a sign.'),
            turn('croissants 2.20 butter is crazy','2.20 on the sign and in the till. Rolls and rye are the same.'),
            turn('florian has a baby','Ines takes the holidays as well until further notice, it says on the plan.'),
            turn('fax machine is dead hooray','Restaurants order through the form on the website, until ten as ever.'),
        ),
        session(
            turn('we try mondays too','Monday is on the sign, the hours are the same.'),
            turn('kampffmeyer only delivers pallets now. found a small mill, bohlsen','First order at Bohlsen is placed, fifteen bags, they come on Fridays.'),
            turn('nobody comes after noon','Closing at 12:00 from the first of the month on.'),
            turn('what else','The card terminal has no contract yet.'),
        ),
    ),
    facts=(
        fact("days", "changed", "days", r'monday is on|mondays too', was=(r'tuesday to saturday',)),
        fact("close", "changed", "close", r'12:00', was=(r'to 13:00',)),
        fact("croissant", "changed", "croissant", r'2\.20', was=(r'croissant 1\.90',)),
        fact("yesterday", "changed", "yesterday", r'half price|basket', was=(r'never sell yesterdays|nothing from yesterday is offered',)),
        fact("holidays", "changed", "holidays", r'ines takes', was=(r'florian does holidays',)),
        fact("orders", "changed", "orders", r'form on the website', was=(r'by fax until',)),
        fact("flour", "changed", "flour", r'bohlsen', was=(r'from the kampffmeyer',)),
    ),
    questions=(),
)  # fmt: skip
