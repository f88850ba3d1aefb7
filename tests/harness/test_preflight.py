"""A mistake is reported before the model is loaded, with the option and a hint."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest
from lm_eval.config.evaluate_config import EvaluatorConfig
from lm_eval.tasks import TaskManager

from mera_ru_tasks.harness import preflight
from mera_ru_tasks.issues import TaskError
from mera_ru_tasks.paths import yaml_folder
from tests.support.hub import hub
from tests.support.rows import data_folder, riddle

CHAT = {"model": "local-chat-completions", "apply_chat_template": True}
SERVER = {"model": "NAME", "base_url": "http://127.0.0.1:9/v1/chat/completions"}


@pytest.fixture
def check(tmp_path, monkeypatch):
    """Run the checks as lm-eval's command line does, by default for a shipped task with two documents."""
    monkeypatch.chdir(tmp_path)
    for name in ("MERA_RU_DATA", "LM_EVAL_JUDGE_API_BASE", "LM_EVAL_JUDGE_MODEL", "LM_EVAL_JUDGE_API_KEY"):
        monkeypatch.delenv(name, raising=False)

    def run(tasks="riddles_sample", keep_samples=None, include=None, **settings):
        settings = {"model": "dummy", "output_path": "out", "log_samples": True, **settings}
        config = EvaluatorConfig(tasks=tasks.split(","), **settings)
        manager = TaskManager(include_defaults=False, include_path=[str(yaml_folder()), *filter(None, [include])])
        preflight.check(config, manager, keep_samples=keep_samples)
        return config, manager

    return run


@pytest.fixture
def use_hub(monkeypatch):
    """Return a function that replaces the address of the hub, which is read from HF_ENDPOINT only at import."""

    def use(address):
        template = address + "/{repo_id}/resolve/{revision}/{filename}"
        for module in ("constants", "file_download"):  # older releases copy both names
            monkeypatch.setattr(f"huggingface_hub.{module}.ENDPOINT", address, raising=False)
            monkeypatch.setattr(f"huggingface_hub.{module}.HUGGINGFACE_CO_URL_TEMPLATE", template, raising=False)

    return use


def model_folder(folder: Path, *, template: str | None = None) -> str:
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    tokenizer = {"tokenizer_class": "X"} | ({"chat_template": template} if template else {})
    (folder / "tokenizer_config.json").write_text(json.dumps(tokenizer))
    return str(folder)


SETTINGS = {
    "model": ({"model": "vlm"}, ["--model vlm", "'vllm'"]),
    "package": ({"model": "vllm"}, ["--model vllm", 'pip install "lm-eval[vllm]"']),
    "argument's package": (
        {"model": "hf", "model_args": {"pretrained": ".", "gguf_file": "x.gguf", "load_in_4bit": True}},
        ["load_in_4bit", "pip install bitsandbytes"],
    ),
    "no model": ({"model": "hf"}, ["--model_args", "pretrained=MODEL"]),
    "folder": ({"model": "hf", "model_args": {"pretrained": "./absent"}}, ["./absent", "the folder does not exist"]),
    "a name that cannot be": ({"model": "hf", "model_args": {"pretrained": "x" * 300}}, ["no such folder"]),
    "no address": ({**CHAT, "model_args": {"model": "NAME"}}, ["base_url=http"]),
    "no key": ({**CHAT, "model": "openai-chat-completions"}, ["OPENAI_API_KEY"]),
    "messages": ({"model": "local-chat-completions", "model_args": SERVER}, ["--apply_chat_template"]),
    "no log-likelihoods": (
        {"tasks": "riddles_sample_rank", **CHAT, "model_args": SERVER}, ["riddles_sample_rank", "`local-completions`"],
    ),
    "log-likelihoods before messages": (
        {"tasks": "riddles_sample_rank", "model": "local-chat-completions", "model_args": SERVER},
        ["riddles_sample_rank", "`local-completions`"],
    ),
    "limit": ({"limit": 0.0}, ["--limit 0.0"]),
    "negative limit": ({"limit": -3.0}, ["--limit -3.0"]),
    "samples": ({"samples": [1]}, ["--samples", "JSON object"]),
    "samples' task": ({"samples": {"riddles": [0]}}, ["task riddles", "riddles_sample"]),
    "samples' index": ({"samples": {"riddles_sample": [0, 60]}}, ["no document 60", "0 to 59"]),
    "negative index": ({"samples": {"riddles_sample": [-1]}}, ["no document -1"]),
    "samples' type": ({"samples": {"riddles_sample": ["1"]}}, ["'1' is not a document number"]),
    "no samples": ({"samples": {"riddles_sample": []}}, ["the list is empty"]),
    "shots": ({"num_fewshot": 99}, ["--num_fewshot 99"]),
    "negative shots": ({"num_fewshot": -1}, ["--num_fewshot -1", "Pass 0"]),
}  # fmt: skip


@pytest.mark.parametrize("case", SETTINGS)
def test_a_wrong_setting_is_named_with_the_way_out(check, monkeypatch, case):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    settings, words = SETTINGS[case]
    with pytest.raises(TaskError) as error:
        check(**settings)
    assert all(word in str(error.value) for word in words), str(error.value)


def test_several_mistakes_are_reported_together(check):
    with pytest.raises(TaskError) as error:
        check(model="vllm", limit=-1.0, output_path="/dev/null/out")
    assert [line.split(" ")[1] for line in str(error.value).splitlines()[1:]] == ["--output_path", "--model", "--limit"]


@pytest.mark.parametrize("path", ["file/results", "a" * 300, "/proc/results", "file/results.json"])
def test_a_folder_that_cannot_be_written_is_found(check, tmp_path, path):
    (tmp_path / "file").touch()
    with pytest.raises(TaskError, match="--output_path"):
        check(output_path=path)
    with pytest.raises(TaskError, match="--output_path"):
        check(model_args={"pretrained": "x" * 300})
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("path", ["new/results", "new/results.json"])
def test_trying_the_folder_leaves_nothing_behind(check, tmp_path, path):
    check(output_path=path)
    assert not list(tmp_path.iterdir())


def test_data_and_judge_are_checked_before_the_model(check, tmp_path, monkeypatch):
    with pytest.raises(TaskError, match="MERA_RU_DATA"):
        check("riddles_open")
    monkeypatch.setenv("MERA_RU_DATA", str(data_folder(tmp_path / "data", "riddles", [riddle(1), {"id": 2}])))
    with pytest.raises(TaskError, match="row 2"):
        check("riddles_closed")
    monkeypatch.setenv("LM_EVAL_JUDGE_MODEL", "JUDGE")
    with pytest.raises(TaskError, match="LM_EVAL_JUDGE_API_BASE"):
        check("mera_ru_sample")
    check("mera_ru_sample", predict_only=True)


@pytest.mark.parametrize(("template", "known"), [(None, False), ("{{ x }}", True)])
def test_a_base_model_is_told_by_its_tokenizer(check, tmp_path, template, known):
    folder = model_folder(tmp_path / "model", template=template)
    assert preflight.has_chat_template(folder) is known
    settings = {"model": "hf", "model_args": {"pretrained": folder}}
    check(**settings)
    if known:
        check(**settings, apply_chat_template=True)


CUSTOM = """
task: TASK
class: !function mera_ru_tasks.CustomTask
dataset_kwargs: {mera_ru_path: data/riddles, mera_ru_answer: phrase, mera_ru_prefill: PREFILL}
metadata: {version: 1}
"""
PREFILL_TASKS, PREFILL_SETTING = "use the `_prefill` tasks", "write `mera_ru_prefill: true`"


@pytest.mark.parametrize(
    ("tasks", "advice"),
    [
        ("riddles_sample", [PREFILL_TASKS]),
        ("riddles_sample_rank", []),
        ("riddles_sample_prefill,mera_ru_sample_rank", []),
        ("mera_ru_sample_rank,riddles_sample", [PREFILL_TASKS]),
        ("own", [PREFILL_SETTING, "of own"]),
        ("own,riddles_sample", [PREFILL_TASKS, PREFILL_SETTING, "of own"]),
        ("own_prefill", []),
    ],
)
def test_the_advice_for_a_base_model_fits_the_tasks(check, tmp_path, tasks, advice):
    data_folder(tmp_path / "data", "riddles", [riddle(1)])
    for name, prefill in (("own", "false"), ("own_prefill", "true")):
        (tmp_path / f"{name}.yaml").write_text(CUSTOM.replace("TASK", name).replace("PREFILL", prefill))
    folder = model_folder(tmp_path / "model")
    with pytest.raises(TaskError) as error:
        check(tasks, model="hf", model_args={"pretrained": folder}, apply_chat_template=True, include=tmp_path)
    text = str(error.value)
    assert (
        "Omit the option." in text
        and [word for word in (PREFILL_TASKS, PREFILL_SETTING, "of own") if word in text] == advice
    )


MODELS = {"org/good": (200, ""), "org/none": (404, "EntryNotFound"), "org/gated": (403, "GatedRepo"),
          "org/old": (404, "RevisionNotFound"), "org/busy": (503, "")}  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"pretrained": "org/good"}, None),
        ({"pretrained": "org/none"}, None),
        ({"pretrained": "org/busy"}, None),
        ({"pretrained": "org/gated"}, ["pretrained=org/gated", "gated", "HF_TOKEN"]),
        ({"pretrained": "org/absent"}, ["pretrained=org/absent", "no such repository"]),
        ({"pretrained": "gpt-absent"}, ["pretrained=gpt-absent", "no such repository"]),
        ({"pretrained": "org/old", "revision": "v0"}, ["pretrained=org/old", "no revision v0"]),
        ({"pretrained": "org/good", "tokenizer": "org/absent"}, ["tokenizer=org/absent", "no such repository"]),
        ({"pretrained": "org/good", "peft": "./absent"}, ["peft=./absent", "does not exist"]),
    ],
)
def test_a_repository_of_the_hub_is_looked_up_before_loading(check, use_hub, monkeypatch, tmp_path, arguments, words):
    with hub({}, MODELS) as address:
        use_hub(address)
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
        if words is None:
            check(model="hf", model_args=arguments)
        else:
            with pytest.raises(TaskError) as error:
                check(model="hf", model_args=arguments)
            assert all(word in str(error.value) for word in words), str(error.value)


@pytest.mark.parametrize("offline", [True, False])
@pytest.mark.parametrize("cache", ["huggingface_hub.constants.HF_HUB_CACHE", "TRANSFORMERS_CACHE", "cache_dir", None])
def test_without_network_only_a_cached_repository_can_be_used(check, use_hub, monkeypatch, tmp_path, offline, cache):
    monkeypatch.setattr("mera_ru_tasks.harness.preflight.time.sleep", lambda seconds: None)
    use_hub("http://127.0.0.1:9")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", offline)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "empty"))
    file = tmp_path / "cache" / "models--org--name" / "snapshots" / "c0ffee" / "config.json"
    file.parent.mkdir(parents=True)
    file.touch()
    arguments = {"pretrained": "org/name"}
    if cache == "cache_dir":
        arguments["cache_dir"] = str(tmp_path / "cache")
    elif cache == "TRANSFORMERS_CACHE":
        monkeypatch.setenv(cache, str(tmp_path / "cache"))
    elif cache:
        monkeypatch.setattr(cache, str(tmp_path / "cache"))
    if cache:
        check(model="hf", model_args=arguments)
    else:
        with pytest.raises(TaskError) as error:
            check(model="hf", model_args=arguments)
        assert ("HF_HUB_OFFLINE" if offline else "HF_ENDPOINT") in str(error.value)
        assert "hf download org/name" in str(error.value)


def test_a_template_in_another_file_counts_and_an_unknown_one_is_left_to_the_run(tmp_path):
    folder = Path(model_folder(tmp_path / "model"))
    (folder / "chat_template.jinja").write_text("{{ x }}")
    assert preflight.has_chat_template(str(folder)) is True
    (folder / "chat_template.jinja").unlink()
    (folder / "tokenizer_config.json").write_text("[")
    assert preflight.has_chat_template(str(folder)) is None
    assert preflight.has_chat_template("org/name") is None


def test_samples_are_kept_by_mera_ru_run_and_missed_aloud_by_lm_eval(check, caplog):
    caplog.set_level(logging.WARNING)
    kept, _ = check(keep_samples=True, log_samples=False)
    assert kept.log_samples and not caplog.records
    unwanted, _ = check(keep_samples=False, log_samples=False)
    assert not unwanted.log_samples and not caplog.records
    lost, _ = check(log_samples=False)
    assert not lost.log_samples and ["--log_samples" in record.getMessage() for record in caplog.records] == [True]
    caplog.clear()
    check(log_samples=False, output_path=None)
    assert ["--output_path" in record.getMessage() for record in caplog.records] == [True]


def test_a_warning_about_the_address_hides_its_key(check, caplog):
    address = "https://user:planted-password@host/v1?api_key=planted-key-0123456789"
    check(**{**CHAT, "model_args": {"model": "NAME", "base_url": address}})
    assert "https://" in caplog.text and "planted" not in caplog.text


def test_the_tasks_that_were_checked_are_those_that_run(check):
    config, manager = check("mera_ru_sample,riddles_sample_prefill")
    loaded = manager.load(config.tasks)
    assert set(loaded["groups"]) == {"mera_ru_sample"}
    assert set(loaded["tasks"]) == {
        "enantiosemy_sample", "riddles_sample", "russian_regions_sample", "riddles_sample_prefill",
    }  # fmt: skip
    again = manager.load(config.tasks)
    assert all(again["tasks"][name] is not task for name, task in loaded["tasks"].items())


def test_a_run_of_other_tasks_is_left_alone(check, tmp_path, caplog):
    (tmp_path / "other.yaml").write_text("task: other\ndataset_path: nowhere\n")
    manager = TaskManager(include_defaults=False, include_path=str(tmp_path))
    preflight.check(EvaluatorConfig(tasks=["other"], model="nonsense", limit=-1.0), manager)
    assert not caplog.records
