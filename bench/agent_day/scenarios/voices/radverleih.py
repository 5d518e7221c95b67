"""A bike rental, terse German mixed with English, no punctuation to speak of, through Codex."""

from __future__ import annotations

from agent_day.gold import fact, question, value
from agent_day.noise import log, source
from agent_day.script import Edit, Read, Run, Scenario, session, turn

W = "rad station ausleihe schloss tarif karte kunde akku depot route"

SCENARIO = Scenario(
    name="radverleih", client="codex", place="kunden/platform", words=W, ending="kt",
    sessions=(
        session(
            turn("moin. app zeigt räder an station hbf die gar nicht da stehn. ca 6 stück. check mal",
                 Run("kubectl logs sync-0 --tail 200", log(80, W, "hbf dock=14 lastSeen=3d")),
                 "Die sechs Räder haben ein Schloss, dessen Funkmodul eingeschlafen ist: letzter Ping vor drei Tagen, Position eingefroren. Sie stehen vermutlich längst woanders. Der Sync glaubt dem letzten Ping ewig."),
            turn("ok dann nach 6h ohne ping als verschollen markieren, nicht mehr anzeigen",
                 Edit("sync/Presence.kt", "val staleAfter = Duration.INFINITE", "val staleAfter = 6.hours"),
                 "Nach sechs Stunden Funkstille verschwindet ein Rad von der Karte und landet in der Liste fürs Depot-Team."),
            turn("was kostet eigentlich ne stunde grad, und lastenrad? brauch ich für den flyer",
                 Read("tarif/Preise.kt", source("tarif/Preise.kt", 60, W)),
                 "Normales Rad 1,50 € je angefangene halbe Stunde, Deckel 12 € am Tag. Lastenrad 3 € je halbe Stunde, Deckel 24 €. E-Bike 2,20 € und 18 €."),
            turn("wer macht bei uns den einkauf für die schlösser noch mal",
                 "Die Schlösser bestellt Katrin Vahldieck, mindestens 50 Stück pro Order, Lieferzeit sieben Wochen. Akkus bestellt Yilmaz."),
            turn("push notifications immer du-form bitte, kein sie. marketing ist da eigen",
                 "Alle 23 Texte geprüft, vier von Sie auf Du geändert."),
            turn("wieviel hält so n akku im lock",
                 "Rund 14 Monate bei einem Ping alle 10 Minuten, im Winter eher 11."),
        ),
        session(
            turn("ausleihen dauern ewig seit gestern. 8s bis klick am schloss",
                 Run("jaeger-query rent", log(40, W, "span=payment.precheck 6.9s")),
                 "Von acht Sekunden gehen knapp sieben für die Vorab-Prüfung der Kreditkarte drauf; der Zahlungsanbieter hat uns seit gestern in die Testumgebung in Virginia geroutet, weil im neuen Helm-Chart `PAY_REGION` leer ist."),
            turn("lol. fix",
                 Edit("deploy/values.yaml", "PAY_REGION: \"\"", "PAY_REGION: eu-central"),
                 "Gesetzt und ausgerollt. Öffnen dauert 1,1 s."),
            turn("stadt will dass wir auf keycloak umziehn statt eigenem login. meinung?",
                 "Würde ich lassen: 40.000 Kunden müssten ihr Passwort neu setzen, die Karten fürs Semesterticket hängen am eigenen Login, und im Ausschreibungstext steht nur OIDC, das können wir heute schon."),
            turn("sehe ich auch so, bleibt wie es ist",
                 "Gut, Login bleibt eigen; ich habe im Antwortbrief auf unsere OIDC-Schnittstelle verwiesen."),
            turn("ausleihe max dauer? hotline fragt",
                 "Eine Ausleihe endet spätestens nach 24 Stunden automatisch, danach ruft die Hotline an. Lastenräder 48 Stunden."),
            turn("staging db darf ich da rumspielen",
                 "In `pg-stage-radl` ja, wird jede Nacht um 3 aus anonymisierten Daten neu aufgesetzt. Finger weg von `pg-report`, daran hängt die Abrechnung der Stadt."),
        ),
        session(
            turn("gemeinderat hat getagt. ab mai: 2 euro die halbe stunde fürs normale, deckel 15. lastenrad und ebike bleiben",
                 Edit("tarif/Preise.kt", "HALBE_STUNDE = 150", "HALBE_STUNDE = 200"),
                 "Eingepflegt mit Stichtag 1. Mai. Lastenrad und E-Bike habe ich nicht angerührt."),
            turn("katrin ist in elternzeit, ihr zeug liegt jetzt bei mehmet sander",
                 "Bestellfreigaben und Mailverteiler auf Mehmet Sander umgestellt."),
            turn("6h ist zu lang, die leute laufen zu leeren stationen. mach 90 min",
                 Edit("sync/Presence.kt", "6.hours", "90.minutes"),
                 "Ist drin. Das Depot-Team kriegt die Liste entsprechend früher."),
            turn("warum sind eig die lastenräder immer im depot 2 und nie im westen",
                 Run("python rebalance.py --dry", log(50, W, "cargo cost=inf west")),
                 "Der Umverteiler kennt für Lastenräder keinen Anhänger im Westen und setzt die Fahrt auf unendlich teuer. Also bleiben sie, wo das einzige Gespann steht: Depot 2."),
            turn("ah. zweites gespann kommt im juni. bis dahin so lassen. was is sonst offen",
                 "Offen: die Quittungen für Firmenkunden haben noch keine Steuernummer, Finanzen wollte das Feld liefern. Und das zweite Gespann muss im Juni in `fleet.yml`.",
                 ),
            ends=False,
        ),
        session(
            turn("kurze frage karte lädt auf alten androids nicht",
                 Run("adb logcat", log(60, W, "WebGL context lost")),
                 "Geräte mit Mali-400 verlieren den WebGL-Kontext bei mehr als 2.000 Markern. Für die liefern wir Rasterkacheln, ohne Animation."),
            turn("passt. und mach logs englisch, code kommentare auch, nur ui deutsch",
                 "Log-Zeilen in elf Dateien sind englisch, Kommentare folgen beim Anfassen. UI bleibt deutsch."),
            turn("release heute noch?",
                 "Lieber morgen: freitags nach 14 Uhr geht bei euch nichts raus, steht im Runbook."),
        ),
    ),
    facts=(
        fact("stale-lock", "rootcause", "Räder stehen falsch auf der Karte, wenn das Funkmodul im Schloss schläft: der letzte Ping galt ewig.", (r"funkmodul|letzte[rn]? ping", r"eingeschlafen|eingefroren|ewig|galt")),
        fact("stale-after", "changed", "Nach 90 Minuten ohne Ping verschwindet ein Rad.", (r"90 ?min",), was=((r"nach sechs stunden funkstille|nach 6h ohne ping|6\.hours",),)),
        fact("price", "changed", "Normales Rad: 2 Euro je halbe Stunde ab Mai, Deckel 15.", (r"2 euro", r"halbe stunde"), was=((r"1,50 €",),)),
        fact("locks-buyer", "changed", "Mehmet Sander bestellt die Schlösser.", (r"mehmet sander",), was=((r"katrin vahldieck", r"bestellt"),)),
        fact("du", "preference", "Push-Texte in Du-Form.", (r"du-form|auf du geändert",)),
        fact("pay-region", "rootcause", "Ausleihen waren langsam, weil PAY_REGION leer war und die Prüfung nach Virginia ging.", (r"PAY_REGION|virginia",)),
        fact("own-login", "rejected", "Kein Umzug auf Keycloak, Login bleibt eigen.", (r"login bleibt eigen",), (r"keycloak", r"würde ich lassen|bleibt")),
        fact("tax-number", "open", "Offen: Quittungen für Firmenkunden brauchen die Steuernummer.", (r"steuernummer",)),
        fact("english-logs", "preference", "Kommentare und Logs englisch, UI deutsch.", (r"logs englisch|log-zeilen",)),
        fact("no-friday", "fact", "Freitags nach 14 Uhr kein Release.", (r"freitags?", r"14 uhr")),
    ),
    questions=(
        question("warum standen fahrräder auf der karte wo keine waren", "Das Funkmodul im Schloss schlief, der letzte Ping galt ewig.", (r"funkmodul|letzte[rn]? ping", r"eingefroren|ewig|galt"), kind="rootcause"),
        question("ab wann wird ein fahrrad ausgeblendet wenn es sich nicht meldet", "Nach 90 Minuten.", (r"90 ?min",), was=((r"nach sechs stunden|nach 6h",),)),
        question("was zahlt man fürs normale bike", "2 Euro je halbe Stunde.", (r"\b2 euro", r"halbe stunde"), was=((r"1,50 €",),)),
        question("bei wem muss ich neue locks anfragen", "Mehmet Sander.", (r"mehmet",), was=((r"katrin vahldieck", r"bestellt"),)),
        question("wieso hat das entsperren so lange gebraucht", "PAY_REGION war leer, Prüfung lief über Virginia.", (r"virginia|PAY_REGION",), kind="rootcause"),
        question("haben wir die fremde anmeldung genommen die die stadt wollte", "Nein, Login bleibt eigen.", (r"login bleibt eigen",), (r"keycloak", r"würde ich lassen"), kind="rejected"),
        question("welche datenbank ist tabu", "Finger weg von `pg-report`.", (r"finger weg von `pg-report`",), (r"pg-report", r"abrechnung")),
        question("wo stecken die cargo bikes und wieso", "Depot 2, dort steht das einzige Gespann.", (r"gespann|anhänger", r"depot 2|westen"), kind="rootcause"),
        question("was fehlt noch auf den belegen für unternehmen", "Die Steuernummer.", (r"steuernummer",), kind="open"),
        question("wie sprechen wir die leute in nachrichten an", "In Du-Form.", (r"du-form|von sie auf du",), kind="preference"),
        question("warum sehen manche handys nur bilder statt der schönen karte", "Mali-400 verliert WebGL, die kriegen Rasterkacheln.", (r"mali|webgl", r"rasterkacheln|kontext|marker"), kind="rootcause"),
    ),
    stands=(
        value("cargo-price", (r"lastenrad 3 €",)),
        value("rent-max", (r"24 stunden automatisch",)),
        value("battery", (r"14 monate",)),
    ),
)  # fmt: skip
