"""A memory with something of everything in it, made through REST as agents make it."""

from __future__ import annotations

from typing import Any

import httpx
from patience import WAIT_SECONDS

PREFIX = "/agentmemory"
NOON = 1_790_000_000_000  # 2026-09-21T14:13:20Z
SECOND = 1_000
FACTS = (
    ("light", "Its lamp burns rape oil since the war."),
    ("light", "The light turns twice a minute."),
    ("tide", "High tide comes at six in the morning this week."),
    ("rope", "Spare ropes hang in the northern shed."),
)


class Filling:
    """Calls operations of a running server and insists that they work."""

    def __init__(self, url: str, secret: str = ""):
        headers = {"Authorization": f"Bearer {secret}"} if secret else {}
        self._http = httpx.Client(base_url=url, headers=headers, timeout=WAIT_SECONDS, trust_env=False)

    def post(self, path: str, **body: Any) -> Any:
        return self.send("POST", path, body)

    def send(self, method: str, path: str, body: Any) -> Any:
        answer = self._http.request(method, PREFIX + path, json=body)
        assert answer.is_success, f"{method} {path}: {answer.status_code} {answer.text[:300]}"
        return answer.json()

    def get(self, path: str, **params: Any) -> Any:
        answer = self._http.get(PREFIX + path, params=params)
        assert answer.is_success, f"GET {path}: {answer.status_code} {answer.text[:300]}"
        return answer.json()

    def tool(self, session: str, number: int, **data: Any) -> Any:
        """A step of a session, each a second after the one before."""
        given = {"tool_name": "Bash", "tool_input": {"command": f"make step-{number}"}, "tool_output": f"done {number}"}
        return self.post(
            "/observe",
            sessionId=session,
            hookType="post_tool_use",
            timestamp=NOON + number * SECOND,
            project="harbour",
            cwd="/w",
            data={**given, **data},
        )

    def close(self) -> None:
        self._http.close()


def fill(memory: Filling) -> None:
    """Sessions, memories, lessons, slots, actions and two snapshots with a difference between them."""
    memory.post("/session/start", sessionId="s-harbour", project="harbour", cwd="/w", title="Mending the light")
    for number in range(8):
        memory.tool("s-harbour", number)
    for number, (concept, content) in enumerate(FACTS):
        files = [f"/w/{concept}/notes-{number}.md"]
        memory.post("/remember", content=content, concepts=[concept], files=files, project="harbour")
    memory.post("/lessons", content="Check the lamp oil before dusk.", confidence=0.6, tags=["lamp"])
    memory.post("/slot/replace", label="persona", content="A keeper of few words.")
    memory.post("/actions", title="Order new wicks", priority=7)
    memory.post("/actions", title="Paint the railing", priority=3, status="active")
    memory.post("/snapshots", label="before the storm")
    memory.post("/remember", content="The storm broke the eastern window.", project="harbour")
    memory.post("/snapshots", label="after the storm")
