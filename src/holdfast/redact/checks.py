"""Whether a value that stands where a secret would stand is one: not a type, a reference, code or prose.

A rule finds the place and names its check here; the check looks at the value. Values are judged by their first
characters only, so a value of a megabyte costs no more than a long key.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from holdfast.redact.traits import (
    ALGORITHM,
    DOCUMENTED,
    EMAIL,
    NUMBER,
    PATH,
    PROSE_MARKS,
    TOKEN,
    TYPE,
    Candidate,
    WordFlags,
    decoded,
    entropy,
    has_digit,
    has_mark,
    is_harmless,
    is_named_word,
    is_passphrase,
    is_plain,
    is_reference,
    is_stand_in,
    is_wordy,
    name_parts,
    names_itself,
)


def check_password(candidate: Candidate, words: WordFlags) -> bool:
    """Short and guessable values count too; only what is plainly a type, a reference, code or prose is let through."""
    value = candidate.value
    if len(value) < 4 or is_plain(candidate, words) or names_itself(candidate, words):
        return False
    if candidate.name.endswith(("pass", "pw")) and not candidate.field:
        return (
            len(value) >= 6 and has_digit(value) and any(char.isalpha() for char in value) and not is_named_word(value)
        )
    if candidate.quoted and candidate.operator.strip() not in {",", ">"}:
        return is_passphrase(value, words)
    if has_digit(value) or has_mark(value):
        return is_bare_password(candidate)
    return is_bare_word(candidate)


def is_bare_password(candidate: Candidate) -> bool:
    value, tight = candidate.value, candidate.operator == "="
    if ALGORITHM.match(value) or EMAIL.match(value) or (NUMBER.match(value) and not value.isdigit()):
        return False
    if not tight and (is_named_word(value) or TYPE.match(value)):
        return False
    return tight or len(value) >= 6 or has_mark(value)


def is_bare_word(candidate: Candidate) -> bool:
    """Letters only and no quotes: a password in a settings file, a name in code. What follows decides."""
    value, operator = candidate.value, candidate.operator.strip()
    if not value.isascii() or not value.isalpha():
        return False
    if candidate.operator == "=":
        return len(value) >= 5 and not value.isupper() and candidate.after not in {",", ")", ".", "]", "}"}
    return (
        operator == ":" and value.islower() and len(value) >= 6 and candidate.after in {"", "\n", "\r", ",", ";", '"'}
    )


def check_prose(candidate: Candidate, words: WordFlags) -> bool:
    """A word in a sentence that is no word: it has a digit or a mark inside."""
    value = candidate.value.rstrip(".,:;!?)]}*")
    inner = Candidate(value, name=candidate.name)
    if len(value) < 4 or is_plain(inner, words) or ALGORITHM.match(value) or EMAIL.match(value) or PATH.match(value):
        return False
    if NUMBER.match(value):
        return value.isdigit() and len(value) >= 5
    if value[-1].isdigit() and value[:-1].lower() in words.plain:
        return False
    return (has_digit(value) or bool(set(value) & PROSE_MARKS)) and not is_named_word(value)


def check_secret(candidate: Candidate, words: WordFlags) -> bool:
    """Tokens and keys: long enough, and not made of plain words unless the name leaves no doubt."""
    value = candidate.value
    strong = "secret" in candidate.name or "api" in candidate.name or "private" in candidate.name
    short = 6 if candidate.quoted and (strong or "key" in candidate.name) else 8
    if len(value) < short or not TOKEN.match(value) or is_plain(candidate, words):
        return False
    if names_itself(candidate, words) or (not strong and is_harmless(candidate, words)):
        return False
    if candidate.field and strong:
        return True
    if NUMBER.match(value) or EMAIL.match(value):
        return False
    if candidate.operator.strip() == "," and not has_digit(value):
        return False
    if has_digit(value):
        if ALGORITHM.match(value) or (not candidate.quoted and is_name_in_code(candidate)):
            return False
        return (strong and (candidate.quoted or candidate.operator == "=")) or not is_wordy(value)
    return is_lettered_secret(candidate, strong)


def is_name_in_code(candidate: Candidate) -> bool:
    """A type such as Ed25519PrivateKey, or a variable with a number at its end."""
    value = candidate.value
    numbered = len(value) < 16 and value.rstrip("0123456789").replace("_", "").isalpha()
    return bool(TYPE.match(value)) or (numbered and candidate.operator != "=")


def is_lettered_secret(candidate: Candidate, strong: bool) -> bool:
    value = candidate.value
    if not value.isascii() or not value.isalpha():
        return has_mark(value.rstrip("=")) and not is_wordy(value) and entropy(value) >= 3.0
    if value.islower() or value.isupper():
        return len(value) >= 20 or (strong and candidate.quoted and len(value) >= 10 and value.islower())
    return len(value) >= 16 and not is_wordy(value)


def check_key(candidate: Candidate, words: WordFlags) -> bool:
    """A field named key may hold anything, so only a long random string of all kinds of characters counts."""
    value = candidate.value
    if len(value) < 20 or not re.fullmatch(r"[\w+/=.~-]+", value, re.ASCII) or is_plain(candidate, words):
        return False
    parts = name_parts(f"{candidate.before}_{candidate.name}")
    digest = any(part.rstrip("0123456789") in words.digest or part in words.harmless for part in parts)
    return check_mixed(candidate, words) and entropy(value) >= 3.7 and not is_wordy(value) and not digest


def check_header(candidate: Candidate, words: WordFlags) -> bool:
    value = candidate.value
    if len(value) < 6 or is_plain(candidate, words) or names_itself(candidate, words) or NUMBER.match(value):
        return False
    if has_digit(value):
        return not is_named_word(value) or len(value) >= 24
    return len(value) >= 8 and not is_wordy(value)


def check_login(candidate: Candidate, words: WordFlags) -> bool:
    """In an address or after a flag everything is the password, unless it is a placeholder."""
    return not is_reference(candidate.value) and not is_stand_in(candidate.value)


def check_flag(candidate: Candidate, words: WordFlags) -> bool:
    value = candidate.value
    return not is_plain(candidate, words) and (has_digit(value) or has_mark(value)) and not is_named_word(value)


def check_env(candidate: Candidate, words: WordFlags) -> bool:
    value = candidate.value
    return len(value) >= 4 and not is_plain(candidate, words) and not names_itself(candidate, words)


def check_quoted(candidate: Candidate, words: WordFlags) -> bool:
    value = candidate.value
    return not is_plain(candidate, words) and not names_itself(candidate, words) and is_passphrase(value, words)


def check_mixed(candidate: Candidate, words: WordFlags) -> bool:
    value = candidate.value
    return has_digit(value) and value != value.lower() and value != value.upper() and not value.endswith(DOCUMENTED)


def check_digit(candidate: Candidate, words: WordFlags) -> bool:
    return has_digit(candidate.value)


def check_any(candidate: Candidate, words: WordFlags) -> bool:
    return True


def check_base64_login(candidate: Candidate, words: WordFlags) -> bool:
    return b":" in decoded(candidate.value)[1:-1]


Check = Callable[[Candidate, WordFlags], bool]

CHECKS: dict[str, Check] = {
    "any": check_any,
    "base64-login": check_base64_login,
    "digit": check_digit,
    "env": check_env,
    "flag": check_flag,
    "header": check_header,
    "key": check_key,
    "login": check_login,
    "mixed": check_mixed,
    "password": check_password,
    "prose": check_prose,
    "quoted": check_quoted,
    "secret": check_secret,
}
