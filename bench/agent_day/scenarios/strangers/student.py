"""A student writes a small database for a course, through Codex. The agent explains at great length; little of it is about the project."""

from __future__ import annotations

from agent_day.filler import Chore, Routine
from agent_day.gold import fact, question, value
from agent_day.noise import diff, log, source, tests
from agent_day.script import Compact, Edit, Read, Run, Scenario, session, turn

W = "page cell node cursor pager leaf parent frame record slot"

BEGIN = session(
    turn(
        "hi!! so I'm taking the databases course and we have to write a B-tree on disk in go. I'm a bit scared of it. this is the sheet they gave us",
        Read(
            "sheet.md",
            "# Assignment 2\nPage size: 4096 bytes. Keys: 8 bytes. Due: Friday the 12th, 23:59. Tutor: Anselm. Libraries: standard library only.\n",
        ),
        "Hello! There is no need to be scared, a B-tree is a friendly animal once you have drawn one on paper.\n\nLet me first say what it is for. A disk hands out blocks, and it hands out one block nearly as fast as a single byte. So we would like a tree whose nodes are as big as a block, with hundreds of children each, so that three or four steps reach any of millions of records. Databases commonly use pages of 4, 8 or 16 kilobytes for this reason, "
        "and the number of children per node is called the fan-out.\n\nThe sheet is precise about your case: a page is 4096 bytes, keys have 8 bytes, and it is due on Friday the 12th. Anselm is your tutor.\n\nI would begin with a pager that reads and writes page number n, and nothing else.",
    ),
    turn(
        "ok cool. one thing, it's MY homework, so pls don't write the code for me. hints and explain, and if I'm totally stuck a few lines, not more. also I get things better if you show me a tiny example with like 3 keys FIRST and the theory after",
        "That is a very good way to learn it, and I will stick to it: a small example at the start, theory after that, and your hands on the keyboard.\n\nSo, three keys. Imagine a page with room for two: 10 and 20. Now 15 arrives. There is no room, so the page becomes two, {10} and {15, 20}, and somebody above has to know that everything below 15 is to the left. This somebody is the parent, and 15 is called the separator.\n\n"
        "The theory: splitting keeps all leaves at the same depth, for the tree grows at its root and never at its leaves.",
    ),
    turn(
        "could I just mmap the file? my roommate says real databases do that and then the pager is like 5 lines",
        "An example with three pages first. You change pages 1, 2 and 3, and the power goes after the kernel has written 1 and 3 on its own account. With a mapped file you had no say in that order, and no moment at which you could have noticed.\n\nThe theory is a whole debate. Some systems, LMDB for one, map their files and are built around it with copy-on-write. Others began with it and moved away, for reasons of error handling (a failed read becomes a signal), of eviction, and of ordering writes. "
        'For your sheet there is a shorter argument as well: part 3 asks for a log that is written ahead of the pages, and you can\'t promise "ahead" if the kernel decides.',
    ),
    turn(
        "aaah because of part 3. ok then no mmap, plain ReadAt/WriteAt. I told him haha",
        "Well argued! `ReadAt` and `WriteAt` take an offset, so that several cursors may share the file without moving each other's position. Your pager stays under 40 lines all the same.",
    ),
    turn(
        "what byte order do I use for the keys, does it matter?",
        "Three keys: 1, 2 and 256. In little-endian the bytes are 01 00, 02 00 and 00 01; compare these as bytes and 256 comes first. In big-endian they are 00 01, 00 02 and 01 00, and comparing bytes gives the order of the numbers.\n\nThe theory: byte order is a convention, processors of today mostly use little-endian and network formats mostly big-endian. Both work if you decode before comparing.",
    ),
    turn(
        "then big endian for keys so I can use bytes.Compare directly. rest of the page little, like the sheet's header",
        Edit("node.go", "// TODO encode", "binary.BigEndian.PutUint64(buf[off:], key)"),
        "That works nicely, and I like that you can say why. I would put this very sentence as a comment at the top of `node.go`, since in three weeks it will look like a mistake.",
    ),
)

SPLITTING = session(
    turn(
        "it loses keys!! insert 1..500 and then 17 are not found. always the same 17. I've been staring at it for 2 hours",
        Run("go test -run Many", tests(20, W, "--- FAIL: TestMany\n    missing: 42 73 104 135 166")),
        Read("split.go", source("split.go", 60, W, "right.cells = left.cells[mid+1:] // separator moves up")),
        "Don't despair, a bug that is always the same is a kind bug.\n\nA tiny example: a leaf {10, 15, 20} is split at 15. There are two kinds of tree. In a classic B-tree the key 15 moves up, with its record, and lives in the parent: {10}, 15, {20}. In a B+ tree the parent merely gets a copy as a signpost, and the record stays below: {10}, {15, 20}.\n\n"
        "The theory of why people prefer the second: inner pages hold no records, so more signposts fit, and a scan can walk along the leaves without climbing.\n\nNow look at the missing numbers: 42, 73, 104. They are exactly 31 apart, which is how many cells you put to the right. Your inner pages have no room for records, yet your leaf's split begins its right half one cell after the middle, as if the middle one had gone upstairs with everything it owns. It went nowhere.\n\nA hint: one character too many, in the line with `mid`.",
    ),
    turn(
        "OMG the +1. it works!!! for inner nodes it has to stay tho right?",
        Run("go test -run Many", tests(20, W, "ok")),
        "Yes, exactly, and that is the whole difference between the two kinds of page. Congratulations.",
    ),
    turn(
        "the grader they gave us wants 512 byte pages apparently?? it says geometry mismatch. Anselm wrote in the forum that the sheet is wrong and 512 counts, so the tests can get deep trees. Can u explain what fan-out I get then",
        "A toy page first: 32 bytes with a header of 8 leaves 24, so three keys of 8 fit if there were nothing else.\n\nYours: 512 minus the header of 16 is 496. An inner cell is a key of 8 and a page number of 8, so 31 cells and 31 or 32 children. Three levels reach about 30,000 leaves.\n\nThe theory: depth grows with the logarithm, base fan-out, of the number of records. With 4096 bytes it would be 255 children per page and your tests would hardly leave the root.",
    ),
    turn(
        "whats an lsm tree, would that have been easier?",
        "Three writes: put a=1, put b=2, put a=3. An LSM tree keeps them in memory, sorted, and when there are enough it writes them to a file which it never changes again; later it merges files and drops the old a.\n\nThe theory: writes become sequential, reads have to look in several files, which Bloom filters make bearable. RocksDB and Cassandra work that way.\n\nEasier? The first half is, merging is not. Your sheet asks for a B-tree, so the question is for the pleasure of it.",
    ),
    turn(
        "haha ok pleasure. how do I run only part 2 of the grader again, with the same random numbers each time?",
        Run("./grade -h", "-part n   one part\n-seed n   random seed\n-all      everything, an hour"),
        "`./grade -part 2 -seed 7` runs that part with the same numbers each time. `./grade -all` takes an hour and draws new ones, that's how they will do it at the end.",
    ),
    ends=False,
)

LATE = session(
    turn(
        "good news, they moved the deadline!! tuesday 16th noon because the grader was broken. so I have time for the weird one: sometimes after restart the last page is half zeros",
        Run(
            "go test -run Reopen -count 50",
            tests(30, W, "--- FAIL: TestReopen (3 of 50)\n    page 88: second half is zero"),
        ),
        Read(
            "pager.go",
            source("pager.go", 70, W, "w := bufio.NewWriterSize(f, 256)\nfunc (p *Pager) Close() { p.f.Close() }"),
        ),
        "How nice of them! Now, three bytes as an example. You write A, B, C into a bucket that is emptied whenever it holds two. A and B reach the river, C sits in the bucket, and you go home.\n\nThe theory has four layers: your program's buffer, the kernel's page cache, the drive's own cache, the medium. `Flush` takes data over the first border, `Sync` over the others. People often mix them up, and many think of `fsync` first when something is missing after a restart; without a power cut the kernel's cache loses nothing, though.\n\n"
        "In your pager a page passes through a `bufio.Writer` of 256 bytes. Closing the file knows nothing about that writer, so whatever is still in it, half a page at most, is left behind when the program ends. Why only sometimes? Because often another page pushes it out. A hint: who calls `Flush`?\n\nOr ask yourself whether a pager that writes whole pages needs such a bucket at all.",
    ),
    turn(
        "it doesnt need it. threw bufio out, 50 of 50 green 🎉",
        Run("go test -run Reopen -count 50", tests(30, W, "ok")),
        "Wonderful, and simpler than before, as the best fixes are.",
    ),
    turn(
        "explain fsync once more, when do I have to call it in part 3?",
        "Three steps: write the log record, sync the log, write the page. If the power goes after the first, neither counts. After the second, the log can redo it. After the third, all is well.\n\nThe theory is called write-ahead logging, and the rule is one line: no page reaches the disk before its log record has.\n\nFor speed people let several transactions share one sync, which is called group commit.",
    ),
    turn(
        "do I have to support keys that are strings? I'd rather not",
        Read("sheet.md", "Keys: 8 bytes."),
        'Three strings, "a", "ab" and "b", would need a length each and a page with slots. The sheet says 8 bytes, so no, and nothing in the grader tries. I\'d leave it.',
    ),
    turn(
        "btw Anselm is at a conference til the end of term, questions go to Rosalind now. what do I still have to do? be honest",
        Run("./grade -part 2 -seed 7", tests(40, W, "delete: underfull pages  0/6\nscan 8/8\ninsert 10/10")),
        Compact(
            "A student builds a B+ tree on disk. Keys got lost in a split, pages were half zero, both were explained and corrected. The deadline was moved."
        ),
        "Honestly, you have come far.\n\n- Deleting works as long as pages stay half full. An underfull page neither borrows from its neighbour nor merges with it; that is 6 points in part 2.\n- The report has chapters 1 and 2, the third, measurements, is an empty heading.\n\nEverything else in parts 1 and 2 is green.",
    ),
)

EVE = session(
    turn(
        "small question, what does borrowing mean for b-trees? tiny example first :)",
        "Of course. Left {10, 12, 14}, right {20}, and the right one needs two. It takes 14 over: {10, 12} and {14, 20}, and the signpost above becomes 14.\n\nThe theory: if the neighbour has one to spare you borrow, otherwise the two together fit in a single page and you merge, which takes a signpost away from the parent, so it may go on upwards.",
    ),
    turn(
        "makes sense. not coding today tho, only reading. what page sizes do postgres and sqlite use?",
        "PostgreSQL uses 8192 bytes unless it was compiled otherwise, SQLite 4096 by default and anything from 512 to 65536 if you ask for it when the file is new.",
    ),
    turn(
        "and deadlines in real companies, are they like the ones at uni? 😅",
        "Softer at the edges and harder in the middle. A Friday is rarely chosen twice.",
    ),
    turn(
        "can the report be in german?",
        Read("sheet.md", "Report: English or German, at most 6 pages."),
        "Yes, English or German, and at most six pages.",
    ),
)

ROUTINE = Routine(
    chores=(
        Chore(
            "whats a {a} again, I mix them up",
            "nothing",
            "A {a} is the thing that holds; a {b} is the thing that is held. If you draw both on paper the names come by themselves.",
        ),
        Chore(
            "does my comment above {a} make sense to you?",
            "file",
            'It does. I would say "points at" where you say "is", the rest is clear.',
        ),
        Chore(
            "go vet says something",
            "log",
            "A format verb in a test, `%d` for a string. Harmless, and quickly changed by you.",
        ),
        Chore(
            "is {a}{B} a good name?", "search", "It is fine. Go people would make it shorter, but they always would."
        ),
        Chore(
            "why is it called a {c}",
            "nothing",
            "It is an old word from the time when such things were on paper. It stuck because it is short.",
        ),
        Chore("ok I tried it, wait", "nothing", "I'm waiting, take your time."),
        Chore(
            "can you look over my {b} drawing, I typed it as ascii",
            "nothing",
            "It's right. The arrow from the {a} could start at its left edge, as the others do.",
        ),
        Chore("gofmt changed everything??", "diff", "Only tabs for spaces. It does that once and never again."),
        Chore(
            "what does := do differently than =",
            "nothing",
            "Example: `x := 1` makes a new x, `x = 1` changes the one that is there. Within an `if` the new one hides the outer one, which surprises everybody once.",
        ),
        Chore("snack break", "nothing", "Enjoy!"),
    ),
    narration=("Let me read your {a} first.", "I'll run it once to see what you see."),
    openings=("Good question! ", "Let us take it slowly. ", "Ah, that one. "),
    closings=(
        "\n\nDoes that help? If not, draw it and tell me where you got stuck.",
        "\n\nTry it before you read on, it is worth the ten minutes.",
        "\n\nA question back, for practice: what would happen to the {a} if the {b} were empty?",
    ),
    explanations=(
        "If you like to read about it: any textbook has a chapter on the {a}, and most begin with the same picture. The names differ a little, some say {b} where your sheet says {c}.",
        "It may help to think of a library. The {a} is the shelf, the {b} the book, and the {c} the card in the drawer that tells you where to go. Nobody reads the whole library to find one book.",
        "A word on vocabulary, as it confuses everybody at first: a {a} is a unit on the disk, a {b} a unit in the tree, and the two happen to have the same size. One could build it otherwise, and some have.",
        "How would you test that? Write down what you expect for an empty {a}, for one {b}, and for one more than fits. These three find most mistakes in this kind of program.",
        "By the way, this is one of the places where it pays to be slow. Professionals get it wrong too, they only have more tests around it.",
    ),
)

SCENARIO = Scenario(
    name="student", client="codex", place="uni/db/sheet2", words=W, ending="go",
    sessions=(BEGIN, SPLITTING, LATE, EVE),
    facts=(
        fact("hints-only", "preference", "It is homework: hints and explanations, no code written for the student.", (r"hints|homework|few lines", r"don't write the code|explain|homework")),
        fact("example-first", "preference", "A tiny example with about three keys first, theory after it.", (r"example", r"first|at the start", r"theory")),
        fact("no-mmap", "rejected", "No mmap, because part 3 needs a log written ahead of the pages; plain ReadAt and WriteAt.", (r"mmap|mapped file", r"no mmap|part 3|ReadAt|no say in that order"), (r"promise .?.?ahead", r"kernel decides")),
        fact("big-endian", "decision", "Keys are big-endian so that bytes.Compare can be used; the rest of the page is little-endian.", (r"big.?endian", r"bytes\.Compare|for keys|PutUint64")),
        fact("page-size", "changed", "Pages have 512 bytes.", (r"pages?\b|sheet is wrong|grader|header", r"\b512\b(?! to)"), was=((r"page", r"(is|size:) 4096 bytes"),)),
        fact("split", "rootcause", "Keys got lost because the leaf's split began its right half one cell after the middle, as if the separator had moved up.", (r"split|right half|\+1", r"one cell after the middle|middle one")),
        fact("grader", "command", "Part 2 alone, repeatable: ./grade -part 2 -seed 7.", r"\./grade -part 2 -seed"),
        fact("deadline", "changed", "The deadline is Tuesday the 16th at noon.", (r"tuesday|16th", r"16th|noon", r"deadline|due|moved|noon"), was=((r"due", r"friday the 12th"),)),
        fact("bufio", "rootcause", "The last page was half zeros because closing the file left the rest in a bufio.Writer that nobody flushed.", (r"bufio", r"left behind|closing|flush|passes through"), (r"closing the file", r"writer|left behind")),
        fact("tutor", "changed", "Questions go to Rosalind.", (r"rosalind",), was=((r"anselm is your tutor",),)),
        fact("left", "open", "Open: underfull pages neither borrow nor merge (6 points), and chapter 3 of the report, measurements.", (r"underfull", r"neither borrows|6 points|merges"), (r"report|third", r"empty heading|measurements")),
    ),
    questions=(
        question("How big is one block of the file supposed to be?", "512 bytes per page.", (r"pages?\b|sheet is wrong|header", r"\b512\b(?! to)"), was=((r"page", r"(is|size:) 4096 bytes"),)),
        question("due when?", "Tuesday the 16th, noon.", (r"tuesday", r"16th"), was=((r"due", r"friday the 12th"),)),
        question("Who can be asked if the assignment is unclear?", "Rosalind.", (r"rosalind",), was=((r"anselm is your tutor",),)),
        question("Why were some of the inserted numbers not found again?", "The leaf's split began its right half one cell after the middle.", (r"one cell after the middle",), kind="rootcause"),
        question("What was behind the half-empty block after reopening?", "The rest stayed in a bufio.Writer; closing the file does not flush it.", (r"bufio", r"left behind|closing|passes through|threw"), (r"closing the file", r"left behind|writer"), kind="rootcause"),
        question("My roommate asks again why we don't map the file into memory. What's the short answer?", "Part 3 needs a log ahead of the pages, and with a mapped file the kernel decides the order.", (r"kernel decides",), (r"no mmap", r"part 3"), (r"no say in that order",), kind="rejected"),
        question("In which order do the bytes of a key lie, and why?", "Big-endian, so that bytes.Compare works directly.", (r"big.?endian", r"bytes\.Compare"), kind="decision"),
        question("How do I repeat the same test of the second part?", "./grade -part 2 -seed 7", r"\./grade -part 2 -seed", kind="command"),
        question("Should I (the assistant) just fill in the missing function?", "No, hints and explanations; it is homework.", (r"homework", r"hints|don't write"), (r"don't write the code",), (r"hints and explain",), kind="preference"),
        question("How does the user like explanations to be built up?", "A tiny example first, theory after.", (r"example", r"first|at the start", r"theory"), kind="preference"),
        question("What is not done yet?", "An underfull page neither borrows nor merges; chapter 3 of the report.", (r"underfull", r"borrows|merges|points"), (r"third", r"empty heading|measurements"), kind="open"),
    ),
    stands=(
        value("key-length", (r"keys", r"8 bytes")),
        value("all-parts", r"\./grade -all"),
        value("report-length", (r"six pages|at most 6 pages", r"german")),
    ),
    foreign=(
        value("maintainer", r"brindle|chokidar"),
        value("hives", r"lindenhof|papermill"),
        value("metering", r"wirtschaftsprüfer|mdm-"),
    ),
)  # fmt: skip
