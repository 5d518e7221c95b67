"""An office of a town, in German."""

from __future__ import annotations

from agent_day.gold import fact
from agent_day.script import Scenario, session, turn

SCENARIO = Scenario(
    name="verwaltung", client="claude", place="changes/verwaltung", words="note page plan list date",
    sessions=(
        session(
            turn('Wie ist das mit dem Urlaub geregelt?','28 Tage, Antrag bei Frau Seibold, mindestens drei Wochen vorher. Brückentage nach Los.'),
            turn('Und Homeoffice?','Zwei Tage die Woche, nicht am Dienstag, da ist Teamtag.'),
            turn('Dienstreisen?','Bahn zweiter Klasse, Hotel bis 95 Euro. Belege auf Papier an die Kasse.'),
            turn('Welche Software für die Zeiten?','Zeiterfassung läuft in TimO, Freigabe macht die Teamleitung.'),
            turn('Bitte immer Sie in allen Aushängen.','Alle Aushänge siezen.'),
        ),
        session(
            turn('Neuer Tarifvertrag: zwei Tage mehr Urlaub.','Merkblatt und Rechner sind auf 30.'),
            turn('Belege bitte nur noch als Foto, die Kasse ertrinkt.','Das Formular nimmt Fotos an; Papier wird nicht mehr bearbeitet.'),
            turn('Teamtag wandert auf Donnerstag.','Kalender und Merkblatt geändert.'),
            turn('TimO wird abgeschaltet','Die Zeiten sind nach Personio übertragen, die Salden stimmen.'),
        ),
        session(
            turn('Frau Seibold wechselt in die Poststelle, Urlaub macht Herr Okonkwo.','Im Formular steht Herr Okonkwo.'),
            turn('Drei Tage Homeoffice, hat der Personalrat durchgesetzt!','Drei stehen drin.'),
            turn('Das mit dem Sie fanden alle steif. Du.','Aushänge duzen ab jetzt, Briefe an Bürger nicht.'),
            turn('Hotel kriegt man für das Geld nicht mehr','120 Euro gelten ab sofort, Bahn bleibt zweiter Klasse.'),
        ),
    ),
    facts=(
        fact("urlaub", "changed", "urlaub", r'\b30\b|zwei tage mehr', was=(r'28 tage',)),
        fact("antrag", "changed", "antrag", r'okonkwo', was=(r'antrag bei frau seibold',)),
        fact("ho", "changed", "ho", r'drei tage homeoffice|drei stehen', was=(r'zwei tage die woche',)),
        fact("teamtag", "changed", "teamtag", r'donnerstag', was=(r'nicht am dienstag|dienstag, da ist',)),
        fact("belege", "changed", "belege", r'fotos?', was=(r'belege auf papier',)),
        fact("zeit", "changed", "zeit", r'personio', was=(r'läuft in timo',)),
        fact("sie", "changed", "sie", r'duzen|\bdu\.', was=(r'immer sie in|aushänge siezen',)),
        fact("hotel", "changed", "hotel", r'120 euro', was=(r'bis 95 euro',)),
    ),
    questions=(),
)  # fmt: skip
