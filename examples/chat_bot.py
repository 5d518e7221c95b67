"""A bot in a terminal with two users and a group: what one tells it in private is not told to the other.

    python examples/chat_bot.py
    anna> remember my locker code is 4711      anna@club> remember we meet on Friday      ben> locker code

Without a language model the answer is what a model would be given: the memories that may be told here.
"""

import sys
import tempfile

from holdfast import Holdfast

USERS = ("anna", "ben")


def chat_of(line: str) -> tuple[str, str, str]:
    """`anna> text` is Anna's private chat, `anna@club> text` is Anna speaking in the group."""
    place, _, text = line.partition(">")
    user, _, group = place.strip().partition("@")
    if user not in USERS:
        raise SystemExit(f"say it as one of {', '.join(USERS)}: anna> hello, or anna@club> hello")
    return f"terminal:{'group' if group else 'private'}:{group or user}", user, text.strip()


def answer(memory: Holdfast, line: str) -> str:
    umo, user, text = chat_of(line)
    if text.startswith("remember "):
        scope = "group" if ":group:" in umo else "personal"
        memory.remember(text.removeprefix("remember "), umo=umo, sender_id=user, scope=scope)
        return "I will remember that."
    return memory.context("", umo=umo, sender_id=user, query=text) or "I know nothing that I could tell here."


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder, Holdfast(folder) as memory:
        for line in sys.stdin:
            print(answer(memory, line), flush=True)
