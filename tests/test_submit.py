"""A run becomes a submission: accepted by a checker of its own, or refused with the reason."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command import Command
from hypothesis import given, settings
from hypothesis import strategies as st
from scripted import run
from synthetic import write_data

from mera_ru_tasks.errors import MeraRuError
from mera_ru_tasks.runs import find_logs
from mera_ru_tasks.submission import archive
from mera_ru_tasks.submission.draft import prepare

SIZES = {"Enantiosemy.json": 506, "Riddles.json": 500, "RussianRegions.json": 603}
TASKS = {"enantiosemy": "Enantiosemy.json", "riddles_closed": "Riddles.json", "russian_regions": "RussianRegions.json"}
OTHER_DATE = "2020-01-02T03-04-05.000006"


def answer(doc, prompt):
    """Every response differs, some are long, some are empty."""
    identity = doc["meta"]["id"]
    return (
        ""
        if identity == 7
        else f"Рассуждаю о {identity}…\u2028\n\nОтвет: {doc['outputs'] or 'А'}" + " и" * (identity % 50)
    )


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_data(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def scored(tmp_path_factory, data):
    output = tmp_path_factory.mktemp("scored")
    run(output, ["mera_ru"], answer, data=data)
    return output


@pytest.fixture(scope="module")
def closed_data(tmp_path_factory):
    """Data without references, as the hub's are."""
    return write_data(tmp_path_factory.mktemp("closed"), answers=False)


@pytest.fixture(scope="module")
def closed(tmp_path_factory, closed_data):
    """The run that README describes first: lm-eval scores it, but there is nothing to score."""
    output = tmp_path_factory.mktemp("closed_run")
    run(output, ["enantiosemy", "riddles_closed", "russian_regions"], answer, data=closed_data)
    return output


@pytest.fixture(scope="module")
def predicted(tmp_path_factory, closed_data):
    output = tmp_path_factory.mktemp("predicted")
    run(output, ["mera_ru"], answer, data=closed_data, predict_only=True)
    return output


@pytest.fixture(scope="module")
def short(predicted, tmp_path_factory):
    """The predict-only run without its second pipeline's rows, which repeat the responses: half the work."""
    short = Path(shutil.copytree(predicted, tmp_path_factory.mktemp("short") / "results"))
    for file in short.rglob("samples_*"):
        lines = file.read_bytes().splitlines(keepends=True)
        file.write_bytes(b"".join(line for line in lines if b'"filter": "strict-match"' in line))
    return short


@pytest.fixture
def logs(short, tmp_path):
    """A copy of the run, to be broken."""
    return Path(shutil.copytree(short, tmp_path / "results"))


@pytest.fixture
def mera_ru(capsys, monkeypatch, tmp_path):
    monkeypatch.delenv("MERA_RU_DATA", raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)
    return Command(capsys, monkeypatch)


def fault(file: Path, test_ids: dict[str, set[int]]) -> str:
    """What a scorer that knows only the format would object to; empty if it would accept the archive."""
    with zipfile.ZipFile(file) as archive:
        if sorted(archive.namelist()) != sorted([*SIZES, "logs_public.zip"]) or archive.testzip():
            return f"entries: {archive.namelist()}"
        for name, ids in test_ids.items():
            rows = json.loads(archive.read(name).decode("utf-8"))["data"]["test"]
            if any(type(row["outputs"]) is not str for row in rows):
                return f"{name}: an output is no string"
            if any(type(row["meta"]["id"]) is not int for row in rows):
                return f"{name}: an id is no integer"
            if len(rows) != len(ids) or {row["meta"]["id"] for row in rows} != ids:
                return f"{name}: other ids"
        with zipfile.ZipFile(io.BytesIO(archive.read("logs_public.zip"))) as logs:
            names = logs.namelist()
            kinds = [sum(name.startswith(kind) for name in names) for kind in ("samples_", "results_")]
            return "" if kinds == [3, 1] and not logs.testzip() else f"logs: {names}"


def ids_of(data: Path) -> dict[str, set[int]]:
    rows = {name: json.loads((data / name[:-5] / "test.json").read_text())["data"] for name in SIZES}
    return {name: {row["meta"]["id"] for row in part} for name, part in rows.items()}


def responses(file: Path, name: str) -> dict[int, str]:
    with zipfile.ZipFile(file) as archive:
        return {row["meta"]["id"]: row["outputs"] for row in json.loads(archive.read(name))["data"]["test"]}


@pytest.mark.parametrize("kind", ["scored", "closed", "predicted"])
def test_a_full_run_is_packed_and_accepted(kind, request, data, mera_ru, tmp_path):
    output = request.getfixturevalue(kind)
    outcome = mera_ru("submit", output, "-o", "s.zip", "--data", data)
    assert (outcome.status, outcome.err) == (0, ""), outcome
    assert fault(tmp_path / "s.zip", ids_of(data)) == ""
    for name, size in SIZES.items():
        packed = responses(tmp_path / "s.zip", name)
        assert len(packed) == size and packed[7] == "" and packed[1].startswith("Рассуждаю о 1…\u2028\n\nОтвет: ")
    assert "Enantiosemy: 1 of 506 responses are empty (id 7)" in outcome.out
    assert "upload s.zip" in outcome.out
    assert ("hold reference answers" in outcome.out) == (kind == "scored")
    checked = mera_ru("submit", "--check", "s.zip", "--data", data)
    assert checked.status == 0 and "s.zip is fit for submission." in checked.out


def test_without_data_ids_are_counted_and_this_is_said(short, data, mera_ru, tmp_path):
    outcome = mera_ru("submit", short, "-o", "s.zip")
    assert outcome.status == 0 and fault(tmp_path / "s.zip", ids_of(data)) == ""
    assert "Enantiosemy, Riddles, RussianRegions: no data are at hand, so ids were only counted" in outcome.out
    assert mera_ru("submit", "--check", "s.zip").status == 0


def test_two_packings_are_equal_byte_for_byte(logs, short, mera_ru, tmp_path):
    for file in logs.rglob("*.json*"):
        os.utime(file, (1, 1))
    (tmp_path / "elsewhere").mkdir()
    assert mera_ru("submit", short, "-o", "one.zip").status == 0
    assert mera_ru("submit", *sorted(logs.rglob("samples_*"))[::-1], "-o", "elsewhere/two.zip").status == 0
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "elsewhere" / "two.zip").read_bytes()


def test_the_logs_packed_are_those_of_the_run_and_nothing_else(logs, mera_ru, tmp_path):
    (folder,) = logs.iterdir()
    (folder / "private.txt").write_text("secret")
    (folder / "judged_samples.jsonl").write_text("{}")
    assert mera_ru("submit", logs).status == 0
    with zipfile.ZipFile(tmp_path / "submission.zip") as archive:
        packed = zipfile.ZipFile(io.BytesIO(archive.read("logs_public.zip")))
    originals = {
        file.name: file.read_bytes() for kind in ("samples_*.jsonl", "results_*.json") for file in folder.glob(kind)
    }
    assert {name: packed.read(name) for name in packed.namelist()} == originals and len(originals) == 4


def test_keys_in_the_model_arguments_are_not_packed(logs, mera_ru, tmp_path):
    (results,) = logs.rglob("results_*")
    content = json.loads(results.read_text())
    keys = ["plain-token-1234", "hf_" + "a" * 34, "sk-proj-" + "b" * 40, 'user:pass"word', "header/+key=="]
    content["config"]["model_args"] = {
        "pretrained": "org/scripted", "token": keys[0], "base_url": f"https://{keys[3]}@host/v1", "api_key": "EMPTY",
        "header": {"Authorization": f"Bearer {keys[4]}"}, "note": [keys[1], keys[2]],
    }  # fmt: skip
    content["configs"]["enantiosemy"]["metadata"]["token"] = keys[0]
    content["config"]["text"] = f"pretrained=x,token={keys[0]}"
    results.write_text(json.dumps(content))
    outcome = mera_ru("submit", logs)
    assert outcome.status == 0 and "holds a key or a password" in outcome.out
    everything = (tmp_path / "submission.zip").read_bytes()
    with zipfile.ZipFile(io.BytesIO(everything)) as archive:
        packed = zipfile.ZipFile(io.BytesIO(archive.read("logs_public.zip")))
    copy = json.loads(packed.read(results.name))
    for key in keys:
        assert key not in json.dumps(copy, ensure_ascii=False).replace('\\"', '"')
        assert key not in outcome.out
    assert copy["config"]["model_args"]["pretrained"] == "org/scripted"
    assert json.loads(results.read_text()) == content


def test_an_existing_file_is_kept(short, mera_ru, tmp_path):
    (tmp_path / "submission.zip").write_bytes(b"mine")
    outcome = mera_ru("submit", short)
    assert outcome.status == 1 and "submission.zip exists and is not overwritten" in outcome.err
    assert (tmp_path / "submission.zip").read_bytes() == b"mine"


def test_names_of_models_and_files_cannot_leave_the_archive(logs, data, mera_ru, tmp_path):
    edit_results(logs, lambda results: results.update(model_name="../../../etc/passwd\x1b[31m"))
    (folder,) = logs.iterdir()
    (results,) = folder.glob("results_*")
    results.rename(folder / results.name.replace("results", "..;evil\\..\x1b", 1))
    hostile = folder.rename(logs / "a\x1b[31m\nb")
    outcome = mera_ru("submit", hostile)
    assert outcome.status == 0 and "\x1b" not in outcome.out
    assert fault(tmp_path / "submission.zip", ids_of(data)) == ""


def rewrite(
    logs: Path, task: str, change: Callable[[dict[str, Any]], dict[str, Any] | list[dict[str, Any]] | None]
) -> None:
    """Change each row of a task's log; None drops it."""
    (file,) = logs.rglob(f"samples_{task}_*")
    rows = [change(json.loads(line)) for line in file.read_bytes().split(b"\n") if line]
    flat = [row for part in rows if part is not None for row in (part if isinstance(part, list) else [part])]
    file.write_bytes(b"".join(json.dumps(row).encode() + b"\n" for row in flat))


def only_id(identity: int, change: Callable[[dict[str, Any]], Any]) -> Callable[[dict[str, Any]], Any]:
    return lambda row: change(row) if row["doc"]["meta"]["id"] == identity else row


def edit_results(logs: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    (file,) = logs.rglob("results_*")
    content = json.loads(file.read_text())
    change(content)
    file.write_text(json.dumps(content))


def move_to_other_run(logs: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Make the riddles a run of their own, with other results."""
    (results,) = logs.rglob("results_*")
    (samples,) = logs.rglob("samples_riddles_*")
    content = json.loads(results.read_text())
    change(content)
    (results.parent / f"results_{OTHER_DATE}.json").write_text(json.dumps(content))
    samples.rename(samples.parent / f"samples_riddles_closed_{OTHER_DATE}.jsonl")


def rename_task(logs: Path, task: str, name: str) -> None:
    (file,) = logs.rglob(f"samples_{task}_*")
    file.rename(file.parent / file.name.replace(task, name, 1))


def sampled(row):
    row["arguments"]["gen_args_0"]["arg_1"] |= {"do_sample": True, "temperature": 0.7}
    return row


def warm(row):
    row["arguments"]["gen_args_0"]["arg_1"]["temperature"] = 0.3
    return row


def with_id(identity):
    return lambda row: {**row, "doc": {**row["doc"], "meta": {**row["doc"]["meta"], "id": identity}}}


def with_inputs(row):
    row["doc"]["inputs"]["question"] += "!"
    return row


# What is done to the logs; parts of the message; whether --partial packs the rest all the same.
HOLES: dict[str, tuple[Callable[[Path], Any], list[str], bool]] = {
    "a task without a log": (
        lambda logs: next(logs.rglob("samples_russian*")).unlink(),
        ["Missing: russian_regions: RussianRegions.json: there is no log", "--tasks russian_regions --log"], True,
    ),
    "a prefilled task instead": (
        lambda logs: rename_task(logs, "enantiosemy", "enantiosemy_prefill"),
        ["Missing: enantiosemy: Enantiosemy.json", "`enantiosemy_prefill` cannot stand for it", "prefilled"], True,
    ),
    "a sample task instead": (
        lambda logs: rename_task(logs, "riddles_closed", "riddles_sample"),
        ["`riddles_sample` cannot stand for it: it runs the package's own sample data"], True,
    ),
    "a shots task instead": (
        lambda logs: rename_task(logs, "riddles_closed", "riddles_closed_shots"),
        ["`riddles_closed_shots` cannot stand for it: it runs the public shots"], True,
    ),
    "a missing id": (
        lambda logs: rewrite(logs, "riddles_closed", only_id(12, lambda row: None)),
        ["Missing: riddles_closed:", "samples_riddles_closed_", "not answered: id 12 of", "(1 of 500)"], True,
    ),
    "many missing ids": (
        lambda logs: rewrite(logs, "enantiosemy", lambda row: row if row["doc_id"] % 2 and row["doc_id"] > 9 else None),
        ["ids 1 to 11, 13, 15, 17", "and 238 more of", "(258 of 506)"], True,
    ),
    "documents not run": (
        lambda logs: edit_results(logs, lambda results: results["n-samples"]["enantiosemy"].update(original=507)),
        ["Missing: enantiosemy:", "it holds only 506 of the task's 507 documents", "without --samples"], True,
    ),
    "a limit": (
        lambda logs: edit_results(logs, lambda all: (all.pop("n-samples"), all["config"].update(limit=9.0))),
        ["the run had --limit 9.0", "Run again without --limit"], True,
    ),
    "an id twice": (
        lambda logs: rewrite(logs, "riddles_closed", only_id(12, lambda row: [row, row])),
        ["Problem: riddles_closed:", "samples_riddles_closed_", "line 13: id 12 stands already in", "line 12"], False,
    ),
    "a foreign id": (
        lambda logs: rewrite(logs, "riddles_closed", only_id(12, with_id(9012))),
        ["/Riddles/test.json: id 9012. Run on", "name the data that the run had with --data"], False,
    ),
    "a document without id": (
        lambda logs: rewrite(logs, "riddles_closed", only_id(12, with_id("12"))),
        ["line 12: the document has no integer `meta.id`"], False,
    ),
    "another question": (
        lambda logs: rewrite(logs, "riddles_closed", only_id(12, with_inputs)),
        ["run with another instruction or other inputs than in", "test.json: id 12. Run"], False,
    ),
    "rows of no pipeline of ours": (
        lambda logs: rewrite(logs, "riddles_closed", lambda row: {**row, "filter": "none"}),
        ["it has no row of the pipeline `strict-match`"], False,
    ),
    "half a character": (
        lambda logs: rewrite(logs, "riddles_closed", only_id(12, lambda row: {**row, "resps": [["\ud83d"]]})),
        ["the response to id 12 holds half a character"], False,
    ),
    "no results file": (
        lambda logs: next(logs.rglob("results_*")).unlink(),
        ["Problem: enantiosemy:", "its results file, results_", "is not beside it"], False,
    ),
    "shots": (
        lambda logs: edit_results(logs, lambda results: results["n-shot"].update(russian_regions=3)),
        ["Problem: russian_regions:", "results_", "`n-shot` is 3, not 0", "without --num_fewshot"], False,
    ),
    "sampled answers": (
        lambda logs: rewrite(logs, "enantiosemy", sampled),
        ["sampled, not greedy (do_sample=True): ids 1 to 506", "--gen_kwargs"], False,
    ),
    "a temperature": (
        lambda logs: rewrite(logs, "enantiosemy", only_id(3, warm)), ["not greedy (temperature=0.3): id 3"], False,
    ),
    "other generation settings": (
        lambda logs: move_to_other_run(logs, lambda results: results["config"].update(gen_kwargs={"max_gen_toks": 9})),
        ["Problem: riddles_closed:", "--gen_kwargs is {'max_gen_toks': 9}, but not set in enantiosemy"], False,
    ),
    "another chat template": (
        lambda logs: move_to_other_run(logs, lambda results: results.update(chat_template="{{ x }}")),
        ["the chat template (--apply_chat_template) is '{{ x }}', but not set in enantiosemy"], False,
    ),
    "a system instruction": (
        lambda logs: move_to_other_run(logs, lambda results: results.update(system_instruction="Думай.")),
        ["--system_instruction is 'Думай.', but not set in enantiosemy"], False,
    ),
    "another revision of the model": (
        lambda logs: move_to_other_run(
            logs, lambda results: results["config"].update(model_args="pretrained=org/scripted,revision=b")
        ),
        ["the model argument `revision` is 'b', but not set in enantiosemy"], False,
    ),
    "another backend": (
        lambda logs: move_to_other_run(logs, lambda results: results["config"].update(model="vllm")),
        ["the model's type (--model) is 'vllm', but 'ScriptedModel' in enantiosemy"], False,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", HOLES)
def test_a_hole_is_named_and_stops_it(case, logs, data, mera_ru, tmp_path):
    break_logs, messages, partial_passes = HOLES[case]
    break_logs(logs)
    outcome = mera_ru("submit", logs, "--data", data, *([] if partial_passes else ["--partial"]))
    assert outcome.status == 1 and "Nothing was written" in outcome.out
    assert not (tmp_path / "submission.zip").exists()
    for message in messages:
        assert message in outcome.out
    if partial_passes:
        assert "add --partial" in outcome.out
        partial = mera_ru("submit", logs, "--data", data, "--partial")
        assert partial.status == 0 and messages[0] in partial.out and "Something is missing from it" in partial.out
        whole = case in ("documents not run", "a limit")  # here only the results say so
        assert (fault(tmp_path / "submission.zip", ids_of(data)) == "") == whole


def test_settings_that_change_nothing_may_differ(logs, mera_ru):
    arguments = "pretrained=org/scripted,batch_size=4,device=cpu"
    move_to_other_run(logs, lambda results: results["config"].update(model_args=arguments, batch_size=4))
    assert mera_ru("submit", logs).status == 0


ERRORS: dict[str, tuple[Callable[[Path], Any], str]] = {
    "a cut log": (
        lambda logs: (file := next(logs.rglob("samples_riddles*"))).write_bytes(file.read_bytes()[:-100]),
        "The last line is cut",
    ),
    "a cut results file": (
        lambda logs: (file := next(logs.rglob("results_*"))).write_bytes(file.read_bytes()[:-100]), "is not valid JSON",
    ),
    "several models": (
        lambda logs: move_to_other_run(logs, lambda results: results.update(model_name="org/other")),
        "The logs are of several models: 'org/other', 'org/scripted'",
    ),
    "no log": (lambda logs: [file.unlink() for file in logs.rglob("samples_*")], "lm-eval ran without --log_samples"),
}  # fmt: skip


@pytest.mark.parametrize("case", ERRORS)
def test_logs_that_cannot_be_read_are_an_error(case, logs, mera_ru, tmp_path):
    ERRORS[case][0](logs)
    outcome = mera_ru("submit", logs)
    assert outcome.status == 1 and ERRORS[case][1] in outcome.err and "Traceback" not in outcome.err
    assert not (tmp_path / "submission.zip").exists()


def test_one_of_several_models_can_be_named(logs, data, mera_ru, tmp_path):
    (folder,) = logs.iterdir()
    other = Path(shutil.copytree(folder, logs / "other"))
    edit_results(other, lambda results: results.update(model_name="org/other"))
    outcome = mera_ru("submit", logs, "--model", "org/other")
    assert outcome.status == 0 and "of 'org/other' from" in outcome.out
    assert "There are logs of: 'org/other', 'org/scripted'" in mera_ru("submit", logs, "--model", "x").err


def test_the_newest_run_is_taken_unless_files_are_named(logs, mera_ru, tmp_path):
    (folder,) = logs.iterdir()
    for file in sorted(folder.iterdir()):
        name = file.name.rpartition("_")[0]
        shutil.copy(file, folder / f"{name}_{OTHER_DATE}{file.suffix}")
    outcome = mera_ru("submit", logs)
    assert outcome.status == 0 and OTHER_DATE not in outcome.out
    assert "enantiosemy, riddles_closed, russian_regions: the newest run is taken" in outcome.out
    older = mera_ru("submit", *folder.glob(f"samples_*{OTHER_DATE}.jsonl"), "-o", "older.zip")
    assert older.status == 0 and older.out.count(OTHER_DATE) == 3


REAL = {
    "limit": ({"limit": 3}, ["riddles_closed"], "the run had --limit 3"),
    "shots": ({"num_fewshot": 1, "limit": 3}, ["riddles_closed"], "`n-shot` is 1, not 0"),
    "sampling": (
        {"gen_kwargs": "do_sample=true,temperature=0.5", "limit": 3},
        ["riddles_closed"],
        "(do_sample=True): ids 1 to 3",
    ),
    "samples": (
        {"samples": {"riddles_closed": [0, 4]}},
        ["riddles_closed"],
        "only 2 of the task's 500",
    ),
    "prefill": ({"limit": 3}, ["riddles_closed_prefill"], "the log of `riddles_closed_prefill` cannot stand for it"),
    "sample data": ({"limit": 3}, ["riddles_sample"], "the log of `riddles_sample` cannot stand for it"),
    "public shots": ({}, ["riddles_closed_shots"], "the log of `riddles_closed_shots` cannot stand for it"),
}


@pytest.mark.parametrize("case", REAL)
def test_what_the_leaderboard_refuses_is_seen_in_real_logs(case, data, mera_ru, tmp_path):
    settings, tasks, message = REAL[case]
    run(tmp_path / "results", tasks, answer, data=data, **settings)
    outcome = mera_ru("submit", tmp_path / "results", "--data", data)
    assert outcome.status == 1 and message in outcome.out


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9) | st.just("\ud800"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=6,
)
RESULTS_PATHS = [
    (), ("model_name",), ("config",), ("config", "model_args"), ("config", "gen_kwargs"), ("configs",), ("n-shot",),
    ("n-samples",), ("n-samples", "riddles_closed"), ("n-samples", "riddles_closed", "original"), ("chat_template",),
]  # fmt: skip
SAMPLE_PATHS = [
    (), ("doc",), ("doc", "meta"), ("doc", "meta", "id"), ("doc", "inputs"), ("doc", "outputs"), ("resps",),
    ("filter",), ("arguments",), ("arguments", "gen_args_0"), ("arguments", "gen_args_0", "arg_1", "temperature"),
    ("metrics",),
]  # fmt: skip


def with_value(content: Any, path: tuple[str, ...], value: Any) -> Any:
    if not path:
        return value
    return {**content, path[0]: with_value(content.get(path[0]), path[1:], value)}


@given(st.sampled_from(["results", "samples"]).flatmap(
    lambda kind: st.tuples(st.just(kind), st.sampled_from(RESULTS_PATHS if kind == "results" else SAMPLE_PATHS))
), VALUES)  # fmt: skip
@settings(deadline=None, max_examples=150)
def test_whatever_stands_in_a_log_there_is_a_message(tmp_path_factory, one_answer, kind_and_path, value):
    kind, path = kind_and_path
    contents = {**one_answer, kind: with_value(one_answer[kind], path, value)}
    folder = tmp_path_factory.mktemp("hostile")
    (folder / f"results_{OTHER_DATE}.json").write_text(json.dumps(contents["results"]))
    (folder / f"samples_riddles_closed_{OTHER_DATE}.jsonl").write_text(json.dumps(contents["samples"]) + "\n")
    try:
        draft = prepare(find_logs([folder]))
    except MeraRuError as error:
        assert str(folder) in str(error)
    else:
        assert draft.problems
        if all(problem.hole for problem in draft.problems):
            archive.build(draft.answers)


@pytest.fixture(scope="module")
def one_answer(short):
    """The content of the results file and one line of a sample log."""
    (results,), (samples,) = short.rglob("results_*"), short.rglob("samples_riddles*")
    return {"results": json.loads(results.read_text()), "samples": json.loads(samples.read_bytes().split(b"\n")[0])}


@pytest.fixture(scope="module")
def good(short, tmp_path_factory):
    """The content of a good archive."""
    file = tmp_path_factory.mktemp("good") / "good.zip"
    command = [
        sys.executable,
        "-c",
        "from mera_ru_tasks.cli import main; main()",
        "submit",
        str(short),
        "-o",
        str(file),
    ]
    subprocess.run(command, check=True, capture_output=True)
    with zipfile.ZipFile(file) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def edit_rows(change: Callable[[list[Any]], Any]) -> Callable[[dict[str, bytes]], None]:
    def apply(entries):
        content = json.loads(entries["Riddles.json"])
        change(content["data"]["test"])
        entries["Riddles.json"] = json.dumps(content).encode()

    return apply


def put(name: str, content: bytes) -> Callable[[dict[str, bytes]], None]:
    return lambda entries: entries.update({name: content})


def move(name: str, to: str) -> Callable[[dict[str, bytes]], None]:
    return lambda entries: entries.update({to: entries.pop(name)})


def pack(entries: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return stream.getvalue()


def edit_logs(change: Callable[[dict[str, bytes]], Any]) -> Callable[[dict[str, bytes]], None]:
    def apply(entries):
        with zipfile.ZipFile(io.BytesIO(entries["logs_public.zip"])) as archive:
            logs = {name: archive.read(name) for name in archive.namelist()}
        change(logs)
        entries["logs_public.zip"] = pack(logs)

    return apply


def drop_logs(prefix: str) -> Callable[[dict[str, bytes]], None]:
    return edit_logs(lambda logs: [logs.pop(name) for name in list(logs) if name.startswith(prefix)])


BAD_ARCHIVES: dict[str, tuple[Callable[[dict[str, bytes]], Any], str]] = {
    "a missing task": (lambda entries: entries.pop("Riddles.json"), "Riddles: Riddles.json: it is not in the archive"),
    "a folder": (move("Riddles.json", "sub/Riddles.json"), "it must be called Riddles.json and lie in no folder"),
    "another case": (move("Riddles.json", "riddles.JSON"), "it must be called Riddles.json"),
    "a name that leads out": (put("../x", b""), "'../x': its name leads out of the archive"),
    "an absolute name": (put("/etc/x", b""), "'/etc/x': its name leads out"),
    "a Windows name": (put("C:\\x", b""), "its name leads out"),
    "no JSON": (put("Riddles.json", b"{"), "not valid JSON in UTF-8"),
    "a byte-order mark": (lambda e: e.update({"Riddles.json": b"\xef\xbb\xbf" + e["Riddles.json"]}), "not valid JSON"),
    "another encoding": (put("Riddles.json", "«ж»".encode("cp1251")), "not valid JSON in UTF-8"),
    "nested too deeply": (put("Riddles.json", b"[" * 200_000), "not valid JSON"),
    "a list": (put("Riddles.json", b"[]"), "it has not the form"),
    "no data": (put("Riddles.json", b"{}"), "it has not the form"),
    "no test": (put("Riddles.json", b'{"data": []}'), "it has not the form"),
    "test as an object": (put("Riddles.json", b'{"data": {"test": {}}}'), "it has not the form"),
    "no rows": (put("Riddles.json", b'{"data": {"test": []}}'), "/Riddles/test.json (500 of 500)"),
    "a missing id": (edit_rows(lambda rows: rows.pop(3)), "/Riddles/test.json (1 of 500)"),
    "an id twice": (edit_rows(lambda rows: rows.append(rows[3])), "id 4 stands twice, the second time in entry 501"),
    "a foreign id": (edit_rows(lambda rows: rows[3]["meta"].update(id=999)), "test.json: id 999. Run"),
    "an id as text": (edit_rows(lambda rows: rows[3]["meta"].update(id="4")), "entry 4 has no integer `meta.id`"),
    "an id as truth value": (edit_rows(lambda rows: rows[3]["meta"].update(id=True)), "entry 4 has no integer"),
    "no meta": (edit_rows(lambda rows: rows[3].pop("meta")), "entry 4 has no integer `meta.id`"),
    "an entry that is no object": (edit_rows(lambda rows: rows.__setitem__(3, "x")), "entry 4 has no integer"),
    "no outputs": (edit_rows(lambda rows: rows[3].pop("outputs")), "id 4 (entry 4) has no `outputs`"),
    "outputs null": (edit_rows(lambda rows: rows[3].update(outputs=None)), "of id 4 (entry 4) is no string: null"),
    "outputs a list": (edit_rows(lambda rows: rows[3].update(outputs=["x"])), "(entry 4) is no string"),
    "other responses than logged": (edit_rows(lambda rows: rows[3].update(outputs="x")), "than in the log: id 4"),
    "no logs": (lambda entries: entries.pop("logs_public.zip"), "logs_public.zip: it is not in the archive"),
    "logs that are no zip": (put("logs_public.zip", b"x"), "logs_public.zip is no zip archive"),
    "no sample logs": (drop_logs("samples_"), "it holds no log samples_TASK_DATE.jsonl"),
    "no results log": (drop_logs("results_"), "it holds no log results_DATE.json"),
    "logs that lead out": (edit_logs(lambda logs: logs.update({"a/../../x": b""})), "'a/../../x': its name leads out"),
    "a broken sample log": (
        edit_logs(lambda logs: logs.update({f"samples_riddles_closed_{OTHER_DATE}.jsonl": b"{\n"})), "line 1: it is",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_ARCHIVES)
def test_a_bad_archive_is_refused_whoever_made_it(case, good, data, mera_ru, tmp_path):
    entries = dict(good)
    BAD_ARCHIVES[case][0](entries)
    (tmp_path / "bad.zip").write_bytes(pack(entries))
    known = ["--data", data] if "test.json" in BAD_ARCHIVES[case][1] else []
    outcome = mera_ru("submit", "--check", "bad.zip", *known)
    assert outcome.status == 1 and "bad.zip is not fit for submission" in outcome.out
    assert BAD_ARCHIVES[case][1] in outcome.out


def test_an_archive_of_another_maker_is_accepted(good, data, mera_ru, tmp_path):
    entries = {name: good[name] for name in reversed(list(good))} | {"README.txt": b"notes"}
    edit_logs(lambda logs: [logs.update({f"org__m/{name}": logs.pop(name)}) for name in list(logs)])(entries)
    (tmp_path / "other.zip").write_bytes(pack(entries))
    assert mera_ru("submit", "--check", "other.zip", "--data", data).status == 0


def test_without_data_a_submission_is_counted(good, mera_ru, tmp_path):
    entries = dict(good)
    edit_rows(lambda rows: rows.pop(3))(entries)
    (tmp_path / "bad.zip").write_bytes(pack(entries))
    assert "499 ids are answered; Riddles has 500" in mera_ru("submit", "--check", "bad.zip").out


def test_an_entry_twice_or_damaged_is_refused(good, mera_ru, tmp_path):
    stream = io.BytesIO(pack(good))
    with zipfile.ZipFile(stream, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("Riddles.json", good["Riddles.json"])
    (tmp_path / "twice.zip").write_bytes(stream.getvalue())
    assert "it stands 2 times in the archive" in mera_ru("submit", "--check", "twice.zip").out
    whole = bytearray(pack(good))
    middle = len(whole) // 3
    whole[middle : middle + 200] = bytes(200)
    (tmp_path / "damaged.zip").write_bytes(whole)
    assert "it cannot be unpacked" in mera_ru("submit", "--check", "damaged.zip").out


def test_data_that_are_not_the_whole_test_set_are_no_measure(short, mera_ru, tmp_path):
    part = write_data(tmp_path / "part", rows_per_type=5)
    outcome = mera_ru("submit", short, "--data", part)
    assert outcome.status == 1 and "it has 5 rows; by its card Riddles has 500" in outcome.out


def test_usage_and_missing_files(short, mera_ru, tmp_path):
    assert mera_ru("submit").status == 2
    assert mera_ru("submit", short, "--check", "x.zip").status == 2
    assert mera_ru("submit", "--nonsense").status == 2
    assert "nowhere does not exist" in mera_ru("submit", "nowhere").err
    missing = mera_ru("submit", "--check", "nowhere.zip")
    assert missing.status == 1 and "nowhere.zip: No such file" in missing.err
    (tmp_path / "text.zip").write_text("x")
    assert "text.zip is no zip archive" in mera_ru("submit", "--check", "text.zip").err
    unwritable = mera_ru("submit", short, "-o", "no/such/folder.zip")
    assert unwritable.status == 1 and "no/such/folder.zip: No such file" in unwritable.err


def test_the_whole_command_line(data, tmp_path):
    """A run of lm-eval's own command, then `mera-ru submit`, each in a process of its own."""
    environment = {**os.environ, "MERA_RU_DATA": str(data), "HF_HUB_OFFLINE": "1"}
    log = ["--predict_only", "--log_samples", "--output_path", "results"]
    for arguments in (["run", "--model", "dummy", "--tasks", "mera_ru", *log], ["submit", "results"]):
        command = [sys.executable, "-c", "from mera_ru_tasks.cli import main; main()", *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr + done.stdout
    assert fault(tmp_path / "submission.zip", ids_of(data)) == ""
