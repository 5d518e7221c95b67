"""An Android music player in Kotlin. The user writes telegrams; the answers are numbered findings."""

from __future__ import annotations

from agent_day.gold import fact, question, value
from agent_day.noise import diff, log, matches, source, tests
from agent_day.script import Edit, Read, Run, Scenario, Search, Write, session, turn

W = "track queue album artwork session player buffer playlist lyrics headset"

GAPS = session(
    turn(
        "Gap between tracks. Live albums only. 300 ms or so. Find.",
        Search(
            "setMediaItem",
            "app/src/main/kotlin/QueueController.kt:88:  player.setMediaItem(next.toItem()); player.prepare()",
        ),
        Read(
            "app/src/main/kotlin/QueueController.kt",
            source(
                "app/src/main/kotlin/QueueController.ts",
                140,
                W,
                "  override fun onEnded() { player.setMediaItem(next.toItem()); player.prepare() }",
            ),
        ),
        Run("adb logcat -d -s ExoPlayerImpl", log(160, W, "DEBUG player.prepare took=312ms")),
        "1. `QueueController` hands ExoPlayer one track at a time and prepares the next after `onEnded`.\n2. Thus the decoder is torn down and built up again between any two tracks: 312 ms on the test phone.\n3. On studio albums the silence at the end hides it; live albums have none.\n4. Handing over the whole queue with `addMediaItems` makes it gapless.",
    ),
    turn(
        "Do. No GlobalScope anywhere while at it, saw two. Scopes belong to the service.",
        Edit(
            "app/src/main/kotlin/QueueController.kt",
            "player.setMediaItem(next.toItem())",
            "player.addMediaItems(queue.rest())",
        ),
        Edit("app/src/main/kotlin/LyricsLoader.kt", "GlobalScope.launch", "serviceScope.launch"),
        Run("./gradlew test", tests(220, W, "BUILD SUCCESSFUL in 41s")),
        "1. Whole queue handed over; gap is below 2 ms.\n2. Both `GlobalScope` uses are replaced by `serviceScope`.\n3. 220 tests green.",
    ),
    turn(
        "Facts for store listing. Oldest Android? Sizes on disk?",
        Read("app/build.gradle.kts", source("app/build.gradle.ts", 80, W, "    minSdk = 24")),
        Search("CacheEvictor", matches(4, "kt", W, "LeastRecentlyUsedCacheEvictor(limit)")),
        "1. Oldest supported: Android 7.0 (minSdk 24).\n2. Stream cache: capped at 512 MB.\n3. Artwork cache: capped at 64 MB.\n4. Lyrics: a database of about 3 MB.",
    ),
    turn(
        "Rollout rhythm? Where do crashes land?",
        Read("docs/release.md", source("docs/release.yaml", 44, W)),
        "1. The store rollout starts on Wednesdays at 10 percent.\n2. Crash reports land at Sentry, project `lyrebird-android`.\n3. Performance numbers come out of `./gradlew :app:installBench -Pprofile`.",
    ),
)

HEADSET = session(
    turn(
        "Cheap headsets skip two tracks per press. Why.",
        Run("adb shell getevent -l", log(80, W, "KEY_NEXTSONG UP")),
        Read(
            "app/src/main/kotlin/HeadsetReceiver.kt",
            source(
                "app/src/main/kotlin/HeadsetReceiver.ts",
                90,
                W,
                "  if (event.keyCode == KEYCODE_MEDIA_NEXT) queue.next()",
            ),
        ),
        "1. The receiver looks at the key code and not at the action.\n2. These headsets deliver press and release as two separate intents; better ones send only the press.\n3. Both count as 'next', hence two tracks.\n4. Reacting to `ACTION_DOWN` alone cures it.",
    ),
    turn(
        "Fix. Test with both kinds. Goes into Thursday's beta, like everything.",
        Edit(
            "app/src/main/kotlin/HeadsetReceiver.kt",
            "if (event.keyCode == KEYCODE_MEDIA_NEXT)",
            "if (event.action == ACTION_DOWN && event.keyCode == KEYCODE_MEDIA_NEXT)",
        ),
        Run("./gradlew test --tests '*Headset*'", tests(18, W, "BUILD SUCCESSFUL in 9s")),
        "1. Done.\n2. Two tests: one intent, two intents. One skip each.\n3. Merged, so the beta on Thursday has it.",
    ),
    turn(
        "Request: ALAC and APE files. ffmpeg extension?",
        Run("./gradlew :app:assembleRelease -Pffmpeg", log(50, W, "app-release.apk 31.4 MB (+9.2 MB)")),
        "1. Works.\n2. The APK grows by 9.2 MB, for all users.\n3. LGPL: we would have to offer the object files.\n4. 0.4 percent of the libraries in our statistics hold such files.\n5. Not worth it, in my view.",
    ),
    turn(
        "Agree. ffmpeg: no. Close request with the numbers.",
        Run("git branch -D try-ffmpeg", "Deleted branch try-ffmpeg (3b1c77e)."),
        "1. Branch deleted.\n2. Text for the request is in `docs/answers/ffmpeg.md`.",
    ),
)

SPRING = session(
    turn(
        "Media3 update needs desugaring hacks for the ancient phones. 0.8 percent left there. Support begins at Android 8 now.",
        Edit("gradle/libs.versions.toml", 'media3 = "1.2.1"', 'media3 = "1.4.0"'),
        Run("./gradlew lint test", tests(226, W, "BUILD SUCCESSFUL in 58s")),
        "1. minSdk is 26.\n2. Three compat branches fell out, 140 lines.\n3. Media3 is at 1.4.0.",
    ),
    turn(
        "Train commuters complain: music stops in tunnels. Let streams take two gigs. Pictures are fine.",
        Write("app/src/main/kotlin/CacheLimits.kt", source("app/src/main/kotlin/CacheLimits.ts", 20, W)),
        "1. Streams may fill 2 GB.\n2. On phones with less than 4 GB free the player takes half of what is free.",
    ),
    turn(
        "Legal: no third parties for traces. We host ourselves: crash.lyrebird.example, ACRA. Keys in vault.",
        Read("app/src/main/kotlin/App.kt", source("app/src/main/kotlin/App.ts", 70, W)),
        Run(
            "./gradlew :app:dependencies --configuration releaseRuntimeClasspath",
            log(60, W, "+--- ch.acra:acra-http:5.11.3"),
        ),
        "1. ACRA posts to `crash.lyrebird.example`.\n2. A forced crash on the test phone showed up there after 3 s.\n3. The consent dialog names the new place.",
    ),
    turn(
        "Testers get builds Mondays. Whole work week to react. Rollout day unchanged.",
        "1. Noted: a beta each Monday.\n2. CI's schedule is moved accordingly, 06:00.\n3. The rollout remains on Wednesdays at 10 percent.",
    ),
)

AUTO = session(
    turn(
        "Android Auto: playlists missing in car. State?",
        Read(
            "app/src/main/kotlin/BrowseTree.kt",
            source("app/src/main/kotlin/BrowseTree.ts", 130, W, "  // TODO playlists"),
        ),
        "1. `BrowseTree` serves albums and artists only.\n2. Playlists need paging in `onGetChildren`, since the car cuts lists at 100 entries.\n3. Not begun.",
    ),
    turn(
        "Later. Leave on list. First: battery. 6 percent per hour, screen off. Too much.",
        Run("adb shell dumpsys batterystats --charged app.lyrebird", log(140, W, "Wake lock lyrebird:viz 58m 12s")),
        "1. The visualiser keeps its audio tap open with the screen off.\n2. It holds the wake lock `lyrebird:viz` for 58 minutes of an hour.\n3. Closing the tap in `onStop`: 2.1 percent per hour.",
    ),
    turn(
        "Take it. PR texts: what the listener notices goes first, code second. Marketing copies from there.",
        Edit(
            "app/src/main/kotlin/Visualizer.kt",
            "override fun onDestroy() { tap.close() }",
            "override fun onStop() { tap.close() }",
        ),
        Run("git diff HEAD~1", diff("app/src/main/kotlin/Visualizer.ts", W, 18)),
        "1. Done.\n2. The text begins with 'Plays three times as long with the screen off'; the code follows below.",
    ),
    ends=False,
)

SCENARIO = Scenario(
    name="player", client="gemini", place="android/lyrebird", remote="git@git.example.com:lyrebird/android.git", words=W, ending="kt",
    sessions=(GAPS, HEADSET, SPRING, AUTO),
    facts=(
        fact("one-at-a-time", "rootcause", "Gaps came from handing over one track at a time, so the decoder was rebuilt between tracks.", (r"one track at a time|decoder", r"torn down|rebuilt|prepares the next|between any two|hands exoplayer")),
        fact("bench", "command", "Performance numbers come out of ./gradlew :app:installBench -Pprofile.", r"installBench -Pprofile"),
        fact("two-intents", "rootcause", "Cheap headsets send press and release as two intents and both counted as next.", (r"press and release", r"two (separate )?intents|both count")),
        fact("no-ffmpeg", "rejected", "No ffmpeg extension: 9.2 MB more and LGPL for 0.4 percent.", (r"ffmpeg: no|no ffmpeg",), (r"APK grows by 9\.2", r"not worth it")),
        fact("min-android", "changed", "Android 8 (minSdk 26) is the oldest supported.", (r"minsdk( is)? 26|begins at android 8|android 8 \(minsdk 26",), was=((r"android 7\.0|minsdk 24",),)),
        fact("stream-cache", "changed", "The stream cache may fill 2 GB.", (r"streams?", r"\b2 GB|two gigs"), was=((r"stream cache[^\n]{0,20}512 MB",),)),
        fact("crash-host", "changed", "Crash reports go to ACRA at crash.lyrebird.example.", (r"crash\.lyrebird\.example",), was=((r"sentry",),)),
        fact("beta-day", "changed", "Betas go out on Mondays.", (r"beta|testers", r"mondays?"), was=((r"thursday's beta|beta on thursday",),)),
        fact("auto-playlists", "open", "Open: playlists in Android Auto need paging in onGetChildren.", (r"playlists", r"paging|onGetChildren")),
        fact("pr-texts", "preference", "PR texts begin with what the listener notices, code second.", (r"listener notices",)),
    ),
    questions=(
        question("Cause of the pause inside live records?", "Tracks were handed over one by one; the decoder was rebuilt in between.", (r"decoder", r"torn down|rebuilt"), (r"one track at a time",), kind="rootcause"),
        question("Minimum OS version?", "Android 8, minSdk 26.", (r"minsdk( is)? 26|begins at android 8|android 8, minsdk",), was=((r"android 7\.0|minsdk 24",),)),
        question("How much space may buffered songs use on the phone?", "Streams may fill 2 GB.", (r"streams?", r"\b2 GB|two gigs"), was=((r"stream cache[^\n]{0,20}512 MB",),)),
        question("Where to look up stack traces of users?", "ACRA at crash.lyrebird.example.", (r"crash\.lyrebird\.example",), was=((r"sentry", r"crash reports|lyrebird-android"),)),
        question("Weekday of the test builds?", "Beta on Mondays.", (r"beta|testers", r"mondays?"), was=((r"thursday's beta|beta on thursday",),)),
        question("Double skip on some earphones, reason?", "Press and release arrive as two intents and both count as next.", (r"press and release",), kind="rootcause"),
        question("Exotic codecs, did we take the extension?", "No: ffmpeg was declined, 9.2 MB and LGPL.", (r"ffmpeg: no",), (r"9\.2 MB", r"LGPL|grows|ffmpeg"), kind="rejected"),
        question("What drained the battery in the pocket?", "The visualiser held a wake lock with the screen off.", (r"visualiser|lyrebird:viz", r"wake lock|audio tap"), kind="rootcause"),
        question("Still to do for the car?", "Playlists with paging in onGetChildren.", (r"playlists", r"paging|onGetChildren"), kind="open"),
        question("How to word a pull request?", "What the listener notices goes first, then the code.", (r"listener notices",), kind="preference"),
        question("Command for profiling builds?", "./gradlew :app:installBench -Pprofile", r"installBench"),
    ),
    stands=(
        value("artwork-cache", (r"artwork cache", r"64 MB")),
        value("rollout-day", (r"rollout", r"wednesdays")),
        value("lyrics-size", (r"lyrics", r"about 3 MB")),
    ),
    foreign=(
        value("tofu", r"tofu apply|for_each"),
        value("nurses", r"on-call list|sick cover"),
        value("dw", r"dw-noise|gold_shared"),
    ),
)  # fmt: skip
