"""Properties of every extraction, for any response."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mera_ru_tasks.scoring.extract import after_announcement, drop_reasoning
from mera_ru_tasks.scoring.extract.preparation import clean
from mera_ru_tasks.scoring.score import score_flexible, score_strict
from tests.support.extraction_cases import FORMATS, ONE, PHRASE, SEVERAL, UNIT, document, flexible, read, strict
from tests.support.properties import at_least
from tests.support.prose import prose

any_text = st.text(st.characters(exclude_categories=()))  # with surrogates and control characters
# Parts of responses, so that random responses reach every rule.
pieces = st.sampled_from(
    [
        *"АБВГДЕЖабвгдеABEИ1 \n.,;:!?()[]{}«»\"'*_`#<>|/\\-—–…✅❌\u00a0\u200b\u0301",
        *("Ответ:", "ответ", "**Ответ**:", "Ответ\n", "\n\n", "- ", "1. ", "А; Е", "Б. ", "Б; лужа", " и ", "или"),
        *("потому что ", "вариант ", "не ", "лужа", "это ", "слово ", r"\boxed{", "</s>", "<|im_end|>"),
    ]
)
marks = st.sampled_from(["<think>", "</think>", "[THINK]", "[/THINK]", "<|channel|>final<|message|>", "assistantfinal"])
collages = st.lists(pieces | any_text, max_size=12).map("".join)
responses = any_text | collages | st.lists(pieces | marks | any_text, max_size=12).map("".join)
formats = st.sampled_from(FORMATS)
references = st.sampled_from(
    ["А; Е", "Б", "А; Б; В", "Б; лужа", "В; оконная рама", "лужа", "это слово; лужа", "вариант Б"]
)


@given(responses, formats)
@at_least(500)
def test_every_text_is_read_without_an_exception_and_in_canonical_form(response, answer_format):
    extraction = read(response, answer_format)
    assert extraction == extraction.strip()
    if not answer_format.choices or not extraction:
        return
    parts = extraction.split("; ")
    found = parts[:1] if answer_format.with_phrase else parts
    assert all(letter in answer_format.choices and len(letter) == 1 for letter in found)
    assert found == sorted(set(found))
    assert len(found) <= answer_format.max_choices


@given(responses)
def test_every_step_takes_every_text(text):
    drop_reasoning(text)
    after_announcement(text)
    clean(text)


@given(collages, references, formats, st.sampled_from(["", "<think>", "[THINK]Ответ: Е", "раз</think>"]))
@at_least(1000)
def test_flexible_is_never_below_strict_where_reasoning_is_closed_or_absent(response, reference, answer_format, before):
    closing = "[/THINK]" if "[" in before else "</think>" if before == "<think>" else ""
    response = before + closing + response
    exact = strict(answer_format, reference, response)["exact_match"]
    scores = flexible(answer_format, reference, response)
    for metric in {"exact_match", "answered", "f1", "letter_match"} & set(scores):
        assert scores[metric] >= exact


# Answers in canonical form.
letters = st.lists(st.sampled_from(SEVERAL.choices), min_size=1, unique=True).map(sorted).map("; ".join)
letter = st.sampled_from(ONE.choices)
words = st.sampled_from(
    "ёж снежинка самовар оконная рама дорога иван-да-марья тень пёстрый платок печная труба".split()
)
phrases = st.lists(words, min_size=1, max_size=3).map(" ".join)
units = st.lists(phrases, min_size=1, max_size=2).map("; ".join)
answers = (
    st.tuples(st.just(SEVERAL), letters)
    | st.tuples(st.just(ONE), letter)
    | st.tuples(st.just(PHRASE), phrases)
    | st.tuples(st.just(UNIT), st.tuples(letter, units).map("; ".join))
)


@given(answers)
def test_a_canonical_answer_is_read_as_it_is(answer):
    answer_format, canonical = answer
    assert read(canonical, answer_format) == canonical
    assert read(f"Ответ: {canonical}", answer_format) == canonical
    assert flexible(answer_format, canonical, canonical)["exact_match"] == 1


MARKUP = [
    *(
        "**{}**",
        "*{}*",
        "__{}__",
        "_{}_",
        "***{}***",
        "`{}`",
        "```{}```",
        "```\n{}\n```",
        "\n```text\n{}\n```",
    ),
    *("«{}»", '"{}"', "'{}'", "„{}“", "“{}”", "‹{}›", "**«{}»**"),
    *("({})", "[{}]", "{{{}}}", "<{}>", "[«{}»]", "(**{}**)"),
    *(r"$\boxed{{{}}}$", r"\boxed{{\text{{{}}}}}", r"\( {} \)", r"\textbf{{{}}}"),
    *("<b>{}</b>", "<strong>{}</strong>", '<span class="a">{}</span>', "<p>{}</p>", "{}<br>"),
    *("{}</s>", "{}<|im_end|>", "{}<|eot_id|>\n", "{}<end_of_turn>"),
    *(" {} ", "\t{}\n", "\n\n{}", "{}\r\n", "> {}", "\n> {}", "\n- {}", "\ufeff{}", "\u200b{}\u200b", "{} ✅"),
]
WRAPPINGS = [
    *MARKUP,
    *("{}.", "{};", "{}\n\nПояснение: так велит текст.", "{}\n\nОстальное не годится.", "вариант {}", "это {}"),
]
MARKERS = [
    *("Ответ: ", "ответ: ", "ОТВЕТ:", "Ответ :\u00a0", "**Ответ:** ", "**Ответ**: ", "### Ответ\n"),
    *("Итоговый ответ — ", "Правильный ответ: ", "Ответ на вопрос: "),
]


@given(answers, st.sampled_from(WRAPPINGS), st.sampled_from(MARKERS), st.sampled_from(["", "<think>Ответ: В</think>"]))
@at_least(1000)
def test_wrapping_a_readable_answer_changes_nothing(answer, wrapping, marker, reasoning):
    answer_format, canonical = answer
    if wrapping == "вариант {}" and not answer_format.choices:
        return
    assert read(reasoning + marker + wrapping.format(canonical), answer_format) == canonical


@given(answers, st.sampled_from(MARKUP))
@at_least(500)
def test_wrapping_a_bare_answer_changes_nothing(answer, wrapping):
    answer_format, canonical = answer
    assert read(wrapping.format(canonical), answer_format) == canonical


SAME = {"А": "АAΑа", "В": "ВBΒв", "Е": "ЕEΕе", "Г": "ГΓг"}  # look-alikes and lower case
SEPARATORS = ["; ", ";", ", ", ",", " и ", "/", " / ", " ", "\n", "; и ", ", а также ", " & ", ";\u00a0"]


@given(st.lists(st.sampled_from(SEVERAL.choices), min_size=1, max_size=8), st.sampled_from(SEPARATORS), st.data())
@at_least(1000)
def test_letters_are_a_set_in_whatever_order_and_spelling(found, separator, data):
    spelled = [data.draw(st.sampled_from(SAME.get(letter, letter + letter.lower()))) for letter in found]
    marker = data.draw(st.sampled_from(MARKERS))
    assert read(marker + separator.join(spelled), SEVERAL) == "; ".join(sorted(set(found)))


@pytest.mark.parametrize("answer_format", FORMATS)
def test_prose_holds_no_answer(answer_format):
    rng = random.Random(20)
    texts = [prose(rng) for _ in range(5000)]
    read_as_answers = [text for text in texts if read(text, answer_format)]
    assert len(read_as_answers) <= 5, read_as_answers


def test_a_long_first_line_is_no_answer():
    for answer_format in FORMATS:
        assert read("Ответ: А. " + "слово " * 2000, answer_format) == ""
        assert read("Ответ: А" + " " * 5000 + "слово", answer_format) == ""
        assert read("А; " * 3000, answer_format) == ""


ONLY_B = {SEVERAL: "Б", ONE: "Б", UNIT: "Б", PHRASE: "б"}
# A megabyte of each text, and the extracted answer by format. The default is no answer.
HOSTILE = {
    "spaces": ("Ответ:" + " " * 1_000_000 + "Б", ONLY_B),
    "lines": ("Ответ:" + "\n" * 1_000_000 + "Б", ONLY_B),
    "closed blocks": ("<think>Ответ: А</think>" * 45_000 + "Ответ: Б", ONLY_B),
    "open blocks": ("<think>" * 150_000, {}),
    "brackets": ("Ответ: " + "([{" * 333_333, {}),
    "markers": ("Ответ:" * 170_000, {}),
    "marker's words": ("ответ " * 170_000, {}),
    "stars": ("Ответ: " + "*" * 1_000_000 + "Б", {}),
    "letters": ("Ответ: " + "А " * 500_000, {}),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_megabyte_is_read_like_anything_else(name):
    response, expected = HOSTILE[name]
    for answer_format in FORMATS:
        assert read(response, answer_format) == expected.get(answer_format, "")


def test_no_reference_no_number():
    closed = document(SEVERAL, "")
    assert score_flexible(closed, "А", "А") == {}
    assert score_strict(closed, "А") == {}
