import asyncio

from llama_index.core.llms import ChatMessage

from holdfast import Holdfast
from holdfast.integrations.llama_index import HoldfastMemoryBlock

with Holdfast() as memory:
    block = HoldfastMemoryBlock(memory=memory, user="ada")  # Memory.from_defaults(memory_blocks=[block])
    asyncio.run(block.aput([ChatMessage(role="user", content="My sister is called Cleo")]))
    print(asyncio.run(block.aget([ChatMessage(role="user", content="what is my sister called?")])))
