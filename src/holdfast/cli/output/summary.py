"""What a command answers a person in a line or two; the whole answer is there with --json."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from holdfast.cli.output.folder_hints import with_folder

if TYPE_CHECKING:
    from holdfast.core.model import Json


def remembered(answer: Json) -> list[str]:
    """What was saved, for which project, and what it has to do with other memories."""
    memory = answer["memory"]
    if answer.get("deduplicated"):
        lines = [f"Already known: {memory['id']}, {_for(memory)}."]
    else:
        version = f" as version {memory['version']}" if memory["version"] > 1 else ""
        lines = [f"Saved {memory['id']}{version}, {_for(memory)}."]
    if memory["supersedes"] and not answer.get("deduplicated"):
        lines.append(f"It supersedes {', '.join(memory['supersedes'])}.")
    if others := answer.get("similarTo"):
        told = "; ".join(f"{one['id']} ({one['title']})" for one in others)
        lines.append(f"Similar memories that are still recalled: {told}.")
    if answer.get("redacted"):
        lines.append(f"Redacted before it was saved: {', '.join(answer['redacted'])}.")
    return lines


def lesson_saved(answer: Json) -> list[str]:
    lesson = answer["lesson"]
    verb = "Saved" if answer["action"] == "created" else "Already known; confidence raised:"
    return [f"{verb} {lesson['id']}, {_for(lesson)}."]


def action_created(answer: Json) -> list[str]:
    return [f"Saved {answer['action']['id']}, {_for(answer['action'])}."]


def forgotten(answer: Json) -> list[str]:
    """What is gone, and which snapshots may still hold it."""
    counts = ", ".join(f"{count} {name}" for name, count in answer["counts"].items())
    lines = [f"Forgotten: {counts}."]
    if held := answer.get("snapshots"):
        lines.append(f"Snapshots made since then: {', '.join(held)}.")
    return [*lines, answer["hint"]] if "hint" in answer else lines


def holds_again(answer: Json) -> list[str]:
    """What is told as current again."""
    of = ", ".join(dict.fromkeys(one["targetId"] for one in answer["restored"]))
    return [f"Holds again: {of}. Marks removed: {len(answer['restored'])}."]


def salvaged(answer: Json) -> list[str]:
    """What of a damaged memory is readable, what of it was missing, and what is gone."""
    lines = [f"Read from {answer['source']}: {_counts(answer['read'])}."]
    if answer["lost"] is None:
        lines.append("How much cannot be read there is not known.")
    elif answer["lost"]:
        lines.append(f"Cannot be read there: {_counts(answer['lost'])}.")
    if answer.get("inNeither"):
        lines.append(f"Of them not in the live memory either: {_counts(answer['inNeither'])}.")
    if "added" in answer:
        would = "Would be " if answer["dryRun"] else ""
        done = [f"{word}: {_counts(answer[word])}" for word in ("added", "changed", "removed") if answer[word]]
        lines += [f"{would}{one}.".capitalize() for one in done] or ["The live memory has all of it."]
    if answer.get("conflictCount"):
        which = ", ".join(f"{one['table']} {one['id']}" for one in answer["conflicts"])
        lines.append(f"Changed on both sides: {answer['conflictCount']} ({which}). Neither version is lost.")
    if answer.get("before"):
        lines.append(f"What was live before is snapshot {answer['before']}. To go back: holdfast snapshot undo --yes")
    return [*lines, *(answer[name] for name in ("waiting", "next") if answer.get(name))]


def recovered(answer: Json) -> list[str]:
    """What was damaged, what was done about it, and whether the memory is sound now."""
    if not answer["steps"]:
        return ["Nothing is damaged. Nothing was changed."]
    would = "Would be done" if answer["dryRun"] else "Done"
    lines = [f"Found: {answer['damage']}.", f"{would}: {', then '.join(answer['steps'])}."]
    if answer.get("snapshot"):
        upto = f" and the journal up to {answer['upto']}" if "upto" in answer else ""
        lines.append(f"Snapshot: {answer['snapshot']}{upto}.")
    lines += [f"Missing: {one}" for one in answer.get("missing", ())] + list(answer.get("warnings", ()))
    if "sound" in answer:
        lines.append(f"The memory is {'sound' if answer['sound'] else 'still damaged'}.")
    told = salvaged({"next": "", **answer}) if "read" in answer else []
    return [*lines, *told] if told else [*lines, *filter(None, [answer.get("next")])]


def rules_imported(answer: Json) -> list[str]:
    """What became of the rules of a file."""
    counts = ", ".join(f"{answer[name]} {name}" for name in ("added", "changed", "unchanged"))
    lines = [f"{answer['file']}, {_for(answer)}: {counts}."]
    if gone := answer["removed"]:
        remove = with_folder("remove one with: holdfast forget ID")
        lines.append(f"No longer in the file ({len(gone)}), still recalled; {remove}")
        lines += [f"  {one['id']}  {one['title']}" for one in gone]
    return lines


def drilled(answer: Json) -> list[str]:
    """What came of a drill, and whether there is a receipt that others can check."""
    drill = answer["drill"]
    lines = [f"{drill['outcome']}: {answer['summary']}."]
    if answer["sound"]:
        key = with_folder(" Sign receipts with a key: holdfast key new") if drill["receipt"] == "unsigned" else ""
        lines.append(f"Receipt {drill['id']}, {drill['receipt']}.{key}")
    return [*lines, answer["hint"]] if answer.get("hint") else lines


def recall_checked(answer: Json) -> list[str]:
    """Which questions would be answered differently, by the ids of their records."""
    lines = [f"{answer['summary']}."]
    for row in answer["changed"]:
        of = f", {row['project']}" if row["project"] else ""
        lines.append(f"{row['source'] or row['question']}  asked {row['askedAt'][:16]}{of}")
        lines += [f"  {name}: {', '.join(row[name])}" for name in ("before", "now", "missing") if row[name]]
    if answer["changed"]:
        lines.append("To take the new answers as right: holdfast recall-check --accept")
    return lines


def reasons(why: Json) -> str:
    """Why a hit is there: where the words of the question stand, and the parts of its score."""
    stands = [f"{'/'.join(stems)} in {field}" for field, stems in why["fields"].items()]
    known = {"fields", "score", "likeness", "covered", "confidence"}
    parts = [f"{name} {value:+.2f}" for name, value in why.items() if name not in known and abs(value) >= LEAST_PART]
    likeness = [] if why["likeness"] is None else [f"likeness {why['likeness']:.2f}"]
    sure = []
    if "confidence" in why:  # an older server says nothing of it
        sure = [f"covers {why['covered']:.0%} of the question", f"confidence {why['confidence']:.2f}"]
    return "; ".join(
        [f"score {why['score']:.2f}: {', '.join(parts) or 'no matching terms'}", *likeness, *sure, *stands]
    )


def _counts(rows: Json) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in rows.items()) or "nothing"


def _for(record: Json) -> str:
    """Whether it is for chats, one project or all projects."""
    if record.get("scope") not in (None, "global"):
        return f"for chats ({record['scope']})"
    return f"for project {record['project']}" if record.get("project") else "for all projects"


def graph_shown(answer: Json) -> list[str]:
    """The knowledge graph: as the lines of a file if these were requested, else for a person."""
    if "text" in answer:
        return str(answer["text"]).split("\n")
    lines = []
    for one in answer["entities"]:
        lines += [f"{one['name']} ({one['entityType']})", *(f"  {text}" for text in one["observations"])]
    return [*lines, *(f"{one['from']} {one['relationType']} {one['to']}" for one in answer["relations"])]


LEAST_PART = 0.005  # a part that two digits show
BRIEF: dict[str, Callable[[Json], list[str]]] = {
    "remember": remembered,
    "lesson_save": lesson_saved,
    "action_create": action_created,
    "forget": forgotten,
    "snapshot_salvage": salvaged,
    "recover": recovered,
    "still_true": holds_again,
    "import_rules": rules_imported,
    "drill": drilled,
    "recall_check": recall_checked,
    "read_graph": graph_shown,
    "search_nodes": graph_shown,
    "open_nodes": graph_shown,
    "memory_tool": lambda answer: str(answer["content"]).split("\n"),
}
