"""Custom tasks, and the files of `mera-ru judge` and `mera-ru score`, in a comparison and its report."""

import json

import pytest
import yaml

from mera_ru_tasks.compare.compare import compare_runs
from mera_ru_tasks.compare.html import pack
from mera_ru_tasks.compare.notes import joined
from mera_ru_tasks.scoring.metrics import FLEXIBLE, STRICT
from tests.support.comparisons import row_of, skilled
from tests.support.judge_stub import StubJudge
from tests.support.rows import data_folder
from tests.support.scripted import run
from tests.support.synthetic import write_data

TASKS = ["meaning_quiz", "city_meaning_quiz"]
LABELS = ("org/one", "org/two")


def letters_row(number):
    kind = 1 + number % 2
    letters = "АБВ" if kind == 1 else "АБВГД"
    return {
        "instruction": ("Выберите: " if number % 4 < 2 else "Укажите: ") + "{question}",
        "inputs": {"question": f"город {number}"},
        "outputs": letters[number % 3],
        "meta": {"id": number, "kind": kind - 1, "group_id": "Сибирь", "type": ["город"]},
    }


def phrase_row(number):
    accepted = f"ключ {number}" + ("; отмычка" if number % 2 else "")
    return {
        "instruction": f"Назовите предмет {number}.", "inputs": {"hint": f"подсказка {number}"}, "outputs": accepted,
        "meta": {"id": number},
    }  # fmt: skip


@pytest.fixture(scope="module")
def own_runs(tmp_path_factory):
    """Run two models on two custom tasks. The name of one task ends with the name of the other."""
    root = tmp_path_factory.mktemp("own")
    numbers = range(1, 13)
    data_folder(root, "meaning_quiz", [phrase_row(number) for number in numbers])
    data_folder(root, "city_meaning_quiz", [letters_row(number) for number in numbers])
    forms = {
        "meaning_quiz": {"mera_ru_answer": "phrase"},
        "city_meaning_quiz": {
            "mera_ru_answer": {0: {"choices": "АБВ"}, 1: {"choices": "АБВГД"}}, "mera_ru_type_field": "kind",
            "mera_ru_prefill": True,
        },
    }  # fmt: skip
    folder = root / "tasks"
    folder.mkdir()
    for task, form in forms.items():
        settings = {"mera_ru_path": str(root / task), **form}
        text = yaml.safe_dump({"task": task, "dataset_kwargs": settings, "metadata": {"version": 1.0}})
        (folder / f"{task}.yaml").write_text(text + "class: !function mera_ru_tasks.CustomTask\n", encoding="utf-8")
    for model, skill in zip(LABELS, (0.3, 0.8), strict=True):
        run(root / "results", TASKS, skilled(skill), model=model, task_folders=[folder])
    return root / "results"


def test_own_tasks_are_compared_like_the_others(own_runs):
    comparison = compare_runs([own_runs])
    assert comparison.tasks == ["city_meaning_quiz", "meaning_quiz"]
    assert comparison.issues == []
    assert [one.measure.code for one in comparison.verdicts] == ["measure", "measure"], "neither is a mean over tasks"
    letters, phrase = (
        row_of(comparison, task, "org/two", filter_name=FLEXIBLE) for task in ("city_meaning_quiz", "meaning_quiz")
    )
    assert (letters.chance, phrase.chance) == (pytest.approx((1 / 3 + 1 / 5) / 2), 0)
    for row in (letters, phrase):
        base = row_of(comparison, row.task, "org/one", filter_name=FLEXIBLE)
        assert row.difference.estimate.value == pytest.approx(row.score.value - base.score.value)
        assert row.score.n == 12
    assert comparison.means == []
    assert all(entry.prefilled == (entry.task == "city_meaning_quiz") for entry in comparison.entries)
    parts = {(s.task, s.by): set() for s in comparison.slices}
    for found in comparison.slices:
        parts[found.task, found.by].add(found.part)
    # Each row of `meaning_quiz` has a different instruction, so there is no breakdown by prompt.
    assert parts == {
        ("city_meaning_quiz", "type"): {"0", "1"},
        ("city_meaning_quiz", "prompt"): {"0.1", "0.2", "1.1", "1.2"},
        ("meaning_quiz", "accepted_answers"): {"1", "2"},
    }
    chance = {s.part: s.chance for s in comparison.slices if (s.task, s.by) == ("city_meaning_quiz", "type")}
    assert chance == {"0": pytest.approx(1 / 3), "1": pytest.approx(1 / 5)}


def test_an_own_task_is_prefilled_by_its_settings_whatever_its_name(own_runs):
    together = compare_runs([own_runs], across_settings=True)
    assert {entry.task: entry.model for entry in together.entries if entry.model.startswith("org/one")} == {
        "city_meaning_quiz": "org/one · prefilled", "meaning_quiz": "org/one",
    }  # fmt: skip


def test_own_tasks_are_in_the_report(own_runs, mera_ru, tmp_path):
    packed = pack(compare_runs([own_runs]))
    titles = {packed["strings"][document["title"]] for document in packed["documents"]}
    assert {"город 1", "подсказка 1"} <= titles
    assert {document["type"] for document in packed["documents"]} == {None, 0, 1}
    outcome = mera_ru("compare", own_runs, "-o", tmp_path / "report.html")
    assert outcome.status == 0, outcome.err
    assert "exact_match, strict-match · 12 documents" in outcome.out
    assert "Mean over" not in outcome.out


def test_other_tasks_are_left_out_and_named(own_runs, mera_ru):
    [log] = own_runs.glob("org__one/samples_meaning_quiz_2*.jsonl")
    rows = [json.loads(line) for line in log.read_text(encoding="utf-8").split("\n") if line]
    other = log.with_name(log.name.replace("samples_meaning_quiz_", "samples_gsm8k_"))
    other.write_text("".join(json.dumps({**row, "doc": {"question": "?"}}) + "\n" for row in rows), encoding="utf-8")
    outcome, problems = mera_ru("compare", own_runs), compare_runs([own_runs]).issues
    other.unlink()
    assert outcome.status == 0
    [left_out] = [one for one in problems if one.code == "other-tasks"]
    assert dict(left_out.values) == {"tasks": "gsm8k"}
    assert str(left_out) in outcome.err


@pytest.fixture
def judged(monkeypatch, tmp_path):
    """Create a judge that gives 1 to answers with a certain word, and otherwise 0.5."""
    with StubJudge(score=lambda message: 2 if "ключ" in message else 1) as judge:
        for name, value in (("API_BASE", judge.url), ("MODEL", "org/judge x"), ("API_KEY", "none")):
            monkeypatch.setenv(f"LM_EVAL_JUDGE_{name}", value)
        monkeypatch.setenv("LM_EVAL_JUDGE_CACHE", str(tmp_path / "cache.sqlite"))
        yield judge


def test_what_the_judge_wrote_is_read_of_its_own_task_alone(own_runs, judged, mera_ru):
    assert mera_ru("judge", own_runs).status == 0
    comparison = compare_runs([own_runs])
    filter_names = {row.filter for row in comparison.rows if row.metric == "judge_score"}
    assert filter_names == {"judge org_judge_x"}, "`judged_JUDGE_city_meaning_quiz` is not a file of `meaning_quiz`"
    for [file] in (own_runs.glob(f"{label.replace('/', '__')}/judged_results_*.json") for label in LABELS):
        content = json.loads(file.read_text(encoding="utf-8"))
        for task in TASKS:
            row = row_of(comparison, task, content["model_name"], "judge_score", "judge org_judge_x")
            assert row.score.value == pytest.approx(content["results"][task]["judge_score,strict-match"])
            assert row.score.n == 12
    reasons = {verdict.reason for e in comparison.entries for a in e.answers.values() for verdict in a.verdicts}
    assert "так решил судья" in reasons
    packed = pack(comparison)
    assert all(len(answer[-1]) == 1 for document in packed["documents"] for answer in document["answers"])


def test_scores_of_answers_that_came_later_are_read(tmp_path, mera_ru):
    data = write_data(tmp_path / "closed", rows_per_type=4, answers=False)
    answered = write_data(tmp_path / "answered", rows_per_type=4)
    run(tmp_path / "results", ["riddles_closed"], skilled(0.5), data=data)
    assert compare_runs([tmp_path / "results"]).rows == []
    assert mera_ru("score", tmp_path / "results", "--data", answered).status == 0
    comparison = compare_runs([tmp_path / "results"])
    assert "scores of riddles_closed are from scored_riddles_closed_" in joined(comparison.issues)
    [file] = (tmp_path / "results").rglob("scored_results_*.json")
    expected = json.loads(file.read_text(encoding="utf-8"))["results"]["riddles_closed"]
    for filter_name in (STRICT, FLEXIBLE):
        row = row_of(comparison, "riddles_closed", "org/scripted", filter_name=filter_name)
        assert row.score.value == pytest.approx(expected[f"exact_match,{filter_name}"])
        assert row.score.n == 4


def test_a_field_of_a_users_own_rows_joins_no_documents(tmp_path):
    """`meta.group_id` has this package's meaning only if the loader also stored the size of the group."""
    estimates = []
    for name, more in (("plain", {}), ("grouped", {"group_id": 7})):
        rows = [{**phrase_row(number), "meta": {"id": number, **more}} for number in range(1, 13)]
        data_folder(tmp_path / name, "meaning_quiz", rows)
        folder = tmp_path / name / "tasks"
        folder.mkdir()
        settings = {"mera_ru_path": str(tmp_path / name / "meaning_quiz"), "mera_ru_answer": "phrase"}
        text = yaml.safe_dump({"task": "meaning_quiz", "dataset_kwargs": settings, "metadata": {"version": 1.0}})
        (folder / "meaning_quiz.yaml").write_text(
            text + "class: !function mera_ru_tasks.CustomTask\n", encoding="utf-8"
        )
        run(tmp_path / name / "results", ["meaning_quiz"], task_folders=[folder])
        estimates.append(compare_runs([tmp_path / name / "results"]).rows[0].score)
    assert estimates[0] == estimates[1]
