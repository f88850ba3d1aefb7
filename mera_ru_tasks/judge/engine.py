"""All questions of a task at once: which are needed, which are known, and the rest asked concurrently."""

from __future__ import annotations

import logging
import sqlite3
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mera_ru_tasks.judge.cache import VerdictCache, open_cache, question_key
from mera_ru_tasks.judge.client import JudgeClient, NoVerdictError, Reply, run_async
from mera_ru_tasks.judge.config import Settings
from mera_ru_tasks.judge.prompt import load_prompt
from mera_ru_tasks.judge.questions import Unasked, question_for
from mera_ru_tasks.judge.replies import ResponseFormat
from mera_ru_tasks.judge.trial import check

if TYPE_CHECKING:
    from tqdm import tqdm

Answer = Reply | NoVerdictError

logger = logging.getLogger("lm_eval.mera_ru_tasks")

ASKED = "asked"
CACHED = "cached"


@dataclass(frozen=True)
class Verdict:
    """What is known of one document.

    Attributes:
        score: 0, 0.5 or 1; None where it is missing, which is never a 0.
        source: `asked`, `cached`, why it was not asked, or `failed`.
        reason: the judge's reason, or why there is no verdict.
        reply: the judge's reply, where it gave one.
        key: the question's key in the cache, where there is a question.
    """

    score: float | None
    source: str
    reason: str = ""
    reply: Reply | None = None
    key: str = ""

    @property
    def kind(self) -> str:
        """The source as far as it stays the same in a rerun: `judge`, `failed`, or why there was no question."""
        return "judge" if self.source in (ASKED, CACHED) else self.source


def prepare(settings: Settings) -> None:
    """Find out before a run whether judging can work: package, prompt, cache and server.

    Raises:
        JudgeError: it cannot; the message says why and the way out.
    """
    with open_cache(settings, load_prompt(settings).version):
        check(settings)


def judge(documents: Iterable[tuple[Mapping[str, Any], str]], settings: Settings, title: str = "") -> list[Verdict]:
    """Judge responses, with a progress bar, and log a closing line.

    Args:
        documents: each with the response to it.
        settings: which judge.
        title: what the closing line calls the documents.

    Returns:
        A verdict for each document, in order. A server that fails costs verdicts and never raises.

    Raises:
        JudgeError: the prompt or the cache cannot be used, or the judge cannot be asked at all.
    """
    started = time.monotonic()
    prompt = load_prompt(settings)
    needed: list[Unasked | str] = []
    rendered: dict[str, str] = {}
    for doc, response in documents:
        question = question_for(doc, response, skip_exact=settings.skip_exact)
        if isinstance(question, Unasked):
            needed.append(question)
        else:
            message = prompt.render(question)
            key = question_key(settings, prompt.version, message)
            rendered[key] = message
            needed.append(key)
    with open_cache(settings, prompt.version) as cache:
        known = {key: reply for key in rendered if (reply := cache.get(key))}
        missing = {key: message for key, message in rendered.items() if key not in known}
        answers = _ask_all(missing, settings, cache) if missing else {}
    verdicts = [_verdict(entry, known, answers) for entry in needed]
    _report(verdicts, settings, title, time.monotonic() - started)
    return verdicts


def _verdict(entry: Unasked | str, known: Mapping[str, Reply], answers: Mapping[str, Answer]) -> Verdict:
    if isinstance(entry, Unasked):
        return Verdict(entry.score, entry.why)
    answer = known[entry] if entry in known else answers[entry]
    if isinstance(answer, NoVerdictError):
        return Verdict(None, "failed", str(answer), key=entry)
    return Verdict(answer.score / 2, CACHED if entry in known else ASKED, answer.reason, answer, entry)


def _ask_all(questions: Mapping[str, str], settings: Settings, cache: VerdictCache) -> dict[str, Answer]:
    from tqdm import tqdm

    response_format = check(settings)
    with tqdm(total=len(questions), desc=f"Asking the judge {settings.model}", unit="question") as bar:
        asking = _Asking(questions, settings, cache, bar)
        run_async(asking.run(response_format))
    return asking.answers


class _Asking:
    """The questions being asked, and what has come of them."""

    def __init__(self, questions: Mapping[str, str], settings: Settings, cache: VerdictCache, bar: tqdm[Any]) -> None:
        self.answers: dict[str, Answer] = {}
        self._open: Iterator[tuple[str, str]] = iter(questions.items())
        self._settings = settings
        self._workers = min(settings.concurrency, len(questions))
        self._cache: VerdictCache | None = cache
        self._bar = bar
        # So many questions failed in a row because of the server, without a verdict between.
        self._failed_in_a_row = 0

    async def run(self, response_format: ResponseFormat) -> None:
        import asyncio

        async with JudgeClient(self._settings, response_format) as client:
            await asyncio.gather(*(self._work(client) for _ in range(self._workers)))

    async def _work(self, client: JudgeClient) -> None:
        for key, message in self._open:
            try:
                if self._failed_in_a_row >= self._settings.concurrency:
                    raise NoVerdictError("the judge had stopped answering", judge_is_gone=True)
                self.answers[key] = self._keep(key, await client.ask(message))
                self._failed_in_a_row = 0
            except NoVerdictError as failure:
                self.answers[key] = failure
                self._failed_in_a_row = self._failed_in_a_row + 1 if failure.judge_is_gone else 0
            self._bar.update()

    def _keep(self, key: str, reply: Reply) -> Reply:
        """Put a verdict into the cache; a cache that fails now costs a warning, not the verdicts."""
        if self._cache is None:
            return reply
        try:
            return self._cache.put(key, reply)
        except sqlite3.Error as error:
            self._cache = None
            logger.warning(
                "The judge's cache %s can no longer be written (%s): further verdicts count, but a rerun asks for them "
                "again.",
                self._settings.cache,
                error,
            )
            return reply


def _report(verdicts: Sequence[Verdict], settings: Settings, title: str, seconds: float) -> None:
    sources = Counter(verdict.source for verdict in verdicts)
    counted = {ASKED, CACHED, "failed"}
    skipped = ", ".join(f"{number} {why}" for why, number in sources.items() if why not in counted)
    # A question that several documents share was asked once, and its tokens were spent once.
    asked = {verdict.key: verdict.reply for verdict in verdicts if verdict.source == ASKED and verdict.reply}
    logger.info(
        "Judge %s%s: %d documents; not asked: %s; cached: %d; asked: %d; failed: %d; tokens: %d in, %d out; %.1f s",
        settings.model,
        f" on {title}" if title else "",
        len(verdicts),
        skipped or "0",
        sources[CACHED],
        sources[ASKED],
        sources["failed"],
        sum(reply.prompt_tokens for reply in asked.values()),
        sum(reply.completion_tokens for reply in asked.values()),
        seconds,
    )
    if sources["failed"]:
        reasons = Counter(verdict.reason for verdict in verdicts if verdict.source == "failed")
        logger.warning(
            "%d of %d documents have no verdict of the judge and are in no judge score; groups with one of them are "
            "left out. Why: %s. Verdicts so far are kept: judge the logged samples again with `mera-ru judge`.",
            sources["failed"],
            len(verdicts),
            "; ".join(f"{reason} ({number})" for reason, number in reasons.most_common(3)),
        )
