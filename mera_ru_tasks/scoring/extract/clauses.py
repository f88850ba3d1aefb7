"""Step 5 of answer extraction: find what clauses anywhere after an answer say about it.

A clause names candidates: the given answer or others. It may give its candidates, deny them, retract the answer, or do
none of these. The answer is kept unless a clause gives another candidate, denies the given one, or retracts. One table
of words serves every answer format and every position of a clause.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from mera_ru_tasks.scoring.normalize import WORD

# Each word has one kind; a word outside the table is content. `*` matches any ending.
_TABLE = {
    # Words that deny: alone («неверно»), or before an approving word («не подходит»).
    "negation": "не ни not нельзя вряд",
    "denial": "неверн* неверен неправильн* некорректн* ошибоч* ошибка ошибкой ложн* ложь исключ* отпада* отброс* "
    "противореч* false wrong incorrect нет no ❌ ✗ ✘ ✖ ❎ 🚫",
    "approval": "подход* подойд* подойти соответств* годит* верен верн* правильн* корректн* true correct right да yes "
    "✅ ✔ ✓ ☑",
    # Words that retract a statement, or turn to something else.
    "retraction": "передума* ошибся ошиблась исправл* поправ* меняю стоп погоди* подожди* отмена виноват беру "
    "постой* ой упс wait oops correction неправ отказыва* пересмотр*",
    "turn": "хотя впрочем точнее вернее правильнее все-таки actually лучше извини* прости* прощения sorry деле "
    "скорее вместо",
    # Words that add another answer to the first, or refer to other answers.
    "or": "или либо or",
    "addition": "возмож* вероятн* может наверн* также тоже еще альтернатив* запасн* maybe perhaps also alternat*",
    "others": "остальн* други* друго* другая второ* вторая",
    "narrowing": "только only",
    # Words around an answer that do not change it.
    "lead": "я ну можно стоит думаю считаю полагаю кажется похоже видимо всего конечно итак таким "
    "образом поэтому итог* вот мне окончательн* финальн* мой хм так что so the is my final вношу по-моему",
    "link": "но однако и а в на к бы же быть был* будет явля* выбира* выбра* ответить самом именно все "
    "следующ* сразу больше and of то это*",
    "choice": "ответ ответом вариант* фраз* текст* букв* продолжени* отгадк* слов* языков* единиц* answer* option* "
    "choice верси*",
    "topic": "вопрос* загадк* формулировк* смысл*",
    # Words showing that a clause does not state the answer.
    "condition": "если if would",
    "seeming": "сначала показ* казал* подум* думал* перв*",
    "example": "пример*",
    "reason": "потому поскольку ведь пояснени* объяснени* комментари* because",
    "pronoun": "он она его кто когда котор* как",
    "closing": "спасибо удачи готово end done user assistant system model",
}
_EXACT = {word: kind for kind, words in _TABLE.items() for word in words.split() if word[-1] != "*"}
_STEMS = re.compile(
    "|".join(
        f"(?P<{kind}>{'|'.join(word[:-1] for word in words.split() if word[-1] == '*')})"
        for kind, words in _TABLE.items()
        if "*" in words
    )
)
# Kinds of words with which a clause can refer to an answer, and a quick search for those that retract it.
TELLING = frozenset({"denial", "approval", "retraction", "turn", "or", "addition", "others", "narrowing"})
_BEFORE_ANSWER = "вариант|ответом|верси|выбира|выбер"  # nouns and verbs right before an answer
ANSWER = re.compile(_BEFORE_ANSWER)
TELLING_STEM = re.compile(
    "|".join([_BEFORE_ANSWER, *(word.strip("*") for word in _TABLE["retraction"].split() if len(word) > 3)])
)
# Marks that count as a word; a hyphenated word is one word.
MARK = re.compile("[✅✔✓☑❌✗✘✖❎🚫]")
_TOKEN = re.compile(rf"{WORD.pattern}(?:-{WORD.pattern})*|{MARK.pattern}")
# The start of a list item in cleaned text.
BULLET = re.compile(r"^\s*(?:[-•–—·‣▪●○◦►▸→]|\d{1,2}[.)])\s+")


@functools.lru_cache(maxsize=8192)
def kind_of(word: str) -> str:
    """Return the kind of a word in any case: `number`, a kind of the table, or empty for content."""
    if word.isdigit():
        return "number"
    word = word.lower().replace("ё", "е")
    if word in _EXACT:
        return _EXACT[word]
    stem = _STEMS.match(word)
    return (stem.lastgroup or "") if stem else ""


def tokens_of(text: str) -> list[re.Match[str]]:
    """Return the words of a text and its check marks, in order."""
    return list(_TOKEN.finditer(text))


def kinds_of(text: str) -> Iterator[str]:
    """Yield the kind of each word and check mark of a text."""
    return (kind_of(token[0]) for token in _TOKEN.finditer(text))


# The end of a sentence, a bracket or a line. A full stop after a single lower-case letter marks an abbreviation.
_SENTENCE_END = re.compile(
    r"([.!?…\n()\[\]](?:(?<!\.)[!?…\n()\[\]]*|(?<=\.)(?:\.+|(?:(?<=[^\W_]{2}\.)|(?<=[^\w\s]\.)|(?<=[А-ЯA-Z\d]\.))(?=\s|$))))"
)
_CLAUSE_END = re.compile(
    r"(,(?= )(?!(?<=\b[А-ЯA-Z],) [А-ЯA-Z]\b)|;(?<!\b[А-ЯA-Z];)|:| [—–-]+(?= )| (?=(?:но|однако) ))"
)
# The label of an option: `А) …` anywhere, `А. …` at the start of a line.
_LABEL = re.compile(r"[.)] (?:(?<=^[^\W\d_]. )|(?<=\n[^\W\d_]. )|(?<=\n- [^\W\d_]. )|(?<=[.,;!?] [^\W\d_]\) ))")
_HYPOTHETICAL = re.compile("если .*бы |if .*would ")
_DASHES = frozenset(":—–-")
_NO = ("нет", "no")
# A longer sentence matters only with a single capital, a retraction, or a relevant word near its start.
_SHORT, _LONG, _FIRST = 20, 120, 60
_CAPITAL = re.compile(r"[А-ЯA-Z](?<!\w.)(?!\w)")
# Words of these kinds show that a clause gives the candidates it names.
_GIVING = frozenset({"turn", "addition", "approval", "or"})


class Clause(NamedTuple):
    """A part of a sentence: its text, its words, the kind of each word, and the sign that ends it."""

    text: str
    tokens: list[re.Match[str]]
    kinds: list[str]
    sign: str = ""


class Mention(NamedTuple):
    """The candidates that a clause names: letters or folded phrases.

    `statement` is True if the clause could give them, since it says nothing else; `alone` if it gives them even without
    such a word, unless the sentence says more; `first` if it begins with one of them; `closed` for letters.
    """

    candidates: frozenset[str] = frozenset()
    statement: bool = False
    alone: bool = False
    first: bool = False
    closed: bool = False


class Objection(NamedTuple):
    """The reason to reject an answer, the sentence that contains it, and the other candidates that it gives.

    The code is `another`, `denied`, `retracted` or `narrowed`; `joined` if only «или» or nothing joins the candidates.
    """

    code: str
    clause: str
    candidates: frozenset[str] = frozenset()


def sentences_of(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the sentences of a text, each with True if it is in brackets; a bracket is a separate sentence."""
    in_brackets = False
    for number, piece in enumerate(_SENTENCE_END.split(_LABEL.sub(": ", text))):
        if number % 2:
            brackets = [sign for sign in piece if sign in "()[]"]
            in_brackets = brackets[-1] in "([" if brackets else in_brackets
        elif piece.strip():
            yield piece.strip(), in_brackets


def clauses_of(sentence: str) -> list[Clause]:
    """Split a sentence into its clauses, without those that have no words."""
    pieces = [*_CLAUSE_END.split(sentence), ""]
    parts = ((text, tokens_of(text), sign.strip()[:1]) for text, sign in zip(pieces[::2], pieces[1::2], strict=True))
    clauses = [Clause(text, words, [kind_of(word[0]) for word in words], sign) for text, words, sign in parts if words]
    for _, _, kinds, _ in clauses:
        for number in range(len(kinds) - 1):
            if kinds[number] == "negation" and kinds[number + 1] == "denial":
                kinds[number : number + 2] = ["addition", "addition"]  # «не исключено»
    return clauses


def objection_in(text: str, given: frozenset[str], mention_in: Callable[[Clause], Mention]) -> Objection | None:
    """Return the first objection in a text to the given answer; None if the answer is kept.

    The answer consists of the candidates in `given`; `mention_in` finds those of a clause, as the format requires.
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
        if objection is None or (
            objection.code == "joined" and in_brackets and (number or (names and sentence[1:].isalpha()))
        ):
            continue
        if objection.code != "joined":
            return objection
        joined = joined or objection
    return joined


def _may_tell(sentence: str, names: bool) -> bool:
    """Return False if a sentence certainly does not affect an answer, like most sentences of an explanation.

    «не» retracts something only before names («не мост»), and in «не так» and «не то».
    """
    if len(sentence) <= _SHORT or _CAPITAL.search(sentence):
        return True
    kinds = set(map(kind_of, WORD.findall(sentence[:_FIRST] if len(sentence) > _LONG else sentence)))
    lowered = sentence.lower()
    denies = "negation" in kinds and (names or "не т" in lowered)
    return denies or not TELLING.isdisjoint(kinds) or TELLING_STEM.search(lowered) is not None


class _Stance:
    """The statements of one sentence about the answer; `last` holds the candidates named last."""

    def __init__(self, given: frozenset[str], before: frozenset[str], mention_in: Callable[[Clause], Mention]) -> None:
        self.given = given
        self.before = before  # named in the previous sentence; «это» may refer to it
        self.mention_in = mention_in
        self.last: frozenset[str] = frozenset()
        self.says_more = False

    def of(self, sentence: str) -> Objection | None:
        """Return the sentence's objection; None if it has none."""
        clauses = clauses_of(sentence)
        if _HYPOTHETICAL.search(sentence.lower()):
            return None
        seeming = announced = explains = closes = False
        code, others, alone, denied = "", frozenset[str](), frozenset[str](), frozenset[str]()
        for clause, following in zip(clauses, [*clauses[1:], None], strict=False):
            mention = self.mention_in(clause)
            seeming = seeming and clause.tokens[0][0].lower() not in ("но", "однако")
            seeming = seeming or ("seeming" in clause.kinds and "condition" not in clause.kinds)
            explains = explains or "reason" in clause.kinds
            if "retraction" in clause.kinds and "" not in clause.kinds[: clause.kinds.index("retraction")]:
                return Objection("retracted", sentence)
            targets = self._denied_by(clause, mention, following)
            if targets is not None:
                if targets & self.given:
                    return Objection("denied", sentence)
                denied |= targets
            elif "condition" in clause.kinds:
                announced = announced or "turn" in clause.kinds  # «если точнее, то …»
            elif not seeming:
                gives = announced or not _GIVING.isdisjoint(clause.kinds)
                if mention.candidates < self.given and mention.statement and "narrowing" in clause.kinds:
                    return Objection("narrowed", sentence)
                other = mention.candidates - self.given
                if other and mention.statement and gives:
                    others |= other
                    code = code or ("joined" if "or" in clause.kinds else "another")
                elif mention.alone:
                    alone |= other
                    closes = mention.closed and following is None and len(other) == 1
                is_heading = "choice" in clause.kinds and not {"others", "addition"}.isdisjoint(clause.kinds)
                announced = announced or (gives and "" not in clause.kinds) or is_heading
            is_defined = clause.sign in _DASHES and following is not None and "" in following.kinds  # «дыра — кратер»
            self.says_more |= is_defined if mention.alone else "" in clause.kinds
            self.last = mention.candidates or self.last
        if others - denied:
            return Objection(code, sentence, others - denied)
        alone -= denied
        is_given = alone and not explains and (closes or not self.says_more)
        return Objection("joined", sentence, alone) if is_given else None

    def _denied_by(self, clause: Clause, mention: Mention, following: Clause | None) -> frozenset[str] | None:
        """Return the candidates that a clause denies, which may all be irrelevant; None if it denies nothing."""
        if "denial" not in clause.kinds and "negation" not in clause.kinds:
            return None
        for number, kind in enumerate(clause.kinds):
            word = clause.tokens[number][0].lower()
            next_kind = clause.kinds[number + 1] if number + 1 < len(clause.kinds) else ""
            if kind == "denial" and (number == 0 or clause.kinds[number - 1] != "negation"):
                if (word in _NO and "" in clause.kinds) or (word == "ошибка" and number + 1 < len(clause.kinds)):
                    continue  # «нет сомнений», «ошибка в том, что …»
                if (
                    word in _NO
                    and following is not None
                    and following.kinds[:2] in (["negation", ""], ["negation", "link"])
                ):
                    return frozenset()  # «нет, не Б»
            elif kind != "negation" or number + 1 == len(clause.kinds):
                continue
            elif next_kind in ("lead", "link") and mention.candidates:
                return mention.candidates  # «не стоит выбирать Б»
            elif next_kind not in ("approval", "addition") and clause.tokens[number + 1][0] not in ("так", "то"):
                text = clause.text[clause.tokens[number].end() :]
                targets = self.mention_in(Clause(text, tokens_of(text), clause.kinds[number + 1 :]))
                if targets.first:
                    return targets.candidates  # «не Б», «а не мост»
                continue
            if mention.candidates:
                return mention.candidates
            if following is not None and clause.sign in _DASHES and _GIVING.isdisjoint(following.kinds):
                below = self.mention_in(following).candidates
                if below and word not in _NO:
                    return below  # «не подходят: Б, В»
            if self.last:
                return self.last
            if "" in clause.kinds[:number] or "others" in clause.kinds or self.says_more:
                return frozenset()
            return self.before or self.given
        return None
