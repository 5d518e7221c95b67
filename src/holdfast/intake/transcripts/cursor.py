"""Understands the lines of Cursor's transcripts: ~/.cursor/projects/<slug>/agent-transcripts/<id>.jsonl.

They hold what was said, without times; what tools did comes by the hooks alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from holdfast.core.model import Json
from holdfast.intake.event.text_cleanup import SAID_CHARS, cut
from holdfast.intake.transcripts.lines import ReadCounts, SessionPosition, TranscriptEvent, TranscriptLine, blocks_text

_USER_QUERY = re.compile(r"<user_query>\n?(.*?)\n?</user_query>", re.DOTALL)


class CursorLines:
    """One file's state: the session."""

    def __init__(self, thread: SessionPosition, tally: ReadCounts) -> None:
        self._thread = thread

    @staticmethod
    def knows(fields: Json) -> bool:
        return fields.get("role") in ("user", "assistant") and isinstance(fields.get("message"), dict)

    def take(self, line: TranscriptLine) -> Iterator[TranscriptEvent]:
        message, role = line.fields.get("message"), line.fields.get("role")
        self._thread.pass_time(line.fields.get("timestamp"))
        text = blocks_text(message.get("content")) if isinstance(message, dict) else ""
        identity = ("cursor", self._thread.session_id, str(line.number), line.digest)
        if role == "user":
            query = _USER_QUERY.search(text)
            said = cut(query.group(1) if query else text, SAID_CHARS).strip()
            hook, data = "prompt_submit", {"prompt": said}
        else:
            said = cut(text, SAID_CHARS).strip()
            hook, data = "assistant_message", {"message": said}
        if said and role in ("user", "assistant"):
            yield self._thread.event(hook, data, *identity)

    def waiting(self) -> Iterable[str]:
        """No calls: the lines do not hold them."""
        return ()

    def finish(self) -> Iterator[TranscriptEvent]:
        return iter(())
