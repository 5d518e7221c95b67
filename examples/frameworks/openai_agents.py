import asyncio

from holdfast import Holdfast
from holdfast.integrations.openai_agents import HoldfastSession


async def main(memory: Holdfast) -> None:
    session = HoldfastSession("thread-7", memory, user="ada")  # await Runner.run(agent, "Hello", session=session)
    await session.add_items([{"role": "user", "content": "I live in Graz."}])
    print(await session.get_items())


with Holdfast() as memory:
    asyncio.run(main(memory))
