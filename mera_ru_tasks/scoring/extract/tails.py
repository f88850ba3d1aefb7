"""What may stand behind an answer: an explanation of it, or words that hedge it or take it back."""

from __future__ import annotations

import re

# Words that put another answer beside the one before them, and those that make a guess of the one behind them.
_HEDGE = (
    "(?:или|либо|а также|(?:а |но )?(?:возможно|вероятно|наверное?|может быть|может)|нет|хотя|точнее|вернее|впрочем"
    r"|вс[её]-таки|вс[её] же|or|maybe|perhaps|alternatively|не уверена?)\b"
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
    r"(?:ой|упс|стоп|(?:я )?ошиб(?:ся|лась|аюсь)|моя ошибка|исправл(?:ение|ено|енн\w+|яю|яюсь|ю)"
    r"|поправ(?:ка|лю|люсь|ляюсь)|правильнее|на самом деле|погодите?|подождите?|постойте?|извини(?:те)?|прошу прощения"
    r"|передумала?|(?:но |однако )(?:правильн|верн)\w*|wait|oops|actually|correction|sorry|the correct answer)\b"
)
_SECOND = (
    r"(?:(?:втор|друг|ещ[её] один|альтернативн|запасн|возможн)\w* (?:вариант|ответ|отгадка|версия)\w*\b"
    r"|ещ[её] вариант\b|вариант 2\b|альтернатива\b)(?! не\b)"
)
# What a list of all options says of one: how likely it is, or that it is none.
_NEGATIVE = rf"(?:(?:{_DENIAL}|нет|no|ложь|[nf])(?!\w)|[-−–—](?![\w ]))"
_SHARE = r"(?:\d{1,2}(?:[.,]\d+)? ?%|[01](?!\w|\)| ?\. ?\w\w| [^\W\d_]{2}))"
_CELL = rf" ?(?:(?:[:—–=-]|\() ?(?:{_SHARE}|{_NEGATIVE})|\( ?[01] ?\))"
_REASON = r"(?:потому что|потому|поскольку|так как|ведь|ибо|т\. ?к\.)(?!\w)"
_EXPLANATION = r"(?:пояснени|объяснени|обосновани|комментари|разбор|причин)\w{0,2}\b"


def _at_head(*patterns: str) -> re.Pattern[str]:
    """What matches a text that begins with one of the patterns, in any case, perhaps behind punctuation."""
    return re.compile(rf"\W*(?:{'|'.join(patterns)})", re.IGNORECASE)


_ALTERNATIVE_HEAD = _at_head(r"(?:или|либо)\b")
_HEDGE_HEAD = _at_head(_HEDGE)
_UNSURE_HEAD = _at_head(_HEDGE, _GUESS)
_TAKING_BACK_HEAD = _at_head(_HEDGE, rf"(?:это )?{_DENIAL}")
_REPLACEMENT_HEAD = _at_head(_CORRECTION, _SECOND)
_FURTHER_HEAD = _at_head(r"(?:also|также|тоже|и|no|скорее|ошибка)\b", r"не [А-Я]\b")
_PHRASE_HEDGE_HEAD = _at_head(
    r"(?:нет|no),(?! (?:он|она|оно|они)\b)",
    r"(?:возможно|вероятно|наверное?|может быть|может|скорее|точнее|вернее|maybe|perhaps|or)\b(?! не\b|,? потому)",
)
_CORRECTS = re.compile(rf"(?:^|[.!?…] )\W*{_CORRECTION}|\b(?:правильн|верн)\w* (?:ответ|вариант)\w*\b", re.IGNORECASE)
_TABLE = re.compile(rf"^(?i:{_CELL})|(?<![^\W_])[А-ЯA-Z](?i:{_CELL})")
_DENIAL_ALONE = re.compile(rf"\W*(?:(?:нет,? )?это )?{_DENIAL}\W*", re.IGNORECASE)
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
    """Whether the text, which stands below an answer, says at the head of a sentence that the answer was a slip."""
    return _CORRECTS.search(text) is not None


def replaces(text: str) -> bool:
    """Whether the text, which stands below or behind an answer, begins by putting another in its place."""
    return _REPLACEMENT_HEAD.match(text) is not None


def adds(text: str) -> bool:
    """Whether the text, which stands below letters, begins as if another letter came to them or took their place."""
    return _FURTHER_HEAD.match(text) is not None or replaces(text)


def hedges_phrase(text: str) -> bool:
    """Whether the text, which stands on the line below a word or phrase, begins by doubting it."""
    return _PHRASE_HEDGE_HEAD.match(text) is not None


def denies(text: str) -> bool:
    """Whether the text says of what stands above it that it is wrong, and no more."""
    return _DENIAL_ALONE.fullmatch(text) is not None


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
