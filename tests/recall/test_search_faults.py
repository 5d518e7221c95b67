"""A search for which something is missing: it says what, and does what it still can."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from world import running

from holdfast.connection import RemoteConnection
from holdfast.core.errors import InvalidRequest
from holdfast.ops.registry import BY_NAME


def test_a_model_that_cannot_be_used_is_told_by_health_and_words_still_find(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "model.safetensors").write_bytes(b"garbage")
    with running(tmp_path / "memory", embedder="minilm", embedder_path=str(tmp_path / "model")) as http:
        kept = http.post("/agentmemory/remember", json={"content": "the lantern burns whale oil"}).json()["memory"][
            "id"
        ]
        found = http.post("/agentmemory/search", json={"query": "lantern"}).json()["results"]
        assert [one["id"] for one in found] == [kept]
        assert "HOLDFAST_EMBEDDER_PATH" in http.get("/agentmemory/health").json()["index"]["fault"]


def test_what_is_no_text_is_refused_before_it_is_sent(tmp_path: Path) -> None:
    with running(tmp_path / "memory") as http, closing(RemoteConnection(str(http.base_url), None)) as connection:
        for arguments in ({"query": "a\udcff"}, {"query": "x", "concepts": ["a\udcff"]}):
            with pytest.raises(InvalidRequest, match=r"search: an argument contains .* surrogate"):
                connection.call(BY_NAME["search"], arguments)
