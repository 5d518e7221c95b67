"""The session of the OpenAI Agents SDK: every item, in its order, and a real run of an agent with it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from agents import Agent, OpenAIChatCompletionsModel, Runner, set_tracing_disabled
from agents.memory import Session, SessionSettings
from api_server import ANSWER, api_server
from openai import AsyncOpenAI

from holdfast.client import Holdfast
from holdfast.core.errors import InvalidRequest
from holdfast.integrations.openai_agents import HoldfastSession

ITEMS: list[Any] = [
    {"role": "user", "content": "What is the weather?"},
    {"type": "function_call", "call_id": "call_a8", "name": "weather", "arguments": '{"city": "Graz", "days": 2}'},
    {"type": "function_call_output", "call_id": "call_a8", "output": "sunny"},
    {"role": "assistant", "content": [{"type": "output_text", "text": "Sunny.", "annotations": []}]},
    {"role": "user", "content": "What is the weather?"},
]


def test_items_come_back_exactly_and_in_their_order(memory: Holdfast) -> None:
    async def use() -> Any:
        session = HoldfastSession("exact", memory, user="ada")
        await session.add_items(ITEMS[:2])
        await session.add_items(ITEMS[2:])
        await session.add_items([])
        again = HoldfastSession("exact", memory, user="ada")
        return [await again.get_items(), await again.get_items(2), await again.get_items(0), await again.get_items(99)]

    assert asyncio.run(use()) == [ITEMS, ITEMS[-2:], [], ITEMS]


def test_popping_takes_the_last_and_clearing_takes_all(memory: Holdfast) -> None:
    async def use() -> Any:
        session = HoldfastSession("popped", memory, user="ada")
        await session.add_items(ITEMS[:3])
        taken = [await session.pop_item(), await session.pop_item()]
        await session.add_items([ITEMS[3]])
        left = await session.get_items()
        await session.clear_session()
        return taken, left, await session.get_items(), await session.pop_item()

    assert asyncio.run(use()) == ([ITEMS[2], ITEMS[1]], [ITEMS[0], ITEMS[3]], [], None)


def test_two_that_add_at_once_lose_nothing(memory: Holdfast) -> None:
    async def use() -> Any:
        sessions = [HoldfastSession("busy", memory, user="ada") for _ in range(4)]
        await asyncio.gather(
            *(one.add_items([{"role": "user", "content": f"{at}"}] * 5) for at, one in enumerate(sessions))
        )
        return await sessions[0].get_items()

    said = [one["content"] for one in asyncio.run(use())]
    assert len(said) == 20
    assert all(said[at : at + 5] == [said[at]] * 5 for at in range(0, 20, 5))  # what was added together stays together


def test_two_users_with_the_same_session_id_have_two_sessions(memory: Holdfast) -> None:
    async def use() -> Any:
        ada, ben = (HoldfastSession("shared", memory, user=user) for user in ("ada", "ben"))
        await ada.add_items([ITEMS[0]])
        await ben.clear_session()
        return await ada.get_items(), await ben.get_items(), await ben.pop_item()

    assert asyncio.run(use()) == ([ITEMS[0]], [], None)


def test_more_than_a_page_of_items_is_read(memory: Holdfast) -> None:
    async def use() -> Any:
        session = HoldfastSession("long", memory, user="ada", session_settings=SessionSettings(limit=1_001))
        for start in (0, 600):
            await session.add_items([{"role": "user", "content": str(at)} for at in range(start, start + 600)])
        return await session.get_items()

    assert [one["content"] for one in asyncio.run(use())] == [str(at) for at in range(199, 1_200)]


def test_a_secret_is_taken_out_or_refused_and_never_repeated(memory: Holdfast) -> None:
    secret = "sk-proj-" + "a1B2c3D4" * 5
    item = {"role": "user", "content": f"my key is {secret}"}
    session = HoldfastSession("secret", memory, user="ada")
    strict = HoldfastSession("secret", memory, user="ben", secrets="refuse")

    with pytest.warns(UserWarning, match="removed secrets"):
        asyncio.run(session.add_items([item]))
    assert secret not in str(asyncio.run(session.get_items()))
    with pytest.raises(InvalidRequest, match="nothing was stored"):
        asyncio.run(strict.add_items([ITEMS[0], item]))
    assert asyncio.run(strict.get_items()) == []


def test_a_session_needs_an_id_and_a_user(memory: Holdfast) -> None:
    with pytest.raises(InvalidRequest, match="both are required"):
        HoldfastSession("", memory, user="ada")
    with pytest.raises(InvalidRequest, match="both are required"):
        HoldfastSession("s", memory, user="")
    assert isinstance(HoldfastSession("s", memory, user="ada"), Session)


def test_an_agent_knows_in_its_second_run_what_was_said_in_the_first(memory: Holdfast) -> None:
    set_tracing_disabled(True)
    with api_server() as api:

        async def run() -> Any:
            client = AsyncOpenAI(api_key="none", base_url=f"{api.url}/v1", max_retries=0)
            agent = Agent("helper", model=OpenAIChatCompletionsModel("m", client))
            session = HoldfastSession("run", memory, user="ada")
            for said in ("I live in Graz.", "Where do I live?"):
                result = await Runner.run(agent, said, session=session)
            await client.close()
            return result.final_output

        assert asyncio.run(run()) == ANSWER
        assert [one["content"] for one in api.bodies[1]["messages"] if one["role"] == "user"] == [
            "I live in Graz.",
            "Where do I live?",
        ]
