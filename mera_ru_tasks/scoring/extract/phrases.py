"""Step 4 of answer extraction, for riddles and language units: find the word or phrase that is the answer."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from mera_ru_tasks.scoring.extract import clauses
from mera_ru_tasks.scoring.extract.clauses import Clause, Mention, kind_of, kinds_of, tokens_of
from mera_ru_tasks.scoring.extract.options import Answer, is_doubtful, letters_at_head, may_follow
from mera_ru_tasks.scoring.normalize import WORD, fold, in_cyrillic

# The maximum number of words in a phrase at the start of a text, in a name in a clause, and in a unit before a letter.
_MAX_WORDS, _MAX_NAME_WORDS, _MAX_UNIT_WORDS = 8, 4, 3
_UNIT_NOUN = re.compile(r"^(?:слов|единиц)[оа]\b[\s:—–-]*", re.IGNORECASE)
_UNIT_SIGNS = " \t\"')]}>.:;,/|=(—–-"
_REVERSE = re.compile(r"(?P<unit>[^;,(\[—–?]+?)[ \"]{0,3}[;,(\[—–-][ \"]{0,3}(?:вариант )?(?P<letter>[А-ЯA-Z])[^\w?]*")
_NO_ANSWER = re.compile(
    r"(?:не знаю|не могу|не уверена?|затрудняюсь|неизвестно|нет|ответа нет|отсутствует|(?:none|null|n/a)$)\b"
)
# The endings of verbs, which do not name things.
_VERB = re.compile(
    r".*(?:[аеиуюя]т|.л[аои]?|ть)с[яь]$|.*(?:[аяую]ет|.[аяую]ют|ят|ите(?:сь)?|[ая]йте(?:сь)?)$|.{3,}(?:ить|еть|[ыо]вать|нять|[рзсд]ать)$"
)
_VERB_IN_PHRASE = re.compile(r".*(?:[еиуюая]т|[аеиоуыя]л[аои]?|ить|ать|.{2}ен)$")
_ADVERB = re.compile(r".*(?:[иоы]чн|[ея]сн|идн|ожн|ельн|енн|анн|ивн|[ршжм]ен|.{5}[тл]ен|ан|удн|чив)о$")
_PARTICIPLE = re.compile(r".*(?:[уюая]щ|вш|[аеия]нн|[еи]м)(?:ий|ая|ее|ие|ый|ое|ые)(?:ся)?$")
# The endings of cases other than the nominative.
_OBLIQUE = re.compile(r".*(?:[ое]го|[ое]му|[иы]х|[иы]ми?|[уюи]ю|[ая]ми|[ая]х|[^е]у|.{4}[оеая]м)$")
_NO_VOWEL = re.compile(r"[а-я](?:[бвгджзклмнпрстфхцчшщ]*)$|.{5,}ен$")
_ADJECTIVE = re.compile(r".*(?:ый|ая|яя|ые|ое|ую|ого|ым)$")
# The kinds of words that do not occur in clauses that mention a candidate.
_NOT_NAMING = frozenset({"topic", "pronoun", "reason", "closing"})
_BREAK = re.compile(
    r" (?=(?:потому|поскольку|так как)\b)| [—–-]+\s|:\s|[?。！？…\n()\[\]]+|\.(?:\.+|(?<=[^\W_][^\W_]\.)(?=\s|$)"
    r"|(?<=[^\w\s]\.)(?=\s|$))|!(?=\s|$)|(?P<list>[,;/]+)"
)
LEADING = frozenset({"lead", "addition", "turn", "speaker"})
_HEADING = LEADING | {"choice", "approval"}
_THIS = re.compile(r"\W*(?:это|этот|эта|же|it)\W*", re.IGNORECASE)


def phrase_of_lines(lines: Sequence[str]) -> Answer:
    """Extract a word or phrase, and the alternatives that are listed after it."""
    text = clauses.BULLET.sub("", lines[0])
    separator = "; " if text != lines[0] else "\n"
    text = separator.join([text, *(clauses.BULLET.sub("", line) for line in lines[1:])])
    phrase, rest = phrase_at_head(text)
    if not phrase or (rest.startswith(("?", "..", "…")) and WORD.search(rest)):
        return Answer([], code="unclear")
    return Answer([], rest + "".join(clauses.MARK.findall(lines[0])), phrase=phrase)


def letter_and_unit_of_lines(lines: Sequence[str], choices: str) -> Answer:
    """Extract `letter; unit`. If neither this line nor the next contains a unit, extract only the letter."""
    line, below = clauses.BULLET.sub("", lines[0]), list(lines[1:])
    run = letters_at_head(line, choices)
    reverse = _REVERSE.fullmatch(line) if run.code == "unclear" else None  # «лужа; Б», «лужа (вариант Б)»
    if reverse is not None and len(tokens_of(reverse["unit"])) <= _MAX_UNIT_WORDS and not is_sentence(reverse["unit"]):
        run = letters_at_head(reverse["letter"], choices)
        return run._replace(rest="\n".join(below), phrase=phrase_at_head(line)[0])
    if not run.letters or is_doubtful(run.rest):
        return Answer([], code="unclear")
    unit, rest = "", run.rest
    if WORD.search(rest):
        text = rest.lstrip(_UNIT_SIGNS)
        phrase, behind = phrase_at_head(_UNIT_NOUN.sub("", text, count=1))
        if phrase and next(kinds_of(text), "") in ("", "choice") and not is_sentence(phrase):
            unit, rest = phrase, behind
        elif not may_follow(run.letters, rest):
            return Answer([], code="unclear")
    else:
        number = next((number for number, line in enumerate(below) if line), None)
        next_line = clauses.BULLET.sub("", below[number]) if number is not None else ""
        if number is not None and letters_at_head(next_line, choices).code == "unclear":
            unit = standalone_phrase(_UNIT_NOUN.sub("", next_line.lstrip(_UNIT_SIGNS), count=1))
            below = below[number + 1 :] if unit else below
    return Answer(run.letters, "\n".join([rest, *below]), phrase=unit)


def standalone_phrase(text: str) -> str:
    """Return the phrase if the text contains nothing else, except for words such as «скорее всего» or «это»."""
    phrase, rest = phrase_at_head(text)
    words, is_led = len(tokens_of(phrase)), len(tokens_of(phrase)) < len(tokens_of(text))
    is_name = not is_sentence(phrase) and (words < 2 or not any(map(_is_verb, phrase.split())))
    most = 3 if is_led else 1 if text.rstrip("\"' )]")[-1:] in (".", "!", "?") else 4
    return phrase if words <= most and phrase and not WORD.search(rest) and is_name else ""


def phrase_at_head(text: str) -> tuple[str, str]:
    """Split a text into the phrase at its start, in lower case or empty, and the rest.

    Expressions of certainty («скорее всего,»), «это» and headings («отгадка —») before the phrase are removed.
    Alternatives («метель, вьюга») stay in the phrase. Scoring decides whether all of them are accepted.
    """
    if (word := text.strip('"')).isalpha():
        return _phrase(word), ""  # the most common case
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
    """Return True if the words after a separator are an alternative name or, after `;`, a description."""
    words = [token[0].lower() for token in tokens if not clauses.MARK.match(token[0])]
    kinds = {kind_of(word) for word in words}
    is_name = bool(words) and (_is_name(words) or (sign == ";" and all(map(_ADJECTIVE.match, words))))
    return len(words) <= _MAX_NAME_WORDS and kinds <= {"", "or", "link", "number"} and is_name


def _is_name(words: list[str]) -> bool:
    """Return True if the words may be the name of a thing, and not a description or a statement."""
    if len(words) == 1 and _NO_VOWEL.match(words[0]):
        return False
    if clauses.PREPOSITION.match(words[0]) or _PARTICIPLE.match(words[0]) or any(map(_VERB.match, words)):
        return False
    if len(words) > 1 and any(map(_VERB_IN_PHRASE.match, words)):
        return False
    return not all(_ADJECTIVE.match(word) or _ADVERB.match(word) or word in ("и", "а") for word in words)


def _without_lead(text: str) -> str:
    """Remove expressions of certainty, «это» and «слово» before a quotation from the start of a phrase."""
    while (word := WORD.search(text)) is not None and WORD.search(text, word.end()):
        is_noun = kind_of(word[0]) == "choice" and text[word.end() :].lstrip().startswith('"')
        if not is_noun and kind_of(word[0]) not in LEADING and not _THIS.fullmatch(word[0]):
            break
        text = text[word.end() :]
    return text


def _phrase(text: str) -> str:
    """Return the normalized text from the first to the last word, or an empty string if that cannot be an answer."""
    words = list(WORD.finditer(text))
    if not words:
        return ""
    text = text[words[0].start() : words[-1].end()].replace('"', "")
    phrase = " ".join(in_cyrillic(text).lower().split())
    phrase = re.sub(r"[\s;]*;[\s;]*", "; ", phrase) if ";" in phrase else phrase
    return "" if phrase.count(" ") >= _MAX_WORDS or _NO_ANSWER.match(phrase) else phrase


def is_sentence(text: str) -> bool:
    """Return True if the text contains words that occur in sentences, but not in names of things."""
    return any(kind not in ("", "link", "or", "choice") for kind in kinds_of(text))


def phrase_mention(clause: Clause, given: frozenset[str]) -> Mention:
    """Return the name of a thing that a clause mentions: of several, the one after «подходит», or at the start."""
    kinds = clause.kinds
    content = [not kind and len(token[0]) > 1 for kind, token in zip(kinds, clause.tokens, strict=True)]
    runs = [[*run] for is_content, run in itertools.groupby(range(len(kinds)), content.__getitem__) if is_content]
    named = {number: name for run in runs if (name := _name_in(clause, run)) for number in name[:1]}
    same = {key: run[0] for run in runs if (key := _key(clause, run)) in given}
    if same:
        others = [_key(clause, name) for name in named.values()] if not {"or", "turn"}.isdisjoint(kinds) else ()
        return Mention(frozenset(same).union(others), True, number=min(same.values()))
    if "denial" in kinds or "negation" in kinds:
        return Mention(frozenset(_key(clause, name) for name in named.values()), number=min(named, default=0))
    approved = [name for number, name in named.items() if _is_approved(clause, number)]
    blocked = _NOT_NAMING.intersection(kinds)
    if blocked and not (approved and blocked <= {"topic", "pronoun"}):
        return Mention()
    names = approved[-1:] if len(named) > 1 else [*named.values()]
    name = names[0] if names else named.get(0, [])
    if not name:
        return Mention()
    is_alone = runs == [name] and len(name) == 1 and {"", "lead", "link", "speaker"}.issuperset(kinds)
    return Mention(frozenset({_key(clause, name)}), True, is_alone, name[0])


def _key(clause: Clause, run: Sequence[int]) -> str:
    return fold(clause.text[clause.tokens[run[0]].start() : clause.tokens[run[-1]].end()])


def _is_approved(clause: Clause, number: int) -> bool:
    """Return True if a word such as «подходит», «беру» or «вариант» precedes a phrase."""
    for token, kind in zip(clause.tokens[:number][::-1], clause.kinds[:number][::-1], strict=True):
        if kind not in ("link", "narrowing", "addition"):
            return kind in ("approval", "speaker", "choosing") or clauses.ANSWER.match(token[0].lower()) is not None
    return False


def _name_in(clause: Clause, run: list[int]) -> list[int]:
    """Return the indices of words that may be the name of a thing, without the verbs and adverbs around them."""
    before = clause.tokens[run[0] - 1][0].lower() if run[0] else ""
    if clauses.PREPOSITION.match(before) or (before in ("на", "к", "за") and clauses.GIVING.isdisjoint(clause.kinds)):
        return []
    words = [clause.tokens[number][0].lower().replace("ё", "е") for number in run]
    begin, end = 0, len(run)
    least = 1 if before == "я" else 2  # «я дал …»
    while end - begin >= least and (_is_verb(words[begin]) or words[begin].endswith(("ко", "но"))):
        begin += 1
    while end - begin > 1 and _is_verb(words[end - 1]):
        end -= 1
    words = words[begin:end]
    may_name = 0 < len(words) <= _MAX_NAME_WORDS and _is_name(words) and not any(map(_OBLIQUE.match, words))
    return run[begin:end] if may_name else []


def _is_verb(word: str) -> bool:
    """Return True if a word in a phrase is probably a verb or an adverb."""
    return any(pattern.match(word) for pattern in (_VERB, _VERB_IN_PHRASE, _ADVERB))
