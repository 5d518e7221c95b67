"""The move itself: compare what is there, capture tenant by tenant, fill the target, compare again.

It holds no state of its own. A tenant that the target already has as it is in the source needs nothing, so that a move
that was killed is finished by the same command.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from holdfast.core.errors import Conflict, DataDamaged
from holdfast.store.move.move_port import Source, Target, View
from holdfast.store.move.stage import StagedTenant, Staging
from holdfast.store.move.sums import sums_of

# What is being done, for which tenant, how many tenants are done, and how many there are.
Progress = Callable[[str, str, int, int], None]

SHOWN = 5  # tenants named in a message


@dataclass(frozen=True, slots=True)
class TenantPlan:
    """What a move would do with one tenant. A tenant that the target does not have is captured when its turn comes."""

    tenant: str
    state: Literal["new", "same", "replaced"]
    staged: StagedTenant | None = None


@dataclass(frozen=True, slots=True)
class MoveReport:
    """What the target has now."""

    tenants: int
    unchanged: int  # those that it had already
    rows: dict[str, int]  # by table


def plan_of(source: Source, target: View, staging: Staging, progress: Progress) -> list[TenantPlan]:
    """What would be done with each tenant of the source. Nothing is written but in the staging folder.

    Raises:
        Conflict: the target has tenants that the source does not have.
    """
    names, there = source.tenants(), set(target.tenants())
    if strange := sorted(there.difference(names)):
        raise Conflict(
            f"move: the target has tenants that the source does not have: {_listed(strange)}",
            hint="Move into an empty store.",
        )
    plan = []
    for at, tenant in enumerate(names):
        if tenant not in there:
            plan.append(TenantPlan(tenant, "new"))
            continue
        progress("compare", tenant, at, len(names))
        staged = staging.tenant(source, tenant)
        same = sums_of(target, tenant) == staged.sums
        plan.append(TenantPlan(tenant, "same" if same else "replaced", staged))
    return plan


@dataclass(frozen=True)
class Move:
    """One move between two open stores."""

    source: Source
    target: Target
    staging: Staging
    progress: Progress

    def run(self, *, replace: bool) -> MoveReport:
        """Move all tenants.

        Raises:
            Conflict: the target holds another memory and `replace` is off, or the source was written to meanwhile.
            DataDamaged: the source is damaged, or the target is not the same at the end.
        """
        plan = plan_of(self.source, self.target, self.staging, self.progress)
        replaced = [one.tenant for one in plan if one.state == "replaced"]
        if replaced and not replace:
            raise Conflict(
                f"move: the target is not empty; other records there than in the source: {_listed(replaced)}",
                hint="Preview with --dry-run, then pass --yes to replace them.",
            )
        same = {one.tenant: one.staged for one in plan if one.state == "same" and one.staged is not None}
        if len(same) < len(plan):
            # What becomes live at once has to hold all tenants, those that are the same among them.
            going = [one.tenant for one in plan if one.tenant not in same or not self.target.durable]
            moved = same | self._filled(going)
            self._compare(moved)
            self._check_unchanged(moved)
            self.target.finish()
        else:
            moved = same
        return MoveReport(len(plan), len(same), _added_up(moved.values()))

    def _filled(self, tenants: list[str]) -> dict[str, StagedTenant]:
        moved = {}
        for at, tenant in enumerate(tenants):
            self.progress("move", tenant, at, len(tenants))
            moved[tenant] = staged = self.staging.tenant(self.source, tenant)
            self.target.put(staged.path, tenant)
            if self.target.durable:
                staged.remove()
        self.target.complete()
        return moved

    def _compare(self, moved: dict[str, StagedTenant]) -> None:
        """Every row of the target, by its own checksum and by that of the source."""
        for at, (tenant, staged) in enumerate(moved.items()):
            self.progress("check", tenant, at, len(moved))
            found = sums_of(self.target, tenant)
            wrong = sorted(name for name in {*found, *staged.sums} if found.get(name) != staged.sums.get(name))
            if wrong:
                raise DataDamaged(
                    f"move: the target differs from the source ({tenant[:40]}: {', '.join(wrong)})",
                    hint="The source is as it was. Run the move again with --yes.",
                )
        if findings := self.target.verify():
            raise DataDamaged(
                f"move: the target is damaged ({findings[0].table}: {findings[0].message})",
                hint="The source is as it was. Run the move again with --yes.",
            )

    def _check_unchanged(self, moved: dict[str, StagedTenant]) -> None:
        """What is written to the source after its capture would be missing in the target."""
        late = [tenant for tenant, staged in moved.items() if self.source.tag(tenant) != staged.tag]
        late += sorted(set(self.source.tenants()).difference(moved))
        if late:
            raise Conflict(
                f"move: the source was written to during the move: {_listed(late)}",
                hint="Stop its servers and run the move again with --yes; what is the same is not moved again.",
            )


def _listed(tenants: list[str]) -> str:
    named = ", ".join(tenant[:40] for tenant in tenants[:SHOWN])
    return f"{named} and {len(tenants) - SHOWN} more" if len(tenants) > SHOWN else named


def _added_up(staged: Iterable[StagedTenant]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for one in staged:
        total.update({name: rows for name, (rows, _) in one.sums.items()})
    return dict(sorted(total.items()))
