"""Why a record answers: what its score is made of, and where the question's words stand in it."""

from __future__ import annotations

from holdfast.core.model import Json, Memory, Observation
from holdfast.recall.hits import Hit
from holdfast.store import tokenizer

_DIGITS = 4


def why(hit: Hit, question: str) -> Json:
    """Each part of the score, the likeness in meaning, and the fields that hold words of the question.

    `neighbours` is the share of words and meaning that comes from records beside it in its session; it is no
    further part of the sum. Nor are `covered`, the share of the question's rarity that the record's words hold, and
    the confidence that follows from it and the likeness.
    """
    parts = {name: round(value, _DIGITS) for name, value in hit.parts._asdict().items()}
    likeness = None if hit.cosine is None else round(hit.cosine, _DIGITS)
    return {
        "score": round(hit.score, _DIGITS),
        **parts,
        "likeness": likeness,
        "covered": round(hit.covered, _DIGITS),
        "confidence": round(hit.confidence.hit, _DIGITS),
        "fields": matched(hit.record, question),
    }


def matched(record: Memory | Observation, question: str) -> dict[str, list[str]]:
    """Which of the question's words stand in which field, stemmed."""
    asked = {stem for word in tokenizer.query(question) for stem in tokenizer.stems(word)}
    found = {
        name: sorted(asked & {*tokenizer.stems(tokenizer.index_text(text)), *_code_stems(text)})
        for name, text in _fields(record).items()
    }
    return {name: stems for name, stems in found.items() if stems}


def _code_stems(text: str) -> list[str]:
    return tokenizer.stems(" ".join(tokenizer.code_terms(text)))


def _fields(record: Memory | Observation) -> dict[str, str]:
    common = {"title": record.title, "concepts": " ".join(record.concepts), "files": " ".join(record.files)}
    if isinstance(record, Memory):
        return {**common, "content": record.content}
    return {**common, "narrative": record.narrative, "facts": " ".join(record.facts)}
