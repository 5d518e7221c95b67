"""A beginner who is unsure of terms and asks around the matter; patient answers with little headings; Claude Code."""

from __future__ import annotations

from agent_day.gold import fact, question, value
from agent_day.noise import log, source
from agent_day.script import Edit, Read, Run, Scenario, session, turn

W = "page button photo recipe menu list login mail form banner"

SCENARIO = Scenario(
    name="homeschool", client="claude", place="Desktop/recipe site", words=W, ending="js",
    sessions=(
        session(
            turn("hi! so my site with grandmas recipes, the pictures are all sideways?? only the ones from my phone. on my computer they look right",
                 Run("exiftool photos/plum.jpg", log(12, W, "Orientation: Rotate 90 CW")),
                 "Your phone does not turn the picture, it writes a little note into the file that says \"please turn me\". Your computer reads that note. The program that makes our small previews throws all such notes away, so the browser never hears of it. The cure: turn first, then shrink."),
            turn("ok wow. do that please",
                 Edit("make-previews.js", "resize(600)", "rotate().resize(600)"),
                 "Done, all 84 previews were made again and stand upright."),
            turn("can you explain everything without the tech words, im not a programmer and my sister reads this too",
                 "Of course. I will keep it to everyday words and explain the rest in a half sentence."),
            turn("where does the site even live? who do i pay",
                 Read("README.txt", source("README.txt", 10, W)),
                 "It lives with a company called Nordhost, 4 euros a month, paid from your aunt Gerlinde's account each January. The name plumcake.example is paid apart, 12 euros a year."),
            turn("how many people can sign in to add recipes",
                 "Five: the free plan of the sign-in service ends there. You have used four, yourself included. Reading needs no account."),
            turn("what's the biggest photo i can put up",
                 "8 megabytes each, and 20 photos for one recipe. Videos are not possible at all."),
        ),
        session(
            turn("my cousin wanted to write a comment and it vanished!! she was nearly crying, it was about grandma",
                 Run("cat form.log", log(30, W, "422 spam score 7.1")),
                 "It went into the rubbish box: our guard against advertising counts exclamation marks and capital letters, and hers had many of both. Nothing is lost. I took it out and it stands below the plum cake."),
            turn("thank youuu. make that guard nicer to family",
                 Edit("guard.js", "limit = 5", "limit = 9"),
                 "It is more patient now, and people who are signed in pass without being looked at."),
            turn("someone at work said i should make it an app for the phone stores. should i?",
                 "I would not, for now. It costs 99 dollars a year at one store alone, somebody must look after it at each new phone system, and what you would win, an icon on the screen, the site can do already: \"add to home screen\"."),
            turn("haha ok no app then. i showed my mum the icon thing",
                 "Lovely. I put a short how-to with two pictures on the About page."),
            turn("what happens if my laptop dies",
                 "Nothing bad: each night a copy of everything goes to the blue disk at Gerlinde's, and one to Nordhost. To bring it back: plug in the disk and double-click `bring-back.command`."),
        ),
        session(
            turn("two more cousins want in so i bought the bigger plan, it says 25 people",
                 "Wonderful. I told the site as well, so the page for invitations no longer stops you."),
            turn("gerlinde doesnt want to pay forever, its on my card now, visa ending 4410",
                 "I noted that on the page about costs, with January as the month. The amount is the same."),
            turn("photos up to 15 mb pls, the new phone makes huge ones",
                 Edit("upload.js", "maxMb: 8", "maxMb: 15"),
                 "Up to 15 each from now on. Still twenty for one recipe."),
            turn("the print button prints the menu and the banner too, grandma wants only the recipe on paper, big letters",
                 Edit("style.css", "@media print {}", "@media print { nav, .banner { display: none } body { font-size: 16pt } }"),
                 "Paper shows only the recipe now, in large letters, and it fits one page for all but the goose."),
            turn("what do we still need to do",
                 "The page in grandma's dialect waits for your uncle's recordings. And the little lock beside the address shows a warning on old tablets; for that Nordhost has to change something, I wrote to them on Tuesday."),
        ),
    ),
    facts=(
        fact("sideways", "rootcause", "Photos were sideways as the previews lose the phone's note to turn them.", (r"note", r"turn|previews"), (r"turn first, then shrink",)),
        fact("plain-words", "preference", "Explain everything in everyday words.", (r"without the tech words|everyday words",)),
        fact("spam", "rootcause", "The comment vanished as the guard counts exclamation marks and capitals.", (r"exclamation marks", r"guard|capital")),
        fact("no-app", "rejected", "No app for the stores.", (r"no app",), (r"99 dollars",)),
        fact("accounts", "changed", "25 people can sign in.", (r"\b25\b",), was=((r"five: the free plan",),)),
        fact("payer", "changed", "The host is paid from the user's Visa ending 4410.", (r"4410|on my card",), was=((r"paid from your aunt gerlinde",),)),
        fact("photo-size", "changed", "Photos may have 15 megabytes.", (r"15 (mb|each|megabytes)|maxMb: 15",), was=((r"8 megabytes each|maxMb: 8\b",),)),
        fact("dialect", "open", "Open: the page in dialect waits for the uncle's recordings.", (r"dialect", r"recordings")),
        fact("bring-back", "command", "Double-click bring-back.command with the blue disk.", (r"bring-back\.command",)),
    ),
    questions=(
        question("why were pics lying on their side", "The previews lost the note to turn them.", (r"note", r"turn"), kind="rootcause"),
        question("how many relatives can write recipes", "25 people.", (r"\b25 people",), was=((r"five: the free plan",),)),
        question("whose money is it for the server", "Your card, Visa ending 4410.", (r"4410",), was=((r"gerlinde's account",),)),
        question("how heavy can an image be", "15 megabytes.", (r"15 (mb|each|megabytes)",), was=((r"8 megabytes each",),)),
        question("what ate my cousin's message", "The guard counts exclamation marks and capitals.", (r"exclamation marks",), kind="rootcause"),
        question("did we decide to be in the store for phones", "No app then.", (r"no app then",), (r"99 dollars",), kind="rejected"),
        question("how do i get everything back after a crash", "bring-back.command.", (r"bring-back",), kind="command"),
        question("what are we waiting for from my uncle", "Recordings for the page in dialect.", (r"recordings",), kind="open"),
        question("how should things be explained to us", "In everyday words.", (r"without the tech words|everyday words",), kind="preference"),
        question("what comes out on paper", "Only the recipe, in large letters.", (r"paper shows|on paper|only the recipe", r"large letters|big letters")),
    ),
    stands=(
        value("photos-per-recipe", (r"20 photos|still twenty",)),
        value("domain", (r"12 euros a year",)),
    ),
)  # fmt: skip
