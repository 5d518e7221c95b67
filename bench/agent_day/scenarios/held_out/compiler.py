"""A compiler for a small language. The user is an expert and terse; answers are precise and of middle length."""

from __future__ import annotations

from agent_day.gold import fact, question, value
from agent_day.noise import diff, log, source, tests
from agent_day.script import Delegate, Edit, Read, Run, Scenario, Search, session, turn

W = "parser lexer token scope type lowering block register pass symbol"

MISCOMPILE = session(
    turn(
        "fuzz case 0771 gives 3 at -O0 and 7 at -O2. bisect it.",
        Run("cargo run -p opt-bisect -- cases/0771.kes", log(90, W, "first bad: pass 14 (sink)")),
        Read(
            "crates/opt/src/sink.rs",
            source(
                "crates/opt/src/sink.rs", 170, W, "        if self.uses(inst).len() == 1 { self.move_to_use(inst); }"
            ),
        ),
        "Pass 14, `sink`. It moves a load down to its only use and steps over a call in between, though the call may write to that address. Nothing asks the alias analysis before moving; `may_clobber` exists and is used by `hoist`, so the same guard belongs here.",
    ),
    turn(
        "add the guard. and keep unsafe out of crates/opt, forever. reviewers know, agents forget.",
        Edit(
            "crates/opt/src/sink.rs",
            "self.uses(inst).len() == 1",
            "self.uses(inst).len() == 1 && !self.alias.may_clobber(inst, target)",
        ),
        Run(
            "cargo nextest run -p opt",
            tests(
                420,
                W,
                "     FAIL [   0.081s] opt sink::moves_pure_load_past_call\n  left: 1, right: 0\n     Summary 419 passed, 1 failed",
            ),
            failed=True,
        ),
        Edit("crates/opt/tests/sink.rs", "moves_pure_load_past_call", "keeps_load_above_writing_call"),
        Run("cargo nextest run -p opt", tests(420, W, "     Summary 420 passed")),
        "Guard is in, 0771 prints 3 at every level. One test had pinned the wrong behaviour and says the opposite now. The crate stays free of `unsafe`.",
    ),
    turn(
        "which llvm are we on? distro people ask.",
        Search("llvm-sys", 'Cargo.toml:41:llvm-sys = "170"'),
        "LLVM 17, through `llvm-sys` 170. The minimum supported Rust version is 1.74.",
    ),
    turn(
        "inliner threshold?",
        Search(
            "THRESHOLD",
            "crates/opt/src/inline.rs:12:pub const INLINE_THRESHOLD: u32 = 45;\ncrates/opt/src/unroll.rs:9:pub const UNROLL_THRESHOLD: u32 = 120;",
        ),
        "`INLINE_THRESHOLD` is 45 instructions, `UNROLL_THRESHOLD` 120.",
    ),
)

GENERICS = session(
    turn(
        "monomorphise or dictionaries for generics? pick, with numbers from the corpus.",
        Delegate(
            "Measure generics",
            "Compile the corpus with both prototypes and report size and run time.",
            "monomorphised: binaries +38 %, run time 1.00. dictionaries: binaries +4 %, run time 1.31, worst 2.9 on the matrix code. compile time 1.0 against 0.7.",
        ),
        "Monomorphisation. Dictionaries keep binaries small (+4 % against +38 %) but cost 31 % at run time, and 190 % on the matrix programs people actually benchmark us with. Size can be bought back by merging identical bodies; speed cannot.",
    ),
    turn(
        "agreed, no dictionary passing. start with merging.",
        Edit("crates/codegen/src/mono.rs", "emit(body)", "emit(self.merged.entry(hash(&body)).or_insert(body))"),
        Run("cargo xtask corpus --sizes", log(60, W, "total size +16.2 % over baseline")),
        "Identical bodies are emitted once. The corpus is at +16 % now instead of +38 %.",
    ),
    turn(
        "`cargo xtask corpus` takes 40 min on my laptop, what's the short form",
        "`cargo xtask corpus --sample 50 --jobs 8`: fifty programs, four minutes, and it has caught every regression of the last quarter that the full run caught.",
    ),
    turn(
        "error spans off by one on windows files. why",
        Run(
            "cargo run -- check cases/crlf.kes", "error[E0012]: unknown name `y`\n --> cases/crlf.kes:4:9", failed=True
        ),
        Read(
            "crates/syntax/src/source.rs",
            source("crates/syntax/src/source.rs", 120, W, "        self.lines.push(self.at + 1);"),
        ),
        "The line table is built on the text after `\\r\\n` has been folded to `\\n`, while tokens keep their offsets in the original bytes. Each line above shifts a span by one. Folding only when printing fixes it, and the table then counts bytes like everything else.",
    ),
    turn(
        "do that",
        Edit("crates/syntax/src/source.rs", "let text = fold(text);", "let text = text;"),
        Run("cargo nextest run -p syntax", tests(310, W, "     Summary 310 passed")),
        "Spans agree on both kinds of files, with a test for mixed endings.",
    ),
    ends=False,
)

LLVM = session(
    turn(
        "llvm 19. go.",
        Edit("Cargo.toml", 'llvm-sys = "170"', 'llvm-sys = "191"'),
        Run(
            "cargo build",
            log(70, W, "error[E0425]: cannot find function `LLVMConstNUWNeg`\nerror: could not compile `codegen`"),
            failed=True,
        ),
        Edit("crates/codegen/src/fold.rs", "LLVMConstNUWNeg", "LLVMConstNeg"),
        Run("cargo build", log(50, W, "    Finished dev profile")),
        "Builds and passes on LLVM 19.1 (`llvm-sys` 191). One constant folder had to go, it was dead code. Rust stays at 1.74 as the oldest we take.",
    ),
    turn(
        "inlining: kes-web is 6% slower than C. try 60, 80, 100",
        Run("cargo xtask bench --inline 45,60,80,100", "45 1.062\n60 1.041\n80 1.012\n100 1.013 (+9 % size)"),
        Edit("crates/opt/src/inline.rs", "INLINE_THRESHOLD: u32 = 45", "INLINE_THRESHOLD: u32 = 80"),
        Run("git diff", diff("crates/opt/src/inline.rs", W, 20)),
        "80 is the knee: 1.2 % behind C, and 100 only adds size. `INLINE_THRESHOLD` is 80. Unrolling is as it was.",
    ),
    turn(
        "who merges to main while yuki is on leave",
        "Per `MAINTAINERS`: Yuki Tanabe is listed for the optimiser, Bram de Wit for the front end. There is no stand-in for Yuki in there.",
    ),
    turn(
        "put me: ask Ines Fonseca for anything in crates/opt from now on. she took over from yuki",
        Edit("MAINTAINERS", "crates/opt: Yuki Tanabe", "crates/opt: Ines Fonseca"),
        "`crates/opt` is Ines Fonseca's. Bram keeps the front end.",
    ),
)

DEBUG = session(
    turn(
        "debug info: variables vanish after the first loop at -O1. expected?",
        Run("llvm-dwarfdump --statistics a.out", log(20, W, "variables with location: 41 %")),
        "Expected as things are, not as they should be: `lower_loops` rebuilds the block and drops the `dbg` records that hung on the old instructions. Carrying them over is a day of work. I have written the failing test, `debug/loop_vars.kes`, marked ignored; the pass itself is untouched.",
    ),
    turn(
        "fine, next week. tag 0.9.2",
        Run("cargo release 0.9.2 --execute", log(40, W, "tagged v0.9.2")),
        "v0.9.2 is tagged and the archive is building.",
    ),
)

SCENARIO = Scenario(
    name="compiler", client="claude", place="src/kestrel", remote="ssh://git@code.example.net/kestrel/kestrel.git", words=W, ending="rs",
    sessions=(MISCOMPILE, GENERICS, LLVM, DEBUG),
    facts=(
        fact("sink", "rootcause", "The sink pass moved a load past a call without asking the alias analysis.", (r"sink|pass 14", r"alias|may_clobber|over a call|load")),
        fact("no-unsafe", "preference", "No unsafe in crates/opt.", (r"unsafe", r"crates/opt|crate|keep")),
        fact("mono", "decision", "Generics are monomorphised; identical bodies are merged.", (r"monomorph", r"generics|dictionar|size|speed"), (r"no dictionary passing",)),
        fact("no-dictionaries", "rejected", "Dictionary passing was rejected: 31 % slower.", (r"dictionar", r"31 %|190 %|no dictionary|agreed|rejected")),
        fact("llvm", "changed", "We are on LLVM 19.1.", (r"llvm(-sys)?\W{0,6}(19|191)\b",), was=((r"llvm(-sys)?\W{0,6}(17|170)\b",),)),
        fact("inline", "changed", "INLINE_THRESHOLD is 80.", (r"inline?|threshold", r"(is|: u32 =|= ?) ?80\b|80 is the knee"), was=((r"INLINE_THRESHOLD", r"\b45\b"),)),
        fact("owner", "changed", "Ines Fonseca owns crates/opt.", (r"ines", r"opt"), was=((r"yuki", r"optimi[sz]er|crates/opt"),)),
        fact("sample", "command", "cargo xtask corpus --sample 50 --jobs 8 is the short corpus run.", r"--sample 50"),
        fact("crlf", "rootcause", "Spans were off since the line table was built after folding CRLF.", (r"line table|folded|folding", r"bytes|offsets?|span")),
        fact("dbg", "open", "Open: lower_loops drops the dbg records; the test debug/loop_vars.kes is ignored.", (r"lower_loops|loop_vars", r"dbg|debug|ignored|untouched|drops")),
    ),
    questions=(
        question("What was the reason for the wrong result of fuzz case 0771?", "sink moved a load over a call that may write to it.", (r"sink|pass 14", r"alias|clobber|over a call"), kind="rootcause"),
        question("Which LLVM do we build against?", "LLVM 19.1.", (r"llvm(-sys)?\W{0,6}(19|191)\b",), was=((r"llvm(-sys)?\W{0,6}(17|170)\b",),)),
        question("What is the limit for inlining functions?", "INLINE_THRESHOLD is 80.", (r"80 is the knee|THRESHOLD.{0,12}80",), was=((r"INLINE_THRESHOLD", r"\b45\b"),)),
        question("Whom do I ask about the optimiser?", "Ines Fonseca, she has crates/opt.", (r"ines",), was=((r"yuki tanabe", r"optimi[sz]er"),)),
        question("Why not pass dictionaries for generic code?", "It costs 31 % at run time.", (r"31 %", r"dictionar|run time"), kind="rejected"),
        question("How do I run the corpus quickly?", "cargo xtask corpus --sample 50 --jobs 8", r"--sample 50", kind="command"),
        question("Why were error positions wrong in files from Windows?", "The line table was built on folded text, tokens keep byte offsets.", (r"line table|folded|folding", r"offsets|bytes"), kind="rootcause"),
        question("What has to be done about vanishing variables in the debugger?", "lower_loops has to carry over the dbg records.", (r"lower_loops", r"dbg|carry"), kind="open"),
        question("Is unsafe code allowed in the optimiser crate?", "No, keep unsafe out of crates/opt.", (r"unsafe", r"out of|free of"), kind="preference"),
        question("At how many instructions do we stop unrolling loops?", "120, UNROLL_THRESHOLD.", (r"unroll", r"\b120\b")),
        question("What is the oldest Rust we support?", "Rust 1.74.", r"\b1\.74\b"),
    ),
    stands=(
        value("unroll", (r"unroll", r"\b120\b")),
        value("msrv", r"\b1\.74\b"),
        value("front-end", (r"bram", r"front end")),
    ),
    foreign=(value("karst", r"karst|eu-north-1"), value("fable", r"fable|addressables")),
)  # fmt: skip
