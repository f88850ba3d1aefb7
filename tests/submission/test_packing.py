"""A full run becomes a submission that an independent checker accepts."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import zipfile
from pathlib import Path

import pytest

from tests.support.archives import (
    OTHER_DATE,
    SIZES,
    edit_results,
    first_problem,
    ids_of,
    mera_archive,
    move_to_other_run,
    pack,
    responses,
    unpack,
)
from tests.support.command import in_process
from tests.support.synthetic import write_data


@pytest.mark.parametrize("kind", ["scored", "closed", "predicted"])
def test_a_full_run_is_packed_and_accepted(kind, request, data, mera_ru, tmp_path):
    output = request.getfixturevalue(kind)
    outcome = mera_ru("submit", output, "-o", "s.zip", "--data", data)
    assert (outcome.status, outcome.err) == (0, ""), outcome
    assert first_problem(tmp_path / "s.zip", ids_of(data)) == ""
    for name, size in SIZES.items():
        packed = responses(tmp_path / "s.zip", name)
        assert len(packed) == size and packed[7] == "" and packed[1].startswith("Рассуждаю о 1…\u2028\n\nОтвет: ")
    assert "Enantiosemy: 1 of 506 responses is empty (id 7)" in outcome.out
    assert "upload s.zip" in outcome.out
    assert ("contain reference answers" in outcome.out) == (kind == "scored")
    checked = mera_ru("submit", "--check", "s.zip", "--data", data)
    assert checked.status == 0 and "s.zip is ready for submission." in checked.out


def test_without_data_ids_are_counted_and_this_is_said(short, data, mera_ru, tmp_path):
    outcome = mera_ru("submit", short, "-o", "s.zip")
    assert outcome.status == 0 and first_problem(tmp_path / "s.zip", ids_of(data)) == ""
    assert "Enantiosemy, Riddles, RussianRegions: no data were found, so ids were only counted" in outcome.out
    checked = mera_ru("submit", "--check", "s.zip")
    assert checked.status == 0
    assert "Enantiosemy, Riddles, RussianRegions: no data were found, so ids were only counted" in checked.out


def test_a_changed_generation_is_told(logs, short, mera_ru, tmp_path):
    assert "gen_kwargs" not in mera_ru("submit", short, "-o", tmp_path / "one.zip").out
    edit_results(logs, lambda content: content["config"].update(gen_kwargs={"max_gen_toks": 4}))
    told = mera_ru("submit", logs, "-o", tmp_path / "two.zip").out
    assert "the run used --gen_kwargs max_gen_toks=4" in told


def test_what_is_wrong_with_the_logs_comes_before_the_archives_name(mera_ru, tmp_path):
    (tmp_path / "submission.zip").write_bytes(b"mine")
    assert "nothere does not exist" in mera_ru("submit", "nothere").err


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
    samples = {file.name: file.read_bytes() for file in folder.glob("samples_*.jsonl")}
    (results,) = folder.glob("results_*")
    assert {name: packed.read(name) for name in packed.namelist() if name != results.name} == samples
    assert sorted(packed.namelist()) == sorted([*samples, results.name]) and len(samples) == 3
    shared, own = json.loads(packed.read(results.name)), json.loads(results.read_bytes())
    for part in ("n-shot", "n-samples", "task_hashes"):
        assert shared[part] == {task: value for task, value in own[part].items() if task != "mera_ru"}
    assert "pretty_env_info" not in shared and str(Path.cwd()) not in json.dumps(shared)


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
    # Some versions of lm-eval store the arguments as text, as given on the command line.
    keys.append("another/key-5678")
    content["configs"]["enantiosemy"]["metadata"]["model_args"] = f"pretrained=x,api_key={keys[-1]},dtype=float16"
    results.write_text(json.dumps(content))
    outcome = mera_ru("submit", logs)
    assert outcome.status == 0 and "--model_args token, --model_args base_url" in outcome.out
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
    assert outcome.status == 1 and "submission.zip already exists" in outcome.err
    assert (tmp_path / "submission.zip").read_bytes() == b"mine"


def test_names_of_models_and_files_cannot_leave_the_archive(logs, data, mera_ru, tmp_path):
    edit_results(logs, lambda results: results.update(model_name="../../../etc/passwd\x1b[31m"))
    (folder,) = logs.iterdir()
    (results,) = folder.glob("results_*")
    results.rename(folder / results.name.replace("results", "..;evil\\..\x1b", 1))
    hostile = folder.rename(logs / "a\x1b[31m\nb")
    outcome = mera_ru("submit", hostile)
    assert outcome.status == 0 and "\x1b" not in outcome.out
    assert first_problem(tmp_path / "submission.zip", ids_of(data)) == ""


def test_settings_that_change_nothing_may_differ(logs, mera_ru):
    arguments = "pretrained=org/scripted,batch_size=4,device=cpu"
    move_to_other_run(logs, lambda results: results["config"].update(model_args=arguments, batch_size=4))
    assert mera_ru("submit", logs).status == 0


def test_one_of_several_models_can_be_named(logs, data, mera_ru, tmp_path):
    (folder,) = logs.iterdir()
    other = Path(shutil.copytree(folder, logs / "other"))
    edit_results(other, lambda results: results.update(model_name="org/other"))
    outcome = mera_ru("submit", logs, "--model", "org/other")
    assert outcome.status == 0 and "of 'org/other' from" in outcome.out
    assert (
        "The models with logs are: 'org/other', 'org/scripted'"
        in mera_ru("submit", logs, "--model", "x", "-o", "x.zip").err
    )


def test_the_newest_run_is_taken_unless_files_are_named(logs, mera_ru, tmp_path):
    (folder,) = logs.iterdir()
    for file in sorted(folder.iterdir()):
        name = file.name.rpartition("_")[0]
        shutil.copy(file, folder / f"{name}_{OTHER_DATE}{file.suffix}")
    outcome = mera_ru("submit", logs)
    assert outcome.status == 0 and OTHER_DATE not in outcome.out
    assert (
        "Note: enantiosemy, riddles_closed, russian_regions: there are several runs, of which the newest is used"
        in outcome.out
    )
    older = mera_ru("submit", *folder.glob(f"samples_*{OTHER_DATE}.jsonl"), "-o", "older.zip")
    assert older.status == 0 and older.out.count(f"{OTHER_DATE}.jsonl") == 3


def test_data_that_are_not_the_whole_test_set_are_no_measure(short, mera_ru, tmp_path):
    part = write_data(tmp_path / "part", rows_per_type=5)
    outcome = mera_ru("submit", short, "--data", part)
    assert outcome.status == 1 and "it has 5 rows, but the data card of Riddles says 500" in outcome.out


def test_the_tasks_are_put_into_an_archive_with_the_others(good, short, data, mera_ru, tmp_path):
    others = mera_archive(good, whole=True)
    others["Riddles.json"] = b'{"data": {"test": []}}'  # an older log, which is replaced
    others["NOTES.txt"] = "заметки\r\n".encode()
    before = pack(others)
    (tmp_path / "others.zip").write_bytes(before)
    outcome = mera_ru("submit", short, "--into", "others.zip", "-o", "full.zip", "--data", data)
    assert (outcome.status, outcome.err) == (0, ""), outcome
    full = unpack((tmp_path / "full.zip").read_bytes())
    assert {name: full[name] for name in SIZES} == {name: good[name] for name in SIZES}
    assert {name: content for name, content in full.items() if name not in {*SIZES, "logs_public.zip"}} == (
        {name: content for name, content in others.items() if name not in {*SIZES, "logs_public.zip"}}
    )
    logs, old = unpack(full["logs_public.zip"]), unpack(others["logs_public.zip"])
    kept = {name for name in old if not re.search("samples_(enantiosemy|riddles|russianregions)_", name)}
    assert {name: logs[name] for name in kept} == {name: old[name] for name in kept}
    assert logs.keys() - kept == unpack(good["logs_public.zip"]).keys()
    assert mera_ru("submit", "--check", "full.zip", "--data", data).status == 0
    assert (tmp_path / "others.zip").read_bytes() == before


def test_an_archive_of_another_model_is_told_and_an_unusable_one_refused(good, short, mera_ru, tmp_path):
    others = mera_archive(good, whole=True)
    logs = unpack(others["logs_public.zip"])
    [results] = [name for name in logs if "results_" in name]
    others["logs_public.zip"] = pack({**logs, results: b'{"model_name": "org/another"}'})
    (tmp_path / "others.zip").write_bytes(pack(others))
    told = mera_ru("submit", short, "--into", "others.zip", "-o", "full.zip")
    assert told.status == 0 and "Warning: " in told.out and "'org/another'" in told.out
    for number, bad in enumerate((b"x", pack({"../x": b""}), pack({"sub/Riddles.json": b""}))):
        (tmp_path / "bad.zip").write_bytes(bad)
        refused = mera_ru("submit", short, "--into", "bad.zip", "-o", f"{number}.zip")
        assert refused.status == 1 and "bad.zip" in refused.err and not (tmp_path / f"{number}.zip").exists()
    assert mera_ru("submit", "--check", "full.zip", "--into", "others.zip").status == 2


def test_usage_and_missing_files(short, mera_ru, tmp_path):
    assert mera_ru("submit").status == 2
    assert mera_ru("submit", short, "--check", "x.zip").status == 2
    assert mera_ru("submit", "--nonsense").status == 2
    assert "nowhere does not exist" in mera_ru("submit", "nowhere").err
    missing = mera_ru("submit", "--check", "nowhere.zip")
    assert missing.status == 1 and "nowhere.zip: No such file" in missing.err
    for text in ("", "x", "model,task,score\nalpha,riddles_sample,0.5\n" * 9):
        (tmp_path / "text.zip").write_text(text)
        assert "text.zip is not a zip archive" in mera_ru("submit", "--check", "text.zip").err
    for name, words in (("nowhere.zip", "nowhere.zip: No such file"), ("text.zip", "text.zip is not a zip archive")):
        refused = mera_ru("submit", short, "--into", name)
        assert (refused.status, refused.out) == (1, "") and words in refused.err
    unwritable = mera_ru("submit", short, "-o", "no/such/folder.zip")
    assert unwritable.status == 1 and "no/such/folder.zip" in unwritable.err


@pytest.mark.slow
def test_the_whole_command_line(data, tmp_path):
    """Run lm-eval's own command and then `mera-ru submit`, each in its own process."""
    log = ["--predict_only", "--log_samples", "--output_path", "results"]
    for arguments in (["run", "--model", "dummy", "--tasks", "mera_ru", *log], ["submit", "results"]):
        done = in_process(*arguments, cwd=tmp_path, MERA_RU_DATA=str(data), HF_HUB_OFFLINE="1")
        assert done.returncode == 0, done.stderr + done.stdout
    assert first_problem(tmp_path / "submission.zip", ids_of(data)) == ""
