"""A WordPress plugin for boat rentals. The user's English is not native; the answers are short, with a list at times."""

from __future__ import annotations

from agent_day.gold import fact, question, value
from agent_day.noise import diff, log, matches, source, tests
from agent_day.script import Compact, Edit, Read, Run, Scenario, Search, Write, session, turn

W = "boat booking harbour deposit customer season voucher calendar licence invoice"

LOST = session(
    turn(
        "Hello! I have three customers which say their visitors can not book, the form says 'Your session is expired' at once when they click. But on my machine it goes always. Can you look what it could be, it are all customers with many visitors.",
        Search(
            "wp_verify_nonce",
            "includes/class-booking-form.php:61:  if ( ! wp_verify_nonce( $_POST['qs_nonce'], 'qs_book' ) ) {",
        ),
        Read(
            "includes/class-booking-form.php",
            source(
                "includes/class-booking-form.php",
                140,
                W,
                "    if ( ! wp_verify_nonce( $_POST['qs_nonce'], 'qs_book' ) ) { wp_die( 'Your session is expired' ); }",
            ),
        ),
        Run("curl -sI https://demo.example.com/rent", "HTTP/2 200\nx-cache: HIT\nage: 171200"),
        "All three sites sit behind a page cache. The page with the form is delivered two days old, and the nonce printed into it lives for one day at most, so WordPress refuses it. Your machine has no cache, hence it works there. The form should fetch its nonce by a small request when it is opened.",
    ),
    turn(
        "Ah, this makes sense! Please make it so. But please without jQuery, I want no new jQuery in this plugin, the old one I will throw out too when I have time.",
        Write("assets/js/fresh-nonce.js", source("assets/js/fresh-nonce.js", 40, W)),
        Edit(
            "includes/class-booking-form.php",
            "wp_nonce_field( 'qs_book', 'qs_nonce' )",
            'echo \'<input type="hidden" name="qs_nonce" data-fresh>\'',
        ),
        Run("vendor/bin/phpunit", tests(130, W, "OK (130 tests, 402 assertions)")),
        "Done with plain `fetch`. The nonce is requested when the visitor puts the focus into the form for the first time, and is never part of the cached page.",
    ),
    turn(
        "Very good. Can you tell me for the sales page: which PHP we need, which WordPress, and how many sites a customer may activate with one licence? I forget it every time.",
        Read("quayside.php", source("quayside.php", 60, W)),
        "- PHP 7.4 or newer\n- WordPress 6.2 or newer\n- one licence activates up to 3 sites; staging sites do not count\n- the free edition is limited to 3 boats",
    ),
    turn(
        "And the zip for the shop, I make it with bin/pack.sh, right? And the payments go still over Stripe, we have to write this in the privacy text.",
        Run("ls bin", "pack.sh\ni18n.sh\n"),
        "Right on both: `bin/pack.sh` builds the zip, and deposits are charged through Stripe. Mails to the visitors leave by the customer's own SMTP server.",
    ),
)

BLOCKS = session(
    turn(
        "A big agency says we should throw out the shortcodes and make only Gutenberg blocks, it is more modern. What do you think, how many of our customers would it hurt?",
        Run("wp eval-file ops/usage.php", log(40, W, "sites=1904 shortcode=1161 block=402 both=341")),
        "Of 1,904 sites that send statistics 1,161 use shortcodes alone, mostly because their page builder has nothing else. That is 61 percent. Blocks only would break every one of them; both can live on the same renderer, as they do.",
    ),
    turn(
        "61 percent, then it is clear. I said to the agency the shortcodes remain, we make no blocks-only version. Next problem: a customer in Croatia has double bookings on the Saturday, always two families for one boat!",
        Read(
            "includes/class-availability.php",
            source(
                "includes/class-availability.php",
                150,
                W,
                "    WHERE boat_id = %d AND start_date < %s AND end_date > %s",
            ),
        ),
        Run("wp db query < ops/double.sql", "| boat | a | b |\n| 17 | 06-08..06-15 | 06-15..06-22 |"),
        "These are not real collisions: one family hands the boat back on Saturday morning, the next gets it on Saturday afternoon. Your query allows that on purpose. The customer's time of return is set to 18:00 and the time of pick-up to 14:00, though, and nothing compares the two. A changeover day needs return to be earlier than pick-up.",
    ),
    turn(
        "Oh, so it is the setting. Then make a warning in the settings page when return is after pick-up. All texts in English and with the text domain please, the Croatians translate it self.",
        Edit("includes/class-settings.php", "return $clean;", "return $this->warn_changeover( $clean );"),
        Run("vendor/bin/phpunit --filter Settings", tests(24, W, "OK (24 tests, 61 assertions)")),
        "The page warns and offers to move the pick-up behind the return. The text is in English with the domain `quayside`.",
    ),
)

PAY = session(
    turn(
        "I have now enough of the fees and of the support there. From this summer the deposits run over Mollie, I have the contract signed. Can you make the change, and the mails please let how they are.",
        Read("includes/class-gateway.php", source("includes/class-gateway.php", 120, W)),
        Run("composer require mollie/mollie-api-php", log(20, W, "Generating autoload files")),
        Run(
            "vendor/bin/phpunit --filter Gateway",
            tests(36, W, "ERRORS!\nTests: 36, Assertions: 88, Errors: 2."),
            failed=True,
        ),
        Run("vendor/bin/phpunit --filter Gateway", tests(36, W, "OK (36 tests, 97 assertions)")),
        "Deposits are charged through Mollie. Webhooks arrive at `/wp-json/quayside/v1/mollie`; a charge counts as paid only when the webhook confirms it.",
    ),
    turn(
        "Super. Their library wants a newer PHP I saw, how new must it be? We take then that as our own limit.",
        Run("composer why-not php 7.4", "mollie/mollie-api-php 3.0 requires php ^8.1"),
        "It wants 8.1, so the plugin header asks for PHP 8.1 as well. WordPress stays at 6.2. About 6 percent of the sites will see a notice and keep the last compatible version.",
    ),
    turn(
        "Ok for me. Also the marketing (that is my wife) says five is a nicer number: who buys a licence can use it on five sites. The free edition is not changed.",
        Run("php ops/licence-server.php show plan", "plan=single activations=5"),
        Compact(
            "The user replaced the payment provider, raised the PHP requirement and the number of sites per licence. The assistant did the work."
        ),
        "The licence server allows five activations per key; the keys that are already sold got the same.",
    ),
    turn(
        "I stop for today. Please write what is not finished with the refunds.",
        "Partial refunds: when a visitor cancels one of two boats in a booking, the whole deposit goes back. `class-refund.php` needs a line per boat first, and you wanted to ask the tax adviser how the invoice has to look. No code for it so far.",
    ),
)

ZIP = session(
    turn(
        "Good morning! The last zip had the tests folder inside, 14 MB, one customer wrote me. How does this come?",
        Run("bin/pack.sh && unzip -l build/quayside.zip", log(80, W, "14203311 bytes, 2210 files")),
        Read("bin/pack.sh", "#!/bin/sh\nzip -r build/quayside.zip . -x '*.git*'\n"),
        "The script zips everything except git's own files, so whatever lies in the folder gets in. I would let composer build it out of `git archive`, then only tracked files without `export-ignore` can get in.",
    ),
    turn(
        "Yes do it in this way.",
        Edit(".gitattributes", "", "tests export-ignore\nops export-ignore"),
        Run("composer run release", log(12, W, "build/quayside-2.9.0.zip 1.1 MB")),
        Run("git diff --cached", diff("composer.js", W, 16)),
        "`composer run release` builds the zip for the shop: 1.1 MB, without tests and ops. It refuses to run on a dirty tree.",
    ),
    turn(
        "Very nice. When I ask you something please answer first yes or no, then the reason. I am not so fast with reading in English.",
        "Yes, gladly: first the answer, then the reason.",
    ),
    turn(
        "Is the calendar also working with the winter time? In October we have bookings over this night.",
        Search("DateInterval", matches(7, "php", W, "$end->sub( new DateInterval( 'P1D' ) )")),
        Run("vendor/bin/phpunit --filter Calendar", tests(19, W, "OK (19 tests, 40 assertions)")),
        "Yes. The calendar counts days and not hours, so the long night in October makes no difference.",
    ),
)

SCENARIO = Scenario(
    name="plugin", client="claude", place="wp/quayside", remote="git@git.example.net:quayside/quayside.git", words=W, ending="php",
    sessions=(LOST, BLOCKS, PAY, ZIP),
    facts=(
        fact("cached-nonce", "rootcause", "Bookings failed since a page cache delivered the form with a nonce that had run out.", (r"nonce", r"cache", r"two days|one day|run out|lives")),
        fact("no-jquery", "preference", "No new jQuery in the plugin.", (r"no new jquery|without jquery",)),
        fact("shortcodes-stay", "rejected", "No blocks-only version; the shortcodes remain.", (r"shortcodes remain|no blocks-only|blocks only would break",)),
        fact("php", "changed", "The plugin needs PHP 8.1.", (r"php( is)? 8\.1|wants 8\.1",), was=((r"php 7\.4",),)),
        fact("sites", "changed", "One licence activates five sites.", (r"licence", r"five (sites|activations)"), was=((r"licence activates up to 3 sites",),)),
        fact("payment", "changed", "Deposits are charged through Mollie.", (r"deposits", r"mollie"), was=((r"stripe", r"deposits|payments"),)),
        fact("pack", "changed", "composer run release builds the zip for the shop.", r"composer run release", was=((r"bin/pack\.sh", r"builds the zip|make it with"),)),
        fact("refunds", "open", "Open: partial refunds need a line per boat; the tax adviser has to be asked about the invoice.", (r"refunds?", r"line per boat|tax adviser|whole deposit")),
        fact("yes-first", "preference", "Answer first yes or no, then the reason.", (r"first yes or no|first the answer",)),
        fact("wordpress", "fact", "WordPress 6.2 or newer is needed.", (r"wordpress( stays at)? 6\.2",)),
    ),
    questions=(
        question("What was the reason that visitors got told their session is over?", "The form came from a page cache with a nonce that had run out.", (r"nonce", r"cache"), kind="rootcause"),
        question("What is the lowest PHP where the plugin goes?", "PHP 8.1.", (r"php 8\.1|wants 8\.1",), was=((r"php 7\.4",),)),
        question("On how many websites can somebody install one purchased key?", "Five sites per licence.", (r"five (sites|activations)",), was=((r"licence", r"up to 3 sites"),)),
        question("Which company takes the money of the advance payments?", "Mollie.", (r"mollie",), was=((r"stripe",),)),
        question("How do I make the package which I upload in the shop?", "composer run release", r"composer run release", was=((r"bin/pack\.sh", r"builds the zip|make it with"),)),
        question("Do we follow the agency and support only the modern editor?", "No, the shortcodes remain.", (r"shortcodes remain",), (r"blocks only would break",), kind="rejected"),
        question("Why had the customer in Croatia two families on one boat?", "Return was set to 18:00 and pick-up to 14:00 on a changeover day.", (r"18:00", r"14:00"), (r"changeover",), kind="rootcause"),
        question("May I use $ and .ajax() for a new widget?", "No new jQuery.", (r"no new jquery|without jquery",), (r"plain `fetch`",), kind="preference"),
        question("What is to do for people who cancel only a part?", "Refunds need a line per boat, and the tax adviser has to be asked.", (r"line per boat|tax adviser",), kind="open"),
        question("Who sends the mails to the guests, which server?", "The customer's own SMTP server.", (r"smtp",)),
        question("Where does the payment confirmation come in?", "/wp-json/quayside/v1/mollie", r"quayside/v1/mollie"),
    ),
    stands=(
        value("free-boats", (r"free edition", r"3 boats")),
        value("mail", (r"own SMTP server",)),
        value("staging-sites", (r"staging sites do not count",)),
    ),
    foreign=(
        value("passes", r"wren-ops|punta arenas"),
        value("cfl", r"\bCFL\b"),
        value("bot", r"barge-in"),
    ),
)  # fmt: skip
