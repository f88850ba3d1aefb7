"""What lm-eval calls: the functions, filters and the sampler that the YAML files name. Nothing is decided here."""

from __future__ import annotations

import functools
import logging
import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lm_eval.api.filter import Filter
from lm_eval.api.task import ConfigurableTask

from mera_ru_tasks.data import load as loading
from mera_ru_tasks.data.benchmarks import BENCHMARKS, LEADERBOARD, AnswerFormat, Benchmark
from mera_ru_tasks.data.schema import has_reference
from mera_ru_tasks.errors import DataError, JudgeError, TaskError, show_without_traceback
from mera_ru_tasks.harness import prompt
from mera_ru_tasks.harness.fewshot import ShotsSampler
from mera_ru_tasks.judge import config
from mera_ru_tasks.judge.fingerprint import METADATA, identity, judge_facts
from mera_ru_tasks.logs.lmeval import SHOTS
from mera_ru_tasks.paths import sample_folder
from mera_ru_tasks.scoring import extract, score

if TYPE_CHECKING:
    from datasets import Dataset

# A child of lm-eval's logger, so that our warnings look like its own and obey LMEVAL_LOG_LEVEL.
logger = logging.getLogger("lm_eval.mera_ru_tasks")

show_without_traceback()

prompt.compile_templates_once()


def load(
    *,
    mera_ru_benchmark: str,
    mera_ru_scored: str = "test",
    mera_ru_data: str | None = None,
    mera_ru_revision: str | None = None,
    **_: Any,
) -> dict[str, Dataset]:
    """Load a task's documents: `custom_dataset` of the YAML files.

    lm-eval passes the task's `metadata`, in which `--metadata` and the model's arguments are mixed, and its
    `dataset_kwargs`; hence our names' prefix and the arguments that are not ours.
    """
    return load_benchmark(
        BENCHMARKS[mera_ru_benchmark], data=mera_ru_data, revision=mera_ru_revision, scored=mera_ru_scored
    )


def load_benchmark(benchmark: Benchmark, *, data: str | None, revision: str | None, scored: str) -> dict[str, Dataset]:
    """Load a benchmark's documents (see `data.load`), and say what of them will have no score."""
    splits = loading.load(benchmark, data=data, revision=revision, scored=scored)
    # The column alone: a document whole takes ten times as long to come out of its table.
    answered = [has_reference({"outputs": outputs}) for outputs in splits[scored]["outputs"]]
    _warn_of_unfilled(benchmark, splits[scored])
    if not all(answered):
        _warn_of_closed(benchmark, answered, is_hidden=scored == "test" and not any(answered))
    return splits


def _warn_of_unfilled(benchmark: Benchmark, documents: Dataset) -> None:
    """Say of how many documents the model sees a placeholder, or nothing, in the place of an input."""
    pairs = zip(documents["instruction"], documents["inputs"], strict=True)
    found = [names for instruction, inputs in pairs if (names := prompt.unfilled(instruction, inputs))]
    if found:
        logger.warning(
            "%s: no input fills {%s} in the prompts of %d of %d documents, and the model is asked all the same. "
            "`mera-ru data check` names the rows.",
            benchmark.title,
            "}, {".join(sorted({name for names in found for name in names})),
            len(found),
            len(documents),
        )


def _warn_of_closed(benchmark: Benchmark, answered: Sequence[bool], *, is_hidden: bool) -> None:
    """Say how many documents have no reference and what to do, which for the leaderboard's test sets is to submit."""
    closed = f"{benchmark.title}: {answered.count(False)} of {len(answered)} documents have no reference answer"
    if benchmark in LEADERBOARD and is_hidden:
        logger.warning(
            "%s (the leaderboard keeps them closed), so they get no score. To have them scored by the leaderboard, "
            "generate with `--log_samples --output_path DIR` and submit; to score here, point MERA_RU_DATA at data "
            "with answers, or run the task `%s_shots`, which scores the public shots.",
            closed,
            benchmark.name,
        )
    else:
        logger.warning("%s, so they get no score. To have them scored, add their answers to the data.", closed)


def load_sample(*, mera_ru_benchmark: str, **_: Any) -> dict[str, Dataset]:
    """Load a task's documents from the sample data that the package ships, whatever the user's settings are."""
    return loading.load(BENCHMARKS[mera_ru_benchmark], data=sample_folder())


class MeraTask(ConfigurableTask):  # type: ignore[misc]
    """lm-eval's own task, which tries a judge before the model runs and scores nothing in `--predict_only`."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        """Take the task's YAML; `class`, which names this class, is no field of lm-eval's configuration."""
        super().__init__(config={key: value for key, value in config.items() if key != "class"})
        self._scored = True

    def download(self, dataset_kwargs: dict[str, Any] | None = None, **_: Any) -> None:
        """Load the documents as lm-eval does, without its advice in each run to pass settings by `--metadata`."""
        self.dataset = self.config.custom_dataset(**(self.config.metadata or {}), **(dataset_kwargs or {}))

    def override_metric(self, metric_name: str) -> None:
        """Replace all metrics by one of lm-eval's: `bypass`, for `--predict_only`."""
        super().override_metric(metric_name)
        self._scored = False

    def build_all_requests(self, *args: Any, cache_requests: bool = False, **kwargs: Any) -> None:
        """Build the requests; before that, a judge that would have something to judge is tried, and both are noted.

        They are always built anew: lm-eval keeps them by the task's name and settings, and would put the questions of
        other data, of another revision or with other shots to the model, and score the responses against these.
        """
        if cache_requests:
            logger.warning(
                "%s: --cache_requests is not used: lm-eval's cache does not notice other data or other shots. Building "
                "the requests takes about a second.",
                self.task_name,
            )
        if self._scored and any(has_reference(doc) for doc in self.eval_docs):
            settings = config.from_environment()
            if settings is not None:
                from mera_ru_tasks.judge.run import prepare

                prepare(settings)
                self._note(METADATA, identity(judge_facts(settings)))
        if self.config.num_fewshot and isinstance(getattr(self, "sampler", None), ShotsSampler):
            self._note(SHOTS, self.sampler.digest(self.config.num_fewshot))
        self._refuse_uneven_processes(**kwargs)
        try:
            super().build_all_requests(*args, **{**kwargs, "rewrite_requests_cache": False})
        except ValueError as error:
            if not (kwargs.get("apply_chat_template") and "chat_template" in str(error)):
                raise
            raise TaskError(
                f"{self.task_name}: the model's tokenizer has no chat template for --apply_chat_template. Leave that "
                "option out; for base models there are the `_prefill` tasks."
            ) from error

    def _refuse_uneven_processes(
        self, *, limit: int | None = None, samples: Sequence[int] | None = None, world_size: int = 1, **_: Any
    ) -> None:
        """Refuse to start a run that lm-eval would lose after its last response.

        Of several processes each takes every n-th document, and lm-eval puts their metrics together as if all had the
        same ones; a process whose documents all lack a reference has none.
        """
        # The column alone, as in load_benchmark.
        answered = [has_reference({"outputs": outputs}) for outputs in self.eval_docs["outputs"]]
        run = [answered[number] for number in sorted(set(samples))] if samples else answered[: limit or None]
        shares = [any(run[rank::world_size]) for rank in range(world_size)]
        if any(shares) and not all(shares):
            raise DataError(
                f"{self.task_name}: so few documents have a reference answer that one of the {world_size} processes "
                "would get none of them, and lm-eval cannot put such a run together. Use one process, or data with all "
                "answers."
            )

    def _note(self, name: str, fact: Any) -> None:
        """Write a fact of the run into the task's `metadata`, which lm-eval's results hold."""
        self.config.metadata = {**(self.config.metadata or {}), name: fact}


class Response(str):
    """A response on its way through `strict-match`; the type tells `process_results` which pipeline it is in.

    Attributes:
        judged: the judge's score of it; None where no judge is configured.
    """

    judged: Callable[[], float | None] | None = None

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        """Travel between processes as a plain string; by then it is scored."""
        return str, (str(self),)


class Extraction(str):
    """What `flexible-extract` read, logged as a plain string.

    Attributes:
        visible: the response without its reasoning.
    """

    visible: str


_HALF_CHARACTER = re.compile(r"[\ud800-\udfff]")


def _first_responses(resps: Sequence[list[str | None]]) -> list[str]:
    """The first of each document's responses; None (an API's empty message) is an empty one.

    Half a character (a lone surrogate), which a server can leave where it cuts a response, is replaced in lm-eval's own
    list: no file can hold it, and lm-eval would give up the task's whole sample log over it.
    """
    for responses in resps:
        responses[:] = [response and _HALF_CHARACTER.sub("\ufffd", response) for response in responses]
    return [responses[0] or "" for responses in resps]


class StrictMatch(Filter):  # type: ignore[misc]
    """The pipeline `strict-match`: hands the first response of each document on, whole."""

    def apply(self, resps: Sequence[list[str | None]], docs: Sequence[Mapping[str, Any]]) -> list[Response]:
        """Take the first of each document's responses.

        Here all responses are at hand, so here the judge's questions are gathered. They are asked, all at once, when
        the first score is wanted: never in `--predict_only`, which runs the filters too.
        """
        responses = [Response(response) for response in _first_responses(resps)]
        scores = functools.cache(lambda: _judge_scores(docs, responses))
        if config.is_configured():
            for number, response in enumerate(responses):
                response.judged = lambda number=number: scores()[number]
        return responses


def _judge_scores(docs: Sequence[Mapping[str, Any]], responses: Sequence[str]) -> list[float | None]:
    """The judge's score of each response; whatever fails, the responses must not be lost."""
    from mera_ru_tasks.judge.run import judge

    try:
        settings = config.from_environment()
        assert settings is not None, "asked only where a judge is configured"
        scores = [judgement.score for judgement in judge(list(zip(docs, responses, strict=True)), settings)]
    except JudgeError as error:
        logger.warning("No document has a judge score: %s Judge the logged samples with `mera-ru judge`.", error)
        scores = [None] * len(responses)
    answered = [number for number, doc in enumerate(docs) if has_reference(doc)]
    if int(os.environ.get("WORLD_SIZE") or 1) > 1 and answered and all(score is None for score in scores):
        # lm-eval puts the metrics of several processes together as if all had the same ones, and would lose the run.
        scores[answered[0]] = math.nan
    return scores


class FlexibleExtract(Filter):  # type: ignore[misc]
    """The pipeline `flexible-extract`: turns each response into the answer it means, in canonical form."""

    def __init__(self, prefix: str = "") -> None:
        """Take the prefix that the prompt ended in, which the response goes on from."""
        self.prefix = prefix

    def apply(self, resps: Sequence[list[str | None]], docs: Sequence[Mapping[str, Any]]) -> list[Extraction]:
        """Read the first of each document's responses."""
        responses = _first_responses(resps)
        return [self._read(response, AnswerFormat.of(doc)) for response, doc in zip(responses, docs, strict=True)]

    def _read(self, response: str, answer_format: AnswerFormat) -> Extraction:
        extraction = Extraction(extract.read(self.prefix + response, answer_format))
        extraction.visible = extract.drop_reasoning(response)
        return extraction


def process_results(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, Any]:
    """Score one document in one pipeline; empty for a document without a reference."""
    result = results[0]
    if isinstance(result, Extraction):
        return score.score_flexible(doc, result, result.visible)
    scores = score.score_strict(doc, result)
    judged = result.judged() if isinstance(result, Response) and result.judged else None
    return {**scores, **score.score_judged(doc, judged)}
