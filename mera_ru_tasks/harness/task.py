"""Define the lm-eval tasks of this package and the class for custom tasks.

They load documents, choose shots, check a run before it starts, build requests, and warn about the responses.
"""

from __future__ import annotations

import functools
import hashlib
import json
import logging
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lm_eval.api.samplers import ContextSampler
from lm_eval.api.task import ConfigurableTask
from lm_eval.tasks._yaml_loader import load_yaml

from mera_ru_tasks.data import load as loading
from mera_ru_tasks.data.benchmarks import BENCHMARKS, LEADERBOARD, AnswerFormat, Benchmark
from mera_ru_tasks.data.custom import custom_benchmark
from mera_ru_tasks.data.schema import has_reference
from mera_ru_tasks.harness import patches, preflight, prompt
from mera_ru_tasks.harness.filters import OPENING_MARK, FlexibleExtract
from mera_ru_tasks.issues import DataError, TaskError
from mera_ru_tasks.judge import config
from mera_ru_tasks.judge.config import METADATA, identity, judge_description
from mera_ru_tasks.logs.reader import ANSWERS, answer_in_digest
from mera_ru_tasks.logs.setting import SHOTS
from mera_ru_tasks.paths import sample_folder, shared_yaml
from mera_ru_tasks.scoring.extract import opening_mark
from mera_ru_tasks.scoring.metrics import FLEXIBLE, METRICS
from mera_ru_tasks.scoring.strict import MARKER, entries_of
from mera_ru_tasks.textutil import plural, warn_once

if TYPE_CHECKING:
    from datasets import Dataset

logger = logging.getLogger("lm_eval.mera_ru_tasks")


def load(
    *,
    mera_ru_benchmark: str,
    mera_ru_scored: str = "test",
    mera_ru_data: str | None = None,
    mera_ru_revision: str | None = None,
    **_: Any,
) -> dict[str, Dataset]:
    """Load the documents of a task. The YAML files refer to this function as `custom_dataset`.

    lm-eval passes the task's `dataset_kwargs` and `metadata`. The latter also contain `--metadata` and the model's
    arguments, so this package's arguments have a prefix, and all others are ignored.
    """
    return load_and_warn(
        BENCHMARKS[mera_ru_benchmark], data=mera_ru_data, revision=mera_ru_revision, scored=mera_ru_scored
    )


def load_sample(*, mera_ru_benchmark: str, **_: Any) -> dict[str, Dataset]:
    """Load the documents of a task from the shipped sample data, regardless of the user's settings."""
    return loading.load(BENCHMARKS[mera_ru_benchmark], data=sample_folder())


def load_and_warn(benchmark: Benchmark, *, data: str | None, revision: str | None, scored: str) -> dict[str, Dataset]:
    """Load the documents of a benchmark (see `data.load`), and warn about documents that will get no score."""
    splits = loading.load(benchmark, data=data, revision=revision, scored=scored)
    if not preflight.is_first_process():
        return splits
    # Read only the column `outputs`, because reading whole documents takes ten times as long.
    answered = [has_reference({"outputs": outputs}) for outputs in splits[scored]["outputs"]]
    _warn_about_unfilled(benchmark, splits[scored])
    if not all(answered):
        _warn_about_hidden_answers(benchmark, answered, is_hidden=scored == "test" and not any(answered))
    return splits


def _warn_about_unfilled(benchmark: Benchmark, documents: Dataset) -> None:
    """Warn if a prompt shows a placeholder or nothing instead of an input."""
    pairs = zip(documents["instruction"], documents["inputs"], strict=True)
    found = [names for instruction, inputs in pairs if (names := prompt.unfilled(instruction, inputs))]
    if found:
        gaps = ", ".join(f"{{{name}}}" for name in sorted({name for names in found for name in names}))
        warn_once(
            f"{benchmark.title}: in {len(found)} of {len(documents)} prompts no input fills {gaps}. The documents are "
            "run anyway. To list the rows, run `mera-ru data check`."
        )


def _warn_about_hidden_answers(benchmark: Benchmark, answered: Sequence[bool], *, is_hidden: bool) -> None:
    """Log a warning with the number of documents without a reference, and with the ways to get scores for them."""
    number = answered.count(False)
    have, they = plural(number, "has", "have"), plural(number, "it gets", "they get")
    missing = f"{benchmark.title}: {number} of {len(answered)} documents {have} no reference answer"
    if benchmark in LEADERBOARD and is_hidden:
        warn_once(
            f"{missing} (the leaderboard does not publish them), so {they} no score. To let the leaderboard score "
            "them, run with `--log_samples --output_path DIR` and submit the logs. To score locally, set MERA_RU_DATA "
            f"to a folder of data with answers, or run the task `{benchmark.name}_shots`, which scores the public "
            "shots."
        )
    else:
        warn_once(f"{missing}, so {they} no score. To get scores, add the missing answers to the data.")


class MeraTask(ConfigurableTask):  # type: ignore[misc]
    """An lm-eval task that also checks the settings of a run before the model starts, and its responses afterwards."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        """Create the task from the content of its YAML file."""
        patches.prepare_lm_eval()
        # The key `class` refers to this class and is not a field of lm-eval's configuration.
        super().__init__(config={key: value for key, value in _with_prefix(config).items() if key != "class"})
        self._scored = True
        self._tokenizer: Any = None
        self._answers = hashlib.sha256()

    @property
    def for_base_model(self) -> str:
        """What to do so that a base model can answer this task; empty if its prompts already fit one."""
        return "" if self.config.gen_prefix else "use the `_prefill` tasks"

    def download(self, dataset_kwargs: dict[str, Any] | None = None, **_: Any) -> None:
        """Load the documents as lm-eval does, but without the hint to use `--metadata`, which it always prints."""
        self.dataset = self.config.custom_dataset(**(self.config.metadata or {}), **(dataset_kwargs or {}))

    def override_metric(self, metric_name: str) -> None:
        """Replace all metrics with lm-eval's `bypass`, for `--predict_only`."""
        super().override_metric(metric_name)
        self._scored = False

    def set_config(self, key: str, value: Any, update: bool = False) -> None:
        """Change a setting. A token limit in `--gen_kwargs` replaces the limit of the task, whatever its name."""
        super().set_config(key, with_one_limit(value) if key == "generation_kwargs" else value, update)

    def check_shots(self, number: int | None) -> None:
        """Raise DataError if there are not `number` shots. If it is None, the setting of the task applies."""
        number = self.config.num_fewshot if number is None else number
        if number and isinstance(getattr(self, "sampler", None), ShotsSampler):
            self.sampler.sample(number, self.eval_docs[0])

    def check_judge(self) -> None:
        """Check the judge with a test question, and record it in the results.

        Do nothing if no judge is configured or no document has a reference.

        Raises:
            JudgeError: the judge cannot be used.
        """
        settings = config.from_environment()
        if settings is None or "judge_score" not in self._metric_fn_list:
            return
        if any(has_reference({"outputs": outputs}) for outputs in self.eval_docs["outputs"]):
            from mera_ru_tasks.judge.run import prepare

            prepare(settings)
            self._record(METADATA, identity(judge_description(settings)))

    def build_all_requests(self, *args: Any, cache_requests: bool = False, **kwargs: Any) -> None:
        """Check the run, and build its requests.

        lm-eval's request cache is never used. It identifies requests by the name and settings of the task, so it could
        return requests for different data, revisions or shots, and the responses would get wrong scores.

        Raises:
            JudgeError: the judge cannot be used.
            TaskError: `--samples` is invalid, or the model has no chat template for `--apply_chat_template`.
            DataError: one of several processes would have no document with a reference.
        """
        if cache_requests:
            warn_once(
                "--cache_requests is ignored, because lm-eval's cache does not detect changed data or shots. "
                "Building the requests takes about a second.",
            )
        self._check_samples(kwargs.get("samples"))
        if self._scored:
            self.check_judge()
        if self.config.num_fewshot and isinstance(getattr(self, "sampler", None), ShotsSampler):
            self._record(SHOTS, self.sampler.digest(self.config.num_fewshot))
        self._refuse_uneven_processes(**kwargs)
        model = getattr(kwargs.get("chat_template"), "__self__", None)  # `chat_template` is a method of the model
        self._tokenizer = getattr(model, "tokenizer", None)
        try:
            super().build_all_requests(*args, **{**kwargs, "rewrite_requests_cache": False})
        except ValueError as error:
            if not (kwargs.get("apply_chat_template") and "chat_template" in str(error)):
                raise
            message = f"{self.task_name}: the model's tokenizer has no chat template. Omit --apply_chat_template."
            raise TaskError(f"{message} {preflight.advice_for_base_model([self])}".rstrip()) from error

    def _check_samples(self, samples: Any) -> None:
        """Check and sort `--samples`, because lm-eval runs documents in order but logs the numbers as given."""
        if samples is None:
            return
        issues = preflight.check_indices(samples, len(self.eval_docs), f"--samples, task {self.task_name}")
        if issues:
            raise TaskError(str(issues[0]))
        if isinstance(samples, list):
            samples[:] = sorted(set(samples))

    def apply_filters(self) -> Any:
        """Filter the responses, and log a warning if they suggest that a setting is wrong.

        During filtering, the field `OPENING_MARK` tells the filters that the prompt opened a reasoning block.
        """
        self._answers = hashlib.sha256()
        marked = [(instance, opening_mark(instance.args[0])) for instance in self._instances]
        for instance, mark in marked:
            if mark:
                instance.doc = {**instance.doc, OPENING_MARK: mark}
        filtered = super().apply_filters()
        for instance, mark in marked:
            if mark:  # lm-eval logs a hash of the document, which must not change
                del instance.doc[OPENING_MARK]
        for warning in run_warnings(self, self._tokenizer):
            logger.warning("%s", warning)
        return filtered

    def process_results(self, doc: dict[str, Any], results: list[Any]) -> dict[str, Any]:
        """Score the answer to a document in one filter, and add both to the digest of the run."""
        scores: dict[str, Any] = super().process_results(doc, results)
        if self._scored:
            self._answers.update(answer_in_digest(doc, results[0], scores))
        return scores

    def dump_config(self) -> dict[str, Any]:
        """Return the settings to write to the results file, with a digest of this process's answers and scores."""
        if self._scored and self.OUTPUT_TYPE == "generate_until":
            self._record(ANSWERS, self._answers.hexdigest())
        # lm-eval asks for the settings at the end of a run. A later run in the same notebook warns again.
        warn_once.cache_clear()
        dumped = dict(super().dump_config())
        # lm-eval would write a function as its address in memory. The task's own setting says which function it is.
        shots = dumped.get("fewshot_config") or {}
        return dumped | {"fewshot_config": {name: value for name, value in shots.items() if not callable(value)}}

    def _refuse_uneven_processes(
        self, *, limit: int | None = None, samples: Sequence[int] | None = None, world_size: int = 1, **_: Any
    ) -> None:
        """Raise DataError if lm-eval would lose the results of a run with several processes.

        Each process runs every n-th document. lm-eval assumes that all processes report the same metrics. A process has
        no metrics if none of its documents has a reference.
        """
        # Read only the column, as in `load_and_warn`.
        answered = [has_reference({"outputs": outputs}) for outputs in self.eval_docs["outputs"]]
        run = [answered[number] for number in sorted(set(samples))] if samples else answered[: limit or None]
        shares = [any(run[rank::world_size]) for rank in range(world_size)]
        if any(shares) and not all(shares):
            raise DataError(
                f"{self.task_name}: only a few documents have a reference answer, and one of the {world_size} "
                "processes would get none of them. lm-eval cannot merge the results of such a run. Use one process, or "
                "data with all answers."
            )

    def _record(self, name: str, value: Any) -> None:
        """Add information about the run to the task's `metadata`, which lm-eval copies to its results."""
        self.config.metadata = {**(self.config.metadata or {}), name: value}


# lm-eval's names for the maximum number of new tokens, in lm-eval's order of preference.
_LIMITS = ("max_gen_toks", "max_new_tokens", "max_tokens", "max_completion_tokens")


def with_one_limit(generation: Mapping[str, Any]) -> dict[str, Any]:
    """Return generation settings whose token limit is named `max_gen_toks`, which all of lm-eval's backends support.

    Otherwise the task's `max_gen_toks` would override the user's `max_new_tokens` in lm-eval.
    """
    limits = [generation[name] for name in _LIMITS if generation.get(name) is not None]
    others = {name: value for name, value in generation.items() if name not in _LIMITS}
    return {**others, "max_gen_toks": limits[0]} if limits else others


def _with_prefix(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the configuration with `gen_prefix` passed to `flexible-extract`, because the response continues it."""
    filters = [{**entry, "filter": list(entry["filter"])} for entry in config.get("filter_list") or ()]
    for entry in filters if config.get("gen_prefix") else ():
        entry["filter"] = [
            {**step, "prefix": config["gen_prefix"]} if step["function"] is FlexibleExtract else step
            for step in entry["filter"]
        ]
    return {**config, "filter_list": filters} if filters else dict(config)


# A response counts as truncated if it reaches this share of the token limit. The share is below 1, because tokenizing
# the text can give slightly fewer tokens than the model generated.
_CUT = 0.98


def run_warnings(task: MeraTask, tokenizer: Any = None) -> Iterator[str]:
    """Yield warnings that a user should read before trusting the scores of a task.

    Args:
        task: the task, after its filters have been applied.
        tokenizer: the model's tokenizer; None to load it by the name in the settings of the run.
    """
    instances = task.instances
    answers = [instance.filtered_resps[FLEXIBLE] for instance in instances if FLEXIBLE in instance.filtered_resps]
    if not answers:
        return
    prefilled = bool(task.config.gen_prefix)
    limit = (task.config.generation_kwargs or {}).get("max_gen_toks")
    responses = [instance.resps[0] for instance in instances]
    cut = None if prefilled else count_cut(responses, limit, tokenizer or _tokenizer(task.config.metadata or {}))
    if cut and isinstance(limit, int):
        reach, they = plural(cut, "reaches", "reach"), plural(cut, "it is", "they are")
        yield (
            f"{task.task_name}: {cut} of {len(responses)} responses {reach} the limit of {limit} tokens, so {they} "
            f"probably truncated. To raise the limit, add `--gen_kwargs max_gen_toks={2 * limit}`."
        )
    if not any(answers):
        yield f"{task.task_name}: none of the {len(answers)} responses contains an answer. {_hint(task, cut)}"


def _hint(task: MeraTask, cut: int | None) -> str:
    for_base_model = preflight.advice_for_base_model([task])
    if not for_base_model:
        return "Check the logged responses: the model may not continue the line `Ответ:`. Try `--num_fewshot 3`."
    if cut:
        return f"Raise the token limit first. {for_base_model}"
    return (
        f"{for_base_model} For a chat model, add `--apply_chat_template`. For a reasoning model, raise the token limit "
        "with `--gen_kwargs max_gen_toks=N`."
    )


def count_cut(responses: Sequence[str], limit: object, tokenizer: Any) -> int | None:
    """Count the responses that reach the token limit.

    Args:
        responses: the responses.
        limit: the maximum number of new tokens.
        tokenizer: a tokenizer of the transformers library, or None.

    Returns:
        The number of responses; None if there is no tokenizer or no limit.
    """
    if tokenizer is None or not isinstance(limit, int):
        return None
    # A token has at least one byte, so most responses are too short to reach the limit and need not be tokenized.
    long = [text for text in responses if len(text.encode("utf-8", "replace")) >= _CUT * limit]
    return sum(len(tokenizer.encode(text, add_special_tokens=False)) >= _CUT * limit for text in long)


def _tokenizer(metadata: Mapping[str, Any]) -> Any:
    """Load the model's tokenizer, or return None. lm-eval adds the model's arguments to the metadata of a task."""
    name = metadata.get("tokenizer") or metadata.get("pretrained")
    if not isinstance(name, str) or "transformers" not in sys.modules:
        return None
    settings = ((key, metadata.get(key)) for key in ("revision", "subfolder", "gguf_file"))
    return _load_tokenizer(name, tuple((key, value) for key, value in settings if isinstance(value, str)))


@functools.lru_cache(maxsize=1)
def _load_tokenizer(name: str, settings: tuple[tuple[str, str], ...]) -> Any:
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(name, local_files_only=True, **dict(settings))
    except Exception:  # the code of a tokenizer can raise anything, but the run must not fail for lack of a count
        return None


def shot_answer(doc: Mapping[str, Any]) -> str:
    """Return a shot's answer in the required form: the reference, or the first accepted answer of a list."""
    return f"{MARKER} {entries_of(doc['outputs'], is_list=AnswerFormat.of(doc).is_list)[0]}"


class ShotsSampler(ContextSampler):  # type: ignore[misc]
    """A sampler that uses the same shots for every document. The few-shot seed determines the shots.

    lm-eval's own sampler draws new shots for each document. The prompt and score of a document would then depend on
    `--limit`, on the order of the documents and on their distribution over processes. lm-eval's sampler would also use
    shots without an answer, and would exclude the tested document only if a shot is identical to it.
    """

    def sample(
        self, n: int, eval_doc: Mapping[str, Any] | None = None, df: Sequence[Any] | None = None, **kwargs: Any
    ) -> Sequence[Any]:
        """Return `n` shots with an answer, without the shot that has the id of the tested document.

        Raises:
            DataError: `n` is negative, or there are fewer such shots.
        """
        tested = eval_doc["meta"]["id"] if eval_doc else None
        shots = [shot for shot in self._shuffled if shot["meta"]["id"] != tested]
        if n < 0:
            raise DataError(f"--num_fewshot {n} is negative. Pass 0 or a greater number.")
        if n > len(shots):
            raise DataError(
                f"--num_fewshot {n} asks for more shots than the data have ({len(shots)}). "
                "Use a smaller number, or add rows with answers to the split `shots` of the data."
            )
        return shots[:n]

    def set_rnd(self, rnd: int | None) -> ShotsSampler:
        """Set the random generator, which lm-eval seeds with the few-shot seed, and forget the order of the shots."""
        super().set_rnd(rnd)
        self.__dict__.pop("_shuffled", None)
        return self

    def digest(self, n: int) -> str:
        """Return a digest of the first `n + 1` shots.

        The last of them is used only if another shot has the id of the tested document.
        """
        parts = [[shot["instruction"], shot["inputs"], shot["outputs"]] for shot in self._shuffled[: n + 1]]
        text = json.dumps(parts, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @functools.cached_property
    def _shuffled(self) -> list[Any]:
        answered = [shot for shot in self.fewshot_docs() if has_reference(shot)]
        self.rnd.shuffle(answered)
        return answered


class CustomTask(MeraTask):
    """A task for a custom dataset in the format of MERA Text 2.0.

    A short YAML file defines the data and the answer format::

        task: school_riddles
        class: !function mera_ru_tasks.CustomTask
        dataset_kwargs:
          mera_ru_path: /data/school_riddles
          mera_ru_answer: phrase
        metadata:
          version: 1.0

    Data checks, filters and metrics are the same as in this package's own tasks. The class reads them from the shared
    YAML files, because lm-eval can include a file only by its path, which differs between machines.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        """Create the task from the content of the user's YAML file.

        Raises:
            TaskError: a setting is unknown, missing or invalid. The message names the task and the setting.
            DataError: the data are missing or invalid.
        """
        patches.prepare_lm_eval()
        if "gen_prefix" in config:
            raise TaskError(
                f"The task {config['task']!r}, `gen_prefix`: the setting is not supported, because rescoring would "
                "ignore it. For a prompt that ends in the marker, write `mera_ru_prefill: true` in `dataset_kwargs`."
            )
        settings = config.get("dataset_kwargs") or {}
        self._benchmark = custom_benchmark(config["task"], settings)
        base = _base_config(self._benchmark, prefill=settings.get("mera_ru_prefill", False))
        # Without the shared `until`, lm-eval would stop generating at the first blank line.
        generation = {**base["generation_kwargs"], **with_one_limit(config.get("generation_kwargs") or {})}
        super().__init__(config={**base, **config, "generation_kwargs": generation})

    @property
    def for_base_model(self) -> str:
        """What to do so that a base model can answer this task; empty if its prompts already fit one."""
        hint = f"write `mera_ru_prefill: true` in the `dataset_kwargs` of {self.task_name}"
        return super().for_base_model and hint

    def download(self, dataset_kwargs: dict[str, Any] | None = None, **_: Any) -> None:
        """Load the documents. As for this package's tasks, `--metadata` can set a revision and a data folder."""
        metadata = self.config.metadata or {}
        self.dataset = load_and_warn(
            self._benchmark,
            data=metadata.get("mera_ru_data"),
            revision=metadata.get("mera_ru_revision"),
            scored=self.config.test_split,
        )


def _metrics_name(answer_format: AnswerFormat) -> str:
    """Return the name of the shared file with the metrics for this kind of answer."""
    if not answer_format.choices:
        return "phrase"
    return "multi_choice" if answer_format.max_choices > 1 else "choice"


def _base_config(benchmark: Benchmark, *, prefill: bool) -> dict[str, Any]:
    """Return the shared settings for this kind of answer, with group metrics only if the benchmark has groups."""
    config: dict[str, Any] = {}
    for name in ("base", "prefill" if prefill else "plain", _metrics_name(next(iter(benchmark.formats.values())))):
        config |= load_yaml(shared_yaml(name))
    del config["custom_dataset"]
    metrics = [metric for metric in config["metric_list"] if not METRICS[metric["metric"]].grouped]
    if benchmark.grouped:
        metrics += [
            metric for metric in load_yaml(shared_yaml("choice"))["metric_list"] if METRICS[metric["metric"]].grouped
        ]
    return {**config, "metric_list": metrics}
