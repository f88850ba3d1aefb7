"""Step 5 of answer extraction: search the clauses after an answer for objections to it.

A clause may mention candidates: the extracted answer or other answers. It may give them as answers, deny them, retract
the extracted answer, or do none of this. An answer is rejected if a clause gives another candidate,
denies the answer or retracts it. All answer formats use the same table of words.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from mera_ru_tasks.scoring.normalize import WORD

# The kinds of words. Words that are not in the table are content words. A stem, which ends with `*`, is a pattern.
_TABLE = {
    # Words that deny a candidate, either alone («неверно») or before an approving word («не подходит»).
    "negation": "не ни нич* not нельзя вряд чем кроме",
    "denial": "хуже менее ловушк* ошибоч* ошибк[ао]* лож[нь]* исключ* отпада* "
    "отбр* отмета* откл* противореч* false wrong incorrect нет no ❌ ✗ ✘ ✖ ❎ 🚫",
    "approval": "подход* подо[йш]* год[инея]* соответств* вере?н* прав* корректн* true correct да ✅ ✔ ✓ ☑",
    # Words that retract a statement or turn to another one.
    "retraction": "передума* ошиб[сл]* исправл* поправ* меняю стоп погоди* подожди* отмена беру отказыва* ой упс "
    "снимаю пересмотр*",
    "turn": "пусть хотя впрочем все-таки все-же actually извини* sorry деле ближе",
    # Words that add another answer or refer to other answers.
    "or": "или либо or",
    "addition": "вдруг возмож* вероятн* мо[гж]* допус* наверн* также тоже еще альтернатив* alternat* запасн*",
    "others": "other else rest second остальн* друга?[иоя]* втор[оа]*",
    "narrowing": "только",
    # Words that may surround an answer without changing it.
    "lead": "я ну кажется похоже всего таким увы почти просто тогда уж уверен* образом итог* вердикт вот мне мо[йяе]* "
    "хм так что so the is my final по-моему",
    "link": "здесь тут одно но однако и а в на к бы же быть был* явля* следующ* самом именно все сразу and of то это* "
    "так[ао]* всем виду",
    "choosing": "ответом выб[еиор]* ответи* назов* взя* возьм*",
    "choice": "кандидат* ответ вариант* фраз* текст* букв* слов* языков* единиц* верси* решени* отгадк* разгадк* "
    "догадк* answer*",
    "topic": "описан* ошиб* вопрос* загадк* формулиров* смысл* контекст* детал* логик* автор* услови* значени* "
    "вывод* тракто* вниман*",
    # Words in clauses that do not state an answer.
    "condition": "если чтобы if",
    "seeming": "сначала пока[жз]* казал* подума[лт]* думал* первы*",
    "example": "пример*",
    "reason": "потому поскольку ведь пояснени* объяснени*",
    "pronoun": "он котор* как",
    "closing": "пожалуйста можете готов* помочь спасибо надеюсь желаю удачи",
}
_EXACT = {word: kind for kind, words in _TABLE.items() for word in words.split() if word[-1] != "*"}
_STEMS = re.compile(
    "|".join(
        f"(?P<{kind}>{'|'.join(word[:-1] for word in words.split() if word[-1] == '*')})"
        for kind, words in _TABLE.items()
        if "*" in words
    )
)
# The endings of more words that may give an answer: comparatives, verbs in the first person, and adverbs.
_ENDINGS = re.compile(
    r"(?P<turn>\w+(?:[тчвсбьжн]н|[чвлрб]|ст)ее$|\w+[ьч]ше$|пере\w+л[аи]?$)|(?P<speaker>\w+(?:[аялн]ю|[жчшщ]у|[ая]ем|[еи]мся|\w[юу]с[ья])$)|"
    r"(?P<lead>(?!не)\w{4,}(?:[внтжрьчсл]но|стью|-то|-ка)$)"
)
ANSWER = re.compile("вариант|верси")
# Marks that count as words. A hyphenated word counts as one word.
MARK = re.compile("[✅✔✓☑❌✗✘✖❎🚫]")
_TOKEN = re.compile(rf"[Вв]с[её] же|{WORD.pattern}(?:-{WORD.pattern})*|{MARK.pattern}")
# Prepositions. An option after one of them is mentioned, but not given as an answer: «в тексте Б».
PREPOSITION = re.compile("(?:[восу]|[всо]о|об|из|под?|при|про|от|до|для|без|после|перед|среди|через)$", re.IGNORECASE)
# The start of a list item in cleaned text.
BULLET = re.compile(r"^\s*(?:[-•–—·‣▪●○◦►▸→]|\d{1,2}[.)])\s+")


@functools.lru_cache(maxsize=8192)
def kind_of(word: str) -> str:
    """Return the kind of a word: `number`, a kind of the table, or an empty string for content words."""
    if word.isdigit():
        return "number"
    word = word.lower().replace("ё", "е").replace(" ", "-")
    first, _, second = word.partition("-")
    word = first if first == second else word  # «нет-нет»
    if word in _EXACT:
        return _EXACT[word]
    if word.startswith("не") and kind_of(word[2:]) == "approval":
        return "denial"  # «неверно»
    stem = _STEMS.match(word) or _ENDINGS.match(word)
    return (stem.lastgroup or "") if stem else ""


def tokens_of(text: str) -> list[re.Match[str]]:
    """Return the words and check marks of a text, in order."""
    return list(_TOKEN.finditer(text))


def kinds_of(text: str) -> Iterator[str]:
    """Yield the kind of each word and check mark of a text."""
    return (kind_of(token[0]) for token in _TOKEN.finditer(text))


# The end of a sentence, a line or a bracket. A full stop after a single lower-case letter marks an abbreviation.
_SENTENCE_END = re.compile(
    r"([.!?…\n()\[\]](?:(?<!\.)[!?…\n()\[\]]*|(?<=\.)(?:\.+|(?:(?<=[^\W_]{2}\.)|(?<=[^\w\s]\.)|(?<=[А-ЯA-Z\d]\.))(?=\s|$))))"
)
_CLAUSE_END = re.compile(
    r"(,(?= )(?!(?<=\b[А-ЯA-Z],) [А-ЯA-Z]\b)|;(?<!\b[А-ЯA-Z];)|:| [—–-]+(?= )| (?=(?:но|однако|является) ))"
)
# The label of an option: `А) …` in any position, or `А. …` at the start of a line.
_LABEL = re.compile(r"[.)] (?:(?<=^[^\W\d_]. )|(?<=\n[^\W\d_]. )|(?<=\n- [^\W\d_]. )|(?<=[.,;!?] [^\W\d_]\) ))")
_HYPOTHETICAL = re.compile("если бы |if .*would ")
_LATIN = re.compile("[A-Za-z]")
# Words that deny something else if they have an object: «исключаем лишнее», «нет сомнений», «ошибка в том».
_NEEDS_OBJECT = re.compile("нет|no|ошибо?ч?ка|.*(?:[еи]м|ю|л[аи]?|ть)$")
_DASHES = frozenset(":—–-")
# A sentence without single capital letters matters to letters only if its first characters deny or retract something.
_FIRST = 80
_CAPITAL = re.compile(r"[А-ЯA-Z](?<!\w.)(?!\w)")
# If «но …» contains a word of a kind in `_SAYING`, it denies the candidates before it. Words of the kinds in `_BETWEEN`
# may separate «не» from the candidate that it denies.
_SAYING = frozenset({"", "topic", "negation", "denial"})
_BETWEEN = frozenset({"negation", "lead", "link", "choice", "choosing", "speaker", "addition"})
# The kinds of words with which a clause gives its candidates as answers.
GIVING = frozenset({"turn", "addition", "approval", "or", "speaker", "choosing"})


class Clause(NamedTuple):
    """A clause of a sentence: its text, its words, the kind of each word, and the punctuation mark after the clause."""

    text: str
    tokens: list[re.Match[str]]
    kinds: list[str]
    sign: str = ""


class Mention(NamedTuple):
    """The candidates that a clause mentions.

    Attributes:
        candidates: the candidates, as letters or folded phrases.
        stated: True if the clause gives the candidates as answers when it contains a word of a kind in `GIVING`.
        alone: True if the clause gives the candidates without such a word, unless the sentence says more.
        number: the index of the word with which the first candidate starts.
    """

    candidates: frozenset[str] = frozenset()
    stated: bool = False
    alone: bool = False
    number: int = 0


class Objection(NamedTuple):
    """An objection to an answer.

    Attributes:
        code: `another`, `denied`, `retracted`, `narrowed`, or `joined` (only «или» or nothing connects the candidates).
        clause: the sentence that contains the objection.
        candidates: the other candidates that the sentence gives as answers.
    """

    code: str
    clause: str
    candidates: frozenset[str] = frozenset()


def sentences_of(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each sentence of a text, and True if it is in brackets. Text in brackets is a separate sentence."""
    in_brackets = False
    for number, piece in enumerate(_SENTENCE_END.split(_LABEL.sub(": ", text))):
        if number % 2:
            brackets = [sign for sign in piece if sign in "()[]"]
            in_brackets = brackets[-1] in "([" if brackets else in_brackets
        elif piece.strip():
            yield piece.strip(), in_brackets


def clauses_of(sentence: str) -> list[Clause]:
    """Return the clauses of a sentence. Clauses without words are left out."""
    pieces = [*_CLAUSE_END.split(sentence), ""]
    parts = ((text, tokens_of(text), sign.strip()[:1]) for text, sign in zip(pieces[::2], pieces[1::2], strict=True))
    clauses = [
        Clause(text, words, [kind_of(word[0]) or ("lead" if _LATIN.match(word[0]) else "") for word in words], sign)
        for text, words, sign in parts
        if words
    ]
    for _, words, kinds, _ in clauses:
        for number, kind in enumerate(kinds):
            word = words[number][0].lower()
            after = kinds[number + 1 :]
            has_object = "" in (kinds if word == "нет" else after) or (word == "no" and after)
            first = kinds.index("negation") if "negation" in kinds[:number] else number
            if first == number - 1 and (kind == "approval" or word in ("так", "то")):
                kinds[first : number + 1] = ["denial", "link"]  # «не подходит»
            elif first < number and kind == "denial" and _BETWEEN.issuperset(kinds[first:number]):
                kinds[first : number + 1] = ["addition"] * (number + 1 - first)  # «не исключено», «не могу исключить»
            elif kind == "denial" and has_object and _NEEDS_OBJECT.match(word):
                kinds[number] = "negation"
            elif kind == "topic" and number and PREPOSITION.match(words[number - 1][0]):
                kinds[number] = "link"  # «по смыслу»
    return clauses


def objection_in(text: str, given: frozenset[str], mention_in: Callable[[Clause], Mention]) -> Objection | None:
    """Return the first objection to an answer, or None if there is no objection.

    Args:
        text: the text after the answer.
        given: the candidates of which the answer consists.
        mention_in: a function that finds the candidates in a clause. It depends on the answer format.
    """
    if not WORD.search(text) and not MARK.search(text):
        return None
    names = any(len(candidate) > 1 for candidate in given)
    joined: Objection | None = None
    before: frozenset[str] = frozenset()
    for number, (sentence, in_brackets) in enumerate(sentences_of(text.lstrip(" .,;:)"))):
        if not _may_tell(sentence, names):
            continue
        stance = _Stance(given, before, mention_in)
        objection = stance.of(sentence)
        before = stance.last or before
        if objection is not None and objection.code != "joined":
            return objection
        is_explanation = in_brackets and (number or (names and sentence[1:].isalpha()))  # «самовар (прибор)»
        joined = joined or (None if is_explanation else objection)
    return joined


def _may_tell(sentence: str, names: bool) -> bool:
    """Return False if a sentence cannot affect an answer. Most sentences of an explanation cannot."""
    if names or _CAPITAL.search(sentence):
        return True
    kinds = set(map(kind_of, _TOKEN.findall(sentence, 0, _FIRST)))
    return bool(kinds & {"denial", "retraction"}) or {"negation", "approval"} <= kinds or "не т" in sentence  # «не так»


class _Stance:
    """The statements of one sentence about the answer. `last` contains the candidates mentioned last."""

    def __init__(self, given: frozenset[str], before: frozenset[str], mention_in: Callable[[Clause], Mention]) -> None:
        self.given = given
        self.before = before  # the candidates of the previous sentence, to which «это» may refer
        self.mention_in = mention_in
        self.last: frozenset[str] = frozenset()
        self.says_more = False

    def of(self, sentence: str) -> Objection | None:
        """Return the objection in a sentence, or None if there is no objection."""
        if _HYPOTHETICAL.search(sentence.lower()):
            return None
        seeming = seemed = announced = explains = closes = negated = False
        code, others, alone, denied = "", frozenset[str](), frozenset[str](), frozenset[str]()
        for clause, following in itertools.pairwise([*clauses_of(sentence), Clause("", [], [])]):
            mention = self.mention_in(clause)
            kinds, words = set(clause.kinds), clause.text.lower().split()
            is_contrast = words[0] in ("но", "однако")
            seeming = ("seeming" in kinds and "condition" not in kinds) or (seeming and not is_contrast)
            explains = explains or "reason" in kinds
            seemed = seemed or ("seeming" in kinds and not mention.candidates & self.given)
            retracts = "retraction" in kinds and "negation" not in kinds and not (seemed and is_contrast)
            before = clause.kinds[: clause.kinds.index("retraction")] if retracts else []
            if retracts and ("я" in words or {"", "topic"}.isdisjoint(before)):
                return Objection("retracted", sentence)  # but not «автор ошибся», «я не ошибся»
            if is_contrast and "speaker" not in kinds and not _SAYING.isdisjoint(kinds):
                denied |= self.last
            negated = "negation" in kinds or (negated and words[0] in ("что", "чтобы"))
            targets = self._denied_by(clause, mention, following)
            if targets & self.given:
                return Objection("denied", sentence)
            if "condition" in kinds:
                announced = announced or "turn" in kinds  # «если точнее, то …»
            elif negated or "denial" in kinds:
                denied |= targets | mention.candidates
            elif not seeming:
                gives = announced or not GIVING.isdisjoint(kinds)
                if mention.candidates < self.given and mention.stated and "narrowing" in kinds:
                    return Objection("narrowed", sentence)
                other = mention.candidates - self.given
                if other and mention.stated and gives:
                    others |= other
                    code = code or ("joined" if "or" in kinds else "another")
                elif mention.alone:
                    alone |= other
                    closes = not following.kinds and {len(candidate) for candidate in other} == {1}
                is_heading = "choice" in kinds and not {"others", "addition"}.isdisjoint(kinds)
                ends_open = clause.sign in _DASHES
                announced |= is_heading or (ends_open and (gives or "ответ" in words)) or (gives and "" not in kinds)
            is_defined = clause.sign in _DASHES and "" in following.kinds  # «дыра — кратер»
            is_aside = "condition" in kinds or (clause.sign == "," and len(words) < 3 and not mention.candidates)
            self.says_more |= "closing" in kinds or (is_defined if mention.alone else "" in kinds and not is_aside)
            self.last = mention.candidates or self.last
        if others - denied:
            return Objection(code, sentence, others - denied)
        alone -= denied
        is_given = alone and not explains and (closes or not self.says_more)
        return Objection("joined", sentence, alone) if is_given else None

    def _denied_by(self, clause: Clause, mention: Mention, following: Clause) -> frozenset[str]:
        """Return the candidates that a clause denies."""
        kinds, words = clause.kinds, clause.text.lower().split()
        if "negation" in kinds and _BETWEEN.issuperset(kinds[kinds.index("negation") + 1 : mention.number]):
            return mention.candidates if mention.number > kinds.index("negation") else frozenset()  # «не вариант Б»
        if "denial" not in kinds:
            return frozenset()
        below, _, _, number = self.mention_in(following)
        if words[0] == "нет" and below and ("negation" in following.kinds or "denial" in following.kinds[number:]):
            return frozenset()  # «нет, это не Б», «нет, Б не подходит»
        lists = clause.sign in _DASHES and GIVING.isdisjoint(following.kinds) and not _NEEDS_OBJECT.fullmatch(words[0])
        below = below if lists else frozenset()
        if mention.candidates or below:  # «ложный след — Б», «не подходят: Б, В»
            return mention.candidates | (below - self.given) if mention.candidates else below
        if words[0] == "что" and "это" in words:
            return self.before or self.given  # «видно, что это не подходит»
        is_content_before = "" in kinds[: kinds.index("denial")] and "я" not in words
        is_of_others = "others" in kinds or kinds.count("denial") > 1 or "бы" in words
        if self.last or self.says_more or is_content_before or is_of_others:
            return self.last
        return self.before or self.given
