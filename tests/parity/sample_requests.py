"""One explicit table of requests: at least one for every operation, in the order in which each surface sends them.

"<name>" stands for the id of a prepared record. A sample gives every argument that a tool has a default of its
own for, so that the same request means the same on every surface.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from parity_world import MARK, NOON, PROJECT

from holdfast.core.model import Json
from holdfast.ops.framework.operation import Operation
from holdfast.ops.registry import BY_NAME


@dataclass(frozen=True)
class Sample:
    name: str  # of the operation
    arguments: Json
    also: str = ""  # what sets it apart from the operation's other samples

    @property
    def operation(self) -> Operation:
        return BY_NAME[self.name]

    @property
    def id(self) -> str:
        return f"{self.name}-{self.also}" if self.also else self.name


_PRIVATE = "tg:FriendMessage:ada"

_FACT: Json = {
    "content": f"The {MARK} keeper's daughter knows every reef by name.",
    "type": "fact",
    "title": "Reefs",
    "concepts": ["reef", "keeper"],
    "files": [f"/w/{MARK}/reef.py"],
    "project": PROJECT,
    "agentId": "keeper",
    "sessionId": "s-build",
    "sourceObservationIds": ["<s-build/0>"],
    "createdAt": "2026-09-01T08:00:00Z",
    "ttlDays": 12.5,
    "importance": 4,
}

_KEEPER: Json = {"name": "Ada", "entityType": "keeper", "observations": []}
_KEEPS: Json = {"from": "Ada", "to": MARK, "relationType": "keeps"}

# One key follows another: the seeds are 00 01 02 … and 01 02 03 …
_FIRST_KEY = "did:key:z6MkehRgf7yJbgaGfYsdoAsKdBPE3dj2CYhowQdcjqSJgvVd"
_SUCCESSION = (
    '{"at":"2026-09-21T13:33:20.000Z","new":"did:key:z6MkneMkZqwqRiU5mJzSG3kDwzt9P8C59N4NGTfBLfSGE7c7",'
    f'"old":"{_FIRST_KEY}",'
    '"signature":"slIp3nGHf95vLk2jBZaRzxpNWmxU3lAjtTbFwxlE0bcEgSZrvtfHf2vAqbc0x0VrW1ZMaPIcCXl7IhnGpuuiAw"}'
)
_PROGENLY = {"memory": {"MEMORY.md": f"# Harbour\n\n- {MARK} tide tables\n"}, "memory_format": "colony-memory/1"}
_EXPORTED: Json = {
    "format": "holdfast-export/1",
    "memories": [{"id": "mem_from_elsewhere", "content": f"A smaller {MARK} stands to the north.", "type": "fact"}],
    "lessons": [{"id": "lsn_from_elsewhere", "content": f"Ring the bell of the {MARK} in fog.", "confidence": 0.7}],
    "memory": "not a list",
}

SAMPLES: tuple[Sample, ...] = (
    # intake
    Sample(
        "observe",
        {
            "sessionId": "s-new",
            "hookType": "post_tool_use",
            "timestamp": "2026-09-21T13:00:00Z",
            "data": {"tool_name": "Write", "tool_input": {"file_path": f"/w/{MARK}/stair.py"}, "tool_output": "ok"},
            "project": PROJECT,
            "cwd": f"/w/{MARK}",
            "agentId": "keeper",
        },
    ),
    Sample(
        "observe",
        {
            "sessionId": "s-new",
            "hookType": "user_prompt_submit",
            "timestamp": str(NOON),
            "data": {"prompt": "My key is ghp_Wq7nB2xKd9RtY4mLz8VcJ5hGf3sPa1eUo6Ti, paint on"},
        },
        also="with a secret in it",
    ),
    Sample(
        "agent_observe",
        {"sessionId": "s-build", "project": PROJECT, "text": f"The {MARK} door sticks.", "type": "discovery"},
    ),
    Sample("session_start", {"sessionId": "s-start", "project": PROJECT, "cwd": "/w", "title": "Morning"}),
    Sample(
        "session_transcript",
        {
            "sessionId": "s-start",
            "project": PROJECT,
            "cwd": "/w",
            "text": json.dumps({"role": "user", "content": f"Is the {MARK} lit?"}) + "\n",
            "firstLine": 1,
            "lastMessage": f"The {MARK} is lit.",
            "timestamp": "2026-09-21T13:00:00Z",
        },
    ),
    Sample("session_end", {"sessionId": "s-start"}),
    Sample(
        "session_commit",
        {
            "sha": "feedface0123",
            "sessionId": "s-build",
            "branch": "main",
            "repo": "git@example.org:coast.git",
            "message": "Add the stair",
            "author": "Ada",
            "authoredAt": "2026-09-21T12:00:00Z",
            "files": ["stair.py", "lamp.py"],
        },
    ),
    Sample("session_by_commit", {"sha": "abcbuild"}),
    Sample("commits", {"branch": "main", "limit": 2, "offset": 1}),
    Sample("sessions", {"project": PROJECT, "status": "completed", "limit": 5}),
    Sample("observations", {"sessionId": "s-build", "limit": 2, "offset": 1}),
    # memories
    Sample("remember", _FACT),
    Sample("remember", {"content": _FACT["content"], "project": PROJECT}, also="again"),
    Sample(
        "remember",
        {
            "content": f"Ada keeps the {MARK} key under the third stone.",
            "umo": _PRIVATE,
            "senderId": "ada",
            "scope": "personal",
            "visibility": "group",
            "owners": ["ben"],
            "shareIntoGroups": True,
            "memoryType": "permanent",
            "domain": "preferences",
            "disclosure": "when a key is lost",
            "subject": "Ada",
            "entities": ["Ada", "key"],
            "topics": ["keys"],
        },
        also="in a chat",
    ),
    Sample("agent_remember", {"content": "Nets dry on the quay.", "project": PROJECT, "agentId": "fisher"}),
    Sample(
        "remember_batch",
        {"memories": [{"content": "The tide table hangs by the door."}, {"content": ""}, {"type": "fact"}]},
    ),
    Sample("evolve", {"memoryId": "<memory-old>", "newContent": f"The {MARK} ledger is kept in blue ink now."}),
    Sample("memories", {"project": PROJECT, "latest": False, "limit": 3}),
    Sample("memories", {"count": True}, also="counted"),
    Sample("memories", {"asOf": "2026-09-21T14:05:00Z"}, also="as of a moment"),
    Sample("memories", {"umo": _PRIVATE, "senderId": "ada"}, also="in a chat"),
    Sample("memory", {"id": "<memory-old>"}),
    Sample("address_alias", {"id": "<memory-old>", "alias": f"facts://{MARK}/ledger"}),
    Sample("address_move", {"id": f"facts://{MARK}/ledger", "to": f"facts://{MARK}/book"}),
    Sample("memory_tool", {"command": "create", "path": "/memories/tides.md", "file_text": f"{MARK}\nlow\nhigh\n"}),
    Sample(
        "memory_tool",
        {"command": "str_replace", "path": "/memories/tides.md", "old_str": "low", "new_str": "ebb"},
        also="that changes a file",
    ),
    Sample(
        "memory_tool", {"command": "view", "path": "/memories/tides.md", "view_range": [1, 2]}, also="that shows it"
    ),
    Sample("memory_tool_undo", {"path": "/memories/tides.md"}),
    Sample(
        "create_entities",
        {"entities": [{"name": MARK, "entityType": "tower", "observations": ["white", "tall"]}, _KEEPER]},
    ),
    Sample("create_relations", {"relations": [_KEEPS]}),
    Sample("add_observations", {"observations": [{"entityName": MARK, "contents": ["white", "round"]}]}),
    Sample("read_graph", {"format": "jsonl"}),
    Sample("search_nodes", {"query": "ROUND"}),
    Sample("open_nodes", {"names": ["Ada"]}),
    Sample("delete_observations", {"deletions": [{"entityName": MARK, "observations": ["tall"]}]}),
    Sample("delete_relations", {"relations": [_KEEPS]}),
    Sample("delete_entities", {"entityNames": ["Ada"]}),
    Sample(
        "items_put",
        {
            "items": [
                {"namespace": ["lamps", MARK], "key": "north", "value": {"text": f"The {MARK} has a lens", "n": 3}},
                {"namespace": ["lamps", MARK], "value": {"n": 4}, "text": "a wick", "ttlMinutes": 5},
                {"namespace": ["lamps", "gone"], "key": "none", "value": None},
            ],
            "secrets": "refuse",
        },
    ),
    Sample("items_get", {"namespace": ["lamps", MARK, "old"], "keys": ["north", "south"]}),
    Sample("items_list", {"namespace": ["lamps", MARK, "old"], "limit": 5, "offset": 0, "last": True}),
    Sample(
        "items_search",
        {"namespace": ["lamps"], "query": "lens", "filter": {"n": {"$gte": 3}}, "limit": 5, "offset": 0},
    ),
    Sample("items_namespaces", {"prefix": ["lamps"], "suffix": ["*"], "maxDepth": 3, "limit": 5, "offset": 0}),
    Sample("items_touch", {"namespace": ["lamps", MARK], "keys": ["north"]}),
    Sample("items_pop", {"namespace": ["lamps", MARK]}),
    Sample("items_clear", {"namespace": ["lamps", MARK]}),
    Sample("addresses", {"under": f"facts://{MARK}", "limit": 5, "offset": 0}),
    Sample("memory", {"id": f"facts://{MARK}/lamp"}, also="by its address"),
    Sample("memory_deprecate", {"id": "<memory-other>"}),
    Sample("memory_restore", {"id": "<memory-other>"}),
    Sample("memory_change", {"id": "<memory-other>", "pinned": True}),
    Sample("lifecycle", {"dryRun": True, "expireDays": 20.5, "foldDays": 10, "graceDays": 3}),
    Sample("forget", {"memoryId": "<memory-forgotten>"}),
    Sample("forget", {"sessionId": "s-gone", "observationIds": ["<s-gone/0>", "<s-gone/1>"]}, also="observations"),
    Sample("governance_delete", {"memoryIds": ["<memory-governed>", "mem_unknown"], "reason": "asked for"}),
    Sample("auto_forget", {"dryRun": True}),
    # recall
    Sample(
        "search", {"query": f"{MARK} lamp", "limit": 3, "project": PROJECT, "concepts": ["coast"], "format": "full"}
    ),
    Sample("search", {"query": MARK, "format": "narrative", "token_budget": 40}, also="within a budget"),
    Sample(
        "search",
        {"query": MARK, "format": "compact", "kind": "observation", "before": str(NOON), "files": []},
        also="compact",
    ),
    Sample("search", {"query": f"{MARK} lamp", "format": "passages", "here": PROJECT, "limit": 3}, also="passages"),
    Sample("search", {"query": f"{MARK} key", "umo": _PRIVATE, "senderId": "ada", "format": "full"}, also="in a chat"),
    Sample("smart_search", {"query": f"{MARK} storm", "limit": 4, "project": PROJECT}),
    Sample("smart_search", {"query": MARK, "after": "3 days ago", "asOf": "now"}, also="with words for times"),
    Sample("smart_search", {"query": "x", "expandIds": ["<memory>", "<s-build/1>", "unknown"]}, also="expanded"),
    Sample("context", {"project": PROJECT, "sessionId": "s-build", "budget": 600}),
    Sample(
        "context",
        {"project": PROJECT, "umo": _PRIVATE, "senderId": "ada", "query": f"{MARK} key", "locale": "zh"},
        also="in a chat",
    ),
    Sample("context", {"project": PROJECT, "explain": True}, also="with its reasons"),
    Sample(
        "context_prompt",
        {"sessionId": "s-new", "prompt": f"How often does the {MARK} lamp turn?", "project": PROJECT, "cwd": "/w"},
    ),
    Sample("enrich", {"files": [f"/w/{MARK}/lamp.py"], "terms": ["wick", "horn"], "project": PROJECT}),
    Sample("timeline", {"anchor": "<s-build/1>", "before": 1, "after": 5, "project": PROJECT}),
    Sample("timeline", {"anchor": "yesterday"}, also="around words"),
    Sample("timeline", {"anchor": "now", "umo": _PRIVATE, "senderId": "ada"}, also="in a chat"),
    Sample("file_history", {"files": [f"/w/{MARK}/lamp.py"], "sessionId": "s-ended", "project": PROJECT}),
    Sample("patterns", {"project": PROJECT}),
    Sample("vision_search", {"queryText": f"{MARK} door", "topK": 3}),
    Sample("related", {"memoryId": "<memory>", "maxHops": 2, "minConfidence": 0.4}),
    Sample("provenance", {"id": "<memory>"}),
    Sample("provenance", {"id": "<s-build/0>"}, also="of an observation"),
    Sample("profile", {"project": PROJECT}),
    Sample("replay_sessions", {"limit": 2}),
    Sample("replay_load", {"sessionId": "s-build"}),
    Sample("replay_frames", {"sessionId": "s-build", "limit": 2, "offset": 1}),
    # lessons
    Sample("lessons", {"project": PROJECT, "minConfidence": 0.2, "limit": 5}),
    Sample(
        "lesson_save",
        {
            "content": "Check the anchor twice.",
            "context": "before a storm",
            "project": PROJECT,
            "confidence": 0.75,
            "tags": ["anchor", "storm"],
            "source": "manual",
            "sourceIds": ["<memory>"],
        },
    ),
    Sample("lesson_search", {"query": "wick storm", "project": PROJECT, "minConfidence": 0.1, "limit": 2}),
    Sample("lesson_strengthen", {"lessonId": "<lesson>"}),
    Sample("lesson_delete", {"lessonId": "<lesson-wrong>"}),
    # slots
    Sample("slots", {"project": PROJECT}),
    Sample("slot", {"label": "keepers"}),
    Sample(
        "slot_create",
        {
            "label": "tides",
            "content": "High at noon.",
            "scope": "project",
            "sizeLimit": 300,
            "pinned": False,
            "description": "When the water comes",
            "project": PROJECT,
        },
    ),
    Sample("slot_append", {"label": "keepers", "text": "A third comes in summer."}),
    Sample("slot_replace", {"label": "persona", "content": "You keep the light."}),
    Sample("slot_delete", {"label": "fogs"}),
    # actions, relations
    Sample("actions", {"status": "pending", "project": PROJECT, "limit": 1}),
    Sample(
        "action_create",
        {
            "title": "Mend the stair",
            "description": "Third step.",
            "priority": 9,
            "status": "active",
            "tags": ["wood"],
            "sessionId": "s-build",
            "project": PROJECT,
        },
    ),
    Sample("action_update", {"actionId": "<action>", "status": "done", "priority": 1, "tags": ["oil", "lamp"]}),
    Sample("action_get", {"actionId": "<action>"}),
    Sample("action_edge", {"sourceActionId": "<action-other>", "targetActionId": "<action>", "type": "conflicts_with"}),
    Sample("frontier", {"project": PROJECT, "limit": 5}),
    # work that agents share
    Sample("next_action", {"project": PROJECT}),
    Sample("lease", {"operation": "acquire", "actionId": "<action-other>", "agentId": "keeper", "ttlMs": 60_000}),
    Sample("lease", {"operation": "release", "actionId": "<action-other>", "agentId": "keeper"}, also="given back"),
    Sample("heal", {"categories": ["actions", "leases"], "dryRun": True}),
    Sample(
        "checkpoint",
        {"operation": "create", "name": "Paint is dry", "type": "approval", "linkedActionIds": ["<action-other>"]},
    ),
    Sample(
        "checkpoint",
        {"operation": "resolve", "checkpointId": "<checkpoint>", "status": "passed", "result": {"by": "Ada"}},
        also="resolved",
    ),
    Sample("checkpoints", {"status": "pending", "limit": 5}),
    Sample(
        "sentinel_create",
        {"name": "Many ships", "type": "threshold", "config": {"metric": "memories", "operator": "gt", "value": 1000}},
    ),
    Sample("sentinel_trigger", {"sentinelId": "<sentinel>", "result": {"seen": "from the gallery"}}),
    Sample("sentinel_cancel", {"sentinelId": "<sentinel-other>"}),
    Sample("sentinel_check", {}),
    Sample("sentinels", {"type": "approval"}),
    Sample("signal_send", {"from": "keeper", "to": "fisher", "content": "Fog by noon.", "type": "alert"}),
    Sample("signal_read", {"agentId": "fisher", "unreadOnly": True, "limit": 5}),
    Sample("team_share", {"itemType": "memory", "itemId": "<memory-other>"}),
    Sample("team_feed", {"limit": 5}),
    Sample("sketch_create", {"title": "A second lamp", "description": "Perhaps.", "expiresInMs": 60_000}),
    Sample("sketch_add", {"sketchId": "<sketch>", "title": "Measure the gallery", "priority": 3, "tags": ["brass"]}),
    Sample("sketch_promote", {"sketchId": "<sketch>", "project": PROJECT}),
    Sample("sketch_discard", {"sketchId": "<sketch-other>"}),
    Sample("sketches", {"status": "active"}),
    Sample(
        "routine_create",
        {
            "name": "Evening",
            "steps": [{"title": "Trim", "order": 1}, {"title": "Light", "order": 2, "dependsOn": [1]}],
            "tags": ["daily"],
        },
    ),
    Sample("routines", {"limit": 3}),
    Sample("routine_run", {"routineId": "<routine>", "project": PROJECT, "initiatedBy": "keeper"}),
    Sample("routine_status", {"runId": "<run>"}),
    Sample("coordination_remove", {"id": "<run>"}),
    Sample("facet_tag", {"targetType": "memory", "targetId": "<memory>", "dimension": "area", "value": "lamp room"}),
    Sample("facet_query", {"matchAll": ["area:coast"], "matchAny": ["team:sea", "team:land"], "targetType": "memory"}),
    Sample("facets", {"targetId": "<memory-other>"}),
    Sample("facet_remove", {"targetId": "<memory-other>", "dimension": "area"}),
    Sample("relations", {"id": "<memory>", "limit": 10}),
    Sample("relate", {"sourceId": "<memory-other>", "targetId": "<memory>", "type": "depends_on"}),
    Sample("graph", {"project": PROJECT, "limit": 50}),
    Sample("graph_query", {"startNodeId": "<memory>", "nodeType": "concept", "maxDepth": 2, "limit": 20}),
    Sample("graph_query", {"query": "coast"}, also="by a name"),
    Sample("graph_stats", {}),
    Sample("folder_graph", {"project": PROJECT, "limit": 100}),
    Sample("folder_memories", {"kind": "concept", "name": "coast", "limit": 5, "offset": 0}),
    # learning
    Sample("still_true", {"id": "<memory-outdated>"}),
    Sample("summarize", {"sessionId": "s-build"}),
    Sample("consolidate", {"project": PROJECT, "minObservations": 1}),
    Sample("reflect", {"sessionId": "s-build", "maxObservations": 20}),
    Sample("crystals_auto", {"project": PROJECT}),
    Sample("crystals", {"limit": 2}),
    Sample("semantic", {"project": PROJECT, "limit": 3}),
    Sample("procedural", {"limit": 3}),
    Sample("insights", {"limit": 5, "offset": 1}),
    # notes and syncs
    Sample("second_brain", {}),
    Sample("second_brain", {"file": "coast.md"}, also="one page"),
    Sample("second_brain_write", {"file": "tides.md", "content": "# Tides\n\nHigh at noon."}),
    Sample("antigravity_sync", {"mode": "folder", "currentFolder": "<transcripts>"}),
    Sample("antigravity_sync_all", {"mode": "all"}),
    Sample("claude_bridge_sync", {}),
    Sample("compress_file", {"filePath": "{home}/pages/harbour.md"}),
    Sample("obsidian_export", {"vaultDir": "{home}/pages/notes", "types": ["memories", "lessons"]}),
    # transfer
    Sample("export", {}),
    Sample("export", {"umo": _PRIVATE, "senderId": "ada"}, also="of a chat"),
    Sample("export", {"maxSessions": 1, "offset": 1}, also="a page"),
    Sample("import_", {"exportData": _EXPORTED, "strategy": "replace"}),
    Sample("import_", {"exportData": _PROGENLY}, also="of Progenly"),
    Sample("progenly_export", {}),
    Sample("import_jsonl", {"path": "<transcripts>", "maxFiles": 3}),
    Sample("import_rules", {"file": "CLAUDE.md", "text": f"# A\n\n- Light the {MARK} at dusk\n", "project": PROJECT}),
    # the server itself
    Sample("livez", {}),
    Sample("overview", {"days": 30}),
    Sample("health", {}),
    Sample("examine", {}),
    Sample("flags", {}),
    Sample("diagnostics", {}),
    Sample("diagnostics_followup", {}),
    Sample("audit", {"operation": "remember", "limit": 30}),
    Sample("write_log", {"limit": 4}),
    Sample(
        "token_create",
        {"name": "reader", "scopes": ["read", "admin"], "agentId": "keeper", "tenant": "island", "days": 1.5},
    ),
    Sample("token_list", {"tenant": "default"}),
    Sample("token_revoke", {"id": "<token>"}),
    Sample("oauth_approve", {"code": "<consent>"}),
    Sample("oauth_approve", {"code": "<consent>", "yes": True}, also="with a yes"),
    Sample("verify", {"repairIndex": True}),
    Sample("lesson_decay", {}),
    # snapshots, and last what exchanges the memory
    Sample("snapshot_create", {"label": f"Painted {MARK}", "redact": True}),
    Sample("snapshot_list", {"limit": 3}),
    Sample("snapshot_list", {"limit": 3, "check": True}, also="and check"),
    Sample("snapshot_status", {}),
    Sample("snapshot_mend", {}),
    Sample("snapshot_show", {"id": "<snapshot>"}),
    Sample("snapshot_verify", {"id": "<snapshot-later>"}),
    Sample("snapshot_diff", {"a": "<snapshot>", "b": "<snapshot-later>", "limit": 5}),
    Sample("snapshot_diff", {"a": "<snapshot-later>"}, also="with now"),
    Sample("snapshot_search", {"id": "<snapshot>", "query": f"{MARK} lamp", "limit": 2}),
    Sample(
        "search",
        {"query": f"{MARK} keeper sleeps", "at": "<snapshot>", "limit": 2, "format": "full"},
        also="at a snapshot",
    ),
    Sample("snapshot_export", {"id": "<snapshot>", "to": "{home}/exported"}),
    Sample("snapshot_import", {"path": "<nexo>"}),
    Sample("vault_sync", {"vault": "{home}/vault", "limit": 1}),
    Sample("vault_init", {"vault": "{home}/vault-new"}),
    Sample("mesh_sync", {"peerId": "{home}/vault", "direction": "push"}),
    Sample("vault_status", {"vault": "{home}/vault"}),
    Sample("vault_list", {"vault": "{home}/vault", "limit": 3}),
    Sample("vault_verify", {"vault": "{home}/vault"}),
    Sample("vault_copy", {"from": "{home}/vault", "to": "{home}/vault-copy", "limit": 5}),
    Sample("vault_prune", {"vault": "{home}/vault", "keep": 1}),
    Sample("drill", {"id": "<snapshot-later>"}),
    Sample("drill_list", {"limit": 3}),
    Sample("guard_add", {"place": "<transcripts>", "redact": False}),
    Sample("guard_list", {}),
    Sample("guard_report", {"limit": 3}),
    Sample("guard_scan", {"place": "<transcripts>"}),
    Sample("guard_history", {"place": "<transcripts>", "limit": 5}),
    Sample("guard_restore", {"place": "<transcripts>", "dryRun": True, "limit": 5}),
    Sample("guard_restore", {"place": "<transcripts>", "to": "<back>", "yes": True, "limit": 5}, also="elsewhere"),
    Sample("guard_undo", {"yes": True}),
    Sample("guard_remove", {"place": "<transcripts>", "forget": True, "yes": True}),
    Sample("promote", {"yes": True}),
    Sample("recall_check", {"accept": True}),
    Sample("snapshot_prune", {"keep": 2, "dryRun": True}),
    Sample("snapshot_delete", {"id": "<snapshot>"}),
    Sample("snapshot_restore", {"id": "<snapshot-later>", "dryRun": True, "limit": 3}),
    Sample("snapshot_restore", {"id": "<snapshot-later>", "yes": True}, also="really"),
    Sample("snapshot_undo", {"yes": True}),
    Sample("snapshot_merge", {"a": "<snapshot-later>", "b": "now", "dryRun": True, "limit": 3}),
    Sample("snapshot_merge", {"a": "<snapshot-later>", "prefer": "b", "yes": True}, also="really"),
    Sample("snapshot_set_aside", {"limit": 3}),
    Sample("snapshot_damaged", {}),
    Sample("snapshot_salvage", {"generation": "gen-000000", "dryRun": True, "limit": 3}),
    Sample("recover", {"dryRun": True}),
    Sample("snapshot_discard", {"generation": "gen-000000", "yes": True}),
    Sample("key_new", {}),
    Sample("key_trust", {"did": "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK", "note": "The pilot"}),
    Sample("key_show", {}),
    Sample("key_rotate", {}),
    Sample("key_trust", {"did": _FIRST_KEY, "note": "The mate"}, also="that another follows"),
    Sample("key_follow", {"succession": _SUCCESSION}),
    Sample("key_untrust", {"did": "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK"}),
)

# Records that are not there: the same fault everywhere.
MISSING: tuple[Sample, ...] = (
    Sample("session_by_commit", {"sha": "0000nowhere"}),
    Sample("evolve", {"memoryId": "mem_nowhere", "newContent": "x"}),
    Sample("memory", {"id": "mem_nowhere"}),
    Sample("memory_tool_undo", {"path": "/memories/nowhere.md"}),
    Sample("add_observations", {"observations": [{"entityName": "Nobody", "contents": ["x"]}]}),
    Sample("memory", {"id": "../memories"}, also="with a slash"),
    Sample("memory", {"id": "."}, also="that is a dot"),
    Sample("memory", {"id": ".."}, also="that is a step up"),
    Sample("memory", {"id": "mem_%2F?#&=+ "}, also="that a URL would read otherwise"),
    Sample("replay_load", {"sessionId": "s-nowhere"}),
    Sample("replay_frames", {"sessionId": "s-nowhere"}),
    Sample("lesson_strengthen", {"lessonId": "lsn_nowhere"}),
    Sample("lesson_delete", {"lessonId": "lsn_nowhere"}),
    Sample("slot", {"label": "nowhere"}),
    Sample("slot_append", {"label": "nowhere", "text": "x"}),
    Sample("slot_replace", {"label": "nowhere", "content": "x"}),
    Sample("slot_delete", {"label": "nowhere"}),
    Sample("action_update", {"actionId": "act_nowhere", "status": "done"}),
    Sample("action_get", {"actionId": "act_nowhere"}),
    Sample("action_edge", {"sourceActionId": "act_nowhere", "targetActionId": "act_nowhere", "type": "requires"}),
    Sample("action_create", {"title": "x", "requires": ["act_nowhere"]}),
    Sample("lease", {"operation": "acquire", "actionId": "act_nowhere", "agentId": "keeper"}),
    Sample("checkpoint", {"operation": "resolve", "checkpointId": "ckpt_nowhere", "status": "passed"}),
    Sample("sentinel_trigger", {"sentinelId": "snl_nowhere"}),
    Sample("sentinel_cancel", {"sentinelId": "snl_nowhere"}),
    Sample("signal_send", {"from": "keeper", "content": "x", "replyTo": "sig_nowhere"}),
    Sample("team_share", {"itemType": "memory", "itemId": "mem_nowhere"}),
    Sample("sketch_add", {"sketchId": "sk_nowhere", "title": "x"}),
    Sample("sketch_promote", {"sketchId": "sk_nowhere"}),
    Sample("sketch_discard", {"sketchId": "sk_nowhere"}),
    Sample("routine_run", {"routineId": "rtn_nowhere"}),
    Sample("routine_status", {"runId": "run_nowhere"}),
    Sample("coordination_remove", {"id": "run_nowhere"}),
    Sample("facet_tag", {"targetType": "action", "targetId": "act_nowhere", "dimension": "area", "value": "x"}),
    Sample("related", {"memoryId": "mem_nowhere"}),
    Sample("provenance", {"id": "mem_nowhere"}),
    Sample("compress_file", {"filePath": "{home}/pages/nowhere.md"}),
    Sample("still_true", {"id": "mem_nowhere"}),
    Sample("summarize", {"sessionId": "s-nowhere"}),
    Sample("reflect", {"sessionId": "s-nowhere", "maxObservations": 20}),
    Sample("second_brain", {"file": "nowhere.md"}),
    Sample("token_revoke", {"id": "nowhere"}),
    Sample("oauth_approve", {"code": "BCDF-GHJK", "yes": True}, also="of no request"),
    Sample("snapshot_show", {"id": "000099"}),
    Sample("snapshot_verify", {"id": "000099"}),
    Sample("snapshot_diff", {"a": "000099"}),
    Sample("snapshot_search", {"id": "000099", "query": "x"}),
    Sample("snapshot_restore", {"id": "000099", "yes": True}),
    Sample("snapshot_merge", {"a": "000099", "yes": True}),
    Sample("snapshot_salvage", {"generation": "gen-000099", "yes": True}),
    Sample("snapshot_discard", {"generation": "gen-000099", "yes": True}),
    Sample("snapshot_export", {"id": "000099", "to": "{home}/exported"}),
    Sample("snapshot_delete", {"id": "000099"}),
    Sample("snapshot_import", {"path": "{home}/00000000-0000-4000-8000-000000000000.tar.zst"}),
    Sample("vault_verify", {"vault": "{home}/vault", "id": "000099-20260921T134520Z-b00001"}),
    Sample("snapshot_undo", {"yes": True}),
    Sample("guard_add", {"place": "/nowhere/at/all"}),
    Sample("guard_history", {"place": "/nowhere/at/all"}),
    Sample("guard_restore", {"place": "/nowhere/at/all", "yes": True}),
    Sample("guard_remove", {"place": "/nowhere/at/all"}),
    Sample("guard_scan", {"place": "/nowhere/at/all"}),
    Sample("guard_undo", {"yes": True}),
    Sample("key_untrust", {"did": "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK"}),
)

# Requests that cannot be taken, beyond the one that is made from each operation's own schema.
BAD: tuple[Sample, ...] = (
    Sample("memory", {}, also="without an id"),
    Sample("memory", {"id": ""}, also="with an empty id"),
    Sample("token_revoke", {"id": ""}, also="with an empty id"),
    Sample("action_update", {"actionId": "", "status": "done"}, also="with an empty id"),
    Sample("remember", {}, also="without content"),
    Sample("memory_tool_undo", {"path": "/memories/../x"}, also="outside the folder"),
    Sample("forget", {}, also="without a name"),
    Sample("slot", {"label": "Not A Label"}, also="with capitals"),
    Sample("search", {"query": "  "}, also="with a blank query"),
    Sample("memories", {"asOf": "in a while"}, also="without a real time"),
    Sample("search", {"query": "x", "after": "last year", "before": "in a while"}, also="with words that are no time"),
    Sample("timeline", {"anchor": "whenever"}, also="around no time"),
    Sample("session_by_commit", {"sha": "ab"}, also="with too little of a sha"),
    Sample("second_brain", {"file": "../etc/passwd"}, also="with a path"),
    Sample("import_", {"exportData": "text"}, also="with a text"),
    Sample("import_jsonl", {"path": "/nothing/there", "maxFiles": 1}, also="outside the roots"),
    Sample("import_rules", {"file": "CLAUDE.md", "text": " "}, also="of an empty file"),
    Sample("checkpoint", {"operation": "create"}, also="without a name"),
    Sample("checkpoint", {"operation": "resolve", "checkpointId": "<checkpoint>"}, also="without a status"),
    Sample("sentinel_create", {"name": "x", "type": "timer", "config": {"durationMs": -1}}, also="with no time"),
    Sample("sentinel_create", {"name": "x", "type": "pattern", "config": {"pattern": "(a+)+$"}}, also="with a regex"),
    Sample("facet_query", {}, also="without a facet"),
    Sample(
        "facet_tag", {"targetType": "memory", "targetId": "<memory>", "dimension": "a:b", "value": "c"}, also="colon"
    ),
    Sample("routine_create", {"name": "x", "steps": [{"title": "a", "dependsOn": [0]}]}, also="in a circle"),
    Sample("vision_search", {"queryImageBase64": "aGk="}, also="by a picture"),
    Sample("compress_file", {"filePath": "{home}/pages/notes.txt"}, also="of no Markdown file"),
    Sample("obsidian_export", {"vaultDir": "{home}/pages", "types": ["secrets"]}, also="of no kind"),
    Sample("summarize", {}, also="of nothing"),
    Sample("mesh_sync", {}, also="without a vault"),
    Sample("token_create", {"tenant": "no/tenant"}, also="with a slash"),
    Sample("snapshot_restore", {"id": "latest"}, also="without a yes"),
    Sample("snapshot_merge", {"a": "latest"}, also="without a yes"),
    Sample("snapshot_salvage", {}, also="without a yes"),
    Sample("recover", {}, also="without a yes"),
    Sample("snapshot_discard", {"generation": "gen-000001"}, also="without a yes"),
    Sample("snapshot_merge", {"a": "now", "b": "now", "yes": True}, also="of now with now"),
    Sample("import_", {"exportData": {"memory": [], "memory_format": "colony-memory/1"}}, also="of no documents"),
    Sample("snapshot_prune", {}, also="without a rule"),
    Sample("vault_status", {}, also="without a vault"),
    Sample("vault_prune", {"vault": "{home}/vault"}, also="without a rule"),
    Sample("vault_copy", {"from": "{home}/vault", "to": "{home}/vault"}, also="to itself"),
    Sample("snapshot_create", {"encrypt": ["age1nothing"]}, also="for nobody"),
    Sample("key_trust", {"did": "did:web:example.org"}, also="of another kind"),
    Sample("key_follow", {"succession": "{}"}, also="of no statement"),
)

OTHERWISE: tuple[Sample, ...] = (
    Sample("slot_create", {"label": "keepers", "scope": "global"}, also="conflict"),
    Sample("slot_append", {"label": "keepers", "text": "x" * 300}, also="limit_reached"),
)


def out_of_bounds(operation: Operation) -> Sample | None:
    """The operation's sample with one value that its schema does not allow; None if it takes no arguments."""
    properties: Json = operation.request.model_json_schema(by_alias=True).get("properties", {})
    wrong = {name: value for name, prop in properties.items() if (value := _wrong(prop)) is not None}
    if not wrong:
        return None
    name = min(wrong, key=lambda name: name == "agentId")  # every operation has it: its own say more
    sample = next(one for one in SAMPLES if one.name == operation.name)
    return Sample(operation.name, {**sample.arguments, name: wrong[name]}, also=f"with a bad {name}")


def _wrong(prop: Json) -> Any:
    kind: Json = next((one for one in prop.get("anyOf", ()) if one.get("type") != "null"), prop)
    if "enum" in kind or kind.get("format") == "date-time" or kind.get("type") == "boolean":
        return "neither"
    if kind.get("type") in ("integer", "number"):
        return kind["maximum"] + 1
    if kind.get("type") == "array":
        return ["x"] * (kind["maxItems"] + 1) if "maxItems" in kind else ["neither"]
    return "x" * (kind["maxLength"] + 1) if "maxLength" in kind else None
