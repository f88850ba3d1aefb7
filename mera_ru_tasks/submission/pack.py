"""Pack a submission: choose the logs, read and check the responses, and write the archive.

The archive contains a file `TITLE.json` for each task, with the content
`{"data": {"test": [{"outputs": "the response", "meta": {"id": 1}}, …]}}`. It also contains `logs_public.zip` with the
sample logs and results files of the same runs. Entries are sorted and have a fixed time, so the same logs always give
the same bytes.
"""

from __future__ import annotations

import functools
import io
import json
import zipfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mera_ru_tasks.data.benchmarks import LEADERBOARD, Benchmark, benchmark_of_task
from mera_ru_tasks.data.custom import SETTINGS, benchmark_of_config
from mera_ru_tasks.data.schema import has_reference, row_id
from mera_ru_tasks.issues import Issue, RunError, SubmissionError, errors
from mera_ru_tasks.judge.config import METADATA
from mera_ru_tasks.logs.find import Run, TaskLog, as_mapping, newest
from mera_ru_tasks.logs.reader import Sample
from mera_ru_tasks.logs.rescore import read_responses
from mera_ru_tasks.logs.setting import SHOTS, parse_arguments
from mera_ru_tasks.paths import bounded_lines, open_regular, read_bounded, write_whole
from mera_ru_tasks.scoring.metrics import METRICS, STRICT
from mera_ru_tasks.secrets import (
    PUBLIC_SETTINGS,
    fingerprint,
    hidden,
    public_name,
    public_settings,
    secrets_in,
    without,
)
from mera_ru_tasks.submission import check, rules
from mera_ru_tasks.submission.rules import LOGS, Expected, name_ids, task_error
from mera_ru_tasks.textutil import LONE_SURROGATE, plural, read_json

_LARGEST_ARCHIVE = 256 << 20


@dataclass(frozen=True)
class Answers:
    """The responses of one task.

    Attributes:
        benchmark: the benchmark.
        log: the log that contains the responses.
        samples: the samples, keyed by the `meta.id` of their document.
    """

    benchmark: Benchmark
    log: TaskLog
    samples: Mapping[int, Sample]

    @property
    def empty(self) -> list[int]:
        """Return the ids of documents with an empty response."""
        return [identity for identity, sample in self.samples.items() if not sample.response.strip()]

    @property
    def referenced(self) -> bool:
        """Return True if the log contains reference answers."""
        return any(has_reference(sample.doc) for sample in self.samples.values())


def benchmarks_of(logs: Sequence[TaskLog], tasks: Sequence[str]) -> Sequence[Benchmark]:
    """Return the datasets of a submission: those of the custom `tasks`, or else the leaderboard's.

    Raises:
        RunError: a task has no log or is not a custom task.
    """
    return [_custom(logs, task) for task in tasks] or LEADERBOARD


def _custom(logs: Sequence[TaskLog], task: str) -> Benchmark:
    found = [log for log in newest(logs) if log.task == task]
    if not found:
        names = ", ".join(sorted({log.task for log in logs}))
        raise RunError(f"There is no log of the task {task!r}. The tasks with logs are: {names}.")
    benchmark = benchmark_of_config(task, found[0].config)
    if benchmark is None:
        location = (
            found[0].run.results_file or f"{found[0].run.results_name}, which is missing next to {found[0].file},"
        )
        raise RunError(
            f"{location} does not describe {task!r} as a custom task. Use --task only for custom tasks. Without it, "
            "the leaderboard's tasks are packed."
        )
    return benchmark


def choose(
    logs: Sequence[TaskLog], benchmarks: Sequence[Benchmark] = LEADERBOARD, model: str | None = None
) -> dict[str, TaskLog]:
    """Choose the newest log for each benchmark.

    Args:
        logs: the logs found.
        benchmarks: the benchmarks to submit.
        model: the model to submit. Required only if the logs belong to several models.

    Returns:
        The logs by task name, without benchmarks that have no log.

    Raises:
        RunError: there is no log of `model`, or the logs belong to several models and `model` is None.
    """
    names = {benchmark.name for benchmark in benchmarks}
    usable = [log for log in logs if log.task in names]
    models = sorted({log.run.model for log in usable})
    if model is not None and models and model not in models:
        raise RunError(
            f"There is no log of the model {model!r}. The models with logs are: {', '.join(map(repr, models))}."
        )
    if model is None and len(models) > 1:
        raise RunError(
            f"The logs belong to several models: {', '.join(map(repr, models))}. A submission has one model: select "
            "it with --model, or pass only its folder."
        )
    return {log.task: log for log in newest(log for log in usable if model is None or log.run.model == model)}


def missing_tasks(
    logs: Sequence[TaskLog], benchmarks: Sequence[Benchmark], chosen: Mapping[str, TaskLog]
) -> Iterator[Issue]:
    """Yield an error for each benchmark without a log. Name the logs of its other tasks, which cannot replace it."""
    for benchmark in benchmarks:
        if benchmark.name in chosen:
            continue
        others = {log.task for log in logs if (known := benchmark_of_task(log.task)) and known[0] is benchmark}
        refused = "; ".join(f"the log of `{task}` cannot replace it: {rules.why_not(task)}" for task in sorted(others))
        message = "there is no log of this task" + (f" ({refused})" if refused else "")
        hint = f"Run lm-eval with `--tasks {benchmark.name} --log_samples --output_path DIR` and pass DIR as well."
        yield task_error("missing-task", benchmark.name, f"{benchmark.title}.json", message, hint)


def read_answers(benchmark: Benchmark, log: TaskLog) -> tuple[Answers, list[Issue]]:
    """Read the responses of one task and check each line.

    Only the lines of the strict filter are used, because the lines of other filters repeat the same responses.
    """
    samples: dict[int, Sample] = {}
    issues: list[Issue] = []
    sampled: list[tuple[int, str]] = []
    responses = read_responses(log)
    for issue in responses.issues:
        # rules.check_log reports a missing results file as an error.
        if issue.severity != "note" and issue.code != "no-results-file":
            issues.append(task_error(issue.code, log.task, issue.location, issue.message, issue.hint))
    for sample in (one for one in responses.samples if one.filter == STRICT):
        identity = row_id(sample.doc)
        if identity is None:
            message = "the document has no integer `meta.id`"
            issues.append(
                task_error("missing-id", log.task, sample.location, message, "Run the task on MERA's own data.")
            )
            continue
        if identity in samples:
            message = f"id {identity} is already in {samples[identity].location}"
            hint = "Each id may occur only once. Pass the unchanged log of a single run."
            issues.append(task_error("duplicate-id", log.task, sample.location, message, hint))
            continue
        if benchmark in LEADERBOARD and (setting := rules.sampling(sample.generation)):
            sampled.append((identity, setting))
        if LONE_SURROGATE.search(sample.response):
            message = f"the response to id {identity} contains an incomplete character (a lone surrogate)"
            hint = "Rerun the evaluation, or correct this response in the log."
            issues.append(task_error("lone-surrogate", log.task, sample.location, message, hint))
        samples[identity] = sample
    if not samples:
        message = f"it contains no lines of the filter `{STRICT}`"
        issues.append(
            task_error("missing-filter", log.task, log.file, message, "Run the task as this package defines it.")
        )
    if sampled:
        ids = name_ids(identity for identity, _ in sampled)
        hint = "The leaderboard requires greedy generation. Rerun without do_sample and temperature in --gen_kwargs."
        message = f"the responses to {ids} were sampled ({sampled[0][1]})"
        issues.append(task_error("sampled", log.task, log.file, message, hint))
    return Answers(benchmark, log, samples), issues


@dataclass(frozen=True)
class Draft:
    """A submission before it is written.

    Attributes:
        answers: the responses of each task, in leaderboard order.
        issues: the errors, and notes for the user.
    """

    answers: Sequence[Answers]
    issues: Sequence[Issue]

    def stopped_by(self, partial: bool) -> list[Issue]:
        """Return the errors that prevent writing the archive.

        With `partial`, missing tasks and responses do not prevent it, unless no task is left.
        """
        stopping = errors(self.issues)
        if partial and self.answers:
            return [issue for issue in stopping if issue.code not in rules.INCOMPLETE_CODES]
        return stopping


def prepare(
    logs: Sequence[TaskLog], *, model: str | None = None, data: Path | None = None, tasks: Sequence[str] = ()
) -> Draft:
    """Choose the logs, read the responses and check them.

    Args:
        logs: the logs found (see `logs.find.find_logs`).
        model: the model to submit. Required only if the logs belong to several models.
        data: the data folder against which ids and questions are checked.
        tasks: custom tasks to pack instead of the leaderboard's tasks.

    Raises:
        RunError: a log is invalid, or the logs belong to several models and `model` is None.
        DataError: the data are missing or invalid.
    """
    benchmarks = benchmarks_of(logs, tasks)
    chosen = choose(logs, benchmarks, model)
    issues = list(missing_tasks(logs, benchmarks, chosen))
    answers: list[Answers] = []
    unchecked: list[Expected] = []
    for benchmark in benchmarks:
        if benchmark.name not in chosen:
            continue
        log = chosen[benchmark.name]
        read, found = read_answers(benchmark, log)
        expected = rules.expected_rows(benchmark, data)
        docs = {identity: sample.doc for identity, sample in read.samples.items()}
        issues += rules.check_log(log, benchmark, len(read.samples))
        issues += found
        issues += rules.check_ids(docs.keys(), expected, log.task, str(log.file))
        issues += rules.check_questions(docs, expected, log.task, str(log.file))
        answers.append(read)
        if expected.rows is None:
            unchecked.append(expected)
    issues += rules.check_one_setting([part.log for part in answers])
    return Draft(answers, [*issues, *_notes_on_choice(logs, chosen), *_notes_on_answers(answers, unchecked)])


def _note(code: str, location: str, message: str, hint: str = "") -> Issue:
    return Issue(code, "note", location, message, hint)


def _notes_on_choice(logs: Sequence[TaskLog], chosen: Mapping[str, TaskLog]) -> Iterator[Issue]:
    taken = list(chosen.values())
    older = [log.task for log in taken if sum(o.task == log.task and o.run.model == log.run.model for o in logs) > 1]
    if older:
        hint = "To use an older run, pass its log files."
        yield _note("newest-taken", ", ".join(older), "there are several runs, of which the newest is used", hint)
    for task in sorted({log.task for log in logs} - {log.task for log in taken}):
        if reason := rules.why_not(task):
            yield _note("task-left-out", task, f"left out, because {reason}")
    for run in {log.run.results_file: log.run for log in taken}.values():
        if changed := parse_arguments(run.config.get("gen_kwargs")):
            text = (
                ", ".join(f"{name}={value}" for name, value in public_settings(changed).items())
                or "with private settings"
            )
            hint = "Check that these settings, such as a small max_gen_toks, do not truncate answers."
            yield _note("gen-kwargs", str(run.results_file), f"the run used --gen_kwargs {text}", hint)
        message = "the packed copy contains only the settings that readers need, without the description of the machine"
        if names := _left_out(run):
            message += f" and {names}"
        yield _note("left-out", str(run.results_file), message)


def _notes_on_answers(answers: Sequence[Answers], unchecked: Sequence[Expected]) -> Iterator[Issue]:
    for part in answers:
        if empty := part.empty:
            are = plural(len(empty), "is", "are")
            message = f"{len(empty)} of {len(part.samples)} responses {are} empty ({name_ids(empty)}), which scores 0"
            hint = "The cause may be a stop string, a small max_gen_toks or a failing API."
            yield _note("empty-responses", part.benchmark.title, message, hint)
    if referenced := [part.benchmark.title for part in answers if part.referenced]:
        message = "the logs contain reference answers, which become public with the submission"
        yield _note("references-public", ", ".join(referenced), message)
    if unchecked:
        yield rules.note_unchecked(unchecked)


def build(answers: Sequence[Answers]) -> bytes:
    """Return an archive with the responses of these tasks and their logs."""
    return _zip({**_task_files(answers), LOGS: lambda: _zip(_logs(answers))})


def build_into(file: Path, answers: Sequence[Answers]) -> tuple[bytes, list[Issue]]:
    """Return a copy of an existing archive to which these tasks are added.

    Responses and sample logs of the same tasks are replaced. All other files stay byte for byte the same.

    Args:
        file: the existing archive. Any tool may have created it.
        answers: the responses to add.

    Returns:
        The archive, and warnings about its other files.

    Raises:
        SubmissionError: the existing archive cannot be read, or names in it are invalid.
    """
    base = check.open_archive(read_bounded(file, _LARGEST_ARCHIVE), str(file))
    titles = [part.benchmark.title for part in answers]
    if unusable := list(check.check_names(base, [f"{title}.json" for title in (*rules.SIZES, *titles)])):
        raise SubmissionError(f"{file}: {unusable[0]}")
    old_logs = _entries(base, file).get(LOGS)
    logs = check.open_archive(old_logs(), LOGS) if old_logs else None
    kept = {
        name: read
        for name, read in (_entries(logs, file) if logs else {}).items()
        if not any(rules.is_log_of(check.task_of_samples(name), part.benchmark) for part in answers)
    }
    others = {name: read for name, read in _entries(base, file).items() if name not in (*_task_files(answers), LOGS)}
    entries = {**others, **_task_files(answers), LOGS: lambda: _zip({**kept, **_logs(answers)})}
    found = [issue for name, read in {**others, **kept}.items() for issue in check.scan(name, io.BytesIO(read()))]
    return _zip(entries), [*_other_models(kept, answers), *found]


def _task_files(answers: Sequence[Answers]) -> dict[str, Callable[[], bytes]]:
    return {f"{part.benchmark.title}.json": functools.partial(_answers_json, part) for part in answers}


def _entries(archive: zipfile.ZipFile, file: Path) -> dict[str, Callable[[], bytes]]:
    def read(name: str) -> bytes:
        content, issues = check.read_entry(archive, name, str(file))
        if content is None:
            raise SubmissionError(str(issues[0]))
        return content

    return {
        entry.filename: functools.partial(read, entry.filename) for entry in archive.infolist() if not entry.is_dir()
    }


def _other_models(logs: Mapping[str, Callable[[], bytes]], answers: Sequence[Answers]) -> Iterator[Issue]:
    """Warn if logs of other tasks belong to a different model. A leaderboard row describes one model."""
    own = {public_name(part.log.run.model) for part in answers}
    for name, read in logs.items():
        if not check.is_results_log(name):
            continue
        try:
            model = as_mapping(read_json(read())).get("model_name")
        except ValueError:
            continue
        if isinstance(model, str) and public_name(model) not in own:
            message = (
                f"the existing archive's logs belong to the model {model!r}, not {', '.join(map(repr, sorted(own)))}"
            )
            yield Issue("other-model", "warning", name, message, "All tasks of a submission must use the same model.")


def write(archive: bytes, file: Path) -> None:
    """Write the archive to a new file. Raise OutputError if the file exists or cannot be written."""
    write_whole(file, archive)


def _answers_json(answers: Answers) -> bytes:
    rows = [
        {"outputs": sample.response, "meta": {"id": identity}} for identity, sample in sorted(answers.samples.items())
    ]
    return (json.dumps({"data": {"test": rows}}, ensure_ascii=False, indent=2) + "\n").encode()


def _logs(answers: Sequence[Answers]) -> dict[str, Callable[[], bytes]]:
    """Return the logs by new names made of task and date, because the original names may contain private text."""
    entries: dict[str, Callable[[], bytes]] = {}
    owners: dict[str, Path] = {}
    for part in answers:
        log = part.log
        secrets = frozenset(secrets_in(log.run.results))
        files = {
            f"samples_{log.task}_{log.run.date}.jsonl": (log.file, functools.partial(_public_samples, log, secrets))
        }
        if log.run.results_file is not None:
            tasks = [other.log.task for other in answers if other.log.run.results_file == log.run.results_file]
            content = functools.partial(_public_results, log.run, tasks)
            files[f"results_{log.run.date}.json"] = (log.run.results_file, content)
        for name, (file, content) in files.items():
            if owners.setdefault(name, file) != file:
                raise SubmissionError(
                    f"{file} and {owners[name]} belong to two runs with the same timestamp, so they would have the "
                    "same name in the archive. Pass the logs of one run."
                )
            entries[name] = content
    return entries


def _public_samples(log: TaskLog, secrets: Collection[str]) -> bytes:
    """Return a sample log with only the fields that a reader of the run needs."""
    lines = []
    with open_regular(log.file) as stream:
        for line in bounded_lines(stream):
            if line.isspace():
                continue
            row = read_json(line)
            request = as_mapping(as_mapping(row.get("arguments")).get("gen_args_0"))
            settings = public_settings(as_mapping(request.get("arg_1")))
            row["arguments"] = {"gen_args_0": {"arg_0": without(request.get("arg_0"), secrets), "arg_1": settings}}
            kept = {name: value for name, value in row.items() if name in _SAMPLE_FIELDS or name in METRICS}
            lines.append(_encoded(kept) + b"\n")
    return b"".join(lines)


def _encoded(content: Any, indent: int | None = None) -> bytes:
    try:
        return json.dumps(content, ensure_ascii=False, indent=indent).encode()
    except UnicodeEncodeError:  # lone surrogates can be escaped in JSON, but not encoded in UTF-8
        return json.dumps(content, indent=indent).encode()


# The fields of a sample, besides this package's metrics. `bypass` is lm-eval's metric in a --predict_only run.
_SAMPLE_FIELDS = frozenset(
    "doc_id doc target arguments resps filtered_resps filter metrics doc_hash prompt_hash target_hash bypass".split()
)
# The fields of lm-eval's results file for the whole run, and those with an entry for each task.
_RUN_FIELDS = (
    "date", "git_hash", "lm_eval_version", "transformers_version", "model_source", "fewshot_as_multiturn",
    "total_evaluation_time_seconds",
)  # fmt: skip
_TASK_PARTS = ("versions", "n-shot", "higher_is_better", "n-samples", "task_hashes")
# The arguments of the run, and the settings of a task.
_ARGUMENTS = ("model", "limit", "predict_only", "random_seed", "numpy_seed", "torch_seed", "fewshot_seed")
_TASK_FIELDS = (
    "task", "output_type", "test_split", "fewshot_split", "num_fewshot", "repeats", "doc_to_text", "description",
    "gen_prefix", "target_delimiter", "fewshot_delimiter",
)  # fmt: skip
_TASK_METADATA = ("version", SHOTS, METADATA)


def _public_results(run: Run, tasks: Collection[str]) -> bytes:
    """Return a results file with only the settings and scores of these tasks that readers need."""
    results, config = run.results, run.config
    content: dict[str, Any] = {name: results[name] for name in _RUN_FIELDS if name in results}
    for name in ("system_instruction", "chat_template"):
        text = results.get(name)
        content[name] = fingerprint(text) if isinstance(text, str) and text else None
    content["model_name"] = public_name(run.model)
    content["config"] = {name: config[name] for name in _ARGUMENTS if name in config}
    for name in ("model_args", "gen_kwargs"):
        content["config"][name] = public_settings(parse_arguments(config.get(name)))
    for part in _TASK_PARTS:
        content[part] = {task: value for task, value in as_mapping(results.get(part)).items() if task in tasks}
    scores = {task: as_mapping(found).items() for task, found in run.tasks.items() if task in tasks}
    content["results"] = {
        task: {"alias": task, **{name: value for name, value in found if "," in name or name == "sample_len"}}
        for task, found in scores.items()
    }
    configs = as_mapping(results.get("configs"))
    content["configs"] = {task: _public_config(as_mapping(configs.get(task))) for task in tasks if task in configs}
    return _encoded(without(content, secrets_in(results)), indent=2) + b"\n"


def _public_config(config: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: config[name] for name in _TASK_FIELDS if name in config}
    metadata, data = (as_mapping(config.get(name)) for name in ("metadata", "dataset_kwargs"))
    kept["metadata"] = {name: metadata[name] for name in _TASK_METADATA if name in metadata}
    kept["generation_kwargs"] = public_settings(as_mapping(config.get("generation_kwargs")))
    kept["dataset_kwargs"] = {name: data[name] for name in SETTINGS if name in data and name != "mera_ru_prompts"}
    if isinstance(folder := data.get("mera_ru_path"), str):
        kept["dataset_kwargs"]["mera_ru_path"] = Path(folder).name or "data"
    return kept


def _left_out(run: Run) -> str:
    """Return the names of the arguments that are not packed, or an empty string if all are packed."""
    names = [
        f"--{option} {name}"
        for option in ("model_args", "gen_kwargs")
        for name in parse_arguments(run.config.get(option))
        if name not in PUBLIC_SETTINGS
    ]
    return ", ".join(map(hidden, names))


def _zip(entries: Mapping[str, Callable[[], bytes]]) -> bytes:
    """Pack the entries in order of their names. To save memory, create each content only when it is written."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(entries):
            entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
            entry.create_system = 3
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, entries[name](), zipfile.ZIP_DEFLATED, 6)
    return stream.getvalue()
