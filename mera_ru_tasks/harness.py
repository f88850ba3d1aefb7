"""What lm-eval calls: the functions, filters and the sampler that the YAML files name. Nothing is decided here."""

from __future__ import annotations

import functools
import logging
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import lm_eval.utils
from lm_eval.api.filter import Filter
from lm_eval.api.samplers import ContextSampler
from lm_eval.api.task import ConfigurableTask

from mera_ru_tasks import data, prompt, reading, scoring
from mera_ru_tasks.benchmarks import BENCHMARKS, AnswerFormat, Benchmark
from mera_ru_tasks.checks import has_reference, unreferenced
from mera_ru_tasks.errors import DataError, JudgeError, show_without_traceback
from mera_ru_tasks.judge import config
from mera_ru_tasks.paths import sample_folder

if TYPE_CHECKING:
    from datasets import Dataset

# A child of lm-eval's logger, so that our warnings look like its own and obey LMEVAL_LOG_LEVEL.
logger = logging.getLogger("lm_eval.mera_ru_tasks")

doc_to_text = prompt.fill
group_mean = scoring.group_mean

show_without_traceback()

# lm-eval compiles a template anew for every document and every shot, which for 1,609 documents takes longer than
# everything else before the first request. The same source always compiles to the same code.
lm_eval.utils.env.compile = functools.lru_cache(maxsize=64)(lm_eval.utils.env.compile)


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
    benchmark = BENCHMARKS[mera_ru_benchmark]
    splits = data.load(benchmark, data=mera_ru_data, revision=mera_ru_revision, scored=mera_ru_scored)
    _warn_if_closed(benchmark, splits[mera_ru_scored])
    return splits


def load_sample(*, mera_ru_benchmark: str, **_: Any) -> dict[str, Dataset]:
    """Load a task's documents from the sample data that the package ships, whatever the user's settings are."""
    return data.load(BENCHMARKS[mera_ru_benchmark], data=sample_folder())


def _warn_if_closed(benchmark: Benchmark, documents: Dataset) -> None:
    closed = unreferenced(documents)
    if not closed:
        return
    shots = f", or run the task `{benchmark.name}_shots`, which scores the public shots" if benchmark.hub else ""
    logger.warning(
        "%s: %d of %d documents have no reference answer (the leaderboard keeps them closed), so they get no score. "
        "To have them scored by the leaderboard, generate with `--log_samples --output_path DIR` and submit; "
        "to score here, point MERA_RU_DATA at data with answers%s.",
        benchmark.title,
        closed,
        len(documents),
        shots,
    )


class ShotsSampler(ContextSampler):  # type: ignore[misc]
    """lm-eval's own sampler, with an error that says so where there are too few shots."""

    def sample(
        self, n: int, eval_doc: Mapping[str, Any] | None = None, df: Sequence[Any] | None = None, **kwargs: Any
    ) -> Sequence[Any]:
        """Draw `n` shots, never the document under test; raises DataError where there are fewer."""
        pool = df if df else self.df
        available = sum(doc != eval_doc for doc in pool)
        if n > available:
            raise DataError(
                f"--num_fewshot {n} asks for more shots than the data have to draw from ({available}). "
                "Use a smaller number, or add rows to the split `shots` of the data."
            )
        drawn: Sequence[Any] = super().sample(n, eval_doc=eval_doc, df=df, **kwargs)
        return drawn


class MeraTask(ConfigurableTask):  # type: ignore[misc]
    """lm-eval's own task, which tries a judge before the model runs and scores nothing in `--predict_only`."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        """Take the task's YAML; `class`, which names this class, is no field of lm-eval's configuration."""
        super().__init__(config={key: value for key, value in config.items() if key != "class"})
        self._scored = True

    def override_metric(self, metric_name: str) -> None:
        """Replace all metrics by one of lm-eval's: `bypass`, for `--predict_only`."""
        super().override_metric(metric_name)
        # lm-eval would go on calling ours and average what it returns, group parts and all.
        self.set_config(key="process_results", value=_no_scores)
        self._scored = False

    def build_all_requests(self, *args: Any, **kwargs: Any) -> None:
        """Build the requests; before that, a judge that would have something to judge is tried."""
        if self._scored and any(has_reference(doc) for doc in self.eval_docs):
            settings = config.from_environment()
            if settings is not None:
                from mera_ru_tasks.judge import engine

                engine.prepare(settings)
        super().build_all_requests(*args, **kwargs)


def _no_scores(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, Any]:
    return {}


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


class StrictMatch(Filter):  # type: ignore[misc]
    """The pipeline `strict-match`: hands the first response of each document on, whole."""

    def apply(self, resps: Iterable[Sequence[str | None]], docs: Sequence[Mapping[str, Any]]) -> list[Response]:
        """Take the first of each document's responses; None (an API's empty message) is an empty response.

        Here all responses are at hand, so here the judge's questions are gathered. They are asked, all at once, when
        the first score is wanted: never in `--predict_only`, which runs the filters too.
        """
        responses = [Response(responses[0] or "") for responses in resps]
        scores = functools.cache(lambda: _judge_scores(docs, responses))
        if config.is_configured():
            for number, response in enumerate(responses):
                response.judged = lambda number=number: scores()[number]
        return responses


def _judge_scores(docs: Sequence[Mapping[str, Any]], responses: Sequence[str]) -> list[float | None]:
    """The judge's score of each response; whatever fails, the responses must not be lost."""
    from mera_ru_tasks.judge import engine

    try:
        settings = config.from_environment()
        assert settings is not None, "asked only where a judge is configured"
        scores = [verdict.score for verdict in engine.judge(zip(docs, responses, strict=True), settings)]
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

    def apply(self, resps: Iterable[Sequence[str | None]], docs: Sequence[Mapping[str, Any]]) -> list[Extraction]:
        """Read the first of each document's responses."""
        return [
            self._read(responses[0] or "", AnswerFormat.of(doc)) for responses, doc in zip(resps, docs, strict=True)
        ]

    def _read(self, response: str, answer_format: AnswerFormat) -> Extraction:
        extraction = Extraction(reading.read(self.prefix + response, answer_format))
        extraction.visible = reading.drop_reasoning(response)
        return extraction


def process_results(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, Any]:
    """Score one document in one pipeline; empty for a document without a reference."""
    result = results[0]
    if isinstance(result, Extraction):
        return scoring.score_flexible(doc, result, result.visible)
    scores = scoring.score_strict(doc, result)
    judged = result.judged() if isinstance(result, Response) and result.judged else None
    return {**scores, **scoring.score_judged(doc, judged)}
