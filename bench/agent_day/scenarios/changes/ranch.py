"""Irrigation of a farm, through Claude Code. A long overview first, then one thing after the other is replaced."""

from __future__ import annotations

from agent_day.gold import fact, value
from agent_day.noise import log, matches
from agent_day.script import Edit, Read, Run, Scenario, Search, session, turn

W = "valve zone pump tank sensor gateway field schedule flow node"

SCENARIO = Scenario(
    name="ranch", client="claude", place="irrigation", words=W, ending="py",
    sessions=(
        session(
            turn("Give me the state of the union on the irrigation stuff, I've been away for a year",
                 Run("irrictl status", log(30,W,"14 valves, 3 pumps")),
                 "Here's where things stand:\n\n**Gateway**: a Raspberry Pi 3 in the pump house, running Mosquitto.\n**Radio**: LoRa at 868 MHz, spreading factor 9.\n**Valves**: 14 of them, each polled every 5 minutes.\n**Pump**: starts when the tank is under 40 %, stops at 90 %.\n**Alerts**: text messages through Twilio to your phone.\n**Storage**: InfluxDB 1.8 with a retention of 26 weeks."),
            turn("cool. which field gets the most water",
                 "The south pasture: 42 m³ a week. The orchard gets 11 m³."),
            turn("and the schedule?",
                 Read("zones.yaml","south: 22:00\norchard: 05:30\n"),
                 "South pasture at 22:00, the orchard at 05:30 so that leaves dry before noon."),
            turn("who services the pumps",
                 "The sticker in the photo says Halvorsen & Sons, phone number underneath."),
            turn("frost guard threshold?",
                 Search("FROST", matches(2,"py",W,"FROST_C = 2.0")),
                 "The frost guard opens the drains below 2 °C."),
        ),
        session(
            turn("pi died. sd card. put in the old thinkcentre, it's on the network as pumphouse",
                 Run("ssh pumphouse systemctl status mosquitto","active (running)"),
                 "Mosquitto and the collector run on the ThinkCentre. I restored the config from git and the last 9 hours of readings are lost."),
            turn("influx 1.8 is ancient, what would it take to go to timescale",
                 "Roughly a day: a schema with one hypertable, a copy script, and Grafana's data source. Queries get simpler, since you know SQL."),
            turn("do it",
                 Run("python migrate.py", log(30,W,"18,402,113 rows copied")),
                 "18.4 million rows are in TimescaleDB and Grafana reads from there. Influx is switched off. I kept the 26 weeks as they were."),
            turn("keep 3 years, disk is cheap",
                 Run("psql -c \"select set_retention('readings', interval '3 years')\"","ok"),
                 "The policy drops chunks after three years."),
            turn("twilio wants money. use ntfy instead",
                 Edit("alerts.py","client.messages.create(","requests.post(NTFY_URL,"),
                 "Alerts arrive as push notifications through ntfy; I sent you one."),
            turn("valve batteries are draining fast. what can we do",
                 Edit("poll.py","POLL_MINUTES = 5","POLL_MINUTES = 15"),
                 "Asking them less often is the cheapest remedy: a quarter of an hour between polls triples their life by my estimate."),
        ),
        session(
            turn("pump short-cycles, listen to this: on off on off",
                 Run("irrictl pump log", log(20,W,"start at 39.8 %, stop 41 %")),
                 "The stop sensor bounced. While I was there I widened the band: it starts under 30 % and stops at 90 % as before."),
            turn("Halvorsen is closing shop. Lindqvist from Uppsala road takes their customers",
                 "Okay. I replaced the name in the runbook."),
            turn("south at 22 wakes the neighbours, the pump is next to their bedroom. 3am doesn't help either. do it at 19:00",
                 Edit("zones.yaml","south: 22:00","south: 19:00"),
                 "Changed. 19:00 costs a bit more in evaporation, around 4 %."),
            turn("lost packets from the far orchard nodes?",
                 Edit("radio.py","SF = 9","SF = 10"),
                 Run("irrictl radio test", log(20,W,"loss 0.4 %")),
                 "Loss fell from 11 % to 0.4 % with spreading factor 10; airtime doubles, which is still legal."),
            turn("2 more valves came in today, wired them to box C",
                 Run("irrictl scan","16 valves"),
                 "Both answer, which makes sixteen."),
            turn("frost tonight, set guard to 4 for tonight, just tonight",
                 Run("irrictl frost --until 08:00 --at 4","ok"),
                 "Until 08:00 the guard acts at 4 °C; after that it falls back to its usual threshold."),
        ),
    ),
    facts=(
        fact("gateway","changed","ThinkCentre",(r"thinkcentre",),was=((r"raspberry pi 3",),)),
        fact("db","changed","TimescaleDB",(r"timescale",),was=((r"influxdb 1\.8 with",),)),
        fact("retention","changed","3 years",(r"3 years|three years",),was=((r"26 weeks",),)),
        fact("alerts","changed","ntfy",(r"ntfy",),was=((r"through twilio",),)),
        fact("poll","changed","15 minutes",(r"quarter of an hour|15 min|POLL_MINUTES = 15",),was=((r"every 5 minutes",),)),
        fact("pump","changed","30 %",(r"30 %",),was=((r"under 40 %",),)),
        fact("service","changed","Lindqvist",(r"lindqvist",),was=((r"sticker.*halvorsen",),)),
        fact("south","changed","19:00",(r"19:00",),was=((r"south.{0,20}22:00",),)),
        fact("sf","changed","10",(r"spreading factor 10|SF = 10",),was=((r"spreading factor 9",),)),
        fact("valves","changed","16",(r"sixteen|16 valves",),was=((r"14 of them|14 valves",),)),
    ),
    questions=(),
    stands=(value("frost",(r"2 °C",)), value("orchard",(r"05:30",)), value("stop",(r"90 %",)), value("orchard-water",(r"11 m³",))),
)  # fmt: skip
