"""Define the filters `strict-match` and `flexible-extract` for lm-eval, and score what they return."""

from __future__ import annotations

import functools
import logging
import math
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lm_eval.api.filter import Filter

from mera_ru_tasks.data.schema import has_reference
from mera_ru_tasks.issues import JudgeError
from mera_ru_tasks.judge import config
from mera_ru_tasks.scoring import score
from mera_ru_tasks.textutil import encodable, warn_once

# A child of lm-eval's logger, so that warnings have lm-eval's format and obey LMEVAL_LOG_LEVEL.
logger = logging.getLogger("lm_eval.mera_ru_tasks")


# The document field with the tag that opened a reasoning block in the prompt. Only the filters see it.
OPENING_MARK = "_opening_mark"


class Response(str):
    """The whole response, which `strict-match` returns. lm-eval logs it as a plain string.

    Attributes:
        judged: a function that returns the judge score of the response; None if no judge is configured.
    """

    judged: Callable[[], float | None] | None = None

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        """Pickle as a plain string, because the response is already scored when lm-eval sends it to another process."""
        return str, (str(self),)


class ExtractedAnswer(str):
    """The answer that `flexible-extract` extracted from a response. lm-eval logs it as a plain string.

    Attributes:
        visible: the response without its reasoning.
    """

    visible: str


def _first_responses(resps: Sequence[list[str | None]]) -> list[str]:
    """Return the first response to each document, after changing lm-eval's own lists, which it also logs.

    None, which an API returns for an empty message, becomes an empty string. Lone surrogates are replaced. A server
    that truncates a response can create one, and lm-eval would then fail to write the sample log of the task.
    """
    for responses in resps:
        responses[:] = [encodable(response or "") for response in responses]
    return [responses[0] for responses in resps]  # type: ignore[misc]


class StrictMatch(Filter):  # type: ignore[misc]
    """The filter `strict-match`, which returns the whole response."""

    def apply(self, resps: Sequence[list[str | None]], docs: Sequence[Mapping[str, Any]]) -> list[Response]:
        """Return the first response to each document.

        A filter sees all responses at once, so the questions for the judge are collected here. They are sent together
        when the first score is needed. With `--predict_only` the filters run too, but no question is sent.
        """
        responses = [Response(response) for response in _first_responses(resps)]
        scores = functools.cache(lambda: _judge_scores(docs, responses))
        if config.is_configured():
            for number, response in enumerate(responses):
                response.judged = lambda number=number: scores()[number]
        return responses


def _judge_scores(docs: Sequence[Mapping[str, Any]], responses: Sequence[str]) -> list[float | None]:
    """Return the judge score of each response, or None for every response if the judge fails."""
    from mera_ru_tasks.judge.run import judge

    try:
        settings = config.from_environment()
        assert settings is not None, "called only if a judge is configured"
        drafts = [(doc, doc.get(OPENING_MARK, "") + response) for doc, response in zip(docs, responses, strict=True)]
        scores = [judgement.score for judgement in judge(drafts, settings)]
    except JudgeError as error:
        warn_once(f"No document has a judge score. {error} To judge the logged samples, run `mera-ru judge`.")
        scores = [None] * len(responses)
    answered = [number for number, doc in enumerate(docs) if has_reference(doc)]
    if int(os.environ.get("WORLD_SIZE") or 1) > 1 and answered and all(score is None for score in scores):
        # lm-eval assumes that all processes report the same metrics. If they do not, the run's results are lost.
        scores[answered[0]] = math.nan
    return scores


class FlexibleExtract(Filter):  # type: ignore[misc]
    """The filter `flexible-extract`, which returns the answer that the response gives, in a canonical format."""

    def __init__(self, prefix: str = "") -> None:
        """Create the filter.

        Args:
            prefix: the end of the prompt, which the response continues (`gen_prefix`).
        """
        self.prefix = prefix

    def apply(self, resps: Sequence[list[str | None]], docs: Sequence[Mapping[str, Any]]) -> list[ExtractedAnswer]:
        """Extract the answer from the first response to each document."""
        responses = _first_responses(resps)
        return [self._extract(doc, response) for doc, response in zip(docs, responses, strict=True)]

    def _extract(self, doc: Mapping[str, Any], response: str) -> ExtractedAnswer:
        found = score.extract_from(doc, response, doc.get(OPENING_MARK, "") + self.prefix)
        extraction = ExtractedAnswer(found.answer)
        extraction.visible = found.visible
        return extraction


def process_results(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, Any]:
    """Score one document for one filter. Return no metrics for a document without a reference."""
    result = results[0]
    if isinstance(result, ExtractedAnswer):
        return score.score_flexible(doc, result, result.visible)
    scores = score.score_strict(doc, result)
    judged = result.judged() if isinstance(result, Response) and result.judged else None
    return {**scores, **score.score_judged(doc, judged)}
