"""Reasoning before the answer: closed, unclosed, opened by the prompt, or in channels."""

import pytest

from mera_ru_tasks.scoring.extract import drop_reasoning
from tests.support.extraction_cases import ONE, PHRASE, SEVERAL, UNIT, check

ROWS = [
    # Closed blocks of the common model families. Answers considered in them do not count.
    (SEVERAL, "Б; Г", "<think>\nСкорее Ответ: А.\n</think>\n\nОтвет: Б; Г", "Б; Г", 1),
    (SEVERAL, "Б; Г", "<THINK>А? Д?</THINK>\nБ; Г", "Б; Г", 1),
    (SEVERAL, "В", "<thinking>Разберём каждую фразу.</thinking>**Ответ: В**", "В", 1),
    (ONE, "Г", "[THINK]Тут речь о погоде.[/THINK]Ответ: Г", "Г", 1),
    (ONE, "Г", "<thought>куржак — иней</thought>\nОтвет: Г", "Г", 1),
    (ONE, "А", "<reasoning>Проверю Б.</reasoning>\n<answer>А</answer>", "А", 1),
    (PHRASE, "зеркало", "◁think▷Может, вода?◁/think▷Ответ: зеркало", "зеркало", 1),
    (PHRASE, "зеркало", "<|begin_of_thought|>вода<|end_of_thought|>\n\nОтвет: зеркало", "зеркало", 1),
    (PHRASE, "эхо", "<|START_THINKING|>голос?<|END_THINKING|>Ответ: эхо", "эхо", 1),
    (PHRASE, "эхо", "<размышление>Кто отвечает? Голос.</размышление>\nОтвет: эхо", "эхо", 1),
    (UNIT, "Г; иней", "<think>вариант Б?\n\nнет</think>\n\nОтвет: Г; иней", "Г; иней", 1),
    (SEVERAL, "Б; Г", "<think></think>\n\nОтвет: Б; Г", "Б; Г", 1),
    (SEVERAL, "Б; Г", "<think>раз</think><think>два</think>Ответ: Б; Г", "Б; Г", 1),
    (SEVERAL, "Б; Г", "<think>Тег </think> закрою потом. Ответ: Д</think>Ответ: Б; Г", "Б; Г", 1),
    # A marker before the block, in the prompt or the response, announces the text after the block.
    (SEVERAL, "Б; Г", "Ответ:<think>Сравним.</think>\nБ; Г", "Б; Г", 1),
    (SEVERAL, "Б; Г", "Ответ: Б; Г\n<think>Проверка: всё сходится.</think>", "Б; Г", 1),
    # Only the closing mark, because the prompt contains the opening mark.
    (SEVERAL, "А; Д", "Слово понято как похвала. Ответ: В\n</think>\n\nОтвет: А; Д", "А; Д", 1),
    (PHRASE, "тень", "Ходит следом... Ответ: собака</think>тень", "тень", 1),
    (ONE, "Б", "рассуждаю[/THINK]Б", "Б", 1),
    # The reasoning is still open because generation was cut off, so there is no answer.
    (SEVERAL, "А; Д", "<think>\nОтвет: А; Д", "", 0),
    (SEVERAL, "А; Д", "<think>Итог ясен.</think>Ответ: А; Д<think>Или нет?", "", 0),
    (ONE, "Б", "[THINK]Ответ: Б", "", 0),
    (ONE, "Б", "Начну.\n<thinking>Похоже, Ответ: Б", "", 0),
    (UNIT, "Б; окурок", "<think>\nОтвет: Б; окурок", "", 0),
    (PHRASE, "тень", "◁think▷тень", "", 0),
    # The block is closed, but nothing follows.
    (PHRASE, "тень", "<think>Ответ: тень</think>\n", "", 0),
    (ONE, "Б", "Ответ: Б</think>", "", 0),
    # gpt-oss: channels with and without special tokens.
    (
        SEVERAL,
        "А; В",
        "<|channel|>analysis<|message|>Maybe Ответ: Д<|end|><|start|>assistant<|channel|>final<|message|>Ответ: А; В",
        "А; В",
        1,
    ),
    (ONE, "В", "<|channel|>final<|message|>Ответ: В<|return|>", "В", 1),
    (ONE, "В", "<|channel|>analysis<|message|>Ответ: В", "", 0),
    (ONE, "В", "<|channel|>commentary<|message|>Ответ: В<|end|>", "", 0),
    (ONE, "В", "analysisWe compare Ответ: Аassistantfinalответ: В", "В", 1),
    (ONE, "В", "analysisНужно выбрать. Ответ: В", "", 0),
    (PHRASE, "снег", "analysisБелый и холодный.assistantfinal**Ответ:** снег", "снег", 1),
    # No reasoning: words and signs that only resemble the marks.
    (PHRASE, "мысль", "Ответ: <мысль>", "мысль", 1),
    (SEVERAL, "А", "Ответ: А <thin", "А", 1),
]


@pytest.mark.parametrize("row", ROWS)
def test_reasoning(row):
    check(row)


@pytest.mark.parametrize(
    ("response", "visible"),
    [
        ("<think>раз</think>два", "\nдва"),
        ("раз</think>два", "два"),
        ("<think>раз", ""),
        ("раз<think>два</think>три", "раз\nтри"),
        ("раз <b>два</b> [три]", "раз <b>два</b> [три]"),
        ("<|channel|>final<|message|>раз<|end|>два", "раз"),
        ("analysis of the riddle", "analysis of the riddle"),
    ],
)
def test_what_is_left_of_a_response(response, visible):
    assert drop_reasoning(response) == visible
