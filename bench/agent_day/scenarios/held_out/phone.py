"""An iOS app, through Codex. The user writes long and loose paragraphs; several wishes stand in one prompt."""

from __future__ import annotations

from agent_day.gold import fact, question, value
from agent_day.noise import log, source, tests
from agent_day.script import Compact, Edit, Read, Run, Scenario, Search, session, turn

W = "trail photo map track sync profile badge cache region overlay"

SYNC = session(
    turn(
        "hi, so we get one star reviews because tracks vanish after a hike, people come back to the car, open the app and the last two hours are gone, mostly on older phones it seems. i never managed to reproduce it, but Hannah "
        "did once with the phone in the backpack. could be memory, could be location services, no idea really, please dig",
        Run(
            "xcrun simctl spawn booted log show --last 2h",
            log(300, W, "jetsam: Trailmark killed, reason per-process-limit"),
        ),
        Read(
            "Sources/Track/Recorder.swift",
            source(
                "Sources/Track/Recorder.swift",
                150,
                W,
                "    private var points: [CLLocation] = []\n    func finish() { store.save(points) }",
            ),
        ),
        "The recorder keeps all points in memory and writes them once, in `finish()`. When iOS ends the app in the background for its memory, `finish()` never runs and the whole track goes with it. Older phones have the smaller limit, which fits the reviews. Writing a segment every 30 points makes the loss a minute at worst.",
    ),
    turn(
        "oh wow ok, yes please do that. and one thing for the future, please do not add third party packages without asking me, i have to justify every single one to the data protection guy and he is thorough, i'd rather have fifty lines of our own",
        Edit(
            "Sources/Track/Recorder.swift",
            "points.append(point)",
            "points.append(point); if points.count >= 30 { try store.append(points); points.removeAll() }",
        ),
        Run(
            "xcodebuild test -scheme Trailmark -destination 'platform=iOS Simulator,name=iPhone SE'",
            tests(210, W, "Test Suite 'All tests' passed. Executed 210 tests"),
        ),
        "Segments of 30 points are appended to the track file as they come. I added no package, it is 44 lines of our own.",
    ),
    turn(
        "which ios do we still support, and who signs the builds? i need both for the press page and for apple",
        Search("IPHONEOS_DEPLOYMENT_TARGET", "project.pbxproj:812: IPHONEOS_DEPLOYMENT_TARGET = 15.0;"),
        "The app supports iOS 15 and newer, watchOS 9 and newer. Builds are signed by the team account of Trailmark GmbH; Hannah Brandt holds the certificate.",
    ),
    turn(
        "and the offline maps, how big may they get",
        Read(
            "Sources/Map/OfflineStore.swift",
            source("Sources/Map/OfflineStore.swift", 100, W, "    static let limit = 500 * MB"),
        ),
        "Offline maps may take 500 MB in total, photos have a cache of 200 MB. Both are cleaned oldest first.",
    ),
)

MAPS = session(
    turn(
        "somebody suggested we move from mapkit to mapbox for the hill shading. it looks fantastic i must say, but i am worried about cost and about what the data protection guy will say. what's your take",
        "It does look good. Two things speak against it: it bills per user and month beyond 25,000, which we pass in July and August, and its SDK sends usage data by default, so your colleague would have to sign that off. Hill shading alone can be had as our own tile overlay on MapKit, from the open elevation data, about 300 MB for the Alps.",
    ),
    turn(
        "right, then mapkit stays and we do the overlay ourselves. can you prepare it",
        Edit(
            "Sources/Map/Layers.swift",
            "let overlays: [MKOverlay] = []",
            "let overlays: [MKOverlay] = [HillShade(region: .alps)]",
        ),
        Run("xcodebuild test -scheme Trailmark", tests(214, W, "Test Suite 'All tests' passed. Executed 214 tests")),
        "`HillShade` draws tiles from the elevation data, for the Alps at first. MapKit stays underneath.",
    ),
    turn(
        "the photos on the map jump around when zooming, like they cannot decide where to be, that's since the clustering came in",
        Read("Sources/Map/PhotoPins.swift", source("Sources/Map/PhotoPins.swift", 90, W, "    let id = UUID()")),
        "Each pin makes a new identifier whenever the view is built, so the map believes that all of them are new and animates every one into place. With the photo's own identifier they stay where they are.",
    ),
    turn(
        "nice. fix it please, and how do i run the snapshot tests, the ones with the pictures, i always forget",
        Edit("Sources/Map/PhotoPins.swift", "let id = UUID()", "let id: Photo.ID"),
        "Fixed. Snapshots: `RECORD=0 xcodebuild test -scheme Snapshots -destination 'platform=iOS Simulator,name=iPhone 15'`; with RECORD=1 it writes new pictures. They only match on that simulator.",
    ),
)

RELEASE = session(
    turn(
        "ok apple wants privacy manifests and swift concurrency gives us grief on the old systems, and honestly only two percent are left there. so let's drop ios 15 and 16, we go to 17 as minimum. the watch can stay where it is, those people keep their watches forever",
        Edit("project.pbxproj", "IPHONEOS_DEPLOYMENT_TARGET = 15.0;", "IPHONEOS_DEPLOYMENT_TARGET = 17.0;"),
        Run("xcodebuild build -scheme Trailmark", log(80, W, "** BUILD SUCCEEDED **")),
        Compact(
            "The user raises the minimum system version and prepares a release. Photo pins and lost tracks were repaired before."
        ),
        "iOS 17 is the minimum from 4.2 on; 61 availability checks could go. watchOS is still 9.",
    ),
    turn(
        "people in the dolomites complain that they cannot save the whole region, let's allow 2 gb for the maps. photos are fine",
        Edit("Sources/Map/OfflineStore.swift", "static let limit = 500 * MB", "static let limit = 2_000 * MB"),
        "Offline maps may take 2 GB now. The cache of photos keeps its 200 MB.",
    ),
    turn(
        "hannah leaves us at the end of the month, sadly. the certificate and the app store stuff goes to Deniz Aksoy, he has the access since today, so if a script asks for a name",
        Edit("fastlane/Appfile", 'apple_id "hannah@trailmark.example"', 'apple_id "deniz@trailmark.example"'),
        "`Appfile` names Deniz Aksoy's account; a dry run of `fastlane beta` signs with his certificate.",
    ),
    turn(
        "last one before i go into the weekend, what is the state of the watch complication, did we finish that",
        Search("Complication", "Watch/Complication.swift:21: // placeholder entry"),
        "Not finished. It shows the distance, but only a placeholder when no hike is running, and it does not refresh in the background: `WKApplicationRefreshBackgroundTask` is not scheduled anywhere. I would start there.",
    ),
    ends=False,
)

SCENARIO = Scenario(
    name="phone", client="codex", place="Developer/Trailmark", remote="https://git.example.com/trailmark/ios.git", words=W, ending="swift",
    sessions=(SYNC, MAPS, RELEASE),
    facts=(
        fact("lost-tracks", "rootcause", "Tracks vanished since points were kept in memory until finish(), which never runs when iOS ends the app.", (r"finish\(\)|memory", r"never runs|in memory|whole track|ends the app")),
        fact("no-packages", "preference", "No third party packages without asking.", (r"packages?", r"third party|without asking|added no|of our own")),
        fact("minimum", "changed", "iOS 17 is the minimum.", (r"ios 17|17 as minimum|TARGET = 17",), was=((r"ios 15( and newer)?", r"supports|support|newer"),)),
        fact("maps-limit", "changed", "Offline maps may take 2 GB.", (r"maps?|limit", r"2 gb|2_000"), was=((r"offline maps|limit", r"500 ?\*? ?MB"),)),
        fact("signer", "changed", "Deniz Aksoy holds certificate and App Store access.", (r"deniz", r"certificate|app ?store|account|appfile"), was=((r"hannah", r"certificate|holds"),)),
        fact("no-mapbox", "rejected", "No Mapbox: it bills per user and sends usage data; MapKit stays.", (r"mapbox|bills per user|mapkit stays", r"mapkit|speak against|usage data|overlay")),
        fact("hillshade", "decision", "Hill shading is our own overlay on MapKit.", (r"hill ?shad", r"overlay|own|tiles")),
        fact("pins", "rootcause", "Photo pins jumped since each built a new identifier.", (r"identifier|UUID", r"pins?|photo|new|animates")),
        fact("snapshots", "command", "RECORD=0 xcodebuild test -scheme Snapshots on iPhone 15.", r"-scheme Snapshots"),
        fact("complication", "open", "Open: the watch complication does not refresh in the background.", (r"complication|WKApplicationRefresh", r"not finished|placeholder|not scheduled|refresh")),
    ),
    questions=(
        question("Why did recorded hikes get lost?", "All points stayed in memory and finish() never ran when iOS ended the app.", (r"finish\(\)", r"memory|never runs"), kind="rootcause"),
        question("Which iOS version is the oldest we support?", "iOS 17.", (r"ios 17|17 as minimum",), was=((r"ios 15", r"supports"),)),
        question("How much space may offline maps use?", "Offline maps may take 2 GB.", (r"maps", r"2 gb"), was=((r"offline maps", r"500 MB"),)),
        question("Who holds the signing certificate?", "Deniz Aksoy, his certificate signs.", (r"deniz",), was=((r"hannah brandt", r"certificate"),)),
        question("Why did we stay with MapKit and not take Mapbox?", "Mapbox bills per user and sends usage data.", (r"bills per user|usage data",), kind="rejected"),
        question("What made the photos jump on the map?", "Pins made a new identifier each time.", (r"identifier", r"new|pin"), kind="rootcause"),
        question("How do I run the snapshot tests?", "xcodebuild test -scheme Snapshots with RECORD=0", r"-scheme Snapshots", kind="command"),
        question("What is missing in the watch complication?", "Background refresh is not scheduled, placeholder only.", (r"not scheduled|placeholder",), kind="open"),
        question("Can I add a Swift package for compression?", "Not without asking; no third party packages.", (r"third party packages|added no package",), kind="preference"),
        question("How large is the cache for photos?", "The photo cache has 200 MB.", (r"photos?|cache", r"200 MB")),
        question("From which watchOS on does the app work?", "watchOS 9.", (r"watchos", r"\b9\b")),
    ),
    stands=(
        value("photo-cache", (r"photos?", r"200 MB")),
        value("watchos", (r"watchos", r"\b9\b")),
        value("segment", (r"30 points",)),
    ),
    foreign=(value("lumen", r"meilisearch|lumen-orders"), value("unity", r"addressables|unity")),
)  # fmt: skip
