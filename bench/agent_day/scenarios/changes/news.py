"""A newspaper's website, through Claude Code. The user is an editor."""

from __future__ import annotations

from agent_day.gold import fact, value
from agent_day.noise import log, matches, source
from agent_day.script import Edit, Read, Run, Scenario, Search, Write, session, turn

W = "article desk slot teaser feed author embargo paywall image caption"

SCENARIO = Scenario(
    name="news", client="claude", place="cms/morning", words=W, ending="ts",
    sessions=(
        session(
            turn("Why did the teaser of the election piece show yesterday's picture until nine?",
                 Run("npm run trace teaser", log(40,W,"cdn age 7180")),
                 "The image address doesn't change when the picture is replaced, and the CDN keeps an address for two hours. So readers got the old one until the copy expired. A content hash in the address would end that."),
            turn("How long may a free reader read before the wall comes?",
                 Read("src/paywall.ts",source("src/paywall.ts",50,W,"FREE_ARTICLES = 5")),
                 "Five articles a month are free. Obituaries and the weather never count."),
            turn("What's our house rule for embargoes?",
                 "Embargoed pieces are released by the night desk, which means Carmen until further notice. Nothing is published automatically at the minute."),
            turn("And which service reads the articles aloud?",
                 Search("tts",matches(3,"ts",W,"import { Polly } from '@aws-sdk'")),
                 "Amazon Polly, with the voice Vicki. It's asked once per article and the sound file is stored."),
            turn("Newsletter: when does it leave?",
                 Run("crontab -l","15 6 * * * send-newsletter"),
                 "The morning letter goes out at 6:15, the evening one at 17:30."),
            turn("headline length?",
                 "The field accepts 80 characters, the push title 45."),
        ),
        session(
            turn("Subscriptions wants the meter tightened to three.",
                 Edit("src/paywall.ts","FREE_ARTICLES = 5","FREE_ARTICLES = 3"),
                 "The meter stands at three from tonight's deployment. Obituaries are exempt as always."),
            turn("Carmen's moved to features. Night desk is Anatol's now.",
                 "Then Anatol releases embargoed pieces. I adjusted the permission group: he's in, she's out."),
            turn("Polly mispronounces every place name in the valley. ElevenLabs was lovely in the demo.",
                 Edit("src/tts.ts","new Polly(","new ElevenLabs("),
                 "Articles are read by ElevenLabs as of this commit. A file costs four cents where it used to cost one, so I limited it to pieces over 300 words."),
            turn("Readers open the letter at half past five, says the survey. Earlier please, 5:30.",
                 Run("crontab -l","30 5 * * * send-newsletter"),
                 "The cron line says 5:30 for the morning letter; I didn't move the evening one."),
        ),
        session(
            turn("hash in the address as you said",
                 Edit("src/image.ts","`/img/${id}.jpg`","`/img/${id}.${hash}.jpg`"),
                 "Addresses carry a hash now, and the CDN may keep them for a year."),
            turn("three free ones cost us too many young readers. it's four, final.",
                 Edit("src/paywall.ts","FREE_ARTICLES = 3","FREE_ARTICLES = 4"),
                 "Four it is."),
            turn("During the flood on the 12th everything about it must be open, no meter",
                 Write("config/open.json",'["flood"]'),
                 "Anything tagged flood is outside the meter until you remove the tag; all else is metered as before."),
            turn("80 chars aren't enough for our courts reporter, give them 110",
                 Edit("src/fields.ts","HEADLINE_MAX = 80","HEADLINE_MAX = 110"),
                 "Headlines may be 110 characters long. Push titles can't grow, phones cut them off."),
        ),
    ),
    facts=(
        fact("meter","changed","4",(r"four it is|it's four",),was=((r"five articles a month",),(r"meter stands at three",))),
        fact("night","changed","Anatol",(r"anatol",),was=((r"means carmen",),)),
        fact("tts","changed","ElevenLabs",(r"elevenlabs",),was=((r"amazon polly, with",),)),
        fact("letter","changed","5:30",(r"5:30",),was=((r"6:15",),)),
        fact("headline","changed","110",(r"\b110\b",),was=((r"accepts 80|80 characters",),)),
        fact("cdn","changed","a year",(r"hash now|a year",),was=((r"keeps an address for two hours",),)),
    ),
    questions=(),
    stands=(value("obits",(r"obituaries",)),value("evening",(r"17:30",)),value("push",(r"\b45\b|push titles can't",))),
)  # fmt: skip
