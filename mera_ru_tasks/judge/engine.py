"""All questions of a task at once: which are needed, which are known, and the rest asked concurrently."""

from __future__ import annotations

import itertools
import logging
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from mera_ru_tasks.judge.cache import VerdictCache, open_cache, question_key
from mera_ru_tasks.judge.client import JudgeClient, NoVerdictError, Reply, run_async
from mera_ru_tasks.judge.config import Settings
from mera_ru_tasks.judge.preflight import check
from mera_ru_tasks.judge.prompt import Prompt, load_prompt
from mera_ru_tasks.judge.questions import Unasked, question_for
from mera_ru_tasks.judge.replies import ResponseFormat

if TYPE_CHECKING:
    from tqdm import tqdm

logger = logging.getLogger("lm_eval.mera_ru_tasks")

ASKED = "asked"
CACHED = "cached"
FAILED = "failed"


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


def judge(documents: Sequence[tuple[Mapping[str, Any], str]], settings: Settings, title: str = "") -> list[Verdict]:
    """Judge responses, with a progress bar, and log a closing line.

    Args:
        documents: each with the response to it.
        settings: which judge.
        title: what the closing line calls the documents.

    Returns:
        A verdict for each document, in order. A server that fails costs verdicts and never raises. Where every question
        failed, no document has a score: what is known without a judge, exact matches above all, would be a perfect one.

    Raises:
        JudgeError: the prompt or the cache cannot be used, or the judge cannot be asked at all.
    """
    from tqdm import tqdm

    started = time.monotonic()
    prompt = load_prompt(settings)
    with (
        open_cache(settings, prompt.version) as cache,
        # Not shown where all verdicts are known at once.
        tqdm(total=len(documents), desc=f"Asking the judge {settings.model}", unit="doc", delay=0.5) as bar,
    ):
        judging = _Judging(documents, settings, prompt, cache, bar)
        judging.run()
    verdicts = judging.verdicts()
    sources = {verdict.source for verdict in verdicts}
    if FAILED in sources and sources.isdisjoint((ASKED, CACHED)):
        verdicts = [replace(verdict, score=None) for verdict in verdicts]
    _report(verdicts, settings, title, time.monotonic() - started)
    return verdicts


class _Judging:
    """A task's documents, one after another becoming questions, and what has come of them.

    A question is made when a place for it is free, while those before it wait for the server: making a thousand takes
    as long as two hundred milliseconds, in which otherwise no question would be under way.
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
        # For each document why it was not asked, or its question's key.
        self._needed: list[Unasked | str] = []
        self._known: dict[str, Reply] = {}
        self._answers: dict[str, Reply | NoVerdictError] = {}
        # So many questions failed in a row because of the server, without a verdict between.
        self._failed_in_a_row = 0

    def run(self) -> None:
        """Ask what is not known; raises JudgeError where the judge cannot be asked at all."""
        open_questions = self._open_questions()
        first = next(open_questions, None)
        if first is not None:
            response_format = check(self._settings)
            run_async(self._ask(itertools.chain([first], open_questions), response_format))

    def verdicts(self) -> list[Verdict]:
        """What is known of each document."""
        return [self._verdict(entry) for entry in self._needed]

    def _verdict(self, entry: Unasked | str) -> Verdict:
        if isinstance(entry, Unasked):
            return Verdict(entry.score, entry.why)
        if entry in self._known:
            reply, source = self._known[entry], CACHED
        else:
            answer = self._answers[entry]
            if isinstance(answer, NoVerdictError):
                return Verdict(None, FAILED, str(answer), key=entry)
            reply, source = answer, ASKED
        return Verdict(reply.score / 2, source, reply.reason, reply, entry)

    def _open_questions(self) -> Iterator[tuple[str, str]]:
        """Go through the documents; yield key and message of each question that has to be asked, once."""
        seen = set()
        for doc, response in self._documents:
            question = question_for(doc, response, skip_exact=self._settings.skip_exact)
            if isinstance(question, Unasked):
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
                    raise NoVerdictError("the judge had stopped answering", judge_is_gone=True)
                self._answers[key] = self._keep(key, await client.ask(message))
                self._failed_in_a_row = 0
            except NoVerdictError as failure:
                self._answers[key] = failure
                self._failed_in_a_row = self._failed_in_a_row + 1 if failure.judge_is_gone else 0
            self._bar.update()

    def _find(self, key: str) -> bool:
        """Look for a verdict in the cache."""
        try:
            reply = self._cache and self._cache.get(key)
        except sqlite3.Error as error:
            return self._go_on_without_cache(error)
        if reply:
            self._known[key] = reply
        return bool(reply)

    def _keep(self, key: str, reply: Reply) -> Reply:
        """Put a verdict into the cache; returns the one that counts."""
        try:
            return self._cache.put(key, reply) if self._cache else reply
        except sqlite3.Error as error:
            self._go_on_without_cache(error)
            return reply

    def _go_on_without_cache(self, error: sqlite3.Error) -> Literal[False]:
        """A cache that fails during the work costs a warning, not the verdicts."""
        self._cache = None
        logger.warning(
            "The judge's cache %s can no longer be used (%s): further verdicts count, but a rerun asks for them again.",
            self._settings.cache,
            error,
        )
        return False


def _report(verdicts: Sequence[Verdict], settings: Settings, title: str, seconds: float) -> None:
    sources = Counter(verdict.source for verdict in verdicts)
    counted = {ASKED, CACHED, FAILED}
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
        sources[FAILED],
        sum(reply.prompt_tokens for reply in asked.values()),
        sum(reply.completion_tokens for reply in asked.values()),
        seconds,
    )
    if sources[FAILED]:
        reasons = Counter(verdict.reason for verdict in verdicts if verdict.source == FAILED)
        logger.warning(
            "%d of %d documents have no verdict of the judge and are in no judge score; groups with one of them are "
            "left out. %sWhy: %s. Verdicts so far are kept: judge the logged samples again with `mera-ru judge`.",
            sources[FAILED],
            len(verdicts),
            "" if sources[ASKED] or sources[CACHED] else "Every question failed, so there is no judge score at all. ",
            "; ".join(f"{reason} ({number})" for reason, number in reasons.most_common(3)),
        )
