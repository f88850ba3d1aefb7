"""Step 4 of answer extraction, for options: find letters at the start of a text, in a list or in a clause."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from mera_ru_tasks.scoring.extract import clauses
from mera_ru_tasks.scoring.extract.clauses import Clause, Mention, kind_of, kinds_of, sentences_of, tokens_of
from mera_ru_tasks.scoring.normalize import LOOK_ALIKES, WORD, fold

_LEADING = frozenset({"lead", "speaker", "choice", "approval", "link", "narrowing", "addition"})
# Letters that are also words, and letters that abbreviate a word before a name («г. Тверь»).
_ONE_LETTER_WORDS, _ABBREVIATIONS = frozenset("АВИОУКСЯI"), frozenset("гд")
# The kinds of words before which «А» is a letter and not a conjunction: «А тоже подходит».
_JUDGING = frozenset({"approval", "denial", "negation", "addition", "narrowing", "turn"})
# A single letter, the separators between two letters of an answer, and a sequence of letters.
_ONE = re.compile(r"(?<![^\W_])(?!(?:и|and|а также)\b)[^\W\d_](?![^\W_]|[\u0300-\u036f])", re.IGNORECASE)
_OPEN, _CLOSE = r"[\s\"'{<]{0,4}(?:[(\[](?= ?[^\W\d_] ?[)\]]) ?)?", r"[\s\"')\]}>]{0,4}"
_BETWEEN = rf"{_CLOSE}(?:(?:\.?[;,]|[/|&+•、]){_OPEN})?(?:(?:и|and|а также)\b)?{_OPEN}"
_RUN = re.compile(rf"(?:и\b{_OPEN})?{_ONE.pattern}(?:{_BETWEEN}{_ONE.pattern})*", re.IGNORECASE)
_LAST = re.compile(r"(?:;(?: [^\s;]+[йяе])? [^\s;]+)?(?: [a-z ]+)?$")
_CAPITAL = re.compile("[А-ЯA-ZΑ-Ωбгде]$")


class Answer(NamedTuple):
    """An answer: option letters, the rest of the text, the code if there is no answer, and the phrase or unit."""

    letters: list[str]
    rest: str = ""
    code: str = ""
    phrase: str = ""


def letters_at_head(line: str, choices: str) -> Answer:
    """Extract option letters from the start of a line. Words such as «вариант» may precede the letters."""
    word = WORD.search(line)
    while word is not None and len(word[0]) > 1 and kind_of(word[0]) in _LEADING:
        word = WORD.search(line, word.end())
    if word is None:
        return Answer([], code="unclear")
    if 1 < len(word[0]) <= len(choices) and word[0].isupper() and not WORD.search(line, word.end()):
        joined = list(word[0].translate(LOOK_ALIKES))  # «АЕ»
        is_answer = joined == sorted({*joined} & {*choices}, key=choices.index)
        return Answer(joined, line[word.end() :]) if is_answer else Answer([], code="unclear")
    run = _RUN.match(line, word.start())
    letters: list[str] = []
    end = word.start()
    for match in _ONE.finditer(line, run.start(), run.end()) if run else ():
        letter = as_letter(match[0], choices)
        if letter is None or _is_word(line, match, letter):
            break
        if not letter:
            if letters and line[end : match.start()].strip() in (")", ".", ":"):
                break  # the option's text: «Б) Я у неё…»
            return Answer([], code="out-of-range")
        letters.append(letter)
        end = match.end()
    return Answer(letters, line[end:], "" if letters else "unclear")


def _is_word(line: str, match: re.Match[str], letter: str) -> bool:
    """Return True if a single letter is a word or an abbreviation: «А вот», «г. Тверь», «т. к.»."""
    following = WORD.search(line, match.end())
    if following is None or (not letter and match[0].islower() and line[match.end()] in ". "):
        return following is not None
    gap = line[match.end() : following.start()].strip()
    if len(following[0]) == 1 or following[0].lower() == "and":
        return False
    is_abbreviation = match[0] in _ABBREVIATIONS and gap == "." and following[0][0].isupper()
    is_plain = gap == "" and (kind_of(following[0]) not in _JUDGING or following[0] == "не")
    return is_abbreviation or (match[0].translate(LOOK_ALIKES).upper() in _ONE_LETTER_WORDS and is_plain)


def as_letter(word: str, choices: str) -> str | None:
    """Return the option letter for a word, "" for a letter out of range, or None for a longer word."""
    letter = word.translate(LOOK_ALIKES).upper() if len(word) == 1 and word.isalpha() else None
    return letter if letter is None or letter in choices else ""


def letters_in(text: str, tokens: Sequence[re.Match[str]], choices: str) -> dict[int, str]:
    """Return the option letters in a clause, by the index of the word."""
    letters: dict[int, str] = {}
    for number, token in enumerate(tokens):
        letter = as_letter(token[0], choices) if _CAPITAL.match(token[0]) else ""
        is_abbreviation = token[0].islower() and text[token.end() :][:1] in (".", "-")
        if letter and not is_abbreviation and (number or text[0] == " " or not _begins_sentence(text, tokens)):
            letters[number] = letter
    return letters


def _begins_sentence(text: str, tokens: Sequence[re.Match[str]]) -> bool:
    """Return True if the first word of a clause is a conjunction or preposition."""
    if tokens[0][0].translate(LOOK_ALIKES) not in _ONE_LETTER_WORDS or len(tokens) == 1 or len(tokens[1][0]) == 1:
        return False
    return text[tokens[0].end() : tokens[1].start()] in (" ", ", ") and kind_of(tokens[1][0]) not in _JUDGING


def letter_mention(clause: Clause, choices: str) -> Mention:
    """Return the letters that a clause mentions. They are stated unless a preposition precedes them."""
    found = letters_in(clause.text, clause.tokens, choices)
    if not found:
        return Mention()
    first, last = min(found), max(found)
    before = [token for token, kind in zip(clause.tokens[:first], clause.kinds, strict=False) if kind != "choice"]
    is_about = bool(before) and clauses.PREPOSITION.match(before[-1][0]) is not None
    is_pure = all(kind or number in found for number, kind in enumerate(clause.kinds))
    end = _LAST.match(clause.text, clause.tokens[last].end())
    is_last = end is not None and (bool(before) or bool(end[0]))
    return Mention(frozenset(found.values()), not is_about, (is_pure or is_last) and not is_about, first)


# Another letter with its option's text: «…; Д. text», «…), Д) text», «… . Д) text».
_LABEL = re.compile(r"(?P<before>[;,.!?)\"]) ?(?:и )?\"?(?P<letter>[^\W\d_])(?P<sign>\"? ?[.):(=—–-]| \")(?=.*?\w)")
# The kinds of words and the texts that may follow letters without a separator, or follow «А» and a comma.
_FOLLOWING_KINDS = frozenset({"reason", "approval", "negation", "denial", "addition", "or"})
_FOLLOWING = re.compile(r"\W*(?:так как|т\. ?к\.|а не\b)", re.IGNORECASE)
_SHARE = re.compile(r"\W*(?:\d{1,2}(?:[.,]\d+)? ?%|[01][.,]\d)")
_VERDICTS: dict[str, str] = dict.fromkeys(["1", "y", "+", "approval"], "right") | dict.fromkeys(
    [*"0n-–—", "denial"], "wrong"
)
_EXCEPT = re.compile(r"\W*вс[её]\b[^.\n]{0,40}\bкроме\b", re.IGNORECASE)
_HEADING = frozenset({"lead", "link", "choice", "approval", "topic"})
# The kinds of words in sentences that do not give the letters at their end as answers.
_NOT_GIVING = frozenset({"negation", "denial", "condition", "seeming", "or", "example", "retraction"})


class Item(NamedTuple):
    """An item of a list: letters, their text, and the separator between them (`bullet` or `unmarked` without text)."""

    letters: list[str]
    text: str
    style: str


def answer_of_lines(lines: Sequence[str], choices: str, texts: Mapping[str, str]) -> Answer:
    """Extract letters from cleaned lines. `texts` contains the folded texts of the options by letter."""
    is_heading = len(lines) > 1 and all(kind in _HEADING for kind in kinds_of(lines[0]))
    if is_heading and not letters_at_head(lines[0], choices).letters:  # «следующие варианты:»
        lines = lines[next((number for number, line in enumerate(lines) if number and line), 0) :]
    items = items_of(lines[0], choices, texts)
    if items is None:
        return Answer([], code="out-of-range")
    if not items or not may_follow(items[0].letters, items[0].text):
        return _from_sentence(lines, choices, texts)
    first, gap, closed = items[0], False, False
    rest = []
    for line in lines[1:]:
        word = WORD.search(line)
        closed = closed or (word is not None and kind_of(word[0]) == "reason")
        more = items_of(line, choices, texts) if word and not closed else []
        if more is None and len(line) < 9:  # a longer line is a sentence
            return Answer([], code="out-of-range")
        is_near = is_heading or not gap or first.style != "unmarked"
        if more and all(item.style == first.style for item in more) and is_near:
            items += more
        else:
            rest.append(line)
        gap = gap or not line
    return _judged(items, rest, choices)


def items_of(line: str, choices: str, texts: Mapping[str, str]) -> list[Item] | None:
    """Return the items of a line: none if it does not start with a letter, None if a letter is out of range."""
    text = clauses.BULLET.sub("", line)
    run = letters_at_head(text, choices)
    if not run.letters:
        return None if run.code == "out-of-range" else []
    unmarked = "bullet" if text != line else "unmarked"
    letters, begin, sign = run.letters, 0, _sign(run.rest)
    if texts and fold(run.rest) == texts[letters[-1]]:
        return [Item(letters, "", sign)]
    items: list[Item] = []
    for label in _LABEL.finditer(run.rest):
        letter = as_letter(label["letter"], choices)
        if letter is None or _sign(label["sign"]) != sign or not (label["letter"].isupper() or sign == ")"):
            continue
        if (sign == "." and label["before"] == ",") or (label["before"] in ".!?" and letter <= letters[-1]):
            continue  # an initial, or the first word of a sentence
        if not letter:
            return None
        items.append(Item(letters, run.rest[begin : label.start("letter")], sign))
        letters, begin = [letter], label.end("letter")
    rest = run.rest[begin:]
    items.append(Item(letters, rest, sign if WORD.search(rest) else unmarked))
    marks = "".join(clauses.MARK.findall(text[: len(text) - len(run.rest)]))  # «✅ А»
    items[0] = items[0]._replace(text=f"{marks} {items[0].text}") if marks else items[0]
    return items


def _sign(text: str) -> str:
    """Return the separator between letters and their text. Skip closing quotes, and return all dashes as `-`."""
    sign = text.lstrip("\"']}> ")[:1]
    return "-" if sign in ("–", "—") else "" if sign.isalnum() else sign


def _verdict(text: str) -> str:
    """Return the verdict in the text after a letter: `right`, `wrong`, `share`, or an empty string."""
    stripped = text.strip(' .,;:()="—–-')
    if stripped.lower() in _VERDICTS or _SHARE.match(stripped):
        return _VERDICTS.get(stripped.lower(), "share")
    kinds = list(itertools.islice((kind for kind in kinds_of(text) if kind != "link"), 2))
    return "wrong" if kinds == ["negation", "approval"] else _VERDICTS.get(kinds[0], "") if kinds else ""


def is_doubtful(text: str) -> bool:
    """Return True if letters are followed by a question mark or dots, or are part of a word or range: «Г-н», «А—Е»."""
    word = WORD.search(text)
    gap = text[: word.start()] if word else ""
    return gap == "-" or (gap in ("–", "—") and word is not None and len(word[0]) == 1) or "?" in gap or ".." in gap


def may_follow(letters: Sequence[str], text: str) -> bool:
    """Return True if the text after the letters may explain them and does not continue their sentence."""
    word = WORD.search(text)
    if word is None:
        return True
    sign = _sign(text)
    if is_doubtful(text) or sign in ("/", "|", "&", "+"):
        return False
    if sign not in ("", ","):
        return len(word[0]) > 1 or sign != ";"
    if kind_of(word[0]) in _FOLLOWING_KINDS or _FOLLOWING.match(text):
        return True
    is_word = len(letters) == 1 and letters[0] in "АВ"  # «А, понятно»
    return (sign == "," and not is_word) or (word[0][0].isupper() and len(word[0]) > 1)


def _judged(items: Sequence[Item], below: Sequence[str], choices: str) -> Answer:
    """Return the letters of a list. If the list contains verdicts, return the letters that are judged correct."""
    letters = [letter for item in items for letter in item.letters]
    if len(items) == 1:
        return Answer(letters, "\n".join([items[0].text, *below]))
    verdicts = [_verdict(item.text) for item in items]
    if not any(verdicts):
        goes_through_all = set(letters) == set(choices) and items[0].style not in ("unmarked", "bullet")
        return Answer([], code="all-options") if goes_through_all else Answer(letters, "\n".join(below))
    pairs = zip(items, verdicts, strict=True)
    right = [letter for item, verdict in pairs if verdict == "right" for letter in item.letters]
    is_clear = set(verdicts) <= {"right", "wrong"}
    return Answer(right, "\n".join(below), ("" if right else "denied") if is_clear else "unclear-verdicts")


def _from_sentence(lines: Sequence[str], choices: str, texts: Mapping[str, str]) -> Answer:
    """Extract letters from the end of a first sentence, from an option's text, or from a list of other letters."""
    sentence = next((sentence for sentence, _ in sentences_of(lines[0])), "")
    found, rest, *_ = letters_given_by(sentence, choices, any_words=True)
    excluded = _EXCEPT.match(sentence)
    run = letters_at_head(sentence[excluded.end() :], choices) if excluded else Answer([])
    if run.letters and not WORD.search(run.rest):
        found = [letter for letter in choices if letter not in run.letters]
    if found:
        return Answer(found, "\n".join([rest + lines[0].partition(sentence)[2], *lines[1:]]))
    same = [letter for letter, text in texts.items() if text and text == fold(lines[0])]
    return Answer(same, "\n".join(lines[1:])) if len(same) == 1 else Answer([], code="unclear")


def letters_given_by(sentence: str, choices: str, *, any_words: bool = False) -> Answer:
    """Return the letters that a sentence gives: «подходит только фраза А», «думаю, Б, потому что …».

    With `any_words`, content words may precede «вариант», a colon or a dash before the letters.
    """
    tokens = tokens_of(sentence)
    first = min(letters_in(sentence, tokens, choices), default=None)
    if first is None:
        return Answer([])
    before, start = tokens[:first], tokens[first].start()
    run = letters_at_head(sentence[start:], choices)
    kinds = ["link" if clauses.PREPOSITION.match(token[0]) else kind_of(token[0]) for token in before]
    if not run.letters or not _NOT_GIVING.isdisjoint(kinds):
        return Answer([])
    is_aside = bool(before) and before[0][0].lower() in ("в", "на") and "approval" not in kinds  # «В ответ Г»
    leads_over = "" not in kinds and not is_aside
    if any_words and before:
        gap = sentence[before[-1].end() : start].strip(' "')
        leads_over = leads_over or gap in (":", "—", "–", "-") or (not gap and kinds[-1] in _HEADING - {"lead", "link"})
    is_end = not WORD.search(run.rest)
    goes_on = run.rest[:1] in (",", ";") and not {"approval", "lead", "speaker"}.isdisjoint(kinds)
    return Answer(run.letters if leads_over and (is_end or goes_on) else [], run.rest)
