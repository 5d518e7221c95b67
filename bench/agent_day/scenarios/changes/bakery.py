"""A bakery's orders in German, through Codex. The user types lower case, the answers are short."""

from __future__ import annotations

from agent_day.gold import fact, value
from agent_day.noise import log, matches
from agent_day.script import Edit, Read, Run, Scenario, Search, Write, session, turn

W = "teig ofen filiale lieferung bestellung schicht kasse rezept blech kunde"

SCENARIO = Scenario(
    name="bakery", client="codex", place="projekte/backstube", words=W, ending="py",
    sessions=(
        session(
            turn("warum fehlen in der filiale am markt morgens die laugenstangen",
                 Run("python -m lieferung.pruefen --filiale markt", log(40,W,"bestellt 60 geliefert 0")),
                 "Die Bestellung der Filiale am Markt geht um 18:05 ein, der Bestellschluss ist aber 18:00. Sie wird deshalb auf den übernächsten Tag gelegt."),
            turn("ah. wann fährt der erste wagen?",
                 Read("touren.toml","erste_tour = \"04:45\"\nzweite_tour = \"06:30\"\n"),
                 "Der erste Wagen fährt um 04:45, der zweite um 06:30."),
            turn("und wer darf preise ändern?",
                 "Preise ändert nur Frau Wegener. Aushänge macht Herr Pohl."),
            turn("wie lange ruht der sauerteig im programm?",
                 Read("rezepte/sauer.toml","ruhe_stunden = 16\n"),
                 "Der Sauerteig ruht 16 Stunden. Die Hefeteige ruhen 3 Stunden."),
            turn("bons: wie lange aufheben?",
                 "Kassenbons werden zehn Jahre aufgehoben, Bestellzettel 90 Tage."),
            turn("mit welcher bibliothek machen wir die pdfs",
                 Search("reportlab",matches(3,"py",W,"from reportlab.pdfgen import canvas")),
                 "Die Lieferscheine entstehen mit ReportLab."),
            turn("ab wieviel euro gibts die treuekarte",
                 Run("grep -n treue kasse.toml","treue_ab = 8"),
                 "Ab 8 Euro Einkauf gibt es einen Stempel auf die Treuekarte."),
        ),
        session(
            turn("bestellschluss auf 19 uhr schieben, hab mit der backstube geredet",
                 Edit("lieferung/regeln.py","SCHLUSS = time(18, 0)","SCHLUSS = time(19, 0)"),
                 "Erledigt, angenommen wird nun bis 19 Uhr. Die Teigliste wird dafür erst um 19:10 gedruckt."),
            turn("der erste wagen kommt immer zu spät an der klinik an, 15 min früher los",
                 Edit("touren.toml",'erste_tour = "04:45"','erste_tour = "04:30"'),
                 "Abfahrt der ersten Tour ist jetzt 04:30. Die zweite bleibt."),
            turn("frau wegener hört auf, das mit den preisen macht jetzt der yusuf",
                 "Alles klar, ich habe Yusuf die Rechte gegeben und ihr die Rechte genommen."),
            turn("sauer bitte 20 stunden, kunden wollens kräftiger",
                 Edit("rezepte/sauer.toml","ruhe_stunden = 16","ruhe_stunden = 20"),
                 "Auf 20 Stunden gestellt. Der Ansatz muss damit um 7 Uhr früh stehen."),
            turn("stempel erst ab 10 euro, alles wird teurer",
                 Edit("kasse.toml","treue_ab = 8","treue_ab = 10"),
                 "Stempel gibt es erst ab 10 Euro."),
        ),
        session(
            turn("reportlab macht umlaute kaputt. was gibts sonst",
                 Run("python vergleich.py", log(20,W,"weasyprint ok, fpdf2 ok")),
                 "WeasyPrint und fpdf2 können beide Umlaute. fpdf2 ist kleiner und reicht für unsere Scheine."),
            turn("dann fpdf2",
                 Edit("scheine.py","from reportlab.pdfgen import canvas","from fpdf import FPDF"),
                 "Umgestellt, die Lieferscheine kommen aus fpdf2. Umlaute stimmen."),
            turn("20 stunden ist zu viel, zu sauer. 18",
                 Edit("rezepte/sauer.toml","ruhe_stunden = 20","ruhe_stunden = 18"),
                 "Steht auf 18."),
            turn("am 24. dezember ist schon um 14 uhr bestellschluss, nur da",
                 Write("lieferung/ausnahmen.toml","2026-12-24 = \"14:00\"\n"),
                 "Für den 24. Dezember gilt 14 Uhr, an allen anderen Tagen bleibt alles beim Alten."),
            turn("bestellzettel müssen wir laut steuerberater länger aufheben, ein jahr",
                 Edit("aufbewahrung.toml","zettel_tage = 90","zettel_tage = 365"),
                 "Bestellzettel bleiben nun 365 Tage liegen. Bons wie gehabt."),
        ),
    ),
    facts=(
        fact("schluss","changed","19 Uhr",(r"19 uhr|time\(19",),was=((r"bestellschluss ist aber 18:00",),(r"18:00",))),
        fact("tour","changed","04:30",(r"04:30",),was=((r"04:45",),)),
        fact("preise","changed","Yusuf",(r"yusuf",),was=((r"nur frau wegener",),)),
        fact("sauer","changed","18 Stunden",(r"auf 18|zu sauer. 18|\b18\b",r"sauer|steht|zu viel"),was=((r"16 stunden",),(r"20 stunden gestellt",),(r"sauer bitte 20",))),
        fact("pdf","changed","fpdf2",(r"fpdf2",),was=((r"mit reportlab",),)),
        fact("treue","changed","10 Euro",(r"10 euro",),was=((r"ab 8 euro",),)),
        fact("zettel","changed","365 Tage",(r"365|ein jahr",),was=((r"90 tage",),)),
    ),
    questions=(),
    stands=(value("bons",(r"zehn jahre",)), value("hefe",(r"3 stunden",)), value("zweite",(r"06:30",)), value("pohl",(r"pohl",)), value("heilig",(r"24\. dezember",))),
)  # fmt: skip
