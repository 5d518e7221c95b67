"""The official clients of OpenAI and Anthropic with a memory: what matters comes in, what was said goes out."""

from __future__ import annotations

from holdfast.wrap.client_class import remembering

__all__ = ["remembering"]
