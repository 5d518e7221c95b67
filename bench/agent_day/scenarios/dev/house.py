"""OpenMemory automation as a hobby, in German, through Gemini CLI. The user writes short and in lower case."""

from __future__ import annotations

from agent_day.filler import Chore, Routine
from agent_day.gold import fact, question, value
from agent_day.noise import log, source
from agent_day.script import Edit, Read, Run, Scenario, Search, session, turn

W = "heizung fenster licht sensor rolladen raum szene schalter pumpe keller"

ROUTINE = Routine(
    chores=(
        Chore(
            "was macht nochmal {a}_{b}?",
            "file",
            "`{a}_{b}` fasst die Werte aus dem {c} zusammen und gibt sie weiter. Für sich allein schaltet das nichts.",
        ),
        Chore(
            "benenn {a}_alt in {a}_reserve um",
            "search",
            "Erledigt, an vier Stellen in zwei Dateien. Sonst kommt der Name nirgends vor.",
        ),
        Chore("prüf mal die syntax", "log", "Keine Fehler. Zwei Hinweise zu langen Zeilen, die sind harmlos."),
        Chore("tippfehler bei {b} bitte weg", "diff", "Ist korrigiert, nur der Kommentar war betroffen."),
        Chore(
            "zeig mir die änderung",
            "diff",
            "Siehe oben: eine Bedingung ist eine Zeile nach oben gewandert, mehr nicht.",
        ),
        Chore("commit bitte", "log", "Ist eingecheckt."),
        Chore(
            "wo wird {a} überall benutzt?",
            "search",
            "An sechs Stellen, alle im Ordner der {b}-Pakete. In den Szenen taucht es nicht auf.",
        ),
        Chore("ok danke", "nothing", "Gerne. Sag Bescheid, wenn es weitergehen soll."),
        Chore("räum die leerzeilen in {c} auf", "diff", "Aufgeräumt, inhaltlich ist alles gleich."),
    ),
    narration=(
        "Ich schaue mir zuerst {a} an.",
        "Moment, ich lese kurz die Protokolle.",
        "Ich prüfe, wie {b} gerade eingestellt ist.",
    ),
    openings=("Ich habe mir {a} und {b} angesehen. ", "Kurz gesagt:\n\n", "So, fertig. "),
    explanations=(
        "Zur Einordnung: {a} und {b} liegen in getrennten Dateien, werden aber beim Start zusammen gelesen. Die Reihenfolge spielt dabei keine Rolle, und doppelte Namen würden sofort auffallen.",
        "Ich bin so vorgegangen:\n\n1. {a} geöffnet und von oben nach unten gelesen\n2. nachgesehen, wo {b} vorkommt\n3. mit {c} verglichen\n\nÜberraschungen gab es dabei keine.",
        "Nebenbei gesehen: bei {c} stehen zwei Kommentare, die nicht mehr ganz zum Inhalt passen. Sie stören nicht, deshalb habe ich sie stehen gelassen. Wenn du magst, räume ich sie in einem eigenen Schritt auf.",
        "Der Aufbau ist einfach gehalten: {a} liefert, {b} entscheidet, {c} führt aus. Wer nur eines davon anfasst, muss die anderen beiden nicht kennen, und das macht es angenehm zu lesen.",
    ),
    closings=(
        "\n\nAn {c} habe ich nichts verändert.",
        "\n\n- {a}: angepasst\n- {b}: wie gehabt\n",
        "\n\nSoll ich noch etwas anschauen?",
    ),
)

SHUTTERS = session(
    turn(
        "die rolläden gehen nachts um 2 hoch, nur im winter. warum?",
        Read(
            "packages/rolladen.yaml",
            source("packages/rolladen.yaml", 90, W, "    - platform: time\n      at: sensor.sonnenaufgang_utc"),
        ),
        Run(
            "grep rolladen home-assistant.log | tail -n 80",
            log(70, W, "02:14:07.001 INFO rolladen.auf ausgelöst von sensor.sonnenaufgang_utc"),
        ),
        "Der Sensor `sonnenaufgang_utc` liefert einen Text ohne Zeitzone, und die Automation liest ihn als Uhrzeit des Vortags, sobald der Sonnenaufgang nach 7 Uhr liegt. "
        "Mit `sun.sun` als Auslöser gibt es das Problem nicht, weil dort ein echter Zeitpunkt steht.",
    ),
    turn(
        "dann nimm sun.sun. und bitte alle automationen als yaml mit eigener id, nichts in der oberfläche klicken, ich will alles in git haben",
        Edit(
            "packages/rolladen.yaml",
            "at: sensor.sonnenaufgang_utc",
            "platform: sun\n      event: sunrise\n      id: rolladen_auf",
        ),
        "Umgestellt, die Automation heißt `rolladen_auf`. Die drei, die noch in der Oberfläche lagen, stehen jetzt auch als YAML im Ordner `packages`.",
    ),
    turn(
        "wie heiß fährt die heizung gerade",
        Read(
            "packages/heizung.yaml", source("packages/heizung.yaml", 70, W, "  vorlauf_soll: 45\n  warmwasser_soll: 52")
        ),
        "Der Vorlauf steht auf 45 °C, das Warmwasser auf 52 °C.",
    ),
    turn(
        "zigbee ist lahm seit der neue router da ist",
        Run("zigbee2mqtt info", log(40, W, "coordinator: EZSP v8, channel 11, 34 devices")),
        "Zigbee funkt auf Kanal 11, und der neue Router sendet mit WLAN-Kanal 1 genau darüber. Wenn der Router nicht umgestellt werden kann, hilft nur ein anderer Zigbee-Kanal; danach müssen die Geräte mit Batterie neu angelernt werden.",
    ),
)

CHANNEL = session(
    turn(
        "router lässt sich nicht ändern. nimm kanal 25",
        Edit("zigbee2mqtt/configuration.yaml", "channel: 11", "channel: 25"),
        Run("systemctl restart zigbee2mqtt", log(30, W, "started on channel 25")),
        "Zigbee läuft auf Kanal 25. Alle 22 Geräte am Netz sind von selbst mitgekommen, von den 12 mit Batterie fehlen noch vier.",
    ),
    turn(
        "node-red oder bleiben wir bei yaml? kollege schwärmt davon",
        "Wir haben 41 Automationen, davon brauchen zwei eine Schleife. Node-RED bringt eine zweite Stelle, an der Logik liegt, und die Flows lassen sich in git kaum vergleichen. Ich würde dabei bleiben, wie es ist.",
    ),
    turn(
        "seh ich auch so, kein node-red. wie starte ich nach einer änderung sauber neu?",
        Run("ha core check", "Command completed successfully."),
        "`ha core check && ha core restart`. Der erste Teil fängt Tippfehler ab, bevor etwas stehen bleibt.",
    ),
    turn(
        "wo läuft der mqtt broker? will am handy testen",
        Search("mqtt", "secrets.yaml:3: mqtt_host: 192.168.1.20"),
        "Der Broker läuft auf 192.168.1.20, Port 1883. Die Kamera hat die 192.168.1.21, nicht verwechseln.",
    ),
    ends=False,
)

PUMP = session(
    turn(
        "heizungsbauer war da, vorlauf reicht mit 38. stell um",
        Edit("packages/heizung.yaml", "vorlauf_soll: 45", "vorlauf_soll: 38"),
        Run("ha core check && ha core restart", log(20, W, "Command completed successfully.")),
        "Vorlauf ist auf 38 °C gestellt. Das Warmwasser bleibt bei 52 °C, wegen der Legionellen.",
    ),
    turn(
        "broker ist auf den neuen nuc umgezogen, 192.168.1.35",
        Edit("secrets.yaml", "mqtt_host: 192.168.1.20", "mqtt_host: 192.168.1.35"),
        Run("mosquitto_sub -h 192.168.1.35 -t '#' -C 1", "zigbee2mqtt/bridge/state online"),
        "OpenMemory Assistant und Zigbee sprechen mit dem Broker auf 192.168.1.35, und es kommen Nachrichten an. Port und Kennwort sind gleich geblieben.",
    ),
    turn(
        "pumpe im keller springt alle 3 minuten an",
        Read("packages/keller.yaml", source("packages/keller.yaml", 60, W, "  delay_off: 0")),
        Run("grep pumpe home-assistant.log | tail -n 120", log(110, W, "INFO pumpe.ein feuchte=71.2 aus=71.0")),
        Edit("packages/keller.yaml", "delay_off: 0", "hysterese: 4"),
        "Ein- und Ausschaltpunkt lagen nur 0,2 Prozent auseinander, da pendelt der Fühler von allein hin und her. Mit vier Prozent Abstand läuft sie seit einer Stunde nicht mehr an.",
    ),
    turn(
        "super. was ist mit dem regensensor für die markise?",
        "Der liegt noch in der Schachtel: angelernt ist er nicht, weil er eine der vier Batterien-Sorten braucht, die gerade fehlt (CR2450). Danach muss die Markise bei Regen einfahren, dafür gibt es bisher keine Automation.",
    ),
)

SCENARIO = Scenario(
    name="house", client="gemini", place="haus/config", words=W, ending="yaml",
    sessions=(SHUTTERS, CHANNEL, PUMP),
    facts=(
        fact("sunrise", "rootcause", "Die Rolläden gingen nachts hoch, weil sonnenaufgang_utc keine Zeitzone hat.", (r"sonnenaufgang_utc|sun\.sun", r"zeitzone|vortag|echter zeitpunkt")),
        fact("yaml", "preference", "Alle Automationen als YAML mit eigener ID, nichts in der Oberfläche.", (r"yaml", r"oberfläche|eigener id|in git")),
        fact("flow", "changed", "Der Vorlauf steht auf 38 °C.", (r"vorlauf", r"\b38\b"), was=((r"vorlauf", r"\b45\b"),)),
        fact("channel", "changed", "Zigbee läuft auf Kanal 25.", (r"zigbee|kanal|channel", r"(kanal|channel:?) 25"), was=((r"zigbee", r"(kanal|channel:?) 11"),)),
        fact("broker", "changed", "Der MQTT-Broker läuft auf 192.168.1.35.", (r"broker|mqtt", r"192\.168\.1\.35"), was=((r"broker|mqtt", r"192\.168\.1\.20"),)),
        fact("no-node-red", "rejected", "Kein Node-RED.", (r"node-red", r"kein node-red|zweite stelle|dabei bleiben")),
        fact("restart", "command", "Neustart mit ha core check && ha core restart.", r"ha core check && ha core restart"),
        fact("pump", "rootcause", "Die Pumpe sprang ständig an, weil Ein- und Ausschaltpunkt 0,2 Prozent auseinander lagen.", (r"0,2 prozent|ausschaltpunkt|hysterese|vier prozent", r"pumpe|fühler|pendelt|abstand")),
        fact("rain", "open", "Offen: der Regensensor ist nicht angelernt, die Markise hat keine Automation.", (r"regen(sensor)?|markise", r"schachtel|nicht angelernt|keine automation|CR2450|bisher")),
    ),
    questions=(
        question("Weshalb öffneten sich die Jalousien mitten in der Nacht?", "sonnenaufgang_utc hat keine Zeitzone und wurde als Vortag gelesen.", (r"zeitzone|vortag",), kind="rootcause"),
        question("Auf wie viel Grad steht das Wasser, das in die Heizkörper geht?", "Der Vorlauf steht auf 38 °C.", (r"vorlauf", r"\b38\b"), was=((r"vorlauf", r"\b45\b"),)),
        question("Welchen Funkkanal nutzt Zigbee?", "Kanal 25.", r"(kanal|channel:?) 25", was=((r"zigbee", r"(kanal|channel:?) 11"),)),
        question("Unter welcher Adresse erreiche ich den MQTT-Server?", "192.168.1.35", r"192\.168\.1\.35", was=((r"broker|mqtt", r"192\.168\.1\.20"),)),
        question("Wie lade ich die Konfiguration nach dem Bearbeiten neu?", "ha core check && ha core restart", r"ha core check && ha core restart", kind="command"),
        question("Warum lief die Kellerpumpe ständig an?", "Ein- und Ausschaltpunkt lagen nur 0,2 Prozent auseinander.", r"0,2 prozent|ausschaltpunkt", kind="rootcause"),
        question("Was fehlt noch, damit die Markise bei Niederschlag schließt?", "Der Regensensor ist nicht angelernt, es gibt keine Automation.", (r"angelernt|CR2450|keine automation", r"regen|markise|schachtel"), kind="open"),
        question("Haben wir uns für Node-RED entschieden?", "Nein, kein Node-RED, es bleibt bei YAML.", (r"node-red", r"kein node|zweite stelle|dabei bleiben"), kind="rejected"),
        question("Darf ich eine neue Regel einfach in der App zusammenklicken?", "Nein, alles als YAML, nichts in der Oberfläche.", (r"yaml", r"oberfläche|in git|eigener id"), kind="preference"),
        question("Wie warm ist das Wasser in der Dusche eingestellt?", "Warmwasser 52 °C.", (r"warmwasser", r"\b52\b")),
    ),
    stands=(
        value("hot-water", (r"warmwasser", r"\b52\b")),
        value("camera", (r"kamera", r"192\.168\.1\.21")),
        value("wifi", (r"wlan-kanal 1",)),
    ),
    foreign=(
        value("bench-broker", r"bench-mq|tern-field"),
        value("meadow", r"meadow|sidekiq"),
    ),
)  # fmt: skip
