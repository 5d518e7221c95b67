"""Text as the word index sees it, and questions put to it.

The tokenizer splits on everything that is not a letter or digit, which leaves CJK runs whole and camelCase words
and codes glued. They are cut up here, the same way for records and questions.
"""

from __future__ import annotations

import re
import threading
from itertools import pairwise

import apsw

# Han, kana and hangul: scripts written without spaces, or searched by part.
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af\U00020000-\U0002fa1f"
_CJK_RUN = re.compile(f"[{_CJK}]+")
_PLAIN = re.compile(r"[A-Za-z0-9]+")
_CODE = re.compile(r"[A-Z]{1,12}([0-9]{3,12})")  # E4031, ORA00942, CVE20261234; not V2 or A4
_CAMEL_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_WORD = re.compile(r"\w+")
# Each is tried at the beginning of a word only and gives nothing back: a word may be two million characters long.
_SNAKE = re.compile(r"(?<!\w)_*+([A-Za-z0-9]++(?:_++[A-Za-z0-9]++)+)", re.ASCII)
_ENDING = re.compile(r"(?<=[\w-])\.([A-Za-z][A-Za-z0-9]{0,7})(?!\w)", re.ASCII)
_FILE_STEM = re.compile(r"[\w-]++\Z", re.ASCII)
_FILE_CHARS = 100  # of a file's name before its ending
_HUMP = re.compile(r"[a-z][A-Z]|[A-Z]{2}[a-z]")
# What git calls a commit, in full or in short; a number or a word alone is none.
_HEX = re.compile(r"\b[0-9a-f]{8,64}+\b", re.ASCII | re.IGNORECASE)
_HASH = re.compile(r"(?=\d*[a-f])(?=[a-f]*\d)[0-9a-f]+", re.ASCII | re.IGNORECASE)
HASH_CHARS = 7  # of a hash that git shows at least
_WIDE = re.compile("[\uff10-\uff19\uff21-\uff3a\uff41-\uff5a]")  # full-width digits and letters
_NARROW = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
_PICTURE = re.compile("[\u2600-\u27bf\u2b50\u2b55\U0001f300-\U0001faff]")  # emoji and the like

# As long as the longest text that can be stored: nothing saved may be unsearchable.
INDEXED_CHARS = 2_000_000
CAMEL_CHARS = 200
QUERY_CHARS = 20_000
QUERY_WORDS = 64

NAME_PARTS = 12  # of a name that is joined in pairs
# Endings of names that are files' names: "e.g" and "then.next" are none.
_ENDINGS = frozenset(
    "bash bat c cc cfg clj cmake conf cpp cs css csv cxx dart diff env erl ex exs fish go gradle graphql h hcl hpp hs "
    "htm html ini ipynb java jinja jl js json jsonl jsx kt kts less lock log lua m md mjs ml nix patch php pl plist "
    "proto ps1 psql py pyi r rb rs rst sass scala scss sh sql svelte svg swift tex tf toml ts tsv tsx txt vue wasm xml "
    "yaml yml zig zsh".split()
)

STOP_WORDS = frozenset(
    "a an and are as at be been but by can did do does for from had has have how i if in into is it its me "
    "my no not of on or our so than that the their them then there these they this to was we were what when "
    "where which who why will with would you your about also any could just should some such us".split()
)


_LOCAL = threading.local()


def stems(text: str) -> list[str]:
    """The text's words as FTS5's porter tokenizer cuts and stems them."""
    cut = getattr(_LOCAL, "cut", None)
    if cut is None:  # one for each thread: a connection serves one at a time
        _LOCAL.db = apsw.Connection(":memory:")
        cut = _LOCAL.cut = _LOCAL.db.fts5_tokenizer("porter", ["unicode61", "remove_diacritics", "2"])
    found: list[str] = cut(
        text.encode("utf-8", "replace"),
        apsw.FTS5_TOKENIZE_DOCUMENT,
        None,
        include_offsets=False,
        include_colocated=False,
    )
    return found


def index_text(text: str) -> str:
    """The text with CJK runs as single characters and pairs, and camelCase words and codes also in parts."""
    text = text[:INDEXED_CHARS]
    if not text.isascii():
        text = _CJK_RUN.sub(lambda run: f" {_cjk_terms(run.group())} ", text)
        text = _PICTURE.sub(lambda found: f" {_picture_term(found.group())} ", text)
    if text.islower():
        return text
    parts = [part for word in _PLAIN.findall(text) for part in _parts(word)]
    return f"{text} {' '.join(parts)}" if parts else text


def code_terms(text: str) -> list[str]:
    """Words by which names in code are also found: neighbouring parts of a name as one word (`username` in getUserName
    and user_name), a file's name as one word, the first seven characters of a commit's hash, letters of full width as
    usual ones."""
    text = text[:INDEXED_CHARS]
    found: list[str] = []
    if _HUMP.search(text):
        for word in _PLAIN.findall(text):
            if is_camel(word):
                found += _joined(_CAMEL_PART.findall(word))
    if "_" in text:
        for name in _SNAKE.findall(text):
            found += _joined(name.split("_"))
    found += _of_whole(text)
    found += _hashes(text)
    return list(dict.fromkeys(found))


def _hashes(text: str) -> list[str]:
    """The first characters of each hash."""
    return [word[:HASH_CHARS].lower() for word in _HEX.findall(text) if _HASH.match(word)]


def _joined(parts: list[str]) -> list[str]:
    """Each two neighbouring parts of a name as one word, and all of them."""
    parts = [part.lower() for part in parts if part]
    pairs = [first + second for first, second in pairwise(parts[:NAME_PARTS])]
    return [*pairs, "".join(parts)] if len(parts) > 2 else pairs


def _of_whole(text: str) -> list[str]:
    """Names of files as one word, and what is written in full width as usual letters."""
    found: list[str] = []
    if "." in text:
        for ending in _ENDING.finditer(text):
            if ending[1].lower() in _ENDINGS:
                stem = _FILE_STEM.search(text, max(0, ending.start() - _FILE_CHARS), ending.start())
                name = stem[0].replace("_", "").replace("-", "") if stem is not None else ""
                if name:
                    found.append(f"{name}{ending[1]}".lower())
    if not text.isascii() and _WIDE.search(text):
        for word in _WORD.findall(text):
            if _WIDE.search(word):
                narrow = word.translate(_NARROW)
                found += [part.lower() for part in _PLAIN.findall(narrow)]
    return found


def is_camel(word: str) -> bool:
    """Whether a word is made of several, as getUserName; no name is longer than this."""
    return len(word) <= CAMEL_CHARS and not word[1:].islower() and word != word.lower() and word != word.upper()


def _parts(word: str) -> list[str]:
    """What a word is also found by: the words that it is made of, or the number in a code."""
    if is_camel(word):
        return _CAMEL_PART.findall(word)
    code = _CODE.fullmatch(word)
    return [code[1]] if code else []


def _cjk_terms(run: str) -> str:
    pairs = [run[at : at + 2] for at in range(len(run) - 1)]
    return " ".join([*run, *pairs])


def _picture_term(picture: str) -> str:
    """A picture as a word: the tokenizer drops what is neither letter nor digit."""
    return f"picture{ord(picture):x}"


def query(question: str) -> tuple[str, ...]:
    """The question's words, without stop words unless there are no others; empty if it has none."""
    terms: list[str] = []
    for piece in _pieces(question):
        terms.extend(term for term in piece if term not in terms)
        if len(terms) >= QUERY_WORDS:
            break
    useful = [term for term in terms if term not in STOP_WORDS] or terms
    return tuple(useful[:QUERY_WORDS])


def _pieces(question: str) -> list[list[str]]:
    pieces = [[_picture_term(found)] for found in _PICTURE.findall(question[:QUERY_CHARS])]
    for word in _WORD.findall(question[:QUERY_CHARS]):
        if _CJK_RUN.search(word):
            pieces.extend(_cjk_query(run) for run in _CJK_RUN.findall(word))
            word = _CJK_RUN.sub(" ", word).strip()
        pieces.append([part.lower() for part in word.replace("_", " ").split()])
        if _PLAIN.fullmatch(word):
            pieces.append([part.lower() for part in _parts(word)])
    pieces.append(_code_query(question[:QUERY_CHARS]))
    return pieces


def _code_query(question: str) -> list[str]:
    """Of `code_terms` those by which a name is meant as a whole."""
    names = [name.replace("_", "").lower() for name in _SNAKE.findall(question)] if "_" in question else []
    alone = question.strip()  # a hash of digits alone is one only if nothing stands beside it
    prefixes = [alone[:HASH_CHARS].lower()] if _HEX.fullmatch(alone) else _hashes(question)
    return [*names, *_of_whole(question), *prefixes]


def _cjk_query(run: str) -> list[str]:
    return [run] if len(run) == 1 else [run[at : at + 2] for at in range(len(run) - 1)]
