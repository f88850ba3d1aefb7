"""Tasks in lm-eval: ours, and plain YAML tasks with the same prompts and references."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lm_eval.tasks import TaskManager
from lm_eval.utils import env

from mera_ru_tasks.paths import yaml_folder

TASKS = ("enantiosemy", "riddles_closed", "russian_regions")

Task = Any
Documents = Sequence[Mapping[str, Any]]

_PLAIN = """\
task: {name}
dataset_path: json
dataset_kwargs:
  data_files: {{test: "{file}"}}
  cache_dir: "{cache}"
test_split: test
output_type: generate_until
doc_to_text: "{{{{question}}}}"
doc_to_target: outputs
generation_kwargs: {{until: [], do_sample: false, max_gen_toks: 1024}}
filter_list:
  - name: strict-match
    filter: [{{function: take_first}}]
metric_list:
  - metric: exact_match
    aggregation: mean
    higher_is_better: true
    ignore_case: true
    ignore_punctuation: true
"""


def load_ours(data: Path) -> list[Task]:
    """Load our three tasks from a data folder."""
    return _load(yaml_folder(), TASKS, {"mera_ru_data": str(data)})


def write_plain(folder: Path, documents: Mapping[str, Documents]) -> None:
    """Write plain tasks for lm-eval, whose prompts are a field of the data.

    Args:
        folder: the folder for the YAML files, the data and lm-eval's cache of them.
        documents: a mapping from task names to documents with `question` and `outputs`.
    """
    folder.mkdir(exist_ok=True)
    for name, rows in documents.items():
        file = folder / f"{name}.jsonl"
        file.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
        text = _PLAIN.format(name=name, file=file, cache=folder / "cache")
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")


def load_plain(folder: Path) -> list[Task]:
    """Load the plain tasks of a folder."""
    return _load(folder, sorted(file.stem for file in folder.glob("*.yaml")), {})


def write_plain_from_logs(folder: Path, logs: Path) -> None:
    """Write plain tasks (see `write_plain`) with the prompts and references in the sample logs of a run."""
    from mera_ru_tasks.logs.find import find_logs
    from mera_ru_tasks.logs.reader import read_log
    from mera_ru_tasks.scoring.metrics import STRICT

    documents = {
        f"plain_{log.task}": [
            {"question": sample.prompt, "outputs": sample.doc["outputs"]}
            for sample in read_log(log)[0]
            if sample.filter == STRICT
        ]
        for log in find_logs([logs])
    }
    write_plain(folder, documents)


def _load(folder: Path, names: Sequence[str], metadata: Mapping[str, str]) -> list[Task]:
    manager = TaskManager(include_defaults=False, include_path=str(folder), metadata=dict(metadata))
    return list(manager.load(list(names))["tasks"].values())


@contextlib.contextmanager
def as_without_us() -> Iterator[None]:
    """Let lm-eval compile templates as it does without this package (see `prompt`)."""
    cached = vars(env).pop("compile", None)
    try:
        yield
    finally:
        if cached:
            env.compile = cached


def build(tasks: Sequence[Task]) -> None:
    """Build the requests, as lm-eval does at the start of a run."""
    for task in tasks:
        task.build_all_requests(rank=0, world_size=1)


def respond(tasks: Sequence[Task], respond_to: Callable[[Mapping[str, Any]], str]) -> None:
    """Give each request a response that depends on the document."""
    for task in tasks:
        for instance in task.instances:
            instance.resps = [respond_to(instance.doc)]


def score(tasks: Sequence[Task], filter_name: str) -> None:
    """Filter and score all responses with one filter, as lm-eval does at the end of a run."""
    for task in tasks:
        for filters in task._filters:
            if filters.name == filter_name:
                filters.apply(task.instances)
        for instance in task.instances:
            task.process_results(instance.doc, [instance.filtered_resps[filter_name]])
