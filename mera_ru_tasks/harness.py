"""What lm-eval calls: the functions, filters and the sampler that the YAML files name. Nothing is decided here."""

from __future__ import annotations

import functools
import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import lm_eval.utils
from lm_eval.api.filter import Filter
from lm_eval.api.samplers import ContextSampler

from mera_ru_tasks import data, reading, scoring
from mera_ru_tasks.benchmarks import BENCHMARKS, AnswerFormat, Benchmark
from mera_ru_tasks.checks import has_reference
from mera_ru_tasks.errors import DataError, show_without_traceback
from mera_ru_tasks.paths import sample_folder

if TYPE_CHECKING:
    from datasets import Dataset

# A child of lm-eval's logger, so that our warnings look like its own and obey LMEVAL_LOG_LEVEL.
logger = logging.getLogger("lm_eval.mera_ru_tasks")

group_mean = scoring.group_mean

show_without_traceback()

# lm-eval compiles a task's prompt template anew for every document and every shot, which for 1,609 documents takes
# longer than everything else before the first request. The same source always compiles to the same code.
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
    answered = [has_reference(document) for document in splits[mera_ru_scored]]
    if not all(answered):
        _warn_of_closed(benchmark, answered, is_test=mera_ru_scored == "test")
        _refuse_uneven_processes(benchmark, answered)
    return splits


def _warn_of_closed(benchmark: Benchmark, answered: Sequence[bool], *, is_test: bool) -> None:
    """Say how many documents have no reference and what to do, which for the leaderboard's test sets is to submit."""
    closed = f"{benchmark.title}: {answered.count(False)} of {len(answered)} documents have no reference answer"
    if benchmark.hub and is_test:
        logger.warning(
            "%s (the leaderboard keeps them closed), so they get no score. To have them scored by the leaderboard, "
            "generate with `--log_samples --output_path DIR` and submit; to score here, point MERA_RU_DATA at data "
            "with answers, or run the task `%s_shots`, which scores the public shots.",
            closed,
            benchmark.name,
        )
    else:
        logger.warning("%s, so they get no score. To have them scored, add their answers to the data.", closed)


def _refuse_uneven_processes(benchmark: Benchmark, answered: Sequence[bool]) -> None:
    """Refuse to start a run that lm-eval would lose after its last response.

    Of several processes each takes every n-th document, and lm-eval puts their metrics together as if all had the same
    ones; a process whose documents all lack a reference has none.
    """
    processes = int(os.environ.get("WORLD_SIZE") or 1)
    shares = [any(answered[rank::processes]) for rank in range(processes)]
    if any(shares) and not all(shares):
        raise DataError(
            f"{benchmark.title}: so few documents have a reference answer that one of the {processes} processes would "
            "get none of them, and lm-eval cannot put such a run together. Use one process, or data with all answers."
        )


def load_sample(*, mera_ru_benchmark: str, **_: Any) -> dict[str, Dataset]:
    """Load a task's documents from the sample data that the package ships, whatever the user's settings are."""
    return data.load(BENCHMARKS[mera_ru_benchmark], data=sample_folder())


class ShotsSampler(ContextSampler):  # type: ignore[misc]
    """The same shots before every document, chosen by the few-shot seed.

    lm-eval's own sampler draws anew for each document, so that a document's prompt, and with it the score, would depend
    on `--limit`, on the documents' order and on how they are spread over processes. It also tells documents apart by
    comparing them whole, and takes shots without an answer.
    """

    def sample(
        self, n: int, eval_doc: Mapping[str, Any] | None = None, df: Sequence[Any] | None = None, **kwargs: Any
    ) -> Sequence[Any]:
        """Take `n` answered shots, never the document under test; raises DataError where there are fewer."""
        tested = eval_doc["meta"]["id"] if eval_doc else None
        shots = [shot for shot in self._shuffled if shot["meta"]["id"] != tested]
        if n > len(shots):
            raise DataError(
                f"--num_fewshot {n} asks for more shots than the data have to draw from ({len(shots)}). "
                "Use a smaller number, or add rows with answers to the split `shots` of the data."
            )
        return shots[:n]

    def set_rnd(self, rnd: int | None) -> ShotsSampler:
        """Choose the order in which shots are taken, by lm-eval's few-shot seed."""
        super().set_rnd(rnd)
        self.__dict__.pop("_shuffled", None)
        return self

    @functools.cached_property
    def _shuffled(self) -> list[Any]:
        answered = [shot for shot in self.fewshot_docs() if has_reference(shot)]
        self.rnd.shuffle(answered)
        return answered


class Response(str):
    """A response on its way through `strict-match`; the type tells `process_results` which pipeline it is in."""


class Extraction(str):
    """What `flexible-extract` read, logged as a plain string.

    Attributes:
        visible: the response without its reasoning.
    """

    visible: str


class StrictMatch(Filter):  # type: ignore[misc]
    """The pipeline `strict-match`: hands the first response of each document on, whole."""

    def apply(self, resps: Iterable[Sequence[str | None]], docs: Sequence[Mapping[str, Any]]) -> list[Response]:
        """Take the first of each document's responses; None (an API's empty message) is an empty response."""
        return [Response(responses[0] or "") for responses in resps]


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
    return scoring.score_strict(doc, result)
