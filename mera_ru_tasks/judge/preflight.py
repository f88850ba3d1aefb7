"""A trial question to the judge, so that what is wrong is known before the run."""

from __future__ import annotations

import functools
import logging

from mera_ru_tasks.errors import JudgeError
from mera_ru_tasks.judge.client import JudgeClient, explain, run_async
from mera_ru_tasks.judge.config import API_BASE, API_KEY, EXTRA, MODEL, OPENAI_KEY, TIMEOUT, Settings
from mera_ru_tasks.judge.prompt import load_prompt
from mera_ru_tasks.judge.replies import (
    RESPONSE_FORMATS,
    Completion,
    MalformedReplyError,
    ResponseFormat,
    parse_verdict,
)

logger = logging.getLogger("lm_eval.mera_ru_tasks")

_RETRIES = 3


@functools.lru_cache(maxsize=8)
def check(settings: Settings) -> ResponseFormat:
    """Ask the judge a trial question, once in a process, so that what is wrong is known before hours of generation.

    A question rather than a list of models: only it tells whether key, model and extra fields are accepted.

    Returns:
        The form of output that the server takes: the first of `replies.RESPONSE_FORMATS` that it does not refuse.

    Raises:
        JudgeError: the judge cannot be used; the message says why and the way out.
    """
    _require_packages()
    response_format: ResponseFormat = run_async(_check(settings, load_prompt(settings).trial()))
    return response_format


def _require_packages() -> None:
    try:
        import aiohttp  # noqa: F401
        import openai  # noqa: F401
    except ImportError as error:
        raise JudgeError(
            f"A judge is configured, but the package `{error.name}` is not installed. "
            'Run `pip install "mera-ru-tasks[judge]"`.'
        ) from error


async def _check(settings: Settings, trial: str) -> ResponseFormat:
    import openai

    try:
        response_format, completion = await _first_accepted(settings, trial)
    except (openai.APIError, MalformedReplyError) as error:
        raise JudgeError(settings.redact(f"{_what_is_wrong(settings, error)} {_WITHOUT}")) from None
    if parse_verdict(completion.text) is None:
        logger.warning(
            "The judge %s answers a trial question, but not in the form asked for: %r. Documents may lack verdicts.",
            settings.model,
            settings.redact(completion.text[:200]),
        )
    return response_format


async def _first_accepted(settings: Settings, trial: str) -> tuple[ResponseFormat, Completion]:
    import openai

    *others, last = RESPONSE_FORMATS
    for response_format in others:
        try:
            return response_format, await _complete(settings, trial, response_format)
        except (openai.AuthenticationError, openai.PermissionDeniedError, openai.RateLimitError):
            raise
        except openai.APIStatusError:
            continue  # servers refuse a form with 400, 422 or, as that of llama-cpp-python, 500
    return last, await _complete(settings, trial, last)


async def _complete(settings: Settings, message: str, response_format: ResponseFormat) -> Completion:
    async with JudgeClient(settings, response_format, retries=_RETRIES) as client:
        return await client.complete(message)


_WITHOUT = f"To run without a judge, unset {API_BASE}, {MODEL} and {API_KEY}."


def _what_is_wrong(settings: Settings, error: Exception) -> str:
    import openai

    judge = f"The judge {settings.model} at {settings.api_base}"
    if isinstance(error, openai.APIConnectionError):
        return (
            f"{judge} cannot be reached, or does not answer within {settings.timeout:g} s ({explain(error)}). "
            f"Start its server, mend {API_BASE}, or raise {TIMEOUT}."
        )
    if isinstance(error, (openai.AuthenticationError, openai.PermissionDeniedError)):
        return f"{judge} refuses the key ({explain(error)}). Mend {API_KEY} or {OPENAI_KEY}."
    if isinstance(error, openai.NotFoundError):
        return f"{judge} was not found there ({explain(error)}). Mend {MODEL}, or {API_BASE}, which mostly ends in /v1."
    if isinstance(error, MalformedReplyError):
        return f"{judge} does not speak OpenAI's chat protocol ({error}). Mend {API_BASE}, which mostly ends in /v1."
    return f"{judge} refuses a question ({explain(error)}). Mend what it names; request fields are set in {EXTRA}."
