"""Firmware of a sensor gateway. The user is terse and types fast; another project's folder has the same name."""

from __future__ import annotations

from agent_day.gold import fact, question, value
from agent_day.noise import log, source, tests
from agent_day.script import Compact, Edit, Read, Run, Scenario, Search, session, turn

W = "modem uplink sensor battery queue frame radio sample boot slot"

RESETS = session(
    turn(
        "node 14 resets every few hrs in the field. logs attached in logs/node14.txt. find it",
        Run(
            "tail -n 300 logs/node14.txt",
            log(240, W, "*** Booting nRF Connect SDK v2.5.2 ***\nreset reason: 0x00000002 (DOG)"),
        ),
        Search(
            "wdt_feed",
            "src/health/feeder.c:38:  wdt_feed(wdt, channel);\nsrc/health/feeder.c:52:  k_work_schedule(&feed_work, K_SECONDS(4));",
        ),
        Read(
            "src/modem/attach.c",
            source(
                "src/modem/attach.c",
                180,
                W,
                "    err = lte_lc_connect(); /* from attach_work on the system workqueue */",
            ),
        ),
        "It is the watchdog. `attach_work` and the feeder share the system workqueue, and `lte_lc_connect()` blocks that queue for up to 25 s where coverage is bad. "
        "The watchdog is set to 8 s, so the node bites itself while it is only looking for a cell. I would give attach its own thread; the feeder then keeps running.",
    ),
    turn(
        "ok do it. but no malloc at runtime pls, everthing static. i dont want a heap after init, ever",
        Edit(
            "src/modem/attach.c",
            "k_work_submit(&attach_work);",
            "k_thread_create(&attach_thread, attach_stack, K_THREAD_STACK_SIZEOF(attach_stack), attach_main, NULL, NULL, NULL, 7, 0, K_NO_WAIT);",
        ),
        Run(
            "west build -b tern_gw_revc",
            log(
                60,
                W,
                "Memory region  Used Size  Region Size  %age Used\n  FLASH:  411 KB  960 KB  42.81%\n  RAM:  171 KB  248 KB  69.1%",
            ),
        ),
        "Attach runs on a thread of its own with a static stack of 3 kB; nothing is allocated after `main()` has set things up. Built with nRF Connect SDK v2.5.2, as pinned in `west.yml`.",
    ),
    turn(
        "how do i flash revc again, last time it refused",
        Run(
            "west flash",
            "-- west flash: rebuilding\nERROR: The operation attempted is unavailable due to readback protection in your device. Please use --recover to unlock the device.",
            failed=True,
        ),
        "Boards of rev C come with readback protection on. `west flash --recover -r jlink` unlocks and flashes them in one go; it wipes the settings partition, so provision again afterwards with `tools/provision.py --port /dev/ttyACM0`.",
    ),
    turn(
        "batt readings are garbage on revc, fine on b",
        Read(
            "boards/tern_gw_revc.dts",
            source("boards/tern_gw_revc.yaml", 90, W, "vbatt { io-channels = <&adc 0>; /* AIN0 = P0.13 */ }"),
        ),
        Edit("boards/tern_gw_revc.dts", "io-channels = <&adc 0>;", "io-channels = <&adc 1>;"),
        "On rev C the divider sits on P0.14 (AIN1); rev B has it on P0.13 (AIN0). The rev C overlay was a copy of the rev B one. Fixed in the overlay, rev B is untouched.",
    ),
)

PAYLOAD = session(
    turn(
        "payload is json, 310 bytes per sample, too much. look at cbor or protobuf",
        Run(
            "python tools/size_probe.py --all samples/",
            "json 310\ncbor (string keys) 148\ncbor (int keys) 61\nnanopb 58\nflash: cbor +3.1 kB, nanopb +11.4 kB",
        ),
        "| format | bytes | flash |\n|---|---|---|\n| JSON | 310 | – |\n| CBOR, integer keys | 61 | +3.1 kB |\n| nanopb | 58 | +11.4 kB |\n\n"
        "nanopb saves three bytes over CBOR and costs 8 kB more flash plus a generator in the build. Not worth it; CBOR with integer keys it is, the key table lives in `include/tern/keys.h`.",
    ),
    turn(
        "yes. whats the broker setup",
        Read(
            "src/mqtt/conf.h",
            source(
                "src/mqtt/conf.h",
                40,
                W,
                '#define BROKER_HOST "mq.tern-field.example"\n#define BROKER_PORT 8883\n#define KEEPALIVE_S 60',
            ),
        ),
        "Production talks to `mq.tern-field.example` on 8883 with TLS, keepalive 60 s. The bench broker is `bench-mq.local` on 1883, no TLS, reached only from the lab network.",
    ),
    turn(
        "we sample every 15 s and send every 15 min right?",
        Search(
            "INTERVAL",
            "src/app/timing.h:4:#define SAMPLE_INTERVAL_S 15\nsrc/app/timing.h:5:#define UPLINK_INTERVAL_MIN 15",
        ),
        "Right: one sample each 15 s, and one uplink each 15 min that carries 60 samples.",
    ),
    turn(
        "watchdog again, node 9 this time, dfu was runing",
        Run("tail -n 200 logs/node09.txt", log(180, W, "dfu: erasing secondary slot\nreset reason: 0x00000002 (DOG)")),
        Edit("src/health/feeder.c", "#define WDT_TIMEOUT_MS 8000", "#define WDT_TIMEOUT_MS 30000"),
        Run(
            "west build -t run_tests",
            tests(210, W, "FAIL  slot erase keeps feeding  [8001ms]\n  expected 0 resets, got 1\n1 failed, 209 passed"),
            failed=True,
        ),
        Run("west build -t run_tests", tests(210, W, "210 passed")),
        "Erasing the secondary slot takes 19 s with interrupts mostly off, longer than the dog allowed. Its timeout is 30 s now, and the test that erases a slot passes.",
    ),
    ends=False,
)

UPGRADE = session(
    turn(
        "move to ncs 2.7.0, we need the psm fix",
        Edit("west.yml", "revision: v2.5.2", "revision: v2.7.0"),
        Run("west update", log(80, W, "=== updated sdk-nrf (nrf): checked out v2.7.0")),
        Run(
            "west build -b tern_gw_revc --pristine",
            log(60, W, "error: 'lte_lc_init_and_connect' undeclared\n1 error generated."),
            failed=True,
        ),
        Edit("src/modem/attach.c", "lte_lc_init_and_connect()", "lte_lc_connect()"),
        Run("west build -b tern_gw_revc --pristine", log(60, W, "FLASH:  418 KB  960 KB  43.5%")),
        "The tree builds against nRF Connect SDK v2.7.0. One call had been dropped upstream, `lte_lc_connect()` does its work; flash went up by 7 kB.",
    ),
    turn(
        "nodes drop off the broker after ~10 min idle. carrier nat?",
        Run(
            "python tools/idle_probe.py --carrier all",
            "carrier A: mapping dropped after 600 s\ncarrier B: mapping dropped after 1830 s",
        ),
        Edit("src/mqtt/conf.h", "#define KEEPALIVE_S 60", "#define KEEPALIVE_S 540"),
        "Carrier A forgets a mapping after 600 s of silence. A ping each minute would keep it alive but eats 4 mAh a day, so I went the other way: KEEPALIVE_S is 540 now, just under the carrier's limit, and PSM may sleep in between.",
    ),
    turn(
        "whats left for dfu? i stop here",
        Search("TODO", "src/dfu/apply.c:77:  /* TODO: image hash mismatch */"),
        Compact(
            "The user moves the gateway firmware to a newer SDK. Nodes lost their broker connection on carrier A. DFU is being finished."
        ),
        "For DFU two things are not there yet: `apply.c` does nothing when the image hash is wrong (it should mark the slot bad and boot the old one), and the download does not resume after a lost link. I have not started on either.",
    ),
)

MORNING_BEFORE = session(
    turn(
        "rebase on main and fix conflicts",
        Run(
            "git rebase main",
            "CONFLICT (content): Merge conflict in src/app/timing.h\nerror: could not apply 3b1f0aa... uplink: jitter",
            failed=True,
        ),
        Edit("src/app/timing.h", "<<<<<<< HEAD", "#define UPLINK_JITTER_S 40"),
        Run("git rebase --continue", "Successfully rebased and updated refs/heads/tern-dfu."),
        "Rebased. The conflict was in `timing.h`: main had moved the jitter define, both sides agree on 40 s.",
    ),
    turn(
        "size of release image?",
        Run("west build -b tern_gw_revc -- -DCONF_FILE=prj_release.conf", log(30, W, "FLASH:  402 KB  960 KB  41.9%")),
        "402 kB with `prj_release.conf`, so both slots fit with room to spare.",
    ),
    resumes=2,
)

SCENARIO = Scenario(
    name="firmware", client="claude", place="work/tern/gateway", words=W, ending="c", tags=frozenset({"quick"}),
    sessions=(RESETS, PAYLOAD, UPGRADE, MORNING_BEFORE),
    facts=(
        fact("static-only", "preference", "No malloc at runtime; everything static, no heap after init.", (r"malloc|heap|allocat", r"runtime|static|after (init|main|.main)")),
        fact("attach-blocks", "rootcause", "The resets came from lte_lc_connect blocking the system workqueue that the feeder shares.", (r"lte_lc_connect|attach", r"workqueue|that queue", r"feeder|block")),
        fact("flash-revc", "command", "Rev C is flashed with west flash --recover -r jlink.", r"west flash --recover"),
        fact("vbatt-pin", "fact", "On rev C the battery divider is on P0.14 (AIN1).", (r"P0\.14|AIN1", r"rev ?c")),
        fact("cbor", "decision", "The payload is CBOR with integer keys.", (r"cbor", r"integer keys|int keys|keys\.h")),
        fact("no-nanopb", "rejected", "nanopb was rejected: three bytes less for 8 kB more flash.", (r"nanopb|protobuf", r"not worth|8 kB more|\+?11\.4 kB|rejected")),
        fact("watchdog", "changed", "The watchdog timeout is 30 s.", (r"watchdog|\bdog\b|WDT_TIMEOUT|its timeout|timeout", r"\b30 s\b|30000|30 seconds"), was=((r"watchdog|WDT_TIMEOUT", r"(is|set to|of) 8 s|_MS 8000"),)),
        fact("sdk", "changed", "The firmware builds against nRF Connect SDK v2.7.0.", (r"ncs|connect sdk|sdk-nrf|revision", r"2\.7\.0"), was=((r"ncs|connect sdk|sdk-nrf", r"2\.5\.2"),)),
        fact("keepalive", "changed", "The MQTT keepalive is 540 s.", (r"keep-?alive", r"\b540\b"), was=((r"keep-?alive", r"\b60 s\b|_S 60\b"),)),
        fact("dfu-open", "open", "Open in DFU: a wrong image hash is not handled and a download does not resume.", (r"hash", r"wrong|mismatch|mark the slot|not there yet|boot the old"), (r"download", r"(does not|doesn't|not) resume")),
    ),
    questions=(
        question("Why did node 14 keep rebooting in the field?", "attach blocked the system workqueue that feeds the watchdog.", (r"workqueue", r"block|share"), kind="rootcause"),
        question("How long does the watchdog wait before it resets the board?", "The watchdog timeout is 30 s.", (r"timeout|watchdog|\bdog\b|wdt", r"\b30 s\b|30000"), was=((r"watchdog|wdt", r"\b8 s\b|\b8000\b"),)),
        question("Which SDK release is the gateway firmware built with?", "nRF Connect SDK v2.7.0.", (r"sdk|ncs|west\.yml", r"2\.7\.0"), was=((r"sdk|ncs", r"2\.5\.2"),)),
        question("What is the MQTT ping interval set to, and why that value?", "The keepalive is 540 s, just below the 600 s of carrier A.", (r"keep-?alive", r"\b540\b"), was=((r"keep-?alive", r"\b60 s\b|KEEPALIVE_S 60\b"),)),
        question("Flashing a rev C board is refused, what do I do?", "west flash --recover -r jlink", r"west flash --recover", kind="command"),
        question("Which pin reads the battery on rev C?", "P0.14 on rev C.", (r"P0\.14|AIN1", r"rev ?c")),
        question("Why didn't we take protobuf for the payload?", "nanopb saves three bytes but costs 8 kB more flash.", (r"nanopb", r"not worth|8 kB more|11\.4 kB"), kind="rejected"),
        question("What is left to do for DFU?", "A wrong image hash is not handled; downloads do not resume.", (r"image hash", r"wrong|mismatch|bad"), (r"download", r"not resume"), kind="open"),
        question("May I use the heap in the uplink code?", "No: no heap after init, everything static.", (r"malloc|heap|allocat", r"static|no heap|nothing is allocated|dont want"), kind="preference"),
        question("Where does the test broker in the lab listen?", "bench-mq.local on 1883.", r"bench-mq\.local|\b1883\b"),
        question("How often is a sample taken?", "One sample each 15 s.", (r"sample", r"15 ?s\b|INTERVAL_S 15")),
    ),
    stands=(
        value("sample-interval", (r"one sample each 15 s|sample every 15 s|SAMPLE_INTERVAL_S 15",)),
        value("bench-broker", (r"bench-mq\.local", r"1883")),
        value("revb-pin", (r"rev B has it on P0\.13|P0\.13", r"rev ?b")),
        value("prod-port", (r"mq\.tern-field\.example", r"8883")),
    ),
    foreign=(
        value("ledger-port", (r"ledger", r"7011")),
        value("fleetctl", r"fleetctl"),
        value("osprey", r"osprey|linkerd"),
    ),
)  # fmt: skip
