r"""Steps 1 to 3 of answer extraction: drop the reasoning, find the announcement and clean the text after it.

An announcement is a noun such as «ответ», followed by a colon, a dash or a line end. If a response contains no
announcement, boxes (`\boxed{…}`) are used instead.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections import deque

from mera_ru_tasks.scoring.extract.clauses import kind_of
from mera_ru_tasks.scoring.normalize import WORD, lower, without_stress
from mera_ru_tasks.scoring.strict import MARKER

# The names of reasoning tags. DeepSeek, Qwen and most other models write <think>.
_TAGS = ("think", "thinking", "thought", "thoughts", "reasoning", "reflection", "analysis", "scratchpad", "seed:think")
_RUSSIAN_TAGS = ("рассуждение", "рассуждения", "размышление", "размышления", "мысли")
# The marks of reasoning: tags, and then the marks of Mistral, Kimi, OpenThinker, Cohere and MedGemma.
_MARKS = (
    *((f"<{tag}>", f"</{tag}>") for tag in (*_TAGS, *_RUSSIAN_TAGS)),
    ("[think]", "[/think]"),
    ("◁think▷", "◁/think▷"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|start_thinking|>", "<|end_thinking|>"),
    ("<unused94>", "<unused95>"),
)
_OPENING = tuple(opening for opening, _ in _MARKS)
_CLOSING = tuple(closing for _, closing in _MARKS)
# The maximum length of a mark at the end of a prompt, including trailing white space.
_LONGEST = 40
_CHANNEL = "<|channel|>"


def drop_reasoning(response: str) -> str:
    """Return the response without its reasoning.

    The text between the first opening mark and the last closing mark is dropped. If the first mark is a closing mark,
    the prompt contains the opening mark, and everything before the last closing mark is dropped. If the reasoning does
    not end, the result is empty. gpt-oss writes its responses in channels. Of these, the last `final` channel is
    returned.
    """
    text = _final_channel(response)
    if "<" not in text and "[" not in text and "◁" not in text:
        return text
    lowered = lower(text)
    end = max((at + len(mark) for mark in _CLOSING if (at := lowered.rfind(mark)) >= 0), default=0)
    if any(lowered.rfind(mark, end) >= 0 for mark in _OPENING):
        return ""
    if not end:
        return text
    first_closing = min(at for mark in _CLOSING if (at := lowered.find(mark)) >= 0)
    first_opening = min((at for mark in _OPENING if (at := lowered.find(mark, 0, first_closing)) >= 0), default=None)
    # An announcement before the reasoning also applies to the text after the reasoning.
    return text[end:] if first_opening is None else f"{text[:first_opening]}\n{text[end:]}"


def opening_mark(prompt: object) -> str:
    """Return the opening mark at the end of a rendered prompt, or an empty string if there is none.

    For example, DeepSeek-R1's chat template ends with `<think>`. Callers put the mark before the response, so that
    unfinished reasoning is recognized as reasoning.
    """
    if not isinstance(prompt, str):
        return ""  # messages for a chat API with an unknown template
    end = lower(prompt[-_LONGEST:].rstrip().removesuffix(MARKER)).rstrip()
    return next((mark for mark in _OPENING if end.endswith(mark)), "")


def _final_channel(text: str) -> str:
    if _CHANNEL in text:
        _, found, channel = text.rpartition(f"{_CHANNEL}final")
        _, _, message = channel.partition("<|message|>")
        ends = [at for end in ("<|end|>", "<|return|>", "<|start|>", _CHANNEL) if (at := message.find(end)) >= 0]
        return message[: min(ends, default=None)] if found else ""
    # The same format without special tokens: «analysisWe need …assistantfinalОтвет: Б».
    reasoning = text.removeprefix("analysis")
    if reasoning != text and ("assistantfinal" in reasoning or reasoning[:1].isalpha()):
        _, closed, message = reasoning.rpartition("assistantfinal")
        return message if closed else ""
    return text


# The nouns that announce an answer, in lower case and including look-alike letters. The search is fastest if each
# alternative starts with a letter. A separator or a single letter must follow one of the fields.
_FIELDS = ("вариант", "букв", "текст", "выбор")
_NOUN = re.compile(
    "о[тt][вb][еe][тt]|o[тt][вb][еe][тt]|отгадк|разгадк|answer|答案是?|"
    + "|".join(rf"{field}(?=[аы]?\W{{0,20}}(?:[:：—–=→|-]|\n|(?<=\W)[^\W\d_]\b))" for field in _FIELDS)
)
_ENDING = r"[аы]?(?![^\W_])"
_MARKUP = r"(?:</?\w{1,10}>|[ \t\r\u00a0*_~`\"'»”\])}]){0,12}?"
# «Ответ:», «**Ответ**:», «Ответ на загадку:», «"ответ":», «Ответ (буквы):»
_COLON = re.compile(_ENDING + r"(?P<about>(?:\([^()\n]*\)|[^\n:：.!?;,(]){0,60})[:：]")
# «Ответ — Б», «Ответ = Б», «| Ответ | Б |», «The answer is Б», and «Ответ» as a heading
_SIGN = re.compile(
    rf"{_ENDING}(?P<about>(?: [^\W\d_]+){{0,3}}?){_MARKUP}(?:[—–−=→|]|->|(?<=\s)-|\n|\b(?:is|are)\b:?(?! [a-z]{{2}}))"
)
# The markup around the noun, and the separators of the clauses before the noun.
_AROUND = "*_\"'«»”([{])}#>|`~- \t\u00a0"
_ASIDE = re.compile(r"</?[a-z][a-z0-9]{0,9}>|\([^()]*\)")
_CLAUSE_SIGN = re.compile(r"[\n.!?;:]")
_BOX = re.compile(r"\\boxed|<answer>|<ответ>")
# Kinds of words before the noun. After one of the first set, the noun does not announce an answer. One of the second
# set announces a second answer.
_NOT_GIVEN = frozenset({"denial", "condition", "seeming", "example"})
_SECOND = frozenset({"addition", "others"})
_FILLERS = frozenset({"lead", "speaker", "link", "approval", "choice", "topic", "turn"})
# The number of nouns to examine, starting from the last, and the lengths of the text to examine before and after each.
_TRIES, _BEFORE, _BEHIND = 200, 120, 80


def after_announcement(text: str) -> str | None:
    """Return the text after the last announcement, or None if there is no announcement.

    An announcement of a second answer («Другой ответ: …») does not replace an earlier announcement.
    """
    before, marker, behind = text.rpartition(MARKER)
    is_head = before[-_BEFORE:].rstrip(_AROUND)[-1:] in ("", "\n")
    if marker and is_head and not _NOUN.search(behind.lower()):
        return behind  # the most common case
    lowered = lower(text)
    second = None
    starts = (max(0, lowered.rfind("ответ")), 0)  # first from the last plain noun, then from the start
    for noun in (noun for start in starts for noun in reversed(deque(_NOUN.finditer(lowered, start), _TRIES))):
        before = lowered[max(0, noun.start() - _BEFORE) : noun.start()]
        end, is_second = _end_of(noun, before, lowered[noun.end() : noun.end() + _BEHIND])
        if end and not is_second:
            return text[noun.end() + end :]
        second = second or (text[noun.end() + end :] if end else None)
    # Without an announcement, use the boxes on the last line that contains boxes: `\\boxed{В} и \\boxed{Е}`.
    position = max(text.rfind(opening) for opening in ("\\boxed", "<answer>", "<ответ>"))
    box = _BOX.search(text, text.rfind("\n", 0, position) + 1) if position >= 0 else None
    return text[box.start() :] if box else second


def _end_of(noun: re.Match[str], before: str, behind: str) -> tuple[int, bool]:
    """Return the length of an announcement after its noun, or 0, and True if it announces a second answer."""
    if before[-1:].isalnum() and noun[0][0] != "答":
        return 0, False
    before = before.rstrip(_AROUND)
    sentence = "" if before[-1:] in ("", "\n") else _CLAUSE_SIGN.split(before + " ")[-1]
    clauses = [WORD.findall(clause) for clause in sentence.split(",")]
    kinds_before, kinds = [list(map(kind_of, words)) for words in ([], *clauses)][-2:]
    if any(kind_of(word) in _NOT_GIVEN for words in clauses for word in words) or "negation" in kinds:
        return 0, False
    if ("negation" in kinds_before and clauses[-1][:1] == ["что"]) or clauses[-1][-1:] in (["в"], ["на"]):
        return 0, False  # «Не думаю, что ответ: Е», «В ответ …»
    colon = _COLON.match(behind)
    if noun[0] in _FIELDS and kinds[-1:] not in (["approval"], ["lead"]) and (colon is None or kinds):
        return 0, False
    is_head = all(kind in _FILLERS or kind in _SECOND for kind in kinds) or kinds[-1:] == ["approval"]
    for match in (colon, _SIGN.match(behind) if is_head else None):
        if match and all(kind_of(word) in _FILLERS for word in WORD.findall(_ASIDE.sub("", match["about"]))):
            near = [word for word in clauses[-1][-3:] if kind_of(word) not in ("lead", "link")]
            return match.end(), near != [] and kind_of(near[-1]) in _SECOND and near[-2:-1] != ["наиболее"]
    return 0, False


# Patterns run only on text of at most twice this length. A longer first line contains no answer.
LIMIT = 2000

_SPECIAL_TOKEN = re.compile(
    r"""
    <[|｜][^<>|｜\n]{1,40}[|｜]>                    # <|im_end|>, <|eot_id|>, DeepSeek's <｜end▁of▁sentence｜>
    | </?s> | </?(?:bos|eos|pad|unk|eot|end)>
    | <(?:start|end)_of_turn>                       # Gemma
    | \[/?(?:INST|NL|EOS|BOS|SEP|PAD|UNK|CLS)\]     # Mistral, YandexGPT, encoders
    | <unused\d{1,3}> | <0x0A>
    | <br[ ]?/?> | </?(?:p|li|ul|ol|div|pre)>       # tags that end a line
    | <[|｜][^<>|｜\n]{0,40}$                       # one that generation cut off
    """,
    re.IGNORECASE | re.VERBOSE,
)
_TAG = re.compile(
    r"</?(?:[biu]|(?i:em|strong|span|code|answer|ответ|font|mark|sub|sup|big|small|h[1-6])(?:\s[^<>\n]{0,100})?)>"
)
_LATEX = re.compile(r"\\[A-Za-z]+|\\[^\w\n]|\$")
# Text that needs no cleaning. Most responses match.
_CLEAN = re.compile(r"[А-Яа-яЁёA-Za-z0-9 .,;:!?()\"—\n-]*")
_LINE_END = re.compile("\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f"
    "\ufeff\ufff9-\ufffd\U000e0000-\U000e007f]"
)
# Spaces that NFKC does not replace by plain spaces, and the mark that tokenizers write for a space.
_SPACE = re.compile("[\t\x1f\u1680\u2581]")
_SPACES = re.compile(" {2,}")
_QUOTE = re.compile("[«»‹›„“”‟″〝〞「」『』]")
_FENCE = re.compile(r"^ *```[A-Za-z]* *$", re.MULTILINE)
_STAR_BULLET = re.compile(r"^[ >]*[*+](?= )", re.MULTILINE)
_LINE_MARKUP = re.compile(r"^[ >]*(?:#{1,6}(?= )|>+) *", re.MULTILINE)
# The next field of a JSON object on one line.
_NEXT_KEY = re.compile(r',\s*(?="[^"\n]{1,40}"\s*:)')
_STRUCK = re.compile(r"~~[^~\n]{1,200}~~")
_EMPHASIS = re.compile(r"[*`]+|~~")
_CHECKED, _UNCHECKED = re.compile(r"\[[xXхХ]\](?= )"), re.compile(r"(?<=- )\[ \](?= )")
_SENTENCE_START = re.compile(r"[.!?\n]\s|$")
_UNDERSCORES = re.compile(r"(?<![^\W_])_+|_+(?![^\W_])")


def clean(text: str) -> str:
    r"""Return a text without markup, special tokens, invisible characters, struck-out text and stress marks.

    A long text is reduced to the lines within its first `LIMIT` characters and the sentences within its last `LIMIT`
    characters. If the first line is longer, the result is empty. Special tokens become line ends, bullets
    become `-`, quotes become `"`, spaces become plain spaces, and full-width or circled characters become plain
    characters.
    """
    piece = _without_middle(text.lstrip())
    piece = _QUOTE.sub('"', html.unescape(piece) if "&" in piece else piece)
    if "  " in piece or not _CLEAN.fullmatch(piece):
        piece = _without_markup(piece)
    return piece.rstrip()


def _without_markup(piece: str) -> str:
    piece = _LINE_END.sub("\n", without_stress(piece))
    piece = _without_middle(unicodedata.normalize("NFKC", piece))  # NFKC may turn one character into eighteen
    piece = _TAG.sub("", _SPECIAL_TOKEN.sub("\n", piece))
    piece = _STRUCK.sub("", _LATEX.sub(" ", _NEXT_KEY.sub("\n", piece)))
    piece = _CHECKED.sub("✅", _UNCHECKED.sub("❌", _INVISIBLE.sub("", piece)))
    piece = _SPACES.sub(" ", _SPACE.sub(" ", piece))
    piece = _LINE_MARKUP.sub("", _STAR_BULLET.sub("-", _FENCE.sub("", piece)))
    piece = _EMPHASIS.sub("", piece)
    return _UNDERSCORES.sub("", piece) if "_" in piece else piece


def _without_middle(text: str) -> str:
    """Keep whole lines from the start of a long text, and whole sentences from its end."""
    if len(text) <= 2 * LIMIT:
        return text
    first = text[: max(0, text.rfind("\n", 0, LIMIT + 1))]
    last = text[-LIMIT:]
    start = _SENTENCE_START.search(last)
    return f"{first}\n{last[start.end() if start else 0 :]}" if first else ""


def lines_of(text: str) -> list[str]:
    """Return the stripped lines of a cleaned text from the first word on. Lines without words become empty."""
    lines = [line.strip() if WORD.search(line) else "" for line in text.split("\n")]
    first = next((number for number, line in enumerate(lines) if line), len(lines))
    return lines[first:]
