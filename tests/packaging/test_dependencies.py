"""pyproject.toml declares the packages that are imported, and its lower bounds are tested."""

from __future__ import annotations

import ast
import functools
import re
import sys
from collections.abc import Mapping
from importlib.metadata import packages_distributions, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.support.documents import REPOSITORY

PACKAGE = REPOSITORY / "mera_ru_tasks"
# The extras that a part of the package may import, in addition to the core's dependencies.
EXTRAS = {"judge": ("judge",), "compare/html": ("report",), "harness/task": ("hf",)}


def declared(extra: str | None = None) -> list[Requirement]:
    """Return the dependencies of the core or of one extra."""
    tomllib = pytest.importorskip("tomllib", reason="Python 3.10 cannot read pyproject.toml")
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return list(map(Requirement, project["optional-dependencies"][extra] if extra else project["dependencies"]))


def names(requirements: list[Requirement]) -> set[str]:
    """Return the requirements and those that lm-eval guarantees for its extras in them."""
    promised = [Requirement(text) for text in requires("lm_eval") or ()]
    brought = {canonicalize_name(requirement.name) for requirement in requirements}
    for requirement in requirements:
        for extra in requirement.extras if requirement.name == "lm-eval" else ():
            brought |= {
                canonicalize_name(one.name) for one in promised if one.marker and one.marker.evaluate({"extra": extra})
            }
    return brought


@functools.cache
def distributions() -> Mapping[str, list[str]]:
    """Map each top-level module to its distributions. This reads the metadata of all installed packages."""
    return packages_distributions()


@functools.cache
def imported(file: Path) -> set[str]:
    """Return the distributions that a file imports at any level."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or "").partition(".")[0])
    others = found - set(sys.stdlib_module_names) - {"mera_ru_tasks"}
    known = distributions()
    # A module that is not installed is assumed to belong to a distribution with the same name.
    return {canonicalize_name(known.get(name, [name])[0]) for name in others}


def part_of(file: Path) -> str:
    """Return the part of the package with an extra to which a file belongs, or an empty string."""
    name = file.relative_to(PACKAGE).as_posix()
    return next((part for part in EXTRAS if name.startswith(part)), "")


def test_whatever_is_imported_is_declared() -> None:
    for file in PACKAGE.rglob("*.py"):
        allowed = names(declared())
        for extra in EXTRAS.get(part_of(file), ()):
            allowed |= names(declared(extra))
        assert not imported(file) - allowed, file


def test_whatever_is_declared_is_imported() -> None:
    needed_by_others = {"gguf", "sentencepiece", "protobuf", "lm-eval", "mera-ru-tasks"}  # transformers, a run, extras
    everywhere = set().union(*map(imported, PACKAGE.rglob("*.py")))
    assert not names(declared()) - everywhere - needed_by_others
    for part, extras in EXTRAS.items():
        of_part = set().union(*(imported(file) for file in PACKAGE.rglob("*.py") if part_of(file) == part))
        own = {canonicalize_name(one.name) for extra in extras for one in declared(extra)}
        assert not own - of_part - needed_by_others, part


def test_the_lowest_versions_are_those_that_are_declared() -> None:
    lines = (REPOSITORY / "constraints-lowest.txt").read_text(encoding="utf-8").splitlines()
    pinned = dict(line.split("==") for line in lines if not line.startswith("#"))
    pins = {canonicalize_name(name): Version(version) for name, version in pinned.items()}
    bounds = {
        canonicalize_name(requirement.name): Version(bound[1])
        for extra in (None, "api", "docs", "hf", "judge", "report", "test")
        for requirement in declared(extra)
        if (bound := re.search(r">=([\d.]+)", str(requirement.specifier)))
    }
    assert {name: pins.get(name) for name in bounds} == bounds
