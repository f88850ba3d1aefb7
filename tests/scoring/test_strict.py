"""The leaderboard's rule: cases that follow from its wording, and an independent implementation."""

import json
import string
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mera_ru_tasks.data.benchmarks import PHRASE
from mera_ru_tasks.judge.questions import question_for
from mera_ru_tasks.scoring.normalize import normalize
from mera_ru_tasks.scoring.ranking import options_of
from mera_ru_tasks.scoring.score import score_response
from mera_ru_tasks.scoring.strict import accepted_answers, exact_match, exact_match_plain
from tests.support.properties import at_least

VECTORS = Path(__file__).parent / "vectors.jsonl"
DELETED = string.punctuation + "«»‹›„“”‟‘’‚‛—–‒―‐‑−…"


def by_the_rule(response: str, reference: str, *, phrase: bool) -> int:
    """Apply the rule step by step, without sharing any code."""

    def plain(text: str) -> str:
        kept = "".join(character for character in text.lower() if character not in DELETED)
        runs, run = [], ""
        for character in kept:  # runs of word characters, and every other character separately
            if character.isalnum() or character == "_":
                run += character
            else:
                runs += [run, character]
                run = ""
        runs.append(run)
        return " ".join("".join(" " if run in ("a", "an", "the") else run for run in runs).split())

    readings = [response.strip()]
    if "Ответ:" in response:
        after = response.split("Ответ:")[-1].strip()
        if after:
            readings.append(after)
    references = [plain(entry) for entry in (reference.split(";") if phrase else [reference])]
    return int(any(plain(reading) == entry for reading in readings for entry in references if entry))


def ours(response: str, reference: str, *, phrase: bool) -> int:
    return exact_match(response, accepted_answers(reference, is_list=phrase))


@pytest.mark.parametrize("line", VECTORS.read_text(encoding="utf-8").splitlines())
def test_vectors(line):
    vector = json.loads(line)
    phrase = vector["task"] == "riddles_closed"
    assert ours(vector["response"], vector["outputs"], phrase=phrase) == vector["strict"]
    assert by_the_rule(vector["response"], vector["outputs"], phrase=phrase) == vector["strict"]


@pytest.mark.parametrize(
    ("reference", "phrase", "response", "right"),
    [
        ("Б; Д", False, "Б; Д", 1),
        ("Б; Д", False, "  Ответ:   б д  \n", 1),
        ("Б; Д", False, "Ответ:\nБ\nД", 1),
        ("Б; Д", False, "Ответ: Д; Б", 0),
        ("Б; Д", False, "Ответ: БД", 0),
        ("БД", False, "Ответ: Б;Д", 1),
        ("Б", False, "Ответ: А\nОтвет: Б", 1),
        ("Б", False, "Ответ: Б\nОтвет: А", 0),
        ("Б", False, "Ответ: Б\nОтвет:", 0),
        ("Б", False, "Ответ : Б", 0),
        ("Б", False, "ответ: Б", 0),
        ("ответ б", False, "Ответ: Б", 1),  # the whole response is also a candidate
        ("сосна; ель", True, "Ответ: ель", 1),
        ("сосна; ель", True, "Ответ: сосна; ель", 0),
        ("сосна; ель", False, "Ответ: сосна; ель", 1),
        ("сосна", True, "Ответ: «Сосна»…", 1),
        ("кое-что", True, "кое‑что", 1),
        ("кое-что", True, "кое что", 0),
        ("the cat; cat", True, "Ответ: a cat", 1),
        ("the end", True, "Ответ: end", 1),
        ("theatre", True, "Ответ: atre", 0),
        ("", True, "", 0),
        (";", True, ";", 0),
        ("…", False, "Ответ: …", 0),
        ("the", True, "the", 0),
        ("", False, "Ответ:", 0),
        ("ёж", True, "еж", 0),
        ("дед мороз", True, "дед\u00a0мороз", 1),
        ("сосна", True, "сосна\u200b", 0),
        ("сосна", True, "со\u0301сна", 0),
        ("да", True, "Ответ: " + "!" * 100_000 + "да", 1),
    ],
)
def test_the_rule(reference, phrase, response, right):
    assert ours(response, reference, phrase=phrase) == right
    assert by_the_rule(response, reference, phrase=phrase) == right


def test_only_an_entry_with_a_word_is_an_answer_to_the_scores_the_ranking_and_the_judge():
    doc = {
        "instruction": "{question}", "inputs": {"question": "Бел, да не сахар."}, "outputs": "… ; снег;«»; первый снег",
        "meta": {"id": 1}, "answer_format": PHRASE.as_dict(), "distractors": ["лёд"],
    }  # fmt: skip
    assert [option.text for option in options_of(doc) if option.right] == ["снег", "первый снег"]
    assert question_for(doc, "иней").accepted == ("снег", "первый снег")
    assert score_response(doc, "Ответ: …").strict["exact_match"] == 0
    assert score_response(doc, "Ответ: Снег").strict["exact_match"] == 1


def test_several_entries_of_a_reference_without_empty_ones():
    assert accepted_answers("Сосна;; «Ель»; —", is_list=True) == ("сосна", "ель")
    assert accepted_answers("Б; лужа", is_list=False) == ("б лужа",)


any_text = st.text(st.characters(exclude_categories=()))
pieces = st.sampled_from(
    [
        "Ответ:",
        "ответ",
        "А",
        "б",
        " ",
        "\n",
        ";",
        "; ",
        ".",
        "«",
        "—",
        "_",
        "a",
        "an",
        "the",
        "The",
        "сосна",
        "İ",
        "\u0301",
        "№",
    ]
)
responses = any_text | st.lists(pieces | any_text, max_size=10).map("".join)
references = any_text | st.lists(pieces, max_size=5).map("".join)


@given(responses, references, st.booleans())
@at_least(1000)
def test_equals_an_independent_implementation(response, reference, phrase):
    assert ours(response, reference, phrase=phrase) == by_the_rule(response, reference, phrase=phrase)


@given(st.lists(pieces, max_size=6).map("".join), st.booleans())
@at_least(500)
def test_every_text_but_nothing_matches_itself(text, phrase):
    if not phrase or ";" not in text:
        assert ours(text, text, phrase=phrase) == int(bool(normalize(text)))
        assert ours(f"Ответ: {text}", text, phrase=phrase) == int(bool(normalize(text))) or "Ответ:" in text


@given(st.lists(st.sampled_from(["сосна", "ель", "Б"]), min_size=1, max_size=4), st.data())
def test_unchanged_by_what_the_rule_ignores(words, data):
    reference = " ".join(words)
    ignored = st.text(st.sampled_from(DELETED), max_size=3)
    spaces = st.text(st.sampled_from(" \t\n\u00a0"), min_size=1, max_size=3)
    response = "Ответ:"
    for word in words:
        cased = data.draw(st.sampled_from([word.lower(), word.upper(), word.title()]))
        response += data.draw(spaces) + data.draw(ignored) + cased + data.draw(ignored)
    assert ours(response, reference, phrase=True) == 1
    assert ours(response + "x", reference, phrase=True) == 0


@pytest.mark.parametrize(
    ("reference", "response", "plain", "normalized"),
    [
        ("лапша", "Ответ: лапша.", 0, 1), ("лапша", "Ответ:  Лапша \n", 1, 1), ("лапша", "лапша", 1, 1),
        ("Снег; Первый снег", "Ответ: первый снег", 1, 1), ("снег;лёд", "Ответ: ЛЁД", 1, 1),
        ("«Аврора»", "Ответ: Аврора", 0, 1), ("!", "Ответ: !", 1, 0), ("снег; ", "Ответ:", 0, 0), ("снег", "", 0, 0),
        ("лёд", "Ответ: лед", 0, 0),
    ],
)  # fmt: skip
def test_the_two_rules_for_riddles(reference: str, response: str, plain: int, normalized: int) -> None:
    assert exact_match_plain(response, reference) == plain
    assert exact_match(response, accepted_answers(reference, is_list=True)) == normalized
