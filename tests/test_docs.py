"""What the documentation names exists: commands, options, files, links, tasks, metrics and messages."""

from __future__ import annotations

import ast
import json
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from accelerate.commands.launch import launch_command_parser
from lm_eval._cli import HarnessCLI
from lm_eval.config import evaluate_config
from lm_eval.tasks import TaskManager
from rows import data_folder
from scripted import reference, run

from mera_ru_tasks import __version__, benchmarks, own_dataset, scoring
from mera_ru_tasks.cli import app
from mera_ru_tasks.paths import yaml_folder

REPOSITORY = Path(__file__).resolve().parent.parent
DOCUMENTS = sorted(
    path
    for pattern in ("*.md", "yaml_tasks/*.md", "mera_ru_tasks/sample_data/*.md")
    for path in REPOSITORY.glob(pattern)
    if path.name != "CHANGELOG.md"  # it tells of the past
)
README = REPOSITORY / "README.md"
each_document = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@cache
def text_of(document: Path) -> str:
    return document.read_text(encoding="utf-8")


def blocks(document: Path, language: str) -> list[str]:
    return [body for name, body in _FENCE.findall(text_of(document)) if name == language]


def spans(document: Path) -> list[str]:
    """The inline code of a document."""
    return re.findall(r"`([^`\n]+)`", _FENCE.sub("", text_of(document)))


# --- commands --------------------------------------------------------------------------------------------------------


def commands(block: str) -> Iterator[list[str]]:
    """The commands of a bash block, as words, without the variables that are set before them."""
    for line in block.replace("\\\n", " ").splitlines():
        for part in re.split(r"&&|;|\|", line.partition(" #")[0]):
            words = shlex.split(part.replace('"$(mera-ru path)"', "tasks").strip())
            while words and re.fullmatch(r"export|[A-Z_]+=.*", words[0]):
                words.pop(0)
            if words and not words[0].startswith("#"):
                yield words


def check_mera_ru(arguments: Sequence[str]) -> None:
    """Parse a whole `mera-ru` command, without running it."""
    command: Any = typer.main.get_command(app)
    rest = list(arguments)
    while hasattr(command, "commands"):
        name = rest.pop(0)
        assert name in command.commands, f"mera-ru has no command {name}"
        command = command.commands[name]
    context = command.make_context("mera-ru", rest)
    if arguments[0] == "run":
        check_lm_eval(["run", *context.args])


def check_lm_eval(arguments: Sequence[str]) -> None:
    parser = HarnessCLI()._parser
    known = parser._subparsers._group_actions[0].choices  # type: ignore[union-attr]
    given = list(arguments) if arguments[0] in known else ["run", *arguments]
    parsed = parser.parse_args(given)
    for task in ",".join(getattr(parsed, "tasks", None) or []).split(","):
        assert not task or task in known_tasks(), f"there is no task {task}"


def check_accelerate(arguments: Sequence[str]) -> None:
    assert arguments[0] == "launch"
    parsed = launch_command_parser().parse_args(arguments[1:])
    assert (parsed.module, parsed.training_script) == (True, "lm_eval")
    check_lm_eval(parsed.training_script_args)


def check_make(arguments: Sequence[str]) -> None:
    makefile = text_of(REPOSITORY / "Makefile")
    for word in arguments:
        name, assigned, _ = word.partition("=")
        pattern = rf"^{name} \?=" if assigned else rf"^{name}:"
        assert re.search(pattern, makefile, re.MULTILINE), f"the Makefile has no {name}"


def check_pip(arguments: Sequence[str]) -> None:
    extras = re.findall(r"^([\w-]+) = \[", text_of(REPOSITORY / "pyproject.toml"), re.MULTILINE)
    for name in re.findall(r"mera-ru-tasks\[([\w,-]+)\]", " ".join(arguments)):
        assert set(name.split(",")) <= set(extras), f"there is no extra {name}"


CHECKS: dict[str, Callable[[Sequence[str]], None]] = {
    "mera-ru": check_mera_ru,
    "lm_eval": check_lm_eval,
    "accelerate": check_accelerate,
    "make": check_make,
    "pip": check_pip,
}


@each_document
def test_each_documented_command_can_be_run(document: Path) -> None:
    for block in blocks(document, "bash"):
        for name, *arguments in commands(block):
            assert name in CHECKS, f"no test knows how to check the command {name}"
            CHECKS[name](arguments)


@each_document
def test_each_command_named_in_passing_exists(document: Path) -> None:
    command: Any = typer.main.get_command(app)
    for span in spans(document):
        words = span.replace("…", "").split()
        if words[:1] == ["mera-ru"]:
            at = command
            for word in words[1:]:
                if hasattr(at, "commands") and not word.startswith("-"):
                    assert word in at.commands, span
                    at = at.commands[word]
        elif words[:1] == ["make"]:
            check_make(words[1:])


@cache
def known_options() -> set[str]:
    """Every long option of lm-eval and of `mera-ru`."""
    parser = HarnessCLI()._parser
    parsers = [parser, *parser._subparsers._group_actions[0].choices.values()]  # type: ignore[union-attr]
    found = {option for one in parsers for option in one._option_string_actions}
    waiting: list[Any] = [typer.main.get_command(app)]
    while waiting:
        command = waiting.pop()
        found |= {option for parameter in command.params for option in parameter.opts}
        waiting += getattr(command, "commands", {}).values()
    return found


@each_document
def test_each_option_named_in_passing_exists(document: Path) -> None:
    for span in spans(document):
        for option in re.findall(r"(?<![\w-])--[a-z][\w-]*", span):
            assert option in known_options(), span


# --- tasks and metrics -----------------------------------------------------------------------------------------------


@cache
def known_tasks() -> frozenset[str]:
    """Our tasks, groups and tags, and those that the documents' own YAML blocks make."""
    ours = TaskManager(include_defaults=False, include_path=str(yaml_folder())).all_tasks
    made = [re.findall(r"^task: (\w+)$", block, re.MULTILINE) for doc in DOCUMENTS for block in blocks(doc, "yaml")]
    return frozenset(ours).union(*made)


@cache
def code() -> str:
    return "\n".join(text_of(path) for path in sorted((REPOSITORY / "mera_ru_tasks").rglob("*.py")))


@each_document
def test_each_task_setting_and_variable_exists(document: Path) -> None:
    known = known_tasks() | set(benchmarks.BENCHMARKS) | {"mera_ru_tasks"}
    for span in spans(document):
        if re.fullmatch(r"(enantiosemy|riddles|russian_regions|mera_ru)(_[a-z]+)*", span):
            assert span in known or f'"{span}"' in code() or f"{span}:" in code(), span
        for name in re.findall(r"\bMERA_RU_\w+|\bmera_ru_\w+(?=:)", span):
            assert name in code(), span


def test_the_readme_names_every_task() -> None:
    named = set(spans(README))
    assert not sorted({path.stem for path in yaml_folder().glob("*.yaml")} - named)


@pytest.mark.parametrize("benchmark", ["enantiosemy", "riddles", "russian_regions"])
def test_a_task_readme_names_its_tasks_and_their_version(benchmark: str) -> None:
    document = yaml_folder() / f"README_{benchmark}.md"
    own_tasks = {path.stem for path in yaml_folder().glob(f"{benchmark}*.yaml")}
    assert own_tasks <= set(re.findall(r"^\* `(\w+)`: ", text_of(document), re.MULTILINE))
    for task in own_tasks:
        version = yaml.load((yaml_folder() / f"{task}.yaml").read_text(), Loader=_Loader)["metadata"]["version"]
        assert f"* Version {version}:" in text_of(document)


class _Loader(yaml.SafeLoader):
    """Reads lm-eval's YAML, with functions as their names."""


_Loader.add_constructor("!function", lambda loader, node: loader.construct_scalar(node))


def table(document: Path, heading: str) -> list[list[str]]:
    """The rows of the first table below a heading."""
    section = re.search(rf"^#+ {heading}\n(.*?)(?=^#|\Z)", text_of(document), re.DOTALL | re.MULTILINE)
    assert section, heading
    lines = [line for line in section[1].splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_the_metrics_table_is_the_tasks_own() -> None:
    """Each metric stands at its benchmarks, with its pipeline where it has only one."""
    metrics: dict[str, set[str]] = {}
    titles = {"enantiosemy": "Enantiosemy", "riddles": "Riddles", "russian_regions": "RussianRegions"}
    for name, title in titles.items():
        base = yaml.load((yaml_folder() / f"_{name}_yaml").read_text(encoding="utf-8"), Loader=_Loader)
        for metric in base["metric_list"]:
            metrics.setdefault(metric["metric"], set()).add(title)
    rows = {row[0].strip("`"): row[1] for row in table(README, "Metrics")}
    assert rows.keys() == metrics.keys()
    for metric, where in rows.items():
        named = (
            set(titles.values()) if where.startswith("all") else {title for title in titles.values() if title in where}
        )
        assert named == metrics[metric], metric
    for metric in ("judge_score", "group_judge_score"):
        assert "`strict-match` only" in rows[metric]
    several = {"letters": "АБ", "most": 2, "unit": False}
    one = {**several, "most": 1}
    for answer_format in (several, one):
        meta = {"id": 1, "group_id": 1, "group_size": 1}
        doc = {"outputs": "А", "meta": meta, "answer_format": answer_format}
        flexible_only = scoring.score_flexible(doc, "А", "А").keys() - scoring.score_strict(doc, "А").keys()
        for metric in scoring.score_flexible(doc, "А", "А"):
            assert ("`flexible-extract` only" in rows[metric]) == (metric in flexible_only), metric


# --- files and links -------------------------------------------------------------------------------------------------


def anchors(document: Path) -> set[str]:
    """The anchors of a document's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", _FENCE.sub("", text_of(document)), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@each_document
def test_each_link_leads_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", _FENCE.sub("", text_of(document))):
        if target.startswith("https://"):
            continue
        path, _, anchor = target.partition("#")
        file = (document.parent / path) if path else document
        assert file.exists(), target
        # A section that is to become the README's names the README's anchors.
        known = anchors(file) | (anchors(README) if document.name.startswith("docs_") else set())
        assert not anchor or anchor in known, target


@each_document
def test_each_file_of_ours_that_is_named_exists(document: Path) -> None:
    made = re.findall(r"add `(yaml_tasks/\w+\.yaml)`", text_of(document))
    for span in spans(document):
        if re.match(r"(mera_ru_tasks|tests|yaml_tasks|benchmarks|\.ci)/", span) and span not in made:
            assert list(REPOSITORY.glob(span)), span
        elif re.fullmatch(r"[\w.-]+\.(py|md|toml|pth|cff)|_\w+_yaml|Makefile", span):
            assert list(REPOSITORY.glob(span)) + list(REPOSITORY.glob(f"[!.]*/**/{span}")), span


def test_the_map_of_the_package_is_whole() -> None:
    named = set(spans(REPOSITORY / "CONTRIBUTING.md"))
    rooms = {path.name + "/" * path.is_dir() for path in (REPOSITORY / "mera_ru_tasks").iterdir()}
    expected = {f"mera_ru_tasks/{name}" for name in rooms - {"__pycache__/", "py.typed", "yaml_tasks/"}}
    assert not sorted(expected - named)


def test_the_citation_is_of_this_version() -> None:
    citation = yaml.safe_load(text_of(REPOSITORY / "CITATION.cff"))
    assert (citation["title"], citation["version"], citation["license"]) == ("mera-ru-tasks", __version__, "MIT")


# --- messages --------------------------------------------------------------------------------------------------------


@cache
def messages() -> str:
    """Every string of the package and of lm-eval's checks of a run, a line each, with `…` for what is put in."""
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


def test_each_message_in_the_table_of_troubles_is_one_that_is_said() -> None:
    rows = table(README, "When something goes wrong")
    quoted = [row[0][1:-1] for row in rows if re.fullmatch(r"`[^`]+`", row[0])]
    assert len(quoted) >= 3
    for message in quoted:
        constant = re.sub(r"(?<=Tasks not found: ).*", "", message)
        pattern = ".*".join(re.escape(part.strip()) for part in constant.split("…"))
        assert re.search(pattern, messages()), message


# --- a benchmark in under 30 lines -----------------------------------------------------------------------------------


def test_the_documented_way_to_add_a_benchmark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    document = REPOSITORY / "CONTRIBUTING.md"
    [python], [task] = blocks(document, "python"), blocks(document, "yaml")
    assert len((python + task).splitlines()) < 30
    names = dict(vars(benchmarks))
    exec(python, names)
    added: benchmarks.Benchmark = names["PROVERBS"]
    monkeypatch.setitem(benchmarks.BENCHMARKS, added.name, added)  # type: ignore[arg-type]
    tasks = tmp_path / "tasks"
    tasks.mkdir()
    for base in yaml_folder().glob("_*_yaml"):
        (tasks / base.name).write_bytes(base.read_bytes())
    (tasks / "proverbs.yaml").write_text(task)
    row = {
        "instruction": "{text}", "inputs": dict.fromkeys(added.inputs, "слово"), "outputs": "В", "meta": {"id": 1},
    }  # fmt: skip
    results = run(None, ["proverbs"], reference, data=data_folder(tmp_path, "Proverbs", [row]), task_folders=[tasks])
    assert results["results"]["proverbs"]["exact_match,strict-match"] == 1
    assert results["results"]["proverbs"]["exact_match,flexible-extract"] == 1


@each_document
def test_each_json_block_is_json(document: Path) -> None:
    for block in blocks(document, "json"):
        json.loads(block)


def test_the_settings_of_an_own_dataset_are_all_documented() -> None:
    documented = " ".join(span for document in DOCUMENTS for span in spans(document))
    assert not [setting for setting in own_dataset.SETTINGS if setting not in documented]
