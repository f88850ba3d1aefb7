"""The files for visitors and services of the repository are valid and correct."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from mera_ru_tasks import __version__
from tests.support.documents import REPOSITORY, text_of

# https://github.com/citation-file-format/citation-file-format/blob/1.2.0/schema-guide.md
CITATION_KEYS = set(
    "abstract authors cff-version commit contact date-released doi identifiers keywords license license-url message "
    "preferred-citation references repository repository-artifact repository-code title type url version".split()
)
GITHUB = REPOSITORY / ".github"
YAML_FILES = sorted([*GITHUB.rglob("*.yml"), REPOSITORY / ".pre-commit-config.yaml"])


def load(path: Path) -> Any:
    # BaseLoader, because YAML 1.1 reads the key `on` of a workflow as True.
    return yaml.load(text_of(path), Loader=yaml.BaseLoader)


def test_the_citation_is_valid_and_of_this_version() -> None:
    citation = load(REPOSITORY / "CITATION.cff")
    assert {"cff-version", "message", "title", "authors"} <= citation.keys() <= CITATION_KEYS
    assert (citation["cff-version"], citation["type"]) == ("1.2.0", "software")
    assert (citation["title"], citation["version"], citation["license"]) == ("mera-ru-tasks", __version__, "MIT")
    assert all(author.keys() & {"name", "family-names"} for author in citation["authors"])


@pytest.mark.parametrize("page", ["docs/benchmarks.md", "docs/ru/benchmarks.md"])
def test_one_section_has_all_citations(page: str) -> None:
    section = text_of(REPOSITORY / page).rpartition("\n## ")[2]
    readmes = sorted((REPOSITORY / "yaml_tasks").glob("*/README*.md"))
    entries = {entry for path in readmes for entry in re.findall(r"^@misc\{.*?^\}", text_of(path), re.M | re.S)}
    assert len(entries) == 3
    assert all(entry in section for entry in entries)


def test_the_changelog_tells_of_this_version() -> None:
    assert re.search(
        rf"^## {re.escape(__version__)} – (unreleased|\d{{4}}-\d\d-\d\d)$", text_of(REPOSITORY / "CHANGELOG.md"), re.M
    )


@pytest.mark.parametrize("path", YAML_FILES, ids=lambda path: path.name)
def test_each_configuration_is_yaml(path: Path) -> None:
    assert isinstance(load(path), dict)


def test_the_workflows_run_targets_of_the_makefile() -> None:
    makefile = text_of(REPOSITORY / "Makefile")
    targets = set()
    for path in (GITHUB / "workflows").glob("*.yml"):
        for job in load(path)["jobs"].values():
            targets |= {step["run"].split()[1] for step in job["steps"] if step.get("run", "").startswith("make ")}
    assert targets
    for target in targets:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_ci_tests_each_supported_python_and_each_system() -> None:
    matrix = load(GITHUB / "workflows" / "ci.yml")["jobs"]["tests"]["strategy"]["matrix"]
    oldest = re.search(r'requires-python = ">=(3\.\d+)"', text_of(REPOSITORY / "pyproject.toml"))
    assert oldest is not None
    assert matrix["python"][0] == oldest[1]
    assert {"macos-latest", "windows-latest"} <= {job["os"] for job in matrix["include"]}


@pytest.mark.parametrize("path", sorted((GITHUB / "ISSUE_TEMPLATE").glob("*.yml")), ids=lambda path: path.name)
def test_each_issue_form_has_what_the_service_needs(path: Path) -> None:
    form = load(path)
    if path.name == "config.yml":
        assert form.keys() <= {"blank_issues_enabled", "contact_links"}
        return
    assert {"name", "description", "body"} <= form.keys()
    assert any(field["type"] in ("textarea", "input") for field in form["body"])
    identities = [field["id"] for field in form["body"]]
    assert len(set(identities)) == len(identities)
    assert all(field["attributes"]["label"] for field in form["body"])
