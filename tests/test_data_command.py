"""Data checked, fetched and shown from the command line."""

from __future__ import annotations

import hashlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command import Command
from hub import COMMIT, hub
from hypothesis import given, settings
from hypothesis import strategies as st
from scripted import run
from synthetic import make_prompts, make_rows, write_data, write_json

from mera_ru_tasks.benchmarks import BENCHMARKS, ENANTIOSEMY, RIDDLES_CLOSED, RUSSIAN_REGIONS, Benchmark
from mera_ru_tasks.cli import app
from mera_ru_tasks.inspection import document
from mera_ru_tasks.inspection.report import look_over
from mera_ru_tasks.inspection.sources import Source
from mera_ru_tasks.paths import sample_folder


@pytest.fixture
def mera_ru(capsys, monkeypatch, tmp_path):
    monkeypatch.delenv("MERA_RU_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    return Command(capsys, monkeypatch)


# A broken row, told by what is set at a path of keys in test row 2 (id 2), or how it is changed.
Change = Callable[[list[Any], list[Any]], Any]


def put(*path_and_value: Any) -> Change:
    *path, last, value = path_and_value

    def change(test, shots):
        place = test[1]
        for key in path:
            place = place[key]
        place[last] = value

    return change


def drop(*path: Any) -> Change:
    def change(test, shots):
        place = test[1]
        for key in path[:-1]:
            place = place[key]
        del place[path[-1]]

    return change


def replace(value: Any) -> Change:
    return lambda test, shots: test.__setitem__(1, value)


# What is wrong; in which benchmark; how; in which field it is found, and words of the finding.
BROKEN_ROWS: dict[str, tuple[Benchmark, Change, str, str]] = {
    "a row of text": (RIDDLES_CLOSED, replace("x"), "row", "it is a string, not an object"),
    "a row of nothing": (RIDDLES_CLOSED, replace(None), "row", "it is null"),
    "a list as row": (RIDDLES_CLOSED, replace([]), "row", "it is a list"),
    "no instruction": (RIDDLES_CLOSED, drop("instruction"), "instruction", "missing"),
    "an instruction null": (RIDDLES_CLOSED, put("instruction", None), "instruction", "it is null, not a string"),
    "an empty instruction": (RIDDLES_CLOSED, put("instruction", " \n"), "instruction", "empty"),
    "a prompt that is not there": (RIDDLES_CLOSED, put("instruction", 5), "instruction", "no prompt 5"),
    "a negative prompt": (RIDDLES_CLOSED, put("instruction", -1), "instruction", "no prompt -1"),
    "no inputs": (RIDDLES_CLOSED, drop("inputs"), "inputs", "missing"),
    "a list as inputs": (RIDDLES_CLOSED, put("inputs", []), "inputs", "it is a list, not an object"),
    "an input that is missing": (ENANTIOSEMY, drop("inputs", "option_f"), "inputs.option_f", "missing"),
    "an input that is empty": (ENANTIOSEMY, put("inputs", "text", " "), "inputs.text", "empty"),
    "an input that is null": (RUSSIAN_REGIONS, put("inputs", "option_a", None), "inputs.option_a", "empty"),
    "a number as input": (RIDDLES_CLOSED, put("inputs", "question", 7), "inputs.question", "an integer, not a string"),
    "no outputs": (RIDDLES_CLOSED, drop("outputs"), "outputs", "missing"),
    "a list as outputs": (RIDDLES_CLOSED, put("outputs", ["а"]), "outputs", "it is a list, not a string"),
    "no meta": (RIDDLES_CLOSED, drop("meta"), "meta", "missing"),
    "a text as meta": (RIDDLES_CLOSED, put("meta", "2"), "meta", "it is a string, not an object"),
    "no id": (RIDDLES_CLOSED, drop("meta", "id"), "meta.id", "missing"),
    "an id as text": (RIDDLES_CLOSED, put("meta", "id", "2"), "meta.id", "it is a string, not an integer"),
    "an id as truth value": (RIDDLES_CLOSED, put("meta", "id", True), "meta.id", "it is a boolean"),
    "a fraction as id": (RIDDLES_CLOSED, put("meta", "id", 2.5), "meta.id", "it is a number, not an integer"),
    "an id too large": (RIDDLES_CLOSED, put("meta", "id", 10**30), "meta.id", "too large"),
    "an id twice": (RIDDLES_CLOSED, put("meta", "id", 1), "meta.id", "stands already in"),
    "an id of a shot": (RIDDLES_CLOSED, lambda test, shots: shots[0]["meta"].update(id=2), "meta.id", "test.json, row"),
    "no type": (ENANTIOSEMY, drop("meta", "type"), "meta.type", "missing"),
    "an unknown type": (RUSSIAN_REGIONS, put("meta", "task_type", 4), "meta.task_type", "the type 4 is unknown"),
    "a type as text": (ENANTIOSEMY, put("meta", "type", "1"), "meta.type", "not an integer"),
    "no group": (RUSSIAN_REGIONS, drop("meta", "group_id"), "meta.group_id", "missing"),
    "a further field of two kinds": (
        RIDDLES_CLOSED, lambda test, shots: (test[0]["meta"].update(x="a"), test[1]["meta"].update(x=1)), "meta.x",
        "it is a number, but a string in",
    ),
    "no number": (RIDDLES_CLOSED, put("meta", "x", float("nan")), "meta.x", "nan, which is no number"),
    "half a character": (RIDDLES_CLOSED, put("inputs", "question", "я\ud83d"), "inputs.question", "half a character"),
    "a Latin letter": (ENANTIOSEMY, put("outputs", "A; Е"), "outputs", "unknown letter 'A' (a Latin letter)"),
    "a small letter": (ENANTIOSEMY, put("outputs", "а"), "outputs", "unknown letter 'а'"),
    "a letter too far": (ENANTIOSEMY, put("outputs", "А; Ж"), "outputs", "unknown letter 'Ж'"),
    "letters out of order": (ENANTIOSEMY, put("outputs", "Е; А"), "outputs", "out of order"),
    "a letter twice": (ENANTIOSEMY, put("outputs", "А; А"), "outputs", "a letter twice"),
    "another separator": (ENANTIOSEMY, put("outputs", "А,Б"), "outputs", "unknown letter 'А,Б'"),
    "two letters for one": (RUSSIAN_REGIONS, put("outputs", "А; Б"), "outputs", "holds 2 letters, at most 1 fit"),
    "no unit": (
        RUSSIAN_REGIONS, lambda test, shots: test[4].update(outputs="А"), "outputs", "lacks the language unit",
    ),
    "a riddle's answer without a word": (RIDDLES_CLOSED, put("outputs", "; …"), "outputs", "holds no word"),
}  # fmt: skip


def broken(root: Path, benchmark: Benchmark, change: Change, rows_per_type: int = 4) -> Path:
    """Write a small data set with a change; returns the benchmark's folder."""
    write_data(root, rows_per_type=rows_per_type, benchmarks=(benchmark,))
    (folder,) = root.iterdir()
    test, shots = (json.loads((folder / f"{split}.json").read_text())["data"] for split in ("test", "shots"))
    change(test, shots)
    for split, rows in (("test", test), ("shots", shots)):
        (folder / f"{split}.json").write_text(json.dumps({"data": rows}))
    return folder


def report_of(outcome) -> dict[str, Any]:
    (report,) = json.loads(outcome.out)
    return report


@pytest.mark.parametrize("case", BROKEN_ROWS)
def test_each_broken_row_is_found_and_named(case, mera_ru, tmp_path):
    benchmark, change, field, words = BROKEN_ROWS[case]
    folder = broken(tmp_path / "data", benchmark, change)
    outcome = mera_ru("data", "check", folder, "--format", "json")
    assert outcome.status == 1 and outcome.err == ""
    problems = report_of(outcome)["problems"]
    assert [(problem["field"], words in problem["what"], bool(problem["remedy"])) for problem in problems] == [
        (field, True, True)
    ], problems
    row = {"no unit": 5, "an id of a shot": 1}.get(case, 2)
    place = folder / ("shots.json" if case == "an id of a shot" else "test.json")
    assert (problems[0]["place"], problems[0]["row"]) == (str(place), row)
    table = mera_ru("data", "check", folder)
    assert table.status == 1 and "1 problem\n" in table.out and field in table.out


def edit(name: str, content: Callable[[bytes], bytes] | bytes) -> Callable[[Path], Any]:
    def change(folder):
        file = folder / name
        file.write_bytes(content if isinstance(content, bytes) else content(file.read_bytes()))

    return change


def with_sums(text: str) -> Callable[[Path], Any]:
    return lambda folder: (folder / "SHA256SUMS").write_text(text)


def in_cp1251(raw: bytes) -> bytes:
    return json.dumps(json.loads(raw), ensure_ascii=False).encode("cp1251")


BROKEN_FILES: dict[str, tuple[Callable[[Path], Any], str]] = {
    "a cut file": (edit("test.json", lambda raw: raw[:-9]), "test.json is not valid JSON: line"),
    "an old encoding": (edit("test.json", in_cp1251), "test.json is not UTF-8"),
    "no rows key": (edit("test.json", b'{"rows": []}'), "test.json holds no rows"),
    "no rows": (edit("test.json", b'{"data": []}'), "it holds no rows"),
    "no test": (lambda folder: (folder / "test.json").unlink(), "there is no split `test` (splits found: shots)"),
    "the test twice": (edit("test.jsonl", b"{}"), "holds the split `test` more than once: test.json, test.jsonl"),
    "no prompts file": (lambda folder: (folder / "dataset_meta.json").unlink(), "dataset_meta.json is missing"),
    "prompts of another form": (edit("dataset_meta.json", b'{"prompts": {}}'), "`prompts`: it is not a list"),
    "broken shots": (edit("shots.json", b"["), "shots.json is not valid JSON"),
    "a changed file": (with_sums("0" * 64 + "  test.json\n"), "it differs from its checksum"),
    "a missing file": (with_sums("0" * 64 + "  lost.json\n"), "it is missing, though SHA256SUMS names it"),
    "a checksum of a file elsewhere": (with_sums("0" * 64 + "  ../x\n"), "is no checksum of a file here"),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN_FILES)
def test_each_broken_file_is_found_and_named(case, mera_ru, tmp_path):
    folder = broken(tmp_path / "data", RIDDLES_CLOSED, lambda test, shots: None)
    BROKEN_FILES[case][0](folder)
    outcome = mera_ru("data", "check", folder, "--format", "json")
    assert outcome.status == 1
    assert any(BROKEN_FILES[case][1] in problem["what"] for problem in report_of(outcome)["problems"]), outcome.out


def every_letter_a(test, shots):
    for row in test:
        row["outputs"] = "А"


def same_question(test, shots):
    test[6]["inputs"] = test[1]["inputs"]


def near_shot(test, shots):
    shots[0]["inputs"]["question"] = test[1]["inputs"]["question"].replace(" ", ", ", 1) + " Да."


# What looks wrong though a run takes it; rows for each type; field; words.
SUSPICIOUS: dict[str, tuple[Benchmark, Change, int, str, str]] = {
    "a placeholder without input": (
        RIDDLES_CLOSED, put("instruction", "{question} {quesiton} {А, Б}"), 4, "instruction",
        "no input fills the placeholder {quesiton}",
    ),
    "an input without placeholder": (
        RIDDLES_CLOSED, put("inputs", "hint", "я"), 4, "inputs.hint", "no placeholder of the instruction shows it",
    ),
    "a placeholder with spaces": (
        RIDDLES_CLOSED, put("instruction", "{ question }"), 4, "instruction", "no input fills the placeholder { q",
    ),
    "mixed alphabets": (
        RIDDLES_CLOSED, put("outputs", "снег; cнежок"), 4, "outputs", "'cнежок' mixes Cyrillic with the Latin 'c'",
    ),
    "a unit from nowhere": (
        RUSSIAN_REGIONS, lambda test, shots: test[4].update(outputs="А; слово"), 4, "outputs",
        "the unit 'слово' does not stand in the right option, inputs.option_a",
    ),
    "an answer twice": (RIDDLES_CLOSED, put("outputs", "снег; Снег"), 4, "outputs", "'снег' is accepted 2 times"),
    "options alike": (
        ENANTIOSEMY, lambda test, shots: test[1]["inputs"].update(option_b=test[1]["inputs"]["option_a"]), 4,
        "inputs.option_b", "it is the same text as option_a",
    ),
    "a question twice": (RIDDLES_CLOSED, same_question, 10, "inputs", "it is the question of row 2 (id 2) again"),
    "a shot in the test": (RIDDLES_CLOSED, near_shot, 4, "inputs", "it is nearly the shot in row 1 (id 5)"),
    "a group in both splits": (
        RUSSIAN_REGIONS, lambda test, shots: shots[0]["meta"].update(group_id=1), 4, "meta.group_id",
        "the group 1 has rows in the test split too",
    ),
    "letters out of balance": (ENANTIOSEMY, every_letter_a, 60, "outputs", "the right letters are out of balance"),
    "prompts unevenly spread": (
        RIDDLES_CLOSED, lambda test, shots: [row.update(instruction=0) for row in test[:4]], 10, "instruction",
        "the prompts are spread unevenly (",
    ),
    "a part of the test": (RIDDLES_CLOSED, lambda test, shots: None, 4, "", "(4 rows, by the card 500)"),
}  # fmt: skip


@pytest.mark.parametrize("case", SUSPICIOUS)
def test_what_looks_wrong_is_a_warning(case, mera_ru, tmp_path):
    benchmark, change, rows, field, words = SUSPICIOUS[case]
    folder = broken(tmp_path / "data", benchmark, change, rows)
    outcome = mera_ru("data", "check", folder, "--format", "json")
    report = report_of(outcome)
    assert (outcome.status, report["problems"]) == (0, [])
    found = [warning for warning in report["warnings"] if warning["field"] == field and words in warning["what"]]
    assert len(found) == 1 and found[0]["remedy"], report["warnings"]


def test_clean_data_of_full_size_raise_nothing_and_are_counted(mera_ru, tmp_path):
    write_data(tmp_path / "data")
    outcome = mera_ru("data", "check", tmp_path / "data", "--format", "json")
    assert outcome.status == 0
    reports = {report["benchmark"]: report for report in json.loads(outcome.out)}
    assert all(report["problems"] == report["warnings"] == [] for report in reports.values())
    counts = reports["enantiosemy"]["statistics"]
    assert counts["rows"] == {"test": 506, "shots": 12} and counts["closed"] == {"test": 0, "shots": 0}
    assert counts["types"]["3"] == {"test": 18, "shots": 3, "card": 18}
    assert counts["prompts"]["2"] == [38, 38, 38, 37, 37]
    test, _ = make_rows(ENANTIOSEMY)
    assert counts["letters"] == {letter: sum(letter in row["outputs"] for row in test) for letter in "АБВГДЕ"}
    assert sum(counts["answers"].values()) == 506
    assert set(reports["riddles_closed"]["statistics"]["answers"]) == {str(number) for number in range(1, 12)}
    assert reports["russian_regions"]["statistics"]["groups"] == {"3": 201}
    assert "letters" not in reports["riddles_closed"]["statistics"]


def test_closed_answers_are_no_problem_and_the_shots_are_counted_instead(mera_ru, tmp_path):
    write_data(tmp_path, answers=False, rows_per_type=5, benchmarks=(ENANTIOSEMY,))
    counts = report_of(mera_ru("data", "check", tmp_path, "--format", "json"))["statistics"]
    assert (counts["closed"], counts["answers_of"]) == ({"test": 20, "shots": 0}, "shots")
    assert sum(counts["answers"].values()) == 12


def test_every_problem_is_listed_and_broken_rows_do_not_spoil_the_counts(mera_ru, tmp_path):
    def change(test, shots):
        for row in test[::2]:
            row["outputs"] = "x"
        test[1]["meta"]["type"] = 8

    folder = broken(tmp_path / "data", ENANTIOSEMY, change)
    outcome = mera_ru("data", "check", folder, "--format", "json")
    report = report_of(outcome)
    assert [problem["row"] for problem in report["problems"]] == [1, 2, 3, 5, 7, 9, 11, 13, 15]
    assert report["statistics"]["rows"] == {"test": 7, "shots": 12}
    assert mera_ru("data", "check", folder).out.count("holds the unknown letter") == 8


def test_markup_and_control_characters_in_data_do_nothing(mera_ru, tmp_path):
    hostile = "[red]А[/red]\x1b[31m\u202e[link=http://x]"
    folder = broken(tmp_path / "data", RIDDLES_CLOSED, lambda test, shots: test[1]["meta"].update(id=hostile))
    (folder / "SHA256SUMS").write_text(f"0  {hostile}\n")
    out = mera_ru("data", "check", folder).out
    assert "\x1b" not in out and "\u202e" not in out and "[red]" in out
    shown = broken(tmp_path / "other", RIDDLES_CLOSED, lambda test, shots: test[0]["inputs"].update(question=hostile))
    out = mera_ru("data", "show", "riddles_closed", "--data", shown.parent, "--response", f"Ответ: {hostile}").out
    assert "\x1b" not in out and "\u202e" not in out and out.count("[red]А[/red]\\x1b[31m\\u202e") == 4


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just("{question}\ud800"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=6,
)
PATHS = st.sampled_from(
    [
        (),
        ("instruction",),
        ("inputs",),
        ("inputs", "option_a"),
        ("outputs",),
        ("meta",),
        ("meta", "id"),
        ("meta", "group_id"),
    ]
)


@given(st.sampled_from(sorted(BENCHMARKS)), PATHS, VALUES)
@settings(deadline=None, max_examples=150)
def test_whatever_stands_in_a_row_there_is_a_report(tmp_path_factory, name, path, value):
    benchmark = BENCHMARKS[name]
    test, shots = make_rows(benchmark, rows_per_type=2)
    if path:
        place = test[1]
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value
    else:
        test[1] = value
    folder = tmp_path_factory.mktemp("data")
    write_json(folder / "dataset_meta.json", {"prompts": make_prompts(benchmark)})
    for split, rows in (("test", test), ("shots", shots)):
        (folder / f"{split}.json").write_text(json.dumps({"data": rows}))
    report = look_over(Source(benchmark, folder))
    json.dumps(report.as_json())


TARGETS = {
    "a benchmark's folder": (["data/Enantiosemy"], ["enantiosemy"]),
    "a data folder": (["data"], ["enantiosemy", "riddles_closed"]),
    "a folder of another name": (["copy", "--benchmark", "riddles_closed"], ["riddles_closed"]),
    "shipped data by a task's name": (["riddles_open_sample"], ["riddles_open"]),
    "a benchmark by its name": (["riddles_closed"], ["riddles_closed"]),
}


@pytest.mark.parametrize("case", TARGETS)
def test_every_way_to_name_data(case, mera_ru, monkeypatch, tmp_path):
    write_data(tmp_path / "data", rows_per_type=2, benchmarks=(ENANTIOSEMY, RIDDLES_CLOSED))
    (tmp_path / "copy").symlink_to("data/Riddles")
    monkeypatch.setenv("MERA_RU_DATA", "data")
    arguments, benchmarks = TARGETS[case]
    outcome = mera_ru("data", "check", *arguments, "--format", "json")
    assert outcome.status == 0, outcome
    assert [report["benchmark"] for report in json.loads(outcome.out)] == benchmarks


MISTAKES = {
    "no such thing": (["check", "nowhere"], 1, "nowhere is neither a folder nor the name of a benchmark"),
    "a file": (["check", "file.json"], 1, "file.json is a file, not a folder"),
    "a folder of nothing": (["check", "empty"], 1, "say which with --benchmark"),
    "no such benchmark for a folder": (["check", "empty", "--benchmark", "mmlu"], 1, "no benchmark or task 'mmlu'"),
    "a folder that is none": (["check", "file.json", "--benchmark", "riddles_closed"], 1, "file.json is no folder"),
    "a set that is not on the hub": (["check", "riddles_open"], 1, "is not on the hub. Set MERA_RU_DATA"),
    "fetch what is not on the hub": (["fetch", "riddles_open", "-o", "x"], 1, "is not on the hub"),
    "fetch nothing known": (["fetch", "mmlu", "-o", "x"], 1, "no benchmark or task 'mmlu'"),
    "fetch to nowhere": (["fetch", "enantiosemy"], 2, "--output"),
    "show nothing known": (["show", "mmlu"], 1, "no benchmark or task 'mmlu'"),
    "show no such id": (["show", "riddles_sample", "--id", "999"], 1, "no document with id 999; its ids are 1 to 65"),
    "show no number": (["show", "riddles_sample", "--id", "x"], 2, "--id"),
    "show without the data": (["show", "riddles_closed", "--data", "empty"], 1, "has no folder `riddles_closed`"),
    "no target": (["check"], 2, "Missing argument"),
    "another format": (["check", "empty", "--format", "xml"], 2, "--format"),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_a_mistake_ends_with_its_message(case, mera_ru, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file.json").touch()
    arguments, status, message = MISTAKES[case]
    outcome = mera_ru("data", *arguments)
    assert outcome.status == status and message in outcome.err and "Traceback" not in outcome.err


def mixed(doc, prompt):
    """Answers that the pipelines read differently."""
    answer = doc["outputs"].split(";")[0]
    return (f"Ответ: {doc['outputs']}", f"**Ответ**: «{answer}»", answer, "Ответ: не знаю")[doc["meta"]["id"] % 4]


@pytest.mark.parametrize(
    "task",
    ["enantiosemy_sample", "riddles_sample_prefill", "riddles_open_sample", "russian_regions_sample",
     "russian_regions_sample_prefill"],
)  # fmt: skip
def test_a_document_is_shown_as_a_run_sees_it(task):
    samples = run(None, [task], mixed, limit=8)["samples"][task]
    for sample in samples:
        doc, response = sample["doc"], sample["resps"][0][0]
        if doc["meta"]["id"] > 4:
            continue
        shown = document.show(task, doc["meta"]["id"])
        assert shown.prompt == sample["arguments"][0][0]
        assert shown.doc == doc and shown.reference == doc["outputs"].strip()
        read = document.read(shown, response)
        scores = read.strict_scores if sample["filter"] == "strict-match" else read.flexible_scores
        assert dict(scores) == {name: sample[name] for name in sample["metrics"]}
        if sample["filter"] == "flexible-extract":
            assert read.flexible == sample["filtered_resps"][0]


def test_showing_a_document(mera_ru, monkeypatch, tmp_path):
    monkeypatch.setenv("LM_EVAL_JUDGE_API_BASE", "http://127.0.0.1:9")  # a look must not cost a judge's question
    monkeypatch.setenv("LM_EVAL_JUDGE_MODEL", "judge")
    write_data(tmp_path, answers=False, rows_per_type=2, benchmarks=(RUSSIAN_REGIONS,))
    closed = mera_ru("data", "show", "russian_regions", "--data", tmp_path, "--response", "**Ответ:** (б)")
    assert closed.status == 0 and "meta ---\nid 1, " in closed.out
    assert "(closed: the document gets no score)" in closed.out and closed.out.count("for want of a reference") == 2
    assert "flexible-extract reads ---\n'Б'" in closed.out
    shot = mera_ru("data", "show", "russian_regions_shots", "--data", tmp_path)
    _, shots = make_rows(RUSSIAN_REGIONS, rows_per_type=2)
    assert f"id {shots[0]['meta']['id']}," in shot.out and f"reference ---\n{shots[0]['outputs']}\n" in shot.out
    identity, response = shots[0]["meta"]["id"], f"Ответ: {shots[0]['outputs']}"
    scored = mera_ru("data", "show", "russian_regions", "--id", identity, "--data", tmp_path, "--response", response)
    assert scored.out.count("exact_match 1") == 2


def hub_files(benchmark: Benchmark) -> dict[str, bytes]:
    """The benchmark as the hub has it: Parquet, prompts as text, absent inputs null, test answers closed."""
    prompts = make_prompts(benchmark)
    files = {}
    for split, rows in zip(("test", "shots"), make_rows(benchmark), strict=True):
        full = []
        for row in rows:
            prompt = prompts[row["instruction"]]
            blocks = {name: text for name, text in prompt.items() if isinstance(text, str) and name != "instruction"}
            inputs = {"lang_unit": None, "example_text": None, "region": None, **blocks, **row["inputs"]}
            outputs = "" if split == "test" else row["outputs"]
            full.append({**row, "instruction": prompt["instruction"], "inputs": inputs, "outputs": outputs})
        stream = io.BytesIO()
        pq.write_table(pa.Table.from_pylist(full), stream)
        files[f"data/{split}-00000-of-00001.parquet"] = stream.getvalue()
    return files


FETCHED = {"test.json", "shots.json", "dataset_meta.json"}


def call(environment: dict[str, str], *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from mera_ru_tasks.cli import main; main()", *map(str, arguments)]
    return subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True)


def test_a_hub_dataset_is_fetched_and_a_cached_one_serves_offline(mera_ru, tmp_path):
    environment = {"HF_HOME": str(tmp_path / "home"), "HF_HUB_OFFLINE": "0", "MERA_RU_DATA": "", "HF_TOKEN": ""}
    with hub({RUSSIAN_REGIONS.hub: hub_files(RUSSIAN_REGIONS)}) as address:
        online = {**environment, "HF_ENDPOINT": address}
        fetched = call(online, "data", "fetch", "russian_regions", "-o", tmp_path / "data")
        unknown = call(online, "data", "fetch", "russian_regions", "-o", tmp_path / "x", "--revision", "nope")
    assert fetched.returncode == 0, fetched.stderr
    assert f"603 rows in test, 9 rows in shots, revision {COMMIT}" in fetched.stdout
    again = mera_ru("data", "fetch", "russian_regions", "-o", tmp_path / "data")
    assert again.status == 1 and "exists and is not overwritten" in again.err
    assert unknown.returncode == 1 and "at revision nope could not be loaded" in unknown.stderr
    folder = tmp_path / "data" / "RussianRegions"
    meta = json.loads((folder / "dataset_meta.json").read_text())
    assert (meta["revision"], meta["source"]) == (COMMIT, "MERA-evaluation/RussianRegions")
    sums = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in sorted(FETCHED)}
    assert sorted((folder / "SHA256SUMS").read_text().splitlines()) == sorted(f"{sums[name]}  {name}" for name in sums)
    assert [child.name for child in (tmp_path / "data").iterdir()] == ["RussianRegions"]
    assert "null" not in (folder / "test.json").read_text()

    direct = write_data(tmp_path / "direct", answers=False, benchmarks=(RUSSIAN_REGIONS,))
    for identity in (1, 250, 603, 612):
        ours, theirs = (document.show("russian_regions", identity, data=data) for data in (folder.parent, direct))
        assert ours == theirs
    assert report_is_clean(folder)

    results = tmp_path / "results"
    run(results, ["russian_regions"], lambda doc, prompt: "x", data=folder.parent)
    offline = {**environment, "HF_HUB_OFFLINE": "1", "HF_ENDPOINT": "http://127.0.0.1:9"}
    packed = call(offline, "submit", results, "-o", tmp_path / "s.zip", "--partial")
    assert packed.returncode == 0, packed.stdout + packed.stderr
    assert "no data are at hand" not in packed.stdout
    (log,) = results.rglob("samples_*")
    log.write_bytes(log.read_bytes().replace(b'"meta": {"id": 603,', b'"meta": {"id": 6030,'))
    refused = call(offline, "submit", results, "-o", tmp_path / "t.zip", "--partial")
    assert refused.returncode == 1
    assert "not in MERA-evaluation/RussianRegions (cached), split test: id 6030" in refused.stdout


def report_is_clean(folder: Path) -> bool:
    report = look_over(Source(RUSSIAN_REGIONS, folder))
    return not report.problems and not report.warnings


def test_the_shipped_data_have_nothing_wrong_but_their_size(mera_ru):
    outcome = mera_ru("data", "check", sample_folder(), "--format", "json")
    assert outcome.status == 0
    for report in json.loads(outcome.out):
        assert [warning["what"].split(" (")[0] for warning in report["warnings"]] == [
            "the test split is not the whole test set"
        ], report["warnings"]


def commands(typer_app, *path: str) -> list[tuple[str, ...]]:
    names = [(*path, info.name or info.callback.__name__) for info in typer_app.registered_commands]
    return names + [
        name for group in typer_app.registered_groups for name in commands(group.typer_instance, group.name)
    ]


@pytest.mark.parametrize("path", commands(app), ids=" ".join)
def test_every_command_explains_itself_with_an_example(path, mera_ru):
    outcome = mera_ru(*path, "--help")
    assert outcome.status == 0
    before, word, examples = outcome.out.lower().partition("example")
    assert word and (f"mera-ru {' '.join(path)}" in examples or "the help of lm-eval" in before)


def test_help_loads_nothing_heavy():
    code = (
        "import sys; from mera_ru_tasks.cli import app; sys.argv = ['mera-ru', '--help']\n"
        "try: app()\nexcept SystemExit: pass\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    loaded = set(eval(out.splitlines()[-1]))
    heavy = {"lm_eval", "datasets", "torch", "numpy", "scipy", "pyarrow", "openai", "jinja2", "yaml", "transformers"}
    assert "typer" in loaded and not loaded & heavy


def test_version_and_no_command(mera_ru):
    assert mera_ru("--version").out.startswith("mera-ru 0.")
    assert mera_ru("nonsense").status == 2 and mera_ru("data", "nonsense").status == 2
    assert "submit" in (outcome := mera_ru()).out + outcome.err
    assert "--install-completion" in mera_ru("--help").out
