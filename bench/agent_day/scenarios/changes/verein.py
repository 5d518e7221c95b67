"""A club's portal in German, through Gemini CLI. Polite prompts in whole sentences."""

from __future__ import annotations

from agent_day.gold import fact, value
from agent_day.noise import log, source
from agent_day.script import Edit, Read, Run, Scenario, Write, session, turn

W = "klasse lehrer raum stunde fach vertretung plan pause halle gruppe"

SCENARIO = Scenario(
    name="verein", client="gemini", place="verein/portal", words=W, ending="php",
    sessions=(
        session(
            turn("Guten Tag, ich habe das Portal vom Vorgänger geerbt. Wann schickt es die Mahnungen?",
                 Read("cron/mahnung.php",source("cron/mahnung.php",40,W,"$tage = 14;")),
                 "Guten Tag! Gemahnt wird 14 Tage nach Fälligkeit, per E-Mail. Die zweite Mahnung folgt nach weiteren 30 Tagen und kostet 5 Euro."),
            turn("Wer bucht die Hallenzeiten?",
                 "Laut Adressbuch ist Frau Petersen für die Hallenzeiten zuständig, für die Trikots Herr Aydin."),
            turn("Wie hoch ist der Jahresbeitrag für Kinder?",
                 Run("sqlite3 portal.db 'select * from beitrag'","kind 48\nerwachsen 96\nfamilie 150"),
                 "Kinder zahlen 48 Euro im Jahr, Erwachsene 96 und Familien 150."),
            turn("Und bis wann kann man kündigen?",
                 "Die Satzung verlangt die Kündigung bis zum 30. September zum Jahresende."),
            turn("Auf welchem Server liegt das Ganze?",
                 Run("hostname","web2.hostkiste.example"),
                 "Das Portal liegt bei Hostkiste auf web2, mit PHP 7.4 und MariaDB."),
            turn("Darf die Mitgliederliste exportiert werden?",
                 "Exportieren darf sie nur der Vorstand. Übungsleiter sehen ihre eigenen Gruppen."),
        ),
        session(
            turn("Der Kassenwart möchte den Leuten mehr Zeit lassen: drei Wochen statt zwei.",
                 Edit("cron/mahnung.php","$tage = 14;","$tage = 21;"),
                 "Gemahnt wird erst nach drei Wochen. An der zweiten Mahnung habe ich nichts geändert."),
            turn("Die Hauptversammlung hat beschlossen: Kinder 54, Familien 165, Erwachsene bleibt.",
                 Run("sqlite3 portal.db 'update beitrag'","ok"),
                 "Eingetragen. Die Änderung gilt ab Januar, bestehende Lastschriften werden angepasst."),
            turn("Frau Petersen ist weggezogen, die Halle macht ab sofort Jonas Thoma.",
                 "Ich habe Jonas Thoma als Ansprechpartner hinterlegt."),
            turn("PHP 7.4 bekommt keine Updates mehr, was nun?",
                 Run("php -l src", log(10,W,"3 deprecations")),
                 Edit("composer.json",'"php": "7.4"','"php": "8.3"'),
                 "Läuft jetzt unter PHP 8.3; drei veraltete Aufrufe habe ich ersetzt."),
            turn("Nur fürs Zeltlager: da ist Anmeldeschluss der 15. Mai.",
                 Write("termine/zeltlager.json",'{"schluss":"05-15"}'),
                 "Das Zeltlager hat seinen eigenen Anmeldeschluss am 15. Mai bekommen."),
        ),
        session(
            turn("Hostkiste macht zu. Ich hab bei Uberraum was gemietet.",
                 Run("ssh uberraum hostname","portal.uberraum.example"),
                 "Umgezogen: Dateien, Datenbank und Zertifikat sind auf Uberraum. Die alte Adresse leitet noch bis Monatsende weiter."),
            turn("Kündigung geht nach neuer Satzung bis 31. Oktober.",
                 Edit("texte/satzung.md","30. September","31. Oktober"),
                 "Im Text und in der Prüfung steht der 31. Oktober."),
            turn("Drei Wochen sind doch zu lang, die Kasse ist leer. Zehn Tage.",
                 Edit("cron/mahnung.php","$tage = 21;","$tage = 10;"),
                 "Steht auf zehn Tagen."),
            turn("Übungsleiter sollen die ganze Liste sehen dürfen, exportieren weiterhin nicht.",
                 Edit("src/rechte.php","'gruppe'","'alle'"),
                 "Übungsleiter sehen jetzt alle Mitglieder, der Knopf zum Export fehlt bei ihnen."),
        ),
    ),
    facts=(
        fact("mahnung","changed","zehn Tage",(r"zehn tage",),was=((r"14 tage",),(r"erst nach drei wochen",))),
        fact("kinder","changed","54",(r"kinder 54",),was=((r"kinder zahlen 48",),)),
        fact("halle","changed","Thoma",(r"thoma",),was=((r"frau petersen für",),)),
        fact("php","changed","8.3",(r"8\.3",),was=((r"mit php 7\.4",),)),
        fact("host","changed","Uberraum",(r"uberraum",),was=((r"liegt bei hostkiste",),)),
        fact("kuendigung","changed","31. Oktober",(r"31\. oktober",),was=((r"30\. september",),)),
        fact("leiter","changed","alle",(r"alle mitglieder|ganze liste",),was=((r"ihre eigenen gruppen",),)),
    ),
    questions=(),
    stands=(value("zweite",(r"weiteren 30 tagen",)),value("trikots",(r"aydin",)),value("erw",(r"erwachsene 96|erwachsene bleibt",)),value("vorstand",(r"nur der vorstand",))),
)  # fmt: skip
