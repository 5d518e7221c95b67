"""Carts of a warehouse in C++, through Codex. Telegram style on both sides."""

from __future__ import annotations

from agent_day.gold import fact, value
from agent_day.noise import log, matches, tests
from agent_day.script import Edit, Read, Run, Scenario, Search, session, turn

W = "lane cart dock lift beacon battery route charger pallet zone"

SCENARIO = Scenario(
    name="agv", client="codex", place="agv/fw", words=W, ending="cpp",
    sessions=(
        session(
            turn("carts stop for no reason near dock 3",
                 Run("./replay 0412.bag", log(60,W,"lidar: reflection at 1.9 m")),
                 "Cause: chrome bumper of the parked tugger mirrors the beam. Planner sees a wall. Filter: drop returns with intensity > 240."),
            turn("top speed in the aisles?",
                 Read("cfg/motion.yaml","aisle_mps: 1.6\ncrossing_mps: 0.5\n"),
                 "1.6 m/s aisles, 0.5 m/s crossings."),
            turn("min battery before they go and charge?",
                 Run("grep -n soc cfg/energy.yaml","return_soc: 25"),
                 "They return at 25 % charge. Full is 95 %."),
            turn("who do we ring at the integrator",
                 "Contact at the integrator: Beatriz Moura, hotline ends 17:00."),
            turn("ros version on the carts?",
                 Run("ssh cart7 printenv ROS_DISTRO","foxy"),
                 "Carts: ROS 2 Foxy, Ubuntu 20.04. Fleet manager: Humble."),
            turn("map server",
                 "Maps are pulled from `maps.local:8090` at boot."),
            turn("and which DDS",
                 Search("RMW_IMPLEMENTATION",matches(2,"cpp",W,"rmw_fastrtps_cpp")),
                 "Middleware: Fast DDS everywhere."),
        ),
        session(
            turn("safety officer: too fast with the new staff around",
                 Edit("cfg/motion.yaml","aisle_mps: 1.6","aisle_mps: 1.2"),
                 "Aisles: 1.2 m/s. Round trip dock 1 to 9 grows by 21 s."),
            turn("two died on the ramp with 20 something percent left",
                 Run("./energy_sim --ramp", log(20,W,"needs 31 % at -5 C")),
                 Edit("cfg/energy.yaml","return_soc: 25","return_soc: 35"),
                 "Cold ramp eats more than planned. New return level 35 %."),
            turn("foxy is EOL. jazzy on all carts this weekend, I'll do the reflashing, you fix the build",
                 Run("colcon build", tests(30,W,"Summary: 41 packages finished")),
                 "41 packages build on Jazzy. Cart 7 boots with it, the others follow as you reflash them."),
            turn("sunday: all flashed, all up",
                 "Good. Then the Foxy branch can be archived."),
            turn("for the trade fair demo cart only: 2.0 m/s",
                 Edit("cfg/demo.yaml","aisle_mps: 1.6","aisle_mps: 2.0"),
                 "Demo cart alone: 2.0 m/s. Fleet untouched."),
        ),
        session(
            turn("fast dds floods the wifi w/ discovery. zenoh?",
                 Run("./netbench", log(20,W,"fastdds 3.1 MB/s, cyclone 2.2, zenoh 0.2")),
                 "Measured: Fast DDS 3.1 MB/s, Cyclone 2.2, Zenoh 0.2. Zenoh wins by far."),
            turn("zenoh then",
                 Edit("docker/env","RMW_IMPLEMENTATION=rmw_fastrtps_cpp","RMW_IMPLEMENTATION=rmw_zenoh_cpp"),
                 "Set on carts and fleet manager, router runs beside the manager."),
            turn("Moura changed jobs, we got a Mr Tanaka assigned",
                 "Noted: Tanaka at the integrator from here on."),
            turn("IT renumbered, map server sits behind the proxy: https://maps.plant.example",
                 Edit("cfg/boot.yaml","maps.local:8090","https://maps.plant.example"),
                 "Boot config points there. Cart 2 pulled its map in 3 s."),
            turn("35 wastes a trip per shift. summer anyway. 28",
                 Edit("cfg/energy.yaml","return_soc: 35","return_soc: 28"),
                 "28 % set."),
        ),
    ),
    facts=(
        fact("speed","changed","1.2",(r"1\.2 m/s",),was=((r"1\.6 m/s",),)),
        fact("soc","changed","28",(r"\b28\b",),was=((r"return at 25",),(r"return level 35",))),
        fact("ros","changed","Jazzy",(r"jazzy",),was=((r"ros 2 foxy, ubuntu",),)),
        fact("dds","changed","Zenoh",(r"zenoh",),was=((r"fast dds everywhere",),)),
        fact("contact","changed","Tanaka",(r"tanaka",),was=((r"beatriz moura, hotline",),)),
        fact("maps","changed","proxy",(r"maps\.plant",),was=((r"maps\.local",),)),
    ),
    questions=(),
    stands=(value("crossing",(r"0\.5 m/s",)),value("full",(r"95 %",)),value("fm",(r"humble",)),value("demo",(r"2\.0 m/s",))),
)  # fmt: skip
