r"""Step 2 of answer extraction: find where the response announces its answer.

An announcement is a noun such as «ответ» with a colon, a dash or a line end behind it. Boxes (`\boxed{…}`) count if no
noun announces anything.
"""

from __future__ import annotations

import re
from collections import deque

from mera_ru_tasks.scoring.extract.words import kind_of, kinds_of
from mera_ru_tasks.scoring.normalize import WORD, lower
from mera_ru_tasks.scoring.strict import MARKER

# The nouns that announce an answer, in lower case, with look-alikes; plain alternatives are found most quickly.
_NOUN = re.compile("о[тt][вb][еe][тt]|o[тt][вb][еe][тt]|отгадк|разгадк|answer|答案是?|вариант|букв|текст|выбор")
# A field needs one of these behind it, and «правильный» before it or the head of a line.
_FIELDS = ("вариант", "букв", "текст", "выбор")
_BEHIND_FIELD = re.compile(r"[аы]?\W*(?:[:：—–=→|-]|\n|(?<=\W)[^\W\d_]\b)")
_ENDING = r"[аы]?(?![^\W_])"
_MARKUP = r"(?:</?\w{1,10}>|[ \t\r\u00a0*_~`\"'»”\])}])"
# «Ответ:», «**Ответ**:», «Ответ на загадку:», «"ответ":», «Ответ (буквы):»
_COLON = re.compile(_ENDING + r"(?P<about>(?:\([^()\n]*\)|[^\n:：.!?;,(]){0,60})[:：]")
# «Ответ — Б», «Ответ = Б», «| Ответ | Б |», «The answer is Б», and «Ответ» alone on its line, as a heading
_SIGN = re.compile(
    rf"{_ENDING}(?P<about>(?: [^\W\d_]+){{0,3}}?){_MARKUP}{{0,12}}?(?:[—–−=→|]|->|(?<=\s)-|\n|\b(?:is|are)\b:?)"
)
# «Ответ Б», «Ответ А и Е»: only if nothing else is on the line
_LETTERS = re.compile(
    _ENDING + r"[ \u00a0*_\"«]{1,6}(?=[^\W\d_](?:(?:[;,/] ?| )[^\W\d_]){0,11}[.*_\"»]{0,6}\s*(?:\n|$))"
)
# Markup around the noun, and what parts the clauses before it.
_AROUND = "*_\"'«»”([{])}#>|`~- \t\u00a0"
_TAG = re.compile(r"</?[a-z][a-z0-9]{0,9}>|\([^()]*\)")
_CLOSING_QUOTE = re.compile(_ENDING + '[»”"]')
_CLAUSE_SIGN = re.compile(r"[\n.!?;:]")
_BOX = re.compile(r"\\boxed\s?\{|<answer>|<ответ>")
# Kinds of words before the noun: with these nothing is announced, with these a second answer.
_NOT_GIVEN = frozenset({"denial", "condition", "seeming", "example"})
_SECOND = frozenset({"addition", "others"})
_FILLERS = frozenset({"lead", "link", "approval", "choice", "topic", "turn"})
# This many nouns are tried, from the end, and this much of the text before and behind each is looked at.
_TRIES, _BEFORE, _BEHIND = 200, 120, 80


def after_announcement(text: str) -> str | None:
    """Return the text behind the last announcement, in any case, markup and look-alikes; None if there is none.

    A later announcement replaces an earlier one, unless it announces a second answer («Другой ответ: …»): that one
    belongs to what follows the first.
    """
    before, marker, behind = text.rpartition(MARKER)
    if marker and _is_head(before) and not _NOUN.search(behind.lower()):
        return behind  # the common case
    lowered = lower(text)
    second = None
    nouns = (
        noun
        for start in (max(0, lowered.rfind("ответ")), 0)  # from the last plain noun on, then all
        for noun in reversed(deque(_NOUN.finditer(lowered, start), _TRIES))
    )
    for noun in nouns:
        before = lowered[max(0, noun.start() - _BEFORE) : noun.start()]
        end = _end_of(noun, before, lowered[noun.end() : noun.end() + _BEHIND])
        if end is not None:
            if not _is_second(before):
                return text[noun.end() + end :]
            second = second or text[noun.end() + end :]
    boxed = _from_boxes(text)
    return second if boxed is None else boxed


def _is_head(before: str) -> bool:
    """Return True if a text ends at the head of a line, apart from markup."""
    return before[-_BEFORE:].rstrip(_AROUND)[-1:] in ("", "\n")


def _end_of(noun: re.Match[str], before: str, behind: str) -> int | None:
    """Return how many characters behind the noun still belong to the announcement; None if it announces nothing."""
    is_field = noun[0] in _FIELDS
    if (before[-1:].isalnum() and noun[0][0] != "答") or (is_field and not _BEHIND_FIELD.match(behind)):
        return None
    colon = _COLON.match(behind)
    sentence = before.rstrip(_AROUND)
    if not _is_head(before):
        if before.endswith(("«", "“", '"')) and not _CLOSING_QUOTE.match(behind):
            line = before.rpartition("\n")[2]
            if any(kind_of(word) in ("example", "topic") for word in WORD.findall(line)):
                return None  # «Формат: «Ответ: буква»»
        clauses = [WORD.findall(clause) for clause in _CLAUSE_SIGN.split(sentence + " ")[-1].split(",")]
        kinds_before, kinds = [list(map(kind_of, words)) for words in ([], *clauses)][-2:]
        if any(kind_of(word) in _NOT_GIVEN for words in clauses for word in words) or "negation" in kinds:
            return None
        if ("negation" in kinds_before and clauses[-1][:1] == ["что"]) or clauses[-1][-1:] in (["в"], ["на"]):
            return None  # «Не думаю, что ответ: Е», «В ответ …»
        if is_field and "approval" not in kinds and set(kinds) - {"lead"}:
            return None
        is_head = all(kind in _FILLERS or kind in _SECOND for kind in kinds) or kinds[-1:] == ["approval"]
    else:
        is_head = True
    if is_field and colon is None and [*kinds_of(sentence)][-1:] not in (["approval"], ["lead"]):
        return None
    sign = _SIGN.match(behind) if is_head else None
    for match in (colon, sign):
        if match and all(kind_of(word) in _FILLERS for word in WORD.findall(_TAG.sub("", match["about"]))):
            return match.end()
    letters = _LETTERS.match(behind) if is_head else None
    return letters.end() if letters else None


def _is_second(before: str) -> bool:
    """Return True if the words directly before the noun make its answer a second one."""
    if _is_head(before):
        return False
    words = [word for word in WORD.findall(before)[-3:] if kind_of(word) not in ("lead", "link")]
    is_near = bool(words) and not _CLAUSE_SIGN.search(before, before.rfind(words[-1]))
    return is_near and kind_of(words[-1]) in _SECOND and words[-2:-1] != ["наиболее"]


def _from_boxes(text: str) -> str | None:
    r"""Return the text from the first box on the last line that has one: `\boxed{В} и \boxed{Е}` is one answer."""
    position = max(text.rfind(opening) for opening in ("\\boxed", "<answer>", "<ответ>"))
    box = _BOX.search(text, text.rfind("\n", 0, position) + 1) if position >= 0 else None
    return text[box.start() :] if box else None
