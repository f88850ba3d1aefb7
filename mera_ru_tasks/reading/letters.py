"""Step 4 of reading a response, for options: the letters that a line answers with."""

from __future__ import annotations

import re
from dataclasses import dataclass

from mera_ru_tasks.reading import tails
from mera_ru_tasks.reading.text import LOOK_ALIKES, WORD

# Words that may lead over to letters. «Неверный» and its like are not among them: with those a letter is no answer.
LEAD_WORDS = frozenset(
    """
    это только конечно разумеется очевидно безусловно несомненно вариант варианты варианта вариантом вариантами ответа
    опция опции буква буквы букву буквой буквами под пункт пункты номер текст тексты фраза фразы фразу продолжение
    продолжения ответ ответы
    правильный правильные правильными верный верные верными подходящий подходящие следующий следующие
    подходит подходят является являются будет выбираю
    """.split()
)
# Words that may follow letters: «Б подходит».
_AFFIRMING = frozenset(
    """
    подходит подходят верен верна верно верны верный верные верным верными правильный правильные правильно правильным
    правильными является являются вариант варианты ответ ответы текст
    """.split()
)
# Before these, «А» is a letter rather than a conjunction: «А тоже подходит».
_JUDGING = _AFFIRMING | {"тоже", "также"}
_AND = frozenset(["и", "and", "плюс"])
# Single letters that are also words of a sentence.
_ONE_LETTER_WORDS = frozenset("АВИОУКСЯI")
# Lower-case letters that abbreviate a word before a name: «г. Тверь», «д. Сосновка».
_ABBREVIATIONS = frozenset("гд")
# A single letter in quotes or brackets of its own; inside of these it is the same as without.
_WRAPPED = re.compile(r"[\"'(\[{<] ?([^\W\d_]) ?[\"')\]}>]")
_CLOSING = re.compile(r"[\s\"')\]}>]+")
_SIGNS = ("", ";", ",", "/", "|", "&", "+", ".;", ".,")
# All that may stand between two letters of an answer, without spaces and what closes quotes and brackets.
_SEPARATORS = frozenset(sign + word for sign in _SIGNS for word in ("", *_AND, "атакже"))


@dataclass(frozen=True)
class Letters:
    """What a line answers with.

    Attributes:
        found: option letters in the task's alphabet, as written: unsorted, perhaps twice.
        explained: whether the line says more than the letters.
    """

    found: list[str]
    explained: bool


def letters_of_line(line: str, letters: str) -> Letters | None:
    """The letters that a whole line answers with, where the rest of it only explains them; None where it is not so."""
    parsed = parse_letters(line, letters)
    if parsed is None or tails.is_crossed(line):
        return None
    found, rest = parsed[0], _REFUTED.sub(" ", parsed[1])
    following = WORD.search(rest)
    if following is None or tails.gives_reason(rest):
        return Letters(found, explained=following is not None)
    further = further_labels(found, rest, letters)
    if further is None or not (len(further) or _begins_explanation(rest, following)):
        return None
    return Letters(found + further, explained=True)


def parse_letters(line: str, letters: str) -> tuple[list[str], str] | None:
    """Read option letters at the head of a line.

    Args:
        line: cleaned text.
        letters: the task's letters.

    Returns:
        The letters as written, in the task's alphabet, and the rest of the line behind them; None where the line does
        not begin with letters, or where one of them is outside the task's range.
    """
    line = _WRAPPED.sub(r"\1", line)
    words = list(WORD.finditer(line))
    at = 0
    while at < len(words) and words[at][0].lower() in LEAD_WORDS:
        at += 1
    if at == len(words) - 1 and _is_run(words[at][0], letters):
        return list(words[at][0]), line[words[at].end() :]
    found: list[str] = []
    end = words[at].start() if at < len(words) else 0
    while at < len(words):
        at += _conjunction(words, at)
        letter = _letter_at(line, words, at, letters)
        gap = line[end : words[at].start()] if at < len(words) else ""
        if letter is None or _CLOSING.sub("", gap.lower()) not in _SEPARATORS:
            break
        if not letter:
            return None
        found.append(letter)
        end = words[at].end()
        at += 1
    return (found, line[end:]) if found else None


def _is_run(word: str, letters: str) -> bool:
    """Whether a word is several option letters without separators, capital and in order: `АЕ`."""
    return len(word) > 1 and list(word) == sorted(set(word)) and all(letter in letters for letter in word)


def _conjunction(words: list[re.Match[str]], at: int) -> int:
    """How many words the «и» or «а также» takes that stands at `at`."""
    if words[at][0].lower() in _AND:
        return 1
    return 2 if [word[0].lower() for word in words[at : at + 2]] == ["а", "также"] else 0


def _letter_at(line: str, words: list[re.Match[str]], at: int, letters: str) -> str | None:
    """The option letter that a word of a line is: "" for a letter outside the range, None for a word of a sentence."""
    if at >= len(words):
        return None
    word = words[at][0]
    letter = as_letter(word, letters)
    following = words[at + 1] if at + 1 < len(words) else None
    if letter is None or following is None or len(following[0]) == 1 or following[0].lower() in _AND:
        return letter
    gap = line[words[at].end() : following.start()].strip()
    is_function_word = word.translate(LOOK_ALIKES).upper() in _ONE_LETTER_WORDS and (
        (not gap and following[0].lower() not in _JUDGING) or (gap == "," and word.islower())
    )
    is_abbreviation = word in _ABBREVIATIONS and gap == "." and following[0][0].isupper()
    return None if is_function_word or is_abbreviation else letter


def as_letter(word: str, letters: str) -> str | None:
    """The option letter that a word looks like: "" for one outside the range, None for a longer word or a digit."""
    if len(word) != 1 or not word.isalpha():
        return None
    letter = word.translate(LOOK_ALIKES).upper()
    return letter if letter in letters else ""


def _begins_explanation(rest: str, following: re.Match[str]) -> bool:
    """Whether what stands behind letters, from the word `following` on, is an explanation or the option's text."""
    gap = rest[: following.start()]
    if tails.takes_back(rest) or tails.is_doubtful(gap, following[0]):
        return False
    if all(word.lower() in _AFFIRMING for word in WORD.findall(rest)):
        return True
    sign = tails.sign_behind_letters(gap)
    if sign in (";", ","):
        is_text = len(following[0]) > 1 and not following[0].isdigit()
        return is_text and (sign == ";" or following[0][0].isupper())
    return sign not in ("", "/", "|", "&", "+")


# A further letter with its option's text: «…; Д. text», «…), Д) text», «…", Д "text"».
_LABEL = re.compile(r"(?P<before>[;,]|[)\"](?= ))[ ]?(?:и )?\"?(?P<letter>[^\W\d_])(?P<sign>\"? ?[.):(—–-]| \")")
_CAPITAL = re.compile(r"(?<![^\W_])[А-ЯA-ZΑ-Ω](?![^\W_]|[\u0300-\u036f]|-\w)")
_BEFORE_SENTENCE = '.!?:;"()—–-'
# «Варианты Б, В и Г не подходят»: letters that are named only to be refuted.
_REFUTED = re.compile(
    r",? а не [А-ЯA-Z]\b"
    rf"|(?<![^\W_])[А-ЯA-Z](?:(?:[,;]? | и |, и )[А-ЯA-Z]){{0,6}} (?:тут |здесь |же )?{tails.REFUTATION}"
)


def further_labels(found: list[str], rest: str, letters: str) -> list[str] | None:
    """The letters of further options that a line gives in the way of the first, `Б. text; Д. text`.

    Returns:
        Letters of the task; empty where there are none; None if the line names options in any other way, for then it
        may be a sentence that weighs them, or if a label is outside the task's range.
    """
    style = _style(rest)
    further = []
    for label in _LABEL.finditer(rest):
        is_initial = label["sign"] == "." and label["before"] != ";"
        is_capital = label["letter"].isupper() or style == ")"
        if _style(label["sign"]) == style and is_capital and not is_initial:
            further.append(as_letter(label["letter"], letters) or "")
    known = {*found, *further}
    return None if "" in known or named(rest, letters) - known else further


def _style(text: str) -> str:
    """The sign that parts a letter from its text; all dashes are one."""
    sign = text.strip().lstrip('"' if len(text.strip()) > 1 else "").strip()[:1]
    return "-" if sign in ("–", "—") else sign


def named(text: str, letters: str) -> set[str]:
    """The option letters that a text names: capitals by themselves, but not «А» and «В» as words of a sentence."""
    found = set()
    for match in _CAPITAL.finditer(text):
        letter = as_letter(match[0], letters)
        if letter and not _begins_sentence(text, match):
            found.add(letter)
    return found


def _begins_sentence(text: str, capital: re.Match[str]) -> bool:
    """Whether a capital is «А» or «В» as the first word of a sentence, also with a comma: «А, понятно»."""
    before = text[: capital.start()].rstrip()[-1:]
    following = WORD.search(text, capital.end())
    if capital[0] not in "АВAB" or (before and before not in _BEFORE_SENTENCE) or following is None:
        return False
    gap = text[capital.end() : following.start()]
    return gap in (" ", ", ", "! ") and following[0].lower() not in _JUDGING and len(following[0]) > 1
