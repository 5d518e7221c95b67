"""Features of a sentence that show whether it is worth keeping: a row of zeros and ones, each with a name.

Signs alone decide nothing: `worth.py` weighs them, with weights that were fitted (bench/agent_day/fit.py).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from holdfast.text.sentences import Sentence

Floats = NDArray[np.float64]


def _words(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_SOFT_START = r"^(?:(?:ok(?:ay)?|sure|great|thanks|good|right|alright|first|then|next|now|so|done)[,.:! ]+)*"

# Ways of speaking. None is needed for a sentence to be kept, and none is enough.
WAYS: dict[str, re.Pattern[str]] = {
    "announces": _words(
        _SOFT_START + r"(?:let me|let's (?:look|see|start|check)|i'?ll\b|i will\b|i'm going to|i am going to|going to|"
        r"looking|checking)"
    ),
    "looked": _words(
        _SOFT_START + r"i(?:'ve| have)? (?:also |just |then )?(?:looked|read|went|ran|checked|traced|compared|"
        r"reproduced|searched|grepped|opened|loaded|followed|walked|verified|tried|confirmed|reran|started|profiled|"
        r"measured|tested|inspected|scanned|reviewed|skimmed|dug)\b"
    ),
    "did": _words(_SOFT_START + r"i(?:'ve| have)? (?:also |just |then |now )?[a-z]+(?:ed|t|pt|de|ote|ook|ut)\b"),
    "offers": _words(
        r"\b(?:let me know|want me to|shall i|should i|would you like|happy to|if you(?:'d| would)? "
        r"(?:like|want|prefer|need)|tell me|say the word|i can (?:also )?)\b"
    ),
    "nods": _words(
        r"^(?:done|sure|great|ok(?:ay)?|yes|no problem|good (?:question|point|catch|idea)|sounds good|thanks?|perfect|"
        r"got it|understood|makes sense|all (?:good|set|done)|you're welcome|here (?:it|you|is|are)|renamed|fixed|"
        r"pushed|committed)\b[^a-z]*"
    ),
    "wishes": _words(
        r"^(?:(?:and|but|also|oh|btw|ok|so|then|yes|no)[, ]+)*(?:please |pls )?(?:always|never|keep|don't ever|"
        r"do not ever|avoid|prefer|stick to|make sure|remember to|from now on|in (?:the )?future|"
        r"no (?:more )?\w+ (?:in|without|on)\b)"
        r"|\b(?:from now on|in (?:the )?future|next time|as a rule|by default|every time|whenever|"
        r"in this (?:repo|project)|no more|no hard-?coded|only ever)\b"
        r"|\bI(?:'d)? (?:really )?(?:want|hate|love|like|prefer|don't (?:want|like)|can't stand|need) "
        r"(?:all|every|no|to see|you|it when|my|our|small|short|new|the|them|\w+ing)\b"
        r"|\b(?:always|never) (?:use|put|write|ask|show|push|commit|touch|add|run|do|say|call|name|merge|change|edit)\b"
        r"|\b(?:use|take|say|write|call it) [^.,]{1,40}, ?not\b|\bnot (?:npm|yarn|pip|loops)\b"
        r"|\bwhen(?:ever)? you (?:\w+ ){1,6}\b(?:use|also|please|always|never|don't|run|update|add)\b"
        r"|\bdon't (?:ever|want|like|use|add|commit|push|touch)\b|\bwe (?:always|never|don't|only|say|use)\b"
        r"|\bno \w+ (?:in|at|on|without|anywhere|please|pls)\b|\b(?:we|i) (?:write|keep|name|test|put) (?:all|every)\b"
        r"|\b(?:immer|niemals|nie wieder|ab jetzt|künftig|grundsätzlich|bitte (?:alle|kein\w*|nur|nie|immer))\b"
        r"|\bich (?:will|möchte|mag) (?:alle\w*|kein\w*|nur|immer)\b"
    ),
    "passes": _words(
        r"^.{0,30}\b(?:tests?|suite|lint(?:er)?|checks?|build|type[- ]?check\w*|ci|pipeline|formatter)\b.{0,40}"
        r"\b(?:pass\w*|green|clean|quiet|content|happy|ok|succe\w+|fine)\b|^(?:all|everything) (?:is |stays? )?"
        r"(?:green|passes|fine)\b"
    ),
    "supposes": _words(r"\b(?:could|would|might|maybe|perhaps|probably|i'd|we'd|may want)\b"),
    "changed": _words(
        r"\b(?:now|from now on|as of|since (?:then|today|monday|last)|moved|switched|replaced|instead|no longer|"
        r"any ?more|set to|raised|lowered|bumped|changed|upgraded|takes over|took over|gone)\b"
    ),
    "explains": _words(
        r"\b(?:because|since|so that|which is why|that is why|hence|therefore|due to|caused?|comes from|came from|"
        r"the reason|culprit|root cause|turns out|it was|was the|although|whenever|only when|every time|as soon as)\b"
        r"|, so\b|: "
    ),
    "lacks": _words(
        r"\b(?:still|missing|left|not (?:yet|done|finished|started|covered|fixed|handled|touched)|remain\w*|to ?do|"
        r"until|open|unfinished|next step|later|follow[- ]?up|known (?:issue|problem)|broken|doesn't|does not|isn't|"
        r"fails?|needs? to|have to|has to|must be|should be)\b"
    ),
    "rules": _words(
        r"\b(?:always|never|please|don't|do not|must|only|no more|from now on|in (?:the )?future|make sure|keep|use|"
        r"avoid|prefer|want|hate|like|stick to|instead of|not)\b"
    ),
    "rejects": _words(
        r"\b(?:is out|are out|rejected|ruled out|not worth|won't|will not|decided against|against|instead of|"
        r"rather than|overkill|too (?:slow|big|much|expensive|heavy|risky|old|many)|drop(?:ped)?|no .{1,30} because|"
        r"costs?|would (?:need|mean|have|break|cost)|does(?:n't| not) (?:support|work|scale|allow|fit))\b"
    ),
    "states": _words(
        r"\b(?:is|are|was|runs?|lives?|listens?|uses?|kept|stored|called|named|owned?|owns|signs?|points?|allows?|"
        r"takes?|needs?|costs?|expires?|starts?|limit(?:ed)?|default|version|port|address|path|folder|branch|under|"
        r"at)\b"
    ),
    "belittles": _words(
        r"\b(?:nothing (?:else|about|to)|no (?:other|further|functional) (?:change|problem)|as before|the same|"
        r"for completeness|overall|in general|important|carefully|a (?:bit|little|few|couple)|small|short|minor|"
        r"cosmetic|harmless|whitespace|readable|tidy|tidied|clean(?:ed)? up|straightforward|simple|nice)\b"
    ),
    "complains": _words(
        r"\b(?:\w+n['’]?t|not|never|nicht|nie) (?:work|arrive|start|load|show|come|fit|run|build|compile|respond|"
        r"connect|pass|match|finish|open|send|save|funktionier|geh|komm|lauf|start)\w*\b"
        r"|\b(?:fail(?:s|ed|ing|ure)?|broken|breaks?|crash\w*|red|slow|hangs?|stuck|wrong|garbage|errors?|again|behind|"
        r"flaky|weird|strange|empty|twice|duplicates?|drops?|resets?|jump(?:s|ed)|times? out|kaputt|lahm|falsch|leer|"
        r"doppelt|too (?:slow|long|many|much|big))\b"
    ),
    "orders": _words(
        r"^(?:(?:and|ok|okay|so|then|now|yes|good|please|pls|bitte|und|dann)[,. ]+)*(?:fix|add|rename|move|undo|revert|"
        r"sort|run|look|check|find|show|write|update|remove|delete|make|create|explain|tell|commit|push|do|try|change|put|set|"
        r"bump|rerun|format|clean|go on|stop|stell|mach|nimm|schau|prüf|such|zeig)\b"
        r"|\b(?:have|take) a look\b|\b(?:please|pls) (?:fix|look|check|find|see)\b|\b(?:find|fix|check) it\b"
    ),
    "requests": _words(r"\b(?:can you|could you|please|what|why|how|where|which|who|any idea)\b"),
    "refers": _words(r"^(?:it|this|that|these|those|they|both|the (?:rest|other|latter|former|same))\b"),
    "offers choice": _words(r"\b(?:options?|alternativ\w+|either|two ways|candidates?|or you)\b"),
    "settles": _words(
        r"\b(?:go with|let'?s|lets|it is\b|we(?:'ll| will) (?:use|take|go)|take|decided|agreed|settled|ok then|do it)\b"
    ),
}
_OPEN_HEADING = _words(r"\b(?:open|to ?do|left|next|remain\w*|missing|follow|not done|known issues?)\b")
_DONE_HEADING = _words(r"\b(?:what i did|changes?|summary|files|verification|tests?|checks?|done)\b")

_CODE = re.compile(r"`[^`]+`")
_PATH = re.compile(
    r"[\w-]+(?:/[\w.-]+)+|\b[\w-]+\.(?:py|ts|tsx|js|go|rs|c|h|cpp|java|kt|kts|swift|rb|php|md|ya?ml|json|toml|tf|sql|sh|"
    r"css|html|lua|cs|dart|tex|ini|conf|cfg|plist|gradle|xml|ipynb|csv)\b"
)
_NUMBER = re.compile(r"\d")
_QUANTITY = re.compile(
    r"\d+(?:[.,]\d+)?\s?(?:%|ms|s|sec|seconds?|min(?:utes?)?|h|hours?|days?|weeks?|months?|years?|[kKMGT]i?B?|MHz|GHz|"
    r"Hz|V|mA|px|€|\$|EUR|USD|°C?|rows?|requests?|files?|baud|times)\b|\d+\.\d+|\d\d:\d\d|\bv\d|±|\bport \d"
)
_IDENTIFIER = re.compile(r"\b[A-Z][A-Z0-9_]{2,}\b|\b[a-z]+[A-Z]\w+|\b\w+_\w+|\b[A-Z][a-z]+[A-Z]\w*")
_NAME = re.compile(r"(?<=[a-z,;:] )[A-Z][a-z]{2,}\b")
_QUESTION_START = _words(r"^(?:what|why|how|where|which|who|when|is|are|does|do|did|can|could|any)\b")
_WHY = _words(r"\b(?:why|how come|reason|cause|warum|wieso|weshalb)\b")
FEW_WORDS, MANY_WORDS, MANY_SENTENCES = 6, 20, 8


@dataclass(frozen=True, slots=True)
class SentencePosition:
    """Where a sentence stands: in the user's prompt or in the answer, among how many, and what was asked."""

    prompt: str
    in_prompt: bool
    total: int


NAMES = (
    *WAYS, "code", "codes", "path", "number", "quantity", "identifier", "name", "asks", "announces list", "length",
    "short", "long", "listed", "under open", "under done", "of the user", "answers", "answers briefly",
    "names of things", "asked to do", "asked why", "told what fails", "told in few words", "asked at length",
    "long answer",
)  # fmt: skip


def signs(sentence: Sentence, setting: SentencePosition) -> Floats:
    """The signs of a sentence, in the order of NAMES."""
    text = sentence.text
    words = len(text.split())
    above = f"{sentence.heading} {sentence.lead}"
    codes = len(_CODE.findall(text))
    quantity = _QUANTITY.search(text) is not None
    named = codes > 0 or _IDENTIFIER.search(text) is not None or _PATH.search(text) is not None
    asked = not setting.in_prompt and _asks(setting.prompt)
    ways = {name: pattern.search(text) is not None for name, pattern in WAYS.items()}
    ways["requests"] = ways["requests"] and not ways["wishes"]  # "please keep commits small" asks for nothing now
    values = [
        *ways.values(),
        codes > 0,
        min(3, codes) / 3,
        _PATH.search(text) is not None,
        _NUMBER.search(text) is not None,
        quantity,
        _IDENTIFIER.search(text) is not None,
        _NAME.search(text) is not None,
        text.rstrip("\"')”").endswith("?"),
        text.endswith(":"),
        min(words, 40) / 20,
        words < 5,
        words > 30,
        sentence.listed,
        _OPEN_HEADING.search(above) is not None,
        _DONE_HEADING.search(above) is not None,
        setting.in_prompt,
        asked,
        asked and setting.total <= 3 and (quantity or named),
        named + quantity + (_NAME.search(text) is not None),
        *_of_the_prompt(setting),
    ]
    return np.array(values, float)


def _of_the_prompt(setting: SentencePosition) -> tuple[bool, ...]:
    """What the prompt shows of the sentences that answer it: a chore leaves less than a failure that was investigated.

    All false for sentences of the prompt itself.
    """
    prompt, words = setting.prompt, len(setting.prompt.split())
    found = (
        WAYS["orders"].search(prompt) is not None,
        _WHY.search(prompt) is not None,
        WAYS["complains"].search(prompt) is not None,
        words < FEW_WORDS and not _asks(prompt),
        words > MANY_WORDS,
        setting.total > MANY_SENTENCES,
    )
    return tuple(one and not setting.in_prompt for one in found)


def _asks(prompt: str) -> bool:
    return "?" in prompt or _QUESTION_START.search(prompt.strip()) is not None
