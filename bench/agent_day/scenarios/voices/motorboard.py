"""A board for motors: schematics, oscilloscope, C on bare metal; clipped engineer's English, through Claude Code."""

from __future__ import annotations

from agent_day.gold import fact, question, value
from agent_day.noise import log, source
from agent_day.script import Edit, Read, Run, Scenario, Write, session, turn

W = "phase gate rail shunt timer pin coil driver vector trap"

SCENARIO = Scenario(
    name="motorboard", client="claude", place="hw/motorboard-rev-c", words=W, ending="c",
    remote="git@git.example.org:hw/motorboard.git",
    sessions=(
        session(
            turn("Board resets when motor brakes hard. Scope: 3V3 dips to 2.6 for 40 us. Firmware or copper?",
                 Read("src/brake.c", source("src/brake.c", 90, W)),
                 "Both, but mostly copper. Braking pushes current back into the bus, the bus rises to 31 V, the buck goes into overvoltage lockout at 30 and lets go of 3V3. 40 us is its restart time. Firmware could brake more gently; a bigger bus capacitor would cure it."),
            turn("No room for capacitor on rev C. Brake ramp then.",
                 Edit("src/brake.c", "BRAKE_SLOPE 0", "BRAKE_SLOPE 12"),
                 "Ramp of 12 A/ms limits the bus to 28.4 V on paper. Please measure."),
            turn("Measured 28.1. Good. List limits for the datasheet.",
                 Read("src/limits.h", source("src/limits.h", 40, W)),
                 "| quantity | value |\n|---|---|\n| phase current, continuous | 14 A |\n| phase current, 2 s | 25 A |\n| PWM | 20 kHz |\n| dead time | 600 ns |\n| FET temperature trip | 105 C |\n| driver IC trip | 150 C |\n| bus | 10 to 28 V |"),
            turn("Flashing: openocd or your script? I forget.",
                 "`make flash BOARD=revc` over the J-Link; openocd only knows rev A. Bootloader goes in once with `tools/first_flash.sh`, BOOT0 jumper closed."),
            turn("Convention: no dynamic memory, no floats in ISRs. Compiler shall complain.",
                 "`-Wdouble-promotion` and a poisoned `malloc` are in; ISRs live in `isr/`, built with `-mgeneral-regs-only`, so a float there does not compile."),
        ),
        session(
            turn("Phase B current reads 0.8 A with motor disconnected. A and C read 0.0.",
                 Run("python adc_dump.py", log(40, W, "B offset 41 counts")),
                 "The offset follows the fan: with the fan off it is gone. Shunt B's Kelvin trace crosses under the fan header, and the fan's PWM couples in just when B is sampled. Sampling 1.5 us later, after the fan's edge, reads 0.02."),
            turn("Shift sample. Note for rev D: reroute.",
                 Edit("src/adc.c", "SAMPLE_B_TICKS 0", "SAMPLE_B_TICKS 252"),
                 Write("doc/rev_d.md", "- reroute shunt B Kelvin pair away from fan header\n"),
                 "Shifted, and the wish list for rev D has its first line."),
            turn("Colleague wants Zephyr on it. Convince me or not.",
                 "Not. The control loop has 50 us and uses 38; Zephyr's interrupt entry adds about 3 in the worst case and its motor drivers are none. Networking would be its gift, and this board has a CAN bus and nothing else."),
            turn("Not then. Bare metal stays.",
                 "Bare metal. I wrote the cycle budget into `doc/timing.md` so the question has an answer next time."),
            turn("Who assembles the prototypes? Prices went up.",
                 "Lindqvist Elektronik in Kalmar, 20 boards minimum, three weeks. The stencil is ours, in the blue cupboard."),
            turn("CAN ids?",
                 Read("doc/can.md", source("doc/can.md", 30, W)),
                 "Command 0x120, status 0x121, telemetry 0x3F0, all at 500 kbit/s. 0x7FF is the emergency stop and any node may send it."),
        ),
        session(
            turn("Whine at 20k after all, customer's dog hates it. Raise PWM. FETs can take it if dead time shrinks a bit?",
                 Run("python loss.py --pwm 32000", log(30, W, "Psw 3.1 W")),
                 Edit("src/limits.h", "PWM_HZ 20000", "PWM_HZ 32000"),
                 "32 kHz works thermally with 3.1 W of switching loss. Dead time has to stay: the drivers' propagation spread alone is 350 ns. Nothing else in the table moves."),
            turn("FETs browned on two boards. 105 is too late at the sensor place. Trip earlier, 90.",
                 Edit("src/limits.h", "FET_TRIP_C 105", "FET_TRIP_C 90"),
                 "Set. The driver IC keeps its own limit."),
            turn("Kalmar lost our panel twice. New house: Brixen Leiterplatten, from ten pieces, delivery twelve days.",
                 "Addresses and the order template name Brixen now."),
            turn("Telemetry collides with the battery's 0x3F0. Customer insists his is older.",
                 Edit("src/can_ids.h", "TELEMETRY 0x3F0", "TELEMETRY 0x3A0"),
                 "Ours yields: 0x3A0. DBC file regenerated."),
            turn("Open points before I go soldering?",
                 "EMC pre-scan failed at 84 MHz by 3 dB, ferrite on order. The encoder's index pulse is not used yet, so the first turn after power-up is blind."),
        ),
    ),
    facts=(
        fact("brownout", "rootcause", "Hard braking lifts the bus over 30 V, the buck locks out and drops 3V3.", (r"overvoltage lockout|buck", r"bus|3v3")),
        fact("shunt-b", "rootcause", "Phase B's offset came from the fan: its trace crosses under the fan header.", (r"fan", r"shunt b|kelvin|couples|trace")),
        fact("no-heap", "preference", "No dynamic memory, no floats in ISRs.", (r"no dynamic memory|floats? (in ISRs|there)",)),
        fact("no-zephyr", "rejected", "Zephyr was rejected, bare metal stays.", (r"bare metal",)),
        fact("pwm", "changed", "PWM runs at 32 kHz.", (r"32 ?kHz|PWM_HZ 32000",), was=((r"PWM \| 20 kHz|PWM_HZ 20000",),)),
        fact("fet-trip", "changed", "The FETs trip at 90 C.", (r"(trip|FET)[^\n]{0,60}90",), was=((r"FET temperature trip \| 105|FET_TRIP_C 105",),)),
        fact("assembly", "changed", "Brixen Leiterplatten assembles the prototypes, from ten pieces.", (r"brixen",), was=((r"lindqvist",),)),
        fact("telemetry-id", "changed", "Telemetry has the id 0x3A0.", (r"0x3A0",), was=((r"telemetry 0x3F0",),)),
        fact("emc", "open", "Open: EMC pre-scan failed at 84 MHz, ferrite on order.", (r"84 MHz|ferrite",)),
        fact("flash", "command", "make flash BOARD=revc over the J-Link.", (r"make flash BOARD=revc",)),
    ),
    questions=(
        question("Why did the electronics restart under strong deceleration?", "The bus rose over 30 V and the buck locked out.", (r"lockout|buck", r"bus|braking"), kind="rootcause"),
        question("Where did the ghost ampere on one winding come from?", "The fan's PWM couples into shunt B's trace.", (r"fan", r"couples|kelvin|shunt b"), kind="rootcause"),
        question("At what temperature do the transistors switch off?", "The FETs trip at 90 C.", (r"(trip|FET)[^\n]{0,60}90",), was=((r"FET temperature trip \| 105",),)),
        question("How fast do we chop the current?", "32 kHz.", (r"32 kHz",), was=((r"PWM \| 20 kHz",),)),
        question("Where are small series populated?", "Brixen Leiterplatten.", (r"brixen",), was=((r"lindqvist",),)),
        question("On which identifier do measurements go out?", "0x3A0.", (r"0x3A0",), was=((r"telemetry 0x3F0",),)),
        question("Is there an operating system on the controller?", "No, bare metal.", (r"bare metal",), (r"zephyr", r"^not\.|adds about 3"), kind="rejected"),
        question("How do I get my build onto the board?", "make flash BOARD=revc.", (r"make flash",), kind="command"),
        question("What did the radiation measurement show?", "EMC pre-scan failed at 84 MHz.", (r"84 MHz",), kind="open"),
        question("What is forbidden in interrupt code?", "Floats, and no dynamic memory anywhere.", (r"floats? in ISRs|a float there|floats, and",), kind="preference"),
        question("Which message halts everything?", "0x7FF.", (r"0x7FF",)),
    ),
    stands=(
        value("dead-time", (r"dead time \| 600 ns",)),
        value("driver-trip", (r"driver IC trip \| 150",)),
    ),
)  # fmt: skip
