"""Extract the intended answer from a response. This is the filter `flexible-extract`.

Extraction has five steps. The first three are `drop_reasoning`, `after_announcement` and `clean`. Step 4 extracts the
answer at the start of the cleaned text. Step 5 searches the clauses after the answer for objections.

Extraction never guesses, because a false credit is worse than a miss. If a response has no unambiguous answer, the
result is empty. The only inputs besides the response are the task's `AnswerFormat` and, optionally, the option texts.

Responses are hostile text, so every step takes linear time. Whole responses are searched only for fixed strings. Other
patterns run on text of limited length.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from mera_ru_tasks.data.benchmarks import AnswerFormat
from mera_ru_tasks.scoring.extract import options, phrases, preparation
from mera_ru_tasks.scoring.extract.clauses import BULLET, Clause, Mention, kinds_of, objection_in, sentences_of
from mera_ru_tasks.scoring.extract.options import Answer, answer_of_lines, letter_mention
from mera_ru_tasks.scoring.extract.preparation import after_announcement, clean, drop_reasoning, lines_of, opening_mark
from mera_ru_tasks.scoring.normalize import WORD, fold, without_invisible

__all__ = ["Extraction", "after_announcement", "drop_reasoning", "extract_answer", "opening_mark"]

# Letters in the format that the prompt requests. Such answers need no further steps.
_PLAIN, _SEPARATORS = re.compile(r"[\s*]{0,9}([А-ЯЁ](?:[;,] ?[А-ЯЁ]){0,9})[.\s*]{0,9}$"), frozenset(";, ")
_BEFORE_REASON = re.compile(r",? (?=потому|поскольку|так как|ведь)")
_LONGEST_CLOSING = 300
_BRACKET = re.compile(r" \([^()]*\)\.?$")
_NOT_BUT = re.compile(r"[\s*]*не [^,.\n]{1,40}, а ")
_LIST_SIGN = re.compile("[,;/]")
# Separators between a letter and its option's text, as in `Б. text` or `Б — Text`. Units may also follow `;` or `,`.
_LABEL = re.compile(r"[.):]|[ ]?[—–-] ?(?=\"?[А-ЯЁA-Z])")
_LABEL_OF_UNIT = re.compile(r"[.):;,]| ?[—–-] ")


class Extraction(NamedTuple):
    """The answer extracted from a response, and the reason.

    Attributes:
        answer: the answer in canonical form (`А; Е`, `Б`, `Б; лужа`, `лапша`). Empty without an unambiguous answer.
        code: `given` if there is an answer. Otherwise `reasoning-open`, `no-answer`, `unclear`, `out-of-range`,
            `too-many`, `all-options`, `unclear-verdicts`, `another`, `denied`, `retracted` or `narrowed`.
        clause: the text that contains the answer or the objection to it. Empty if there is no such text.
        visible: the response without its reasoning.
    """

    answer: str
    code: str
    clause: str = ""
    visible: str = ""


def extract_answer(response: str, answer_format: AnswerFormat, *, options: Sequence[str] = ()) -> Extraction:
    """Extract the intended answer from a response.

    Args:
        response: the model's response. If the prompt ends with `Ответ:` or `<think>`, this text precedes the response.
        answer_format: the answer format of the task.
        options: the texts of the options, in the order of their letters, or empty if they are unknown.
    """
    visible = drop_reasoning(without_invisible(response))
    if not visible and response.strip():
        return Extraction("", "reasoning-open")
    texts = dict(zip(answer_format.choices, map(fold, options), strict=False)) if options else {}
    announced = after_announcement(visible)
    read = _unannounced if announced is None else _read
    found = read(visible if announced is None else announced, answer_format, texts)
    return Extraction(found.answer, found.code, found.clause.strip(" .,;:*\n"), visible)


def _read(text: str, answer_format: AnswerFormat, texts: Mapping[str, str]) -> Extraction:
    """Extract the answer at the start of a text."""
    choices = answer_format.choices
    plain = None if answer_format.with_phrase else _PLAIN.match(text)
    if plain and (letters := set(plain[1]) - _SEPARATORS) <= set(choices):
        return _canonical(list(letters), "", text, answer_format)
    lines = lines_of(clean(_NOT_BUT.sub("", text) if _NOT_BUT.match(text) else text))  # «не А, а Б»
    if not lines:
        return Extraction("", "no-answer")
    if not choices:
        answer = phrases.phrase_of_lines(lines)
    elif answer_format.with_phrase:
        answer = phrases.letter_and_unit_of_lines(lines, choices)
    else:
        answer = answer_of_lines(lines, choices, texts)
    return _without_objection(answer, lines[0], answer_format)


def _without_objection(answer: Answer, clause: str, answer_format: AnswerFormat) -> Extraction:
    """Return the answer, or the objection if the rest of the text contradicts the answer."""
    if answer.code:
        return Extraction("", answer.code, clause)
    choices, phrase = answer_format.choices, answer.phrase
    given = frozenset(answer.letters).union(map(fold, _LIST_SIGN.split(phrase))) - {""}

    def mention_in(mentioning: Clause) -> Mention:
        letters = letter_mention(mentioning, choices) if choices else Mention()
        is_whole = letters.candidates or (choices and not answer_format.with_phrase)
        return letters if is_whole else phrases.phrase_mention(mentioning, given)

    objection = objection_in(answer.rest, given, mention_in)
    if objection is None:
        return _canonical(answer.letters, phrase, clause, answer_format)
    if objection.code == "joined" and phrase and objection.candidates.isdisjoint(choices):
        joined = "; ".join([phrase, *sorted(objection.candidates)])
        return _canonical(answer.letters, joined, objection.clause, answer_format)
    return Extraction("", "another" if objection.code == "joined" else objection.code, objection.clause)


def _canonical(letters: Sequence[str], phrase: str, clause: str, answer_format: AnswerFormat) -> Extraction:
    """Return the unique letters in alphabetical order, and the phrase. Too many letters give no answer."""
    distinct = sorted(set(letters), key=answer_format.choices.find) if len(letters) > 1 else letters
    if len(distinct) > answer_format.max_choices:
        return Extraction("", "too-many", clause)
    return Extraction("; ".join([*distinct, phrase] if phrase else distinct), "given", clause)


def _unannounced(visible: str, answer_format: AnswerFormat, texts: Mapping[str, str]) -> Extraction:
    """Extract the answer from the first paragraph, the last paragraph or the last sentence of a response."""
    lines = lines_of(clean(visible))
    if lines and _begins_with_answer(lines, answer_format):
        return _read(visible, answer_format, texts)
    closing = clean(visible[-preparation.LIMIT :])
    sentence = next((sentence for sentence, _ in reversed([*sentences_of(closing)])), "")
    if len(sentence) > _LONGEST_CLOSING:
        return Extraction("", "no-answer")
    if answer_format.choices:
        answer = options.letters_given_by(sentence, answer_format.choices)
        return _without_objection(answer, sentence, answer_format) if answer.letters else Extraction("", "no-answer")
    last = closing.rsplit("\n\n")[-1].strip()
    is_statement = next(kinds_of(sentence), "") in phrases.LEADING or sentence.lower().startswith("это ")
    statement = _BEFORE_REASON.split(sentence)[0] if is_statement else ""
    phrase = (phrases.standalone_phrase(last) if "\n" not in last else "") or phrases.standalone_phrase(statement)
    return Extraction(phrase, "given" if phrase else "no-answer", sentence if phrase else "")


def _begins_with_answer(lines: Sequence[str], answer_format: AnswerFormat) -> bool:
    """Return True if the first line is an answer, or a letter with its option's text, rather than a sentence."""
    line, below = BULLET.sub("", lines[0]), lines[1] if len(lines) > 1 else ""
    if not answer_format.choices:
        return not below and bool(phrases.standalone_phrase(_BRACKET.sub("", line)))
    run = options.letters_at_head(line, answer_format.choices)
    if not run.letters:
        return False
    if not WORD.search(run.rest):
        # In prose, «В» may be the last word of a line. The next line then starts in lower case.
        return not below[:1].islower() or next(kinds_of(below), "") == "reason"
    if len(run.letters) > 1:
        return ";" in line[: -len(run.rest)]  # a sentence does not start with «А; Е»
    return (_LABEL_OF_UNIT if answer_format.with_phrase else _LABEL).match(run.rest) is not None
