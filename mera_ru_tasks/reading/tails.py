"""What may stand behind an answer: an explanation of it, or words that hedge it or take it back."""

from __future__ import annotations

import re

# Words that put another answer beside the one before them, and those that make a guess of the one behind them.
_HEDGE = (
    "(?:или|либо|а также|(?:а |но )?(?:возможно|вероятно|наверное?|может быть|может)|нет|хотя|точнее|вернее|впрочем"
    r"|не уверена?)\b"
)
_GUESS = r"(?:скорее|видимо|похоже|кажется|думаю)\b"
# Words that say of an answer that it is wrong, and those that say so of others: «Б и В противоречат тексту».
_DENIAL = (
    r"(?:не (?:подход|подойд|годи|верн|правильн)|неверн|неверен|неправильн|ошибоч|ложн|false\b|incorrect|wrong\b)\w*"
)
REFUTATION = rf"(?i:{_DENIAL}|(?:не (?:соответств|вяж|соглас)|противореч|отпада|исключ|лишн)\w*)"
# Words by which a writer takes back what stands above, and that announce a second answer. «Ошибка» is not among them:
# that is what explanations say of other options.
_CORRECTION = (
    r"(?:ой|упс|стоп|ошибся|ошиблась|ошибаюсь|моя ошибка|исправл(?:ение|яю|яюсь|ю)|поправ(?:ка|лю|люсь|ляюсь)"
    r"|правильнее|на самом деле|wait|oops|actually|correction)\b"
)
_SECOND = r"(?:втор|друг|ещ[её] один|альтернативн|запасн|возможн)\w* (?:вариант|ответ|отгадка|версия)\w*\b"
# What a list of all options says of one: how likely it is, or that it is none.
_CELL = r" ?(?:[:—–=-]|\() ?(?:[01]\b|\d{1,3}(?:[.,]\d+)? ?%|(?:нет|no)\b)"
_REASON = r"(?:потому что|потому|поскольку|так как|ведь|ибо|т\. ?к\.)(?!\w)"
_EXPLANATION = r"(?:пояснени|объяснени|обосновани|комментари|разбор|причин)\w{0,2}\b"


def _at_head(*patterns: str) -> re.Pattern[str]:
    """What matches a text that begins with one of the patterns, in any case, perhaps behind punctuation."""
    return re.compile(rf"\W*(?:{'|'.join(patterns)})", re.IGNORECASE)


_ALTERNATIVE_HEAD = _at_head(r"(?:или|либо)\b")
_HEDGE_HEAD = _at_head(_HEDGE)
_UNSURE_HEAD = _at_head(_HEDGE, _GUESS)
_TAKING_BACK_HEAD = _at_head(_HEDGE, rf"(?:это )?{_DENIAL}")
_SECOND_HEAD = _at_head(
    _CORRECTION, _SECOND, r"нет,", r"(?:возможно|вероятно|наверное?|может быть|скорее|точнее|вернее)\b"
)
_CORRECTS = re.compile(rf"\b{_CORRECTION}", re.IGNORECASE)
_TABLE = re.compile(rf"^{_CELL}|(?<![^\W_])[А-ЯA-Z]{_CELL}")
_NARROWS = re.compile(r"\b(?:только|лишь|из них|only)\b", re.IGNORECASE)
_REASON_HEAD = _at_head(_REASON, _EXPLANATION)
_REFUTES = re.compile(rf"\b{REFUTATION}")
_CROSS = re.compile("[❌✗✘✖❎🚫]")


def without_or(text: str) -> str:
    """The text without the «или» that it begins with."""
    alternative = _ALTERNATIVE_HEAD.match(text)
    return text[alternative.end() :] if alternative else text


def hedges(text: str) -> bool:
    """Whether the text begins with a word that puts another answer beside the one before it."""
    return _HEDGE_HEAD.match(text) is not None


def is_unsure(text: str) -> bool:
    """Whether the text begins with a word that makes a guess of the answer in it."""
    return _UNSURE_HEAD.match(text) is not None


def takes_back(text: str) -> bool:
    """Whether the text, which stands behind an answer on its line, hedges it or says that it is wrong."""
    return _TAKING_BACK_HEAD.match(text) is not None or is_crossed(text)


def corrects(text: str) -> bool:
    """Whether the text, which stands on a line below an answer, says anywhere that the answer was a slip."""
    return _CORRECTS.search(text) is not None


def replaces(text: str) -> bool:
    """Whether the text, which stands on a line below a word or phrase, gives another in its place or beside it."""
    return _SECOND_HEAD.match(text) is not None


def is_table(text: str) -> bool:
    """Whether the text behind a letter says how likely it or another is: then not the right ones alone are listed."""
    return _TABLE.search(text) is not None


def narrows(text: str) -> bool:
    """Whether the text says that a part of what stands before it is meant."""
    return _NARROWS.search(text) is not None


def refutes(text: str) -> bool:
    """Whether the text says anywhere that something is wrong."""
    return _REFUTES.search(text) is not None


def is_crossed(text: str) -> bool:
    """Whether a cross marks the text as wrong."""
    return _CROSS.search(text) is not None


def gives_reason(text: str) -> bool:
    """Whether the text begins with «потому что» or its like, or with «Пояснение»."""
    return _REASON_HEAD.match(text) is not None


def is_doubtful(gap: str, word: str) -> bool:
    """Whether the signs between letters and the next word question the answer, are an ellipsis, or join the two."""
    joined = gap == "-" or (gap in ("–", "—") and len(word) == 1)  # «Г-н», «А—Е»
    return "?" in gap or ".." in gap or joined


def sign_behind_letters(gap: str) -> str:
    """The first sign between letters and the next word, past those that close the letters' own quotes or brackets."""
    return gap.lstrip("\"']}>").strip()[:1]
