"""Build and score the ranking tasks, in which the options of a document are ranked by their log-likelihoods.

A base model may know the answer even if it cannot follow an instruction (Gu et al. 2024, "OLMES: A Standard for
Language Model Evaluations"). In the cloze form, the model sees neither letters nor a list of options, only a context
and one option as its continuation. RussianRegions also has a letter form, which shows the complete prompt and ranks
the four letters.
"""

from __future__ import annotations

import functools
import hashlib
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

from mera_ru_tasks.data.benchmarks import AnswerFormat
from mera_ru_tasks.data.schema import split_reference
from mera_ru_tasks.scoring.metrics import group_part
from mera_ru_tasks.scoring.normalize import fold
from mera_ru_tasks.scoring.strict import MARKER, entries_of

Doc = Mapping[str, Any]
Form = Literal["cloze", "letter"]

# The number of distractors that are ranked with the accepted answer of a riddle.
DISTRACTORS = 9
# The text between a context and its continuation.
DELIMITER = " "
# Enantiosemy's types that ask which options do not fit. Their references list these options, which should rank low.
_REVERSED = frozenset({2, 4})
# Enantiosemy's types whose options are definitions of the word. The options of other types continue the dialogue.
_DEFINITIONS = frozenset({3, 4})
_SEED = "mera-ru-tasks"
# Log-likelihoods are tied if their relative difference is at most this, so that rounding errors have no effect.
_TIE = 1e-9
_HYPHEN = re.compile("[-\u2010-\u2015\u2212]")
# Two words are regarded as forms of the same word if they share at least `_STEM` first letters, and the longer word has
# at most `_ENDING` more.
_STEM, _ENDING = 4, 2


@dataclass(frozen=True)
class Option:
    """A continuation to rank.

    Attributes:
        text: the continuation, without the delimiter before it.
        right: True if the option should rank high.
        form: the form of the context before the continuation.
    """

    text: str
    right: bool
    form: Form = "cloze"


def options_of(doc: Doc) -> list[Option]:
    """Return the options of a document with a reference.

    - Riddles: the accepted answers in the order of the reference, then the distractors.
    - Enantiosemy: the texts of the six options.
    - RussianRegions: the texts of the four options, then their letters.
    """
    answer_format = AnswerFormat.of(doc)
    if not answer_format.choices:
        wrong = [Option(text, right=False) for text in doc["distractors"]]
        return [Option(text, right=True) for text in accepted(doc)] + wrong
    reference, _ = split_reference(doc["outputs"], answer_format)
    is_reversed = answer_format.max_choices > 1 and doc["meta"].get("type") in _REVERSED
    right = [(letter in reference) != is_reversed for letter in answer_format.choices]
    texts = [doc["inputs"][name] for name in answer_format.option_names(doc["inputs"])]
    options = [Option(text, good) for text, good in zip(texts, right, strict=True)]
    if answer_format.max_choices == 1:
        options += [Option(letter, good, "letter") for letter, good in zip(answer_format.choices, right, strict=True)]
    return options


def accepted(doc: Doc) -> list[str]:
    """Return the accepted answers of a riddle as written, in the order of the reference."""
    return entries_of(doc["outputs"], is_list=True)


def forms_of(doc: Doc) -> tuple[Form, ...]:
    """Return the forms of context that a document needs."""
    return ("cloze", "letter") if AnswerFormat.of(doc).max_choices == 1 else ("cloze",)


def cloze(doc: Doc) -> str:
    """Return the context of the cloze form, which each option continues."""
    inputs = doc["inputs"]
    answer_format = AnswerFormat.of(doc)
    if not answer_format.choices:
        return f"Загадка: {inputs['question']}\n{MARKER}"
    if answer_format.max_choices == 1:
        shown = {"Слово": "lang_unit", "Пример": "example_text", "Регион": "region"}
        lines = [f"{label}: {inputs[name]}" for label, name in shown.items() if inputs.get(name)]
        return "\n".join([inputs["task_formulation"], *lines, "Текст:"])
    if doc["meta"].get("type") in _DEFINITIONS:
        return f"{inputs['text']}\n\nЗдесь «{inputs['enantiosemic_word']}» значит:"
    text: str = inputs["text"]
    return text


# --- scores ----------------------------------------------------------------------------------------------------------


def score_ranking(doc: Doc, loglikelihoods: Sequence[float], *, delimiter: str = DELIMITER) -> dict[str, Any]:
    """Score the log-likelihoods of a document's options.

    For `auc` and for metrics that end in `_bytes`, a log-likelihood is divided by the number of UTF-8 bytes in its
    continuation, including the delimiter. A model that gives every byte the same log-likelihood is then at the chance
    level. Tied options share the credit.

    Args:
        doc: a document with a reference. Riddles also need `distractors`.
        loglikelihoods: the natural logarithms, in the order of `options_of`.
        delimiter: the text before each option.

    Returns:
        A mapping from metrics to values:

        - Riddles: `acc` and `acc_bytes` (0 to 1) compare the first accepted answer with the distractors.
          `bits_per_byte` is the bits and the bytes of the accepted answer with the fewest bits per byte.
        - Enantiosemy: `auc` is the share of pairs of a correct and a wrong option in which the correct option ranks
          higher; it is absent if there is no such pair. `top1` and `top1_bytes` are 1 if the first option is correct.
        - RussianRegions: `letter_acc`, `cloze_acc`, `cloze_acc_bytes` and, for documents in groups, a `GroupPart`.

        The mapping is empty if a log-likelihood is not finite, because that is a failure of the model, not a low score.
    """
    options = options_of(doc)
    if not all(map(math.isfinite, loglikelihoods)):
        return {}
    sizes = [len((delimiter + option.text).encode()) for option in options]
    raw = list(zip(options, loglikelihoods, strict=True))
    by_bytes = [(option, value / size) for (option, value), size in zip(raw, sizes, strict=True)]
    answer_format = AnswerFormat.of(doc)
    if not answer_format.choices:
        number = len(accepted(doc))
        best = max(range(number), key=lambda index: by_bytes[index][1])
        return {
            "bits_per_byte": (-loglikelihoods[best] / math.log(2), sizes[best]),
            "acc": _credit([raw[0], *raw[number:]]),
            "acc_bytes": _credit([by_bytes[0], *by_bytes[number:]]),
        }
    if answer_format.max_choices > 1:
        ordered = _ordered_pairs(by_bytes)
        auc = {} if ordered is None else {"auc": ordered}
        return {**auc, "top1": _credit(raw), "top1_bytes": _credit(by_bytes)}
    half = len(raw) // 2
    correct = _credit(by_bytes[:half])
    return {
        "cloze_acc_bytes": correct,
        "cloze_acc": _credit(raw[:half]),
        "letter_acc": _credit(raw[half:]),
        **group_part("group_cloze_acc_bytes", doc, int(correct == 1)),
    }


def _tied(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=_TIE)


def _credit(ranked: Sequence[tuple[Option, float]]) -> float:
    """Return 1 if the option with the largest value is correct, otherwise 0. For a tie, return the correct share."""
    largest = max(value for _, value in ranked)
    first = [option.right for option, value in ranked if _tied(value, largest)]
    return sum(first) / len(first)


def _ordered_pairs(ranked: Sequence[tuple[Option, float]]) -> float | None:
    """Return the share of pairs of a correct and a wrong option in which the correct option has the larger value.

    This is the area under the ROC curve (Hanley and McNeil 1982). A tie counts as 0.5. Return None if there is no pair.
    """
    right = [value for option, value in ranked if option.right]
    wrong = [value for option, value in ranked if not option.right]
    pairs = [0.5 if _tied(one, other) else float(one > other) for one in right for other in wrong]
    return sum(pairs) / len(pairs) if pairs else None


# --- distractors -----------------------------------------------------------------------------------------------------


def draw_distractors(docs: Sequence[Doc], more: Sequence[Doc] = ()) -> list[list[str]]:
    """Draw the distractors of each riddle from the first accepted answers of the other riddles.

    The candidates are ordered by a SHA-256 hash. The result is therefore the same on every machine and does not depend
    on the order of the riddles. Accepted answers and their forms are never drawn. No two distractors are forms of the
    same word.

    Args:
        docs: the riddles of one split, all with references.
        more: additional riddles, used only if the split has too few other answers.

    Returns:
        A list of distractors for each riddle. A list has `DISTRACTORS` elements unless there are too few candidates.
    """
    pools = [sorted({answer for doc in pool for answer in accepted(doc)[:1]}) for pool in (docs, more)]
    return [list(islice(_candidates(doc, pools), DISTRACTORS)) for doc in docs]


def _candidates(doc: Doc, pools: Sequence[Sequence[str]]) -> Iterator[str]:
    taken = accepted(doc)
    question = doc["inputs"]["question"]
    for pool in pools:
        for candidate in sorted(pool, key=functools.partial(_draw_key, question)):
            if not any(is_form_of(candidate, other) for other in taken):
                taken.append(candidate)
                yield candidate


def _draw_key(question: str, candidate: str) -> bytes:
    return hashlib.sha256(f"{_SEED}\n{question}\n{candidate}".encode()).digest()


def is_form_of(one: str, other: str) -> bool:
    """Return True if two answers may be forms of the same answer.

    They may differ in case, ё, hyphens and endings, or one may add words to the other. An answer without a letter or
    digit counts as a form of every answer.
    """
    first, second = _words(one), _words(other)
    if not first or not second or "".join(first) == "".join(second):
        return True
    return any(
        all(any(_is_same_word(word, candidate) for candidate in whole) for word in part)
        for part, whole in ((first, second), (second, first))
    )


@functools.lru_cache(maxsize=4096)
def _words(text: str) -> tuple[str, ...]:
    return tuple(fold(_HYPHEN.sub(" ", text)).split())


def _is_same_word(one: str, other: str) -> bool:
    stem = max(_STEM, max(len(one), len(other)) - _ENDING)
    return one == other or (min(len(one), len(other)) >= stem and one[:stem] == other[:stem])
