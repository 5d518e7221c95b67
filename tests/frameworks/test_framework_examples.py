"""The examples for frameworks, run as they stand, and the imports that none of them may cost others."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from api_server import ANSWER, api_server
from patience import WAIT_SECONDS

ROOT = Path(__file__).parents[2]
EXAMPLES = {path.stem: path for path in (ROOT / "examples" / "frameworks").glob("*.py")}
PRINTS = {
    "langgraph_store": "Ada likes green tea",
    "langchain_retriever": "Ada uses Emacs as her editor",
    "openai_agents": "[{'role': 'user', 'content': 'I live in Graz.'}]",
    "llama_index": "My sister is called Cleo",
    "pydantic_ai": "Saved as mem_",
    "google_adk": "Ada wears size 38",
    "autogen_memory": "Ada has two cats",
    "wrapped_client": ANSWER,
}


def test_every_example_and_every_adapter_is_run() -> None:
    adapters = {path.stem for path in (ROOT / "src" / "holdfast" / "integrations").glob("*.py")} - {"__init__"}

    assert EXAMPLES.keys() == PRINTS.keys()
    assert adapters - {"anthropic_memory"} == PRINTS.keys() - {"wrapped_client"}


@pytest.mark.parametrize("name", PRINTS)
def test_an_example_says_what_it_promises(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with api_server() as api:
        given = {"HOLDFAST_HOME": str(tmp_path), "HOLDFAST_EMBEDDER": "none", "OPENAI_API_KEY": "none"}
        for variable, value in {**given, "OPENAI_BASE_URL": f"{api.url}/v1"}.items():
            monkeypatch.setenv(variable, value)
        runpy.run_path(str(EXAMPLES[name]), run_name="__main__")

    assert PRINTS[name] in capsys.readouterr().out
    assert name != "wrapped_client" or "My locker code is 4711." in api.said()


@pytest.mark.parametrize("name", EXAMPLES)
def test_docs_show_the_example_as_it_is_run(name: str) -> None:
    page = (ROOT / "docs" / "frameworks.md").read_text("utf-8")

    assert f"```python\n{EXAMPLES[name].read_text('utf-8')}```" in page


def test_no_framework_is_loaded_unless_asked_for() -> None:
    """Here all of them are installed, so that one that is imported would be."""
    program = "import sys, holdfast, holdfast.client, holdfast.user_memory, holdfast.wrap; print(*sorted(sys.modules))"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    run = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env=environment,
        timeout=WAIT_SECONDS,
        check=True,
    )

    roots = {name.split(".")[0] for name in run.stdout.split()}
    assert roots & {
        "agents",
        "anthropic",
        "autogen_core",
        "google",
        "langchain_core",
        "langgraph",
        "llama_index",
        "openai",
        "pydantic_ai",
    } <= {"google"}
    assert "google.adk" not in run.stdout
