"""Measure how fast both filters score responses, and how long a megabyte of hostile text takes.

Responses per second are for one core, with the filters and `process_results` that lm-eval calls. They are compared with
a plain YAML task of lm-eval that compares the whole first response with the metric `exact_match`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import Measurement, in_turns, median_seconds, seconds_of_call
from mera_ru_tasks.data.benchmarks import ONE_OF_FOUR, ONE_OF_FOUR_WITH_UNIT, PHRASE, SEVERAL_OF_SIX, AnswerFormat
from mera_ru_tasks.harness.filters import FlexibleExtract, StrictMatch, process_results
from mera_ru_tasks.scoring.extract import extract_answer

# Responses of about 200 characters, typical of instruction-tuned models: the answer last, first, under a heading, in
# quotes.
TYPICAL: tuple[tuple[AnswerFormat, str, str], ...] = (
    (
        SEVERAL_OF_SIX,
        "А; Е",
        "Слово понято здесь как похвала, значит, годятся те продолжения, что её усиливают; остальные четыре с ней "
        "спорят и завершить реплику не могут. Выбираю первое и последнее из шести.\n\n**Ответ:** А; Е",
    ),
    (
        SEVERAL_OF_SIX,
        "Б",
        "Ответ: Б. Неужели вы его не узнали?\n\nПояснение: в тексте сказано, что соседа все хорошо знают, так что "
        "только это продолжение противоречит смыслу слова; прочие его поддерживают и потому возможны.",
    ),
    (
        ONE_OF_FOUR,
        "Г",
        "Проверим тексты по одному. В первом слово значит посуду, во втором одежду, в третьем погоду, и всё это "
        "неверно; лишь в последнем оно стоит на своём месте, как его и понимают в Сибири.\n\n### Ответ\n\nГ",
    ),
    (
        ONE_OF_FOUR_WITH_UNIT,
        "Б; иней",
        "Куржаком на Урале зовут иней, который нарастает на ветках в сильный мороз. Такое же слово, только "
        "литературное, есть во втором тексте: там иней лежит на проводах.\n\nОтвет: Б; «иней»",
    ),
    (
        PHRASE,
        "тень; своя тень",
        "Она ходит следом за человеком, в полдень становится короче, вечером длиннее, а ночью пропадает совсем. "
        "Догнать её нельзя, убежать тоже. Речь о том, что отбрасывает всякий предмет.\n\nОтвет: тень",
    ),
)
Document = Mapping[str, Any]

BATCH = 200  # repetitions of the typical responses in one timed run

MEGABYTE = 1_000_000
HOSTILE = {
    "prose, no line break": "слово " * (MEGABYTE // 6),
    "nested brackets": "Ответ: " + "([" * (MEGABYTE // 2),
    "markers": "Ответ:" * (MEGABYTE // 6),
    "the marker's word": "ответ " * (MEGABYTE // 6),
    "reasoning tags": "<think>" * (MEGABYTE // 7),
    "spaces": "Ответ:" + " " * MEGABYTE + "А",
    "stars": "Ответ: " + "*" * MEGABYTE + "А",
    "list lines": "Ответ:\n" + "- А\n" * (MEGABYTE // 4),
}


def measurements() -> Iterator[Measurement]:
    """Yield the rates for typical responses, then the times for hostile ones."""
    formats, references, responses = zip(*TYPICAL * BATCH, strict=True)
    docs = [_document(*pair) for pair in zip(formats, references, strict=True)]
    batch = [[response] for response in responses]

    def strict() -> None:
        _score(StrictMatch().apply(batch, docs), docs)

    def both() -> None:
        strict()
        _score(FlexibleExtract().apply(batch, docs), docs)

    strict_rate, both_rate = len(docs) / median_seconds(strict), len(docs) / median_seconds(both)
    yield Measurement("strict-match", strict_rate, "responses/s", "target", 50_000)
    yield Measurement("both filters", both_rate, "responses/s", "target", 10_000)
    yield _beside_plain(docs, responses, both)
    for name, response in HOSTILE.items():
        seconds = max(
            median_seconds(lambda form=form, text=response: extract_answer(text, form)) for form in set(formats)
        )
        yield Measurement(f"1 MB of {name}", seconds * 1000, "ms", "target below", 50)


def _beside_plain(docs: Sequence[Document], responses: Sequence[str], both: Callable[[], None]) -> Measurement:
    """Return the rate of both filters next to the rate of lm-eval's `exact_match`."""
    from benchmarks._tasks import build, load_plain, respond, score, write_plain

    with tempfile.TemporaryDirectory() as name:
        rows = [{"question": text, "outputs": doc["outputs"]} for doc, text in zip(docs, responses, strict=True)]
        write_plain(Path(name), {"plain": rows})
        tasks = load_plain(Path(name))
    build(tasks)
    respond(tasks, lambda doc: doc["question"])
    ours, plain = in_turns(
        lambda: seconds_of_call(both), lambda: seconds_of_call(lambda: score(tasks, "strict-match")), runs=7
    )
    return Measurement("the same", len(docs) / ours, "responses/s", "lm-eval's exact_match", len(docs) / plain)


def _document(answer_format: AnswerFormat, reference: str) -> Document:
    return {"outputs": reference, "answer_format": vars(answer_format), "meta": {"id": 1}}


def _score(results: Sequence[Any], docs: Sequence[Document]) -> None:
    for doc, result in zip(docs, results, strict=True):
        process_results(doc, [result])
