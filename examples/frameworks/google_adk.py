import asyncio

from google.adk.memory.memory_entry import MemoryEntry
from google.genai import types

from holdfast import Holdfast
from holdfast.integrations.google_adk import HoldfastMemoryService

with Holdfast() as memory:
    service = HoldfastMemoryService(memory)  # Runner(agent=agent, app_name="shop", memory_service=service, ...)
    entry = MemoryEntry(content=types.Content(parts=[types.Part(text="Ada wears size 38")]))
    asyncio.run(service.add_memory(app_name="shop", user_id="ada", memories=[entry]))
    found = asyncio.run(service.search_memory(app_name="shop", user_id="ada", query="which size?"))
    print(found.memories[0].content.parts[0].text)
