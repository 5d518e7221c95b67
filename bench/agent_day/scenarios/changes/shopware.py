"""A small shop in German; changes are said in passing."""

from __future__ import annotations

from agent_day.gold import fact
from agent_day.script import Scenario, session, turn

SCENARIO = Scenario(
    name="shopware", client="claude", place="changes/shopware", words="note page plan list date",
    sessions=(
        session(
            turn('Kannst du mir aufschreiben wie der Versand läuft?','Versand mit DHL, ab 50 Euro frei, sonst 4,90. Abholung um 15 Uhr. Glasware in doppelten Kartons.'),
            turn('Und Retouren?','Retouren nimmt Hatice an, binnen 14 Tagen, Porto zahlt der Kunde.'),
            turn('Wer pflegt die Bilder?','Die Bilder macht Studio Krähwinkel, freigestellt auf Weiß, 2000 Pixel.'),
            turn('Wie zahlen die Leute?','Vorkasse, PayPal und Klarna. Klarna ist am beliebtesten.'),
            turn('Was noch zu tun ist bitte','Offen ist der Newsletter: er geht noch an die alte Liste mit 900 Adressen. Und die Steuer für Österreich fehlt.'),
        ),
        session(
            turn('DHL hat schon wieder drei Vasen zerlegt. Wir nehmen GLS.','Etiketten und Tracking laufen über GLS.'),
            turn('die vertragen aber nur Abholung bis mittag','Dann kommt der Fahrer um zwölf; die Packliste druckt jetzt um zehn.'),
            turn('Klarna kostet uns zu viel, raus damit','Klarna ist aus der Kasse verschwunden. Offene Raten laufen weiter.'),
            turn('Hatice macht jetzt Einkauf','Im Plan steht bei Rücksendungen jetzt Ole.'),
        ),
        session(
            turn('Mitbewerber gibt 30 tage. wir auch','Dreißig Tage stehen in den AGB und in der Bestätigungsmail.'),
            turn('versandfrei erst ab 80 bitte, porto frisst uns auf','Die Grenze liegt bei 80 Euro; darunter bleibt es bei 4,90.'),
            turn('weißer hintergrund wirkt billig','Neue Fotos kommen auf Leinen, die Vorlage fürs Studio ist angepasst. Pixel wie gehabt.'),
            turn('newsletter?','Er geht seit heute an die neue Liste, 412 Leute, alle bestätigt.'),
            turn('super. österreich?','Steuer ist drin, zwei Testbestellungen gingen durch.'),
        ),
    ),
    facts=(
        fact("carrier", "changed", "carrier", r'\bGLS\b', was=(r'versand mit dhl',)),
        fact("pickup", "changed", "pickup", r'um zwölf', was=(r'abholung um 15',)),
        fact("klarna", "changed", "klarna", r'klarna ist aus|raus damit', was=(r'paypal und klarna|klarna ist am beliebtesten',)),
        fact("returns-who", "changed", "returns-who", r'\bole\b', was=(r'nimmt hatice',)),
        fact("returns-days", "changed", "returns-days", r'dreißig tage|30 tage', was=(r'binnen 14 tagen',)),
        fact("free", "changed", "free", r'80 euro', was=(r'ab 50 euro',)),
        fact("background", "changed", "background", r'leinen', was=(r'freigestellt auf weiß',)),
        fact("newsletter", "changed", "newsletter", r'neue liste', was=(r'alte liste',)),
        fact("austria", "changed", "austria", r'steuer ist drin', was=(r'österreich fehlt',)),
    ),
    questions=(),
)  # fmt: skip
