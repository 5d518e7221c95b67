"""Summaries with a language model: a real server that speaks each API."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from model_server import KEY, ModelServer, anthropic_reply, gemini_reply, openai_reply, reply
from world import World

ANSWER = json.dumps(
    {
        "title": "Login timeout raised",
        "narrative": "The user asked for a longer timeout; it is sixty seconds now.",
        "decisions": ["Sixty seconds is enough"],
        "files": ["src/login.py"],
        "concepts": ["login", "timeout"],
    }
)


def summarized(world: World) -> dict[str, Any]:
    world.observe(hook="prompt_submit", prompt="Raise the login timeout")
    world.observe(tool_name="Edit", tool_input={"file_path": "src/login.py", "old_string": "30", "new_string": "60"})
    summary: dict[str, Any] = world.call("summarize", sessionId="s1")["summary"]
    world.close()
    return summary


@pytest.mark.parametrize(
    ("provider", "body"),
    [("anthropic", anthropic_reply(ANSWER)), ("openai", openai_reply(ANSWER)), ("gemini", gemini_reply(ANSWER))],
)
def test_a_summary_is_written_by_the_model(tmp_path: Path, server: ModelServer, provider: str, body: Any) -> None:
    server.script.append(reply(200, body))
    address = {"anthropic_url": server.origin, "openai_url": server.origin, "gemini_url": server.origin}
    world = World(tmp_path / "m", llm=provider, **{f"{provider}_key": KEY}, **address)
    summary = summarized(world)
    assert summary["title"] == "Login timeout raised"
    assert summary["keyDecisions"] == ["Sixty seconds is enough"]
    assert summary["maker"].startswith(f"{provider}/")


@pytest.mark.parametrize("answer", ["I cannot do that.", "{}", '{"title": 5}'])
def test_an_unusable_answer_gives_the_extractive_summary(tmp_path: Path, server: ModelServer, answer: str) -> None:
    server.script.append(reply(200, openai_reply(answer)))
    summary = summarized(World(tmp_path / "m", llm="openai", openai_url=server.origin))
    assert summary["maker"] == "extractive"
    assert "login timeout" in summary["narrative"].lower()


def test_a_failing_model_gives_the_extractive_summary(tmp_path: Path, server: ModelServer) -> None:
    server.script.append(reply(401))
    summary = summarized(World(tmp_path / "m", llm="openai", openai_key=KEY, openai_url=server.origin))
    assert summary["maker"] == "extractive"


def test_the_model_is_never_shown_a_secret(tmp_path: Path, server: ModelServer) -> None:
    secret = "sk_live_" + "9fKq2Lm7Rz4Xv1Bn8Wt3Yp6S"
    server.script.append(reply(200, openai_reply(ANSWER)))
    world = World(tmp_path / "m", llm="openai", openai_url=server.origin)
    world.observe(hook="prompt_submit", prompt=f"deploy with {secret} please")
    world.call("summarize", sessionId="s1")
    world.close()
    assert server.seen
    assert secret not in str(server.seen)
