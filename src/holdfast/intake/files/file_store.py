"""The files of the memory tool in the store: /memories/notes.md is the memory at memories://notes.md.

Folders are what the paths of files say. A change is a new version, stored only if the file is still the version that
the change was made from. What was deleted is deprecated: it can be restored until it is forgotten.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

from holdfast.context import CallContext
from holdfast.core.errors import Conflict, NotFound
from holdfast.core.model import FILES_DOMAIN, CleanText, Memory
from holdfast.intake.addresses import latest_at, move_in, own_domain, places, saw
from holdfast.intake.expiry import hide, restore
from holdfast.intake.files.file_path import CommandRefused, full_path, relative_path
from holdfast.intake.files.file_text import TextChange
from holdfast.intake.remember import MemoryDraft, line_of, remember_at_address
from holdfast.protocol.access import MemoryFacts
from holdfast.protocol.sameness import with_hash
from holdfast.protocol.terms import MemoryType
from holdfast.redact import redact_text
from holdfast.store.port import Reader, Tx
from holdfast.store.tables import ADDRESSES, MEMORIES

DOMAIN = "memories"
DELETED = ".deleted"  # the folder of deleted files whose path another file took by a rename
FILE = CleanText("file")
CONTENT_CHARS = 1_000_000
TRIES = 100  # of a change while others change the file


class MemoryFiles:
    """The files of one audience: of the agents that share, of one isolated agent, or of a sender in a chat."""

    def __init__(self, ctx: CallContext, facts: MemoryFacts, agent: CleanText | None):
        self._ctx, self._facts, self._agent = ctx, facts, agent
        self._domain = own_domain(ctx, DOMAIN, facts, agent)

    def file(self, path: str, reader: Reader | None = None) -> Memory | None:
        """The file at a path below /memories; None if there is none now."""
        memory = self._line_at(reader or self._ctx.store.read(), path)
        return memory if memory is not None and self._ctx.may_see(memory, self._agent) else None

    def folder(self, path: str, reader: Reader | None = None) -> dict[str, Memory]:
        """The files in a folder and in those below it, by their paths from there; empty if there is no such folder."""
        return dict(self._inside(reader or self._ctx.store.read(), path))

    def create(self, path: str, text: CleanText) -> None:
        """A new file.

        Raises:
            CommandRefused: there is a file or a folder of that name, or a file where its folder would be.
        """
        draft = self._draft(path, text)

        def store(tx: Tx) -> None:
            if self._exists(tx, path):
                raise CommandRefused(f"Error: File {full_path(path)} already exists")
            self._check_parents(tx, path)
            self._free(tx, path)
            remember_at_address(self._ctx, tx, draft)

        self._ctx.store.write(store)

    def change(self, path: str, edit: Callable[[str], TextChange], missing: str) -> TextChange:
        """The change as it was stored, made of the newest version; `missing` is what is said if there is no file.

        Raises:
            CommandRefused: there is no file, or the edit cannot be made.
            Conflict: others changed the file each time before this change was stored.
        """
        for _ in range(TRIES):
            file = self.file(path)
            if file is None:
                raise CommandRefused(missing)
            made = edit(file.content)
            # As a whole: half of a secret may have been there before.
            clean = redact_text(made.text)
            draft = self._draft(path, clean.value)
            if self._ctx.store.write(lambda tx, file=file, draft=draft: self._put(tx, path, file, draft)):  # type: ignore[misc]
                return dataclasses.replace(made, text=clean.value, cleaned=clean.count > 0)
        raise Conflict("memory_tool: the file is changed by others all the time", hint="Try again later.")

    def _put(self, tx: Tx, path: str, seen: Memory, draft: MemoryDraft) -> bool:
        """Store the next version, unless the file has another one than was seen."""
        now = self.file(path, tx)
        if now is None or now.id != seen.id:
            return False
        self._ctx.check_change(now)
        remember_at_address(self._ctx, tx, draft)
        return True

    def delete(self, path: str) -> None:
        """Hide a file, or all files of a folder.

        Raises:
            CommandRefused: it is /memories itself, or there is nothing.
        """
        if not path:
            raise CommandRefused(f"Error: Cannot delete the {full_path(path)} directory itself")

        def store(tx: Tx) -> None:
            for memory in self._found(tx, path).values():
                self._ctx.check_change(memory)
                hide(self._ctx, tx, memory, self._ctx.clock.now_ms())

        self._ctx.store.write(store)

    def rename(self, old: str, new: str) -> None:
        """Move a file, or all files of a folder, with their versions.

        Raises:
            CommandRefused: it is /memories itself, there is nothing, or something is at the new path already.
        """
        if not old:
            raise CommandRefused(f"Error: Cannot rename the {full_path(old)} directory itself")

        def store(tx: Tx) -> None:
            found = self._found(tx, old)
            if self._exists(tx, new):
                raise CommandRefused(f"Error: The destination {full_path(new)} already exists")
            if new.startswith(f"{old}/"):
                raise CommandRefused(f"Error: The destination {full_path(new)} is inside {full_path(old)}")
            self._check_parents(tx, new)
            for rest, memory in found.items():
                self._move(tx, memory, relative_path(full_path(new + rest)))

        self._ctx.store.write(store)

    def undo(self, path: str) -> Memory:
        """The file as it was before its last change; a deleted one as it was before that.

        Raises:
            NotFound: there was no file, or it has no earlier version.
        """

        def store(tx: Tx) -> Memory:
            memory = self._line_at(tx, path)
            if memory is None or not saw(self._ctx, memory, self._agent):
                raise NotFound("path: there is no file of that path", hint="A renamed file is at its new path.")
            if memory.state != "active":
                return restore(self._ctx, memory.id, self._agent)
            self._ctx.check_change(memory)
            before = line_of(tx, memory)[1:2]
            if not before:
                raise NotFound("path: the file has no earlier version", hint="The memory tool's delete removes it.")
            return remember_at_address(self._ctx, tx, self._draft(path, CleanText(before[0].content)))

        return self._ctx.store.write(store)

    # Steps

    def _uri(self, path: str) -> str:
        return f"{self._domain}://{path}"

    def _line_at(self, reader: Reader, path: str) -> Memory | None:
        """The latest version of what lies at a path, deleted or not; not what was moved away from there."""
        address = reader.get(ADDRESSES, self._ctx.tenant, self._uri(path))
        memory = latest_at(reader, self._ctx.tenant, address.root) if address else None
        return memory if memory is not None and memory.uri == self._uri(path) else None

    def _inside(self, reader: Reader, path: str) -> Iterator[tuple[str, Memory]]:
        under = self._uri(f"{path}/" if path else "")
        for one in places(self._ctx, reader, under, self._agent):
            if one.memory.uri == one.address.id:
                yield one.address.id.removeprefix(under), one.memory

    def _found(self, tx: Tx, path: str) -> dict[str, Memory]:
        """A file, or the files of a folder, by what their paths have beyond this one."""
        file = self.file(path, tx)
        found = {f"/{rest}": one for rest, one in self.folder(path, tx).items()} if file is None else {"": file}
        if not found:
            raise CommandRefused(f"Error: The path {full_path(path)} does not exist")
        return found

    def _exists(self, tx: Tx, path: str) -> bool:
        return not path or self.file(path, tx) is not None or any(self._inside(tx, path))

    def _check_parents(self, tx: Tx, path: str) -> None:
        parts = path.split("/")[:-1]
        for depth in range(1, len(parts) + 1):
            above = "/".join(parts[:depth])
            if self.file(above, tx) is not None:
                raise CommandRefused(f"Error: {full_path(above)} is a file, not a directory")

    def _free(self, tx: Tx, path: str) -> None:
        """Take the path from a file that was moved away: its address leads on to where it is now."""
        address = tx.get(ADDRESSES, self._ctx.tenant, self._uri(path))
        memory = latest_at(tx, self._ctx.tenant, address.root) if address else None
        if memory is not None and memory.uri != self._uri(path) and saw(self._ctx, memory, self._agent):
            tx.delete(ADDRESSES, self._ctx.tenant, self._uri(path))

    def _move(self, tx: Tx, memory: Memory, path: str) -> None:
        self._ctx.check_change(memory)
        deleted = self._line_at(tx, path)
        if deleted is not None and saw(self._ctx, deleted, self._agent):
            move_in(self._ctx, tx, deleted, self._uri(f"{DELETED}/{deleted.id}"))
        self._free(tx, path)
        moved = move_in(self._ctx, tx, memory, self._uri(path))
        name = CleanText(full_path(path))
        tx.replace(MEMORIES, with_hash(dataclasses.replace(moved, title=name, files=(name,))))

    def _draft(self, path: str, text: CleanText) -> MemoryDraft:
        """The file as a memory.

        Raises:
            CommandRefused: it is too long.
        """
        if len(text) > CONTENT_CHARS:
            raise CommandRefused(
                f"Error: File {full_path(path)} would have {len(text):,} characters; the limit is {CONTENT_CHARS:,}. "
                "Split it into several files."
            )
        name = CleanText(full_path(path))
        return MemoryDraft(
            content=text,
            type=FILE,
            title=name,
            files=(name,),
            agent=self._agent,
            facts=self._facts,
            domain=CleanText(FILES_DOMAIN),
            memory_type=MemoryType.PERMANENT,
            uri=self._uri(path),
        )
