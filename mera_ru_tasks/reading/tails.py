"""What may stand behind an answer: an explanation of it, or words that hedge it or take it back."""

from __future__ import annotations

import re

_ALTERNATIVE = re.compile(r"^\W*(?:или|либо)\b", re.IGNORECASE)
_HEDGE = re.compile(
    r"\W*(?:или|либо|а также|(?:а |но )?(?:возможно|вероятно|наверное?|может быть|может)|нет|хотя|точнее|вернее|впрочем"
    r"|не уверена?)\b",
    re.IGNORECASE,
)
_UNSURE = re.compile(r"\W*(?:скорее|видимо|похоже|кажется|думаю)\b", re.IGNORECASE)
# Words that say of an answer that it is wrong, and those that say so of others: «Б и В противоречат тексту».
_DENIAL = r"(?:не (?:подход|подойд|годи|верн|правильн)|неверн|неверен|неправильн|ошибоч)\w*"
REFUTATION = rf"(?i:{_DENIAL}|(?:не (?:соответств|вяж|соглас)|противореч|отпада|исключ|лишн)\w*)"
_BEGINS_WITH_DENIAL = re.compile(rf"\W*{_DENIAL}", re.IGNORECASE)
_REFUTES = re.compile(rf"\b{REFUTATION}", re.IGNORECASE)
_CROSS = re.compile("[❌✗✘✖❎🚫]")
_EXPLANATION = re.compile(r"\W*(?:пояснени|объяснени|обосновани|комментари|разбор|причин)\w{0,2}\b", re.IGNORECASE)
_REASON = re.compile(r"\W*(?:потому что|потому|поскольку|так как|ведь|ибо|т\. ?к\.)(?!\w)", re.IGNORECASE)


def without_or(text: str) -> str:
    """The text without the «или» that it begins with."""
    return _ALTERNATIVE.sub("", text)


def hedges(text: str) -> bool:
    """Whether the text begins with a word that puts another answer beside the one before it."""
    return _HEDGE.match(text) is not None


def is_unsure(text: str) -> bool:
    """Whether the text begins with a word that makes a guess of the answer in it."""
    return hedges(text) or _UNSURE.match(text) is not None


def takes_back(text: str) -> bool:
    """Whether the text, which stands behind an answer on its line, hedges it or says that it is wrong."""
    return hedges(text) or _BEGINS_WITH_DENIAL.match(text) is not None or is_crossed(text)


def refutes(text: str) -> bool:
    """Whether the text says anywhere that something is wrong."""
    return _REFUTES.search(text) is not None


def is_crossed(text: str) -> bool:
    """Whether a cross marks the text as wrong."""
    return _CROSS.search(text) is not None


def gives_reason(text: str) -> bool:
    """Whether the text begins with «потому что» or its like, or with «Пояснение»."""
    return _REASON.match(text) is not None or _EXPLANATION.match(text) is not None


def is_doubtful(gap: str, word: str) -> bool:
    """Whether the signs between letters and the next word question the answer, are an ellipsis, or join the two."""
    joined = gap == "-" or (gap in ("–", "—") and len(word) == 1)  # «Г-н», «А—Е»
    return "?" in gap or ".." in gap or joined


def sign_behind_letters(gap: str) -> str:
    """The first sign between letters and the next word, past those that close the letters' own quotes or brackets."""
    return gap.lstrip("\"']}>").strip()[:1]
