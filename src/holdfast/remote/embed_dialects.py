"""What the embedding APIs' requests and answers look like: pure functions, without network, key or settings."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import numpy as np

from holdfast.core.model import Json
from holdfast.core.ports import Vectors
from holdfast.remote.failure import MALFORMED, MISCOUNTED, MISSIZED, NOT_NUMBERS, Failure


@dataclass(frozen=True, slots=True)
class EmbedRequest:
    """A request for vectors. A question and what answers it may be embedded differently."""

    model: str
    dims: int
    texts: Sequence[str]
    question: bool = False


@dataclass(frozen=True, slots=True)
class EmbedDialect:
    """One API. `rows` may raise on a shape that the API never returns; `vectors_in` makes that a failure."""

    operation: str
    default_model: str
    usual_dims: Mapping[str, int]
    most_texts: int  # in one request
    headers: Callable[[str | None], dict[str, str]]
    path: Callable[[EmbedRequest], str]
    body: Callable[[EmbedRequest], Json]
    rows: Callable[[Json], list[Any]]


def vectors_in(reply: Json, dialect: EmbedDialect, order: EmbedRequest) -> Vectors | Failure:
    """One row of length 1 per text of the order, or why there is none."""
    try:
        rows = dialect.rows(reply)
    except (LookupError, TypeError, AttributeError):
        return MALFORMED
    if len(rows) != len(order.texts):
        return MISCOUNTED
    if not all(isinstance(row, list) and all(type(number) in (int, float) for number in row) for row in rows):
        return MALFORMED
    if any(len(row) != order.dims for row in rows):
        return MISSIZED
    return _normal(rows)


def _normal(rows: list[list[float]]) -> Vectors | Failure:
    """Each row at length 1: shortened vectors of some models have another, and not every server normalises."""
    try:
        exact = np.array(rows, np.float64)
    except OverflowError:  # JSON knows whole numbers of any size
        return NOT_NUMBERS
    if not np.isfinite(exact).all():
        return NOT_NUMBERS
    # Scaled first: the square of 1e200 is not finite.
    largest = np.abs(exact).max(axis=1, keepdims=True)
    if not (largest > 0).all():
        return NOT_NUMBERS
    exact /= largest
    vectors: Vectors = (exact / np.sqrt((exact * exact).sum(axis=1, keepdims=True))).astype(np.float32)
    return vectors


# Gemini: batchEmbedContents

# 768 of its 3,072 numbers, as agentmemory keeps them; the model is trained so that the first ones carry most.
GEMINI_DIMS = {"gemini-embedding-001": 768}


def _gemini_headers(key: str | None) -> dict[str, str]:
    return {"x-goog-api-key": key or ""}


def _gemini_path(order: EmbedRequest) -> str:
    return f"/models/{quote(_gemini_model(order), safe='')}:batchEmbedContents"


def _gemini_model(order: EmbedRequest) -> str:
    return order.model.removeprefix("models/")


def _gemini_body(order: EmbedRequest) -> Json:
    task = "RETRIEVAL_QUERY" if order.question else "RETRIEVAL_DOCUMENT"
    common = {"model": f"models/{_gemini_model(order)}", "taskType": task, "outputDimensionality": order.dims}
    return {"requests": [{**common, "content": {"parts": [{"text": text}]}} for text in order.texts]}


def _gemini_rows(reply: Json) -> list[Any]:
    return [one["values"] for one in reply["embeddings"]]


GEMINI = EmbedDialect(
    "batchEmbedContents",
    "gemini-embedding-001",
    GEMINI_DIMS,
    100,  # the API's own limit
    _gemini_headers,
    _gemini_path,
    _gemini_body,
    _gemini_rows,
)

# OpenAI: embeddings, which most local model servers support too

OPENAI_DIMS = {
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
    "text-embedding-ada-002": 1536,
    "nomic-embed-text": 768,
    "mxbai-embed-large": 1024,
    "all-minilm": 384,
    "bge-m3": 1024,
}


def _openai_headers(key: str | None) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"} if key else {}


def _openai_path(order: EmbedRequest) -> str:
    return "/embeddings"


def _openai_body(order: EmbedRequest) -> Json:
    body: Json = {"model": order.model, "input": list(order.texts), "encoding_format": "float"}
    # Only these can be shortened; other models and servers refuse the field or ignore it.
    return {**body, "dimensions": order.dims} if order.model.startswith("text-embedding-3-") else body


def _openai_rows(reply: Json) -> list[Any]:
    """In the order of the texts, which the API gives by index and not by place."""
    data = reply["data"]
    placed = {one["index"]: one["embedding"] for one in data}
    if len(placed) != len(data):
        raise LookupError("an index twice")
    return [placed[index] for index in range(len(data))]


OPENAI = EmbedDialect(
    "embeddings",
    "text-embedding-3-small",
    OPENAI_DIMS,
    256,
    _openai_headers,
    _openai_path,
    _openai_body,
    _openai_rows,
)

# A number with its comma, line break and indentation, as Gemini prints it, or all digits of a double.
BYTES_PER_NUMBER = 32


def texts_per_request(dialect: EmbedDialect, dims: int, answer_bytes: int) -> int:
    """How many texts one request may hold so that the answer stays within the limit."""
    return max(1, min(dialect.most_texts, math.floor(answer_bytes * 0.9 / (dims * BYTES_PER_NUMBER))))
