"""The operation that brings the memories of several machines together: through a vault that all of them use."""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from typing_extensions import TypedDict

from holdfast.context import CallContext
from holdfast.core.errors import InvalidRequest, NotFound
from holdfast.core.model import Json
from holdfast.ops.framework.fields import Name
from holdfast.ops.framework.operation import Operation, Request
from holdfast.ops.snapshots.merge import SnapshotMerge, snapshot_merge
from holdfast.ops.snapshots.vaults import VaultSync, vault_sync
from holdfast.snapshot.repo.context import snapshot_context


class MeshSync(Request):
    peer_id: Name | None = Field(default=None, description="Vault that the machines share. Default: HOLDFAST_VAULT.")
    direction: Literal["push", "pull", "both"] = "both"
    yes: bool = Field(default=False, description="With pull: merge. Without it, what a merge would change is shown.")


class MeshSyncAnswer(TypedDict):
    success: bool
    results: list[Json]


def mesh_sync(ctx: CallContext, ask: MeshSync) -> MeshSyncAnswer:
    """Exchange memory with other machines through a vault: upload own snapshots, and merge the newest one there.

    A merge replaces the live memory, so it is only shown unless `yes` is given; snapshot undo takes it back. There are
    no connections between servers: nothing is sent to an address that a request names, but for vaults.
    """
    vault = ask.peer_id or ctx.settings.vault
    if not vault:
        raise InvalidRequest("peerId: no vault is named", hint="Pass a vault as peerId, or set HOLDFAST_VAULT.")
    snapshot_context(ctx)
    result: Json = {"peerId": vault, "pushed": 0, "pulled": 0, "errors": []}
    if ask.direction != "push":
        result |= _pulled(ctx, vault, ask.yes)
    if ask.direction != "pull":
        result["pushed"] = len(vault_sync(ctx, VaultSync(vault=vault))["sent"])
    return {"success": True, "results": [result]}


def _pulled(ctx: CallContext, vault: str, yes: bool) -> Json:
    request = {"a": "latest", "from": vault, "dryRun": not yes, "yes": yes}
    try:
        done = snapshot_merge(ctx, SnapshotMerge.model_validate(request))
    except NotFound:  # an empty vault: the first machine has only to push
        return {}
    brought = sum(done["added"].values()) + sum(done["changed"].values())
    if yes:
        return {"pulled": brought}
    return {"preview": {"added": done["added"], "changed": done["changed"], "conflicts": done["conflictCount"]}}


MESH = (
    Operation(
        mesh_sync,
        "POST",
        "/mesh/sync",
        effect="write",
        scope="root",
        tool="memory_mesh_sync",
        cli="mesh sync",
        positional=("peerId",),
        paths=("peerId",),
        long=True,
    ),
)
