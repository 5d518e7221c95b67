"""What a value looks like: a reference, a name, code, words, a random string. Knows no rules and no texts."""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections import Counter
from dataclasses import dataclass

# Longer than any key but a PEM block, short enough to be judged in microseconds.
JUDGED = 512


@dataclass(frozen=True, slots=True)
class WordFlags:
    """Words that distinguish a value or a name from a secret; see rules.toml for what each list is for."""

    plain: frozenset[str]
    prose: frozenset[str]
    digest: frozenset[str]
    harmless: frozenset[str]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A value and where it stood."""

    value: str
    name: str = ""
    before: str = ""  # the part of the name before the key word, as "next" in next_token
    operator: str = ""
    quoted: bool = False
    after: str = ""  # the character that follows the value; empty at the end of the text
    field: bool = False  # the name is a key of a JSON object and the value is the whole of its text


# Only what can be nothing else: a password may begin with any of these characters.
REFERENCE = re.compile(
    r"""\$(?:[A-Z_][A-Z0-9_]*|[a-z_]+)\Z|\$\{|\$\(|\$env:|%\w+%\Z|%(?:\(\w+\))?[sdrv]\Z|\{\{|\{[\w.:\- ]*\}?\Z|\#\{"""
    r"""|<[^<>]*>\Z|@\w+@\Z|[*&][a-z_]+\Z|!(?i:vault|ref|sub|getatt|secret|env|include|encrypted)\b"""
    r"""|[a-z][a-z0-9+.\-]*://|(?:arn|vault|ssm|data|did):\S|projects/[^/]+/secrets/""",
    re.ASCII,
)
# Forms that only a public key has: did:key and its multicodec prefixes, the blob of an ssh key, an age recipient.
PUBLIC = re.compile(
    r"z(?:6Mk|6LS|Q3s|Dna|82L|UC7)[1-9A-HJ-NP-Za-km-z]{40,}|AAAA(?:C3NzaC1|B3NzaC1|E2VjZHNh|Gn?NrLX)[A-Za-z0-9+/]{20,}"
    r"|age1[02-9ac-hj-np-z]{58}\Z"
)
CHAIN = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\?\.|\.|->|::|\\)[A-Za-z_$][\w$]*)+[!?]?\Z", re.ASCII)
ACCESS = re.compile(
    r"(?:os|process|env|config|settings|self|this|args?|opts|options|params|req|request|ctx|data|props|secrets|vars?"
    r"|local|module|system|import|input|row|user|event|body|payload)\b[.\[(?]",
    re.IGNORECASE,
)
QUOTED_ACCESS = re.compile(r"(?:process\.env|os\.environ|secrets|vars?|env|local|module)[.\[][\w.\[\]'\"]+\Z")
NUMBER = re.compile(r"[\d.,:/TZ+\-_%e]+\Z", re.ASCII)
VERSION = re.compile(r"[\^~<>=v]{0,2}\d+(?:\.\d+){1,3}(?:[-+.][\w.]+)?\Z", re.ASCII)
TYPE = re.compile(r"[A-Z][a-z]+\d{0,5}(?:[A-Z][a-z]+\d{0,3})+\Z")
TOKEN = re.compile(r"""[^\s"'`()\[\]{}<>|\\]+\Z""")
PATH = re.compile(r"(?:~|\.{1,2})?/|[A-Za-z]:[\\/]")
EMAIL = re.compile(r"[\w.+-]+@[\w-]+\.[\w.]+\Z")
ALGORITHM = re.compile(
    r"(?:sha|md|aes|base|utf|bcrypt|scrypt|argon|pbkdf|oauth|ed|rs|es|hs|ps|http|ipv|tls|ssl|x|v|s|i|rot|ascii|iso)"
    r"-?\d+\w{0,3}(?:[-_/]\w+)*\Z",
    re.IGNORECASE,
)
RUNS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")
# Six consonants in a row are in no English word, and in every second random string of fifteen letters.
UNSPEAKABLE = re.compile(r"[b-df-hj-np-tv-xz]{6}", re.IGNORECASE)
CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
SEPARATORS = re.compile(r"[-_./: ]+")
NAMING = frozenset("password passwd pass pwd token key secret here value name field id me".split())
STAND_INS = frozenset("password passwd passphrase pass pwd pw token secret yourpassword mypassword yourpass".split())
ASKING = frozenset("your insert enter replace put add example sample dummy fake".split())
LEADING = ASKING | {"my", "the", "some", "a", "an"}
PROSE_MARKS = frozenset("!@#$%^*~+=")
# The ending of the keys in Amazon's manuals.
DOCUMENTED = ("EXAMPLE", "EXAMPLEKEY")
MASKS = frozenset("*xX.-_ ?#•…")


def entropy(text: str) -> float:
    """Shannon entropy of the text in bits per character."""
    size = len(text)
    return -sum(n / size * math.log2(n / size) for n in Counter(text).values()) if size else 0.0


def has_digit(text: str) -> bool:
    return any("0" <= char <= "9" for char in text)


def has_mark(text: str) -> bool:
    """Whether a character stands in it that no plain name has."""
    return any(char.isascii() and not char.isalnum() and char not in "_-. " for char in text)


def is_reference(text: str) -> bool:
    """A variable, a template, a mask or an address: it stands for a secret and is none."""
    return (
        bool(REFERENCE.match(text))
        or "***" in text
        or set(text) <= MASKS
        or (len(text) > 2 and len(set(text)) == 1)
        or text.endswith(DOCUMENTED)
    )


def is_stand_in(text: str) -> bool:
    """A word that names the password instead of being it, as in postgres://user:password@host."""
    parts = name_parts(text)
    return text.replace("_", "").replace("-", "").isalpha() and parts[-1:] != [] and parts[-1] in STAND_INS


def name_parts(text: str) -> list[str]:
    """The words of a name in snake, kebab, dotted or camel case, in lower case."""
    return [part.lower() for part in SEPARATORS.split(CAMEL.sub("_", text)) if part]


def names_itself(candidate: Candidate, words: WordFlags) -> bool:
    """A name such as db-password or your_api_key_here: letters only, and one of its words names a secret."""
    parts = name_parts(candidate.value)
    if len(parts) < 2 or has_digit(candidate.value):
        return candidate.value.lower() in words.plain
    if candidate.field:
        return parts[0] in ASKING and parts[-1] in NAMING
    return parts[0] in LEADING or any(part in NAMING for part in parts)


def is_wordy(text: str) -> bool:
    """Made of words: its runs of letters are long, as in prod-db-2024 or getAuthToken, unlike a random string."""
    runs = RUNS.findall(text)
    letters = sum(len(run) for run in runs if run.isalpha())
    digits = sum(map(len, runs)) - letters
    if not letters or digits > letters or (digits >= 4 and not SEPARATORS.search(text)):
        return False
    return letters + digits >= 3.2 * len(runs) and not any(UNSPEAKABLE.search(run) for run in runs)


def is_spelled(text: str) -> bool:
    """Long words run together, as in MistralForConditionalGeneration; of random keys one in thousands looks so."""
    runs = RUNS.findall(text)
    letters = sum(len(run) for run in runs if run.isalpha())
    if letters < 6 * max(1, len(runs)) or any(UNSPEAKABLE.search(run) for run in runs):
        return False
    # English has 40 vowels in a hundred letters, random letters have 23.
    return sum(text.lower().count(vowel) for vowel in "aeiouy") >= 0.28 * letters


def is_harmless(candidate: Candidate, words: WordFlags) -> bool:
    """Whether the name before the key word makes it a page token, a public key and the like."""
    return any(part in words.harmless for part in name_parts(f"{candidate.before}_{candidate.name}")[-3:])


def is_code(candidate: Candidate) -> bool:
    """An expression of a program: a call, an attribute, an item."""
    value = candidate.value
    if candidate.quoted:
        return bool(QUOTED_ACCESS.match(value))
    return candidate.after in {"(", "[", "{"} or bool(CHAIN.match(value)) or bool(ACCESS.match(value))


def is_plain(candidate: Candidate, words: WordFlags) -> bool:
    """Whether the value cannot be a secret of any kind."""
    value = candidate.value
    return (
        is_reference(value)
        or bool(PUBLIC.match(value))
        or value.lower().strip(".,:;!?") in words.plain
        or bool(VERSION.match(value))
        or is_code(candidate)
        or bool(PATH.match(value) and (value.count("/") + value.count("\\") > 1 or candidate.name.endswith("pwd")))
    )


def is_passphrase(value: str, words: WordFlags) -> bool:
    """One word, or several that are no sentence about passwords."""
    parts = value.lower().split()
    return len(parts) < 2 or (len(value) <= 200 and not any(part.strip(".,:;!?'") in words.prose for part in parts))


def is_named_word(value: str) -> bool:
    """Words joined by separators, with at most a number at the end of one, as test_user_2."""
    return bool(SEPARATORS.search(value)) and is_wordy(value) and not has_mark(value)


def decoded(value: str) -> bytes:
    """The bytes behind base64 of either alphabet; nothing where it is none."""
    whole = value[: len(value) // 4 * 4].translate(str.maketrans("-_", "+/"))
    try:
        return base64.b64decode(whole, validate=True)
    except (binascii.Error, ValueError):
        return b""
