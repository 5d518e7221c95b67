"""What holds the project together besides its code: the changelog, the decisions, the guide, the hook before a commit."""

from __future__ import annotations

import importlib
import re
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st
from rows import each
from scripts import load_script

ROOT = Path(__file__).parents[1]
DECISIONS = sorted(path for path in (ROOT / "docs" / "decisions").glob("*.md") if path.name != "README.md")
PARTS = ["Context", "Decision", "Reason", "Consequences"]
DATE = r"\d{4}-\d\d-\d\d"


def _text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_changelog_has_what_is_unreleased_first_and_then_dated_versions() -> None:
    first, *versions = re.findall(r"^## (.+)$", _text("CHANGELOG.md"), re.MULTILINE)

    assert first == "[Unreleased]"
    assert versions
    assert all(re.fullmatch(rf"\[\d+\.\d+\.\d+\] - {DATE}", version) for version in versions)


def test_the_changelog_knows_the_kinds_of_changes_that_its_form_has() -> None:
    kinds = set(re.findall(r"^### (.+)$", _text("CHANGELOG.md"), re.MULTILINE))

    assert kinds <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_the_version_of_the_package_is_the_newest_of_the_changelog() -> None:
    newest = re.findall(r"^## \[(\d\S+)\]", _text("CHANGELOG.md"), re.MULTILINE)[0]

    assert tomllib.loads(_text("pyproject.toml"))["project"]["version"] == newest


@each("page", DECISIONS)
def test_a_decision_has_a_date_and_its_four_parts(page: Path) -> None:
    entries = re.split(r"^## ", page.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]

    assert entries
    for entry in entries:
        assert re.match(rf"{DATE} · \S", entry), entry.splitlines()[0]
        assert re.findall(r"^- \*\*(\w+)\.\*\* \S", entry, re.MULTILINE) == PARTS, entry.splitlines()[0]


def test_the_index_of_decisions_names_every_page() -> None:
    named = re.findall(r"^\| \[(\S+)\]", _text("docs/decisions/README.md"), re.MULTILINE)

    assert sorted(named) == [page.name for page in DECISIONS]


def _examples() -> list[str]:
    drawn: list[str] = []

    @given(st.lists(st.text(), min_size=8).map(str))
    @settings(derandomize=True, database=None)
    def draw(text: str) -> None:
        drawn.append(text)

    draw()
    return drawn


def test_the_examples_of_a_test_do_not_depend_on_what_was_loaded_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = _examples()
    (tmp_path / "loaded_later.py").write_text(f"WORDS = {[f'word {number}' for number in range(500)]}")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setitem(sys.modules, "loaded_later", importlib.import_module("loaded_later"))

    assert _examples() == before


def test_every_file_that_the_guide_names_exists() -> None:
    named = set(
        re.findall(r"`((?:src|tests|docs|tools|requirements)/[\w./-]+|core/[\w./-]+)`", _text("CONTRIBUTING.md"))
    )

    assert len(named) > 10
    for name in named:
        assert (ROOT / name).exists() or (ROOT / "src" / "holdfast" / name).exists(), name


def test_the_hook_before_a_commit_runs_what_make_check_runs() -> None:
    assert re.findall(r"^\s+entry: (.+)$", _text(".pre-commit-config.yaml"), re.MULTILINE) == ["make check"]
    assert re.findall(r"^\s+- repo: (.+)$", _text(".pre-commit-config.yaml"), re.MULTILINE) == ["local"]


def test_types_are_checked_in_the_helpers_of_the_tests() -> None:
    checked = tomllib.loads(_text("pyproject.toml"))["tool"]["mypy"]
    excluded = re.compile("|".join(checked["exclude"]))
    helpers = [path for path in (ROOT / "tests").glob("*.py") if not path.name.startswith("test_")]

    assert {"src", "tests"} <= set(checked["files"])
    assert len(helpers) > 5
    assert not any(excluded.search(path.relative_to(ROOT).as_posix()) for path in helpers)


def test_a_release_needs_a_dated_section_of_the_changelog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release = load_script("tools/release.py")
    monkeypatch.setattr(release, "ROOT", tmp_path)
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "9.9.9"\n')
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## [Unreleased]\n\n## [0.1.0] - 2026-11-18\n")

    assert release.main() == 1

    assert not (tmp_path / "dist").exists()


def test_a_wheel_that_does_not_answer_as_it_should_is_no_release(tmp_path: Path) -> None:
    release = load_script("tools/release.py")
    user = release.User(tmp_path, Path("/bin/echo"))

    user.expect("recall", "recall", "how do we deploy")
    with pytest.raises(release.ReleaseFailed, match="did not print 'Saved'"):
        user.expect("Saved", "recall")


def test_a_wheel_that_lacks_a_file_of_the_package_is_no_release(tmp_path: Path) -> None:
    release = load_script("tools/release.py")
    wheel = tmp_path / "holdfast-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as packed:
        packed.writestr("holdfast/__init__.py", "")

    with pytest.raises(release.ReleaseFailed, match="lacks holdfast/"):
        release._check_files(wheel)
