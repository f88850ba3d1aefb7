"""The documented tasks, metrics, files, links and messages exist."""

from __future__ import annotations

import ast
import json
import re
from functools import cache
from pathlib import Path

import pytest
from lm_eval.config import evaluate_config

from mera_ru_tasks.data import benchmarks, custom
from mera_ru_tasks.paths import read_task_file, shared_yaml, task_names, yaml_folder
from mera_ru_tasks.scoring import score
from tests.support.documents import (
    _FENCE,
    DOCUMENTS,
    REPOSITORY,
    anchors,
    blocks,
    each_document,
    headings,
    page,
    spans,
    text_of,
)
from tests.support.known import known_tasks
from tests.support.known_scores import RANKING_CHANCE

# The names that lm-eval's `--metadata` may contain.
METADATA = {"mera_ru_data", "mera_ru_revision"}


@each_document
def test_each_task_and_setting_exists(document: Path) -> None:
    known = known_tasks() | set(benchmarks.BENCHMARKS) | {"mera_ru_tasks"}
    known |= {path.name for path in yaml_folder().iterdir() if path.is_dir()}
    for span in spans(document):
        if re.fullmatch(r"(enantiosemy|riddles|russian_regions|mera_ru)(_[a-z]+)*", span):
            assert span in known | METADATA | set(custom.SETTINGS), span
        for name in re.findall(r"\bmera_ru_\w+(?=:)", span):
            assert name in custom.SETTINGS, span


@each_document
def test_each_environment_variable_is_on_its_page(document: Path) -> None:
    documented = {span.partition("=")[0] for span in spans(page("environment"))}
    for name in re.findall(r"\b(?:MERA_RU|LM_EVAL_JUDGE|HF)_[A-Z_]+\b|\bLMEVAL_[A-Z_]+\b", text_of(document)):
        assert name in documented, name


def test_the_page_of_tasks_names_every_task() -> None:
    named = set(spans(page("tasks")))
    assert not sorted(set(task_names()) - named)


@pytest.mark.parametrize("benchmark", ["enantiosemy", "riddles", "russian_regions"])
def test_a_task_readme_names_its_tasks_and_their_version(benchmark: str) -> None:
    folder = yaml_folder() / benchmark
    readme = text_of(folder / "README.md")
    assert {path.stem for path in folder.glob("*.yaml")} <= set(re.findall(r"^\* `(\w+)`: ", readme, re.MULTILINE))
    for file in folder.glob("*.yaml"):
        assert f"* Version {read_task_file(file)['metadata']['version']}:" in readme


def table(document: Path, heading: str) -> list[list[str]]:
    """Return the rows of the first table below a heading."""
    section = re.search(rf"^#+ {heading}\n(.*?)(?=^#|\Z)", text_of(document), re.DOTALL | re.MULTILINE)
    assert section, heading
    lines = [line for line in section[1].splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_the_metrics_table_is_the_tasks_own() -> None:
    """Check that the page names the benchmarks of each metric, and its filter if it has only one."""
    found: dict[str, set[str]] = {}
    titles = {"multi_choice": "Enantiosemy", "phrase": "Riddles", "choice": "RussianRegions"}
    for name, title in titles.items():
        base = read_task_file(shared_yaml(name))
        for metric in base["metric_list"]:
            found.setdefault(metric["metric"], set()).add(title)
    rows = {row[0].strip("`"): row[1] for row in table(page("metrics"), "Metrics")}
    assert rows.keys() == found.keys()
    for metric, where in rows.items():
        named = (
            set(titles.values()) if where.startswith("all") else {title for title in titles.values() if title in where}
        )
        assert named == found[metric], metric
    for metric in ("judge_score", "group_judge_score"):
        assert "`strict-match` only" in rows[metric]
    several = {"choices": "АБ", "max_choices": 2, "with_phrase": False}
    one = {**several, "max_choices": 1}
    for answer_format in (several, one):
        meta = {"id": 1, "group_id": 1, "group_size": 1}
        doc = {"outputs": "А", "meta": meta, "answer_format": answer_format}
        flexible_only = score.score_flexible(doc, "А", "А").keys() - score.score_strict(doc, "А").keys()
        for metric in score.score_flexible(doc, "А", "А"):
            assert ("`flexible-extract` only" in rows[metric]) == (metric in flexible_only), metric


def test_the_table_of_ranking_metrics_is_the_tasks_own() -> None:
    titles = {"rank_multi_choice": "Enantiosemy", "rank_phrase": "Riddles", "rank_choice": "RussianRegions"}
    listed = [
        (entry["metric"], title)
        for name, title in titles.items()
        for entry in read_task_file(shared_yaml(name))["metric_list"]
    ]
    for russian in (False, True):
        heading = "Ранжирование вариантов" if russian else "Ranked options"
        rows = table(page("metrics", russian=russian), heading)
        described = [(metric, row[1]) for row in rows for metric in re.findall(r"`(\w+)`", row[0])]
        assert sorted(described) == sorted(listed)
        for first, *_, shown in rows:
            for metric in re.findall(r"`(\w+)`", first):
                chance = RANKING_CHANCE.get(metric)
                assert shown.replace(",", ".") == str(chance) if chance else not shown[0].isdigit()


@each_document
def test_each_link_leads_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", _FENCE.sub("", text_of(document))):
        if target.startswith("https://"):
            continue
        path, _, anchor = target.partition("#")
        file = (document.parent / path) if path else document
        assert file.exists(), target
        assert not anchor or anchor in anchors(file), target


@each_document
def test_each_file_of_ours_that_is_named_exists(document: Path) -> None:
    made = re.findall(r"(?:add|добавьте) `(yaml_tasks/\w+/\w+\.yaml)`", text_of(document))
    for span in spans(document):
        if re.match(r"(mera_ru_tasks|tests|yaml_tasks|benchmarks|\.ci)/", span) and span not in made:
            assert list(REPOSITORY.glob(span)), span
        elif re.fullmatch(r"[\w.-]+\.(py|md|toml|pth|cff)|\w+_yaml|Makefile", span):
            assert list(REPOSITORY.glob(span)) + list(REPOSITORY.glob(f"[!.]*/**/{span}")), span


@cache
def messages() -> str:
    """Return every string of the package and of lm-eval's checks of a run as a line, with `…` for placeholders."""
    sources = [*(REPOSITORY / "mera_ru_tasks").rglob("*.py"), Path(evaluate_config.__file__)]
    found = []
    for path in sources:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                found.append(
                    "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)
                )
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append(re.sub(r"%[sd]", "…", node.value))
    return "\n".join(message.replace("\n", " ") for message in found)


@pytest.mark.parametrize("russian", [False, True], ids=["en", "ru"])
def test_each_message_that_is_a_heading_of_troubleshooting_is_one_of_the_code(russian: bool) -> None:
    titles = [title for _, title in headings(page("troubleshooting", russian=russian))]
    quoted = [title[1:-1] for title in titles if re.fullmatch(r"`[^`]+`", title)]
    assert len(quoted) >= 3
    for message in quoted:
        constant = re.sub(r"(?<=Tasks not found: ).*", "", message)
        pattern = ".*".join(re.escape(part.strip()) for part in constant.split("…"))
        assert re.search(pattern, messages()), message


@each_document
def test_each_json_block_is_json(document: Path) -> None:
    for block in blocks(document, "json"):
        json.loads(block)


def test_the_settings_of_an_own_dataset_are_all_documented() -> None:
    documented = " ".join(span for document in DOCUMENTS for span in spans(document))
    assert not [setting for setting in custom.SETTINGS if setting not in documented]
