"""A choir; the user tells what is, the answer says what was done about it."""

from __future__ import annotations

from agent_day.gold import fact
from agent_day.script import Scenario, session, turn

SCENARIO = Scenario(
    name="choir", client="claude", place="changes/choir", words="note page plan list date",
    sessions=(
        session(
            turn('Where do we rehearse and when? I have to print it.','Mondays at 19:30 in the gymnasium of the Pestalozzi school, second entrance.'),
            turn('And who has the keys?','Keys: Ottilie and the caretaker. The alarm code is with Ottilie alone.'),
            turn('How do new singers get in?','They come three times without obligation and then sing for Marius. Altos have a waiting list, basses do not.'),
            turn('What do we pay Marius?','320 a month, in advance, plus travel for concerts.'),
            turn('Please note that the spring programme is Fauré.','Noted: spring is the Fauré Requiem, with the small orchestra from Unna.'),
        ),
        session(
            turn('School is being renovated. St. Martin takes us in, parish hall, same day and time.','Website and the handout name the parish hall of St. Martin.'),
            turn('Fauré is too much with the few tenors. We sing the Charpentier instead.','The programme page has the Charpentier. Shall the orchestra stay booked?'),
            turn('Yes, keep them.','They stay booked.'),
            turn('Ottilie gave me her keys today, she cannot climb stairs any longer.','Then the keys are with you and the caretaker; the code as well.'),
        ),
        session(
            turn('Parish needs the hall on Mondays. We go to Wednesdays, and half an hour later.','Wednesdays at 20:00, changed everywhere I could find.'),
            turn('Marius asked for more, and he is worth it. 380.','The standing order is for 380 from next month.'),
            turn('The waiting list for altos is empty!! Everyone may come.','I took the sentence about it off the page.'),
            turn('Still open?','The orchestra wants its parts until the tenth, and the poster has no sponsor yet.'),
        ),
    ),
    facts=(
        fact("place", "changed", "place", r'st\. martin|parish hall', was=(r'gymnasium',)),
        fact("day", "changed", "day", r'wednesdays', was=(r'mondays at 19',)),
        fact("keys", "changed", "keys", r'keys are with you', was=(r'keys: ottilie',)),
        fact("piece", "changed", "piece", r'charpentier', was=(r'spring is the faur|spring programme is faur',)),
        fact("pay", "changed", "pay", r'\b380\b', was=(r'320 a month',)),
        fact("altos", "changed", "altos", r'list for altos is empty|everyone may come|off the page', was=(r'altos have a waiting list',)),
    ),
    questions=(),
)  # fmt: skip
