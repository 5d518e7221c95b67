"""The requirement files: a hash for every package, one version each, within the ranges that pyproject.toml declares."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from rows import each

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS: dict[str, list[str]] = PROJECT["project"]["optional-dependencies"]
FILES = ("base", "build", "dev", "embed", "frameworks")

Pins = dict[str, list[Requirement]]

each_file = pytest.mark.parametrize("name", FILES)


def _text(name: str) -> str:
    return (ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8")


def _entries(name: str) -> Iterator[tuple[Requirement, list[str]]]:
    """Each requirement of a file with its hashes."""
    for line in re.sub(r"#.*", "", _text(name)).replace("\\\n", " ").splitlines():
        requirement, *hashes = line.split(" --hash=")
        if requirement.strip():
            yield Requirement(requirement.strip()), [one.strip() for one in hashes]


def _pins(name: str) -> Pins:
    """The requirements of a file by the name of the package: several where the version depends on Python."""
    found: Pins = {}
    for requirement, _ in _entries(name):
        found.setdefault(canonicalize_name(requirement.name), []).append(requirement)
    return found


def _declared(*extras: str) -> Iterator[Requirement]:
    """What the project needs with some extras, those that an extra names among them."""
    own = canonicalize_name(PROJECT["project"]["name"])
    for line in [*PROJECT["project"]["dependencies"], *(line for extra in extras for line in EXTRAS[extra])]:
        requirement = Requirement(line)
        if canonicalize_name(requirement.name) == own:
            yield from _declared(*requirement.extras)
        else:
            yield requirement


def _version(pin: Requirement) -> str:
    (only,) = pin.specifier
    assert only.operator == "=="
    return only.version


@each_file
def test_every_package_has_one_version_and_hashes(name: str) -> None:
    entries = list(_entries(name))

    assert entries
    for pin, hashes in entries:
        assert _version(pin)
        assert hashes
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", one) for one in hashes), pin.name


@each_file
def test_a_file_names_no_index_and_no_place_of_the_machine_that_wrote_it(name: str) -> None:
    assert re.findall(r"^.*(?:://|--index|--extra-index|--find-links|(?:^|\s)/\w).*$", _text(name), re.MULTILINE) == []


@each("name, extras", [
    ("base", ()), ("embed", ("embed",)), ("dev", ("embed", "dev")), ("frameworks", ("frameworks",)),
])  # fmt: skip
def test_a_file_has_every_requirement_of_the_project_in_its_range(name: str, extras: tuple[str, ...]) -> None:
    pins = _pins(name)
    for requirement in _declared(*extras):
        pinned = pins.get(canonicalize_name(requirement.name), [])
        assert pinned, f"{requirement.name} is not in requirements/{name}.txt: run make lock"
        for pin in pinned:
            assert requirement.specifier.contains(_version(pin)), f"{pin} is not {requirement}: run make lock"


def test_every_framework_is_tried_in_its_newest_version() -> None:
    newest = (ROOT / "requirements" / "frameworks.in").read_text(encoding="utf-8").split()

    assert sorted(newest) == sorted({one.name for one in _declared("frameworks")} - {one.name for one in _declared()})


def test_what_builds_the_project_is_in_the_range_of_its_build_system() -> None:
    pins = _pins("build")
    for line in PROJECT["build-system"]["requires"]:
        requirement = Requirement(line)
        assert [pin for pin in pins[requirement.name] if requirement.specifier.contains(_version(pin))]
        assert line in (ROOT / "requirements" / "build.in").read_text(encoding="utf-8").splitlines()


def test_a_package_has_the_same_version_in_all_files() -> None:
    every = _pins("dev")
    for name in ("base", "embed"):
        for package, pins in _pins(name).items():
            assert {_version(pin) for pin in pins} == {_version(pin) for pin in every[package]}, package


def test_a_package_with_native_code_has_wheels_for_each_python_and_platform() -> None:
    """Hashes carry no file names; numpy alone has over thirty wheels a version for the platforms that count."""
    numbers = {pin.name: len(hashes) for pin, hashes in _entries("embed")}

    assert numbers["numpy"] > 30
    assert numbers["onnxruntime"] > 10


def test_serve_and_test_install_from_the_files_alone() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    rules = {
        stamp: re.search(rf"^\$\({stamp}\):.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)
        for stamp in ("STAMP", "DEV_STAMP")
    }

    assert "--require-hashes" in makefile.split("INSTALL := ")[1].splitlines()[0]
    assert "--no-deps --no-build-isolation" in makefile.split("INSTALL_HOLDFAST := ")[1].splitlines()[0]
    for stamp, rule in rules.items():
        assert rule, stamp
        assert all(line.strip().startswith(("$(INSTALL", "touch")) for line in rule[1].splitlines()), stamp
