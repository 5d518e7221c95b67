import asyncio

from autogen_core.memory import MemoryContent

from holdfast import Holdfast
from holdfast.integrations.autogen_memory import HoldfastMemory

with Holdfast() as memory:
    kept = HoldfastMemory(memory, user="ada")  # AssistantAgent("helper", model_client=client, memory=[kept])
    asyncio.run(kept.add(MemoryContent(content="Ada has two cats", mime_type="text/plain")))
    print(asyncio.run(kept.query("which cats does she have?")).results[0].content)
