"""Step 2 of reading a response: where its answer begins."""

from __future__ import annotations

import re

from mera_ru_tasks.scoring import strict
from mera_ru_tasks.scoring.normalize import WORD, lower

_WORD = "ответ"
# The three patterns match behind that word.
# «Ответ:», «**Ответ**:», «Ответ на загадку:», «"ответ":», «Ответ (буквы):»
_COLON = re.compile(r"ы?(?![^\W_])(?P<about>(?:\([^()\n]*\)|[^\n:：.!?;,(]){0,60})[:：]")
# «Ответ — Б», «Ответ = Б», «| Ответ | Б |», and «Ответ» alone on its line, as a heading
_DASH_OR_LINE_END = re.compile(
    r"ы?(?![^\W_])(?:</?\w{1,10}>|[ \t\r\u00a0*_~`\"'»”\])}]){0,12}?(?:[—–−=→|]|->|(?<=\s)-|\n)"
)
# «Ответ Б», «Ответ А и Е»: only where nothing else is on the line
_LETTERS = re.compile(r"ы?[ \u00a0*_\"«]{1,6}(?=[^\W\d_](?:(?:[;,/] ?| )[^\W\d_]){0,11}[.*_\"»]{0,6}\s*(?:\n|$))")

_TAG = re.compile(r"</?[a-z][a-z0-9]{0,9}>")
_BRACKETED = re.compile(r"\([^()]*\)")
# What may stand between the marker's word and its colon.
_ABOUT_WORDS = frozenset(
    """
    на к загадку загадке вопрос вопросу задачу задаче задание заданию эту этой этот этому это будет таков такой
    следующий в формате требуемом нужном одной одним буквой буквами словом строкой модели
    """.split()
)
# What may stand before the word, from the head of its line or sentence, where there is no colon.
_LEAD_WORDS = frozenset(
    """
    итоговый окончательный финальный правильный верный мой наш краткий итак значит следовательно таким образом
    вот и поэтому
    """.split()
)
# Beginnings of the word before «ответ» with which it is not the answer that the model gives.
_NOT_GIVEN = tuple("не ошибочн ложн предпол предварит чуж перв прошл предыдущ пример какой каков".split())
# Those with which it is a second answer, unless it is «наиболее вероятный».
_SECOND = tuple("возможн вероятн альтернатив запасн друг иной иные втор".split())
_MOST = ("наиболее", "самый")
_ANSWER_BOXES = ("\\boxed{", "<answer>", "<ответ>")
# So many occurrences of the word are tried, from the end, and so much of the text before and behind each is looked at.
_TRIES, _BEFORE, _BEHIND = 200, 60, 80


def after_marker(text: str) -> str | None:
    r"""The text behind the last marker, in any case, markup and look-alikes; None where there is none.

    Where the text has no marker but a box for the answer (`\boxed{…}`, `<answer>…`), the last box is the marker. The
    text is empty if a second answer is announced («Возможный ответ: …»): the two are a hedge.
    """
    lowered = lower(text)
    skeleton = _with_cyrillic_marker(lowered)
    position = len(text)
    for _ in range(_TRIES):
        position = skeleton.rfind(_WORD, 0, position)
        if position < 0:
            break
        if text.startswith(strict.MARKER, position):
            return text[position + len(strict.MARKER) :]
        behind = position + len(_WORD)
        before = lowered[max(0, position - _BEFORE) : position]
        length = _rest_of_marker(before, lowered[behind : behind + _BEHIND])
        if length is not None:
            return "" if _is_second(before) else text[behind + length :]
    for marker in (strict.MARKER, *_ANSWER_BOXES):
        _, found, after = text.rpartition(marker)
        if found:
            return after
    return None


def _with_cyrillic_marker(lowered: str) -> str:
    """The text with those Latin letters made Cyrillic that look like the marker's, all in their places."""
    for latin, cyrillic in (("o", "о"), ("t", "т"), ("b", "в"), ("e", "е")):
        lowered = lowered.replace(latin, cyrillic)
    return lowered


def _rest_of_marker(before: str, behind: str) -> int | None:
    """How many characters behind the marker's word still belong to the marker; None if the word is no marker."""
    if before[-1:].isalnum() or _words_before(before)[-1].startswith(_NOT_GIVEN):
        return None
    colon = _COLON.match(behind)
    if colon is not None and _is_about(colon["about"]):
        return colon.end()
    other = (_DASH_OR_LINE_END.match(behind) or _LETTERS.match(behind)) if _heads_sentence(before) else None
    return None if other is None else other.end()


def _words_before(before: str) -> list[str]:
    """The words directly before the marker's word, on its line and with nothing but markup between; at least one."""
    return [word.strip("«\"'*_(") for word in before.rpartition("\n")[2].rstrip(" \t\u00a0«\"'*_").split(" ")]


def _is_second(before: str) -> bool:
    """Whether the words before the marker make its answer a second one."""
    words = _words_before(before)
    return words[-1].startswith(_SECOND) and (len(words) == 1 or words[-2] not in _MOST)


def _is_about(words: str) -> bool:
    """Whether nothing but markup and words such as «на загадку» stands between the marker's word and its colon."""
    about = _BRACKETED.sub("", _TAG.sub("", words))
    return all(word in _ABOUT_WORDS for word in WORD.findall(about))


def _heads_sentence(before: str) -> bool:
    """Whether only words like «Итоговый» stand between the last line or sentence end and the marker's word."""
    lead = re.split(r"[\n.!?;:]", before)[-1]
    return all(word in _LEAD_WORDS for word in WORD.findall(lead))
