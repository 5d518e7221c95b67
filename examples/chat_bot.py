"""A bot in a terminal with two users and a group: what one tells it in private is not told to the other.

    python examples/chat_bot.py
    anna> remember my locker code is 4711      anna@club> remember we meet on Friday      ben> locker code

Without a language model the answer is what a model would be given: the memories that may be told here.
"""

import sys
import tempfile

from holdfast import Holdfast

USERS = ("anna", "ben")
HELP = "Say it as one of the two, in private or in a group: anna> hello, or ben@club> hello. End with Ctrl-D."


def chat_of(place: str) -> tuple[str, str]:
    """`anna` is Anna's private chat, `anna@club` is Anna speaking in the group."""
    user, _, group = place.strip().partition("@")
    return f"terminal:{'group' if group else 'private'}:{group or user}", user


def answer(memory: Holdfast, line: str) -> str:
    place, _, text = line.partition(">")
    umo, user = chat_of(place)
    if user not in USERS or not text.strip():
        return HELP
    if text.strip().startswith("remember "):
        scope = "group" if ":group:" in umo else "personal"
        memory.remember(text.strip().removeprefix("remember "), umo=umo, sender_id=user, scope=scope)
        return "I will remember that."
    told = memory.context("", umo=umo, sender_id=user, query=text.strip())
    return told or "I know nothing that I could tell here."


if __name__ == "__main__":
    print(HELP, flush=True)
    with tempfile.TemporaryDirectory() as folder, Holdfast(folder, daemon=False) as memory:
        for line in sys.stdin:
            print(answer(memory, line), flush=True)
