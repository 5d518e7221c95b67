"""The page that `holdfast --help` prints: all commands, sorted by what a person wants to do."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Mapping, Sequence

WIDEST = 100
NAME_WIDTH = 15

# The first words of all commands. A test checks that each stands here once.
SECTIONS: Mapping[str, Sequence[str]] = {
    "Set up": ("serve", "connect", "service", "migrate", "status", "doctor"),
    "Save and find": ("remember", "recall", "context", "memories", "memory", "note", "forget", "import", "export"),
    "Keep it safe": ("snapshot", "vault", "key", "verify", "recover", "drill", "recall-check", "guard", "follow",
                     "promote", "move"),
    "Look inside": ("overview", "sessions", "observations", "timeline", "replay", "profile", "graph", "commits", "show",
                    "watch", "audit", "file-history", "patterns", "related", "provenance", "vision-search"),
    "Correct what is known": ("evolve", "still-true", "change", "deprecate", "restore", "relate", "relations",
                              "address", "governance", "auto-forget", "lifecycle"),
    "What was learned": ("lessons", "lesson", "slots", "slot", "semantic", "procedural", "insights", "crystals",
                         "summarize", "consolidate", "reflect"),
    "Plan work": ("actions", "action", "frontier", "next", "lease", "checkpoint", "checkpoints", "sentinel", "sketch",
                  "routine", "signal", "team", "facet", "heal",
                  "coordination-remove"),
    "Check the server": ("health", "diagnostics", "flags", "token", "oauth"),
    "For agents and other programs": ("mcp", "hook", "observe", "session", "context-prompt", "smart-search", "enrich",
                                      "memory-tool", "memory-tool-undo", "knowledge-graph", "item", "import-jsonl",
                                      "bridge", "second-brain", "progenly", "compress-file", "obsidian-export", "mesh"),
}  # fmt: skip

# What the commands of two words are about.
GROUPS: Mapping[str, str] = {
    "action": "Create and update actions: work that is planned or under way.",
    "address": "List, add and move the addresses of memories, names such as core://project/database.",
    "crystals": "List the short notes about summarized sessions, or make them now.",
    "drill": "Restore a snapshot beside the live memory to see that it can be, and list what came of it.",
    "facet": "Tag records with dimension:value, and find them by their tags.",
    "governance": "Remove several memories, with a reason that the audit log keeps.",
    "graph": "Show how records, folders and concepts are connected.",
    "guard": "Watch the files in which other programs keep their memory, keep every version, and bring them back.",
    "item": "Read, find and remove items: values that applications and agent frameworks keep under exact keys.",
    "key": "Make, show, back up and trust the keys that sign and encrypt snapshots.",
    "knowledge-graph": "Read and search the entities, observations and relations of the knowledge graph.",
    "lesson": "Save, search, strengthen and delete lessons.",
    "mesh": "Bring the memories of several machines together through a vault.",
    "oauth": "Approve remote clients that request access by OAuth.",
    "replay": "Play back a recorded session step by step.",
    "routine": "Run kept steps again and again: each becomes an action.",
    "second-brain": "List, read and write pages of Markdown.",
    "sentinel": "Watch for a condition that actions wait for.",
    "service": "Keep the server running after you log out and after a restart of the machine.",
    "session": "Start and end a session, and link git commits to it.",
    "signal": "Send messages between agents, and read them.",
    "sketch": "Try out steps that are dropped unless they are promoted to actions.",
    "slot": "Read and write one slot, a small named text.",
    "snapshot": "Create, verify, compare, search and restore sealed copies of the whole memory.",
    "team": "Show records to the other agents of the tenant.",
    "token": "Create, list and revoke the tokens of clients.",
    "vault": "Copy snapshots to another place (a folder, S3, Hugging Face), check them and fetch them back.",
}


def help_page(commands: Sequence[tuple[str, str]]) -> str:
    """The page for commands given as words and summary."""
    summaries = {words: summary for words, summary in commands if " " not in words}
    lines = [
        "Memory for AI agents that is never lost.",
        "",
        "usage: holdfast COMMAND [options]",
        "       holdfast COMMAND --help   explains one command",
        "       holdfast --version        shows the version",
    ]
    for title, names in SECTIONS.items():
        lines += ["", f"{title}:"]
        for name in names:
            lines += _entry(name, summaries.get(name) or group_summary(name, commands))
    return "\n".join(lines) + "\n"


def group_summary(name: str, commands: Sequence[tuple[str, str]]) -> str:
    """What the commands of a group do, and their second words."""
    seconds = [words.split()[1] for words, _ in commands if words.startswith(f"{name} ")]
    return f"{GROUPS[name]} ({', '.join(seconds)})" if seconds else GROUPS[name]


def _entry(name: str, summary: str) -> list[str]:
    """A command and its summary, which goes on below itself."""
    indent, width = " " * (NAME_WIDTH + 3), min(WIDEST, shutil.get_terminal_size().columns)
    first = f"  {name:<{NAME_WIDTH}} "
    return textwrap.wrap(summary, width, initial_indent=first, subsequent_indent=indent, break_on_hyphens=False)
