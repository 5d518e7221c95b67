"""A thesis; the subject stands in the question, the answer is a fragment."""

from __future__ import annotations

from agent_day.gold import fact
from agent_day.script import Scenario, session, turn

SCENARIO = Scenario(
    name="thesis", client="claude", place="changes/thesis", words="note page plan list date",
    sessions=(
        session(
            turn('I want to fix the frame of my thesis today. Title, length, data, deadline. Ask me if unclear.','Title: Noise and Sleep in Dormitories. Length: 80 pages. Data: 48 students, four weeks each. Submission: 30 June. I wrote it into frame.md.'),
            turn('And which test do I use for the main question?','A repeated-measures ANOVA on sleep minutes, with dorm as between factor. Simple to report, and your supervisor knows it.'),
            turn('Citation style?','APA 7, with the plugin for Zotero.'),
            turn('Who reads the draft?','Draft chapters go to Dr. Ekström every second Friday. Jule reads for language.'),
            turn('Remind me how we treat missing nights','Missing nights are dropped, a student needs at least 20 of 28.'),
        ),
        session(
            turn('Eleven students stopped wearing the band. So there are fewer.','Then it is 37. I changed the numbers in the methods section and the figure.'),
            turn('With that many holes ANOVA complains.','It would throw away each student with one hole. A mixed model keeps them, with student as random intercept. I rewrote the analysis that way; the effect is the same, 11 minutes.'),
            turn('Then we need not drop anything either, right?','Right: nothing is dropped and nobody excluded. The minimum of 20 nights is out of the text.'),
            turn('The faculty now demands Vancouver. Ugh.','Converted. Numbers in brackets everywhere, and the list in order of appearance.'),
        ),
        session(
            turn('I got an extension because of the bands. End of August.','frame.md and the plan say 31 August.'),
            turn('Ekström is away for a term, Prof. Lindahl steps in, but only once a month.','The calendar has Prof. Lindahl on the first Friday of each month.'),
            turn('He says 80 pages is a novel. Sixty at the most.','Sixty, then. The appendix does not count; I asked the office.'),
            turn('And he finds the title dull','How about "Quiet Hours"? With the old one as the subtitle.'),
            turn('Lovely. Quiet Hours.','On the cover and in frame.md.'),
        ),
    ),
    facts=(
        fact("n", "changed", "n", r'\b37\b', was=(r'48 students',)),
        fact("test", "changed", "test", r'mixed model', was=(r'repeated-measures anova',)),
        fact("style", "changed", "style", r'vancouver', was=(r'apa 7',)),
        fact("due", "changed", "due", r'august', was=(r'30 june',)),
        fact("reader", "changed", "reader", r'lindahl', was=(r'go to dr\. ekstr',)),
        fact("missing", "changed", "missing", r'nothing is dropped|nobody excluded', was=(r'missing nights are dropped|at least 20 of 28',)),
        fact("pages", "changed", "pages", r'sixty', was=(r'length: 80|80 pages\. data',)),
        fact("title", "changed", "title", r'quiet hours', was=(r'title: noise and sleep',)),
    ),
    questions=(),
)  # fmt: skip
