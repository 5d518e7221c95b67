import asyncio

from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel

from holdfast import Holdfast
from holdfast.integrations.pydantic_ai import memory_toolset

with Holdfast() as memory:
    model = TestModel(
        call_tools=["memory_save"]
    )  # calls the tool without a language model; use "openai:gpt-5" or another
    agent = Agent(model, toolsets=[memory_toolset(memory, user="ada")])
    print(asyncio.run(agent.run("Remember this")).output)
