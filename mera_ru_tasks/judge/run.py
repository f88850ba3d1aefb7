"""Judge the responses of a task: check the judge before the run, look up stored verdicts, and request the others."""

from __future__ import annotations

import functools
import itertools
import logging
import socket
import sqlite3
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from mera_ru_tasks.issues import JudgeError
from mera_ru_tasks.judge.cache import VerdictCache, open_cache
from mera_ru_tasks.judge.client import (
    REMINDER,
    RESPONSE_FORMATS,
    Completion,
    JudgeClient,
    MalformedReplyError,
    NoVerdictError,
    ResponseFormat,
    Verdict,
    explain,
    parse_verdict,
    run_async,
)
from mera_ru_tasks.judge.config import (
    API_BASE,
    API_KEY,
    EXTRA,
    MODEL,
    NO_KEY,
    OPENAI_KEY,
    PROMPT,
    TIMEOUT,
    Settings,
    question_key,
)
from mera_ru_tasks.judge.questions import Prompt, Skipped, load_prompt, question_for
from mera_ru_tasks.textutil import plural, quoted

if TYPE_CHECKING:
    from tqdm import tqdm

logger = logging.getLogger("lm_eval.mera_ru_tasks")

ASKED = "asked"
CACHED = "cached"
FAILED = "failed"
# The reason of questions that failed without being sent.
_NOT_ASKED = "the judge stopped answering earlier"


@dataclass(frozen=True)
class Judgement:
    """The result for one document.

    Attributes:
        score: 0, 0.5 or 1; None if there is no score. A missing score never counts as 0.
        source: `asked`, `cached`, `failed`, or the reason why no question was needed.
        reason: the judge's reason, or the reason why there is no verdict.
        verdict: the judge's verdict; None if there is none.
        key: the key of the question in the cache; empty if there was no question.
    """

    score: float | None
    source: str
    reason: str = ""
    verdict: Verdict | None = None
    key: str = ""

    @property
    def kind(self) -> str:
        """Return the source in a format that does not depend on the cache: `judge` for `asked` and `cached`."""
        return "judge" if self.source in (ASKED, CACHED) else self.source


def prepare(settings: Settings) -> None:
    """Check before a run that the judge can be used: its packages, prompt, cache and server.

    Raises:
        JudgeError: the judge cannot be used. The message says why and how to fix it.
    """
    with open_cache(settings, load_prompt(settings).version):
        check(settings)


def judge(documents: Sequence[tuple[Mapping[str, Any], str]], settings: Settings, title: str = "") -> list[Judgement]:
    """Judge responses, with a progress bar, and log a summary.

    Args:
        documents: pairs of a document and the response to it.
        settings: the settings of the judge.
        title: the name of the documents in the summary.

    Returns:
        One judgement for each document, in order. If a question fails, its verdict is missing, and no error is raised.
        If every question failed, no document has a score, because exact matches alone would give a perfect mean.

    Raises:
        JudgeError: the prompt, the cache or the judge cannot be used.
    """
    from tqdm import tqdm

    started = time.monotonic()
    prompt = load_prompt(settings)
    with (
        open_cache(settings, prompt.version) as cache,
        # The delay hides the bar if all verdicts are already stored.
        tqdm(total=len(documents), desc=f"Asking the judge {settings.name}", unit="doc", delay=0.5) as bar,
    ):
        judging = _Judging(documents, settings, prompt, cache, bar)
        judging.run()
    judgements = judging.judgements()
    sources = {judgement.source for judgement in judgements}
    if FAILED in sources and sources.isdisjoint((ASKED, CACHED)):
        judgements = [replace(judgement, score=None) for judgement in judgements]
    _report(judgements, settings, title, time.monotonic() - started)
    return judgements


class _Judging:
    """The questions about a task's documents, and their results.

    A question is rendered only when it can be sent, while other requests are in flight. Rendering a thousand questions
    in advance would take 200 milliseconds, during which the server would be idle.
    """

    def __init__(
        self,
        documents: Sequence[tuple[Mapping[str, Any], str]],
        settings: Settings,
        prompt: Prompt,
        cache: VerdictCache,
        bar: tqdm[Any],
    ) -> None:
        self._documents = documents
        self._settings = settings
        self._prompt = prompt
        self._cache: VerdictCache | None = cache
        self._bar = bar
        # For each document, the key of its question, or the reason why there is no question.
        self._needed: list[Skipped | str] = []
        self._known: dict[str, Verdict] = {}
        self._answers: dict[str, Verdict | NoVerdictError] = {}
        # The number of consecutive questions that failed because of the server.
        self._failed_in_a_row = 0

    def run(self) -> None:
        """Ask every question that has no stored verdict. Raise JudgeError if the judge cannot be used."""
        open_questions = self._open_questions()
        first = next(open_questions, None)
        if first is not None:
            self._settings, response_format = check(self._settings)
            run_async(self._ask(itertools.chain([first], open_questions), response_format))

    def judgements(self) -> list[Judgement]:
        """Return the judgement of each document."""
        return [self._judgement(entry) for entry in self._needed]

    def _judgement(self, entry: Skipped | str) -> Judgement:
        if isinstance(entry, Skipped):
            return Judgement(entry.score, entry.why)
        if entry in self._known:
            verdict, source = self._known[entry], CACHED
        else:
            answer = self._answers[entry]
            if isinstance(answer, NoVerdictError):
                return Judgement(None, FAILED, str(answer), key=entry)
            verdict, source = answer, ASKED
        return Judgement(verdict.score / 2, source, verdict.reason, verdict, entry)

    def _open_questions(self) -> Iterator[tuple[str, str]]:
        """Yield the key and message of each question to ask, without duplicates, in document order."""
        seen = set()
        for doc, response in self._documents:
            question = question_for(doc, response, skip_exact=self._settings.skip_exact)
            if isinstance(question, Skipped):
                self._needed.append(question)
                self._bar.update()
                continue
            message = self._prompt.render(question)
            key = question_key(self._settings, self._prompt.version, message)
            self._needed.append(key)
            if key in seen or self._find(key):
                self._bar.update()
            else:
                yield key, message
            seen.add(key)

    async def _ask(self, questions: Iterator[tuple[str, str]], response_format: ResponseFormat) -> None:
        import asyncio

        async with JudgeClient(self._settings, response_format) as client:
            await asyncio.gather(*(self._work(client, questions) for _ in range(self._settings.concurrency)))

    async def _work(self, client: JudgeClient, questions: Iterator[tuple[str, str]]) -> None:
        for key, message in questions:
            try:
                if self._failed_in_a_row >= self._settings.concurrency:
                    raise NoVerdictError(_NOT_ASKED, judge_is_gone=True)
                self._answers[key] = self._keep(key, await client.ask(message))
                self._failed_in_a_row = 0
            except NoVerdictError as failure:
                self._answers[key] = failure
                self._failed_in_a_row = self._failed_in_a_row + 1 if failure.judge_is_gone else 0
            self._bar.update()

    def _find(self, key: str) -> bool:
        """Look up a verdict in the cache, and return True if there is one."""
        try:
            verdict = self._cache and self._cache.get(key)
        except sqlite3.Error as error:
            return self._disable_cache(error)
        if verdict:
            self._known[key] = verdict
        return bool(verdict)

    def _keep(self, key: str, verdict: Verdict) -> Verdict:
        """Store a verdict in the cache, and return the stored verdict."""
        try:
            return self._cache.put(key, verdict) if self._cache else verdict
        except sqlite3.Error as error:
            self._disable_cache(error)
            return verdict

    def _disable_cache(self, error: sqlite3.Error) -> Literal[False]:
        """Warn that the cache failed, and continue without it."""
        self._cache = None
        logger.warning(
            "The judge cache %s can no longer be used (%s). New verdicts are used in this run, but are not stored.",
            self._settings.cache,
            error,
        )
        return False


def _report(judgements: Sequence[Judgement], settings: Settings, title: str, seconds: float) -> None:
    sources = Counter(judgement.source for judgement in judgements)
    counted = {ASKED, CACHED, FAILED}
    skipped = ", ".join(f"{number} {why}" for why, number in sources.items() if why not in counted)
    # If several documents share a question, it was asked only once, so its tokens count only once.
    asked = {one.key: one.verdict for one in judgements if one.source == ASKED and one.verdict}
    logger.info(
        "Judge %s%s: %d documents; skipped: %s; cached: %d; asked: %d; failed: %d; tokens: %d in, %d out; %.1f s",
        settings.name,
        f" on {title}" if title else "",
        len(judgements),
        skipped or "0",
        sources[CACHED],
        sources[ASKED] + sum(one.source == FAILED and one.reason != _NOT_ASKED for one in judgements),
        sources[FAILED],
        sum(verdict.prompt_tokens for verdict in asked.values()),
        sum(verdict.completion_tokens for verdict in asked.values()),
        seconds,
    )
    if sources[FAILED]:
        reasons = Counter(one.reason for one in judgements if one.source == FAILED)
        logger.warning(
            "%d of %d documents %s no judge verdict. Judge scores exclude such documents and their groups. "
            "%sReason: %s. When the judge works again, `mera-ru judge` on the logged samples requests only the missing "
            "verdicts.",
            sources[FAILED],
            len(judgements),
            plural(sources[FAILED], "has", "have"),
            "" if sources[ASKED] or sources[CACHED] else "Every question failed, so no judge score is reported. ",
            "; ".join(f"{reason} ({number})" for reason, number in reasons.most_common(3)),
        )


# The wait for a connection in seconds, after which the check leaves the decision to the test question.
_LONGEST_PROBE = 1.0
# The check retries only once, after half a second, so that an unreachable server is reported quickly.
_RETRIES = 1
# An unreadable reply can be an accident, so the test question is repeated, with the reminder that documents also get.
_REPEATS = 2


@functools.lru_cache(maxsize=8)
def check(settings: Settings) -> tuple[Settings, ResponseFormat]:
    """Ask the judge a test question, once in a process, so that errors appear before hours of generation.

    A question is used because a list of models would not show whether the key, the model and the additional fields are
    accepted.

    Returns:
        The settings, with `/v1` added to the address if the server answers only there, and the first of
        `client.RESPONSE_FORMATS` that the server accepts.

    Raises:
        JudgeError: the judge cannot be used. The message says why and how to fix it.
    """
    _require_open_port(settings)
    _require_packages()
    found: tuple[Settings, ResponseFormat] = run_async(_check(settings, load_prompt(settings).preflight()))
    return found


def _require_open_port(settings: Settings) -> None:
    """Raise JudgeError at once if no server listens at the address. The SDK takes seconds to load and to retry."""
    if urllib.request.getproxies():
        return
    parts = urlsplit(settings.api_base)
    try:
        port = parts.port or {"http": 80, "https": 443}[parts.scheme]
        socket.create_connection((parts.hostname, port), timeout=_LONGEST_PROBE).close()
    except ConnectionRefusedError as error:
        raise JudgeError(f"{_unreachable(settings, str(error.strerror))} {_WITHOUT}") from None
    except OSError:  # perhaps only for a moment, so the test question decides
        return


def _require_packages() -> None:
    try:
        import aiohttp  # noqa: F401
        import openai  # noqa: F401
    except ImportError as error:
        raise JudgeError(
            f"A judge is configured, but the package `{error.name}` is not installed. "
            'Run `pip install "mera-ru-tasks[judge]"`.'
        ) from error


async def _check(settings: Settings, question: str) -> tuple[Settings, ResponseFormat]:
    import openai

    try:
        settings, response_format, completion = await _at_address(settings, question)
        for _ in range(_REPEATS):
            if parse_verdict(completion.text) is not None:
                break
            completion = await _complete(settings, question + REMINDER, response_format)
    except (openai.APIError, MalformedReplyError) as error:
        raise JudgeError(settings.redact(f"{_what_is_wrong(settings, error)} {_WITHOUT}")) from None
    if parse_verdict(completion.text) is None:
        reply = quoted(settings.redact(completion.text), 200)
        prompt = f" or correct the prompt in {PROMPT}" if settings.prompt else ""
        raise JudgeError(
            f"The judge {settings.name} at {settings.address} replied to a test question {_REPEATS + 1} times, but "
            f"never with a verdict. Its last reply is {reply}. Use another model{prompt}. If the reply is empty or cut "
            f"off, raise its limit, for example with {EXTRA}='{{\"max_tokens\": 4000}}'. {_WITHOUT}"
        )
    return settings, response_format


async def _at_address(settings: Settings, question: str) -> tuple[Settings, ResponseFormat, Completion]:
    """Ask at the given address. If it is not found, ask at the address with `/v1`, which MERA's judge adds."""
    import openai

    try:
        return settings, *await _first_accepted(settings, question)
    except (openai.APIStatusError, MalformedReplyError) as error:
        is_absent = isinstance(error, MalformedReplyError) or error.status_code in (404, 405)
        if not is_absent or settings.api_base.endswith("/v1"):
            raise
        versioned = replace(settings, api_base=f"{settings.api_base}/v1")
        try:
            return versioned, *await _first_accepted(versioned, question)
        except (openai.APIError, MalformedReplyError):
            raise error from None


async def _first_accepted(settings: Settings, question: str) -> tuple[ResponseFormat, Completion]:
    import openai

    *others, last = RESPONSE_FORMATS
    for response_format in others:
        try:
            return response_format, await _complete(settings, question, response_format)
        except (openai.AuthenticationError, openai.PermissionDeniedError, openai.RateLimitError):
            raise
        except openai.APIStatusError:
            continue  # servers refuse a format with 400, 422 or, like llama-cpp-python, 500
    return last, await _complete(settings, question, last)


async def _complete(settings: Settings, message: str, response_format: ResponseFormat) -> Completion:
    async with JudgeClient(settings, response_format, retries=_RETRIES) as client:
        return await client.complete(message)


_WITHOUT = f"To run without a judge, unset {API_BASE}, {MODEL} and {API_KEY}."


def _what_is_wrong(settings: Settings, error: Exception) -> str:
    import openai

    judge = f"The judge {settings.name} at {settings.address}"
    if isinstance(error, openai.APIConnectionError):
        return _unreachable(settings, explain(error))
    if isinstance(error, (openai.AuthenticationError, openai.PermissionDeniedError)):
        if settings.key == NO_KEY:
            return f"{judge} needs a key ({explain(error)}). Set {API_KEY} or {OPENAI_KEY}."
        return f"{judge} refuses the key ({explain(error)}). Correct {API_KEY} or {OPENAI_KEY}."
    if isinstance(error, openai.NotFoundError):
        return f"{judge} was not found ({explain(error)}). Correct {MODEL}, or {API_BASE}, which usually ends in /v1."
    if isinstance(error, MalformedReplyError):
        return f"{judge} does not use OpenAI's chat API ({error}). Correct {API_BASE}, which usually ends in /v1."
    return f"{judge} refuses a test question ({explain(error)}). Request fields can be changed with {EXTRA}."


def _unreachable(settings: Settings, reason: str) -> str:
    return (
        f"The judge {settings.name} at {settings.address} cannot be reached or did not answer within "
        f"{settings.timeout:g} s ({reason}). Start the server, correct {API_BASE}, or raise {TIMEOUT}."
    )
