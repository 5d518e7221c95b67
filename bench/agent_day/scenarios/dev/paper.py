"""A paper in LaTeX with its analysis, through Codex. The user writes whole sentences; answers are short and dry."""

from __future__ import annotations

from agent_day.gold import fact, question, value
from agent_day.noise import log, source
from agent_day.script import Compact, Edit, Read, Run, Scenario, Search, session, turn

W = "participant trial effect model prior condition figure table measure session"

TABLES = session(
    turn(
        "The numbers in Table 3 and in the text of section 5 differ in the last digit in four places. Please find out which ones are right.",
        Read("analysis/tables.py", source("analysis/tables.py", 120, W, "    return f'{round(value, 2):.2f}'")),
        Search("siunitx", "main.tex:31:\\sisetup{round-mode = places, round-precision = 2}"),
        "Both are, in a way: the script rounds to two digits and `siunitx` rounds what it gets once more, half up instead of half to even. For 0.125 the table prints 0.13 and the text 0.12. "
        "If the script writes four digits and only `siunitx` rounds, they agree everywhere.",
    ),
    turn(
        'Do it that way. In the prose, British spelling please, and the word "novel" is forbidden. I would also like active voice wherever it does not hurt.',
        Edit("analysis/tables.py", "f'{round(value, 2):.2f}'", "f'{value:.4f}'"),
        Run("latexmk -pdf -shell-escape main.tex", log(140, W, "Output written on main.pdf (11 pages).")),
        "The script writes four digits. I changed nine American spellings and removed two uses of that word from the introduction.",
    ),
    turn(
        "How long may it be, and when is it due? I have the call here somewhere.",
        Read("notes/call.md", source("notes/call.yaml", 30, W)),
        "According to the call: nine pages of main text, references and appendix do not count. Due on 12 May, 23:59 anywhere on earth. The rebuttal will be limited to one page.",
    ),
    turn(
        "How many participants do we report at the moment?",
        Run("python analysis/count.py", "recruited 430\nexcluded 18\nanalysed 412"),
        "We report 412 participants; 18 of 430 are left out for missed attention checks.",
    ),
)

MODEL = session(
    turn(
        "Reviewer-proofing: would a hierarchical Bayesian model be better than our mixed model? Try it on the pilot.",
        Run("python analysis/bayes_pilot.py --chains 4", log(160, W, "divergences: 212 of 4000, max R-hat 1.09")),
        "The Bayesian fit reaches the same estimates to the second digit, needs 40 minutes instead of 20 seconds, and diverges 212 times unless the prior on the slopes is made so tight that reviewers will ask about it. I see no gain in it for this paper.",
    ),
    turn(
        "Then we keep the mixed model and mention it in a footnote. Write the footnote.",
        Edit(
            "sections/method.tex",
            "\\label{sec:model}",
            "\\label{sec:model}\\footnote{A hierarchical Bayesian fit gives the same estimates.}",
        ),
        "The footnote stands at the end of section 4.2, one sentence.",
    ),
    turn(
        "Figure 2 comes out blurry in the PDF although it is a vector graphic, any idea?",
        Run("pdfimages -list main.pdf", log(12, W, "page 6 image 2400x1600 rgb jpeg")),
        Read("figures/effect.py", source("figures/effect.py", 60, W, "ax.fill_between(x, lo, hi, rasterized=True)")),
        "The bands are drawn with `rasterized=True`, so matplotlib puts a picture of 72 dpi into an otherwise clean vector file. Without that flag the file is 90 kB larger and sharp.",
    ),
    turn(
        "Take it out. Which command builds everything from scratch, data to PDF?",
        Edit("figures/effect.py", ", rasterized=True", ""),
        Run(
            "make -C analysis clean all && latexmk -C && latexmk -pdf -shell-escape main.tex",
            log(90, W, "Output written on main.pdf (10 pages)."),
        ),
        "`make -C analysis clean all && latexmk -pdf -shell-escape main.tex`. The flag is needed because `minted` calls pygments.",
    ),
    ends=False,
)

EXCLUSION = session(
    turn(
        "Our co-author Tomasz found fourteen people who took part twice. They have to go, all of them. Please recompute.",
        Edit("analysis/exclude.py", "drop = missed_checks", "drop = missed_checks | repeated"),
        Run("python analysis/count.py", "recruited 430\nexcluded 32\nanalysed 398"),
        Run("make -C analysis all", log(110, W, "effect 0.31 [0.19, 0.43]")),
        "With the repeaters gone we analyse 398 people. The main effect barely moves: 0.31, interval 0.19 to 0.43. Abstract, section 3 and Table 1 carry the new count.",
    ),
    turn(
        "The chairs extended the deadline by a week, 19 May it is. And they allow ten pages of main text since everybody complained about the checklist.",
        Edit("notes/call.md", "Due 12 May, 9 pages", "Due 19 May, 10 pages"),
        Compact(
            "The paper is due soon. Participants who took part twice were excluded and all tables recomputed. The call was updated by the chairs."
        ),
        "Noted in `notes/call.md`: 19 May, ten pages of main text. We are at nine and a third, so the ablation could go back into the main part. The rebuttal stays at one page.",
    ),
    turn(
        "Is the repository anonymous already? We may not link to the university.",
        Run("git grep -il 'uni-lindau'", "README.md\nanalysis/setup.cfg"),
        Edit("README.md", "uni-lindau", "anonymous"),
        "It is now: the link in the paper goes to `anon-repo.example/r/7731`, and both files that named the university are cleaned. The history of the mirror starts at the submission.",
    ),
    turn(
        "What do I have to do tomorrow morning?",
        Search("TODO", "sections/results.tex:88:% TODO ablation without practice trials"),
        "One thing is missing: the ablation without practice trials. The script exists, `analysis/ablation.py`, but it has never run on the reduced data, and section 5.3 still has a placeholder where its table goes.",
    ),
)

SCENARIO = Scenario(
    name="paper", client="codex", place="papers/attention-drift", words=W, ending="tex",
    sessions=(TABLES, MODEL, EXCLUSION),
    facts=(
        fact("rounding", "rootcause", "Table and text differed since script and siunitx both rounded.", (r"siunitx|rounds?", r"once more|half up|half to even|four digits|both")),
        fact("prose", "preference", "British spelling, no \"novel\", active voice.", (r"british|american spellings", r"spelling|novel|active voice")),
        fact("pages", "changed", "Ten pages of main text are allowed.", (r"ten pages|10 pages",), was=((r"nine pages|9 pages", r"main text|call|Due"),)),
        fact("deadline", "changed", "The paper is due on 19 May.", r"19 May", was=((r"due|deadline", r"12 May"),)),
        fact("count", "changed", "398 participants are analysed.", (r"\b398\b",), was=((r"\b412 (analysed|people|participants)",),)),
        fact("no-bayes", "rejected", "No hierarchical Bayesian model: same estimates, slow, it diverges.", (r"bayes", r"no gain|same estimates|diverge|keep the mixed")),
        fact("blurry", "rootcause", "Figure 2 was blurry since the bands were drawn with rasterized=True.", (r"rasteri[sz]ed", r"72 dpi|blurry|bands|vector")),
        fact("build", "command", "make -C analysis clean all && latexmk -pdf -shell-escape main.tex builds everything.", (r"latexmk -pdf -shell-escape", r"make -C analysis")),
        fact("anonymous", "fact", "The anonymous repository is anon-repo.example/r/7731.", r"anon-repo\.example"),
        fact("ablation", "open", "Open: the ablation without practice trials has never run on the reduced data; section 5.3 has a placeholder.", (r"ablation", r"missing|never run|placeholder|practice trials")),
    ),
    questions=(
        question("Why didn't the numbers in the text match those in Table 3?", "Script and siunitx both round, half to even and half up.", (r"siunitx", r"round"), kind="rootcause"),
        question("When is the paper due?", "19 May.", r"19 May", was=((r"due", r"12 May"),)),
        question("How much room do we have for the main part?", "Ten pages of main text.", (r"ten pages|10 pages",), was=((r"nine pages",),)),
        question("On how many people is the analysis based?", "We analyse 398 people.", (r"\b398\b",), was=(r"\b412 participants",)),
        question("What spoke against going fully Bayesian?", "Same estimates, 212 divergences, 40 minutes.", (r"diverge", r"prior|estimates|40 minutes"), (r"bayes", r"no gain|same estimates"), kind="rejected"),
        question("What made Figure 2 look fuzzy?", "rasterized=True on the bands.", r"rasteri[sz]ed", kind="rootcause"),
        question("How do I rebuild the whole thing, starting with the data?", "make -C analysis clean all && latexmk -pdf -shell-escape main.tex", r"make -C analysis clean all", kind="command"),
        question("Which part of the results is missing before we can hand it in?", "The ablation without practice trials is missing.", (r"ablation", r"missing|never run|placeholder"), kind="open"),
        question("Which words and which spelling does the author want in the text?", "British spelling and never \"novel\".", (r"british spelling|american spellings", r"novel|word|introduction"), kind="preference"),
        question("Under which link do reviewers find the code?", "anon-repo.example/r/7731", r"anon-repo\.example"),
        question("How long may our answer to the reviews be?", "One page, the rebuttal.", (r"rebuttal", r"one page")),
    ),
    stands=(
        value("rebuttal", (r"rebuttal", r"one page")),
        value("attention-checks", (r"\b18\b", r"attention checks")),
        value("mixed-model", (r"mixed model",)),
    ),
    foreign=(
        value("churn", r"smote|churn_ro|papermill"),
        value("node-red", r"node-red|zigbee"),
    ),
)  # fmt: skip
