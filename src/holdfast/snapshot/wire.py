"""How snapshots look in answers and events. Names are those of the manifest."""

from __future__ import annotations

from dataclasses import asdict

from holdfast.core.model import Json
from holdfast.core.times import iso
from holdfast.snapshot.bundle.types import Manifest, Report
from holdfast.snapshot.diff import MemoryDiff
from holdfast.snapshot.nexo.reader import NexoReport
from holdfast.snapshot.repo.entries import SnapshotEntry
from holdfast.snapshot.sources.folder_diff import FolderDiff

_STATUS = ("not checked", "verified")


def entry_wire(one: SnapshotEntry) -> Json:
    """A snapshot in a list."""
    shape: Json = {"id": one.id, "size": one.size, "status": one.damaged or _STATUS[one.checked_at is not None]}
    shape["damaged"] = one.damaged is not None
    shape["checkedAt"] = iso(one.checked_at) if one.checked_at is not None else None
    if one.manifest is None:
        return shape
    about, manifest = one.manifest.identity, one.manifest
    return shape | {
        "label": about.label,
        "tenant": about.tenant,
        "agent": about.agent,
        "sequence": about.sequence,
        "parent": about.parent,
        "createdAt": iso(about.created_at),
        "createdBy": about.created_by,
        "signer": manifest.signer,
        "encrypted": manifest.encrypted,
        "layout": "chunks" if manifest.chunked else "whole",
        "redacted": manifest.redaction.applied,
        "sha256": manifest.bundle_sha256,
    }


def manifest_shape(manifest: Manifest) -> Json:
    """The other fields of the manifest."""
    return {
        "schemaVersions": dict(manifest.schema),
        "artifacts": None if manifest.artifacts is None else [asdict(one) for one in manifest.artifacts],
        "redaction": {
            "applied": manifest.redaction.applied,
            "rules": dict(manifest.redaction.rules),
            "files": list(manifest.redaction.files),
            "hidden": manifest.redaction.hidden,  # of an encrypted one only how many there are
        },
        "left": [{"path": one.path, "reason": one.reason} for one in manifest.left],
        "hiddenLeft": manifest.hidden_left,
        "recipients": list(manifest.recipients),
        "tools": dict(manifest.tools),
    }


def report_shape(report: Report | NexoReport) -> Json:
    """The result of verification."""
    return {
        "snapshot": report.place,
        "sound": report.sound,
        "findings": [{"code": one.code, "message": one.message, "note": one.note} for one in report.findings],
        "checked": list(report.checked),
        "unchecked": list(report.unchecked),
    }


def difference_shape(found: MemoryDiff) -> Json:
    """What changed, for people and programs."""
    return {
        "a": found.a,
        "b": found.b,
        "same": found.same,
        "tables": [
            {
                "table": one.table,
                "added": one.added,
                "removed": one.removed,
                "changed": one.changed,
                "records": [
                    {"id": row.id, "change": row.change, "title": row.title, "agent": row.agent} for row in one.rows
                ],
            }
            for one in found.tables
        ],
        "folders": [_folder_shape(one) for one in found.folders],
        "state": [{"key": one.key, "change": one.how, "before": one.before, "after": one.after} for one in found.state],
    }


def _folder_shape(one: FolderDiff) -> Json:
    commits = one.commits
    return {
        "folder": one.name,
        "change": one.how,
        "files": [
            {
                "path": file.path,
                "change": file.how,
                "linesAdded": file.lines.added if file.lines else None,
                "linesRemoved": file.lines.removed if file.lines else None,
            }
            for file in one.files
        ],
        "commits": {
            "added": commits.added,
            "removed": commits.removed,
            "subjects": list(commits.subjects),
            "related": commits.related,
        }
        if commits
        else None,
    }
