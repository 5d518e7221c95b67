"""Text as the word index sees it, and questions put to it.

The tokenizer splits on everything that is not a letter or digit, which leaves CJK runs whole and camelCase words
and codes glued. They are cut up here, the same way for records and questions.
"""

from __future__ import annotations

import re
import threading

import apsw

# Han, kana and hangul: scripts written without spaces, or searched by part.
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af\U00020000-\U0002fa1f"
_CJK_RUN = re.compile(f"[{_CJK}]+")
_PLAIN = re.compile(r"[A-Za-z0-9]+")
_CODE = re.compile(r"[A-Z]{1,12}([0-9]{3,12})")  # E4031, ORA00942, CVE20261234; not V2 or A4
_CAMEL_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_WORD = re.compile(r"\w+")
_PICTURE = re.compile("[\u2600-\u27bf\u2b50\u2b55\U0001f300-\U0001faff]")  # emoji and the like

# As long as the longest text that can be stored: nothing saved may be unsearchable.
INDEXED_CHARS = 2_000_000
CAMEL_CHARS = 200
QUERY_CHARS = 20_000
QUERY_WORDS = 64

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
    return pieces


def _cjk_query(run: str) -> list[str]:
    return [run] if len(run) == 1 else [run[at : at + 2] for at in range(len(run) - 1)]
