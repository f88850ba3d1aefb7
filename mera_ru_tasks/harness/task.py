"""Define lm-eval tasks on our data and users' data: documents, shots, checks before a run, requests, later warnings."""

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
from lm_eval.utils import warning_once

from mera_ru_tasks.data import load as loading
from mera_ru_tasks.data.benchmarks import BENCHMARKS, LEADERBOARD, AnswerFormat, Benchmark
from mera_ru_tasks.data.custom import custom_benchmark
from mera_ru_tasks.data.schema import has_reference
from mera_ru_tasks.harness import patches, preflight, prompt
from mera_ru_tasks.harness.filters import OPENING_MARK, FlexibleExtract
from mera_ru_tasks.issues import DataError, TaskError
from mera_ru_tasks.judge import config
from mera_ru_tasks.judge.config import METADATA, identity, judge_facts
from mera_ru_tasks.logs.setting import SHOTS
from mera_ru_tasks.paths import sample_folder, shared_yaml
from mera_ru_tasks.scoring.extract import opening_mark
from mera_ru_tasks.scoring.metrics import FLEXIBLE, METRICS
from mera_ru_tasks.scoring.strict import MARKER, entries_of

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
    """Load a task's documents; the YAML files name this function as `custom_dataset`.

    lm-eval passes the task's `dataset_kwargs` and its `metadata`, which also holds `--metadata` and the model's
    arguments. Our names therefore have a prefix, and other arguments are ignored.
    """
    return load_and_warn(
        BENCHMARKS[mera_ru_benchmark], data=mera_ru_data, revision=mera_ru_revision, scored=mera_ru_scored
    )


def load_sample(*, mera_ru_benchmark: str, **_: Any) -> dict[str, Dataset]:
    """Load a task's documents from the sample data that the package ships, whatever the user's settings are."""
    return loading.load(BENCHMARKS[mera_ru_benchmark], data=sample_folder())


def load_and_warn(benchmark: Benchmark, *, data: str | None, revision: str | None, scored: str) -> dict[str, Dataset]:
    """Load a benchmark's documents (see `data.load`) and warn about those that will have no score."""
    splits = loading.load(benchmark, data=data, revision=revision, scored=scored)
    # Read the column only: reading whole documents takes ten times as long.
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
        logger.warning(
            "%s: in %d of %d prompts no input fills {%s}. The documents are run anyway. "
            "`mera-ru data check` names the rows.",
            benchmark.title,
            len(found),
            len(documents),
            "}, {".join(sorted({name for names in found for name in names})),
        )


def _warn_about_hidden_answers(benchmark: Benchmark, answered: Sequence[bool], *, is_hidden: bool) -> None:
    """Report how many documents have no reference, and how to get scores for them."""
    missing = f"{benchmark.title}: {answered.count(False)} of {len(answered)} documents have no reference answer"
    if benchmark in LEADERBOARD and is_hidden:
        logger.warning(
            "%s (the leaderboard does not publish them), so they get no score. To have them scored by the leaderboard, "
            "generate with `--log_samples --output_path DIR` and submit; to score here, point MERA_RU_DATA at data "
            "with answers, or run the task `%s_shots`, which scores the public shots.",
            missing,
            benchmark.name,
        )
    else:
        logger.warning("%s, so they get no score. To have them scored, add their answers to the data.", missing)


class MeraTask(ConfigurableTask):  # type: ignore[misc]
    """An lm-eval task that also checks the judge before the model runs and skips scores in `--predict_only`."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        """Create the task from the content of its YAML file."""
        patches.prepare_lm_eval()
        # `class`, which names this class, is not a field of lm-eval's configuration.
        super().__init__(config={key: value for key, value in _with_prefix(config).items() if key != "class"})
        self._scored = True
        self._tokenizer: Any = None

    def download(self, dataset_kwargs: dict[str, Any] | None = None, **_: Any) -> None:
        """Load the documents like lm-eval, but without its constant hint to use `--metadata`."""
        self.dataset = self.config.custom_dataset(**(self.config.metadata or {}), **(dataset_kwargs or {}))

    def override_metric(self, metric_name: str) -> None:
        """Replace all metrics with lm-eval's `bypass`, for `--predict_only`."""
        super().override_metric(metric_name)
        self._scored = False

    def set_config(self, key: str, value: Any, update: bool = False) -> None:
        """Change a setting of the run, such as `--gen_kwargs`, where a token limit replaces the task's own."""
        super().set_config(key, with_one_limit(value) if key == "generation_kwargs" else value, update)

    def check_shots(self, number: int | None) -> None:
        """Raise DataError if there are fewer shots than `--num_fewshot`, or than the task's own setting if None."""
        number = self.config.num_fewshot if number is None else number
        if number and isinstance(getattr(self, "sampler", None), ShotsSampler):
            self.sampler.sample(number, self.eval_docs[0])

    def check_judge(self) -> None:
        """Check the configured judge, if any, with a test question, and record it in the results.

        Raises:
            JudgeError: the judge cannot be used. It is not needed if no document has a reference.
        """
        settings = config.from_environment()
        if settings is None or "judge_score" not in self._metric_fn_list:
            return
        if any(has_reference({"outputs": outputs}) for outputs in self.eval_docs["outputs"]):
            from mera_ru_tasks.judge.run import prepare

            prepare(settings)
            self._record(METADATA, identity(judge_facts(settings)))

    def build_all_requests(self, *args: Any, cache_requests: bool = False, **kwargs: Any) -> None:
        """Build the requests, after checking the judge if it is needed.

        Requests are never taken from lm-eval's cache. Its key is the task's name and settings, so it would return
        requests for other data, revisions or shots, and the responses would get wrong scores.

        Raises:
            JudgeError: the judge cannot be used.
            TaskError: `--apply_chat_template` is given, and the model has no chat template.
            DataError: one of several processes would have no document with a reference.
        """
        if cache_requests:
            warning_once(
                logger,
                "--cache_requests is ignored, because lm-eval's cache does not notice changed data or shots. "
                "Building the requests takes about a second.",
            )
        self._check_samples(kwargs.get("samples"))
        if self._scored:
            self.check_judge()
        if self.config.num_fewshot and isinstance(getattr(self, "sampler", None), ShotsSampler):
            self._record(SHOTS, self.sampler.digest(self.config.num_fewshot))
        self._refuse_uneven_processes(**kwargs)
        model = getattr(kwargs.get("chat_template"), "__self__", None)  # the method of the model, or nothing
        self._tokenizer = getattr(model, "tokenizer", None)
        try:
            super().build_all_requests(*args, **{**kwargs, "rewrite_requests_cache": False})
        except ValueError as error:
            if not (kwargs.get("apply_chat_template") and "chat_template" in str(error)):
                raise
            raise TaskError(
                f"{self.task_name}: the model's tokenizer has no chat template for --apply_chat_template. Omit that "
                "option; for base models use the `_prefill` tasks."
            ) from error

    def _check_samples(self, samples: Any) -> None:
        """Check `--samples`, and sort them: lm-eval runs them in order but logs their numbers as given."""
        if samples is None:
            return
        issues = preflight.check_indices(samples, len(self.eval_docs), f"--samples, task {self.task_name}")
        if issues:
            raise TaskError(str(issues[0]))
        if isinstance(samples, list):
            samples[:] = sorted(set(samples))

    def apply_filters(self) -> Any:
        """Filter the responses, then warn if they show that a setting is wrong.

        The filters learn from each document whether its prompt opened a reasoning block.
        """
        marked = [(instance, opening_mark(instance.args[0])) for instance in self._instances]
        for instance, mark in marked:
            if mark:
                instance.doc = {**instance.doc, OPENING_MARK: mark}
        filtered = super().apply_filters()
        for instance, mark in marked:
            if mark:  # lm-eval logs a hash of the document
                del instance.doc[OPENING_MARK]
        for warning in run_warnings(self, self._tokenizer):
            logger.warning("%s", warning)
        return filtered

    def _refuse_uneven_processes(
        self, *, limit: int | None = None, samples: Sequence[int] | None = None, world_size: int = 1, **_: Any
    ) -> None:
        """Refuse to start a run that lm-eval would lose after its last response.

        Each of several processes takes every n-th document, and lm-eval merges their metrics as if all had the same
        ones. A process whose documents all lack a reference has none.
        """
        # Read the column only, as in load_and_warn.
        answered = [has_reference({"outputs": outputs}) for outputs in self.eval_docs["outputs"]]
        run = [answered[number] for number in sorted(set(samples))] if samples else answered[: limit or None]
        shares = [any(run[rank::world_size]) for rank in range(world_size)]
        if any(shares) and not all(shares):
            raise DataError(
                f"{self.task_name}: only a few documents have a reference answer, and one of the {world_size} "
                "processes would get none of them. lm-eval cannot merge such a run. Use one process, or data with all "
                "answers."
            )

    def _record(self, name: str, value: Any) -> None:
        """Write information about the run into the task's `metadata`, which lm-eval copies to its results."""
        self.config.metadata = {**(self.config.metadata or {}), name: value}


# lm-eval's names for the maximum number of new tokens, in its own order of preference.
_LIMITS = ("max_gen_toks", "max_new_tokens", "max_tokens", "max_completion_tokens")


def with_one_limit(generation: Mapping[str, Any]) -> dict[str, Any]:
    """Return generation settings with their token limit under the one name that lm-eval's backends share.

    In lm-eval, a task's `max_gen_toks` would override the user's `max_new_tokens`.
    """
    limits = [generation[name] for name in _LIMITS if generation.get(name) is not None]
    others = {name: value for name, value in generation.items() if name not in _LIMITS}
    return {**others, "max_gen_toks": limits[0]} if limits else others


def _with_prefix(config: Mapping[str, Any]) -> dict[str, Any]:
    """Tell `flexible-extract` how the prompt ends (`gen_prefix`), since the response continues it."""
    filters = [{**entry, "filter": list(entry["filter"])} for entry in config.get("filter_list") or ()]
    for entry in filters if config.get("gen_prefix") else ():
        entry["filter"] = [
            {**step, "prefix": config["gen_prefix"]} if step["function"] is FlexibleExtract else step
            for step in entry["filter"]
        ]
    return {**config, "filter_list": filters} if filters else dict(config)


# A response counts as cut off if it has at least this share of the token limit: tokenizing its text again can give
# slightly fewer tokens than the model generated.
_CUT = 0.98


def run_warnings(task: ConfigurableTask, tokenizer: Any = None) -> Iterator[str]:
    """Yield warnings that a user should read before trusting the scores of a task.

    Args:
        task: the task, whose responses have passed through its filters.
        tokenizer: the model's; None to look for it by the name in the run's settings.
    """
    instances = task.instances
    answers = [instance.filtered_resps[FLEXIBLE] for instance in instances if FLEXIBLE in instance.filtered_resps]
    if not answers:
        return
    prefilled = bool(task.config.gen_prefix)
    limit = (task.config.generation_kwargs or {}).get("max_gen_toks")
    responses = [instance.resps[0] or "" for instance in instances]
    cut = None if prefilled else count_cut(responses, limit, tokenizer or _tokenizer(task.config.metadata or {}))
    if cut and isinstance(limit, int):
        yield (
            f"{task.task_name}: {cut} of {len(responses)} responses reach the limit of {limit} tokens, so they are "
            f"probably cut off. To raise it, add `--gen_kwargs max_gen_toks={2 * limit}`."
        )
    if not any(answers):
        yield f"{task.task_name}: no answer was found in any of the {len(answers)} responses. {_hint(prefilled, cut)}"


def _hint(prefilled: bool, cut: int | None) -> str:
    if prefilled:
        return "Look at the logged responses: the model may not continue the line `Ответ:`. Try `--num_fewshot 3`."
    if cut:
        return "Raise the token limit first. A base model needs the `_prefill` tasks."
    return (
        "A base model needs the `_prefill` tasks, a chat model `--apply_chat_template`. A reasoning model may need "
        "more tokens: `--gen_kwargs max_gen_toks=N`."
    )


def count_cut(responses: Sequence[str], limit: object, tokenizer: Any) -> int | None:
    """Count the responses that reach the token limit.

    Args:
        responses: the texts.
        limit: the largest number of new tokens.
        tokenizer: one of transformers.

    Returns:
        None if there is no tokenizer or no limit.
    """
    if tokenizer is None or not isinstance(limit, int):
        return None
    # A token has at least one byte, so most responses are too short to need tokenizing.
    long = [text for text in responses if len(text.encode("utf-8", "replace")) >= _CUT * limit]
    return sum(len(tokenizer.encode(text, add_special_tokens=False)) >= _CUT * limit for text in long)


def _tokenizer(metadata: Mapping[str, Any]) -> Any:
    """Load the tokenizer of the run's model, named by the model's arguments that lm-eval adds to a task's metadata."""
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
    except Exception:  # a tokenizer's files or code can raise anything; the run is done, and only a count is missing
        return None


def shot_answer(doc: Mapping[str, Any]) -> str:
    """Return a shot's answer in the required form: the reference, or the first accepted answer of a list."""
    return f"{MARKER} {entries_of(doc['outputs'], is_list=AnswerFormat.of(doc).is_list)[0]}"


class ShotsSampler(ContextSampler):  # type: ignore[misc]
    """A sampler that uses the same shots for every document, chosen by the few-shot seed.

    lm-eval's own sampler draws new shots for each document. A document's prompt and score would then depend on
    `--limit`, on the order of the documents and on their distribution over processes. It also compares whole documents
    to exclude the tested one, and uses shots without an answer.
    """

    def sample(
        self, n: int, eval_doc: Mapping[str, Any] | None = None, df: Sequence[Any] | None = None, **kwargs: Any
    ) -> Sequence[Any]:
        """Return `n` answered shots, never the tested document itself.

        Raises:
            DataError: the data have fewer answered shots.
        """
        tested = eval_doc["meta"]["id"] if eval_doc else None
        shots = [shot for shot in self._shuffled if shot["meta"]["id"] != tested]
        if n > len(shots):
            raise DataError(
                f"--num_fewshot {n} asks for more shots than the data have ({len(shots)}). "
                "Use a smaller number, or add rows with answers to the split `shots` of the data."
            )
        return shots[:n]

    def set_rnd(self, rnd: int | None) -> ShotsSampler:
        """Choose the order of the shots by lm-eval's few-shot seed."""
        super().set_rnd(rnd)
        self.__dict__.pop("_shuffled", None)
        return self

    def digest(self, n: int) -> str:
        """Return a digest of the first `n` shots and of the next one, which replaces a shot that is under test."""
        parts = [[shot["instruction"], shot["inputs"], shot["outputs"]] for shot in self._shuffled[: n + 1]]
        text = json.dumps(parts, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @functools.cached_property
    def _shuffled(self) -> list[Any]:
        answered = [shot for shot in self.fewshot_docs() if has_reference(shot)]
        self.rnd.shuffle(answered)
        return answered


class CustomTask(MeraTask):
    """A task on a dataset that is not part of MERA Text 2.0 but has its format.

    A short YAML file defines the data and the form of the answers::

        task: school_riddles
        class: !function mera_ru_tasks.CustomTask
        dataset_kwargs:
          mera_ru_path: /data/school_riddles
          mera_ru_answer: phrase
        metadata:
          version: 1.0

    Everything else is the same as in this package's own tasks: data checks, filters and metrics come from the same
    shared YAML files. lm-eval includes files only by path, which differs between machines; a class is imported by name.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        """Create the task from the user's YAML file, which holds lm-eval's keys and this package's.

        Raises:
            TaskError: a setting is unknown, missing or invalid; the message names the task, the setting and the fix.
            DataError: as in `data.load`.
        """
        patches.prepare_lm_eval()
        if "gen_prefix" in config:
            raise TaskError(
                f"The task {config['task']!r}, `gen_prefix`: scoring after the run could not take it into account. "
                "For a prompt that ends in the marker write `mera_ru_prefill: true` under `dataset_kwargs`."
            )
        settings = config.get("dataset_kwargs") or {}
        self._benchmark = custom_benchmark(config["task"], settings)
        base = _base_config(self._benchmark, prefill=settings.get("mera_ru_prefill", False))
        # Without the shared `until`, lm-eval would stop at the first blank line.
        generation = {**base["generation_kwargs"], **with_one_limit(config.get("generation_kwargs") or {})}
        super().__init__(config={**base, **config, "generation_kwargs": generation})

    def download(self, dataset_kwargs: dict[str, Any] | None = None, **_: Any) -> None:
        """Load the documents; as for our tasks, `--metadata` can set a revision and a data folder."""
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
    """Return the settings that our tasks with such answers include; group metrics only if there are groups."""
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
