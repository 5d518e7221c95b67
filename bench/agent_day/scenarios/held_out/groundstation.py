"""A satellite ground station in Rust. The user mixes questions and orders; the answers are tables and short prose."""

from __future__ import annotations

from agent_day.gold import fact, question, value
from agent_day.noise import diff, log, matches, source, tests
from agent_day.script import Compact, Delegate, Edit, Read, Run, Scenario, Search, Write, session, turn

W = "pass orbit rotor frame beacon carrier azimuth elevation downlink telemetry"

EPOCH = session(
    turn(
        "Why do we lose the first twenty seconds of every WREN-2 pass? The beacon is there, I can hear it on the handheld. Check what the predictor says against the handheld's log, which is in logs/handheld. The frames of these passes lie on gs-vault under /frames, as always.",
        Run(
            "cargo xtask sim-pass --sat WREN-2 --compare logs/handheld/0412.txt",
            log(140, W, "WARN predict.aos offset=+19.7s"),
        ),
        Search("epoch", matches(11, "rs", W, "let epoch: f32 = fields[3].parse()?;")),
        Read(
            "crates/orbit/src/tle.rs",
            source("crates/orbit/src/tle.rs", 150, W, "        let epoch: f32 = fields[3].parse()?; // yyddd.dddddddd"),
        ),
        "The predictor is late by 19.7 s, always by the same amount within a day. In `tle.rs` the epoch of the elements is parsed into an `f32`. Such a number has room for seven digits; `24103.61528935` needs thirteen, so the fraction of the day is rounded to steps of nearly three minutes. "
        "The Doppler curve is shifted by the same error, which explains the missing lock at the start.",
    ),
    turn(
        "Ha. Make it f64. Is anything else in that crate single precision? And from now on units go into names, please: freq_hz, az_deg, range_km. I lost an evening to a range that turned out to be metres.",
        Edit("crates/orbit/src/tle.rs", "let epoch: f32", "let epoch_days: f64"),
        Run("cargo test -p orbit", tests(88, W, "test result: ok. 88 passed; 0 failed; 0 ignored")),
        Run(
            "cargo xtask sim-pass --sat WREN-2 --compare logs/handheld/0412.txt",
            log(20, W, "INFO predict.aos offset=+0.1s"),
        ),
        "| field | type | name |\n|---|---|---|\n| epoch | f64 | `epoch_days` |\n| mean motion | f64 | `mean_motion_rev_per_day` |\n| drag term | f64 | `bstar_per_er` |\n\nThe offset is down to 0.1 s; `cargo xtask sim-pass --sat WREN-2` replays a pass against any log. Nothing else in the crate is single precision.",
    ),
    turn(
        "Write down for the operators what the station assumes, I am tired of being called at night. Masks, where orbits come from, where the pictures end up.",
        Read("config/station.toml", source("config/station.toml", 70, W)),
        Write("docs/operators.md", source("docs/operators.yaml", 30, W)),
        "| item | setting |\n|---|---|\n| receive mask | 5 degrees elevation |\n| transmit mask | 15 degrees elevation |\n| orbital elements | fetched by `tle-sync` every 6 hours out of the public catalogue |\n"
        "| space weather | fetched every 6 hours as well |\n| spectrograms are archived on | `gs-vault:/waterfall` |\n",
    ),
)

ROTOR = session(
    turn(
        "The rotor stutters at high elevation since we run two receivers. Could we make the rotor control async like the rest, or is that a bad idea? Have somebody look at it properly.",
        Delegate(
            "Async rotor control",
            "Examine whether crates/rotor can move from its own thread to the tokio runtime. Measure the jitter of both on the station computer.",
            "Own thread: jitter 0.4 ms. On tokio with two demodulators running: 31 ms at the 99th percentile, since demodulation blocks the workers. The serial crate has no true async on this kernel; it polls.",
        ),
        "| variant | jitter p99 |\n|---|---|\n| own thread | 0.4 ms |\n| tokio | 31 ms |\n\nA bad idea: the demodulators block the workers and the serial driver merely polls. The rotor is better off on its own thread. "
        "The stutter has another origin: both receivers request a position, 90 ms apart, and the controller obeys each of them in turn.",
    ),
    turn(
        "OK, rotor stays on its thread, no async there. Then let only the receiver that owns the pass request positions. Do we have a test rig for that? I do not want to try it live: if the dish hangs in a pass, Kiruna steps in for us, and they send a bill each time.",
        Edit(
            "crates/rotor/src/arbiter.rs",
            "pub fn request(&mut self, az_deg: f64, el_deg: f64)",
            "pub fn request(&mut self, owner: PassId, az_deg: f64, el_deg: f64)",
        ),
        Run(
            "cargo test -p rotor",
            tests(
                41, W, "test arbiter::foreign_request_is_ignored ... FAILED\ntest result: FAILED. 40 passed; 1 failed"
            ),
            failed=True,
        ),
        Run("cargo test -p rotor", tests(41, W, "test result: ok. 41 passed; 0 failed")),
        "Only the owner of a pass moves the dish. The rig is `cargo xtask rotor-rig`; it plays two receivers against a simulated controller, and the stutter is absent there.",
    ),
    turn(
        "unwrap() in rotor code made the whole station stop last night. I want expect with a reason, and only where it can't happen. Everything else returns an error. Count them?",
        Search("unwrap\\(\\)", matches(17, "rs", W, "port.lock().unwrap()")),
        Run(
            "cargo clippy -p rotor -- -D clippy::unwrap_used",
            log(40, W, "error: could not compile `rotor` due to 17 previous errors"),
            failed=True,
        ),
        "Seventeen. Twelve return `RotorError` now, five became `expect` with a reason. Clippy's `unwrap_used` is denied for the crate so that it stays like that.",
    ),
)

CRANE = session(
    turn(
        "They put up a crane east of us, and the new hall behind it will be there for good. Under ten degrees we get nothing but steel, so do not even try to receive there. Transmitting is not affected, is it?",
        Run("cargo xtask horizon --plot", log(30, W, "obstruction az=71..118 el_max=9.4")),
        "Not affected, transmission starts far above that. Reception begins at 10 degrees; passes that never get there are skipped, which costs us about four a week.",
    ),
    turn(
        "The mission people offer their own ephemeris, an hourly push, much better than the public stuff. I said yes. Endpoint is eph.wren-ops.example, certificates are in the safe. Hook it up and tell me how much better.",
        Read("crates/orbit/src/sync.rs", source("crates/orbit/src/sync.rs", 120, W)),
        Run("cargo xtask sim-pass --sat WREN-2 --source eph", log(26, W, "INFO predict.aos offset=+0.01s")),
        Compact(
            "The user changed the reception limit because of a crane and asked to use the ephemeris of the mission people. The assistant did both and is about to report."
        ),
        "| source | error at rise |\n|---|---|\n| public | 0.1 s |\n| `eph.wren-ops.example` | 0.01 s |\n\nThe push is in use for both satellites. Space weather goes on as it did.",
    ),
    turn(
        "What happens to a pass if the hydraulics fail, is that automatic? And note: the contract up north ran out in March, our understudy sits in Punta Arenas now.",
        Search("handover", matches(5, "rs", W, "scheduler.handover(pass, station)")),
        "Automatic, if the failure shows at least eight minutes ahead of the rise: the scheduler hands the pass to Punta Arenas. With less time than that an operator has to call them.",
    ),
    ends=False,
)

DISK = session(
    turn(
        "Disk alarm again. How much do we write per day?",
        Run("du -sh --time /frames/*", log(40, W, "38G /frames/2024-05-11")),
        "| kind | per day |\n|---|---|\n| frames | 38 GB |\n| spectrograms | 4 GB |\n\nAt this rate the volume is full in nine days.",
    ),
    turn(
        "Then it's time. IT gave us a big box in the basement, gs-cellar, 60 TB. Send the frames there, same folder name. The waterfalls are small, leave them.",
        Edit("config/archive.toml", 'frames = "vault"', 'frames = "cellar"'),
        Run("cargo xtask archive --dry-run", log(18, W, "INFO archive.frames target ok")),
        "Frames go to `gs-cellar:/frames` from tonight's first pass on. Spectrograms are left where they are.",
    ),
    turn(
        "Good. What do you still need from me for the S-band receiver?",
        Read("docs/sband.md", source("docs/sband.yaml", 50, W)),
        "A cold-sky measurement: without it the noise figure of the S-band amplifier is a guess and the link budget in `sband.rs` cannot be closed. It takes a clear night and the dish parked at zenith for an hour. No code waits on anything else.",
    ),
    turn(
        "Next clear night, then. Commit what we have.",
        Run("git commit -am 'archive: frames go to the basement'", "[main 90e1d4c] archive: frames go to the basement"),
        Run("git show --stat", diff("config/archive.toml", W, 12)),
        "Committed as 90e1d4c.",
    ),
)

SCENARIO = Scenario(
    name="groundstation", client="claude", place="station/downlink", remote="git@git.example.org:wren/downlink.git", words=W, ending="rs",
    sessions=(EPOCH, ROTOR, CRANE, DISK),
    facts=(
        fact("epoch-f32", "rootcause", "The predictor was late since the TLE epoch was parsed into an f32.", (r"epoch", r"\bf32\b")),
        fact("units-in-names", "preference", "Units go into names: freq_hz, az_deg, range_km.", (r"units", r"names|freq_hz")),
        fact("rotor-thread", "rejected", "No async for the rotor; it stays on its own thread because of jitter.", (r"rotor", r"no async|own thread|stays on its thread", r"async|tokio|jitter|31 ms")),
        fact("two-requests", "rootcause", "The stutter came from both receivers requesting positions in turn.", (r"both receivers", r"request")),
        fact("sim-pass", "command", "cargo xtask sim-pass --sat WREN-2 replays a pass against a log.", r"xtask sim-pass"),
        fact("receive-mask", "changed", "Reception begins at 10 degrees.", (r"recei?ve|reception", r"(at|under) (10|ten) degrees"), was=((r"receive mask[^\n]{0,12}\b5 degrees",),)),
        fact("elements", "changed", "The orbits come from eph.wren-ops.example by an hourly push.", (r"eph\.wren-ops\.example",), was=((r"orbital elements[^\n]{0,80}(6 hours|public catalogue)",),)),
        fact("backup", "changed", "Punta Arenas takes passes when our dish is down.", (r"punta arenas",), was=((r"kiruna",),)),
        fact("frames-host", "changed", "Frames are archived on gs-cellar:/frames.", (r"gs-cellar",), was=((r"gs-vault under /frames",),)),
        fact("cold-sky", "open", "Open: the S-band receiver needs a cold-sky measurement on a clear night.", (r"cold-sky",)),
    ),
    questions=(
        question("What made us late at the start of the passes?", "The epoch was parsed into an f32 and lost its digits.", (r"epoch", r"\bf32\b|rounded"), kind="rootcause"),
        question("From how high above the horizon do we listen?", "Reception begins at 10 degrees.", (r"recei?ve|reception", r"(at|under) (10|ten) degrees"), was=((r"receive mask[^\n]{0,12}\b5 degrees",),)),
        question("Which feed tells us where the satellites are?", "The hourly push of eph.wren-ops.example.", (r"eph\.wren-ops\.example",), was=((r"orbital elements", r"public catalogue"),)),
        question("Who jumps in if our antenna is broken?", "Punta Arenas.", (r"punta arenas",), was=((r"kiruna", r"steps in"),)),
        question("On what machine do I find yesterday's received data?", "Frames are on gs-cellar:/frames.", (r"gs-cellar",), was=((r"gs-vault under /frames",),)),
        question("Should the dish controller join the tokio runtime?", "No, it stays on its own thread.", (r"no async there",), (r"rotor", r"better off on its own thread"), (r"stays on its (own )?thread",), kind="rejected"),
        question("What explained the jerky movement near zenith?", "Both receivers requested positions and the controller obeyed each in turn.", (r"both receivers",), kind="rootcause"),
        question("How do I replay a satellite overflight offline?", "cargo xtask sim-pass --sat WREN-2", (r"xtask sim-pass",), kind="command"),
        question("How are physical quantities to be called in code?", "With units in their names, e.g. freq_hz.", (r"units", r"freq_hz"), kind="preference"),
        question("What is missing to finish the new band's link budget?", "A cold-sky measurement on a clear night.", (r"cold-sky",), kind="open"),
        question("May I call unwrap in the antenna code?", "No, use expect with a reason, or return an error.", (r"expect`? with a reason",), kind="preference"),
    ),
    stands=(
        value("transmit-mask", (r"transmit mask", r"15 degrees")),
        value("space-weather", (r"space weather", r"every 6 hours")),
        value("spectrograms", (r"gs-vault:/waterfall",)),
    ),
    foreign=(
        value("boats", r"quayside|nonce"),
        value("cfl", r"\bCFL\b"),
        value("bot", r"barge-in"),
    ),
)  # fmt: skip
