"""The commands score, judge, check, show and submit with a custom task."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path

import pytest

from tests.support.command import Command
from tests.support.custom_task import row, task_folder
from tests.support.judge_stub import StubJudge
from tests.support.rows import data_folder
from tests.support.scripted import numbers, reference, run


def test_the_judge_and_the_score_after_the_run_take_its_logs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root = data_folder(tmp_path, "own", [row(1, "А; Б"), row(2, "В"), row(3, "Г")])
    answers = {"mera_ru_answer": {"choices": "АБВГ", "max_choices": 4}}
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
    assert during == {}, "together they give every number of the run"


def test_the_data_are_checked_and_shown_by_the_tasks_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root = data_folder(tmp_path, "own", [row(1, "А; Б"), row(2, "Е"), row(3, "Г", kind="x")], [row(4, "В")])
    answer = {"mera_ru_answer": {"choices": "АБВГ", "max_choices": 4}, "mera_ru_prefill": True}
    file = str(task_folder(tmp_path, mera_ru_path=str(root / "own"), **answer) / "own.yaml")
    call = Command(capsys, monkeypatch)
    checked = call("data", "check", file, "--format", "json")
    [report] = json.loads(checked.out)
    assert checked.status == 1
    located = [issue["location"] for issue in report["issues"] if issue["severity"] == "error"]
    assert [(location["id"], location["field"]) for location in located] == [(2, "outputs")]
    assert report["statistics"]["letters"] == {"А": 1, "Б": 1, "В": 0, "Г": 1}
    (root / "own" / "test.json").write_text(json.dumps({"data": [row(1, "А; Б")]}), encoding="utf-8")
    assert call("data", "check", file).status == 0
    shown = call("data", "show", file, "--response", " Б, А")
    assert shown.status == 0 and "Вопрос номер 1? Буквы {А, Б}.\nОтвет:\n" in shown.out
    assert "flexible-extract answer ---\n'А; Б'" in shown.out


CLASS = "class: !function mera_ru_tasks.CustomTask\n"
SETTINGS = "dataset_kwargs: {mera_ru_path: x, mera_ru_answer: phrase}"
WRITE = "Write `class: !function mera_ru_tasks.CustomTask`."

NO_TASK_FILE: dict[str, tuple[str | None, str]] = {
    "absent": (None, "own.yaml cannot be read: No such file or directory."),
    "no YAML": ("task: [", "own.yaml is not valid YAML: "),
    "no settings": ("- task", "own.yaml contains no settings. "),
    "another task": ("task: hellaswag\nclass: !function os.remove", "own.yaml is not a custom task"),
    "a wrong setting": (f"task: own\n{CLASS}dataset_kwargs: {{mera_ru_path: 7}}", "`mera_ru_path`: "),
    "no folder": (
        f"task: own\n{CLASS}dataset_kwargs: {{mera_ru_path: absent, mera_ru_answer: phrase}}",
        "The data folder absent does not exist.",
    ),
    "no class": (f"task: own\n{SETTINGS}", f"own.yaml, `class`: lm-eval cannot find the task class. {WRITE}"),
    "no tag": (f"task: own\nclass: mera_ru_tasks.CustomTask\n{SETTINGS}", WRITE),
    "half a tag": (f"task: own\nclass: function mera_ru_tasks.CustomTask\n{SETTINGS}", WRITE),
    "a misspelt class": (f"task: own\nclass: !function mera_ru_tasks.harness.task.OwnTaks\n{SETTINGS}", WRITE),
    "a benchmark's name": (
        f"task: enantiosemy\n{CLASS}{SETTINGS}",
        "The task 'enantiosemy': ",
    ),
    "a group's name": (
        f"task: mera_ru\n{CLASS}{SETTINGS}",
        "The task 'mera_ru': ",
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
    forms = {1: {"choices": "АБВГ"}, 2: {"choices": "АБ", "with_phrase": True}}
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
    assert "Note: own: left out" in call("submit", output, "-o", "all.zip").out
    for task, message in (
        ("other", "There is no log of the task 'other'"),
        ("riddles_sample", "does not describe 'riddles_sample' as a custom task"),
    ):
        refused = call("submit", output, "--task", task, "-o", "other.zip")
        assert refused.status == 1 and message in refused.err
    (root / "own" / "test.json").write_text(
        json.dumps({"data": [row(number, "", kind=1) for number in (1, 2, 9)]}), encoding="utf-8"
    )
    for arguments in ((output, "--task", "own", "-o", "two.zip"), ("--check", "own.zip", "--task", "own")):
        ended = call("submit", *arguments)
        assert ended.status == 1 and "rows in" in ended.out and ": id 9" in ended.out
    wrong = call("submit", "--check", "own.zip", "--task", "another")
    assert wrong.status == 1 and "no results file in the archive describes 'another' as a custom task" in wrong.out
    shutil.rmtree(root / "own")
    elsewhere = call("submit", output, "--task", "own", "-o", "three.zip")
    assert elsewhere.status == 0 and "no data were found, so ids were not checked" in elsewhere.out
