"""What the model is shown, compared whole."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lm_eval.tasks import TaskManager
from rows import Row, data_folder, enantiosemy, region, riddle
from scripted import run

from mera_ru_tasks.errors import DataError
from mera_ru_tasks.harness import ShotsSampler
from mera_ru_tasks.paths import yaml_folder


def prompts(root: Path, task: str, **arguments: Any) -> list[str]:
    """The prompts that a run of one task sends, in the documents' order."""
    samples = run(None, [task], data=root, **arguments)["samples"][task]
    return [sample["arguments"][0][0] for sample in samples if sample["filter"] == "strict-match"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """One document and three shots of each benchmark."""
    data_folder(tmp_path, "enantiosemy", [enantiosemy(1, "")], [enantiosemy(2, "Б"), enantiosemy(3), enantiosemy(4)])
    data_folder(tmp_path, "riddles", [riddle(1, "")], [riddle(2, "Огонь"), riddle(3), riddle(4, "Вода; Река")])
    data_folder(tmp_path, "russian_regions", [region(1, "", kind=3), region(2, "", kind=2)],
                [region(3, "Г; файл", kind=2), region(4), region(5, "А; вехотка", kind=3)])  # fmt: skip
    return tmp_path


ENANTIOSEMY_1 = """\
Слово «одолжить». Буквы из {А, Б, В, Г, Д, Е}.
Текст 1.
А. Конец a1.
Б. Конец b1.
В. Конец c1.
Г. Конец d1.
Д. Конец e1.
Е. Конец f1."""
RIDDLE_1 = """\
Отгадай. Строка ответа: «Ответ: слово».
Загадка 1?"""
REGION_1 = """\
Задание 1.
Томск
А. Текст a1.
Б. Текст b1.
В. Текст c1.
Г. Текст d1."""
REGION_2 = """\
Задание 2.
мультифора
Вот пример.
А. Текст a2.
Б. Текст b2.
В. Текст c2.
Г. Текст d2."""

ENANTIOSEMY_2_SHOTS = f"""\
Слово «одолжить». Буквы из {{А, Б, В, Г, Д, Е}}.
Текст 4.
А. Конец a4.
Б. Конец b4.
В. Конец c4.
Г. Конец d4.
Д. Конец e4.
Е. Конец f4.
Ответ: А; Е

Слово «одолжить». Буквы из {{А, Б, В, Г, Д, Е}}.
Текст 2.
А. Конец a2.
Б. Конец b2.
В. Конец c2.
Г. Конец d2.
Д. Конец e2.
Е. Конец f2.
Ответ: Б

{ENANTIOSEMY_1}"""
RIDDLE_2_SHOTS = f"""\
Отгадай. Строка ответа: «Ответ: слово».
Загадка 4?
Ответ: Вода

Отгадай. Строка ответа: «Ответ: слово».
Загадка 2?
Ответ: Огонь

{RIDDLE_1}"""
REGION_2_SHOTS = """\
Задание 5.
Томск
А. Текст a5.
Б. Текст b5.
В. Текст c5.
Г. Текст d5.
Ответ: А; вехотка

Задание 3.
мультифора
Вот пример.
А. Текст a3.
Б. Текст b3.
В. Текст c3.
Г. Текст d3.
Ответ: Г; файл

"""


@pytest.mark.parametrize(
    ("task", "shots", "expected"),
    [
        ("enantiosemy", None, [ENANTIOSEMY_1]),
        ("enantiosemy", 0, [ENANTIOSEMY_1]),
        ("enantiosemy", 2, [ENANTIOSEMY_2_SHOTS]),
        ("enantiosemy_prefill", None, [f"{ENANTIOSEMY_1}\nОтвет:"]),
        ("enantiosemy_prefill", 2, [f"{ENANTIOSEMY_2_SHOTS}\nОтвет:"]),
        ("riddles_closed", None, [RIDDLE_1]),
        ("riddles_closed", 2, [RIDDLE_2_SHOTS]),
        ("riddles_closed_prefill", None, [f"{RIDDLE_1}\nОтвет:"]),
        ("riddles_closed_prefill", 2, [f"{RIDDLE_2_SHOTS}\nОтвет:"]),
        ("russian_regions", None, [REGION_1, REGION_2]),
        ("russian_regions", 2, [REGION_2_SHOTS + REGION_1, REGION_2_SHOTS + REGION_2]),
        ("russian_regions_prefill", None, [f"{REGION_1}\nОтвет:", f"{REGION_2}\nОтвет:"]),
        ("russian_regions_prefill", 2, [f"{REGION_2_SHOTS}{text}\nОтвет:" for text in (REGION_1, REGION_2)]),
    ],
)
def test_plain_prompts(root: Path, task: str, shots: int | None, expected: list[str]) -> None:
    assert prompts(root, task, num_fewshot=shots) == expected


CHAT_SHOTS = (
    "<user>Отгадай. Строка ответа: «Ответ: слово».\nЗагадка 4?<assistant>Ответ: Вода"
    "<user>Отгадай. Строка ответа: «Ответ: слово».\nЗагадка 2?<assistant>Ответ: Огонь"
)


@pytest.mark.parametrize(
    ("task", "arguments", "expected"),
    [
        ("riddles_closed", {}, f"<user>{RIDDLE_1}<assistant>"),
        ("riddles_closed", {"num_fewshot": 2}, f"{CHAT_SHOTS}<user>{RIDDLE_1}<assistant>"),
        ("riddles_closed", {"system_instruction": "Кратко."}, f"<system>Кратко.<user>{RIDDLE_1}<assistant>"),
        ("riddles_closed", {"num_fewshot": 2, "fewshot_as_multiturn": False}, f"<user>{RIDDLE_2_SHOTS}<assistant>"),
        ("riddles_closed_prefill", {}, f"<user>{RIDDLE_1}<assistant>Ответ:"),
        ("riddles_closed_prefill", {"num_fewshot": 2}, f"{CHAT_SHOTS}<user>{RIDDLE_1}<assistant>Ответ:"),
    ],
)
def test_chat_prompts(root: Path, task: str, arguments: dict[str, Any], expected: str) -> None:
    assert prompts(root, task, apply_chat_template=True, **arguments) == [expected]


def test_a_riddles_shot_is_answered_with_its_first_accepted_answer(tmp_path: Path) -> None:
    shots = [riddle(2, "Снег; Первый снег"), riddle(3, " ;  Огонь;Пламя "), riddle(4, "Вода")]
    data_folder(tmp_path, "riddles", [riddle(1)], shots)
    [text] = prompts(tmp_path, "riddles_closed", num_fewshot=3)
    answers = [line for line in text.split("\n") if line.startswith("Ответ:")]
    assert sorted(answers) == ["Ответ: Вода", "Ответ: Огонь", "Ответ: Снег"]


# --- which shots -----------------------------------------------------------------------------------------------------


def shown_riddles(text: str) -> list[str]:
    """Which riddles a prompt shows, the one to solve last."""
    return [line.split()[1].rstrip("?") for line in text.split("\n") if line.startswith("Загадка")]


def many_riddles(root: Path, shots: Sequence[Row], test: Sequence[Row] = ()) -> Path:
    return data_folder(root, "riddles", test or [riddle(identity) for identity in range(1, 9)], shots)


def test_every_document_gets_the_same_shots_whatever_the_limit_and_the_order(tmp_path: Path) -> None:
    test = [riddle(identity) for identity in range(1, 9)]
    shots = [riddle(identity) for identity in range(101, 111)]
    forward = many_riddles(tmp_path / "forward", shots, test)
    backward = many_riddles(tmp_path / "backward", shots, test[::-1])
    by_document = [
        {ids[-1]: ids[:-1] for ids in map(shown_riddles, prompts(root, "riddles_closed", num_fewshot=3, **arguments))}
        for root, arguments in ((forward, {}), (backward, {}), (forward, {"limit": 3}), (forward, {"samples": SOME}))
    ]
    assert all(shown == by_document[0]["1"] for run_ in by_document for shown in run_.values())
    assert [len(run_) for run_ in by_document] == [8, 8, 3, 2]


SOME = {"riddles_closed": [2, 5]}


def test_the_fewshot_seed_chooses_other_shots(tmp_path: Path) -> None:
    root = many_riddles(tmp_path, [riddle(identity) for identity in range(101, 121)], [riddle(1)])
    drawn = {
        tuple(shown_riddles(prompts(root, "riddles_closed", num_fewshot=4, fewshot_random_seed=seed)[0]))
        for seed in (1, 1, 2, 3)
    }
    assert len(drawn) == 3


def test_a_seed_set_anew_counts() -> None:
    sampler = ShotsSampler([riddle(identity) for identity in range(20)])
    drawn = [[shot["meta"]["id"] for shot in sampler.set_rnd(seed).sample(5)] for seed in (1, 2, 1)]
    assert drawn[0] == drawn[2] != drawn[1]


@pytest.mark.parametrize("shots", [1, 4])
def test_a_scored_shot_is_never_among_its_own_shots(tmp_path: Path, shots: int) -> None:
    root = many_riddles(
        tmp_path, [riddle(identity, note=None if identity % 2 else "x") for identity in range(101, 106)]
    )
    shown = [shown_riddles(text) for text in prompts(root, "riddles_closed_shots", num_fewshot=shots)]
    assert [ids[-1] for ids in shown] == ["101", "102", "103", "104", "105"]
    assert all(len(set(ids)) == shots + 1 for ids in shown)


def test_shots_without_an_answer_are_not_shown(tmp_path: Path) -> None:
    shots = [riddle(101), riddle(102, ""), riddle(103, None), riddle(104)]
    [text] = prompts(many_riddles(tmp_path, shots, [riddle(1)]), "riddles_closed", num_fewshot=2)
    assert sorted(shown_riddles(text)) == ["1", "101", "104"]


@pytest.mark.parametrize(
    ("task", "shots", "asked", "available"),
    [
        ("riddles_closed", [], 1, 0),
        ("riddles_closed", None, 1, 0),
        ("riddles_closed", [riddle(101), riddle(102)], 3, 2),
        ("riddles_closed", [riddle(101), riddle(102, "")], 2, 1),
        ("riddles_closed_shots", [riddle(101), riddle(102)], 2, 1),
    ],
)
def test_too_many_shots_are_a_clear_error(
    tmp_path: Path, task: str, shots: list[Row] | None, asked: int, available: int
) -> None:
    root = data_folder(tmp_path, "riddles", [riddle(1)], shots)
    with pytest.raises(DataError) as caught:
        prompts(root, task, num_fewshot=asked)
    assert str(caught.value) == (
        f"--num_fewshot {asked} asks for more shots than the data have to draw from ({available}). "
        "Use a smaller number, or add rows with answers to the split `shots` of the data."
    )


def test_all_shots_can_be_shown(tmp_path: Path) -> None:
    root = many_riddles(tmp_path, [riddle(101), riddle(102)], [riddle(1)])
    assert sorted(shown_riddles(prompts(root, "riddles_closed", num_fewshot=2)[0])) == ["1", "101", "102"]


# --- filling in ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A task as lm-eval builds it from the YAML."""
    root = data_folder(tmp_path_factory.mktemp("data"), "riddles", [riddle(1)])
    manager = TaskManager(include_defaults=False, include_path=str(yaml_folder()), metadata={"mera_ru_data": str(root)})
    return manager.load(["riddles_closed"])["tasks"]["riddles_closed"]


def test_the_template_renders_the_prompt_by_itself(task: Any) -> None:
    assert isinstance(task.config.doc_to_text, str)


@pytest.mark.parametrize(
    ("instruction", "expected"),
    [
        ("{text}", "Т"),
        ("из множества {А, Б, В}: {text}", "из множества {А, Б, В}: Т"),
        ("{{ 7*7 }} {{7*7}} {text}", "{{ 7*7 }} {{7*7}} Т"),
        ("{text.__class__} {text[0]} {text!r} {text:>9}", "{text.__class__} {text[0]} {text!r} {text:>9}"),
        ("{%raw%}{text}{%endraw%}", "{%raw%}Т{%endraw%}"),
        ("{# {text} #}", "{# Т #}"),
        ("{{text}}", "{Т}"),
        ("{{{text}}}", "{{Т}}"),
        ("{a{text}b}", "{aТb}"),
        ("{text", "{text"),
        ("text}", "text}"),
        ("{ text }", "{ text }"),
        ("{}{text}{", "{}Т{"),
        ("{Text}{unknown}", "{Text}{unknown}"),
        ("{text}{text}", "ТТ"),
        ("{braces}", "{text} {{ 7*7 }} }{"),
        ("{empty}|{text}", "|Т"),
        ("{slashes}", "\\1 \\g<0> \\n $1"),
        ("{keys}{items}{get}", "{keys}{items}{get}"),
        ("  {text}\n\n", "  Т\n\n"),
        ("\r\n\t{text}\u2028\x00", "\r\n\t" + "Т\u2028\x00"),
    ],
)
def test_only_a_name_of_an_input_is_a_placeholder(task: Any, instruction: str, expected: str) -> None:
    inputs = {"text": "Т", "braces": "{text} {{ 7*7 }} }{", "empty": "", "slashes": "\\1 \\g<0> \\n $1"}
    assert task.doc_to_text({"instruction": instruction, "inputs": inputs}) == expected


def fill(instruction: str, inputs: dict[str, str]) -> str:
    """The rule, a character at a time."""
    filled = ""
    at = 0
    while at < len(instruction):
        end = instruction.find("}", at)
        name = instruction[at + 1 : end]
        if instruction[at] == "{" and end > at and name in inputs and "{" not in name:
            filled += inputs[name]
            at = end + 1
        else:
            filled += instruction[at]
            at += 1
    return filled


NAMES = st.one_of(st.sampled_from(["text", "option_a", "get", "inputs", "7*7", "", " "]), st.text(max_size=4))
TEXTS = st.lists(
    st.one_of(
        NAMES, NAMES.map("{{{}}}".format), st.text(max_size=3),
        st.sampled_from(["{", "}", "{{", "}}", "{%", "%}", "{#", "\\", "\n", "{{ 7*7 }}", "{text}", "{option_a}"]),
    ),
    max_size=12,
).map("".join)  # fmt: skip


@given(instruction=TEXTS, inputs=st.dictionaries(NAMES, TEXTS, max_size=4))
@settings(deadline=None, max_examples=200)
def test_rendering_equals_the_rule(task: Any, instruction: str, inputs: dict[str, str]) -> None:
    assert task.doc_to_text({"instruction": instruction, "inputs": inputs}) == fill(instruction, inputs)
