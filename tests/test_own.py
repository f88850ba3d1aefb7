"""A user's own dataset as a task: the documented YAML file, every form of answer, and what goes wrong."""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from command import Command
from documents import README, text_of
from judge_stub import StubJudge
from rows import Row, data_folder, riddle
from scripted import numbers, reference, run

from mera_ru_tasks.errors import DataError, TaskError


def documented() -> dict[str, str]:
    """The section's first block in each language."""
    text = text_of(README)
    section = re.search(r"^## Your own dataset$.*?(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)
    assert section
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", section[0], re.DOTALL | re.MULTILINE)
    return dict(reversed(blocks))


def test_the_documented_task_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = documented()
    assert len(blocks["yaml"].splitlines()) < 15
    for name, text in (("my_tasks/city_quiz.yaml", blocks["yaml"]), ("my_data/city_quiz/test.json", blocks["json"])):
        Path(name).parent.mkdir(parents=True)
        Path(name).write_text(text, encoding="utf-8")
    results = run(
        tmp_path / "results", ["city_quiz"], lambda *_: "Ответ: Б, так как Нева", task_folders=[Path("my_tasks")]
    )
    assert numbers(results, "city_quiz") == {
        "exact_match,strict-match": 0, "exact_match,flexible-extract": 1, "letter_match,flexible-extract": 1,
        "answered,flexible-extract": 1,
    }  # fmt: skip
    prompt = results["samples"]["city_quiz"][0]["arguments"]["gen_args_0"]["arg_0"]
    assert prompt.startswith("Какой город стоит на Неве?\nА. Пермь\nБ. Санкт-Петербург\n")
    [log] = (tmp_path / "results").rglob("samples_city_quiz_*.jsonl")
    assert len(log.read_text(encoding="utf-8").splitlines()) == 2


def row(identity: int, outputs: str | None, **meta: Any) -> Row:
    return {
        "instruction": "Вопрос {question}? Буквы {А, Б}.",
        "inputs": {"question": f"номер {identity}"},
        "outputs": outputs,
        "meta": {"id": identity, **meta},
    }


def task_folder(root: Path, **settings: Any) -> Path:
    """A folder with the task `own`; settings of lm-eval's own are those without our prefix."""
    folder = root / "tasks"
    folder.mkdir(exist_ok=True)
    ours = {name: value for name, value in settings.items() if name.startswith("mera_ru_")}
    others = {name: value for name, value in settings.items() if name not in ours}
    text = yaml.safe_dump({"task": "own", "dataset_kwargs": ours, "metadata": {"version": 2.0}, **others})
    (folder / "own.yaml").write_text(text + "class: !function mera_ru_tasks.own.OwnTask\n", encoding="utf-8")
    return folder


def run_own(
    tmp_path: Path, rows: list[Row], answer: Any, shots: list[Row] | None = (), **settings: Any
) -> dict[str, Any]:  # type: ignore[assignment]
    root = data_folder(tmp_path, "own", rows, shots)
    asked = {name: settings.pop(name) for name in ("num_fewshot", "limit") if name in settings}
    folder = task_folder(tmp_path, mera_ru_path=str(root / "own"), **settings)
    return run(None, ["own"], answer, task_folders=[folder], **asked)


FORMS: dict[str, tuple[Any, list[tuple[str, str]], dict[str, float]]] = {
    # the answer's form, (reference, response) pairs, the numbers
    "a phrase": (
        "phrase",
        [("Снег; Первый снег", "Ответ: первый снег"), ("Река", "Ответ: **река**")],
        {"exact_match,strict-match": 1, "exact_match,flexible-extract": 1, "answered,flexible-extract": 1},
    ),
    "one letter": (
        {"letters": "АБВГДЕЖЗ"},
        [("З", "Ответ: (З)"), ("Ж", "Ответ: Ж, потому что так"), ("А", "не знаю")],
        {"exact_match,strict-match": 1 / 3, "exact_match,flexible-extract": 2 / 3, "answered,flexible-extract": 2 / 3,
         "letter_match,flexible-extract": 2 / 3},
    ),
    "several letters": (
        {"letters": "АБВГД", "most": 3},
        [("А; Д", "Ответ: Д, А"), ("Б; В; Г", "Ответ: Б")],
        {"exact_match,strict-match": 0, "exact_match,flexible-extract": 1 / 2, "answered,flexible-extract": 1,
         "f1,flexible-extract": 3 / 4},
    ),
    "a letter and a unit": (
        {"letters": "АБВГ", "most": 1, "unit": True},
        [("Б; лужа", "Ответ: Б; лужа"), ("В; пурга", "Ответ: В; метель")],
        {"exact_match,strict-match": 1 / 2, "exact_match,flexible-extract": 1 / 2, "answered,flexible-extract": 1,
         "letter_match,flexible-extract": 1},
    ),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_answer(tmp_path: Path, form: str) -> None:
    answer, cases, expected = FORMS[form]
    rows = [row(number, outputs) for number, (outputs, _) in enumerate(cases, start=1)]
    results = run_own(tmp_path, rows, lambda doc, prompt: cases[doc["meta"]["id"] - 1][1], mera_ru_answer=answer)
    assert numbers(results, "own") == pytest.approx(expected)
    assert results["versions"]["own"] == 2.0
    perfect = run_own(tmp_path, rows, reference, mera_ru_answer=answer)
    assert set(numbers(perfect, "own").values()) == {1}


def test_a_form_for_each_type(tmp_path: Path) -> None:
    rows = [row(1, "В", kind=1), row(2, "А; лужа", kind=2)]
    forms = {1: {"letters": "АБВ"}, 2: {"letters": "АБ", "unit": True}}
    results = run_own(tmp_path, rows, reference, mera_ru_answer=forms, mera_ru_type_field="kind")
    assert set(numbers(results, "own").values()) == {1}
    with pytest.raises(DataError, match=r"test\.json, row 2 \(id 2\), field `meta\.kind`: the type 3 is unknown"):
        run_own(tmp_path, [rows[0], row(2, "А", kind=3)], reference, mera_ru_answer=forms, mera_ru_type_field="kind")


def test_shots_prefix_and_lm_evals_own_settings(tmp_path: Path) -> None:
    results = run_own(
        tmp_path, [riddle(1)], lambda doc, prompt: " снег\n", [riddle(2, "Лёд; Льдина")], num_fewshot=1,
        mera_ru_answer="phrase", mera_ru_prefill=True, generation_kwargs={"max_gen_toks": 5}, tag="mine",
    )  # fmt: skip
    prompt, generation = results["samples"]["own"][0]["arguments"][0]
    assert "Загадка 2?\nОтвет: Лёд\n\nОтгадай" in prompt
    assert prompt.endswith("Загадка 1?\nОтвет:")
    assert generation == {"until": ["\n"], "do_sample": False, "max_gen_toks": 5}
    assert set(numbers(results, "own").values()) == {1}


def test_plain_generation_keeps_its_lack_of_stop_strings(tmp_path: Path) -> None:
    results = run_own(tmp_path, [riddle(1)], reference, mera_ru_answer="phrase", generation_kwargs={"max_gen_toks": 5})
    assert results["samples"]["own"][0]["arguments"][0][1] == {"until": [], "do_sample": False, "max_gen_toks": 5}


def test_the_data_folder_of_the_benchmarks_does_not_hide_the_tasks_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MERA_RU_DATA", str(tmp_path / "elsewhere"))
    assert numbers(run_own(tmp_path, [riddle(1)], reference, mera_ru_answer="phrase"), "own")


def test_a_hub_datasets_local_copy(tmp_path: Path) -> None:
    folder = task_folder(tmp_path, mera_ru_hub="org/own", mera_ru_answer="phrase")
    root = data_folder(tmp_path / "data", "Own", [riddle(1)])
    results = run(None, ["own"], reference, task_folders=[folder], data=root)
    assert set(numbers(results, "own").values()) == {1}


def test_closed_answers_give_no_number_and_no_talk_of_the_leaderboard(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    results = run_own(tmp_path, [riddle(1, "")], reference, mera_ru_answer="phrase")
    assert numbers(results, "own") == {}
    assert [record.message for record in caplog.records if record.name == "lm_eval.mera_ru_tasks"] == [
        "own: 1 of 1 documents have no reference answer, so they get no score. "
        "To have them scored, add their answers to the data."
    ]


def test_the_judge_and_the_score_after_the_run_take_its_logs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root = data_folder(tmp_path, "own", [row(1, "А; Б"), row(2, "В"), row(3, "Г")])
    answers = {"mera_ru_answer": {"letters": "АБВГ", "most": 4}}
    folder = task_folder(tmp_path, mera_ru_path=str(root / "own"), **answers)
    replies = {1: "Ответ: А; Б", 2: "**В** верно", 3: "Ответ: А"}
    call = Command(capsys, monkeypatch)
    with StubJudge() as judge:
        for name, value in (("API_BASE", judge.url), ("MODEL", "judge"), ("API_KEY", "none")):
            monkeypatch.setenv(f"LM_EVAL_JUDGE_{name}", value)
        monkeypatch.setenv("LM_EVAL_JUDGE_CACHE", str(tmp_path / "cache.sqlite"))
        output = tmp_path / "results"
        results = run(output, ["own"], lambda doc, _: replies[doc["meta"]["id"]], task_folders=[folder])
        during = numbers(results, "own")
        for command, pattern in (("score", "scored_results_*.json"), ("judge", "judged_results_*.json")):
            ended = call(command, output)
            assert ended.status == 0, ended.err
            [file] = output.rglob(pattern)
            after = numbers(json.loads(file.read_text(encoding="utf-8")), "own")
            assert after == {name: during[name] for name in after}
            during = {name: value for name, value in during.items() if name not in after}
    assert during == {}, "between them they give every number of the run"


def test_the_data_are_checked_and_shown_by_the_tasks_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root = data_folder(tmp_path, "own", [row(1, "А; Б"), row(2, "Е"), row(3, "Г", kind="x")], [row(4, "В")])
    answer = {"mera_ru_answer": {"letters": "АБВГ", "most": 4}, "mera_ru_prefill": True}
    file = str(task_folder(tmp_path, mera_ru_path=str(root / "own"), **answer) / "own.yaml")
    call = Command(capsys, monkeypatch)
    checked = call("data", "check", file, "--format", "json")
    [report] = json.loads(checked.out)
    assert checked.status == 1
    assert [(problem["id"], problem["field"]) for problem in report["problems"]] == [(2, "outputs")]
    assert report["statistics"]["letters"] == {"А": 1, "Б": 1, "В": 0, "Г": 1}
    (root / "own" / "test.json").write_text(json.dumps({"data": [row(1, "А; Б")]}), encoding="utf-8")
    assert call("data", "check", file).status == 0
    shown = call("data", "show", file, "--response", " Б, А")
    assert shown.status == 0 and "Вопрос номер 1? Буквы {А, Б}.\nОтвет:\n" in shown.out
    assert "flexible-extract reads ---\n'А; Б'" in shown.out


NO_TASK_FILE: dict[str, tuple[str | None, str]] = {
    "absent": (None, "own.yaml cannot be read: No such file or directory."),
    "no YAML": ("task: [", "own.yaml is not valid YAML: "),
    "no settings": ("- task", "own.yaml holds no settings. "),
    "another task": ("task: hellaswag\nclass: !function os.remove", "own.yaml is no task of your own dataset"),
    "a wrong setting": ("task: own\ndataset_kwargs: {mera_ru_path: 7}", "`mera_ru_path`: 7 is no name."),
    "no folder": (
        "task: own\ndataset_kwargs: {mera_ru_path: absent, mera_ru_answer: phrase}",
        "The data folder absent does not exist. Name the folder that holds test.json",
    ),
}


@pytest.mark.parametrize("case", NO_TASK_FILE)
def test_a_file_that_is_no_task_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], case: str
) -> None:
    text, message = NO_TASK_FILE[case]
    monkeypatch.chdir(tmp_path)
    if text is not None:
        Path("own.yaml").write_text(text, encoding="utf-8")
    call = Command(capsys, monkeypatch)
    for command in ("check", "show"):
        ended = call("data", command, "own.yaml")
        assert ended.status == 1 and message in ended.err


def test_the_responses_are_packed_and_the_archive_is_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root = data_folder(tmp_path, "own", [row(1, "", kind=1), row(2, "", kind=2)], [row(3, "А", kind=1)])
    forms = {1: {"letters": "АБВГ"}, 2: {"letters": "АБ", "unit": True}}
    settings = {"mera_ru_path": str(root / "own"), "mera_ru_answer": forms, "mera_ru_type_field": "kind"}
    folder = task_folder(tmp_path, **settings)
    output = tmp_path / "results"
    run(output, ["own"], lambda doc, _: f"Ответ: {doc['meta']['id']}", task_folders=[folder], num_fewshot=1)
    run(output, ["riddles_sample"], reference, limit=1)
    monkeypatch.chdir(tmp_path)
    call = Command(capsys, monkeypatch)
    packed = call("submit", output, "--task", "own", "-o", "own.zip")
    assert packed.status == 0, packed.out + packed.err
    with zipfile.ZipFile("own.zip") as archive:
        assert archive.namelist() == ["logs_public.zip", "own.json"]
        rows = json.loads(archive.read("own.json"))["data"]["test"]
    assert rows == [{"outputs": f"Ответ: {number}", "meta": {"id": number}} for number in (1, 2)]
    assert call("submit", "--check", "own.zip", "--task", "own").status == 0
    assert "none of these benchmarks" in call("submit", output, "-o", "all.zip").out
    for task, message in (("other", "There is no log of the task 'other'"), ("riddles_sample", "own dataset")):
        refused = call("submit", output, "--task", task, "-o", "other.zip")
        assert refused.status == 1 and message in refused.err
    (root / "own" / "test.json").write_text(
        json.dumps({"data": [row(number, "", kind=1) for number in (1, 2, 9)]}), encoding="utf-8"
    )
    for arguments in ((output, "--task", "own", "-o", "two.zip"), ("--check", "own.zip", "--task", "own")):
        ended = call("submit", *arguments)
        assert ended.status == 1 and "not answered: id 9" in ended.out
    wrong = call("submit", "--check", "own.zip", "--task", "another")
    assert wrong.status == 1 and "no results log in it says that 'another' is a task" in wrong.out
    shutil.rmtree(root / "own")
    elsewhere = call("submit", output, "--task", "own", "-o", "three.zip")
    assert elsewhere.status == 0 and "no data are at hand, so ids were not checked" in elsewhere.out


WRONG_SETTINGS: dict[str, tuple[dict[str, Any], str]] = {
    "no data": ({"mera_ru_path": None}, "`mera_ru_path`: the data are not named. Name a folder in"),
    "data named twice": ({"mera_ru_hub": "org/own"}, "`mera_ru_path`: the data are named twice. "),
    "a path that is none": ({"mera_ru_path": 7}, "`mera_ru_path`: 7 is no name. "),
    "a misspelt setting": ({"mera_ru_anwser": "phrase"}, "`mera_ru_anwser`: there is no such setting. Settings: "),
    "no answer": ({"mera_ru_answer": None}, "`mera_ru_answer`: it is missing. Write `phrase`, or `{letters: "),
    "another word": ({"mera_ru_answer": "word"}, "'word' is no form of answer. Write `phrase`"),
    "a misspelt part": ({"mera_ru_answer": {"leters": "АБ"}}, "is no form of answer"),
    "Latin letters": ({"mera_ru_answer": {"letters": "ABCD"}}, "the letters 'ABCD' cannot be read"),
    "letters from the middle": ({"mera_ru_answer": {"letters": "БВГ"}}, "the letters 'БВГ' cannot be read"),
    "one letter alone": ({"mera_ru_answer": {"letters": "А"}}, "cannot be read"),
    "letters in a list": ({"mera_ru_answer": {"letters": ["А", "Б"]}}, "cannot be read"),
    "too many": ({"mera_ru_answer": {"letters": "АБ", "most": 3}}, "`most` is 3. It is a number from 1 to 2"),
    "none": ({"mera_ru_answer": {"letters": "АБ", "most": 0}}, "`most` is 0"),
    "true for a number": ({"mera_ru_answer": {"letters": "АБ", "most": True}}, "`most` is True"),
    "a unit behind several": ({"mera_ru_answer": {"letters": "АБ", "most": 2, "unit": True}}, "follows one letter"),
    "types without a field": ({"mera_ru_answer": {1: "phrase"}}, "is no form of answer"),
    "a field without types": ({"mera_ru_type_field": "kind"}, "'phrase' is not keyed by types"),
    "types of several kinds": (
        {"mera_ru_type_field": "kind", "mera_ru_answer": {1: "phrase", 2: {"letters": "АБ"}}},
        "the types have different kinds of answers. Types of one task answer with",
    ),
    "a prefill that is no switch": ({"mera_ru_prefill": "Ответ:"}, "`mera_ru_prefill`: it is 'Ответ:'"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG_SETTINGS)
def test_a_wrong_setting_is_named(tmp_path: Path, case: str) -> None:
    settings, message = WRONG_SETTINGS[case]
    folder = task_folder(tmp_path, **{"mera_ru_path": "x", "mera_ru_answer": "phrase", **settings})
    with pytest.raises(TaskError, match=re.escape(message)) as caught:
        run(None, ["own"], task_folders=[folder])
    assert str(caught.value).startswith("The task 'own', `dataset_kwargs`, `mera_ru_")


WRONG_DATA: dict[str, tuple[Any, str]] = {
    "no folder": (None, "The data folder {folder} does not exist. Name the folder that holds test.json in"),
    "no split": ({}, "{folder} has no split `test` (splits found: none). Add test.json,"),
    "a letter outside": (
        [row(1, "Д")],
        "{folder}/test.json, row 1 (id 1), field `outputs`: 'Д' holds the unknown letter",
    ),
    "no rows": ([], "{folder}/test.json holds no rows, so there is nothing to run own on."),
}


@pytest.mark.parametrize("case", WRONG_DATA)
def test_wrong_data_are_named_as_the_benchmarks_are(tmp_path: Path, case: str) -> None:
    rows, message = WRONG_DATA[case]
    folder = tmp_path / "own"
    if rows is not None:
        folder.mkdir()
    if isinstance(rows, list):
        (folder / "test.json").write_text(json.dumps({"data": rows}), encoding="utf-8")
    tasks = task_folder(tmp_path, mera_ru_path=str(folder), mera_ru_answer={"letters": "АБВГ"})
    with pytest.raises(DataError) as caught:
        run(None, ["own"], task_folders=[tasks])
    assert str(caught.value).startswith(message.replace("{folder}", str(folder)))
