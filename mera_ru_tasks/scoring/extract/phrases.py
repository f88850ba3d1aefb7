"""Step 4 of reading a response, for riddles and language units: the word or phrase that a line answers with."""

from __future__ import annotations

import re

from mera_ru_tasks.scoring.extract import tails
from mera_ru_tasks.scoring.extract.text import BULLET
from mera_ru_tasks.scoring.normalize import WORD, fold, in_cyrillic

# A phrase of more words is a sentence.
_MOST_WORDS = 8
# A response without a marker is a phrase only up to so many words, and with a full stop only if it is one word.
_MOST_BARE_WORDS = 4
_SENTENCE_WORDS = frozenset(
    """
    не нет ни но я мы ты вы он она оно они мне меня что чтобы если как когда где кажется думаю знаю можно нужно
    подходит подходят верно правильно тоже также
    """.split()
)
_NO_ANSWER = re.compile(
    r"(?:я )?(?:не знаю|не могу|не уверена?|затрудняюсь|неизвестно|нет ответа|ответа нет|нет данных|отсутствует"
    r"|(?:нет|none|null|n/a)$)\b"
)
# What leads over to a phrase: «это», «слово "…"», «отгадка —». A noun with no sign behind may be part of the answer.
_LEAD = re.compile(
    r"""
    (?:
        это(?:\sже)?[:,]?\s(?:[—–-]\s)?
        | (?:конечно(?:\sже)?|разумеется|очевидно|безусловно|несомненно),?\s
        | (?:загаданное\s|языковая\s|искомое\s)?
          (?:слово|отгадка|разгадка|фраза|синоним|регионализм|выражение|единица)(?:"?\s?(?:[:—–=]|\s-)\s*|\s?(?="))
    ){1,3}
    """,
    re.IGNORECASE | re.VERBOSE,
)
_THIS = re.compile(r"^это (?:[—–-] )?", re.IGNORECASE)
_SENTENCE_SIGN = re.compile(r"[,:;!?]|\. | [—–-] ")
# Where the explanation of a phrase begins.
_CUT = re.compile(
    r"""
    (?<=[^\W_][^\W_])[.!](?=\s|$)               # the end of a sentence, but not of an initial
    | \.{2,} | [?。！？]
    | :\s | \s[—–-]+\s
    | ,\s(?=котор|ведь\b|ибо\b|а\sне\b)
    | [,;]\s(?=(?:он|она|оно|они|его|её|ее|их|ей|ему|им)\b)
    | ,?\s(?=(?:потому\sчто|так\sкак|поскольку)\b|т\.\s?к\.|(?:пояснение|объяснение|обоснование|комментарий)\s?[:—–-])
    """,
    re.IGNORECASE | re.VERBOSE,
)
_BRACKET = re.compile(r"([()\[\]])")
# What ends a response, or begins the next turn of a chat that a model makes up.
_CLOSINGS = frozenset("спасибо конец готово end done user assistant system model human пользователь ассистент".split())
_SEMICOLON = re.compile(r"[\s;]*;[\s;]*")


def parse_phrase(line: str) -> str:
    """Read a word or phrase at the head of a line.

    Args:
        line: cleaned text.

    Returns:
        The phrase in lower case without quotes, leading «это», brackets and explanation. Alternatives («лапша или
        макароны») stay in it: whether they are all accepted is for the score to say. Empty where there is no phrase,
        where what follows takes it back, or where it is a sentence.
    """
    text, asides = _split_asides(BULLET.sub("", line))
    text = _without_lead(text)
    if tails.is_unsure(text) or tails.is_crossed(line):
        return ""
    cut = _CUT.search(text)
    if cut is not None:
        behind = text[cut.end() :]
        if cut[0].strip() in ("?", "？") or ".." in cut[0]:
            return ""
        text = text[: cut.start()]
        asides.append(behind)
    for aside in asides:
        alternative = tails.without_or(aside)
        if alternative != aside:
            text += f"; {alternative}"
        elif tails.takes_back(aside) or tails.replaces(aside):
            return ""
    words = " ".join(in_cyrillic(_trimmed(text.replace('"', ""))).lower().split())
    phrase = _SEMICOLON.sub("; ", words) if ";" in words else words
    return "" if count_words(phrase) > _MOST_WORDS or _NO_ANSWER.match(phrase) else phrase


def parse_phrases(lines: list[str]) -> str:
    """Read a phrase from the first line, and from those that go on with it: a list's, or «или …»."""
    phrases = [parse_phrase(lines[0])]
    if _is_replaced(lines[1:], phrases[0]):
        return ""
    listed = BULLET.match(lines[0])
    for line in lines[1:]:
        alternative = tails.without_or(line)
        if alternative == line and not (listed and BULLET.match(line)):
            break
        phrases.append(parse_phrase(alternative))
    return "; ".join(phrases) if all(phrases) else ""


def _is_replaced(lines: list[str], phrase: str) -> bool:
    """Whether the lines below a phrase give another: a bare one, or one in its place, or say that it is wrong."""
    below = lines[0] if lines else ""
    goes_on = BULLET.match(below) or below != tails.without_or(below) or tails.gives_reason(below) or below[:1] in "(["
    if not goes_on and is_bare_phrase(below) and below.lower().strip(" .!") not in _CLOSINGS:
        return fold(parse_phrase(below)) != fold(phrase)
    filled = [line for line in lines if line]
    if filled and (tails.denies(filled[0]) or tails.hedges_phrase(filled[0])):
        return True
    return any(map(tails.replaces, filled))


def is_bare_phrase(line: str) -> bool:
    """Whether a line that nothing announces is a word or short phrase rather than a sentence."""
    text = _THIS.sub("", _trimmed(BULLET.sub("", line)), count=1)
    ends = line.rstrip("\"' )]")[-1:] in (".", "!", "?")
    is_short = 0 < count_words(text) <= (1 if ends else _MOST_BARE_WORDS)
    return is_short and not _SENTENCE_SIGN.search(text) and not is_sentence(text)


def count_words(text: str) -> int:
    """The number of words; one with hyphens is one."""
    return sum(WORD.search(piece) is not None for piece in text.split())


def is_sentence(text: str) -> bool:
    """Whether the text has a word that belongs to sentences rather than to the names of things."""
    return not _SENTENCE_WORDS.isdisjoint(WORD.findall(text.lower()))


def _without_lead(text: str) -> str:
    """The text from its first word to its last, without «это» and the like before it."""
    text = _trimmed(text)
    lead = _LEAD.match(text)
    return text[lead.end() :] if lead is not None and WORD.search(text, lead.end()) else text


def _trimmed(text: str) -> str:
    """The text from its first word to its last."""
    words = list(WORD.finditer(text))
    return text[words[0].start() : words[-1].end()] if words else ""


def _split_asides(text: str) -> tuple[str, list[str]]:
    """Part a text from what stands in its brackets; where all of it stands in brackets, these do not count."""
    if not _BRACKET.search(text):
        return text, []
    pieces = []
    depth = 0
    for piece in _BRACKET.split(text):
        if piece in ("(", "["):
            depth += 1
        elif piece in (")", "]"):
            depth = max(0, depth - 1)
        elif WORD.search(piece):
            pieces.append((depth, piece))
    outermost = min((depth for depth, _ in pieces), default=0)
    outside = " ".join(piece for depth, piece in pieces if depth == outermost)
    return outside, [piece for depth, piece in pieces if depth > outermost]
