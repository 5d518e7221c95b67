"""At most eight lowercase terms for what an event is about, best first, always in the same order."""

from __future__ import annotations

import re
from collections.abc import Iterator

from holdfast.intake.event.details import Details
from holdfast.intake.event.hook_event import HookEvent
from holdfast.intake.event.stopwords import CJK_STOPS, STOPWORDS
from holdfast.intake.event.text_cleanup import body_text, values_text
from holdfast.intake.event.touched_files import has_known_ending, patch_of

MAX_CONCEPTS = 8
_WORD_CHARS = 40
_CJK_CHARS = 8

_CJK = r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u3041-\u30ff\uac00-\ud7af"
_WORD = re.compile(rf"[^\W\d_{_CJK}][^\W{_CJK}]*(?:[.+#-]{{1,2}}[^\W{_CJK}]+)*(?:\+\+|#)?")
_CJK_RUN = re.compile(rf"[{_CJK}]{{2,}}")
_CJK_SPLIT = re.compile(f"(?:{'|'.join(map(re.escape, CJK_STOPS))})+")
_ERROR_NAME = re.compile(r"\b[A-Z][A-Za-z0-9]{2,60}(?:Error|Exception|Fault|Warning)\b")
_LIBRARY = re.compile(
    r"(?:^|\n)\s*(?:from|import)\s+([A-Za-z_]\w{1,39})"
    r"|require\(['\"]([@\w./-]{2,40})['\"]\)"
    r"|\b(?:pip|uv|npm|pnpm|yarn|cargo|gem|go)\s+(?:pip\s+)?(?:install|add|get|i)\s+(?:-\S+\s+)*([@\w./-]{2,40})"
)
_FIELD_NAME = re.compile(r'"[A-Za-z_][\w-]{0,60}"\s*:')  # the text may be JSON: its values count, not its names
_MARK = re.compile(r"\[(?:image|binary|image data extracted|REDACTED[^\]\n]{0,40})\]")
_LONG_PATH = re.compile(r"(?:~|\.{1,2})?(?:/[\w.@-]+)+|(?<![\w@.-])[\w@.-]+(?:/[\w@.-]+){2,}")
_CAMEL = re.compile(r"[a-z][A-Z]")
_HEX = re.compile(r"(?=[a-f]*\d)[0-9a-f-]{8,}")
_GENERIC_STEMS = frozenset("index main init mod lib test tests app utils helpers readme setup conftest types".split())
_DULL_PROGRAMS = frozenset(
    "cd ls cat echo pwd head tail sed awk which mkdir rm cp mv touch export source sudo env true false "
    "find grep rg".split()
)


def concepts_of(happening: HookEvent, details: Details) -> tuple[str, ...]:
    """Highest score first; equal scores in order of appearance."""
    scores: dict[str, float] = {}
    for term, score in _scored(happening, details):
        scores[term] = min(scores.get(term, 0.0) + score, score * 3 + scores.get(term, 0.0) * 0.5)
    ranked = sorted(scores, key=lambda term: -scores[term])
    return tuple(ranked[:MAX_CONCEPTS])


def _scored(happening: HookEvent, details: Details) -> Iterator[tuple[str, float]]:
    printed = body_text(happening.output) or values_text(happening.output)
    output = _FIELD_NAME.sub(" ", printed[:3_000] if happening.kind != "file_read" else printed[:1_500])
    for name in _ERROR_NAME.findall(f"{details.outcome.error_line}\n{happening.error[:4_000]}"):
        yield name.lower()[:_WORD_CHARS], 5.0
    for path in details.files[:8]:
        yield from ((stem, 3.0) for stem in _stem_of(path))
    yield from ((name, 3.0) for name in _program_of(details.command))
    written = _written(happening)
    yield from ((name, 2.5) for name in _libraries(f"{written}\n{details.command[:2_000]}"))
    for text, weight in (
        (happening.prompt[:6_000], 2.0),
        (happening.said[:6_000], 1.5),
        (_aim_of(happening, details), 2.0),
        (details.outcome.error_line, 1.5),
        (written[:3_000], 0.6),
        (output, 0.3),
    ):
        yield from ((term, weight * (1.5 if special else 1.0)) for term, special in terms_of(text))


def _written(happening: HookEvent) -> str:
    """The beginning of what an edit put into a file."""
    patch = patch_of(happening)
    if patch:
        return "\n".join(line[1:] for line in patch[:6_000].splitlines() if line.startswith("+"))
    texts = (happening.input.get(key) for key in ("new_string", "newString", "new_str", "content", "file_text"))
    return "\n".join(text[:3_000] for text in texts if isinstance(text, str))


def _aim_of(happening: HookEvent, details: Details) -> str:
    """What the step was for, in the client's own words."""
    said = [happening.input.get(key) for key in ("description", "prompt", "explanation")]
    plain = "" if patch_of(happening) else happening.input_text[:1_000]
    return "\n".join([details.query, plain, *(text[:1_000] for text in said if isinstance(text, str))])


def terms_of(text: str) -> Iterator[tuple[str, bool]]:
    """Every meaningful term of a text, with whether it is an identifier rather than a plain word."""
    text = _LONG_PATH.sub(" ", _MARK.sub(" ", text))
    for match in _WORD.finditer(text):
        word = match.group()
        term = word.lower().strip("._-")
        term = term.rpartition(".")[0] if has_known_ending(term) else term
        if _is_meaningful(term):
            yield (
                term,
                "_" in word.strip("_") or bool(_CAMEL.search(word)) or (word.isupper() and len(word) > 2),
            )
    for match in _CJK_RUN.finditer(text):
        for piece in _CJK_SPLIT.split(match.group()):
            if len(piece) >= 2:
                yield piece[:_CJK_CHARS], False


def _is_meaningful(term: str) -> bool:
    if not 3 <= len(term) <= _WORD_CHARS:
        return False
    return term not in STOPWORDS and not _HEX.fullmatch(term) and len(set(term)) > 1


def _stem_of(path: str) -> Iterator[str]:
    parts = [part for part in path.replace("\\", "/").split("/") if part]
    for part in reversed(parts[-2:]):
        stem = part.lstrip(".").split(".")[0].lower().strip("_")
        stem = stem.removeprefix("test_").removesuffix("_test")
        if stem in _GENERIC_STEMS:
            continue
        if _is_meaningful(stem):
            yield stem
        return


def _program_of(command: str) -> Iterator[str]:
    words = command[:200].split()
    while words and ("=" in words[0] or words[0] in ("sudo", "env", "time", "npx", "uvx")):
        words.pop(0)
    name = words[0].rpartition("/")[2].lower() if words else ""
    if name.isascii() and name.isalnum() and 2 <= len(name) <= 24 and name not in _DULL_PROGRAMS:
        yield name


def _libraries(text: str) -> Iterator[str]:
    for groups in _LIBRARY.findall(text):
        name = next(filter(None, groups)).strip("./-").lower()[:_WORD_CHARS]
        if _is_meaningful(name):
            yield name
