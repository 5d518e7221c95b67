"""What the tests of the viewer put into a memory: small, and the same each time."""

from __future__ import annotations

from typing import Any

from processes import Server

FACTS = (
    ("The deploy script reads its region from the environment", "decision", "billing", ("deploy",)),
    ("Postgres runs with 200 connections and the pool is limited to 40", "fact", "billing", ("database",)),
    ("The customer import fails on dates before 1970", "bug", "billing", ("import",)),
    ("Prefer small commits with one reason each", "preference", "website", ("style",)),
    ("The staging server is rebuilt every night at three", "fact", "website", ("deploy",)),
    ("Search results are cached for five minutes", "decision", "search", ("cache",)),
)


def remember(server: Server, text: str, **more: Any) -> dict[str, Any]:
    answer = server.remember(text, **more)
    assert answer.status_code == 201, answer.text
    memory: dict[str, Any] = answer.json()["memory"]
    return memory


def fill(server: Server) -> dict[str, str]:
    """A few memories, sessions with observations and a commit; ids of the memories by their text."""
    ids = {}
    for text, kind, project, concepts in FACTS:
        ids[text] = remember(server, text, type=kind, project=project, concepts=list(concepts), files=["src/app.py"])[
            "id"
        ]
    for number in range(3):
        session = f"session-{number}"
        server.post(
            "/session/start",
            sessionId=session,
            project="billing",
            cwd="/work",
            title=f"Fix part {number} of the import",
        )
        for step in range(4 + number):
            data = {
                "tool_name": "Bash",
                "tool_input": {"command": f"pytest tests/part_{step}.py -q"},
                "tool_output": f"{step + 1} passed in part {step}",
            }
            answer = server.post(
                "/observe",
                sessionId=session,
                hookType="post_tool_use",
                timestamp=f"2026-11-1{number}T10:0{step}:00Z",
                project="billing",
                cwd="/work",
                data=data,
            )
            assert answer.status_code == 201, answer.text
    server.post(
        "/session/commit",
        sessionId="session-1",
        sha="4f" * 20,
        message="Parse old dates by hand",
        branch="main",
        repo="billing",
    )
    server.post("/session/end", sessionId="session-0")
    return ids
