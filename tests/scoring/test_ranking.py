"""Options ranked by log-likelihood: scores of known rankings, chance levels, lengths and distractors."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Callable, Mapping
from statistics import fmean, stdev
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mera_ru_tasks.data.benchmarks import BENCHMARKS, ENANTIOSEMY, RIDDLES_CLOSED, RIDDLES_OPEN, RUSSIAN_REGIONS
from mera_ru_tasks.data.load import load
from mera_ru_tasks.paths import sample_folder
from mera_ru_tasks.scoring.metrics import METRICS, group_mean, total_ratio
from mera_ru_tasks.scoring.ranking import (
    DELIMITER,
    DISTRACTORS,
    Option,
    accepted,
    draw_distractors,
    is_form_of,
    options_of,
    score_ranking,
)
from tests.support.known_scores import RANKING_CHANCE

Doc = Mapping[str, Any]

SEVERAL = {"choices": "АБВГДЕ", "max_choices": 6, "with_phrase": False}
ONE = {"choices": "АБВГ", "max_choices": 1, "with_phrase": True}
PHRASE = {"choices": "", "max_choices": 0, "with_phrase": False}


def document(answer_format: Mapping[str, Any], outputs: str, *, texts: str = "abcdef", **meta: Any) -> dict[str, Any]:
    inputs = {f"option_{name}": text for name, text in zip("abcdef", texts, strict=False)}
    return {"outputs": outputs, "answer_format": answer_format, "inputs": inputs, "meta": {"id": 1, **meta}}


# --- known rankings ---------------------------------------------------------------------------------------------------

KNOWN = {
    "all right options first": (SEVERAL, "А; Б", {"type": 1}, [-1, -2, -3, -4, -5, -6], {"auc": 1, "top1": 1}),
    "all right options last": (SEVERAL, "Д; Е", {"type": 1}, [-1, -2, -3, -4, -5, -6], {"auc": 0, "top1": 0}),
    "reversed for what does not fit": (SEVERAL, "А; Б", {"type": 2}, [-1, -2, -3, -4, -5, -6], {"auc": 0, "top1": 0}),
    "reversed for definitions": (SEVERAL, "Д; Е", {"type": 4}, [-1, -2, -3, -4, -5, -6], {"auc": 1, "top1": 1}),
    "one pair of four in the wrong order": (
        SEVERAL, "А; В; Г; Д; Е", {"type": 1}, [-1, -3, -2, -4, -5, -6], {"auc": 2 / 5, "top1": 1},
    ),
    "a tie counts half": (SEVERAL, "А; Б; В", {"type": 3}, [-1] * 6, {"auc": 1 / 2, "top1": 1 / 2}),
    "no pair": (SEVERAL, "А; Б; В; Г; Д; Е", {"type": 1}, [-1] * 6, {"top1": 1}),
    "one letter": (
        ONE, "Б; лужа", {}, [-4, -1, -2, -3, -1, -2, -3, -4], {"cloze_acc": 1, "letter_acc": 0},
    ),
    "two letters tie": (
        ONE, "Б; лужа", {}, [-1, -2, -2, -3, -1, -1, -3, -4], {"cloze_acc": 0, "letter_acc": 1 / 2},
    ),
    "a group": (
        ONE, "А", {"group_id": 7, "group_size": 3}, [-1, -2, -3, -4] * 2,
        {"cloze_acc": 1, "letter_acc": 1, "group_cloze_acc_bytes": (7, 3, 1)},
    ),
    "a tie makes no group": (
        ONE, "А", {"group_id": 7, "group_size": 3}, [-1] * 8,
        {"cloze_acc": 1 / 4, "letter_acc": 1 / 4, "group_cloze_acc_bytes": (7, 3, 0)},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", KNOWN)
def test_known_rankings_have_known_scores(case: str) -> None:
    answer_format, outputs, meta, values, expected = KNOWN[case]
    scores = score_ranking(document(answer_format, outputs, **meta), values)
    group = scores.pop("group_cloze_acc_bytes", None)
    # All texts have the same length, so both rankings agree.
    expected = dict(expected)
    assert group == expected.pop("group_cloze_acc_bytes", None)
    for name in ("top1", "cloze_acc"):
        if name in expected:
            expected[f"{name}_bytes"] = expected[name]
    assert scores == pytest.approx(expected)


def test_a_riddle() -> None:
    doc = {**document(PHRASE, "лёд; первый снег"), "distractors": ["луна", "мост"]}
    assert [option.text for option in options_of(doc)] == ["лёд", "первый снег", "луна", "мост"]
    sizes = [len(f" {text}".encode()) for text in ("лёд", "первый снег", "луна", "мост")]
    assert sizes == [7, 22, 9, 9]
    scores = score_ranking(doc, [-7.0, -11.0, -8.0, -20.0])
    assert scores["acc"] == 1 and scores["acc_bytes"] == 0, "-7/7 is below -8/9"
    assert scores["bits_per_byte"] == pytest.approx((11 / math.log(2), 22)), "the second answer is the most likely"
    without = score_ranking(doc, [-7.0, -11.0, -8.0, -20.0], delimiter="")
    assert without["bits_per_byte"][1] == 21


def test_bits_per_byte_are_the_total_bits_over_the_total_bytes() -> None:
    assert total_ratio([(10.0, 5), (1.0, 20)]) == pytest.approx(11 / 25)
    assert math.isnan(total_ratio([]))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_value_that_is_not_finite_is_no_score(value: float) -> None:
    assert score_ranking(document(SEVERAL, "А", type=1), [-1, -2, value, -4, -5, -6]) == {}


# --- complete data ----------------------------------------------------------------------------------------------------


def sample(name: str) -> list[dict[str, Any]]:
    docs = list(load(BENCHMARKS[name], data=sample_folder())["test"])
    if name.startswith("riddles"):
        docs = [{**doc, "distractors": drawn} for doc, drawn in zip(docs, draw_distractors(docs), strict=True)]
    return docs


DOCS = {name: sample(name) for name in (ENANTIOSEMY.name, RIDDLES_CLOSED.name, RUSSIAN_REGIONS.name)}


def levels(value: Callable[[Option], float], size: int = 60) -> dict[str, float]:
    """Return the value of each metric for the first `size` documents of each of the three sample benchmarks."""
    parts: dict[str, list[Any]] = defaultdict(list)
    for docs in DOCS.values():
        for doc in docs[:size]:
            for metric, part in score_ranking(doc, [value(option) for option in options_of(doc)]).items():
                parts[metric].append(part)
    put_together = {
        name: group_mean if METRICS[name].grouped else total_ratio if METRICS[name].ratio else fmean for name in parts
    }
    return {name: put_together[name](values) for name, values in parts.items()}


def top1_chance(size: int) -> float:
    """Return the mean share of correct options, which is the probability that a random option is correct."""
    return fmean(fmean(option.right for option in options_of(doc)) for doc in DOCS[ENANTIOSEMY.name][:size])


def test_a_random_ranker_is_at_chance_in_every_metric() -> None:
    seen: dict[str, list[float]] = defaultdict(list)
    for seed in range(200):
        draw = random.Random(seed).random
        # A model that is random by bytes and one that is random by texts are at the chance level of different metrics.
        by_bytes = levels(lambda option, draw=draw: -draw() * len(f" {option.text}".encode()), 15)
        whole = levels(lambda option, draw=draw: -draw(), 15)
        for name in whole:
            seen[name].append((by_bytes if name.endswith("_bytes") or name == "auc" else whole)[name])
    for name, chance in {**RANKING_CHANCE, **dict.fromkeys(("top1", "top1_bytes"), top1_chance(15))}.items():
        error = stdev(seen[name]) / math.sqrt(len(seen[name]))
        assert abs(fmean(seen[name]) - chance) < 4 * error, name
        assert 0 < error < 0.02


def test_a_constant_for_each_byte_is_at_chance_in_the_primary_metrics() -> None:
    found = levels(lambda option: -0.7 * len((DELIMITER + option.text).encode()))
    assert found["auc"] == pytest.approx(1 / 2)
    assert found["top1_bytes"] == pytest.approx(top1_chance(60))
    assert found["cloze_acc_bytes"] == pytest.approx(1 / 4)
    assert found["acc_bytes"] == pytest.approx(1 / 10)
    assert found["bits_per_byte"] == pytest.approx(0.7 / math.log(2))
    assert found["cloze_acc"] != pytest.approx(1 / 4), "raw values prefer short options"


def test_a_perfect_and_an_inverted_ranker() -> None:
    best, worst = (levels(lambda option, sign=sign: -1.0 - sign * option.right) for sign in (-0.5, 0.5))
    for name in RANKING_CHANCE:
        if name not in ("auc", "acc_bytes", "cloze_acc_bytes"):  # which divide by bytes
            assert (best[name], worst[name]) == (1, 0), name


@given(st.integers(min_value=0, max_value=59), st.randoms(use_true_random=False))
def test_the_order_of_options_decides_nothing(number: int, draw: random.Random) -> None:
    doc = DOCS[ENANTIOSEMY.name][number]
    letters, values = doc["answer_format"]["choices"], [-draw.random() for _ in range(6)]
    order = draw.sample(range(6), 6)
    reference = [letters[order.index(letters.index(letter))] for letter in doc["outputs"].split("; ")]
    texts = [doc["inputs"][f"option_{'abcdef'[place]}"] for place in order]
    other = {
        **doc,
        "outputs": "; ".join(sorted(reference)),
        "inputs": {**doc["inputs"], **{f"option_{name}": text for name, text in zip("abcdef", texts, strict=True)}},
    }
    assert score_ranking(other, [values[place] for place in order]) == pytest.approx(score_ranking(doc, values))


# --- distractors ------------------------------------------------------------------------------------------------------


def riddle(answers: str, question: str = "Что это?") -> dict[str, Any]:
    return {**document(PHRASE, answers), "inputs": {"question": question}}


@pytest.mark.parametrize("benchmark", [RIDDLES_CLOSED, RIDDLES_OPEN], ids=lambda each: each.name)
def test_each_shipped_riddle_has_nine_distractors_that_are_no_answer(benchmark: Any) -> None:
    docs = list(load(benchmark, data=sample_folder())["test"])
    firsts = {accepted(doc)[0] for doc in docs}
    for doc, drawn in zip(docs, draw_distractors(docs), strict=True):
        assert len(set(drawn)) == DISTRACTORS and set(drawn) <= firsts
        for one in drawn:
            assert not any(is_form_of(one, answer) for answer in accepted(doc))
            assert sum(is_form_of(one, other) for other in drawn) == 1


FORMS = [
    ("снег", "Снег"), ("пчёлы", "пчелы"), ("пчёлы", "пчела"), ("курьер-доставщик", "Курьер доставщик"),
    ("курьер-доставщик", "курьердоставщик"), ("снег", "первый снег"), ("«Снег»", "снег."), ("сне́г", "снег"),
    ("?!", "снег"), ("дорога", "дорогами"), ("Cнег", "снег"),
]  # fmt: skip
DIFFERENT = [("снег", "лёд"), ("лук", "луг"), ("кот", "кит"), ("дорога", "дорожка"), ("море", "мороз")]


@pytest.mark.parametrize(("one", "other"), FORMS)
def test_forms_of_one_answer(one: str, other: str) -> None:
    assert is_form_of(one, other) and is_form_of(other, one)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_different_answers(one: str, other: str) -> None:
    assert not is_form_of(one, other) and not is_form_of(other, one)


WORDS = st.sampled_from(
    ["лёд", "лед", "Лёд", "снег", "Снег-снег", "снег снег", "первый снег", "луна", "мост", "кит", "-"]
)


@given(st.lists(st.lists(WORDS, min_size=1, max_size=3), min_size=1, max_size=12))
def test_no_random_data_make_an_answer_a_distractor(answers: list[list[str]]) -> None:
    docs = [riddle("; ".join(each), f"Вопрос {number}") for number, each in enumerate(answers)]
    for doc, drawn in zip(docs, draw_distractors(docs), strict=True):
        assert len(drawn) <= DISTRACTORS
        assert not any(is_form_of(one, answer) for one in drawn for answer in accepted(doc))


def test_the_draw_is_the_same_on_every_machine_and_in_every_order() -> None:
    docs = list(load(RIDDLES_CLOSED, data=sample_folder())["test"])
    drawn = draw_distractors(docs)
    assert accepted(docs[0])[0] == "Луна"
    assert drawn[0] == "Штопор;Роутер;Вулкан;Пароль;Осенние листья;Чеснок;Дирижёр;Принтер;Локоть".split(";")
    assert draw_distractors(docs[::-1])[::-1] == drawn


def test_other_riddles_fill_up_only_what_is_missing() -> None:
    docs = [riddle("лёд", "1"), riddle("луна", "2"), riddle("мост", "3")]
    more = [riddle(word, word) for word in "сито ковёр лампа гриб пила окно игла ведро ключ".split()]
    [first, *_] = draw_distractors(docs, more)
    assert set(first[:2]) == {"луна", "мост"}
    assert len(first) == DISTRACTORS
    assert draw_distractors(docs) == [first[:2], *draw_distractors(docs)[1:]]
