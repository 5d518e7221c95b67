"""Coding sessions, one-line facts and long notes, with questions and which records answer them.

Made from the stories in coding_stories.py by a seeded draw: the same stories are told of several services with other
files, numbers and error codes, so every question has look-alikes that share most of its words, and many questions
share few words with their answer.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from coding_stories import FACTS, FILLER, NOTES, SERVICES, STORIES, Service, Story
from sets import Collection, Document, Query

SEED = 20260
START_MS = 1_740_000_000_000
HOUR_MS = 3_600_000
TURN_MS = 40_000
FILLING = 0.45  # share of turns followed by small talk or tool noise
TELLINGS = 3  # services each story is told of


def collections() -> list[Collection]:
    """Turns of sessions; the same and one-line facts as records without sessions; long notes and whole sessions."""
    chance = random.Random(SEED)
    told = _sessions(chance)
    return [
        Collection("code sessions", tuple(told.documents), tuple(told.queries)),
        _memories(told),
        _long(told, chance),
    ]


@dataclass(slots=True)
class Told:
    """What was told so far."""

    documents: list[Document] = field(default_factory=list)
    queries: list[Query] = field(default_factory=list)
    service: dict[str, str] = field(default_factory=dict)  # of each session


def _sessions(chance: random.Random) -> Told:
    told = Told()
    plan = [(story, service) for story in STORIES for service in chance.sample(SERVICES, TELLINGS)]
    chance.shuffle(plan)
    for number, (story, service) in enumerate(plan):
        _tell(story, service, number, chance, told)
    return told


def _tell(story: Story, service: Service, number: int, chance: random.Random, told: Told) -> None:
    """One session: the story's turns with small talk and tool noise between them."""
    slots = _slots(service, chance)
    session = f"session-{number:03d}"
    told.service[session] = service.name
    turns: list[tuple[str, str]] = []
    for name, text in story.turns.items():
        turns.append((name, text))
        if chance.random() < FILLING:
            turns.append(("", chance.choice(FILLER)))
    ids = {name: f"{session}:{place}" for place, (name, _) in enumerate(turns)}
    start = START_MS + number * 9 * HOUR_MS
    told.documents += [
        Document(f"{session}:{place}", text.format(**slots), session, start + place * TURN_MS)
        for place, (_, text) in enumerate(turns)
    ]
    told.queries += [
        Query(question.format(**slots), frozenset(ids[name] for name in answers.split("+")), category)
        for answers, category, question in story.questions
    ]


def _slots(service: Service, chance: random.Random) -> dict[str, str]:
    return {
        "svc": service.name,
        "about": service.about,
        "file": chance.choice(service.files),
        "func": chance.choice(service.functions),
        "line": str(chance.randint(20, 480)),
        "code": f"{service.prefix}-{chance.randint(1000, 9999)}",
        "sha": f"{chance.getrandbits(28):07x}",
        "num": str(chance.choice((12, 20, 25, 40, 64, 90, 120))),
        "ms": str(chance.randint(210, 9800)),
        "port": str(chance.randint(3000, 9900)),
        "pid": str(chance.randint(300, 32000)),
    }


def _memories(told: Told) -> Collection:
    """Records that stand alone: each says which service it is about, as a memory would."""
    loose = [
        Document(record.id, f"{told.service[record.session or '']}: {record.text}", None, record.at)
        for record in told.documents
    ]
    facts = [
        Document(f"fact:{number}", text, None, START_MS + number * HOUR_MS) for number, (text, _) in enumerate(FACTS)
    ]
    asked = [
        Query(question, frozenset({f"fact:{number}"}), "one-line fact")
        for number, (_, questions) in enumerate(FACTS)
        for question in questions
    ]
    return Collection("memories, no sessions", (*loose, *facts), (*told.queries, *asked))


def _long(told: Told, chance: random.Random) -> Collection:
    """Records of 80 to 200 words: notes, look-alikes of notes that do not answer, and sessions in one piece."""
    texts: dict[str, list[str]] = {}
    for record in told.documents:
        texts.setdefault(record.session or "", []).append(record.text)
    records = [(session, "\n".join(turns)) for session, turns in texts.items()]
    records += [(f"note:{number}", text) for number, (text, _) in enumerate(NOTES)]
    records += [(f"other:{number}", _elsewhere(text)) for number, (text, _) in enumerate(NOTES)]
    chance.shuffle(records)
    # Ten records a day make a session: what stands beside a long record says nothing about it.
    documents = [
        Document(id, text, f"day-{place // 10}", START_MS + place * HOUR_MS) for place, (id, text) in enumerate(records)
    ]
    notes = [
        Query(question, frozenset({f"note:{number}"}), "long note")
        for number, (_, questions) in enumerate(NOTES)
        for question in questions
    ]
    sessions = [
        Query(asked.text, frozenset(id.split(":")[0] for id in asked.gold), "whole session") for asked in told.queries
    ]
    return Collection("long records", tuple(documents), (*notes, *sessions))


_ELSEWHERE = {
    "billing": "reporting",
    "Postgres": "the cache",
    "invoice": "export",
    "customer": "tenant",
    "Tuesday": "Thursday",
    "staging": "the sandbox",
    "Kafka": "the job queue",
    "memory": "disk space",
    "Redis": "memcached",
    "mobile": "desktop",
    "search": "audit",
    "login": "sign-out",
    "TypeScript": "Kotlin",
    "S3": "the file share",
}


def _elsewhere(text: str) -> str:
    """The same paragraph about other things, its second half left out."""
    sentences = text.split(". ")
    text = ". ".join(sentences[: max(2, len(sentences) // 2)]) + "."
    for here, there in _ELSEWHERE.items():
        text = text.replace(here, there)
    return text
