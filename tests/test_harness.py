"""Every task in lm-eval's own evaluation: known responses, known scores; several processes; the logs."""

from __future__ import annotations

import json
import pickle
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import lm_eval
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from lm_eval.tasks import TaskManager
from rows import Row, data_folder, enantiosemy, region, riddle
from scripted import Answer, ScriptedModel, reference, run

from mera_ru_tasks.errors import DataError
from mera_ru_tasks.harness import group_mean
from mera_ru_tasks.paths import yaml_folder

BASES = ("enantiosemy", "riddles_closed", "russian_regions")
GROUPS = {
    "mera_ru": BASES,
    "mera_ru_prefill": tuple(f"{base}_prefill" for base in BASES),
    "mera_ru_sample": ("enantiosemy_sample", "riddles_sample", "russian_regions_sample"),
    "mera_ru_sample_prefill": (
        "enantiosemy_sample_prefill", "riddles_sample_prefill", "russian_regions_sample_prefill",
    ),
}  # fmt: skip
SCORED = (*BASES, *(f"{base}_shots" for base in BASES), *GROUPS["mera_ru_prefill"], "riddles_open")
SAMPLES = (*GROUPS["mera_ru_sample"], *GROUPS["mera_ru_sample_prefill"], "riddles_open_sample")


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MERA_RU_DATA", "MERA_RU_REVISION", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)


# --- known responses, known scores -----------------------------------------------------------------------------------

# For each benchmark its rows, what the model writes to each, and all the numbers that must come out.
ENANTIOSEMY = [
    (enantiosemy(1, "А; Е"), "Ответ: А; Е"),
    (enantiosemy(2, "А; Е"), "Ответ: **Е, А**"),
    (enantiosemy(3, "А; Е"), "Ответ: А"),
    (enantiosemy(4, "Б"), "Не знаю."),
    (enantiosemy(5, "Б"), None),
]
RIDDLES = [
    (riddle(1, "Снег; Первый снег"), "Ответ: первый снег"),
    (riddle(2, "Снег; Первый снег"), "Это просто.\n\n**Ответ:** «Снег» (белый)"),
    (riddle(3, "Снег"), "Ответ: дождь"),
    (riddle(4, "Снег"), ""),
]
REGIONS = [
    (region(1, "А", group=0), "Ответ: А"),
    (region(2, "Б; файл", group=0, kind=2), "Ответ: Б; файл"),
    (region(3, "В; вехотка", group=0, kind=3), "Ответ: В; Вехотка."),
    (region(4, "А", group=1), "Ответ: А"),
    (region(5, "Б; файл", group=1, kind=2), "Ответ: Б) файл"),
    (region(6, "В; вехотка", group=1, kind=3), "Ответ: B; вехотка"),
    (region(7, "А", group=2), "Ответ: А"),
    (region(8, "Б; файл", group=2, kind=2), "Ответ: Б; папка"),
    (region(9, "В; вехотка", group=2, kind=3), "Ответ: Г; вехотка"),
]
CASES = {"enantiosemy": ENANTIOSEMY, "riddles_closed": RIDDLES, "riddles_open": RIDDLES, "russian_regions": REGIONS}
EXPECTED: dict[str, dict[str, float]] = {
    "enantiosemy": {
        "exact_match,strict-match": 1 / 5,
        "exact_match,flexible-extract": 2 / 5,
        "f1,flexible-extract": (1 + 1 + 2 / 3) / 5,
        "answered,flexible-extract": 3 / 5,
    },
    "riddles_closed": {
        "exact_match,strict-match": 1 / 4,
        "exact_match,flexible-extract": 2 / 4,
        "answered,flexible-extract": 3 / 4,
    },
    "russian_regions": {
        "exact_match,strict-match": 6 / 9,
        "group_exact_match,strict-match": 1 / 3,
        "exact_match,flexible-extract": 7 / 9,
        "group_exact_match,flexible-extract": 2 / 3,
        "letter_match,flexible-extract": 8 / 9,
        "answered,flexible-extract": 9 / 9,
    },
}
EXPECTED["riddles_open"] = EXPECTED["riddles_closed"]


def base_of(task: str) -> str:
    return next(base for base in (*BASES, "riddles_open") if task.startswith(base))


def answer_of(cases: list[tuple[Row, str | None]]) -> Answer:
    """A model that answers as the cases say; behind a prefilled marker it does not write the marker again."""
    by_id = {row["meta"]["id"]: response for row, response in cases}

    def answer(doc: Mapping[str, Any], prompt: str) -> str | None:
        response = by_id[doc["meta"]["id"]]
        return response.removeprefix("Ответ:") if response and prompt.endswith("\nОтвет:") else response

    return answer


def known_folder(root: Path, *, in_shots: bool = False) -> Path:
    """The cases' rows of all benchmarks, in the split that the task scores."""
    for base, cases in CASES.items():
        rows = [row for row, _ in cases]
        closed = [{**row, "outputs": "", "meta": {**row["meta"], "id": 99}} for row in rows[:1]]
        data_folder(root, base, *((closed, rows) if in_shots else (rows, ())))
    return root


def numbers(results: Mapping[str, Any], task: str) -> dict[str, float]:
    """A task's or group's rows in the results table, without the standard errors."""
    return {key: value for key, value in results["results"][task].items() if "," in key and "_stderr" not in key}


@pytest.mark.parametrize("task", SCORED)
def test_known_responses_get_their_known_scores(tmp_path: Path, task: str) -> None:
    base = base_of(task)
    root = known_folder(tmp_path, in_shots=task.endswith("_shots"))
    results = run(None, [task], answer_of(CASES[base]), data=root)
    assert numbers(results, task) == pytest.approx(EXPECTED[base])
    assert results["n-samples"][task] == {"original": len(CASES[base]), "effective": len(CASES[base])}


def test_a_prefilled_response_is_read_as_what_follows_the_marker(tmp_path: Path) -> None:
    root = data_folder(tmp_path, "riddles", [riddle(1, "Снег")])
    for task, read in (("riddles_closed_prefill", 1), ("riddles_closed", 0)):
        results = run(None, [task], lambda doc, prompt: " снег, потому что он белый", data=root)
        assert numbers(results, task)["exact_match,flexible-extract"] == read


@pytest.mark.parametrize("task", SAMPLES)
def test_the_sample_tasks_score_right_and_wrong_answers(task: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MERA_RU_DATA", "/of no concern to the samples")
    right = numbers(run(None, [task]), task)
    wrong = numbers(run(None, [task], lambda doc, prompt: "Ответ: Ж; неправда"), task)
    base = {"riddles": "riddles_closed"}.get(sampled := task.split("_sample")[0], sampled)
    assert set(right) == set(wrong) == set(EXPECTED[base])
    assert all(value == 1 for value in right.values())
    assert {name: value for name, value in wrong.items() if not name.startswith("answered")} == (
        dict.fromkeys((name for name in wrong if not name.startswith("answered")), 0)
    )


def test_the_group_is_the_unweighted_mean_of_strict_exact_match(tmp_path: Path) -> None:
    answers = {base: answer_of(CASES[base]) for base in BASES}

    def answer(doc: Mapping[str, Any], prompt: str) -> str | None:
        base = next(name for name, cases in CASES.items() if cases[0][0]["inputs"].keys() <= doc["inputs"].keys())
        return answers[base](doc, prompt)

    for group in ("mera_ru", "mera_ru_prefill"):
        results = run(None, [group], answer, data=known_folder(tmp_path))
        assert numbers(results, group) == pytest.approx({"exact_match,strict-match": (1 / 5 + 1 / 4 + 6 / 9) / 3})
        assert set(results["group_subtasks"][group]) == set(GROUPS[group])


def test_the_sample_groups_hold_the_sample_tasks() -> None:
    for group in ("mera_ru_sample", "mera_ru_sample_prefill"):
        results = run(None, [group])
        assert numbers(results, group) == {"exact_match,strict-match": 1}
        assert set(results["group_subtasks"][group]) == set(GROUPS[group])


def test_the_tag_names_the_leaderboards_three_tasks(tmp_path: Path) -> None:
    results = run(None, ["mera_ru_tasks"], lambda doc, prompt: "", data=known_folder(tmp_path))
    assert set(results["results"]) == set(BASES)


def our_tasks(**metadata: str) -> TaskManager:
    return TaskManager(include_defaults=False, include_path=str(yaml_folder()), metadata=metadata)


def test_these_tests_know_every_task() -> None:
    manager = our_tasks()
    assert set(manager.all_subtasks) == {*SCORED, *SAMPLES}
    assert set(manager.all_groups) == set(GROUPS)
    assert set(manager.all_tags) == {"mera_ru_tasks"}


def test_every_task_and_group_has_a_version() -> None:
    index = our_tasks().task_index
    versions = {name: entry.cfg["metadata"]["version"] for name, entry in index.items() if entry.cfg}
    assert versions == dict.fromkeys((*SCORED, *SAMPLES, *GROUPS), 1.0)


# --- no reference, no number -----------------------------------------------------------------------------------------


def our_warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.message for record in caplog.records if record.name == "lm_eval.mera_ru_tasks"]


SUBMIT = (
    "To have them scored by the leaderboard, generate with `--log_samples --output_path DIR` and submit; "
    "to score here, point MERA_RU_DATA at data with answers, or run the task `riddles_closed_shots`, "
    "which scores the public shots."
)
ADD = "To have them scored, add their answers to the data."


@pytest.mark.parametrize(
    ("task", "warning"),
    [
        ("riddles_closed", f"Riddles: 3 of 3 documents have no reference answer (the leaderboard keeps them closed), "
                           f"so they get no score. {SUBMIT}"),
        ("riddles_closed_prefill", f"Riddles: 3 of 3 documents have no reference answer (the leaderboard keeps them "
                                   f"closed), so they get no score. {SUBMIT}"),
        ("riddles_closed_shots", f"Riddles: 3 of 3 documents have no reference answer, so they get no score. {ADD}"),
        ("riddles_open", f"Riddles (open set): 3 of 3 documents have no reference answer, so they get no score. {ADD}"),
    ],
)  # fmt: skip
def test_closed_answers_give_one_warning_and_no_number(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, task: str, warning: str
) -> None:
    rows = [riddle(1, ""), riddle(2, None), riddle(3, " ")]
    others = [riddle(4, "")]
    data_folder(tmp_path, base_of(task), *((others, rows) if task.endswith("_shots") else (rows, others)))
    results = run(None, [task], lambda doc, prompt: "Ответ: ", data=tmp_path)
    assert our_warnings(caplog) == [warning]
    assert numbers(results, task) == {}
    assert [sample["resps"] for sample in results["samples"][task]] == [[["Ответ: "]]] * 6


def test_a_group_of_closed_tasks_has_no_number_either(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for base, make in zip(BASES, (enantiosemy, riddle, region), strict=True):
        data_folder(tmp_path, base, [make(1, "")])
    results = run(None, ["mera_ru"], lambda doc, prompt: "Ответ: А", data=tmp_path)
    assert [numbers(results, name) for name in ("mera_ru", *BASES)] == [{}] * 4
    assert sorted(text.split(":")[0] for text in our_warnings(caplog)) == ["Enantiosemy", "Riddles", "RussianRegions"]


def test_a_group_over_fewer_tasks_is_announced(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for base, row in zip(BASES, (enantiosemy(1, ""), riddle(1), region(1)), strict=True):
        data_folder(tmp_path, base, [row])
    results = run(None, ["mera_ru"], data=tmp_path)
    assert numbers(results, "mera_ru") == {"exact_match,strict-match": 1}
    assert "missing in 1/3 tasks. Missing in: enantiosemy" in caplog.text


def test_documents_with_a_reference_are_scored_beside_closed_ones(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rows = [riddle(1, "Снег"), riddle(2, ""), riddle(3, "Огонь"), riddle(4, "")]
    results = run(
        None, ["riddles_closed"], lambda doc, prompt: "Ответ: снег", data=data_folder(tmp_path, "riddles", rows)
    )
    assert numbers(results, "riddles_closed") == {
        "exact_match,strict-match": 1 / 2, "exact_match,flexible-extract": 1 / 2, "answered,flexible-extract": 1,
    }  # fmt: skip
    assert results["n-samples"]["riddles_closed"] == {"original": 4, "effective": 2}
    assert [text.split(" have")[0] for text in our_warnings(caplog)] == ["Riddles: 2 of 4 documents"]


def test_a_group_of_which_a_part_was_not_scored_is_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    rows = [region(1, "А"), region(2, "", kind=2), region(3, "А", group=1), region(4, "Б; файл", group=1, kind=2)]
    root = data_folder(tmp_path, "russian_regions", rows)
    results = run(None, ["russian_regions"], data=root)
    assert numbers(results, "russian_regions")["group_exact_match,strict-match"] == 1
    left_out = "1 of 2 groups were scored only in part (a limit, or documents without a reference or verdict): "
    assert our_warnings(caplog)[1:] == [f"{left_out}the group metric leaves them out."] * 2


def test_a_limit_leaves_the_groups_out_that_it_cuts(tmp_path: Path) -> None:
    root = known_folder(tmp_path)
    scores = {
        limit: numbers(run(None, ["russian_regions"], answer_of(REGIONS), data=root, limit=limit), "russian_regions")
        for limit in (2, 5, 8, 9)
    }
    shares = {limit: score["group_exact_match,strict-match"] for limit, score in scores.items()}
    assert shares == pytest.approx({2: float("nan"), 5: 1, 8: 1 / 2, 9: 1 / 3}, nan_ok=True)


def test_group_fields_of_the_users_own_make_no_groups(tmp_path: Path) -> None:
    root = data_folder(tmp_path, "riddles", [riddle(1, group_id=1), riddle(2, group_size=9)])
    results = run(None, ["riddles_closed"], data=root)
    assert numbers(results, "riddles_closed").keys() == EXPECTED["riddles_closed"].keys()


# --- settings --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("task", ["russian_regions", "riddles_closed", "enantiosemy_prefill"])
def test_predict_only_keeps_the_responses_and_scores_nothing(tmp_path: Path, task: str) -> None:
    base = base_of(task)
    cases = [case for case in CASES[base] if case[1] is not None]
    root = data_folder(tmp_path, base, [row for row, _ in cases])
    results = run(None, [task], answer_of(cases), data=root, predict_only=True)
    assert set(numbers(results, task)) <= {"bypass,strict-match", "bypass,flexible-extract"}
    logged = [sample["resps"][0][0] for sample in results["samples"][task] if sample["filter"] == "strict-match"]
    assert logged == [answer_of(cases)(row, "\nОтвет:" * task.endswith("prefill")) for row, _ in cases]


@pytest.mark.parametrize(
    ("task", "given", "sent"),
    [
        ("riddles_closed", None, {"until": [], "do_sample": False, "max_gen_toks": 1024}),
        ("riddles_closed_prefill", None, {"until": ["\n"], "do_sample": False, "max_gen_toks": 32}),
        ("riddles_closed", "max_gen_toks=64", {"until": [], "do_sample": False, "max_gen_toks": 64}),
        ("riddles_closed", {"until": ["</s>"], "do_sample": True, "temperature": 0.7},
         {"until": ["</s>"], "do_sample": True, "temperature": 0.7, "max_gen_toks": 1024}),
        ("riddles_closed_prefill", {"max_gen_toks": 8}, {"until": ["\n"], "do_sample": False, "max_gen_toks": 8}),
    ],
)  # fmt: skip
def test_generation_settings(tmp_path: Path, task: str, given: Any, sent: dict[str, Any]) -> None:
    root = data_folder(tmp_path, "riddles", [riddle(1)])
    samples = run(None, [task], data=root, gen_kwargs=given)["samples"][task]
    assert samples[0]["arguments"][0][1] == sent


@pytest.mark.parametrize(("given", "shown"), [(None, 0), (0, 0), (1, 1), (2, 2)])
def test_zero_shots_unless_asked_for(tmp_path: Path, given: int | None, shown: int) -> None:
    root = data_folder(tmp_path, "riddles", [riddle(1)], [riddle(2), riddle(3)])
    results = run(None, ["riddles_closed"], data=root, num_fewshot=given)
    assert results["samples"]["riddles_closed"][0]["arguments"][0][0].count("\nОтвет: Снег\n\n") == shown
    assert (results["n-shot"]["riddles_closed"] or 0) == shown


# --- document order and processes ------------------------------------------------------------------------------------


class World:
    """What the processes of one run share."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._meeting = threading.Barrier(size, timeout=60)
        self._brought: list[Any] = [None] * size

    def exchange(self, rank: int, value: Any) -> list[Any]:
        """Wait for all processes, and get what each brought."""
        self._brought[rank] = value
        self._meeting.wait()
        brought = list(self._brought)
        self._meeting.wait()
        return brought


class Process(ScriptedModel):
    """One of several processes, of which each gets a share of the documents, as lm-eval's engines have them."""

    def __init__(self, answer: Answer, world: World, rank: int) -> None:
        super().__init__(answer)
        self.world = world
        self._rank, self._world_size, self._device = rank, world.size, torch.device("cpu")

    def all_gather(self, tensor: torch.Tensor) -> torch.Tensor:
        return torch.stack(self.world.exchange(self.rank, tensor))

    def gather_object(self, obj: Any, dst: int = 0) -> list[Any] | None:
        brought = self.world.exchange(self.rank, pickle.loads(pickle.dumps(obj)))
        return brought if self.rank == dst else None

    def barrier(self) -> None:
        self.world.exchange(self.rank, None)


def run_in_processes(size: int, task: str, root: Path, answer: Answer, shots: int = 0) -> dict[str, Any]:
    """Evaluate with `size` processes, each a thread with tasks of its own, and return what the first one reports."""
    world = World(size)
    loaded = []
    for _ in range(size):
        manager = TaskManager(
            include_defaults=False, include_path=str(yaml_folder()), metadata={"mera_ru_data": str(root)}
        )
        loaded.append(manager.load([task]))
        built = loaded[-1]["tasks"][task]
        built.set_config("num_fewshot", shots)
        built.set_fewshot_seed(1234)

    def evaluate(rank: int) -> Any:
        return lm_eval.evaluate(Process(answer, world, rank), loaded[rank], bootstrap_iters=0)

    with ThreadPoolExecutor(size) as pool:
        reports = list(pool.map(evaluate, range(size)))
    assert reports[1:] == [None] * (size - 1)
    return reports[0]


def right_once(answer: Answer) -> Answer:
    """A model that is right only when it is asked first: lm-eval pads the shares of processes with asking again."""
    asked = set()

    def once(doc: Mapping[str, Any], prompt: str) -> str | None:
        identity = doc["meta"]["id"]
        if identity in asked:
            return "Ответ: Ж"
        asked.add(identity)
        return answer(doc, prompt)

    return once


@pytest.mark.parametrize("task", ["russian_regions", "enantiosemy"])
@pytest.mark.parametrize("size", [1, 2, 4])
def test_scores_do_not_depend_on_the_number_of_processes(tmp_path: Path, task: str, size: int) -> None:
    cases = CASES[task]
    shots = [{**row, "meta": {**row["meta"], "id": row["meta"]["id"] + 100, "group_id": 50}} for row, _ in cases[:3]]
    root = data_folder(tmp_path, task, [row for row, _ in cases], shots)
    results = run_in_processes(size, task, root, right_once(answer_of(cases)), shots=2)
    alone = run(None, [task], answer_of(cases), data=root, num_fewshot=2)
    assert numbers(results, task) == pytest.approx(EXPECTED[task])

    def logged(report: Mapping[str, Any]) -> list[Any]:
        samples = ({**sample, "resps": sample["resps"][0][:1]} for sample in report["samples"][task])
        return sorted(samples, key=lambda sample: (sample["doc_id"], sample["filter"]))

    assert logged(results) == logged(alone)


def test_scores_do_not_depend_on_document_order(tmp_path: Path) -> None:
    for number, order in enumerate((REGIONS, REGIONS[::-1], REGIONS[4:] + REGIONS[:4], REGIONS[::2] + REGIONS[1::2])):
        root = data_folder(tmp_path / str(number), "russian_regions", [row for row, _ in order])
        results = run(None, ["russian_regions"], answer_of(REGIONS), data=root)
        assert numbers(results, "russian_regions") == pytest.approx(EXPECTED["russian_regions"])


PARTS = st.lists(st.tuples(st.integers(0, 5), st.lists(st.integers(0, 1), min_size=1, max_size=4)), max_size=5,
                 unique_by=lambda group: group[0])  # fmt: skip


@given(groups=PARTS, data=st.data())
def test_the_group_metric_is_the_share_of_whole_groups_in_any_order(
    groups: list[tuple[int, list[int]]], data: st.DataObject
) -> None:
    parts = [(identity, len(correct), one) for identity, correct in groups for one in correct]
    share = sum(all(correct) for _, correct in groups) / len(groups) if groups else float("nan")
    assert group_mean(data.draw(st.permutations(parts))) == pytest.approx(share, nan_ok=True)


@pytest.mark.parametrize(
    ("processes", "refused"), [(None, False), ("1", False), ("2", False), ("3", True), ("8", True)]
)
def test_a_run_that_lm_eval_could_not_put_together_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, processes: str | None, refused: bool
) -> None:
    if processes:
        monkeypatch.setenv("WORLD_SIZE", processes)
    root = data_folder(tmp_path, "riddles", [riddle(1), riddle(2), riddle(3, ""), riddle(4, "")])
    if not refused:
        run(None, ["riddles_closed"], data=root)
        return
    with pytest.raises(DataError) as caught:
        run(None, ["riddles_closed"], data=root)
    assert str(caught.value) == (
        f"Riddles: so few documents have a reference answer that one of the {processes} processes would get none of "
        "them, and lm-eval cannot put such a run together. Use one process, or data with all answers."
    )


@pytest.mark.parametrize("outputs", ["", "Снег"])
def test_closed_or_open_throughout_any_number_of_processes_will_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, outputs: str
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    run(None, ["riddles_closed"], data=data_folder(tmp_path, "riddles", [riddle(1, outputs), riddle(2, outputs)]))


# --- logs ------------------------------------------------------------------------------------------------------------


def test_the_logs_hold_both_readings_of_every_response(tmp_path: Path) -> None:
    root = known_folder(tmp_path / "data")
    run(tmp_path / "logs", ["russian_regions"], answer_of(REGIONS), data=root)
    [results_file] = (tmp_path / "logs").rglob("results_*.json")
    [samples_file] = (tmp_path / "logs").rglob("samples_russian_regions_*.jsonl")
    results = json.loads(results_file.read_text(encoding="utf-8"))
    assert numbers(results, "russian_regions") == pytest.approx(EXPECTED["russian_regions"])
    lines = [json.loads(line) for line in samples_file.read_text(encoding="utf-8").splitlines()]
    assert [(line["doc_id"], line["filter"]) for line in lines] == [
        (number, name) for name in ("strict-match", "flexible-extract") for number in range(len(REGIONS))
    ]
    strict, flexible = lines[: len(REGIONS)], lines[len(REGIONS) :]
    assert [line["filtered_resps"] for line in strict] == [[response] for _, response in REGIONS]
    assert [line["filtered_resps"] for line in flexible] == [
        ["А"], ["Б; файл"], ["В; вехотка"], ["А"], ["Б; файл"], ["В; вехотка"], ["А"], ["Б; папка"], ["Г; вехотка"],
    ]  # fmt: skip
    assert strict[1]["doc"]["meta"] == {"id": 2, "group_id": 0, "task_type": 2, "group_size": 3}
    assert strict[1]["target"] == "Б; файл"
    assert strict[5]["exact_match"] == 0
    assert flexible[5]["exact_match"] == 1


def test_an_empty_message_of_an_api_is_an_empty_response(tmp_path: Path) -> None:
    root = data_folder(tmp_path / "data", "riddles", [riddle(1)])
    run(tmp_path / "logs", ["riddles_closed"], lambda doc, prompt: None, data=root)
    [file] = (tmp_path / "logs").rglob("samples_*.jsonl")
    assert [json.loads(line)["filtered_resps"] for line in file.read_text(encoding="utf-8").splitlines()] == [
        [""],
        [""],
    ]


def test_half_a_character_does_not_cost_the_log(tmp_path: Path) -> None:
    root = data_folder(tmp_path / "data", "riddles", [riddle(1), riddle(2)])
    run(tmp_path / "logs", ["riddles_closed"], lambda doc, prompt: "Ответ: снег \ud83d", data=root)
    [file] = (tmp_path / "logs").rglob("samples_*.jsonl")
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert [line["resps"] for line in lines] == [[["Ответ: снег \ufffd"]]] * 4


@pytest.mark.parametrize(
    "hostile",
    ["\ud800", "{{ 7*7 }}", "{%", "\x00", "[1, 2]", "🙂" * 1000, "Ответ:" * 1000, "\u2028", "</s>", "'; DROP TABLE"],
)
def test_no_response_stops_a_run(tmp_path: Path, hostile: str) -> None:
    root = known_folder(tmp_path)
    for task in BASES:
        results = run(None, [task], lambda doc, prompt: hostile, data=root)
        assert numbers(results, task)["exact_match,strict-match"] == 0


def test_reference_answers_are_right_by_every_number(tmp_path: Path) -> None:
    for task in BASES:
        assert set(numbers(run(None, [task], reference, data=known_folder(tmp_path)), task).values()) == {1}
