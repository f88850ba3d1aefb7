"""The example tasks give known scores and work with every command."""

from __future__ import annotations

import json

import pytest

from mera_ru_tasks.data.load import load_benchmark
from mera_ru_tasks.scoring.score import score_response
from tests.support.documents import REPOSITORY
from tests.support.judge_stub import StubJudge
from tests.support.scripted import numbers, run

# For each task: answers to some ids that differ from the reference, and the scores. All other answers are correct.
EXAMPLES = {
    "Characters": (
        {1: "Ответ: Г", 3: "**Ответ:** В) Бросьте этюд"},
        {"exact_match,strict-match": 6 / 8, "exact_match,flexible-extract": 7 / 8,
         "letter_match,flexible-extract": 7 / 8},
    ),
    "RUBIN": (
        {2: "Ответ: Д", 6: "Не знаю."},
        {"exact_match,strict-match": 4 / 6, "exact_match,flexible-extract": 4 / 6,
         "letter_match,flexible-extract": 4 / 6},
    ),
    "LIMUR": (
        {1: "Ответ: З", 2: "Ответ: Е", 6: "Ответ: (З)"},  # row 1 has four options, and З is not one of them
        {"exact_match,strict-match": 4 / 6, "exact_match,flexible-extract": 4 / 6,
         "letter_match,flexible-extract": 4 / 6},
    ),
    "NewReasoning": (
        {2: "Ответ: З, Ё", 4: "Ответ: А; Г", 5: "Ответ: Е"},
        {"exact_match,strict-match": 3 / 6, "exact_match,flexible-extract": 4 / 6,
         "f1,flexible-extract": (4 + 2 * 2 / 5) / 6},
    ),
}  # fmt: skip
UNREADABLE = {"LIMUR": 1, "RUBIN": 2, "NewReasoning": 1}


@pytest.fixture(autouse=True)
def in_the_repository(mera_ru, monkeypatch):
    monkeypatch.chdir(REPOSITORY)  # the paths in the examples start there


@pytest.mark.parametrize("task", EXAMPLES)
def test_an_example_runs_to_known_scores_and_through_every_command(task, mera_ru, monkeypatch, tmp_path):
    answers, expected = EXAMPLES[task]
    file = f"examples/{task}.yaml"
    assert mera_ru("data", "check", file).status == 0

    def answer(doc, prompt):
        return answers.get(doc["meta"]["id"], f"Ответ: {doc['outputs']}")

    found = run(tmp_path / "results", [task], answer, task_folders=[REPOSITORY / "examples"])
    scores = numbers(found, task)
    answered = scores.pop("answered,flexible-extract")
    assert scores == pytest.approx(expected)
    size = found["n-samples"][task]["effective"]
    assert answered == pytest.approx(1 - UNREADABLE.get(task, 0) / size)
    run(tmp_path / "other", [task], lambda doc, prompt: f"Ответ: {doc['outputs']}", model="org/other",
        task_folders=[REPOSITORY / "examples"], num_fewshot=1)  # fmt: skip

    with StubJudge(lambda message: 1) as judge:
        settings = {"API_BASE": judge.url, "MODEL": "judge", "API_KEY": "none", "CACHE": str(tmp_path / "judge.sqlite")}
        for name, value in settings.items():
            monkeypatch.setenv(f"LM_EVAL_JUDGE_{name}", value)
        judged = mera_ru("judge", tmp_path / "results")
        assert judged.status == 0, judged
        wrong = size - round(expected["exact_match,strict-match"] * size)
        assert len(set(judge.messages)) == 1 + wrong  # one of them is the judge's test question
    compared = mera_ru("compare", tmp_path / "results", tmp_path / "other", "--format", "json")
    assert compared.status == 0 and task in compared.out
    packed = mera_ru("submit", tmp_path / "results", "--task", task, "-o", tmp_path / "packed.zip")
    assert packed.status == 0, packed
    assert mera_ru("submit", "--check", tmp_path / "packed.zip", "--task", task).status == 0


def test_a_rows_letters_are_those_of_its_options():
    docs = load_benchmark("examples/LIMUR.yaml")["test"]
    assert [doc["answer_format"]["choices"] for doc in docs] == [
        "АБВГ", "АБВГДЕЁ", "АБВГДЕ", "АБВГД", "АБВГДЕЁЖ", "АБВГДЕЁЖЗ",
    ]  # fmt: skip
    assert [doc["meta"]["task_type"] for doc in docs] == ["rwsd"] * 3 + ["kusdra"] * 3


def test_an_option_beyond_the_letters_or_a_letter_beyond_the_options_is_an_error(mera_ru, tmp_path):
    rows = json.loads((REPOSITORY / "examples/data/LIMUR/test.json").read_text())["data"]
    rows[0]["outputs"] = "Д"  # with four options
    rows[5]["inputs"]["option_j"] = "десятый"
    rows[1]["inputs"] |= {f"option_{letter}": "" for letter in "bcdefghi"}
    (tmp_path / "test.json").write_text(json.dumps({"data": rows}))
    task = (REPOSITORY / "examples/LIMUR.yaml").read_text().replace("examples/data/LIMUR", str(tmp_path))
    (tmp_path / "LIMUR.yaml").write_text(task)
    checked = mera_ru("data", "check", tmp_path / "LIMUR.yaml", "--format", "json")
    issues = [issue for issue in json.loads(checked.out)[0]["issues"] if issue["severity"] == "error"]
    assert [(issue["code"], issue["location"]["row"]) for issue in issues] == [
        ("unknown-choice", 1), ("wrong-options", 2), ("wrong-options", 6),
    ]  # fmt: skip


def test_options_under_other_names_are_read_like_the_usual_ones(mera_ru, tmp_path):
    rows = json.loads((REPOSITORY / "examples/data/LIMUR/test.json").read_text(encoding="utf-8"))["data"]
    rows[1]["inputs"]["option_b"] = rows[1]["inputs"]["option_a"]
    text = json.dumps({"data": rows}, ensure_ascii=False).replace("option_", "вариант_")
    (tmp_path / "test.json").write_text(text, encoding="utf-8")
    task = (
        (REPOSITORY / "examples/LIMUR.yaml").read_text(encoding="utf-8").replace("examples/data/LIMUR", str(tmp_path))
    )
    (tmp_path / "LIMUR.yaml").write_text(task.replace("option_", "вариант_"), encoding="utf-8")
    docs = load_benchmark(str(tmp_path / "LIMUR.yaml"))["test"]
    assert score_response(docs[0], "Ответ: ведро").extraction.answer == "А"
    checked = mera_ru("data", "check", tmp_path / "LIMUR.yaml", "--format", "json")
    found = [issue["location"] for issue in json.loads(checked.out)[0]["issues"] if issue["code"] == "same-options"]
    assert [(place["row"], place["field"]) for place in found] == [(2, "inputs.вариант_b")]
