"""A WordPress agency with several customers, through Gemini CLI. Hasty prompts, names of customers that must not be mixed."""

from __future__ import annotations

from agent_day.gold import fact, question, value
from agent_day.noise import log, source
from agent_day.script import Edit, Read, Run, Scenario, Search, session, turn

W = "theme plugin page menu block gallery form header template widget"

DENTIST = session(
    turn(
        "dr. okafor's site is white since the plugin updates last night. she's opening in an hour!!",
        Run("wp plugin list --path=sites/okafor", log(30, W, "booking-calendar  active  9.2.1")),
        Run(
            "tail -n 60 sites/okafor/wp-content/debug.log",
            log(50, W, "PHP Fatal error: Uncaught Error: Call to undefined function wp_get_theme_slug()"),
        ),
        "booking-calendar 9.2.1 calls a function that exists only from WordPress 6.6 on, and her site is at 6.4. I put 9.1.4 back with `wp plugin install booking-calendar --version=9.1.4 --force`, the site is up.",
    ),
    turn(
        "you are a lifesaver. no auto updates on customer sites anymore, only by hand on tuesdays, pls write that where it belongs",
        Edit(
            "sites/okafor/wp-config.php",
            "define('AUTOMATIC_UPDATER_DISABLED', false);",
            "define('AUTOMATIC_UPDATER_DISABLED', true);",
        ),
        "Automatic updates are off for all seven customers, and the calendar has a slot on Tuesdays for doing them by hand.",
    ),
    turn(
        "php versions per customer? host wants to know",
        Run("ansible -m shell -a 'php -v' all", log(20, W, "okafor PHP 8.1.27\nbrandl PHP 8.2.18\nmoss PHP 8.2.18")),
        "- Okafor: PHP 8.1\n- Brandl: PHP 8.2\n- Moss & Co: PHP 8.2",
    ),
    turn(
        "contact at brandl?",
        Search("brandl", "customers.yaml:14: brandl: Sabine Hofer, +43 …"),
        "For the Brandl winery it is Sabine Hofer; invoices go to their office, not to her. Their files are backed up like all others, every night to the NAS in our office.",
    ),
)

WINERY = session(
    turn(
        "brandl shop crawls, 6 sec per page. they want to sue us half jokingly",
        Run("wp profile stage --path=sites/brandl", log(60, W, "main_query 0.2s  hooks 5.1s")),
        Run(
            "wp db query 'select sum(length(option_value)) from wp_options where autoload=\"yes\"' --path=sites/brandl",
            "41203311",
        ),
        "41 MB of options are loaded on every single page. The old newsletter plugin, deleted years ago, left its log in `wp_options` with autoload on. Without those rows a page takes 0.6 s.",
    ),
    turn(
        "delete them! do we want a page builder for the relaunch? sabine loves elementor",
        Run("wp db query 'delete from wp_options where option_name like \"nl_log_%\"' --path=sites/brandl", "Success"),
        "Rows are gone. About Elementor: their pages would weigh 1.8 MB instead of 400 kB, and leaving it later means building everything again. The block editor with our pattern library gives Sabine nine of the ten things she showed us.",
    ),
    turn(
        "ok i talked her out of elementor. blocks it is. css as plain custom properties please, no sass anymore, i can't see node_modules any longer",
        Edit("themes/brandl/style.css", "$wine: #5b1f2e;", ":root { --wine: #5b1f2e; }"),
        "The theme has its colours as custom properties in `style.css`; the Sass build and its 300 packages are deleted.",
    ),
    turn(
        "when do they go live",
        "According to Sabine's mail on 3 September, just ahead of the harvest. The Moss & Co relaunch is planned for 3 November.",
    ),
)

MOVES = session(
    turn(
        "okafor is on 6.6 and php 8.3 since today, host did it. put the newest booking calendar on",
        Run("wp plugin update booking-calendar --path=sites/okafor", "Success: Updated 1 of 1 plugins (9.3.0)"),
        "Okafor: WordPress 6.6, PHP 8.3, booking-calendar 9.3.0. The bookings of the old version are all there. Brandl and Moss stay on PHP 8.2.",
    ),
    turn(
        "sabine called: harvest is early, launch moves to 20 august. can we make it",
        Read("sites/brandl/launch.md", source("sites/brandl/launch.yaml", 40, W)),
        "Brandl launches on 20 August then. What takes longest are the 240 wine pages; with the import they are done in two days. Moss & Co does not change.",
    ),
    turn(
        "how did we do staging copies again",
        Run("bin/stage brandl", log(30, W, "https://brandl.stage.agency.example ready")),
        "`bin/stage brandl` copies files and database to https://brandl.stage.agency.example, replaces the address in the content and turns mail off.",
    ),
    turn(
        "form mails of moss land in spam, why only them",
        Run("dig +short txt moss.example", '"v=spf1 include:oldhost.example -all"'),
        "Their SPF record still lists only the host they left in spring, with `-all`, so every mail of our server fails the check. It needs `include:mail.agency.example`; only their own IT can change that record, I wrote the line down for them.",
    ),
    turn(
        "i'll call them. backup place still the nas?",
        "Not since Friday, it was full: `bin/backup` writes to the storage box at `u77120.box.example`, every night.",
    ),
    turn(
        "right, forgot. note for tomorrow?",
        "The wine import for Brandl: images come without alternative texts, and 31 wines have no vintage in their sheet. Sabine has to fill those before it can run; the script `bin/import-wines` is ready.",
    ),
)

SCENARIO = Scenario(
    name="agency", client="gemini", place="agency/sites", words=W, ending="php",
    sessions=(DENTIST, WINERY, MOVES),
    facts=(
        fact("no-auto", "preference", "No automatic updates on customer sites; by hand on Tuesdays.", (r"updates?", r"tuesdays?")),
        fact("white", "rootcause", "Okafor's site was white since booking-calendar 9.2.1 needs WordPress 6.6.", (r"booking-calendar|9\.2\.1", r"6\.6|function|9\.1\.4")),
        fact("autoload", "rootcause", "Brandl was slow: 41 MB of autoloaded options left by a newsletter plugin.", (r"41 MB|autoload|wp_options", r"newsletter|options|every single page")),
        fact("okafor-php", "changed", "Okafor runs PHP 8.3.", (r"okafor", r"8\.3\b"), was=((r"okafor", r"8\.1\b"),)),
        fact("brandl-launch", "changed", "Brandl launches on 20 August.", (r"20 august",), was=((r"3 september",),)),
        fact("backups", "changed", "Backups go to the storage box u77120.box.example.", (r"u77120\.box|storage box",), was=((r"backed up|backups?", r"to the nas"),)),
        fact("no-elementor", "rejected", "No Elementor; the block editor.", (r"elementor", r"talked her out|1\.8 MB|block")),
        fact("plain-css", "preference", "Plain custom properties in CSS, no Sass.", (r"custom properties", r"sass|css|plain")),
        fact("stage", "command", "bin/stage brandl makes a staging copy.", r"bin/stage brandl"),
        fact("wines", "open", "Open: the wine import waits for alternative texts and 31 vintages from Sabine.", (r"wine import|import-wines|31 wines", r"vintage|alternative texts|sabine|ready")),
    ),
    questions=(
        question("Why was the dentist's site white?", "booking-calendar 9.2.1 needs WordPress 6.6.", (r"booking-calendar", r"6\.6|exists only"), kind="rootcause"),
        question("Why was the Brandl shop so slow?", "41 MB of options were loaded on every page.", (r"41 MB|autoload",), kind="rootcause"),
        question("Which PHP does Okafor have?", "Okafor: PHP 8.3.", (r"okafor", r"8\.3\b"), was=((r"okafor", r"PHP 8\.1"),)),
        question("When does Brandl go live?", "On 20 August.", r"20 august", was=(r"3 september",)),
        question("When is the relaunch of Moss & Co?", "3 November.", r"3 november"),
        question("Do we use Elementor for the winery?", "No Elementor, the block editor; talked her out of it.", (r"elementor", r"talked her out|blocks it is|block editor"), kind="rejected"),
        question("How do I make a staging copy of a site?", "bin/stage brandl", r"bin/stage", kind="command"),
        question("Why do mails of Moss land in spam?", "Their SPF record lists only the old host.", (r"spf",), kind="rootcause"),
        question("What is needed before the wines can be imported?", "31 vintages and alternative texts from Sabine.", (r"vintage",), kind="open"),
        question("When may plugins be updated on customer sites?", "By hand on Tuesdays.", (r"tuesdays?",), kind="preference"),
        question("Where do the nightly backups go?", "To the storage box u77120.box.example.", (r"u77120\.box",), was=((r"backed up|backups?", r"to the nas"),)),
    ),
    stands=(
        value("brandl-php", (r"brandl", r"8\.2\b")),
        value("moss-date", r"3 november"),
        value("brandl-contact", (r"sabine hofer|sabine",)),
    ),
    foreign=(value("trail", r"trailmark|mapkit"), value("kes", r"llvm|kestrel")),
)  # fmt: skip
