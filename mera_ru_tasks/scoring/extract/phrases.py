"""Step 4 of answer extraction, for riddles and language units: find the word or phrase given as the answer."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from mera_ru_tasks.scoring.extract.clauses import ANSWER, BULLET, MARK, Clause, Mention, kind_of, kinds_of, tokens_of
from mera_ru_tasks.scoring.extract.options import Answer, is_doubtful, letters_at_head, may_follow
from mera_ru_tasks.scoring.normalize import WORD, fold, in_cyrillic

# A longer phrase counts as a sentence. Phrases named only in a clause, or added in a list, must be shorter.
_MOST_WORDS, _MOST_NAMED, _MOST_JOINED = 8, 4, 3
_UNIT_SIGNS = " \t\"')]}>.:;,/|=(—–-"
_REVERSE = re.compile(r"(?P<unit>[^;,(\[—–?]+?)[ \"]{0,3}[;,(\[—–-][ \"]{0,3}(?:вариант )?(?P<letter>[А-ЯA-Z])[^\w?]*")
_NO_ANSWER = re.compile(
    r"(?:не знаю|не могу|не уверена?|затрудняюсь|неизвестно|нет ответа|ответа нет|нет данных|отсутствует"
    r"|(?:нет|none|null|n/a)$)\b"
)
# Endings of words that do not name things.
_VERB = re.compile(r".*(?:[аеиуюя]т|л[аои]?|ть|[уюа])с[яь]$|.*(?:[аяую]ет|[аяую]ют|ите|айте)$")
_VERB_IN_PHRASE = re.compile(r".*(?:[еиуюая]т|[аеиоуыя]л[аои]?|ить|ать)$")
_ADVERB = re.compile(r".*(?:[иоы]чн|[ея]сн|идн|ожн|ельн|енн|анн|ивн|[рштж]ен|ан)о$")
_PARTICIPLE = re.compile(r".*(?:[уюая]щ|вш|[аеия]нн|[еи]м)(?:ий|ая|ее|ие|ый|ое|ые)(?:ся)?$")
_NO_VOWEL = re.compile(r"[а-я](?:[бвгджзклмнпрстфхцчшщ]*)$")
_ADJECTIVE = re.compile(r".*(?:ый|ая|яя|ые|ое|ую|ого|ым)$")
_PREPOSITION = re.compile(r"(?:.*\b)?(?:[вкосу]|[вс]о|об|на|из|под?|про|от|до|за|для|без|при)(?: |$)$", re.DOTALL)
# Kinds of words that do not occur in a clause naming a candidate.
_NOT_NAMING = frozenset(
    {"topic", "pronoun", "condition", "seeming", "reason", "closing", "example", "negation", "denial"}
)
_BREAK = re.compile(
    r" (?=(?:потому|поскольку|так как)\b)| [—–-]+\s|:\s|[?。！？…\n()\[\]]+|\.(?:\.+|(?<=[^\W_][^\W_]\.)(?=\s|$)"
    r"|(?<=[^\w\s]\.)(?=\s|$))|!(?=\s|$)|(?P<list>[,;/]+)"
)
_LEADING = frozenset({"lead", "addition", "turn"})
_HEADING = _LEADING | {"choice", "approval"}
_QUOTED_NEXT = re.compile(' ?"')
_THIS = re.compile(r"\W*(?:это|этот|эта|же|it)\W*", re.IGNORECASE)


def phrase_of_lines(lines: Sequence[str]) -> Answer:
    """Extract a word or phrase, with alternatives listed after it."""
    text = BULLET.sub("", lines[0])
    is_list = text != lines[0]
    for line in lines[1:]:
        item = BULLET.sub("", line)
        text += f"; {item}" if is_list and item != line else f"\n{item}"
    phrase, rest = phrase_at_head(text)
    is_doubted = rest.startswith(("?", "..", "…")) and WORD.search(rest)
    if not phrase or is_doubted:
        return Answer([], code="unclear")
    return Answer([], rest + "".join(MARK.findall(lines[0])), phrase=phrase)


def unit_of_lines(lines: Sequence[str], choices: str) -> Answer:
    """Extract `letter; unit`; only the letter if there is no unit, not even on the next line."""
    line, below = BULLET.sub("", lines[0]), list(lines[1:])
    run = letters_at_head(line, choices)
    reverse = _REVERSE.fullmatch(line) if run is None else None  # «лужа; Б», «лужа (вариант Б)»
    if reverse is not None and count_words(reverse["unit"]) <= _MOST_JOINED and not is_sentence(reverse["unit"]):
        run = letters_at_head(reverse["letter"], choices)
        return Answer(run.letters if run else [], "\n".join(below), "" if run else "unclear", phrase_at_head(line)[0])
    if run is None or not run.letters or is_doubtful(run.rest):
        return Answer([], code="unclear")
    unit, rest = "", run.rest
    if WORD.search(rest):
        text = rest.lstrip(_UNIT_SIGNS)
        sign = rest[: len(rest) - len(text)].strip(" \"'")[:1]
        phrase, behind = phrase_at_head(_without_noun(text))
        is_unit = phrase and next(kinds_of(text), "") in ("", "choice") and not is_sentence(phrase)
        if is_unit and (sign not in ("", ",") or count_words(phrase) <= _MOST_JOINED):
            unit, rest = phrase, behind
        elif not may_follow(run.letters, rest):
            return Answer([], code="unclear")
    else:
        number = next((number for number, line in enumerate(below) if line), None)
        next_line = BULLET.sub("", below[number]) if number is not None else ""
        if number is not None and not letters_at_head(next_line, choices):
            unit = bare_phrase(_without_noun(next_line.lstrip(_UNIT_SIGNS)))
            below = below[number + 1 :] if unit else below
    return Answer(run.letters, "\n".join([rest, *below]), phrase=unit)


def _without_noun(text: str) -> str:
    """Drop «слово» or a similar word before a unit."""
    word = WORD.match(text)
    return text[word.end() :].lstrip(_UNIT_SIGNS) if word and kind_of(word[0]) == "choice" else text


def bare_phrase(text: str) -> str:
    """Return the phrase of a text that contains only a phrase, perhaps after «скорее всего» or «это»; else empty."""
    phrase, rest = phrase_at_head(text)
    words = count_words(phrase)
    is_ended = text.rstrip("\"' )]")[-1:] in (".", "!", "?")
    most = 3 if words < count_words(text) else 1 if is_ended else 4
    return phrase if words <= most and not WORD.search(rest) and not is_sentence(phrase) else ""


def phrase_at_head(text: str) -> tuple[str, str]:
    """Split a text into the phrase at its start and the rest.

    Certainty («скорее всего,»), «это» and a heading («отгадка —») before the phrase are dropped. Alternatives in
    a list («метель, вьюга») stay in the phrase: the score decides whether all of them are accepted.

    Returns:
        The phrase in lower case, empty if there is none, and the rest of the text.
    """
    breaks = ((match.start(), match.end(), match["list"]) for match in _BREAK.finditer(text))
    begin, end, last = 0, -1, 0
    for start, after, is_list in itertools.chain(breaks, [(len(text), len(text), None)]):
        if end < 0:
            kinds = set(kinds_of(text[begin:start]))
            is_heading = kinds <= _HEADING or _THIS.fullmatch(text[begin:start])
            if is_heading and WORD.search(text, after) and not (kinds and text[start] in ".!"):
                begin = after
                continue
        elif not _continues_list(tokens_of(text[last:start]), text[end:last]):
            break
        end, last = start, after
        if not is_list:
            break
    return (_phrase(_without_lead(text[begin:end])), text[end:]) if end >= 0 else ("", "")


def _continues_list(tokens: list[re.Match[str]], sign: str) -> bool:
    """Return True if the words after a sign are another name of a thing or, after `;`, a description."""
    words = [token[0].lower() for token in tokens if not MARK.match(token[0])]
    kinds = {kind_of(word) for word in words}
    is_list = 0 < len(words) <= _MOST_NAMED and kinds <= {"", "or", "link", "number"}
    return is_list and (_is_name(words) or (sign == ";" and all(map(_ADJECTIVE.match, words))))


def _is_name(words: list[str]) -> bool:
    """Return True if the words may name a thing, rather than describe something or make a statement."""
    if len(words) == 1 and _NO_VOWEL.match(words[0]):
        return False
    if _PREPOSITION.match(words[0]) or _PARTICIPLE.match(words[0]) or any(map(_VERB.match, words)):
        return False
    if len(words) > 1 and any(map(_VERB_IN_PHRASE.match, words)):
        return False
    return not all(_ADJECTIVE.match(word) or _ADVERB.match(word) or word in ("и", "а") for word in words)


def _without_lead(text: str) -> str:
    """Drop words of certainty, «это» and «слово "…"» from the start of a phrase, unless nothing would be left."""
    while (word := WORD.search(text)) is not None and WORD.search(text, word.end()):
        is_noun = kind_of(word[0]) == "choice" and _QUOTED_NEXT.match(text, word.end())
        if not is_noun and kind_of(word[0]) not in _LEADING and not _THIS.fullmatch(word[0]):
            break
        text = text[word.end() :]
    return text


def _phrase(text: str) -> str:
    """Return the text from its first word to its last, in lower case and in one alphabet; empty for a sentence."""
    words = list(WORD.finditer(text))
    if not words:
        return ""
    text = text[words[0].start() : words[-1].end()].replace('"', "")
    phrase = " ".join(in_cyrillic(text).lower().split())
    phrase = re.sub(r"[\s;]*;[\s;]*", "; ", phrase) if ";" in phrase else phrase
    return "" if count_words(phrase) > _MOST_WORDS or _NO_ANSWER.match(phrase) else phrase


def count_words(text: str) -> int:
    """Count the words; a hyphenated word is one word."""
    pieces = text.split()
    return len(pieces) if text.isalpha() else sum(WORD.search(piece) is not None for piece in pieces)


def is_sentence(text: str) -> bool:
    """Return True if the text has words that occur in sentences rather than in names of things."""
    return any(kind not in ("", "link", "or", "choice") for kind in kinds_of(text))


def _may_name(clause: Clause, run: list[re.Match[str]]) -> bool:
    """Return True if neighbouring words of a clause may name a thing."""
    before = clause.text[: run[0].start()]
    is_behind_preposition = _PREPOSITION.match(before if before[:1].isspace() else before.lower())
    words = [token[0].lower() for token in run]
    while len(words) > 1 and _VERB.match(words[0]):
        del words[0]  # «нравится мост»
    return not is_behind_preposition and len(run) <= _MOST_NAMED and _is_name(words)


def phrase_mention(clause: Clause, given: frozenset[str]) -> Mention:
    """Return the phrase that a clause names: the words that are not in the table."""
    runs: list[list[re.Match[str]]] = [[]]
    approved: list[re.Match[str]] = []  # the words directly after «подходит»
    before = ""
    for token, kind in zip(clause.tokens, clause.kinds, strict=True):
        if kind or len(token[0]) == 1:
            runs.append([])
            is_answer = ANSWER.match(token[0].lower()) is not None
            before = "approval" if is_answer else before if kind in ("link", "narrowing", "addition") else kind
        else:
            runs[-1].append(token)
            approved = runs[-1] if before == "approval" else approved
    runs = [run for run in runs if run]
    keys = [fold(clause.text[run[0].start() : run[-1].end()]) for run in runs]
    whole = fold(clause.text[runs[0][0].start() : runs[-1][-1].end()] if runs else clause.text)
    is_first = bool(runs) and runs[0][0] is clause.tokens[0]
    if same := given.intersection([whole, *keys]):
        return Mention(same, True, first=is_first)
    if "denial" in clause.kinds or "negation" in clause.kinds:
        named = (key for run, key in zip(runs, keys, strict=True) if _may_name(clause, run))
        return Mention(frozenset(named), "negation" not in clause.kinds)
    run = runs[0] if len(runs) == 1 else approved
    if not run or not _NOT_NAMING.isdisjoint(clause.kinds) or not _may_name(clause, run):
        return Mention()
    others = [token[0] for token, kind in zip(clause.tokens, clause.kinds, strict=True) if kind]
    alone = len(runs) == len(run) == 1 and all(map(_THIS.fullmatch, others))
    closed = run is approved and "approval" not in clause.kinds  # «считать ответом мост»
    return Mention(frozenset({keys[runs.index(run)]}), True, alone or closed, is_first, closed)
